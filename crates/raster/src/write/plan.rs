//! Decides how a raster is written, before any pixel is touched: a pure function of the raster, the options and the
//! abilities of the engine.

use super::check::{check_options, check_spec};
use super::options::{BigTiff, BlockChoice, Format, Overviews, PredictorChoice, WriteOptions};
use super::spec::RasterSpec;
use std::sync::Arc;
use strile_engine::{
    BlockLayout, CodecExtras, EncodeLayout, EncodeParams, Encoder, Engine, Fill, Location, Resampling,
    Support,
};
use strile_tiff::layout::{LEADER, TRAILER};
use strile_tiff::{
    BlockGrid, BlockKind, Compression, DataType, FileForm, LercWrapper, Photometric, Planar, Predictor,
    SampleFormat, SampleType, Variant, YCbCr,
};

/// How one level is written.
#[derive(Debug, Clone)]
pub(crate) struct LevelPlan {
    /// Columns.
    pub(crate) width: u32,
    /// Rows.
    pub(crate) height: u32,
    /// Its blocks.
    pub(crate) grid: BlockGrid,
    /// Whether it is in the file. A level that is not is only computed for the next one.
    pub(crate) stored: bool,
    /// Rows of blocks that are gathered and encoded together: 1 for tiles. A cell has an even number of rows, so that
    /// it can be reduced on its own.
    pub(crate) block_rows: u32,
    /// How its blocks are encoded.
    pub(crate) image: EncodeLayout,
    /// How the blocks of its mask are encoded.
    pub(crate) mask: Option<EncodeLayout>,
    /// The reason why the host encodes its blocks, if the engine is a device that does not.
    pub(crate) by_host: Option<String>,
}

/// The origin of the full image's blocks.
#[derive(Debug, Clone)]
pub(crate) enum FullImage {
    /// They are encoded from pixels.
    Encoded,
    /// They are already encoded, stored like this, in another file.
    Adopted(Arc<BlockLayout>),
    /// They are in another file, or in the one that overviews are appended to: only overviews are written.
    Elsewhere(Option<Appended>),
}

/// Position of overviews that are appended to an existing file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    /// The end of the file: the offset of the first byte written, which is even.
    pub(crate) at: u64,
    /// Position of the pointer to the next directory, which will lead to them.
    pub(crate) pointer: u64,
    /// Current value of that pointer.
    pub(crate) then: u64,
}

/// How a raster is written. The encoder is fixed here and never changes within a file.
#[derive(Debug, Clone)]
pub(crate) struct WritePlan {
    /// Byte order, classic or Big.
    pub(crate) form: FileForm,
    /// The arrangement of the file.
    pub(crate) format: Format,
    /// How samples are stored.
    pub(crate) planar: Planar,
    /// The full image, then halvings of each previous level.
    pub(crate) levels: Vec<LevelPlan>,
    /// How overviews are computed.
    pub(crate) resampling: Resampling,
    /// The origin of the full image's blocks.
    pub(crate) full: FullImage,
    /// Samples with this value are not valid.
    pub(crate) nodata: Option<Fill>,
    /// Maximum size of the file in bytes.
    pub(crate) bound: u64,
    /// Name of the engine, reason for choosing it, name of its encoders.
    pub(crate) engine: (String, String, String),
}

impl LevelPlan {
    /// Returns columns and rows of a cell.
    pub(crate) fn cell(&self) -> (u32, u32) {
        (self.grid.block_width, self.grid.block_height.saturating_mul(self.block_rows))
    }
}

impl WritePlan {
    /// Returns the number of levels of the raster: the full image, wherever it is, and the overviews that are written.
    pub(crate) fn count(&self) -> usize {
        1 + self.levels.iter().skip(1).filter(|level| level.stored).count()
    }

    /// Returns the number of blocks of all levels and masks that are written.
    pub(crate) fn blocks(&self) -> u64 {
        let blocks = |level: &LevelPlan| {
            let places = u64::from(level.grid.across) * u64::from(level.grid.down);
            places * (u64::from(level.grid.planes) + u64::from(level.mask.is_some()))
        };
        self.levels.iter().filter(|level| level.stored).map(blocks).sum()
    }
}

/// Rows of blocks are gathered into cells of at least this many bytes, so that strips of a row or two do not make a job
/// each.
const CELL_BYTES: u64 = 1 << 18;

/// Default side of a tile.
pub(crate) const TILE: u32 = 512;

/// Default bytes of a strip.
const STRIP_BYTES: u64 = 64 << 10;

