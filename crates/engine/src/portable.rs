//! The numbers of the portable encoders, one set for all engines; what they mean is said in `portable/spec.md`.
//!
//! Changing one changes bytes, and with them the version that `Encoder::PORTABLE` names.

/// Bytes of a part, which is coded by itself.
pub const PART: usize = 32 << 10;
/// Bytes that a key is made of.
pub const KEY: usize = 5;
/// Bits of a key.
pub const KEY_BITS: u32 = 13;
/// The most bytes a match may go back.
pub const WINDOW: usize = 32 << 10;
/// The shortest match.
pub const LEAST: usize = 4;
/// The longest match.
pub const MOST: usize = 258;
/// Bits that a byte of a match is worth when two matches are compared.
pub const GAIN_A_BYTE: u32 = 3;
/// Bits by which the match of the next position must be better.
pub const GAIN_AHEAD: u32 = 4;

/// Bytes of a segment of LZW, which has a table of its own.
pub const LZW_SEGMENT: usize = 16 << 10;

/// How hard to look for matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Candidates of a position; 0 is runs alone.
    pub depth: u32,
    /// A match of so many bytes ends a search.
    pub nice: u32,
    /// Whether a match gives way to a better one at the next position.
    pub lazy: bool,
}

const fn effort(depth: u32, nice: u32, lazy: bool) -> Effort {
    Effort { depth, nice, lazy }
}

/// What a level of Deflate asks for; those below 1 are 1, those above 12 are 12.
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

/// What a level of ZSTD asks for; those below 1 are 1, those above 22 are 22.
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

/// What LZ4 does, which has no levels.
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
