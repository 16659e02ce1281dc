//! Converts a row of packed samples in native byte order to the codec's form: applies predictor and byte order, the
//! exact inverse of `predict`.

use crate::pool::sized;
use crate::simd;
use strile_engine::{BlockLayout, DecodedForm};
use strile_tiff::{ByteOrder, Predictor, SampleFormat};

/// Operation on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// None.
    Nothing,
    /// Swap the byte order of units of this many bytes.
    Order(usize),
    /// Apply predictor 2 to lanes of this many bytes.
    Lanes {
        /// Bytes of a sample.
        lane: usize,
        /// Whether to swap their byte order.
        swap: bool,
    },
    /// Apply predictor 3 to samples of this many bytes.
    Planes(usize),
}

impl Difference {
    /// Returns the operation for the layout; the error says why it is not possible.
    pub(super) fn of(layout: &BlockLayout) -> Result<Self, String> {
        if layout.decoded_form() == DecodedForm::Samples {
            return Ok(Self::Nothing);
        }
        let sample = layout.sample;
        let foreign = layout.byte_order != ByteOrder::NATIVE;
        // Integers of other depths are bits in one order, whatever the file's byte order, except those of 24 bits;
        // floats of 24 bits follow the file's order.
        let whole = sample.whole_bytes().filter(|bytes| match bytes {
            3 => sample.format == SampleFormat::Float,
            bytes => matches!(bytes, 1 | 2 | 4 | 8 | 16),
        });
        match (layout.predictor, whole) {
            (Predictor::None, None) if sample.is_reversed_triple(layout.byte_order) => Ok(Self::Order(3)),
            (Predictor::None, None) => Ok(Self::Nothing),
            (Predictor::None, Some(_)) => {
                let unit = sample.swap_unit().unwrap_or(1);
                Ok(if foreign && unit > 1 { Self::Order(unit) } else { Self::Nothing })
            }
            (Predictor::Horizontal, Some(lane @ (1 | 2 | 4 | 8))) => {
                Ok(Self::Lanes { lane, swap: foreign && lane > 1 })
            }
            (Predictor::FloatingPoint, Some(size @ (2 | 3 | 4 | 8))) => Ok(Self::Planes(size)),
            (Predictor::Horizontal, _) => Err(format!("predictor 2 on samples of {sample}")),
            (Predictor::FloatingPoint, _) => Err(format!("predictor 3 on samples of {sample}")),
        }
    }

    /// Converts one row of pixels of `samples` samples; `None` if there is no memory for `bytes`, or if the length of
    /// the row differs from that of `dst`.
    pub(super) fn row(self, row: &[u8], dst: &mut [u8], samples: usize, bytes: &mut Vec<u8>) -> Option<()> {
        if row.len() != dst.len() {
            return None;
        }
        match self {
            Self::Nothing => dst.copy_from_slice(row),
            Self::Order(unit) => simd::swap(row, dst, unit),
            Self::Lanes { lane, swap } => lanes(row, dst, lane, samples, swap)?,
            Self::Planes(size) => {
                let planes = sized(bytes, row.len())?;
                split(row, planes, size);
                lanes(planes, dst, 1, samples, false)?;
            }
        }
        Some(())
    }
}

/// Subtracts from each lane the one `back` lanes before.
fn lanes(src: &[u8], dst: &mut [u8], lane: usize, back: usize, swap: bool) -> Option<()> {
    macro_rules! difference {
        ($ty:ty, $lane:literal, $swapped:expr) => {{
            let ((src, _), (dst, _)) = (src.as_chunks::<$lane>(), dst.as_chunks_mut::<$lane>());
            let back = back.min(src.len());
            let (first, rest) = dst.split_at_mut_checked(back)?;
            let (head, tail) = src.split_at_checked(back)?;
            let put = |value: $ty| if $swapped { value.swap_bytes() } else { value }.to_ne_bytes();
            for (to, &from) in first.iter_mut().zip(head) {
                *to = put(<$ty>::from_ne_bytes(from));
            }
            for ((to, &from), &before) in rest.iter_mut().zip(tail).zip(src) {
                *to = put(<$ty>::from_ne_bytes(from).wrapping_sub(<$ty>::from_ne_bytes(before)));
            }
        }};
    }
    match (lane, swap) {
        (1, _) => difference!(u8, 1, false),
        (2, false) => difference!(u16, 2, false),
        (2, true) => difference!(u16, 2, true),
        (4, false) => difference!(u32, 4, false),
        (4, true) => difference!(u32, 4, true),
        (_, false) => difference!(u64, 8, false),
        (_, true) => difference!(u64, 8, true),
    }
    Some(())
}

