//! Resamples pixels in panels of columns and chunks of rows, so that memory stays bounded.
//!
//! A panel is as wide as memory allows; usually it is the whole raster. Its input is read along rows of blocks, each
//! once, and split among threads by columns. Resampling always runs on the CPU, whichever device decodes and encodes.

use super::numbers::{Counts, row_of};
use super::shape::Shape;
use super::taps::{Axis, Method, Span};
use super::values::Values;
use super::weighted::{Panel, Rows, Worker};
use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::raster::Raster;
use crate::window::Window;
use std::ops::Range;
use strile_engine::{Context, EngineError, Fill};

/// Limits on bytes that are held at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of the input, unless a row of blocks under one column of the result has more.
    chunk: u64,
    /// Bytes of the result, unless one row has more.
    made: u64,
    /// Bytes of pending sums, unless one column needs more.
    sums: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { chunk: 32 << 20, made: 16 << 20, sums: 64 << 20 }
    }
}

/// A resampling: shape, bands and limits.
pub(super) struct Resampling<'a> {
    pub(super) shape: &'a Shape,
    pub(super) values: &'a Values,
    /// Number of bands that are read.
    pub(super) bands: usize,
    pub(super) masked: bool,
    /// The band, from 0, that is alpha and says which pixels are valid.
    pub(super) alpha: Option<usize>,
    /// Rows of the input that are decoded together.
    pub(super) block_rows: u32,
    pub(super) limits: Limits,
}

/// Pixels of a window of the input, and its mask.
pub(super) type Given = (Raster, Option<Raster>);

/// Pixels of a window of the result, band after band, and its mask.
pub(super) struct Made {
    pub(super) window: Window,
    pub(super) pixels: Vec<u8>,
    pub(super) mask: Option<Vec<u8>>,
}

