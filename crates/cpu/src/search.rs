//! Checks whether rows of samples contain a value, by the rules of `strile_engine::Sought`.

use strile_engine::{SampleParts, Sought};

/// Samples compared between checks of the result, so that the loop is vectorised.
const TOGETHER: usize = 1024;

/// Returns whether any of the samples of `size` bytes matches.
pub(crate) fn holds(sought: &Sought, size: usize, samples: &[u8]) -> bool {
    macro_rules! any {
        ($number:ty, $size:literal) => {{
            #[allow(
                clippy::cast_possible_truncation,
                reason = "bits of a number of that size; the largest has all of them"
            )]
            let (mask, low, span) = (sought.mask as $number, sought.low as $number, sought.span as $number);
            let is = |bytes: [u8; $size]| (<$number>::from_ne_bytes(bytes) & mask).wrapping_sub(low) <= span;
            let (numbers, _) = samples.as_chunks::<$size>();
            match sought.parts {
                SampleParts::One | SampleParts::Either => {
                    let mut parts = numbers.chunks(TOGETHER);
                    parts.any(|part| part.iter().fold(false, |any, &bytes| any | is(bytes)))
                }
                SampleParts::FirstAndZero => numbers
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .any(|&[first, second]| is(first) && <$number>::from_ne_bytes(second) << 1 == 0),
            }
        }};
    }
    let number = if sought.parts == SampleParts::One { size } else { size / 2 };
    match number {
        1 => any!(u8, 1),
        2 => any!(u16, 2),
        4 => any!(u32, 4),
        _ => any!(u64, 8),
    }
}

/// Returns whether a sample matches.
pub(crate) fn is_sample(sought: &Sought, sample: &[u8]) -> bool {
    holds(sought, sample.len(), sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_engine::Fill;
    use strile_tiff::DataType;

    fn fill(bytes: &[u8]) -> Fill {
        let mut fill = Fill::default();
        fill.0[..bytes.len()].copy_from_slice(bytes);
        fill
    }

    #[test]
    fn the_last_sample_of_a_long_row_is_found() {
        for count in [1, 2, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER + 5] {
            let sought = Sought::new(DataType::I16, &fill(&(-7i16).to_ne_bytes()));
            let mut row = 7i16.to_ne_bytes().repeat(count);
            assert!(!holds(&sought, 2, &row));
            let at = row.len() - 2;
            row[at..].copy_from_slice(&(-7i16).to_ne_bytes());
            assert!(holds(&sought, 2, &row), "{count} samples");
        }
    }

    #[test]
    fn complex_samples_have_the_value_as_their_real_part() {
        let sample = |real: f32, imaginary: f32| [real.to_ne_bytes(), imaginary.to_ne_bytes()].concat();
        let sought = Sought::new(DataType::C64, &fill(&5f32.to_ne_bytes()));
        assert!(is_sample(&sought, &sample(5.0, -0.0)));
        assert!(!is_sample(&sought, &sample(5.0, 1.0)) && !is_sample(&sought, &sample(0.0, 5.0)));
        let nan = Sought::nan(DataType::C64);
        assert!(is_sample(&nan, &sample(f32::NAN, 0.0)) && is_sample(&nan, &sample(0.0, -f32::NAN)));
        assert!(!is_sample(&nan, &sample(f32::INFINITY, f32::NEG_INFINITY)));
    }
}
