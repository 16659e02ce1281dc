//! Serialises directories and blocks to the bytes of a file, valid or not, with the position of every part.
//!
//! The builder checks nothing: the contents of a directory are written unchanged. Sizes never depend on offsets, so
//! positions are assigned first and values are written afterwards, in one pass each.

use crate::tag::{Places, Resolved, Tag, Value, put};
use std::ops::Range;
use strile_tiff::ByteOrder;

/// One directory: its entries, its encoded blocks and its SubIFDs.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Entries, written in this order.
    pub tags: Vec<Tag>,
    /// Encoded blocks; `None` has offset and size 0.
    pub blocks: Vec<Option<Vec<u8>>>,
    /// Number of entries (0, 0) after the blocks' own offsets and sizes.
    pub extra_offsets: usize,
    /// Directories that a `Value::Children` points to.
    pub children: Vec<Directory>,
    /// The offset of the next directory, instead of the correct one.
    pub next: Option<u64>,
}

impl Directory {
    /// Replaces every entry of that tag, or adds one in sorted order.
    pub fn set(&mut self, tag: Tag) -> &mut Self {
        self.tags.retain(|t| t.code != tag.code);
        self.add(tag)
    }

    /// Adds an entry in sorted order, after those of the same tag.
    pub fn add(&mut self, tag: Tag) -> &mut Self {
        let at = self.tags.partition_point(|t| t.code <= tag.code);
        self.tags.insert(at, tag);
        self
    }

    /// Removes every entry of that tag.
    pub fn remove(&mut self, code: u16) -> &mut Self {
        self.tags.retain(|t| t.code != code);
        self
    }

    /// Returns the value of the tag's entry.
    pub fn get(&self, code: u16) -> Option<&Value> {
        self.tags.iter().find(|t| t.code == code).map(|t| &t.value)
    }
}

/// Order of the parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileOrder {
    /// Header, blocks of a directory, the directory, and so on, as simple writers do.
    #[default]
    BlocksFirst,
    /// Header, all directories, then blocks of the last directory to the first: a COG.
    DirectoriesFirst,
    /// The same with GDAL's ghost area, and with the size before each block and its last four bytes repeated after it.
    CogWithGhost,
}

/// A file to build.
#[derive(Debug, Clone)]
pub struct TiffBuilder {
    /// Byte order.
    pub order: ByteOrder,
    /// BigTIFF.
    pub big: bool,
    /// Order of the parts.
    pub file_order: FileOrder,
    /// The chain of directories.
    pub directories: Vec<Directory>,
    /// The offset of the first directory, instead of the correct one.
    pub first: Option<u64>,
    /// Bytes after everything else.
    pub trailer: Vec<u8>,
}

/// Position of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltBlock {
    /// Index of its directory in `Built::directories`.
    pub directory: usize,
    /// Index in the directory's offsets.
    pub index: usize,
    /// Byte range.
    pub range: Range<usize>,
}

/// A file and the positions of its parts.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The file.
    pub bytes: Vec<u8>,
    /// Blocks that are not sparse, by directory, then index.
    pub blocks: Vec<BuiltBlock>,
    /// Directories from their count to their next offset: the chain in order, each followed by its children.
    pub directories: Vec<Range<usize>>,
    /// Values that lie outside their entries.
    pub values: Vec<Range<usize>>,
}

/// A directory while positions are assigned.
struct Placed<'a> {
    directory: &'a Directory,
    position: u64,
    offsets: Vec<u64>,
    counts: Vec<u64>,
    /// Indices of the children in the flat list.
    children: Vec<usize>,
    /// Index of the chain's next directory in the flat list.
    next: Option<usize>,
}

impl TiffBuilder {
    /// Returns a file of one directory chain in that byte order, classic or Big.
    pub fn new(order: ByteOrder, big: bool) -> Self {
        Self {
            order,
            big,
            file_order: FileOrder::default(),
            directories: Vec::new(),
            first: None,
            trailer: Vec::new(),
        }
    }

    /// Adds a directory to the chain.
    pub fn directory(mut self, directory: Directory) -> Self {
        self.directories.push(directory);
        self
    }

    /// Sets the order of the parts.
    pub fn file_order(mut self, file_order: FileOrder) -> Self {
        self.file_order = file_order;
        self
    }

