//! Measures the costs of this machine's engines, with blocks that the CPU engine encodes.
//!
//! Every measurement is the best of a few whole jobs, from a file in the page cache to pixels in place, so it includes
//! all costs of a read: threads, launches, copies, fresh memory. Three kinds of pixels, from grainy to smooth, separate
//! the cost per byte read from the cost per byte produced.

use super::constants::{BUILT_IN, CODECS, CodecCosts, Constants};
use super::cost::PerByte;
use crate::error::{Error, Result};
use crate::source::{FileSource, Source};
use std::f64::consts::TAU;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Context, DecodeJob, EncodeJob, EncodeLayout, EncodeParams,
    EncodeTask, Encoded, Encoder, Engine, EngineError, Output, OutputSpec, Placement, ReadAt, SharedPixels,
    Span,
};
use strile_tiff::{Compression, DataType, Predictor};

/// Pixels across and down of a block.
const TILE: u32 = 256;
/// Number of encoded blocks, across and down.
const DISTINCT: u32 = 4;
/// Blocks of a job that fills a device, across and down.
const MANY: u32 = 32;
/// Blocks of a job that keeps the cores busy, across and down.
const SOME: u32 = 16;
/// Blocks of a job whose encoded bytes are just enough for all readers, across and down.
const FEW: u32 = 4;
/// Creating a context takes longer than this, in seconds.
const OPEN_ALREADY: f64 = 0.01;
/// Number of jobs, of which the best counts.
const RUNS: usize = 3;

/// Kinds of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// 16 bits with much noise, as reflectances.
    Grain,
    /// Floats, as heights.
    Terrain,
    /// A few values in patches, as land cover.
    Classes,
}

