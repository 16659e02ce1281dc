//! Reads of many windows of many files into one array.

use super::located::located;
use super::onto::BatchOnto;
use super::options::BatchOptions;
use super::output::BatchOutput;
use super::window::BatchWindow;
use crate::error::{Error, Result};
use crate::file::input::{AsInput, InputRef};
use crate::options::{Execution, Interleave, Meaning};
use crate::pixels::Pixels;
use crate::read::{Asked, Frame, ReadPlan, Reading, Request, Shape, WindowFault};
use crate::vrt::{Calls, Made, Mosaics, Named, Shared, Vrt};
use strile_engine::{Context, Fill, Location, Report, Sampling};
use strile_tiff::DataType;

/// Plans a batch into the memory `to`, without touching a pixel.
pub fn plan_batch<F: AsInput>(
    to: Location,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<ReadPlan> {
    let windows = &*located(files, windows, options.onto.as_deref())?;
    if let Some(batch) = BatchOnto::of(files, windows, options, context)? {
        return batch.plan(to);
    }
    let batch = Batch::new(files, windows, options)?;
    batch.run((to, false), context, |reading, _| reading.explained()).map(|(plan, _)| plan)
}

/// Reads windows of files into host memory. The windows may be decoded on any processor.
///
/// ```
/// # use std::sync::Arc;
/// # use testkit::{ImageSpec, Pattern, Pixels};
/// use strile::{BatchOptions, Context, Dataset, read_batch};
/// use strile::batch::{BatchWindow, Sampling};
/// use strile::read::FloatType;
/// # use strile::io::MemorySource;
/// # use strile::{OpenOptions, tiff};
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
/// let pixels = read_batch(&[spring, autumn], &windows, &options, &context)?;
/// assert_eq!(pixels.shape(), [2, 2, 16, 16]);
/// assert_eq!(pixels.bytes()?.len(), 2 * 2 * 16 * 16 * 2);
/// # Ok::<(), strile::Error>(())
/// ```
pub fn read_batch<F: AsInput>(
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Pixels> {
    read_to(Location::Host, files, windows, options, context)
}

/// Reads windows of files into memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the
/// CPU; then the pixels are copied to the GPU.
pub fn read_batch_on_device<F: AsInput>(
    device: u32,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Pixels> {
    read_to(Location::Cuda(device), files, windows, options, context)
}

fn read_to<F: AsInput>(
    to: Location,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Pixels> {
    let windows = &*located(files, windows, options.onto.as_deref())?;
    match BatchOnto::of(files, windows, options, context)? {
        Some(batch) => batch.read(to),
        None => Batch::new(files, windows, options)?.read(to, context),
    }
}

/// Reads windows of files into the caller's output, which must have exactly the shape and the type of the batch.
pub fn read_batch_into<F: AsInput>(
    output: &BatchOutput,
    files: &[F],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    let windows = &*located(files, windows, options.onto.as_deref())?;
    if let Some(batch) = BatchOnto::of(files, windows, options, context)? {
        return batch.read_into(output);
    }
    let (shape, output) = (output.shape(), output.output());
    let batch = Batch::new(files, windows, options)?;
    let done = batch.run((output.location(), true), context, |reading, asked| {
        let plan = &reading.planned;
        let (have, want) = ((shape, output.spec().data_type), (plan.shape, plan.output.data_type));
        if have != want {
            let told = |([windows, bands, rows, columns], data_type): ([u32; 4], DataType)| {
                format!("{windows} windows × {bands} bands × {rows} × {columns} of {data_type}")
            };
            let problem = format!("the output is {}, the batch gives {}", told(have), told(want));
            return Err(asked.refuse(problem));
        }
        reading.delivered_into(output)
    });
    let ((report, faults), told) = done?;
    Ok((report, told.with(faults)))
}

/// Returns the name of a batch for messages.
pub(super) fn of_batch(windows: usize) -> String {
    format!("batch of {windows} windows")
}

/// Reports of mosaics in a batch, in addition to those of the read.
struct Told {
    /// Faults of blended sources.
    faults: Vec<WindowFault>,
    /// Sources that were skipped, and the reasons.
    holes: Vec<(String, String)>,
}

impl Told {
    /// Returns all faults, those of the first window first.
    fn with(self, read: Vec<WindowFault>) -> Vec<WindowFault> {
        let mut all = self.faults;
        all.extend(read);
        all.sort_by_key(|fault| fault.window);
        all
    }
}

/// A batch, checked as far as possible without its files.
struct Batch<'a> {
    windows: Vec<(InputRef<'a>, &'a BatchWindow)>,
    meaning: Meaning,
    execution: Execution,
    shape: Shape,
}

impl<'a> Batch<'a> {
    fn new<F: AsInput>(files: &'a [F], windows: &'a [BatchWindow], options: &BatchOptions) -> Result<Self> {
        let found = windows.iter().enumerate().map(|(at, window)| {
            let file = files.get(window.file).map(|file| (file.as_input(), window));
            file.ok_or_else(|| {
                let error = Error::Request {
                    file: of_batch(windows.len()),
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
        options.check().map_err(|problem| Error::Request { file: of_batch(windows.len()), problem })?;
        Ok(Self { windows, meaning: options.meaning, execution: options.execution, shape })
    }

    fn read(&self, to: Location, context: &Context) -> Result<Pixels> {
        let (pixels, told) = self.run((to, true), context, |reading, _| {
            let [windows, ..] = reading.planned.shape;
            Pixels::of_done(reading.delivered()?, Some(windows), (Interleave::BandFirst, Fill::default()))
        })?;
        let levels = self.windows.iter().map(|(_, window)| window.level).collect();
        let (holes, faults) = (told.holes.clone(), told.with(pixels.faults));
        Ok(Pixels { holes, faults, levels, ..pixels })
    }

    /// Plans the read and passes it to `read`. Repeats this without damaged sources of mosaics, if these should only
    /// cause warnings. `pixels` is `false` for a plan.
    fn run<R>(
        &self,
        (to, pixels): (Location, bool),
        context: &Context,
        mut read: impl FnMut(Reading<'_>, Asked<'_>) -> Result<R>,
    ) -> Result<(R, Told)> {
        let mosaics = Mosaics::among(self.windows.iter().map(|(file, _)| *file));
        let calls = mosaics.calls((&self.execution, to), context);
        let mut first = true;
        loop {
            let (made, faults) = self.made(&calls, Pass { pixels, first })?;
            first = false;
            let named: Vec<(usize, Named)> = made.iter().flatten().map(Made::named).collect();
            let requests: Vec<Request<'_>> = self
                .windows
                .iter()
                .zip(&made)
                .filter_map(|((file, window), made)| match (file, made) {
                    (InputRef::Tiff(dataset), _) => Some(window.request(dataset)),
                    (InputRef::Vrt(_), made) => {
                        made.as_ref().map(|made| Request::of_mosaic(&made.canvas, Some(window.area)))
                    }
                })
                .collect();
            let Self { meaning, execution, shape, .. } = self;
            let (interleave, batch) = (Interleave::BandFirst, Some(shape));
            let asked = Asked {
                requests: &requests,
                meaning,
                interleave,
                execution,
                batch,
                laying: None,
                steps: &[],
            };
            let done = Reading::new(asked, to, context).and_then(|reading| read(reading, asked));
            match done {
                Ok(done) => return Ok((done, Told { faults, holes: calls.holes() })),
                Err(error) => calls.go_without(&named, error)?,
            }
        }
    }

    /// Returns the parts of mosaic windows, `None` for windows of files, and the faults of blended sources.
    fn made(&self, calls: &Calls<'_>, pass: Pass) -> Result<(Vec<Option<Made>>, Vec<WindowFault>)> {
        let mut faults = Vec::new();
        let one = |(at, (file, window)): (usize, &(InputRef<'_>, &BatchWindow))| {
            let InputRef::Vrt(vrt) = file else { return Ok(None) };
            let Some(call) = calls.of(vrt) else { return Ok(None) };
            call.begin_window();
            let made = self.made_of(vrt, window, pass, call).map_err(|error| window.fail(at, error))?;
            let found = call.take_faults().into_iter();
            faults.extend(found.map(|(file, fault)| WindowFault { window: at, file, fault }));
            made.ready().map(Some)
        };
        let all = self.windows.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?;
        Ok((all, faults))
    }

    fn made_of(&self, vrt: &Vrt, window: &BatchWindow, pass: Pass, call: &Shared<'_>) -> Result<Made> {
        let place = window.place();
        let (whole, bands) = vrt.target(&place)?;
        let image = (whole.width, whole.height);
        let refuse = |problem: &str| vrt.refuse(problem.to_owned());
        let frame = Frame::found(&window.area, || vrt.stored_transform(&place), refuse)?;
        let frame = self.shape.read(frame, image);
        let is_masked = self.meaning.is_masked();
        match (self.shape.size, self.shape.sampling) {
            (None, _) => {}
            (Some(size), Sampling::Nearest) => {
                if self.shape.fill.is_none() && !is_masked && leaves(&frame, size) {
                    vrt.check_one_fill(&bands)?;
                }
            }
            (Some(_), Sampling::Bilinear | Sampling::Average) if is_masked => {}
            (Some(_), Sampling::Bilinear | Sampling::Average) => {
                // The engine leaves out one nodata value per window.
                vrt.one_nodata(&bands)?;
            }
        }
        vrt.check_window((frame.width, frame.height), &bands, (&self.meaning, &self.execution))?;
        let wanted =
            vrt.wanted(&bands, (frame, frame.inside(image)), (&place, &self.meaning), pass.pixels)?;
        if pass.first {
            vrt.allow(&wanted, &call.call());
        }
        vrt.made(&wanted, &call.call())
    }
}

/// One pass over the windows of a batch.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// `false` for a plan.
    pixels: bool,
    /// Whether further passes follow if sources are damaged.
    first: bool,
}

/// Returns whether nearest uses pixels outside the image for a window of that size, by the engine's arithmetic. The
/// frame has the pixels of the image under the window.
fn leaves(frame: &Frame, (columns, rows): (u32, u32)) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a pixel of an image")]
    let side = |start: f64, first: i64, len: f64, (count, pixels): (u32, u32)| {
        let (start, count) = (start - first as f64, f64::from(count.max(1)));
        let centre = |at: f64| start + ((at + 0.5) * len) / count;
        centre(0.0) < 0.0 || centre(count - 1.0) >= f64::from(pixels)
    };
    let [left, top, wide, high] = frame.exact;
    side(left, frame.x, wide, (columns, frame.width)) || side(top, frame.y, high, (rows, frame.height))
}
