//! A first picture of a file whose small levels are not made yet.
//!
//! A lattice of cells covers the image. Each cell shows the mean of the block at its middle, so a draft reads a few
//! blocks of a large file. Finer lattices follow until the time is spent. Then rows of the pass over the file replace
//! those of the draft.

use crate::answer::Refusal;
use crate::opened::{Level, Opened, Place};
use crate::reading::{Samples, by_nodata};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use strile::batch::Sampling;
use strile::read::MaskSource;
use strile::write::{Piece, PieceBytes};
use strile::{Context, Window};

/// A finer lattice is not begun if it would end after this time.
const TIME: Duration = Duration::from_secs(2);
/// Cells along the longer side of the first lattice and of the last one.
const CELLS: [u32; 2] = [16, 512];
/// Files with fewer bytes of pixels have their levels almost as soon.
const WORTH: u64 = 16 << 20;
/// Maximum side and bytes of the picture.
const MOST_SIDE: u32 = 1024;
const MOST_BYTES: u64 = 64 << 20;
/// Maximum bytes of pixels per block.
const MOST_BLOCK: u64 = 64 << 20;

/// A picture of the whole file, with all bands, that is refined over time.
pub(crate) struct Draft {
    picture: RwLock<Samples>,
    /// Incremented with every change.
    version: AtomicU64,
    _counted: Box<dyn Send + Sync>,
}

impl Draft {
    /// Prepares the draft of a file. `None` if it would take too long, or about as long as the levels themselves.
    pub(crate) fn of(opened: &Opened, context: &Context) -> Result<Option<Self>, Refusal> {
        let pixel = u64::from(opened.bands) * opened.data_type.size() as u64;
        let bytes = |width: u32, height: u32| (u64::from(width) * u64::from(height)).saturating_mul(pixel);
        let made = opened.levels.iter().filter(|level| matches!(level.place, Place::Reduced(_)));
        let fits = |level: &&Level| {
            level.width.max(level.height) <= MOST_SIDE && bytes(level.width, level.height) <= MOST_BYTES
        };
        let Some(level) = made.clone().find(fits) else { return Ok(None) };
        let (_, from) = opened.smallest_stored();
        let is_small = bytes(from.width, from.height) < WORTH;
        let is_coarse = bytes(from.block.0.min(from.width), from.block.1.min(from.height)) > MOST_BLOCK;
        if is_small || is_coarse || !lattice(&from, CELLS[0]).is_sparse(&from) {
            return Ok(None);
        }
        let (pixels, plane) =
            (bytes(level.width, level.height), u64::from(level.width) * u64::from(level.height));
        let counted =
            context.take_kept(pixels + plane, "the draft of a file").map_err(strile::Error::from)?;
        let is_masked = opened.mask_source()? != MaskSource::AllValid;
        let picture = Samples {
            data_type: opened.data_type,
            bands: usize::from(opened.bands),
            width: level.width,
            height: level.height,
            pixels: vec![0; usize::try_from(pixels).unwrap_or(0)],
            valid: is_masked.then(|| vec![0; usize::try_from(plane).unwrap_or(0)]),
        };
        Ok(Some(Self {
            picture: RwLock::new(picture),
            version: AtomicU64::new(0),
            _counted: Box::new(counted),
        }))
    }

    /// Returns the version of the draft, from 1.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Draws lattices from coarse to fine until the time is spent; calls `drawn` after each.
    pub(crate) fn draw(
        &self,
        opened: &Opened,
        context: &Context,
        mut drawn: impl FnMut(),
    ) -> Result<(), Refusal> {
        let (begun, (_, from)) = (Instant::now(), opened.smallest_stored());
        let (mut cells, mut last) = (CELLS[0], None);
        while cells <= CELLS[1] {
            let lattice = lattice(&from, cells);
            let blocks = lattice.blocks();
            let estimate = last.map_or(0.0, |(time, before): (Duration, usize)| {
                time.as_secs_f64() * count(blocks) / count(before)
            });
            if last.is_some()
                && (!lattice.is_sparse(&from)
                    || begun.elapsed().as_secs_f64() + estimate > TIME.as_secs_f64())
            {
                break;
            }
            let started = Instant::now();
            let shown = lattice.read(opened, context)?;
            last = Some((started.elapsed(), blocks));
            {
                let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
                let whole = (0..picture.width, 0..picture.height);
                picture.take_nearest(&shown, &whole);
            }
            self.version.fetch_add(1, Ordering::AcqRel);
            drawn();
            cells *= 2;
        }
        Ok(())
    }

