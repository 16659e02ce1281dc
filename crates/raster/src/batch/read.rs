//! Reads of many windows of many files as one tensor.

use super::options::BatchOptions;
use super::tensor::{BatchOutput, Tensor};
use super::window::BatchWindow;
use crate::dataset::Dataset;
use crate::device::Destination;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::read::{Asked, Done, ReadPlan, Reading, Request, Shape, WindowFault};
use std::borrow::Borrow;
use strile_engine::{Context, Report};
use strile_tiff::DataType;

/// Plans a batch without touching a pixel: what `read_batch_on_device` would do.
pub fn plan_batch<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<ReadPlan> {
    let batch = Batch::new(files, windows, options)?;
    Reading::new(batch.asked(), Destination::Engine, Vec::new(), context).map(|reading| reading.plan)
}

/// Reads windows of files into host memory.
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
/// let options = BatchOptions {
///     float_type: Some(FloatType::Float16),
///     size: Some((16, 16)),
///     sampling: Sampling::Average,
///     ..BatchOptions::default()
/// };
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
    Batch::new(files, windows, options)?.read(Destination::Host, context)
}

/// Reads windows of files and leaves them where the engine has them: on a GPU that decoded them, in host memory if the CPU
/// did.
pub fn read_batch_on_device<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    Batch::new(files, windows, options)?.read(Destination::Engine, context)
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
    let reading = Reading::new(asked, Destination::Output(output.location()), Vec::new(), context)?;
    let plan = &reading.plan;
    let (have, want) = ((shape, output.spec().data_type), (plan.shape, plan.output.data_type));
    if have != want {
        let told = |([windows, bands, rows, columns], data_type): ([u32; 4], DataType)| {
            format!("{windows} windows × {bands} bands × {rows} × {columns} of {data_type}")
        };
        return Err(asked.refuse(format!("the output is {}, the batch gives {}", told(have), told(want))));
    }
    reading.read_into(output)
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
            device: options.device,
            device_memory: options.device_memory,
            ..ReadOptions::default()
        };
        Ok(Self { requests, options, shape })
    }

    fn asked(&self) -> Asked<'_> {
        Asked { requests: &self.requests, options: &self.options, batch: Some(&self.shape) }
    }

    fn read(&self, to: Destination, context: &Context) -> Result<Tensor> {
        let reading = Reading::new(self.asked(), to, Vec::new(), context)?;
        let shape = reading.plan.shape;
        let Done { output, report, faults, engine } = reading.read()?;
        Ok(Tensor { shape, output, report, faults, engine })
    }
}
