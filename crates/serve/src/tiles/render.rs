//! Samples as 8-bit pictures: stretched, coloured by a ramp or a palette, missing pixels transparent.

use super::ramps::Ramp;
use crate::reading::Samples;
use strile::DataType;
use strile::number::numbers;

/// Returns a number as a byte: rounded and clamped to 0 to 255.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and saturated, NaN becomes 0"
)]
pub(super) fn byte(value: f64) -> u8 {
    (value + 0.5) as u8
}

/// An 8-bit picture: pixel by pixel, 1 or 3 channels, and its alpha.
pub(crate) struct TileImage {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// 1 or 3.
    pub(crate) channels: usize,
    /// Channels of all pixels.
    pub(crate) colours: Vec<u8>,
    /// One value per pixel; `None` if all are opaque.
    pub(crate) alpha: Option<Vec<u8>>,
}

impl TileImage {
    /// Returns channels with alpha, pixel by pixel: 1, 2, 3 or 4 of them.
    pub(crate) fn with_alpha(&self) -> (Vec<u8>, usize) {
        let Some(alpha) = &self.alpha else { return (self.colours.clone(), self.channels) };
        let mut all = Vec::with_capacity(alpha.len() * (self.channels + 1));
        for (colours, alpha) in self.colours.chunks_exact(self.channels).zip(alpha) {
            all.extend_from_slice(colours);
            all.push(*alpha);
        }
        (all, self.channels + 1)
    }

    /// Converts to three colours, with alpha if some pixels are transparent.
    pub(crate) fn in_colour(mut self) -> Self {
        if self.channels == 1 {
            self.colours = self.colours.iter().flat_map(|grey| [*grey; 3]).collect();
            self.channels = 3;
        }
        self
    }

    /// Converts to three colours, white under transparent pixels: for formats without alpha.
    pub(crate) fn opaque(self) -> Self {
        let mut picture = self.in_colour();
        if let Some(alpha) = picture.alpha.take() {
            for (colours, alpha) in picture.colours.chunks_exact_mut(3).zip(alpha) {
                let share = f64::from(alpha) / 255.0;
                for colour in colours {
                    *colour = byte(f64::from(*colour) * share + 255.0 * (1.0 - share));
                }
            }
        }
        picture
    }
}

/// How samples are drawn.
pub(crate) enum Drawn<'a> {
    /// Each band stretched from a range to 0..255; 1 or 3 bands.
    Stretched(&'a [(f64, f64)]),
    /// One band from a range through a ramp.
    Ramp((f64, f64), &'a Ramp),
    /// One band by the colours of its values.
    Palette(&'a [[u8; 4]]),
}

/// Draws samples. `inverted` swaps black and white.
pub(crate) fn draw(samples: &Samples, drawn: &Drawn<'_>, inverted: bool) -> TileImage {
    let (width, height) = (samples.width, samples.height);
    let mut alpha = samples.valid.clone();
    let mut hide = |at: usize| {
        let alpha = alpha.get_or_insert_with(|| vec![255; samples.plane()]);
        if let Some(alpha) = alpha.get_mut(at) {
            *alpha = 0;
        }
    };
    let (channels, colours) = match drawn {
        Drawn::Stretched(ranges) => {
            let channels = ranges.len();
            let mut colours = vec![0; samples.plane() * channels];
            for (band, range) in ranges.iter().enumerate() {
                let shades = Shades::new(samples.data_type, *range, inverted);
                let into = colours.iter_mut().skip(band).step_by(channels);
                shades.each(samples.band(band), samples.data_type, into, &mut hide);
            }
            (channels, colours)
        }
        Drawn::Ramp(range, ramp) => {
            let mut greys = vec![0; samples.plane()];
            let shades = Shades::new(samples.data_type, *range, false);
            shades.each(samples.band(0), samples.data_type, greys.iter_mut(), &mut hide);
            let colour = |grey: &u8| ramp.get(usize::from(*grey)).copied().unwrap_or_default();
            (3, greys.iter().flat_map(colour).collect())
        }
        Drawn::Palette(palette) => {
            let mut colours = Vec::with_capacity(samples.plane() * 3);
            for (at, value) in numbers(samples.band(0), samples.data_type).enumerate() {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "an index of a palette"
                )]
                let colour = palette.get(value as usize).filter(|_| value >= 0.0);
                let [red, green, blue, opaque] = colour.copied().unwrap_or([0; 4]);
                colours.extend([red, green, blue]);
                if opaque == 0 {
                    hide(at);
                }
            }
            (3, colours)
        }
    };
    let alpha = alpha.filter(|alpha| alpha.iter().any(|alpha| *alpha != 255));
    TileImage { width, height, channels, colours, alpha }
}

