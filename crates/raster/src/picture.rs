//! Samples as 8-bit pictures: grey, colours or a palette, stretched between percentiles, with missing pixels
//! transparent.
//!
//! `Stretch` is the arithmetic. `Drawing` decides from the file's metadata which bands are drawn and how. It takes
//! pieces twice: first to collect their values, then to draw them.

use crate::convert::{colours_as_read, has_grey_table};
use crate::error::{Error, Result};
use crate::file::input::Input;
use crate::measure::{BandValidity, Shown};
use crate::number::{is_complex, reader};
use crate::options::{Layer, Place, ReadOptions};
use crate::pixels::Pixels;
use crate::read::MaskSource;
use strile_tiff::{DataType, Photometric};

/// Percentiles of the valid values that become black and white.
const PERCENTILES: (f64, f64) = (2.0, 98.0);

/// Largest number of rows and of columns that a stretch is computed from. Larger pictures are subsampled.
const SEEN: u32 = 1024;

/// Maps the values of a band to shades from 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// The value that becomes black.
    pub low: f64,
    /// The value that becomes white.
    pub high: f64,
}

impl Stretch {
    /// Stretches from the 2nd to the 98th percentile of the values, none of which may be NaN or infinite. Returns
    /// `None` if they are best shown unchanged: 8 bits that range from 0 to 255.
    pub fn of(values: &mut [f64], data_type: DataType) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let ends = values.first().copied().zip(values.last().copied());
        match (ends, data_type) {
            (Some((low, high)), DataType::U8) if low <= 0.0 && high >= 255.0 => None,
            _ => {
                Some(Self { low: percentile(values, PERCENTILES.0), high: percentile(values, PERCENTILES.1) })
            }
        }
    }

    /// Returns the shade of a value.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255; NaN becomes 0")]
    pub fn shade(&self, value: f64) -> u8 {
        // Halved, because the difference of two doubles can be larger than any double.
        let span = if self.high > self.low { self.high / 2.0 - self.low / 2.0 } else { 0.5 };
        ((value / 2.0 - self.low / 2.0) / span * 255.0 + 0.5).clamp(0.0, 255.0) as u8
    }
}

/// Returns the percentile of sorted values, interpolated linearly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index of the values"
)]
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let place = sorted.len().saturating_sub(1) as f64 * percent / 100.0;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(0.0);
    let (below, above, share) = (at(place.floor()), at(place.ceil()), place.fract());
    match share < 0.5 {
        true => below + (above - below) * share,
        false => above - (above - below) * (1.0 - share),
    }
}

/// Returns the shades of samples, 0 for invalid ones; see [`Stretch`]. `samples` are of one band, and `valid` has a
/// flag per sample.
pub fn shades(samples: &[u8], data_type: DataType, valid: &[bool]) -> Vec<u8> {
    let number = reader(data_type);
    let each = || samples.chunks_exact(data_type.size()).map(number);
    let is_shown = |(value, valid): &(f64, &bool)| **valid && value.is_finite();
    let mut values: Vec<f64> = each().zip(valid).filter(is_shown).map(|(value, _)| value).collect();
    let stretch = Stretch::of(&mut values, data_type);
    each().zip(valid).map(|pair| if is_shown(&pair) { shade(stretch, pair.0) } else { 0 }).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "8-bit values, saturated")]
fn shade(stretch: Option<Stretch>, value: f64) -> u8 {
    stretch.map_or(value as u8, |stretch| stretch.shade(value))
}

/// How a request is drawn.
pub struct Drawing {
    /// The bands to read, from 1: the drawn ones, then alpha.
    pub bands: Vec<u16>,
    /// Whether the mask has to be read as well.
    pub needs_mask: bool,
    drawn: usize,
    alpha: bool,
    palette: Option<Vec<[u8; 4]>>,
    rules: Vec<BandValidity>,
    data_type: DataType,
    values: Vec<Vec<f64>>,
    stretches: Vec<Option<Stretch>>,
    step: u32,
    rows_seen: u32,
}

