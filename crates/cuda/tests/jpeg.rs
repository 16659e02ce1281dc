//! JPEG on the emulated device: pictures of libjpeg-turbo come out with its pixels, exactly, as from the CPU engine;
//! mutated streams end and touch nothing of others.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

use std::path::Path;
use std::sync::Arc;
use strile_codestream::StoredBlock;
use strile_cpu::codec::{self, Workspace};
use strile_cuda::decode::picture::jpeg::{Jpeg, MODULE};
use strile_cuda::decode::picture::{Bytes, Decoder, Placed, Room};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{BlockFault, BlockLayout, EncodeLayout, EncodeParams, Encoder, FaultKind};
use strile_tiff::{Compression, DataType, YCbCr};

/// A stream and the block that it fills.
#[derive(Clone)]
struct Case {
    name: String,
    stream: Vec<u8>,
    layout: Arc<BlockLayout>,
    rows: u32,
}

/// What the device says of a picture: its status and its samples, or why it does not get there.
type Found = Result<(u32, Vec<u8>), BlockFault>;

/// Decodes pictures as one batch.
fn decode(jpeg: Jpeg, cases: &[Case], seed: u64) -> Vec<Found> {
    let parsed: Vec<_> =
        cases.iter().map(|case| jpeg.parse(&case.stream, &case.layout, case.rows).map(Arc::new)).collect();
    let mut uploads = Vec::new();
    let mut outputs = Vec::new();
    let mut placed = Vec::new();
    let (mut tables_len, mut scratch_len) = (jpeg.fixed().tables, jpeg.fixed().scratch);
    for (case, picture) in cases.iter().zip(&parsed) {
        let Ok(picture) = picture else { continue };
        let need = jpeg.need(picture);
        tables_len += need.tables;
        scratch_len += need.scratch.next_multiple_of(256);
        let mut upload = Poisoned::new(need.bytes as usize, seed);
        jpeg.write(picture, &case.stream, &mut upload);
        let dst_len = case.layout.decoded_len(case.rows).unwrap();
        let output = Poisoned::new(dst_len.next_multiple_of(16), seed + 1);
        placed.push(Placed {
            picture: Arc::clone(picture),
            stream: Bytes::from(case.stream.clone()),
            layout: Arc::clone(&case.layout),
            rows: case.rows,
            bytes: upload.address(),
            dst: output.address(),
            dst_len: dst_len as u32,
            status: placed.len() as u32,
        });
        uploads.push(upload);
        outputs.push(output);
    }
    let mut statuses = Poisoned::from_bytes(&vec![0xFF; placed.len() * 4], seed);
    let mut tables = Poisoned::from_bytes(&vec![0; tables_len as usize], seed);
    let mut scratch = Poisoned::new(scratch_len as usize, seed + 2);
    let room = Room {
        statuses: statuses.address(),
        tables: tables.address(),
        scratch: scratch.address(),
        scratch_len,
    };
    if !placed.is_empty() {
        let batch = jpeg.lay_out(&placed, &room, &mut tables).unwrap();
        let before = tables.to_vec();
        let kernels = Emulator::module(MODULE).unwrap();
        for launch in batch.launches() {
            assert_eq!(kernels.threads(launch.entry), Some(launch.threads), "{}", launch.entry);
            kernels.launch(launch.entry, launch.grid, launch.threads, batch.args(), seed).unwrap();
        }
        assert!(tables.to_vec() == before, "tables are only read");
    }
    for buffer in uploads.iter_mut().chain(&mut outputs).chain([&mut statuses, &mut tables, &mut scratch]) {
        buffer.check().unwrap();
    }
    let mut outputs = outputs.iter();
    let mut statuses = statuses.as_chunks().0.iter().map(|&status| u32::from_ne_bytes(status));
    let found = parsed.into_iter().zip(cases).map(|(picture, case)| {
        picture.map(|_| {
            let samples = outputs.next().unwrap();
            (statuses.next().unwrap(), samples[..case.layout.decoded_len(case.rows).unwrap()].to_vec())
        })
    });
    found.collect()
}

