//! Collects creation options one by one, and applies them together.

use super::CreationNotes;
use crate::convert::{ConvertOptions, Tiling, TilingScheme, ZoomStrategy};
use crate::grid::{WarpSampling, sampling_named};
use crate::write::options::{BigTiff, BlockChoice, Format, Overviews, PredictorChoice};
use crate::write::plan::TILE;
use std::num::NonZeroUsize;
use strile_engine::Resampling;
use strile_tiff::{ByteOrder, Compression as C, ExtraSample, LercWrapper, Photometric, Planar};

/// A codec, and the codec around LERC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compress {
    pub(super) codec: C,
    pub(super) lerc: LercWrapper,
}

/// The option name by which a level was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelName {
    Level,
    Deflate,
    Zstd,
    Lzma,
}

/// The option name by which a quality was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QualityName {
    Quality,
    Jpeg,
    WebP,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    pub(super) name: LevelName,
    pub(super) value: i32,
}

/// Given creation options, before they are checked against each other.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) compress: Option<Compress>,
    pub(super) level: Option<Level>,
    pub(super) quality: Option<(QualityName, u8)>,
    pub(super) webp_lossless: Option<bool>,
    pub(super) max_error: Option<f64>,
    pub(super) predictor: Option<PredictorChoice>,
    pub(super) tiled: Option<bool>,
    pub(super) block_width: Option<u32>,
    pub(super) block_height: Option<u32>,
    pub(super) block_size: Option<u32>,
    pub(super) planar: Option<Planar>,
    pub(super) byte_order: Option<ByteOrder>,
    pub(super) sparse: Option<bool>,
    pub(super) big_tiff: Option<BigTiff>,
    pub(super) bits: Option<u16>,
    pub(super) photometric: Option<Photometric>,
    pub(super) alpha: Option<ExtraSample>,
    pub(super) overviews: Option<Overviews>,
    pub(super) overview_count: Option<u32>,
    pub(super) overview_resampling: Option<Resampling>,
    pub(super) resampling: Option<Resampling>,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) tiling: Option<Option<TilingScheme>>,
    pub(super) zoom: Option<u32>,
    pub(super) zoom_strategy: Option<ZoomStrategy>,
    pub(super) aligned_levels: Option<u32>,
    pub(super) warp_resampling: Option<WarpSampling>,
    /// The name of `resampling`, which may also be a method of warping.
    pub(super) resampling_name: Option<String>,
    pub(super) overview_compress: Option<Compress>,
    pub(super) overview_predictor: Option<PredictorChoice>,
    pub(super) overview_quality: Option<u8>,
    pub(super) overview_max_error: Option<f64>,
}

impl LevelName {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Level => "LEVEL",
            Self::Deflate => "ZLEVEL",
            Self::Zstd => "ZSTD_LEVEL",
            Self::Lzma => "LZMA_PRESET",
        }
    }

    fn suits(self, compress: Compress) -> bool {
        let around = (compress.codec == C::Lerc).then_some(compress.lerc);
        let deflate = compress.codec == C::Deflate || around == Some(LercWrapper::Deflate);
        let zstd = compress.codec == C::Zstd || around == Some(LercWrapper::Zstd);
        let lzma = compress.codec == C::Lzma;
        match self {
            Self::Level => deflate || zstd || lzma,
            Self::Deflate => deflate,
            Self::Zstd => zstd,
            Self::Lzma => lzma,
        }
    }
}

impl QualityName {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Quality => "QUALITY",
            Self::Jpeg => "JPEG_QUALITY",
            Self::WebP => "WEBP_LEVEL",
        }
    }

    fn suits(self, codec: C) -> bool {
        match self {
            Self::Quality => matches!(codec, C::Jpeg | C::WebP | C::Jpeg2000),
            Self::Jpeg => codec == C::Jpeg,
            Self::WebP => codec == C::WebP,
        }
    }
}

