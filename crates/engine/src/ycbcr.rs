//! Tables that turn Y, Cb and Cr into RGB, with the same results as libtiff's `tif_color.c`.
//!
//! All engines use these tables, so their colours are equal. Chroma entries are fixed-point with 16 fractional bits, so
//! results do not depend on the machine.

use strile_tiff::YCbCr;

/// Fractional bits of the green parts, which are added before they are rounded.
pub const FRACTION_BITS: u32 = 16;
const ONE_HALF: i32 = 1 << (FRACTION_BITS - 1);

/// Tables for one set of coefficients and code ranges; indexed by code.
pub struct ChromaTables {
    /// Contribution of a Y code to each colour.
    pub luma: [i32; 256],
    /// Contribution of Cr to red.
    pub red_of_cr: [i32; 256],
    /// Contribution of Cr to green, with [`FRACTION_BITS`].
    pub green_of_cr: [i32; 256],
    /// Contribution of Cb to green, with [`FRACTION_BITS`] and a half for rounding.
    pub green_of_cb: [i32; 256],
    /// Contribution of Cb to blue.
    pub blue_of_cb: [i32; 256],
}

impl ChromaTables {
    /// Returns the tables for the coefficients and ranges that a file states.
    pub fn new(ycbcr: &YCbCr) -> Self {
        let [luma_red, luma_green, luma_blue] = ycbcr.coefficients;
        let [y_black, y_white, cb_black, cb_white, cr_black, cr_white] = ycbcr.reference_black_white;
        let red = 2.0 - 2.0 * luma_red;
        let blue = 2.0 - 2.0 * luma_blue;
        let red_of_cr = fixed(red);
        let green_of_cr = -fixed(luma_red * red / luma_green);
        let blue_of_cb = fixed(blue);
        let green_of_cb = -fixed(luma_blue * blue / luma_green);
        let cr = |code: i32| value_of_code(code - 128, cr_black - 128.0, cr_white - 128.0, 127.0);
        let cb = |code: i32| value_of_code(code - 128, cb_black - 128.0, cb_white - 128.0, 127.0);
        Self {
            luma: table(|code| value_of_code(code, y_black, y_white, 255.0)),
            red_of_cr: table(|code| (red_of_cr * cr(code) + ONE_HALF) >> FRACTION_BITS),
            green_of_cr: table(|code| green_of_cr * cr(code)),
            green_of_cb: table(|code| green_of_cb * cb(code) + ONE_HALF),
            blue_of_cb: table(|code| (blue_of_cb * cb(code) + ONE_HALF) >> FRACTION_BITS),
        }
    }
}

fn table(entry: impl Fn(i32) -> i32) -> [i32; 256] {
    let mut table = [0; 256];
    for (code, value) in (0..).zip(&mut table) {
        *value = entry(code);
    }
    table
}

/// Returns a factor of 0 to 2 as fixed-point with 16 fractional bits; NaN becomes 0.
#[expect(clippy::cast_possible_truncation, reason = "at most 2 << 16, and libtiff truncates here")]
fn fixed(factor: f32) -> i32 {
    let factor = if factor >= 0.0 { factor.min(2.0) } else { 0.0 };
    (f64::from(factor * 65536.0) + 0.5) as i32
}

/// Returns the value of a code: `black` is 0, `white` is `full`. Clamped to ±4096, so that products fit 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as libtiff's Code2V, then clamped"
)]
fn value_of_code(code: i32, black: f32, white: f32, full: f32) -> i32 {
    let range = if white - black != 0.0 { white - black } else { 1.0 };
    let value = (code.saturating_sub(black as i32)) as f32 * full / range;
    value.clamp(-4096.0, 4096.0) as i32
}
