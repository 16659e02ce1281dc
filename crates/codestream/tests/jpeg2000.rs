//! The JPEG 2000 parser on streams of OpenJPEG and OpenJPH, on the same streams with their packets moved, and
//! on damaged ones.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test; small numbers made here"
)]

mod crafted;

use strile_codestream::jpeg2000::{CodeBlock, Codestream, Limits, parse, size};
use strile_engine::FaultKind;

const MOST_SAMPLES: u64 = 1 << 20;

macro_rules! streams {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("data/jpeg2000/", $name, ".j2k")).as_slice())),*]
    };
}

fn streams() -> Vec<(&'static str, &'static [u8])> {
    streams![
        "offset",
        "offset_pcrl",
        "offset_rpcl",
        "offset_cprl",
        "rlcp",
        "layers_sop",
        "parts",
        "bypass",
        "termall",
        "all_styles",
        "97",
        "sparse",
        "24bit",
        "wide",
        "tiny",
        "ht_gray16",
        "ht_rgb8",
        "ht_lossy",
        "ht_tiles"
    ]
    .to_vec()
}

fn stream(name: &str) -> &'static [u8] {
    streams().into_iter().find(|(other, _)| *other == name).unwrap().1
}

/// What a caller allows a stream of so many bytes.
fn limits(reduce: u8, stream: &[u8]) -> Limits {
    let memory = Limits::ample_memory(MOST_SAMPLES, 4, stream.len() as u64);
    Limits { reduce, most_samples: MOST_SAMPLES, memory }
}

fn read(stream: &[u8], reduce: u8) -> Codestream {
    parse(stream, limits(reduce, stream)).unwrap()
}

/// The bytes of a code-block.
fn bytes(stream: &[u8], found: &Codestream, block: &CodeBlock) -> Vec<u8> {
    let pieces = &found.pieces[block.pieces.start as usize..block.pieces.end as usize];
    pieces.iter().flat_map(|piece| &stream[piece.offset as usize..][..piece.len as usize]).copied().collect()
}

/// Everything that a decoder sees, without where it lies.
fn content(stream: &[u8], found: &Codestream) -> impl PartialEq + std::fmt::Debug {
    let block = |block: &CodeBlock| {
        let segments = &found.segments[block.segments.start as usize..block.segments.end as usize];
        let place = CodeBlock { segments: 0..0, pieces: 0..0, ..block.clone() };
        (place, segments.to_vec(), bytes(stream, found, block))
    };
    (found.planes.clone(), found.blocks.iter().map(block).collect::<Vec<_>>())
}

/// Checks all that must hold of any codestream; returns how many coefficients of planes no code-block covers.
fn check(stream: &[u8], found: &Codestream) -> usize {
    let mut covered: Vec<Vec<bool>> = Vec::new();
    for plane in &found.planes {
        let rect = plane.resolutions.last().unwrap();
        covered.push(vec![false; rect.width() as usize * rect.height() as usize]);
    }
    let (mut segments, mut pieces, mut plane) = (0, 0, 0);
    for block in &found.blocks {
        assert!(block.plane >= plane, "code-blocks of a plane lie together");
        plane = block.plane;
        let rect = found.planes[plane as usize].resolutions.last().unwrap();
        for y in block.y..block.y + u32::from(block.height) {
            for x in block.x..block.x + u32::from(block.width) {
                assert!(x < rect.width() && y < rect.height());
                let cell = &mut covered[plane as usize][(y * rect.width() + x) as usize];
                assert!(!*cell, "code-blocks do not overlap");
                *cell = true;
            }
        }
        assert_eq!((segments, pieces), (block.segments.start, block.pieces.start));
        (segments, pieces) = (block.segments.end, block.pieces.end);
        let own = &found.segments[block.segments.start as usize..segments as usize];
        assert_eq!(own.iter().map(|segment| segment.len).sum::<u32>(), block.len);
        assert_eq!(own.iter().map(|segment| u32::from(segment.passes)).sum::<u32>(), u32::from(block.passes));
        assert_eq!(bytes(stream, found, block).len(), block.len as usize);
        assert!(block.planes >= 1 && block.planes <= block.band_planes && block.passes >= 1);
        assert!(block.passes <= 3 * block.planes - 2);
    }
    assert_eq!((segments as usize, pieces as usize), (found.segments.len(), found.pieces.len()));
    for tile in &found.tiles {
        assert_eq!(tile.planes.len(), found.components.len());
    }
    covered.iter().flatten().filter(|covered| !**covered).count()
}

