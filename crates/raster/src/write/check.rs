//! Detects options that contradict each other or the raster, before anything is planned. An option without effect is an
//! error, not ignored.

use super::options::WriteOptions;
use super::spec::RasterSpec;
use strile_tiff::{Compression as C, LercWrapper, Photometric};

/// Checks the options of a codec.
pub(crate) fn check_options(options: &WriteOptions) -> Result<(), String> {
    let codec = options.compression;
    let wrapped = codec == C::Lerc && options.lerc != LercWrapper::None;
    let has_level = matches!(codec, C::Deflate | C::Zstd | C::Lzma) || wrapped;
    let has_quality = matches!(codec, C::Jpeg | C::WebP | C::Jpeg2000);
    let has_lossless = matches!(codec, C::WebP | C::Jpeg2000);
    let alien = [
        ("a level", options.level.is_some() && !has_level),
        ("a quality", options.quality.is_some() && !has_quality),
        ("a choice of lossless", options.lossless.is_some() && !has_lossless),
        ("a maximum error", options.max_error != 0.0 && codec != C::Lerc),
        ("a stream around LERC", options.lerc != LercWrapper::None && codec != C::Lerc),
    ];
    match alien.iter().find(|(_, found)| *found) {
        Some((what, _)) => Err(format!("compression {} has no use for {what}; leave it out", codec.name())),
        None if options.nvjpeg2000 => check_nvjpeg2000(options),
        None => options.nvcomp_effort.map_or(Ok(()), |effort| check_nvcomp(options, effort)),
    }
}

/// Checks the use of nvJPEG2000, as far as possible without a device.
fn check_nvjpeg2000(options: &WriteOptions) -> Result<(), String> {
    if options.compression != C::Jpeg2000 {
        return Err(format!("nvJPEG2000 writes jpeg2000 alone, not {}", options.compression.name()));
    }
    let problem = "`nvjpeg2000` cannot be combined with `reproducible`: nvJPEG2000's output differs from the \
                   portable encoders'";
    match options.reproducible {
        true => Err(problem.into()),
        false => Ok(()),
    }
}

/// Checks the use of nvCOMP, as far as possible without a device.
fn check_nvcomp(options: &WriteOptions, effort: u8) -> Result<(), String> {
    let codec = options.compression;
    let most = match codec {
        C::Deflate => 5,
        C::Zstd => 0,
        _ => return Err(format!("nvCOMP does not write {} here, Deflate and ZSTD alone", codec.name())),
    };
    if effort > most {
        return Err(format!("expected an nvCOMP effort from 0 to {most} for {}, got {effort}", codec.name()));
    }
    if options.reproducible {
        let problem = "`nvcomp_effort` cannot be combined with `reproducible`: nvCOMP's output differs from \
                       the portable encoders'";
        return Err(problem.into());
    }
    match options.level {
        Some(_) => Err("nvCOMP has an effort, no level; leave the level out".into()),
        None => Ok(()),
    }
}

/// Checks the meaning of the raster's samples and its tags.
pub(crate) fn check_spec(spec: &RasterSpec) -> Result<(), String> {
    let (photometric, _) = spec.colours();
    if photometric == Photometric::YCbCr {
        return Err("pixels are given as rgb; jpeg stores them as ycbcr where that is asked for".into());
    }
    let room = spec.bands.saturating_sub(photometric.colour_samples());
    if let Some(extra) = spec.extra_samples.as_ref().filter(|extra| extra.len() > usize::from(room)) {
        let (bands, name, found) = (spec.bands, photometric.name(), extra.len());
        return Err(format!("{found} samples beyond the colours of {name}, {bands} bands have {room}"));
    }
    if let Some(nodata) = spec.metadata.nodata.filter(|nodata| nodata.for_type(spec.data_type).is_none()) {
        let (text, name) = (nodata.to_text(), spec.data_type.name());
        return Err(format!("nodata {text} cannot be stored in {name} samples; choose another value"));
    }
    match spec.extra_fields.iter().find(|(tag, _)| tag.is_of_layout()) {
        Some((tag, _)) => {
            Err(format!("{tag} is written from what the raster is; it cannot be a further tag"))
        }
        None => Ok(()),
    }
}
