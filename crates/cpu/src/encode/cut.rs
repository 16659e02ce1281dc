//! Cuts rows of a block out of an image with any strides: interleaves bands, repeats columns beyond the image, replaces
//! NaN.
//!
//! A row that is already in the block's form in memory is borrowed; all others are copied to the caller's buffer.

use super::block::Source;
use crate::pool::sized;
use crate::simd::Picker;
use strile_engine::{DecodedForm, EncodeTask, Fill, SharedPixels};
use strile_tiff::DataType;

/// Cuts the rows of one block.
pub(super) struct Cutter<'a> {
    pixels: &'a SharedPixels,
    task: &'a EncodeTask,
    data_type: DataType,
    samples: usize,
    /// Bytes of a pixel of the block.
    pixel: usize,
    /// Bytes of a row of the block.
    row_len: usize,
    nan_to: Option<Fill>,
    /// Whether pixels of the image have the block's memory layout.
    lies_so: bool,
    /// Last pixel of the last row, repeated in far padding; empty if there is none.
    corner: Vec<u8>,
    /// First column of far padding, which also repeats the corner.
    far_column: usize,
}

/// Padding up to a multiple of this repeats the edge, so that image codecs, which work in squares no larger than this,
/// see no edge. Padding beyond is constant.
pub(super) const NEAR: u32 = 16;

impl<'a> Cutter<'a> {
    pub(super) fn new(source: &Source<'a>) -> Self {
        let (block, spec) = (&source.layout.block, source.pixels.spec());
        let (size, samples) = (block.data_type.size(), usize::from(block.samples));
        let has_nan = match block.data_type {
            DataType::F16 | DataType::F32 | DataType::F64 | DataType::C64 | DataType::C128 => true,
            DataType::U8 | DataType::I8 | DataType::U16 | DataType::I16 => false,
            DataType::U32 | DataType::I32 | DataType::U64 | DataType::I64 => false,
        };
        let pixel = size * samples;
        let near = source.task.width.next_multiple_of(NEAR) as usize;
        let of_samples = block.decoded_form() == DecodedForm::Samples;
        let mut cutter = Self {
            pixels: source.pixels,
            task: source.task,
            data_type: block.data_type,
            samples,
            pixel,
            row_len: pixel.saturating_mul(block.width as usize),
            nan_to: source.layout.nan_to.filter(|_| has_nan),
            lies_so: spec.strides.column == pixel && (samples == 1 || spec.strides.band == size),
            corner: Vec::new(),
            far_column: if of_samples { near } else { usize::MAX },
        };
        if source.task.width < block.width || source.task.height < source.task.rows {
            cutter.corner = cutter.last_pixel().unwrap_or_default();
        }
        cutter
    }

    fn last_pixel(&self) -> Option<Vec<u8>> {
        let (x, y) = (self.task.x + self.task.width, self.task.y + self.task.height);
        let mut pixel = Vec::with_capacity(self.pixel);
        for sample in 0..u32::try_from(self.samples).ok()? {
            pixel.extend_from_slice(self.pixels.row(self.task.first_band + sample, y - 1, (x - 1, x))?);
        }
        if let Some(fill) = self.nan_to {
            replace_nan(&mut pixel, self.data_type, fill);
        }
        Some(pixel)
    }

