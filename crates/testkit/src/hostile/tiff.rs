//! TIFF files whose directories share, overlap or repeat. All are classic and little-endian.
//!
//! A payload that many directories share is the first block of the first directory: it lies directly behind the header.

use crate::{Directory, Tag, TiffBuilder, Value};
use strile_tiff::ByteOrder;

/// Position of the builder's first block: behind the header.
const PAYLOAD_AT: u32 = 8;

/// Returns an entry whose value lies at `at` in the file, shared with everything else that points there.
fn at(code: u16, field_type: u16, count: u64, at: u32) -> Tag {
    Tag::new(code, Value::Raw { field_type, count, field: at.to_le_bytes().to_vec() })
}

/// Returns the entries of a grey 8-bit image of one strip, whose offset is that of the payload.
fn image(width: u16, height: u16) -> Directory {
    let mut directory = Directory::default();
    for (code, value) in [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (277, 1), (278, height)]
    {
        directory.add(Tag::short(code, value));
    }
    directory.add(Tag::long(273, PAYLOAD_AT));
    directory.add(Tag::long(279, u32::from(width) * u32::from(height)));
    directory
}

/// Returns a chain of directories with `payload` in front.
fn chain(payload: Vec<u8>, directories: impl IntoIterator<Item = Directory>) -> Vec<u8> {
    let mut builder = TiffBuilder::new(ByteOrder::Little, false);
    builder.directories.extend(directories);
    if let Some(first) = builder.directories.first_mut() {
        first.blocks = vec![Some(payload)];
    }
    builder.build().bytes
}

/// Returns `count` copies of a directory behind a payload.
fn repeated(payload: Vec<u8>, directory: &Directory, count: usize) -> Vec<u8> {
    chain(payload, std::iter::repeat_n(directory.clone(), count))
}

/// Returns a valid file of 4 × 4 grey pixels.
pub fn plain() -> Vec<u8> {
    repeated((0..16).collect(), &image(4, 4), 1)
}

/// Returns a valid image of 1 × 1 pixel of that many bands.
pub fn with_bands(bands: u16) -> Vec<u8> {
    let mut directory = image(1, 1);
    directory.set(Tag::short(277, bands)).set(Tag::long(279, bands.into()));
    repeated(vec![0; usize::from(bands)], &directory, 1)
}

/// Returns a valid image of 4 × 4 grey pixels with one additional text tag.
pub fn with_tag(code: u16, text: &str) -> Vec<u8> {
    let mut directory = image(4, 4);
    directory.add(Tag::ascii(code, text));
    repeated((0..16).collect(), &directory, 1)
}

/// Returns chained directories that share one SubIFDs range: 65,536 values of type BYTE. One warning per value and
/// directory took 6.7 GB for 67 kB.
pub fn shared_sub_ifds(directories: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..1 << 16).map(|i| (i % 251) as u8).collect();
    let mut first = image(4, 4);
    first.add(at(330, 1, 1 << 16, PAYLOAD_AT));
    let mut other = Directory::default();
    other.add(at(330, 1, 1 << 16, PAYLOAD_AT));
    chain(payload, std::iter::once(first).chain(std::iter::repeat_n(other, directories.saturating_sub(1))))
}

/// Returns directories that share one block table of `len` values of type BYTE, each of which becomes 8 bytes: 256
/// directories with 256 KiB turned 294 kB into 1.2 GB.
pub fn shared_block_table(directories: usize, len: u32) -> Vec<u8> {
    let mut directory = image(1, 1);
    directory.set(Tag::long(257, len)).set(Tag::short(278, 1));
    directory.set(at(273, 1, len.into(), PAYLOAD_AT)).set(at(279, 1, len.into(), PAYLOAD_AT));
    repeated(vec![1; len as usize], &directory, directories)
}

/// Returns directories that share one value of `len` bytes.
fn shared(directories: usize, code: u16, field_type: u16, len: u32) -> Vec<u8> {
    let mut directory = image(4, 4);
    directory.set(at(code, field_type, len.into(), PAYLOAD_AT));
    repeated(vec![b'x'; len as usize], &directory, directories)
}

/// Returns directories that share one ImageDescription of `len` bytes.
pub fn descriptions(directories: usize, len: u32) -> Vec<u8> {
    shared(directories, 270, 2, len)
}

/// Returns directories that share one JPEGTables value of `len` bytes.
pub fn jpeg_tables(directories: usize, len: u32) -> Vec<u8> {
    shared(directories, 347, 7, len)
}

/// Returns directories of 14-bit palette images that share one ColorMap of 49,152 values of type BYTE.
pub fn colour_maps(directories: usize) -> Vec<u8> {
    let mut directory = image(4, 4);
    let count = 3u32 << 14;
    directory.set(Tag::short(258, 14)).set(Tag::short(262, 3));
    directory.set(at(320, 1, count.into(), PAYLOAD_AT));
    repeated(vec![7; count as usize], &directory, directories)
}

/// Returns directories of 65,535 samples each, which no value of the file has to list.
pub fn many_samples(directories: usize) -> Vec<u8> {
    let mut directory = image(1, 1);
    directory.set(Tag::short(277, u16::MAX));
    repeated(vec![0; 16], &directory, directories)
}

/// Returns a valid image, then chained directories of one entry each: none is an image, and each causes a warning.
pub fn many_directories(directories: usize) -> Vec<u8> {
    let other = Directory { tags: vec![Tag::short(254, 0)], ..Directory::default() };
    chain(vec![0; 16], std::iter::once(image(4, 4)).chain(std::iter::repeat_n(other, directories)))
}

