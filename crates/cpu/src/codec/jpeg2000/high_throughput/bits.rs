//! Bit streams of high-throughput code-blocks (ISO 15444-15, 7.1): two forward streams, low bits first (magnitudes with
//! signs; significance propagation), two backward streams (codes of quads; magnitude refinement), and the adaptive run
//! lengths (MEL), high bits first.
//!
//! The first four are packed before they are read: stuffed bits are removed, and low bits come first. One load then
//! reads many bits from any position.

use crate::pool::Buffer;

/// Bytes after the bits of a packed stream, so that loads near its end stay in bounds.
const MARGIN: usize = 64;

/// Bits of a stream without stuffed bits, low bits first.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    /// Number of bits from the stream.
    len: usize,
}

impl Packed {
    /// Returns the buffer.
    pub(super) fn buffer(&mut self) -> &mut dyn Buffer {
        &mut self.bytes
    }

    /// Packs a forward stream: after `0xFF` a byte has seven bits. Its end is followed by ones or by zeros.
    #[inline(always)]
    pub(super) fn forward(&mut self, bytes: &[u8], ones_follow: bool) {
        let mut packer = Packer::new(&mut self.bytes, bytes.len(), ones_follow);
        let mut stuffed = false;
        let slow = |packer: &mut Packer<'_>, byte: u8, stuffed: bool| {
            packer.put(byte, 8 - u32::from(stuffed));
            byte == 0xFF
        };
        let (words, rest) = bytes.as_chunks::<8>();
        for chunk in words {
            let word = u64::from_le_bytes(*chunk);
            if !stuffed && !has_ones(word) {
                packer.put_word(word);
            } else {
                stuffed = chunk.iter().fold(stuffed, |stuffed, &byte| slow(&mut packer, byte, stuffed));
            }
        }
        rest.iter().fold(stuffed, |stuffed, &byte| slow(&mut packer, byte, stuffed));
        self.len = packer.finish(ones_follow);
    }

    /// Packs the codes of quads, which run backwards, starting with half a byte.
    #[inline(always)]
    pub(super) fn codes(&mut self, bytes: &[u8], half: u8) {
        let mut packer = Packer::new(&mut self.bytes, bytes.len(), false);
        packer.put(half >> 4, 4 - u32::from(half >> 4 & 7 == 7));
        self.len = backward(packer, bytes, half | 15 > 0x8F);
    }

    /// Packs the bits of magnitude refinement, which run backwards.
    pub(super) fn refinement(&mut self, bytes: &[u8]) {
        self.len = backward(Packer::new(&mut self.bytes, bytes.len(), false), bytes, true);
    }

    /// Returns the number of bits from the stream.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the bits as bytes, with at least `MARGIN` bytes after them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns at least 57 bits from bit `at` on, the first of them lowest.
    #[inline(always)]
    pub(super) fn from(&self, at: usize) -> u64 {
        let chunk = self.bytes.get(at / 8..).and_then(|rest| rest.first_chunk());
        chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk)) >> (at % 8)
    }

    /// Returns a reader from the first bit on; zeros follow the last.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader { bytes: &self.bytes, at: 0, held: 0, count: 0 }
    }
}

/// Returns whether one of the eight bytes is `0xFF`.
#[inline(always)]
fn has_ones(word: u64) -> bool {
    (!word).wrapping_sub(0x0101_0101_0101_0101) & word & 0x8080_8080_8080_8080 != 0
}

/// Packs from the last byte to the first: a byte whose lower seven bits are ones has only those if the byte read before
/// it was above `0x8F`.
#[inline(always)]
fn backward(mut packer: Packer<'_>, bytes: &[u8], mut stuffed: bool) -> usize {
    let slow = |packer: &mut Packer<'_>, byte: u8, stuffed: bool| {
        packer.put(byte, 8 - u32::from(stuffed && byte & 0x7F == 0x7F));
        byte > 0x8F
    };
    let (rest, words) = bytes.as_rchunks::<8>();
    for chunk in words.iter().rev() {
        let word = u64::from_be_bytes(*chunk);
        if has_ones(word | 0x8080_8080_8080_8080) {
            stuffed = chunk.iter().rev().fold(stuffed, |stuffed, &byte| slow(&mut packer, byte, stuffed));
        } else {
            packer.put_word(word);
            stuffed = word >> 56 > 0x8F;
        }
    }
    rest.iter().rev().fold(stuffed, |stuffed, &byte| slow(&mut packer, byte, stuffed));
    packer.finish(false)
}

