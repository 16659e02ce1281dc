//! Arithmetic of each type: means, root mean squares, rounding, and the replacement of results equal to nodata.
//!
//! `reduce.md` defines every operation and its order; another engine that follows it gives identical bits.

use half::f16;
use strile_engine::Fill;

/// A real sample.
pub(crate) trait Sample: Copy + PartialEq + PartialOrd + Default + 'static {
    /// Whether NaN can occur.
    const FLOAT: bool;
    /// Result of a pixel without valid source pixels if there is no nodata value.
    const VOID: Self;

    /// Replaces the contents of `to` by the samples in `bytes`.
    fn load(bytes: &[u8], to: &mut Vec<Self>);
    /// Appends the bytes of `samples`.
    fn store(samples: &[Self], to: &mut Vec<u8>);
    /// Returns sample number `part` of a fill value.
    fn of_fill(fill: &Fill, part: usize) -> Self;
    fn is_nan(self) -> bool;
    /// Returns the next value, upwards if there is one; replaces a result that equals nodata by accident.
    fn beside(self) -> Self;
    fn to_f64(self) -> f64;
    /// Returns the nearest value: half away from zero for integers, clamped to the range.
    fn of_f64(value: f64) -> Self;
    /// Returns the mean of two by two pixels of an image in which all are valid.
    fn mean_of_four(a: Self, b: Self, c: Self, d: Self) -> Self;
    /// Returns the mean of the valid values, at least one.
    fn mean(values: [Self; 4], valid: [bool; 4]) -> Self;
    /// Returns the root mean square of two by two pixels of an image in which all are valid.
    fn rms_of_four(a: Self, b: Self, c: Self, d: Self) -> Self;
    /// Returns the root mean square of the valid values, at least one.
    fn rms(values: [Self; 4], valid: [bool; 4]) -> Self;
}

/// Returns the number of valid values.
pub(super) fn count(valid: [bool; 4]) -> u8 {
    valid.into_iter().map(u8::from).sum()
}

fn valid_f64<T: Sample>(values: [T; 4], valid: [bool; 4]) -> [f64; 4] {
    let mut taken = [0.0; 4];
    for ((taken, value), valid) in taken.iter_mut().zip(values).zip(valid) {
        *taken = if valid { value.to_f64() } else { 0.0 };
    }
    taken
}

fn mean_f64<T: Sample>(values: [T; 4], valid: [bool; 4]) -> f64 {
    let ([a, b, c, d], n) = (valid_f64(values, valid), f64::from(count(valid)));
    let sum = (a + b) + (c + d);
    // If the sum overflows, the mean does not.
    if sum.is_finite() { sum / n } else { (a / n + b / n) + (c / n + d / n) }
}

fn rms_f64<T: Sample>(values: [T; 4], valid: [bool; 4]) -> f64 {
    let ([a, b, c, d], n) = (valid_f64(values, valid), f64::from(count(valid)));
    let sum = (a * a + b * b) + (c * c + d * d);
    if sum.is_normal() {
        return (sum / n).sqrt();
    }
    // Squares overflowed: divided by the largest value they do not.
    let largest = a.abs().max(b.abs()).max(c.abs()).max(d.abs());
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let (a, b, c, d) = (a / largest, b / largest, c / largest, d / largest);
    largest * (((a * a + b * b) + (c * c + d * d)) / n).sqrt()
}

/// Returns, of the two integers around the root, the one whose square is nearer to the mean of squares; the lower of
/// equals.
fn rms_of_squares(sum: u64, n: u64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the root of at most 2^32, never negative"
    )]
    #[expect(clippy::cast_precision_loss, reason = "a mean of squares of 16 bits has 32")]
    let root = ((sum / n) as f64).sqrt() as u64;
    root + u64::from(2 * sum > n * (2 * root * root + 2 * root + 1))
}