/// Splits samples of `size` bytes into planes, most significant bytes first.
fn split(src: &[u8], planes: &mut [u8], size: usize) {
    let count = src.len() / size.max(1);
    for (number, plane) in planes.chunks_exact_mut(count.max(1)).enumerate() {
        let at = if cfg!(target_endian = "little") { size - 1 - number.min(size - 1) } else { number };
        match size {
            2 => split_plane::<2>(src, plane, at),
            3 => split_plane::<3>(src, plane, at),
            4 => split_plane::<4>(src, plane, at),
            _ => split_plane::<8>(src, plane, at),
        }
    }
}

fn split_plane<const SIZE: usize>(src: &[u8], plane: &mut [u8], at: usize) {
    // A constant index allows vectorisation.
    #[inline(always)]
    fn place<const SIZE: usize>(src: &[u8], plane: &mut [u8], at: usize) {
        for (to, from) in plane.iter_mut().zip(src.as_chunks::<SIZE>().0) {
            *to = from.get(at).copied().unwrap_or_default();
        }
    }
    match at {
        0 => place::<SIZE>(src, plane, 0),
        1 => place::<SIZE>(src, plane, 1),
        2 => place::<SIZE>(src, plane, 2),
        3 => place::<SIZE>(src, plane, 3),
        _ => place::<SIZE>(src, plane, at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Undo;

    fn noise(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 151 + (i >> 3) * 77 + i * i / 5).to_le_bytes()[0]).collect()
    }

    #[test]
    fn undoing_gives_the_row_back() {
        let mut pairs = vec![(Difference::Nothing, Undo::Nothing)];
        for size in [2, 3, 4, 8] {
            pairs.push((Difference::Order(size), Undo::Order(size)));
            pairs.push((Difference::Planes(size), Undo::Planes(size)));
        }
        for lane in [1, 2, 4, 8] {
            for swap in [false, true] {
                pairs.push((Difference::Lanes { lane, swap }, Undo::Sum { lane, swap }));
            }
        }
        for (forward, back) in pairs {
            for samples in 1..=6 {
                for width in [1, 2, 3, 17, 40, 129] {
                    let row = noise(width * samples * 24);
                    let (mut made, mut undone) = (vec![0xaa; row.len()], vec![0x55; row.len()]);
                    forward.row(&row, &mut made, samples, &mut Vec::new()).unwrap();
                    back.row(&made, &mut undone, samples, &mut Vec::new()).unwrap();
                    assert_eq!(undone, row, "{forward:?}, {samples} samples, width {width}");
                }
            }
        }
    }

    #[test]
    fn rows_as_libtiff_makes_them() {
        let mut dst = [0; 6];
        let words: Vec<u8> = [0x0100u16, 0x00FF, 0x0200].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let swap = cfg!(target_endian = "little");
        Difference::Lanes { lane: 2, swap }.row(&words, &mut dst, 1, &mut Vec::new()).unwrap();
        assert_eq!(dst, [1, 0, 0xFF, 0xFF, 1, 1], "big end first");
        // 1.0 = 3F 80 00 00 and -2.0 = C0 00 00 00: planes 3F C0 | 80 00 | 00 00 | 00 00, then differences.
        let floats: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut dst = [0; 8];
        Difference::Planes(4).row(&floats, &mut dst, 1, &mut Vec::new()).unwrap();
        assert_eq!(dst, [0x3F, 0x81, 0xC0, 0x80, 0, 0, 0, 0]);
    }
}
