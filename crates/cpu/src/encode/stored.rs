//! Uncompressed blocks, written directly to their places in the slab: their sizes are known in advance, so nothing is
//! joined afterwards.

use super::Outcome;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use strile_engine::memory::{NoMemory, try_zeroed};
use strile_engine::{Arena, ArenaParts, BlockFault, EncodeJob, EngineError, Slot};
use strile_tiff::Compression;

/// Consecutive places for the blocks of a job.
pub(super) struct Places {
    parts: ArenaParts,
    slots: Vec<Place>,
}

struct Place {
    /// Taken by the worker that writes the block.
    slot: Mutex<Option<Slot>>,
    range: Range<usize>,
}

impl Places {
    /// Returns the places of a job; `None` if blocks are compressed, since their sizes are unknown.
    pub(super) fn of(job: &EncodeJob) -> Result<Option<Self>, EngineError> {
        let len = |task: &strile_engine::EncodeTask| {
            let layout = &job.layouts.get(task.layout as usize)?.block;
            layout.decoded_len(task.rows).filter(|_| layout.compression == Compression::None)
        };
        let Some(lens) = job.tasks.iter().map(len).collect::<Option<Vec<usize>>>() else { return Ok(None) };
        let all = lens.iter().copied().fold(0, usize::saturating_add);
        let purpose = "blocks that are stored as they are";
        let none = || EngineError::NoMemory(NoMemory { bytes: all as u64, purpose });
        let slab = Arena::from_vec(try_zeroed(all, purpose)?);
        let (parts, slots) = slab.split(&lens).ok_or_else(none)?;
        let place = |start: &mut usize, slot: Slot| {
            let range = *start..*start + slot.len();
            *start = range.end;
            Some(Place { slot: Mutex::new(Some(slot)), range })
        };
        Ok(Some(Self { parts, slots: slots.into_iter().scan(0, place).collect() }))
    }

    /// Calls `store` to write a block to its place; `store` returns whether it did.
    pub(super) fn fill(
        &self,
        index: usize,
        store: impl FnOnce(&mut [u8]) -> Result<bool, BlockFault>,
    ) -> Outcome {
        let taken = self.slots.get(index).and_then(|place| {
            let slot = place.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            Some((slot?, place.range.clone()))
        });
        // Each block is written once.
        let Some((mut slot, range)) = taken else { return Ok(None) };
        store(&mut slot).map(|stored| stored.then_some(range))
    }

    /// Returns the slab; `None` if a lost worker still holds one of its places.
    pub(super) fn rejoin(self) -> Option<Arena> {
        let Self { parts, slots } = self;
        drop(slots);
        parts.rejoin().ok()
    }
}
