//! Selects a sample by its index in sorted order.

/// Returns the index of a quartile (a number of quarters) among `count` sorted samples, as in GDAL; `None` if there are
/// no samples.
pub(super) fn place(count: u64, quarters: u64) -> Option<u64> {
    (count * quarters).div_ceil(4).checked_sub(1)
}

/// Returns the least key for which more than `at` keys are not above it; `below` counts the keys below a given one.
pub(super) fn search(at: u64, below: impl Fn(u64) -> u64) -> u64 {
    let mut key = 0;
    for bit in (0..64).rev() {
        let next = key | 1 << bit;
        if below(next) <= at {
            key = next;
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_searches_agree_with_sorting() {
        let places = |count| [1, 2, 3].map(|quarters| place(count, quarters));
        assert_eq!(places(0), [None; 3]);
        assert_eq!(places(1), [Some(0); 3]);
        assert_eq!(places(4), [Some(0), Some(1), Some(2)]);
        assert_eq!(places(5), [Some(1), Some(2), Some(3)]);
        let mut keys: Vec<u64> =
            (0..200).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (i % 60)).collect();
        keys.extend([0, 0, u64::MAX, u64::MAX]);
        let found: Vec<u64> = (0..keys.len() as u64)
            .map(|at| search(at, |key| keys.iter().filter(|&&other| other < key).count() as u64))
            .collect();
        keys.sort_unstable();
        assert_eq!(found, keys);
    }
}