impl Draft {
    /// Applies all options, or none.
    pub(super) fn apply(self, options: &mut ConvertOptions) -> Result<CreationNotes, String> {
        let mut changed = options.clone();
        self.codec(&mut changed)?;
        self.tiling(&mut changed)?;
        self.blocks(&mut changed)?;
        self.overviews(&mut changed)?;
        self.colours(&mut changed)?;
        let write = &mut changed.write;
        write.predictor = self.predictor.unwrap_or(write.predictor);
        let storage = &mut write.overview_storage;
        storage.compression = self.overview_compress.map(|c| (c.codec, c.lerc)).or(storage.compression);
        storage.predictor = self.overview_predictor.or(storage.predictor);
        storage.quality = self.overview_quality.or(storage.quality);
        storage.max_error = self.overview_max_error.or(storage.max_error);
        write.planar = self.planar.unwrap_or(write.planar);
        write.byte_order = self.byte_order.unwrap_or(write.byte_order);
        write.sparse = self.sparse.unwrap_or(write.sparse);
        write.big_tiff = self.big_tiff.unwrap_or(write.big_tiff);
        write.bits = self.bits.or(write.bits);
        let lz4 = write.compression == C::Lz4;
        let few = "few tools read lz4 in TIFF, and GDAL does not; zstd is nearly as fast".to_owned();
        *options = changed;
        Ok(CreationNotes { threads: self.threads, warnings: lz4.then_some(few).into_iter().collect() })
    }

    fn codec(&self, options: &mut ConvertOptions) -> Result<(), String> {
        let write = &mut options.write;
        if let Some(compress) = self.compress {
            // Numbers that were chosen for another codec do not apply to this one.
            if compress.codec != write.compression || compress.lerc != write.lerc {
                (write.level, write.quality, write.lossless, write.max_error) = (None, None, None, 0.0);
            }
            (write.compression, write.lerc) = (compress.codec, compress.lerc);
        }
        let compress = Compress { codec: write.compression, lerc: write.lerc };
        let codec = compress.codec;
        let alien = |name: &str| Err(format!("{name} does not apply to {}; leave it out", name_of(compress)));
        if let Some(Level { name, value }) = self.level {
            if !name.suits(compress) {
                return alien(name.text());
            }
            write.level = Some(value);
        }
        if let Some(max_error) = self.max_error {
            if codec != C::Lerc {
                return alien("MAX_Z_ERROR");
            }
            write.max_error = max_error;
        }
        if let Some((name, value)) = self.quality {
            if !name.suits(codec) {
                return alien(name.text());
            }
            (write.quality, write.lossless) = (Some(value), None);
        }
        match (self.webp_lossless, codec) {
            (Some(_), codec) if codec != C::WebP => return alien("WEBP_LOSSLESS"),
            (Some(true), _) if self.quality.is_some_and(|(_, value)| value < 100) => {
                return Err("WEBP_LOSSLESS=YES has no quality; leave one of the two out".to_owned());
            }
            (Some(lossless), _) => write.lossless = Some(lossless),
            // As in GDAL's COG driver: the highest quality is lossless.
            (None, C::WebP) if write.quality == Some(100) => write.lossless = Some(true),
            (None, C::WebP) if self.compress.is_some() => write.lossless = Some(false),
            (None, _) => {}
        }
        Ok(())
    }

    /// Sets tiles of a matrix set, and how pixels are warped onto them.
    fn tiling(&self, options: &mut ConvertOptions) -> Result<(), String> {
        if let Some(scheme) = self.tiling {
            options.tiling = scheme.map(Tiling::from);
        }
        let given = [
            ("ZOOM_LEVEL", self.zoom.is_some()),
            ("ZOOM_LEVEL_STRATEGY", self.zoom_strategy.is_some()),
            ("ALIGNED_LEVELS", self.aligned_levels.is_some()),
            ("WARP_RESAMPLING", self.warp_resampling.is_some()),
        ];
        let Some(tiling) = &mut options.tiling else {
            return match given.iter().find(|(_, is_given)| *is_given) {
                Some((name, _)) => {
                    Err(format!("{name} is for TILING_SCHEME=GoogleMapsCompatible; leave it out"))
                }
                None => Ok(()),
            };
        };
        tiling.zoom = self.zoom.or(tiling.zoom);
        tiling.strategy = self.zoom_strategy.unwrap_or(tiling.strategy);
        tiling.aligned_levels = self.aligned_levels.unwrap_or(tiling.aligned_levels);
        if self.zoom.is_some() && self.zoom_strategy.is_some() {
            return Err("ZOOM_LEVEL_STRATEGY chooses the zoom level; leave ZOOM_LEVEL out".to_owned());
        }
        options.warp_resampling = match (self.warp_resampling, &self.resampling_name) {
            (Some(sampling), _) => Some(sampling),
            (None, Some(name)) => {
                Some(sampling_named(name).map_err(|problem| format!("RESAMPLING: {problem}"))?)
            }
            (None, None) => options.warp_resampling,
        };
        Ok(())
    }

