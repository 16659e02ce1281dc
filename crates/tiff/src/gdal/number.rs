//! Formats numbers like GDAL: C's `%.17g`, which restores every `f64` exactly.

/// Formats a number with at most 17 digits, without trailing zeros; `nan`, `inf` and `-inf` for the others.
pub(super) fn print(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.16e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match usize::try_from(16 - exponent) {
        // Between 1e-4 and 1e17 without an exponent: this many decimals give 17 digits.
        Ok(decimals) if exponent >= -4 => without_zeros(&format!("{value:.decimals$}")).to_owned(),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(digits), exponent.unsigned_abs())
        }
    }
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right column is what GDAL 3.12 wrote to tag GDAL_NODATA.
    #[test]
    fn prints_as_gdal_does() {
        for (value, text) in [
            (0.1, "0.10000000000000001"),
            (-3.4028234663852886e+38, "-3.4028234663852886e+38"),
            (1e300, "1.0000000000000001e+300"),
            (1e20, "1e+20"),
            (-1.5e-7, "-1.4999999999999999e-07"),
            (123456789012345678.0, "1.2345678901234568e+17"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (255.0, "255"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (-0.0, "-0"),
            (-9999.0, "-9999"),
            (0.0001, "0.0001"),
            (1.234e-5, "1.234e-05"),
            (9.999999999999999e16, "99999999999999984"),
            (5e-324, "4.9406564584124654e-324"),
        ] {
            assert_eq!(print(value), text);
            if !value.is_nan() {
                assert_eq!(text.parse::<f64>(), Ok(value));
            }
        }
    }
}
