//! A file out of a file: pixels, mask, georeference and words of the input, as the options want them.
//!
//! The input is read piece by piece, along its own blocks, so that none is decoded twice, and goes to a `Writer`;
//! the raster is never in memory as a whole. Blocks that are stored the same way in both files are copied as they
//! are. `spec` what is written of the input; `tags` which of its tags go along; `pieces` in which order it is read;
//! `adopt` which blocks are copied.

mod adopt;
mod options;
mod pieces;
mod spec;
mod tags;

pub use options::ConvertOptions;
pub(crate) use pieces::{Cut, cut};
pub(crate) use spec::spec_of;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::{Interleave, Layer, ReadOptions};
use crate::sink::Sink;
use crate::window::Window;
use crate::write::{Format, FullImage, Piece, RasterSpec, WriteReport, Writer};
use adopt::Adopted;
use spec::write_options;
use strile_engine::Context;
use strile_tiff::Planar;

/// A conversion that is planned and not begun.
pub struct Conversion<'a> {
    input: &'a Dataset,
    read: ReadOptions,
    cut: Cut,
    adopted: Option<Adopted<'a>>,
    writer: Writer,
    warnings: Vec<String>,
}

/// Writes (part of) `input` to `sink`.
pub fn convert(
    input: &Dataset,
    sink: Box<dyn Sink>,
    options: &ConvertOptions,
    context: &Context,
) -> Result<WriteReport> {
    Conversion::plan(input, sink, options, context)?.run(context)
}

impl<'a> Conversion<'a> {
    /// Decides what will be done; touches no pixel.
    pub fn plan(
        input: &'a Dataset,
        sink: Box<dyn Sink>,
        options: &ConvertOptions,
        context: &Context,
    ) -> Result<Self> {
        let mut warnings = Vec::new();
        let read = ReadOptions {
            layer: Layer::Pixels,
            interleave: match options.write.planar {
                Planar::Chunky => Interleave::BandLast,
                Planar::Separate => Interleave::BandFirst,
            },
            ..options.read.clone()
        };
        let spec = spec_of(input, &read, options, &mut warnings)?;
        let mut write = write_options(input, &read, &spec, options)?;
        let cut = cut(input, &read, &spec)?;
        // Columns of pieces that are higher than the file's blocks come out of order.
        write.spooled |= write.format == Format::GeoTiff && cut.leaves_row_major_order();
        let adopted = match options.reencode {
            true => None,
            false => Adopted::find(input, &read, &spec, &write)?,
        };
        // Copied blocks come before the first block of a mask.
        write.spooled |= write.format == Format::GeoTiff && adopted.is_some() && spec.mask;
        let full =
            adopted.as_ref().map_or(FullImage::Encoded, |adopted| FullImage::Adopted(adopted.layout()));
        let writer = Writer::create_from(sink, spec, &write, full, context)?;
        Ok(Self { input, read, cut, adopted, writer, warnings })
    }

    /// What will be done, in words.
    pub fn explain(&self) -> String {
        let Window { width, height, .. } = self.cut.window;
        let pixels = match (&self.adopted, self.writer.needs_pixels()) {
            (Some(_), true) => "blocks of the full image copied as they are, pixels decoded for the rest",
            (Some(_), false) => "blocks copied as they are",
            (None, _) => "blocks decoded and encoded",
        };
        let (across, down) = self.cut.piece;
        format!(
            "read    {}: {width} × {height} pixels in pieces of up to {across} × {down}\ncopy    {pixels}\n{}",
            self.input.name(),
            self.writer.explain()
        )
    }

    /// Blocks that will be encoded or copied, for progress.
    pub fn blocks(&self) -> u64 {
        self.writer.blocks()
    }

    /// Does it.
    pub fn run(self, context: &Context) -> Result<WriteReport> {
        let Self { input, read, cut, adopted, mut writer, warnings } = self;
        // Progress counts what is written.
        let quiet = Context { progress: None, ..context.clone() };
        let needs_pixels = writer.needs_pixels();
        if let Some(adopted) = adopted {
            adopted.copy(&mut writer, context)?;
        }
        if needs_pixels {
            for window in cut.windows() {
                if context.cancel.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                feed(input, &read, window, &cut.window, &mut writer, &quiet)?;
            }
        }
        let mut report = writer.finish()?;
        report.warnings.splice(0..0, warnings);
        Ok(report)
    }
}

/// Reads one window of the input and gives it to the writer.
pub(crate) fn feed(
    input: &Dataset,
    read: &ReadOptions,
    window: Window,
    whole: &Window,
    writer: &mut Writer,
    context: &Context,
) -> Result<()> {
    let options = ReadOptions { window: Some(window), ..read.clone() };
    let raster = input.read(&options, context)?;
    let mask = match writer.spec().is_some_and(|spec: &RasterSpec| spec.mask) {
        true => Some(input.read(&ReadOptions { layer: Layer::Mask, bands: None, ..options }, context)?),
        false => None,
    };
    let target = Window { x: window.x - whole.x, y: window.y - whole.y, ..window };
    let bands = u16::try_from(raster.bands).unwrap_or(u16::MAX);
    let piece = Piece::contiguous(target, bands, raster.data_type, raster.interleave, &raster.pixels);
    let piece = piece.map_err(|error| input.refuse(error.to_string()))?;
    match &mask {
        Some(mask) => writer.write(&piece.with_mask(&mask.pixels)),
        None => writer.write(&piece),
    }
}
