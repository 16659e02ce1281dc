//! Encoding of one block, from pixels to bytes.
//!
//! The necessary steps are determined once per layout (`Recipe`). Then each row is cut out (`cut`), packed (`pack`) and
//! differenced (`difference`) while it is in the L1 cache, and the codec takes the whole block. Rows below the image
//! are packed once and repeated, since predictors restart with every row.

use super::cut::{Cutter, NEAR};
use super::difference::Difference;
use super::pack::Packer;
use crate::codec::{self, StoredBlock};
use crate::pool::{RowScratch, Scratch, sized};
use strile_engine::{
    BlockFault, BlockLayout, DecodedForm, EncodeLayout, EncodeTask, FaultKind, Fill, SharedPixels,
};

/// A block to encode and its source pixels; `check` verified that they fit.
pub(super) struct Source<'a> {
    pub task: &'a EncodeTask,
    pub layout: &'a EncodeLayout,
    pub pixels: &'a SharedPixels,
}

/// How samples become the rows that a codec takes.
pub(super) struct Recipe {
    packer: Packer,
    difference: Difference,
    samples: usize,
    /// Bytes of a row in the codec's form.
    row_len: usize,
}

impl Recipe {
    /// Returns the recipe for a layout; the error says why there is none.
    pub(super) fn of(layout: &BlockLayout) -> Result<Self, String> {
        let row_len = match layout.decoded_form() {
            DecodedForm::Samples => layout.samples_len(1),
            DecodedForm::Packed => layout.packed_row_len(),
        };
        Ok(Self {
            packer: Packer::of(layout),
            difference: Difference::of(layout)?,
            samples: usize::from(layout.samples),
            row_len: row_len
                .ok_or_else(|| format!("a row of {} pixels is larger than memory", layout.width))?,
        })
    }

    /// Converts one row; returns a fault if the stored sample cannot represent a value.
    fn row(&self, samples: &[u8], dst: &mut [u8], scratch: &mut RowScratch) -> Result<(), BlockFault> {
        let RowScratch { packed, bytes, .. } = scratch;
        if self.packer == Packer::Same {
            return self.difference.row(samples, dst, self.samples, bytes).ok_or_else(no_memory);
        }
        if self.difference == Difference::Nothing {
            return self.packer.row(samples, dst);
        }
        let native = sized(packed, dst.len()).ok_or_else(no_memory)?;
        self.packer.row(samples, native)?;
        self.difference.row(native, dst, self.samples, bytes).ok_or_else(no_memory)
    }
}

/// Returns the scratch bytes that a block needs on one thread: packed and encoded bytes, and a few rows.
pub(super) fn scratch_len(layout: &EncodeLayout, rows: u32) -> u64 {
    let bytes = |len: Option<usize>| len.map_or(u64::MAX, |len| len as u64);
    let block = &layout.block;
    let packed = bytes(block.decoded_len(rows));
    let row = bytes(block.samples_len(1)).saturating_add(bytes(block.packed_row_len()).saturating_mul(2));
    packed.saturating_add(codec::bound(layout, rows)).saturating_add(row)
}

/// Appends the encoded block to `out`; returns `false` if it is sparse and nothing was appended. After a fault the
/// caller must truncate what was appended.
pub(super) fn encode(
    source: &Source<'_>,
    recipe: &Recipe,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<bool, BlockFault> {
    let (block, rows) = (&*source.layout.block, source.task.rows);
    let cutter = Cutter::new(source);
    if is_left_out(&cutter, source, scratch)? {
        return Ok(false);
    }
    let len = block.decoded_len(rows).ok_or_else(no_memory)?;
    let Scratch { workspace, decoded, rows: row_scratch, .. } = scratch;
    let packed = sized(decoded, len).ok_or_else(no_memory)?;
    pack(&cutter, recipe, packed, row_scratch)?;
    codec::encode(packed, out, StoredBlock { layout: block, rows }, &source.layout.params, workspace)?;
    Ok(true)
}

/// Writes an uncompressed block to its place; returns `false` if it is sparse and nothing was written.
pub(super) fn store(
    source: &Source<'_>,
    recipe: &Recipe,
    scratch: &mut Scratch,
    place: &mut [u8],
) -> Result<bool, BlockFault> {
    let cutter = Cutter::new(source);
    if is_left_out(&cutter, source, scratch)? {
        return Ok(false);
    }
    pack(&cutter, recipe, place, &mut scratch.rows)?;
    Ok(true)
}

/// Returns whether a block is sparse and sparse blocks are omitted.
fn is_left_out(cutter: &Cutter<'_>, source: &Source<'_>, scratch: &mut Scratch) -> Result<bool, BlockFault> {
    source.layout.sparse.map_or(Ok(false), |fill| is_sparse(cutter, fill, &mut scratch.rows))
}

fn no_memory() -> BlockFault {
    BlockFault { kind: FaultKind::OutOfMemory, found: 0, expected: 0, detail: "".into() }
}

/// Returns whether all samples equal `fill`, bit for bit.
fn is_sparse(cutter: &Cutter<'_>, fill: Fill, scratch: &mut RowScratch) -> Result<bool, BlockFault> {
    for y in 0..cutter.image_rows() {
        let row = cutter.row(y, &mut scratch.samples).ok_or_else(no_memory)?;
        if !cutter.all_equal(row, fill) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Fills `dst` with the rows of the block in the codec's form.
fn pack(
    cutter: &Cutter<'_>,
    recipe: &Recipe,
    dst: &mut [u8],
    scratch: &mut RowScratch,
) -> Result<(), BlockFault> {
    let mut line = std::mem::take(&mut scratch.samples);
    let mut result = Ok(());
    for (y, out) in (0..cutter.image_rows()).zip(dst.chunks_exact_mut(recipe.row_len.max(1))) {
        let row = cutter.row(y, &mut line).ok_or_else(no_memory);
        result = row.and_then(|row| recipe.row(row, out, scratch));
        if result.is_err() {
            break;
        }
    }
    scratch.samples = line;
    result?;
    // Padding rows near the image repeat the last packed row, those further down repeat the corner.
    let row_len = recipe.row_len.max(1);
    let rows = cutter.image_rows() as usize;
    let near = cutter.image_rows().next_multiple_of(NEAR) as usize;
    let (above, below) = dst.split_at_mut_checked(rows * row_len).ok_or_else(no_memory)?;
    let (close, far) = below.split_at_mut(below.len().min((near - rows) * row_len));
    if let Some(last) = above.rchunks_exact(row_len).next() {
        close.chunks_exact_mut(row_len).for_each(|row| row.copy_from_slice(last));
    }
    if let Some((first, others)) = far.split_at_mut_checked(row_len) {
        let mut line = std::mem::take(&mut scratch.samples);
        let row = cutter.far_row(&mut line).ok_or_else(no_memory);
        let result = row.and_then(|row| recipe.row(row, first, scratch));
        scratch.samples = line;
        result?;
        others.chunks_exact_mut(row_len).for_each(|row| row.copy_from_slice(first));
    }
    Ok(())
}
