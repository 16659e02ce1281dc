//! Conversion of samples to numbers, and of numbers to samples of a type.

use crate::options::Interleave;
use crate::raster::Raster;
use strile_tiff::{DataType, from_half, to_half};

/// Returns whether samples are integers.
pub(super) const fn is_whole(data_type: DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::U8 | D::I8 | D::U16 | D::I16 | D::U32 | D::I32 | D::U64 | D::I64)
}

/// Returns whether samples have an imaginary part.
pub(super) const fn is_complex(data_type: DataType) -> bool {
    matches!(data_type, DataType::C64 | DataType::C128)
}

/// Returns the smallest and the largest value of an integer type.
pub(super) fn limits(data_type: DataType) -> Option<(i128, i128)> {
    use DataType as D;
    Some(match data_type {
        D::U8 => (0, u8::MAX.into()),
        D::I8 => (i8::MIN.into(), i8::MAX.into()),
        D::U16 => (0, u16::MAX.into()),
        D::I16 => (i16::MIN.into(), i16::MAX.into()),
        D::U32 => (0, u32::MAX.into()),
        D::I32 => (i32::MIN.into(), i32::MAX.into()),
        D::U64 => (0, u64::MAX.into()),
        D::I64 => (i64::MIN.into(), i64::MAX.into()),
        D::F16 | D::F32 | D::F64 | D::C64 | D::C128 => return None,
    })
}

/// Returns the bytes of some columns of a row of a band, from the first sample on, and the distance between samples.
pub(super) fn row_of(raster: &Raster, band: usize, row: usize, first: usize) -> (&[u8], usize) {
    let size = raster.data_type.size();
    let (bands, rows, columns) = (raster.bands as usize, raster.rows as usize, raster.columns as usize);
    let (start, stride) = match raster.interleave {
        Interleave::BandFirst => (((band * rows + row) * columns + first) * size, size),
        Interleave::BandLast => (((row * columns + first) * bands + band) * size, size * bands),
    };
    let last = columns.saturating_sub(first + 1) * stride + size;
    (raster.pixels.get(start..start + last).unwrap_or_default(), stride)
}

/// Appends samples that are `stride` bytes apart as numbers; complex samples by their real part.
pub(super) fn load(data_type: DataType, bytes: &[u8], stride: usize, out: &mut Vec<f64>) {
    fn each<const N: usize>(
        (bytes, stride): (&[u8], usize),
        out: &mut Vec<f64>,
        number: impl Fn([u8; N]) -> f64,
    ) {
        let samples = bytes.chunks(stride.max(1)).filter_map(|sample| sample.first_chunk::<N>());
        out.extend(samples.map(|sample| number(*sample)));
    }
    let all = (bytes, stride);
    #[expect(
        clippy::cast_precision_loss,
        reason = "arithmetic on 64-bit integers is that of f64, as in GDAL"
    )]
    match data_type {
        DataType::U8 => each(all, out, |b| f64::from(u8::from_ne_bytes(b))),
        DataType::I8 => each(all, out, |b| f64::from(i8::from_ne_bytes(b))),
        DataType::U16 => each(all, out, |b| f64::from(u16::from_ne_bytes(b))),
        DataType::I16 => each(all, out, |b| f64::from(i16::from_ne_bytes(b))),
        DataType::U32 => each(all, out, |b| f64::from(u32::from_ne_bytes(b))),
        DataType::I32 => each(all, out, |b| f64::from(i32::from_ne_bytes(b))),
        DataType::U64 => each(all, out, |b| u64::from_ne_bytes(b) as f64),
        DataType::I64 => each(all, out, |b| i64::from_ne_bytes(b) as f64),
        DataType::F16 => each(all, out, |b| from_half(u16::from_ne_bytes(b))),
        DataType::F32 | DataType::C64 => each(all, out, |b| f64::from(f32::from_ne_bytes(b))),
        DataType::F64 | DataType::C128 => each(all, out, f64::from_ne_bytes),
    }
}

/// Numbers of samples that could not be stored exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Values outside the range of the type, which were clamped.
    pub(super) clamped: u64,
    /// NaN in a type without NaN, which became 0.
    pub(super) nan: u64,
    /// Valid values equal to nodata, which became the adjacent value.
    pub(super) moved: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.clamped += other.clamped;
        self.nan += other.nan;
        self.moved += other.moved;
    }
}

