//! Pixels as blocks: decoded samples on their way between host and device are a job of stored blocks, so whoever takes
//! them places them as it places any block.

use strile_engine::{BlockLayout, CodecExtras, Fill};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

/// Blocks of samples as they are in memory, pixel by pixel.
pub(crate) fn stored(data_type: DataType, width: u32, height: u32, samples: u16) -> BlockLayout {
    use DataType as D;
    let format = match data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => SampleFormat::Uint,
        D::I8 | D::I16 | D::I32 | D::I64 => SampleFormat::Int,
        D::F16 | D::F32 | D::F64 => SampleFormat::Float,
        D::C64 | D::C128 => SampleFormat::ComplexFloat,
    };
    let bits = u16::try_from(data_type.size() * 8).unwrap_or(u16::MAX);
    BlockLayout {
        width,
        height,
        samples,
        sample: SampleType { format, bits },
        mixed_bits: None,
        data_type,
        byte_order: ByteOrder::NATIVE,
        reverse_bits: false,
        compression: Compression::None,
        predictor: Predictor::None,
        is_strip: true,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
        },
    }
}
