//! Encoded blocks that lie scattered on the device, gathered into one buffer: what the kernel `gather` is launched with.

/// The `.cu` file without its ending, and the entry point in it.
pub const MODULE: &str = "gather";
/// Threads of a CUDA block, as the kernel says.
pub const THREADS: u32 = 256;

/// Bytes that a CUDA block copies at a time, as the kernel says.
const PIECE: u64 = 16 << 10;
/// CUDA blocks beyond which those of one item take several pieces each.
const MANY_BLOCKS: u64 = 1 << 16;

/// One block to copy; the twin of `GatherItem` in `kernels/blocks/gather_abi.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct GatherItem {
    /// Offset of its first byte in the source.
    pub src: u64,
    /// Offset of its first byte in the destination.
    pub dst: u64,
    /// Bytes, 0 allowed.
    pub len: u64,
}

/// Arguments of the kernel `gather`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct GatherArgs {
    /// Device address that `GatherItem::src` counts from.
    pub src: u64,
    /// Device address that `GatherItem::dst` counts from.
    pub dst: u64,
    /// `GatherItem`s.
    pub items: u64,
    /// Number of items.
    pub count: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<GatherItem>() == 24);
const _: () = assert!(size_of::<GatherArgs>() == 32);

/// The items that put blocks one after the other, each at a multiple of `align` (a power of two), and the bytes that
/// takes; `None` past 2^64.
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

/// The grid for a launch over `items`.
pub fn grid(items: &[GatherItem]) -> (u32, u32) {
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
    let longest = items.iter().map(|item| item.len).max().unwrap_or(0);
    let parts = longest.div_ceil(PIECE).min(MANY_BLOCKS / u64::from(count.max(1)));
    (count, u32::try_from(parts.clamp(1, 65_535)).unwrap_or(1))
}
