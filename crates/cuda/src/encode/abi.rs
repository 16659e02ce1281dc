//! Rust counterparts of `kernels/encode_abi.h`: data passed to encoding kernels, byte for byte.

#![expect(unsafe_code, reason = "structs that may be taken as the bytes they are")]

use crate::abi::Address;

/// State of a block: its bytes are in the slab.
pub const DONE: u32 = 0;
/// State of a block: cut but not compressed yet.
pub const PACKED: u32 = 1;
/// State of a block: all its samples are the fill value; it has no bytes.
pub const SPARSE: u32 = 2;
/// State of a block: a value cannot be represented in its sample; it has no bytes, and the host reports the value.
pub const UNFIT: u32 = 3;
/// State of a block before a kernel has reported.
pub const PENDING: u32 = u32::MAX;

/// Bytes behind the packed bytes of a block that kernels may read; `cut` sets them to 0.
pub const SLACK: u64 = 64;

/// `EncodeBlock` of `encode_abi.h`, which says which bytes around it may be read and written.
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
    /// Bytes per packed row.
    pub row_len: u32,
    /// Bytes per pixel.
    pub unit: u32,
    /// Index into states and sizes.
    pub index: u32,
    /// Always 0.
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
    /// Scratch of the codecs.
    pub scratch: Address,
    /// `EncodeBlock`s.
    pub blocks: Address,
    /// One `u32` per block: `DONE`, `PACKED`, `SPARSE` or `PENDING`.
    pub states: Address,
    /// One `u32` per block: bytes in the slab.
    pub sizes: Address,
    /// Number of blocks.
    pub count: u32,
    /// Candidates per position; 0 finds only runs.
    pub depth: u32,
    /// Length of a match that ends a search.
    pub nice: u32,
    /// 1 if a match is dropped for a longer one at the next position.
    pub lazy: u32,
}

const _: () = assert!(size_of::<EncodeBlock>() == 48);
const _: () = assert!(size_of::<EncodeArgs>() == 64);

// SAFETY: the fields fill the struct without padding, as asserted above.
unsafe impl crate::abi::Plain for EncodeBlock {}
