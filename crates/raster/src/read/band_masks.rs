//! Masks of bands, as in GDAL's readers: which samples are valid, by the nodata value, a mask image or alpha.

use super::mask::{MaskSource, same};
use crate::batch::{BatchOptions, BatchWindow, Sampling, read_batch};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::{AsInput, Input};
use crate::number::{converted, numbers};
use crate::options::{Interleave, Layer, Meaning, Place, ReadOptions};
use crate::pixels::{Memory, Pixels};
use crate::raster::Raster;
use crate::window::Window;
use strile_engine::memory::try_filled;
use strile_engine::{Context, EngineError, Fill, Report};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// The source of validity of a band's samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BandMask {
    /// All samples are valid.
    AllValid,
    /// The mask of the image ([`Layer::Mask`]): a mask image or alpha.
    Image,
    /// Samples that differ from this value are valid.
    Value(NoData),
}

/// The source of missing samples in the bands of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masking {
    /// No sample is missing: `masked` changes nothing.
    Nothing,
    /// Nodata values of every band.
    Values,
    /// The mask of the image, or nodata values of some bands.
    Other,
}

impl Input {
    /// Returns the source of missing samples of a place. Nodata values that samples cannot have are ignored.
    pub fn masking(&self, place: &Place) -> Masking {
        let rules = self.chosen(place);
        let stored = match self {
            Self::Tiff(file) => {
                let levels = file.pages().get(place.page).map(|page| &page.levels);
                levels.and_then(|levels| levels.first()?.image.sample.data_type())
            }
            Self::Vrt(vrt) => Some(vrt.data_type()),
        };
        let hides = |rule: &BandMask| match rule {
            BandMask::AllValid => false,
            BandMask::Image => true,
            BandMask::Value(value) => stored.is_some_and(|stored| value.to_sample(stored).is_some()),
        };
        match (rules.iter().any(hides), rules.iter().all(|rule| matches!(rule, BandMask::Value(_)))) {
            (false, _) => Masking::Nothing,
            (true, true) => Masking::Values,
            (true, false) => Masking::Other,
        }
    }

    /// Returns the source of validity of each band of a level. As in GDAL, alpha itself is all valid, the bands of a
    /// VRT have their own nodata values, and its mask band takes precedence over these.
    pub fn band_masks(&self, place: &Place) -> Vec<BandMask> {
        let by_alpha =
            |band: u16, alpha: u16| if band == alpha { BandMask::AllValid } else { BandMask::Image };
        match self {
            Self::Tiff(file) => {
                let found = file.pages().get(place.page).and_then(|page| page.levels.first());
                let bands = 1..=found.map_or(0, |level| level.image.samples);
                // Computed once: a file may have 65,535 bands.
                let (nodata, beside) = (file.metadata().nodata, beside_nodata(file, place));
                let rule = |band| match (nodata, beside) {
                    (Some(value), _) => BandMask::Value(value),
                    (None, Some(MaskSource::Alpha(alpha))) => by_alpha(band, alpha),
                    (None, Some(MaskSource::Image)) => BandMask::Image,
                    _ => BandMask::AllValid,
                };
                bands.map(rule).collect()
            }
            Self::Vrt(vrt) => {
                let source = vrt.mask_source();
                let rule = |band| match (source, vrt.nodata(band)) {
                    (MaskSource::Image, _) => BandMask::Image,
                    (_, Some(value)) => BandMask::Value(value),
                    (MaskSource::Alpha(alpha), None) => by_alpha(band, alpha),
                    _ => BandMask::AllValid,
                };
                (1..=vrt.bands()).map(rule).collect()
            }
        }
    }

