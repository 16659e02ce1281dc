//! Stored sizes of the blocks of a level.

use super::dataset::Dataset;
use crate::error::Result;
use crate::options::Place;
use crate::read::table_entries;
use std::ops::Range;
use strile_engine::Cancel;

impl Dataset {
    /// Returns the stored bytes of the blocks in these columns and rows of blocks, row by row; the sizes of separate
    /// planes are added up. A block that is not stored has size 0. Of `place`, only the page and the level count.
    ///
    /// # Errors
    /// If there is no such page, level or block, or the table of blocks cannot be read.
    pub fn block_sizes(
        &self,
        place: &Place,
        columns: Range<u32>,
        rows: Range<u32>,
        cancel: &Cancel,
    ) -> Result<Vec<u64>> {
        let target = self.target(&place.all())?;
        let grid = target.image.grid;
        let is_inside = |part: &Range<u32>, all: u32| part.start < part.end && part.end <= all;
        if !is_inside(&columns, grid.across) || !is_inside(&rows, grid.down) {
            return Err(self.refuse(format!(
                "expected blocks among {} columns and {} rows, got columns {}..{} and rows {}..{}",
                grid.across, grid.down, columns.start, columns.end, rows.start, rows.end
            )));
        }
        let (across, down) = (u64::from(grid.across), u64::from(grid.down));
        let run = |plane: u64, row: u32| {
            let first = (plane * down + u64::from(row)) * across;
            first + u64::from(columns.start)..first + u64::from(columns.end)
        };
        let planes = u64::from(grid.planes);
        let runs: Vec<Range<u64>> = (0..planes)
            .flat_map(|plane| rows.clone().map(move |row| (plane, row)))
            .map(|(p, r)| run(p, r))
            .collect();
        let (_, sizes) = table_entries(target.file.source.as_ref(), &target.image.table, &runs, cancel)?;
        let one_plane = columns.len().saturating_mul(rows.len()).max(1);
        let mut sums = vec![0_u64; one_plane];
        for plane in sizes.chunks(one_plane) {
            for (sum, size) in sums.iter_mut().zip(plane) {
                *sum = sum.saturating_add(*size);
            }
        }
        Ok(sums)
    }
}
