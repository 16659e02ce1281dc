//! Writes bits to bytes, lowest bit first.

/// Appends bits to a vector.
pub(super) struct Bits<'a> {
    dst: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(dst: &'a mut Vec<u8>) -> Self {
        Self { dst, held: 0, count: 0 }
    }

    /// Appends a value of `count` bits, at most 32; higher bits must be 0.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u32, count: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += count;
        if self.count >= 32 {
            let [a, b, c, d, ..] = self.held.to_le_bytes();
            self.dst.extend_from_slice(&[a, b, c, d]);
            self.held >>= 32;
            self.count -= 32;
        }
    }

    /// Appends zero bits up to a whole byte; returns how many.
    pub(super) fn align(&mut self) -> u32 {
        let padding = self.padding(0);
        self.count += padding;
        let whole = (self.count / 8) as usize;
        self.dst.extend(self.held.to_le_bytes().into_iter().take(whole));
        (self.held, self.count) = (0, 0);
        padding
    }

    /// Returns the number of zero bits to a whole byte after `more` further bits.
    pub(super) fn padding(&self, more: u32) -> u32 {
        (self.count + more).wrapping_neg() % 8
    }

    /// Pads to a byte boundary and appends bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.align();
        self.dst.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_fill_bytes_from_the_lowest_place() {
        let mut dst = vec![7];
        let mut bits = Bits::new(&mut dst);
        bits.put(1, 1);
        bits.put(0b10, 2);
        assert_eq!(bits.padding(3), 2);
        bits.put(u32::MAX, 32);
        assert_eq!(bits.align(), 5);
        bits.bytes(&[9]);
        assert_eq!(dst, [7, 0b1111_1101, 0xFF, 0xFF, 0xFF, 0b111, 9]);
    }
}
