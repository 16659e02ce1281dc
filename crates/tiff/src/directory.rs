//! An image file directory: its entries, sorted by tag, and checked access to them.

use crate::{ByteOrder, FieldType, Tag, TiffError, Warning, Warnings};
use std::ops::Range;

/// Where a directory is referenced from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the chain from the header, at this position.
    Chain(usize),
    /// In tag SubIFDs of another directory (an index into `Tiff::directories`).
    Sub {
        /// The directory with the tag.
        parent: usize,
    },
}

/// The bytes of a value, or their location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueData {
    /// In memory, in the file's byte order.
    Here(Vec<u8>),
    /// In the file, within its bounds, and too large to be fetched by default.
    There(Range<u64>),
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The tag.
    pub tag: Tag,
    /// The type of its elements.
    pub field_type: FieldType,
    /// Number of elements.
    pub count: u64,
    /// The bytes.
    pub data: ValueData,
}

/// A directory, with entries inside the file, sorted and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Offset in the file.
    pub offset: u64,
    /// Where it is referenced from.
    pub origin: Origin,
    /// Byte order of its values.
    pub byte_order: ByteOrder,
    pub(crate) entries: Vec<Entry>,
}

impl Directory {
    /// Sorts the entries. Equal duplicates are dropped with a warning, unequal ones are an error.
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

    /// Returns all entries, by tag.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entry of a tag.
    pub fn get(&self, tag: Tag) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&tag, |entry| entry.tag).ok()?;
        self.entries.get(at)
    }

    /// Returns the place of a tag of this directory, for messages.
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

    /// Returns the tag's value as unsigned integers; `None` if the tag is absent.
    pub fn integers(&self, tag: Tag) -> Result<Option<Vec<u64>>, TiffError> {
        let Some(entry) = self.get(tag) else { return Ok(None) };
        let values = entry.field_type.integers(self.raw(entry)?, self.byte_order);
        values.map(Some).ok_or_else(|| self.not_integers(entry))
    }

    /// Returns the tag's value as unsigned integers one by one, up to the first element that is not one; nothing if the
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

    /// Returns the tag's only or first value as an unsigned integer; `None` if the tag is absent.
    pub fn integer(&self, tag: Tag) -> Result<Option<u64>, TiffError> {
        let Some(entry) = self.get(tag) else { return Ok(None) };
        match entry.field_type.each_integer(self.raw(entry)?, self.byte_order).next() {
            Some(first) => first.map(Some).ok_or_else(|| self.not_integers(entry)),
            None => Err(TiffError::invalid(self.place(tag), "expected one value, got none")),
        }
    }

    /// Returns the tag's value as a `u16`; `default` if the tag is absent.
    pub fn short(&self, tag: Tag, default: u16) -> Result<u16, TiffError> {
        let Some(value) = self.integer(tag)? else { return Ok(default) };
        u16::try_from(value)
            .map_err(|_| TiffError::invalid(self.place(tag), format!("expected at most 65535, got {value}")))
    }

    /// Returns the tag's value as one positive `u32`. Fails if it is absent or 0.
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

    /// Returns the tag's value as floats; `None` if the tag is absent.
    pub fn floats(&self, tag: Tag) -> Result<Option<Vec<f64>>, TiffError> {
        let Some(entry) = self.get(tag) else { return Ok(None) };
        let values = entry.field_type.floats(self.raw(entry)?, self.byte_order);
        values.map(Some).ok_or_else(|| {
            let problem = format!("expected numbers, got {} values", entry.field_type.name());
            TiffError::invalid(self.place(tag), problem)
        })
    }

    /// Returns the tag's bytes unchanged; `None` if the tag is absent or was too large to be fetched.
    pub fn bytes(&self, tag: Tag) -> Option<&[u8]> {
        match &self.get(tag)?.data {
            ValueData::Here(bytes) => Some(bytes),
            ValueData::There(_) => None,
        }
    }

    /// Returns the tag's text up to its first NUL, with invalid UTF-8 replaced; `None` if the tag is absent.
    pub fn text(&self, tag: Tag) -> Option<String> {
        let bytes = self.bytes(tag)?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
    }
}

pub(crate) fn place_of(offset: u64) -> String {
    format!("directory at byte {offset}")
}