/// Conversion of values to bytes: by a table for small integers, else by arithmetic.
enum Shades {
    Same,
    Table(Vec<u8>),
    Linear { low: f64, factor: f64, inverted: bool },
}

impl Shades {
    fn new(data_type: DataType, (low, high): (f64, f64), inverted: bool) -> Self {
        let is_same = data_type == DataType::U8 && low == 0.0 && high == 255.0 && !inverted;
        // Halved, because the span of two doubles can exceed the largest double.
        let span = high / 2.0 - low / 2.0;
        let factor = if span > 0.0 { 127.5 / span } else { f64::INFINITY };
        let linear = Self::Linear { low, factor, inverted };
        match data_type {
            DataType::U8 if is_same => Self::Same,
            DataType::U8 => {
                Self::Table((0..=u8::MAX).map(|value| linear.shade(f64::from(value)).unwrap_or(0)).collect())
            }
            _ => linear,
        }
    }

    /// Returns the byte of a value; `None` for NaN and infinities.
    fn shade(&self, value: f64) -> Option<u8> {
        let Self::Linear { low, factor, inverted } = self else { return None };
        if !value.is_finite() {
            return None;
        }
        let above = value - low;
        let shade = match factor.is_finite() {
            true => byte(above * factor),
            // For an empty range, everything above it is white.
            false if above > 0.0 => 255,
            false => 0,
        };
        Some(if *inverted { 255 - shade } else { shade })
    }

    fn each<'a>(
        &self,
        band: &[u8],
        data_type: DataType,
        into: impl Iterator<Item = &'a mut u8>,
        hide: &mut impl FnMut(usize),
    ) {
        match self {
            Self::Same => into.zip(band).for_each(|(into, sample)| *into = *sample),
            Self::Table(table) => {
                for (into, sample) in into.zip(band) {
                    *into = table.get(usize::from(*sample)).copied().unwrap_or(0);
                }
            }
            Self::Linear { .. } => {
                for ((at, into), value) in into.enumerate().zip(numbers(band, data_type)) {
                    match self.shade(value) {
                        Some(shade) => *into = shade,
                        None => hide(at),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(data_type: DataType, pixels: Vec<u8>, width: u32) -> Samples {
        Samples { data_type, bands: 1, width, height: 1, pixels, valid: None }
    }

    #[test]
    fn values_are_stretched_and_what_is_not_a_number_is_transparent() {
        let floats = [-1.0f32, 0.0, 5.0, 10.0, 99.0, f32::NAN, f32::INFINITY];
        let one = samples(DataType::F32, floats.iter().flat_map(|v| v.to_ne_bytes()).collect(), 7);
        let picture = draw(&one, &Drawn::Stretched(&[(0.0, 10.0)]), false);
        assert_eq!(picture.colours, [0, 0, 128, 255, 255, 0, 0]);
        assert_eq!(picture.alpha.unwrap(), [255, 255, 255, 255, 255, 0, 0]);
        let bytes = samples(DataType::U8, vec![0, 100, 255], 3);
        assert_eq!(draw(&bytes, &Drawn::Stretched(&[(0.0, 255.0)]), false).colours, [0, 100, 255]);
        assert_eq!(draw(&bytes, &Drawn::Stretched(&[(0.0, 255.0)]), true).colours, [255, 155, 0]);
        assert_eq!(draw(&bytes, &Drawn::Stretched(&[(100.0, 100.0)]), false).colours, [0, 0, 255]);
        let palette = [[1, 2, 3, 255], [4, 5, 6, 0]];
        let drawn = draw(&samples(DataType::U8, vec![0, 1, 2], 3), &Drawn::Palette(&palette), false);
        assert_eq!(drawn.colours, [1, 2, 3, 4, 5, 6, 0, 0, 0]);
        assert_eq!(drawn.alpha.as_deref(), Some([255, 0, 0].as_slice()));
        assert_eq!(drawn.opaque().colours, [1, 2, 3, 255, 255, 255, 255, 255, 255]);
    }
}