    /// Takes a piece of the first level that the pass makes, with this many pixels.
    pub(crate) fn take(&self, opened: &Opened, piece: &Piece<'_>, (width, height): (u32, u32)) {
        let PieceBytes::Host(pixels) = piece.pixels else { return };
        let Window { column, row, .. } = piece.window;
        let mut part = Samples {
            data_type: piece.spec.data_type,
            bands: piece.spec.bands as usize,
            width: piece.spec.columns,
            height: piece.spec.rows,
            pixels: Vec::new(),
            valid: None,
        };
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        let inside = |at: u32, len: u32, own: u32, all: u32| {
            let middle = |shown: u32| nearest(shown, own, all);
            let first = (0..own).find(|shown| middle(*shown) >= at).unwrap_or(own);
            let end = (first..own).find(|shown| middle(*shown) >= at.saturating_add(len)).unwrap_or(own);
            first..end
        };
        let columns = inside(column, part.width, picture.width, width);
        let rows = inside(row, part.height, picture.height, height);
        if part.data_type != picture.data_type
            || part.bands != picture.bands
            || columns.is_empty()
            || rows.is_empty()
        {
            return;
        }
        // The pixels that are shown, as separate samples.
        let (strides, size) = (piece.spec.strides, part.data_type.size());
        let places = |shown: &Range<u32>, own: u32, all: u32, first: u32| -> Vec<usize> {
            shown.clone().map(|shown| (nearest(shown, own, all) - first) as usize).collect()
        };
        let across = places(&columns, picture.width, width, column);
        let down = places(&rows, picture.height, height, row);
        for band in 0..part.bands {
            for y in &down {
                for x in &across {
                    let start = band * strides.band + y * strides.row + x * strides.column;
                    let Some(sample) = pixels.get(start..start + size) else { return };
                    part.pixels.extend_from_slice(sample);
                }
            }
        }
        let mask = match &piece.mask {
            Some(PieceBytes::Host(mask)) => Some(*mask),
            _ => None,
        };
        let stride = piece.spec.columns as usize;
        let shown = mask.map(|mask| {
            let at = |y: &usize, x: &usize| mask.get(y * stride + x).copied().unwrap_or(0);
            down.iter().flat_map(|y| across.iter().map(move |x| at(y, x))).collect()
        });
        part.width = columns.end - columns.start;
        part.height = rows.end - rows.start;
        part.valid = match (shown, opened.mask_source()) {
            (Some(valid), _) => Some(valid),
            (None, Ok(MaskSource::NoData)) => Some(by_nodata(&opened.input, &part, &opened.all_bands())),
            (None, Ok(MaskSource::Alpha(band))) => {
                let alpha = part.band(usize::from(band).saturating_sub(1)).chunks_exact(size);
                Some(alpha.map(|sample| if sample.iter().any(|byte| *byte != 0) { 255 } else { 0 }).collect())
            }
            _ => None,
        };
        picture.take_nearest(&part, &(columns, rows));
        drop(picture);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a window of a level with this many pixels, each the nearest pixel of the picture.
    pub(crate) fn read(&self, (width, height): (u32, u32), window: Window, bands: &[u16]) -> Samples {
        let picture = self.picture.read().unwrap_or_else(PoisonError::into_inner);
        let size = picture.data_type.size();
        let columns: Vec<usize> = (window.column..window.column + window.width)
            .map(|column| nearest(column, width, picture.width) as usize)
            .collect();
        let rows: Vec<usize> = (window.row..window.row + window.height)
            .map(|row| nearest(row, height, picture.height) as usize * picture.width as usize)
            .collect();
        let places = || rows.iter().flat_map(|row| columns.iter().map(move |column| row + column));
        let mut pixels = Vec::with_capacity(rows.len() * columns.len() * bands.len() * size);
        for band in bands {
            let from = picture.band(usize::from(*band).saturating_sub(1));
            for at in places() {
                pixels.extend_from_slice(from.get(at * size..(at + 1) * size).unwrap_or_default());
            }
        }
        let valid = picture.valid.as_ref();
        let valid = valid.map(|valid| places().map(|at| valid.get(at).copied().unwrap_or(0)).collect());
        Samples {
            data_type: picture.data_type,
            bands: bands.len(),
            width: window.width,
            height: window.height,
            pixels,
            valid,
        }
    }
}

impl Samples {
    /// Puts `other` into a part of these pixels, stretched to its size: each pixel is the nearest one of `other`.
    fn take_nearest(&mut self, other: &Samples, (columns, rows): &(Range<u32>, Range<u32>)) {
        let size = (columns.end - columns.start, rows.end - rows.start);
        let sample = self.data_type.size();
        let (plane, width) = (self.plane(), self.width as usize);
        let across: Vec<usize> = (0..size.0).map(|x| nearest(x, size.0, other.width) as usize).collect();
        for row in rows.clone() {
            let from = nearest(row - rows.start, size.1, other.height) as usize * other.width as usize;
            let into = row as usize * width + columns.start as usize;
            for band in 0..self.bands {
                let source = other.band(band);
                let line = self.pixels.get_mut((band * plane + into) * sample..).unwrap_or_default();
                for (slot, x) in line.chunks_exact_mut(sample).zip(&across) {
                    let start = (from + x) * sample;
                    if let Some(found) = source.get(start..start + sample) {
                        slot.copy_from_slice(found);
                    }
                }
            }
            if let Some(valid) = &mut self.valid {
                let line = valid.get_mut(into..).unwrap_or_default();
                for (slot, x) in line.iter_mut().zip(&across) {
                    let shown = other.valid.as_ref().map_or(Some(&255), |valid| valid.get(from + x));
                    *slot = shown.copied().unwrap_or(0);
                }
            }
        }
    }
}

/// Returns the pixel of `other` under the middle of pixel `at` of `own`.
#[expect(clippy::cast_possible_truncation, reason = "below `other`, checked by the arithmetic")]
fn nearest(at: u32, own: u32, other: u32) -> u32 {
    let middle = (2 * u128::from(at) + 1) * u128::from(other) / (2 * u128::from(own.max(1)));
    middle.min(u128::from(other.saturating_sub(1))) as u32
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count(blocks: usize) -> f64 {
    blocks.max(1) as f64
}

/// Cells over a level, and the blocks at their middles.
struct Lattice {
    across: Vec<Run>,
    down: Vec<Run>,
    size: (u32, u32),
}

/// Neighbouring cells whose middles lie in one block, and the pixels of the block that they show.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    cells: Range<u32>,
    start: f64,
    len: f64,
}

fn lattice(from: &Level, longest: u32) -> Lattice {
    let cells = |side: u32| {
        let share = u64::from(longest) * u64::from(side) / u64::from(from.width.max(from.height).max(1));
        u32::try_from(share).unwrap_or(1).clamp(1, side.max(1))
    };
    let size = (cells(from.width), cells(from.height));
    Lattice {
        across: runs(from.width, from.block.0, size.0),
        down: runs(from.height, from.block.1, size.1),
        size,
    }
}

fn runs(side: u32, block: u32, cells: u32) -> Vec<Run> {
    let block = f64::from(block.clamp(1, side.max(1)));
    let edge = |cell: u32| f64::from(cell) * f64::from(side) / f64::from(cells);
    let block_of = |cell: u32| ((edge(cell) + edge(cell + 1)) / 2.0 / block).floor();
    let mut found = Vec::new();
    let mut first = 0;
    while first < cells {
        let own = block_of(first);
        let end = (first + 1..cells).find(|cell| block_of(*cell) != own).unwrap_or(cells);
        let start = edge(first).max(own * block);
        let stop = edge(end).min((own + 1.0) * block).min(f64::from(side));
        found.push(Run { cells: first..end, start, len: (stop - start).max(1.0) });
        first = end;
    }
    found
}

impl Lattice {
    /// Returns the number of blocks that are read.
    fn blocks(&self) -> usize {
        self.across.len() * self.down.len()
    }

