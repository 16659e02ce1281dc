//! Pixels given to a writer: a rectangle of the full image, in the caller's memory.

use crate::{Interleave, Window};
use strile_engine::{OutputError, OutputSpec};
use strile_tiff::DataType;

/// A rectangle of pixels, all bands, any size, any strides.
#[derive(Debug, Clone)]
pub struct Piece<'a> {
    /// Where it lies in the image.
    pub window: Window,
    /// Its shape in memory.
    pub spec: OutputSpec,
    /// The bytes, native order.
    pub pixels: &'a [u8],
    /// A byte for each pixel, row after row: 0 where it is not valid.
    pub mask: Option<&'a [u8]>,
}

impl<'a> Piece<'a> {
    /// Contiguous pixels.
    pub fn contiguous(
        window: Window,
        bands: u16,
        data_type: DataType,
        interleave: Interleave,
        pixels: &'a [u8],
    ) -> Result<Self, OutputError> {
        let Window { width, height, .. } = window;
        let spec = match interleave {
            Interleave::BandFirst => OutputSpec::band_first(data_type, u32::from(bands), height, width),
            Interleave::BandLast => OutputSpec::band_last(data_type, u32::from(bands), height, width),
        }?;
        Ok(Self { window, spec, pixels, mask: None })
    }

    /// The same with a mask.
    pub fn with_mask(self, mask: &'a [u8]) -> Self {
        Self { mask: Some(mask), ..self }
    }
}

/// Where a rectangle of samples is copied from and to: byte offsets of its first sample, and its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    /// Column and row in the source.
    pub(crate) from: (u32, u32),
    /// Column and row in the target.
    pub(crate) to: (u32, u32),
    /// Columns and rows.
    pub(crate) size: (u32, u32),
}

/// Copies all bands of a rectangle between two shapes of the same type; `None` where it leaves one of them.
pub(crate) fn copy(src: &[u8], from: &OutputSpec, dst: &mut [u8], to: &OutputSpec, rect: Rect) -> Option<()> {
    let size = from.data_type.size();
    let (columns, rows) = (rect.size.0 as usize, rect.size.1 as usize);
    let bands = from.bands as usize;
    let interleaved = |spec: &OutputSpec| spec.strides.band == size && spec.strides.column == size * bands;
    let (whole_pixels, passes) = match interleaved(from) && interleaved(to) {
        true => (size * bands, 1),
        false => (size, bands),
    };
    for band in 0..passes {
        for row in 0..rows {
            let start = |spec: &OutputSpec, (x, y): (u32, u32)| {
                band * spec.strides.band
                    + (y as usize + row) * spec.strides.row
                    + x as usize * spec.strides.column
            };
            let src = src.get(start(from, rect.from)..)?;
            let dst = dst.get_mut(start(to, rect.to)..)?;
            let (ss, ds) = (from.strides.column, to.strides.column);
            if ss == whole_pixels && ds == whole_pixels {
                let len = columns * whole_pixels;
                dst.get_mut(..len)?.copy_from_slice(src.get(..len)?);
                continue;
            }
            match size {
                1 => spread::<1>(src, ss, dst, ds, columns),
                2 => spread::<2>(src, ss, dst, ds, columns),
                4 => spread::<4>(src, ss, dst, ds, columns),
                8 => spread::<8>(src, ss, dst, ds, columns),
                _ => spread::<16>(src, ss, dst, ds, columns),
            }?;
        }
    }
    Some(())
}

fn spread<const N: usize>(src: &[u8], from: usize, dst: &mut [u8], to: usize, count: usize) -> Option<()> {
    let last = count.checked_sub(1)?;
    let (src, dst) = (src.get(..last * from + N)?, dst.get_mut(..last * to + N)?);
    for (src, dst) in src.chunks(from).zip(dst.chunks_mut(to)) {
        *dst.first_chunk_mut::<N>()? = *src.first_chunk::<N>()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_move_between_all_orders_of_axes() {
        let (bands, rows, columns) = (3u32, 4u32, 5u32);
        let first = OutputSpec::band_first(DataType::U16, bands, rows, columns).unwrap();
        let last = OutputSpec::band_last(DataType::U16, bands, rows, columns).unwrap();
        let value = |band: u32, row: u32, column: u32| u16::try_from(band * 100 + row * 10 + column).unwrap();
        let filled = |spec: &OutputSpec| {
            let mut bytes = vec![0xEE; spec.len().unwrap()];
            for (b, r, c) in itertools3(bands, rows, columns) {
                let s = spec.strides;
                let at = b as usize * s.band + r as usize * s.row + c as usize * s.column;
                bytes[at..at + 2].copy_from_slice(&value(b, r, c).to_ne_bytes());
            }
            bytes
        };
        for from in [&first, &last] {
            for to in [&first, &last] {
                let mut out = vec![0xEE; to.len().unwrap()];
                let rect = Rect { from: (1, 2), to: (0, 1), size: (3, 2) };
                copy(&filled(from), from, &mut out, to, rect).unwrap();
                for (b, r, c) in itertools3(bands, rows, columns) {
                    let s = to.strides;
                    let at = b as usize * s.band + r as usize * s.row + c as usize * s.column;
                    let got = u16::from_ne_bytes([out[at], out[at + 1]]);
                    let inside = (1..3).contains(&r) && c < 3;
                    let expected = if inside { value(b, r + 1, c + 1) } else { 0xEEEE };
                    assert_eq!(got, expected, "band {b}, row {r}, column {c}");
                }
            }
        }
        let rect = Rect { from: (3, 0), to: (0, 0), size: (3, 4) };
        assert!(copy(&[0; 20], &first, &mut [0; 120], &last, rect).is_none(), "leaves the source");
    }

    fn itertools3(a: u32, b: u32, c: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..a).flat_map(move |x| (0..b).flat_map(move |y| (0..c).map(move |z| (x, y, z))))
    }
}
