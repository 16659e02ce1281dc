//! Finds the sources that a request touches, without checking all of them.
//!
//! Sources are sorted by their first row. A binary tree holds the last row of each half, so that parts out of reach are
//! skipped.

use super::parse::Source;
use super::place::Part;

/// Finds the sources of a VRT that a window touches.
#[derive(Debug)]
pub(super) struct Index {
    /// First row and index of a source, sorted.
    starts: Vec<(f64, u32)>,
    /// `ends[i]` is the largest end in the subtree of the implicit heap node `i`; leaves are from `leaves` on.
    ends: Vec<f64>,
    leaves: usize,
}

impl Index {
    pub(super) fn new(sources: &[Source]) -> Self {
        let rows = |source: &Source| match source.rectangles {
            Some(r) => (r.down.target, r.down.target + r.down.target_size),
            // As large as its file, which is not known yet.
            None => (0.0, f64::INFINITY),
        };
        let numbered = (0u32..).zip(sources);
        let mut spans: Vec<(f64, u32, f64)> = numbered.map(|(i, s)| (rows(s).0, i, rows(s).1)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let leaves = spans.len().next_power_of_two();
        let mut ends = vec![f64::NEG_INFINITY; leaves * 2];
        for (slot, span) in ends.iter_mut().skip(leaves).zip(&spans) {
            *slot = span.2;
        }
        for node in (1..leaves).rev() {
            let below = |child: usize| ends.get(child).copied().unwrap_or(f64::NEG_INFINITY);
            let end = below(node * 2).max(below(node * 2 + 1));
            if let Some(slot) = ends.get_mut(node) {
                *slot = end;
            }
        }
        Self { starts: spans.into_iter().map(|(start, i, _)| (start, i)).collect(), ends, leaves }
    }

    /// Returns the indices of the sources that may touch the rows and columns of a request, in order.
    pub(super) fn touched(&self, sources: &[Source], (across, down): (Part, Part)) -> Vec<u32> {
        let mut found = Vec::new();
        let last = self.starts.partition_point(|&(start, _)| start < down.start + down.size);
        let mut nodes = vec![(1, 0, self.leaves)];
        while let Some((node, from, len)) = nodes.pop() {
            let reaches = self.ends.get(node).is_some_and(|&end| end > down.start);
            if from >= last || !reaches {
                continue;
            }
            if len == 1 {
                found.extend(self.starts.get(from).map(|&(_, index)| index));
            } else {
                nodes.push((node * 2, from, len / 2));
                nodes.push((node * 2 + 1, from + len / 2, len / 2));
            }
        }
        found.retain(|&index| {
            sources.get(index as usize).is_some_and(|source| {
                source.rectangles.is_none_or(|r| {
                    let (start, end) = (r.across.target, r.across.target + r.across.target_size);
                    start < across.start + across.size && end > across.start
                })
            })
        });
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vrt::place::{Extent, Rectangles};

    fn source(x: f64, y: f64, size: f64) -> Source {
        let extent = |target| Extent { source: 0.0, source_size: size, target, target_size: size };
        let rectangles = Some(Rectangles { across: extent(x), down: extent(y) });
        Source { file: 0, band: 1, is_mask: false, rectangles, complex: None }
    }

    /// Compared with a scan of all sources, for overlapping tiles of several sizes.
    #[test]
    fn finds_what_a_walk_finds() {
        let place =
            |i: u32| source(f64::from(i * 37 % 500), f64::from(i * 91 % 700), f64::from(10 + i % 7 * 20));
        for count in [0, 1, 2, 3, 100] {
            let sources: Vec<Source> = (0..count).map(place).collect();
            let index = Index::new(&sources);
            for at in 0..40 {
                let part =
                    |start: u32, size: u32| Part { start: start.into(), size: size.into(), count: size };
                let request = (part(at * 13, 50), part(at * 17, 1 + at));
                let meets = |target: f64, size: f64, part: Part| {
                    target < part.start + part.size && target + size > part.start
                };
                let walk = (0u32..).zip(&sources).filter(|(_, s)| {
                    let r = s.rectangles.unwrap();
                    meets(r.across.target, r.across.target_size, request.0)
                        && meets(r.down.target, r.down.target_size, request.1)
                });
                let walk: Vec<u32> = walk.map(|(i, _)| i).collect();
                assert_eq!(index.touched(&sources, request), walk);
            }
        }
    }
}
