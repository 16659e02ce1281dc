//! The reads of a conversion: ranges of values first, then windows with their masks. Also counts their requests to
//! servers in advance.

use super::change::Change;
use super::pieces::{Cut, cut};
use super::range::Ranges;
use super::values::Values;
use super::{Kept, shape};
use crate::error::{Error, Result};
use crate::file::input::Input;
use crate::options::{Layer, Place, ReadOptions};
use crate::pixels::Pixels;
use crate::raster::Raster;
use crate::source::url_of;
use crate::window::Window;
use crate::write::RasterSpec;
use strile_engine::{Context, LocatedFault};

/// Bytes of a piece for finding ranges of values.
const RANGE_BYTES: u64 = 32 << 20;

/// Maximum number of windows that are counted: a small file can state billions of them.
pub(crate) const MOST_READS: usize = 1 << 16;

/// Requests for pixels of remote files, if none fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    /// Number of requests.
    pub count: usize,
    /// Bytes of their responses.
    pub bytes: u64,
    /// Whether there may be more: blended sources of a mosaic and parts beyond the first 65,536 are not counted.
    pub is_least: bool,
}

impl Requests {
    /// Adds requests.
    pub(crate) fn add(&mut self, count: usize, bytes: u64) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Kept<'_> {
    /// Counts the requests; see [`Conversion::requests`](super::Conversion::requests).
    pub(super) fn requests(&self, context: &Context) -> Result<Option<Requests>> {
        if !is_remote(self.input, &self.read)? {
            return Ok(None);
        }
        let mut requests = Requests::default();
        if let Some(adopted) = &self.adopted {
            adopted.count(&mut requests, context)?;
        }
        let mut reads = Vec::new();
        let mut read = |options: &ReadOptions, mut windows: Box<dyn Iterator<Item = Window>>| {
            let left = MOST_READS.saturating_sub(reads.len());
            reads.extend(windows.by_ref().take(left).map(|window| (options.clone(), window)));
            windows.next().is_some()
        };
        let changed = &self.changed;
        if let Some(change) = &changed.change
            && let Some(cut) = cut_for_ranges(self.input, change, &changed.whole.place)?
        {
            requests.is_least |= read(&changed.whole, Box::new(cut.windows()));
        }
        let masked = self.writer.spec().is_some_and(|spec| spec.mask);
        requests.is_least |= match changed.resampling(masked) {
            _ if !self.writer.needs_pixels() => false,
            Some(resampling) => read(&self.read, Box::new(resampling.windows(context)?.into_iter())),
            None => read(&self.read, Box::new(self.cut.windows())),
        };
        for (options, window) in reads {
            let (pixels, mask) = layers(&options, window, masked);
            for options in std::iter::once(pixels).chain(mask) {
                if context.cancel.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                let options = match &self.clip {
                    Some(clip) => clip.options(self.input, &options)?,
                    None => options,
                };
                let plan = self.input.plan(&options, context)?;
                let figures = plan.figures();
                requests.add(figures.requests, figures.request_bytes);
                requests.is_least |= plan.mosaics.is_some_and(|mosaics| mosaics.blended > 0);
            }
        }
        Ok(Some(requests))
    }
}

/// Returns whether a file of the input is remote.
pub(super) fn is_remote(input: &Input, read: &ReadOptions) -> Result<bool> {
    Ok(match input {
        Input::Tiff(dataset) => dataset.target(&read.place)?.file.source.local().is_none(),
        Input::Vrt(vrt) => {
            let is_url = |path: Option<std::path::PathBuf>| path.is_some_and(|path| url_of(&path).is_some());
            vrt.listed_sources().into_iter().any(|source| is_url(source.path))
        }
    })
}

/// Returns the reads of one window: of its pixels, and of its mask.
pub(super) fn layers(read: &ReadOptions, window: Window, masked: bool) -> (ReadOptions, Option<ReadOptions>) {
    let options = read.clone().window(window);
    let mask = masked.then(|| options.clone().place(options.place.of_layer(Layer::Mask)));
    (options, mask)
}

/// Returns the values, after finding ranges that were not given.
pub(super) fn found_values(
    input: &Input,
    (change, whole): (Change, &ReadOptions),
    source: &impl Fn(&ReadOptions) -> Result<Pixels>,
    masked: bool,
    context: &Context,
) -> Result<Values> {
    let refuse = |problem: String| shape::named(input, problem);
    let bands = change.sources();
    let found = match cut_for_ranges(input, &change, &whole.place)? {
        None => Vec::new(),
        Some(cut) => {
            let pieces = cut.windows().map(|window| Ok(both(source, whole, window, masked)?.0));
            let ranges = Ranges { bands: &bands, nodata: change.source_nodata() };
            ranges.find(pieces, context, refuse)?
        }
    };
    change.values(&found).map_err(refuse)
}

/// Returns the pieces for finding ranges of values; `None` if all ranges are known.
fn cut_for_ranges(input: &Input, change: &Change, whole: &Place) -> Result<Option<Cut>> {
    if change.sources().is_empty() {
        return Ok(None);
    }
    let count = u16::try_from(change.source_nodata().len()).unwrap_or(u16::MAX);
    let read = RasterSpec::new(1, 1, count, change.planned().from);
    Ok(Some(match input {
        Input::Tiff(dataset) => cut(dataset, whole, &read, RANGE_BYTES)?,
        Input::Vrt(vrt) => Cut::of_rows(vrt.target(whole)?.0, &read),
    }))
}

/// Pixels of a window, its mask, and the faults that were filled.
pub(super) type Both = ((Raster, Option<Raster>), Vec<LocatedFault>);

/// Reads a window of the input and its mask into host memory.
pub(super) fn both(
    source: &impl Fn(&ReadOptions) -> Result<Pixels>,
    read: &ReadOptions,
    window: Window,
    masked: bool,
) -> Result<Both> {
    let mut faults = Vec::new();
    let mut host = |options: &ReadOptions| {
        let pixels = source(options)?;
        faults.extend(pixels.located_faults());
        pixels.into_raster()
    };
    let (options, mask) = layers(read, window, masked);
    let both = (host(&options)?, mask.map(|mask| host(&mask)).transpose()?);
    Ok((both, faults))
}
