//! Converts directories to bytes, given the positions of everything.
//!
//! A directory is written like libtiff does: entries by tag, then the values that do not fit into them. The two arrays
//! with the positions of blocks are separate, so that a Cloud-Optimized file has all its directories together at its
//! start, followed by the arrays, which can be large. `layout` computes the positions.

use crate::{BlockKind, ByteOrder, FieldType, FieldValue, Tag, Variant};
use thiserror::Error;

/// Byte order and width of offsets of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileForm {
    /// Byte order of the file.
    pub byte_order: ByteOrder,
    /// Classic or Big.
    pub variant: Variant,
}

/// A directory to write.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDirectory {
    fields: Vec<(Tag, FieldValue)>,
    kind: BlockKind,
    blocks: usize,
}

/// Positions of an image's blocks, in the order of its table; offset and size 0 for a sparse block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockSpans {
    /// Offsets of the blocks.
    pub offsets: Vec<u64>,
    /// Sizes in bytes.
    pub sizes: Vec<u32>,
}

/// An offset that the file cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("byte {offset} is beyond what a classic TIFF can address (4 GiB)")]
pub struct PastClassic {
    /// The offset.
    pub offset: u64,
}

impl NewDirectory {
    /// Creates a directory with these fields (a later one replaces an earlier one of the same tag) and a table of
    /// blocks.
    pub fn new(kind: BlockKind, blocks: usize, fields: impl IntoIterator<Item = (Tag, FieldValue)>) -> Self {
        let mut sorted: Vec<(Tag, FieldValue)> = Vec::new();
        for (tag, value) in fields {
            match sorted.binary_search_by_key(&tag, |(tag, _)| *tag) {
                Ok(at) => {
                    if let Some(slot) = sorted.get_mut(at) {
                        slot.1 = value;
                    }
                }
                Err(at) => sorted.insert(at, (tag, value)),
            }
        }
        Self { fields: sorted, kind, blocks }
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    const fn table_tags(&self) -> (Tag, Tag) {
        match self.kind {
            BlockKind::Tile => (Tag::TileOffsets, Tag::TileByteCounts),
            BlockKind::Strip => (Tag::StripOffsets, Tag::StripByteCounts),
        }
    }
}

/// The value of an entry.
enum Value<'a> {
    Field(&'a FieldValue),
    Offsets,
    Sizes,
}

impl FileForm {
    /// Returns the first bytes of the file.
    pub fn header(self, first_directory: u64) -> Result<Vec<u8>, PastClassic> {
        let mut bytes = Vec::with_capacity(16);
        bytes.extend_from_slice(match self.byte_order {
            ByteOrder::Little => b"II",
            ByteOrder::Big => b"MM",
        });
        match self.variant {
            Variant::Classic => self.byte_order.put_u16(42, &mut bytes),
            Variant::Big => {
                self.byte_order.put_u16(43, &mut bytes);
                self.byte_order.put_u16(8, &mut bytes);
                self.byte_order.put_u16(0, &mut bytes);
            }
        }
        self.put_offset(first_directory, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns a pointer to a directory.
    pub fn pointer(self, directory: u64) -> Result<Vec<u8>, PastClassic> {
        let mut bytes = Vec::with_capacity(8);
        self.put_offset(directory, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the bytes of the header.
    pub const fn header_len(self) -> u64 {
        match self.variant {
            Variant::Classic => 8,
            Variant::Big => 16,
        }
    }

    /// Returns the bytes of a directory and of its values, without its block arrays.
    pub fn directory_len(self, directory: &NewDirectory) -> u64 {
        let room = self.variant.offset_len();
        let values = directory.fields.iter().map(|(_, value)| value.len()).filter(|&len| len > room);
        self.entries_len(directory) + values.map(even).sum::<u64>()
    }

    fn entries_len(self, directory: &NewDirectory) -> u64 {
        let entries = directory.fields.len() as u64 + 2;
        let variant = self.variant;
        even(variant.count_len() + entries * variant.entry_len() + variant.offset_len())
    }

    /// Returns the bytes of a directory's block arrays; none if they fit into the entries.
    pub fn arrays_len(self, directory: &NewDirectory) -> u64 {
        self.array_len(directory, self.offset_type()) + self.array_len(directory, FieldType::Long)
    }

    fn array_len(self, directory: &NewDirectory, element: FieldType) -> u64 {
        let len = directory.blocks as u64 * element.size();
        if len > self.variant.offset_len() { even(len) } else { 0 }
    }

    const fn offset_type(self) -> FieldType {
        match self.variant {
            Variant::Classic => FieldType::Long,
            Variant::Big => FieldType::Long8,
        }
    }

    /// Returns the bytes of a directory at `at`, with its arrays at `arrays` and the next directory at `next`.
    pub fn directory(
        self,
        directory: &NewDirectory,
        spans: &BlockSpans,
        at: u64,
        arrays: u64,
        next: u64,
    ) -> Result<Vec<u8>, PastClassic> {
        let order = self.byte_order;
        let (offsets_tag, sizes_tag) = directory.table_tags();
        let mut entries: Vec<(Tag, Value<'_>)> =
            directory.fields.iter().map(|(tag, value)| (*tag, Value::Field(value))).collect();
        entries.push((offsets_tag, Value::Offsets));
        entries.push((sizes_tag, Value::Sizes));
        entries.sort_by_key(|(tag, _)| *tag);
        let mut bytes = Vec::new();
        let mut values = Vec::new();
        let values_at = at + self.entries_len(directory);
        match self.variant {
            Variant::Classic => order.put_u16(u16::try_from(entries.len()).unwrap_or(u16::MAX), &mut bytes),
            Variant::Big => order.put_u64(entries.len() as u64, &mut bytes),
        }
        for (tag, value) in entries {
            let (field_type, count) = match &value {
                Value::Field(value) => (value.field_type(), value.count()),
                Value::Offsets => (self.offset_type(), directory.blocks as u64),
                Value::Sizes => (FieldType::Long, directory.blocks as u64),
            };
            order.put_u16(tag.0, &mut bytes);
            order.put_u16(field_type.code(), &mut bytes);
            match self.variant {
                Variant::Classic => order.put_u32(u32::try_from(count).unwrap_or(u32::MAX), &mut bytes),
                Variant::Big => order.put_u64(count, &mut bytes),
            }
            let fits = count * field_type.size() <= self.variant.offset_len();
            let inline = bytes.len();
            match value {
                Value::Field(value) if fits => value.write(order, &mut bytes),
                Value::Field(value) => {
                    self.put_offset(values_at + values.len() as u64, &mut bytes)?;
                    value.write(order, &mut values);
                    pad(&mut values);
                }
                Value::Offsets if fits => self.put_offsets(&spans.offsets, &mut bytes)?,
                Value::Sizes if fits => put_sizes(&spans.sizes, order, &mut bytes),
                Value::Offsets => self.put_offset(arrays, &mut bytes)?,
                Value::Sizes => {
                    let sizes_at = arrays + self.array_len(directory, self.offset_type());
                    self.put_offset(sizes_at, &mut bytes)?;
                }
            }
            // Values shorter than their room are left-justified.
            bytes.resize(inline + usize::try_from(self.variant.offset_len()).unwrap_or(8), 0);
        }
        self.put_offset(next, &mut bytes)?;
        pad(&mut bytes);
        bytes.append(&mut values);
        Ok(bytes)
    }

    /// Returns the bytes of a directory's block arrays.
    pub fn arrays(self, directory: &NewDirectory, spans: &BlockSpans) -> Result<Vec<u8>, PastClassic> {
        let mut bytes = Vec::new();
        if self.array_len(directory, self.offset_type()) > 0 {
            self.put_offsets(&spans.offsets, &mut bytes)?;
            pad(&mut bytes);
        }
        if self.array_len(directory, FieldType::Long) > 0 {
            put_sizes(&spans.sizes, self.byte_order, &mut bytes);
            pad(&mut bytes);
        }
        Ok(bytes)
    }

    fn put_offsets(self, offsets: &[u64], bytes: &mut Vec<u8>) -> Result<(), PastClassic> {
        offsets.iter().try_for_each(|&offset| self.put_offset(offset, bytes))
    }

    fn put_offset(self, offset: u64, bytes: &mut Vec<u8>) -> Result<(), PastClassic> {
        match self.variant {
            Variant::Classic => {
                let short = u32::try_from(offset).map_err(|_| PastClassic { offset })?;
                self.byte_order.put_u32(short, bytes);
            }
            Variant::Big => self.byte_order.put_u64(offset, bytes),
        }
        Ok(())
    }
}

fn put_sizes(sizes: &[u32], order: ByteOrder, bytes: &mut Vec<u8>) {
    sizes.iter().for_each(|&size| order.put_u32(size, bytes));
}

/// Rounds up to an even number: directories and values begin at even bytes.
pub(crate) const fn even(len: u64) -> u64 {
    len + len % 2
}

fn pad(bytes: &mut Vec<u8>) {
    if bytes.len() % 2 == 1 {
        bytes.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte of a small directory, computed by hand from TIFF 6.0, section 2.
    #[test]
    fn a_directory_is_what_the_specification_says() {
        let form = FileForm { byte_order: ByteOrder::Big, variant: Variant::Classic };
        let fields =
            [(Tag::Software, FieldValue::Text("strile".into())), (Tag::ImageWidth, FieldValue::short(5))];
        let directory = NewDirectory::new(BlockKind::Strip, 1, fields);
        let spans = BlockSpans { offsets: vec![8], sizes: vec![3] };
        let bytes = form.directory(&directory, &spans, 12, 0, 0).unwrap();
        #[rustfmt::skip]
        let expected: &[u8] = &[
            0, 4,
            1, 0, 0, 3, 0, 0, 0, 1, 0, 5, 0, 0,
            1, 17, 0, 4, 0, 0, 0, 1, 0, 0, 0, 8,
            1, 23, 0, 4, 0, 0, 0, 1, 0, 0, 0, 3,
            1, 49, 0, 2, 0, 0, 0, 7, 0, 0, 0, 66,
            0, 0, 0, 0,
            b's', b't', b'r', b'i', b'l', b'e', 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(form.directory_len(&directory), bytes.len() as u64);
        assert_eq!(form.arrays_len(&directory), 0);
        assert_eq!(form.header(12).unwrap(), [b'M', b'M', 0, 42, 0, 0, 0, 12]);
    }

    #[test]
    fn arrays_lie_apart_and_lengths_are_what_is_written() {
        for variant in [Variant::Classic, Variant::Big] {
            let form = FileForm { byte_order: ByteOrder::Little, variant };
            let directory = NewDirectory::new(BlockKind::Tile, 3, [(Tag::TileWidth, FieldValue::long(16))]);
            let spans = BlockSpans { offsets: vec![100, 0, 300], sizes: vec![7, 0, 9] };
            let bytes = form.directory(&directory, &spans, 16, 5000, 6000).unwrap();
            assert_eq!(bytes.len() as u64, form.directory_len(&directory));
            let arrays = form.arrays(&directory, &spans).unwrap();
            assert_eq!(arrays.len() as u64, form.arrays_len(&directory));
            assert!(arrays.ends_with(&[7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]));
        }
    }

    #[test]
    fn classic_offsets_end_at_4_gib() {
        let form = FileForm { byte_order: ByteOrder::Little, variant: Variant::Classic };
        let directory = NewDirectory::new(BlockKind::Tile, 1, []);
        let spans = BlockSpans { offsets: vec![1 << 32], sizes: vec![1] };
        assert_eq!(form.directory(&directory, &spans, 8, 0, 0), Err(PastClassic { offset: 1 << 32 }));
    }
}