/// Plans a write. The error says in words what cannot be written.
pub(crate) fn plan_write(
    spec: &RasterSpec,
    options: &WriteOptions,
    full: FullImage,
    (engine, engine_reason): (&dyn Engine, &str),
) -> Result<WritePlan, String> {
    if spec.width == 0 || spec.height == 0 || spec.bands == 0 {
        let RasterSpec { width, height, bands, .. } = spec;
        return Err(format!("an image of {width} × {height} pixels with {bands} bands has no pixels"));
    }
    check_options(options)?;
    check_spec(spec)?;
    let sample = sample_of(spec.data_type, options.bits)?;
    let nodata = nodata_of(spec)?;
    // Readers fill missing blocks with nodata: a nodata value that no sample has cannot fill.
    let fill = match (nodata, spec.metadata.nodata) {
        (None, Some(_)) => None,
        (nodata, _) => Some(nodata.unwrap_or_default()),
    };
    let (photometric, _) = spec.colours();
    check_colours(spec, sample, photometric)?;
    let has_table = spec.colour_map.is_some();
    let resampling = options.resampling.unwrap_or(match has_table || !spec.metadata.categories.is_empty() {
        true => Resampling::Nearest,
        false => Resampling::Average,
    });
    let base_grid = grid_of(spec, options)?;
    let sizes = level_sizes(spec, options, &base_grid)?;
    if sizes.len() > 1
        && let Support::No(reason) = engine.reduces(resampling, spec.data_type)
    {
        return Err(format!("{reason}; choose another resampling, or no overviews"));
    }
    let reduced = options.for_overviews();
    // A device's own encoders are the portable ones; blocks that it leaves to the host are encoded by the same.
    let encoder = match (engine.location(), options.encoder()) {
        (Location::Host, encoder) | (Location::Cuda(_), encoder @ Encoder::Library { .. }) => encoder,
        (Location::Cuda(_), Encoder::Fast | Encoder::Portable) => Encoder::Portable,
    };
    let of_masks = match encoder {
        Encoder::Library { .. } => Encoder::Portable,
        Encoder::Fast | Encoder::Portable => encoder,
    };
    if sizes.len() > 1 {
        check_options(&reduced).map_err(|problem| format!("overviews: {problem}"))?;
    }
    let mut levels = Vec::with_capacity(sizes.len());
    for (index, (width, height)) in sizes.into_iter().enumerate() {
        let grid = match (index, base_grid.kind) {
            (0, _) => base_grid,
            (_, BlockKind::Tile) => {
                let block = (base_grid.block_width, base_grid.block_height);
                BlockGrid::new(BlockKind::Tile, (width, height), block, base_grid.planes)
            }
            // Overviews of an image in strips are tiled, as in GDAL.
            (_, BlockKind::Strip) => {
                BlockGrid::new(BlockKind::Tile, (width, height), (TILE, TILE), base_grid.planes)
            }
        };
        let chosen = if index == 0 { options } else { &reduced };
        let image = EncodeLayout {
            block: Arc::new(image_layout(spec, chosen, sample, &grid, nodata)?),
            params: params_of(chosen, encoder),
            nan_to: nodata.filter(|_| options.nan_to_nodata && !is_nan(spec)),
            sparse: fill.filter(|_| options.sparse),
        };
        let image = match (&full, index) {
            (FullImage::Adopted(block), 0) => EncodeLayout { block: Arc::clone(block), ..image },
            _ => engine.prepare(image)?,
        };
        let mask = match spec.mask {
            true => Some(engine.prepare(mask_layout(&grid, options, of_masks))?),
            false => None,
        };
        let block_rows = block_rows_of_cell(&grid, spec);
        let by_host = match engine.encodes(&image) {
            Support::Yes => None,
            Support::No(reason) => Some(reason),
        };
        let stored = match index {
            0 => !matches!(full, FullImage::Elsewhere(_)),
            halvings => options.overviews.has(halvings),
        };
        levels.push(LevelPlan { width, height, grid, stored, block_rows, image, mask, by_host });
    }
    let bound = bound_of(&levels, engine)?;
    let variant = match options.big_tiff {
        BigTiff::Yes => Variant::Big,
        BigTiff::No => Variant::Classic,
        BigTiff::IfNeeded if bound > u64::from(u32::MAX) => Variant::Big,
        BigTiff::IfSafer if bound > u64::from(u32::MAX) / 2 => Variant::Big,
        BigTiff::IfNeeded | BigTiff::IfSafer => Variant::Classic,
    };
    Ok(WritePlan {
        form: FileForm { byte_order: options.byte_order, variant },
        format: options.format,
        planar: options.planar,
        levels,
        resampling,
        full,
        nodata,
        bound,
        engine: (engine.name().to_owned(), engine_reason.to_owned(), engine.encoder(encoder)),
    })
}

