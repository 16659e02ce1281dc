//! The table of all names, and parsers of their values.

use super::draft::{Compress, Draft, Level, LevelName, QualityName};
use crate::convert::{TilingScheme, ZoomStrategy};
use crate::grid::{WarpSampling, sampling_named};
use crate::write::options::{BigTiff, Overviews, PredictorChoice};
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use strile_engine::Resampling;
use strile_tiff::{ByteOrder, Compression as C, ExtraSample, LercWrapper, Photometric, Planar, Predictor};

/// How an option is handled.
pub(super) enum Kind {
    /// It is applied.
    Set(fn(&mut Draft, &str) -> Result<(), String>),
    /// There is no choice. Holds the accepted values, and the reason why there are no others.
    Only(&'static [&'static str], &'static str),
    /// It is not supported. Holds the reason.
    Refused(&'static str),
}

use Kind::{Only, Refused, Set};

const NO: &[&str] = &["NO", "FALSE", "OFF", "0"];
const NO_WARP: &str = "a conversion reprojects for TILING_SCHEME alone; warp the file first";

/// Tile matrix sets.
const TILING_SCHEMES: &[(&str, Option<TilingScheme>)] =
    &[("CUSTOM", None), ("GOOGLEMAPSCOMPATIBLE", Some(TilingScheme::GoogleMapsCompatible))];
const ZOOM_STRATEGIES: &[(&str, ZoomStrategy)] =
    &[("AUTO", ZoomStrategy::Auto), ("LOWER", ZoomStrategy::Lower), ("UPPER", ZoomStrategy::Upper)];
const NO_JXL: &str = "there is no free encoder for jxl yet; use webp or jpeg2000";
const NO_TAG: &str = "strile takes the tags of the input over and adds none of this kind";

/// Names of GDAL's GTiff and COG drivers, and how they are handled.
pub(super) const TABLE: &[(&str, Kind)] = &[
    ("COMPRESS", Set(compress)),
    ("LEVEL", Set(|draft, text| level(draft, text, LevelName::Level))),
    ("ZLEVEL", Set(|draft, text| level(draft, text, LevelName::Deflate))),
    ("ZSTD_LEVEL", Set(|draft, text| level(draft, text, LevelName::Zstd))),
    ("LZMA_PRESET", Set(|draft, text| level(draft, text, LevelName::Lzma))),
    ("QUALITY", Set(|draft, text| quality(draft, text, QualityName::Quality))),
    ("JPEG_QUALITY", Set(|draft, text| quality(draft, text, QualityName::Jpeg))),
    ("WEBP_LEVEL", Set(|draft, text| quality(draft, text, QualityName::WebP))),
    ("WEBP_LOSSLESS", Set(|draft, text| put(&mut draft.webp_lossless, yes_or_no(text)))),
    ("MAX_Z_ERROR", Set(|draft, text| put(&mut draft.max_error, max_error(text)))),
    ("PREDICTOR", Set(|draft, text| put(&mut draft.predictor, one_of(text, PREDICTORS)))),
    ("TILED", Set(|draft, text| put(&mut draft.tiled, yes_or_no(text)))),
    ("BLOCKXSIZE", Set(|draft, text| put(&mut draft.block_width, side(text)))),
    ("BLOCKYSIZE", Set(|draft, text| put(&mut draft.block_height, side(text)))),
    ("BLOCKSIZE", Set(|draft, text| put(&mut draft.block_size, side(text)))),
    ("INTERLEAVE", Set(interleave)),
    ("ENDIANNESS", Set(|draft, text| put(&mut draft.byte_order, one_of(text, BYTE_ORDERS)))),
    ("SPARSE_OK", Set(|draft, text| put(&mut draft.sparse, yes_or_no(text)))),
    ("BIGTIFF", Set(|draft, text| put(&mut draft.big_tiff, one_of(text, BIG_TIFF)))),
    ("NBITS", Set(|draft, text| put(&mut draft.bits, number(text, 1..=64)))),
    ("PHOTOMETRIC", Set(|draft, text| put(&mut draft.photometric, one_of(text, PHOTOMETRICS)))),
    ("ALPHA", Set(|draft, text| put(&mut draft.alpha, one_of(text, ALPHAS)))),
    ("OVERVIEWS", Set(overviews)),
    ("OVERVIEW_COUNT", Set(|draft, text| put(&mut draft.overview_count, number(text, 0..=32)))),
    ("OVERVIEW_RESAMPLING", Set(|draft, text| put(&mut draft.overview_resampling, resampling(text)))),
    (
        "RESAMPLING",
        Set(|draft, text| {
            draft.resampling_name = Some(text.to_owned());
            put(&mut draft.resampling, resampling(text))
        }),
    ),
    ("NUM_THREADS", Set(|draft, text| put(&mut draft.threads, threads(text)))),
    (
        "OVERVIEW_COMPRESS",
        Set(|draft, text| unless_auto(text, || put(&mut draft.overview_compress, codec(text)))),
    ),
    (
        "OVERVIEW_PREDICTOR",
        Set(|draft, text| unless_auto(text, || put(&mut draft.overview_predictor, one_of(text, PREDICTORS)))),
    ),
    (
        "OVERVIEW_QUALITY",
        Set(|draft, text| unless_auto(text, || put(&mut draft.overview_quality, number(text, 1..=100)))),
    ),
    ("MAX_Z_ERROR_OVERVIEW", Set(|draft, text| put(&mut draft.overview_max_error, max_error(text)))),
    (
        "COPY_SRC_OVERVIEWS",
        Only(NO, "overviews are made from the pixels; choose OVERVIEW_COUNT or format COG"),
    ),
    ("TFW", Only(NO, "the georeference is in the file")),
    ("RPB", Only(NO, "the RPCs are in the file")),
    ("RPCTXT", Only(NO, "the RPCs are in the file")),
    ("PROFILE", Only(&["GDALGEOTIFF"], "strile writes what it knows of georeference and metadata")),
    ("PIXELTYPE", Only(&["DEFAULT"], "samples stay of the type of the input")),
    ("STREAMABLE_OUTPUT", Only(NO, "a COG streams; choose format COG")),
    ("GEOTIFF_KEYS_FLAVOR", Only(&["STANDARD"], "strile writes the keys of the standard")),
    ("GEOTIFF_VERSION", Only(&["AUTO"], "strile writes 1.0, and 1.1 where a vertical system needs it")),
    ("COLOR_TABLE_MULTIPLIER", Refused("colours of the input are written as they are")),
    ("JPEGTABLESMODE", Only(&["3"], "strile writes quantisation and Huffman tables once for all blocks")),
    ("STATISTICS", Only(&["NO", "AUTO"], "strile takes the statistics of the input over and computes none")),
    ("TILING_SCHEME", Set(|draft, text| put(&mut draft.tiling, one_of(text, TILING_SCHEMES)))),
    ("ZOOM_LEVEL", Set(|draft, text| put(&mut draft.zoom, number(text, 0..=30)))),
    ("ZOOM_LEVEL_STRATEGY", Set(|draft, text| put(&mut draft.zoom_strategy, one_of(text, ZOOM_STRATEGIES)))),
    ("ALIGNED_LEVELS", Set(|draft, text| put(&mut draft.aligned_levels, number(text, 0..=10)))),
    ("WARP_RESAMPLING", Set(|draft, text| put(&mut draft.warp_resampling, warp_resampling(text)))),
    ("TARGET_SRS", Refused(NO_WARP)),
    ("RES", Refused(NO_WARP)),
    ("EXTENT", Refused("cut with a window instead")),
    ("ADD_ALPHA", Only(NO, "nodata, alpha of the input or a mask says which pixels are missing")),
    (
        "DISCARD_LSB",
        Refused("pixels are written as they are; round them first, or use LERC with MAX_Z_ERROR"),
    ),
    ("JXL_LOSSLESS", Refused(NO_JXL)),
    ("JXL_EFFORT", Refused(NO_JXL)),
    ("JXL_DISTANCE", Refused(NO_JXL)),
    ("JXL_ALPHA_DISTANCE", Refused(NO_JXL)),
    ("SOURCE_ICC_PROFILE", Refused(NO_TAG)),
    ("SOURCE_PRIMARIES_RED", Refused(NO_TAG)),
    ("SOURCE_PRIMARIES_GREEN", Refused(NO_TAG)),
    ("SOURCE_PRIMARIES_BLUE", Refused(NO_TAG)),
    ("SOURCE_WHITEPOINT", Refused(NO_TAG)),
    ("TIFFTAG_TRANSFERFUNCTION_RED", Refused(NO_TAG)),
    ("TIFFTAG_TRANSFERFUNCTION_GREEN", Refused(NO_TAG)),
    ("TIFFTAG_TRANSFERFUNCTION_BLUE", Refused(NO_TAG)),
    ("TIFFTAG_TRANSFERRANGE_BLACK", Refused(NO_TAG)),
    ("TIFFTAG_TRANSFERRANGE_WHITE", Refused(NO_TAG)),
];

const fn plain(codec: C) -> Compress {
    Compress { codec, lerc: LercWrapper::None }
}

const fn lerc(lerc: LercWrapper) -> Compress {
    Compress { codec: C::Lerc, lerc }
}

const COMPRESSIONS: &[(&str, Compress)] = &[
    ("NONE", plain(C::None)),
    ("DEFLATE", plain(C::Deflate)),
    ("ZSTD", plain(C::Zstd)),
    ("LZW", plain(C::Lzw)),
    ("PACKBITS", plain(C::PackBits)),
    ("LZMA", plain(C::Lzma)),
    ("CCITTRLE", plain(C::CcittRle)),
    ("CCITTFAX3", plain(C::CcittGroup3)),
    ("CCITTFAX4", plain(C::CcittGroup4)),
    ("LERC", lerc(LercWrapper::None)),
    ("LERC_DEFLATE", lerc(LercWrapper::Deflate)),
    ("LERC_ZSTD", lerc(LercWrapper::Zstd)),
    ("JPEG", plain(C::Jpeg)),
    ("WEBP", plain(C::WebP)),
    ("JPEG2000", plain(C::Jpeg2000)),
    ("LZ4", plain(C::Lz4)),
];

const PREDICTORS: &[(&str, PredictorChoice)] = &[
    ("YES", PredictorChoice::Auto),
    ("NO", PredictorChoice::Fixed(Predictor::None)),
    ("1", PredictorChoice::Fixed(Predictor::None)),
    ("STANDARD", PredictorChoice::Fixed(Predictor::Horizontal)),
    ("2", PredictorChoice::Fixed(Predictor::Horizontal)),
    ("FLOATING_POINT", PredictorChoice::Fixed(Predictor::FloatingPoint)),
    ("3", PredictorChoice::Fixed(Predictor::FloatingPoint)),
];

const IS_LITTLE: bool = cfg!(target_endian = "little");

const BYTE_ORDERS: &[(&str, ByteOrder)] = &[
    ("LITTLE", ByteOrder::Little),
    ("BIG", ByteOrder::Big),
    ("NATIVE", if IS_LITTLE { ByteOrder::Little } else { ByteOrder::Big }),
    ("INVERTED", if IS_LITTLE { ByteOrder::Big } else { ByteOrder::Little }),
];

const BIG_TIFF: &[(&str, BigTiff)] = &[
    ("IF_NEEDED", BigTiff::IfNeeded),
    ("IF_SAFER", BigTiff::IfSafer),
    ("YES", BigTiff::Yes),
    ("NO", BigTiff::No),
];

const PHOTOMETRICS: &[(&str, Photometric)] = &[
    ("MINISBLACK", Photometric::MinIsBlack),
    ("MINISWHITE", Photometric::MinIsWhite),
    ("PALETTE", Photometric::Palette),
    ("RGB", Photometric::Rgb),
    ("CMYK", Photometric::Separated),
    ("YCBCR", Photometric::YCbCr),
    ("CIELAB", Photometric::CieLab),
    ("ICCLAB", Photometric::IccLab),
    ("ITULAB", Photometric::ItuLab),
];

const ALPHAS: &[(&str, ExtraSample)] = &[
    ("YES", ExtraSample::UnassociatedAlpha),
    ("NON-PREMULTIPLIED", ExtraSample::UnassociatedAlpha),
    ("PREMULTIPLIED", ExtraSample::AssociatedAlpha),
    ("NO", ExtraSample::Unspecified),
    ("UNSPECIFIED", ExtraSample::Unspecified),
];

fn put<T>(into: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *into = Some(value?);
    Ok(())
}

fn one_of<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    let values = [
        ("YES", true),
        ("NO", false),
        ("TRUE", true),
        ("FALSE", false),
        ("ON", true),
        ("OFF", false),
        ("1", true),
        ("0", false),
    ];
    one_of(text, &values).map_err(|_| "expected YES or NO".to_owned())
}

