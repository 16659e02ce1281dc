//! Windows made another size on the device: what `resample.cu` is launched with, twins of `kernels/steps/resample_abi.h`, and
//! the launch. Results equal the CPU engine's to the last bit.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::{Address, bytes_of};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::steps::step::{Step, address_of, address_of_output, not_cancelled, numbers, strides, words};
use strile_engine::{
    Context, EngineError, Output, OutputBox, OutputSpec, ResampleJob, Sampling, SharedPixels,
};

/// The `.cu` file without its ending, and its entry point with a thread a pixel.
pub const MODULE: &str = "resample";
/// That with a CUDA block a pixel.
pub const WIDE: &str = "resample_wide";
/// Threads of a CUDA block, as the kernel says.
pub const THREADS: u32 = 256;

/// A mean of this many pixels or more is made by a CUDA block: one thread would take long for it, and a launch is not
/// stopped.
const MANY: f64 = 4096.0;
/// Pixels of a result and CUDA blocks of a launch stay below.
const MOST: u64 = 1 << 31;
const HAS_NODATA: u32 = 1;
const UNALIGNED: u32 = 1;

/// How one window is made.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct ResampleEntry {
    /// Left, top, width and height of what is wanted, in pixels from the window's first one.
    pub exact: [f64; 4],
    /// Bytes of the fill value.
    pub fill: [u64; 2],
    /// Bits of the sample that does not count.
    pub nodata: u64,
    /// Columns and rows that the window has pixels of.
    pub size: [u32; 2],
    /// 1 there is nodata.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// Arguments of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ResampleArgs {
    /// `ResampleEntry`s.
    pub windows: Address,
    /// The first sample that is read.
    pub src: Address,
    /// The first sample that is written.
    pub dst: Address,
    /// Bytes of the source from band to band, row to row, column to column.
    pub from: [u64; 3],
    /// The same of the result.
    pub to: [u64; 3],
    /// Bands of a window.
    pub bands: u32,
    /// Columns of a result.
    pub columns: u32,
    /// Its rows.
    pub rows: u32,
    /// CUDA blocks of a window.
    pub tiles: u32,
    /// The method.
    pub method: u32,
    /// What samples are: 0 unsigned, 1 signed, 2 floats, 3 complex.
    pub kind: u32,
    /// Bytes of a sample.
    pub size: u32,
    /// 1 samples do not lie at multiples of their size.
    pub flags: u32,
}

const _: () = assert!(strile_engine::PIECE == 256, "RESAMPLE_PIECE of the kernel");
const _: () = assert!(size_of::<ResampleEntry>() == 72);
const _: () = assert!(size_of::<ResampleArgs>() == 104);

// SAFETY: fields of falling size that fill the struct; its size is asserted above.
unsafe impl crate::abi::Plain for ResampleEntry {}

/// A job made ready for pixels and an output on the device.
#[derive(Debug, Clone)]
pub struct ResamplePlan {
    /// The table of windows, to be copied to the device as it is.
    pub windows: Vec<ResampleEntry>,
    /// The entry point.
    pub kernel: &'static str,
    /// CUDA blocks.
    pub grid: u32,
    args: ResampleArgs,
}

impl ResamplePlan {
    /// The arguments, given where the table lies.
    pub fn args(&self, windows: u64) -> ResampleArgs {
        ResampleArgs { windows, ..self.args }
    }
}

/// The bytes of the table that a job takes.
pub(crate) fn memory(job: &ResampleJob) -> u64 {
    (job.windows.len() as u64).saturating_mul(size_of::<ResampleEntry>() as u64)
}

/// Makes a job ready; an error where it does not fit.
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

/// Does all of it.
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
    // SAFETY: the plan holds windows against the pixels and the output, which the caller keeps.
    unsafe { step.run(device, spare, &context.cancel, write) }
}
