//! A checked task: the pixels to read and to compute, and access to rows as contiguous bytes.
//!
//! `Part::new` guarantees that every row requested within `source_columns` and the image lies in the pixels.

use std::ops::Range;
use strile_engine::{EngineError, Location, OutputError, OutputSpec, ReduceTask, Resampling, SharedPixels};
use strile_tiff::DataType;

/// A part of a reduced image to compute from pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pixels: &'a SharedPixels,
    mask: Option<&'a SharedPixels>,
    task: ReduceTask,
    method: Resampling,
}

/// Bands that are processed together: `count` interleaved ones from `first` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    first: u32,
    /// Samples of a pixel.
    pub count: usize,
}

impl<'a> Part<'a> {
    /// Checks that the task lies in its image and that the pixels contain its source.
    pub(super) fn new(
        method: Resampling,
        task: &ReduceTask,
        pixels: &'a [SharedPixels],
    ) -> Result<Self, EngineError> {
        let (source, mask) = task.sources(method, pixels)?;
        let away = [Some(source), mask].into_iter().flatten().find(|p| p.location() != Location::Host);
        match away {
            Some(away) => {
                let (found, expected) =
                    (format!("pixels in {}", away.location()), "pixels on the host".to_owned());
                Err(EngineError::Mismatch { what: "pixels", found, expected })
            }
            None => Ok(Self { pixels: source, mask, task: *task, method }),
        }
    }

    /// Returns the mask of the part as a part of its own.
    pub(super) fn mask(&self) -> Option<Part<'a>> {
        self.mask.map(|mask| Self { pixels: mask, mask: None, ..*self })
    }

    pub(super) fn data_type(&self) -> DataType {
        self.pixels.spec().data_type
    }

    /// Returns the columns and rows of the source image.
    pub(super) fn image(&self) -> (u32, u32) {
        self.task.image
    }

    /// Returns the rows of the reduced image in this part.
    pub(super) fn target_rows(&self) -> Range<u32> {
        self.task.target.1..self.task.target.1 + self.task.size.1
    }

    /// Returns the columns of the reduced image in this part.
    pub(super) fn target_columns(&self) -> Range<u32> {
        self.task.target.0..self.task.target.0 + self.task.size.0
    }

    /// Returns the columns of the source image that the part is computed from, including the halo.
    pub(super) fn source_columns(&self) -> Range<u32> {
        self.task.source_columns(self.method)
    }

    /// Returns whether the samples of a pixel are adjacent, in memory and in the result.
    pub(super) fn band_last(&self) -> bool {
        let spec = self.pixels.spec();
        spec.bands > 1 && spec.strides.band < spec.strides.column
    }

    /// Returns the bands, together or one by one as in the result.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group> + use<> {
        let bands = self.pixels.spec().bands;
        let (groups, count) = if self.band_last() { (1, bands as usize) } else { (bands, 1) };
        (0..groups).map(move |first| Group { first, count })
    }

    /// Returns the shapes of the result and of its mask.
    pub(super) fn reduced_specs(&self) -> Result<(OutputSpec, OutputSpec), OutputError> {
        self.task.reduced_specs(self.pixels.spec())
    }

    /// Returns the bytes of one row of the part, all bands.
    pub(super) fn row_len(&self) -> usize {
        let spec = self.pixels.spec();
        self.task.size.0 as usize * spec.bands as usize * spec.data_type.size()
    }

    /// Returns `source_columns` of a row of the source image, sample after sample; borrowed if the pixels have this
    /// layout, otherwise copied to `scratch`.
    #[expect(
        clippy::indexing_slicing,
        reason = "checked by `new`: these samples are within what the spec spans"
    )]
    pub(super) fn row<'s>(&'s self, group: Group, row: u32, scratch: &'s mut Vec<u8>) -> &'s [u8] {
        let (spec, columns) = (self.pixels.spec(), self.source_columns());
        let (size, strides) = (spec.data_type.size(), spec.strides);
        let start = group.first as usize * strides.band
            + (row - self.task.origin.1) as usize * strides.row
            + (columns.start - self.task.origin.0) as usize * strides.column;
        let (pixel, across) = (group.count * size, columns.len());
        let bytes = self.pixels.bytes();
        if strides.column == pixel && (group.count == 1 || strides.band == size) {
            return &bytes[start..start + across * pixel];
        }
        scratch.clear();
        for column in 0..across {
            for band in 0..group.count {
                let at = start + column * strides.column + band * strides.band;
                scratch.extend_from_slice(&bytes[at..at + size]);
            }
        }
        scratch
    }
}