impl Drawing {
    /// Decides how a request for `data_type` samples of an image of this size is drawn: with its palette, as grey, or
    /// from the first three bands. A band is alpha only if the file says so.
    pub fn plan(
        input: &Input,
        options: &ReadOptions,
        (columns, rows): (u32, u32),
        data_type: DataType,
    ) -> Result<Self> {
        let refuse = |problem: String| Error::Request { file: input.name().to_owned(), problem };
        if is_complex(data_type) {
            return Err(refuse(format!("{data_type} samples cannot be drawn")));
        }
        let shown = Shown::in_reading(input, &options.place)?;
        let alpha = input.alpha_band(&options.place)?;
        let count = match input {
            Input::Tiff(dataset) => dataset.target(&options.place.all())?.image.samples,
            Input::Vrt(vrt) => vrt.bands(),
        };
        let all: Vec<u16> = (1..=count).filter(|band| Some(*band) != alpha).collect();
        let is_alpha = |band: &u16| Some(*band) == alpha;
        let (colours, alpha) = match &options.place.bands {
            None if all.len() >= 3 => (all.get(..3).unwrap_or_default().to_vec(), alpha),
            None => (all.get(..1).unwrap_or_default().to_vec(), alpha),
            Some(bands) => match bands.split_last() {
                Some((last, first)) if is_alpha(last) && !first.is_empty() => (first.to_vec(), alpha),
                _ => (bands.clone(), None),
            },
        };
        if !matches!(colours.len(), 1 | 3) {
            let what = format!("a picture has 1 or 3 bands, and {} are asked for", colours.len());
            return Err(refuse(format!("{what}; choose them with `bands`")));
        }
        let is_converted = options.meaning.is_masked();
        let palette = if colours == [1] && !is_converted { palette_of(input, &options.place)? } else { None };
        let rule = |&band: &u16| {
            let rule = shown.band(input, band, data_type);
            // Nodata has become NaN. Its original value may now be a valid result of the conversion.
            if is_converted { rule.without_nodata() } else { rule }
        };
        let rules = colours.iter().map(rule).collect();
        let drawn = colours.len();
        let bands: Vec<u16> = colours.into_iter().chain(alpha).collect();
        Ok(Self {
            drawn,
            alpha: alpha.is_some(),
            bands,
            needs_mask: matches!(shown, Shown::Mask(_)),
            palette,
            rules,
            data_type,
            values: vec![Vec::new(); drawn],
            stretches: vec![None; drawn],
            step: columns.max(rows).div_ceil(SEEN).max(1),
            rows_seen: 0,
        })
    }

    /// Returns whether [`see`](Self::see) must see all pieces before they are drawn.
    pub fn needs_sight(&self) -> bool {
        self.palette.is_none()
    }

    /// Returns the channels of the picture: 2 (grey and alpha) or 4 (three colours and alpha).
    pub fn channels(&self) -> usize {
        if self.palette.is_some() || self.drawn == 3 { 4 } else { 2 }
    }

    /// Returns the stretch of each drawn band, after all pieces were seen.
    pub fn stretches(&self) -> &[Option<Stretch>] {
        &self.stretches
    }

    /// Returns whether the picture is drawn with a palette, not with a stretch.
    pub fn has_palette(&self) -> bool {
        self.palette.is_some()
    }