    /// Reads the mask of each band into host memory, (band, row, column): 255 for valid samples, 0 for missing ones,
    /// and values in between for alpha. On a grid, samples are valid where the method yields a value.
    pub fn read_masks(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        if options.place.onto.is_some() {
            return self.masks_on_grid(options, context);
        }
        let rules = self.chosen(&options.place);
        // Pixels are not needed unless a band is compared with a value.
        let by_image = rules.contains(&BandMask::Image);
        let needs_pixels = !by_image || rules.iter().any(|rule| matches!(rule, BandMask::Value(_)));
        let pixels = needs_pixels.then(|| self.read(&stored(options, Layer::Pixels), context)).transpose()?;
        self.masks(&rules, pixels.as_ref(), || self.mask_image(options, context), context)
    }

    /// Reads stored samples into host memory, (band, row, column), together with the masks of `read_masks`.
    pub fn read_with_masks(&self, options: &ReadOptions, context: &Context) -> Result<(Pixels, Pixels)> {
        let pixels = self.read(&stored(options, Layer::Pixels), context)?;
        let masks = match options.place.onto {
            Some(_) => self.masks_on_grid(options, context)?,
            None => {
                let rules = self.chosen(&options.place);
                self.masks(&rules, Some(&pixels), || self.mask_image(options, context), context)?
            }
        };
        Ok((pixels, masks))
    }

    /// Reads one mask for all bands into host memory, like rasterio's `dataset_mask`: the mask image or alpha if they
    /// define validity, else 255 where any band is valid.
    pub fn read_mask_of_all(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let by_image = self.band_masks(&options.place).first() == Some(&BandMask::Image);
        if options.place.onto.is_some() || by_image {
            return self.mask_image(options, context);
        }
        let place = Place { bands: None, ..options.place.clone() };
        let masks = self.read_masks(&options.clone().place(place), context)?.into_raster()?;
        let (mut one, plane) = (masks.pixels, masks.rows as usize * masks.columns as usize);
        let (first, others) = one.split_at_mut_checked(plane).ok_or_else(too_large)?;
        for band in others.chunks_exact(plane.max(1)) {
            first.iter_mut().zip(band).for_each(|(all, band)| *all = (*all).max(*band));
        }
        one.truncate(plane);
        let raster = Raster { bands: 1, pixels: one, ..masks };
        Ok(Pixels::of_raster(raster, Report::default(), Vec::new()))
    }

    /// Adds the masks of its bands to a stored window of a batch: (band, row, column), 255 for valid samples, 0 for
    /// missing ones, and for pixels whose centre lies outside the image. Mask images and alpha are resampled like the
    /// pixels: a pixel is missing if nothing under it is valid, and otherwise computed from the valid pixels.
    pub(crate) fn with_masks(
        &self,
        window: &BatchWindow,
        mut pixels: Pixels,
        options: &BatchOptions,
        context: &Context,
    ) -> Result<(Pixels, Pixels)> {
        let (place, rules) = (window.place(), self.chosen(&window.place()));
        let [across, down] = self.as_input().pixels_under(window, (pixels.columns, pixels.rows), options)?;
        let is_nearest = options.sampling == Sampling::Nearest;
        let mut image = None;
        if rules.contains(&BandMask::Image) {
            image = Some(match is_nearest {
                true => self.mask_under((&across, &down), (&place, options), context)?,
                false => self.mask_of_window((window, &rules), &mut pixels, options, context)?,
            });
        }
        let image = || image.ok_or_else(too_large);
        let mut masks = self.masks(&rules, Some(&pixels), image, context)?.into_raster()?;
        let rows = masks.pixels.chunks_exact_mut((masks.columns as usize).max(1));
        for (row, down) in rows.zip(down.iter().cycle()) {
            for (mask, across) in row.iter_mut().zip(&across) {
                *mask = if down.is_some() && across.is_some() { *mask } else { 0 };
            }
        }
        Ok((pixels, Pixels::of_raster(masks, Report::default(), Vec::new())))
    }

