//! Coding passes of a code-block and their codeword segments (ISO 15444-1, B.10.6 and B.10.7; 15444-15, annex B for
//! high throughput).

use super::header_bits::{HeaderBits, Wrong};
use super::{BEFORE_BYPASS, Piece, Segment, Style};

/// No contribution.
pub(super) const NONE: u32 = u32::MAX;
/// Initial number of bits of a length.
const FIRST_LENGTH_BITS: u8 = 3;
const MOST_LENGTH_BITS: u32 = 32;
/// Passes of a high-throughput set: cleanup, significance propagation, magnitude refinement.
const HIGH_THROUGHPUT_SET: u8 = 3;

/// Bytes of one codeword segment in one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contribution {
    /// Offset in the codestream.
    pub(super) offset: u32,
    pub(super) len: u32,
    passes: u8,
    /// Whether it begins a segment.
    fresh: bool,
    /// The next contribution of the same code-block, or `NONE`.
    pub(super) next: u32,
}

/// Reading state of a code-block's passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passes {
    count: u8,
    /// Passes that the current segment can still take.
    room: u8,
    /// Bits of lengths, less those for the number of passes.
    length_bits: u8,
}

impl Default for Passes {
    fn default() -> Self {
        Self { count: 0, room: 0, length_bits: FIRST_LENGTH_BITS }
    }
}

impl Passes {
    pub(super) fn begun(&self) -> bool {
        self.count > 0
    }

    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// Reads the number of new passes and the lengths of their bytes. Returns how many bit planes were skipped with
    /// placeholder passes, which only high-throughput code-blocks have.
    pub(super) fn read(
        &mut self,
        bits: &mut HeaderBits<'_>,
        style: Style,
        mut add: impl FnMut(Contribution) -> Result<(), Wrong>,
    ) -> Result<u8, Wrong> {
        let mut left = new_passes(bits)?;
        let too_long = Wrong::Corrupt("a length of more than 32 bits");
        while bits.bit()? {
            self.length_bits = self.length_bits.checked_add(1).ok_or(too_long)?;
        }
        let mut skipped = 0;
        if style.high_throughput {
            if self.count == 0 {
                skipped = (left - 1) / HIGH_THROUGHPUT_SET;
                left -= skipped * HIGH_THROUGHPUT_SET;
            } else if self.count + left > HIGH_THROUGHPUT_SET {
                return Err(Wrong::Unsupported("more than one high-throughput set in a code-block"));
            }
        }
        // Placeholder passes belong to the segment of the cleanup pass after them.
        let mut before = skipped * HIGH_THROUGHPUT_SET;
        while left > 0 {
            let fresh = self.room == 0;
            if fresh {
                self.room = capacity(style, self.count);
            }
            let passes = left.min(self.room);
            let length_bits = u32::from(self.length_bits) + u32::from(before + passes).ilog2();
            if length_bits > MOST_LENGTH_BITS {
                return Err(too_long);
            }
            let len = bits.number(length_bits)?;
            before = 0;
            left -= passes;
            self.room -= passes;
            self.count = self.count.checked_add(passes).ok_or(Wrong::Corrupt("too many coding passes"))?;
            add(Contribution { offset: 0, len, passes, fresh, next: NONE })?;
        }
        Ok(skipped)
    }
}

/// Returns the number of passes in a segment that begins with pass `first`.
fn capacity(style: Style, first: u8) -> u8 {
    if style.high_throughput {
        return if first == 0 { 1 } else { HIGH_THROUGHPUT_SET - 1 };
    }
    match (style.terminate, style.bypass) {
        (true, _) => 1,
        (false, false) => u8::MAX,
        (false, true) if first < BEFORE_BYPASS => BEFORE_BYPASS,
        // Then alternately two raw passes and a cleanup pass.
        (false, true) if first % 3 == 1 => 2,
        (false, true) => 1,
    }
}

/// Returns the number of new passes, 1 to 164 (table B.4).
fn new_passes(bits: &mut HeaderBits<'_>) -> Result<u8, Wrong> {
    for (width, base) in [(1, 1), (1, 2), (2, 3), (5, 6)] {
        let number = bits.number(width)?;
        if number != (1 << width) - 1 {
            return Ok(base + u8::try_from(number).unwrap_or_default());
        }
    }
    Ok(37 + u8::try_from(bits.number(7)?).unwrap_or_default())
}

/// Appends the segments and the pieces of a code-block, from its contribution `first` on: at most as many as it has
/// contributions. Returns the number of its bytes.
pub(super) fn collect(
    contributions: &[Contribution],
    first: u32,
    base: usize,
    segments: &mut Vec<Segment>,
    pieces: &mut Vec<Piece>,
) -> Option<u32> {
    let own_pieces = pieces.len();
    let mut len = 0_u32;
    let mut at = first;
    while let Some(contribution) = contributions.get(at as usize) {
        at = contribution.next;
        let offset = u32::try_from(base).ok()?.checked_add(contribution.offset)?;
        len = len.checked_add(contribution.len)?;
        match segments.last_mut().filter(|_| !contribution.fresh) {
            Some(segment) => {
                segment.len += contribution.len;
                segment.passes += contribution.passes;
            }
            None => segments.push(Segment { len: contribution.len, passes: contribution.passes }),
        }
        if contribution.len == 0 {
            continue;
        }
        match pieces.get_mut(own_pieces..).and_then(<[Piece]>::last_mut) {
            Some(last) if last.offset + last.len == offset => last.len += contribution.len,
            _ => pieces.push(Piece { offset, len: contribution.len }),
        }
    }
    Some(len)
}
