//! The formats of `dump`: bytes of pieces, in the order in which pieces come.

use super::Writer;
use crate::failure::Failure;
use crate::output::Sink;
use crate::samples::{npy_code, number, to_big_endian, to_little_endian, write_text};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use strile::tiff::gdal::NoData;
use strile::tiff::geo::GeoTransform;
use strile::{DataType, Pieces, Raster, ReadOptions};

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
    fn piece(&mut self, mut raster: Raster, sink: &mut Sink) -> io::Result<()> {
        // Written with the first piece, so that a request that fails at once leaves standard output empty.
        sink.write_all(&std::mem::take(&mut self.header))?;
        to_little_endian(&mut raster.pixels, raster.data_type);
        sink.write_all(&raster.pixels)
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
        let bands = options.bands.clone();
        let names = (0..pieces.bands).map(|at| {
            let asked = bands.as_ref().and_then(|bands| bands.get(at as usize)).copied();
            format!(",band_{}", asked.map_or(at + 1, u32::from))
        });
        Self {
            header: format!("column,row,x,y{}\n", names.collect::<String>()),
            columns: pieces.columns as usize,
            corner: options.window.map_or((0, 0), |window| (window.x, window.y)),
            row: 0,
            transform,
        }
    }
}

impl Writer for Csv {
    fn piece(&mut self, raster: Raster, sink: &mut Sink) -> io::Result<()> {
        sink.write_all(std::mem::take(&mut self.header).as_bytes())?;
        let size = raster.data_type.size();
        let pixel = size * raster.bands as usize;
        let mut text = String::new();
        for row in raster.pixels.chunks_exact((pixel * self.columns).max(1)) {
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
                    write_text(&mut text, sample, raster.data_type);
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

/// A PNG: 8 and 16-bit unsigned samples as they are, others stretched to 8 bits.
pub struct Image {
    width: u32,
    height: u32,
    colour: png::ColorType,
    data_type: DataType,
    nodata: Option<f64>,
    /// Smallest and largest finite sample, where they are needed.
    range: (f64, f64),
}

impl Image {
    pub fn new(pieces: &Pieces, nodata: Option<NoData>) -> Result<Self, Failure> {
        let hint = Some("choose bands with `--band`");
        let colour = match pieces.bands {
            1 => png::ColorType::Grayscale,
            2 => png::ColorType::GrayscaleAlpha,
            3 => png::ColorType::Rgb,
            4 => png::ColorType::Rgba,
            n => return Err(Failure::Request(format!("a PNG has 1 to 4 bands, {n} are asked for"), hint)),
        };
        if matches!(pieces.data_type, DataType::C64 | DataType::C128) {
            let sentence = format!("a PNG cannot hold {} samples", pieces.data_type);
            return Err(Failure::Request(sentence, Some("`--format npy` can")));
        }
        Ok(Self {
            width: pieces.columns,
            height: pieces.rows,
            colour,
            data_type: pieces.data_type,
            nodata: nodata.map(NoData::as_f64),
            range: (f64::INFINITY, f64::NEG_INFINITY),
        })
    }

    /// Whether `see` must be given all pieces before the first is encoded.
    pub fn needs_range(&self) -> bool {
        !matches!(self.data_type, DataType::U8 | DataType::U16)
    }

    fn shown(&self, sample: &[u8]) -> Option<f64> {
        number(sample, self.data_type).filter(|value| value.is_finite() && Some(*value) != self.nodata)
    }

    /// Widens the range by the samples of a piece.
    pub fn see(&mut self, raster: &Raster) {
        let samples = raster.pixels.chunks_exact(self.data_type.size());
        self.range = samples
            .filter_map(|sample| self.shown(sample))
            .fold(self.range, |(low, high), value| (low.min(value), high.max(value)));
    }

    pub fn range_note(&self) -> String {
        let (low, high) = self.range;
        match low <= high {
            true => format!(
                "note: {} samples stretched to 8 bits: {low} is black, {high} is white",
                self.data_type
            ),
            false => "note: no sample is a finite number; all are black".into(),
        }
    }

    pub fn begin<'a>(&self, sink: &'a mut Sink) -> io::Result<png::Writer<&'a mut Sink>> {
        let mut encoder = png::Encoder::new(sink, self.width, self.height);
        encoder.set_color(self.colour);
        encoder.set_depth(if self.data_type == DataType::U16 {
            png::BitDepth::Sixteen
        } else {
            png::BitDepth::Eight
        });
        Ok(encoder.write_header()?)
    }

    /// The bytes of a piece as PNG has them.
    pub fn encode(&self, mut raster: Raster) -> Vec<u8> {
        if !self.needs_range() {
            to_big_endian(&mut raster.pixels, raster.data_type);
            return raster.pixels;
        }
        let (low, high) = self.range;
        // Halved, because the span of two doubles can be larger than any double.
        let span = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
        let grey = |sample: &[u8]| {
            let share = self.shown(sample).map_or(0.0, |value| (value / 2.0 - low / 2.0) / span);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
            let grey = (share * 255.0).round().clamp(0.0, 255.0) as u8;
            grey
        };
        raster.pixels.chunks_exact(self.data_type.size()).map(grey).collect()
    }
}
