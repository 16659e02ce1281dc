//! Rust counterparts of `kernels/jpeg2000/jpeg2000_abi.h`, which defines the fields.

#![expect(unsafe_code, reason = "structs as the bytes they are")]

use crate::abi::{Address, Plain};

/// `Jpeg2000Segment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Segment {
    pub(super) words: Address,
    pub(super) len: u32,
    pub(super) passes: u16,
    pub(super) raw: u16,
}

pub(super) const RESET: u8 = 1;
pub(super) const CAUSAL: u8 = 2;
pub(super) const SEGMENTATION: u8 = 4;
pub(super) const REVERSIBLE: u8 = 8;

/// `Jpeg2000Block`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct Block {
    pub(super) state: Address,
    pub(super) out: Address,
    pub(super) segment: u32,
    pub(super) status: u32,
    pub(super) stride: u32,
    pub(super) scale: f32,
    pub(super) width: u16,
    pub(super) height: u16,
    pub(super) band: u8,
    pub(super) planes: u8,
    pub(super) passes: u8,
    pub(super) flags: u8,
}

/// `Jpeg2000BlockArgs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct BlockArgs {
    pub(super) segments: Address,
    pub(super) blocks: Address,
    pub(super) statuses: Address,
    pub(super) segment_count: u32,
    pub(super) count: u32,
    pub(super) lanes: u32,
    pub(super) reserved: u32,
}

/// `Jpeg2000Level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Level {
    pub(super) plane: Address,
    pub(super) spare: Address,
    pub(super) stride: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) odd_x: u8,
    pub(super) odd_y: u8,
    pub(super) reversible: u8,
    pub(super) reserved: u8,
}

/// `Jpeg2000LevelArgs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct LevelArgs {
    pub(super) levels: Address,
    pub(super) count: u32,
    pub(super) reserved: u32,
}

/// `Jpeg2000Plane`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Plane {
    pub(super) plane: Address,
    pub(super) x0: u32,
    pub(super) y0: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) dx: u32,
    pub(super) dy: u32,
    pub(super) bits: u32,
    pub(super) is_signed: u16,
    pub(super) reversible: u16,
}

/// `Jpeg2000Tile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Tile {
    pub(super) dst: Address,
    pub(super) planes: u32,
    pub(super) samples: u32,
    pub(super) x0: u32,
    pub(super) y0: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) left: u32,
    pub(super) top: u32,
    pub(super) row_pixels: u32,
    pub(super) status: u32,
    pub(super) colour: u8,
    pub(super) ycbcr: u8,
    pub(super) bytes: u8,
    pub(super) reserved: [u8; 5],
}

/// `Jpeg2000TileArgs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct TileArgs {
    pub(super) tiles: Address,
    pub(super) planes: Address,
    pub(super) statuses: Address,
    pub(super) count: u32,
    pub(super) reserved: u32,
}

const _: () = assert!(size_of::<Segment>() == 16 && size_of::<Block>() == 40);
const _: () = assert!(size_of::<Level>() == 32 && size_of::<Plane>() == 40 && size_of::<Tile>() == 56);
const _: () = assert!(size_of::<BlockArgs>() == 40 && size_of::<LevelArgs>() == 16);
const _: () = assert!(size_of::<TileArgs>() == 32);

// SAFETY: numbers of decreasing size that fill the struct, as asserted.
unsafe impl Plain for Segment {}
// SAFETY: as above.
unsafe impl Plain for Block {}
// SAFETY: as above.
unsafe impl Plain for Level {}
// SAFETY: as above.
unsafe impl Plain for Plane {}
// SAFETY: as above.
unsafe impl Plain for Tile {}

/// Returns the working memory of a code-block in bytes, a multiple of 16, as laid out by `kept_in` of
/// `jpeg2000_groups.cuh`.
pub(super) fn state_len(width: u16, height: u16, planes: u8) -> u64 {
    let stride = (u64::from(width).div_ceil(8) + 1).max(3);
    let stripes = u64::from(height).div_ceil(4);
    let signs = (stripes + 2) * stride + 3;
    let groups = stripes * stride + 2;
    let bits = (stripes * stride * u64::from(planes) * 4).next_multiple_of(16);
    16 * (signs + groups) + bits
}

/// Returns the same for a high-throughput code-block, as in `jpeg2000_ht.cu`: its values if there are passes after the
/// first, and a line of context from above if it is wide.
pub(super) fn ht_state_len(width: u16, height: u16, passes: u8) -> u64 {
    let values = if passes > 1 { 4 * u64::from(width) * u64::from(height) } else { 0 };
    let line = if width > 64 { u64::from(width) / 2 + 2 } else { 0 };
    values.next_multiple_of(16) + line.next_multiple_of(16)
}