    /// Returns the mask of the image under a window that is resampled by nearest: the mask's own pixels.
    fn mask_under(
        &self,
        (across, down): (&[Option<u32>], &[Option<u32>]),
        (place, options): (&Place, &BatchOptions),
        context: &Context,
    ) -> Result<Pixels> {
        let extent = |axis: &[Option<u32>]| {
            let (first, last) = (axis.iter().flatten().min()?, axis.iter().flatten().max()?);
            Some((*first, last - first + 1))
        };
        let mut picked = try_filled(0, across.len().saturating_mul(down.len()), "the masks")?;
        if let Some(((column, width), (row, height))) = extent(across).zip(extent(down)) {
            let place = place.clone().window(Window::new(column, row, width, height));
            let options = ReadOptions::new().place(place).execution(options.execution);
            let mask = self.mask_image(&options, context)?;
            let all = mask.bytes()?;
            let at = |y: Option<u32>, x: Option<u32>| {
                let place = (y? - row) as usize * width as usize + (x? - column) as usize;
                all.get(place).copied()
            };
            let places = down.iter().flat_map(|y| across.iter().map(move |x| (*y, *x)));
            picked.iter_mut().zip(places).for_each(|(to, (y, x))| *to = at(y, x).unwrap_or(0));
        }
        let shape = (u32::try_from(down.len()).ok(), u32::try_from(across.len()).ok());
        let (Some(rows), Some(columns)) = shape else { return Err(too_large()) };
        Ok(mask_of(picked, (1, rows, columns)))
    }

    /// Returns the mask of a resampled window: valid where any masked band has a value, which `pixels` receive.
    fn mask_of_window(
        &self,
        (window, rules): (&BatchWindow, &[BandMask]),
        pixels: &mut Pixels,
        options: &BatchOptions,
        context: &Context,
    ) -> Result<Pixels> {
        if let Self::Tiff(file) = self {
            file.check_mask(&window.place().of_layer(Layer::Mask))?;
        }
        let masked = BatchOptions { fill: None, ..options.clone() }.masked(true);
        let masked = read_batch(&[self], std::slice::from_ref(window), &masked, context)?;
        let (from, to) = (masked.data_type, pixels.data_type);
        let plane = masked.rows as usize * masked.columns as usize;
        let mut mask = try_filled(0, plane, "the masks")?;
        let Memory::Host(own) = &mut pixels.memory else { return Err(too_large()) };
        let bands = masked.bytes()?.chunks_exact(plane.saturating_mul(from.size()).max(1));
        let owns = own.chunks_exact_mut(plane.saturating_mul(to.size()).max(1));
        for ((band, own), _) in bands.zip(owns).zip(rules).filter(|(_, rule)| **rule == BandMask::Image) {
            let values = converted(band, from, to)?;
            let samples = own.chunks_exact_mut(to.size()).zip(values.chunks_exact(to.size()));
            for ((mask, value), (own, sample)) in mask.iter_mut().zip(numbers(band, from)).zip(samples) {
                if !value.is_nan() {
                    *mask = 255;
                    own.copy_from_slice(sample);
                }
            }
        }
        Ok(mask_of(mask, (1, masked.rows, masked.columns)))
    }

    /// Returns the masks of a read onto a grid.
    fn masks_on_grid(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let read = self.read(&stored(options, Layer::Pixels).masked(true), context)?;
        let Pixels { bands, rows, columns, data_type, .. } = read;
        let bytes = read.bytes()?;
        let len = bytes.len() / data_type.size().max(1);
        let _lease = context.take(len as u64, "the masks")?;
        let mut masks = try_filled(0, len, "the masks")?;
        masks.iter_mut().zip(numbers(bytes, data_type)).for_each(|(to, value)| *to = valid(value));
        Ok(Pixels { holes: read.holes.clone(), ..mask_of(masks, (bands, rows, columns)) })
    }

    /// Returns the mask image or alpha of a place.
    fn mask_image(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let options = stored(options, Layer::Mask);
        if let Self::Tiff(file) = self {
            file.check_mask(&options.place)?;
        }
        self.read(&options, context)
    }

