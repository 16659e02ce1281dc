//! Cuts tasks into batches that fit into a staging arena.
//!
//! A batch is whole rows of blocks, or a piece of one row, so that batches of one window write disjoint boxes, and two
//! of them can be in flight.

use std::collections::HashMap;
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

/// Number of tasks per row of blocks in a batch.
pub(crate) struct Rows(HashMap<(u32, u32), usize>);

impl Rows {
    pub(crate) fn of(batch: &[BlockTask]) -> Self {
        let mut rows = HashMap::new();
        for row in batch.chunk_by(|a, b| key(a) == key(b)) {
            *rows.entry(row.first().map(key).unwrap_or_default()).or_insert(0) += row.len();
        }
        Self(rows)
    }

    /// Cuts some tasks of the batch into runs of whole rows and pieces of one row. Their boxes do not overlap those of
    /// others.
    pub(crate) fn cut(&self, tasks: Vec<BlockTask>) -> Vec<Vec<BlockTask>> {
        let (mut runs, mut after_whole): (Vec<Vec<BlockTask>>, bool) = (Vec::new(), false);
        for row in tasks.chunk_by(|a, b| key(a) == key(b)) {
            let whole = row.first().is_some_and(|first| self.0.get(&key(first)) == Some(&row.len()));
            match runs.last_mut().filter(|_| whole && after_whole) {
                Some(run) => run.extend_from_slice(row),
                None => runs.push(row.to_vec()),
            }
            after_whole = whole;
        }
        runs
    }
}

/// Returns the file and the row of a block.
fn key(task: &BlockTask) -> (u32, u32) {
    (task.source, task.address.row)
}

fn bytes_of(tasks: &[BlockTask]) -> u64 {
    tasks.iter().filter_map(|task| task.span).fold(0, |sum, span| sum.saturating_add(span.len))
}