#[test]
fn every_stream_is_read_whole() {
    for (name, stream) in streams() {
        let found = read(stream, 0);
        let uncovered = check(stream, &found);
        assert!(uncovered == 0 || ["97", "sparse", "ht_lossy"].contains(&name), "{name}: {uncovered}");
        let stated = size(stream).unwrap();
        assert_eq!((stated.area, &stated.components), (found.area, &found.components));
        // Tiles of a component cover it.
        for (index, component) in found.components.iter().enumerate() {
            let planes = found.planes.iter().filter(|plane| usize::from(plane.component) == index);
            let samples: u32 = planes
                .map(|plane| *plane.resolutions.last().unwrap())
                .map(|rect| rect.width() * rect.height())
                .sum();
            assert_eq!(samples, component.rect.width() * component.rect.height(), "{name}");
        }
    }
}

#[test]
fn discarded_resolutions_leave_the_others_as_they_are() {
    for (name, stream) in streams() {
        let full = read(stream, 0);
        let levels = full.planes[0].resolutions.len() - 1;
        for reduce in 1..=levels {
            let found = read(stream, u8::try_from(reduce).unwrap());
            check(stream, &found);
            assert_eq!(found.area, full.area.reduced(u8::try_from(reduce).unwrap()));
            for (plane, whole) in found.planes.iter().zip(&full.planes) {
                assert_eq!(plane.resolutions[..], whole.resolutions[..=levels - reduce], "{name}");
            }
            let kept = |block: &&CodeBlock| {
                let rect = found.planes[block.plane as usize].resolutions.last().unwrap();
                block.x < rect.width() && block.y < rect.height()
            };
            let expected: Vec<_> =
                full.blocks.iter().filter(kept).map(|block| bytes(stream, &full, block)).collect();
            let kept: Vec<_> = found.blocks.iter().map(|block| bytes(stream, &found, block)).collect();
            assert_eq!(kept, expected, "{name} less {reduce}");
        }
        let more = limits(u8::try_from(levels + 1).unwrap(), stream);
        assert_eq!(parse(stream, more).unwrap_err().kind, FaultKind::Unsupported);
    }
}

#[test]
fn styles_cut_code_blocks_into_their_segments() {
    let passes = |name: &str| -> Vec<Vec<u8>> {
        let found = read(stream(name), 0);
        let of = |block: &CodeBlock| {
            let segments = &found.segments[block.segments.start as usize..block.segments.end as usize];
            segments.iter().map(|segment| segment.passes).collect()
        };
        found.blocks.iter().map(of).collect()
    };
    for block in passes("bypass") {
        let expected = [10].into_iter().chain([2, 1].into_iter().cycle());
        assert!(block.iter().zip(expected).all(|(&found, expected)| found == expected), "{block:?}");
    }
    assert!(passes("termall").iter().chain(&passes("all_styles")).flatten().all(|&passes| passes == 1));
    assert!(passes("rlcp").iter().all(|block| block.len() == 1));
    assert!(passes("ht_gray16").iter().all(|block| block == &[1]));
    let found = read(stream("ht_gray16"), 0);
    assert!(found.planes.iter().all(|plane| plane.style.high_throughput));
    assert!(found.blocks.iter().all(|block| block.planes == 1));
}

#[test]
fn steps_and_bit_planes_are_those_of_the_quantisation() {
    let found = read(stream("97"), 0);
    assert!(found.planes.iter().all(|plane| !plane.reversible));
    assert!(found.blocks.iter().all(|block| block.step > 0.0 && block.step < 2.0));
    let found = read(stream("24bit"), 0);
    assert!(found.blocks.iter().all(|block| block.step == 1.0 && block.band_planes >= 24));
}

/// The header of a packet without EPH, and its body.
type Packet = (Vec<u8>, Vec<u8>);

