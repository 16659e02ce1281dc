//! What jobs need every time and is costly to make: streams, and pinned memory. Kept between jobs.

use crate::device::Device;
use crate::driver::DriverError;
use crate::memory::Pinned;
use crate::stream::Stream;
use std::sync::{Mutex, PoisonError};

/// The streams of one job: one for copies, one for each batch in flight.
pub(crate) struct Lane {
    pub(crate) copies: Stream,
    pub(crate) flights: [Stream; 2],
}

/// Lanes and pinned memory that no job has.
#[derive(Default)]
pub(crate) struct Spare {
    lanes: Mutex<Vec<Lane>>,
    pinned: Mutex<Vec<Pinned>>,
}

/// Pieces of pinned memory kept, and the bytes of all together.
const KEPT_PIECES: usize = 16;
const KEPT_BYTES: usize = 512 << 20;

impl Spare {
    /// A lane, new where none is spare.
    pub(crate) fn lane(&self, device: &Device) -> Result<Lane, DriverError> {
        let spare = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match spare {
            Some(lane) => Ok(lane),
            None => Ok(Lane { copies: device.stream()?, flights: [device.stream()?, device.stream()?] }),
        }
    }

    /// Takes a lane back; nothing may be queued on it.
    pub(crate) fn give_lane(&self, lane: Lane) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    /// Pinned memory of at least `len` bytes.
    pub(crate) fn pinned(&self, device: &Device, len: usize) -> Result<Pinned, DriverError> {
        let mut kept = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |memory: &Pinned| memory.len() >= len && memory.len() / 8 <= len.max(4096);
        let found = kept.iter().position(fits).map(|at| kept.swap_remove(at));
        drop(kept);
        match found {
            Some(memory) => Ok(memory),
            None => Pinned::new(device.context(), len.max(4096).next_power_of_two()),
        }
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
