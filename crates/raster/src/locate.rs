//! Where blocks are: spans out of block tables, fetching the pieces of large tables that are needed.

use crate::error::{Error, Result};
use crate::open::io_error;
use crate::plan::coalesce;
use crate::source::{Source, read_ranges};
use std::ops::Range;
use strile_engine::Span;
use strile_tiff::{BlockArray, FileArray, Image, TiffError};

/// Pieces of a table this close together are fetched as one.
const TABLE_GAP: u64 = 16 << 10;

/// The spans of the blocks whose table indices lie in `runs`, in that order; `None` for sparse blocks.
///
/// A span that leaves the file is cut to what is there (at least one byte is left to ask for, so that the
/// read fails and names the block), and one far larger than the block can need is cut too: a decoder that
/// still finds its whole stream was right not to be refused.
pub(crate) fn locate(
    source: &dyn Source,
    image: &Image,
    decoded_len: usize,
    runs: &[Range<u64>],
) -> Result<Vec<Option<Span>>> {
    let offsets = values(source, &image.table.offsets, runs)?;
    let sizes = values(source, &image.table.sizes, runs)?;
    let largest = (decoded_len as u64).saturating_mul(4).saturating_add(1 << 20);
    let span = |(offset, size): (u64, u64)| {
        if size == 0 {
            return None;
        }
        let inside = source.len().saturating_sub(offset).max(1);
        Some(Span { offset, len: size.min(inside).min(largest) })
    };
    Ok(offsets.into_iter().zip(sizes).map(span).collect())
}

fn values(source: &dyn Source, array: &BlockArray, runs: &[Range<u64>]) -> Result<Vec<u64>> {
    match array {
        BlockArray::Here(values) => {
            let value = |index: u64| usize::try_from(index).ok().and_then(|at| values.get(at)).copied();
            Ok(runs.iter().flat_map(Clone::clone).map(|index| value(index).unwrap_or(0)).collect())
        }
        BlockArray::There(array) => fetch(source, array, runs),
    }
}

fn fetch(source: &dyn Source, array: &FileArray, runs: &[Range<u64>]) -> Result<Vec<u64>> {
    let wanted: Vec<Range<u64>> = runs.iter().map(|run| array.bytes_of(run.clone())).collect();
    let merged = coalesce(&wanted, TABLE_GAP);
    let pieces = read_ranges(source, &merged).map_err(|error| io_error(source, error))?;
    let mut values = Vec::new();
    for (run, range) in runs.iter().zip(&wanted) {
        let before = values.len() as u64;
        let at = merged.partition_point(|piece| piece.start <= range.start).checked_sub(1);
        let bytes = if range.is_empty() { Some(&[][..]) } else { None };
        let bytes = bytes.or_else(|| {
            let at = at?;
            let (piece, bytes) = (merged.get(at)?, pieces.get(at)?);
            let start = usize::try_from(range.start - piece.start).ok()?;
            bytes.get(start..start.checked_add(usize::try_from(range.end - range.start).ok()?)?)
        });
        let decoded = bytes.and_then(|bytes| array.decode(bytes));
        values.extend(decoded.ok_or_else(|| short_table(source))?);
        // Blocks past the end of the table are not stored.
        let wanted = usize::try_from(before + (run.end - run.start)).map_err(|_| short_table(source))?;
        values.resize(wanted, 0);
    }
    Ok(values)
}

fn short_table(source: &dyn Source) -> Error {
    let error = TiffError::Invalid {
        place: "table of block offsets".into(),
        problem: "shorter than the image needs".into(),
    };
    Error::File { file: source.name().to_owned(), error }
}
