//! Overviews on the device: arguments of the kernels of `reduce.cu`; counterparts of `kernels/reduce/reduce_abi.h`.
//!
//! [`plan`] makes the parts of a job, all in one table, their places in one output and the launches over them: one over
//! all pixels of a type and, except for filters, one over all masks. Results are bit-identical to the CPU engine's.

use crate::abi::Address;
use strile_engine::{EngineError, Fill, OutputSpec, ReduceJob, Resampling, SharedPixels, Support};
use strile_tiff::DataType;

/// Name of the `.cu` file without its extension.
pub const MODULE: &str = "reduce";
/// Threads per CUDA block, as in the kernels.
pub const THREADS: u32 = 256;

/// Reduced rows per thread in a tile, as in the kernels.
const FOUR_ROWS: u32 = 8;
/// Columns and rows of a filter tile, as in the kernel.
const FILTER_TILE: (u32, u32) = (32, 16);
/// Alignment of results.
const ALIGN: u64 = 256;
/// Exclusive limit of samples per row, rows per part and tiles per launch.
const MOST: u64 = 1 << 31;

const HAS_NODATA: u32 = 1;
const IS_MASK: u32 = 2;
const UNALIGNED: u32 = 4;

/// A part of a reduced image, or its mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ReducePart {
    /// Address of the first source sample.
    pub src: Address,
    /// Address of the first mask sample, 0 for none.
    pub mask: Address,
    /// Offset in the output.
    pub dst: u64,
    /// Source stride between bands, in bytes.
    pub band_stride: u64,
    /// Source stride between rows.
    pub row_stride: u64,
    /// Source stride between columns.
    pub column_stride: u64,
    /// Mask stride between rows, in bytes.
    pub mask_row_stride: u64,
    /// Mask stride between columns.
    pub mask_column_stride: u64,
    /// Bits of nodata, the real part first.
    pub nodata: [u64; 2],
    /// Column and row of the first source pixel in the image.
    pub origin: [u32; 2],
    /// Columns and rows of the image.
    pub image: [u32; 2],
    /// Position of the part in the reduced image.
    pub target: [u32; 2],
    /// Its columns and rows.
    pub size: [u32; 2],
    /// Contiguous samples per pixel of the result: all bands or 1.
    pub samples: u32,
    /// Groups of bands: 1 or all.
    pub groups: u32,
    /// Kind of samples: 0 unsigned, 1 signed, 2 float, 3 complex.
    pub kind: u32,
    /// Bytes of a sample.
    pub sample_size: u32,
    /// 1: there is a nodata value; 2: a mask is reduced; 4: samples are not aligned to multiples of their size.
    pub flags: u32,
    /// Threads across a tile, as a power of two.
    pub shift: u32,
    /// Tiles across the part.
    pub tiles_across: u32,
    /// Tiles of the previous parts of its launch.
    pub first_tile: u32,
}

/// Arguments of every kernel of the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ReduceArgs {
    /// The launch's `ReducePart`s.
    pub parts: Address,
    /// Base address of `ReducePart::dst`, a multiple of 16.
    pub dst: Address,
    /// Number of parts.
    pub count: u32,
    /// Method: its index in `Resampling::ALL`.
    pub method: u32,
}

const _: () = assert!(size_of::<ReducePart>() == 144);
const _: () = assert!(size_of::<ReduceArgs>() == 24);

/// One launch, with [`THREADS`] threads per CUDA block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReduceLaunch {
    /// Entry point.
    pub entry: &'static str,
    /// Index of its first part in the table.
    pub first: usize,
    /// Number of its parts.
    pub count: u32,
    /// Grid.
    pub grid: (u32, u32),
    method: u32,
}

impl ReduceLaunch {
    /// Returns the arguments for a table of all parts and an output at these addresses.
    pub fn args(&self, parts: u64, dst: u64) -> ReduceArgs {
        let before = (self.first as u64).wrapping_mul(size_of::<ReducePart>() as u64);
        ReduceArgs { parts: parts.wrapping_add(before), dst, count: self.count, method: self.method }
    }
}

/// Position and shape of a result in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Offset of the first byte.
    pub offset: u64,
    /// Shape; contiguous.
    pub spec: OutputSpec,
}

/// Results of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Pixels.
    pub pixels: Place,
    /// Mask, if the task has one.
    pub mask: Option<Place>,
}

/// A prepared job.
#[derive(Debug, Clone, Default)]
pub struct Reduction {
    /// Table of parts, copied to the device unchanged.
    pub parts: Vec<ReducePart>,
    /// Launches, in any order.
    pub launches: Vec<ReduceLaunch>,
    /// Results per task, in order.
    pub places: Vec<Places>,
    /// Bytes of the output, which is aligned to 16.
    pub len: u64,
}

/// Returns whether images of this type can be reduced by this method: as on the CPU.
pub fn reduces(method: Resampling, data_type: DataType) -> Support {
    method.support(data_type)
}

