//! Mutations that know the format: directories of a TIFF, elements of an XML text.
//!
//! `tiff` changes entries, tables and chains of directories and keeps the rest whole; `xml` changes numbers, names and
//! elements and keeps the text well-formed. Both are deterministic: the same random sequence gives the same mutant.

mod map;
mod tiff;
mod xml;

pub(crate) use tiff::mutate_tiff;
pub(crate) use xml::mutate_xml;

use testkit::Random;

/// Values at the edges of sizes and signs.
pub(crate) const EDGES: [u64; 22] = [
    0,
    1,
    2,
    3,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
    0x1_0000_0000,
    u64::MAX / 2,
    u64::MAX - 1,
    u64::MAX,
];

/// Picks one of a list that is not empty.
pub(crate) fn pick<T: Copy>(list: &[T], random: &mut Random) -> T {
    list[random.below(list.len())]
}
