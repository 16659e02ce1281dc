//! The work of a soak thread: one call at a time, and a check of its result.

use crate::files::File;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use strile::batch::BatchWindow;
use strile::convert::convert_into;
use strile::engine::Budget;
use strile::io::FileSink;
use strile::read::Interleave;
use strile::write::{BlockChoice, Format, Piece};
use strile::{
    BatchOptions, Cancel, Compression, Context, ConvertOptions, Dataset, Error, Input, OpenOptions,
    Processor, RasterSpec, ReadOptions, Window, WriteOptions, Writer, read_batch,
};
use testkit::Random;

/// Number of calls of each kind, and of calls that were cancelled in time.
#[derive(Default)]
pub struct Counts {
    reads: AtomicU64,
    batches: AtomicU64,
    writes: AtomicU64,
    conversions: AtomicU64,
    aborted: AtomicU64,
    compared: AtomicU64,
}

impl Counts {
    pub fn total(&self) -> u64 {
        let all = [&self.reads, &self.batches, &self.writes, &self.conversions];
        all.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub fn json(&self) -> Value {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        json!({
            "reads": count(&self.reads), "batches": count(&self.batches), "writes": count(&self.writes),
            "conversions": count(&self.conversions), "aborted": count(&self.aborted),
            "compared_bytes": count(&self.compared),
        })
    }
}

/// Cancels calls at their time; one thread for all.
#[derive(Clone)]
pub struct Canceller(mpsc::Sender<(Instant, Cancel)>);

impl Canceller {
    pub fn start() -> Self {
        let (sender, asked) = mpsc::channel::<(Instant, Cancel)>();
        std::thread::spawn(move || {
            let mut waiting: Vec<(Instant, Cancel)> = Vec::new();
            loop {
                match asked.recv_timeout(Duration::from_micros(200)) {
                    Ok(next) => waiting.push(next),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                }
                let now = Instant::now();
                waiting.iter().filter(|(at, _)| *at <= now).for_each(|(_, cancel)| cancel.cancel());
                waiting.retain(|(at, _)| *at > now);
            }
        });
        Self(sender)
    }
}

/// State of a thread, and shared state.
pub struct Worker {
    pub random: Random,
    pub folder: PathBuf,
    pub files: Arc<Vec<File>>,
    pub engines: Vec<Processor>,
    pub budget: Arc<Budget>,
    pub counts: Arc<Counts>,
    pub wrong: Arc<Mutex<Vec<String>>>,
    pub canceller: Canceller,
}

/// Codecs for writing, all lossless.
const WRITTEN: [Compression; 7] = [
    Compression::None,
    Compression::Deflate,
    Compression::Zstd,
    Compression::Lzw,
    Compression::PackBits,
    Compression::Lz4,
    Compression::Lzma,
];
/// Maximum number of recorded problems.
const KEPT: usize = 20;
/// Maximum time before a call is cancelled, in microseconds.
const PATIENCE_US: usize = 20_000;

impl Worker {
    /// Makes one call, chosen at random.
    pub fn step(&mut self) {
        let ended = match self.random.below(20) {
            0..12 => self.read(),
            12..15 => self.batch(),
            15..17 => self.write(),
            _ => self.convert(),
        };
        if let Err(problem) = ended {
            let mut wrong = self.wrong.lock().unwrap();
            if wrong.len() < KEPT {
                wrong.push(problem);
            }
        }
    }

    fn read(&mut self) -> Result<(), String> {
        self.counts.reads.fetch_add(1, Ordering::Relaxed);
        let files = Arc::clone(&self.files);
        let file = &files[self.random.below(files.len())];
        let window = self.window(file);
        let band = self.random.below(file.pixels.bands);
        let all = self.random.below(2) == 0;
        let bands = (!all).then(|| vec![band as u16 + 1]);
        let chosen: Vec<usize> = if all { (0..file.pixels.bands).collect() } else { vec![band] };
        let device = self.engine();
        let mut options = ReadOptions::new().window(window).decode_on(device);
        options.place.bands = bands;
        let place = format!("{} {window:?} by {device:?}", name(&file.path));
        let context = self.context();
        let fresh = self.random.below(2) == 0;
        let read = || match fresh {
            true => Dataset::open(&file.path)?.read(&options, &context),
            false => file.dataset.read(&options, &context),
        };
        match read() {
            Ok(read) => {
                let bytes = read.bytes().map_err(|error| error.to_string())?;
                self.same(&place, bytes, &crop(file, window, &chosen))
            }
            Err(error) => self.stopped(&place, &error, &context),
        }
    }