/// What comes before the packets of a stream with SOP and EPH, and the packets.
fn packets(stream: &[u8]) -> (Vec<u8>, Vec<Packet>) {
    let at = |marker: [u8; 2], from: usize| {
        stream[from..].windows(2).position(|pair| pair == marker).map(|place| from + place)
    };
    let first = at([0xFF, 0x91], 0).unwrap();
    let end = stream.len() - 2;
    let mut found = Vec::new();
    let mut start = first;
    while start < end {
        let header_end = at([0xFF, 0x92], start).unwrap();
        let next = at([0xFF, 0x91], header_end).unwrap_or(end);
        found.push((stream[start + 6..header_end].to_vec(), stream[header_end + 2..next].to_vec()));
        start = next;
    }
    (stream[..first].to_vec(), found)
}

/// The main header, and the header of the only tile-part, of a stream of one tile.
fn heads(head: &[u8]) -> (&[u8], &[u8]) {
    head.split_at(head.windows(2).position(|pair| pair == [0xFF, 0x90]).unwrap())
}

fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len() + 2).unwrap().to_be_bytes();
    [&[0xFF, marker], &len[..], body].concat()
}

/// A stream of tile-parts, each with segments of its own and its packets.
fn join(main: &[u8], parts: &[(Vec<u8>, Vec<u8>)], known: bool) -> Vec<u8> {
    let mut stream = main.to_vec();
    for (index, (segments, packets)) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        let len = 14 + segments.len() + packets.len();
        let len = if last && !known { 0 } else { u32::try_from(len).unwrap() };
        let index = u8::try_from(index).unwrap();
        stream.extend([&[0xFF, 0x90, 0, 10, 0, 0][..], &len.to_be_bytes(), &[index, 0]].concat());
        stream.extend([segments, &[0xFF, 0x93][..], packets].concat());
    }
    stream.extend([0xFF, 0xD9]);
    stream
}

#[test]
fn packet_headers_may_lie_elsewhere() {
    let source = stream("layers_sop");
    let expected = read(source, 0);
    let (head, packets) = packets(source);
    let (main, _) = heads(&head);
    // Three tile-parts, the headers with or without EPH, in the main header or in the tile-parts.
    for eph in [&[][..], &[0xFF, 0x92]] {
        let parts: Vec<(Vec<u8>, Vec<u8>)> = packets
            .chunks(5)
            .map(|part| {
                let headers = part.iter().flat_map(|(header, _)| [header, eph].concat()).collect();
                (headers, part.iter().flat_map(|(_, body)| body.clone()).collect())
            })
            .collect();
        let moved: Vec<_> = parts
            .iter()
            .map(|(headers, bodies)| {
                // Two segments, which stand in the wrong order.
                let (first, second) = headers.split_at(headers.len() / 2);
                let segments =
                    [segment(0x61, &[&[1], second].concat()), segment(0x61, &[&[0], first].concat())];
                (segments.concat(), bodies.clone())
            })
            .collect();
        for known in [true, false] {
            let stream = join(main, &moved, known);
            let found = read(&stream, 0);
            check(&stream, &found);
            assert_eq!(content(&stream, &found), content(source, &expected));
        }
        let all: Vec<u8> = parts
            .iter()
            .flat_map(|(headers, _)| {
                [&u32::try_from(headers.len()).unwrap().to_be_bytes()[..], headers].concat()
            })
            .collect();
        let (first, second) = all.split_at(7);
        let packed =
            [main, &segment(0x60, &[&[0], first].concat()), &segment(0x60, &[&[1], second].concat())]
                .concat();
        let bodies: Vec<_> = parts.iter().map(|(_, bodies)| (Vec::new(), bodies.clone())).collect();
        let stream = join(&packed, &bodies, true);
        let found = read(&stream, 0);
        assert_eq!(content(&stream, &found), content(source, &expected));
    }
}

