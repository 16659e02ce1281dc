//! The images of a file as a validator sees them, and a bounded walk over their block tables.

use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::open::OpenFile;
use crate::read::table_entries;
use std::ops::Range;
use strile_engine::{Cancel, Context};
use strile_tiff::{Image, Origin, TiffError};

/// An image and its file.
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub(super) file: &'a OpenFile,
    pub(super) image: &'a Image,
}

/// One resolution.
pub(super) struct Level<'a> {
    /// Name for messages: `full image`, `level 1`.
    pub(super) name: String,
    pub(super) pixels: Stored<'a>,
    /// Its mask, if that is in the same file.
    pub(super) mask: Option<Stored<'a>>,
}

impl Stored<'_> {
    /// Returns the offset of its directory.
    pub(super) fn directory_offset(&self) -> u64 {
        self.file.tiff.directories.get(self.image.directory).map_or(0, |directory| directory.offset)
    }

    /// Returns the blocks of one plane within the table. Blocks beyond its end are not stored.
    pub(super) fn blocks_of_plane(&self, plane: u64) -> Range<u64> {
        let (grid, table) = (&self.image.grid, &self.image.table);
        let per_plane = u64::from(grid.across) * u64::from(grid.down);
        let stated = table.offsets.count().min(table.sizes.count());
        let start = plane.saturating_mul(per_plane);
        start..start.saturating_add(per_plane).min(stated).max(start)
    }

    /// Returns column and row of a block by its index in the table.
    pub(super) fn position(&self, index: u64) -> (u64, u64) {
        let grid = &self.image.grid;
        let in_plane = index % (u64::from(grid.across) * u64::from(grid.down));
        (in_plane % u64::from(grid.across), in_plane / u64::from(grid.across))
    }
}

/// Returns the first page's full image and overviews. As in GDAL, an image in a SubIFD is an overview only if it is
/// marked as reduced.
pub(super) fn levels_of(dataset: &Dataset) -> Vec<Level<'_>> {
    let Some(page) = dataset.pages().first() else { return Vec::new() };
    let chained = page.levels.iter().filter(|at| {
        let file = dataset.file(at.file);
        let directory = file.and_then(|file| file.tiff.directories.get(at.image.directory));
        at.image.subfile.reduced
            || directory.is_some_and(|directory| matches!(directory.origin, Origin::Chain(_)))
    });
    let levels = chained.enumerate().filter_map(|(index, at)| {
        let name = match index {
            0 => "full image".to_owned(),
            level => format!("level {level}"),
        };
        let mask = at.mask.as_ref().filter(|(file, _)| *file == at.file);
        let stored = |image| Some(Stored { file: dataset.file(at.file)?, image });
        Some(Level {
            name,
            pixels: stored(at.image.as_ref())?,
            mask: mask.and_then(|(_, mask)| stored(mask.as_ref())),
        })
    });
    levels.collect()
}

/// Maximum number of entries fetched at once.
const LARGEST_CHUNK: u64 = 16 << 10;
/// Size of the first fetch of a table: the first block is usually stored.
const FIRST_CHUNK: u64 = 64;

/// Walks tables, in chunks and within a bound: tables of a valid file do not overlap, so all their entries together are
/// fewer than the bytes of the file.
pub(super) struct Walk<'a> {
    context: &'a Context,
    file: &'a str,
    left: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(dataset: &'a Dataset, context: &'a Context) -> Self {
        let file_len = dataset.tiff().map_or(0, |tiff| tiff.file_len);
        Self { context, file: dataset.name(), left: file_len.max(1 << 20) }
    }

    /// Returns ranges that cover `blocks`, small ones first.
    pub(super) fn chunks(blocks: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        Self::chunks_of_planes(blocks, 1)
    }

    /// Returns ranges that cover `blocks`, small enough to hold those of all planes at once.
    pub(super) fn chunks_of_planes(blocks: Range<u64>, planes: u64) -> impl Iterator<Item = Range<u64>> {
        let largest = (LARGEST_CHUNK / planes.max(1)).max(1);
        let mut size = FIRST_CHUNK.min(largest);
        let mut at = blocks.start;
        std::iter::from_fn(move || {
            let chunk = at..at.saturating_add(size).min(blocks.end);
            at = chunk.end;
            size = (size * 4).min(largest);
            (!chunk.is_empty()).then_some(chunk)
        })
    }

    /// Returns the token that cancels the walk.
    pub(super) fn cancel(&self) -> &Cancel {
        &self.context.cancel
    }

    /// Returns offset and size of blocks, as stated by the table.
    pub(super) fn entries(&mut self, stored: &Stored<'_>, blocks: &Range<u64>) -> Result<Vec<(u64, u64)>> {
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let visits = blocks.end.saturating_sub(blocks.start);
        self.left = self.left.checked_sub(visits).ok_or_else(|| {
            let problem = "more blocks than the file has bytes; tables overlap".into();
            let error = TiffError::Invalid { place: "tables of block offsets".into(), problem };
            Error::File { file: self.file.to_owned(), error }
        })?;
        let runs = std::slice::from_ref(blocks);
        let source = stored.file.source.as_ref();
        let (offsets, sizes) = table_entries(source, &stored.image.table, runs, &self.context.cancel)?;
        Ok(offsets.into_iter().zip(sizes).collect())
    }

    /// Returns the offset of the first block of the first plane that is stored and lies within the first `columns` and
    /// `rows` of blocks.
    pub(super) fn first_block(
        &mut self,
        stored: &Stored<'_>,
        columns: u64,
        rows: u64,
    ) -> Result<Option<u64>> {
        let across = u64::from(stored.image.grid.across);
        let mut blocks = stored.blocks_of_plane(0);
        blocks.end = blocks.end.min(rows.saturating_mul(across));
        for chunk in Self::chunks(blocks) {
            let entries = self.entries(stored, &chunk)?;
            let found = chunk.zip(entries).find(|(index, (offset, size))| {
                *size != 0 && *offset != 0 && stored.position(*index).0 < columns
            });
            if let Some((_, (offset, _))) = found {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_and_cover() {
        let chunks: Vec<Range<u64>> = Walk::chunks(10..20_000).collect();
        assert_eq!(chunks[..3], [10..74, 74..330, 330..1354]);
        assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(chunks.last().map(|chunk| chunk.end), Some(20_000));
        assert_eq!(Walk::chunks(5..5).count(), 0);
    }
}
