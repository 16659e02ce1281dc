//! One task, checked: which pixels are read, which computed, and rows of them as contiguous bytes.
//!
//! After `Part::new` every row asked for within `source_columns` and the image lies in the pixels.

use super::{mismatch, support};
use std::ops::Range;
use strile_engine::{
    EngineError, Location, OutputError, OutputSpec, Pixels, ReduceTask, Resampling, Support,
};
use strile_tiff::DataType;

/// A part of a reduced image to be computed out of pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pixels: &'a Pixels,
    mask: Option<&'a Pixels>,
    task: ReduceTask,
    halo: u32,
}

/// Bands whose samples are handled together: `count` interleaved ones beginning with `first`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    first: u32,
    /// Samples of a pixel.
    pub count: usize,
}

impl<'a> Part<'a> {
    /// Checks that the task lies in its image and that the pixels hold what it is computed from.
    pub(super) fn new(
        method: Resampling,
        task: &ReduceTask,
        pixels: &'a [Pixels],
    ) -> Result<Self, EngineError> {
        let find = |index: u32| {
            let found = pixels.get(index as usize);
            found.ok_or_else(|| mismatch(format!("{} of them", pixels.len()), format!("number {index}")))
        };
        let (source, mask) = (find(task.pixels)?, task.mask.map(find).transpose()?);
        if let Some(away) =
            [Some(source), mask].into_iter().flatten().find(|p| p.location() != Location::Host)
        {
            return Err(mismatch(format!("pixels in {}", away.location()), "pixels on the host".to_owned()));
        }
        let spec = source.spec();
        if let Support::No(reason) = support(method, spec.data_type) {
            return Err(mismatch(format!("{}", spec.data_type), reason));
        }
        let reduced = (task.image.0.div_ceil(2), task.image.1.div_ceil(2));
        let inside = |start: u32, len: u32, whole: u32| {
            len >= 1 && u64::from(start) + u64::from(len) <= u64::from(whole)
        };
        if !inside(task.target.0, task.size.0, reduced.0) || !inside(task.target.1, task.size.1, reduced.1) {
            return Err(mismatch(
                format!("a part of {} × {} at {:?}", task.size.0, task.size.1, task.target),
                format!("one within {} × {}", reduced.0, reduced.1),
            ));
        }
        let part = Self { pixels: source, mask, task: *task, halo: method.halo() };
        let (columns, rows) = (part.source_columns(), part.source_rows());
        let holds = |origin: u32, have: u32, need: &Range<u32>| {
            origin <= need.start && u64::from(origin) + u64::from(have) >= u64::from(need.end)
        };
        if !holds(task.origin.0, spec.columns, &columns) || !holds(task.origin.1, spec.rows, &rows) {
            return Err(mismatch(
                format!("{} × {} pixels at {:?}", spec.columns, spec.rows, task.origin),
                format!("columns {columns:?} and rows {rows:?} of the image"),
            ));
        }
        if let Some(mask) = mask.map(Pixels::spec) {
            let same = (mask.rows, mask.columns) == (spec.rows, spec.columns);
            if !same || mask.bands != 1 || mask.data_type != DataType::U8 {
                return Err(mismatch(
                    format!("a mask of {} × {} × {} {}", mask.bands, mask.rows, mask.columns, mask.data_type),
                    format!("1 × {} × {} uint8", spec.rows, spec.columns),
                ));
            }
        }
        if spec.bands == 0 {
            return Err(mismatch("no bands".to_owned(), "one or more".to_owned()));
        }
        Ok(part)
    }

    /// The mask of the part, as pixels of their own.
    pub(super) fn mask(&self) -> Option<Part<'a>> {
        self.mask.map(|mask| Self { pixels: mask, mask: None, ..*self })
    }

    pub(super) fn data_type(&self) -> DataType {
        self.pixels.spec().data_type
    }

    /// Columns and rows of the image above.
    pub(super) fn image(&self) -> (u32, u32) {
        self.task.image
    }

    /// Rows of the reduced image that the part has.
    pub(super) fn target_rows(&self) -> Range<u32> {
        self.task.target.1..self.task.target.1 + self.task.size.1
    }

    /// Columns of the reduced image that the part has.
    pub(super) fn target_columns(&self) -> Range<u32> {
        self.task.target.0..self.task.target.0 + self.task.size.0
    }

    /// Columns of the image above that the part is computed from, halo included.
    pub(super) fn source_columns(&self) -> Range<u32> {
        under(self.target_columns(), self.halo, self.task.image.0)
    }

    /// Rows of the image above that the part is computed from, halo included.
    pub(super) fn source_rows(&self) -> Range<u32> {
        under(self.target_rows(), self.halo, self.task.image.1)
    }

    /// Whether the samples of a pixel lie together, in memory and in the result.
    pub(super) fn band_last(&self) -> bool {
        let spec = self.pixels.spec();
        spec.bands > 1 && spec.strides.band < spec.strides.column
    }

    /// The bands, together or one after the other as the result has them.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group> + use<> {
        let bands = self.pixels.spec().bands;
        let (groups, count) = if self.band_last() { (1, bands as usize) } else { (bands, 1) };
        (0..groups).map(move |first| Group { first, count })
    }

    /// The shapes of the result and of its mask.
    pub(super) fn reduced_specs(&self) -> Result<(OutputSpec, OutputSpec), OutputError> {
        let (spec, (columns, rows)) = (self.pixels.spec(), self.task.size);
        let pixels = match self.band_last() {
            true => OutputSpec::band_last(spec.data_type, spec.bands, rows, columns),
            false => OutputSpec::band_first(spec.data_type, spec.bands, rows, columns),
        }?;
        Ok((pixels, OutputSpec::band_first(DataType::U8, 1, rows, columns)?))
    }

    /// Bytes of one row of the part, all bands.
    pub(super) fn row_len(&self) -> usize {
        let spec = self.pixels.spec();
        self.task.size.0 as usize * spec.bands as usize * spec.data_type.size()
    }

    /// A row of the image above, `source_columns` of it, sample after sample; lent by the pixels where they lie
    /// so, else copied to `scratch`.
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

/// What lies under a range of the reduced axis, with a halo, clipped at the image.
fn under(target: Range<u32>, halo: u32, image: u32) -> Range<u32> {
    let end = u64::from(target.end) * 2 + u64::from(halo);
    let end = u32::try_from(end).map_or(image, |end| end.min(image));
    (target.start * 2).saturating_sub(halo)..end
}