impl Resampling<'_> {
    /// Returns whether windows of the result are also side by side, not only below each other.
    pub(super) fn is_cut_by_columns(&self) -> bool {
        self.panel_columns() < self.shape.size.0
    }

    /// Computes the whole result: reads windows of the input with `read`, and passes windows of the result to `give`.
    pub(super) fn run(
        &self,
        mut read: impl FnMut(Window) -> Result<Given>,
        mut give: impl FnMut(Made) -> Result<()>,
        context: &Context,
    ) -> Result<Counts> {
        let (across, down) = self.shape.spans();
        let mut counts = Counts::default();
        let _rows = context.take(taps_bytes(&down, self.shape.method), "weights of rows")?;
        let rows = down.axis(self.shape.method, 0..down.count);
        for columns in self.panels(&across) {
            let part = Span { count: columns.end - columns.start, ..across };
            let _columns = context.take(taps_bytes(&part, self.shape.method), "weights of columns")?;
            counts.add(match self.shape.method {
                Method::Nearest => {
                    self.nearest((&across, columns), &rows, (&mut read, &mut give), context)?
                }
                _ => self.weighted((&across, columns), &rows, (&mut read, &mut give), context)?,
            });
        }
        Ok(counts)
    }

    /// Returns the windows of the input that `run` reads, in order.
    pub(super) fn windows(&self, context: &Context) -> Result<Vec<Window>> {
        let ((across, down), method) = (self.shape.spans(), self.shape.method);
        let _rows = context.take(taps_bytes(&down, method), "weights of rows")?;
        let rows = down.axis(method, 0..down.count);
        let mut windows = Vec::new();
        for columns in self.panels(&across) {
            let width = columns.end - columns.start;
            let _columns =
                context.take(taps_bytes(&Span { count: width, ..across }, method), "weights of columns")?;
            let under = across.axis(method, columns).under();
            match method {
                Method::Nearest => {
                    let step = self.chunk_rows(under.end - under.start);
                    let picked = picked(&rows, step, self.made_rows(width) as usize);
                    windows.extend(picked.filter_map(|(_, rows)| window_of(&under, &rows)));
                }
                _ => windows.extend(self.chunks(under, rows.under())),
            }
        }
        Ok(windows)
    }

    /// Returns the columns of the result that are computed together.
    fn panels(&self, across: &Span) -> impl Iterator<Item = Range<u32>> + use<> {
        let (step, count) = (self.panel_columns().max(1), across.count);
        (0..count).step_by(step as usize).map(move |first| first..first.saturating_add(step).min(count))
    }

    /// Returns the windows of the input under a panel, each of whole rows of blocks.
    fn chunks(&self, under: Range<u32>, down: Range<u32>) -> impl Iterator<Item = Window> + use<> {
        let (left, width) = (under.start, under.end - under.start);
        let (step, bottom) = (self.chunk_rows(width), if width == 0 { down.start } else { down.end });
        let end = move |top: u32| (top / step).saturating_add(1).saturating_mul(step).min(bottom);
        let first = Some(down.start).filter(|top| *top < bottom);
        let tops = std::iter::successors(first, move |&top| Some(end(top)).filter(|top| *top < bottom));
        tops.map(move |top| Window::new(left, top, width, end(top) - top))
    }

    /// Returns the bytes of a pixel of the input, with its mask.
    fn pixel(&self) -> u64 {
        self.bands as u64 * self.values.from.size() as u64 + u64::from(self.masked)
    }

    /// Returns the bytes of a pixel of the result, with its mask.
    fn made_pixel(&self) -> u64 {
        self.values.maps.len() as u64 * self.values.to.size() as u64 + u64::from(self.masked)
    }

    /// Returns the bytes of the pending sums per column.
    fn sums_bytes(&self) -> u64 {
        let (across, down) = self.shape.spans();
        let ratio = down.len / f64::from(down.count.max(1));
        let waiting = (down.most_taps(self.shape.method) / ratio + 2.0).ceil();
        let each = match self.shape.method {
            Method::Nearest => return 0,
            // A hash map with the values under a pixel.
            Method::Mode => {
                let values = across.most_taps(Method::Mode) * down.most_taps(Method::Mode);
                let values = if self.values.from.size() == 1 { values.min(256.0) } else { values };
                64.0 + 32.0 * values
            }
            _ => 24.0,
        };
        bytes(waiting * each * (self.bands + 1) as f64)
    }

    /// Returns the columns of a panel.
    fn panel_columns(&self) -> u32 {
        let (across, _) = self.shape.spans();
        let ratio = across.len / f64::from(across.count.max(1));
        let under = bytes(ratio.max(1.0 / 64.0) * self.pixel() as f64 * f64::from(self.block_rows));
        let by_chunk = self.limits.chunk / under.max(1);
        let by_sums = self.limits.sums / self.sums_bytes().max(1);
        let by_made = self.limits.made / self.made_pixel().max(1);
        let least = by_chunk.min(by_sums).min(by_made).max(1);
        u32::try_from(least).unwrap_or(u32::MAX).min(across.count)
    }

    /// Returns the rows of the input that are read at once, for `columns` of its columns.
    fn chunk_rows(&self, columns: u32) -> u32 {
        let block_row = self.pixel() * u64::from(columns.max(1)) * u64::from(self.block_rows.max(1));
        let times = (self.limits.chunk / block_row.max(1)).max(1);
        u32::try_from(times).unwrap_or(u32::MAX).saturating_mul(self.block_rows.max(1))
    }

    /// Returns the rows of the result that are computed at once, for `columns` of its columns.
    fn made_rows(&self, columns: u32) -> u32 {
        let row = self.made_pixel() * u64::from(columns.max(1));
        u32::try_from((self.limits.made / row.max(1)).max(1)).unwrap_or(u32::MAX)
    }

    fn weighted(
        &self,
        (across, columns): (&Span, Range<u32>),
        rows: &Axis,
        (read, give): (&mut impl FnMut(Window) -> Result<Given>, &mut impl FnMut(Made) -> Result<()>),
        context: &Context,
    ) -> Result<Counts> {
        let width = columns.end - columns.start;
        let _sums = context.take(self.sums_bytes().saturating_mul(width.into()), "sums of pixels")?;
        let _made = context.take(
            2 * self.made_pixel() * u64::from(width) * u64::from(self.made_rows(width)),
            "resampled pixels",
        )?;
        let threads = u32::try_from(context.threads.get()).unwrap_or(1).min(width).max(1);
        let each = width.div_ceil(threads).max(1);
        let (method, values) = (self.shape.method, self.values);
        let panel = Panel { method, rows, values, bands: self.bands, masked: self.masked, alpha: self.alpha };
        let parts = (columns.start..columns.end).step_by(each as usize);
        let mut workers: Vec<Worker<'_>> = parts
            .map(|first| Worker::new(panel, across.axis(method, first..(first + each).min(columns.end))))
            .collect();
        let under = across.axis(method, columns.clone()).under();
        let down = rows.under();
        let mut counts = Counts::default();
        let mut first_row = 0;
        if under.is_empty() || down.is_empty() {
            workers.iter_mut().for_each(Worker::finish);
            let made = self.collect(&mut workers, &columns, &mut first_row);
            return made.map_or(Ok(()), &mut *give).map(|()| counts);
        }
        let ratio = f64::from(down.end - down.start) / rows.len().max(1) as f64;
        let at_once =
            u32::try_from(bytes(f64::from(self.made_rows(width)) * ratio).max(1)).unwrap_or(u32::MAX);
        for window in self.chunks(under, down.clone()) {
            let (top, end) = (window.row, window.row + window.height);
            let _chunk = context.take(
                self.pixel() * u64::from(window.width) * u64::from(window.height),
                "pixels to resample",
            )?;
            let (pixels, mask) = read(window)?;
            let chunk = Rows { pixels: &pixels, mask: mask.as_ref(), origin: (window.column, window.row) };
            let mut from = top;
            while from < end {
                if context.cancel.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                let to = from.saturating_add(at_once).min(end);
                let joined = std::thread::scope(|scope| {
                    let take = |worker: &mut Worker<'_>| {
                        worker.take(&chunk, from..to);
                        if to == down.end {
                            worker.finish();
                        }
                    };
                    let threads: Vec<_> =
                        workers.iter_mut().map(|worker| scope.spawn(move || take(worker))).collect();
                    threads.into_iter().all(|thread| thread.join().is_ok())
                });
                if !joined {
                    return Err(Error::Engine(EngineError::Abandoned));
                }
                if let Some(made) = self.collect(&mut workers, &columns, &mut first_row) {
                    give(made)?;
                }
                from = to;
            }
        }
        workers.iter().for_each(|worker| counts.add(worker.counts));
        Ok(counts)
    }

    /// Joins the rows that all workers have finished.
    fn collect(&self, workers: &mut [Worker<'_>], columns: &Range<u32>, first_row: &mut u32) -> Option<Made> {
        let rows = workers.first().map_or(0, |worker| worker.rows_done);
        if rows == 0 {
            return None;
        }
        let (bands, size) = (self.values.maps.len(), self.values.to.size());
        let width = (columns.end - columns.start) as usize;
        let mut pixels = vec![0; rows * bands * width * size];
        let mut mask = self.masked.then(|| vec![0; rows * width]);
        let mut left = 0;
        for worker in workers {
            let own = worker.width();
            for (at, line) in worker.done.chunks(own * size).enumerate() {
                let (row, band) = (at / bands, at % bands);
                let start = ((band * rows + row) * width + left) * size;
                super::numbers::put(pixels.get_mut(start..).unwrap_or_default(), line);
            }
            if let Some(mask) = &mut mask {
                for (row, line) in worker.mask.chunks(own).enumerate() {
                    super::numbers::put(mask.get_mut(row * width + left..).unwrap_or_default(), line);
                }
            }
            worker.done.clear();
            worker.mask.clear();
            worker.rows_done = 0;
            left += own;
        }
        let height = u32::try_from(rows).unwrap_or(u32::MAX);
        let window = Window::new(columns.start, *first_row, columns.end - columns.start, height);
        *first_row += height;
        Some(Made { window, pixels, mask })
    }

    /// Resamples with nearest: copies samples unchanged.
    fn nearest(
        &self,
        (across, columns): (&Span, Range<u32>),
        rows: &Axis,
        (read, give): (&mut impl FnMut(Window) -> Result<Given>, &mut impl FnMut(Made) -> Result<()>),
        context: &Context,
    ) -> Result<Counts> {
        let axis = across.axis(Method::Nearest, columns.clone());
        let under = axis.under();
        let width = columns.end - columns.start;
        let step = self.chunk_rows(under.end - under.start);
        let most = self.made_rows(width) as usize;
        let _made =
            context.take(2 * self.made_pixel() * u64::from(width) * most as u64, "resampled pixels")?;
        let mut counts = Counts::default();
        for (Range { start: from, end: to }, picked) in picked(rows, step, most) {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let given = match window_of(&under, &picked) {
                Some(window) => Some((read(window)?, (window.column, window.row))),
                None => None,
            };
            let y = u32::try_from(from).unwrap_or(u32::MAX);
            let height = u32::try_from(to - from).unwrap_or(u32::MAX);
            let window = Window::new(columns.start, y, width, height);
            let (made, told) = self.pick((&axis, &picked), given, window, context)?;
            counts.add(told);
            give(made)?;
        }
        Ok(counts)
    }

    /// Picks the samples of a window of the result from the pixels that were read for it.
    fn pick(
        &self,
        (columns, rows): (&Axis, &[Option<u32>]),
        given: Option<(Given, (u32, u32))>,
        window: Window,
        context: &Context,
    ) -> Result<(Made, Counts)> {
        let (width, height) = (window.width as usize, window.height as usize);
        let size = self.values.from.size();
        let mut raster = Raster {
            data_type: self.values.from,
            bands: u32::try_from(self.bands).unwrap_or(u32::MAX),
            rows: window.height,
            columns: window.width,
            interleave: Interleave::BandFirst,
            pixels: Vec::new(),
            fill: Fill::default(),
        };
        let mut mask = self.masked.then(Vec::new);
        let source = given.as_ref().map(|((pixels, mask), origin)| (pixels, mask.as_ref(), *origin));
        let nothing = [0; 16];
        let nothing = nothing.get(..size).unwrap_or_default();
        let take =
            |from: Option<(&Raster, usize, (u32, u32))>, row: Option<u32>, size: usize, out: &mut Vec<u8>| {
                let line = from.zip(row).map(|((raster, band, origin), row)| {
                    let (bytes, stride) = row_of(raster, band, (row - origin.1) as usize, 0);
                    (bytes, stride, origin.0)
                });
                for taps in columns.iter() {
                    let sample = line.filter(|_| !taps.is_empty()).and_then(|(bytes, stride, left)| {
                        let start = (taps.first - left) as usize * stride;
                        bytes.get(start..start + size)
                    });
                    out.extend_from_slice(sample.unwrap_or(nothing.get(..size).unwrap_or_default()));
                }
            };
        for band in 0..self.bands {
            for row in rows {
                let from = source.map(|(pixels, _, origin)| (pixels, band, origin));
                take(from, *row, size, &mut raster.pixels);
            }
        }
        if let Some(out) = &mut mask {
            for row in rows {
                let from = source.and_then(|(_, mask, origin)| mask.map(|mask| (mask, 0, origin)));
                take(from, *row, 1, out);
            }
        }
        let (mut made, counts) = match self.values.is_identity() {
            true => (raster, Counts::default()),
            false => self.values.apply(&raster, context)?,
        };
        let (outside, size) = (self.values.outside(), self.values.to.size());
        if outside.iter().any(|byte| *byte != 0) || !self.values.is_identity() {
            let is_outside = columns.iter().map(|taps| taps.is_empty()).collect::<Vec<bool>>();
            for (line, row) in made.pixels.chunks_mut((width * size).max(1)).zip((0..height).cycle()) {
                let all = rows.get(row).is_none_or(Option::is_none);
                let slots = line.chunks_mut(size.max(1)).zip(&is_outside);
                slots
                    .filter(|(_, outside)| all || **outside)
                    .for_each(|(slot, _)| super::numbers::put(slot, outside));
            }
        }
        Ok((Made { window, pixels: made.pixels, mask }, counts))
    }
}

