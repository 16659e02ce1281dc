//! The meaning of samples, and codec parameters that depend on it.

use crate::directory::Directory;
use crate::image::Planar;
use crate::{
    Compression, ExtraSample, LercWrapper, Photometric, SampleType, Tag, TiffError, Warning, Warnings, YCbCr,
};

/// Meaning of samples, and codec parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Colour {
    /// Tag PhotometricInterpretation.
    pub photometric: Photometric,
    /// Samples beyond the colours.
    pub extra_samples: Vec<ExtraSample>,
    /// Red, green and blue for each index of a palette.
    pub colour_map: Option<Vec<[u16; 3]>>,
    /// Present if pixels are interleaved 8-bit YCbCr. Such images are returned as RGB.
    pub ycbcr: Option<YCbCr>,
    /// Tag JPEGTables.
    pub jpeg_tables: Option<Vec<u8>>,
    /// The stream around LERC blobs.
    pub lerc: LercWrapper,
    /// Tag T4Options or T6Options.
    pub fax_options: u32,
}

pub(crate) fn colour_of(
    directory: &Directory,
    samples: u16,
    sample: SampleType,
    planar: Planar,
    compression: Compression,
    warnings: &mut Warnings,
) -> Result<Colour, TiffError> {
    let photometric = photometric_of(directory, samples, warnings)?;
    let interleaved = planar == Planar::Chunky && samples == 3 && sample.bits == 8;
    let ycbcr = match photometric {
        Photometric::YCbCr if interleaved => Some(ycbcr_of(directory, warnings)?),
        _ => None,
    };
    let options_tag = match compression {
        Compression::CcittGroup4 => Tag::T6Options,
        _ => Tag::T4Options,
    };
    Ok(Colour {
        photometric,
        extra_samples: extra_samples_of(directory, samples, photometric, warnings)?,
        colour_map: colour_map_of(directory, sample, photometric, warnings),
        ycbcr,
        jpeg_tables: directory.bytes(Tag::JPEGTables).map(<[u8]>::to_vec),
        lerc: lerc_of(directory, compression)?,
        fax_options: u32::try_from(directory.integer(options_tag)?.unwrap_or(0)).unwrap_or(0),
    })
}

fn photometric_of(
    directory: &Directory,
    samples: u16,
    warnings: &mut Warnings,
) -> Result<Photometric, TiffError> {
    let tag = Tag::PhotometricInterpretation;
    if directory.get(tag).is_some() {
        return Ok(Photometric::from_code(directory.short(tag, 1)?));
    }
    let taken = if samples == 3 { Photometric::Rgb } else { Photometric::MinIsBlack };
    let message = format!("missing, taken as {}", taken.name());
    warnings.push(Warning::new("photometric-missing", directory.place(tag), message));
    Ok(taken)
}

fn extra_samples_of(
    directory: &Directory,
    samples: u16,
    photometric: Photometric,
    warnings: &mut Warnings,
) -> Result<Vec<ExtraSample>, TiffError> {
    let stated = directory.integers(Tag::ExtraSamples)?.unwrap_or_default();
    let expected = usize::from(samples.saturating_sub(photometric.colour_samples()));
    if stated.len() > usize::from(samples) {
        let message = format!("{} values for {samples} samples", stated.len());
        warnings.push(Warning::new("extra-samples", directory.place(Tag::ExtraSamples), message));
    }
    let mut extra: Vec<_> = stated
        .iter()
        .take(usize::from(samples))
        .map(|code| match code {
            1 => ExtraSample::AssociatedAlpha,
            2 => ExtraSample::UnassociatedAlpha,
            _ => ExtraSample::Unspecified,
        })
        .collect();
    while extra.len() < expected {
        extra.push(ExtraSample::Unspecified);
    }
    Ok(extra)
}

fn colour_map_of(
    directory: &Directory,
    sample: SampleType,
    photometric: Photometric,
    warnings: &mut Warnings,
) -> Option<Vec<[u16; 3]>> {
    let place = directory.place(Tag::ColorMap);
    let values = match directory.integers(Tag::ColorMap) {
        Ok(Some(values)) => values,
        Ok(None) if photometric == Photometric::Palette => {
            warnings.push(Warning::new("colour-map-missing", place, "missing from a palette image"));
            return None;
        }
        Ok(None) => return None,
        Err(error) => {
            warnings.push(Warning::new("bad-colour-map", place, format!("ignored: {error}")));
            return None;
        }
    };
    let entries = 1usize.checked_shl(u32::from(sample.bits.min(16))).unwrap_or(0);
    let third = values.len() / 3;
    if third == 0 || third > entries || values.len() % 3 != 0 {
        let message = format!("ignored: expected {} values, got {}", entries * 3, values.len());
        warnings.push(Warning::new("bad-colour-map", place, message));
        return None;
    }
    let short = |i: usize| values.get(i).and_then(|&v| u16::try_from(v).ok());
    (0..third).map(|i| Some([short(i)?, short(i + third)?, short(i + 2 * third)?])).collect()
}

fn ycbcr_of(directory: &Directory, warnings: &mut Warnings) -> Result<YCbCr, TiffError> {
    let mut ycbcr = YCbCr::default();
    if let Some(stated) = directory.integers(Tag::YCbCrSubSampling)? {
        let factor = |v: Option<&u64>| match v {
            Some(1) => Some(1),
            Some(2) => Some(2),
            Some(4) => Some(4),
            _ => None,
        };
        match (factor(stated.first()), factor(stated.get(1))) {
            (Some(h), Some(v)) => ycbcr.subsampling = (h, v),
            _ => {
                let shown = stated.get(..2).unwrap_or(&stated);
                let problem = format!("expected two of 1, 2 or 4, got {shown:?}");
                return Err(TiffError::invalid(directory.place(Tag::YCbCrSubSampling), problem));
            }
        }
    }
    let mut floats = |tag: Tag, into: &mut [f32]| -> Result<(), TiffError> {
        let Some(stated) = directory.floats(tag)? else { return Ok(()) };
        if stated.len() < into.len() || stated.iter().any(|v| !v.is_finite()) {
            let shown = stated.get(..into.len()).unwrap_or(&stated);
            let message = format!("ignored: expected {} finite numbers, got {shown:?}", into.len());
            warnings.push(Warning::new("bad-ycbcr", directory.place(tag), message));
            return Ok(());
        }
        for (to, from) in into.iter_mut().zip(stated) {
            #[expect(clippy::cast_possible_truncation, reason = "libtiff computes with single precision too")]
            let single = from as f32;
            *to = single;
        }
        Ok(())
    };
    floats(Tag::YCbCrCoefficients, &mut ycbcr.coefficients)?;
    floats(Tag::ReferenceBlackWhite, &mut ycbcr.reference_black_white)?;
    Ok(ycbcr)
}

fn lerc_of(directory: &Directory, compression: Compression) -> Result<LercWrapper, TiffError> {
    if compression != Compression::Lerc {
        return Ok(LercWrapper::None);
    }
    let stated = directory.integers(Tag::LercParameters)?.unwrap_or_default();
    match stated.get(1) {
        None | Some(0) => Ok(LercWrapper::None),
        Some(1) => Ok(LercWrapper::Deflate),
        Some(2) => Ok(LercWrapper::Zstd),
        Some(other) => {
            let place = directory.place(Tag::LercParameters);
            Err(TiffError::unsupported(place, format!("additional compression {other} around LERC")))
        }
    }
}
