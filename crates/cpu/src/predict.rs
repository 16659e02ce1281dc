//! Converts a packed row from the codec's form to native byte order without predictor.
//!
//! Predictors restart with every row, so rows above the wanted ones are never touched. Byte order and predictor are one
//! step because the predictor works on numbers: 2 on integers as wide as the sample (whatever its format, as in
//! libtiff), 3 on bytes, which it orders by significance whatever the byte order of the file.

use crate::pool::sized;
use crate::simd;
use strile_engine::{BlockLayout, DecodedForm};
use strile_tiff::{ByteOrder, Predictor, SampleFormat};

/// Operation that is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo {
    /// None.
    Nothing,
    /// Swapped byte order of units of this many bytes.
    Order(usize),
    /// Predictor 2 on lanes of this many bytes.
    Sum {
        /// Bytes of a sample.
        lane: usize,
        /// Whether their byte order is swapped.
        swap: bool,
    },
    /// Predictor 3 on samples of this many bytes.
    Planes(usize),
    /// Predictor 2 on samples other than 8, 16, 32 or 64 bits: left to `samples`, which unpacks them.
    WhileUnpacking,
}

impl Undo {
    /// Returns the operation to undo for the layout; the error says why it is not possible.
    pub(crate) fn of(layout: &BlockLayout) -> Result<Self, String> {
        if layout.decoded_form() == DecodedForm::Samples {
            return Ok(Self::Nothing);
        }
        let sample = layout.sample;
        let foreign = layout.byte_order != ByteOrder::NATIVE;
        // Integers of other depths are packed most significant bit first in both byte orders, except those of 24 bits
        // in big-endian files. Floats of 24 bits are three bytes in the file's order.
        let whole = sample.whole_bytes().filter(|bytes| match bytes {
            3 => sample.format == SampleFormat::Float,
            bytes => matches!(bytes, 1 | 2 | 4 | 8 | 16),
        });
        let whole = whole.filter(|_| layout.mixed_bits.is_none());
        let reversed = layout.mixed_bits.is_none() && sample.is_reversed_triple(layout.byte_order);
        match (layout.predictor, whole) {
            // `samples` undoes predictor 2 afterwards.
            (Predictor::None | Predictor::Horizontal, None) if reversed => Ok(Self::Order(3)),
            (Predictor::None, None) => Ok(Self::Nothing),
            (Predictor::None, Some(_)) => {
                let unit = sample.swap_unit().unwrap_or(1);
                Ok(if foreign && unit > 1 { Self::Order(unit) } else { Self::Nothing })
            }
            (Predictor::Horizontal, Some(lane @ (1 | 2 | 4 | 8))) => {
                Ok(Self::Sum { lane, swap: foreign && lane > 1 })
            }
            (Predictor::Horizontal, _) if layout.mixed_bits.is_none() && sample.bits <= 64 => {
                Ok(Self::WhileUnpacking)
            }
            (Predictor::FloatingPoint, Some(size @ (2 | 3 | 4 | 8))) => Ok(Self::Planes(size)),
            (Predictor::Horizontal, _) => Err(format!("predictor 2 on samples of {sample}")),
            (Predictor::FloatingPoint, _) => Err(format!("predictor 3 on samples of {sample}")),
        }
    }

    /// Undoes the operation on one row of pixels of `samples` samples. `dst` takes as many bytes from the start of the
    /// row as it holds; `None` if there is no memory for `bytes`.
    pub(crate) fn row(
        self,
        packed: &[u8],
        dst: &mut [u8],
        samples: usize,
        bytes: &mut Vec<u8>,
    ) -> Option<()> {
        match self {
            Self::Nothing | Self::WhileUnpacking => {
                let len = packed.len().min(dst.len());
                dst.get_mut(..len)?.copy_from_slice(packed.get(..len)?);
            }
            Self::Order(unit) => simd::swap(packed, dst, unit),
            Self::Sum { lane, swap: false } => simd::running_sum(packed, dst, lane, lane * samples),
            Self::Sum { lane, swap: true } => {
                let len = packed.len().min(dst.len());
                let native = sized(bytes, len)?;
                simd::swap(packed.get(..len)?, native, lane);
                simd::running_sum(native, dst, lane, lane * samples);
            }
            Self::Planes(size) => {
                let planes = sized(bytes, packed.len())?;
                simd::running_sum(packed, planes, 1, samples);
                simd::weave(planes, dst, size);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns differences of `samples` like libtiff's horDiff, as bytes of the given order.
    fn differenced(values: &[u32], samples: usize, big: bool) -> Vec<u8> {
        let difference = |(i, v): (usize, &u32)| {
            let before = if i >= samples { values[i - samples] } else { 0 };
            let d = v.wrapping_sub(before);
            if big { d.to_be_bytes() } else { d.to_le_bytes() }
        };
        values.iter().enumerate().flat_map(difference).collect()
    }

    fn numbers(count: u32) -> Vec<u32> {
        (0..count).map(|i| i.wrapping_mul(2_654_435_761).rotate_left(i % 32)).collect()
    }

    #[test]
    fn predictor_2_gives_the_numbers_back_in_both_orders() {
        for samples in 1..=5 {
            let values = numbers(40 * samples);
            for big in [false, true] {
                let samples = samples as usize;
                let packed = differenced(&values, samples, big);
                let mut row = vec![0; packed.len()];
                let swap = big == cfg!(target_endian = "little");
                Undo::Sum { lane: 4, swap }.row(&packed, &mut row, samples, &mut Vec::new()).unwrap();
                let got: Vec<u32> = row.as_chunks::<4>().0.iter().map(|b| u32::from_ne_bytes(*b)).collect();
                assert_eq!(got, values, "{samples} samples, big end first: {big}");
            }
        }
    }

    #[test]
    fn predictor_3_gives_the_floats_back() {
        for samples in 1..=5 {
            let values = numbers(50 * samples);
            let samples = samples as usize;
            // libtiff's fpDiff: planes by significance, then differences of bytes `samples` apart.
            let mut planes: Vec<u8> =
                (0..4).flat_map(|byte| values.iter().map(move |v| v.to_be_bytes()[byte])).collect();
            for i in (samples..planes.len()).rev() {
                planes[i] = planes[i].wrapping_sub(planes[i - samples]);
            }
            let mut row = vec![0; planes.len()];
            Undo::Planes(4).row(&planes, &mut row, samples, &mut Vec::new()).unwrap();
            let got: Vec<u32> = row.as_chunks::<4>().0.iter().map(|b| u32::from_ne_bytes(*b)).collect();
            assert_eq!(got, values, "{samples} samples");
        }
    }
}
