//! Warping on the device: arguments of `warp.cu`, counterparts of `kernels/warp/warp_abi.h`, and the launch. Results
//! are bit-identical to the CPU engine's.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::{Address, bytes_of};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::steps::step::{Step, address_of, address_of_output, not_cancelled, numbers, strides, words};
use std::collections::HashMap;
use std::sync::Arc;
use strile_engine::{
    Context, EngineError, Fill, Output, OutputBox, OutputSpec, SharedPixels, WarpBlend, WarpJob, WarpMap,
    WarpRule, WarpSampling, WarpWindow,
};
use strile_tiff::DataType;

/// Name of the `.cu` file without its extension.
pub const MODULE: &str = "warp";
/// Threads and pixels per CUDA block, as in the kernel.
pub const THREADS: u32 = 256;
const TILE: (u32, u32) = (32, 8);

/// Exclusive limit of CUDA blocks per launch.
const MOST: u64 = 1 << 31;
/// Maximum samples under a pixel for which the mode is computed: the work grows with their square.
const MOST_OF_MODE: f64 = 4096.0;
const HAS_NODATA: u32 = 1;
const HAS_AVOID: u32 = 2;
const KEEP: u32 = 4;
const HAS_TURN: u32 = 8;
const WRAPS: u32 = 16;
const UNALIGNED: u32 = 1;
/// Alignment of a map's arrays.
const ALIGNMENT: usize = 256;

/// Warp of one window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct WarpEntry {
    /// Addresses of the map's arrays: large cells, small cells, corners, exact positions.
    pub arrays: [Address; 4],
    /// Address of the sheet's first sample.
    pub src: Address,
    /// Address of its mask's first sample, or 0.
    pub valid: Address,
    /// Address of the first sample that is written.
    pub dst: Address,
    /// Change of position for one turn around the Earth.
    pub turn: [f64; 2],
    /// Size of a source pixel in pixels of the grid.
    pub scale: [f64; 2],
    /// Bytes of the sample that does not contribute.
    pub nodata: [u64; 2],
    /// Bytes of the fill value.
    pub fill: [u64; 2],
    /// Bits of the sample that results must not have.
    pub avoid: u64,
    /// Columns and rows to compute.
    pub size: [u32; 2],
    /// Position of the first of them in the map.
    pub first: [u32; 2],
    /// Large cells per row of the map.
    pub across: u32,
    /// Columns and rows of the source.
    pub source: [u32; 2],
    /// The sheet in the source: left, top, right, bottom.
    pub sheet: [u32; 4],
    /// Bands.
    pub bands: u32,
    /// CUDA blocks of the previous windows.
    pub first_block: u32,
    /// CUDA blocks per row of tiles.
    pub tiles: u32,
    /// 1: there is a nodata value; 2: there is a value to avoid; 4: pixels without a value stay unchanged; 8: there is
    /// a turn; 16: the source wraps.
    pub flags: u32,
    /// Always 0.
    pub reserved: u32,
}

/// Arguments of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct WarpArgs {
    /// `WarpEntry`s.
    pub windows: Address,
    /// Source strides in bytes: band, row, column.
    pub from: [u64; 3],
    /// Mask strides in bytes: row, column.
    pub masks: [u64; 2],
    /// Output strides in bytes: band, row, column.
    pub to: [u64; 3],
    /// Number of windows.
    pub count: u32,
    /// Method.
    pub method: u32,
    /// Kind of the source's samples: 0 unsigned, 1 signed, 2 float, 3 complex; and their bytes.
    pub from_type: [u32; 2],
    /// The same for the output.
    pub to_type: [u32; 2],
    /// Bytes of a sample of the masks.
    pub mask_size: u32,
    /// 1: samples are not aligned to multiples of their size.
    pub flags: u32,
}

const _: () = assert!(size_of::<WarpEntry>() == 192);
const _: () = assert!(size_of::<WarpArgs>() == 104);

// SAFETY: the fields fill the struct without padding; its size is asserted above.
unsafe impl crate::abi::Plain for WarpEntry {}

/// A job prepared for pixels and an output on the device.
#[derive(Debug, Clone)]
pub struct WarpPlan {
    windows: Vec<WarpEntry>,
    /// Distinct maps, and the offsets of their arrays in the tables.
    maps: Vec<(Arc<WarpMap>, [usize; 4])>,
    /// Map index per window.
    of: Vec<usize>,
    /// Bytes of all tables.
    pub len: usize,
    /// Entry point.
    pub kernel: &'static str,
    /// CUDA blocks.
    pub grid: u32,
    args: WarpArgs,
}

impl WarpPlan {
    /// Returns the arguments for tables at this address.
    pub fn args(&self, tables: u64) -> WarpArgs {
        WarpArgs { windows: tables, ..self.args }
    }

