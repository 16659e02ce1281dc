//! Rust counterparts of `kernels/place/place_abi.h`, byte for byte.

/// Path through the kernel for a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Path {
    Copy = 0,
    Sums = 1,
    Planes = 2,
    Each = 3,
}

/// How a stored sample is read on the path `Each`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Load {
    Bytes = 0,
    Bits = 1,
    Planes = 2,
    Chroma = 3,
}

/// How a number is processed after reading on the path `Each`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Finish {
    None = 0,
    Sign = 1,
    Float24 = 2,
    Pair = 3,
    Widen = 4,
    Double = 5,
}

/// Kind of samples that the output converts to floats; `AsIs` without conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Number {
    AsIs = 0,
    Unsigned = 1,
    Signed = 2,
    Float = 3,
}

/// Flag of a layout: each sample is added to the one a pixel before.
pub(super) const LAYOUT_SUMS: u8 = 1;
/// Flag of a layout: the bits of every stored byte are reversed.
pub(super) const LAYOUT_REVERSE: u8 = 2;
/// Flag of a layout: the conversion turns one value into NaN.
pub(super) const LAYOUT_NODATA: u8 = 4;
/// Flag of a task: writes the fill value and reads nothing.
pub(super) const TASK_FILL: u32 = 1;
/// Flag of a task: the output interleaves bands like the block.
pub(super) const TASK_INTERLEAVED: u32 = 2;

/// Status of a task that does not depend on a kernel.
pub const NO_STATUS: u32 = u32::MAX;

/// How blocks of one layout are placed in one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct PlaceLayout {
    pub(super) band_stride: u64,
    pub(super) row_stride: u64,
    pub(super) column_stride: u64,
    pub(super) fill: [u8; 16],
    pub(super) row_len: u32,
    pub(super) width: u32,
    pub(super) samples: u32,
    pub(super) bits: u32,
    pub(super) pixel_bits: u32,
    pub(super) table: u32,
    pub(super) path: u8,
    pub(super) load: u8,
    pub(super) finish: u8,
    pub(super) flags: u8,
    pub(super) size: u8,
    pub(super) stored: u8,
    pub(super) swap: u8,
    pub(super) across: u8,
    pub(super) down: u8,
    pub(super) native: u8,
    pub(super) number: u8,
    pub(super) reserved: u8,
    pub(super) constants: u32,
}

/// The requested rectangle of one block: made by [`PlaceLayout::task`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct PlaceTask {
    /// Device address of the block's first byte, packed; any alignment. Not read if the task fills.
    pub src: u64,
    /// Device address of the first requested sample of the first band.
    pub dst: u64,
    /// Index into the layouts.
    pub layout: u32,
    /// Index into the statuses, or [`NO_STATUS`].
    pub status: u32,
    /// Index of its first entry in the selections.
    pub selection: u32,
    /// Number of selected samples.
    pub bands: u32,
    /// First requested column of the block.
    pub block_x: u32,
    /// First requested row of the block.
    pub block_y: u32,
    /// Requested columns.
    pub width: u32,
    /// Requested rows.
    pub height: u32,
    pub(super) flags: u32,
    /// Number of the value to look for, or 0; set by [`Values::set`](crate::steps::find::Values::set).
    pub(crate) sought: u32,
}

/// Arguments of the kernels of `place.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct PlaceArgs {
    /// `PlaceTask`s.
    pub tasks: u64,
    /// `PlaceLayout`s.
    pub layouts: u64,
    /// One `u16` per band: the block's sample for it.
    pub selections: u64,
    /// A `u32` each: tasks whose status is not 0 are skipped.
    pub statuses: u64,
    /// `i32`s that [`layout`](super::layout) appended for all layouts.
    pub tables: u64,
    /// Number of tasks.
    pub count: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<PlaceLayout>() == 80);
const _: () = assert!(size_of::<PlaceTask>() == 56);
const _: () = assert!(size_of::<PlaceArgs>() == 48);