    /// Returns the rules of the bands of a place.
    fn chosen(&self, place: &Place) -> Vec<BandMask> {
        let rules = self.band_masks(place);
        let rule = |&band: &u16| usize::from(band).checked_sub(1).and_then(|at| rules.get(at).copied());
        match &place.bands {
            None => rules,
            // The read reports a band that does not exist.
            Some(bands) => bands.iter().map(|band| rule(band).unwrap_or(BandMask::AllValid)).collect(),
        }
    }

    /// Returns the masks of bands by their rules; `image` returns the mask for [`BandMask::Image`].
    fn masks(
        &self,
        rules: &[BandMask],
        pixels: Option<&Pixels>,
        image: impl FnOnce() -> Result<Pixels>,
        context: &Context,
    ) -> Result<Pixels> {
        let layer = rules.contains(&BandMask::Image).then(image).transpose()?;
        let (rows, columns) = pixels.or(layer.as_ref()).map_or((0, 0), |found| (found.rows, found.columns));
        let plane = usize::try_from(u64::from(rows) * u64::from(columns)).map_err(|_| too_large())?;
        let len = plane.checked_mul(rules.len()).ok_or_else(too_large)?;
        let _lease = context.take(len as u64, "the masks")?;
        let mut masks = try_filled(255, len, "the masks")?;
        for (at, (mask, rule)) in masks.chunks_exact_mut(plane.max(1)).zip(rules).enumerate() {
            match (rule, &layer, pixels) {
                (BandMask::Image, Some(layer), _) => {
                    mask.iter_mut().zip(layer.bytes()?).for_each(|(to, from)| *to = *from);
                }
                (BandMask::Value(value), _, Some(pixels)) => {
                    let size = plane.saturating_mul(pixels.data_type.size());
                    let band = pixels.bytes()?.get(at.saturating_mul(size)..).unwrap_or_default();
                    hide(mask, band, *value, pixels.data_type);
                }
                _ => {}
            }
        }
        Ok(mask_of(masks, (u32::try_from(rules.len()).map_err(|_| too_large())?, rows, columns)))
    }
}

/// Wraps masks in host memory.
fn mask_of(pixels: Vec<u8>, (bands, rows, columns): (u32, u32, u32)) -> Pixels {
    let (interleave, fill) = (Interleave::BandFirst, Fill::default());
    let raster = Raster { data_type: DataType::U8, bands, rows, columns, interleave, pixels, fill };
    Pixels::of_raster(raster, Report::default(), Vec::new())
}

/// Returns the mask of a value that is NaN if missing.
fn valid(value: f64) -> u8 {
    if value.is_nan() { 0 } else { 255 }
}

fn too_large() -> Error {
    Error::Engine(EngineError::Abandoned)
}

/// Returns options that read stored samples of all bands of the place, or its mask.
fn stored(options: &ReadOptions, layer: Layer) -> ReadOptions {
    let place = match layer {
        Layer::Pixels => options.place.clone().layer(layer),
        Layer::Mask => options.place.of_layer(layer),
    };
    let layout = options.layout.interleave(Interleave::BandFirst);
    ReadOptions { place, meaning: Meaning::default(), layout, execution: options.execution }
}