/// Returns columns and rows of a block of the full image.
pub(crate) fn block_size(spec: &RasterSpec, options: &WriteOptions) -> Result<(u32, u32), String> {
    grid_of(spec, options).map(|grid| (grid.block_width, grid.block_height))
}

/// Returns columns and rows of the overviews in the file.
pub(crate) fn overview_sizes(spec: &RasterSpec, options: &WriteOptions) -> Result<Vec<(u32, u32)>, String> {
    let sizes = level_sizes(spec, options, &grid_of(spec, options)?)?;
    let stored =
        sizes.into_iter().enumerate().skip(1).filter(|(halvings, _)| options.overviews.has(*halvings));
    Ok(stored.map(|(_, size)| size).collect())
}

/// Returns how blocks of the full image would be stored, as far as the options decide it.
pub(crate) fn chosen_layout(spec: &RasterSpec, options: &WriteOptions) -> Result<BlockLayout, String> {
    let sample = sample_of(spec.data_type, options.bits)?;
    image_layout(spec, options, sample, &grid_of(spec, options)?, None)
}

/// Returns the nodata sample. A value between the samples of a type, which GDAL keeps too, has none.
fn nodata_of(spec: &RasterSpec) -> Result<Option<Fill>, String> {
    let Some(value) = spec.metadata.nodata else { return Ok(None) };
    match (value.to_sample(spec.data_type), value.for_type(spec.data_type)) {
        (Some(sample), _) => Ok(Some(Fill(sample))),
        (None, Some(_)) => Ok(None),
        (None, None) => Err(format!("nodata {} cannot be stored as {}", value.as_f64(), spec.data_type)),
    }
}

fn is_nan(spec: &RasterSpec) -> bool {
    spec.metadata.nodata.is_some_and(|value| value.as_f64().is_nan())
}

fn sample_of(data_type: DataType, bits: Option<u16>) -> Result<SampleType, String> {
    use DataType as D;
    let format = match data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => SampleFormat::Uint,
        D::I8 | D::I16 | D::I32 | D::I64 => SampleFormat::Int,
        D::F16 | D::F32 | D::F64 => SampleFormat::Float,
        D::C64 | D::C128 => SampleFormat::ComplexFloat,
    };
    let full = u16::try_from(data_type.size() * 8).unwrap_or(u16::MAX);
    let sample = SampleType { format, bits: bits.unwrap_or(full) };
    match sample.data_type() == Some(data_type) {
        true => Ok(sample),
        false => Err(format!("{} bits are not how samples of {data_type} are stored", sample.bits)),
    }
}

fn check_colours(spec: &RasterSpec, sample: SampleType, photometric: Photometric) -> Result<(), String> {
    let needed = photometric.colour_samples();
    if spec.bands < needed {
        let name = photometric.name();
        return Err(format!("photometric {name} has {needed} colours, the image has {} bands", spec.bands));
    }
    match (photometric, &spec.colour_map) {
        (Photometric::Palette | Photometric::MinIsBlack | Photometric::MinIsWhite, Some(map)) => {
            let room = 1usize.checked_shl(u32::from(sample.bits)).unwrap_or(0);
            if sample.format != SampleFormat::Uint || sample.bits > 16 || map.len() > room {
                let colours = map.len();
                return Err(format!("a colour table of {colours} entries does not suit samples of {sample}"));
            }
            Ok(())
        }
        (Photometric::Palette, None) => Err("photometric palette needs a colour table".into()),
        (_, Some(_)) => Err(format!("photometric {} has no colour table", photometric.name())),
        (_, None) => Ok(()),
    }
}

fn grid_of(spec: &RasterSpec, options: &WriteOptions) -> Result<BlockGrid, String> {
    let planes = match options.planar {
        Planar::Chunky => 1,
        Planar::Separate => spec.bands,
    };
    let image = (spec.width, spec.height);
    match options.blocks {
        BlockChoice::Auto => Ok(BlockGrid::new(BlockKind::Tile, image, (TILE, TILE), planes)),
        BlockChoice::Tiles { width, height } => {
            if width == 0 || height == 0 || width % 16 != 0 || height % 16 != 0 {
                return Err(format!("expected tile sizes in multiples of 16, got {width} × {height} pixels"));
            }
            Ok(BlockGrid::new(BlockKind::Tile, image, (width, height), planes))
        }
        BlockChoice::Strips { .. } if options.format == Format::Cog => {
            Err("a cloud-optimized file has tiles, not strips".into())
        }
        BlockChoice::Strips { rows } => {
            let samples = if planes == 1 { u64::from(spec.bands) } else { 1 };
            let row = u64::from(spec.width) * samples * spec.data_type.size() as u64;
            let usual = u32::try_from((STRIP_BYTES / row.max(1)).max(1)).unwrap_or(u32::MAX);
            // Rows that JPEG subsamples come in pairs of eight.
            let usual =
                if options.compression == Compression::Jpeg { usual.div_ceil(16) * 16 } else { usual };
            let rows = if rows == 0 { usual } else { rows }.min(spec.height);
            Ok(BlockGrid::new(BlockKind::Strip, image, (spec.width, rows), planes))
        }
    }
}

