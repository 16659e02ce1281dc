//! The formats of `dump`: bytes of pieces, in the order in which pieces come.

use super::{Piece, Writer};
use crate::output::Sink;
use crate::samples::{npy_code, to_little_endian, write_text};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use strile::ReadOptions;
use strile::read::Pieces;
use strile::tiff::geo::GeoTransform;

/// A header, then samples band by band: `raw` and `npy`.
pub struct Plain {
    header: Vec<u8>,
}

impl Plain {
    pub fn raw(pieces: &Pieces, geo: &Value) -> Self {
        let shape = [pieces.bands, pieces.rows, pieces.columns];
        let header = json!({"shape": shape, "dtype": pieces.data_type.name(), "geo": geo});
        Self { header: format!("{header}\n").into_bytes() }
    }

    /// Version 1.0: magic, length, a Python dictionary padded so that the samples begin at a multiple of 64.
    pub fn npy(pieces: &Pieces) -> Self {
        let Pieces { data_type, bands, rows, columns, .. } = pieces;
        let code = npy_code(*data_type);
        let mut text =
            format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({bands}, {rows}, {columns}), }}");
        let whole = (10 + text.len() + 1).next_multiple_of(64);
        text.push_str(&" ".repeat(whole - 10 - text.len() - 1));
        text.push('\n');
        let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
        Self { header: [b"\x93NUMPY\x01\x00".as_slice(), &len.to_le_bytes(), text.as_bytes()].concat() }
    }
}

impl Writer for Plain {
    fn piece(&mut self, mut piece: Piece, sink: &mut Sink) -> io::Result<()> {
        // Written with the first piece, so that a request that fails at once leaves standard output empty.
        sink.write_all(&std::mem::take(&mut self.header))?;
        to_little_endian(&mut piece.bytes, piece.data_type);
        sink.write_all(&piece.bytes)
    }

    fn end(self, sink: &mut Sink) -> io::Result<()> {
        sink.write_all(&self.header)
    }
}

/// A line for each pixel: column and row of the level, coordinates of its centre, samples.
pub struct Csv {
    header: String,
    columns: usize,
    corner: (u32, u32),
    row: u32,
    transform: Option<GeoTransform>,
}

impl Csv {
    pub fn new(pieces: &Pieces, options: &ReadOptions, transform: Option<GeoTransform>) -> Self {
        let bands = options.place.bands.clone();
        let names = (0..pieces.bands).map(|at| {
            let asked = bands.as_ref().and_then(|bands| bands.get(at as usize)).copied();
            format!(",band_{}", asked.map_or(at + 1, u32::from))
        });
        Self {
            header: format!("column,row,x,y{}\n", names.collect::<String>()),
            columns: pieces.columns as usize,
            corner: options.place.window.map_or((0, 0), |window| (window.column, window.row)),
            row: 0,
            transform,
        }
    }
}

impl Writer for Csv {
    fn piece(&mut self, piece: Piece, sink: &mut Sink) -> io::Result<()> {
        sink.write_all(std::mem::take(&mut self.header).as_bytes())?;
        let size = piece.data_type.size();
        let pixel = size * piece.bands;
        let mut text = String::new();
        for row in piece.bytes.chunks_exact((pixel * self.columns).max(1)) {
            for (column, samples) in (0u32..).zip(row.chunks_exact(pixel)) {
                // Writing to a string cannot fail.
                let _always_ok = write!(text, "{},{},", self.corner.0 + column, self.corner.1 + self.row);
                let _always_ok = match self.transform {
                    Some(transform) => {
                        let (x, y) = transform.to_world(f64::from(column) + 0.5, f64::from(self.row) + 0.5);
                        write!(text, "{x},{y}")
                    }
                    None => write!(text, ","),
                };
                for sample in samples.chunks_exact(size) {
                    text.push(',');
                    write_text(&mut text, sample, piece.data_type);
                }
                text.push('\n');
                // A row can have any number of columns.
                if text.len() >= 64 << 10 {
                    sink.write_all(text.as_bytes())?;
                    text.clear();
                }
            }
            self.row += 1;
        }
        sink.write_all(text.as_bytes())
    }

    fn end(self, _sink: &mut Sink) -> io::Result<()> {
        Ok(())
    }
}
