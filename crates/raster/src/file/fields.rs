//! The fields of a directory as stored.

use super::dataset::Dataset;
use super::open::io_error;
use crate::error::Result;
use crate::source::read_ranges;
use std::ops::Range;
use strile_engine::Cancel;
use strile_tiff::{ByteOrder, Entry, FieldType, Tag, ValueData};

/// Largest value that is read, in bytes. Larger ones stay in the file: tables of blocks can have any size.
const LARGEST: u64 = 16 << 20;
/// Most bytes of values that are read at once per directory.
const ALL: u64 = 64 << 20;
/// Bytes that values may take beyond the length of the file, if they share their bytes.
const SHARED: u64 = 1 << 20;

/// Bytes of values of a directory that may still be read. Tags of a small file can all refer to the same bytes.
pub(crate) struct ValueRoom(u64);

impl ValueRoom {
    /// Returns the limit for the values of a file of `file_len` bytes.
    pub(crate) fn new(file_len: u64) -> Self {
        Self(file_len.saturating_add(SHARED).min(ALL))
    }

    /// Returns whether to read a value, or to leave it in the file because it is too large or too much was read before.
    pub(crate) fn takes(&mut self, value: &Range<u64>) -> bool {
        let len = value.end.saturating_sub(value.start);
        let left = self.0.checked_sub(len).filter(|_| len <= LARGEST);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// A field with the bytes of its value.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredField {
    /// The tag.
    pub tag: Tag,
    /// The type of its elements.
    pub field_type: FieldType,
    /// Number of elements.
    pub count: u64,
    /// Byte order of the elements.
    pub byte_order: ByteOrder,
    /// The bytes. `None` if they were not requested, are more than 16 MiB, or if the previous values take 64 MiB or
    /// more than the file has.
    pub bytes: Option<Vec<u8>>,
}

impl Dataset {
    /// Returns every field of a level of a page (0 the full image, then its overviews), by tag. Reads the values of
    /// those whose tag is `wanted`.
    pub fn fields(
        &self,
        page: usize,
        level: usize,
        wanted: impl Fn(Tag) -> bool,
    ) -> Result<Vec<StoredField>> {
        let absent = || self.refuse(format!("there is no level {level} of page {page} (both from 0)"));
        let found = self.pages().get(page).and_then(|page| page.levels.get(level)).ok_or_else(absent)?;
        let file = self.file(found.file).ok_or_else(absent)?;
        let directory = file.tiff.directories.get(found.image.directory).ok_or_else(absent)?;
        let mut room = ValueRoom::new(file.tiff.file_len);
        let mut is_read = |entry: &Entry| match &entry.data {
            ValueData::There(range) => wanted(entry.tag) && room.takes(range),
            ValueData::Here(_) => false,
        };
        let is_read: Vec<bool> = directory.entries().iter().map(&mut is_read).collect();
        let there = directory.entries().iter().zip(&is_read).filter_map(|(entry, read)| match &entry.data {
            ValueData::There(range) if *read => Some(range.clone()),
            _ => None,
        });
        let there: Vec<_> = there.collect();
        let source = file.source.as_ref();
        let read = read_ranges(source, &there, &Cancel::default());
        let mut read = read.map_err(|error| io_error(source, error))?.into_iter();
        let fields = directory.entries().iter().zip(is_read).map(|(entry, is_read)| StoredField {
            tag: entry.tag,
            field_type: entry.field_type,
            count: entry.count,
            byte_order: directory.byte_order,
            bytes: match &entry.data {
                _ if !wanted(entry.tag) => None,
                ValueData::Here(bytes) => Some(bytes.clone()),
                ValueData::There(_) if is_read => read.next(),
                ValueData::There(_) => None,
            },
        });
        Ok(fields.collect())
    }
}