fn level_sizes(
    spec: &RasterSpec,
    options: &WriteOptions,
    grid: &BlockGrid,
) -> Result<Vec<(u32, u32)>, String> {
    let mut sizes = vec![(spec.width, spec.height)];
    let wanted = match (options.overviews, options.format) {
        (Overviews::None, _) | (Overviews::Auto, Format::GeoTiff) => 0,
        (Overviews::Auto, Format::Cog) | (Overviews::UntilOneBlock, _) => u32::MAX,
        (Overviews::Count(count), _) => count,
        (Overviews::Halvings(bits), _) => u32::BITS - bits.leading_zeros(),
    };
    let (mut width, mut height) = (spec.width, spec.height);
    // Overviews of an image in strips are tiled.
    let block = match grid.kind {
        BlockKind::Tile => (grid.block_width, grid.block_height),
        BlockKind::Strip => (TILE, TILE),
    };
    for _ in 0..wanted {
        let enough = match options.overviews {
            Overviews::Count(_) => width == 1 && height == 1,
            Overviews::Halvings(_) if width == 1 && height == 1 => {
                let (factor, halvings) = (1u64 << wanted, sizes.len() - 1);
                let RasterSpec { width, height, .. } = spec;
                return Err(format!(
                    "overviews {factor} times smaller: {width} × {height} pixels are one after {halvings} halvings"
                ));
            }
            Overviews::Halvings(_) => false,
            _ => width <= block.0 && height <= block.1,
        };
        if enough {
            break;
        }
        (width, height) = (width.div_ceil(2), height.div_ceil(2));
        sizes.push((width, height));
    }
    Ok(sizes)
}

fn params_of(options: &WriteOptions, encoder: Encoder) -> EncodeParams {
    let zstd = options.compression == Compression::Zstd
        || (options.compression == Compression::Lerc && options.lerc == LercWrapper::Zstd);
    EncodeParams {
        encoder,
        level: options.level.unwrap_or(if zstd { 9 } else { 6 }),
        quality: options.quality.unwrap_or(75),
        lossless: options.lossless.unwrap_or(options.quality.is_none()),
        max_error: options.max_error,
    }
}

fn image_layout(
    spec: &RasterSpec,
    options: &WriteOptions,
    sample: SampleType,
    grid: &BlockGrid,
    nodata: Option<Fill>,
) -> Result<BlockLayout, String> {
    let (photometric, _) = spec.colours();
    let samples = match options.planar {
        Planar::Chunky => spec.bands,
        Planar::Separate => 1,
    };
    let ycbcr = match options.ycbcr {
        None => None,
        Some(subsampling) => {
            let suits = options.compression == Compression::Jpeg
                && photometric == Photometric::Rgb
                && spec.data_type == DataType::U8
                && samples == 3;
            if !suits {
                return Err("YCbCr is for JPEG and three interleaved bands of RGB in uint8".into());
            }
            Some(YCbCr { subsampling, ..YCbCr::default() })
        }
    };
    Ok(BlockLayout {
        width: grid.block_width,
        height: grid.block_height,
        samples,
        sample,
        mixed_bits: None,
        data_type: spec.data_type,
        byte_order: options.byte_order,
        reverse_bits: false,
        compression: options.compression,
        predictor: predictor_of(options, sample, photometric),
        is_strip: grid.kind == BlockKind::Strip,
        extras: CodecExtras {
            photometric: if ycbcr.is_some() { Photometric::YCbCr } else { photometric },
            ycbcr,
            jpeg_tables: None,
            lerc: options.lerc,
            fax_options: 0,
            fill: nodata.unwrap_or_default(),
            reduce: 0,
        },
    })
}

