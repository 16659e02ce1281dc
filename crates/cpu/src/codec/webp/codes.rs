//! Computes the memory of the Huffman codes of a lossless WebP image before they are built.
//!
//! A stream may state 65,536 groups of five codes, each a table of 4 KiB in the decoder, in a few bytes: two megabytes
//! become more than one gigabyte. The number of groups is the largest number in a picture of the stream, so the stream
//! is followed to the end of its groups: through the pictures of transforms, which are small, and that picture (WebP
//! Lossless Bitstream Specification, sections 4 to 6). The decoder's memory for each code is added up. An invalid
//! stream is followed to the error, where the decoder stops too.

use crate::codec::deflate::inflate_scan::{Code, Scanner};

/// Bytes of a group's entry: five codes, kept in a list that doubles as it grows, and is copied then.
const GROUP: u64 = 5 * 56 * 3;
/// Bytes of a code with two symbols, including the allocator's overhead.
const SMALL: u64 = 128;
/// Maximum index bits of a code's table.
const TABLE_BITS: u32 = 10;
/// Bytes of a table entry, and of a node for longer codes, two per symbol.
const ENTRY: u64 = 4;
const NODES: u64 = 2 * 16;

/// Symbols of the five codes: green with lengths, red, blue, alpha, distances.
const ALPHABETS: [usize; 5] = [256 + 24, 256, 256, 256, 40];
/// Order in which the lengths of the code for code lengths are stored.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Offsets of the first 120 distances: columns to the left, and rows up.
#[rustfmt::skip]
const NEAR: [(i32, i32); 120] = [
    (0, 1),  (1, 0),  (1, 1),  (-1, 1), (0, 2),  (2, 0),  (1, 2),  (-1, 2),
    (2, 1),  (-2, 1), (2, 2),  (-2, 2), (0, 3),  (3, 0),  (1, 3),  (-1, 3),
    (3, 1),  (-3, 1), (2, 3),  (-2, 3), (3, 2),  (-3, 2), (0, 4),  (4, 0),
    (1, 4),  (-1, 4), (4, 1),  (-4, 1), (3, 3),  (-3, 3), (2, 4),  (-2, 4),
    (4, 2),  (-4, 2), (0, 5),  (3, 4),  (-3, 4), (4, 3),  (-4, 3), (5, 0),
    (1, 5),  (-1, 5), (5, 1),  (-5, 1), (2, 5),  (-2, 5), (5, 2),  (-5, 2),
    (4, 4),  (-4, 4), (3, 5),  (-3, 5), (5, 3),  (-5, 3), (0, 6),  (6, 0),
    (1, 6),  (-1, 6), (6, 1),  (-6, 1), (2, 6),  (-2, 6), (6, 2),  (-6, 2),
    (4, 5),  (-4, 5), (5, 4),  (-5, 4), (3, 6),  (-3, 6), (6, 3),  (-6, 3),
    (0, 7),  (7, 0),  (1, 7),  (-1, 7), (5, 5),  (-5, 5), (7, 1),  (-7, 1),
    (4, 6),  (-4, 6), (6, 4),  (-6, 4), (2, 7),  (-2, 7), (7, 2),  (-7, 2),
    (3, 7),  (-3, 7), (7, 3),  (-7, 3), (5, 6),  (-5, 6), (6, 5),  (-6, 5),
    (8, 0),  (4, 7),  (-4, 7), (7, 4),  (-7, 4), (8, 1),  (8, 2),  (6, 6),
    (-6, 6), (8, 3),  (5, 7),  (-5, 7), (7, 5),  (-7, 5), (8, 4),  (6, 7),
    (-6, 7), (7, 6),  (-7, 6), (8, 5),  (7, 7),  (-7, 7), (8, 6),  (8, 7),
];

