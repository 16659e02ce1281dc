//! Writes Deflate block by block, right or wrong as it is told: no writer makes all that a decoder must take or refuse.

#![allow(dead_code, reason = "each test file takes what it needs")]

pub mod shapes;

use crate::decoding::Random;

/// Bits in Deflate's order.
#[derive(Clone, Default)]
pub struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

/// What a block says.
#[derive(Clone, Copy)]
pub enum Token {
    Literal(u8),
    /// Length and distance.
    Match(usize, usize),
}

/// The lengths of the codes of a block.
#[derive(Clone)]
pub struct Codes {
    pub literals: Vec<u8>,
    pub distances: Vec<u8>,
}

const LENGTH_BASE: [usize; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
const LENGTH_EXTRA: [u32; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
/// The code of code lengths of every dynamic block here: complete, with a code for every symbol.
const LENGTH_CODE: [u8; 19] = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5];
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

impl Codes {
    pub fn fixed() -> Self {
        let literals = (0..288)
            .map(|i| match i {
                0..144 => 8,
                144..256 => 9,
                256..280 => 7,
                _ => 8,
            })
            .collect();
        Self { literals, distances: vec![5; 32] }
    }

    /// Complete codes of random shape for all symbols, up to 15 bits long.
    pub fn random(random: &mut Random) -> Self {
        Self { literals: tree(random, 286), distances: tree(random, 30) }
    }
}

/// Code lengths of a random complete code.
pub fn tree(random: &mut Random, symbols: usize) -> Vec<u8> {
    let mut leaves = vec![0_u8];
    let slope = 1 + random.below(3);
    while leaves.len() < symbols {
        // Splitting the newest leaves makes long codes.
        let at = leaves.len() - 1 - random.below(leaves.len().div_ceil(slope * slope));
        if leaves[at] < 15 {
            leaves[at] += 1;
            leaves.push(leaves[at]);
        } else if let Some(leaf) = leaves.iter().position(|&l| l < 10) {
            leaves[leaf] += 1;
            leaves.push(leaves[leaf]);
        }
    }
    for i in (1..leaves.len()).rev() {
        leaves.swap(i, random.below(i + 1));
    }
    leaves
}

/// The code of a symbol, bits reversed as they are written.
fn code(lengths: &[u8], symbol: usize) -> (u32, u32) {
    let length = lengths[symbol];
    assert_ne!(length, 0, "symbol {symbol} has no code");
    let mut value = 0_u32;
    for (i, &l) in lengths.iter().enumerate() {
        if l != 0 && (l < length || (l == length && i < symbol)) {
            value += 1 << (15 - u32::from(l));
        }
    }
    let length = u32::from(length);
    ((value >> (15 - length)).reverse_bits() >> (32 - length), length)
}

impl Bits {
    /// A stream's begin: the zlib header.
    pub fn zlib() -> Self {
        Self { bytes: vec![0x78, 0x9C], used: 0 }
    }

    /// Whole bytes so far, the last one perhaps with room.
    pub fn len(&self) -> usize {
        self.bytes.len() - usize::from(!self.used.is_multiple_of(8))
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn put(&mut self, value: u32, count: u32) {
        for i in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= ((value >> i & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }

    pub fn symbol(&mut self, lengths: &[u8], symbol: usize) {
        let (value, count) = code(lengths, symbol);
        self.put(value, count);
    }

    pub fn stored(&mut self, last: bool, data: &[u8]) {
        self.put(last.into(), 3);
        self.used = self.used.next_multiple_of(8);
        let len = data.len() as u16;
        self.bytes.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
        self.bytes.extend(data);
    }

    /// The header of a dynamic block; the counts are those of the lengths.
    pub fn dynamic(&mut self, last: bool, codes: &Codes, random: &mut Random) {
        self.put(u32::from(last) | 4, 3);
        self.put(codes.literals.len() as u32 - 257, 5);
        self.put(codes.distances.len() as u32 - 1, 5);
        self.put(15, 4);
        ORDER.iter().for_each(|&symbol| self.put(LENGTH_CODE[symbol].into(), 3));
        self.lengths(&[&codes.literals[..], &codes.distances].concat(), random);
    }

    /// Code lengths, runs of them now and then by a code for runs.
    fn lengths(&mut self, lengths: &[u8], random: &mut Random) {
        let mut i = 0;
        while i < lengths.len() {
            let run = lengths[i..].iter().take_while(|&&l| l == lengths[i]).count();
            let want = random.below(run + 1);
            let (symbol, extra, taken) = match (lengths[i], want) {
                (0, 11..) => (18, 7, want.min(138)),
                (0, 3..11) => (17, 3, want),
                (_, 3..) if i > 0 && lengths[i - 1] == lengths[i] => (16, 2, want.min(6)),
                (length, _) => (length.into(), 0, 1),
            };
            self.symbol(&LENGTH_CODE, symbol);
            let base = [3, 3, 11].get(symbol.wrapping_sub(16)).copied().unwrap_or(0);
            self.put((taken.max(base) - base) as u32, extra);
            i += taken;
        }
    }

    /// One symbol of the code of code lengths, with its extra bits.
    pub fn length(&mut self, symbol: usize, extra: u32) {
        self.symbol(&LENGTH_CODE, symbol);
        self.put(extra, [2, 3, 7].get(symbol.wrapping_sub(16)).copied().unwrap_or(0));
    }

    /// The header of a dynamic block without its code lengths: counts as they are written.
    pub fn dynamic_counts(&mut self, literals: u32, distances: u32) {
        self.put(5, 3);
        self.put(literals - 257, 5);
        self.put(distances - 1, 5);
        self.put(15, 4);
        ORDER.iter().for_each(|&symbol| self.put(LENGTH_CODE[symbol].into(), 3));
    }

    pub fn tokens(&mut self, codes: &Codes, tokens: &[Token]) {
        for token in tokens {
            match *token {
                Token::Literal(byte) => self.symbol(&codes.literals, byte.into()),
                Token::Match(length, distance) => {
                    let symbol = LENGTH_BASE.iter().rposition(|&base| base <= length).unwrap();
                    self.symbol(&codes.literals, 257 + symbol);
                    self.put((length - LENGTH_BASE[symbol]) as u32, LENGTH_EXTRA[symbol]);
                    let (symbol, base, extra) = distance_symbol(distance);
                    self.symbol(&codes.distances, symbol);
                    self.put((distance - base) as u32, extra);
                }
            }
        }
        self.symbol(&codes.literals, 256);
    }

    /// A whole block of fixed codes.
    pub fn fixed(&mut self, last: bool, tokens: &[Token]) {
        self.put(u32::from(last) | 2, 3);
        self.tokens(&Codes::fixed(), tokens);
    }

    /// The stream, with the Adler-32 of `data`.
    pub fn finish(mut self, data: &[u8]) -> Vec<u8> {
        self.bytes.extend(libdeflater::adler32(data).to_be_bytes());
        self.bytes
    }
}

fn distance_symbol(distance: usize) -> (usize, usize, u32) {
    let mut base = 1;
    for symbol in 0.. {
        let extra = if symbol < 4 { 0 } else { symbol as u32 / 2 - 1 };
        if distance < base + (1 << extra) {
            return (symbol, base, extra);
        }
        base += 1 << extra;
    }
    unreachable!()
}

/// What tokens give after `data`.
pub fn apply(data: &mut Vec<u8>, tokens: &[Token]) {
    for token in tokens {
        match *token {
            Token::Literal(byte) => data.push(byte),
            Token::Match(length, distance) => {
                for _ in 0..length {
                    data.push(data[data.len() - distance]);
                }
            }
        }
    }
}

/// Tokens of all kinds: near and far, long and short, one on the other.
pub fn random_tokens(random: &mut Random, count: usize, have: usize) -> Vec<Token> {
    let mut len = have;
    (0..count)
        .map(|_| {
            let reach = [1, 4, 9, 130, 600, 32_768][random.below(6)].min(len);
            let long = [3, 6, 16, 40, 258][random.below(5)];
            if reach == 0 || random.below(3) == 0 {
                len += 1;
                return Token::Literal(random.below(256) as u8);
            }
            let length = 3 + random.below(long - 2);
            len += length;
            Token::Match(length, 1 + random.below(reach))
        })
        .collect()
}
