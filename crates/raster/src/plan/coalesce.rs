//! Byte ranges merged into fewer, larger ones.

use std::ops::Range;

/// The ranges sorted, those that overlap or lie within `gap` of each other made one.
pub(crate) fn coalesce(ranges: &[Range<u64>], gap: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "one range of bytes is meant")]
    fn merges_near_overlapping_and_contained_ranges() {
        let ranges = [50..60, 0..10, 12..20, 13..14, 58..59, 100..100];
        assert_eq!(coalesce(&ranges, 2), [0..20, 50..60]);
        assert_eq!(coalesce(&ranges, 1), [0..10, 12..20, 50..60]);
        assert_eq!(coalesce(&ranges, 30), [0..60]);
        assert_eq!(coalesce(&[u64::MAX - 1..u64::MAX], u64::MAX), [u64::MAX - 1..u64::MAX]);
    }
}
