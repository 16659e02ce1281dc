//! Forward wavelets of the JPEG 2000 encoder (ISO 15444-1, annex F): 5/3 in integers, 9/7 in floats.
//!
//! A plane is transformed in place. After each level the low halves of its rows and columns come first, so that the
//! next level is the top left quarter. Lines always begin at an even place.

/// Maximum number of decomposition levels; a side of `2^n` pixels allows `n`.
pub(super) const MOST_LEVELS: u32 = 5;

/// Returns the number of levels for a plane of this size.
pub(super) fn levels(width: usize, height: usize) -> u32 {
    width.min(height).checked_ilog2().unwrap_or(0).min(MOST_LEVELS)
}

/// A lifting step: every sample of one half changes by its two neighbours in the other half.
struct Step<T> {
    /// Whether the high half changes.
    high: bool,
    /// Returns the new value of a sample between two neighbours.
    lift: fn(T, T, T) -> T,
}

/// Table F.4 and equation F-11.
const ALPHA: f32 = -1.586_134_3;
const BETA: f32 = -0.052_980_12;
const GAMMA: f32 = 0.882_911_1;
const DELTA: f32 = 0.443_506_85;
const K: f32 = 1.230_174_1;

/// Transforms integers reversibly.
pub(super) fn reversible(plane: &mut [i32], width: usize, levels: u32) {
    let steps = [
        Step { high: true, lift: |value: i32, a, b| value - ((a + b) >> 1) },
        Step { high: false, lift: |value, a, b| value + ((a + b + 2) >> 2) },
    ];
    transform(plane, width, levels, &steps, (1, 1), |value, _| value);
}

/// Transforms floats; low halves keep their level, high ones double in range.
pub(super) fn irreversible(plane: &mut [f32], width: usize, levels: u32) {
    let steps = [
        Step { high: true, lift: |value: f32, a, b| value + ALPHA * (a + b) },
        Step { high: false, lift: |value, a, b| value + BETA * (a + b) },
        Step { high: true, lift: |value, a, b| value + GAMMA * (a + b) },
        Step { high: false, lift: |value, a, b| value + DELTA * (a + b) },
    ];
    transform(plane, width, levels, &steps, (1.0 / K, K), |value, by| value * by);
}

fn transform<T: Copy + Default>(
    plane: &mut [T],
    width: usize,
    levels: u32,
    steps: &[Step<T>],
    (low_scale, high_scale): (T, T),
    scale: fn(T, T) -> T,
) {
    let mut spare = vec![T::default(); plane.len()];
    let (mut across, mut down) = (width, plane.len().checked_div(width).unwrap_or(0));
    for _ in 0..levels {
        // Columns: whole rows at a time, from the plane to the spare one, low rows first.
        let (low, high) = spare.split_at_mut(down.div_ceil(2) * across);
        let (even, odd) = (low.chunks_exact_mut(across), high.chunks_exact_mut(across));
        let mut rows = plane.chunks_exact(width).take(down);
        let mut halves = even.zip(odd.map(Some).chain(std::iter::repeat_with(|| None)));
        while let (Some(row), Some((to, other))) = (rows.next(), halves.next()) {
            to.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            if let (Some(row), Some(to)) = (rows.next(), other) {
                to.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            }
        }
        let high = high.get_mut(..down / 2 * across).unwrap_or_default();
        for step in steps {
            let (target, source) = if step.high { (&mut *high, &*low) } else { (&mut *low, &*high) };
            lift_rows(target, source, across, step);
        }
        low.iter_mut().for_each(|value| *value = scale(*value, low_scale));
        high.iter_mut().for_each(|value| *value = scale(*value, high_scale));
        // Rows: back into the plane.
        for (to, row) in plane.chunks_exact_mut(width).zip(spare.chunks_exact_mut(across)).take(down) {
            let (low, high) = to.split_at_mut(across.div_ceil(2));
            let high = high.get_mut(..across / 2).unwrap_or_default();
            low.iter_mut().zip(row.iter().step_by(2)).for_each(|(to, from)| *to = *from);
            high.iter_mut().zip(row.iter().skip(1).step_by(2)).for_each(|(to, from)| *to = *from);
            for step in steps {
                let (target, source) = if step.high { (&mut *high, &*low) } else { (&mut *low, &*high) };
                lift_line(target, source, step);
            }
            low.iter_mut().for_each(|value| *value = scale(*value, low_scale));
            high.iter_mut().for_each(|value| *value = scale(*value, high_scale));
        }
        (across, down) = (across.div_ceil(2), down.div_ceil(2));
    }
}

/// Returns the two neighbours of item `index` in the other half of `count` items, mirrored at both ends.
fn neighbours(index: usize, count: usize, high: bool) -> (usize, usize) {
    let last = count.saturating_sub(1);
    if high { (index.min(last), (index + 1).min(last)) } else { (index.max(1) - 1, index.min(last)) }
}

fn lift_rows<T: Copy>(target: &mut [T], source: &[T], len: usize, step: &Step<T>) {
    let count = source.len() / len;
    for (index, row) in target.chunks_exact_mut(len).enumerate() {
        let (a, b) = neighbours(index, count, step.high);
        let line = |at: usize| source.get(at * len..(at + 1) * len).unwrap_or_default();
        for ((value, a), b) in row.iter_mut().zip(line(a)).zip(line(b)) {
            *value = (step.lift)(*value, *a, *b);
        }
    }
}

fn lift_line<T: Copy>(target: &mut [T], source: &[T], step: &Step<T>) {
    for (index, value) in target.iter_mut().enumerate() {
        let (a, b) = neighbours(index, source.len(), step.high);
        if let (Some(a), Some(b)) = (source.get(a), source.get(b)) {
            *value = (step.lift)(*value, *a, *b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_levels_as_the_shorter_side_allows() {
        assert_eq!([(1, 1), (2, 9), (31, 16), (512, 512)].map(|(w, h)| levels(w, h)), [0, 1, 4, 5]);
    }

    /// Computed by hand: high = 9 - (1 + 5) / 2 = 6 and 3 - 5 = -2; low = 1 + (6 + 6 + 2) / 4 = 4, 5 + (6 - 2 + 2) / 4
    /// = 6.
    #[test]
    fn a_line_of_four() {
        let mut line = [1, 9, 5, 3];
        reversible(&mut line, 4, 1);
        // One row has no columns to transform: its only row is a low one.
        assert_eq!(line, [4, 6, 6, -2]);
    }

    #[test]
    fn a_flat_plane_is_flat_below_and_nothing_above() {
        let mut plane = vec![10.0_f32; 24 * 20];
        irreversible(&mut plane, 24, 2);
        for (y, row) in plane.chunks(24).enumerate() {
            for (x, value) in row.iter().enumerate() {
                let expected = if x < 6 && y < 5 { 10.0 } else { 0.0 };
                assert!((value - expected).abs() < 1e-3, "{x} {y} {value}");
            }
        }
    }
}