#[test]
fn the_progression_may_change() {
    let source = stream("layers_sop");
    let expected = read(source, 0);
    let (head, packets) = packets(source);
    let (main, _) = heads(&head);
    // One component and one precinct a resolution: packet 3 * layer + resolution.
    let packet = |layer: usize, resolution: usize| {
        let (header, body) = &packets[3 * layer + resolution];
        [header, &[0xFF, 0x92][..], body].concat()
    };
    let layers_of = |range: std::ops::Range<usize>, resolutions: std::ops::Range<usize>| -> Vec<u8> {
        range
            .flat_map(|layer| resolutions.clone().flat_map(move |resolution| packet(layer, resolution)))
            .collect()
    };
    let resolutions_of = |resolutions: std::ops::Range<usize>, layers: std::ops::Range<usize>| -> Vec<u8> {
        resolutions
            .flat_map(|resolution| layers.clone().flat_map(move |layer| packet(layer, resolution)))
            .collect()
    };
    // Resolution 0 whole; then two layers of all others; then the rest, resolution by resolution.
    let changes =
        [[0, 0, 0, 4, 1, 1, 1].as_slice(), &[0, 0, 0, 2, 3, 1, 0], &[0, 0, 0, 9, 33, 0, 2]].concat();
    let body = [layers_of(0..4, 0..1), layers_of(0..2, 1..3), resolutions_of(1..3, 2..4)].concat();
    for own in [true, false] {
        let change = segment(0x5F, &changes);
        let (main, own) = if own { (main.to_vec(), change) } else { ([main, &change].concat(), Vec::new()) };
        let stream = join(&main, &[(own, body.clone())], true);
        let found = read(&stream, 0);
        assert_eq!(content(&stream, &found), content(source, &expected));
    }
    let short = segment(0x5F, &changes[..14]);
    let stream = join(main, &[(short, body)], true);
    let fault = parse(&stream, limits(0, &stream)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Corrupt);
    assert!(fault.detail.contains("leaves packets"), "{fault}");
}

#[test]
fn what_is_not_supported_is_named() {
    let region = include_bytes!("data/jpeg2000/region_of_interest.j2k");
    let fault = parse(region, limits(0, region)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert!(fault.detail.contains("region of interest"));
    let mut mixed = stream("ht_gray16").to_vec();
    let cod = mixed.windows(2).position(|pair| pair == [0xFF, 0x52]).unwrap();
    assert_eq!(mixed[cod + 12], 0x40);
    mixed[cod + 12] = 0xC0;
    assert_eq!(parse(&mixed, limits(0, &mixed)).unwrap_err().kind, FaultKind::Unsupported);
    let few = Limits { most_samples: 10, ..limits(0, stream("offset")) };
    assert_eq!(parse(stream("offset"), few).unwrap_err().kind, FaultKind::WrongShape);
}

#[test]
fn a_stream_cut_anywhere_is_a_fault() {
    for (name, stream) in streams() {
        for len in 0..stream.len() - 2 {
            let cut = &stream[..len];
            let fault = parse(cut, limits(0, cut));
            let fault = fault.expect_err(&format!("{name} cut to {len}"));
            assert!(matches!(fault.kind, FaultKind::InputTruncated | FaultKind::Corrupt), "{fault}");
        }
    }
}

#[test]
fn damaged_streams_never_panic() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let (mut sound, mut faults) = (0, 0);
    for (_, stream) in streams() {
        let header = stream.windows(2).position(|pair| pair == [0xFF, 0x93]).unwrap();
        for _ in 0..1500 {
            let mut damaged = stream.to_vec();
            for _ in 0..1 + random(3) {
                // The headers are the smaller part, and the one that says more.
                let at = if random(2) == 0 { random(header) } else { random(stream.len()) };
                damaged[at] =
                    [0, 0xFF, 0x80, damaged[at] ^ 1 << random(8), damaged[at].wrapping_add(1)][random(5)];
            }
            match parse(&damaged, limits(u8::from(random(3) == 0), &damaged)) {
                Ok(found) => {
                    check(&damaged, &found);
                    sound += 1;
                }
                Err(_) => faults += 1,
            }
        }
    }
    assert!(sound > 1000 && faults > 1000, "{sound} sound, {faults} faults");
}

