//! Converts IEEE half floats to numbers and back.

/// Returns the value of a half float.
pub fn from_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

/// Returns the bits of the nearest half float, ties to even.
pub fn to_half(v: f64) -> u16 {
    let sign = if v.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = v.abs();
    if v.is_nan() {
        return sign | 0x7e00;
    }
    // 65520 lies half way between the largest half float and the next power.
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // Rounds to a multiple of the unit in the last place; below 2^-14 that unit stays 2^-24.
    let mut unit = 2f64.powi(-24);
    let mut exponent = 0_u16;
    while magnitude >= unit * 2048.0 {
        unit *= 2.0;
        exponent += 1;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the quotient lies between 0 and 2048"
    )]
    let steps = (magnitude / unit).round_ties_even() as u16;
    // A carry out of the fraction increments the exponent.
    sign | ((exponent << 10) + steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_their_values() {
        let values = [0x3c00, 0xc500, 0x0001, 0x7bff, 0x7c00, 0xfc00].map(from_half);
        assert_eq!(values, [1.0, -5.0, 2f64.powi(-24), 65504.0, f64::INFINITY, f64::NEG_INFINITY]);
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_half() {
        // Bits from numpy.float16.
        for (value, bits) in [
            (0.0, 0x0000),
            (-1.0, 0xbc00),
            (0.1, 0x2e66),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (5.960464477539063e-08, 0x0001),
            (6.1e-05, 0x03ff),
            (2049.0, 0x6800),
            (-9999.0, 0xf0e2),
        ] {
            assert_eq!(to_half(value), bits, "{value}");
        }
    }
}