/// Computes in `f32`, scaled by the largest of the first three, like GDAL does for short signed integers.
fn rms_in_f32([a, b, c, d]: [f32; 4]) -> f32 {
    let (a, b, c, d) = (a.abs(), b.abs(), c.abs(), d.abs());
    let scale = a.max(b).max(c);
    if scale == 0.0 {
        return d * 0.5;
    }
    let inverse = 1.0 / scale;
    let (a, b, c, d) = (a * inverse, b * inverse, c * inverse, d * inverse);
    scale * (((a * a + b * b) + (c * c + d * d)) * 0.25).sqrt()
}

/// Defines the conversion of samples from and to memory.
macro_rules! memory {
    ($type:ty, $size:literal) => {
        fn load(bytes: &[u8], to: &mut Vec<Self>) {
            to.clear();
            to.extend(bytes.as_chunks::<$size>().0.iter().map(|bytes| <$type>::from_ne_bytes(*bytes)));
        }

        fn store(samples: &[Self], to: &mut Vec<u8>) {
            let start = to.len();
            to.resize(start + samples.len() * $size, 0);
            let new = to.get_mut(start..).unwrap_or_default().as_chunks_mut::<$size>().0;
            for (bytes, sample) in new.iter_mut().zip(samples) {
                *bytes = sample.to_ne_bytes();
            }
        }

        fn of_fill(fill: &Fill, part: usize) -> Self {
            fill.0
                .as_chunks::<$size>()
                .0
                .get(part)
                .map_or(Self::default(), |bytes| <$type>::from_ne_bytes(*bytes))
        }
    };
}

/// Defines root mean squares, by the width of the type.
macro_rules! rms {
    (unsigned_16 $type:ty) => {
        fn rms_of_four(a: Self, b: Self, c: Self, d: Self) -> Self {
            let [a, b, c, d] = [a, b, c, d].map(u64::from);
            rms_of_squares(a * a + b * b + c * c + d * d, 4) as $type
        }

        fn rms(values: [Self; 4], valid: [bool; 4]) -> Self {
            let mut sum = 0;
            for (value, valid) in values.into_iter().zip(valid) {
                sum += if valid { u64::from(value) * u64::from(value) } else { 0 };
            }
            rms_of_squares(sum, u64::from(count(valid))) as $type
        }
    };
    (signed_16 $type:ty) => {
        fn rms_of_four(a: Self, b: Self, c: Self, d: Self) -> Self {
            Self::of_f64(f64::from(rms_in_f32([a, b, c, d].map(f32::from))))
        }

        fn rms(values: [Self; 4], valid: [bool; 4]) -> Self {
            Self::of_f64(f64::from(rms_f64(values, valid) as f32))
        }
    };
    (double $type:ty) => {
        fn rms_of_four(a: Self, b: Self, c: Self, d: Self) -> Self {
            Self::rms([a, b, c, d], [true; 4])
        }

        fn rms(values: [Self; 4], valid: [bool; 4]) -> Self {
            Self::of_f64(rms_f64(values, valid))
        }
    };
}

