//! Which pixels of a mosaic are missing: by its mask band, else by the nodata values of its bands, else by alpha.

use super::Vrt;
use super::expand::Which;
use crate::error::Result;
use crate::options::{Layer, Meaning, Place};
use crate::read::{Missing, Unpacking, scaling};
use strile_engine::{Convert, Fill};
use strile_tiff::gdal::NoData;

/// What becomes of the samples of some bands.
#[derive(Debug, Default)]
pub(super) struct Conversions {
    /// How they become floats: one for all bands, or one for each; empty if they stay as they are.
    pub(super) unpackings: Vec<Unpacking>,
    /// The mask of the pixels, if a value does not say which are missing.
    pub(super) mask: Option<MaskBy>,
}

/// A mask, and the bands that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaskBy {
    pub(super) which: Which,
    pub(super) missing: Missing,
    /// The first of the bands that are read, from 0, and how many.
    pub(super) bands: (u32, u32),
    /// One of the bands that are read that stays as it is, from 0: the alpha itself.
    pub(super) spared: Option<u32>,
}

impl Vrt {
    /// What becomes of the samples of some bands: missing pixels to NaN, scale and offset.
    pub(super) fn conversions(&self, bands: &[u16], place: &Place, meaning: &Meaning) -> Result<Conversions> {
        if let Some(onto) = &place.onto {
            return self.conversions_onto(bands, meaning, onto.warp.nodata);
        }
        if place.layer != Layer::Pixels || !meaning.is_masked() {
            return Ok(Conversions::default());
        }
        let stored = self.data_type();
        let refuse = |problem| self.refuse(problem);
        let scaled = if meaning.unpack { scaling(&self.metadata, bands).map_err(refuse)? } else { None };
        let mask = self.mask_by(bands)?;
        let sample = |value: NoData| value.to_sample(stored).map(Fill);
        // Values do not count beside a mask band.
        let value =
            |band: &u16| self.nodata(*band).filter(|value| !self.has_mask() && sample(*value).is_some());
        let values: Vec<Option<NoData>> = bands.iter().map(value).collect();
        let first = values.iter().flatten().next().map(|value| Missing::Value(*value));
        let missing = mask.map(|mask| mask.missing).or(first).unwrap_or(Missing::None);
        let Some(all) = Unpacking::new(stored, missing, scaled, meaning.float_type).map_err(refuse)? else {
            return Ok(Conversions::default());
        };
        let own = |value: &Option<NoData>| {
            let convert = Convert { nodata: value.and_then(sample), ..all.convert };
            Unpacking { convert, ..all }
        };
        let mut unpackings: Vec<Unpacking> = values.iter().map(own).collect();
        let first = unpackings.first().map(|unpacking| unpacking.convert);
        if unpackings.iter().all(|unpacking| Some(unpacking.convert) == first) {
            unpackings.truncate(1);
        }
        Ok(Conversions { unpackings, mask })
    }

    /// The same of bands that are put onto a grid. Missing pixels do not count there, so that their mask is read in any case.
    fn conversions_onto(
        &self,
        bands: &[u16],
        meaning: &Meaning,
        given: Option<NoData>,
    ) -> Result<Conversions> {
        let nodata = given.map_or_else(|| self.one_nodata(bands), |given| Ok(Some(given)))?;
        let alpha = || self.alpha().map(|alpha| (Which::Band(alpha), Missing::Alpha(alpha)));
        let which = match nodata {
            Some(_) => None,
            None if self.has_mask() => Some((Which::Mask, Missing::Image)),
            None => alpha(),
        };
        let all = (0, u32::try_from(bands.len()).unwrap_or(u32::MAX));
        let mask = which.map(|(which, missing)| MaskBy { which, missing, bands: all, spared: None });
        let missing = nodata.map_or(Missing::None, Missing::Value);
        let missing = mask.map_or(missing, |mask| mask.missing);
        let refuse = |problem| self.refuse(problem);
        let unpacking = match meaning.is_masked() {
            true => {
                let scaled =
                    if meaning.unpack { scaling(&self.metadata, bands).map_err(refuse)? } else { None };
                Unpacking::new(self.data_type(), missing, scaled, meaning.float_type).map_err(refuse)?
            }
            false => None,
        };
        Ok(Conversions { unpackings: unpacking.into_iter().collect(), mask })
    }

    /// The mask of some bands. Alpha is that of bands without a nodata value.
    fn mask_by(&self, bands: &[u16]) -> Result<Option<MaskBy>> {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        if self.has_mask() {
            let bands = (0, number(bands.len()));
            return Ok(Some(MaskBy { which: Which::Mask, missing: Missing::Image, bands, spared: None }));
        }
        let Some(alpha) = self.alpha() else { return Ok(None) };
        let by_alpha = |band: &u16| *band != alpha && self.nodata(*band).is_none();
        let ends = bands.iter().position(by_alpha).zip(bands.iter().rposition(by_alpha));
        let Some((first, last)) = ends else { return Ok(None) };
        let run = bands.get(first..=last).unwrap_or_default();
        let mut others = run.iter().enumerate().filter(|(_, band)| !by_alpha(band));
        let spared = match (others.next(), others.next()) {
            (None, _) => None,
            (Some((at, band)), None) if *band == alpha => Some(number(first + at)),
            _ => {
                let problem = "some of its bands have a nodata value and some are masked by alpha: read them one at a time";
                return Err(self.refuse(problem.into()));
            }
        };
        let (which, bands) = (Which::Band(alpha), (number(first), number(run.len())));
        Ok(Some(MaskBy { which, missing: Missing::Alpha(alpha), bands, spared }))
    }
}
