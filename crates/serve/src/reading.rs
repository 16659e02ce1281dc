//! Pixels of a level with their validity, for all kinds of levels.

use crate::answer::Refusal;
use crate::opened::{Level, Opened, Place, mask_source, nodata};
use crate::reduced::Made;
use std::sync::atomic::Ordering;
use strile::batch::{BatchWindow, Sampling};
use strile::number::{is_complex, is_float, magnitude, numbers, writer};
use strile::read::{Area, MaskSource};
use strile::{BatchOptions, Context, DataType, Input, Layer, Processor, ReadOptions, Window, read_batch};

/// Samples band by band, and one byte per pixel, 0 or 255, if pixels can be missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Samples {
    pub(crate) data_type: DataType,
    pub(crate) bands: usize,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Vec<u8>,
    pub(crate) valid: Option<Vec<u8>>,
}

impl Samples {
    /// Returns the pixels of one band.
    pub(crate) fn plane(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Returns the bytes of a band, from 0.
    pub(crate) fn band(&self, band: usize) -> &[u8] {
        let len = self.plane() * self.data_type.size();
        self.pixels.get(band * len..(band + 1) * len).unwrap_or_default()
    }

    /// Returns the numbers of a band; NaN for missing pixels.
    pub(crate) fn numbers(&self, band: usize) -> impl Iterator<Item = f64> {
        let valid = self.valid.as_deref();
        numbers(self.band(band), self.data_type).enumerate().map(move |(at, value)| {
            let shown = valid.and_then(|valid| valid.get(at)).is_none_or(|valid| *valid != 0);
            if shown { value } else { f64::NAN }
        })
    }

    /// Converts complex numbers to their magnitudes, which a picture can show.
    pub(crate) fn real(self) -> Self {
        if !is_complex(self.data_type) {
            return self;
        }
        let (read, write) = (magnitude(self.data_type), writer(DataType::F32));
        let mut pixels = Vec::with_capacity(self.pixels.len() / 2);
        self.pixels.chunks_exact(self.data_type.size()).for_each(|sample| write(read(sample), &mut pixels));
        Self { data_type: DataType::F32, pixels, ..self }
    }
}

impl Opened {
    /// Reads a window of a level. `made` are the pixels of levels that the file lacks.
    pub(crate) fn read(
        &self,
        level: &Level,
        window: Window,
        bands: &[u16],
        made: Option<&Made>,
        context: &Context,
    ) -> Result<Samples, Refusal> {
        let read = match (level.place, made) {
            (Place::Stored(number), _) => {
                let read = stored(&self.of(number, (level.width, level.height)), window, bands, context);
                read.map(|(samples, encoded)| {
                    self.bytes_read.fetch_add(encoded, Ordering::Relaxed);
                    samples
                })
            }
            (Place::Reduced(_), Some(Made::Draft(draft))) => {
                Ok(draft.read((level.width, level.height), window, bands))
            }
            (Place::Reduced(number), Some(Made::Levels(kept))) => {
                let of = Of::in_memory(&kept.input, number, (level.width, level.height));
                stored(&of, window, bands, context).map(|(samples, _)| samples)
            }
            (Place::OnDemand | Place::Reduced(_), _) => {
                let (number, from) = self.smallest_stored();
                let scale = (
                    f64::from(from.width) / f64::from(level.width),
                    f64::from(from.height) / f64::from(level.height),
                );
                let part = [
                    f64::from(window.column) * scale.0,
                    f64::from(window.row) * scale.1,
                    f64::from(window.width) * scale.0,
                    f64::from(window.height) * scale.1,
                ];
                let sampling = if self.is_categorical() { Sampling::Nearest } else { Sampling::Average };
                let of = self.of(number, (from.width, from.height));
                self.resampled(&of, part, (window.width, window.height), (bands, sampling), context)
            }
        };
        read.map_err(|refusal| self.blame(refusal))
    }