fn layout(size: (u32, u32), samples: u16, is_ycbcr: bool) -> BlockLayout {
    let mut layout = BlockLayout::stored(DataType::U8, size, samples);
    layout.compression = Compression::Jpeg;
    layout.extras.ycbcr = is_ycbcr.then(YCbCr::default);
    layout
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jpeg")
}

/// A picture of libjpeg-turbo and its pixels; `data/jpeg/make.py` says how they were made.
fn made(name: &str) -> (Case, Vec<u8>) {
    let stream = std::fs::read(folder().join(format!("{name}.jpg"))).unwrap();
    let pixels = std::fs::read(folder().join(format!("{name}.pixels"))).unwrap();
    let mut parts = name.split('_');
    let kind = parts.next().unwrap();
    let size = parts.next_back().unwrap().split_once('x').unwrap();
    let (width, height) = (size.0.parse().unwrap(), size.1.parse().unwrap());
    let samples = match kind {
        "grey" => 1,
        "cmyk" => 4,
        _ => 3,
    };
    let layout = layout((width, height), samples, kind == "ycbcr");
    (Case { name: name.to_owned(), stream, layout: Arc::new(layout), rows: height }, pixels)
}

fn all() -> Vec<(Case, Vec<u8>)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jpg"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(names.len() > 20);
    names.iter().map(|name| made(name)).collect()
}

fn check(found: &[Found], expected: &[(Case, Vec<u8>)], what: &str) {
    for (found, (case, pixels)) in found.iter().zip(expected) {
        let (status, samples) = found.as_ref().unwrap_or_else(|fault| panic!("{}: {fault}", case.name));
        assert_eq!(*status, 0, "{}, {what}", case.name);
        let wrong = samples.iter().zip(pixels).position(|(a, b)| a != b);
        assert!(samples == pixels, "{}, {what}: first at {wrong:?}", case.name);
    }
}

#[test]
fn pixels_of_libjpeg_exactly() {
    let expected = all();
    let cases: Vec<Case> = expected.iter().map(|(case, _)| case.clone()).collect();
    check(&decode(Jpeg::new(), &cases, 0), &expected, "measured");
    // Pieces of a few codes, with and without bits before them: threads must find each other.
    check(&decode(Jpeg::cut_into(16, 0), &cases, 1), &expected, "short pieces");
    check(&decode(Jpeg::cut_into(24, 100), &cases, 2), &expected, "short pieces, later");
    check(&decode(Jpeg::cut_into(64, 300), &cases, 3), &expected, "pieces");
}

#[test]
fn under_every_seed() {
    let expected: Vec<_> =
        ["ycbcr_420_33x21", "ycbcr_420_restarts_70x35", "ycbcr_apart_420_37x27"].map(made).into();
    let cases: Vec<Case> = expected.iter().map(|(case, _)| case.clone()).collect();
    for seed in Emulator::seeds() {
        check(&decode(Jpeg::cut_into(16, 40), &cases, seed), &expected, &format!("seed {seed}"));
    }
}

/// What the CPU engine makes of a block.
fn by_cpu(case: &Case) -> Result<Vec<u8>, BlockFault> {
    let mut dst = vec![0; case.layout.decoded_len(case.rows).unwrap()];
    let block = StoredBlock { layout: &case.layout, rows: case.rows };
    codec::decode(&case.stream, &mut dst, block, &mut Workspace::default()).map(|()| dst)
}

#[test]
fn the_cpu_engine_sees_the_same() {
    for (case, pixels) in all() {
        assert!(by_cpu(&case).unwrap() == pixels, "{}", case.name);
    }
}

/// Slopes with some noise, interleaved.
fn slopes(width: u32, height: u32, samples: u32, seed: u64) -> Vec<u8> {
    let mut garbage = Garbage::new(seed);
    let mut pixel =
        |x: u32, y: u32, k: u32| (x * 3 + y * (2 + k) + garbage.word() as u32 % 16) as u8 / 2 + 40;
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    pixels.flat_map(|(x, y)| (0..samples).map(|k| pixel(x, y, k)).collect::<Vec<_>>()).collect()
}