    fn blocks(&self, options: &mut ConvertOptions) -> Result<(), String> {
        let write = &mut options.write;
        let Self { tiled, block_width, block_height, block_size, .. } = *self;
        if let Some(size) = block_size {
            if [block_width, block_height].iter().flatten().any(|&side| side != size) {
                return Err(
                    "BLOCKSIZE is both sides of a tile; leave BLOCKXSIZE and BLOCKYSIZE out".to_owned()
                );
            }
            if tiled == Some(false) {
                return Err("BLOCKSIZE is for tiles; leave TILED=NO out, or use BLOCKYSIZE".to_owned());
            }
        }
        let (width, height) = (block_size.or(block_width), block_size.or(block_height));
        let tiles = |width, height| BlockChoice::Tiles { width, height };
        write.blocks = match (tiled, width, height) {
            (Some(false), Some(_), _) => {
                return Err("BLOCKXSIZE is for tiles, and strips are as wide as the image".to_owned());
            }
            (Some(false), None, rows) => BlockChoice::Strips { rows: rows.unwrap_or(0) },
            // GDAL uses this as the rows of a strip.
            (None, None, Some(rows)) if write.format == Format::GeoTiff => BlockChoice::Strips { rows },
            (_, Some(width), height) => tiles(width, height.unwrap_or(TILE)),
            (_, None, Some(height)) => tiles(TILE, height),
            (Some(true), None, None) => match write.blocks {
                BlockChoice::Strips { .. } => BlockChoice::Auto,
                tiled => tiled,
            },
            // Tiles of a matrix set have 256 pixels by default.
            (None, None, None) if matches!(self.tiling, Some(Some(_))) => {
                BlockChoice::Tiles { width: 256, height: 256 }
            }
            (None, None, None) => write.blocks,
        };
        Ok(())
    }

    fn overviews(&self, options: &mut ConvertOptions) -> Result<(), String> {
        let write = &mut options.write;
        write.overviews = match (self.overviews, self.overview_count) {
            (Some(Overviews::None), Some(1..)) => {
                return Err("OVERVIEWS=NONE contradicts OVERVIEW_COUNT".to_owned());
            }
            (_, Some(0)) => Overviews::None,
            (_, Some(count)) => Overviews::Count(count),
            (Some(overviews), None) => overviews,
            (None, None) => write.overviews,
        };
        let warps = options.tiling.is_some();
        match (self.overview_resampling, self.resampling) {
            (Some(one), Some(other)) if one != other && !warps => {
                return Err("RESAMPLING contradicts OVERVIEW_RESAMPLING; give one of them".to_owned());
            }
            (one, other) => write.resampling = one.or(other).or(write.resampling),
        }
        Ok(())
    }

    fn colours(&self, options: &mut ConvertOptions) -> Result<(), String> {
        match self.photometric {
            Some(Photometric::YCbCr) => {
                if options.write.compression != C::Jpeg {
                    return Err("PHOTOMETRIC=YCBCR is for COMPRESS=JPEG; use RGB".to_owned());
                }
                // The pixels are RGB; the codec converts them and halves the columns and rows of the colour
                // differences.
                options.photometric = Some(Photometric::Rgb);
                options.write.ycbcr = Some((2, 2));
            }
            Some(photometric) => {
                options.photometric = Some(photometric);
                options.write.ycbcr = None;
            }
            None => {}
        }
        options.alpha = self.alpha.or(options.alpha);
        Ok(())
    }
}

fn name_of(Compress { codec, lerc }: Compress) -> &'static str {
    match (codec, lerc) {
        (C::Lerc, LercWrapper::Deflate) => "lerc_deflate",
        (C::Lerc, LercWrapper::Zstd) => "lerc_zstd",
        (codec, _) => codec.name(),
    }
}
