//! Writes values as samples of the output.

#![expect(unsafe_code, reason = "writes into output memory that threads share, each its own rows")]

use super::Made;
use super::sheet::Sample;
use half::f16;
use strile_engine::{Claim, Convert, Fill, WarpBlend, WarpWindow};
use strile_tiff::DataType;

/// Destination of the values of a window, and their conversion.
pub(super) struct Store<'a> {
    window: &'a WarpWindow,
    claim: &'a Claim,
    from: DataType,
    to: DataType,
}

/// A sample type that numbers are rounded to.
trait Target: Sample {
    /// Returns the nearest sample: integers round halves up and are clamped to their range, and every NaN becomes the
    /// same NaN.
    fn of_number(value: f64) -> Self;
    /// Returns the replacement for a value that must be avoided.
    fn beside(self) -> Self;
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Target for $type {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` stops at the limits")]
            fn of_number(value: f64) -> Self {
                floor(value + 0.5) as Self
            }

            fn beside(self) -> Self {
                if self == Self::MIN { self + 1 } else { self - 1 }
            }
        }
    )+};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64);

/// Rounds down, without a call on processors that lack an instruction for it.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "below 2⁵¹, checked")]
fn floor(value: f64) -> f64 {
    const WHOLE: f64 = 2_251_799_813_685_248.0;
    if value.abs() < WHOLE {
        let cut = value as i64 as f64;
        if value < cut { cut - 1.0 } else { cut }
    } else {
        value.floor()
    }
}

impl Target for f16 {
    fn of_number(value: f64) -> Self {
        Self::from_bits(Convert::half_of(value))
    }

    fn beside(self) -> Self {
        match (self.to_bits(), self.to_bits() & 0x7FFF) {
            (_, 0) => Self::from_bits(1),
            (bits, _) if bits & 0x8000 != 0 => Self::from_bits(bits - 1),
            (bits, 0x7BFF..) => Self::from_bits(bits - 1),
            (bits, _) => Self::from_bits(bits + 1),
        }
    }
}

impl Target for f32 {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
    fn of_number(value: f64) -> Self {
        if value.is_nan() { Self::from_bits(0x7FC0_0000) } else { value as Self }
    }

    fn beside(self) -> Self {
        if self >= Self::MAX { self.next_down() } else { self.next_up() }
    }
}

impl Target for f64 {
    #[inline(always)]
    fn of_number(value: f64) -> Self {
        if value.is_nan() { Self::from_bits(0x7FF8_0000_0000_0000) } else { value }
    }

    fn beside(self) -> Self {
        if self >= Self::MAX { self.next_down() } else { self.next_up() }
    }
}

impl<'a> Store<'a> {
    pub(super) fn new(window: &'a WarpWindow, from: DataType, claim: &'a Claim) -> Self {
        Self { window, claim, from, to: claim.spec().data_type }
    }

    /// Writes a run of a row: band, row and column are of the window.
    pub(super) fn put<S: Sample>(&self, made: &mut Made, at: (u32, u32, u32), len: usize) {
        if made.chosen && self.from != self.to {
            if let (DataType::U64, DataType::I64) | (DataType::I64, DataType::U64) = (self.from, self.to) {
                // `f64` cannot represent all numbers of either type: values out of range become the end of the range.
                let end = if self.to == DataType::I64 { u64::MAX >> 1 } else { 0 };
                for bits in made.bits.iter_mut().take(len) {
                    *bits = if *bits >> 63 == 0 { *bits } else { end };
                }
            } else {
                for (value, bits) in made.values.iter_mut().zip(&made.bits).take(len) {
                    *value = S::of_bits(*bits).value();
                }
                made.chosen = false;
            }
        }
        match self.to {
            DataType::U8 => self.row::<u8, 1>(made, at, len, u8::to_ne_bytes),
            DataType::I8 => self.row::<i8, 1>(made, at, len, i8::to_ne_bytes),
            DataType::U16 => self.row::<u16, 2>(made, at, len, u16::to_ne_bytes),
            DataType::I16 => self.row::<i16, 2>(made, at, len, i16::to_ne_bytes),
            DataType::U32 => self.row::<u32, 4>(made, at, len, u32::to_ne_bytes),
            DataType::I32 => self.row::<i32, 4>(made, at, len, i32::to_ne_bytes),
            DataType::U64 => self.row::<u64, 8>(made, at, len, u64::to_ne_bytes),
            DataType::I64 => self.row::<i64, 8>(made, at, len, i64::to_ne_bytes),
            DataType::F16 => self.row::<f16, 2>(made, at, len, f16::to_ne_bytes),
            DataType::F32 => self.row::<f32, 4>(made, at, len, f32::to_ne_bytes),
            DataType::F64 => self.row::<f64, 8>(made, at, len, f64::to_ne_bytes),
            // `WarpJob::check` rejects real samples for these.
            DataType::C64 | DataType::C128 => {}
        }
    }

    fn row<T: Target, const N: usize>(
        &self,
        made: &Made,
        (band, row, column): (u32, u32, u32),
        len: usize,
        bytes: impl Fn(T) -> [u8; N],
    ) {
        let first = self.window.column.saturating_add(column);
        let Some(end) = u32::try_from(len).ok().and_then(|len| first.checked_add(len)) else { return };
        let (band, row) = (self.window.first_band + band, self.window.row + row);
        // SAFETY: only one thread gets this run of this band, and only its samples are written.
        let Some(out) = (unsafe { self.claim.row(band, row, (first, end)) }) else { return };
        let fill = T::of(&self.window.fill.0);
        let avoid = self.window.avoid.map(|Fill(bytes)| T::of(&bytes));
        let keep = self.window.blend == WarpBlend::Keep;
        let step = if len == 1 { N } else { out.stride };
        if (len - 1).saturating_mul(step).saturating_add(N) > out.len {
            return;
        }
        let put = |i: usize, sample: T| {
            let sample = if avoid == Some(sample) { sample.beside() } else { sample };
            // SAFETY: the last sample ends within the row, checked above.
            unsafe { out.start.add(i * step).cast::<[u8; N]>().write_unaligned(bytes(sample)) };
        };
        if made.found.iter().take(len).fold(true, |all, found| all & found) {
            if made.chosen {
                made.bits.iter().take(len).enumerate().for_each(|(i, bits)| put(i, T::of_bits(*bits)));
            } else {
                made.values.iter().take(len).enumerate().for_each(|(i, value)| put(i, T::of_number(*value)));
            }
            return;
        }
        let all = made.values.iter().zip(&made.bits).zip(&made.found).take(len);
        for (i, ((value, bits), found)) in all.enumerate() {
            if *found {
                put(i, if made.chosen { T::of_bits(*bits) } else { T::of_number(*value) });
            } else if !keep {
                // SAFETY: the last sample ends within the row, checked above.
                unsafe { out.start.add(i * step).cast::<[u8; N]>().write_unaligned(bytes(fill)) };
            }
        }
    }

    /// Writes one sample unchanged, or the value of pixels without a sample.
    pub(super) fn put_bytes(&self, sample: Option<&[u8]>, (band, row, column): (u32, u32, u32)) {
        let size = self.to.size();
        let fill = self.window.fill.0.get(..size);
        let Some(sample) = sample.or(fill.filter(|_| self.window.blend != WarpBlend::Keep)) else { return };
        let column = self.window.column + column;
        let (band, row) = (self.window.first_band + band, self.window.row + row);
        // SAFETY: only one thread gets this sample.
        let Some(out) = (unsafe { self.claim.row(band, row, (column, column + 1)) }) else { return };
        if sample.len() <= out.len {
            // SAFETY: it ends within the row, checked above.
            unsafe { out.start.copy_from_nonoverlapping(sample.as_ptr(), sample.len()) };
        }
    }
}