    fn word(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    fn header_len(&self) -> u64 {
        if self.big { 16 } else { 8 }
    }

    /// Lays the file out and writes it.
    pub fn build(&self) -> Built {
        let mut placed = Vec::new();
        let mut previous = None;
        for directory in &self.directories {
            let index = flatten(directory, &mut placed);
            if let Some(previous) = previous.replace(index) {
                let before: &mut Placed<'_> = &mut placed[previous];
                before.next = Some(index);
            }
        }
        let mut built = Built::default();
        self.write_header(&mut built.bytes);
        match self.file_order {
            FileOrder::BlocksFirst => {
                for directory in &mut placed {
                    self.place_blocks(directory, &mut built.bytes);
                    self.place_directory(directory, &mut built.bytes);
                }
            }
            FileOrder::DirectoriesFirst | FileOrder::CogWithGhost => {
                if self.file_order == FileOrder::CogWithGhost {
                    built.bytes.extend(GHOST_AREA);
                }
                for directory in &mut placed {
                    self.place_directory(directory, &mut built.bytes);
                }
                for directory in placed.iter_mut().rev() {
                    self.place_blocks(directory, &mut built.bytes);
                }
            }
        }
        for i in 0..placed.len() {
            self.write_directory(&placed, i, &mut built);
            for (index, block) in placed[i].directory.blocks.iter().enumerate() {
                if let Some(block) = block {
                    let start = placed[i].offsets[index] as usize;
                    built.blocks.push(BuiltBlock { directory: i, index, range: start..start + block.len() });
                }
            }
        }
        let first = self.first.unwrap_or_else(|| placed.first().map_or(0, |p| p.position));
        let mut field = Vec::new();
        put(&mut field, self.order, first, self.word());
        let at = self.header_len() as usize - self.word();
        built.bytes[at..at + field.len()].copy_from_slice(&field);
        built.bytes.extend(&self.trailer);
        built
    }

    fn write_header(&self, out: &mut Vec<u8>) {
        out.extend(match self.order {
            ByteOrder::Little => b"II",
            ByteOrder::Big => b"MM",
        });
        put(out, self.order, if self.big { 43 } else { 42 }, 2);
        if self.big {
            put(out, self.order, 8, 2);
            put(out, self.order, 0, 2);
        }
        put(out, self.order, 0, self.word());
    }

    fn place_blocks(&self, placed: &mut Placed<'_>, out: &mut Vec<u8>) {
        for (index, block) in placed.directory.blocks.iter().enumerate() {
            let Some(block) = block else { continue };
            if self.file_order == FileOrder::CogWithGhost {
                out.extend((block.len() as u32).to_le_bytes());
            }
            placed.offsets[index] = out.len() as u64;
            placed.counts[index] = block.len() as u64;
            out.extend(block);
            if self.file_order == FileOrder::CogWithGhost {
                let last: Vec<u8> = block.iter().rev().take(4).rev().copied().collect();
                out.extend(last);
            }
        }
    }

    /// Reserves room for a directory and its outlying values.
    fn place_directory(&self, placed: &mut Placed<'_>, out: &mut Vec<u8>) {
        out.resize(out.len().next_multiple_of(self.word()), 0);
        placed.position = out.len() as u64;
        let children = vec![0; placed.children.len()];
        let places = Places { offsets: &placed.offsets, counts: &placed.counts, children: &children };
        let mut len = self.directory_len(placed.directory.tags.len());
        for tag in &placed.directory.tags {
            let resolved = tag.value.resolve(self.order, &places);
            if !self.is_inline(&resolved) {
                len += resolved.payload.len().next_multiple_of(2);
            }
        }
        out.resize(out.len() + len, 0);
    }

    fn directory_len(&self, entries: usize) -> usize {
        if self.big { 8 + 20 * entries + 8 } else { 2 + 12 * entries + 4 }
    }

    fn is_inline(&self, resolved: &Resolved) -> bool {
        resolved.inline.unwrap_or(resolved.payload.len() <= self.word())
    }

    fn write_directory(&self, all: &[Placed<'_>], index: usize, built: &mut Built) {
        let placed = &all[index];
        let tags = &placed.directory.tags;
        let children: Vec<u64> = placed.children.iter().map(|&c| all[c].position).collect();
        let places = Places { offsets: &placed.offsets, counts: &placed.counts, children: &children };
        let start = placed.position as usize;
        let end = start + self.directory_len(tags.len());
        let mut entries = Vec::new();
        let mut outlying = end;
        put(&mut entries, self.order, tags.len() as u64, if self.big { 8 } else { 2 });
        for tag in tags {
            let resolved = tag.value.resolve(self.order, &places);
            put(&mut entries, self.order, tag.code.into(), 2);
            put(&mut entries, self.order, resolved.field_type.into(), 2);
            put(&mut entries, self.order, resolved.count, self.word());
            if self.is_inline(&resolved) {
                let mut field = resolved.payload;
                field.resize(self.word(), 0);
                entries.extend(field);
            } else {
                put(&mut entries, self.order, outlying as u64, self.word());
                let range = outlying..outlying + resolved.payload.len();
                built.bytes[range.clone()].copy_from_slice(&resolved.payload);
                outlying += resolved.payload.len().next_multiple_of(2);
                built.values.push(range);
            }
        }
        let next = placed.directory.next.unwrap_or_else(|| placed.next.map_or(0, |n| all[n].position));
        put(&mut entries, self.order, next, self.word());
        built.bytes[start..end].copy_from_slice(&entries);
        built.directories.push(start..end);
    }
}

/// GDAL's block between header and first directory of a COG; 43 bytes of title, then as many as it states.
const GHOST_AREA: &[u8] = b"GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\n\
LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\n\
BLOCK_TRAILER=LAST_4_BYTES_REPEATED\nKNOWN_INCOMPATIBLE_EDITION=NO\n ";

fn flatten<'a>(directory: &'a Directory, placed: &mut Vec<Placed<'a>>) -> usize {
    let index = placed.len();
    let offsets = vec![0; directory.blocks.len() + directory.extra_offsets];
    let counts = offsets.clone();
    placed.push(Placed { directory, position: 0, offsets, counts, children: Vec::new(), next: None });
    let children = directory.children.iter().map(|child| flatten(child, placed)).collect();
    placed[index].children = children;
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_classic_file_is_byte_for_byte_what_the_specification_says() {
        let mut directory = Directory { blocks: vec![Some(vec![7, 8, 9, 10])], ..Directory::default() };
        directory.add(Tag::short(256, 4)).add(Tag::new(273, Value::BlockOffsets(4)));
        directory.add(Tag::new(262, Value::Short(vec![1, 2, 3])));
        let built = TiffBuilder::new(ByteOrder::Little, false).directory(directory).build();
        #[rustfmt::skip]
        let expected = [
            b'I', b'I', 42, 0, 12, 0, 0, 0, 7, 8, 9, 10,
            3, 0,
            0, 1, 3, 0, 1, 0, 0, 0, 4, 0, 0, 0,
            6, 1, 3, 0, 3, 0, 0, 0, 54, 0, 0, 0,
            17, 1, 4, 0, 1, 0, 0, 0, 8, 0, 0, 0,
            0, 0, 0, 0,
            1, 0, 2, 0, 3, 0,
        ];
        assert_eq!(built.bytes, expected);
        assert_eq!(built.blocks[0].range, 8..12);
        assert_eq!(built.directories.first(), Some(&(12..54)));
        assert_eq!(built.values.first(), Some(&(54..60)));
    }

    #[test]
    fn the_ghost_area_has_the_length_it_states() {
        assert_eq!(GHOST_AREA.len(), 43 + 140);
    }

    #[test]
    fn chains_and_children_point_at_their_directories() {
        let child = Directory { tags: vec![Tag::short(254, 1)], ..Directory::default() };
        let mut parent = Directory { children: vec![child], ..Directory::default() };
        parent.add(Tag::new(330, Value::Children(18)));
        let second = Directory { tags: vec![Tag::short(254, 4)], ..Directory::default() };
        let built = TiffBuilder::new(ByteOrder::Big, true)
            .file_order(FileOrder::DirectoriesFirst)
            .directory(parent)
            .directory(second)
            .build();
        let at = |at: usize| ByteOrder::Big.u64(&built.bytes, at).unwrap() as usize;
        let starts: Vec<usize> = built.directories.iter().map(|d| d.start).collect();
        assert_eq!(at(8), starts[0]);
        assert_eq!(at(starts[0] + 8 + 12), starts[1]);
        assert_eq!(at(built.directories[0].end - 8), starts[2]);
        assert_eq!(at(built.directories[2].end - 8), 0);
    }
}
