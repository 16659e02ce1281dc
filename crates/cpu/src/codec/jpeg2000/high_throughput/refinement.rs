//! The passes after the cleanup pass (ISO 15444-15, 7.4 and 7.5), one bit plane below it: stripes of four rows, column
//! by column. They share a segment: significance propagation reads it forwards, magnitude refinement backwards.

use super::Space;
use super::cleanup::half_units;

const STRIPE: usize = 4;
/// Columns whose signs follow their significance bits.
const GROUP: usize = 4;

/// Reads one more bit of every nonzero coefficient.
pub(super) fn refine_magnitudes(space: &mut Space, bytes: &[u8], width: usize, planes: u8, out: &mut [i32]) {
    space.backward.refinement(bytes);
    let mut bits = space.backward.reader();
    let (bit, half) = (1 << (planes - 1), 1 << (planes - 2));
    for stripe in out.chunks_mut(STRIPE * width) {
        for column in 0..width {
            for value in stripe.iter_mut().skip(column).step_by(width).filter(|value| **value != 0) {
                // The bit says whether the former middle of the interval is below the magnitude.
                let keep = bits.bit();
                let magnitude = value.unsigned_abs() ^ if keep { 0 } else { bit } | half;
                *value = half_units(magnitude, *value < 0);
            }
        }
    }
}

/// Decodes zero coefficients with nonzero neighbours, which may become significant. Neighbours have the state of the
/// cleanup pass, plus what this pass found before.
pub(super) fn propagate_significance(
    space: &mut Space,
    bytes: &[u8],
    width: usize,
    planes: u8,
    causal: bool,
    out: &mut [i32],
) {
    space.forward.forward(bytes, false);
    let mut bits = space.forward.reader();
    let value = 3 << (planes - 2);
    let height = out.len() / width.max(1);
    let mut map = Map::new(width, height, out);
    for top in (0..height).step_by(STRIPE) {
        for left in (0..width).step_by(GROUP) {
            let mut found = [(0, 0); STRIPE * GROUP];
            let mut count = 0;
            for column in left..(left + GROUP).min(width) {
                for row in top..(top + STRIPE).min(height) {
                    let without_below = causal && row == top + STRIPE - 1;
                    if map.may_become(column, row, without_below) && bits.bit() {
                        map.set(column, row);
                        if let Some(place) = found.get_mut(count) {
                            *place = (column, row);
                        }
                        count += 1;
                    }
                }
            }
            for &(column, row) in found.iter().take(count) {
                let negative = bits.bit();
                if let Some(place) = out.get_mut(row * width + column) {
                    *place = half_units(value, negative);
                }
            }
        }
    }
}

/// Map of nonzero coefficients, with a border.
struct Map {
    significant: Vec<bool>,
    stride: usize,
}

impl Map {
    fn new(width: usize, height: usize, values: &[i32]) -> Self {
        let stride = width + 2;
        let mut significant = vec![false; stride * (height + 2)];
        for (row, values) in significant.chunks_mut(stride).skip(1).zip(values.chunks(width)) {
            for (flag, value) in row.iter_mut().skip(1).zip(values) {
                *flag = *value != 0;
            }
        }
        Self { significant, stride }
    }

    /// Returns whether a coefficient is 0 and has a nonzero neighbour.
    fn may_become(&self, column: usize, row: usize, without_below: bool) -> bool {
        let around = |row: usize| {
            let start = row * self.stride + column;
            self.significant.get(start..start + 3).unwrap_or_default()
        };
        let [left, own, right] = *around(row + 1) else { return false };
        !own && (left
            || right
            || around(row).contains(&true)
            || !without_below && around(row + 2).contains(&true))
    }

    fn set(&mut self, column: usize, row: usize) {
        if let Some(flag) = self.significant.get_mut((row + 1) * self.stride + column + 1) {
            *flag = true;
        }
    }
}