    /// Reads a part of a level, in its pixels, resampled to a width and height. Pixels outside the image are invalid.
    pub(crate) fn resampled(
        &self,
        of: &Of<'_>,
        part: [f64; 4],
        (width, height): (u32, u32),
        (bands, sampling): (&[u16], Sampling),
        context: &Context,
    ) -> Result<Samples, Refusal> {
        if let Some(window) = whole_pixels(part, (width, height), of.size) {
            let (samples, encoded) = stored(of, window, bands, context)?;
            self.bytes_read.fetch_add(encoded, Ordering::Relaxed);
            return Ok(samples);
        }
        let source = mask_source(of.input)?;
        let by_mask = matches!(source, MaskSource::Image | MaskSource::Alpha(_));
        // Averages must exclude masked pixels, which mosaics do not support.
        let is_masked = by_mask && of.input.tiff().is_some() && !is_complex(self.data_type);
        let window = BatchWindow::new(0, Area::Part(part)).level(of.level).bands(bands.iter().copied());
        let options = BatchOptions::new()
            .size((width, height))
            .sampling(sampling)
            .masked(is_masked)
            .decode_on(of.decode_on);
        let tensor = read_batch(&[of.input], &[window], &options, context)?;
        self.bytes_read.fetch_add(tensor.report.encoded_bytes, Ordering::Relaxed);
        let data_type = tensor.data_type;
        let pixels = tensor.into_bytes()?;
        let mut samples = Samples { data_type, bands: bands.len(), width, height, pixels, valid: None };
        samples.valid = match source {
            MaskSource::NoData => Some(by_nodata(of.input, &samples, bands)),
            MaskSource::AllValid => None,
            MaskSource::Image | MaskSource::Alpha(_) if is_masked => {
                let valid = by_nan(&samples);
                if !is_float(self.data_type) {
                    samples = as_type(samples, self.data_type);
                }
                Some(valid)
            }
            MaskSource::Image | MaskSource::Alpha(_) => {
                Some(nearest_mask(of, part, (width, height), context)?)
            }
        };
        hide_outside(&mut samples, part, of.size);
        Ok(samples)
    }
}

/// A level of a file, or of the levels in memory.
pub(crate) struct Of<'a> {
    pub(crate) input: &'a Input,
    pub(crate) level: usize,
    pub(crate) size: (u32, u32),
    /// Processor that decodes it.
    pub(crate) decode_on: Processor,
}

impl<'a> Of<'a> {
    /// Returns a level in memory, which is not compressed: decoded on the CPU.
    pub(crate) fn in_memory(input: &'a Input, level: usize, size: (u32, u32)) -> Self {
        Self { input, level, size, decode_on: Processor::Cpu }
    }
}

/// Returns the pixels of a part that needs no resampling and lies inside of the level.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers inside of the level, checked"
)]
fn whole_pixels([left, top, across, down]: [f64; 4], size: (u32, u32), level: (u32, u32)) -> Option<Window> {
    let is_same = across == f64::from(size.0) && down == f64::from(size.1);
    let is_whole = left >= 0.0 && top >= 0.0 && left.fract() == 0.0 && top.fract() == 0.0;
    let is_inside = left + across <= f64::from(level.0) && top + down <= f64::from(level.1);
    (is_same && is_whole && is_inside).then(|| Window::new(left as u32, top as u32, size.0, size.1))
}

/// Reads the mask of a part of a level by nearest neighbour.
fn nearest_mask(
    of: &Of<'_>,
    [left, top, across, down]: [f64; 4],
    (width, height): (u32, u32),
    context: &Context,
) -> Result<Vec<u8>, Refusal> {
    let place =
        |start: f64, len: f64, at: u32, all: u32| start + (f64::from(at) + 0.5) * len / f64::from(all);
    let columns: Vec<Option<u32>> =
        (0..width).map(|x| pixel(place(left, across, x, width), of.size.0)).collect();
    let rows: Vec<Option<u32>> = (0..height).map(|y| pixel(place(top, down, y, height), of.size.1)).collect();
    let ends = |all: &[Option<u32>]| {
        let inside = || all.iter().flatten().copied();
        inside().min().zip(inside().max())
    };
    let count = width as usize * height as usize;
    let Some(((x0, x1), (y0, y1))) = ends(&columns).zip(ends(&rows)) else { return Ok(vec![0; count]) };
    let window = Window::new(x0, y0, x1 - x0 + 1, y1 - y0 + 1);
    let options =
        ReadOptions::new().level(of.level).window(window).layer(Layer::Mask).decode_on(of.decode_on);
    let mask = of.input.read(&options, context)?.into_bytes()?;
    let mut valid = Vec::with_capacity(count);
    for row in &rows {
        for column in &columns {
            let at = row
                .zip(*column)
                .map(|(row, column)| (row - y0) as usize * window.width as usize + (column - x0) as usize);
            let shown = at.and_then(|at| mask.get(at)).is_some_and(|value| *value != 0);
            valid.push(if shown { 255 } else { 0 });
        }
    }
    Ok(valid)
}

/// Returns the pixel of an axis that contains a position.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside of the image, checked")]
fn pixel(place: f64, size: u32) -> Option<u32> {
    (0.0..f64::from(size)).contains(&place).then(|| place.floor() as u32)
}

/// Reads a window of a level of a file, with its validity; for a TIFF also returns the number of encoded bytes.
fn stored(
    &Of { input, level, decode_on, .. }: &Of<'_>,
    window: Window,
    bands: &[u16],
    context: &Context,
) -> Result<(Samples, u64), Refusal> {
    let options =
        ReadOptions::new().level(level).window(window).bands(bands.iter().copied()).decode_on(decode_on);
    let raster = input.read(&options, context)?;
    let encoded = raster.report.encoded_bytes;
    let mut samples = Samples {
        data_type: raster.data_type,
        bands: bands.len(),
        width: raster.columns,
        height: raster.rows,
        pixels: raster.into_bytes()?,
        valid: None,
    };
    samples.valid = match mask_source(input)? {
        MaskSource::AllValid => None,
        MaskSource::NoData => Some(by_nodata(input, &samples, bands)),
        MaskSource::Image | MaskSource::Alpha(_) => {
            let options =
                ReadOptions::new().level(level).window(window).layer(Layer::Mask).decode_on(decode_on);
            let mut mask = input.read(&options, context)?.into_bytes()?;
            mask.iter_mut().for_each(|value| *value = if *value == 0 { 0 } else { 255 });
            Some(mask)
        }
    };
    Ok((samples, encoded))
}

