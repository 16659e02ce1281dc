//! The parser against hand-built files: what it asks for, what it refuses, what it tolerates.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a wrong fixture should stop the test"
)]

use strile_tiff::{
    BlockArray, ByteOrder, Image, Limits, Origin, Parser, Step, Tag, Tiff, TiffError, Variant, Warnings,
};

/// Entry: tag, type, count, value or offset.
type Entry = (u16, u16, u32, u32);

const GREY_2X2: [Entry; 8] = [
    (256, 3, 1, 2), // ImageWidth
    (257, 3, 1, 2), // ImageLength
    (258, 3, 1, 8), // BitsPerSample
    (259, 3, 1, 1), // Compression: none
    (262, 3, 1, 1), // Photometric: MinIsBlack
    (273, 4, 1, 4), // StripOffsets (somewhere inside)
    (278, 3, 1, 2), // RowsPerStrip
    (279, 4, 1, 4), // StripByteCounts
];

/// A little-endian classic file: header, then directories one after the other, chained.
fn file(directories: &[&[Entry]]) -> Vec<u8> {
    let mut bytes = b"II\x2a\x00\x08\x00\x00\x00".to_vec();
    for (i, entries) in directories.iter().enumerate() {
        bytes.extend(u16::try_from(entries.len()).unwrap().to_le_bytes());
        for &(tag, kind, count, value) in *entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(count.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        let next = if i + 1 < directories.len() { bytes.len() + 4 } else { 0 };
        bytes.extend(u32::try_from(next).unwrap().to_le_bytes());
    }
    bytes
}

/// Parses, counting the rounds of requests and checking that each lies inside the file.
fn parse_counting(bytes: &[u8], limits: Limits) -> (Result<Tiff, TiffError>, usize) {
    let mut parser = Parser::new(bytes.len() as u64, limits);
    let mut rounds = 0;
    loop {
        match parser.next() {
            Err(error) => return (Err(error), rounds),
            Ok(Step::Done(tiff)) => return (Ok(tiff), rounds),
            Ok(Step::Need(ranges)) => {
                rounds += 1;
                assert!(rounds < 1000, "the parser does not end");
                for range in ranges {
                    let part = bytes[range.start as usize..range.end as usize].to_vec();
                    parser.feed(range.start, part);
                }
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Tiff, TiffError> {
    parse_counting(bytes, Limits::default()).0
}

fn image(bytes: &[u8]) -> Result<Image, TiffError> {
    let tiff = parse(bytes)?;
    Image::from_directory(&tiff.directories[0], 0, tiff.file_len, &Limits::default(), &mut Warnings::new())
}

fn with(entry: Entry) -> Vec<u8> {
    let mut entries = GREY_2X2.to_vec();
    match entries.iter_mut().find(|e| e.0 == entry.0) {
        Some(place) => *place = entry,
        None => entries.push(entry),
    }
    entries.sort_by_key(|e| e.0);
    file(&[&entries])
}

#[test]
fn a_small_file_takes_one_request() {
    let (tiff, rounds) = parse_counting(&file(&[&GREY_2X2, &GREY_2X2]), Limits::default());
    let tiff = tiff.unwrap();
    assert_eq!(rounds, 1);
    assert_eq!((tiff.header.byte_order, tiff.header.variant), (ByteOrder::Little, Variant::Classic));
    assert_eq!(tiff.directories.len(), 2);
    assert_eq!(tiff.directories[1].origin, Origin::Chain(1));
    assert_eq!(tiff.directories[0].integer(Tag::ImageWidth), Ok(Some(2)));
    assert_eq!(tiff.warnings, []);
}

#[test]
fn headers_that_are_not_tiff_say_what_they_are() {
    let message = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    assert_eq!(
        message(b"PK\x03\x04aaaaaaaaaaaa"),
        "header: not a TIFF file: expected `II` or `MM` at its start, got `PK`"
    );
    assert_eq!(
        message(b"II\x2b\x00\x04\x00\x00\x00aaaaaaaa"),
        "header: expected BigTIFF offsets of 8 bytes, got 4"
    );
    assert_eq!(message(b"MM\x00\x63aaaaaaaa"), "header: not a TIFF file: expected version 42 or 43, got 99");
    assert_eq!(message(b"I"), "header: expected at least 8 bytes, got 1");
    assert_eq!(message(b"II\x2a\x00\x08"), "header: ends after 5 bytes");
    assert_eq!(message(b"II\x2a\x00\xff\x00\x00\x00"), "directory at byte 255: outside the file of 8 bytes");
}

#[test]
fn a_chain_that_loops_is_read_once() {
    let mut bytes = file(&[&GREY_2X2, &GREY_2X2]);
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&8u32.to_le_bytes());
    let tiff = parse(&bytes).unwrap();
    assert_eq!(tiff.directories.len(), 2);
    assert_eq!(tiff.warnings[0].code, "directory-loop");
}

#[test]
fn a_broken_second_directory_does_not_hide_the_first() {
    let mut bytes = file(&[&GREY_2X2]);
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&9_999u32.to_le_bytes());
    let tiff = parse(&bytes).unwrap();
    assert_eq!(tiff.directories.len(), 1);
    assert_eq!(tiff.warnings[0].code, "broken-directory");
}

#[test]
fn equal_duplicates_are_tolerated_and_unequal_ones_refused() {
    let mut entries = GREY_2X2.to_vec();
    entries.insert(1, entries[0]);
    let tiff = parse(&file(&[&entries])).unwrap();
    assert_eq!(tiff.warnings[0].code, "duplicate-tag");
    entries[1].3 = 3;
    let error = parse(&file(&[&entries])).unwrap_err().to_string();
    assert_eq!(error, "directory at byte 8: tag ImageWidth (256) is given twice with different values");
}

#[test]
fn counts_that_overflow_or_leave_the_file_make_the_tag_unusable() {
    // BitsPerSample with 2^32 - 1 values.
    let tiff = parse(&with((258, 3, u32::MAX, 8))).unwrap();
    assert_eq!(tiff.warnings[0].code, "unusable-tag");
    assert!(tiff.directories[0].get(Tag::BitsPerSample).is_none());
    let error = image(&with((273, 4, u32::MAX, 8))).unwrap_err().to_string();
    assert_eq!(error, "directory at byte 8: tag StripOffsets (273) is missing or unusable");
}

#[test]
fn limits_hold() {
    let limits = Limits { entries: 7, ..Limits::default() };
    let error = parse_counting(&file(&[&GREY_2X2]), limits).0.unwrap_err();
    assert!(
        matches!(error, TiffError::Limit { what: "number of entries", found: 8, limit: 7, .. }),
        "{error}"
    );
    let limits = Limits { directories: 1, ..Limits::default() };
    let tiff = parse_counting(&file(&[&GREY_2X2, &GREY_2X2]), limits).0.unwrap();
    assert_eq!((tiff.directories.len(), tiff.warnings[0].code), (1, "too-many-directories"));
}

#[test]
fn an_image_is_checked_at_the_door() {
    let fault = |entry| image(&with(entry)).unwrap_err().to_string();
    assert_eq!(image(&file(&[&GREY_2X2])).unwrap().grid.blocks(), 1);
    assert_eq!(
        fault((256, 3, 1, 0)),
        "tag ImageWidth (256) of the directory at byte 8: expected at least 1, got 0"
    );
    assert_eq!(
        fault((273, 4, 0, 0)),
        "tag StripOffsets (273) of the directory at byte 8: expected values for 1 blocks, got none"
    );
    assert_eq!(
        fault((259, 3, 1, 34661)),
        "tag Compression (259) of the directory at byte 8: compression 34661 (JBIG) is not supported"
    );
    assert_eq!(
        fault((258, 3, 1, 65)),
        "tag BitsPerSample (258) of the directory at byte 8: 65-bit unsigned integer is not supported"
    );
    assert_eq!(
        fault((32997, 3, 1, 4)),
        "directory at byte 8: an image of 4 planes in depth is not supported"
    );
}

#[test]
fn missing_sizes_are_estimated_with_a_warning() {
    let entries: Vec<Entry> = GREY_2X2.iter().copied().filter(|e| e.0 != 279).collect();
    let tiff = parse(&file(&[&entries])).unwrap();
    let mut warnings = Warnings::new();
    let image =
        Image::from_directory(&tiff.directories[0], 0, tiff.file_len, &Limits::default(), &mut warnings)
            .unwrap();
    assert_eq!(image.table.sizes, BlockArray::Here(vec![4]));
    assert_eq!(warnings[0].code, "estimated-block-sizes");
}

#[test]
fn blocks_without_an_offset_are_not_stored_and_told() {
    // One row a strip: two blocks, one offset.
    let tiff = parse(&with((278, 3, 1, 1))).unwrap();
    let mut warnings = Warnings::new();
    let image =
        Image::from_directory(&tiff.directories[0], 0, tiff.file_len, &Limits::default(), &mut warnings)
            .unwrap();
    assert_eq!((image.grid.blocks(), image.table.offsets.count()), (2, 1));
    assert_eq!(warnings[0].code, "missing-block-offsets");
}

#[test]
fn a_truncated_file_is_an_error_at_every_length() {
    let whole = file(&[&GREY_2X2]);
    for len in 0..whole.len() {
        let result = parse(&whole[..len]);
        // Only the pointer to the next directory may be missing.
        assert_eq!(result.is_ok(), len >= whole.len() - 4, "length {len}");
    }
}

/// Directories that all name one SubIFDs range of 65,536 bytes made a warning for each value: 67 kB took 6.7 GB.
#[test]
fn repeated_sub_ifds_are_counted_not_listed() {
    let mut entries = GREY_2X2.to_vec();
    entries.push((330, 1, 1 << 16, 0));
    let behind = u32::try_from(file(&vec![entries.as_slice(); 600]).len()).unwrap();
    entries.last_mut().unwrap().3 = behind;
    let mut bytes = file(&vec![entries.as_slice(); 600]);
    bytes.extend((0..7u8).cycle().take(1 << 16));
    let tiff = parse(&bytes).unwrap();
    for code in ["directory-loop", "broken-directory", "value-limit"] {
        let of_code = tiff.warnings.iter().filter(|w| w.code == code).count();
        assert!((1..=Warnings::PER_CODE + 1).contains(&of_code), "{code}: {of_code}");
    }
    assert!(tiff.directories.len() >= 600);
}

/// One warning says that there are too many directories, however many more are named.
#[test]
fn the_limit_on_directories_is_told_once() {
    let chain: Vec<&[Entry]> = vec![&GREY_2X2; 50];
    let limits = Limits { directories: 3, ..Limits::default() };
    let tiff = parse_counting(&file(&chain), limits).0.unwrap();
    let codes: Vec<_> = tiff.warnings.iter().map(|w| w.code).collect();
    assert_eq!((tiff.directories.len(), codes), (3, vec!["too-many-directories"]));
}

/// Tables of blocks that directories share count each time, as what they become in memory.
#[test]
fn shared_block_tables_stay_in_the_file() {
    let count: u32 = 100_000;
    let mut entries = GREY_2X2.to_vec();
    for entry in &mut entries {
        match entry.0 {
            257 => *entry = (257, 4, 1, count),
            278 => entry.3 = 1,
            273 | 279 => *entry = (entry.0, 1, count, 8),
            _ => {}
        }
    }
    let chain: Vec<&[Entry]> = vec![&entries; 1_000];
    let tiff = parse(&file(&chain)).unwrap();
    assert_eq!(tiff.directories.len(), 1_000);
    let held: usize =
        tiff.directories.iter().filter_map(|d| d.bytes(Tag::StripOffsets)).map(<[u8]>::len).sum();
    assert!(held > 0 && held < 2 << 20, "{held} bytes of offsets");
    // Each can still be read, from the file.
    let last = Image::from_directory(
        &tiff.directories[999],
        0,
        tiff.file_len,
        &Limits::default(),
        &mut Warnings::new(),
    );
    assert_eq!(last.unwrap().table.offsets.count(), u64::from(count));
}

/// Directories that overlap hold more entries than the file has room for.
#[test]
fn overlapping_directories_are_not_multiplied() {
    let mut bytes = file(&[&GREY_2X2]);
    let region = u32::try_from(bytes.len()).unwrap();
    // Each place of the region reads as a directory of 257 entries, or of 1.
    bytes.extend([1u8, 1, 1, 0, 1, 0, 0, 0, 7, 0, 0, 0].into_iter().cycle().take(30_000));
    let list = u32::try_from(bytes.len()).unwrap();
    (0..8_000).for_each(|i| bytes.extend((region + i).to_le_bytes()));
    let mut entries = GREY_2X2.to_vec();
    entries.push((330, 4, 8_000, list));
    let at = u32::try_from(bytes.len()).unwrap();
    bytes.extend(u16::try_from(entries.len()).unwrap().to_le_bytes());
    for (tag, kind, count, value) in entries {
        bytes.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        bytes.extend([count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    bytes.extend([0; 4]);
    bytes[4..8].copy_from_slice(&at.to_le_bytes());
    let tiff = parse(&bytes).unwrap();
    let entries: usize = tiff.directories.iter().map(|d| d.entries().len()).sum();
    assert!(entries <= bytes.len() / 12, "{entries} entries of {} bytes", bytes.len());
}

/// Limits are for hostile files: ten million tiles open with one read, and their tables stay in the file.
#[test]
fn ten_million_tiles_open_within_the_defaults() {
    let count = 10_000_000;
    let mut entries = GREY_2X2.to_vec();
    entries.retain(|e| !matches!(e.0, 273 | 278 | 279));
    for (tag, value) in [(256, 809_600), (257, 809_600), (322, 256), (323, 256)] {
        entries.retain(|e| e.0 != tag);
        entries.push((tag, 4, 1, value));
    }
    entries.push((324, 4, count, 1_000));
    entries.push((325, 4, count, 1_000 + 4 * count));
    entries.sort_by_key(|e| e.0);
    let bytes = file(&[&entries]);
    let mut parser = Parser::new(1 << 31, Limits::default());
    let tiff = loop {
        match parser.next().unwrap() {
            Step::Done(tiff) => break tiff,
            Step::Need(ranges) => {
                for range in ranges {
                    let mut part = vec![0; (range.end - range.start) as usize];
                    let known = bytes.get(range.start as usize..).unwrap_or_default();
                    let len = part.len().min(known.len());
                    part[..len].copy_from_slice(&known[..len]);
                    parser.feed(range.start, part);
                }
            }
        }
    };
    let mut warnings = Warnings::new();
    let limits = Limits::default();
    let image =
        Image::from_directory(&tiff.directories[0], 0, tiff.file_len, &limits, &mut warnings).unwrap();
    assert_eq!((tiff.warnings.len(), image.grid.blocks()), (0, 10_004_569));
    assert!(matches!(&image.table.offsets, BlockArray::There(array) if array.count() == 10_000_000));
}
