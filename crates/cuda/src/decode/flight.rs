//! End of a batch, however it is decoded: queues its kernels and `place` behind its tables and the copies back, waits
//! once, and evaluates the statuses.

use crate::decode::batch::Item;
use crate::decode::run::{Run, Stop, Tally};
use crate::decode::tables::PlaceBytes;
use crate::driver::DriverError;
use crate::lane::Spare;
use crate::memory::{DeviceBuffer, InFlight, Pinned};
use crate::stream::{Event, Stream};

/// Results of a batch that are copied back.
pub(crate) struct Back<'a> {
    /// Offset of the statuses in the job's memory, and their number.
    pub(crate) statuses: (u64, u32),
    /// Offset of the pixels that go to the host, and their bytes.
    pub(crate) pixels: (u64, u64),
    pub(crate) place: &'a PlaceBytes,
}

/// A batch whose kernels are queued.
pub(crate) struct Launched {
    /// Held until its copy is done.
    tables: Option<InFlight>,
    /// Table of the gather, if the bytes were on the device.
    gathered: Option<InFlight>,
    statuses: Option<InFlight>,
    /// Index of the word after the statuses that tells if a value was found.
    finds: Option<u32>,
    landing: Option<InFlight>,
    /// Events before and after decompressing, and after placing.
    marks: [Event; 3],
    /// The end of each pass of decompressing, if a trace is kept.
    passes: Passes,
}

/// Passes of kernels with an event after each.
pub(crate) type Passes = Vec<(&'static str, Event)>;

/// A launched batch after the wait.
pub(crate) struct Landed {
    statuses: Option<Pinned>,
    finds: Option<u32>,
    landing: Option<InFlight>,
}

/// Number and flight of a batch, and the events before and after the copy of its bytes.
pub(crate) struct Numbered {
    pub(crate) batch: usize,
    pub(crate) flight: usize,
    pub(crate) copied: Option<(Event, Event)>,
}

impl Launched {
    /// Returns whether all work except copies to the host is done.
    pub(crate) fn is_placed(&self) -> Result<bool, DriverError> {
        self.marks[2].happened()
    }

    /// Returns the pinned memory of the tables to `spare` once they have been copied.
    pub(crate) fn give_tables(&mut self, spare: &Spare) -> Result<(), DriverError> {
        if let Some(tables) = self.tables.take_if(|tables| matches!(tables.is_done(), Ok(true))) {
            spare.give_pinned(tables.wait()?);
        }
        Ok(())
    }
}

impl Run {
    /// Queues a batch on its stream, which already waits for the tables: the work that `decode` queues, then placing
    /// and the copies back.
    pub(crate) fn queue(
        &self,
        stream: &Stream,
        memory: &DeviceBuffer,
        (tables, gathered): (InFlight, Option<InFlight>),
        back: &Back<'_>,
        decode: impl FnOnce() -> Result<Passes, Stop>,
    ) -> Result<Launched, Stop> {
        let Back { statuses: (statuses_at, statuses), pixels: (pixels_at, pixels), place } = *back;
        let down = |offset: u64, len: u64| match usize::try_from(len).unwrap_or(usize::MAX) {
            0 => Ok::<_, Stop>(None),
            len => {
                let pinned = self.spare.pinned(&self.device, len)?;
                Ok(Some(memory.download(stream, offset, pinned, len)?))
            }
        };
        if pixels > 0 {
            // Zero the gaps between crops, and crops that are not written: they go to the host, too.
            memory.fill(stream, pixels_at, pixels, 0)?;
        }
        let start = stream.record_timed()?;
        let passes = decode()?;
        let decoded = stream.record_timed()?;
        place.launch(&self.device, stream)?;
        let placed = stream.record_timed()?;
        let finds = place.finds().then_some(statuses);
        let statuses = down(statuses_at, (u64::from(statuses) + u64::from(finds.is_some())) * 4)?;
        let landing = down(pixels_at, pixels)?;
        let tables = Some(tables);
        Ok(Launched { tables, gathered, statuses, finds, landing, marks: [start, decoded, placed], passes })
    }

    /// Waits for a batch and records its times.
    pub(crate) fn landed(
        &self,
        launched: Launched,
        Numbered { batch, flight, copied }: Numbered,
        tally: &mut Tally,
    ) -> Result<Landed, Stop> {
        let Launched { tables, gathered, statuses, finds, landing, marks: [start, decoded, placed], passes } =
            launched;
        // The statuses come last on the stream, except for pixels that go to the host.
        let statuses = statuses.map(InFlight::wait).transpose()?;
        if statuses.is_none() {
            placed.synchronize()?;
        }
        for copied in tables.into_iter().chain(gathered) {
            self.spare.give_pinned(copied.wait()?);
        }
        tally.times.decode += decoded.since(&start)?;
        tally.times.place += placed.since(&decoded)?;
        if let Some((before, after)) = &copied {
            tally.times.copy += after.since(before)?;
        }
        if let Some(clock) = &tally.clock {
            let flight = || format!("flight {flight}");
            clock.add((flight(), "decode"), batch, (&start, &decoded))?;
            clock.add((flight(), "place"), batch, (&decoded, &placed))?;
            let mut before = &start;
            for (pass, after) in &passes {
                clock.add((format!("{}, passes", flight()), pass), batch, (before, after))?;
                before = after;
            }
            if let Some((before, after)) = &copied {
                clock.add(("copies".to_owned(), "copy"), batch, (before, after))?;
            }
        }
        Ok(Landed { statuses, finds, landing })
    }

    /// Reads the statuses of a batch, hands over pixels that go to the host, and counts blocks. There is one status per
    /// block, in the order of the items that `reports` selects; items that share a block share its status. Tasks in
    /// `refused`, in any order, were not decoded. They and those that a kernel refused are added to `left`, once each.
    pub(crate) fn settle(
        &self,
        Landed { statuses, finds, landing }: Landed,
        (items, mut refused): (&[Item], Vec<usize>),
        reports: impl Fn(&Item) -> bool,
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        if let Some(statuses) = statuses {
            let (words, _) = statuses.as_chunks::<4>();
            if let Some(found) = finds.and_then(|at| words.get(at as usize)) {
                tally.found = tally.found.max(Some(*found != [0; 4]));
            }
            let mut own = words.iter();
            let mut status = None;
            for item in items.iter().filter(|item| reports(item)) {
                if !item.shares {
                    status = own.next();
                }
                if status.is_some_and(|status| *status != [0; 4]) {
                    refused.push(item.task);
                }
            }
            self.spare.give_pinned(statuses);
        }
        refused.sort_unstable();
        refused.dedup();
        let taken = |item: &&Item| refused.binary_search(&item.task).is_err();
        let mut done = 0;
        for item in items.iter().filter(taken) {
            tally.encoded_bytes += item.span.filter(|_| !item.shares).map_or(0, |span| span.len);
            done += 1;
        }
        tally.blocks += done;
        if let Some(landing) = landing {
            let landed: Vec<&Item> = items.iter().filter(taken).collect();
            self.land(landing.wait()?, &landed, tally)?;
        }
        if let Some(progress) = &self.context.progress {
            progress.advance(done);
        }
        left.extend(refused);
        Ok(())
    }
}