/// A block by our own encoder, abbreviated.
fn encoded(size: (u32, u32), samples: u16, subsampling: Option<(u8, u8)>, quality: u8, seed: u64) -> Case {
    let mut block = layout(size, samples, subsampling.is_some());
    if let (Some(ycbcr), Some(subsampling)) = (&mut block.extras.ycbcr, subsampling) {
        ycbcr.subsampling = subsampling;
    }
    let params = EncodeParams { encoder: Encoder::Fast, level: 6, quality, lossless: false, max_error: 0.0 };
    let layout = EncodeLayout { block: Arc::new(block), params, nan_to: None, sparse: None };
    let layout = codec::prepare(layout).unwrap();
    let pixels = slopes(size.0, size.1, samples.into(), seed);
    let mut stream = Vec::new();
    let stored = StoredBlock { layout: &layout.block, rows: size.1 };
    codec::encode(&pixels, &mut stream, stored, &layout.params, &mut Workspace::default()).unwrap();
    let name = format!("{size:?} of {samples}, {subsampling:?}, quality {quality}");
    Case { name, stream, layout: layout.block, rows: size.1 }
}

/// Files of our own: tables apart, one set for all blocks. Both engines see the same samples.
#[test]
fn what_the_cpu_engine_encodes() {
    let mut cases = Vec::new();
    for (i, size) in [(64, 48), (100, 9), (1, 1), (7, 40)].into_iter().enumerate() {
        let seed = i as u64;
        cases.push(encoded(size, 1, None, 30, seed));
        cases.push(encoded(size, 3, None, 95, seed));
        cases.push(encoded(size, 4, None, 75, seed));
        cases.push(encoded(size, 3, Some((1, 1)), 75, seed));
        cases.push(encoded(size, 3, Some((2, 1)), 60, seed));
        cases.push(encoded(size, 3, Some((2, 2)), 90, seed));
    }
    for (found, case) in decode(Jpeg::new(), &cases, 5).into_iter().zip(&cases) {
        assert!(case.layout.extras.jpeg_tables.is_some());
        let (status, samples) = found.unwrap();
        assert_eq!(status, 0, "{}", case.name);
        assert!(samples == by_cpu(case).unwrap(), "{}", case.name);
    }
}

/// A strip may hold all rows of a full one: only the block's are given.
#[test]
fn rows_to_spare() {
    let (mut case, pixels) = made("ycbcr_420_33x21");
    case.rows = 5;
    let found = decode(Jpeg::new(), &[case.clone()], 1).remove(0).unwrap();
    assert_eq!(found, (0, pixels[..33 * 5 * 3].to_vec()));
    let mut tile = BlockLayout::clone(&case.layout);
    tile.is_strip = false;
    case.layout = Arc::new(tile);
    assert_eq!(decode(Jpeg::new(), &[case], 1).remove(0).unwrap_err().kind, FaultKind::WrongShape);
}

fn refused(mut change: impl FnMut(&mut Vec<u8>)) -> BlockFault {
    let (mut case, _) = made("ycbcr_420_restarts_70x35");
    change(&mut case.stream);
    Jpeg::new().parse(&case.stream, &case.layout, case.rows).unwrap_err()
}

/// Index of the first byte after a marker.
fn after(stream: &[u8], marker: u8) -> usize {
    stream.windows(2).position(|pair| pair == [0xFF, marker]).unwrap() + 2
}

#[test]
fn says_what_it_leaves_to_the_host() {
    let marker = |to: u8| {
        refused(|stream| {
            let at = after(stream, 0xC0);
            stream[at - 1] = to;
        })
    };
    assert_eq!(marker(0xC2).detail, "progressive JPEG");
    assert_eq!(marker(0xC3).detail, "lossless JPEG");
    assert_eq!(marker(0xC9).detail, "arithmetic-coded JPEG");
    let bits = refused(|stream| {
        let at = after(stream, 0xC0);
        stream[at + 2] = 12;
    });
    assert_eq!(bits.kind, FaultKind::WrongShape);
    let no_tables = refused(|stream| {
        let at = after(stream, 0xDB);
        stream[at - 1] = 0xFE;
    });
    assert_eq!(no_tables.detail, "JPEG: a scan uses a table that is not there");
    let no_restarts = refused(|stream| {
        let at = after(stream, 0xDD);
        stream[at - 1] = 0xFE;
    });
    assert_eq!(no_restarts.detail, "JPEG: restart markers are not where they must be");
    let (case, _) = made("grey_8x8");
    for len in 0..case.stream.len() {
        let cut = Jpeg::new().parse(&case.stream[..len], &case.layout, case.rows);
        assert!(cut.is_err(), "{len}");
    }
}

