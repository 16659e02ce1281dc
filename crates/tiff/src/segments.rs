//! The parts of a file that have been fetched so far.

use std::collections::BTreeMap;
use std::ops::Range;

/// Fetched byte ranges, by where they begin.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    fetched: BTreeMap<u64, Vec<u8>>,
}

impl Segments {
    pub(crate) fn insert(&mut self, offset: u64, bytes: Vec<u8>) {
        let longer_known = self.fetched.get(&offset).is_some_and(|known| known.len() >= bytes.len());
        if !longer_known {
            self.fetched.insert(offset, bytes);
        }
    }

    /// The bytes of `range`, where one fetched segment holds them all.
    pub(crate) fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        // Segments can overlap, and the one that begins nearest below may be too short: look at a few.
        self.fetched.range(..=range.start).rev().take(8).find_map(|(&offset, bytes)| {
            let from = usize::try_from(range.start - offset).ok()?;
            let to = usize::try_from(range.end.checked_sub(offset)?).ok()?;
            bytes.get(from..to)
        })
    }
}
