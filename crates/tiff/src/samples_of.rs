//! Number and type of the samples of a pixel, from a directory.

use crate::directory::Directory;
use crate::{SampleFormat, SampleType, Tag, TiffError, Warning, Warnings};

/// The samples of a pixel.
pub(crate) struct Samples {
    pub(crate) count: u16,
    pub(crate) sample: SampleType,
    pub(crate) mixed_bits: Option<Vec<u16>>,
}

pub(crate) fn samples_of(directory: &Directory, warnings: &mut Warnings) -> Result<Samples, TiffError> {
    let bits_place = directory.place(Tag::BitsPerSample);
    let stated_bits = directory.integers(Tag::BitsPerSample)?.unwrap_or_else(|| vec![1]);
    let count = match directory.integer(Tag::SamplesPerPixel)? {
        Some(count) => count,
        None => {
            let count = stated_bits.len().max(1) as u64;
            if count > 1 {
                let message = format!("missing, taken as {count} from the number of BitsPerSample");
                let place = directory.place(Tag::SamplesPerPixel);
                warnings.push(Warning::new("samples-per-pixel-missing", place, message));
            }
            count
        }
    };
    let count = match u16::try_from(count) {
        Ok(0) => {
            let place = directory.place(Tag::SamplesPerPixel);
            return Err(TiffError::invalid(place, "expected at least 1, got 0"));
        }
        Ok(count) => count,
        Err(_) => {
            let place = directory.place(Tag::SamplesPerPixel);
            return Err(TiffError::Limit { place, what: "number of samples", found: count, limit: 65_535 });
        }
    };
    let bits = for_each_sample(&stated_bits, count, &bits_place, "BitsPerSample", warnings)?;
    let formats = directory.integers(Tag::SampleFormat)?.unwrap_or_else(|| vec![1]);
    let place = directory.place(Tag::SampleFormat);
    let formats = for_each_sample(&formats, count, &place, "SampleFormat", warnings)?;
    let format = formats.first().copied().unwrap_or(1);
    if let Some(other) = formats.iter().find(|&&other| other != format) {
        return Err(TiffError::unsupported(place, format!("mixing sample formats {format} and {other}")));
    }
    let format = match format {
        1 | 4 => SampleFormat::Uint,
        2 => SampleFormat::Int,
        3 => SampleFormat::Float,
        5 => SampleFormat::ComplexInt,
        6 => SampleFormat::ComplexFloat,
        other => {
            warnings.push(Warning::new(
                "bad-sample-format",
                place,
                format!("{other} taken as 1, unsigned integer"),
            ));
            SampleFormat::Uint
        }
    };
    let widest = bits.iter().copied().max().unwrap_or(1);
    let sample = SampleType { format, bits: widest };
    if bits.contains(&0) || sample.data_type().is_none() {
        return Err(TiffError::unsupported(bits_place, sample.to_string()));
    }
    let mixed = bits.iter().any(|&b| b != widest);
    if mixed && format != SampleFormat::Uint {
        return Err(TiffError::unsupported(
            bits_place,
            format!("samples of mixed depths {:?} that are not unsigned", bits.get(..16).unwrap_or(&bits)),
        ));
    }
    Ok(Samples { count, sample, mixed_bits: mixed.then_some(bits) })
}

/// Returns one value per sample: the first `count` of those stated. A single one applies to all.
fn for_each_sample(
    stated: &[u64],
    count: u16,
    place: &str,
    what: &str,
    warnings: &mut Warnings,
) -> Result<Vec<u16>, TiffError> {
    let short = |&value: &u64| {
        u16::try_from(value)
            .map_err(|_| TiffError::invalid(place, format!("expected at most 65535, got {value}")))
    };
    match stated {
        [] => Err(TiffError::invalid(place, "expected at least one value, got none")),
        [one] => Ok(vec![short(one)?; usize::from(count)]),
        many if many.len() >= usize::from(count) => {
            if many.len() > usize::from(count) {
                let message =
                    format!("{} values of {what} for {count} samples, the rest ignored", many.len());
                warnings.push(Warning::new("extra-sample-values", place, message));
            }
            many.iter().take(usize::from(count)).map(short).collect()
        }
        fewer => {
            let equal = fewer.windows(2).all(|pair| pair.first() == pair.last());
            if !equal {
                let problem = format!("expected {count} values, got {} that differ", fewer.len());
                return Err(TiffError::invalid(place, problem));
            }
            let message =
                format!("{} values of {what} for {count} samples, all equal and taken for all", fewer.len());
            warnings.push(Warning::new("few-sample-values", place, message));
            Ok(vec![fewer.first().map(short).transpose()?.unwrap_or(1); usize::from(count)])
        }
    }
}