/// Data that end early, go on for too long, or have a code that is none: the host is to judge.
#[test]
fn wrong_data_are_reported() {
    let (case, pixels) = made("ycbcr_444_33x21");
    let data = after(&case.stream, 0xDA) + 12;
    let end = case.stream.len() - 2;
    let with = |bytes: &[u8]| {
        let mut changed = case.clone();
        changed.stream = [&case.stream[..data], bytes, &[0xFF, 0xD9]].concat();
        changed
    };
    let coded = &case.stream[data..end];
    let cases = [
        with(coded),
        with(&coded[..coded.len() / 2]),
        with(&coded[..coded.len() - 2]),
        with(&[coded, &[0x55, 0x55]].concat()),
        with(&[0xFF, 0].repeat(100)),
        with(&[0x00; 100]),
        with(coded),
    ];
    for cut in [Jpeg::new(), Jpeg::cut_into(16, 30)] {
        let found = decode(cut, &cases, 3);
        for right in [&found[0], &found[6]] {
            assert_eq!(right.as_ref().unwrap(), &(0, pixels.clone()));
        }
        for wrong in &found[1..6] {
            let (status, _) = wrong.as_ref().unwrap();
            assert!([1, 5].contains(status), "{status}");
        }
    }
}

/// Bytes changed anywhere: everything ends, and what is called right is what the CPU engine sees.
#[test]
fn mutants_end() {
    let mut garbage = Garbage::new(7);
    let mut right = 0;
    for name in ["ycbcr_420_33x21", "grey_restarts_50x31", "ycbcr_apart_444_37x27", "ycbcr_411_18x40"] {
        let (case, _) = made(name);
        let cases: Vec<Case> = (0..60)
            .map(|i| {
                let mut mutant = case.clone();
                let from = if i % 3 == 0 { 2 } else { after(&case.stream, 0xDA) + 6 };
                for _ in 0..=i % 2 {
                    let at = from + garbage.word() as usize % (mutant.stream.len() - from - 2);
                    mutant.stream[at] ^= 1 << (garbage.word() % 8);
                }
                mutant
            })
            .collect();
        for (found, case) in decode(Jpeg::cut_into(16, 50), &cases, 1).into_iter().zip(&cases) {
            let Ok((0, samples)) = found else { continue };
            right += 1;
            let expected = by_cpu(case).unwrap_or_else(|fault| panic!("{}: {fault}", case.name));
            assert!(samples == expected, "{}", case.name);
        }
    }
    assert!(right > 20, "{right} of the mutants are pictures");
}

