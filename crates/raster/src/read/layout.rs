//! Describes the storage of an image's blocks for an engine.

use std::sync::Arc;
use strile_engine::{BlockLayout, CodecExtras, Fill};
use strile_tiff::{BlockKind, DataType, Image, Planar};

/// Returns the layout of an image's blocks; `None` if the sample type has no type in memory.
pub(crate) fn layout_of(image: &Image, fill: Fill) -> Option<BlockLayout> {
    let data_type: DataType = image.sample.data_type()?;
    Some(BlockLayout {
        width: image.grid.block_width,
        height: image.grid.block_height,
        samples: match image.planar {
            Planar::Chunky => image.samples,
            Planar::Separate => 1,
        },
        sample: image.sample,
        mixed_bits: image.mixed_bits.as_deref().map(Arc::from),
        data_type,
        byte_order: image.byte_order,
        reverse_bits: image.reverse_bits,
        compression: image.compression,
        predictor: image.predictor,
        is_strip: image.grid.kind == BlockKind::Strip,
        extras: CodecExtras {
            photometric: image.colour.photometric,
            ycbcr: image.colour.ycbcr,
            jpeg_tables: image.colour.jpeg_tables.as_deref().map(Arc::from),
            lerc: image.colour.lerc,
            fax_options: image.colour.fax_options,
            fill,
            reduce: 0,
        },
    })
}
