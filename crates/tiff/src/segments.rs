//! The parts of a file that have been fetched so far, each byte once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Fetched bytes by offset. Pieces do not overlap, so they never take more memory than the size of the file.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pieces: BTreeMap<u64, Vec<u8>>,
}

impl Segments {
    /// Keeps the new part of the bytes from `offset` on.
    pub(crate) fn insert(&mut self, offset: u64, bytes: Vec<u8>) {
        let end = offset.saturating_add(bytes.len() as u64);
        let known: Vec<Range<u64>> = self.overlapping(offset..end).map(|(range, _)| range).collect();
        if known.is_empty() {
            if !bytes.is_empty() {
                self.pieces.insert(offset, bytes);
            }
            return;
        }
        let gaps_end = known.iter().map(|range| range.start).chain([end]);
        let gaps_start = std::iter::once(offset).chain(known.iter().map(|range| range.end));
        for (start, stop) in gaps_start.zip(gaps_end) {
            let part = start
                .checked_sub(offset)
                .zip(stop.checked_sub(offset))
                .and_then(|(from, to)| bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?));
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                self.pieces.insert(start, part.to_vec());
            }
        }
    }

    /// Returns the bytes of `range`, if all have been fetched.
    pub(crate) fn get(&self, range: &Range<u64>) -> Option<Cow<'_, [u8]>> {
        let mut pieces = self.overlapping(range.clone());
        let Some((first, bytes)) = pieces.next() else {
            return range.is_empty().then_some(Cow::Borrowed(&[]));
        };
        let inside = |piece: &Range<u64>, bytes: &'_ [u8]| -> Option<Range<usize>> {
            let from = range.start.max(piece.start) - piece.start;
            let to = range.end.min(piece.end) - piece.start;
            let part = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
            (part.end <= bytes.len()).then_some(part)
        };
        if first.start > range.start {
            return None;
        }
        let part = bytes.get(inside(&first, bytes)?)?;
        if first.end >= range.end {
            return Some(Cow::Borrowed(part));
        }
        let mut out = part.to_vec();
        let mut at = first.end;
        for (piece, bytes) in pieces {
            if piece.start != at {
                return None;
            }
            out.extend_from_slice(bytes.get(inside(&piece, bytes)?)?);
            at = piece.end;
        }
        (at >= range.end).then_some(Cow::Owned(out))
    }

    /// Returns the pieces that overlap `range`, in order.
    fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &[u8])> {
        let whole = |(&start, bytes): (&u64, &'_ Vec<u8>)| start..start.saturating_add(bytes.len() as u64);
        let before =
            self.pieces.range(..range.start).next_back().filter(|piece| whole(*piece).end > range.start);
        let after = self.pieces.range(range.start..range.end.max(range.start));
        before.into_iter().chain(after).map(move |piece| (whole(piece), piece.1.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with an array that knows each byte: exactly the fetched bytes are returned, and nothing is kept twice.
    #[test]
    fn any_order_of_pieces_gives_the_bytes_of_the_file() {
        let file: Vec<u8> = (0..200).collect();
        let mut state = 1_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let mut segments = Segments::default();
            let mut known = [false; 200];
            for _ in 0..10 {
                let start = below(200);
                let range = start..start + below(200 - start + 1).min(60);
                let index = |at: u64| usize::try_from(at).unwrap();
                let at = |range: &Range<u64>| index(range.start)..index(range.end);
                segments.insert(range.start, file[at(&range)].to_vec());
                known[at(&range)].fill(true);
                let start = below(200);
                let wanted = start..start + below(200 - start + 1);
                let got = segments.get(&wanted);
                match known[at(&wanted)].iter().all(|&k| k) {
                    true => assert_eq!(got.as_deref(), Some(&file[at(&wanted)]), "{wanted:?}"),
                    false => assert!(got.is_none(), "{wanted:?}"),
                }
            }
            let kept: usize = segments.pieces.values().map(Vec::len).sum();
            assert_eq!(kept, known.iter().filter(|&&k| k).count());
        }
    }
}
