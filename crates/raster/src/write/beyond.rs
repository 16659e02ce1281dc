//! Pixels that a part of a raster passes to the level above those it encodes, collected in host memory for transfer.

use super::cells::{Deposit, refused};
use super::spec::RasterSpec;
use crate::Window;
use crate::error::Result;
use strile_cpu::put;
use strile_engine::memory::try_zeroed;
use strile_engine::{Arena, Context, Engine, Given, Lease, Location, OutputError, OutputSpec, Patch};
use strile_tiff::{DataType, Planar};

/// Purpose of the memory.
const PURPOSE: &str = "reduced pixels of a part";

/// Pixels that a part passes on to the level above those it encodes.
pub(crate) struct Collected {
    pub(crate) window: Window,
    pub(crate) spec: OutputSpec,
    pub(crate) pixels: Vec<u8>,
    /// 1 for valid pixels, 0 for others.
    pub(crate) mask: Option<(OutputSpec, Vec<u8>)>,
    _lease: Lease,
}

impl Collected {
    /// Allocates memory for a window, with samples in the order of the file.
    pub(crate) fn new(window: Window, spec: &RasterSpec, planar: Planar, context: &Context) -> Result<Self> {
        let wrong = |error: OutputError| refused(error.to_string());
        let (bands, rows, columns) = (u32::from(spec.bands), window.height, window.width);
        let masked = spec.mask;
        let spec = match planar {
            Planar::Chunky => OutputSpec::band_last(spec.data_type, bands, rows, columns),
            Planar::Separate => OutputSpec::band_first(spec.data_type, bands, rows, columns),
        }
        .map_err(wrong)?;
        let len = spec.len().map_err(wrong)?;
        let mask_spec = OutputSpec::band_first(DataType::U8, 1, rows, columns).map_err(wrong)?;
        let mask_len = if masked { mask_spec.len().map_err(wrong)? } else { 0 };
        let lease = context.take_kept((len + mask_len) as u64, PURPOSE)?;
        let mask = match masked {
            true => Some((mask_spec, try_zeroed(mask_len, PURPOSE)?)),
            false => None,
        };
        Ok(Self { window, spec, pixels: try_zeroed(len, PURPOSE)?, mask, _lease: lease })
    }

    /// Copies pixels in.
    pub(crate) fn put(&mut self, given: &Deposit<'_>, engine: &dyn Engine, context: &Context) -> Result<()> {
        let outside = || refused(format!("{} is not in {}", given.window, self.window));
        let Some(part) = given.window.intersection(&self.window) else { return Err(outside()) };
        let at = (part.column - given.window.column, part.row - given.window.row);
        let to = (part.column - self.window.column, part.row - self.window.row);
        let size = (part.width, part.height);
        let fetched = fetch(&given.pixels, engine, context)?;
        let from = on_host(given.pixels, fetched.as_ref());
        put(&Patch { from, at, to, size }, false, &mut self.pixels, &self.spec)?;
        if let Some((spec, mask)) = &mut self.mask {
            let from = given.mask.ok_or_else(|| refused(format!("the mask of {part} is missing")))?;
            let fetched = fetch(&from, engine, context)?;
            let from = on_host(from, fetched.as_ref());
            put(&Patch { from, at, to, size }, true, mask, spec)?;
        }
        Ok(())
    }
}

/// Returns a copy of pixels that are on a device.
fn fetch(given: &Given<'_>, engine: &dyn Engine, context: &Context) -> Result<Option<Arena>> {
    match given {
        Given::There(pixels) if pixels.location() != Location::Host => {
            Ok(Some(engine.fetch(pixels, context)?))
        }
        Given::There(_) | Given::Host { .. } => Ok(None),
    }
}

fn on_host<'a>(given: Given<'a>, fetched: Option<&'a Arena>) -> Given<'a> {
    match (given, fetched) {
        (Given::There(pixels), Some(arena)) => Given::Host { spec: pixels.spec(), bytes: arena.bytes() },
        (given, _) => given,
    }
}
