//! Reads of many windows of many files as one tensor.

use super::options::BatchOptions;
use super::tensor::{BatchOutput, Tensor};
use super::window::BatchWindow;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::read::{Asked, Done, ReadPlan, Reading, Request, Shape, WindowFault, place_bands};
use std::borrow::Borrow;
use strile_engine::{Context, Engine, Location, Output, Report};
use strile_tiff::DataType;

/// Plans a batch into the memory `to`, without touching a pixel.
pub fn plan_batch<D: Borrow<Dataset>>(
    to: Location,
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<ReadPlan> {
    let batch = Batch::new(files, windows, options)?;
    Reading::new(batch.asked(), to, Vec::new(), context).map(|reading| reading.plan)
}

/// Reads windows of files into host memory, whoever decodes them.
///
/// ```
/// # use std::sync::Arc;
/// # use testkit::{ImageSpec, Pattern, Pixels};
/// use strile::{BatchOptions, BatchWindow, Context, Dataset, FloatType, Sampling, read_batch};
/// # use strile::{MemorySource, OpenOptions, tiff};
/// # let sample = tiff::SampleType { format: tiff::SampleFormat::Uint, bits: 16 };
/// # let scene = |seed| {
/// #     let pixels = Pixels::generate(Pattern::Dem, sample, [2, 60, 80], seed);
/// #     let bytes = ImageSpec::new(sample).build(&pixels, tiff::ByteOrder::Little, false).bytes;
/// #     Dataset::from_source(Arc::new(MemorySource::new("scene.tif", bytes)), &OpenOptions::default())
/// # };
/// # let (spring, autumn) = (scene(1)?, scene(2)?);
/// // Two windows of two files, one of them over the edge, made half their size.
/// let windows =
///     [BatchWindow::of_pixels(0, 10, 20, (32, 32)), BatchWindow::of_pixels(1, 70, -8, (32, 32))];
/// let options =
///     BatchOptions::new().float_type(FloatType::Float16).size((16, 16)).sampling(Sampling::Average);
/// let context = Context::default();
/// let tensor = read_batch(&[spring, autumn], &windows, &options, &context)?;
/// assert_eq!(tensor.shape, [2, 2, 16, 16]);
/// let halves: Vec<u8> = tensor.into_host(&context)?;
/// assert_eq!(halves.len(), 2 * 2 * 16 * 16 * 2);
/// # Ok::<(), strile::Error>(())
/// ```
pub fn read_batch<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    Batch::new(files, windows, options)?.read(Location::Host, context)
}

/// Reads windows of files into memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the CPU, whose
/// pixels are then copied there.
pub fn read_batch_on_device<D: Borrow<Dataset>>(
    device: u32,
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    Batch::new(files, windows, options)?.read(Location::Cuda(device), context)
}

/// Reads windows of files into the caller's output, which has exactly the shape and the type of the batch.
pub fn read_batch_into<D: Borrow<Dataset>>(
    output: &BatchOutput,
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    let batch = Batch::new(files, windows, options)?;
    let (asked, shape, output) = (batch.asked(), output.shape(), output.output());
    let reading = Reading::new(asked, output.location(), Vec::new(), context)?;
    let plan = &reading.plan;
    let (have, want) = ((shape, output.spec().data_type), (plan.shape, plan.output.data_type));
    if have != want {
        let told = |([windows, bands, rows, columns], data_type): ([u32; 4], DataType)| {
            format!("{windows} windows × {bands} bands × {rows} × {columns} of {data_type}")
        };
        return Err(asked.refuse(format!("the output is {}, the batch gives {}", told(have), told(want))));
    }
    match output.location() {
        Location::Cuda(index) if reading.plan.destination == Location::Host => {
            let engine = reading.holder(index)?;
            let Done { output: pixels, report, faults, .. } = reading.read()?;
            place_all(pixels, engine.as_ref(), output, context)?;
            Ok((report, faults))
        }
        _ => reading.read_into(output),
    }
}

/// Copies pixels in host memory to an output of the same shape in the memory of a GPU's engine.
fn place_all(pixels: Output, engine: &dyn Engine, output: &Output, context: &Context) -> Result<()> {
    let bands: Vec<u32> = (0..pixels.spec().bands).collect();
    place_bands(pixels, &bands, engine, output, context)
}

/// A batch as requests.
struct Batch<'a> {
    requests: Vec<Request<'a>>,
    options: ReadOptions,
    shape: Shape,
}

impl<'a> Batch<'a> {
    fn new<D: Borrow<Dataset>>(
        files: &'a [D],
        windows: &'a [BatchWindow],
        options: &BatchOptions,
    ) -> Result<Self> {
        let request = |window: &'a BatchWindow| {
            let file = files.get(window.file).map(|file| window.request(file.borrow()));
            file.ok_or_else(|| Error::Request {
                file: format!("batch of {} windows", windows.len()),
                problem: format!("there is no file {}, the batch has {} (from 0)", window.file, files.len()),
            })
        };
        let requests = windows.iter().enumerate().map(|(at, window)| {
            request(window).map_err(|error| Error::Window {
                window: at,
                area: window.area.to_string(),
                error: Box::new(error),
            })
        });
        let requests = requests.collect::<Result<Vec<_>>>()?;
        let shape = Shape {
            floats: options.converts(),
            fill: options.fill,
            size: options.size,
            sampling: options.sampling,
        };
        let options = ReadOptions {
            masked: options.masked,
            unpack: options.unpack,
            float_type: options.float_type,
            on_fault: options.on_fault,
            max_pixels: options.max_pixels,
            max_block_bytes: options.max_block_bytes,
            decode_on: options.decode_on,
            device_memory: options.device_memory,
            ..ReadOptions::default()
        };
        Ok(Self { requests, options, shape })
    }

    fn asked(&self) -> Asked<'_> {
        Asked { requests: &self.requests, options: &self.options, batch: Some(&self.shape) }
    }

    fn read(&self, to: Location, context: &Context) -> Result<Tensor> {
        let reading = Reading::new(self.asked(), to, Vec::new(), context)?;
        let shape = reading.plan.shape;
        let holder = match to {
            Location::Cuda(index) if reading.plan.destination == Location::Host => {
                Some(reading.holder(index)?)
            }
            _ => None,
        };
        let Done { output, report, faults, engine } = reading.read()?;
        let Some(engine) = holder else { return Ok(Tensor { shape, output, report, faults, engine }) };
        let there = engine.output(output.spec().clone(), context)?;
        place_all(output, engine.as_ref(), &there, context)?;
        Ok(Tensor { shape, output: there, report, faults, engine })
    }
}