    fn batch(&mut self) -> Result<(), String> {
        self.counts.batches.fetch_add(1, Ordering::Relaxed);
        let files = Arc::clone(&self.files);
        let large: Vec<&File> = files.iter().filter(|file| file.large).collect();
        let kind = large[self.random.below(large.len())].pixels.data_type;
        let alike: Vec<&&File> = large.iter().filter(|file| file.pixels.data_type == kind).collect();
        let datasets: Vec<Arc<Dataset>> = alike.iter().map(|file| Arc::clone(&file.dataset)).collect();
        let size = (64 + self.random.below(200) as u32, 64 + self.random.below(200) as u32);
        let mut windows = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..1 + self.random.below(12) {
            let number = self.random.below(alike.len());
            let file = alike[number];
            let x = self.random.below(file.pixels.width - size.0 as usize);
            let y = self.random.below(file.pixels.height - size.1 as usize);
            let window = BatchWindow::of_pixels(number, x as i64, y as i64, size);
            windows.push(window.bands([1]));
            let window = Window::new(x as u32, y as u32, size.0, size.1);
            expected.extend_from_slice(&crop(file, window, &[0]));
        }
        let device = self.engine();
        let options = BatchOptions::new().decode_on(device);
        let context = self.context();
        let place = format!("batch of {} windows by {device:?}", windows.len());
        match read_batch(&datasets, &windows, &options, &context) {
            Ok(read) => {
                let bytes = read.bytes().map_err(|error| format!("{place}: {error}"))?;
                self.same(&place, bytes, &expected)
            }
            Err(error) => self.stopped(&place, &error, &context),
        }
    }

    fn write(&mut self) -> Result<(), String> {
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        let files = Arc::clone(&self.files);
        let file = self.large(&files);
        let window = self.window(file);
        let bands: Vec<usize> = (0..file.pixels.bands).collect();
        let pixels = crop(file, window, &bands);
        let (options, device) = self.writing();
        let path = self.folder.join("written.tif");
        let place = format!(
            "write of {} {window:?} as {} by {device:?}",
            name(&file.path),
            options.compression.name()
        );
        let context = self.context();
        let spec = RasterSpec::new(window.width, window.height, bands.len() as u16, file.pixels.data_type);
        let run = || {
            let sink = FileSink::create(&path, true)?;
            let mut writer = Writer::create(Box::new(sink), spec, &options, &context)?;
            let rows = 100;
            for y in (0..window.height).step_by(rows) {
                let height = (rows as u32).min(window.height - y);
                let part = Window::new(0, y, window.width, height);
                let bytes = rows_of(&pixels, window, bands.len(), file.pixels.data_type.size(), part);
                let (count, kind) = (bands.len() as u16, file.pixels.data_type);
                let piece = Piece::contiguous(part, count, kind, Interleave::BandFirst, &bytes).unwrap();
                writer.write(&piece)?;
            }
            writer.finish()
        };
        let ended = run().map(|_| ());
        self.written(&place, ended, &path, &pixels, &context)
    }

    fn convert(&mut self) -> Result<(), String> {
        self.counts.conversions.fetch_add(1, Ordering::Relaxed);
        let files = Arc::clone(&self.files);
        let file = self.large(&files);
        let window = self.window(file);
        let (write, device) = self.writing();
        let path = self.folder.join("converted.tif");
        let place =
            format!("convert {} {window:?} as {} by {device:?}", name(&file.path), write.compression.name());
        let read = ReadOptions::new().window(window).decode_on(device);
        let options = ConvertOptions::new().read(read).write(write);
        let context = self.context();
        let run = || {
            let input = Input::open(&file.path, &OpenOptions::default())?;
            convert_into(&input, Box::new(FileSink::create(&path, true)?), &options, &context)
        };
        let ended = run().map(|_| ());
        let bands: Vec<usize> = (0..file.pixels.bands).collect();
        self.written(&place, ended, &path, &crop(file, window, &bands), &context)
    }

