//! Bits of packet headers (ISO 15444-1, B.10.1): high bits first; a byte of ones is followed by one of seven bits.

use super::memory::NoMemory;

/// Error in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The bytes end within the packet.
    Ended,
    /// The packet is invalid.
    Corrupt(&'static str),
    /// The packet is valid, but uses an unsupported feature.
    Unsupported(&'static str),
    /// There is no memory for its contents.
    Memory(NoMemory),
}

impl From<NoMemory> for Wrong {
    fn from(none: NoMemory) -> Self {
        Self::Memory(none)
    }
}

/// Bits of a packet header.
pub(super) struct HeaderBits<'a> {
    bytes: &'a [u8],
    /// Number of bytes read.
    at: usize,
    last: u8,
    /// Remaining bits of `last`.
    left: u32,
}

impl<'a> HeaderBits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, last: 0, left: 0 }
    }

    pub(super) fn bit(&mut self) -> Result<bool, Wrong> {
        if self.left == 0 {
            self.left = if self.last == 0xFF { 7 } else { 8 };
            self.last = *self.bytes.get(self.at).ok_or(Wrong::Ended)?;
            self.at += 1;
            if self.left == 7 && self.last > 0x7F {
                return Err(Wrong::Corrupt("a marker within its header"));
            }
        }
        self.left -= 1;
        Ok(self.last >> self.left & 1 != 0)
    }

    /// Returns a number of `count` bits, 32 at most.
    pub(super) fn number(&mut self, count: u32) -> Result<u32, Wrong> {
        (0..count).try_fold(0, |number, _| Ok(number << 1 | u32::from(self.bit()?)))
    }

    /// Returns the bytes of the header, which ends with the byte that the last bit came from.
    pub(super) fn end(mut self) -> Result<usize, Wrong> {
        self.left = 0;
        if self.last == 0xFF {
            self.bit()?;
        }
        Ok(self.at)
    }
}