    /// Collects the values of a piece with its pixels band-last, and the mask of the same pixels if one is needed.
    pub fn see(&mut self, pixels: &Pixels, mask: Option<&[u8]>) -> Result<()> {
        let (bytes, columns) = (pixels.bytes()?, pixels.columns as usize);
        for row in 0..pixels.rows {
            let number = self.rows_seen;
            self.rows_seen += 1;
            if !number.is_multiple_of(self.step) {
                continue;
            }
            for column in (0..columns).step_by(self.step as usize) {
                let at = row as usize * columns + column;
                let pixel = self.pixel(bytes, at);
                let is_shown = self.is_shown(pixel, mask.and_then(|mask| mask.get(at)));
                let size = self.data_type.size();
                let number = reader(self.data_type);
                let bands = pixel.chunks_exact(size).zip(&self.rules).zip(&mut self.values);
                for ((sample, rule), values) in bands {
                    let value = number(sample);
                    if value.is_finite() && rule.is_valid(sample, is_shown) {
                        values.push(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Computes the stretches from the collected values.
    pub fn decide(&mut self) {
        for (stretch, values) in self.stretches.iter_mut().zip(&mut self.values) {
            *stretch = Stretch::of(values, self.data_type);
            *values = Vec::new();
        }
    }

    fn pixel<'a>(&self, pixels: &'a [u8], at: usize) -> &'a [u8] {
        let len = self.data_type.size() * self.bands.len();
        pixels.get(at * len..(at + 1) * len).unwrap_or_default()
    }

    /// Returns whether mask and alpha show a pixel at all.
    fn is_shown(&self, pixel: &[u8], mask: Option<&u8>) -> bool {
        let size = self.data_type.size();
        let alpha = self.alpha.then(|| pixel.get(self.drawn * size..).unwrap_or_default());
        mask.is_none_or(|mask| *mask != 0) && alpha.is_none_or(|alpha| alpha.iter().any(|&byte| byte != 0))
    }

    /// Draws a piece: its channels, pixel by pixel.
    pub fn draw(&self, pixels: &Pixels, mask: Option<&[u8]>) -> Result<Vec<u8>> {
        let (size, number) = (self.data_type.size(), reader(self.data_type));
        let (bytes, count) = (pixels.bytes()?, pixels.rows as usize * pixels.columns as usize);
        let mut out = Vec::with_capacity(count * self.channels());
        for at in 0..count {
            let pixel = self.pixel(bytes, at);
            let is_shown = self.is_shown(pixel, mask.and_then(|mask| mask.get(at)));
            let mut is_valid = is_shown;
            if let Some(palette) = &self.palette {
                let sample = pixel.get(..size).unwrap_or_default();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "an index of a palette"
                )]
                let colour = palette.get(number(sample) as usize).copied().unwrap_or([0, 0, 0, 0]);
                is_valid &= self.rules.first().is_none_or(|rule| rule.is_valid(sample, is_shown));
                let [red, green, blue, opaque] = colour;
                out.extend([red, green, blue, if is_valid { opaque } else { 0 }]);
                continue;
            }
            let start = out.len();
            for ((sample, rule), stretch) in pixel.chunks_exact(size).zip(&self.rules).zip(&self.stretches) {
                let value = number(sample);
                let is_sample = value.is_finite() && rule.is_valid(sample, is_shown);
                is_valid &= is_sample;
                out.push(if is_sample { shade(*stretch, value) } else { 0 });
            }
            debug_assert_eq!(out.len() - start, self.drawn);
            out.push(if is_valid { self.opacity(pixel) } else { 0 });
        }
        Ok(out)
    }

    /// Returns the alpha of a pixel in 8 bits.
    fn opacity(&self, pixel: &[u8]) -> u8 {
        let sample = pixel.get(self.drawn * self.data_type.size()..).unwrap_or_default();
        match (self.alpha, self.data_type, sample) {
            (true, DataType::U8, &[alpha]) => alpha,
            (true, DataType::U16, &[a, b]) => {
                u8::try_from((u16::from_ne_bytes([a, b]) / 257).max(1)).unwrap_or(255)
            }
            _ => 255,
        }
    }
}

impl Input {
    /// Returns the number, from 1, of the band that the file declares to be alpha.
    pub fn alpha_band(&self, place: &Place) -> Result<Option<u16>> {
        Ok(match self {
            Self::Tiff(dataset) => {
                let image = dataset.target(&place.all().layer(Layer::Pixels))?.image;
                match MaskSource::of(&image, false) {
                    MaskSource::Alpha(band) => Some(band),
                    MaskSource::Image | MaskSource::NoData | MaskSource::AllValid => None,
                }
            }
            Self::Vrt(vrt) => vrt.alpha(),
        })
    }
}

/// Returns the colours of the first band, in 8 bits and opaque, if it has a colour table. Of `place`, only the page and
/// the level count.
pub fn palette_of(input: &Input, place: &Place) -> Result<Option<Vec<[u8; 4]>>> {
    let narrow = |value: u16, divisor: u16| u8::try_from(value / divisor).unwrap_or(255);
    match input {
        Input::Tiff(dataset) => {
            let image = dataset.target(&place.all())?.image;
            let has_table = colours_as_read(&image) == Photometric::Palette || has_grey_table(&image);
            Ok(image.colour.colour_map.as_ref().filter(|_| has_table).map(|map| {
                // 16 bits per colour, made from 8 by one of two factors; some writers left them at 8.
                let divisor = if map.iter().flatten().all(|&value| value < 256) { 1 } else { 256 };
                let colour =
                    |&[r, g, b]: &[u16; 3]| [narrow(r, divisor), narrow(g, divisor), narrow(b, divisor), 255];
                map.iter().map(colour).collect()
            }))
        }
        Input::Vrt(vrt) => {
            let table = vrt.colour_table(1);
            let colour = |entry: &[u16; 4]| entry.map(|value| narrow(value, 1));
            Ok((!table.is_empty()).then(|| table.iter().map(colour).collect()))
        }
    }
}