/// Returns the bytes that the codes of a lossless image, or of a lossless alpha, take. `size` is the size of the image.
pub(crate) fn memory(src: &[u8], size: (u32, u32)) -> u64 {
    let mut rest = src.get(12..).unwrap_or_default();
    let mut sum = 0_u64;
    while let Some((name, after)) = rest.split_first_chunk::<4>()
        && let Some((len, body)) = after.split_first_chunk::<4>()
    {
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let chunk = body.get(..len).unwrap_or(body);
        // Skip a header of five bytes, which states the size, or one byte that states the compression of the alpha.
        let stream = match (name, chunk) {
            (b"VP8L", [_, _, _, _, _, stream @ ..]) => Some(stream),
            (b"ALPH", [how, stream @ ..]) if how & 3 == 1 => Some(stream),
            _ => None,
        };
        if let Some(stream) = stream {
            let mut survey = Survey { bits: Scanner::new(stream), memory: 0 };
            // The decoder builds all codes up to an error.
            let _to_its_end = survey.image(size);
            sum = sum.saturating_add(survey.memory);
        }
        rest = body.get(len.saturating_add(len % 2)..).unwrap_or_default();
    }
    sum
}

struct Survey<'a> {
    bits: Scanner<'a>,
    memory: u64,
}

/// A code, reduced to what the survey needs.
enum Symbols {
    /// One symbol, which takes no bits.
    One(usize),
    /// Two symbols, in the order in which they are stored.
    Two([usize; 2]),
    Many(Code),
}