    /// Returns a row far below the image: the corner repeated; `None` if memory runs out.
    pub(super) fn far_row<'b>(&self, line: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        let line = sized(line, self.row_len)?;
        line.chunks_exact_mut(self.pixel).for_each(|pixel| pixel.copy_from_slice(&self.corner));
        Some(line)
    }

    /// Returns the number of rows that have pixels.
    pub(super) fn image_rows(&self) -> u32 {
        self.task.height
    }

    /// Returns the complete row `y` of the block as samples; `None` if memory runs out.
    pub(super) fn row<'b>(&'b self, y: u32, line: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        let row = self.task.y.checked_add(y)?;
        let there = self.task.width as usize * self.pixel;
        let lent = if self.lies_so { self.contiguous(row, there) } else { None };
        if let Some(lent) = lent
            && there == self.row_len
            && self.nan_to.is_none_or(|_| !has_nan(lent, self.data_type))
        {
            return Some(lent);
        }
        let line = sized(line, self.row_len)?;
        let (pixels, beyond) = line.split_at_mut_checked(there)?;
        match lent {
            Some(lent) => pixels.copy_from_slice(lent),
            None => self.interleave(row, pixels)?,
        }
        if let Some(fill) = self.nan_to {
            replace_nan(pixels, self.data_type, fill);
        }
        if let Some(last) = pixels.rchunks_exact(self.pixel).next() {
            let far = self.far_column.saturating_sub(self.task.width as usize);
            for (column, pixel) in beyond.chunks_exact_mut(self.pixel).enumerate() {
                pixel.copy_from_slice(if column < far { last } else { &self.corner });
            }
        }
        Some(line)
    }

    fn contiguous(&self, row: u32, len: usize) -> Option<&[u8]> {
        let strides = self.pixels.spec().strides;
        let start = self.task.first_band as usize * strides.band
            + row as usize * strides.row
            + self.task.x as usize * strides.column;
        self.pixels.bytes().get(start..start.checked_add(len)?)
    }

    /// Fills `dst` with pixels, each with the samples of all bands of the block.
    fn interleave(&self, row: u32, dst: &mut [u8]) -> Option<()> {
        let (size, stride) = (self.data_type.size(), self.pixels.spec().strides.column);
        let columns = (self.task.x, self.task.x.checked_add(self.task.width)?);
        let band = |sample: u32| self.pixels.row(self.task.first_band.checked_add(sample)?, row, columns);
        if self.samples == 1 {
            let src = band(0)?;
            // All pixels but the last, which may exceed the source, and then the last.
            let (rest, last) = dst.split_at_mut_checked(dst.len().checked_sub(size)?)?;
            if stride.is_multiple_of(size) {
                Picker::new(size, stride / size, 0).pick(src, rest);
            } else {
                scatter(src, stride, rest, size, size);
            }
            last.copy_from_slice(src.get(src.len().checked_sub(size)?..)?);
            return Some(());
        }
        if stride == size {
            match self.samples {
                2 => return weave_bands(&[band(0)?, band(1)?], dst, size),
                3 => return weave_bands(&[band(0)?, band(1)?, band(2)?], dst, size),
                4 => return weave_bands(&[band(0)?, band(1)?, band(2)?, band(3)?], dst, size),
                _ => {}
            }
        }
        for sample in 0..u32::try_from(self.samples).ok()? {
            let out = dst.get_mut(sample as usize * size..)?;
            scatter(band(sample)?, stride, out, self.pixel, size);
        }
        Some(())
    }

    /// Returns whether all samples of a row equal `fill`, bit for bit.
    pub(super) fn all_equal(&self, row: &[u8], fill: Fill) -> bool {
        match self.data_type.size() {
            1 => equal_chunks::<1>(row, fill),
            2 => equal_chunks::<2>(row, fill),
            4 => equal_chunks::<4>(row, fill),
            8 => equal_chunks::<8>(row, fill),
            _ => equal_chunks::<16>(row, fill),
        }
    }
}

fn equal_chunks<const SIZE: usize>(row: &[u8], fill: Fill) -> bool {
    let Some(fill) = fill.0.first_chunk::<SIZE>() else { return false };
    row.as_chunks::<SIZE>().0.iter().all(|sample| sample == fill)
}