    /// Checks that a written file holds the pixels, or that it does not exist if its call was cancelled.
    fn written(
        &self,
        place: &str,
        ended: strile::Result<()>,
        path: &Path,
        pixels: &[u8],
        context: &Context,
    ) -> Result<(), String> {
        let judged = match ended {
            Ok(()) => {
                let options = ReadOptions::new().decode_on(Processor::Cpu);
                let free = Context { cancel: Cancel::default(), ..context.clone() };
                let read = Dataset::open(path).and_then(|dataset| dataset.read(&options, &free));
                let read = read.map_err(|error| format!("{place}: cannot be read back: {error}"))?;
                self.same(place, read.bytes().map_err(|error| error.to_string())?, pixels)
            }
            Err(error) => self.stopped(place, &error, context).and_then(|()| match path.exists() {
                true => Err(format!("{place}: cancelled, and the file is there")),
                false => Ok(()),
            }),
        };
        let _absent = std::fs::remove_file(path);
        let left = std::fs::read_dir(&self.folder).map_err(|error| error.to_string())?.flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        judged.and_then(|()| if left.is_empty() { Ok(()) } else { Err(format!("{place}: left {left:?}")) })
    }

    fn same(&self, place: &str, found: &[u8], expected: &[u8]) -> Result<(), String> {
        self.counts.compared.fetch_add(found.len() as u64, Ordering::Relaxed);
        if found == expected {
            return Ok(());
        }
        let at = found.iter().zip(expected).position(|(a, b)| a != b);
        Err(format!(
            "{place}: wrong pixels: {} bytes, expected {}; first at byte {at:?}",
            found.len(),
            expected.len()
        ))
    }

    /// Checks that a call failed only because it was cancelled.
    fn stopped(&self, place: &str, error: &Error, context: &Context) -> Result<(), String> {
        if matches!(error, Error::Cancelled) && context.cancel.is_cancelled() {
            self.counts.aborted.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        Err(format!("{place}: {error}"))
    }

    /// Returns a new context; one call in four is cancelled after a random time.
    fn context(&mut self) -> Context {
        let cancel = Cancel::default();
        if self.random.below(4) == 0 {
            let after = Duration::from_micros(self.random.below(PATIENCE_US) as u64);
            let _ends_with_the_process = self.canceller.0.send((Instant::now() + after, cancel.clone()));
        }
        let threads = NonZeroUsize::new(1 + self.random.below(4)).unwrap_or(NonZeroUsize::MIN);
        Context { cancel, budget: Arc::clone(&self.budget), threads, ..Context::default() }
    }

    fn engine(&mut self) -> Processor {
        self.engines[self.random.below(self.engines.len())]
    }

    fn large<'a>(&mut self, files: &'a [File]) -> &'a File {
        let large: Vec<&File> = files.iter().filter(|file| file.large).collect();
        large[self.random.below(large.len())]
    }

    /// Returns a window, small more often than large.
    fn window(&mut self, file: &File) -> Window {
        let (width, height) = (file.pixels.width, file.pixels.height);
        let most = if self.random.below(4) == 0 { usize::MAX } else { 300 };
        let (w, h) = (1 + self.random.below(width.min(most)), 1 + self.random.below(height.min(most)));
        let (x, y) = (self.random.below(width - w + 1), self.random.below(height - h + 1));
        Window::new(x as u32, y as u32, w as u32, h as u32)
    }

    fn writing(&mut self) -> (WriteOptions, Processor) {
        let device = self.engine();
        let options = WriteOptions::new()
            .format(if self.random.below(2) == 0 { Format::Cog } else { Format::GeoTiff })
            .compression(WRITTEN[self.random.below(WRITTEN.len())])
            .level(1)
            .blocks(BlockChoice::Tiles { width: 128, height: 128 })
            .encode_on(device);
        // Only some codecs have levels.
        let level = matches!(options.compression, Compression::Deflate | Compression::Zstd).then_some(1);
        (options.level(level), device)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the pixels of a window and bands of a file, band by band.
fn crop(file: &File, window: Window, bands: &[usize]) -> Vec<u8> {
    let (pixels, size) = (&file.pixels, file.pixels.data_type.size());
    let mut bytes = Vec::with_capacity(bands.len() * window.width as usize * window.height as usize * size);
    for band in bands {
        for row in window.row as usize..(window.row + window.height) as usize {
            let start = ((band * pixels.height + row) * pixels.width + window.column as usize) * size;
            bytes.extend_from_slice(&pixels.bytes[start..start + window.width as usize * size]);
        }
    }
    bytes
}

/// Returns some rows of a cropped window, band by band.
fn rows_of(pixels: &[u8], window: Window, bands: usize, size: usize, part: Window) -> Vec<u8> {
    let row = window.width as usize * size;
    let mut bytes = Vec::new();
    for band in 0..bands {
        let start = (band * window.height as usize + part.row as usize) * row;
        bytes.extend_from_slice(&pixels[start..start + part.height as usize * row]);
    }
    bytes
}