/// Returns rows of the result that are computed together, up to a limit, and their rows of the input: those of one
/// chunk of `step` rows, or none, outside the image.
fn picked(
    rows: &Axis,
    step: u32,
    most: usize,
) -> impl Iterator<Item = (Range<usize>, Vec<Option<u32>>)> + '_ {
    let chunk =
        move |row: usize| Some(rows.get(row)).filter(|taps| !taps.is_empty()).map(|taps| taps.first / step);
    let mut from = 0;
    std::iter::from_fn(move || {
        let (start, own, last) = (from, chunk(from), rows.len().min(from + most));
        from = (start..last).find(|&row| chunk(row) != own).unwrap_or(last);
        let shown = (start..from).map(|row| own.map(|_| rows.get(row).first)).collect();
        (start < from).then_some((start..from, shown))
    })
}

/// Returns the window of the input that covers these rows; `None` if there is none.
fn window_of(under: &Range<u32>, rows: &[Option<u32>]) -> Option<Window> {
    let (low, high) = (*rows.iter().flatten().min()?, *rows.iter().flatten().max()?);
    let width = under.end - under.start;
    (!under.is_empty()).then(|| Window::new(under.start, low, width, high - low + 1))
}

/// Returns the bytes of the weights of an axis.
fn taps_bytes(span: &Span, method: Method) -> u64 {
    bytes(f64::from(span.count) * (span.most_taps(method).min(f64::from(span.size) + 2.0) * 8.0 + 16.0))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn bytes(count: f64) -> u64 {
    count.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::super::options::{ConvertArea, ConvertOptions, ConvertSize, Side};
    use super::super::values::{Given as GivenValues, Map};
    use super::*;
    use std::num::NonZeroUsize;
    use strile_tiff::DataType;
    use strile_tiff::gdal::NoData;

    const IMAGE: (u32, u32) = (53, 41);

    fn sample(band: u32, row: u32, column: u32) -> u8 {
        let mixed = (column * 7919 + row * 104_729 + band * 31).wrapping_mul(2_654_435_761);
        if mixed.is_multiple_of(11) {
            9
        } else {
            u8::try_from((column * 3 + row * 2 + (mixed >> 28)) % 200).unwrap()
        }
    }

    fn given(window: Window) -> Given {
        let Window { column: x, row: y, width, height } = window;
        assert!(window.is_inside(IMAGE.0, IMAGE.1), "{window}");
        let place =
            |band| (y..y + height).flat_map(move |row| (x..x + width).map(move |column| (band, row, column)));
        let raster = |bands, pixels| Raster {
            data_type: DataType::U8,
            bands,
            rows: height,
            columns: width,
            interleave: Interleave::BandFirst,
            pixels,
            fill: Fill::default(),
        };
        let pixels = (0..2).flat_map(place).map(|(band, row, column)| sample(band, row, column)).collect();
        let mask = place(0).map(|(_, row, column)| if (row * column) % 13 == 5 { 0 } else { 255 }).collect();
        (raster(2, pixels), Some(raster(1, mask)))
    }

    /// Returns the whole result in one piece.
    fn made(shape: &Shape, limits: Limits, block_rows: u32, threads: usize) -> (Vec<u8>, Vec<u8>) {
        let values = Values::new(GivenValues {
            from: DataType::U8,
            to: DataType::U8,
            maps: vec![(0, Map::Same), (1, Map::Same)],
            source_nodata: vec![Some(NoData::Integer(9)); 2],
            nodata: Some(NoData::Integer(9)),
            changes: false,
            bits: None,
        });
        let (width, height) = (shape.size.0 as usize, shape.size.1 as usize);
        let (mut pixels, mut mask) = (vec![0; 2 * width * height], vec![7; width * height]);
        let job =
            Resampling { shape, values: &values, bands: 2, masked: true, alpha: None, block_rows, limits };
        let context = Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() };
        let give = |made: Made| {
            let (rows, columns) = (made.window.height as usize, made.window.width as usize);
            for band in 0..3 {
                for row in 0..rows {
                    let start = (made.window.row as usize + row) * width + made.window.column as usize;
                    let (from, to) = match band {
                        2 => (&made.mask.as_ref().unwrap()[row * columns..], &mut mask[start..]),
                        _ => (
                            &made.pixels[(band * rows + row) * columns..],
                            &mut pixels[band * width * height + start..],
                        ),
                    };
                    to[..columns].copy_from_slice(&from[..columns]);
                }
            }
            Ok(())
        };
        job.run(|window| Ok(given(window)), give, &context).unwrap();
        assert!(mask.iter().all(|v| matches!(v, 0 | 255)));
        (pixels, mask)
    }

    #[test]
    fn any_cut_gives_the_same_pixels() {
        for method in Method::ALL {
            for (area, size) in [([0.0, 0.0, 53.0, 41.0], (20, 17)), ([-8.5, 3.25, 70.0, 20.0], (31, 44))] {
                let options = ConvertOptions {
                    area: Some(ConvertArea::Pixels(area)),
                    size: Some(ConvertSize::Sides(Side::Pixels(size.0), Side::Pixels(size.1))),
                    resampling: method,
                    ..ConvertOptions::default()
                };
                let shape = Shape::of_image(IMAGE, &options).unwrap();
                let whole = made(&shape, Limits::default(), 16, 1);
                for (limit, block_rows, threads) in [(1, 1, 1), (300, 7, 3), (2000, 16, 2), (1 << 20, 5, 4)] {
                    let limits = Limits { chunk: limit, made: limit, sums: limit * 8 };
                    let parts = made(&shape, limits, block_rows, threads);
                    assert!(parts == whole, "{} {size:?} in parts of {limit}", method.name());
                }
            }
        }
    }
}
