//! Missing pixels of a mosaic: by its mask band, else by the nodata values of its bands, else by alpha.

use super::Vrt;
use super::expand::Which;
use crate::error::Result;
use crate::options::{Layer, Meaning, Place};
use crate::read::{Missing, Unpacking, scaling};
use strile_engine::number::reader;
use strile_engine::{Convert, Fill, Sought};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Conversion of the samples of some bands.
#[derive(Debug, Default)]
pub(super) struct Conversions {
    /// How they become floats: one for all bands, or one per band. Empty if they are unchanged.
    pub(super) unpackings: Vec<Unpacking>,
    /// The mask of the pixels, if missing ones are not given by a value.
    pub(super) mask: Option<MaskBy>,
}

/// A mask, and the bands that it applies to.
#[derive(Debug, Clone)]
pub(super) struct MaskBy {
    pub(super) which: Which,
    pub(super) missing: Missing,
    /// Indices among the bands that are read, in runs: the first, from 0, and their number.
    pub(super) runs: Vec<(u32, u32)>,
}

impl Vrt {
    /// Returns the conversion of the samples of some bands: missing pixels to NaN, scale and offset.
    pub(super) fn conversions(&self, bands: &[u16], place: &Place, meaning: &Meaning) -> Result<Conversions> {
        if let Some(onto) = &place.onto {
            return self.conversions_onto(bands, meaning, onto.warp.nodata);
        }
        if place.layer != Layer::Pixels || !meaning.is_masked() {
            return Ok(Conversions::default());
        }
        let stored = self.data_type();
        let refuse = |problem| self.refuse(problem);
        let scaled =
            if meaning.unpack { scaling(&self.metadata, bands, meaning).map_err(refuse)? } else { None };
        let mask = self.mask_by(bands);
        let sample = |value: NoData| value.to_sample(stored).map(Fill);
        // A mask band takes precedence over values.
        let value =
            |band: &u16| self.nodata(*band).filter(|value| !self.has_mask() && sample(*value).is_some());
        let values: Vec<Option<NoData>> = bands.iter().map(value).collect();
        self.converted(&values, mask, scaled, meaning)
    }

    /// Returns the conversions of bands with these nodata values, and a mask.
    fn converted(
        &self,
        values: &[Option<NoData>],
        mask: Option<MaskBy>,
        scaled: Option<(f64, f64)>,
        meaning: &Meaning,
    ) -> Result<Conversions> {
        let stored = self.data_type();
        let first = values.iter().flatten().next().map(|value| Missing::Value(*value));
        let missing = mask.as_ref().map(|mask| mask.missing).or(first).unwrap_or(Missing::None);
        let Some(all) = self.unpacking(missing, scaled, meaning)? else { return Ok(Conversions::default()) };
        let own = |value: &Option<NoData>| {
            let nodata = value.and_then(|value| value.to_sample(stored)).map(Fill);
            Unpacking { convert: Convert { nodata, ..all.convert }, ..all }
        };
        let mut unpackings: Vec<Unpacking> = values.iter().map(own).collect();
        let first = unpackings.first().map(|unpacking| unpacking.convert);
        if unpackings.iter().all(|unpacking| Some(unpacking.convert) == first) {
            unpackings.truncate(1);
        }
        Ok(Conversions { unpackings, mask })
    }

    /// Returns the conversion of all samples. Values are searched for in the mosaic's samples, not in those of its
    /// files.
    fn unpacking(
        &self,
        missing: Missing,
        scaled: Option<(f64, f64)>,
        meaning: &Meaning,
    ) -> Result<Option<Unpacking>> {
        let (stored, meaning) = (self.data_type(), Meaning { look_for: None, ..*meaning });
        match Unpacking::new(stored, missing, scaled, &meaning) {
            Ok(Some(Unpacking { in_place: true, .. })) => Err(self.refuse(format!(
                "samples of {stored} are neither masked nor scaled in a mosaic, read them as they are"
            ))),
            found => found.map_err(|problem| self.refuse(problem)),
        }
    }

