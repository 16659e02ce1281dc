//! Finds the directories of a TIFF, as far as they can be followed, and reads and writes numbers in its byte order.

use std::ops::Range;

/// Directories followed; more add nothing for a mutation.
const MOST_DIRECTORIES: usize = 24;
/// Entries looked at per directory.
const MOST_ENTRIES: usize = 64;

/// Where the parts of a file are.
#[derive(Debug, Clone, Default)]
pub(super) struct Map {
    pub(super) big: bool,
    pub(super) big_endian: bool,
    pub(super) directories: Vec<Directory>,
}

/// One directory: where its count stands, its entries and the offset of the next directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    pub(super) at: usize,
    pub(super) entries: Vec<usize>,
    /// Where the offset of the next directory stands.
    pub(super) next: usize,
}

impl Map {
    /// Follows the chain and the SubIFDs of a file; a file without a header has an empty map.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        match bytes.first_chunk::<4>() {
            Some([b'I', b'I', 42, 0]) => {}
            Some([b'I', b'I', 43, 0]) => map.big = true,
            Some([b'M', b'M', 0, 42]) => map.big_endian = true,
            Some([b'M', b'M', 0, 43]) => (map.big, map.big_endian) = (true, true),
            _ => return map,
        }
        let mut queue = vec![map.number(bytes, map.header_len() - map.word(), map.word())];
        while let Some(at) = queue.pop().flatten() {
            let Ok(at) = usize::try_from(at) else { continue };
            if at == 0
                || map.directories.len() == MOST_DIRECTORIES
                || map.directories.iter().any(|d| d.at == at)
            {
                continue;
            }
            let Some(directory) = map.directory(bytes, at) else { continue };
            queue.push(map.number(bytes, directory.next, map.word()));
            for &entry in &directory.entries {
                if map.number(bytes, entry, 2) == Some(330) {
                    let (values, size) = map.values(bytes, entry);
                    queue.extend(values.step_by(size).take(8).map(|at| map.number(bytes, at, size)));
                }
            }
            map.directories.push(directory);
        }
        map
    }

    fn directory(&self, bytes: &[u8], at: usize) -> Option<Directory> {
        let count_len = if self.big { 8 } else { 2 };
        let count = usize::try_from(self.number(bytes, at, count_len)?).ok()?;
        let first = at.checked_add(count_len)?;
        let next = first.checked_add(count.checked_mul(self.entry_len())?)?;
        if next.checked_add(self.word())? > bytes.len() {
            return None;
        }
        let entries = (0..count.min(MOST_ENTRIES)).map(|i| first + i * self.entry_len()).collect();
        Some(Directory { at, entries, next })
    }

    /// Bytes of an offset or a count.
    pub(super) fn word(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    pub(super) fn header_len(&self) -> usize {
        if self.big { 16 } else { 8 }
    }

    pub(super) fn entry_len(&self) -> usize {
        4 + 2 * self.word()
    }

    /// A number of 1, 2, 4 or 8 bytes.
    pub(super) fn number(&self, bytes: &[u8], at: usize, len: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(len)?)?;
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.big_endian { field.iter().fold(0, fold) } else { field.iter().rev().fold(0, fold) })
    }

    /// Writes a number of 1, 2, 4 or 8 bytes; nothing past the end of the file.
    pub(super) fn put(&self, bytes: &mut [u8], at: usize, len: usize, value: u64) {
        let raw = value.to_le_bytes();
        for (i, &new) in raw.iter().take(len).enumerate() {
            let place = if self.big_endian { at + len - 1 - i } else { at + i };
            if let Some(byte) = bytes.get_mut(place) {
                *byte = new;
            }
        }
    }

    /// Where the values of an entry are (inside the file), and the bytes of one.
    pub(super) fn values(&self, bytes: &[u8], entry: usize) -> (Range<usize>, usize) {
        let size = match self.number(bytes, entry + 2, 2) {
            Some(3 | 8) => 2,
            Some(4 | 9 | 11 | 13) => 4,
            Some(5 | 10 | 12 | 16 | 17 | 18) => 8,
            _ => 1,
        };
        let field = entry + 4 + self.word();
        let count = self.number(bytes, entry + 4, self.word()).unwrap_or(0);
        let len = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size);
        if len <= self.word() {
            return (field..field + len, size);
        }
        let start = self.number(bytes, field, self.word()).unwrap_or(u64::MAX);
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
        (start..start.saturating_add(len).min(bytes.len()), size)
    }
}
