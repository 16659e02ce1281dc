//! The record of one file in an index: the bytes that its parser needs and the texts of its sidecars, each with its
//! state.
//!
//! They are parsed and checked as if they had been read from the file. Stored as:
//!
//! ```text
//! record   number of parts: u32, then the parts; the file itself is the first
//! part     name: text (the file's name in its folder), size: u64, mark: text, kind: u8
//!          kind 0, a header: number of pieces u32, each offset: u64 and bytes; kind 1: text
//! text     number of bytes: u32, UTF-8        bytes: number of bytes: u32, bytes
//! ```
//!
//! All numbers are little-endian.

use crate::source::Version;
use std::path::Path;

/// The file itself, its overviews, its masks, its `.aux.xml` and a world file. Each is checked before the record is
/// used.
const MOST_PARTS: u32 = 5;

/// One file in a header index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Record {
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) held: Held,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// Pieces of the file, with their offsets.
    Header(Vec<(u64, Vec<u8>)>),
    Text(String),
}

impl Record {
    /// Returns whether all its parts are unchanged.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        let same = |part: &Part| super::is_same(&path.with_file_name(&part.name), &part.version);
        !self.parts.is_empty() && self.parts.iter().all(same)
    }

    fn part(&self, path: &Path) -> Option<&Part> {
        let name = path.file_name()?.to_str()?;
        self.parts.iter().find(|part| part.name == name)
    }

    pub(super) fn version(&self, path: &Path) -> Option<Version> {
        self.part(path).map(|part| part.version.clone())
    }

    pub(super) fn header(&self, path: &Path) -> Vec<(u64, Vec<u8>)> {
        match self.part(path).map(|part| &part.held) {
            Some(Held::Header(pieces)) => pieces.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn text(&self, path: &Path) -> Option<String> {
        match &self.part(path)?.held {
            Held::Text(text) => Some(text.clone()),
            Held::Header(_) => None,
        }
    }

    /// Returns the stored form; `None` if a number does not fit.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        put_len(&mut out, self.parts.len())?;
        for Part { name, version, held } in &self.parts {
            put(&mut out, name.as_bytes())?;
            out.extend(version.len.to_le_bytes());
            put(&mut out, version.mark.as_bytes())?;
            match held {
                Held::Header(pieces) => {
                    out.push(0);
                    put_len(&mut out, pieces.len())?;
                    for (offset, bytes) in pieces {
                        out.extend(offset.to_le_bytes());
                        put(&mut out, bytes)?;
                    }
                }
                Held::Text(text) => {
                    out.push(1);
                    put(&mut out, text.as_bytes())?;
                }
            }
        }
        Some(out)
    }

    /// Parses the stored form; `None` if it is invalid.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let mut parts = Vec::new();
        for _ in 0..input.number().filter(|&parts| parts <= MOST_PARTS)? {
            let name = input.text()?.to_owned();
            // A name in the folder of the file, nothing else.
            if name.is_empty() || Path::new(&name).file_name().is_none_or(|only| only != name.as_str()) {
                return None;
            }
            let version = Version { len: input.long()?, mark: input.text()?.to_owned() };
            let held = match input.take(1)? {
                [0] => {
                    let mut pieces = Vec::new();
                    for _ in 0..input.number()? {
                        let offset = input.long()?;
                        let piece = input.bytes().filter(|piece| !piece.is_empty())?;
                        // Inside the file, like bytes read from it.
                        offset.checked_add(piece.len() as u64).filter(|&end| end <= version.len)?;
                        pieces.push((offset, piece.to_vec()));
                    }
                    Held::Header(pieces)
                }
                [1] => Held::Text(input.text()?.to_owned()),
                _ => return None,
            };
            parts.push(Part { name, version, held });
        }
        input.0.is_empty().then_some(Self { parts })
    }
}

pub(super) fn put_len(out: &mut Vec<u8>, len: usize) -> Option<()> {
    out.extend(u32::try_from(len).ok()?.to_le_bytes());
    Some(())
}

pub(super) fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    put_len(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Some(())
}

/// Bytes that are taken in order; `None` past their end.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    pub(super) fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let version = |len| Version { len, mark: "17".into() };
        let header = Held::Header(vec![(0, vec![1, 2, 3]), (90, vec![4; 10])]);
        Record {
            parts: vec![
                Part { name: "ä.tif".into(), version: version(100), held: header },
                Part { name: "ä.tif.aux.xml".into(), version: version(3), held: Held::Text("<x>".into()) },
            ],
        }
    }

    #[test]
    fn a_record_comes_back_and_cut_or_changed_ones_do_no_harm() {
        let bytes = record().to_bytes().unwrap();
        assert_eq!(Record::from_bytes(&bytes), Some(record()));
        for len in 0..bytes.len() {
            assert_eq!(Record::from_bytes(&bytes[..len]), None);
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x81;
            // Whatever it is, it must be inside its bounds, or be rejected.
            let Some(found) = Record::from_bytes(&changed) else { continue };
            for part in found.parts {
                if let Held::Header(pieces) = part.held {
                    assert!(pieces.iter().all(|(at, piece)| at + piece.len() as u64 <= part.version.len));
                }
            }
        }
    }

    #[test]
    fn no_more_parts_than_a_file_can_have_and_no_empty_pieces() {
        let (mut parts, mut pieces) = (record(), record());
        parts.parts.resize(5, parts.parts[1].clone());
        assert_eq!(Record::from_bytes(&parts.to_bytes().unwrap()), Some(parts.clone()));
        parts.parts.resize(6, parts.parts[1].clone());
        assert_eq!(Record::from_bytes(&parts.to_bytes().unwrap()), None);
        pieces.parts[0].held = Held::Header(vec![(0, vec![1]), (1, vec![])]);
        assert_eq!(Record::from_bytes(&pieces.to_bytes().unwrap()), None);
    }

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["../up.tif", "/etc/passwd", "a/b", "", "..", "."] {
            let mut record = record();
            record.parts[0].name = name.into();
            assert_eq!(Record::from_bytes(&record.to_bytes().unwrap()), None, "{name}");
        }
    }
}
