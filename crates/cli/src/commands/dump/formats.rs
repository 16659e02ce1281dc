//! The formats of `dump`: write the bytes of pieces in order.

use super::{Piece, Writer};
use crate::output::Sink;
use crate::samples::write_text;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use strile::number::to_little_endian;
use strile::read::Pieces;
use strile::tiff::geo::GeoTransform;
use strile::{ReadOptions, npy};

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

    pub fn npy(pieces: &Pieces) -> Self {
        let shape = [pieces.bands, pieces.rows, pieces.columns].map(u64::from);
        Self { header: npy::header(pieces.data_type, shape) }
    }
}

impl Writer for Plain {
    fn piece(&mut self, mut piece: Piece, sink: &mut Sink) -> io::Result<()> {
        // Written with the first piece, so that standard output stays empty if a request fails immediately.
        sink.write_all(&std::mem::take(&mut self.header))?;
        to_little_endian(&mut piece.bytes, piece.data_type);
        sink.write_all(&piece.bytes)
    }

    fn end(self, sink: &mut Sink) -> io::Result<()> {
        sink.write_all(&self.header)
    }
}

/// A line per pixel: column and row of the level, coordinates of its centre, samples.
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