/// Sets the mask of samples that equal a value to 0. A value that the type cannot hold matches none.
fn hide(mask: &mut [u8], samples: &[u8], value: NoData, data_type: DataType) {
    use DataType as D;
    fn each<const N: usize>(mask: &mut [u8], samples: &[u8], is_missing: impl Fn([u8; N]) -> bool) {
        for (valid, sample) in mask.iter_mut().zip(samples.as_chunks::<N>().0) {
            *valid = if is_missing(*sample) { 0 } else { *valid };
        }
    }
    fn equal<const N: usize>(mask: &mut [u8], samples: &[u8], value: &[u8]) {
        let Some(value) = value.first_chunk::<N>() else { return };
        each::<N>(mask, samples, |sample| sample == *value);
    }
    let Some(sample) = value.to_sample(data_type) else { return };
    match data_type {
        D::U8 | D::I8 => equal::<1>(mask, samples, &sample),
        D::U16 | D::I16 => equal::<2>(mask, samples, &sample),
        D::U32 | D::I32 => equal::<4>(mask, samples, &sample),
        D::U64 | D::I64 => equal::<8>(mask, samples, &sample),
        D::F32 => {
            let value = sample.first_chunk().map_or(f32::NAN, |bytes| f32::from_ne_bytes(*bytes));
            let is_nan = value.is_nan();
            each::<4>(mask, samples, |bytes| {
                let sample = f32::from_ne_bytes(bytes);
                (sample == value) | (is_nan & sample.is_nan())
            });
        }
        D::F64 => {
            let value = sample.first_chunk().map_or(f64::NAN, |bytes| f64::from_ne_bytes(*bytes));
            let is_nan = value.is_nan();
            each::<8>(mask, samples, |bytes| {
                let sample = f64::from_ne_bytes(bytes);
                (sample == value) | (is_nan & sample.is_nan())
            });
        }
        D::F16 | D::C64 | D::C128 => {
            let size = data_type.size();
            let nodata = sample.get(..size).unwrap_or_default();
            for (valid, sample) in mask.iter_mut().zip(samples.chunks_exact(size)) {
                *valid = if same(sample, nodata, data_type) { 0 } else { *valid };
            }
        }
    }
}

/// Returns the mask image or alpha that defines the valid pixels of a level without a nodata value.
fn beside_nodata(dataset: &Dataset, place: &Place) -> Option<MaskSource> {
    if dataset.metadata().nodata.is_some() {
        return None;
    }
    let source = |level| dataset.mask_source(&Place::new().page(place.page).level(level));
    // An overview may lack the mask of its image. The read reports a level that does not exist.
    let found = [place.level, 0].into_iter().filter_map(|level| source(level).ok());
    found.into_iter().find(|source| matches!(source, MaskSource::Image | MaskSource::Alpha(_)))
}

impl Dataset {
    /// Fails for the mask of an overview that has none although its image has one: all of it would be valid.
    pub fn check_mask(&self, place: &Place) -> Result<()> {
        let level = place.level;
        if level == 0 || place.layer != Layer::Mask {
            return Ok(());
        }
        let whole = place.clone().level(0);
        let [own, whole] = [place, &whole].map(|place| self.mask_source(place).ok());
        if own != Some(MaskSource::AllValid) || whole != Some(MaskSource::Image) {
            return Ok(());
        }
        Err(self.refuse(format!(
            "its image has a mask and its level {level} has none, so that all pixels of that would be valid: read the \
             full size, or make the overviews again with masks"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden<const N: usize>(samples: &[[u8; N]], value: NoData, data_type: DataType) -> Vec<u8> {
        let mut mask = vec![255; samples.len()];
        hide(&mut mask, samples.as_flattened(), value, data_type);
        mask
    }

    #[test]
    fn samples_that_equal_the_value_are_missing() {
        let shorts = [-5i16, 7, 0].map(i16::to_ne_bytes);
        assert_eq!(hidden(&shorts, NoData::Integer(-5), DataType::I16), [0, 255, 255]);
        assert_eq!(hidden(&shorts, NoData::Integer(70_000), DataType::I16), [255; 3]);
        let floats = [0.0f32, -0.0, f32::NAN, 1.5].map(f32::to_ne_bytes);
        assert_eq!(hidden(&floats, NoData::Float(0.0), DataType::F32), [0, 0, 255, 255]);
        assert_eq!(hidden(&floats, NoData::Float(f64::NAN), DataType::F32), [255, 255, 0, 255]);
    }
}
