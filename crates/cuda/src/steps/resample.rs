//! Resampling of windows on the device: arguments of `resample.cu`, counterparts of `kernels/steps/resample_abi.h`, and
//! the launch. Results are bit-identical to the CPU engine's.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::{Address, bytes_of};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::steps::step::{Step, address_of, address_of_output, not_cancelled, numbers, strides, words};
use strile_engine::{
    Context, EngineError, Output, OutputBox, OutputSpec, ResampleJob, Sampling, SharedPixels,
};

/// Name of the `.cu` file without its extension, and of its entry point with one thread per pixel.
pub const MODULE: &str = "resample";
/// Entry point with one CUDA block per pixel.
pub const WIDE: &str = "resample_wide";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 256;

/// A mean of this many pixels or more is computed by a CUDA block: one thread would take long, and a launch cannot be
/// stopped.
const MANY: f64 = 4096.0;
/// Exclusive limit of pixels per result and of CUDA blocks per launch.
const MOST: u64 = 1 << 31;
const HAS_NODATA: u32 = 1;
const UNALIGNED: u32 = 1;

/// Resampling of one window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct ResampleEntry {
    /// Left, top, width and height of the requested area, in pixels from the window's first one.
    pub exact: [f64; 4],
    /// Bytes of the fill value.
    pub fill: [u64; 2],
    /// Bits of the sample that does not contribute.
    pub nodata: u64,
    /// Columns and rows of pixels that the window has.
    pub size: [u32; 2],
    /// 1: there is a nodata value.
    pub flags: u32,
    /// Always 0.
    pub reserved: u32,
}

/// Arguments of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ResampleArgs {
    /// `ResampleEntry`s.
    pub windows: Address,
    /// Address of the first sample that is read.
    pub src: Address,
    /// Address of the first sample that is written.
    pub dst: Address,
    /// Source strides in bytes: band, row, column.
    pub from: [u64; 3],
    /// The same for the result.
    pub to: [u64; 3],
    /// Bands of a window.
    pub bands: u32,
    /// Columns of a result.
    pub columns: u32,
    /// Its rows.
    pub rows: u32,
    /// CUDA blocks per window.
    pub tiles: u32,
    /// The method.
    pub method: u32,
    /// Kind of samples: 0 unsigned, 1 signed, 2 float, 3 complex.
    pub kind: u32,
    /// Bytes of a sample.
    pub size: u32,
    /// 1: samples are not aligned to multiples of their size.
    pub flags: u32,
}

const _: () = assert!(strile_engine::PIECE == 256, "RESAMPLE_PIECE of the kernel");
const _: () = assert!(size_of::<ResampleEntry>() == 72);
const _: () = assert!(size_of::<ResampleArgs>() == 104);

// SAFETY: the fields fill the struct without padding; its size is asserted above.
unsafe impl crate::abi::Plain for ResampleEntry {}

/// A job prepared for pixels and an output on the device.
#[derive(Debug, Clone)]
pub struct ResamplePlan {
    /// Table of windows, copied to the device unchanged.
    pub windows: Vec<ResampleEntry>,
    /// Entry point.
    pub kernel: &'static str,
    /// CUDA blocks.
    pub grid: u32,
    args: ResampleArgs,
}

impl ResamplePlan {
    /// Returns the arguments for a table at this address.
    pub fn args(&self, windows: u64) -> ResampleArgs {
        ResampleArgs { windows, ..self.args }
    }
}

/// Returns the bytes of a job's table.
pub(crate) fn memory(job: &ResampleJob) -> u64 {
    (job.windows.len() as u64).saturating_mul(size_of::<ResampleEntry>() as u64)
}

/// Prepares a job; returns an error if it does not fit.
pub fn plan(
    job: &ResampleJob,
    (from, src): (&OutputSpec, u64),
    (to, dst): (&OutputSpec, u64),
) -> Result<ResamplePlan, EngineError> {
    let bands = job.check(from, to)?;
    let pixels = u64::from(to.rows) * u64::from(to.columns);
    let many =
        |[.., width, height]: [f64; 4]| width / f64::from(to.columns) * (height / f64::from(to.rows)) >= MANY;
    let wide = job.sampling == Sampling::Average && job.windows.iter().any(|window| many(window.exact));
    let (kernel, tiles) = if wide { (WIDE, pixels) } else { (MODULE, pixels.div_ceil(THREADS.into())) };
    let grid = tiles.saturating_mul(job.windows.len() as u64);
    let small = |number: u64| u32::try_from(number).ok().filter(|_| number < MOST && pixels < MOST);
    let (tiles, grid) = small(tiles).zip(small(grid)).ok_or_else(|| EngineError::Mismatch {
        what: "pixels",
        found: format!("{} windows of {} × {}", job.windows.len(), to.rows, to.columns),
        expected: "fewer than a launch can have".to_owned(),
    })?;
    let (kind, number) = numbers(from.data_type);
    let (from_strides, to_strides) = (strides(from), strides(to));
    let places = from_strides.iter().chain(&to_strides).chain([&src, &dst]);
    let aligned = places.into_iter().all(|at| at.is_multiple_of(number));
    let windows = job.windows.iter().map(|window| ResampleEntry {
        exact: window.exact,
        fill: words(&window.fill),
        nodata: window.nodata.map_or(0, |nodata| words(&nodata)[0] & (u64::MAX >> (64 - 8 * number))),
        size: [window.size.0, window.size.1],
        flags: if window.nodata.is_some() { HAS_NODATA } else { 0 },
        reserved: 0,
    });
    let args = ResampleArgs {
        windows: 0,
        src,
        dst,
        from: from_strides,
        to: to_strides,
        bands,
        columns: to.columns,
        rows: to.rows,
        tiles,
        method: match job.sampling {
            Sampling::Nearest => 0,
            Sampling::Bilinear => 1,
            Sampling::Average => 2,
        },
        kind,
        size: u32::try_from(from.data_type.size()).unwrap_or(0),
        flags: if aligned { 0 } else { UNALIGNED },
    };
    Ok(ResamplePlan { windows: windows.collect(), kernel, grid, args })
}

/// Runs the job.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &ResampleJob,
    pixels: &SharedPixels,
    output: &Output,
    context: &Context,
) -> Result<(), Stop> {
    not_cancelled(&context.cancel)?;
    let (src, dst) = (address_of(device, pixels)?, address_of_output(device, output)?);
    let spec = output.spec();
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let _claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let planned = plan(job, (pixels.spec(), src), (spec, dst))?;
    let table = bytes_of(&planned.windows);
    let step = Step {
        purpose: "resampling on the device",
        entry: (MODULE, planned.kernel),
        grid: planned.grid,
        threads: THREADS,
        len: table.len(),
    };
    let write = |at, to: &mut [u8]| {
        to.copy_from_slice(table);
        planned.args(at)
    };
    // SAFETY: the plan checks windows against the pixels and the output, which the caller keeps.
    unsafe { step.run(device, spare, &context.cancel, write) }
}