/// Returns validity by nodata: a pixel is missing if all bands read have their nodata value.
pub(crate) fn by_nodata(input: &Input, samples: &Samples, bands: &[u16]) -> Vec<u8> {
    let mut valid = vec![0_u8; samples.plane()];
    let (data_type, size) = (samples.data_type, samples.data_type.size());
    for (at, band) in bands.iter().enumerate() {
        let missing = nodata(input, *band).and_then(|nodata| nodata.to_sample(data_type));
        let bytes = samples.band(at);
        let Some(missing) = missing.as_ref().and_then(|missing| missing.get(..size)) else {
            valid.fill(255);
            break;
        };
        // Comparing a known size avoids a call per sample.
        match (is_float(data_type), missing) {
            (false, [one]) => mark(&mut valid, bytes.iter().map(|sample| sample == one)),
            (false, [one, two]) => {
                mark(&mut valid, bytes.as_chunks().0.iter().map(|sample| *sample == [*one, *two]));
            }
            (false, missing) => mark(&mut valid, bytes.chunks_exact(size).map(|sample| sample == missing)),
            (true, missing) => {
                let read = magnitude(data_type);
                let missing = read(missing);
                let is_missing = |value: f64| value == missing || (value.is_nan() && missing.is_nan());
                mark(&mut valid, bytes.chunks_exact(size).map(|sample| is_missing(read(sample))));
            }
        }
    }
    valid
}

/// Returns validity by NaN: a pixel is valid if a band has a number there.
pub(crate) fn by_nan(samples: &Samples) -> Vec<u8> {
    let mut valid = vec![0_u8; samples.plane()];
    for band in 0..samples.bands {
        let bytes = samples.band(band);
        // Masked reads have these types: avoids a call per sample.
        match samples.data_type {
            DataType::F32 => mark(&mut valid, floats(bytes).map(f32::is_nan)),
            DataType::F64 => mark(&mut valid, doubles(bytes).map(f64::is_nan)),
            other => mark(&mut valid, numbers(bytes, other).map(f64::is_nan)),
        }
    }
    valid
}

fn mark(valid: &mut [u8], missing: impl Iterator<Item = bool>) {
    valid.iter_mut().zip(missing).for_each(|(valid, is_missing)| *valid |= if is_missing { 0 } else { 255 });
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|raw| f32::from_ne_bytes(*raw))
}

fn doubles(bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.as_chunks().0.iter().map(|raw| f64::from_ne_bytes(*raw))
}

/// Converts samples to another type, rounded and clamped. NaN becomes 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and saturated, NaN becomes 0"
)]
pub(crate) fn as_type(samples: Samples, data_type: DataType) -> Samples {
    let bytes = samples.pixels.as_slice();
    let pixels = match (samples.data_type, data_type) {
        // Avoids a call per sample.
        (DataType::F32, DataType::U8) => floats(bytes).map(|value| value.round() as u8).collect(),
        (DataType::F64, DataType::U8) => doubles(bytes).map(|value| value.round() as u8).collect(),
        (DataType::F32, DataType::U16) => {
            floats(bytes).flat_map(|value| (value.round() as u16).to_ne_bytes()).collect()
        }
        (from, to) => {
            let (write, mut pixels) = (writer(to), Vec::with_capacity(bytes.len()));
            numbers(bytes, from).for_each(|value| write(value, &mut pixels));
            pixels
        }
    };
    Samples { data_type, pixels, ..samples }
}

/// Marks pixels whose centres lie outside the image as invalid.
fn hide_outside(samples: &mut Samples, [left, top, across, down]: [f64; 4], (columns, rows): (u32, u32)) {
    let (width, height) = (samples.width, samples.height);
    let is_whole =
        left >= 0.0 && top >= 0.0 && left + across <= f64::from(columns) && top + down <= f64::from(rows);
    if is_whole {
        return;
    }
    let place = |start: f64, len: f64, at: u32, of: u32| start + (f64::from(at) + 0.5) * len / f64::from(of);
    let inside_x: Vec<bool> =
        (0..width).map(|x| pixel(place(left, across, x, width), columns).is_some()).collect();
    let count = samples.plane();
    let valid = samples.valid.get_or_insert_with(|| vec![255; count]);
    for (y, row) in (0..height).zip(valid.chunks_exact_mut((width as usize).max(1))) {
        let inside_y = pixel(place(top, down, y, height), rows).is_some();
        for (valid, inside_x) in row.iter_mut().zip(&inside_x) {
            if !(inside_y && *inside_x) {
                *valid = 0;
            }
        }
    }
}
