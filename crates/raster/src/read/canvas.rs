//! One window that is made of many files: what a mosaic is once its sources were found.
//!
//! Tiles, gaps and what is outside the image are disjoint, and together they are all pixels of the window. So they are
//! tasks of one job, in any order, on any engine.

use super::area::Frame;
use super::unpack::{Missing, Unpacking};
use crate::file::dataset::Dataset;
use crate::source::Source;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{DeviceBytes, Fill, Location, MaskWindow, Sought};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// A window of a mosaic.
pub(crate) struct Canvas {
    /// The name of the mosaic, for messages.
    pub(crate) name: String,
    /// What tells windows of one mosaic from those of others.
    pub(crate) mosaic: usize,
    /// Columns and rows of the mosaic.
    pub(crate) image: (u32, u32),
    /// Type of its samples.
    pub(crate) data_type: DataType,
    /// Its bands that are read, from 1.
    pub(crate) bands: Vec<u16>,
    /// For each of them the value where no source lies.
    pub(crate) fills: Vec<Fill>,
    /// The nodata value of each band that is read. That of the first does not count when windows are resampled.
    pub(crate) nodatas: Vec<Option<NoData>>,
    /// Of a mask by nodata: the samples that are missing, one for all bands, or one for each.
    pub(crate) missing: Vec<Sought>,
    /// How samples become floats: one for all bands, or one for each; empty if they stay as they are.
    pub(crate) unpackings: Vec<Unpacking>,
    /// What says which pixels are missing, if it is not a value.
    pub(crate) mask: Option<Box<CanvasMask>>,
    /// The pixels of the window.
    pub(crate) frame: Frame,
    /// The part of them that the mosaic has.
    pub(crate) inside: Option<Window>,
    pub(crate) content: Content,
    /// Sources that are blended.
    pub(crate) blended: usize,
    /// Where they are.
    pub(crate) blended_at: Location,
    /// The first of them, in words.
    pub(crate) named: Vec<String>,
}

/// The mask of a window of a mosaic.
pub(crate) struct CanvasMask {
    /// One band of the same window, whose samples are 0 where pixels are missing.
    pub(crate) canvas: Canvas,
    /// The mask band or alpha.
    pub(crate) missing: Missing,
    /// The bands of the window that it belongs to, in runs: the first, from 0, and how many.
    pub(crate) runs: Vec<(u32, u32)>,
}

/// Where the pixels inside the mosaic come from.
pub(crate) enum Content {
    /// From files.
    Files {
        /// Rectangles of files.
        tiles: Vec<Tile>,
        /// Rectangles that no file fills.
        gaps: Vec<Gap>,
    },
    /// From memory, where they were blended.
    Blended(Blended),
}

/// Pixels that were blended: band after band, contiguous.
pub(crate) enum Blended {
    /// In host memory.
    Host(Arc<dyn Source>),
    /// In the memory of the device that decodes, so many bytes; a plan has only their number.
    Device(u64, Option<DeviceBytes>),
}

/// A rectangle of a file.
pub(crate) struct Tile {
    pub(crate) dataset: Arc<Dataset>,
    /// Bands of the file, from 1.
    pub(crate) bands: Arc<[u16]>,
    /// Pixels of the file.
    pub(crate) window: Window,
    /// Where they go: the first column and row, counted from the first pixel inside the mosaic.
    pub(crate) at: (u32, u32),
    /// The first band that they go to, from 0.
    pub(crate) band: u32,
    /// The file's number, for the caller that made the canvas.
    pub(crate) file: u32,
}

/// A rectangle that no file fills.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    /// Counted as for tiles.
    pub(crate) at: Window,
    /// First band, from 0, and how many.
    pub(crate) bands: (u32, u32),
    pub(crate) fill: Fill,
}

impl CanvasMask {
    /// The bands that it belongs to, as an engine takes them.
    pub(super) fn windows(&self) -> Vec<MaskWindow> {
        let window = |&(first_band, bands): &(u32, u32)| MaskWindow { first_band, bands, spared: None };
        self.runs.iter().map(window).collect()
    }
}

impl Canvas {
    pub(super) fn tiles(&self) -> &[Tile] {
        match &self.content {
            Content::Files { tiles, .. } => tiles,
            Content::Blended(_) => &[],
        }
    }

    pub(super) fn gaps(&self) -> &[Gap] {
        match &self.content {
            Content::Files { gaps, .. } => gaps,
            Content::Blended(_) => &[],
        }
    }

    /// The sample that does not count when windows are resampled.
    pub(super) fn nodata(&self) -> Option<Fill> {
        self.nodatas.first().copied().flatten().and_then(|value| value.to_sample(self.data_type)).map(Fill)
    }

    /// How samples of a band, from 0, become floats.
    pub(super) fn unpacking(&self, band: u32) -> Option<Unpacking> {
        self.unpackings.get(band as usize).or(self.unpackings.first()).copied()
    }

    /// What says how the samples of some bands, from 0, are converted: bands of the mosaic.
    pub(super) fn converted_as(&self, first: u32, count: usize) -> &[u16] {
        let first = first as usize;
        let own = self.bands.get(first..first.saturating_add(count)).filter(|_| self.unpackings.len() > 1);
        own.unwrap_or(&self.bands)
    }

    /// Whether its mask is that of some of its bands alone.
    pub(super) fn is_masked_in_part(&self) -> bool {
        let whole = u32::try_from(self.bands.len()).unwrap_or(u32::MAX);
        self.mask.as_ref().is_some_and(|mask| mask.runs != [(0, whole)])
    }

    /// This canvas, and that of its mask.
    pub(super) fn all(&self) -> impl Iterator<Item = &Canvas> {
        std::iter::once(self).chain(self.mask.as_deref().map(|mask| &mask.canvas))
    }

    /// Bytes of pixels that were blended in host memory and stay there while they are read.
    pub(super) fn blended_on_host(&self) -> u64 {
        let own = |canvas: &Canvas| match &canvas.content {
            Content::Blended(Blended::Host(source)) => source.len(),
            Content::Blended(Blended::Device(..)) | Content::Files { .. } => 0,
        };
        self.all().map(own).fold(0, u64::saturating_add)
    }

    /// Where the first pixel inside the mosaic lies in the window.
    pub(super) fn corner(&self) -> (u32, u32) {
        let seen = self.inside.and_then(|inside| self.frame.seen(inside));
        seen.map_or((0, 0), |seen| (seen.column, seen.row))
    }
}

/// Ranges of bands with one value each: (first, how many, value).
pub(crate) fn alike(fills: &[Fill]) -> impl Iterator<Item = (u32, u32, Fill)> + '_ {
    // One range for all bands, or one for each: a job takes ranges that are equal or disjoint.
    let all = fills.first().filter(|first| fills.iter().all(|fill| fill == *first));
    let len = u32::try_from(fills.len()).unwrap_or(u32::MAX);
    let whole = all.map(|fill| (0, len, *fill));
    let each = if all.is_some() { &[] } else { fills };
    whole.into_iter().chain((0u32..).zip(each).map(|(at, fill)| (at, 1, *fill)))
}
