//! The byte ranges that are fetched for blocks: near ones are merged into fewer, larger ones.

use crate::source::Source;
use std::ops::Range;
use strile_engine::{BlockTask, Span};

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

/// The byte ranges of blocks inside a file, merged.
pub(crate) fn fetches(tasks: &[BlockTask], source: &dyn Source) -> Vec<Range<u64>> {
    merged(tasks.iter().filter_map(|task| task.span), source)
}

/// Bytes that are fetched for blocks at once, including those between blocks that are close together.
pub(crate) fn fetched_len(spans: &[Option<Span>], source: &dyn Source) -> u64 {
    let ranges = merged(spans.iter().copied().flatten(), source);
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end - range.start))
}

fn merged(spans: impl Iterator<Item = Span>, source: &dyn Source) -> Vec<Range<u64>> {
    let ranges = spans.map(|span| span.offset..span.offset.saturating_add(span.len));
    let inside: Vec<Range<u64>> = ranges.filter(|range| range.end <= source.len()).collect();
    coalesce(&inside, source.merge_gap())
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