    /// Returns the conversions of bands that are warped onto a grid. Missing pixels are excluded there, so their mask
    /// is always read.
    fn conversions_onto(
        &self,
        bands: &[u16],
        meaning: &Meaning,
        given: Option<NoData>,
    ) -> Result<Conversions> {
        let scaled = || match meaning.unpack {
            true => scaling(&self.metadata, bands, meaning).map_err(|problem| self.refuse(problem)),
            false => Ok(None),
        };
        let nodata = match (given, self.one_nodata(bands)) {
            (Some(given), _) => Some(given),
            (None, Ok(nodata)) => nodata,
            // Separate values become NaN. Bands without a value use the mask.
            (None, Err(_)) if meaning.is_masked() => {
                let values: Vec<Option<NoData>> = bands.iter().map(|&band| self.nodata(band)).collect();
                return self.converted(&values, self.mask_beside_values(bands), scaled()?, meaning);
            }
            (None, Err(error)) => return Err(error),
        };
        let alpha = || self.alpha().map(|alpha| (Which::Band(alpha), Missing::Alpha(alpha)));
        let which = match nodata {
            Some(_) => None,
            None if self.has_mask() => Some((Which::Mask, Missing::Image)),
            None => alpha(),
        };
        let all = (0, number(bands.len()));
        let mask = which.map(|(which, missing)| MaskBy { which, missing, runs: vec![all] });
        let missing = nodata.map_or(Missing::None, Missing::Value);
        let missing = mask.as_ref().map_or(missing, |mask| mask.missing);
        let unpacking = match meaning.is_masked() {
            true => self.unpacking(missing, scaled()?, meaning)?,
            false => None,
        };
        Ok(Conversions { unpackings: unpacking.into_iter().collect(), mask })
    }

    /// Returns the mask of some bands. Alpha masks the bands without a nodata value.
    fn mask_by(&self, bands: &[u16]) -> Option<MaskBy> {
        match self.has_mask() {
            true => {
                let runs = vec![(0, number(bands.len()))];
                Some(MaskBy { which: Which::Mask, missing: Missing::Image, runs })
            }
            false => self.mask_beside_values(bands),
        }
    }

    /// Returns the mask of the bands that have no nodata value: the mask band, or alpha, which does not mask itself.
    fn mask_beside_values(&self, bands: &[u16]) -> Option<MaskBy> {
        let (which, missing) = match (self.has_mask(), self.alpha()) {
            (true, _) => (Which::Mask, Missing::Image),
            (false, Some(alpha)) => (Which::Band(alpha), Missing::Alpha(alpha)),
            (false, None) => return None,
        };
        let is_masked = |band: u16| which != Which::Band(band) && self.nodata(band).is_none();
        let runs = runs(bands.iter().map(|&band| is_masked(band)));
        (!runs.is_empty()).then_some(MaskBy { which, missing, runs })
    }