fn warp_resampling(text: &str) -> Result<WarpSampling, String> {
    sampling_named(text).map_err(|problem| problem.to_string())
}

fn number<T: FromStr + PartialOrd + Display>(text: &str, range: RangeInclusive<T>) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
}

fn side(text: &str) -> Result<u32, String> {
    number(text, 1..=u32::MAX)
}

fn max_error(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number from 0 on".to_owned())
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    if text.eq_ignore_ascii_case("ALL_CPUS") {
        return Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    }
    text.parse().map_err(|_| "expected ALL_CPUS or a number from 1 on".to_owned())
}

fn compress(draft: &mut Draft, text: &str) -> Result<(), String> {
    put(&mut draft.compress, codec(text))
}

fn codec(text: &str) -> Result<Compress, String> {
    // The engine reports why it is not written.
    match text.eq_ignore_ascii_case("JXL") {
        true => Ok(plain(C::JpegXl)),
        false => one_of(text, COMPRESSIONS),
    }
}

/// Applies a value unless it is `AUTO`, which keeps the image's own.
fn unless_auto(text: &str, set: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if text.eq_ignore_ascii_case("AUTO") { Ok(()) } else { set() }
}

/// Parses a level. The engine checks which levels its codecs have.
fn level(draft: &mut Draft, text: &str, name: LevelName) -> Result<(), String> {
    let value = text.parse().map_err(|_| "expected a whole number".to_owned())?;
    if let Some(other) = &draft.level {
        return Err(format!("the level is given as {} too", other.name.text()));
    }
    draft.level = Some(Level { name, value });
    Ok(())
}

