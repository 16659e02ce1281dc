//! Options that store an image like an existing file, and their names in GDAL.

use super::options::ConvertOptions;
use super::spec::keeps_depth;
use crate::error::Result;
use crate::file::dataset::Dataset;
use crate::options::Place;
use crate::write::{BlockChoice, Format, PredictorChoice, RasterSpec, WriteOptions, chosen_layout};
use strile_tiff::{BlockKind, ByteOrder, Compression, Image, Planar, Predictor, SampleFormat};

/// Returns the options that store an image like this one, with its codec or another.
pub(crate) fn stored_like(image: &Image, compression: Compression) -> WriteOptions {
    let grid = &image.grid;
    let same = compression == image.compression;
    WriteOptions {
        compression,
        lerc: image.colour.lerc,
        predictor: if same { PredictorChoice::Fixed(image.predictor) } else { PredictorChoice::Auto },
        blocks: match grid.kind {
            BlockKind::Strip => BlockChoice::Strips { rows: grid.block_height },
            BlockKind::Tile
                if grid.block_width.is_multiple_of(16) && grid.block_height.is_multiple_of(16) =>
            {
                BlockChoice::Tiles { width: grid.block_width, height: grid.block_height }
            }
            BlockKind::Tile => BlockChoice::Auto,
        },
        planar: image.planar,
        ycbcr: image.colour.ycbcr.map(|ycbcr| ycbcr.subsampling).filter(|_| compression == Compression::Jpeg),
        bits: (image.mixed_bits.is_none()
            && image.sample.format == SampleFormat::Uint
            && keeps_depth(compression))
        .then_some(image.sample.bits),
        ..WriteOptions::default()
    }
}

impl ConvertOptions {
    /// Returns the options that write the first image of a file as it is stored there. A cloud-optimized file has tiles
    /// in any case.
    pub fn like(input: &Dataset, format: Format) -> Result<Self> {
        let image = input.target(&Place::default())?.image;
        let mut write = WriteOptions { format, ..stored_like(&image, image.compression) };
        write.byte_order = input.tiff().map_or(ByteOrder::Little, |tiff| tiff.header.byte_order);
        if format == Format::Cog && matches!(write.blocks, BlockChoice::Strips { .. }) {
            write.blocks = BlockChoice::Auto;
        }
        Ok(Self { write, ..Self::default() })
    }
}

/// Returns the options as creation options of GDAL's driver of that format.
pub(crate) fn gdal_options(
    spec: &RasterSpec,
    write: &WriteOptions,
) -> std::result::Result<Vec<(String, String)>, String> {
    let layout = chosen_layout(spec, write)?;
    let mut options = Vec::new();
    let mut say = |name: &str, value: String| options.push((name.to_owned(), value));
    say("COMPRESS", layout.compression.name().to_ascii_uppercase());
    let cog = write.format == Format::Cog;
    let predictor = match (layout.predictor, cog) {
        (Predictor::None, _) => None,
        (Predictor::Horizontal, true) => Some("STANDARD"),
        (Predictor::FloatingPoint, true) => Some("FLOATING_POINT"),
        (Predictor::Horizontal, false) => Some("2"),
        (Predictor::FloatingPoint, false) => Some("3"),
    };
    if let Some(predictor) = predictor {
        say("PREDICTOR", predictor.to_owned());
    }
    match (write.level, cog, layout.compression) {
        (Some(level), true, _) => say("LEVEL", level.to_string()),
        (Some(level), false, Compression::Deflate) => say("ZLEVEL", level.to_string()),
        (Some(level), false, Compression::Zstd) => say("ZSTD_LEVEL", level.to_string()),
        (Some(level), false, Compression::Lzma) => say("LZMA_PRESET", level.to_string()),
        _ => {}
    }
    if cog {
        say("BLOCKSIZE", layout.width.to_string());
        return Ok(options);
    }
    let planar = match write.planar {
        Planar::Chunky => "PIXEL",
        Planar::Separate => "BAND",
    };
    say("INTERLEAVE", planar.to_owned());
    say("BLOCKYSIZE", layout.height.to_string());
    if layout.is_strip {
        say("TILED", "NO".to_owned());
    } else {
        say("TILED", "YES".to_owned());
        say("BLOCKXSIZE", layout.width.to_string());
    }
    Ok(options)
}
