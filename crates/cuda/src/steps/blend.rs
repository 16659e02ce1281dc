//! Blending of mosaic layers on the device: arguments of `blend.cu`, counterparts of `kernels/steps/blend_abi.h`, and
//! the launch. Results equal the CPU engine's.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::{Address, bytes_of};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::steps::step::{Step, address_of, address_of_output, not_cancelled, numbers, words};
use strile_engine::{
    BlendChange, BlendJob, BlendLayer, BlendSamples, BlendScaling, BlendValues, BlendWay, Context,
    EngineError, Fill, Output, OutputBox, OutputSpec, Picks,
};
use strile_tiff::DataType;

/// Name of the `.cu` file without its extension, and of its entry point.
pub const MODULE: &str = "blend";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 256;

/// Exclusive limit of pixels per rectangle and of CUDA blocks per launch.
const MOST: u64 = 1 << 31;

const UNALIGNED: u32 = 1;
const DOUBLE: u32 = 2;
const HAS_NODATA: u32 = 4;
const HAS_LARGEST: u32 = 8;
const SCALED: u32 = 16;
const BYTE: u32 = 32;

/// Arguments of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub struct BlendArgs {
    /// Address of the layer's first sample.
    pub src: Address,
    /// Address of the mask, or 0.
    pub mask: Address,
    /// Address of the rectangle's first sample.
    pub dst: Address,
    /// Address of the pixel index per column, or 0.
    pub columns: Address,
    /// Address of the pixel index per row, or 0.
    pub rows: Address,
    /// Address of the table of values and results.
    pub table: Address,
    /// Layer strides in bytes: row, column.
    pub from: [u64; 2],
    /// The same for the mask.
    pub of_mask: [u64; 2],
    /// The same for the output.
    pub to: [u64; 2],
    /// Transparent sample.
    pub sample: u64,
    /// Nodata.
    pub nodata: f64,
    /// Largest value.
    pub largest: f64,
    /// Addend.
    pub offset: f64,
    /// Factor, applied before the addend.
    pub ratio: f64,
    /// Columns of the rectangle.
    pub width: u32,
    /// Rows of the rectangle.
    pub height: u32,
    /// Entries of the table.
    pub entries: u32,
    /// `BlendWay`.
    pub way: u32,
    /// Kind of the layer's samples, as `ReduceKind`.
    pub kind: u32,
    /// Bytes of a layer sample.
    pub size: u32,
    /// Kind of the output's samples.
    pub to_kind: u32,
    /// Bytes of an output sample.
    pub to_size: u32,
    /// `BlendFlag`s.
    pub flags: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<BlendArgs>() == 176);

/// Addresses of a layer and an output.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// Pixels; `None` for a layer of one constant sample.
    pub pixels: Option<Address>,
    /// Mask, if there is one.
    pub mask: Option<Address>,
    /// First sample of the output.
    pub output: Address,
}

/// A job prepared for a layer and an output on the device.
#[derive(Debug, Clone)]
pub struct BlendPlan {
    /// CUDA blocks.
    pub grid: u32,
    /// Tables, copied to the device unchanged: values and results, the constant sample of a layer, picks of columns,
    /// picks of rows.
    pub tables: Vec<u8>,
    args: BlendArgs,
    /// Offset of the sample in the tables, followed by those of the picks.
    sample: Option<u64>,
    columns: Option<u64>,
    rows: Option<u64>,
}

impl BlendPlan {
    /// Returns the arguments for tables at this address.
    pub fn args(&self, tables: u64) -> BlendArgs {
        let at = |offset: Option<u64>| offset.map_or(0, |offset| tables + offset);
        let src = if self.sample.is_some() { at(self.sample) } else { self.args.src };
        BlendArgs { src, columns: at(self.columns), rows: at(self.rows), table: tables, ..self.args }
    }
}

/// Prepares a job; returns an error if it does not fit.
pub fn plan(
    job: &BlendJob,
    layer: &BlendLayer<'_>,
    output: &OutputSpec,
    places: Places,
) -> Result<BlendPlan, EngineError> {
    let way = job.check(layer, output)?;
    let mismatch = |found: String, expected: &str| EngineError::Mismatch {
        what: "layer",
        found,
        expected: expected.to_owned(),
    };
    let (width, height) = job.size;
    let pixels = u64::from(width) * u64::from(height);
    let too_many = || mismatch(format!("{width} × {height} pixels"), "fewer than a launch can have");
    let grid = u32::try_from(pixels.div_ceil(THREADS.into())).ok().filter(|_| pixels < MOST);
    let mut planned = BlendPlan {
        grid: grid.ok_or_else(too_many)?,
        tables: Vec::new(),
        args: BlendArgs::default(),
        sample: None,
        columns: None,
        rows: None,
    };
    let strides = |spec: &OutputSpec| [spec.strides.row as u64, spec.strides.column as u64];
    let (to_row, to_column) = (output.strides.row as u64, output.strides.column as u64);
    let first = u64::from(job.band)
        .saturating_mul(output.strides.band as u64)
        .saturating_add(u64::from(job.at.1).saturating_mul(to_row))
        .saturating_add(u64::from(job.at.0).saturating_mul(to_column));
    let from_type = layer.samples.data_type();
    let size = |data_type: DataType| u32::try_from(data_type.size()).unwrap_or(0);
    planned.args = BlendArgs {
        src: places.pixels.unwrap_or(0),
        mask: places.mask.unwrap_or(0),
        dst: places.output.saturating_add(first),
        of_mask: layer.mask.map_or([0; 2], |mask| strides(mask.spec())),
        to: [to_row, to_column],
        width,
        height,
        kind: numbers(from_type).0,
        size: size(from_type),
        to_kind: numbers(output.data_type).0,
        to_size: size(output.data_type),
        ..BlendArgs::default()
    };
    planned.add_way(&way)?;
    match layer.samples {
        BlendSamples::Pixels(pixels) => planned.args.from = strides(pixels.spec()),
        BlendSamples::One(_, Fill(bytes)) => planned.sample = Some(planned.add(&bytes)),
    }
    let picks = |picks: &Picks, planned: &mut BlendPlan| match picks {
        Picks::Run => None,
        Picks::Each(each) => Some(planned.add(bytes_of(each))),
    };
    planned.columns = picks(&job.columns, &mut planned);
    planned.rows = picks(&job.rows, &mut planned);
    let args = &mut planned.args;
    let is_aligned = |data_type: DataType, numbers_at: [u64; 3]| {
        let (_, number) = numbers(data_type);
        let number = if matches!(data_type, DataType::C64) { 4 } else { number };
        numbers_at.into_iter().all(|at| at.is_multiple_of(number))
    };
    let [from_row, from_column] = args.from;
    let aligned = is_aligned(from_type, [args.src, from_row, from_column])
        && is_aligned(output.data_type, [args.dst, to_row, to_column]);
    args.flags |= if aligned { 0 } else { UNALIGNED };
    Ok(planned)
}