    /// Returns whether it reads less than half of all blocks.
    fn is_sparse(&self, from: &Level) -> bool {
        let all = u64::from(from.width.div_ceil(from.block.0.max(1)))
            * u64::from(from.height.div_ceil(from.block.1.max(1)));
        (self.blocks() as u64) < all / 2
    }

    /// Reads all cells, on all threads.
    fn read(&self, opened: &Opened, context: &Context) -> Result<Samples, Refusal> {
        let (number, from) = opened.smallest_stored();
        let (bands, next) = (opened.all_bands(), AtomicUsize::new(0));
        let failed = AtomicBool::new(false);
        let sampling = if opened.is_categorical() { Sampling::Nearest } else { Sampling::Average };
        let one = Context { threads: std::num::NonZeroUsize::MIN, ..context.clone() };
        let work = || {
            let mut found = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let (row, column) = (at / self.across.len().max(1), at % self.across.len().max(1));
                let Some((down, across)) = self.down.get(row).zip(self.across.get(column)) else { break };
                if failed.load(Ordering::Relaxed) {
                    break;
                }
                let part = [across.start, down.start, across.len, down.len];
                let size = (across.cells.end - across.cells.start, down.cells.end - down.cells.start);
                let of = opened.of(number, (from.width, from.height));
                match opened.resampled(&of, part, size, (&bands, sampling), &one) {
                    Ok(samples) => found.push((across.cells.clone(), down.cells.clone(), samples)),
                    Err(refusal) => {
                        failed.store(true, Ordering::Relaxed);
                        return Err(refusal);
                    }
                }
            }
            Ok(found)
        };
        let parts = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..context.threads.get()).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        let plane = self.size.0 as usize * self.size.1 as usize;
        let mut all = Samples {
            data_type: opened.data_type,
            bands: bands.len(),
            width: self.size.0,
            height: self.size.1,
            pixels: vec![0; plane * bands.len() * opened.data_type.size()],
            valid: Some(vec![0; plane]),
        };
        for part in parts {
            let stopped = || Refusal::busy("a thread of the draft ended early; try again");
            for (columns, rows, samples) in part.map_err(|_| stopped())?? {
                all.take_nearest(&samples, &(columns, rows));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(width: u32, height: u32, block: (u32, u32)) -> Level {
        Level { width, height, block, place: Place::Stored(0) }
    }

    #[test]
    fn cells_show_the_block_at_their_middle() {
        // Cells larger than blocks: one whole block each.
        let found = runs(4096, 64, 4);
        let starts: Vec<_> = found.iter().map(|run| (run.cells.start, run.start, run.len)).collect();
        assert_eq!(starts, [(0, 512.0, 64.0), (1, 1536.0, 64.0), (2, 2560.0, 64.0), (3, 3584.0, 64.0)]);
        // Blocks larger than cells: one run of cells for each block, which covers it.
        assert_eq!(
            runs(1000, 500, 10),
            [Run { cells: 0..5, start: 0.0, len: 500.0 }, Run { cells: 5..10, start: 500.0, len: 500.0 }]
        );
        // A block that extends beyond the edge.
        let found = runs(1000, 700, 4);
        assert_eq!(found.last(), Some(&Run { cells: 3..4, start: 750.0, len: 250.0 }));
    }

    #[test]
    fn a_lattice_reads_few_blocks() {
        let large = level(71_168, 71_168, (256, 256));
        assert_eq!((lattice(&large, 16).blocks(), lattice(&large, 128).blocks()), (256, 16_384));
        assert!(lattice(&large, 128).is_sparse(&large) && !lattice(&large, 512).is_sparse(&large));
        let strips = level(71_168, 71_168, (71_168, 1));
        assert_eq!((lattice(&strips, 16).blocks(), lattice(&strips, 16).size), (16, (16, 16)));
        let whole = level(40_000, 10, (40_000, 10));
        assert!(!lattice(&whole, 16).is_sparse(&whole));
    }

    #[test]
    fn the_nearest_pixel_is_that_under_the_middle() {
        assert_eq!((0..4).map(|at| nearest(at, 4, 4)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((0..4).map(|at| nearest(at, 4, 2)).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!((0..2).map(|at| nearest(at, 2, 6)).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(nearest(u32::MAX - 1, u32::MAX, u32::MAX), u32::MAX - 1);
    }

    /// Returns a file of 8192 × 2048 bytes in tiles of 64 × 64, each of one value; 0 is nodata.
    fn opened() -> Opened {
        let mut spec = strile::RasterSpec::new(WIDTH, HEIGHT, 1, strile::DataType::U8);
        spec.metadata.nodata = Some(strile::tiff::gdal::NoData::Integer(0));
        let options = strile::WriteOptions::new()
            .compression(strile::Compression::None)
            .blocks(strile::write::BlockChoice::Tiles { width: 64, height: 64 });
        let sink = strile::io::MemorySink::new();
        let (file, context) = (sink.handle(), Context::default());
        let mut writer = strile::Writer::create(Box::new(sink), spec, &options, &context).unwrap();
        let pixels: Vec<u8> = (0..WIDTH * HEIGHT).map(|at| value(at % WIDTH, at / WIDTH)).collect();
        let whole = Window::full(WIDTH, HEIGHT);
        let interleave = strile::read::Interleave::BandFirst;
        let piece = Piece::contiguous(whole, 1, strile::DataType::U8, interleave, &pixels).unwrap();
        writer.write(&piece).unwrap();
        writer.finish().unwrap();
        let source = strile::io::MemorySource::new("a.tif", file.take().unwrap().bytes);
        let open = strile::OpenOptions::default();
        let dataset = strile::Dataset::from_source(std::sync::Arc::new(source), &open).unwrap();
        let input = strile::Input::Tiff(Box::new(dataset));
        Opened::new(input, "a.tif", strile::Processor::Cpu, std::sync::Arc::default()).unwrap()
    }

    const WIDTH: u32 = 8192;
    const HEIGHT: u32 = 2048;

    fn value(x: u32, y: u32) -> u8 {
        u8::try_from(x / 64 + y / 64 * 2).unwrap()
    }

    #[test]
    fn a_draft_shows_blocks_then_rows_of_the_pass() {
        let (opened, context) = (opened(), Context::default());
        let draft = Draft::of(&opened, &context).unwrap().unwrap();
        let mut versions = Vec::new();
        draft.draw(&opened, &context, || versions.push(draft.version())).unwrap();
        assert_eq!(versions.first(), Some(&1));
        assert_eq!(versions.last(), Some(&draft.version()));
        // The level has 512 × 128 pixels. A cell of the first lattice is 512 pixels of the file wide: 8 blocks.
        let (size, window) = ((512, 128), Window::full(512, 128));
        let shown = draft.read(size, window, &[1]);
        for (at, found) in (0_u32..).zip(&shown.pixels) {
            let (x, y) = (at % 512 * 16 + 8, at / 512 * 16 + 8);
            assert!(found.abs_diff(value(x, y)) <= 14, "{x}, {y}: {found} for {}", value(x, y));
        }
        assert!(shown.valid.unwrap().iter().filter(|valid| **valid == 0).count() <= 32 * 32);
        // Rows 64 to 96 of the first level of the pass; 0 is missing there too.
        let pixels: Vec<u8> = (0..32 * 512_u32).map(|at| if at % 512 < 10 { 0 } else { 255 }).collect();
        let rows = Window::new(0, 64, 512, 32);
        let interleave = strile::read::Interleave::BandFirst;
        let piece = Piece::contiguous(rows, 1, strile::DataType::U8, interleave, &pixels).unwrap();
        let before = draft.version();
        draft.take(&opened, &piece, size);
        assert_eq!(draft.version(), before + 1);
        let after = draft.read(size, window, &[1]);
        let valid = after.valid.unwrap();
        for (at, found) in after.pixels.iter().enumerate() {
            let (x, y) = (at % 512, at / 512);
            let expected = match ((64..96).contains(&y), x < 10) {
                (true, true) => 0,
                (true, false) => 255,
                (false, _) => shown.pixels[at],
            };
            assert_eq!(*found, expected, "{x}, {y}");
            assert!(!(64..96).contains(&y) || (valid[at] == 0) == (x < 10), "{x}, {y}");
        }
        // A level twice as large shows each pixel of the picture four times.
        let larger = draft.read((1024, 256), Window::new(100, 130, 2, 2), &[1]);
        assert_eq!(larger.pixels, [255; 4]);
    }
}
