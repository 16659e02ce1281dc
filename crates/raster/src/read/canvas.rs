//! A window made of many files: a window of a mosaic after its sources were found.
//!
//! Tiles, gaps and the area outside the image are disjoint, and together cover all pixels of the window. So they are
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
    /// Identifies the mosaic of the window.
    pub(crate) mosaic: usize,
    /// Columns and rows of the mosaic.
    pub(crate) image: (u32, u32),
    /// Type of its samples.
    pub(crate) data_type: DataType,
    /// Its bands that are read, from 1.
    pub(crate) bands: Vec<u16>,
    /// Per band: the value of pixels without a source.
    pub(crate) fills: Vec<Fill>,
    /// Per band: the nodata value. That of the first band is excluded when windows are resampled.
    pub(crate) nodatas: Vec<Option<NoData>>,
    /// For a mask by nodata: the samples that are missing, one for all bands, or one per band.
    pub(crate) missing: Vec<Sought>,
    /// How samples become floats: one for all bands, or one per band. Empty if they are unchanged.
    pub(crate) unpackings: Vec<Unpacking>,
    /// The mask of missing pixels, if they are not given by a value.
    pub(crate) mask: Option<Box<CanvasMask>>,
    /// The pixels of the window.
    pub(crate) frame: Frame,
    /// The part of them inside the mosaic.
    pub(crate) inside: Option<Window>,
    pub(crate) content: Content,
    /// Number of blended sources.
    pub(crate) blended: usize,
    /// Location of the blended pixels.
    pub(crate) blended_at: Location,
    /// Descriptions of the first blended sources.
    pub(crate) named: Vec<String>,
}

/// The mask of a window of a mosaic.
pub(crate) struct CanvasMask {
    /// One band of the same window, whose samples are 0 for missing pixels.
    pub(crate) canvas: Canvas,
    /// The mask band or alpha.
    pub(crate) missing: Missing,
    /// The bands of the window that it applies to, in runs: the first, from 0, and their number.
    pub(crate) runs: Vec<(u32, u32)>,
}

/// The source of the pixels inside the mosaic.
pub(crate) enum Content {
    /// From files.
    Files {
        /// Rectangles of files.
        tiles: Vec<Tile>,
        /// Rectangles that no file fills.
        gaps: Vec<Gap>,
    },
    /// From memory, after blending.
    Blended(Blended),
}

/// Pixels that were blended: band after band, contiguous.
pub(crate) enum Blended {
    /// In host memory.
    Host(Arc<dyn Source>),
    /// In the memory of the device that decodes: size in bytes, and the memory, which a plan does not have.
    Device(u64, Option<DeviceBytes>),
}

/// A rectangle of a file.
pub(crate) struct Tile {
    pub(crate) dataset: Arc<Dataset>,
    /// Bands of the file, from 1.
    pub(crate) bands: Arc<[u16]>,
    /// Pixels of the file.
    pub(crate) window: Window,
    /// Position of its first pixel: column and row, relative to the first pixel inside the mosaic.
    pub(crate) at: (u32, u32),
    /// Its first band in the window, from 0.
    pub(crate) band: u32,
    /// Number of the file, for the caller that made the canvas.
    pub(crate) file: u32,
}

/// A rectangle that no file fills.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    /// Relative to the first pixel inside the mosaic, as for tiles.
    pub(crate) at: Window,
    /// First band, from 0, and number of bands.
    pub(crate) bands: (u32, u32),
    pub(crate) fill: Fill,
}

impl CanvasMask {
    /// Returns the bands that it applies to, in the form of an engine.
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

    /// Returns the sample that is excluded when windows are resampled.
    pub(super) fn nodata(&self) -> Option<Fill> {
        self.nodatas.first().copied().flatten().and_then(|value| value.to_sample(self.data_type)).map(Fill)
    }

    /// Returns how samples of a band, from 0, become floats.
    pub(super) fn unpacking(&self, band: u32) -> Option<Unpacking> {
        self.unpackings.get(band as usize).or(self.unpackings.first()).copied()
    }

    /// Returns the bands of the mosaic whose conversion applies to some bands, from 0, of the window.
    pub(super) fn converted_as(&self, first: u32, count: usize) -> &[u16] {
        let first = first as usize;
        let own = self.bands.get(first..first.saturating_add(count)).filter(|_| self.unpackings.len() > 1);
        own.unwrap_or(&self.bands)
    }

    /// Returns whether its mask applies to only some of its bands.
    pub(super) fn is_masked_in_part(&self) -> bool {
        let whole = u32::try_from(self.bands.len()).unwrap_or(u32::MAX);
        self.mask.as_ref().is_some_and(|mask| mask.runs != [(0, whole)])
    }

    /// Returns this canvas, and that of its mask.
    pub(super) fn all(&self) -> impl Iterator<Item = &Canvas> {
        std::iter::once(self).chain(self.mask.as_deref().map(|mask| &mask.canvas))
    }

    /// Returns the bytes of pixels that were blended in host memory and stay there while they are read.
    pub(super) fn blended_on_host(&self) -> u64 {
        let own = |canvas: &Canvas| match &canvas.content {
            Content::Blended(Blended::Host(source)) => source.len(),
            Content::Blended(Blended::Device(..)) | Content::Files { .. } => 0,
        };
        self.all().map(own).fold(0, u64::saturating_add)
    }

    /// Returns the position of the first pixel inside the mosaic in the window.
    pub(super) fn corner(&self) -> (u32, u32) {
        let seen = self.inside.and_then(|inside| self.frame.seen(inside));
        seen.map_or((0, 0), |seen| (seen.column, seen.row))
    }
}

/// Returns ranges of bands with one value each: first band, number of bands, value.
pub(crate) fn alike(fills: &[Fill]) -> impl Iterator<Item = (u32, u32, Fill)> + '_ {
    // One range for all bands, or one per band: a job takes ranges that are equal or disjoint.
    let all = fills.first().filter(|first| fills.iter().all(|fill| fill == *first));
    let len = u32::try_from(fills.len()).unwrap_or(u32::MAX);
    let whole = all.map(|fill| (0, len, *fill));
    let each = if all.is_some() { &[] } else { fills };
    whole.into_iter().chain((0u32..).zip(each).map(|(at, fill)| (at, 1, *fill)))
}