fn predictor_of(options: &WriteOptions, sample: SampleType, photometric: Photometric) -> Predictor {
    use Compression as C;
    let has_predictors = matches!(options.compression, C::Lzw | C::Deflate | C::Zstd | C::Lzma | C::Lz4);
    match options.predictor {
        PredictorChoice::Fixed(predictor) => predictor,
        PredictorChoice::Auto if !has_predictors || photometric == Photometric::Palette => Predictor::None,
        PredictorChoice::Auto => match (sample.format, sample.bits) {
            (SampleFormat::Float, 16 | 32 | 64) => Predictor::FloatingPoint,
            (SampleFormat::Uint | SampleFormat::Int, 8 | 16 | 32 | 64) => Predictor::Horizontal,
            _ => Predictor::None,
        },
    }
}

/// Returns the layout of masks: one bit per pixel in Deflate, which every reader supports.
fn mask_layout(grid: &BlockGrid, options: &WriteOptions, encoder: Encoder) -> EncodeLayout {
    let block = BlockLayout {
        width: grid.block_width,
        height: grid.block_height,
        samples: 1,
        sample: SampleType { format: SampleFormat::Uint, bits: 1 },
        mixed_bits: None,
        data_type: DataType::U8,
        byte_order: options.byte_order,
        reverse_bits: false,
        compression: Compression::Deflate,
        predictor: Predictor::None,
        is_strip: grid.kind == BlockKind::Strip,
        extras: CodecExtras {
            photometric: Photometric::Mask,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    };
    let params = EncodeParams { encoder, level: 6, quality: 75, lossless: true, max_error: 0.0 };
    EncodeLayout { block: Arc::new(block), params, nan_to: None, sparse: options.sparse.then(Fill::default) }
}

fn block_rows_of_cell(grid: &BlockGrid, spec: &RasterSpec) -> u32 {
    if grid.kind == BlockKind::Tile {
        return 1;
    }
    let row = u64::from(spec.width) * u64::from(spec.bands) * spec.data_type.size() as u64;
    let block = row.saturating_mul(u64::from(grid.block_height)).max(1);
    // Also enough rows for the widest halo.
    let enough = CELL_BYTES.div_ceil(block).max(u64::from(16u32.div_ceil(grid.block_height)));
    let wanted = u32::try_from(enough).unwrap_or(u32::MAX).clamp(1, grid.down);
    match (grid.block_height % 2, wanted % 2) {
        (1, 1) => wanted + 1,
        _ => wanted,
    }
}

/// Fails for tiles that are almost entirely padding: a pixel of 65,535 planes in tiles of 512 × 512 would take half a
/// minute to encode.
fn check_padding(level: &LevelPlan) -> Result<(), String> {
    const LITTLE: u64 = 256 << 20;
    const MUCH: u64 = 1024;
    let LevelPlan { grid, image, width, height, .. } = level;
    let BlockGrid { block_width, block_height, across, down, planes, .. } = *grid;
    let pixel = u64::from(image.block.samples)
        .saturating_mul(image.block.data_type.size() as u64)
        .saturating_mul(u64::from(planes));
    let bytes = |columns: u64, rows: u64| columns.saturating_mul(rows).saturating_mul(pixel);
    let stored = bytes(u64::from(across) * u64::from(block_width), u64::from(down) * u64::from(block_height));
    let needed = bytes(u64::from(*width), u64::from(*height));
    if grid.kind == BlockKind::Strip || stored <= LITTLE || stored / MUCH <= needed {
        return Ok(());
    }
    Err(format!(
        "blocks of {block_width} × {block_height} pixels would hold {stored} bytes for {needed} bytes of pixels; \
         choose smaller ones"
    ))
}

fn bound_of(levels: &[LevelPlan], engine: &dyn Engine) -> Result<u64, String> {
    // Entries, values and arrays of directories are less than this, whatever their content: 20 bytes per block.
    const DIRECTORIES: u64 = 64 << 20;
    let mut bound = DIRECTORIES;
    for level in levels.iter().filter(|level| level.stored) {
        check_padding(level)?;
        let places = u64::from(level.grid.across) * u64::from(level.grid.down);
        for (layout, planes) in [(Some(&level.image), u64::from(level.grid.planes)), (level.mask.as_ref(), 1)]
        {
            let Some(layout) = layout else { continue };
            let block = engine.encoded_bound(layout, level.grid.block_height);
            if block > u64::from(u32::MAX) {
                let (width, height) = (level.grid.block_width, level.grid.block_height);
                return Err(format!(
                    "blocks of {width} × {height} pixels can take {block} bytes; choose smaller ones, below 4 GiB"
                ));
            }
            let each = block + LEADER + TRAILER + 12;
            bound = bound.saturating_add(each.saturating_mul(places.saturating_mul(planes)));
        }
    }
    Ok(bound)
}
