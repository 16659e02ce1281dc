//! Rust counterparts of `kernels/abi.h`: data passed to kernels, byte for byte.

#![expect(unsafe_code, reason = "structs as the bytes they are")]

use strile_engine::FaultKind;

/// A device address.
pub(crate) type Address = u64;

/// `DecodeBlock` of `abi.h`, which says which bytes around it may be read and written.
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
    /// Bytes per packed row.
    pub row_len: u32,
    /// Index of its status.
    pub status: u32,
    /// Interleaved samples per pixel.
    pub samples: u32,
    /// Sample kind: `DecodeSample` of `abi.h`.
    pub sample: u32,
    /// Sample, in its low bytes, for pixels that a codec's own mask excludes.
    pub missing: u64,
}

/// `DecodeArgs` of `abi.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct DecodeArgs {
    /// Encoded blocks.
    pub encoded: Address,
    /// Decoded blocks.
    pub decoded: Address,
    /// Scratch of the codecs.
    pub scratch: Address,
    /// `DecodeBlock`s.
    pub blocks: Address,
    /// One `u32` per block: 0, or a fault.
    pub statuses: Address,
    /// A `u32`, 0 before the first pass.
    pub counter: Address,
    /// Number of blocks.
    pub count: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<DecodeBlock>() == 56);
const _: () = assert!(size_of::<DecodeArgs>() == 56);

/// Status before a kernel has reported.
pub const PENDING: u32 = u32::MAX;

const _: () = assert!(FaultKind::InputTruncated as u32 == 1 && FaultKind::Unsupported as u32 == 7);

/// A struct whose bytes are all initialised: `#[repr(C)]` without padding.
///
/// # Safety
/// The type must have no padding and no host pointers.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: the fields fill the struct without padding, as asserted above.
unsafe impl Plain for DecodeBlock {}
// SAFETY: as above; sizes are asserted beside the structs.
unsafe impl Plain for crate::decode::place::PlaceTask {}
// SAFETY: as above.
unsafe impl Plain for crate::decode::place::PlaceLayout {}
// SAFETY: as above.
unsafe impl Plain for crate::decode::gather::GatherItem {}
// SAFETY: numbers.
unsafe impl Plain for u16 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}

/// Returns the bytes of plain structs.
pub(crate) fn bytes_of<T: Plain>(items: &[T]) -> &[u8] {
    // SAFETY: `Plain` types have no padding, so all bytes are initialised.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

/// Concatenates tables and returns the address that each will have.
pub(crate) struct Packer {
    /// Address of the first table.
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Packer {
    /// Adds a table and returns its address.
    pub(crate) fn put<T: Plain>(&mut self, items: &[T]) -> u64 {
        let at = self.bytes.len().next_multiple_of(16);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes_of(items));
        self.address + at as u64
    }
}
