//! LZW on the emulated device: what writers write decodes there, every other stream gives what the CPU engine
//! gives or goes to the host.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod byte_codecs;

use byte_codecs::{Codec, Random, Stream, image_like};
use strile_emulate::Emulator;
use strile_tiff::Compression;

const LZW: Codec = Codec { compression: Compression::Lzw, module: "lzw", entry: "lzw_decode" };
const CLEAR: u32 = 256;
const END: u32 = 257;
const FIRST: u32 = 258;
const UNSUPPORTED: u32 = 7;

fn weezl(data: &[u8]) -> Stream {
    let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
    Stream { src: encoder.encode(data).unwrap(), len: data.len() }
}

/// Writes codes as TIFF packs them, whatever they mean.
#[derive(Clone, Default)]
struct Codes {
    bytes: Vec<u8>,
    bits: u64,
    count: u32,
    /// Codes since Clear, which is not counted.
    since_clear: u32,
}

impl Codes {
    fn put(mut self, code: u32) -> Self {
        let width = match self.since_clear {
            0..254 => 9,
            254..766 => 10,
            766..1790 => 11,
            _ => 12,
        };
        self.bits = self.bits << width | u64::from(code);
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.bits >> self.count) as u8);
        }
        self.since_clear = if code == CLEAR { 0 } else { self.since_clear + 1 };
        self
    }

    /// The first Clear, then `codes`.
    fn after_clear(codes: impl IntoIterator<Item = u32>) -> Self {
        // The width before the first Clear is that after one.
        Self::default().put(CLEAR).puts(codes)
    }

    fn puts(self, codes: impl IntoIterator<Item = u32>) -> Self {
        codes.into_iter().fold(self, Self::put)
    }

    fn stream(mut self, len: usize) -> Stream {
        if self.count > 0 {
            self.bytes.push((self.bits << (8 - self.count)) as u8);
        }
        Stream { src: self.bytes, len }
    }
}

/// The number of strings in a stream's longest segment is within a code or two of this.
const FULL: u32 = 3837;

#[test]
fn decodes_what_writers_write() {
    let (mut streams, mut expected) = (Vec::new(), Vec::new());
    for kind in 0..7 {
        for len in [1, 2, 15, 16, 17, 300, 4096, 20_000, 65_536] {
            let data = image_like(kind, len);
            streams.extend([weezl(&data), LZW.encode(&data, len)]);
            expected.extend([data.clone(), data]);
        }
    }
    LZW.must_give(&streams, &expected);
}

/// One value: strings grow to their longest, 3,838 bytes, and the output of a segment to its most, some 7 MB.
#[test]
fn decodes_the_longest_strings() {
    for len in [100_000, 7_400_000] {
        let data = vec![9; len];
        let stream = LZW.encode(&data, len);
        let made = LZW.launch(&[stream], 3).remove(0);
        assert_eq!(made.status, 0);
        assert!(made.bytes == data);
    }
}

/// 900 bytes `(i / 50) ^ (i % 50 / 7)`, by libtiff (GDAL) and by imagecodecs, which agree.
#[test]
fn decodes_what_libtiff_wrote() {
    const HEX: &str = "800020503000060d070080a150b0100e1d0f018122513020162d170281a351b0301e11078240e210\
        f8642e31178a44c0f2b9601c0d258548e1d218147e0d1c8dcb659298901664039800a6c019a002752b9c46a4f169e4f6\
        97498ed1e8b43a080e9605a6d1e5d49a1d167e02a856a9b57aaccaa75aa855e9b5f98574116fb80201373ba0241577bc\
        028177bbe02c197fc00301b83c20341d87c40381f75ba5c6e17dbe5e6f185c2607000fcc6641e0ec95df217bc75bf197\
        3c4e233599cb5fc1b9f05e7415a304e8411a7cc6970f94c1ea755b8db62b69b2d86b817b806eeb699bdb6c365ac056f7\
        8fbae270b3fc0e3ef789bae66779410ee7742011f07842212f27942413f47a42614f67b42815f87c42a16fa7d42c17f1\
        787bdddf57a7ccf2be4f8bdcf682f02c0c0b82c808";
    let src = (0..HEX.len() / 2).map(|i| u8::from_str_radix(&HEX[2 * i..2 * i + 2], 16).unwrap()).collect();
    let data: Vec<u8> = (0..900_u32).map(|i| ((i / 50) ^ (i % 50 / 7)) as u8).collect();
    LZW.must_give(&[Stream { src, len: data.len() }], &[data]);
}