/// Stores numbers as samples that are `stride` bytes apart: rounded to the nearest, halves away from zero, and clamped.
/// The imaginary part of complex samples becomes 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is clamping")]
pub(super) fn store(data_type: DataType, numbers: &[f64], out: &mut [u8], stride: usize) -> Counts {
    let mut counts = Counts::default();
    macro_rules! whole {
        ($t:ty) => {
            for (number, slot) in numbers.iter().zip(out.chunks_mut(stride.max(1))) {
                let rounded = number.round();
                counts.nan += u64::from(rounded.is_nan());
                #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "for all types alike")]
                let outside = rounded < <$t>::MIN as f64 || rounded > <$t>::MAX as f64;
                counts.clamped += u64::from(outside);
                put(slot, &(rounded as $t).to_ne_bytes());
            }
        };
    }
    match data_type {
        DataType::U8 => whole!(u8),
        DataType::I8 => whole!(i8),
        DataType::U16 => whole!(u16),
        DataType::I16 => whole!(i16),
        DataType::U32 => whole!(u32),
        DataType::I32 => whole!(i32),
        DataType::U64 => whole!(u64),
        DataType::I64 => whole!(i64),
        DataType::F16 => each_slot(numbers, out, stride, |number| to_half(number).to_ne_bytes()),
        DataType::F32 => each_slot(numbers, out, stride, |number| (number as f32).to_ne_bytes()),
        DataType::F64 => each_slot(numbers, out, stride, f64::to_ne_bytes),
        DataType::C64 => {
            each_slot(numbers, out, stride, |number| pair::<4, 8>((number as f32).to_ne_bytes()))
        }
        DataType::C128 => each_slot(numbers, out, stride, |number| pair::<8, 16>(number.to_ne_bytes())),
    }
    counts
}

/// Returns a complex sample with imaginary part 0.
fn pair<const N: usize, const M: usize>(real: [u8; N]) -> [u8; M] {
    let mut both = [0; M];
    put(&mut both, &real);
    both
}

fn each_slot<const N: usize>(numbers: &[f64], out: &mut [u8], stride: usize, bytes: impl Fn(f64) -> [u8; N]) {
    for (number, slot) in numbers.iter().zip(out.chunks_mut(stride.max(1))) {
        put(slot, &bytes(*number));
    }
}

/// Writes a sample to the beginning of a slot.
pub(super) fn put(slot: &mut [u8], sample: &[u8]) {
    if let Some(slot) = slot.get_mut(..sample.len()) {
        slot.copy_from_slice(sample);
    }
}

/// Returns an integer sample as a number.
pub(super) fn whole_number(data_type: DataType, sample: &[u8]) -> Option<i128> {
    Some(match data_type {
        DataType::U8 => u8::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::I8 => i8::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::U16 => u16::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::I16 => i16::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::U32 => u32::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::I32 => i32::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::U64 => u64::from_ne_bytes(*sample.first_chunk()?).into(),
        DataType::I64 => i64::from_ne_bytes(*sample.first_chunk()?).into(),
        _ => return None,
    })
}

/// Stores integers exactly, clamped to the type.
pub(super) fn store_whole(data_type: DataType, numbers: &[i128], out: &mut [u8], stride: usize) -> Counts {
    let mut counts = Counts::default();
    let Some((low, high)) = limits(data_type) else { return counts };
    for (&number, slot) in numbers.iter().zip(out.chunks_mut(stride.max(1))) {
        counts.clamped += u64::from(!(low..=high).contains(&number));
        // Two's complement: the low bytes are the same in every narrower type.
        let bytes = number.clamp(low, high).to_le_bytes();
        let mut sample = [0; 16];
        let size = data_type.size();
        put(&mut sample, bytes.get(..size).unwrap_or_default());
        if cfg!(target_endian = "big")
            && let Some(sample) = sample.get_mut(..size)
        {
            sample.reverse();
        }
        put(slot, sample.get(..size).unwrap_or_default());
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_clamped_as_gdal_does() {
        let mut out = [0; 7];
        let counts = store(DataType::U8, &[2.5, 3.49, -0.5, 255.4, 256.0, -7.0, f64::NAN], &mut out, 1);
        assert_eq!(out, [3, 3, 0, 255, 255, 0, 0]);
        assert_eq!(counts, Counts { clamped: 2 + 1, nan: 1, moved: 0 });
        let mut out = [0; 4];
        store(DataType::I8, &[-2.5, 2.5, -129.0, 127.4], &mut out, 1);
        assert_eq!(out.map(|byte| i8::from_ne_bytes([byte])), [-3, 3, -128, 127]);
    }

    #[test]
    fn wide_integers_stay_exact() {
        let numbers = [i128::from(u64::MAX), -1, (1 << 60) + 1];
        let mut out = [0; 24];
        let counts = store_whole(DataType::I64, &numbers, &mut out, 8);
        let read = |at: usize| i64::from_ne_bytes(*out[at * 8..].first_chunk().unwrap());
        assert_eq!([read(0), read(1), read(2)], [i64::MAX, -1, (1 << 60) + 1]);
        assert_eq!(counts.clamped, 1);
    }

    #[test]
    fn what_is_stored_is_loaded() {
        for data_type in DataType::ALL {
            let size = data_type.size();
            let mut bytes = vec![0; size * 2 * 3];
            store(data_type, &[1.0, 0.0, 100.0], &mut bytes, size * 2);
            let mut back = Vec::new();
            load(data_type, &bytes, size * 2, &mut back);
            assert_eq!(back, [1.0, 0.0, 100.0], "{data_type}");
        }
    }
}