/// Returns the same with the chain running from the end of the file to its beginning, so that read-ahead does not help.
pub fn backward_chain(directories: usize) -> Vec<u8> {
    let mut bytes = b"II\x2a\0".to_vec();
    let step = 18;
    let start = 8;
    let first = start + step * directories;
    bytes.extend((first as u32).to_le_bytes());
    for i in 0..directories {
        bytes.extend(1u16.to_le_bytes());
        bytes.extend([254u16.to_le_bytes(), 4u16.to_le_bytes()].concat());
        bytes.extend([1u32.to_le_bytes(), 0u32.to_le_bytes()].concat());
        let next = if i == 0 { 0 } else { start + step * (i - 1) };
        bytes.extend((next as u32).to_le_bytes());
    }
    // The first directory is an image; it lies behind all others.
    let image = image(4, 4);
    bytes.extend((image.tags.len() as u16).to_le_bytes());
    for tag in &image.tags {
        let (field_type, value) = match &tag.value {
            Value::Short(values) => (3u16, u32::from(values[0])),
            Value::Long(values) => (4, values[0]),
            _ => continue,
        };
        bytes.extend(tag.code.to_le_bytes());
        bytes.extend(field_type.to_le_bytes());
        bytes.extend([1u32.to_le_bytes(), value.to_le_bytes()].concat());
    }
    let last = if directories == 0 { 0 } else { start + step * (directories - 1) };
    bytes.extend((last as u32).to_le_bytes());
    bytes
}

/// Returns an image whose SubIFDs point at every other byte of a region of `len` bytes, where each position reads as a
/// directory of 257 entries that overlaps with the others.
pub fn overlapping_directories(len: usize) -> Vec<u8> {
    let region = len / 3;
    let mut directory = image(4, 4);
    // Entries of tag 257, type 1 (in every other place 256), that cover each other.
    let payload: Vec<u8> = [1u8, 1, 1, 0, 1, 0, 0, 0, 7, 0, 0, 0].into_iter().cycle().take(region).collect();
    let offsets: Vec<u32> = (0..region as u32).map(|i| PAYLOAD_AT + i).take(len / 6).collect();
    directory.add(Tag::new(330, Value::Long(offsets)));
    repeated(payload, &directory, 1)
}

/// Returns a directory of `entries` private tags, each a value of `len` bytes shifted by one byte: no two ranges are
/// equal.
pub fn overlapping_values(entries: u16, len: u32) -> Vec<u8> {
    let mut directory = image(4, 4);
    for i in 0..entries {
        let code = 40_000 + i;
        directory.add(at(code, 7, (len - u32::from(entries)).into(), PAYLOAD_AT + u32::from(i)));
    }
    repeated(vec![b'v'; len as usize], &directory, 1)
}

/// Returns an image whose SubIFDs point to `count` different positions without a directory.
pub fn wrong_sub_ifds(count: u32) -> Vec<u8> {
    let mut directory = image(4, 4);
    directory.add(Tag::new(330, Value::Long((0..count).map(|i| u32::MAX - i).collect())));
    repeated(vec![0; 16], &directory, 1)
}

/// Returns directories of 4,000 entries of an unknown type, `entries` in total: each causes a warning.
pub fn unusable_tags(entries: usize) -> Vec<u8> {
    let wrong = |code| Tag::new(code, Value::Raw { field_type: 99, count: 1, field: vec![0; 4] });
    let directories = (0..entries.div_ceil(4_000)).map(|_| {
        let mut directory = image(4, 4);
        directory.tags.extend((0..4_000).map(|i| wrong(40_000 + i)));
        directory
    });
    chain(vec![0; 16], directories)
}

/// Returns an image whose single-value tags have `len` values each, of type BYTE and all shared.
pub fn one_value_tags(len: u32) -> Vec<u8> {
    let mut directory = image(4, 4);
    for code in [254, 256, 257, 258, 259, 262, 266, 274, 277, 278, 284, 317, 339] {
        directory.set(at(code, 1, len.into(), PAYLOAD_AT));
    }
    repeated(vec![1; len as usize], &directory, 1)
}

/// Returns an image with `keys` GeoKeys, each the same text of `len` bytes, at most 65,535.
pub fn geo_keys(keys: u16, len: u16) -> Vec<u8> {
    let mut directory = image(4, 4);
    let mut shorts = vec![1, 1, 0, keys];
    for i in 0..keys {
        shorts.extend([5_000 + i, 34737, len, 0]);
    }
    directory.add(Tag::new(34735, Value::Short(shorts)));
    directory.add(at(34737, 2, len.into(), PAYLOAD_AT));
    repeated(vec![b'k'; usize::from(len)], &directory, 1)
}

/// Returns an image with `count` tie points that are not numbers: each causes a warning.
pub fn tie_points(count: usize) -> Vec<u8> {
    let mut directory = image(4, 4);
    directory.add(Tag::new(33922, Value::Double(vec![f64::NAN; 6 * count])));
    repeated(vec![0; 16], &directory, 1)
}

/// Returns an image whose GDAL_METADATA has one item of `count` attributes.
pub fn many_attributes_tag(count: usize) -> Vec<u8> {
    let attributes: String = (0..count).map(|i| format!(" a{i}=\"\"")).collect();
    with_tag(42112, &format!("<GDALMetadata><Item{attributes}/></GDALMetadata>"))
}
