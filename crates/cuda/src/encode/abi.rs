//! Twins of `kernels/encode_abi.h`: what is handed to kernels that write, byte for byte.

#![expect(unsafe_code, reason = "structs that may be taken as the bytes they are")]

use crate::abi::Address;

/// What became of a block: its bytes are in the slab.
pub const DONE: u32 = 0;
/// It is cut and not compressed yet.
pub const PACKED: u32 = 1;
/// All its samples are the fill; it has no bytes.
pub const SPARSE: u32 = 2;
/// A value has no place in its sample; it has no bytes, and the host says which value.
pub const UNFIT: u32 = 3;
/// Nobody reported on it.
pub const PENDING: u32 = u32::MAX;

/// Bytes behind the packed bytes of a block that kernels may read; `cut` makes them 0.
pub const SLACK: u64 = 64;

/// `EncodeBlock` of `encode_abi.h`, which says what may be read and written around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct EncodeBlock {
    /// Offset of its packed bytes, a multiple of 16.
    pub src: u64,
    /// Offset of its place in the slab, a multiple of 16.
    pub dst: u64,
    /// Offset of the codec's scratch, a multiple of 256.
    pub scratch: u64,
    /// Packed bytes.
    pub len: u32,
    /// Bytes of its place in the slab, a multiple of 16.
    pub room: u32,
    /// Bytes of a packed row.
    pub row_len: u32,
    /// Bytes of a pixel.
    pub unit: u32,
    /// Index into states and sizes.
    pub index: u32,
    /// 0.
    pub reserved: u32,
}

/// `EncodeArgs` of `encode_abi.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct EncodeArgs {
    /// Packed blocks.
    pub packed: Address,
    /// Compressed blocks.
    pub slab: Address,
    /// The codecs' scratch.
    pub scratch: Address,
    /// `EncodeBlock`s.
    pub blocks: Address,
    /// A `u32` each: `DONE`, `PACKED`, `SPARSE` or `PENDING`.
    pub states: Address,
    /// A `u32` each: bytes in the slab.
    pub sizes: Address,
    /// Number of blocks.
    pub count: u32,
    /// Candidates of a position; 0 is runs alone.
    pub depth: u32,
    /// A match of so many bytes ends a search.
    pub nice: u32,
    /// 1 where a match gives way to a longer one at the next position.
    pub lazy: u32,
}

const _: () = assert!(size_of::<EncodeBlock>() == 48);
const _: () = assert!(size_of::<EncodeArgs>() == 64);

// SAFETY: fields of falling size that fill the struct, as the assertions above say.
unsafe impl crate::abi::Plain for EncodeBlock {}
