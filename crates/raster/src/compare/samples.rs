//! Compares two runs of samples by value.

use strile_tiff::{DataType, from_half};

/// Size of the runs that are compared as bytes before their samples are compared.
const RUN: usize = 4096;

/// Calls `differs` with the index and the difference of every pair of samples that differ by more than `tolerance`. The
/// difference of NaN is infinite to a number and zero to NaN.
pub(super) fn compare(
    data_type: DataType,
    (a, b): (&[u8], &[u8]),
    tolerance: f64,
    mut differs: impl FnMut(usize, f64),
) {
    let size = data_type.size();
    let run = RUN / size;
    for (at, (a, b)) in a.chunks(run * size).zip(b.chunks(run * size)).enumerate() {
        if a == b {
            continue;
        }
        for (index, (a, b)) in a.chunks_exact(size).zip(b.chunks_exact(size)).enumerate() {
            if a != b {
                let distance = distance(data_type, a, b);
                if distance > tolerance {
                    differs(at * run + index, distance);
                }
            }
        }
    }
}

/// A parsed sample.
#[derive(Clone, Copy)]
enum Sample {
    Integer(i128),
    Float(f64),
    Complex(f64, f64),
}

fn read(data_type: DataType, bytes: &[u8]) -> Option<Sample> {
    macro_rules! integer {
        ($t:ty) => {
            Sample::Integer(i128::from(<$t>::from_ne_bytes(*bytes.first_chunk()?)))
        };
    }
    let single = |at: usize| Some(f64::from(f32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?)));
    let double = |at: usize| Some(f64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    Some(match data_type {
        DataType::U8 => integer!(u8),
        DataType::I8 => integer!(i8),
        DataType::U16 => integer!(u16),
        DataType::I16 => integer!(i16),
        DataType::U32 => integer!(u32),
        DataType::I32 => integer!(i32),
        DataType::U64 => integer!(u64),
        DataType::I64 => integer!(i64),
        DataType::F16 => Sample::Float(from_half(u16::from_ne_bytes(*bytes.first_chunk()?))),
        DataType::F32 => Sample::Float(single(0)?),
        DataType::F64 => Sample::Float(double(0)?),
        DataType::C64 => Sample::Complex(single(0)?, single(4)?),
        DataType::C128 => Sample::Complex(double(0)?, double(8)?),
    })
}

fn distance(data_type: DataType, a: &[u8], b: &[u8]) -> f64 {
    match (read(data_type, a), read(data_type, b)) {
        (Some(Sample::Integer(a)), Some(Sample::Integer(b))) => {
            #[expect(clippy::cast_precision_loss, reason = "a distance is told, equality is decided before")]
            let distance = a.abs_diff(b) as f64;
            distance
        }
        (Some(Sample::Float(a)), Some(Sample::Float(b))) => float_distance(a, b),
        (Some(Sample::Complex(a, i)), Some(Sample::Complex(b, j))) => {
            float_distance(a, b).hypot(float_distance(i, j))
        }
        _ => f64::INFINITY,
    }
}

fn float_distance(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0.0,
        (false, false) if a == b => 0.0,
        (false, false) => (a - b).abs(),
        _ => f64::INFINITY,
    }
}

/// Formats the sample at `index`.
pub(super) fn show(data_type: DataType, bytes: &[u8], index: usize) -> String {
    let size = data_type.size();
    let bytes = index.checked_mul(size).and_then(|at| bytes.get(at..)?.get(..size)).unwrap_or_default();
    match (data_type, read(data_type, bytes)) {
        (_, None) => "nothing".into(),
        (_, Some(Sample::Integer(value))) => value.to_string(),
        // The shortest text that identifies the `f32`.
        (DataType::F32, Some(Sample::Float(_))) => {
            bytes.first_chunk().map_or_else(String::new, |bytes| f32::from_ne_bytes(*bytes).to_string())
        }
        (_, Some(Sample::Float(value))) => value.to_string(),
        (_, Some(Sample::Complex(a, b))) => format!("{a}{b:+}i"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(data_type: DataType, a: &[u8], b: &[u8], tolerance: f64) -> Vec<(usize, f64)> {
        let mut found = Vec::new();
        compare(data_type, (a, b), tolerance, |index, distance| found.push((index, distance)));
        found
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn nan_equals_nan_and_zeros_are_one() {
        let a = floats(&[f32::NAN, -0.0, f32::INFINITY, 1.0, f32::NAN]);
        let b = floats(&[-f32::NAN, 0.0, f32::INFINITY, 1.5, 1.0]);
        assert_eq!(found(DataType::F32, &a, &b, 0.0), [(3, 0.5), (4, f64::INFINITY)]);
        assert_eq!(found(DataType::F32, &a, &b, 0.5), [(4, f64::INFINITY)]);
    }

    #[test]
    fn the_ends_of_wide_integers_are_told_apart() {
        let (a, b) = (u64::MAX.to_ne_bytes(), (u64::MAX - 1).to_ne_bytes());
        assert_eq!(found(DataType::U64, &a, &b, 0.0), [(0, 1.0)]);
        assert_eq!(show(DataType::U64, &a, 0), "18446744073709551615");
        assert_eq!(show(DataType::I64, &i64::MIN.to_ne_bytes(), 0), "-9223372036854775808");
    }

    #[test]
    fn indices_count_across_runs() {
        let mut b = vec![0u8; 3 * RUN];
        b[2 * RUN + 5] = 9;
        assert_eq!(found(DataType::U8, &vec![0; 3 * RUN], &b, 8.0), [(2 * RUN + 5, 9.0)]);
    }
}