    /// Returns the missing samples of each band of a mask by nodata: one for all bands, or one per band. `None` if a
    /// band has no value that its samples can have, so that all pixels are valid.
    pub(super) fn missing_samples(&self) -> Option<Vec<Sought>> {
        let data_type = self.data_type();
        let of_band = |band: u16| self.nodata(band).and_then(|value| near(value, data_type));
        let mut all = (1..=self.bands()).map(of_band).collect::<Option<Vec<_>>>()?;
        let first = all.first().copied();
        if all.iter().all(|sought| Some(*sought) == first) {
            all.truncate(1);
        }
        Some(all)
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the runs of true values: the first index, and the number.
fn runs(list: impl Iterator<Item = bool>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (at, _) in (0u32..).zip(list).filter(|(_, is)| *is) {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == at => *count += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

/// Returns the samples of a type that count as a nodata value: integers that equal it, and reals close to it, as GDAL
/// compares them. `None` if there are none.
pub(super) fn near(value: NoData, data_type: DataType) -> Option<Sought> {
    let is_near = |bits: u64| {
        let bytes = bits.to_ne_bytes();
        let at = if cfg!(target_endian = "big") { 8 - real_of(data_type).size().min(8) } else { 0 };
        let (number, _) = reader(real_of(data_type))(bytes.get(at..).unwrap_or_default());
        number.is_nodata(value.as_f64())
    };
    let sample = value.to_sample(data_type);
    let exact = Sought::new(real_of(data_type), &Fill(sample?));
    let (is_real, infinity) = match real_of(data_type) {
        DataType::F16 => (true, 0x7C00),
        DataType::F32 => (true, 0x7F80_0000),
        DataType::F64 => (true, 0x7FF0_0000_0000_0000),
        _ => (false, 0),
    };
    let (sign, magnitude) = (exact.low & !(exact.mask >> 1), exact.low & (exact.mask >> 1));
    // Zeros, NaN and infinity have no neighbours; others have them on both sides, all of the same sign.
    if !is_real || exact.span > 0 || exact.low == 0 || magnitude >= infinity {
        return Some(exact);
    }
    let last = |mut near: u64, mut far: u64| {
        while near.abs_diff(far) > 1 {
            let middle = near.midpoint(far);
            if is_near(sign | middle) { near = middle } else { far = middle }
        }
        near
    };
    let (low, high) = (last(magnitude, 0), last(magnitude, infinity));
    Some(Sought { low: sign | low, span: high - low, ..exact })
}

/// Returns the type of the numbers that are compared: for complex samples, that of the real part.
fn real_of(data_type: DataType) -> DataType {
    match data_type {
        DataType::C64 => DataType::F32,
        DataType::C128 => DataType::F64,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_engine::number::Number;

    #[test]
    fn runs_are_where_a_list_is_true() {
        let of = |text: &str| runs(text.bytes().map(|byte| byte == b'x'));
        assert_eq!(of("xx.x..xxx"), [(0, 2), (3, 1), (6, 3)]);
        assert_eq!((of(""), of("...")), (vec![], vec![]));
    }

    /// Compared with GDAL's rule, sample by sample, at both ends of the range and around them.
    #[test]
    fn reals_near_nodata_are_a_range_of_bits() {
        let finds = |sought: Sought, bits: u64| (bits & sought.mask).wrapping_sub(sought.low) <= sought.span;
        for value in [-9999.0, 1.5, -3.4e38, f64::from(f32::MAX), 1e-40, 1e30, 0.0, f64::NAN, f64::INFINITY] {
            let sought = near(NoData::Float(value), DataType::F32).unwrap();
            let around =
                |bits: u32| (0..40).flat_map(move |by| [bits.wrapping_sub(by), bits.wrapping_add(by)]);
            #[expect(clippy::cast_possible_truncation, reason = "bits of 32")]
            let ends =
                [sought.low as u32, (sought.low + sought.span) as u32, 0, 1 << 31, f32::INFINITY.to_bits()];
            for bits in ends.into_iter().flat_map(around) {
                let wanted = Number::Single(f32::from_bits(bits)).is_nodata(value);
                assert_eq!(finds(sought, bits.into()), wanted, "{value} {bits:x}");
            }
        }
        for value in [-9999.0f64, 1e-300, 2.5] {
            let sought = near(NoData::Float(value), DataType::F64).unwrap();
            for bits in [sought.low, sought.low + sought.span] {
                for bits in [bits - 1, bits, bits + 1] {
                    let wanted = Number::Double(f64::from_bits(bits)).is_nodata(value);
                    assert_eq!(finds(sought, bits), wanted, "{value} {bits:x}");
                }
            }
        }
        assert_eq!(near(NoData::Float(0.5), DataType::U8), None);
        assert_eq!(near(NoData::Integer(7), DataType::U8).map(|sought| sought.span), Some(0));
    }
}
