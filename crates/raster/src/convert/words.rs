//! GDAL's names for options of a conversion, shared by the command line and Python.

use super::options::{Expand, Rescale, Side, SourceLevel};
use super::taps::Method;
use std::str::FromStr;
use strile_tiff::{DataType, InvalidValue};

/// GDAL's names of sample types.
const TYPES: [(&str, DataType); 13] = [
    ("Byte", DataType::U8),
    ("Int8", DataType::I8),
    ("UInt16", DataType::U16),
    ("Int16", DataType::I16),
    ("UInt32", DataType::U32),
    ("Int32", DataType::I32),
    ("UInt64", DataType::U64),
    ("Int64", DataType::I64),
    ("Float16", DataType::F16),
    ("Float32", DataType::F32),
    ("Float64", DataType::F64),
    ("CFloat32", DataType::C64),
    ("CFloat64", DataType::C128),
];

/// Returns the type with a name of GDAL (`Byte`, `Float32`) or numpy (`uint8`, `float32`), in any case.
pub fn data_type_named(name: &str) -> Result<DataType, InvalidValue> {
    let by_gdal = TYPES.iter().find(|(gdal, _)| gdal.eq_ignore_ascii_case(name)).map(|(_, found)| *found);
    let by_numpy = || DataType::ALL.into_iter().find(|found| found.name().eq_ignore_ascii_case(name));
    by_gdal.or_else(by_numpy).ok_or_else(|| {
        format!(
            "`{name}` is not a type of samples; expected one of {}",
            TYPES.map(|(gdal, _)| gdal).join(", ")
        )
        .into()
    })
}

impl FromStr for Method {
    type Err = InvalidValue;

    fn from_str(name: &str) -> Result<Self, InvalidValue> {
        Self::from_name(name).ok_or_else(|| {
            format!(
                "`{name}` is not a way to resample; expected one of {}",
                Self::ALL.map(Self::name).join(", ")
            )
            .into()
        })
    }
}

impl FromStr for Side {
    type Err = InvalidValue;

    /// Parses `300`, `50%` or `0`.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || {
            let expected = "expected pixels (300), per cent (50%), or 0 for the other side's";
            InvalidValue::from(format!("`{text}` is not a size; {expected}"))
        };
        match text.strip_suffix('%') {
            Some(share) => {
                let share = share.parse().ok().filter(|share: &f64| share.is_finite() && *share > 0.0);
                share.map(Self::Percent).ok_or_else(wrong)
            }
            None => match text.parse().map_err(|_| wrong())? {
                0 => Ok(Self::Auto),
                pixels => Ok(Self::Pixels(pixels)),
            },
        }
    }
}

impl FromStr for SourceLevel {
    type Err = InvalidValue;

    /// Parses GDAL's values: `auto`, `none` for full resolution, or the number of an overview, 0 being the largest.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Level(0)),
            number => number
                .parse::<usize>()
                .ok()
                .and_then(|overview| overview.checked_add(1))
                .map(Self::Level)
                .ok_or_else(|| {
                    format!("`{text}` is not a level; expected auto, none, or an overview from 0").into()
                }),
        }
    }
}

impl FromStr for Expand {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.to_ascii_lowercase().as_str() {
            "gray" => Ok(Self::Gray),
            "rgb" => Ok(Self::Rgb),
            "rgba" => Ok(Self::Rgba),
            _ => Err(format!("`{text}` is not a way to expand a palette; expected gray, rgb or rgba").into()),
        }
    }
}

/// A mapping as given by the user: the band, from 1, or `None` for all, and its numbers.
pub type GivenScale = (Option<u16>, Vec<f64>);

