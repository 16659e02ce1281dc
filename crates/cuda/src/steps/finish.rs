//! Changing samples and turning images on the device: arguments of `finish.cu`, the counterpart of
//! `kernels/steps/finish_abi.h`, and the launch. Results equal the CPU engine's.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::Address;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::steps::step::{Step, address_of, address_of_output, not_cancelled, numbers, strides};
use strile_engine::{Change, Context, EngineError, FinishJob, Output, OutputBox, OutputSpec, SharedPixels};
use strile_tiff::DataType;

/// Name of the `.cu` file without its extension, and of its entry point.
pub const MODULE: &str = "finish";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 256;

/// Rows and columns of pixels per CUDA block.
const SIDE: u32 = 32;
/// Exclusive limit of pixels per band and of CUDA blocks per launch.
const MOST: u64 = 1 << 31;

const SWAP: u32 = 1;
const FLIP_ROWS: u32 = 2;
const FLIP_COLUMNS: u32 = 4;
const UNALIGNED: u32 = 8;

/// Arguments of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct FinishArgs {
    /// Address of the pixels' first sample.
    pub src: Address,
    /// Address of the result's first sample.
    pub dst: Address,
    /// Pixel strides in bytes: band, row, column.
    pub from: [u64; 3],
    /// The same for the result.
    pub to: [u64; 3],
    /// Bits that are flipped or compared.
    pub mask: u64,
    /// Lowest match.
    pub low: u64,
    /// Highest match, relative to `low`.
    pub span: u64,
    /// Columns of the pixels.
    pub columns: u32,
    /// Rows of the pixels.
    pub rows: u32,
    /// CUDA blocks per row of blocks.
    pub across: u32,
    /// CUDA blocks per band of the result.
    pub tiles: u32,
    /// Bands of the pixels per band of the result.
    pub bands: u32,
    /// Bytes of a pixel sample.
    pub size: u32,
    /// Bytes of a sample that are compared.
    pub counts: u32,
    /// Bytes of a result sample.
    pub to_size: u32,
    /// `FinishChange`.
    pub change: u32,
    /// `FinishFlag`s.
    pub flags: u32,
}

const _: () = assert!(size_of::<FinishArgs>() == 128);

/// A prepared job: the arguments and the grid.
#[derive(Debug, Clone, Copy)]
pub struct FinishPlan {
    /// Arguments.
    pub args: FinishArgs,
    /// CUDA blocks.
    pub grid: u32,
}

/// Prepares a job, in place if `pixels` is `None`; returns an error if it does not fit.
pub fn plan(
    job: &FinishJob,
    pixels: Option<(&OutputSpec, u64)>,
    (output, dst): (&OutputSpec, u64),
) -> Result<FinishPlan, EngineError> {
    job.check(pixels.map(|(spec, _)| spec), output)?;
    let (from, src) = pixels.unwrap_or((output, dst));
    let (across, down) = (from.columns.div_ceil(SIDE), from.rows.div_ceil(SIDE));
    let area = u64::from(from.columns) * u64::from(from.rows);
    let tiles = u64::from(across) * u64::from(down);
    let grid = tiles.saturating_mul(output.bands.into());
    let small = |number: u64| u32::try_from(number).ok().filter(|_| number < MOST && area < MOST);
    let (tiles, grid) = small(tiles).zip(small(grid)).ok_or_else(|| EngineError::Mismatch {
        what: "pixels",
        found: format!("{} bands of {} × {}", from.bands, from.rows, from.columns),
        expected: "fewer than a launch can have".to_owned(),
    })?;
    let size = |spec: &OutputSpec| u32::try_from(spec.data_type.size()).unwrap_or(0);
    let (change, [mask, low, span], counts) = match (job.change, job.change.sought(from.data_type)) {
        (_, Some((sought, counts))) => (4, [sought.mask, sought.low, sought.span], counts),
        (Change::Invert(_) | Change::Negate, _) => (1, [job.change.flipped(from.data_type.size()), 0, 0], 0),
        (Change::Alpha, _) if from.data_type == DataType::U16 => (3, [0; 3], 0),
        (Change::Alpha, _) if from.data_type == DataType::U8 => (0, [0; 3], 0),
        (Change::NotZero | Change::Alpha, _) => (2, [0; 3], 0),
        (Change::Nothing | Change::Differs(_), _) => (0, [0; 3], 0),
    };
    let (from_strides, to_strides) = (strides(from), strides(output));
    let of = |spec: &OutputSpec, strides: [u64; 3], start: u64| {
        let (_, number) = numbers(spec.data_type);
        strides.into_iter().chain([start]).all(|at| at.is_multiple_of(number))
    };
    let aligned = of(from, from_strides, src) && of(output, to_strides, dst);
    let flags = [
        (job.turn.swap, SWAP),
        (job.turn.flip_rows, FLIP_ROWS),
        (job.turn.flip_columns, FLIP_COLUMNS),
        (!aligned, UNALIGNED),
    ];
    let args = FinishArgs {
        src,
        dst,
        from: from_strides,
        to: to_strides,
        mask,
        low,
        span,
        columns: from.columns,
        rows: from.rows,
        across,
        tiles,
        bands: if change == 4 { from.bands } else { 1 },
        size: size(from),
        counts: u32::try_from(counts).unwrap_or(0),
        to_size: size(output),
        change,
        flags: flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum(),
    };
    Ok(FinishPlan { args, grid })
}

/// Runs the job.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &FinishJob,
    pixels: Option<&SharedPixels>,
    output: &Output,
    context: &Context,
) -> Result<(), Stop> {
    not_cancelled(&context.cancel)?;
    let src = pixels.map(|pixels| address_of(device, pixels)).transpose()?;
    let dst = address_of_output(device, output)?;
    let spec = output.spec();
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let _claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let planned = plan(job, pixels.map(SharedPixels::spec).zip(src), (spec, dst))?;
    let step = Step {
        purpose: "the last step on the device",
        entry: (MODULE, MODULE),
        grid: planned.grid,
        threads: THREADS,
        len: 0,
    };
    // SAFETY: the plan checks the shapes of pixels and output against each other; the caller keeps both.
    unsafe { step.run(device, spare, &context.cancel, |_, _| planned.args) }
}