/// Copies a sample every `from` bytes of `src` to every `to` bytes of `dst`.
fn scatter(src: &[u8], from: usize, dst: &mut [u8], to: usize, size: usize) {
    fn each<const SIZE: usize>(src: &[u8], from: usize, dst: &mut [u8], to: usize) {
        for (src, dst) in src.chunks(from.max(1)).zip(dst.chunks_mut(to.max(1))) {
            if let (Some(src), Some(dst)) = (src.first_chunk::<SIZE>(), dst.first_chunk_mut::<SIZE>()) {
                *dst = *src;
            }
        }
    }
    match size {
        1 => each::<1>(src, from, dst, to),
        2 => each::<2>(src, from, dst, to),
        4 => each::<4>(src, from, dst, to),
        8 => each::<8>(src, from, dst, to),
        _ => each::<16>(src, from, dst, to),
    }
}

/// Interleaves contiguous bands to pixels.
fn weave_bands<const N: usize>(bands: &[&[u8]; N], dst: &mut [u8], size: usize) -> Option<()> {
    fn each<const SIZE: usize, const N: usize>(bands: &[&[u8]; N], dst: &mut [u8]) -> Option<()> {
        let (samples, _) = dst.as_chunks_mut::<SIZE>();
        let (pixels, _) = samples.as_chunks_mut::<N>();
        let count = pixels.len();
        let mut planes = [&[][..]; N];
        for (plane, band) in planes.iter_mut().zip(bands) {
            *plane = band.as_chunks::<SIZE>().0.get(..count)?;
        }
        #[expect(clippy::indexing_slicing, reason = "every plane was cut to `count` samples above")]
        for (i, pixel) in pixels.iter_mut().enumerate() {
            for (sample, plane) in pixel.iter_mut().zip(&planes) {
                *sample = plane[i];
            }
        }
        Some(())
    }
    match size {
        1 => each::<1, N>(bands, dst),
        2 => each::<2, N>(bands, dst),
        4 => each::<4, N>(bands, dst),
        8 => each::<8, N>(bands, dst),
        _ => each::<16, N>(bands, dst),
    }
}

macro_rules! for_float_bits {
    ($data_type:expr, $half:ident => $body16:expr, $single:ident => $body32:expr, $double:ident => $body64:expr) => {
        match $data_type {
            DataType::F16 => {
                let $half = |b: [u8; 2]| u16::from_ne_bytes(b) & 0x7FFF > 0x7C00;
                $body16
            }
            DataType::F32 | DataType::C64 => {
                let $single = |b: [u8; 4]| u32::from_ne_bytes(b) & 0x7FFF_FFFF > 0x7F80_0000;
                $body32
            }
            _ => {
                let $double = |b: [u8; 8]| u64::from_ne_bytes(b) & (u64::MAX >> 1) > 0x7FF0_0000_0000_0000;
                $body64
            }
        }
    };
}

/// Returns whether a row of floats, real or complex, contains NaN.
fn has_nan(row: &[u8], data_type: DataType) -> bool {
    /// Does not return early within a group, so that the loop is vectorised.
    fn any<const N: usize>(row: &[u8], is_nan: impl Fn([u8; N]) -> bool) -> bool {
        let (numbers, _) = row.as_chunks::<N>();
        numbers.chunks(64).any(|group| group.iter().fold(false, |found, &number| found | is_nan(number)))
    }
    for_float_bits!(data_type, half => any(row, half), single => any(row, single), double => any(row, double))
}

/// Replaces NaN samples; a complex sample is replaced if either half is NaN.
fn replace_nan(row: &mut [u8], data_type: DataType, fill: Fill) {
    fn each<const N: usize>(row: &mut [u8], size: usize, fill: Fill, is_nan: impl Fn([u8; N]) -> bool) {
        let Some(fill) = fill.0.get(..size) else { return };
        for sample in row.chunks_exact_mut(size.max(1)) {
            if sample.as_chunks::<N>().0.iter().any(|&half| is_nan(half)) {
                sample.copy_from_slice(fill);
            }
        }
    }
    let size = data_type.size();
    for_float_bits!(
        data_type,
        half => each(row, size, fill, half),
        single => each(row, size, fill, single),
        double => each(row, size, fill, double)
    );
}