fn quality(draft: &mut Draft, text: &str, name: QualityName) -> Result<(), String> {
    let value = number(text, 1..=100)?;
    if let Some((other, _)) = &draft.quality {
        return Err(format!("the quality is given as {} too", other.text()));
    }
    draft.quality = Some((name, value));
    Ok(())
}

/// Parses the interleaving. Planes alternate block by block in every file, which is GDAL's `TILE`. For a reader of
/// `BAND` it is the same.
fn interleave(draft: &mut Draft, text: &str) -> Result<(), String> {
    let choices = [("PIXEL", Planar::Chunky), ("BAND", Planar::Separate), ("TILE", Planar::Separate)];
    put(&mut draft.planar, one_of(text, &choices))
}

fn overviews(draft: &mut Draft, text: &str) -> Result<(), String> {
    if text.eq_ignore_ascii_case("FORCE_USE_EXISTING") {
        return Err("overviews are made from the pixels; use AUTO".to_owned());
    }
    let choices =
        [("AUTO", Overviews::Auto), ("IGNORE_EXISTING", Overviews::Auto), ("NONE", Overviews::None)];
    put(&mut draft.overviews, one_of(text, &choices))
}

fn resampling(text: &str) -> Result<Resampling, String> {
    let near = [("near", Resampling::Nearest)];
    let choices: Vec<_> = Resampling::ALL.iter().map(|&method| (method.name(), method)).collect();
    one_of(text, &near).or_else(|_| one_of(text, &choices))
}
