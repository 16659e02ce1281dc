//! The bit streams of high-throughput code-blocks (ISO 15444-15, 7.1): two that go forwards, low bits first
//! (magnitudes with signs; significance propagation), two that go backwards (codes of quads; magnitude
//! refinement), and the adaptive run lengths (MEL), high bits first.

/// Low bits first; after `0xFF` the next byte has seven bits.
pub(super) struct Forward<'a> {
    bytes: &'a [u8],
    held: u64,
    count: u32,
    stuffed: bool,
    /// What follows the last byte.
    fill: u8,
}

impl<'a> Forward<'a> {
    pub(super) fn new(bytes: &'a [u8], fill: u8) -> Self {
        Self { bytes, held: 0, count: 0, stuffed: false, fill }
    }

    /// The next 32 bits, the first of them lowest.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    pub(super) fn peek(&mut self) -> u32 {
        if self.count < 32 {
            self.fetch();
        }
        self.held as u32
    }

    /// Goes on by at most 32 bits, which were looked at.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.held >>= count;
        self.count = self.count.saturating_sub(count);
    }

    #[inline(always)]
    fn fetch(&mut self) {
        if let Some((chunk, rest)) = self.bytes.split_first_chunk::<4>()
            && !self.stuffed
            && !has_ones(u32::from_le_bytes(*chunk))
        {
            self.held |= u64::from(u32::from_le_bytes(*chunk)) << self.count;
            self.count += 32;
            self.bytes = rest;
            return;
        }
        while self.count <= 48 {
            let byte = match self.bytes.split_first() {
                Some((&byte, rest)) => {
                    self.bytes = rest;
                    byte
                }
                None => self.fill,
            };
            let width = 8 - u32::from(self.stuffed);
            self.held |= (u64::from(byte) & ((1 << width) - 1)) << self.count;
            self.count += width;
            self.stuffed = byte == 0xFF;
        }
    }
}

/// Whether one of the four bytes is `0xFF`.
fn has_ones(word: u32) -> bool {
    (!word).wrapping_sub(0x0101_0101) & word & 0x8080_8080 != 0
}

/// From the last byte to the first, low bits first; a byte whose lower seven bits are ones has only those
/// where the byte before it was above `0x8F`. Zeros follow the last.
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    held: u64,
    count: u32,
    stuffed: bool,
}

impl<'a> Backward<'a> {
    /// Codes of quads: the last byte and a half tell the length of the stream.
    pub(super) fn codes(bytes: &'a [u8], half: u8) -> Self {
        let held = u64::from(half >> 4);
        let count = 4 - u32::from(held & 7 == 7);
        Self { bytes, held: held & ((1 << count) - 1), count, stuffed: half | 15 > 0x8F }
    }

    pub(super) fn refinement(bytes: &'a [u8]) -> Self {
        Self { bytes, held: 0, count: 0, stuffed: true }
    }

    /// The next 32 bits, the first of them lowest.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    pub(super) fn peek(&mut self) -> u32 {
        if self.count < 32 {
            self.fetch();
        }
        self.held as u32
    }

    /// Goes on by at most 32 bits, which were looked at.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.held >>= count;
        self.count = self.count.saturating_sub(count);
    }

    #[inline(always)]
    fn fetch(&mut self) {
        if let Some((rest, chunk)) = self.bytes.split_last_chunk::<4>()
            && !has_ones(u32::from_be_bytes(*chunk) | 0x8080_8080)
        {
            self.held |= u64::from(u32::from_be_bytes(*chunk)) << self.count;
            self.count += 32;
            self.stuffed = chunk[0] > 0x8F;
            self.bytes = rest;
            return;
        }
        while self.count <= 48 {
            let byte = match self.bytes.split_last() {
                Some((&byte, rest)) => {
                    self.bytes = rest;
                    byte
                }
                None => 0,
            };
            let width = 8 - u32::from(self.stuffed && byte & 0x7F == 0x7F);
            self.held |= (u64::from(byte) & ((1 << width) - 1)) << self.count;
            self.count += width;
            self.stuffed = byte > 0x8F;
        }
    }
}

/// Bits of run lengths for each state.
const RUN_BITS: [u8; 13] = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5];

/// Events that are mostly 0, told as lengths of runs.
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    last: u8,
    left: u32,
    state: usize,
    /// Events of 0 to come, and whether a 1 comes after them.
    zeros: u32,
    one: bool,
}

impl<'a> Runs<'a> {
    /// The low half of the last byte belongs to the codes of quads, and reads as ones here.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, last: 0, left: 0, state: 0, zeros: 0, one: false }
    }

    #[inline(always)]
    pub(super) fn event(&mut self) -> bool {
        if self.zeros == 0 && !self.one {
            self.run();
        }
        if self.zeros > 0 {
            self.zeros -= 1;
            return false;
        }
        self.one = false;
        true
    }

    fn run(&mut self) {
        let bits = RUN_BITS.get(self.state).copied().unwrap_or_default();
        if self.bit() == 1 {
            self.zeros = 1 << bits;
            self.state = (self.state + 1).min(RUN_BITS.len() - 1);
        } else {
            self.zeros = (0..bits).fold(0, |run, _| run << 1 | self.bit());
            self.one = true;
            self.state = self.state.saturating_sub(1);
        }
    }

    fn bit(&mut self) -> u32 {
        if self.left == 0 {
            self.left = if self.last == 0xFF { 7 } else { 8 };
            self.last = match *self.bytes {
                [] => 0xFF,
                [last] => last | 15,
                [first, ..] => first,
            };
            self.bytes = self.bytes.get(1..).unwrap_or_default();
        }
        self.left -= 1;
        u32::from(self.last >> self.left & 1)
    }
}