/// Destination of packed bits.
struct Packer<'a> {
    out: &'a mut [u8],
    at: usize,
    held: u64,
    /// Pending bits, below 64.
    count: u32,
}

impl<'a> Packer<'a> {
    /// Reserves `len` bytes and a half.
    #[inline(always)]
    fn new(out: &'a mut Vec<u8>, len: usize, ones_follow: bool) -> Self {
        out.clear();
        out.resize(len + 16 + MARGIN, if ones_follow { 0xFF } else { 0 });
        Self { out, at: 0, held: 0, count: 0 }
    }

    #[inline(always)]
    fn put_word(&mut self, word: u64) {
        self.store(self.held | word << self.count);
        self.held = word >> 1 >> (63 - self.count);
    }

    /// Appends the lower `width` bits, at most 8.
    #[inline(always)]
    fn put(&mut self, bits: u8, width: u32) {
        let bits = u64::from(bits) & ((1 << width) - 1);
        self.held |= bits << self.count;
        self.count += width;
        if self.count >= 64 {
            self.store(self.held);
            self.count -= 64;
            self.held = bits >> (width - self.count);
        }
    }

    #[inline(always)]
    fn store(&mut self, word: u64) {
        if let Some(place) = self.out.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = word.to_le_bytes();
        }
        self.at += 8;
    }

    /// Returns the number of packed bits.
    #[inline(always)]
    fn finish(mut self, ones_follow: bool) -> usize {
        let len = 8 * self.at + self.count as usize;
        let after = if ones_follow { u64::MAX << self.count } else { 0 };
        self.store(self.held | after);
        len
    }
}

/// Read position in a packed stream.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
}

impl Reader<'_> {
    /// Returns the next 56 bits, the first of them lowest.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u64 {
        let chunk = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        self.held |= chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk)) << self.count;
        self.at += (63 - self.count as usize) / 8;
        self.count |= 56;
        self.held
    }

    /// Skips at most 56 bits, which were peeked.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.held >>= count;
        self.count -= count;
    }

    /// Reads the next bit.
    #[inline(always)]
    pub(super) fn bit(&mut self) -> bool {
        if self.count == 0 {
            self.peek();
        }
        let bit = self.held & 1 != 0;
        self.skip(1);
        bit
    }
}

/// Number of run length bits per state.
const RUN_BITS: [u8; 13] = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5];

/// Events that are mostly 0, coded as run lengths.
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    last: u8,
    /// The next bits, the first of them highest.
    held: u64,
    count: u32,
    state: usize,
    /// Twice the number of remaining 0 events, plus one if a 1 follows them.
    run: u32,
}

impl<'a> Runs<'a> {
    /// Returns a reader of `bytes`. The low half of the last byte belongs to the codes of quads and reads as ones here.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, last: 0, held: 0, count: 0, state: 0, run: 0 }
    }

    #[inline(always)]
    pub(super) fn event(&mut self) -> bool {
        if self.run == 0 {
            self.next_run();
        }
        let event = self.run == 1;
        self.run = self.run.saturating_sub(2);
        event
    }

    fn next_run(&mut self) {
        if self.count < 6 {
            self.fetch();
        }
        let bits = u32::from(RUN_BITS.get(self.state).copied().unwrap_or_default());
        let used = if self.held >> 63 == 1 {
            self.run = 2 << bits;
            self.state = (self.state + 1).min(RUN_BITS.len() - 1);
            1
        } else {
            #[expect(clippy::cast_possible_truncation, reason = "five bits at most")]
            let zeros = (self.held >> (63 - bits)) as u32;
            self.run = 2 * zeros + 1;
            self.state = self.state.saturating_sub(1);
            1 + bits
        };
        self.held <<= used;
        self.count -= used;
    }

    /// Loads a byte. After `0xFF` a byte has seven bits; ones follow the last byte.
    fn fetch(&mut self) {
        while self.count <= 56 {
            let width = if self.last == 0xFF { 7 } else { 8 };
            self.last = match *self.bytes {
                [] => 0xFF,
                [last] => last | 15,
                [first, ..] => first,
            };
            self.bytes = self.bytes.get(1..).unwrap_or_default();
            let bits = u64::from(self.last) & ((1 << width) - 1);
            self.count += width;
            self.held |= bits << (64 - self.count);
        }
    }
}