impl BlendPlan {
    /// Adds a table and returns its offset.
    fn add(&mut self, table: &[u8]) -> u64 {
        let at = self.tables.len() as u64;
        self.tables.extend_from_slice(table);
        at
    }

    fn add_way(&mut self, way: &BlendWay) -> Result<(), EngineError> {
        let args = &mut self.args;
        match way {
            BlendWay::Copy => args.way = 0,
            BlendWay::Convert { largest } => {
                args.way = 1;
                if let Some(largest) = largest {
                    (args.largest, args.flags) = (f64::from(*largest), args.flags | HAS_LARGEST);
                }
            }
            BlendWay::Unless(sample) => {
                let [low, _] = words(sample);
                (args.way, args.sample) = (2, low);
            }
            BlendWay::Change(change) => return self.add_change(change),
        }
        Ok(())
    }

    fn add_change(&mut self, change: &BlendChange) -> Result<(), EngineError> {
        let BlendChange { is_double, nodata, values, largest, is_byte, .. } = change;
        let args = &mut self.args;
        args.way = 3;
        let mut flags = if *is_double { DOUBLE } else { 0 } | if *is_byte { BYTE } else { 0 };
        if let Some(nodata) = nodata {
            (args.nodata, flags) = (nodata.as_f64(), flags | HAS_NODATA);
        }
        if let Some(largest) = largest {
            (args.largest, flags) = (largest.as_f64(), flags | HAS_LARGEST);
        }
        let none = BlendValues::default();
        let BlendValues { scaling, table, .. } = values.as_deref().unwrap_or(&none);
        match *scaling {
            BlendScaling::None => {}
            BlendScaling::Linear { offset, ratio } => {
                (args.offset, args.ratio, flags) = (offset, ratio, flags | SCALED);
            }
            BlendScaling::Power { .. } => {
                let expected = "values that a device scales".to_owned();
                let found = "values raised to a power".to_owned();
                return Err(EngineError::Mismatch { what: "layer", found, expected });
            }
        }
        args.flags |= flags;
        let too_many = || EngineError::Mismatch {
            what: "layer",
            found: format!("{} entries of a table", table.len()),
            expected: "fewer than 2^31".to_owned(),
        };
        args.entries =
            u32::try_from(table.len()).ok().filter(|len| u64::from(*len) < MOST).ok_or_else(too_many)?;
        for (value, becomes) in table {
            self.tables.extend(value.to_le_bytes().into_iter().chain(becomes.to_le_bytes()));
        }
        Ok(())
    }
}

/// Runs the job.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &BlendJob,
    layer: &BlendLayer<'_>,
    output: &Output,
    context: &Context,
) -> Result<(), Stop> {
    not_cancelled(&context.cancel)?;
    let pixels = match layer.samples {
        BlendSamples::Pixels(pixels) => Some(address_of(device, pixels)?),
        BlendSamples::One(..) => None,
    };
    let mask = layer.mask.map(|mask| address_of(device, mask)).transpose()?;
    let places = Places { pixels, mask, output: address_of_output(device, output)? };
    let planned = plan(job, layer, output.spec(), places)?;
    let ((x, y), (width, height)) = (job.at, job.size);
    if planned.grid == 0 {
        return Ok(());
    }
    let claimed = OutputBox {
        bands: (job.band, job.band.saturating_add(1)),
        rows: (y, y.saturating_add(height)),
        columns: (x, x.saturating_add(width)),
    };
    let _claim = output.claim(claimed).ok_or(EngineError::Busy { output: 0 })?;
    let step = Step {
        purpose: "a layer on the device",
        entry: (MODULE, MODULE),
        grid: planned.grid,
        threads: THREADS,
        len: planned.tables.len(),
    };
    let write = |at, to: &mut [u8]| {
        to.copy_from_slice(&planned.tables);
        planned.args(at)
    };
    // SAFETY: the plan checks layer and output against the job; the caller keeps both.
    unsafe { step.run(device, spare, &context.cancel, write) }
}