/// Integers: sums are exact in `$wide`.
macro_rules! integer {
    ($type:ty, $size:literal, $wide:ty, $rms:ident) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_lossless,
            clippy::cast_precision_loss,
            reason = "means lie within the type, sums within the wide one, and of_f64 is to saturate"
        )]
        impl Sample for $type {
            const FLOAT: bool = false;
            const VOID: Self = 0;

            memory!($type, $size);
            rms!($rms $type);

            fn is_nan(self) -> bool {
                false
            }

            fn beside(self) -> Self {
                if self == Self::MAX { self - 1 } else { self + 1 }
            }

            fn to_f64(self) -> f64 {
                self as f64
            }

            fn of_f64(value: f64) -> Self {
                let value = value.clamp(Self::MIN as f64, Self::MAX as f64);
                let whole = value as $wide;
                let rest = value - whole as f64;
                let whole = whole + <$wide>::from(rest >= 0.5) - <$wide>::from(rest <= -0.5);
                // The limits of 64 bits are not representable in f64.
                whole.clamp(Self::MIN as $wide, Self::MAX as $wide) as Self
            }

            fn mean_of_four(a: Self, b: Self, c: Self, d: Self) -> Self {
                let sum = a as $wide + b as $wide + c as $wide + d as $wide;
                // Add half of four, minus one for negative sums, and shift arithmetically: rounds half away from zero.
                ((sum + 2 - <$wide>::from(Self::MIN != 0 && sum < 0)) >> 2) as Self
            }

            fn mean(values: [Self; 4], valid: [bool; 4]) -> Self {
                let mut sum: $wide = 0;
                for (value, valid) in values.into_iter().zip(valid) {
                    sum += if valid { value as $wide } else { 0 };
                }
                let size = sum.abs();
                let mean = match count(valid) {
                    1 => size,
                    2 => (size + 1) / 2,
                    3 => (2 * size + 3) / 6,
                    _ => (size + 2) / 4,
                };
                (if sum < 0 { -mean } else { mean }) as Self
            }
        }
    };
}

integer!(u8, 1, i16, unsigned_16);
integer!(i8, 1, i16, signed_16);
integer!(u16, 2, i32, unsigned_16);
integer!(i16, 2, i32, signed_16);
integer!(u32, 4, i64, double);
integer!(i32, 4, i64, double);
integer!(u64, 8, i128, double);
integer!(i64, 8, i128, double);

/// Floats: means are computed in `$work` if all values are valid.
macro_rules! float {
    ($type:ty, $size:literal, $beside:expr, $to:expr, $of:expr, $mean:expr) => {
        impl Sample for $type {
            const FLOAT: bool = true;
            const VOID: Self = <$type>::NAN;

            memory!($type, $size);
            rms!(double $type);

            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            fn beside(self) -> Self {
                $beside(self)
            }

            fn to_f64(self) -> f64 {
                $to(self)
            }

            fn of_f64(value: f64) -> Self {
                // The NaN that an operation produces depends on the processor.
                if value.is_nan() { Self::VOID } else { $of(value) }
            }

            fn mean_of_four(a: Self, b: Self, c: Self, d: Self) -> Self {
                $mean([a, b, c, d])
            }

            fn mean(values: [Self; 4], valid: [bool; 4]) -> Self {
                Self::of_f64(mean_f64(values, valid))
            }
        }
    };
}

float!(
    f32,
    4,
    |v: f32| if v >= f32::MAX { v.next_down() } else { v.next_up() },
    f64::from,
    narrow,
    quarters_f32
);
float!(
    f64,
    8,
    |v: f64| if v >= f64::MAX { v.next_down() } else { v.next_up() },
    |v: f64| v,
    |v: f64| v,
    |[a, b, c, d]: [f64; 4]| (a * 0.25 + c * 0.25) + (b * 0.25 + d * 0.25)
);
float!(
    f16,
    2,
    beside_f16,
    f16::to_f64,
    // Via `f32`, which every processor and library rounds alike.
    |v: f64| f16::from_f32(narrow(v)),
    |values: [f16; 4]| f16::from_f32(quarters_f32(values.map(f16::to_f32)))
);

#[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is meant")]
fn narrow(value: f64) -> f32 {
    value as f32
}

fn quarters_f32([a, b, c, d]: [f32; 4]) -> f32 {
    (a * 0.25 + c * 0.25) + (b * 0.25 + d * 0.25)
}

fn beside_f16(value: f16) -> f16 {
    let (bits, magnitude) = (value.to_bits(), value.to_bits() & 0x7fff);
    match (magnitude, value.is_sign_negative()) {
        (0, _) => f16::from_bits(1),
        (_, true) => f16::from_bits(bits - 1),
        (_, false) if value >= f16::MAX => f16::from_bits(bits - 1),
        (_, false) => f16::from_bits(bits + 1),
    }
}
