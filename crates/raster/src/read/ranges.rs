//! The byte ranges to fetch for blocks. Close ones are merged.

use crate::source::Source;
use std::ops::Range;
use strile_engine::{BlockTask, Span};

/// Sorts the ranges, and merges those that overlap or lie within `gap` of each other.
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

/// Returns the byte ranges to fetch for blocks inside a file, merged and cut into pieces.
pub(crate) fn fetches(tasks: &[BlockTask], source: &dyn Source) -> Vec<Range<u64>> {
    merged(tasks.iter().filter_map(|task| task.span), source)
}

/// Returns the bytes to fetch for blocks at once, including those between blocks that are close together.
pub(crate) fn fetched_len(spans: &[Option<Span>], source: &dyn Source) -> u64 {
    let ranges = merged(spans.iter().copied().flatten(), source);
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end - range.start))
}

/// Returns the number of requests to fetch a range, and the bytes of their responses.
pub(crate) fn requests(range: &Range<u64>, source: &dyn Source) -> (usize, u64) {
    let len = range.end - range.start;
    match source.piece_len() {
        _ if range.end <= source.at_hand() => (0, 0),
        None => (1, len),
        Some(most) => (usize::try_from(len.div_ceil(most.max(1))).unwrap_or(usize::MAX), len),
    }
}

fn merged(spans: impl Iterator<Item = Span>, source: &dyn Source) -> Vec<Range<u64>> {
    let ranges = spans.map(|span| span.offset..span.offset.saturating_add(span.len));
    let mut inside: Vec<Range<u64>> = ranges.filter(|range| range.end <= source.len()).collect();
    let ranges = coalesce(&inside, source.merge_gap());
    let Some(most) = source.piece_len() else { return ranges };
    if ranges.iter().all(|range| range.end - range.start <= most) {
        return ranges;
    }
    inside.sort_unstable_by_key(|span| span.start);
    let mut spans = inside.iter().filter(|span| span.start < span.end).peekable();
    ranges
        .iter()
        .flat_map(|range| {
            let of_range = std::iter::from_fn(|| spans.next_if(|span| span.start < range.end));
            cut(of_range, most)
        })
        .collect()
}

/// Returns the ranges of spans, sorted by their starts, in pieces of at most `most` bytes that do not cut a span.
fn cut<'a>(spans: impl Iterator<Item = &'a Range<u64>>, most: u64) -> Vec<Range<u64>> {
    let mut pieces: Vec<Range<u64>> = Vec::new();
    for span in spans {
        match pieces.last_mut() {
            Some(last) if span.start < last.end || span.end - last.start <= most => {
                last.end = last.end.max(span.end);
            }
            _ => pieces.push(span.clone()),
        }
    }
    pieces
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

    #[test]
    fn pieces_end_between_spans() {
        let spans = [0..4, 4..8, 9..12, 12..13, 12..30, 29..31, 31..40, 100..101];
        assert_eq!(cut(spans.iter(), 8), [0..8, 9..31, 31..40, 100..101]);
        assert_eq!(cut([].iter(), 8), []);
    }
}
