//! Large uncompressed blocks cut into parts: rows of such a block can be read by themselves.
//!
//! Many files are one uncompressed strip. A window of one then reads its own rows and no others, threads share
//! its rows, and nothing has to hold all of it. A part is a task like any other, with the address of its block.

use strile_engine::{BlockLayout, BlockTask, Placement, Span};
use strile_tiff::{Compression, Predictor};

/// Blocks up to this many bytes stay whole; parts of larger ones have about as many.
const PART_BYTES: usize = 128 << 10;

/// Rows of a part, where blocks of this layout are cut.
pub(crate) fn rows_of_part(layout: &BlockLayout) -> Option<u32> {
    let plain = layout.compression == Compression::None
        && layout.predictor == Predictor::None
        && !layout.has_chroma_units();
    let row_len = layout.packed_row_len()?;
    if !plain || layout.decoded_len(layout.height)? <= PART_BYTES {
        return None;
    }
    u32::try_from((PART_BYTES / row_len.max(1)).max(1)).ok()
}

/// The task, or its parts from the top. A block with fewer bytes than its rows need stays whole, so that the
/// fault speaks of the block.
pub(crate) fn parts(task: BlockTask, layout: &BlockLayout) -> Vec<BlockTask> {
    let cut = || {
        let rows = rows_of_part(layout)?;
        let row_len = u64::try_from(layout.packed_row_len()?).ok()?;
        let span = task.span.filter(|span| span.len >= row_len * u64::from(task.placement.rows))?;
        let placement = task.placement;
        let part = |done: u32| {
            let height = rows.min(placement.height - done);
            let first = u64::from(placement.block_y + done);
            let span = Span { offset: span.offset + first * row_len, len: u64::from(height) * row_len };
            let out_y = placement.out_y + done;
            let placement =
                Placement { rows: height, image_rows: height, block_y: 0, height, out_y, ..placement };
            BlockTask { span: Some(span), placement, ..task.clone() }
        };
        Some((0..placement.height).step_by(rows as usize).map(part).collect())
    };
    cut().unwrap_or_else(|| vec![task.clone()])
}