/// Few bytes that say much: memory is counted before it is had, and the fault says how much there would be.
#[test]
fn code_blocks_take_no_more_memory_than_is_allowed() {
    let stream = crafted::tiny_precincts(256);
    assert!(stream.len() < 17_000, "{}", stream.len());
    let samples = 256 * 256;
    let roomy = Limits { reduce: 0, most_samples: samples, memory: 8 << 20 };
    let found = parse(&stream, roomy).unwrap();
    assert_eq!((found.blocks.len(), found.segments.len(), found.pieces.len()), (128 * 128, 128 * 128, 0));
    for memory in [
        Limits::ample_memory(samples, 1, stream.len() as u64),
        Limits::usual_memory(samples, 1, stream.len() as u64),
        1000,
        0,
    ] {
        let fault = parse(&stream, Limits { memory, ..roomy }).unwrap_err();
        assert_eq!((fault.kind, fault.expected), (FaultKind::Unsupported, memory), "{fault}");
        assert!(fault.found > memory && fault.found < 8 << 20, "{fault}");
        assert!(fault.detail.contains(&format!("{} bytes found, {memory} allowed", fault.found)), "{fault}");
    }
    // Code-blocks of 4 x 4 samples, all of them in use, are the least that encoders make.
    let stream = crafted::many_code_blocks(512);
    let samples = 512 * 512;
    let memory = Limits::ample_memory(samples, 1, stream.len() as u64);
    let found = parse(&stream, Limits { reduce: 0, most_samples: samples, memory }).unwrap();
    assert_eq!(found.blocks.len(), 128 * 128);
    // Streams of ordinary encoders take less than is usual.
    for (name, stream) in streams() {
        let size = size(stream).unwrap();
        let samples = |c: &strile_codestream::jpeg2000::Component| c.rect.width() * c.rect.height();
        let samples = size.components.iter().map(samples).sum::<u32>().into();
        let memory = Limits::usual_memory(samples, size.components.len() as u64, stream.len() as u64);
        let limits = Limits { reduce: 0, most_samples: samples, memory };
        assert!(parse(stream, limits).is_ok(), "{name}");
    }
}

/// Packet headers in the main header are those of all tile-parts, no more and no fewer; these were once used up or left
/// over without a word, and a second SIZ was passed over.
#[test]
fn headers_that_do_not_fit_their_tile_parts_are_faults() {
    let source = stream("layers_sop");
    let (head, packets) = packets(source);
    let (main, _) = heads(&head);
    let parts: Vec<(Vec<u8>, Vec<u8>)> = packets
        .chunks(5)
        .map(|part| {
            let headers = part.iter().flat_map(|(header, _)| header.clone()).collect();
            (headers, part.iter().flat_map(|(_, body)| body.clone()).collect())
        })
        .collect();
    let own = |headers: &[u8]| [&u32::try_from(headers.len()).unwrap().to_be_bytes()[..], headers].concat();
    let all: Vec<Vec<u8>> = parts.iter().map(|(headers, _)| own(headers)).collect();
    let bodies: Vec<_> = parts.iter().map(|(_, bodies)| (Vec::new(), bodies.clone())).collect();
    let fault = |packed: &[u8], bodies: &[(Vec<u8>, Vec<u8>)]| {
        let stream = join(&[main, &segment(0x60, &[&[0], packed].concat())].concat(), bodies, true);
        let found = parse(&stream, limits(0, &stream));
        found.map(drop).map_err(|fault| fault.to_string())
    };
    assert_eq!(fault(&all.concat(), &bodies), Ok(()));
    let short = fault(&all[..all.len() - 1].concat(), &bodies).unwrap_err();
    assert!(short.contains("PPM segments end before part 2 of tile 0, 0 bytes left for it"), "{short}");
    let long = fault(&[all.concat(), own(&[0x80])].concat(), &bodies).unwrap_err();
    assert!(long.contains("5 bytes of PPM segments after those of the last tile-part"), "{long}");
    let mut longer = parts[2].0.clone();
    longer.extend([0, 0, 0]);
    let more = fault(&[&all[..2].concat()[..], &own(&longer)].concat(), &bodies).unwrap_err();
    assert!(more.contains("3 bytes of PPM or PPT segments after the last packet header"), "{more}");
    let mut both = bodies.clone();
    both[0].0 = segment(0x61, &[0]);
    let both = fault(&all.concat(), &both).unwrap_err();
    assert!(both.contains("PPM segments, and PPT segments of tile 0"), "{both}");
    let siz = &main[2..4 + usize::from(u16::from_be_bytes([main[4], main[5]]))];
    let twice = [main, siz, &source[main.len()..]].concat();
    let twice = parse(&twice, limits(0, &twice)).unwrap_err();
    assert!(twice.detail.contains("a second SIZ segment"), "{twice}");
}