/// Everything that must decode on the device though few writers write it.
#[test]
fn decodes_ends_and_clears_of_every_kind() {
    let ab = || Codes::after_clear([65, 66, FIRST, FIRST + 2]);
    let out = b"ABABABA";
    let mut streams = vec![
        ab().put(END).stream(7),
        ab().stream(7),
        // Bytes after the end code mean nothing.
        ab().puts([END, 0, 0, 0, 511, 511]).stream(7),
        // libtiff clears a full table before the end code.
        ab().puts([CLEAR, END]).stream(7),
        ab().puts([CLEAR, CLEAR, CLEAR]).stream(7),
        Codes::after_clear([
            CLEAR, CLEAR, 65, 66, CLEAR, 65, 66, CLEAR, CLEAR, 65, CLEAR, 66, CLEAR, 65, END,
        ])
        .stream(7),
        // Photoshop 7 adds a byte.
        ab().puts([0, END]).stream(7),
        Codes::after_clear([65, 66, FIRST, FIRST + 2, CLEAR, 0, END]).stream(7),
        // Half a byte of padding without an end code.
        ab().put(0).stream(7),
    ];
    let mut expected = vec![out.to_vec(); streams.len()];
    for len in [8, 15, 16, 17, 32] {
        streams.push(Codes::after_clear(std::iter::repeat_n(65, len + 1)).put(END).stream(len));
        expected.push(vec![65; len]);
    }
    // Segments that fill the table just to its end: with literals, and with strings of the newest entries.
    for count in [253, 254, 255, 765, 766, 767, 1789, 1790, 1791, FULL - 1, FULL, FULL + 1, FULL + 2] {
        let literals = || (0..count).map(|i| i * 7 % 256);
        let data: Vec<u8> = literals().map(|code| code as u8).collect();
        for end in [END, CLEAR] {
            streams
                .push(Codes::after_clear(literals()).put(end).puts(literals()).put(END).stream(data.len()));
            expected.push(data.clone());
            if end == CLEAR {
                let twice = streams.len() - 1;
                streams[twice].len *= 2;
                expected[twice].extend(&data);
            }
        }
        // Without an end the input is over with the segment.
        streams.push(Codes::after_clear(literals()).stream(data.len()));
        expected.push(data);
        let pairs = (0..count).map(|i| if i < 2 { i } else { FIRST + i - 2 });
        let mut data = Vec::new();
        // Entry FIRST + i is string i and the first byte of string i + 1: codes 0, 1, (0 1), (1 0), (0 1 1),
        // …
        let mut strings: Vec<Vec<u8>> = vec![vec![0], vec![1]];
        for i in 2..count as usize {
            let next = [strings[i - 2].as_slice(), &strings[i - 1][..1]].concat();
            strings.push(next);
        }
        strings.iter().for_each(|string| data.extend(string));
        if data.len() < 1 << 18 {
            streams.push(Codes::after_clear(pairs).put(END).stream(data.len()));
            expected.push(data);
        }
    }
    LZW.must_give(&streams, &expected);
    for (stream, expected) in streams.iter().zip(&expected) {
        assert_eq!(LZW.on_host(stream).as_ref(), Ok(expected));
    }
}

