//! Computes the position of every byte of a new file; pure arithmetic.
//!
//! There are two arrangements. *Plain*: header, blocks, directories with their arrays. *Cloud-optimized*: header,
//! GDAL's structural metadata ("ghost area"), directories, arrays, then blocks: the smallest overview first, the full
//! image last. A block of a cloud-optimized file is preceded by its size and followed by a copy of its last four bytes,
//! so that a reader can find its end, and detect later changes.

use crate::serialize::even;
use crate::{BlockSpans, FileForm, NewDirectory, PastClassic, Planar};

/// Bytes before a block: its size, little-endian.
pub const LEADER: u64 = 4;
/// Bytes after a block: a copy of its last four.
pub const TRAILER: u64 = 4;

/// The bytes of directories and of their block arrays, and their position.
pub struct PlacedDirectories {
    /// Offset of the first directory.
    pub first: u64,
    /// Directories, then arrays, from `first` on.
    pub bytes: Vec<u8>,
}

/// Returns the bytes of all directories and their arrays.
pub fn directories_len(form: FileForm, directories: &[NewDirectory]) -> u64 {
    directories.iter().map(|directory| form.directory_len(directory) + form.arrays_len(directory)).sum()
}

/// Places directories one after the other from `first`, chained in this order and then to `then` (0 at the end of the
/// chain), followed by the arrays of all.
pub fn place_directories(
    form: FileForm,
    directories: &[(NewDirectory, BlockSpans)],
    first: u64,
    then: u64,
) -> Result<PlacedDirectories, PastClassic> {
    let mut at = first;
    let mut arrays =
        first + directories.iter().map(|(directory, _)| form.directory_len(directory)).sum::<u64>();
    let mut bytes = Vec::new();
    let mut tail = Vec::new();
    for (index, (directory, spans)) in directories.iter().enumerate() {
        let end = at + form.directory_len(directory);
        let next = if index + 1 == directories.len() { then } else { end };
        bytes.extend(form.directory(directory, spans, at, arrays, next)?);
        tail.extend(form.arrays(directory, spans)?);
        arrays += form.arrays_len(directory);
        at = end;
    }
    bytes.append(&mut tail);
    Ok(PlacedDirectories { first, bytes })
}

/// Properties of every block of a cloud-optimized file besides its leader and trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGhostArea {
    /// How samples are stored.
    pub planar: Planar,
    /// Whether each block of a mask follows the block of its image.
    pub masks_follow: bool,
}

impl NewGhostArea {
    /// Returns the text, as GDAL writes it. A writer that breaks a promise later changes `NO` to `YES`: the space after
    /// that line is reserved for it.
    pub fn text(self) -> String {
        let interleave = match self.planar {
            Planar::Chunky => "",
            Planar::Separate => "INTERLEAVE=BAND\n",
        };
        let mask = if self.masks_follow { "MASK_INTERLEAVED_WITH_IMAGERY=YES\n" } else { "" };
        let keys = format!(
            "LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\n\
             BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n{interleave}KNOWN_INCOMPATIBLE_EDITION=NO\n {mask}"
        );
        format!("GDAL_STRUCTURAL_METADATA_SIZE={:06} bytes\n{keys}", keys.len())
    }

    /// Returns the offset of the first directory in a file with this text.
    pub fn first_directory(self, form: FileForm) -> u64 {
        even(form.header_len() + self.text().len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockKind, ByteOrder, FieldValue, Tag, Variant};

    /// The texts that GDAL 3.12 wrote for the same cases.
    #[test]
    fn the_ghost_area_is_gdals() {
        let chunky = NewGhostArea { planar: Planar::Chunky, masks_follow: false };
        assert!(chunky.text().starts_with("GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\nLAYOUT="));
        assert!(chunky.text().ends_with("KNOWN_INCOMPATIBLE_EDITION=NO\n "));
        let classic = FileForm { byte_order: ByteOrder::Little, variant: Variant::Classic };
        assert_eq!(chunky.first_directory(classic), 192);
        let masked = NewGhostArea { masks_follow: true, ..chunky };
        assert!(masked.text().ends_with("=NO\n MASK_INTERLEAVED_WITH_IMAGERY=YES\n"));
        assert_eq!(masked.first_directory(classic), 226);
        let separate = NewGhostArea { planar: Planar::Separate, ..chunky };
        assert_eq!(separate.first_directory(classic), 208);
    }

    #[test]
    fn a_chain_is_read_back_by_the_parser() {
        use crate::{Limits, Parser, Step};
        for variant in [Variant::Classic, Variant::Big] {
            let form = FileForm { byte_order: ByteOrder::Big, variant };
            let one = |width: u16, blocks: usize| {
                let fields = [
                    (Tag::ImageWidth, FieldValue::short(width)),
                    (Tag::Software, FieldValue::Text("odd number".into())),
                ];
                let spans = BlockSpans { offsets: vec![8; blocks], sizes: vec![1; blocks] };
                (NewDirectory::new(BlockKind::Tile, blocks, fields), spans)
            };
            let first = form.header_len();
            let list = [one(7, 5), one(3, 1)];
            let placed = place_directories(form, &list, first, 0).unwrap();
            let lens: Vec<_> = list.iter().map(|(directory, _)| directory.clone()).collect();
            assert_eq!(placed.bytes.len() as u64, directories_len(form, &lens));
            let mut file = form.header(first).unwrap();
            file.extend(placed.bytes);
            let mut parser = Parser::new(file.len() as u64, Limits::default());
            let tiff = loop {
                match parser.next().unwrap() {
                    Step::Need(ranges) => {
                        for range in ranges {
                            let at = |byte: u64| usize::try_from(byte).unwrap();
                            let (start, end) = (at(range.start), at(range.end));
                            parser.feed(range.start, file[start..end].to_vec());
                        }
                    }
                    Step::Done(tiff) => break tiff,
                }
            };
            assert_eq!(tiff.directories.len(), 2);
            assert!(tiff.warnings.is_empty(), "{:?}", tiff.warnings);
            assert_eq!(tiff.directories[0].integers(Tag::TileOffsets).unwrap(), Some(vec![8; 5]));
            assert_eq!(tiff.directories[1].integers(Tag::TileByteCounts).unwrap(), Some(vec![1]));
            assert_eq!(tiff.directories[1].integers(Tag::ImageWidth).unwrap(), Some(vec![3]));
        }
    }
}
