//! Resources that every job needs and that are costly to create, kept between jobs: streams, pinned memory, and memory
//! to read into.

#![expect(unsafe_code, reason = "pinned memory as an arena")]

use crate::decode::picture::Buffers;
use crate::decode::plan::FLIGHTS;
use crate::device::Device;
use crate::driver::DriverError;
use crate::memory::Pinned;
use crate::stream::Stream;
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::Arena;

/// Streams of one job: one for copies, and one per flight.
pub(crate) struct Lane {
    pub(crate) copies: Stream,
    pub(crate) flights: Vec<Stream>,
}

impl Lane {
    /// Waits for all work queued on its streams and returns the first error.
    pub(crate) fn synchronize(&self) -> Result<(), DriverError> {
        let mut ended = Ok(());
        for stream in self.flights.iter().chain([&self.copies]) {
            let this = stream.synchronize();
            ended = ended.and(this);
        }
        ended
    }
}

/// Lanes and memory that no job is using.
#[derive(Default)]
pub(crate) struct Spare {
    lanes: Mutex<Vec<Lane>>,
    pinned: Mutex<Vec<Pinned>>,
    buffers: Arc<Buffers>,
}

/// Most pieces of pinned memory that are kept, and their total bytes.
const KEPT_PIECES: usize = 64;
const KEPT_BYTES: usize = 512 << 20;
/// Pieces larger than this are rounded up to whole MiB, others to a power of two.
const LARGE: usize = 16 << 20;

impl Spare {
    /// Returns a spare lane, or creates one.
    pub(crate) fn lane(&self, device: &Device) -> Result<Lane, DriverError> {
        let spare = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match spare {
            Some(lane) => Ok(lane),
            None => Ok(Lane {
                copies: device.stream()?,
                flights: (0..FLIGHTS).map(|_| device.stream()).collect::<Result<_, _>>()?,
            }),
        }
    }

    /// Returns pageable memory to read into.
    pub(crate) fn buffers(&self) -> Arc<Buffers> {
        Arc::clone(&self.buffers)
    }

    /// Takes a lane back. Nothing may be queued on it.
    pub(crate) fn give_lane(&self, lane: Lane) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    /// Returns pinned memory of at least `len` bytes.
    pub(crate) fn pinned(&self, device: &Device, len: usize) -> Result<Pinned, DriverError> {
        let mut kept = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |memory: &Pinned| memory.len() >= len && memory.len() / 8 <= len.max(4096);
        let found = kept.iter().position(fits).map(|at| kept.swap_remove(at));
        drop(kept);
        match found {
            Some(memory) => Ok(memory),
            None => {
                let round = if len > LARGE { len.next_multiple_of(1 << 20) } else { len.next_power_of_two() };
                Pinned::new(device.context(), round.max(4096))
            }
        }
    }

    /// Returns the first `len` bytes of pinned memory as an arena, which returns the memory when dropped.
    pub(crate) fn arena(self: &Arc<Self>, mut memory: Pinned, len: usize) -> Arena {
        let (start, len) = (memory.as_mut_ptr(), len.min(memory.len()));
        let owner = Borrowed { memory: Some(memory), spare: Arc::clone(self) };
        // SAFETY: the owner keeps the memory, which is initialised, and does not touch it while the arena exists.
        unsafe { Arena::from_raw(start, len, Box::new(owner)) }
    }

    /// Takes pinned memory back.
    pub(crate) fn give_pinned(&self, memory: Pinned) {
        let mut kept = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(memory);
        while kept.len() > KEPT_PIECES || kept.iter().map(|memory| memory.len()).sum::<usize>() > KEPT_BYTES {
            kept.remove(0);
        }
    }
}

/// Pinned memory on loan to an arena.
struct Borrowed {
    memory: Option<Pinned>,
    spare: Arc<Spare>,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.spare.give_pinned(memory);
        }
    }
}
