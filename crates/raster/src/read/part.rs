//! Cuts large uncompressed blocks into parts: rows of such a block can be read separately.
//!
//! Many files are one uncompressed strip. A window of such a file reads only its own rows, threads share its rows, and
//! it never has to be in memory as a whole. A part is a task like any other, with the address of its block.

use strile_engine::{BlockLayout, BlockTask, Placement, Span};
use strile_tiff::{Compression, Predictor};

/// Blocks up to this many bytes are not cut; parts of larger ones have about as many.
const PART_BYTES: usize = 128 << 10;

/// Returns the rows per part, if blocks of this layout are cut.
pub(crate) fn rows_of_part(layout: &BlockLayout) -> Option<u32> {
    let plain = layout.compression == Compression::None
        && layout.predictor == Predictor::None
        && !layout.has_chroma_units();
    if !plain {
        return None;
    }
    let row_len = layout.packed_row_len()?;
    if layout.decoded_len(layout.height)? <= PART_BYTES {
        return None;
    }
    u32::try_from((PART_BYTES / row_len.max(1)).max(1)).ok()
}

/// Passes the task, or its parts from the top, to `give`. A block with fewer bytes than its rows need is not cut, so
/// that the fault is that of the block.
pub(crate) fn parts(task: BlockTask, layout: &BlockLayout, give: &mut impl FnMut(BlockTask)) {
    let cut = || {
        let rows = rows_of_part(layout)?;
        let row_len = u64::try_from(layout.packed_row_len()?).ok()?;
        let span = task.span.filter(|span| span.len >= row_len * u64::from(task.placement.rows))?;
        Some((rows, row_len, span))
    };
    let Some((rows, row_len, span)) = cut() else { return give(task) };
    let placement = task.placement;
    for done in (0..placement.height).step_by(rows as usize) {
        let height = rows.min(placement.height - done);
        let first = u64::from(placement.block_y + done);
        let span = Span { offset: span.offset + first * row_len, len: u64::from(height) * row_len };
        let out_y = placement.out_y + done;
        let placement =
            Placement { rows: height, image_rows: height, block_y: 0, height, out_y, ..placement };
        give(BlockTask { span: Some(span), placement, ..task.clone() });
    }
}
