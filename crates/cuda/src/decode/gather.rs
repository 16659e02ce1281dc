//! Gathering of scattered encoded blocks on the device into one buffer: arguments of the kernel `gather`.

/// Name of the `.cu` file without its extension, and of its entry point.
pub const MODULE: &str = "gather";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 256;

/// Bytes that a CUDA block copies at a time, as in the kernel.
const PIECE: u64 = 16 << 10;
/// Number of CUDA blocks beyond which each takes several pieces.
const MANY_BLOCKS: u64 = 1 << 16;

/// One block to copy; counterpart of `GatherItem` in `kernels/blocks/gather_abi.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct GatherItem {
    /// Offset of its first byte in the source.
    pub src: u64,
    /// Offset of its first byte in the destination.
    pub dst: u64,
    /// Number of bytes; may be 0.
    pub len: u64,
}

/// Arguments of the kernel `gather`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct GatherArgs {
    /// Base device address of `GatherItem::src`.
    pub src: u64,
    /// Base device address of `GatherItem::dst`.
    pub dst: u64,
    /// `GatherItem`s.
    pub items: u64,
    /// Number of items.
    pub count: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<GatherItem>() == 24);
const _: () = assert!(size_of::<GatherArgs>() == 32);

/// Returns the items that concatenate blocks, each at a multiple of `align` (a power of two), and the total bytes;
/// `None` past 2^64.
pub fn items(blocks: impl IntoIterator<Item = (u64, u64)>, align: u64) -> Option<(Vec<GatherItem>, u64)> {
    let mut items = Vec::new();
    let mut end = 0u64;
    for (src, len) in blocks {
        let dst = end.checked_next_multiple_of(align.max(1))?;
        end = dst.checked_add(len)?;
        items.push(GatherItem { src, dst, len });
    }
    Some((items, end))
}

/// Returns the grid of a launch over `items`.
pub fn grid(items: &[GatherItem]) -> (u32, u32) {
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
    let longest = items.iter().map(|item| item.len).max().unwrap_or(0);
    let parts = longest.div_ceil(PIECE).min(MANY_BLOCKS / u64::from(count.max(1)));
    (count, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
}