#[test]
fn says_what_is_wrong_or_leaves_it_to_the_host() {
    let ab = || Codes::after_clear([65, 66, FIRST, FIRST + 2]);
    let literals = |count: u32| (0..count).map(|i| i % 256);
    let mut no_clear = ab().put(END).stream(7);
    no_clear.src[0] = 0x20;
    let streams = [
        (ab().put(END).stream(8), 2),
        (ab().stream(9), 1),
        (ab().puts([0, 0, END]).stream(7), 3),
        (ab().puts([FIRST, END]).stream(7), 3),
        (ab().put(END).stream(5), 3),
        // A code whose string is not yet known; the first of a segment is always a byte.
        (Codes::after_clear([65, FIRST + 1, END]).stream(3), 5),
        (Codes::after_clear([FIRST, END]).stream(1), 5),
        (Codes::after_clear([65, 66, CLEAR, FIRST, 65, END]).stream(4), 5),
        (Codes::after_clear([END]).stream(1), 2),
        (Stream { src: vec![0x80], len: 1 }, 1),
        (Stream { src: vec![0x80, 0x80], len: 1 }, 2),
        (no_clear, UNSUPPORTED),
        // The older form begins so.
        (Stream { src: vec![0, 1, 0, 0], len: 1 }, UNSUPPORTED),
        // The table stays full.
        (Codes::after_clear(literals(FULL + 10)).put(END).stream(FULL as usize + 10), UNSUPPORTED),
    ];
    let expected: Vec<u32> = streams.iter().map(|(_, status)| *status).collect();
    let streams: Vec<Stream> = streams.into_iter().map(|(stream, _)| stream).collect();
    for seed in Emulator::seeds() {
        let statuses: Vec<u32> = LZW.launch(&streams, seed).iter().map(|made| made.status).collect();
        assert_eq!(statuses, expected, "seed {seed}");
    }
}

/// A bound on time: hardly anything but Clear codes goes to the host.
#[test]
fn leaves_endless_clears_to_the_host() {
    let stream = Codes::default().puts(std::iter::repeat_n(CLEAR, 9000)).stream(1);
    assert_eq!(LZW.launch(&[stream], 1)[0].status, UNSUPPORTED);
}

#[test]
fn cut_anywhere_agrees_with_the_cpu_engine() {
    let mut streams = Vec::new();
    for kind in [3, 4] {
        let whole = weezl(&image_like(kind, 500));
        streams.extend((1..whole.src.len()).map(|n| Stream { src: whole.src[..n].to_vec(), len: whole.len }));
        streams.extend((1..whole.len).step_by(7).map(|len| Stream { src: whole.src.clone(), len }));
    }
    for seed in Emulator::seeds() {
        LZW.must_agree(&streams, seed);
    }
}

/// Mutants of short streams, of streams of several segments, and of codes by chance among those that mean
/// something.
#[test]
fn mutants_agree_with_the_cpu_engine() {
    let large: Vec<Stream> = (0..7).map(|kind| LZW.encode(&image_like(kind, 20_000), 20_000)).collect();
    let small: Vec<Stream> = (0..7).map(|kind| weezl(&image_like(kind, 400))).collect();
    let mut good = 0;
    for seed in Emulator::seeds() {
        let mut random = Random::new(seed);
        let streams: Vec<Stream> = (0..160)
            .map(|i| {
                if i % 4 == 0 {
                    return by_chance(&mut random);
                }
                let whole = if i % 8 == 1 { &large[random.below(7)] } else { &small[random.below(7)] };
                Stream { src: random.mutant(&whole.src), len: whole.len }
            })
            .collect();
        good += LZW.must_agree(&streams, seed);
    }
    assert!(good > 300, "{good} mutants still decode");
}

/// Codes that stand for something, Clear among them, and a length that is right or one off.
fn by_chance(random: &mut Random) -> Stream {
    let mut codes = Codes::default().put(CLEAR);
    for _ in 0..random.below(700) {
        let known = codes.since_clear;
        codes = codes.put(match random.below(100) {
            0 => CLEAR,
            1..30 => random.below(256) as u32,
            _ if known == 0 => random.below(256) as u32,
            _ => FIRST + known - 1 - random.below(known as usize / 2 + 1) as u32,
        });
    }
    let stream = codes.put(0).put(END).stream(usize::MAX);
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
    let len = decoder.decode(&stream.src).unwrap().len();
    Stream { len: len.saturating_sub(random.below(3)).max(1), ..stream }
}