    /// Writes the tables, which will lie at `tables`, into the first `len` bytes of `to`.
    pub fn write(&self, tables: u64, to: &mut [u8]) {
        let mut windows = self.windows.clone();
        for (entry, map) in windows.iter_mut().zip(&self.of) {
            if let Some((_, starts)) = self.maps.get(*map) {
                entry.arrays = starts.map(|start| tables + start as u64);
            }
        }
        let mut put = |start: usize, bytes: &[u8]| {
            if let Some(to) = to.get_mut(start..).and_then(|rest| rest.get_mut(..bytes.len())) {
                to.copy_from_slice(bytes);
            }
        };
        put(0, bytes_of(&windows));
        for (map, [cells, small, corners, exact]) in &self.maps {
            let parts = map.parts();
            put(*cells, bytes_of(&parts.cells));
            put(*small, bytes_of(&parts.small));
            put(*corners, bytes_of(parts.corners.as_flattened()));
            put(*exact, bytes_of(parts.exact.as_flattened()));
        }
    }
}

/// The maps of a job and their offsets in the tables.
struct Tables {
    maps: Vec<(Arc<WarpMap>, [usize; 4])>,
    of: Vec<usize>,
    len: usize,
}

impl Tables {
    fn new(job: &WarpJob) -> Self {
        let (mut of, mut maps) = (Vec::with_capacity(job.windows.len()), Vec::new());
        let mut known: HashMap<*const WarpMap, usize> = HashMap::new();
        let mut len = job.windows.len().saturating_mul(size_of::<WarpEntry>());
        for window in &job.windows {
            let index = *known.entry(Arc::as_ptr(&window.map)).or_insert_with(|| {
                let parts = window.map.parts();
                let sizes = [
                    size_of_val(parts.cells.as_slice()),
                    size_of_val(parts.small.as_slice()),
                    size_of_val(parts.corners.as_slice()),
                    size_of_val(parts.exact.as_slice()),
                ];
                let starts = sizes.map(|size| {
                    let start = len.next_multiple_of(ALIGNMENT);
                    len = start.saturating_add(size);
                    start
                });
                maps.push((Arc::clone(&window.map), starts));
                maps.len() - 1
            });
            of.push(index);
        }
        Self { maps, of, len }
    }
}

/// Returns the bytes of a job's tables.
pub(crate) fn memory(job: &WarpJob) -> u64 {
    Tables::new(job).len as u64
}

/// Prepares a job; returns an error if it does not fit. Masks have a shape and an address like pixels.
pub fn plan(
    job: &WarpJob,
    (from, src): (&OutputSpec, u64),
    valid: Option<(&OutputSpec, u64)>,
    (to, dst): (&OutputSpec, u64),
) -> Result<WarpPlan, EngineError> {
    job.check(from, valid.map(|(spec, _)| spec), to)?;
    let Tables { maps, of, len } = Tables::new(job);
    let mut windows = Vec::with_capacity(job.windows.len());
    let mut blocks = 0_u64;
    for window in &job.windows {
        check_mode(job.sampling, window)?;
        let tiles = window.target.width.div_ceil(TILE.0);
        let first_block = u32::try_from(blocks).unwrap_or(u32::MAX);
        blocks += u64::from(tiles) * u64::from(window.target.height.div_ceil(TILE.1));
        let mask = valid.map(|(spec, address)| address + u64::from(window.mask) * spec.strides.band as u64);
        let to_strides = strides(to);
        let target = u64::from(window.first_band) * to_strides[0]
            + u64::from(window.row) * to_strides[1]
            + u64::from(window.column) * to_strides[2];
        let band = u64::from(window.source_band) * from.strides.band as u64;
        windows.push(WarpEntry {
            src: src + band,
            valid: mask.unwrap_or(0),
            dst: dst + target,
            first_block,
            tiles,
            ..entry(window, from.data_type, to.data_type)
        });
    }
    let grid = u32::try_from(blocks).ok().filter(|_| blocks < MOST).ok_or_else(|| EngineError::Mismatch {
        what: "windows",
        found: format!("{blocks} tiles of {} × {} pixels", TILE.0, TILE.1),
        expected: "fewer than a launch can have".to_owned(),
    })?;
    let places = [strides(from), strides(to), [src, dst, 0]];
    let multiple = |of: u64, places: &[u64; 3]| places.iter().all(|at| at.is_multiple_of(of));
    let (from_number, to_number) = (numbers(from.data_type), numbers(to.data_type));
    let aligned = multiple(from_number.1, &places[0])
        && multiple(to_number.1, &places[1])
        && src.is_multiple_of(from_number.1)
        && dst.is_multiple_of(to_number.1);
    let size = |data_type: DataType| u32::try_from(data_type.size()).unwrap_or(0);
    let args = WarpArgs {
        windows: 0,
        from: strides(from),
        masks: valid.map_or([0, 0], |(spec, _)| [spec.strides.row as u64, spec.strides.column as u64]),
        to: strides(to),
        count: u32::try_from(windows.len()).unwrap_or(0),
        method: method(job.sampling),
        from_type: [from_number.0, size(from.data_type)],
        to_type: [to_number.0, size(to.data_type)],
        mask_size: valid.map_or(0, |(spec, _)| size(spec.data_type)),
        flags: if aligned { 0 } else { UNALIGNED },
    };
    let kernel = kernel(job, from.data_type, to.data_type, aligned);
    Ok(WarpPlan { windows, maps, of, len, kernel, grid, args })
}

