//! Puts a finished raster into memory of another shape: a job of stored blocks, one a band.

use crate::error::{Error, Result};
use crate::raster::Raster;
use std::sync::Arc;
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, DecodeJob, Encoded, Engine,
    EngineError, Output, Placement, Report, Span,
};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

/// Writes `raster`, band by band in memory, to an output with its type and shape and any strides.
pub(crate) fn deliver(
    raster: Raster,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<Report> {
    let wrong = || Error::Engine(EngineError::Abandoned);
    let (rows, columns) = (raster.rows, raster.columns);
    let band_len = (raster.pixels.len() as u64).checked_div(u64::from(raster.bands)).ok_or_else(wrong)?;
    let layout = Arc::new(stored(raster.data_type, columns, rows));
    let task = |band: u32| BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: Some(Span { offset: u64::from(band) * band_len, len: band_len }),
        address: BlockAddress { plane: band, ..BlockAddress::default() },
        placement: Placement {
            rows,
            image_rows: rows,
            block_x: 0,
            block_y: 0,
            width: columns,
            height: rows,
            out_x: 0,
            out_y: 0,
            first_band: band,
        },
    };
    let tasks = (0..raster.bands).map(task).collect();
    let job = DecodeJob::new(vec![layout], vec![vec![0]], tasks).map_err(|_| wrong())?;
    let faults = raster.faults;
    let encoded = Encoded::Staged(Arc::new(Arena::from_vec(raster.pixels)));
    let report = engine.submit(job, encoded, std::slice::from_ref(output), context)?.wait()?;
    Ok(Report { faults, ..report })
}

/// Samples as they are in memory.
fn stored(data_type: DataType, width: u32, height: u32) -> BlockLayout {
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
        samples: 1,
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
            fill: Default::default(),
        },
    }
}