/// Prepares a job over pixels on a device; returns an error if it does not fit them.
pub fn plan(job: &ReduceJob, pixels: &[SharedPixels]) -> Result<Reduction, EngineError> {
    let mut reduction = Reduction::default();
    let mut parts: Vec<(&'static str, ReducePart)> = Vec::new();
    for task in &job.tasks {
        let (source, mask) = task.sources(job.method, pixels)?;
        let specs = task.reduced_specs(source.spec());
        let (spec, mask_spec) = specs.map_err(|e| mismatch(e.to_string(), "a smaller part".to_owned()))?;
        let place = Part { job, task, entry: entry(job.method, source.spec().data_type) };
        let pixels = reduction.place(spec)?;
        let (address, mask_address) = (address(source)?, mask.map(address).transpose()?);
        let mut part = place.part((source.spec(), address), &pixels)?;
        if let (Some(mask), Some(address)) = (mask, mask_address) {
            let strides = mask.spec().strides;
            part.mask = address;
            part.mask_row_stride = strides.row as u64;
            part.mask_column_stride = strides.column as u64;
        }
        parts.push((place.entry, part));
        let mask = match (mask, mask_address) {
            (Some(mask), Some(address)) => {
                let to = reduction.place(mask_spec)?;
                let part = place.part((mask.spec(), address), &to)?;
                let part = ReducePart { flags: IS_MASK | HAS_NODATA, nodata: [0; 2], ..part };
                parts.push((mask_entry(job.method), part));
                Some(to)
            }
            _ => None,
        };
        reduction.places.push(Places { pixels, mask });
    }
    // Parts of one entry point together, in a stable order.
    parts.sort_by_key(|(entry, _)| *entry);
    reduction.launch(job.method, parts)?;
    Ok(reduction)
}

impl Reduction {
    /// Reserves room for a result at the end of the output.
    fn place(&mut self, spec: OutputSpec) -> Result<Place, EngineError> {
        let len = spec.len().map_err(|e| mismatch(e.to_string(), "a smaller part".to_owned()))? as u64;
        let offset = self.len;
        let end = offset.checked_add(len).and_then(|end| end.checked_next_multiple_of(ALIGN));
        self.len = end.ok_or_else(too_large)?;
        Ok(Place { offset, spec })
    }

    fn launch(
        &mut self,
        method: Resampling,
        parts: Vec<(&'static str, ReducePart)>,
    ) -> Result<(), EngineError> {
        let mut tiles = 0u64;
        for (entry, mut part) in parts {
            let more = part.tiles(method);
            let last = self.launches.last_mut();
            match last.filter(|last| last.entry == entry && tiles.saturating_add(more) < MOST) {
                Some(last) => last.count = last.count.saturating_add(1),
                None => {
                    tiles = 0;
                    let (first, method) = (self.parts.len(), number(method));
                    self.launches.push(ReduceLaunch { entry, first, count: 1, grid: (0, 1), method });
                }
            }
            part.first_tile = u32::try_from(tiles).map_err(|_| too_large())?;
            tiles = tiles.saturating_add(more);
            if let Some(last) = self.launches.last_mut() {
                last.grid.0 =
                    u32::try_from(tiles).ok().filter(|n| u64::from(*n) < MOST).ok_or_else(too_large)?;
            }
            self.parts.push(part);
        }
        Ok(())
    }
}

impl ReducePart {
    /// Returns the tiles of the part.
    fn tiles(&self, method: Resampling) -> u64 {
        let [_, rows] = self.size;
        let (groups, tile) = match is_filter(method) {
            true => (u64::from(self.groups) * u64::from(self.samples), FILTER_TILE.1),
            false => (u64::from(self.groups), (THREADS >> self.shift) * FOUR_ROWS),
        };
        u64::from(self.tiles_across).saturating_mul(u64::from(rows.div_ceil(tile))).saturating_mul(groups)
    }
}

/// Common properties of the parts of one task.
struct Part<'a> {
    job: &'a ReduceJob,
    task: &'a strile_engine::ReduceTask,
    entry: &'static str,
}

impl Part<'_> {
    /// Returns the part for pixels of this shape at an address, without a mask.
    fn part(&self, (spec, src): (&OutputSpec, u64), to: &Place) -> Result<ReducePart, EngineError> {
        let (columns, rows) = self.task.size;
        let together = to.spec.bands > 1 && to.spec.strides.band < to.spec.strides.column;
        let (samples, groups) = if together { (spec.bands, 1) } else { (1, spec.bands) };
        let across = u64::from(columns) * u64::from(samples);
        if across >= MOST || u64::from(rows) >= MOST {
            return Err(too_large());
        }
        let across = u32::try_from(across).map_err(|_| too_large())?;
        let shift = across.next_power_of_two().trailing_zeros().clamp(5, THREADS.trailing_zeros());
        let tiles_across = match is_filter(self.job.method) {
            true => columns.div_ceil(FILTER_TILE.0),
            false => across.div_ceil(1 << shift),
        };
        let (kind, number_size) = numbers(spec.data_type);
        let strides = [spec.strides.band, spec.strides.row, spec.strides.column].map(|stride| stride as u64);
        let aligned =
            [src, strides[0], strides[1], strides[2]].iter().all(|at| at.is_multiple_of(number_size));
        let nodata = self.job.nodata.filter(|_| self.job.method != Resampling::Nearest);
        Ok(ReducePart {
            src,
            dst: to.offset,
            band_stride: strides[0],
            row_stride: strides[1],
            column_stride: strides[2],
            nodata: nodata.map_or([0; 2], |fill| bits(&fill, number_size)),
            origin: [self.task.origin.0, self.task.origin.1],
            image: [self.task.image.0, self.task.image.1],
            target: [self.task.target.0, self.task.target.1],
            size: [columns, rows],
            samples,
            groups,
            kind,
            sample_size: u32::try_from(spec.data_type.size()).unwrap_or(0),
            flags: if nodata.is_some() { HAS_NODATA } else { 0 } | if aligned { 0 } else { UNALIGNED },
            shift,
            tiles_across,
            ..ReducePart::default()
        })
    }
}