/// Combines mappings (`-scale`) and exponents (`-exponent`) by GDAL's rules: one without a band applies to all bands;
/// several without a band apply to the first, second, … band. A mapping has no numbers, one range, or two ranges.
pub fn rescales(
    scales: &[GivenScale],
    exponents: &[(Option<u16>, f64)],
) -> Result<Vec<Rescale>, InvalidValue> {
    let placed = placed(scales.iter().map(|scale| scale.0), "scale")?;
    let mut all = Vec::with_capacity(scales.len());
    for (band, (_, numbers)) in placed.into_iter().zip(scales) {
        let (from, to) = match numbers.as_slice() {
            [] => (None, None),
            &[low, high] => (Some((low, high)), None),
            &[low, high, new_low, new_high] => (Some((low, high)), Some((new_low, new_high))),
            _ => return Err(format!("a scale of {} numbers; expected 0, 2 or 4", numbers.len()).into()),
        };
        all.push(Rescale { band, from, to, exponent: None });
    }
    for (band, &(_, exponent)) in
        self::placed(exponents.iter().map(|given| given.0), "exponent")?.into_iter().zip(exponents)
    {
        let own = all.iter_mut().filter(|scale| band.is_none() || scale.band == band);
        let count = own.map(|scale| scale.exponent = Some(exponent)).count();
        if count > 0 {
            continue;
        }
        // An exponent of one band, with a mapping of all bands.
        let general = all.iter().find(|scale| scale.band.is_none()).copied();
        let general = general.ok_or_else(|| "an exponent needs a scale of the same band".to_owned())?;
        all.push(Rescale { band, exponent: Some(exponent), ..general });
    }
    Ok(all)
}

/// Returns the bands that options apply to.
fn placed(bands: impl Iterator<Item = Option<u16>>, what: &str) -> Result<Vec<Option<u16>>, String> {
    let bands: Vec<_> = bands.collect();
    let plain = bands.iter().filter(|band| band.is_none()).count();
    if plain > 0 && plain < bands.len() {
        return Err(format!("a {what} of all bands and a {what} of one band cannot be combined"));
    }
    if plain < 2 {
        let twice =
            bands.iter().enumerate().any(|(at, band)| bands.iter().take(at).any(|other| other == band));
        return if twice { Err(format!("two {what}s of one band")) } else { Ok(bands) };
    }
    Ok((1..).map(Some).take(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_gdal_s() {
        assert_eq!(data_type_named("byte"), Ok(DataType::U8));
        assert_eq!(data_type_named("float32"), Ok(DataType::F32));
        assert!(data_type_named("CInt16").unwrap_err().to_string().contains("CFloat32"));
        assert_eq!("Near".parse(), Ok(Method::Nearest));
        assert!("gauss".parse::<Method>().unwrap_err().to_string().contains("nearest, bilinear"));
        assert_eq!("50%".parse(), Ok(Side::Percent(50.0)));
        assert_eq!("0".parse(), Ok(Side::Auto));
        assert!("-5".parse::<Side>().is_err() && "0%".parse::<Side>().is_err());
        assert_eq!("NONE".parse(), Ok(SourceLevel::Level(0)));
        assert!("AUTO-1".parse::<SourceLevel>().is_err());
    }

    #[test]
    fn scales_are_for_all_bands_or_for_each() {
        let one = rescales(&[(None, vec![0.0, 10.0])], &[(None, 2.0)]).unwrap();
        assert_eq!(one, [Rescale { band: None, from: Some((0.0, 10.0)), to: None, exponent: Some(2.0) }]);
        let two = rescales(&[(None, vec![]), (None, vec![0.0, 1.0, 2.0, 3.0])], &[(Some(2), 0.5)]).unwrap();
        assert_eq!(two.iter().map(|scale| scale.band).collect::<Vec<_>>(), [Some(1), Some(2)]);
        assert_eq!(two.iter().map(|scale| scale.exponent).collect::<Vec<_>>(), [None, Some(0.5)]);
        assert!(rescales(&[(None, vec![1.0])], &[]).is_err());
        assert!(rescales(&[], &[(None, 2.0)]).unwrap_err().to_string().contains("needs a scale"));
        assert!(rescales(&[(None, vec![]), (Some(2), vec![])], &[]).is_err());
    }
}
