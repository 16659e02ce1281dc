//! Reads of many windows of many files as one tensor.

use super::options::BatchOptions;
use super::tensor::{BatchOutput, Tensor};
use super::window::BatchWindow;
use crate::error::{Error, Result};
use crate::input::{AsInput, InputRef};
use crate::options::ReadOptions;
use crate::read::{Asked, Done, Frame, ReadPlan, Reading, Request, Shape, WindowFault};
use crate::vrt::{Made, Named, Shared, Vrt, Work, file_of};
use std::collections::BTreeMap;
use strile_engine::{Context, Location, Report, Sampling};
use strile_tiff::DataType;

/// Plans a batch into the memory `to`, without touching a pixel.
pub fn plan_batch<F: AsInput>(
    to: Location,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<ReadPlan> {
    let batch = Batch::new(files, windows, options)?;
    batch.run((to, false), context, |reading, _| Ok(reading.plan))
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
pub fn read_batch<F: AsInput>(
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    Batch::new(files, windows, options)?.read(Location::Host, context)
}

/// Reads windows of files into memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the CPU, whose
/// pixels are then copied there.
pub fn read_batch_on_device<F: AsInput>(
    device: u32,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    Batch::new(files, windows, options)?.read(Location::Cuda(device), context)
}

/// Reads windows of files into the caller's output, which has exactly the shape and the type of the batch.
pub fn read_batch_into<F: AsInput>(
    output: &BatchOutput,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    let (shape, output) = (output.shape(), output.output());
    Batch::new(files, windows, options)?.run((output.location(), true), context, |reading, asked| {
        let plan = &reading.plan;
        let (have, want) = ((shape, output.spec().data_type), (plan.shape, plan.output.data_type));
        if have != want {
            let told = |([windows, bands, rows, columns], data_type): ([u32; 4], DataType)| {
                format!("{windows} windows × {bands} bands × {rows} × {columns} of {data_type}")
            };
            let problem = format!("the output is {}, the batch gives {}", told(have), told(want));
            return Err(asked.refuse(problem));
        }
        reading.delivered_into(output)
    })
}

/// A batch, checked as far as it can be without its files.
struct Batch<'a> {
    windows: Vec<(InputRef<'a>, &'a BatchWindow)>,
    options: ReadOptions,
    shape: Shape,
}

impl<'a> Batch<'a> {
    fn new<F: AsInput>(files: &'a [F], windows: &'a [BatchWindow], options: &BatchOptions) -> Result<Self> {
        let found = windows.iter().enumerate().map(|(at, window)| {
            let file = files.get(window.file).map(|file| (file.as_input(), window));
            file.ok_or_else(|| {
                let error = Error::Request {
                    file: format!("batch of {} windows", windows.len()),
                    problem: format!(
                        "there is no file {}, the batch has {} (from 0)",
                        window.file,
                        files.len()
                    ),
                };
                window.fail(at, error)
            })
        });
        let windows = found.collect::<Result<Vec<_>>>()?;
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
        Ok(Self { windows, options, shape })
    }

    fn read(&self, to: Location, context: &Context) -> Result<Tensor> {
        self.run((to, true), context, |reading, _| {
            let shape = reading.plan.shape;
            let Done { output, report, faults, engine } = reading.delivered()?;
            Ok(Tensor { shape, output, report, faults, engine })
        })
    }

    /// Plans the read and gives it to `read`: again without sources of mosaics that prove damaged, if these are only to be
    /// warned of. `pixels` is `false` for a plan.
    fn run<R>(
        &self,
        (to, pixels): (Location, bool),
        context: &Context,
        mut read: impl FnMut(Reading<'_>, Asked<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut works: BTreeMap<usize, (&Vrt, Work)> = BTreeMap::new();
        for (file, _) in &self.windows {
            if let InputRef::Vrt(vrt) = file {
                works.entry(std::ptr::from_ref(*vrt).addr()).or_insert_with(|| (vrt, vrt.work()));
            }
        }
        let calls: BTreeMap<usize, Shared<'_>> = works
            .iter()
            .map(|(&at, (vrt, work))| (at, Shared::new(vrt, &self.options, context, work)))
            .collect();
        loop {
            let made = self.made(&calls, pixels)?;
            let named: Vec<(usize, Named)> =
                made.iter().flatten().map(|(mosaic, made)| (*mosaic, made.named())).collect();
            let requests: Vec<Request<'_>> = self
                .windows
                .iter()
                .zip(&made)
                .filter_map(|((file, window), made)| match (file, made) {
                    (InputRef::Tiff(dataset), _) => Some(window.request(dataset)),
                    (InputRef::Vrt(_), made) => {
                        made.as_ref().map(|(_, made)| Request::of_mosaic(&made.canvas, Some(window.area)))
                    }
                })
                .collect();
            let asked = Asked { requests: &requests, options: &self.options, batch: Some(&self.shape) };
            let done = Reading::new(asked, to, Vec::new(), context).and_then(|reading| read(reading, asked));
            let Err(error) = done else { return done };
            let failed = named.iter().find_map(|(mosaic, named)| Some((mosaic, file_of(named, &error)?)));
            let failed =
                failed.and_then(|(mosaic, file)| Some((works.get(mosaic)?, calls.get(mosaic)?, file)));
            let Some(((vrt, _), call, file)) = failed else { return Err(error) };
            vrt.go_without(file, error, &call.call())?;
        }
    }

    /// What the windows of mosaics are made of, each with its mosaic.
    fn made(&self, calls: &BTreeMap<usize, Shared<'_>>, pixels: bool) -> Result<Vec<Option<(usize, Made)>>> {
        let one = |(at, (file, window)): (usize, &(InputRef<'_>, &BatchWindow))| {
            let InputRef::Vrt(vrt) = file else { return Ok(None) };
            let mosaic = std::ptr::from_ref(*vrt).addr();
            let Some(call) = calls.get(&mosaic) else { return Ok(None) };
            let made = self.made_of(vrt, window, pixels, call).map_err(|error| window.fail(at, error))?;
            Ok(Some((mosaic, made.ready())))
        };
        self.windows.iter().enumerate().map(one).collect()
    }

    fn made_of(&self, vrt: &Vrt, window: &BatchWindow, pixels: bool, call: &Shared<'_>) -> Result<Made> {
        let BatchWindow { page, level, bands, area, .. } = window;
        let level = ReadOptions { page: *page, level: *level, ..ReadOptions::default() };
        let (whole, bands) = vrt.target(&ReadOptions { bands: bands.clone(), ..level.clone() })?;
        let image = (whole.width, whole.height);
        let refuse = |problem: &str| vrt.refuse(problem.to_owned());
        let frame = Frame::found(area, || vrt.transform(&level), refuse)?;
        let frame = self.shape.read(frame, image);
        if self.shape.size.is_some() && self.shape.sampling != Sampling::Nearest {
            // One value of a window does not count.
            vrt.one_nodata(&bands)?;
        }
        vrt.check_window((frame.width, frame.height), &bands, &self.options)?;
        let wanted = vrt.wanted(&bands, (frame, frame.inside(image)), &self.options, pixels)?;
        vrt.made(&wanted, &call.call())
    }
}