impl Survey<'_> {
    fn bits(&mut self, count: usize) -> Option<usize> {
        self.bits.bits(count).ok()
    }

    fn symbol(&mut self, code: &Symbols) -> Option<usize> {
        match code {
            Symbols::One(symbol) => Some(*symbol),
            Symbols::Two(two) => two.get(self.bits(1)?).copied(),
            Symbols::Many(code) => self.bits.symbol(code).ok(),
        }
    }

    /// Reads the image itself, to the end of its codes; `None` at an error.
    fn image(&mut self, (width, height): (u32, u32)) -> Option<()> {
        let mut width = width;
        let mut seen = [false; 4];
        while self.bits(1)? == 1 {
            let kind = self.bits(2)?;
            if std::mem::replace(seen.get_mut(kind)?, true) {
                return None;
            }
            match kind {
                0 | 1 => {
                    let shift = self.bits(3)? + 2;
                    self.picture((width.div_ceil(1 << shift), height.div_ceil(1 << shift)))?;
                }
                2 => {}
                _ => {
                    let colours = u32::try_from(self.bits(8)?).ok()? + 1;
                    self.picture((colours, 1))?;
                    let shift = match colours {
                        0..=2 => 3,
                        3..=4 => 2,
                        5..=16 => 1,
                        _ => 0,
                    };
                    width = width.div_ceil(1 << shift);
                }
            }
        }
        let cache = self.cache_bits()?;
        let mut groups = 1;
        if self.bits(1)? == 1 {
            let shift = self.bits(3)? + 2;
            let codes = self.picture((width.div_ceil(1 << shift), height.div_ceil(1 << shift)))?;
            groups += codes.iter().map(|pixel| pixel >> 8 & 0xFFFF).max().unwrap_or(0);
        }
        for _ in 0..groups {
            self.group(cache)?;
        }
        Some(())
    }

    fn cache_bits(&mut self) -> Option<usize> {
        match self.bits(1)? {
            0 => Some(0),
            _ => self.bits(4).filter(|bits| (1..=11).contains(bits)),
        }
    }

    fn group(&mut self, cache: usize) -> Option<[Symbols; 5]> {
        self.memory = self.memory.saturating_add(GROUP);
        let [green, red, blue, alpha, distance] = ALPHABETS;
        let cached = if cache > 0 { 1 << cache } else { 0 };
        Some([
            self.code(green + cached)?,
            self.code(red)?,
            self.code(blue)?,
            self.code(alpha)?,
            self.code(distance)?,
        ])
    }

    fn code(&mut self, alphabet: usize) -> Option<Symbols> {
        if self.bits(1)? == 1 {
            let two = self.bits(1)? == 1;
            let width = 1 + 7 * self.bits(1)?;
            let first = self.bits(width)?;
            if !two {
                return (first < alphabet).then_some(Symbols::One(first));
            }
            let second = self.bits(8)?;
            self.memory = self.memory.saturating_add(SMALL);
            return Some(Symbols::Two([first, second]));
        }
        let lengths = self.lengths(alphabet)?;
        let count = lengths.iter().filter(|&&length| length > 0).count();
        if count < 2 {
            return lengths.iter().position(|&length| length > 0).map(Symbols::One);
        }
        let longest = lengths.iter().copied().max().map_or(0, u32::from);
        let long = lengths.iter().filter(|&&length| u32::from(length) > TABLE_BITS).count() as u64;
        let table = ENTRY << longest.min(TABLE_BITS);
        self.memory = self.memory.saturating_add(table + long * NODES + SMALL);
        Code::new(&lengths).map(Symbols::Many)
    }

    /// Reads the code lengths of an alphabet.
    fn lengths(&mut self, alphabet: usize) -> Option<Vec<u8>> {
        let mut order = [0_u8; 19];
        let stored = 4 + self.bits(4)?;
        for &slot in ORDER.get(..stored)? {
            *order.get_mut(slot)? = u8::try_from(self.bits(3)?).ok()?;
        }
        let code = match order.iter().filter(|&&length| length > 0).count() {
            0 | 1 => Symbols::One(order.iter().position(|&length| length > 0)?),
            _ => Symbols::Many(Code::new(&order)?),
        };
        let mut most = match self.bits(1)? {
            0 => alphabet,
            _ => {
                let width = 2 + 2 * self.bits(3)?;
                2 + self.bits(width)?
            }
        };
        let mut lengths = Vec::with_capacity(alphabet);
        let mut before = 8;
        while lengths.len() < alphabet && most > 0 {
            most -= 1;
            let (length, times) = match self.symbol(&code)? {
                16 => (before, 3 + self.bits(2)?),
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (u8::try_from(length).ok()?, 1),
            };
            before = if length > 0 { length } else { before };
            lengths.extend(std::iter::repeat_n(length, times));
        }
        if lengths.len() > alphabet {
            return None;
        }
        lengths.resize(alphabet, 0);
        Some(lengths)
    }

    /// Reads a picture within the image, with one group of codes: its pixels, as alpha, red, green and blue.
    fn picture(&mut self, (width, height): (u32, u32)) -> Option<Vec<u32>> {
        let cache_bits = self.cache_bits()?;
        let [green, red, blue, alpha, distance] = self.group(cache_bits)?;
        let len = usize::try_from(u64::from(width) * u64::from(height)).ok()?;
        let mut pixels: Vec<u32> = Vec::new();
        pixels.try_reserve_exact(len).ok()?;
        let mut cache = vec![0; if cache_bits > 0 { 1 << cache_bits } else { 0 }];
        let mut cached = 0;
        while pixels.len() < len {
            match self.symbol(&green)? {
                value @ 0..256 => {
                    let (red, blue, alpha) = (self.symbol(&red)?, self.symbol(&blue)?, self.symbol(&alpha)?);
                    pixels.push(u32::try_from(alpha << 24 | red << 16 | value << 8 | blue).ok()?);
                }
                prefix @ 256..280 => {
                    let count = self.number(prefix - 256)?;
                    let prefix = self.symbol(&distance)?;
                    let back = back(self.number(prefix)?, width)?;
                    let start = pixels.len().checked_sub(back)?;
                    if count > len - pixels.len() {
                        return None;
                    }
                    for from in (start..).take(count) {
                        pixels.push(*pixels.get(from)?);
                    }
                }
                index => {
                    // The decoder adds pixels to the cache one by one; its contents only matter here.
                    for pixel in pixels.get(cached..)? {
                        let slot =
                            pixel.wrapping_mul(0x1E35_A7BD) >> (32 - u32::try_from(cache_bits).ok()?);
                        *cache.get_mut(usize::try_from(slot).ok()?)? = *pixel;
                    }
                    cached = pixels.len();
                    pixels.push(*cache.get(index - 280)?);
                }
            }
        }
        Some(pixels)
    }

    /// Reads a length or a distance.
    fn number(&mut self, prefix: usize) -> Option<usize> {
        if prefix < 4 {
            return Some(prefix + 1);
        }
        let extra = (prefix - 2) >> 1;
        Some(((2 + (prefix & 1)) << extra) + self.bits(extra)? + 1)
    }
}

/// Returns a distance in pixels.
fn back(distance: usize, width: u32) -> Option<usize> {
    match NEAR.get(distance.checked_sub(1)?) {
        None => Some(distance - NEAR.len()),
        Some((x, y)) => {
            usize::try_from(x + y * i32::try_from(width).ok()?).map_or(Some(1), |n| Some(n.max(1)))
        }
    }
}