/// Units side by side, 8 pixels each, of codes whose longest are none: a bit of ones may end an interval at any place.
/// DC: 0 no difference, 10 one of three bits. Others: 0 end of block, 10 a value of one bit, 110 sixteen zeros.
fn of_short_codes(restart: u8, intervals: &[&[u8]]) -> Case {
    let units: u8 = 2;
    let mut stream = vec![0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0];
    stream.extend([9; 64]);
    stream.extend([0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8 * units, 1, 1, 0x11, 0]);
    stream.extend([0xFF, 0xC4, 0, 21, 0x00, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    stream.extend([0xFF, 0xC4, 0, 22, 0x10, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xF0]);
    stream.extend([0xFF, 0xDD, 0, 4, 0, restart, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]);
    for (i, interval) in intervals.iter().enumerate() {
        for &byte in *interval {
            stream.extend([byte, 0][..if byte == 0xFF { 2 } else { 1 }].iter());
        }
        stream.extend([0xFF, if i + 1 < intervals.len() { 0xD0 + i as u8 } else { 0xD9 }]);
    }
    let name = format!("restarts {restart}, {intervals:02X?}");
    Case { name, stream, layout: Arc::new(layout((8 * u32::from(units), 8), 1, false)), rows: 8 }
}

/// What the device calls right is right to the CPU engine too, with the same pixels. Says how many were right to the
/// device, and how many to the CPU engine.
fn verdicts_agree(cases: &[Case]) -> (usize, usize) {
    let (mut by_device, mut right) = (0, 0);
    let found = cases.chunks(2000).flat_map(|some| decode(Jpeg::new(), some, 1));
    for (found, case) in found.zip(cases) {
        let expected = by_cpu(case);
        right += usize::from(expected.is_ok());
        let Ok((0, samples)) = found else { continue };
        by_device += 1;
        assert_eq!(Ok(samples), expected, "{}", case.name);
    }
    (by_device, right)
}

/// The last two bytes of an interval. All of them would take ten minutes: some, all over the range.
fn tails() -> impl Iterator<Item = [u8; 2]> {
    (0..=u16::MAX).step_by(61).map(u16::to_be_bytes)
}

/// A code that is none in the last bits of an interval ended it without a word, and the rest of the data unit was made of
/// the bits behind.
#[test]
fn the_last_bits_of_an_interval_mean_the_same_to_both_engines() {
    let alone: Vec<Case> = tails().map(|tail| of_short_codes(0, &[&tail])).collect();
    let longer = tails().map(|[a, b]| of_short_codes(0, &[&[0b0001_0110, 0b1101_1011, a, b]]));
    let first = tails().map(|tail| of_short_codes(1, &[&tail, &[0b1011_1011]]));
    let before_zeros = tails().map(|tail| of_short_codes(1, &[&tail, &[0b0011_1111]]));
    let last = tails().map(|tail| of_short_codes(1, &[&[0b0011_1111], &tail]));
    // One data unit leaves the last byte to itself: 7 bits and fewer, of ones and of zeros.
    let filled: Vec<Case> = (0..=u8::MAX)
        .flat_map(|byte| [&[byte][..], &[0b0010_0111, byte]].map(|all| of_short_codes(0, &[all])))
        .collect();
    for cases in [alone, longer.collect(), first.collect(), before_zeros.collect(), last.collect(), filled] {
        let (by_device, right) = verdicts_agree(&cases);
        assert!(
            by_device > cases.len() / 64 && right >= by_device && right < cases.len(),
            "{by_device} {right}"
        );
    }
    // Both units are no difference and nothing else; what is left is filled with ones, as encoders do.
    assert_eq!(
        verdicts_agree(&[of_short_codes(0, &[&[0b0000_1111]]), of_short_codes(0, &[&[0b0000_0000]])]),
        (1, 2)
    );
}

/// The same with codes of annex K and whole pictures.
#[test]
fn the_last_bytes_of_pictures_mean_the_same_to_both_engines() {
    for name in ["grey_8x8", "grey_restarts_50x31", "ycbcr_420_3x3"] {
        let (case, _) = made(name);
        let data = after(&case.stream, 0xDA);
        let marks = |at: &usize| case.stream[*at] == 0xFF && !matches!(case.stream[at + 1], 0 | 0xFF);
        let ends: Vec<usize> = (data + 12..case.stream.len() - 1).filter(marks).collect();
        let tails = tails().step_by(if name == "grey_8x8" { 2 } else { 32 });
        let with = |(i, tail): (usize, [u8; 2])| {
            let end = ends[i % ends.len()];
            let mut mutant = case.clone();
            mutant.name = format!("{name} with {tail:02X?} at {end}");
            let stuffed =
                tail.iter().flat_map(|&byte| [byte, 0].into_iter().take(if byte == 0xFF { 2 } else { 1 }));
            mutant.stream.splice(end - 2..end, stuffed);
            mutant
        };
        let cases: Vec<Case> = tails.enumerate().map(with).collect();
        let (by_device, right) = verdicts_agree(&cases);
        assert!(by_device > 0 && right >= by_device && right < cases.len(), "{name}: {by_device} {right}");
    }
}

/// A header asks for no more work and memory than its data can fill.
#[test]
fn a_picture_without_data_is_refused_before_anything_is_made() {
    let (mut case, _) = made("grey_8x8");
    let at = after(&case.stream, 0xC0);
    case.stream[at + 3..at + 7].copy_from_slice(&[0xFF, 0xF0, 0xFF, 0xF0]);
    let layout = layout((0xFFF0, 0xFFF0), 1, false);
    let fault = Jpeg::new().parse(&case.stream, &layout, 0xFFF0).unwrap_err();
    assert_eq!(fault.kind, FaultKind::InputTruncated);
    let (mut case, _) = made("ycbcr_420_restarts_70x35");
    // Every interval has to hold its own; the last of them is one short of its MCUs.
    let at = after(&case.stream, 0xDD);
    let found = Jpeg::new().parse(&case.stream, &case.layout, case.rows);
    assert!(found.is_ok() && case.stream[at..at + 3] == [0, 4, 0]);
    let end = case.stream.len() - 2;
    let begin =
        (0..end).rfind(|&at| case.stream[at] == 0xFF && (0xD0..0xD8).contains(&case.stream[at + 1])).unwrap();
    case.stream.splice(begin + 2..end, [0x11]);
    let fault = Jpeg::new().parse(&case.stream, &case.layout, case.rows).unwrap_err();
    assert_eq!(fault.kind, FaultKind::InputTruncated);
}

/// The same bytes of headers mean something else in another layout: what is known of one is not taken for the other.
#[test]
fn what_is_known_of_headers_is_of_one_layout() {
    let (whole, _) = made("ycbcr_420_33x21");
    let with = |change: fn(&mut BlockLayout)| {
        let mut case = whole.clone();
        change(Arc::make_mut(&mut case.layout));
        case
    };
    let fewer_rows = Case { rows: 5, ..whole.clone() };
    let mut longer = whole.clone();
    longer.stream.truncate(whole.stream.len() - 40);
    longer.stream.extend([0xFF, 0xD9]);
    let as_stored = with(|layout| layout.extras.ycbcr = None);
    let tile = Case { rows: 5, ..with(|layout| layout.is_strip = false) };
    let cases = [whole.clone(), fewer_rows, whole.clone(), as_stored, longer, tile, whole];
    let together = decode(Jpeg::new(), &cases, 1);
    for (found, case) in together.into_iter().zip(&cases) {
        let alone = decode(Jpeg::new(), std::slice::from_ref(case), 1).remove(0);
        match (&found, &alone) {
            (Ok((0, _)), _) | (Err(_), _) => assert_eq!(found, alone),
            (Ok((status, _)), _) => assert_eq!(*status, alone.unwrap().0),
        }
    }
}

/// Four components are inks as they are stored, whatever Adobe's marker says, but YCCK is none.
#[test]
fn cmyk_is_given_as_stored_and_ycck_refused() {
    let (case, pixels) = made("cmyk_19x23");
    let adobe = |transform: u8| {
        let mut marked = case.clone();
        let segment = [&[0xFF, 0xEE, 0, 14], &b"Adobe"[..], &[0, 100, 0, 0, 0, 0, transform]].concat();
        marked.stream.splice(2..2, segment);
        marked
    };
    assert_eq!(decode(Jpeg::new(), &[adobe(0)], 1), [Ok((0, pixels.clone()))]);
    assert_eq!(by_cpu(&adobe(0)), Ok(pixels));
    let words = "JPEG of YCCK colours, as Adobe's marker says; only CMYK is read";
    let mut progressive = adobe(2);
    let at = after(&progressive.stream, 0xC0);
    progressive.stream[at - 1] = 0xC2;
    let on_device = decode(Jpeg::new(), &[adobe(2)], 1).remove(0);
    for found in [on_device.map(|(_, samples)| samples), by_cpu(&adobe(2)), by_cpu(&progressive)] {
        let fault = found.unwrap_err();
        assert_eq!((fault.kind, &*fault.detail), (FaultKind::Unsupported, words));
    }
    let mut in_ycbcr = case.clone();
    Arc::make_mut(&mut in_ycbcr.layout).extras.ycbcr = Some(YCbCr::default());
    assert_eq!(by_cpu(&in_ycbcr).unwrap_err().detail, "JPEG of four components in a YCbCr image");
}
