//! Conversion of samples to floats for outputs that convert: nodata to NaN, scaling, rounding.
//!
//! The arithmetic is that of `strile_engine::Convert`, applied to rows. Rust does not fuse multiplications and
//! additions.

use half::f16;
use strile_engine::{Convert, Fill};
use strile_tiff::DataType;

/// Conversion from one sample type to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cast {
    convert: Convert,
    stored: DataType,
    target: DataType,
}

impl Cast {
    pub(crate) fn new(convert: &Convert, stored: DataType, target: DataType) -> Self {
        Self { convert: *convert, stored, target }
    }

    /// Returns the bytes of an output sample.
    pub(crate) fn size(&self) -> usize {
        self.target.size()
    }

    /// Returns the fill value of blocks without pixels.
    pub(crate) fn fill(&self, fill: &Fill) -> Fill {
        self.convert.sample(self.stored, fill, self.target).unwrap_or_default()
    }

    /// Converts as many samples as both slices hold.
    pub(crate) fn row(&self, src: &[u8], dst: &mut [u8]) {
        match self.stored {
            DataType::U8 => self.from::<u8, 1>(src, dst),
            DataType::I8 => self.from::<i8, 1>(src, dst),
            DataType::U16 => self.from::<u16, 2>(src, dst),
            DataType::I16 => self.from::<i16, 2>(src, dst),
            DataType::U32 => self.from::<u32, 4>(src, dst),
            DataType::I32 => self.from::<i32, 4>(src, dst),
            DataType::U64 => self.from::<u64, 8>(src, dst),
            DataType::I64 => self.from::<i64, 8>(src, dst),
            DataType::F16 => self.from::<f16, 2>(src, dst),
            DataType::F32 => self.from::<f32, 4>(src, dst),
            DataType::F64 => self.from::<f64, 8>(src, dst),
            // `claim_outputs` rejects blocks of these types for outputs that convert.
            DataType::C64 | DataType::C128 => {}
        }
    }

    fn from<S: Stored<N>, const N: usize>(&self, src: &[u8], dst: &mut [u8]) {
        let nodata = self.convert.nodata.and_then(|Fill(bytes)| Some(S::of(*bytes.first_chunk()?)));
        let convert = &self.convert;
        // Without nodata a separate loop runs. A NaN fails its comparison with itself, and infinity times 0 gives a
        // NaN: both become the one canonical NaN.
        match nodata {
            None => self.each::<N>(src, dst, |bytes| convert.value(S::of(bytes).value())),
            Some(nodata) => self.each::<N>(src, dst, |bytes| {
                let sample = S::of(bytes);
                if sample.is(nodata) { f64::NAN } else { convert.value(sample.value()) }
            }),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
    fn each<const N: usize>(&self, src: &[u8], dst: &mut [u8], value: impl Fn([u8; N]) -> f64) {
        const NAN_32: [u8; 4] = 0x7FC0_0000u32.to_ne_bytes();
        const NAN_64: [u8; 8] = 0x7FF8_0000_0000_0000u64.to_ne_bytes();
        let (src, _) = src.as_chunks::<N>();
        if self.target == DataType::F16 {
            let (dst, _) = dst.as_chunks_mut::<2>();
            for (to, &from) in dst.iter_mut().zip(src) {
                *to = Convert::half_of(value(from)).to_ne_bytes();
            }
        } else if self.target == DataType::F32 {
            let (dst, _) = dst.as_chunks_mut::<4>();
            for (to, &from) in dst.iter_mut().zip(src) {
                let value = value(from) as f32;
                *to = if value.is_nan() { NAN_32 } else { value.to_ne_bytes() };
            }
        } else {
            let (dst, _) = dst.as_chunks_mut::<8>();
            for (to, &from) in dst.iter_mut().zip(src) {
                let value = value(from);
                *to = if value.is_nan() { NAN_64 } else { value.to_ne_bytes() };
            }
        }
    }
}

/// A sample in memory, of `N` bytes.
trait Stored<const N: usize>: Copy {
    fn of(bytes: [u8; N]) -> Self;
    fn value(self) -> f64;
    /// Returns whether the sample is the nodata value.
    fn is(self, nodata: Self) -> bool;
}

macro_rules! stored {
    ($($type:ty, $size:literal, |$value:ident| $to_f64:expr, |$a:ident, $b:ident| $same:expr;)+) => {
        $(impl Stored<$size> for $type {
            #[inline]
            fn of(bytes: [u8; $size]) -> Self {
                Self::from_ne_bytes(bytes)
            }

            #[inline]
            #[allow(clippy::cast_precision_loss, reason = "integers of 64 bits are rounded to the nearest")]
            fn value(self) -> f64 {
                let $value = self;
                $to_f64
            }

            #[inline]
            fn is(self, nodata: Self) -> bool {
                let ($a, $b) = (self, nodata);
                $same
            }
        })+
    };
}

stored! {
    u8, 1, |v| v.into(), |a, b| a == b;
    i8, 1, |v| v.into(), |a, b| a == b;
    u16, 2, |v| v.into(), |a, b| a == b;
    i16, 2, |v| v.into(), |a, b| a == b;
    u32, 4, |v| v.into(), |a, b| a == b;
    i32, 4, |v| v.into(), |a, b| a == b;
    u64, 8, |v| v as f64, |a, b| a == b;
    i64, 8, |v| v as f64, |a, b| a == b;
    f16, 2, |v| v.into(), |a, b| a == b || (a.is_nan() && b.is_nan());
    f32, 4, |v| v.into(), |a, b| a == b || (a.is_nan() && b.is_nan());
    f64, 8, |v| v, |a, b| a == b || (a.is_nan() && b.is_nan());
}
