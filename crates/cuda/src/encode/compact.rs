//! The last pass of encoding: moves encoded blocks together, and writes one table for the host with the position of
//! each. Arguments of the kernels of `compact.cu`; counterparts of `kernels/blocks/compact_abi.h`.
//!
//! Two launches: `compact_offsets` over the states and sizes, then `compact_blocks`.

use crate::abi::Address;

/// Name of the `.cu` file without its extension.
pub const MODULE: &str = "compact";
/// The first entry point, with a grid of (1, 1): computes the offsets of all blocks and their sum.
pub const OFFSETS: &str = "compact_offsets";
/// Threads per CUDA block of [`OFFSETS`].
pub const OFFSETS_THREADS: u32 = 1024;
/// The second entry point, with the grid [`grid`]: moves blocks to their offsets.
pub const BLOCKS: &str = "compact_blocks";
/// Threads per CUDA block of [`BLOCKS`].
pub const BLOCKS_THREADS: u32 = 256;

/// Bytes that a CUDA block copies at a time, as in the kernel.
const PIECE: u64 = 16 << 10;
/// Number of CUDA blocks beyond which each copies several pieces.
const MANY_BLOCKS: u64 = 1 << 16;

/// Head of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactHead {
    /// Bytes of all blocks together. If they exceed the room, no block was copied.
    pub total: u64,
    /// Always 0.
    pub reserved: u64,
}

/// Table entry of a block, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactEntry {
    /// Offset of its bytes: the sum of all previous sizes.
    pub offset: u64,
    /// Number of its bytes, 0 if its state is not `DONE`.
    pub size: u32,
    /// Its state.
    pub state: u32,
}

/// Arguments of both kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactArgs {
    /// The slab, base address of `EncodeBlock::dst`.
    pub slab: Address,
    /// `EncodeBlock`s in any order: `blocks_count` of them, at most `count`.
    pub blocks: Address,
    /// One `u32` per block.
    pub states: Address,
    /// One `u32` per block, valid if the state is `DONE`.
    pub sizes: Address,
    /// A `CompactHead` and `count` `CompactEntry`s: [`table_len`] bytes, a multiple of 16.
    pub table: Address,
    /// Destination of the blocks, a multiple of 16.
    pub out: Address,
    /// Bytes at the destination.
    pub room: u64,
    /// Number of states and sizes.
    pub count: u32,
    /// Number of blocks.
    pub blocks_count: u32,
}

const _: () = assert!(size_of::<CompactHead>() == 16);
const _: () = assert!(size_of::<CompactEntry>() == 16);
const _: () = assert!(size_of::<CompactArgs>() == 64);

/// Returns the bytes of a table of `count` blocks.
pub fn table_len(count: u32) -> u64 {
    let head = size_of::<CompactHead>() as u64;
    head + u64::from(count) * size_of::<CompactEntry>() as u64
}

/// Parses the table; `None` if it is shorter than its head or has a partial entry.
pub fn table(bytes: &[u8]) -> Option<(u64, Vec<CompactEntry>)> {
    let (head, entries) = bytes.split_first_chunk::<16>()?;
    let (total, _) = head.split_first_chunk::<8>()?;
    let (entries, []) = entries.as_chunks::<16>() else { return None };
    let entry = |bytes: &[u8; 16]| {
        let (offset, rest) = bytes.split_first_chunk::<8>()?;
        let (size, state) = rest.split_first_chunk::<4>()?;
        Some(CompactEntry {
            offset: u64::from_le_bytes(*offset),
            size: u32::from_le_bytes(*size),
            state: u32::from_le_bytes(*state.first_chunk()?),
        })
    };
    Some((u64::from_le_bytes(*total), entries.iter().map(entry).collect::<Option<_>>()?))
}

/// Returns the grid of [`BLOCKS`] for blocks of at most `most` bytes. Only the device knows their actual sizes, so CUDA
/// blocks past the end of a block do nothing; `most` may be a likely size rather than the maximum.
pub fn grid(blocks: u32, most: u64) -> (u32, u32) {
    let parts = most.div_ceil(PIECE).min(MANY_BLOCKS / u64::from(blocks.max(1)));
    (blocks, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
}
