//! Positions of the encoded blocks of a level: in the sink or in the spool, and finally in the file.
//!
//! Blocks are numbered in the order of the file: by place (row, then column), and per place the planes, then the mask.
//! A number does not depend on when its block arrived.

use super::plan::LevelPlan;
use strile_engine::BlockAddress;
use strile_tiff::BlockSpans;

/// Position of a block that has not arrived.
const MISSING: u64 = u64::MAX;

/// The blocks of one level.
pub(crate) struct LevelIndex {
    across: u32,
    planes: usize,
    /// Number of blocks per place: planes, and the mask's.
    items: usize,
    /// Start of each block's record.
    positions: Vec<u64>,
    /// Bytes of each block; 0 for a sparse one.
    sizes: Vec<u32>,
}

impl LevelIndex {
    /// Creates the index; `None` for a level that is not in the file.
    pub(crate) fn new(plan: &LevelPlan) -> Option<Self> {
        let planes = usize::from(plan.grid.planes);
        let items = planes + usize::from(plan.mask.is_some());
        let places = u64::from(plan.grid.across) * u64::from(plan.grid.down);
        let count = usize::try_from(places.saturating_mul(items as u64)).unwrap_or(usize::MAX);
        plan.stored.then(|| Self {
            across: plan.grid.across,
            planes,
            items,
            positions: vec![MISSING; count],
            sizes: vec![0; count],
        })
    }

    /// Returns the bytes of memory for the index of a level.
    pub(crate) fn cost(plan: &LevelPlan) -> u64 {
        if !plan.stored {
            return 0;
        }
        let items = u64::from(plan.grid.planes) + u64::from(plan.mask.is_some());
        // Positions and sizes here, offsets and sizes in the file, and both again while they are written.
        (u64::from(plan.grid.across) * u64::from(plan.grid.down)).saturating_mul(items).saturating_mul(36)
    }

    /// Returns the number of a block.
    pub(crate) fn number(&self, address: BlockAddress, is_mask: bool) -> u64 {
        let place = u64::from(address.row) * u64::from(self.across) + u64::from(address.column);
        place * self.items as u64 + if is_mask { self.planes as u64 } else { u64::from(address.plane) }
    }

    /// Records the start of a block's record, and the bytes of the block.
    pub(crate) fn set(&mut self, number: u64, position: u64, size: u32) -> Option<()> {
        let at = usize::try_from(number).ok()?;
        *self.positions.get_mut(at)? = position;
        *self.sizes.get_mut(at)? = size;
        Some(())
    }

    /// Returns the records of stored blocks, in the order of the file: start, and bytes of the block.
    pub(crate) fn records(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let stored = self.positions.iter().zip(&self.sizes).map(|(&position, &size)| (position, size));
        stored.filter(|&(_, size)| size > 0)
    }

    /// Returns the tables of the image and of its mask. `start_of` returns the start of each record in the order of the
    /// file; its block begins `before` bytes later.
    pub(crate) fn spans(
        &self,
        before: u64,
        mut start_of: impl FnMut(u64, u32) -> u64,
    ) -> (BlockSpans, BlockSpans) {
        let (planes, items) = (self.planes, self.items);
        let places = self.sizes.len().checked_div(items).unwrap_or(0);
        let table = |blocks: usize| BlockSpans { offsets: vec![0; blocks], sizes: vec![0; blocks] };
        let mut image = table(places * planes);
        let mut mask = table(if items > planes { places } else { 0 });
        for (number, (&position, &size)) in self.positions.iter().zip(&self.sizes).enumerate() {
            if size == 0 {
                continue;
            }
            let (place, item) = (number / items, number % items);
            let (into, at) =
                if item < planes { (&mut image, item * places + place) } else { (&mut mask, place) };
            if let (Some(offset), Some(len)) = (into.offsets.get_mut(at), into.sizes.get_mut(at)) {
                *offset = start_of(position, size) + before;
                *len = size;
            }
        }
        (image, mask)
    }

    /// Returns whether each stored block of the image is followed by one of the mask, and no other mask block is
    /// stored.
    pub(crate) fn masks_follow(&self) -> bool {
        let items = self.items;
        let stored = |size: Option<&u32>| size.is_some_and(|&size| size > 0);
        self.masks_may_follow()
            && self.sizes.chunks(items).all(|place| stored(place.first()) == stored(place.get(1)))
    }

    /// Returns whether each block of the image is followed by one of the mask, if none is sparse.
    pub(crate) fn masks_may_follow(&self) -> bool {
        (self.planes, self.items) == (1, 2)
    }

    /// Returns the number of blocks.
    pub(crate) fn count(&self) -> u64 {
        self.positions.len() as u64
    }

    /// Returns the number of blocks that have not arrived.
    pub(crate) fn missing(&self) -> usize {
        self.positions.iter().filter(|&&position| position == MISSING).count()
    }
}

#[cfg(test)]
impl LevelIndex {
    fn bare(across: u32, places: usize, planes: usize, mask: bool) -> Self {
        let items = planes + usize::from(mask);
        let count = places * items;
        Self { across, planes, items, positions: vec![MISSING; count], sizes: vec![0; count] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two planes and a mask at each of two places; one block is sparse. The table is by plane, the file by place.
    #[test]
    fn tables_are_by_plane_and_the_file_is_by_place() {
        let mut index = LevelIndex::bare(2, 2, 2, true);
        let at = |column, plane| BlockAddress { column, plane, ..BlockAddress::default() };
        // They arrive in another order than that of the file.
        for (column, plane, mask, position, size) in [
            (1, 0, false, 0, 10),
            (1, 1, false, 10, 20),
            (1, 0, true, 30, 5),
            (0, 0, false, 35, 7),
            (0, 1, false, 0, 0),
        ] {
            index.set(index.number(at(column, plane), mask), position, size).unwrap();
        }
        assert_eq!(index.missing(), 1);
        index.set(index.number(at(0, 0), true), 42, 3).unwrap();
        assert_eq!(index.missing(), 0);
        assert_eq!(index.records().collect::<Vec<_>>(), [(35, 7), (42, 3), (0, 10), (10, 20), (30, 5)]);
        let mut next = 100;
        let (image, mask) = index.spans(4, |_, size| {
            let start = next;
            next += u64::from(size) + 8;
            start
        });
        assert_eq!(image.offsets, [104, 130, 0, 148]);
        assert_eq!(image.sizes, [7, 10, 0, 20]);
        assert_eq!(mask.offsets, [119, 176]);
        assert_eq!(mask.sizes, [3, 5]);
    }

    /// A reader that trusts the promise takes the bytes behind a block of the image for the mask.
    #[test]
    fn masks_follow_where_both_or_none_are_stored() {
        let mut index = LevelIndex::bare(2, 2, 1, true);
        let at = |column| BlockAddress { column, ..BlockAddress::default() };
        for (column, mask, position, size) in
            [(0, false, 0, 9), (0, true, 9, 2), (1, false, 0, 0), (1, true, 0, 0)]
        {
            index.set(index.number(at(column), mask), position, size).unwrap();
        }
        assert!(index.masks_follow());
        index.set(index.number(at(0), true), 0, 0).unwrap();
        assert!(!index.masks_follow(), "the mask of a stored block is sparse");
        index.set(index.number(at(0), true), 9, 2).unwrap();
        index.set(index.number(at(1), true), 11, 2).unwrap();
        assert!(!index.masks_follow(), "a mask without its block");
        assert!(!LevelIndex::bare(1, 1, 1, false).masks_follow());
        assert!(!LevelIndex::bare(1, 1, 2, true).masks_follow(), "planes are read one by one");
    }
}
