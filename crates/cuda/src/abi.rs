//! Twins of `kernels/abi.h`: what is handed to kernels, byte for byte.

use strile_engine::FaultKind;

/// A device address.
pub(crate) type Address = u64;

/// `DecodeBlock` of `abi.h`, which says what may be read and written around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct DecodeBlock {
    /// Offset of the first encoded byte.
    pub src: u64,
    /// Offset of the first decoded byte, a multiple of 16.
    pub dst: u64,
    /// Offset of the codec's scratch, a multiple of 256.
    pub scratch: u64,
    /// Encoded bytes.
    pub src_len: u32,
    /// Decoded bytes.
    pub dst_len: u32,
    /// Bytes of a packed row.
    pub row_len: u32,
    /// Index of its status.
    pub status: u32,
}

/// `DecodeArgs` of `abi.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct DecodeArgs {
    /// Encoded blocks.
    pub encoded: Address,
    /// Decoded blocks.
    pub decoded: Address,
    /// The codecs' scratch.
    pub scratch: Address,
    /// `DecodeBlock`s.
    pub blocks: Address,
    /// A `u32` each: 0, or a fault.
    pub statuses: Address,
    /// A `u32`, 0 before the first pass.
    pub counter: Address,
    /// Number of blocks.
    pub count: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<DecodeBlock>() == 40);
const _: () = assert!(size_of::<DecodeArgs>() == 56);

/// What a status is before a kernel has reported.
pub const PENDING: u32 = u32::MAX;

const _: () = assert!(FaultKind::InputTruncated as u32 == 1 && FaultKind::Unsupported as u32 == 7);