const KINDS: [Kind; 3] = [Kind::Grain, Kind::Terrain, Kind::Classes];

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Self::Grain => DataType::U16,
            Self::Terrain => DataType::F32,
            Self::Classes => DataType::U8,
        }
    }

    fn predictor(self, codec: Compression) -> Predictor {
        match (codec, self) {
            (Compression::None | Compression::PackBits, _) | (_, Self::Classes) => Predictor::None,
            (_, Self::Grain) => Predictor::Horizontal,
            (_, Self::Terrain) => Predictor::FloatingPoint,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive numbers")]
    fn pixels(self) -> Vec<u8> {
        let side = DISTINCT * TILE;
        let places = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
        let hills = |x: u32, y: u32| (f64::from(x) * TAU / 311.0).sin() + (f64::from(y) * TAU / 257.0).cos();
        let mut bytes = Vec::new();
        for (x, y) in places {
            let (hills, noise) = (hills(x, y), noise(x, y));
            match self {
                Self::Grain => bytes.extend(((2000.0 + 600.0 * hills + 600.0 * noise) as u16).to_ne_bytes()),
                Self::Terrain => {
                    let height = (900.0 + 200.0 * hills + noise) * 64.0;
                    bytes.extend(((height.round() / 64.0) as f32).to_ne_bytes());
                }
                Self::Classes => bytes.push((5.0 + 2.0 * hills + 0.1 * noise) as u8),
            }
        }
        bytes
    }
}

/// Returns noise from 0 to 1, always the same for a place.
fn noise(x: u32, y: u32) -> f64 {
    let mut state = (x.wrapping_mul(0x9E37_79B9)) ^ y.wrapping_mul(0x85EB_CA6B);
    state = (state ^ (state >> 16)).wrapping_mul(0x7FEB_352D);
    state = (state ^ (state >> 15)).wrapping_mul(0x846C_A68B);
    f64::from(state ^ (state >> 16)) / f64::from(u32::MAX)
}

/// Blocks of one codec and kind in a file.
struct Blocks {
    layout: Arc<BlockLayout>,
    source: Arc<dyn ReadAt>,
    spans: Vec<Span>,
}

/// A measurement: duration and sizes of a job.
#[derive(Debug, Clone, Copy)]
struct Measured {
    encoded: f64,
    decoded: f64,
    seconds: f64,
}

/// Measurements other than jobs.
pub(crate) struct Besides {
    /// Seconds to open the device.
    pub(crate) opening: f64,
    /// Seconds per byte to copy from ordinary memory to the device.
    pub(crate) upload: f64,
}

/// Measures the constants of two engines.
pub(crate) fn measure(
    cpu: &dyn Engine,
    cuda: &dyn Engine,
    besides: &Besides,
    context: &Context,
) -> Result<Constants> {
    // If the device was open already, its opening cannot be measured.
    let opening = if besides.opening > OPEN_ALREADY { besides.opening } else { BUILT_IN.opening };
    let mut constants = Constants { opening, upload: besides.upload, ..BUILT_IN };
    let stored = KINDS.map(|kind| (kind, kind.pixels()));
    let threads = f64::from(u32::try_from(context.threads.get()).unwrap_or(u32::MAX));
    for (at, codec) in CODECS.into_iter().enumerate() {
        let (mut core, mut device, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        for (kind, pixels) in &stored {
            let blocks = Blocks::make(*kind, pixels, codec, cpu, context)?;
            if at == 0 && core.is_empty() {
                // The time of an almost empty read is the fixed cost of every read.
                constants.cpu_start = blocks.best(cpu, Place::Host, 0, context)?.seconds;
                constants.cuda_start = blocks.best(cuda, Place::Engine, 0, context)?.seconds;
            }
            let without = |measured: Measured, start: f64| Measured {
                seconds: (measured.seconds - start).max(1e-6),
                ..measured
            };
            let all = without(blocks.best(cpu, Place::Host, SOME, context)?, constants.cpu_start);
            core.push(Measured { seconds: all.seconds * threads, ..all });
            let many = without(blocks.best(cuda, Place::Engine, MANY, context)?, constants.cuda_start);
            let one = without(blocks.best(cuda, Place::Engine, 1, context)?, constants.cuda_start);
            if codec == Compression::None && *kind == Kind::Terrain {
                let back = blocks.best(cuda, Place::Host, MANY, context)?;
                let more = back.seconds - constants.cuda_start - many.seconds;
                constants.back = more.max(0.0) / many.decoded;
                let few = without(blocks.best(cuda, Place::Engine, FEW, context)?, constants.cuda_start);
                // The time of a few blocks beyond their share of many is the start of all readers.
                let rest = many.encoded - few.encoded;
                constants.link = (many.seconds - few.seconds).max(0.0) / rest;
                constants.readers = (few.seconds - few.encoded * constants.link).max(0.0);
            }
            device.push(without(many, constants.readers));
            alone.push(one);
        }
        let costs = match codec {
            // Nothing is decompressed, so only the link counts.
            Compression::None => CodecCosts { core: fit(&core), ..CodecCosts::default() },
            _ => CodecCosts { core: fit(&core), device: fit(&device), alone: fit(&alone) },
        };
        if let Some(place) = constants.codecs.get_mut(at) {
            *place = costs;
        }
    }
    Ok(constants)
}

/// Destination of a job's pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Engine,
}

impl Blocks {
    fn make(
        kind: Kind,
        pixels: &[u8],
        codec: Compression,
        cpu: &dyn Engine,
        context: &Context,
    ) -> Result<Self> {
        let data_type = kind.data_type();
        let block = BlockLayout::stored(data_type, (TILE, TILE), 1);
        let predictor = kind.predictor(codec);
        let layout = Arc::new(BlockLayout { compression: codec, predictor, is_strip: false, ..block });
        let params =
            EncodeParams { encoder: Encoder::Fast, level: 6, quality: 75, lossless: true, max_error: 0.0 };
        let encoding = EncodeLayout { block: Arc::clone(&layout), params, nan_to: None, sparse: None };
        let encoding = cpu.prepare(encoding).map_err(|problem| refused(problem.into()))?;
        let task = |index: u32| EncodeTask {
            layout: 0,
            pixels: 0,
            address: BlockAddress {
                row: index / DISTINCT,
                column: index % DISTINCT,
                ..BlockAddress::default()
            },
            rows: TILE,
            x: index % DISTINCT * TILE,
            y: index / DISTINCT * TILE,
            width: TILE,
            height: TILE,
            first_band: 0,
        };
        let job = EncodeJob { layouts: vec![encoding], tasks: (0..DISTINCT * DISTINCT).map(task).collect() };
        let side = DISTINCT * TILE;
        let shape =
            OutputSpec::band_first(data_type, 1, side, side).map_err(|error| refused(error.to_string()))?;
        let pixels = SharedPixels::new(shape, Arc::new(pixels.to_vec()))
            .map_err(|error| refused(error.to_string()))?;
        let encoded = cpu.encode(job, &[pixels], context)?.wait()?;
        let spans: Vec<Span> = encoded.blocks.iter().filter_map(|block| block.span).collect();
        let len = encoded.slab.bytes().len() as u64;
        let times = u64::from(MANY * MANY / (DISTINCT * DISTINCT));
        let _lease = context.take(len.saturating_mul(times), "blocks to measure with")?;
        let bytes = encoded.slab.bytes().repeat(usize::try_from(times).unwrap_or(1));
        let moved =
            |time: u64| spans.iter().map(move |span| Span { offset: span.offset + time * len, ..*span });
        Ok(Self { layout, source: in_a_file(&bytes)?, spans: (0..times).flat_map(moved).collect() })
    }

    /// Returns the best of some jobs of `across` blocks across and down. For 0, runs a job of a few pixels of one
    /// block.
    fn best(&self, engine: &dyn Engine, place: Place, across: u32, context: &Context) -> Result<Measured> {
        let (blocks, side) = match across {
            0 => (1, 16),
            _ => (across, TILE),
        };
        let spans = self.spans.iter().take((blocks * blocks) as usize);
        let mut tasks = Vec::new();
        let mut measured = Measured { encoded: 0.0, decoded: 0.0, seconds: f64::INFINITY };
        let decoded = self.layout.decoded_len(TILE).unwrap_or(0);
        for (index, span) in (0u32..).zip(spans) {
            let (row, column) = (index / blocks, index % blocks);
            #[expect(clippy::cast_precision_loss, reason = "a measurement")]
            let (read, made) = (span.len as f64, decoded as f64);
            (measured.encoded, measured.decoded) = (measured.encoded + read, measured.decoded + made);
            tasks.push(BlockTask {
                source: 0,
                layout: 0,
                selection: 0,
                output: 0,
                span: Some(*span),
                address: BlockAddress { row, column, ..BlockAddress::default() },
                placement: Placement {
                    rows: TILE,
                    image_rows: TILE,
                    block_x: 0,
                    block_y: 0,
                    width: side,
                    height: side,
                    out_x: column * side,
                    out_y: row * side,
                    first_band: 0,
                },
            });
        }
        let job = DecodeJob::new(vec![Arc::clone(&self.layout)], vec![vec![0]], tasks);
        let job = job.map_err(|error| refused(error.to_string()))?;
        let spec = OutputSpec::band_first(self.layout.data_type, 1, blocks * side, blocks * side);
        let spec = spec.map_err(|error| refused(error.to_string()))?;
        // The first run loads kernels and fills pools.
        for run in 0..=RUNS {
            let job = job.clone();
            let start = Instant::now();
            let output = match place {
                Place::Host => Output::new(spec.clone()).map_err(|error| Error::output(error, refused))?,
                Place::Engine => engine.output(spec.clone(), context)?,
            };
            let encoded = Encoded::Pulled(vec![Arc::clone(&self.source)]);
            let report = engine.submit(job, encoded, std::slice::from_ref(&output), context)?.wait()?;
            let seconds = start.elapsed().as_secs_f64();
            if !report.faults.is_empty() {
                return Err(EngineError::Abandoned.into());
            }
            if run > 0 {
                measured.seconds = measured.seconds.min(seconds);
            }
        }
        Ok(measured)
    }
}

/// Writes bytes to a file that is removed when it is closed.
fn in_a_file(bytes: &[u8]) -> Result<Arc<dyn ReadAt>> {
    let path = std::env::temp_dir().join(format!("strile-calibrate-{}", std::process::id()));
    let failed = |error| Error::Io { path: path.clone(), error: Arc::new(error) };
    // Never writes to an existing file.
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
    let written = file.write_all(bytes).map_err(failed);
    let opened = written.and_then(|()| FileSource::open(&path));
    let _ = std::fs::remove_file(&path);
    let source = opened?;
    source.local().ok_or_else(|| refused("a file that cannot be read at any place".to_owned()))
}

fn refused(problem: String) -> Error {
    Error::Request { file: "calibration".to_owned(), problem }
}

/// Fits the costs to all measurements, by relative error.
fn fit(measured: &[Measured]) -> PerByte {
    let terms =
        || measured.iter().map(|m| (m.encoded / m.seconds, (m.decoded - m.encoded).max(0.0) / m.seconds));
    let sum = |term: fn((f64, f64)) -> f64| terms().map(term).sum::<f64>();
    let (x, y) = (sum(|(x, _)| x), sum(|(_, y)| y));
    let (xx, xy, yy) = (sum(|(x, _)| x * x), sum(|(x, y)| x * y), sum(|(_, y)| y * y));
    let determinant = xx * yy - xy * xy;
    let both = PerByte { read: (x * yy - y * xy) / determinant, made: (y * xx - x * xy) / determinant };
    // Proportional sizes cannot separate the two costs. Costs are not negative.
    if determinant > 1e-6 * xx * yy && both.read >= 0.0 && both.made >= 0.0 {
        return both;
    }
    let ratio = |over: f64, under: f64| if under > 0.0 { over / under } else { 0.0 };
    let (read, made) = (PerByte { read: ratio(x, xx), made: 0.0 }, PerByte { read: 0.0, made: ratio(y, yy) });
    let error = |per: PerByte| terms().map(|(x, y)| (per.read * x + per.made * y - 1.0).powi(2)).sum::<f64>();
    if error(read) <= error(made) { read } else { made }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(encoded: f64, decoded: f64, per: PerByte) -> Measured {
        Measured { encoded, decoded, seconds: per.read * encoded + per.made * (decoded - encoded) }
    }

    #[test]
    fn costs_that_fit_are_found_again() {
        let per = PerByte { read: 4.5e-9, made: 0.3e-9 };
        let all =
            [(100.0, 130.0), (100.0, 290.0), (10.0, 210.0)].map(|(e, d)| measured(e * 1e6, d * 1e6, per));
        let found = fit(&all);
        assert!((found.read - 4.5e-9).abs() < 1e-15 && (found.made - 0.3e-9).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn no_cost_is_negative_and_stored_bytes_are_read() {
        let per = PerByte { read: 1e-9, made: 0.0 };
        let stored = fit(&[measured(1e6, 1e6, per), measured(3e6, 3e6, per)]);
        assert!((stored.read - 1e-9).abs() < 1e-15 && stored.made == 0.0, "{stored:?}");
        let odd = [(1e6, 2e6, 3e-3), (1e6, 20e6, 1e-3)];
        let odd = odd.map(|(encoded, decoded, seconds)| Measured { encoded, decoded, seconds });
        let found = fit(&odd);
        assert!(found.read >= 0.0 && found.made >= 0.0, "{found:?}");
        assert_eq!(fit(&[]), PerByte::default());
    }

    #[test]
    fn kinds_go_from_grainy_to_smooth() {
        let context = Context::default();
        let ratio = |kind: Kind| {
            let cpu = strile_cpu::CpuEngine;
            let blocks = Blocks::make(kind, &kind.pixels(), Compression::Deflate, &cpu, &context).unwrap();
            let encoded: u64 = blocks.spans.iter().map(|span| span.len).sum();
            let decoded = blocks.layout.decoded_len(TILE).unwrap() * blocks.spans.len();
            decoded as f64 / encoded as f64
        };
        let [grain, terrain, classes] = KINDS.map(ratio);
        assert!(
            grain < 2.0 && (2.0..5.0).contains(&terrain) && classes > 10.0,
            "{grain} {terrain} {classes}"
        );
    }
}
