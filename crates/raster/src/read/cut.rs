//! Tasks cut into batches that fit a staging arena.
//!
//! A batch is whole rows of blocks, or a piece of one row, so that the batches of one window write boxes that do not
//! overlap, and two of them can be in flight.

use strile_engine::BlockTask;

/// Cuts `tasks`, sorted by file, block row and column, into runs of at most `limit` encoded bytes if possible. All planes of
/// one block position stay together, and all windows of one block.
pub(crate) fn batches(tasks: Vec<BlockTask>, limit: u64) -> Vec<Vec<BlockTask>> {
    let mut done: Vec<Vec<BlockTask>> = Vec::new();
    let (mut batch, mut batch_bytes): (Vec<BlockTask>, u64) = (Vec::new(), 0);
    for row in tasks.chunk_by(|a, b| (a.source, a.address.row) == (b.source, b.address.row)) {
        let row_bytes = bytes_of(row);
        if !batch.is_empty() && batch_bytes.saturating_add(row_bytes) > limit {
            done.push(std::mem::take(&mut batch));
            batch_bytes = 0;
        }
        if row_bytes <= limit {
            batch.extend_from_slice(row);
            batch_bytes += row_bytes;
            continue;
        }
        for position in row.chunk_by(|a, b| a.address.column == b.address.column) {
            let bytes = bytes_of(position);
            if !batch.is_empty() && batch_bytes.saturating_add(bytes) > limit {
                done.push(std::mem::take(&mut batch));
                batch_bytes = 0;
            }
            batch.extend_from_slice(position);
            batch_bytes = batch_bytes.saturating_add(bytes);
        }
        // The next row must not join a piece of this one: their box would cover the pieces before it.
        done.push(std::mem::take(&mut batch));
        batch_bytes = 0;
    }
    if !batch.is_empty() {
        done.push(batch);
    }
    done
}

fn bytes_of(tasks: &[BlockTask]) -> u64 {
    tasks.iter().filter_map(|task| task.span).fold(0, |sum, span| sum.saturating_add(span.len))
}
