//! The fields of a directory as they are stored.

use super::dataset::Dataset;
use super::open::io_error;
use crate::error::Result;
use crate::source::read_ranges;
use strile_engine::Cancel;
use strile_tiff::{ByteOrder, FieldType, Tag, ValueData};

/// A larger value is left in the file: tables of blocks can have any size.
const LARGEST: u64 = 16 << 20;

/// A field with the bytes of its value.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredField {
    /// The tag.
    pub tag: Tag,
    /// The type of its elements.
    pub field_type: FieldType,
    /// How many there are.
    pub count: u64,
    /// Order of their bytes.
    pub byte_order: ByteOrder,
    /// The bytes; `None` where they are more than 16 MiB, or were not wanted.
    pub bytes: Option<Vec<u8>>,
}

impl Dataset {
    /// Every field of a level of a page (0 the full image, then its overviews), by tag; the values of those whose tag is
    /// `wanted`.
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
        let there = directory.entries().iter().filter_map(|entry| match &entry.data {
            ValueData::There(range) if range.end - range.start <= LARGEST && wanted(entry.tag) => {
                Some(range.clone())
            }
            _ => None,
        });
        let there: Vec<_> = there.collect();
        let source = file.source.as_ref();
        let read = read_ranges(source, &there, &Cancel::default());
        let mut read = read.map_err(|error| io_error(source, error))?.into_iter();
        let fields = directory.entries().iter().map(|entry| StoredField {
            tag: entry.tag,
            field_type: entry.field_type,
            count: entry.count,
            byte_order: directory.byte_order,
            bytes: match &entry.data {
                _ if !wanted(entry.tag) => None,
                ValueData::Here(bytes) => Some(bytes.clone()),
                ValueData::There(range) if range.end - range.start <= LARGEST => read.next(),
                ValueData::There(_) => None,
            },
        });
        Ok(fields.collect())
    }
}
