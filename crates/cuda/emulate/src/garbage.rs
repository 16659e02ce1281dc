//! Bytes that mean nothing, different for every seed: what uninitialised memory holds in tests.

/// An endless sequence of bytes made from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Garbage {
    state: u64,
    word: u64,
    left: u32,
}

impl Garbage {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(0x1234_5678_9ABC_DEF1),
            word: 0,
            left: 0,
        }
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Fills `bytes` with what comes next.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.byte());
    }

    fn byte(&mut self) -> u8 {
        if self.left == 0 {
            self.word = self.word();
            self.left = 8;
        }
        let byte = self.word.to_le_bytes()[0];
        self.word >>= 8;
        self.left -= 1;
        byte
    }
}