/// Refuses the mode of very many samples.
fn check_mode(sampling: WarpSampling, window: &WarpWindow) -> Result<(), EngineError> {
    let side = |scale: f64| 1.0 / scale + 1.0;
    let samples = side(window.scale.0) * side(window.scale.1);
    if sampling != WarpSampling::Mode || samples <= MOST_OF_MODE {
        return Ok(());
    }
    Err(EngineError::Mismatch {
        what: "windows",
        found: format!("the mode of about {samples:.0} samples per pixel"),
        expected: format!("at most {MOST_OF_MODE} on a device; read a coarser level, or use the CPU"),
    })
}

/// Returns the entry point: a specialised one for the most common types and methods, or a generic one.
fn kernel(job: &WarpJob, from: DataType, to: DataType, aligned: bool) -> &'static str {
    if job.sampling == WarpSampling::Nearest {
        return "warp_nearest";
    }
    if job.sampling.is_footprint() {
        return "warp_under";
    }
    let all = |rule| job.windows.iter().all(|window| job.sampling.rule(window.scale) == rule);
    match from {
        _ if from != to || !aligned => "warp_gather",
        DataType::U8 if all(WarpRule::Four) => "warp_four_u8",
        DataType::U16 if all(WarpRule::Four) => "warp_four_u16",
        DataType::I16 if all(WarpRule::Four) => "warp_four_i16",
        DataType::F32 if all(WarpRule::Four) => "warp_four_f32",
        DataType::F32 if all(WarpRule::Sixteen) => "warp_sixteen_f32",
        _ => "warp_gather",
    }
}

/// Returns the entry of a window without its addresses.
fn entry(window: &WarpWindow, from: DataType, to: DataType) -> WarpEntry {
    let parts = window.map.parts();
    let (target, sheet) = (&window.target, &window.sheet);
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    WarpEntry {
        turn: parts.turn.map_or([0.0; 2], |(x, y)| [x, y]),
        scale: [window.scale.0, window.scale.1],
        nodata: words_of(window.nodata.as_ref(), from),
        fill: words_of(Some(&window.fill), to),
        avoid: words_of(window.avoid.as_ref(), to)[0],
        size: [target.width, target.height],
        first: [target.column, target.row],
        across: window.map.across(),
        source: [parts.source.0, parts.source.1],
        sheet: [sheet.column, sheet.row, sheet.column + sheet.width, sheet.row + sheet.height],
        bands: window.bands,
        flags: flag(window.nodata.is_some(), HAS_NODATA)
            | flag(window.avoid.is_some(), HAS_AVOID)
            | flag(window.blend == WarpBlend::Keep, KEEP)
            | flag(parts.turn.is_some(), HAS_TURN)
            | flag(window.map.wraps(), WRAPS),
        ..WarpEntry::default()
    }
}

/// Returns the bytes of a sample as numbers, padded with 0.
fn words_of(fill: Option<&Fill>, data_type: DataType) -> [u64; 2] {
    let mut bytes = [0; 16];
    if let Some(Fill(fill)) = fill {
        bytes.iter_mut().zip(fill).take(data_type.size()).for_each(|(to, from)| *to = *from);
    }
    words(&Fill(bytes))
}

/// Returns the number of a method, as `WarpMethod`.
fn method(sampling: WarpSampling) -> u32 {
    let at = WarpSampling::ALL.iter().position(|one| *one == sampling);
    at.and_then(|at| u32::try_from(at).ok()).unwrap_or(0)
}

/// Runs the job.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &WarpJob,
    pixels: &SharedPixels,
    valid: Option<&SharedPixels>,
    output: &Output,
    context: &Context,
) -> Result<(), Stop> {
    not_cancelled(&context.cancel)?;
    let (src, dst) = (address_of(device, pixels)?, address_of_output(device, output)?);
    let masks = match valid {
        Some(valid) => Some((valid.spec(), address_of(device, valid)?)),
        None => None,
    };
    let planned = plan(job, (pixels.spec(), src), masks, (output.spec(), dst))?;
    let boxes = job.windows.iter().filter_map(WarpWindow::output_box);
    let Some(around) = boxes.reduce(|one, other: OutputBox| one.union(&other)) else { return Ok(()) };
    let _claim = output.claim(around).ok_or(EngineError::Busy { output: 0 })?;
    let step = Step {
        purpose: "warping on the device",
        entry: (MODULE, planned.kernel),
        grid: planned.grid,
        threads: THREADS,
        len: planned.len,
    };
    let write = |at, to: &mut [u8]| {
        planned.write(at, to);
        planned.args(at)
    };
    // SAFETY: the plan checks windows against the pixels, their masks and the output, which the caller keeps.
    unsafe { step.run(device, spare, &context.cancel, write) }
}
