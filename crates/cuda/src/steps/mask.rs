//! Applying masks on the device: arguments of `mask.cu`, counterparts of `kernels/steps/mask_abi.h`, and the launch.
//! Results equal the CPU engine's.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::{Address, bytes_of};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::steps::step::{Step, address_of, address_of_output, not_cancelled, strides, words};
use strile_engine::{Context, EngineError, MaskJob, Output, OutputBox, OutputSpec, SharedPixels};

/// Name of the `.cu` file without its extension, and of its entry point.
pub const MODULE: &str = "mask";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 256;

/// Exclusive limit of pixels per output and of CUDA blocks per launch.
const MOST: u64 = 1 << 31;
const NONE_SPARED: u32 = u32::MAX;

/// The bands of the output that one mask band applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct MaskEntry {
    /// First band.
    pub first_band: u32,
    /// Number of bands.
    pub bands: u32,
    /// A band that stays unchanged, or `u32::MAX`.
    pub spared: u32,
    /// Always 0.
    pub reserved: u32,
}

/// Arguments of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct MaskArgs {
    /// `MaskEntry`s.
    pub windows: Address,
    /// Address of the first sample of the first mask.
    pub masks: Address,
    /// Address of the first sample of the output.
    pub dst: Address,
    /// Mask strides in bytes: band, row, column.
    pub from: [u64; 3],
    /// The same for the output.
    pub to: [u64; 3],
    /// Bytes of the value.
    pub value: [u64; 2],
    /// Columns.
    pub columns: u32,
    /// Rows.
    pub rows: u32,
    /// CUDA blocks per window.
    pub tiles: u32,
    /// Bytes of a sample of the masks.
    pub mask_size: u32,
    /// Bytes of a sample of the output.
    pub size: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<MaskEntry>() == 16);
const _: () = assert!(size_of::<MaskArgs>() == 112);

// SAFETY: four words that fill the struct; its size is asserted above.
unsafe impl crate::abi::Plain for MaskEntry {}

/// A job prepared for masks and an output on the device.
#[derive(Debug, Clone)]
pub struct MaskPlan {
    /// Table of windows, copied to the device unchanged.
    pub windows: Vec<MaskEntry>,
    /// CUDA blocks.
    pub grid: u32,
    args: MaskArgs,
}

impl MaskPlan {
    /// Returns the arguments for a table at this address.
    pub fn args(&self, windows: u64) -> MaskArgs {
        MaskArgs { windows, ..self.args }
    }
}

/// Prepares a job; returns an error if it does not fit.
pub fn plan(
    job: &MaskJob,
    (masks, src): (&OutputSpec, u64),
    (output, dst): (&OutputSpec, u64),
) -> Result<MaskPlan, EngineError> {
    job.check(masks, output)?;
    let pixels = u64::from(output.rows) * u64::from(output.columns);
    let tiles = pixels.div_ceil(THREADS.into());
    let grid = tiles.saturating_mul(job.windows.len() as u64);
    let small = |number: u64| u32::try_from(number).ok().filter(|_| number < MOST && pixels < MOST);
    let (tiles, grid) = small(tiles).zip(small(grid)).ok_or_else(|| EngineError::Mismatch {
        what: "masks",
        found: format!("{} masks of {} × {}", job.windows.len(), output.rows, output.columns),
        expected: "fewer than a launch can have".to_owned(),
    })?;
    let size = |spec: &OutputSpec| u32::try_from(spec.data_type.size()).unwrap_or(0);
    let windows = job.windows.iter().map(|window| MaskEntry {
        first_band: window.first_band,
        bands: window.bands,
        spared: window.spared.unwrap_or(NONE_SPARED),
        reserved: 0,
    });
    let args = MaskArgs {
        windows: 0,
        masks: src,
        dst,
        from: strides(masks),
        to: strides(output),
        value: words(&job.value),
        columns: output.columns,
        rows: output.rows,
        tiles,
        mask_size: size(masks),
        size: size(output),
        reserved: 0,
    };
    Ok(MaskPlan { windows: windows.collect(), grid, args })
}

/// Applies all masks.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &MaskJob,
    masks: &SharedPixels,
    output: &Output,
    context: &Context,
) -> Result<(), Stop> {
    not_cancelled(&context.cancel)?;
    let (src, dst) = (address_of(device, masks)?, address_of_output(device, output)?);
    let spec = output.spec();
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let _claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let planned = plan(job, (masks.spec(), src), (spec, dst))?;
    let table = bytes_of(&planned.windows);
    let step = Step {
        purpose: "masks on the device",
        entry: (MODULE, MODULE),
        grid: planned.grid,
        threads: THREADS,
        len: table.len(),
    };
    let write = |at, to: &mut [u8]| {
        to.copy_from_slice(table);
        planned.args(at)
    };
    // SAFETY: the plan checks masks and output against each other; the caller keeps both.
    unsafe { step.run(device, spare, &context.cancel, write) }
}