/// Returns the numbers in a fill value, of `size` bytes each.
fn bits(fill: &Fill, size: u64) -> [u64; 2] {
    let value = u128::from_le_bytes(fill.0);
    let mask = u128::from(u64::MAX >> (64 - 8 * size.clamp(1, 8)));
    [value & mask, (value >> (8 * size)) & mask].map(|number| u64::try_from(number).unwrap_or(0))
}

/// Returns the kind of a sample's numbers and their size in bytes.
fn numbers(data_type: DataType) -> (u32, u64) {
    use DataType as D;
    let size = data_type.size() as u64;
    match data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => (0, size),
        D::I8 | D::I16 | D::I32 | D::I64 => (1, size),
        D::F16 | D::F32 | D::F64 => (2, size),
        D::C64 | D::C128 => (3, size / 2),
    }
}

/// Returns the entry point for a method and a type.
fn entry(method: Resampling, data_type: DataType) -> &'static str {
    use DataType as D;
    use Resampling as R;
    match (method, data_type) {
        (R::Nearest, D::U8 | D::I8) => "reduce_nearest_1",
        (R::Nearest, D::U16 | D::I16 | D::F16) => "reduce_nearest_2",
        (R::Nearest, D::U32 | D::I32 | D::F32) => "reduce_nearest_4",
        (R::Nearest, D::U64 | D::I64 | D::F64 | D::C64) => "reduce_nearest_8",
        (R::Nearest, D::C128) => "reduce_nearest_16",
        (R::Average, D::U8 | D::I8) => "reduce_mean_1",
        (R::Average, D::U16 | D::I16) => "reduce_mean_2",
        (R::Average, D::U32 | D::I32) => "reduce_mean_4",
        (R::Average, D::U64 | D::I64) => "reduce_mean_8",
        (R::Average, D::F16) => "reduce_mean_f16",
        (R::Average, D::F32) => "reduce_mean_f32",
        (R::Average, D::F64) => "reduce_mean_f64",
        (R::Average, D::C64) => "reduce_mean_c64",
        (R::Average, D::C128) => "reduce_mean_c128",
        (R::Rms, _) => "reduce_rms",
        (R::Gauss | R::Bilinear | R::Cubic | R::Lanczos, _) => "reduce_filter",
        (R::Min | R::Max | R::Median | R::Mode, D::U64 | D::I64 | D::F64) => "reduce_rank_wide",
        (R::Min | R::Max | R::Median | R::Mode, _) => "reduce_rank_narrow",
    }
}

/// Returns the entry point for masks.
fn mask_entry(method: Resampling) -> &'static str {
    match method {
        Resampling::Nearest => "reduce_nearest_mask",
        _ if is_filter(method) => "reduce_filter",
        _ => "reduce_four_mask",
    }
}

fn is_filter(method: Resampling) -> bool {
    matches!(method, Resampling::Gauss | Resampling::Bilinear | Resampling::Cubic | Resampling::Lanczos)
}

/// Returns the kernels' number of a method.
fn number(method: Resampling) -> u32 {
    (0u32..).zip(Resampling::ALL).find(|(_, m)| *m == method).map_or(0, |(number, _)| number)
}

fn address(pixels: &SharedPixels) -> Result<u64, EngineError> {
    pixels.address().ok_or_else(|| {
        mismatch(format!("pixels in {}", pixels.location()), "pixels on the device".to_owned())
    })
}

fn too_large() -> EngineError {
    mismatch("more samples than a launch can have".to_owned(), "a smaller part".to_owned())
}

fn mismatch(found: String, expected: String) -> EngineError {
    EngineError::Mismatch { what: "pixels", found, expected }
}
