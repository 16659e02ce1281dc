//! Twins of `kernels/place/place_abi.h`, byte for byte.

/// Which of the ways through the kernel a layout takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Path {
    Copy = 0,
    Sums = 1,
    Planes = 2,
    Each = 3,
}

/// How a stored sample is read where the path is `Each`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Load {
    Bytes = 0,
    Bits = 1,
    Planes = 2,
    Chroma = 3,
}

/// What is done to a number that was read where the path is `Each`.
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

/// What samples are that the output converts to floats; `AsIs` where it does not.
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
/// Flag of a layout: the conversion makes one value NaN.
pub(super) const LAYOUT_NODATA: u8 = 4;
/// Flag of a task: the fill value is written, nothing is read.
pub(super) const TASK_FILL: u32 = 1;
/// Flag of a task: the output holds pixels as the block does.
pub(super) const TASK_INTERLEAVED: u32 = 2;

/// The status of a task that depends on no kernel.
pub const NO_STATUS: u32 = u32::MAX;

/// How blocks of one layout go into one output.
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

/// The wanted rectangle of one block: made by [`PlaceLayout::task`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct PlaceTask {
    /// Device address of the block's first byte, packed; any alignment. Not read where the task fills.
    pub src: u64,
    /// Device address of the first wanted sample of the first band.
    pub dst: u64,
    /// Index into the layouts.
    pub layout: u32,
    /// Index into the statuses, or [`NO_STATUS`].
    pub status: u32,
    /// Index of the first of its samples in the selections.
    pub selection: u32,
    /// Number of samples selected.
    pub bands: u32,
    /// First wanted pixel of the block.
    pub block_x: u32,
    /// First wanted row of the block.
    pub block_y: u32,
    /// Wanted pixels across.
    pub width: u32,
    /// Wanted rows.
    pub height: u32,
    pub(super) flags: u32,
    /// The number of the value that is looked for, or 0; set by [`Values::set`](crate::steps::find::Values::set).
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
    /// A `u16` each: samples of a block in the order of bands.
    pub selections: u64,
    /// A `u32` each: tasks whose status is not 0 are left alone.
    pub statuses: u64,
    /// An `i32` each: what [`layout`](super::layout) appended for all layouts.
    pub tables: u64,
    /// Number of tasks.
    pub count: u32,
    /// 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<PlaceLayout>() == 80);
const _: () = assert!(size_of::<PlaceTask>() == 56);
const _: () = assert!(size_of::<PlaceArgs>() == 48);
