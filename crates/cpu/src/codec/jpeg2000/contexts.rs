//! Contexts of the coding passes (ISO 15444-1, annex D) by the neighbours of a coefficient, for encoding and decoding.

use strile_codestream::jpeg2000::Band;

/// The neighbour is significant.
pub(super) const NE: u16 = 1;
pub(super) const SE: u16 = 1 << 1;
pub(super) const SW: u16 = 1 << 2;
pub(super) const NW: u16 = 1 << 3;
pub(super) const N: u16 = 1 << 4;
pub(super) const E: u16 = 1 << 5;
pub(super) const S: u16 = 1 << 6;
pub(super) const W: u16 = 1 << 7;
/// Any neighbour is significant.
pub(super) const AROUND: u16 = 0xFF;
/// The neighbour is negative.
pub(super) const N_NEGATIVE: u16 = 1 << 8;
pub(super) const E_NEGATIVE: u16 = 1 << 9;
pub(super) const S_NEGATIVE: u16 = 1 << 10;
pub(super) const W_NEGATIVE: u16 = 1 << 11;

/// Context of runs of four.
pub(super) const RUN: u8 = 17;
/// Context without adaptation.
pub(super) const UNIFORM: u8 = 18;

/// Returns the context by the significance of the neighbours (table D.1).
pub(super) const fn zero_context(around: u16, band: Band) -> u8 {
    let across = (around & E != 0) as u8 + (around & W != 0) as u8;
    let down = (around & N != 0) as u8 + (around & S != 0) as u8;
    let diagonal = (around & NE != 0) as u8
        + (around & SE != 0) as u8
        + (around & SW != 0) as u8
        + (around & NW != 0) as u8;
    let (across, down) = match band {
        Band::Hl => (down, across),
        _ => (across, down),
    };
    match band {
        Band::Hh => match (diagonal, across + down) {
            (3.., _) => 8,
            (2, 1..) => 7,
            (2, 0) => 6,
            (1, 2..) => 5,
            (1, 1) => 4,
            (1, 0) => 3,
            (0, 2..) => 2,
            (0, other) => other,
        },
        _ => match (across, down, diagonal) {
            (2.., _, _) => 8,
            (1, 1.., _) => 7,
            (1, 0, 1..) => 6,
            (1, 0, 0) => 5,
            (0, 2.., _) => 4,
            (0, 1, _) => 3,
            (0, 0, 2..) => 2,
            (0, 0, other) => other,
        },
    }
}

/// Returns the context of a sign by bits 4 to 11 of the flags (table D.3); the highest bit is the bit that the sign is
/// XORed with.
pub(super) const fn sign_context(flags: u16) -> u8 {
    let across = nearest(flags, (E, E_NEGATIVE), (W, W_NEGATIVE));
    let down = nearest(flags, (N, N_NEGATIVE), (S, S_NEGATIVE));
    match (across, down) {
        (1, 1) => 13,
        (1, 0) => 12,
        (1, -1) => 11,
        (0, 1) => 10,
        (0, 0) => 9,
        (0, -1) => 10 | 0x80,
        (-1, 1) => 11 | 0x80,
        (-1, 0) => 12 | 0x80,
        _ => 13 | 0x80,
    }
}

/// Returns the combined sign of two opposite neighbours (D.3.2).
const fn nearest(flags: u16, a: (u16, u16), b: (u16, u16)) -> i8 {
    let (mut positive, mut negative) = (0, 0);
    if flags & a.0 != 0 {
        if flags & a.1 != 0 { negative = 1 } else { positive = 1 }
    }
    if flags & b.0 != 0 {
        if flags & b.1 != 0 { negative = 1 } else { positive = 1 }
    }
    positive - negative
}
