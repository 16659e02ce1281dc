//! Offsets and sizes of the blocks of an image: two arrays, which may be too large to fetch as a whole.

use crate::directory::{Directory, Entry, ValueData};
use crate::{ByteOrder, FieldType, Tag, TiffError, Warning, Warnings};
use std::ops::Range;

/// One array of a block table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockArray {
    /// All values, in memory.
    Here(Vec<u64>),
    /// Still in the file.
    There(FileArray),
}

/// An array of integers in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArray {
    start: u64,
    count: u64,
    field_type: FieldType,
    byte_order: ByteOrder,
}

impl FileArray {
    /// Returns the byte range of some elements, clamped to the array.
    pub fn bytes_of(&self, elements: Range<u64>) -> Range<u64> {
        let at = |index: u64| self.start + index.min(self.count) * self.field_type.size();
        at(elements.start)..at(elements.end)
    }

    /// Decodes values from the bytes of `bytes_of`.
    pub fn decode(&self, bytes: &[u8]) -> Option<Vec<u64>> {
        self.field_type.integers(bytes, self.byte_order)
    }

    /// Returns the number of elements.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl BlockArray {
    /// Returns the array of a tag. Fails if its type is not integral.
    pub(crate) fn from_entry(directory: &Directory, entry: &Entry) -> Result<Self, TiffError> {
        match &entry.data {
            ValueData::Here(_) => Ok(Self::Here(directory.integers(entry.tag)?.unwrap_or_default())),
            ValueData::There(range) => {
                let integral = matches!(
                    entry.field_type,
                    FieldType::Byte
                        | FieldType::Short
                        | FieldType::Long
                        | FieldType::Long8
                        | FieldType::Ifd
                        | FieldType::Ifd8
                );
                if !integral {
                    let problem =
                        format!("expected unsigned integers, got {} values", entry.field_type.name());
                    return Err(TiffError::invalid(directory.place(entry.tag), problem));
                }
                Ok(Self::There(FileArray {
                    start: range.start,
                    count: entry.count,
                    field_type: entry.field_type,
                    byte_order: directory.byte_order,
                }))
            }
        }
    }

    /// Returns the number of elements.
    pub fn count(&self) -> u64 {
        match self {
            Self::Here(values) => values.len() as u64,
            Self::There(array) => array.count,
        }
    }
}

/// Offsets and sizes of an image's blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockTable {
    /// Offset of each block.
    pub offsets: BlockArray,
    /// Size of each block in bytes; 0 means that the block is not stored.
    pub sizes: BlockArray,
}

impl BlockTable {
    /// Returns the table of a directory. Sizes may be missing (then `None`), and blocks past its end are not stored.
    pub(crate) fn from_directory(
        directory: &Directory,
        tiled: bool,
        blocks: u64,
        warnings: &mut Warnings,
    ) -> Result<(BlockArray, Option<BlockArray>), TiffError> {
        let (offsets_tag, sizes_tag) = match tiled {
            // Some writers of tiles use the tags of strips, and libtiff reads them.
            true if directory.get(Tag::TileOffsets).is_some() => (Tag::TileOffsets, Tag::TileByteCounts),
            _ => (Tag::StripOffsets, Tag::StripByteCounts),
        };
        let sizes_tag = match directory.get(sizes_tag) {
            None if tiled => Tag::StripByteCounts,
            _ => sizes_tag,
        };
        let Some(entry) = directory.get(offsets_tag) else {
            let tag = if tiled { Tag::TileOffsets } else { Tag::StripOffsets };
            let place = crate::directory::place_of(directory.offset);
            return Err(TiffError::invalid(place, format!("{tag} is missing or unusable")));
        };
        let offsets = BlockArray::from_entry(directory, entry)?;
        let sizes = match directory.get(sizes_tag) {
            Some(entry) => Some(BlockArray::from_entry(directory, entry)?),
            None => None,
        };
        for (tag, array) in [(offsets_tag, Some(&offsets)), (sizes_tag, sizes.as_ref())] {
            let Some(found) = array.map(BlockArray::count) else { continue };
            if found == 0 {
                return Err(TiffError::invalid(
                    directory.place(tag),
                    format!("expected values for {blocks} blocks, got none"),
                ));
            }
            if found < blocks {
                let message = format!("{found} values for {blocks} blocks, the rest taken as not stored");
                warnings.push(Warning::new("missing-block-offsets", directory.place(tag), message));
            }
        }
        Ok((offsets, sizes))
    }
}
