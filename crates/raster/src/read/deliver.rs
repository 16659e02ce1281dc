//! Moves finished pixels to other memory, of another shape or on another device: a job of stored blocks of some rows
//! each.

use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, Context, DecodeJob, DeviceBytes, Encoded, Engine,
    EngineError, Fill, Output, OutputSpec, Placement, Span,
};

/// Bytes per block: small enough for many threads and for any batch.
const BLOCK_BYTES: u64 = 4 << 20;

/// Copies contiguous pixels in host memory to an output of the same shape in memory that the engine writes.
pub(crate) fn moved_to(
    pixels: Output,
    interleave: Interleave,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<()> {
    let abandoned = || Error::Engine(EngineError::Abandoned);
    let job = stored_job(pixels.spec(), interleave, Some).ok_or_else(abandoned)?;
    let encoded = Encoded::Staged(Arc::new(Arena::from_vec(pixels.into_vec().ok_or_else(abandoned)?)));
    submit(job, encoded, engine, output, context)
}

/// Copies contiguous pixels on a device to an output in host memory, with their type and shape.
pub(crate) fn fetch_back(
    bytes: &DeviceBytes,
    interleave: Interleave,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<()> {
    let job = stored_job(output.spec(), interleave, Some).ok_or(Error::Engine(EngineError::Abandoned))?;
    submit(job, Encoded::Device(bytes.clone()), engine, output, context)
}

/// Copies contiguous pixels in the engine's memory to these bands of an output, which has the same rows and columns.
pub(crate) fn place_bands(
    pixels: Output,
    bands: &[u32],
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<()> {
    let abandoned = || Error::Engine(EngineError::Abandoned);
    let band_of = |plane| bands.get(plane as usize).copied();
    let job = stored_job(pixels.spec(), Interleave::BandFirst, band_of).ok_or_else(abandoned)?;
    let encoded = match pixels.device_bytes() {
        Some(bytes) => Encoded::Device(bytes.clone()),
        None => Encoded::Staged(Arc::new(Arena::from_vec(pixels.into_vec().ok_or_else(abandoned)?))),
    };
    submit(job, encoded, engine, output, context)
}

/// Fills rectangles of an output, in all its bands, with a sample.
pub(super) fn fill_boxes(
    engine: &dyn Engine,
    output: &Output,
    boxes: (&[(usize, Window)], u32),
    fill: Fill,
    context: &Context,
) -> Result<()> {
    let job = fill_job(output.spec(), boxes, fill)?;
    submit(job, Encoded::Staged(Arc::new(Arena::from_vec(Vec::new()))), engine, output, context)
}

/// Returns the job that fills rectangles of an output of this shape.
pub(super) fn fill_job(
    shape: &OutputSpec,
    (boxes, chips): (&[(usize, Window)], u32),
    fill: Fill,
) -> Result<DecodeJob> {
    let OutputSpec { data_type, bands, rows, columns, .. } = *shape;
    let bands = bands / chips.max(1);
    let samples = u16::try_from(bands).map_err(|_| EngineError::Abandoned)?;
    let mut layout = BlockLayout::stored(data_type, (columns, rows), samples);
    layout.extras.fill = fill;
    let task = |&(chip, Window { column, row, width, height }): &(usize, Window)| BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: None,
        address: BlockAddress::default(),
        placement: Placement {
            rows,
            image_rows: rows,
            block_x: column,
            block_y: row,
            width,
            height,
            out_x: column,
            out_y: row,
            first_band: u32::try_from(chip).unwrap_or(u32::MAX).saturating_mul(bands),
        },
    };
    let tasks: Vec<BlockTask> = boxes.iter().map(task).collect();
    let job = DecodeJob::new(vec![Arc::new(layout)], vec![(0..samples).collect()], tasks);
    Ok(job.map_err(|_| EngineError::Abandoned)?)
}

fn submit(
    job: DecodeJob,
    encoded: Encoded,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<()> {
    // The blocks of the file were counted when they were decoded.
    let context = Context { progress: None, ..context.clone() };
    let report = engine.decode(job, encoded, std::slice::from_ref(output), &context)?;
    match report.faults.is_empty() {
        true => Ok(()),
        // Stored samples of exactly the right length cannot have faults.
        false => Err(Error::Engine(EngineError::Abandoned)),
    }
}

/// Returns a job over contiguous pixels of that shape, from offset 0 on. Each plane goes to its band.
pub(super) fn stored_job(
    shape: &OutputSpec,
    interleave: Interleave,
    band_of: impl Fn(u32) -> Option<u32>,
) -> Option<DecodeJob> {
    let OutputSpec { data_type, bands, rows, columns, .. } = *shape;
    let (samples, planes) = match interleave {
        Interleave::BandFirst => (1, bands),
        Interleave::BandLast => (u16::try_from(bands).ok()?, 1),
    };
    let row_len = u64::from(columns) * u64::from(samples) * data_type.size() as u64;
    let height = u32::try_from(BLOCK_BYTES.checked_div(row_len)?).ok()?.clamp(1, rows.max(1));
    let layout = Arc::new(BlockLayout::stored(data_type, (columns, height), samples));
    let mut tasks = Vec::new();
    for plane in 0..planes {
        let first_band = band_of(plane)?;
        for (row, top) in (0u32..).zip((0..rows).step_by(height as usize)) {
            let rows_here = height.min(rows - top);
            let offset = (u64::from(plane) * u64::from(rows) + u64::from(top)).checked_mul(row_len)?;
            tasks.push(BlockTask {
                source: 0,
                layout: 0,
                selection: 0,
                output: 0,
                span: Some(Span { offset, len: row_len.checked_mul(u64::from(rows_here))? }),
                address: BlockAddress { row, plane, ..BlockAddress::default() },
                placement: Placement {
                    rows: rows_here,
                    image_rows: rows_here,
                    block_x: 0,
                    block_y: 0,
                    width: columns,
                    height: rows_here,
                    out_x: 0,
                    out_y: top,
                    first_band,
                },
            });
        }
    }
    DecodeJob::new(vec![layout], vec![(0..samples).collect()], tasks).ok()
}
