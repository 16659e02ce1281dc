//! Finds the spans of blocks in block tables, and fetches the needed pieces of large tables.

use super::ranges::coalesce;
use crate::error::{Error, Result};
use crate::file::open::io_error;
use crate::source::{Source, read_ranges};
use std::ops::Range;
use strile_engine::{Cancel, Span};
use strile_tiff::{BlockArray, BlockTable, Image, TiffError};

/// Pieces of a table this close together are fetched as one.
const TABLE_GAP: u64 = 16 << 10;

/// Returns the spans of the blocks whose table indices are in `runs`, in that order; `None` for sparse blocks.
///
/// A span that exceeds the file is cut to its end (at least one byte remains, so that the read fails and names the
/// block). A span that is far larger than the block can need is cut too: a decoder that still finds its whole stream
/// proves that it was right not to reject it.
pub(crate) fn locate(
    source: &dyn Source,
    image: &Image,
    decoded_len: usize,
    runs: &[Range<u64>],
    cancel: &Cancel,
) -> Result<Vec<Option<Span>>> {
    let (offsets, sizes) = table_entries(source, &image.table, runs, cancel)?;
    let largest = (decoded_len as u64).saturating_mul(4).saturating_add(1 << 20);
    let all = source.len();
    let span = |(offset, size): (u64, u64)| {
        if size == 0 {
            return None;
        }
        let inside = all.saturating_sub(offset).max(1);
        Some(Span { offset, len: size.min(inside).min(largest) })
    };
    Ok(offsets.into_iter().zip(sizes).map(span).collect())
}

/// Returns the offsets and sizes that a table states in `runs`, unchanged; 0 past the table's end.
pub(crate) fn table_entries(
    source: &dyn Source,
    table: &BlockTable,
    runs: &[Range<u64>],
    cancel: &Cancel,
) -> Result<(Vec<u64>, Vec<u64>)> {
    let wanted = [&table.offsets, &table.sizes].map(|array| ranges_of(array, runs));
    // Pieces of both arrays in one round of reads.
    let fetched = Fetched::fetch(source, &wanted.concat(), TABLE_GAP, cancel)?;
    let values = |array| fetched.values(array, runs).ok_or_else(|| short_table(source));
    Ok((values(&table.offsets)?, values(&table.sizes)?))
}

/// Returns the byte ranges to fetch for the elements in `runs`; none if the array is in memory.
fn ranges_of(array: &BlockArray, runs: &[Range<u64>]) -> Vec<Range<u64>> {
    match array {
        BlockArray::Here(_) => Vec::new(),
        BlockArray::There(array) => runs.iter().map(|run| array.bytes_of(run.clone())).collect(),
    }
}

/// Merged ranges of the file and their bytes.
pub(crate) struct Fetched {
    merged: Vec<Range<u64>>,
    pieces: Vec<Vec<u8>>,
}

impl Fetched {
    /// Fetches ranges of a source in one round of reads, and merges those within `gap` of each other.
    pub(crate) fn fetch(
        source: &dyn Source,
        ranges: &[Range<u64>],
        gap: u64,
        cancel: &Cancel,
    ) -> Result<Self> {
        let merged = coalesce(ranges, gap);
        let pieces = read_ranges(source, &merged, cancel).map_err(|error| io_error(source, error))?;
        Ok(Self { merged, pieces })
    }

    /// Returns the elements in `runs`; 0 for those past the end: such blocks are not stored.
    fn values(&self, array: &BlockArray, runs: &[Range<u64>]) -> Option<Vec<u64>> {
        match array {
            BlockArray::Here(values) => {
                let at = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
                let mut found = Vec::new();
                for run in runs {
                    let end = found.len().checked_add(usize::try_from(run.end - run.start).ok()?)?;
                    let stored = at(run.start).min(values.len())..at(run.end).min(values.len());
                    found.extend_from_slice(values.get(stored).unwrap_or_default());
                    found.resize(end, 0);
                }
                Some(found)
            }
            BlockArray::There(array) => {
                let mut values = Vec::new();
                for run in runs {
                    let len = values.len().checked_add(usize::try_from(run.end - run.start).ok()?)?;
                    values.extend(array.decode(self.bytes(&array.bytes_of(run.clone()))?)?);
                    values.resize(len, 0);
                }
                Some(values)
            }
        }
    }

    /// Returns the bytes of a requested range.
    pub(crate) fn bytes(&self, range: &Range<u64>) -> Option<&[u8]> {
        if range.is_empty() {
            return Some(&[]);
        }
        let at = self.merged.partition_point(|piece| piece.start <= range.start).checked_sub(1)?;
        let (piece, bytes) = (self.merged.get(at)?, self.pieces.get(at)?);
        let start = usize::try_from(range.start - piece.start).ok()?;
        bytes.get(start..start.checked_add(usize::try_from(range.end - range.start).ok()?)?)
    }
}

fn short_table(source: &dyn Source) -> Error {
    let error = TiffError::Invalid {
        place: "table of block offsets".into(),
        problem: "shorter than the image needs".into(),
    };
    Error::File { file: source.name().to_owned(), error }
}
