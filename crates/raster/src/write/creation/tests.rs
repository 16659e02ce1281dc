//! One test per option, and the list of GDAL's names.

use super::*;
use crate::write::options::{BigTiff, BlockChoice, Overviews, PredictorChoice};
use strile_engine::Resampling;
use strile_tiff::{ByteOrder, Compression as C, ExtraSample, LercWrapper, Photometric, Planar, Predictor};

fn try_set(format: Format, text: &str) -> Result<(ConvertOptions, CreationNotes), InvalidValue> {
    let mut options = ConvertOptions::default();
    options.write.format = format;
    let given: Vec<_> = text.split_whitespace().map(|part| part.split_once('=').unwrap()).collect();
    options.set_creation_options(&given).map(|notes| (options, notes))
}

fn set(text: &str) -> ConvertOptions {
    try_set(Format::GeoTiff, text).unwrap_or_else(|problem| panic!("{text}: {problem}")).0
}

fn refusal(text: &str) -> String {
    try_set(Format::GeoTiff, text).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn nothing_given_changes_nothing() {
    let (options, notes) = try_set(Format::Cog, "").unwrap();
    let mut expected = ConvertOptions::default();
    expected.write.format = Format::Cog;
    assert_eq!(options.write, expected.write);
    assert_eq!(notes, CreationNotes::default());
}

#[test]
fn compress() {
    for (name, codec) in [
        ("NONE", C::None),
        ("DEFLATE", C::Deflate),
        ("zstd", C::Zstd),
        ("Lzw", C::Lzw),
        ("PACKBITS", C::PackBits),
        ("LZMA", C::Lzma),
        ("CCITTRLE", C::CcittRle),
        ("CCITTFAX3", C::CcittGroup3),
        ("CCITTFAX4", C::CcittGroup4),
        ("JPEG", C::Jpeg),
        ("WEBP", C::WebP),
        ("JPEG2000", C::Jpeg2000),
        // Refused by the engine, which gives the reason.
        ("JXL", C::JpegXl),
    ] {
        assert_eq!(set(&format!("compress={name}")).write.compression, codec, "{name}");
    }
    for (name, around) in [
        ("LERC", LercWrapper::None),
        ("LERC_DEFLATE", LercWrapper::Deflate),
        ("LERC_ZSTD", LercWrapper::Zstd),
    ] {
        let write = set(&format!("COMPRESS={name}")).write;
        assert_eq!((write.compression, write.lerc), (C::Lerc, around), "{name}");
    }
    assert!(refusal("COMPRESS=GZIP").starts_with("COMPRESS=GZIP: expected one of NONE, DEFLATE, ZSTD, LZW"));
}

#[test]
fn lz4_comes_with_a_warning() {
    let (options, notes) = try_set(Format::GeoTiff, "COMPRESS=LZ4").unwrap();
    assert_eq!(options.write.compression, C::Lz4);
    assert_eq!(notes.warnings.len(), 1);
    assert!(notes.warnings[0].contains("few tools read lz4"));
}

#[test]
fn level_under_its_four_names() {
    for (text, level) in [
        ("COMPRESS=ZSTD LEVEL=19", 19),
        ("ZLEVEL=9 COMPRESS=DEFLATE", 9),
        ("ZLEVEL=12 COMPRESS=LERC_DEFLATE", 12),
        ("ZSTD_LEVEL=1 COMPRESS=ZSTD", 1),
        ("ZSTD_LEVEL=3 COMPRESS=LERC_ZSTD", 3),
        ("LZMA_PRESET=0 COMPRESS=LZMA", 0),
        // The default codec is Deflate.
        ("ZLEVEL=1", 1),
    ] {
        assert_eq!(set(text).write.level, Some(level), "{text}");
    }
    assert_eq!(refusal("COMPRESS=ZSTD ZLEVEL=9"), "ZLEVEL does not apply to zstd; leave it out");
    assert_eq!(refusal("COMPRESS=LERC LEVEL=9"), "LEVEL does not apply to lerc; leave it out");
    assert_eq!(
        refusal("COMPRESS=LERC_ZSTD LZMA_PRESET=9"),
        "LZMA_PRESET does not apply to lerc_zstd; leave it out"
    );
    assert_eq!(refusal("LEVEL=1 ZLEVEL=9"), "ZLEVEL=9: the level is given as LEVEL too");
    assert_eq!(refusal("LEVEL=high"), "LEVEL=high: expected a whole number");
}

#[test]
fn quality_under_its_three_names() {
    for text in ["COMPRESS=JPEG QUALITY=90", "COMPRESS=JPEG JPEG_QUALITY=90", "COMPRESS=WEBP WEBP_LEVEL=90"] {
        assert_eq!(set(text).write.quality, Some(90), "{text}");
    }
    let lossy = set("COMPRESS=JPEG2000 QUALITY=40").write;
    assert_eq!((lossy.quality, lossy.lossless), (Some(40), None));
    assert_eq!(refusal("COMPRESS=WEBP JPEG_QUALITY=9"), "JPEG_QUALITY does not apply to webp; leave it out");
    assert_eq!(refusal("QUALITY=9"), "QUALITY does not apply to deflate; leave it out");
    assert!(refusal("COMPRESS=JPEG QUALITY=101").ends_with("expected a whole number from 1 to 100"));
}

/// WebP is lossy by default, as in GDAL; its COG driver treats quality 100 as lossless.
#[test]
fn webp_lossless() {
    let lossless = |text: &str| set(text).write.lossless;
    assert_eq!(lossless("COMPRESS=WEBP"), Some(false));
    assert_eq!(lossless("COMPRESS=WEBP WEBP_LOSSLESS=YES"), Some(true));
    assert_eq!(lossless("COMPRESS=WEBP WEBP_LOSSLESS=false"), Some(false));
    assert_eq!(lossless("COMPRESS=WEBP QUALITY=100"), Some(true));
    assert_eq!(lossless("COMPRESS=WEBP QUALITY=99"), Some(false));
    assert!(refusal("COMPRESS=WEBP WEBP_LOSSLESS=YES WEBP_LEVEL=50").contains("leave one of the two out"));
    assert!(refusal("WEBP_LOSSLESS=YES").contains("does not apply to deflate"));
    assert!(refusal("COMPRESS=WEBP WEBP_LOSSLESS=MAYBE").ends_with("expected YES or NO"));
}

#[test]
fn max_z_error() {
    assert!((set("COMPRESS=LERC MAX_Z_ERROR=0.25").write.max_error - 0.25).abs() < f64::EPSILON);
    assert!(refusal("MAX_Z_ERROR=1").contains("does not apply to deflate"));
    for wrong in ["-1", "NaN", "inf", "x"] {
        assert!(refusal(&format!("COMPRESS=LERC MAX_Z_ERROR={wrong}")).ends_with("a number from 0 on"));
    }
}

#[test]
fn predictor() {
    let fixed = PredictorChoice::Fixed;
    for (value, expected) in [
        ("1", fixed(Predictor::None)),
        ("NO", fixed(Predictor::None)),
        ("2", fixed(Predictor::Horizontal)),
        ("STANDARD", fixed(Predictor::Horizontal)),
        ("3", fixed(Predictor::FloatingPoint)),
        ("FLOATING_POINT", fixed(Predictor::FloatingPoint)),
        ("YES", PredictorChoice::Auto),
    ] {
        assert_eq!(set(&format!("PREDICTOR={value}")).write.predictor, expected, "{value}");
    }
    assert!(refusal("PREDICTOR=4").contains("FLOATING_POINT"));
}

#[test]
fn tiled_and_sizes_of_blocks() {
    let tiles = |width, height| BlockChoice::Tiles { width, height };
    for (text, expected) in [
        ("TILED=YES", BlockChoice::Auto),
        ("TILED=NO", BlockChoice::Strips { rows: 0 }),
        ("TILED=NO BLOCKYSIZE=8", BlockChoice::Strips { rows: 8 }),
        ("BLOCKYSIZE=8", BlockChoice::Strips { rows: 8 }),
        ("TILED=YES BLOCKYSIZE=128", tiles(512, 128)),
        ("TILED=YES BLOCKXSIZE=256 BLOCKYSIZE=128", tiles(256, 128)),
        ("BLOCKXSIZE=256 BLOCKYSIZE=128", tiles(256, 128)),
        ("BLOCKXSIZE=256", tiles(256, 512)),
        ("BLOCKSIZE=128", tiles(128, 128)),
        ("BLOCKSIZE=128 BLOCKXSIZE=128", tiles(128, 128)),
    ] {
        assert_eq!(set(text).write.blocks, expected, "{text}");
    }
    let (cog, _) = try_set(Format::Cog, "BLOCKYSIZE=128").unwrap();
    assert_eq!(cog.write.blocks, tiles(512, 128));
    assert!(refusal("TILED=NO BLOCKXSIZE=256").contains("strips are as wide as the image"));
    assert!(refusal("TILED=NO BLOCKSIZE=256").contains("BLOCKSIZE is for tiles"));
    assert!(refusal("BLOCKSIZE=256 BLOCKYSIZE=128").contains("both sides"));
    assert!(refusal("BLOCKSIZE=0").contains("from 1 to"));
}

#[test]
fn interleave() {
    assert_eq!(set("INTERLEAVE=PIXEL").write.planar, Planar::Chunky);
    assert_eq!(set("INTERLEAVE=band").write.planar, Planar::Separate);
    assert_eq!(set("INTERLEAVE=TILE").write.planar, Planar::Separate);
    assert_eq!(refusal("INTERLEAVE=LINE"), "INTERLEAVE=LINE: expected one of PIXEL, BAND, TILE");
}

#[test]
fn endianness() {
    assert_eq!(set("ENDIANNESS=BIG").write.byte_order, ByteOrder::Big);
    assert_eq!(set("ENDIANNESS=LITTLE").write.byte_order, ByteOrder::Little);
    let (native, inverted) = (set("ENDIANNESS=NATIVE"), set("ENDIANNESS=INVERTED"));
    assert_ne!(native.write.byte_order, inverted.write.byte_order);
    let little = native.write.byte_order == ByteOrder::Little;
    assert_eq!(little, cfg!(target_endian = "little"));
}

#[test]
fn sparse_ok() {
    assert!(set("SPARSE_OK=TRUE").write.sparse);
    assert!(!set("SPARSE_OK=NO").write.sparse);
}

#[test]
fn bigtiff() {
    for (value, expected) in [
        ("YES", BigTiff::Yes),
        ("NO", BigTiff::No),
        ("IF_NEEDED", BigTiff::IfNeeded),
        ("if_safer", BigTiff::IfSafer),
    ] {
        assert_eq!(set(&format!("BIGTIFF={value}")).write.big_tiff, expected, "{value}");
    }
}

#[test]
fn nbits() {
    assert_eq!(set("NBITS=12").write.bits, Some(12));
    assert!(refusal("NBITS=0").ends_with("expected a whole number from 1 to 64"));
}

#[test]
fn photometric() {
    assert_eq!(set("PHOTOMETRIC=MINISWHITE").photometric, Some(Photometric::MinIsWhite));
    assert_eq!(set("PHOTOMETRIC=CMYK").photometric, Some(Photometric::Separated));
    let ycbcr = set("COMPRESS=JPEG PHOTOMETRIC=YCBCR");
    assert_eq!((ycbcr.photometric, ycbcr.write.ycbcr), (Some(Photometric::Rgb), Some((2, 2))));
    let rgb = set("COMPRESS=JPEG PHOTOMETRIC=RGB");
    assert_eq!((rgb.photometric, rgb.write.ycbcr), (Some(Photometric::Rgb), None));
    assert!(refusal("PHOTOMETRIC=YCBCR").contains("is for COMPRESS=JPEG"));
}

#[test]
fn alpha() {
    for (value, expected) in [
        ("YES", ExtraSample::UnassociatedAlpha),
        ("NON-PREMULTIPLIED", ExtraSample::UnassociatedAlpha),
        ("PREMULTIPLIED", ExtraSample::AssociatedAlpha),
        ("NO", ExtraSample::Unspecified),
        ("UNSPECIFIED", ExtraSample::Unspecified),
    ] {
        assert_eq!(set(&format!("ALPHA={value}")).alpha, Some(expected), "{value}");
    }
}

#[test]
fn overviews_and_their_count() {
    assert_eq!(set("OVERVIEWS=AUTO").write.overviews, Overviews::Auto);
    assert_eq!(set("OVERVIEWS=IGNORE_EXISTING").write.overviews, Overviews::Auto);
    assert_eq!(set("OVERVIEWS=NONE").write.overviews, Overviews::None);
    assert_eq!(set("OVERVIEW_COUNT=3").write.overviews, Overviews::Count(3));
    assert_eq!(set("OVERVIEW_COUNT=0 OVERVIEWS=NONE").write.overviews, Overviews::None);
    assert!(refusal("OVERVIEWS=FORCE_USE_EXISTING").contains("made from the pixels"));
    assert!(refusal("OVERVIEWS=NONE OVERVIEW_COUNT=2").contains("contradicts"));
}

#[test]
fn resampling() {
    for method in Resampling::ALL {
        assert_eq!(set(&format!("RESAMPLING={}", method.name())).write.resampling, Some(method));
    }
    assert_eq!(set("OVERVIEW_RESAMPLING=NEAR").write.resampling, Some(Resampling::Nearest));
    assert!(refusal("RESAMPLING=CUBICSPLINE").contains("cubic, lanczos"));
    assert!(refusal("RESAMPLING=MODE OVERVIEW_RESAMPLING=RMS").contains("contradicts"));
}

#[test]
fn num_threads() {
    let threads = |text: &str| try_set(Format::Cog, text).unwrap().1.threads;
    assert_eq!(threads("NUM_THREADS=3"), NonZeroUsize::new(3));
    assert_eq!(threads("NUM_THREADS=ALL_CPUS"), std::thread::available_parallelism().ok());
    assert!(refusal("NUM_THREADS=0").contains("ALL_CPUS"));
}

#[test]
fn overviews_are_stored_as_the_image_is() {
    assert_eq!(set("OVERVIEW_COMPRESS=AUTO").write.overview_storage, Default::default());
    let storage = set("COMPRESS=ZSTD OVERVIEW_COMPRESS=JPEG OVERVIEW_QUALITY=50").write.overview_storage;
    assert_eq!(storage.compression, Some((C::Jpeg, LercWrapper::None)));
    assert_eq!(storage.quality, Some(50));
    let storage = set("COMPRESS=LERC MAX_Z_ERROR_OVERVIEW=0.5 OVERVIEW_PREDICTOR=2").write.overview_storage;
    assert_eq!(storage.max_error, Some(0.5));
    assert_eq!(storage.predictor, Some(PredictorChoice::Fixed(Predictor::Horizontal)));
}

#[test]
fn where_there_is_nothing_to_choose_the_one_value_is_accepted() {
    set("TILING_SCHEME=CUSTOM COPY_SRC_OVERVIEWS=NO PROFILE=GDALGeoTIFF STATISTICS=AUTO");
    assert!(refusal("PROFILE=BASELINE").ends_with("expected GDALGEOTIFF"));
    assert!(refusal("TARGET_SRS=EPSG:3857").ends_with("warp the file first"));
}

#[test]
fn tiles_of_a_matrix_set() {
    use crate::convert::{TilingScheme, ZoomStrategy};
    use crate::grid::WarpSampling;
    let options = set("TILING_SCHEME=GoogleMapsCompatible");
    assert_eq!(options.tiling, Some(TilingScheme::GoogleMapsCompatible.into()));
    assert_eq!(options.warp_resampling, None);
    let options = set("TILING_SCHEME=GoogleMapsCompatible ZOOM_LEVEL_STRATEGY=lower ALIGNED_LEVELS=3 \
        RESAMPLING=average WARP_RESAMPLING=bilinear OVERVIEW_RESAMPLING=mode");
    let tiling = options.tiling.unwrap();
    assert_eq!((tiling.zoom, tiling.strategy, tiling.aligned_levels), (None, ZoomStrategy::Lower, 3));
    assert_eq!(options.warp_resampling, Some(WarpSampling::Bilinear));
    assert_eq!(options.write.resampling, Some(Resampling::Mode));
    let options = set("TILING_SCHEME=GoogleMapsCompatible ZOOM_LEVEL=7 RESAMPLING=average");
    assert_eq!(
        (options.tiling.unwrap().zoom, options.warp_resampling),
        (Some(7), Some(WarpSampling::Average))
    );
    assert!(refusal("ZOOM_LEVEL=3").contains("is for TILING_SCHEME=GoogleMapsCompatible"));
    assert!(refusal("WARP_RESAMPLING=cubic").contains("is for TILING_SCHEME=GoogleMapsCompatible"));
    assert!(refusal("TILING_SCHEME=GoogleMapsCompatible ZOOM_LEVEL=31").contains("0 to 30"));
    assert!(refusal("TILING_SCHEME=LINZAntarticaMapTilegrid").contains("GOOGLEMAPSCOMPATIBLE"));
}

#[test]
fn an_option_twice_is_an_error_unless_it_says_the_same() {
    set("COMPRESS=ZSTD compress=zstd");
    assert_eq!(refusal("TILED=YES TILED=NO"), "TILED is given twice, as `YES` and as `NO`");
}

#[test]
fn an_error_changes_nothing() {
    let mut options = ConvertOptions::default();
    options.set_creation_options(&[("COMPRESS", "ZSTD"), ("ZLEVEL", "9")]).unwrap_err();
    assert_eq!(options.write, ConvertOptions::default().write);
}

#[test]
fn unknown_names_get_the_list() {
    let problem = refusal("COMPRES=ZSTD");
    assert!(
        problem.starts_with("unknown creation option `COMPRES`; expected one of ALIGNED_LEVELS, "),
        "{problem}"
    );
}

#[test]
fn profiles_of_rio_cogeo() {
    for (name, codec) in [
        ("deflate", C::Deflate),
        ("zstd", C::Zstd),
        ("LZW", C::Lzw),
        ("jpeg", C::Jpeg),
        ("webp", C::WebP),
        ("lerc", C::Lerc),
        ("lerc_deflate", C::Lerc),
        ("lerc_zstd", C::Lerc),
        ("packbits", C::PackBits),
        ("lzma", C::Lzma),
        ("raw", C::None),
    ] {
        let mut options = ConvertOptions::default();
        options.set_profile(name).unwrap();
        assert_eq!((options.write.format, options.write.compression), (Format::Cog, codec), "{name}");
        assert_eq!(options.write.blocks, BlockChoice::Tiles { width: 512, height: 512 });
    }
    let problem = ConvertOptions::default().set_profile("zip").unwrap_err().to_string();
    assert!(problem.starts_with("unknown profile `zip`; expected one of deflate, zstd"), "{problem}");
}

#[test]
fn options_go_over_a_profile() {
    let mut options = ConvertOptions::default();
    options.set_profile("webp").unwrap();
    options.set_creation_options(&[("COMPRESS", "DEFLATE"), ("BLOCKSIZE", "256")]).unwrap();
    assert_eq!((options.write.compression, options.write.lossless), (C::Deflate, None));
    assert_eq!(options.write.blocks, BlockChoice::Tiles { width: 256, height: 256 });
}

/// The names of `DMD_CREATIONOPTIONLIST` of GDAL 3.12's GTiff and COG drivers.
#[test]
fn every_name_of_gdal_is_known() {
    let gtiff = "COMPRESS PREDICTOR DISCARD_LSB JPEG_QUALITY JPEGTABLESMODE ZLEVEL LZMA_PRESET ZSTD_LEVEL \
        MAX_Z_ERROR MAX_Z_ERROR_OVERVIEW WEBP_LOSSLESS WEBP_LEVEL NUM_THREADS NBITS INTERLEAVE TILED TFW RPB \
        RPCTXT BLOCKXSIZE BLOCKYSIZE PHOTOMETRIC SPARSE_OK ALPHA PROFILE PIXELTYPE BIGTIFF ENDIANNESS \
        COPY_SRC_OVERVIEWS SOURCE_ICC_PROFILE SOURCE_PRIMARIES_RED SOURCE_PRIMARIES_GREEN \
        SOURCE_PRIMARIES_BLUE SOURCE_WHITEPOINT TIFFTAG_TRANSFERFUNCTION_RED TIFFTAG_TRANSFERFUNCTION_GREEN \
        TIFFTAG_TRANSFERFUNCTION_BLUE TIFFTAG_TRANSFERRANGE_BLACK TIFFTAG_TRANSFERRANGE_WHITE \
        STREAMABLE_OUTPUT GEOTIFF_KEYS_FLAVOR GEOTIFF_VERSION COLOR_TABLE_MULTIPLIER JXL_LOSSLESS JXL_EFFORT \
        JXL_DISTANCE JXL_ALPHA_DISTANCE";
    let cog = "COMPRESS OVERVIEW_COMPRESS LEVEL PREDICTOR OVERVIEW_PREDICTOR QUALITY OVERVIEW_QUALITY \
        MAX_Z_ERROR MAX_Z_ERROR_OVERVIEW NUM_THREADS NBITS BLOCKSIZE INTERLEAVE BIGTIFF RESAMPLING \
        OVERVIEW_RESAMPLING WARP_RESAMPLING OVERVIEWS OVERVIEW_COUNT TILING_SCHEME ZOOM_LEVEL \
        ZOOM_LEVEL_STRATEGY TARGET_SRS RES EXTENT ALIGNED_LEVELS ADD_ALPHA GEOTIFF_VERSION SPARSE_OK STATISTICS";
    for name in gtiff.split_whitespace().chain(cog.split_whitespace()) {
        assert!(kind_of(name).is_ok(), "{name}");
    }
    // A second line with the same name would be unreachable.
    let mut names: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TABLE.len());
}
