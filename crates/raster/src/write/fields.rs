//! The tags of a level and of its mask, derived from the plan.

use super::plan::{LevelPlan, WritePlan};
use super::spec::RasterSpec;
use strile_tiff::{
    BlockGrid, BlockKind, Compression, ExtraSample, FieldValue as V, LercWrapper, NewDirectory, Photometric,
    Planar, Predictor, SampleFormat, Tag,
};

/// Values of the tag NewSubfileType.
const REDUCED: u32 = 1;
const MASK: u32 = 4;

/// Returns the directory of level `index`, and that of its mask. `described` has the tags that only the full image has.
pub(crate) fn directories_of(
    plan: &WritePlan,
    spec: &RasterSpec,
    index: usize,
    nodata: Option<&(Tag, V)>,
    described: &[(Tag, V)],
) -> Option<(NewDirectory, Option<NewDirectory>)> {
    let level = plan.levels.get(index)?;
    let mut fields = image_fields(plan, spec, level);
    if index == 0 {
        fields.extend(described.iter().cloned());
    } else {
        fields.push((Tag::NewSubfileType, V::long(REDUCED)));
    }
    fields.extend(nodata.cloned());
    let kind = level.grid.kind;
    let blocks = usize::try_from(level.grid.blocks()).ok()?;
    let image = NewDirectory::new(kind, blocks, fields);
    let mask = level.mask.as_ref().map(|_| {
        let blocks = level.grid.across as usize * level.grid.down as usize;
        let subfile = if index == 0 { MASK } else { MASK | REDUCED };
        NewDirectory::new(kind, blocks, mask_fields(level, subfile))
    });
    Some((image, mask))
}

/// Returns a size as SHORT if it fits, as other writers do.
fn size(value: u32) -> V {
    u16::try_from(value).map_or_else(|_| V::long(value), V::short)
}

fn grid_fields(grid: &BlockGrid) -> Vec<(Tag, V)> {
    match grid.kind {
        BlockKind::Tile => {
            vec![(Tag::TileWidth, size(grid.block_width)), (Tag::TileLength, size(grid.block_height))]
        }
        BlockKind::Strip => vec![(Tag::RowsPerStrip, size(grid.block_height))],
    }
}

fn image_fields(plan: &WritePlan, spec: &RasterSpec, level: &LevelPlan) -> Vec<(Tag, V)> {
    let layout = &level.image.block;
    let bands = usize::from(spec.bands);
    let format: u16 = match layout.sample.format {
        SampleFormat::Uint => 1,
        SampleFormat::Int => 2,
        SampleFormat::Float => 3,
        SampleFormat::ComplexInt => 5,
        SampleFormat::ComplexFloat => 6,
    };
    let planar: u16 = match plan.planar {
        Planar::Chunky => 1,
        Planar::Separate => 2,
    };
    let code = layout.compression.codes().first().copied().unwrap_or(1);
    let (_, extra) = spec.colours();
    let mut fields = vec![
        (Tag::ImageWidth, size(level.width)),
        (Tag::ImageLength, size(level.height)),
        (Tag::BitsPerSample, V::Shorts(vec![layout.sample.bits; bands])),
        (Tag::Compression, V::short(code)),
        (Tag::PhotometricInterpretation, V::short(layout.extras.photometric.code())),
        (Tag::SamplesPerPixel, V::short(spec.bands)),
        (Tag::PlanarConfiguration, V::short(planar)),
        (Tag::SampleFormat, V::Shorts(vec![format; bands])),
    ];
    fields.extend(grid_fields(&level.grid));
    match layout.predictor {
        Predictor::None => {}
        Predictor::Horizontal => fields.push((Tag::Predictor, V::short(2))),
        Predictor::FloatingPoint => fields.push((Tag::Predictor, V::short(3))),
    }
    if !extra.is_empty() {
        let codes = extra.iter().map(|extra| match extra {
            ExtraSample::Unspecified => 0,
            ExtraSample::AssociatedAlpha => 1,
            ExtraSample::UnassociatedAlpha => 2,
        });
        fields.push((Tag::ExtraSamples, V::Shorts(codes.collect())));
    }
    if let Some(map) = &spec.colour_map {
        fields.push((Tag::ColorMap, colour_map(map, layout.sample.bits)));
    }
    if let Some(tables) = &layout.extras.jpeg_tables {
        fields.push((Tag::JPEGTables, V::Undefined(tables.to_vec())));
    }
    if let Some(ycbcr) = &layout.extras.ycbcr {
        let (across, down) = ycbcr.subsampling;
        fields.push((Tag::YCbCrSubSampling, V::Shorts(vec![u16::from(across), u16::from(down)])));
        // As libtiff for JPEG: the full range of codes.
        let range = [0u32, 255, 128, 255, 128, 255];
        fields.push((Tag::ReferenceBlackWhite, V::Rationals(range.iter().map(|&v| (v, 1)).collect())));
    }
    match layout.compression {
        Compression::Lerc => {
            let around = match layout.extras.lerc {
                LercWrapper::None => 0,
                LercWrapper::Deflate => 1,
                LercWrapper::Zstd => 2,
            };
            fields.push((Tag::LercParameters, V::Longs(vec![4, around])));
        }
        Compression::CcittGroup3 => fields.push((Tag::T4Options, V::long(layout.extras.fax_options))),
        Compression::CcittGroup4 => fields.push((Tag::T6Options, V::long(layout.extras.fax_options))),
        _ => {}
    }
    fields
}

/// Returns reds, greens and blues for every value of a sample. Values without a colour are black.
fn colour_map(map: &[[u16; 3]], bits: u16) -> V {
    let entries = 1usize << bits.min(16);
    let channel = |at: usize| {
        let given = map.iter().map(move |colour| colour.get(at).copied().unwrap_or(0));
        given.chain(std::iter::repeat(0)).take(entries)
    };
    V::Shorts(channel(0).chain(channel(1)).chain(channel(2)).collect())
}

fn mask_fields(level: &LevelPlan, subfile: u32) -> Vec<(Tag, V)> {
    let mut fields = vec![
        (Tag::NewSubfileType, V::long(subfile)),
        (Tag::ImageWidth, size(level.width)),
        (Tag::ImageLength, size(level.height)),
        (Tag::BitsPerSample, V::short(1)),
        (Tag::Compression, V::short(Compression::Deflate.codes().first().copied().unwrap_or(8))),
        (Tag::PhotometricInterpretation, V::short(Photometric::Mask.code())),
        (Tag::SamplesPerPixel, V::short(1)),
        (Tag::PlanarConfiguration, V::short(1)),
        (Tag::SampleFormat, V::short(1)),
    ];
    fields.extend(grid_fields(&level.grid));
    fields
}
