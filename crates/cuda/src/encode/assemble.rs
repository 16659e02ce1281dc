//! Copies of rectangles of samples between images on the device, or their conversion to masks: arguments of the kernel
//! `assemble`; counterparts of `kernels/blocks/assemble_abi.h`.

#![expect(unsafe_code, reason = "structs that may be taken as the bytes they are")]

use crate::abi::Address;
use strile_engine::Strides;

/// Name of the `.cu` file without its extension, and of its entry point.
pub const MODULE: &str = "assemble";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 128;

/// Bytes that a CUDA block should write.
const PART: u64 = 32 << 10;
/// Number of CUDA blocks beyond which each takes several parts.
const MANY_BLOCKS: u64 = 1 << 16;

/// What is done with samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assembly {
    /// Copies samples of this many bytes: 1, 2, 4, 8 or 16.
    Copy(u32),
    /// Turns samples of this many bytes into one byte: 1 if any byte is nonzero.
    Mask(u32),
}

/// Location of a rectangle's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Device address of the first sample.
    pub first: Address,
    /// Strides in bytes.
    pub strides: Strides,
}

/// One rectangle: `AssembleItem` of `assemble_abi.h`. Made by [`item`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct AssembleItem {
    src: Address,
    dst: Address,
    src_strides: [u64; 3],
    dst_strides: [u64; 3],
    bands: u32,
    rows: u32,
    columns: u32,
    size: u32,
    mask: u32,
    reserved: u32,
}

/// Arguments of the kernel `assemble`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct AssembleArgs {
    /// `AssembleItem`s.
    pub items: Address,
    /// Number of items.
    pub count: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<AssembleItem>() == 88);
const _: () = assert!(size_of::<AssembleArgs>() == 16);

// SAFETY: the fields fill the struct without padding, as asserted above.
unsafe impl crate::abi::Plain for AssembleItem {}

/// Returns the item that moves `bands` × `rows` × `columns` samples. Items of one launch must not write samples that
/// others read or write, and both rectangles must lie in device memory.
///
/// `None` if a row has 2^31 bytes or more.
pub fn item(
    assembly: Assembly,
    from: Place,
    to: Place,
    (bands, rows, columns): (u32, u32, u32),
) -> Option<AssembleItem> {
    let wide = |strides: Strides| [strides.band, strides.row, strides.column].map(|n| n as u64);
    let (size, mask) = match assembly {
        Assembly::Copy(size) => (size, false),
        Assembly::Mask(size) => (size, true),
    };
    let mut item = AssembleItem {
        src: from.first,
        dst: to.first,
        src_strides: wide(from.strides),
        dst_strides: wide(to.strides),
        bands,
        rows,
        columns,
        size,
        mask: mask.into(),
        reserved: 0,
    };
    let short = |len: u32| Some(len).filter(|&len| len < 1 << 31);
    short(columns.checked_mul(size)?)?;
    if mask {
        return Some(item);
    }
    // Rows without gaps on both sides are copied as samples of one byte, whatever their type.
    let pixel = u64::from(size) * u64::from(bands);
    let dense = |[band, _, column]: [u64; 3]| column == pixel && (bands == 1 || band == u64::from(size));
    let gapless = |[_, _, column]: [u64; 3]| column == u64::from(size);
    if dense(item.src_strides) && dense(item.dst_strides) {
        item.columns = short(columns.checked_mul(u32::try_from(pixel).ok()?)?)?;
        item.bands = 1;
        item.byte_runs();
    } else if gapless(item.src_strides) && gapless(item.dst_strides) {
        item.columns = columns.checked_mul(size)?;
        item.byte_runs();
    }
    Some(item)
}

impl AssembleItem {
    fn byte_runs(&mut self) {
        self.size = 1;
        let [.., from] = &mut self.src_strides;
        let [.., to] = &mut self.dst_strides;
        (*from, *to) = (1, 1);
    }

    /// Returns the bytes that it writes.
    fn written(&self) -> u64 {
        let size = if self.mask != 0 { 1 } else { self.size };
        let samples = u64::from(self.bands).saturating_mul(u64::from(self.rows));
        samples.saturating_mul(u64::from(self.columns)).saturating_mul(size.into())
    }
}

/// Returns the grid of a launch over `items`.
pub fn grid(items: &[AssembleItem]) -> (u32, u32) {
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
    let largest = items.iter().map(AssembleItem::written).max().unwrap_or(0);
    let parts = largest.div_ceil(PART).min(MANY_BLOCKS / u64::from(count.max(1)));
    (count, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
}
