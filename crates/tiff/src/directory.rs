//! One image file directory: its entries, sorted by tag, and checked ways to read them.

use crate::{ByteOrder, FieldType, Tag, TiffError, Warning, Warnings};
use std::ops::Range;

/// Where a directory hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the chain from the header, at this position.
    Chain(usize),
    /// Named by tag SubIFDs of another directory (an index into `Tiff::directories`).
    Sub {
        /// The directory that names it.
        parent: usize,
    },
}

/// Where the bytes of a value are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueData {
    /// Here, in the file's byte order.
    Here(Vec<u8>),
    /// In the file, inside it, and too large to be fetched unasked.
    There(Range<u64>),
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The tag.
    pub tag: Tag,
    /// The type of its elements.
    pub field_type: FieldType,
    /// How many there are.
    pub count: u64,
    /// The bytes.
    pub data: ValueData,
}

/// A directory whose entries are inside the file, sorted and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Where in the file it begins.
    pub offset: u64,
    /// Where it hangs.
    pub origin: Origin,
    /// Order of the bytes of its values.
    pub byte_order: ByteOrder,
    pub(crate) entries: Vec<Entry>,
}

impl Directory {
    /// Sorts the entries; equal duplicates are dropped with a warning, unequal ones are an error.
    pub(crate) fn new(
        offset: u64,
        origin: Origin,
        byte_order: ByteOrder,
        mut entries: Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<Self, TiffError> {
        let place = place_of(offset);
        if !entries.is_sorted_by_key(|entry| entry.tag) {
            warnings.push(Warning::new("unsorted-tags", &place, "tags are not in ascending order"));
            entries.sort_by_key(|entry| entry.tag);
        }
        let mut conflict = None;
        entries.dedup_by(|later, earlier| {
            if later.tag != earlier.tag {
                return false;
            }
            if later != earlier {
                conflict = Some(later.tag);
                return false;
            }
            let message = format!("{} is given twice with one value", later.tag);
            warnings.push(Warning::new("duplicate-tag", &place, message));
            true
        });
        if let Some(tag) = conflict {
            return Err(TiffError::invalid(place, format!("{tag} is given twice with different values")));
        }
        Ok(Self { offset, origin, byte_order, entries })
    }

    /// All entries, by tag.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a tag.
    pub fn get(&self, tag: Tag) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&tag, |entry| entry.tag).ok()?;
        self.entries.get(at)
    }

    /// Where a tag of this directory is, for messages.
    pub(crate) fn place(&self, tag: Tag) -> String {
        format!("{tag} of the {}", place_of(self.offset))
    }

    fn raw<'a>(&self, entry: &'a Entry) -> Result<&'a [u8], TiffError> {
        match &entry.data {
            ValueData::Here(bytes) => Ok(bytes),
            ValueData::There(range) => {
                let problem = format!("value of {} bytes is too large", range.end - range.start);
                Err(TiffError::invalid(self.place(entry.tag), problem))
            }
        }
    }

    fn not_integers(&self, entry: &Entry) -> TiffError {
        let problem = format!("expected unsigned integers, got {} values", entry.field_type.name());
        TiffError::invalid(self.place(entry.tag), problem)
    }

    /// The tag's value as unsigned integers; `None` where the tag is absent.
    pub fn integers(&self, tag: Tag) -> Result<Option<Vec<u64>>, TiffError> {
        let Some(entry) = self.get(tag) else { return Ok(None) };
        let values = entry.field_type.integers(self.raw(entry)?, self.byte_order);
        values.map(Some).ok_or_else(|| self.not_integers(entry))
    }

    /// The tag's value as unsigned integers, one after the other, up to the first that is none; no integers where the
    /// tag is absent.
    pub(crate) fn each_integer(&self, tag: Tag) -> Result<impl Iterator<Item = u64>, TiffError> {
        let entry = self.get(tag);
        let raw = entry.map(|entry| self.raw(entry)).transpose()?.unwrap_or_default();
        let field_type = entry.map_or(FieldType::Byte, |entry| entry.field_type);
        let values = field_type.each_integer(raw, self.byte_order);
        match (entry, field_type.each_integer(raw, self.byte_order).next()) {
            (Some(entry), Some(None)) => Err(self.not_integers(entry)),
            _ => Ok(values.map_while(|value| value)),
        }
    }

    /// The tag's only or first value as an unsigned integer; `None` where the tag is absent.
    pub fn integer(&self, tag: Tag) -> Result<Option<u64>, TiffError> {
        let Some(entry) = self.get(tag) else { return Ok(None) };
        match entry.field_type.each_integer(self.raw(entry)?, self.byte_order).next() {
            Some(first) => first.map(Some).ok_or_else(|| self.not_integers(entry)),
            None => Err(TiffError::invalid(self.place(tag), "expected one value, got none")),
        }
    }

    /// The tag's value as a `u16`; `default` where the tag is absent.
    pub fn short(&self, tag: Tag, default: u16) -> Result<u16, TiffError> {
        let Some(value) = self.integer(tag)? else { return Ok(default) };
        u16::try_from(value)
            .map_err(|_| TiffError::invalid(self.place(tag), format!("expected at most 65535, got {value}")))
    }

    /// The tag's value as one positive `u32`; an error where it is absent or 0.
    pub fn required_size(&self, tag: Tag) -> Result<u32, TiffError> {
        let Some(value) = self.integer(tag)? else {
            return Err(TiffError::invalid(place_of(self.offset), format!("{tag} is missing")));
        };
        match u32::try_from(value) {
            Ok(0) => Err(TiffError::invalid(self.place(tag), "expected at least 1, got 0")),
            Ok(size) => Ok(size),
            Err(_) => Err(TiffError::Limit {
                place: self.place(tag),
                what: "size",
                found: value,
                limit: u64::from(u32::MAX),
            }),
        }
    }

    /// The tag's value as floats; `None` where the tag is absent.
    pub fn floats(&self, tag: Tag) -> Result<Option<Vec<f64>>, TiffError> {
        let Some(entry) = self.get(tag) else { return Ok(None) };
        let values = entry.field_type.floats(self.raw(entry)?, self.byte_order);
        values.map(Some).ok_or_else(|| {
            let problem = format!("expected numbers, got {} values", entry.field_type.name());
            TiffError::invalid(self.place(tag), problem)
        })
    }

    /// The tag's bytes as they are; `None` where the tag is absent or too large to have been fetched.
    pub fn bytes(&self, tag: Tag) -> Option<&[u8]> {
        match &self.get(tag)?.data {
            ValueData::Here(bytes) => Some(bytes),
            ValueData::There(_) => None,
        }
    }

    /// The tag's text up to its first NUL, bytes that are not UTF-8 replaced; `None` where absent.
    pub fn text(&self, tag: Tag) -> Option<String> {
        let bytes = self.bytes(tag)?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
    }
}

pub(crate) fn place_of(offset: u64) -> String {
    format!("directory at byte {offset}")
}
