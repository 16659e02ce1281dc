//! Constants of the portable encoders, shared by all engines; `portable/spec.md` explains them.
//!
//! Changing one changes the encoded bytes, which requires a new version in `Encoder::PORTABLE`.

/// Bytes of a part; parts are coded independently.
pub const PART: usize = 32 << 10;
/// Bytes of a key.
pub const KEY: usize = 5;
/// Bits of a key.
pub const KEY_BITS: u32 = 13;
/// Largest distance of a match in bytes.
pub const WINDOW: usize = 32 << 10;
/// Shortest match.
pub const LEAST: usize = 4;
/// Longest match.
pub const MOST: usize = 258;
/// Bits that each byte of a match counts when two matches are compared.
pub const GAIN_A_BYTE: u32 = 3;
/// Bits by which the match at the next position must be better.
pub const GAIN_AHEAD: u32 = 4;

/// Bytes of an LZW segment; each has its own table.
pub const LZW_SEGMENT: usize = 16 << 10;

/// Effort of the search for matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Candidates per position; 0 finds only runs.
    pub depth: u32,
    /// Length of a match that ends a search.
    pub nice: u32,
    /// Whether a match is dropped for a better one at the next position.
    pub lazy: bool,
}

const fn effort(depth: u32, nice: u32, lazy: bool) -> Effort {
    Effort { depth, nice, lazy }
}

/// Returns the effort of a Deflate level, clamped to 1 to 12.
#[must_use]
pub const fn deflate_effort(level: i32) -> Effort {
    match level {
        ..=1 => effort(0, 258, true),
        2 => effort(1, 128, true),
        3 => effort(2, 128, true),
        4 => effort(4, 128, true),
        5 => effort(6, 128, true),
        6 => effort(8, 128, true),
        7 => effort(16, 128, true),
        8 => effort(32, 258, true),
        9 => effort(64, 258, true),
        10 => effort(128, 258, true),
        11 => effort(256, 258, true),
        12.. => effort(512, 258, true),
    }
}

/// Returns the effort of a ZSTD level, clamped to 1 to 22.
#[must_use]
pub const fn zstd_effort(level: i32) -> Effort {
    match level {
        ..=1 => effort(1, 32, false),
        2 => effort(2, 64, true),
        3..=4 => effort(4, 128, true),
        5..=9 => effort(8, 128, true),
        10..=12 => effort(16, 128, true),
        13..=15 => effort(32, 258, true),
        16..=18 => effort(64, 258, true),
        19..=20 => effort(128, 258, true),
        21 => effort(256, 258, true),
        22.. => effort(512, 258, true),
    }
}

/// Returns the effort of LZ4, which has no levels.
#[must_use]
pub const fn lz4_effort() -> Effort {
    effort(4, 64, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_level_never_looks_less() {
        for (effort, most) in [(deflate_effort as fn(i32) -> Effort, 12), (zstd_effort, 22)] {
            for level in 1..most {
                let (this, next) = (effort(level), effort(level + 1));
                assert!(this.depth <= next.depth, "{level}");
                assert!(level == 1 || this.nice <= next.nice && this.lazy <= next.lazy, "{level}");
            }
            assert_eq!(effort(i32::MIN), effort(1));
            assert_eq!(effort(i32::MAX), effort(most));
        }
    }
}
