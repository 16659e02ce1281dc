//! The last pass of encoding: encoded blocks moved together, and one table for the host that says where each is. What the
//! kernels of `compact.cu` are launched with; twins of `kernels/blocks/compact_abi.h`.
//!
//! Two launches: `compact_offsets` over the states and sizes, then `compact_blocks`.

use crate::abi::Address;

/// The `.cu` file without its ending.
pub const MODULE: &str = "compact";
/// The first entry point, whose grid is (1, 1): offsets of all blocks and their sum.
pub const OFFSETS: &str = "compact_offsets";
/// Threads of a CUDA block of [`OFFSETS`].
pub const OFFSETS_THREADS: u32 = 1024;
/// The second entry point, whose grid is [`grid`]: blocks to their offsets.
pub const BLOCKS: &str = "compact_blocks";
/// Threads of a CUDA block of [`BLOCKS`].
pub const BLOCKS_THREADS: u32 = 256;

/// Bytes that a CUDA block copies at a time, as the kernel says.
const PIECE: u64 = 16 << 10;
/// CUDA blocks beyond which those of one block take several pieces each.
const MANY_BLOCKS: u64 = 1 << 16;

/// What the table begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactHead {
    /// Bytes of all blocks together. Where that is more than the room, no block was copied.
    pub total: u64,
    /// 0.
    pub reserved: u64,
}

/// What the table says of the block of each index, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactEntry {
    /// Where its bytes begin: the sum of all sizes before.
    pub offset: u64,
    /// Its bytes, 0 where its state is not `DONE`.
    pub size: u32,
    /// Its state.
    pub state: u32,
}

/// Arguments of both kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CompactArgs {
    /// The slab that `EncodeBlock::dst` counts from.
    pub slab: Address,
    /// `EncodeBlock`s, in any order, as many as `count` or fewer: `blocks_count` of them.
    pub blocks: Address,
    /// A `u32` each.
    pub states: Address,
    /// A `u32` each, valid where the state is `DONE`.
    pub sizes: Address,
    /// A `CompactHead` and `count` times a `CompactEntry`: [`table_len`] bytes, a multiple of 16.
    pub table: Address,
    /// Where blocks are copied to, a multiple of 16.
    pub out: Address,
    /// Bytes there.
    pub room: u64,
    /// Number of states and sizes.
    pub count: u32,
    /// Number of blocks.
    pub blocks_count: u32,
}

const _: () = assert!(size_of::<CompactHead>() == 16);
const _: () = assert!(size_of::<CompactEntry>() == 16);
const _: () = assert!(size_of::<CompactArgs>() == 64);

/// Bytes of the table of so many blocks.
pub fn table_len(count: u32) -> u64 {
    let head = size_of::<CompactHead>() as u64;
    head + u64::from(count) * size_of::<CompactEntry>() as u64
}

/// The table as it came back; `None` where it is shorter than its head or not whole entries.
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

/// The grid of [`BLOCKS`]: so many blocks, of which none takes more than `most` bytes. Their real sizes are on the device
/// alone, so CUDA blocks past the end of a block have nothing to do; `most` may be what is likely, not what is possible.
pub fn grid(blocks: u32, most: u64) -> (u32, u32) {
    let parts = most.div_ceil(PIECE).min(MANY_BLOCKS / u64::from(blocks.max(1)));
    (blocks, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
}
