//! Runs the pictures of a job, from their first read to their last status: a batch ends when a flight is full, and has
//! one upload and one wait.

use super::plan::Pictures;
use super::sizes::{Parts, Sizes};
use super::streams::Streams;
use super::supply::{Ends, Parsed, Supply, Wanted};
use super::which::with_decoder;
use super::{Decoder, Placed, Room};
use crate::abi::{PENDING, bytes_of};
use crate::decode::back::back_to_host;
use crate::decode::batch::{Item, aligned};
use crate::decode::codec::Form;
use crate::decode::flight::{Back, Launched, Numbered, Passes};
use crate::decode::plan::landing_len;
use crate::decode::run::{Run, Stop, Tally};
use crate::decode::tables::PlaceTables;
use crate::lane::Lane;
use crate::memory::DeviceBuffer;
use crate::stream::Stream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::{Encoded, EngineError, Span, Trace, thread_builder};

/// Minimum bytes of pictures per writing thread: fewer are written before a thread has started.
const WRITTEN_BY_ONE: usize = 1 << 20;

/// A picture of the next batch.
struct Ready<P> {
    wanted: Wanted,
    picture: Arc<P>,
    stream: super::Bytes,
    /// Bytes of its samples, of its part of the upload, and of its pixels for the host.
    decoded: u32,
    bytes: u64,
    pixels: u64,
}

/// Pictures of the next batch and their sizes.
struct Making<P> {
    ready: Vec<Ready<P>>,
    sizes: Sizes,
}

/// A batch with queued work.
struct Flying<B> {
    numbered: Numbered,
    items: Vec<Item>,
    batch: B,
    launched: Launched,
}

impl Run {
    /// Returns the streams of pictures in host-readable form, and the position of each task's stream: streams on a
    /// device are brought back by one gather and one copy.
    pub(crate) fn streams(&self, stream: &Stream, plan: &Pictures) -> Result<(Streams, Vec<Wanted>), Stop> {
        let mut wanted = plan.wanted(&self.job);
        let streams = match &self.encoded {
            Encoded::Staged(arena) => Streams::Staged(Arc::clone(arena)),
            Encoded::Pulled(sources) => Streams::Pulled(sources.clone(), self.spare.buffers()),
            Encoded::Device(bytes) => {
                let spans: Vec<Span> = wanted.iter().map(|wanted| wanted.span).collect();
                let (arena, moved) =
                    back_to_host(&self.device, &self.spare, stream, bytes, &spans, &self.context)?;
                for (wanted, moved) in wanted.iter_mut().zip(moved) {
                    wanted.span = moved;
                }
                Streams::Staged(Arc::new(arena))
            }
        };
        Ok((streams, wanted))
    }

    /// Decodes the pictures of a plan, and adds to `left` those that the device did not accept.
    pub(crate) fn decode_pictures(
        &self,
        plan: &Pictures,
        streams: (Streams, Vec<Wanted>),
        to: (&Lane, &DeviceBuffer),
        found: (&mut Tally, &mut Vec<usize>),
    ) -> Result<(), Stop> {
        with_decoder!(&plan.which, decoder => self.pictures(decoder, plan, streams, to, found))
    }

    fn pictures<D: Decoder>(
        &self,
        decoder: &D,
        plan: &Pictures,
        (streams, wanted): (Streams, Vec<Wanted>),
        (lane, memory): (&Lane, &DeviceBuffer),
        (tally, left): (&mut Tally, &mut Vec<usize>),
    ) -> Result<(), Stop> {
        let threads = self.context.threads.get().min(wanted.len());
        let supply = Supply::new(decoder, streams, wanted, plan.ahead, threads);
        std::thread::scope(|scope| {
            for number in 0..threads {
                let supply = &supply;
                let work = move || supply.work(number, &self.context);
                match thread_builder("strile-cuda-parse").and_then(|new| new.spawn_scoped(scope, work)) {
                    Ok(_) => {}
                    // Fewer threads are slower; without any this thread would wait for ever.
                    Err(error) if number == 0 => return Err(self.no_thread(&error)),
                    Err(_) => break,
                }
            }
            // On every exit, so that no thread waits for ever.
            let _ends = Ends { supply: &supply, always: true };
            let mut flights =
                Flights { run: self, decoder, plan, lane, memory, flying: VecDeque::new(), made: 0 };
            flights.fly(&supply, tally, left)
        })?;
        tally.times.read += supply.reading() / u32::try_from(threads.max(1)).unwrap_or(1);
        Ok(())
    }
}

/// The flights of a job's pictures.
struct Flights<'a, D: Decoder> {
    run: &'a Run,
    decoder: &'a D,
    plan: &'a Pictures,
    lane: &'a Lane,
    memory: &'a DeviceBuffer,
    flying: VecDeque<Flying<D::Batch>>,
    /// Number of batches launched so far.
    made: usize,
}

impl<D: Decoder> Flights<'_, D> {
    fn fly(&mut self, supply: &Supply<'_, D>, tally: &mut Tally, left: &mut Vec<usize>) -> Result<(), Stop> {
        let fixed = self.plan.fixed;
        let mut making = Making { ready: Vec::new(), sizes: fixed };
        while let Some(run) = supply.next() {
            if self.run.context.cancel.is_cancelled() {
                return Err(EngineError::Cancelled.into());
            }
            for (wanted, parsed) in run {
                let ready = parsed.and_then(|parsed| self.ready(wanted, parsed));
                // A picture larger than a flight is left to the host too.
                let ready = ready.filter(|(_, sizes)| self.fits(&fixed.plus(*sizes), usize::MAX));
                let Some((one, sizes)) = ready else {
                    left.push(wanted.task);
                    continue;
                };
                if !making.ready.is_empty() && !self.fits(&making.sizes.plus(sizes), self.made) {
                    let full = std::mem::replace(&mut making, Making { ready: Vec::new(), sizes: fixed });
                    self.launch(full, tally, left)?;
                }
                making.sizes = making.sizes.plus(sizes);
                making.ready.push(one);
            }
        }
        if !supply.is_done() {
            // Reading was ended by an event that is reported elsewhere.
            return Err(EngineError::Cancelled.into());
        }
        if !making.ready.is_empty() {
            self.launch(making, tally, left)?;
        }
        while let Some(next) = self.flying.pop_front() {
            self.finish(next, tally, left)?;
        }
        Ok(())
    }

    fn parts(&self, sizes: &Sizes) -> Parts {
        sizes.parts(|pictures| self.run.plan.tables_len(pictures))
    }

    fn fits(&self, sizes: &Sizes, batch: usize) -> bool {
        self.plan.fits(sizes, &self.parts(sizes), batch)
    }

    /// Returns a parsed picture and its sizes; `None` if the bytes of its samples do not fit 32 bits.
    fn ready(
        &self,
        wanted: &Wanted,
        Parsed { picture, stream, need, held }: Parsed<D::Picture>,
    ) -> Option<(Ready<D::Picture>, Sizes)> {
        let task = self.run.job.tasks().get(wanted.task)?;
        let decoded = u32::try_from(wanted.layout.decoded_len(wanted.rows)?).ok()?;
        let pixels = landing_len(&self.run.job, &self.run.outputs, task);
        let wanted = wanted.clone();
        let held = held.saturating_add(stream.len() as u64);
        let ready = Ready { wanted, picture, stream, decoded, bytes: need.bytes, pixels };
        Some((ready, Sizes { held, ..Sizes::of(need, decoded.into(), pixels) }))
    }

    /// Uploads a batch and queues its work, in a flight that is free.
    fn launch(
        &mut self,
        making: Making<D::Picture>,
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        while let Some(first) = self.flying.front() {
            if self.flying.len() < self.plan.flights && !first.launched.is_placed()? {
                break;
            }
            if let Some(first) = self.flying.pop_front() {
                self.finish(first, tally, left)?;
            }
        }
        // Pinned memory of the last batch is reused for this one once its copy is done.
        for flying in &mut self.flying {
            flying.launched.give_tables(&self.run.spare)?;
        }
        let (run, batch) = (self.run, self.made);
        self.made += 1;
        let flight = batch % self.plan.flights.max(1);
        let stream = self.lane.flights.get(flight).ok_or(EngineError::Abandoned)?;
        let at = self.plan.flight * flight as u64;
        let parts = self.parts(&making.sizes);
        let base = self.memory.part(at, parts.end)?;
        let room = Room {
            statuses: base,
            tables: base + parts.tables,
            scratch: base + parts.scratch,
            scratch_len: making.sizes.scratch,
        };
        let bytes: Vec<u64> = making.ready.iter().map(|one| one.bytes).collect();
        let (items, placed) = place_all(making.ready, &parts, base);
        let trace = run.context.trace.as_deref();
        let mut tables = PlaceTables::default();
        let mut landing = 0;
        for (item, placed) in items.iter().zip(&placed) {
            let status = Some(placed.status);
            landing = tables.add_item(run, item, Some(placed.dst), status, base + parts.pixels)?.max(landing);
        }
        let count = u32::try_from(placed.len()).map_err(|_| EngineError::Abandoned)?;
        let place = tables.bytes(base + parts.place, (room.statuses, count));
        // Always the same size, so that pinned memory of one batch fits the next.
        let len = usize::try_from(parts.decoded).map_err(|_| EngineError::Abandoned)?;
        let pinned_len = usize::try_from(self.plan.upload).map_err(|_| EngineError::Abandoned)?;
        let mut up = run.spare.pinned(&run.device, pinned_len.max(len))?;
        let mut work = Trace::time(trace, ("job", "tables"), || {
            let upload = up.get_mut(..len).ok_or(EngineError::Abandoned)?;
            self.fill(upload, &parts, (making.sizes.tables, &bytes), (&placed, &room), &place.bytes)
        })?;
        let copies = &self.lane.copies;
        let before = copies.record_timed()?;
        let sent = self.memory.upload(copies, at, up, len)?;
        let after = copies.record_timed()?;
        stream.wait_on(&after)?;
        let copied = Some((before, after));
        let back = Back { statuses: (at, count), pixels: (at + parts.pixels, landing), place: &place };
        let launched = run.queue(stream, self.memory, (sent, None), &back, || {
            self.decoder.launch(&mut work, &run.device, stream)?;
            Ok(Passes::new())
        })?;
        let numbered = Numbered { batch, flight, copied };
        self.flying.push_back(Flying { numbered, items, batch: work, launched });
        Ok(())
    }

    /// Fills the upload of a batch: bytes of pictures on several threads, the rest on this one before it helps them.
    fn fill(
        &self,
        upload: &mut [u8],
        parts: &Parts,
        (tables_len, bytes): (u64, &[u64]),
        (placed, room): (&[Placed<D::Picture>], &Room),
        place: &[u8],
    ) -> Result<D::Batch, Stop> {
        let missing = || Stop::from(EngineError::Abandoned);
        let split = |bytes: u64| usize::try_from(bytes).map_err(|_| missing());
        let (head, pictures) = upload.split_at_mut_checked(split(parts.bytes)?).ok_or_else(missing)?;
        let (head, tables) = head.split_at_mut_checked(split(parts.tables)?).ok_or_else(missing)?;
        let (statuses, place_part) = head.split_at_mut_checked(split(parts.place)?).ok_or_else(missing)?;
        let mut pending = vec![PENDING; placed.len()];
        // The word that says whether a value was found.
        pending.push(0);
        let pending = bytes_of(&pending);
        statuses.get_mut(..pending.len()).ok_or_else(missing)?.copy_from_slice(pending);
        place_part.get_mut(..place.len()).ok_or_else(missing)?.copy_from_slice(place);
        let tables = tables.get_mut(..split(tables_len)?).ok_or_else(missing)?;
        tables.fill(0);
        let share = pictures.len().div_ceil(self.run.context.threads.get()).max(WRITTEN_BY_ONE);
        let shares = shares(pictures, placed, bytes, share)?;
        let helpers = shares.len().saturating_sub(1);
        let shares = Mutex::new(shares.into_iter());
        let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
        let write = || {
            while let Some(share) = next() {
                for (placed, into) in share {
                    self.decoder.write(&placed.picture, &placed.stream, into);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                // If a thread cannot be started, the others do its share.
                let started =
                    thread_builder("strile-cuda-write").and_then(|new| new.spawn_scoped(scope, write));
                if started.is_err() {
                    break;
                }
            }
            let made = self.decoder.lay_out(placed, room, tables);
            write();
            made
        })
    }

    /// Waits for a batch, reads the results of its kernels, and hands over the pictures that go to the host.
    fn finish(&self, flying: Flying<D::Batch>, tally: &mut Tally, left: &mut Vec<usize>) -> Result<(), Stop> {
        let Flying { numbered, items, batch, launched } = flying;
        let landed = self.run.landed(launched, numbered, tally)?;
        let task = |status: u32| items.get(status as usize).map(|item| item.task);
        let refused: Vec<usize> = self.decoder.finish(batch).into_iter().filter_map(task).collect();
        self.run.settle(landed, (&items, refused), |_| true, tally, left)
    }
}

/// Returns the positions of a batch's pictures, one after the other in each part.
fn place_all<P>(ready: Vec<Ready<P>>, parts: &Parts, base: u64) -> (Vec<Item>, Vec<Placed<P>>) {
    let (mut bytes, mut dst, mut pixels) = (base + parts.bytes, base + parts.decoded, 0);
    let mut items = Vec::with_capacity(ready.len());
    let mut placed = Vec::with_capacity(ready.len());
    for (status, one) in (0..).zip(ready) {
        let dst_len = one.decoded;
        items.push(Item {
            task: one.wanted.task,
            kernel: None,
            span: Some(one.wanted.span),
            src: 0,
            dst: 0,
            scratch: 0,
            pixels,
            dst_len,
            row_len: 0,
            form: Form::default(),
            shares: false,
        });
        let Wanted { layout, rows, .. } = one.wanted;
        placed.push(Placed {
            picture: one.picture,
            stream: one.stream,
            layout,
            rows,
            bytes,
            dst,
            dst_len,
            status,
        });
        bytes += aligned(one.bytes);
        dst += aligned(one.decoded.into());
        pixels += aligned(one.pixels);
    }
    (items, placed)
}

/// Pictures and their destinations.
type Share<'a, P> = Vec<(&'a Placed<P>, &'a mut [u8])>;

/// Splits the part of an upload for pictures, of `bytes` each, into shares of about `share` bytes.
fn shares<'a, P>(
    mut rest: &'a mut [u8],
    placed: &'a [Placed<P>],
    bytes: &[u64],
    share: usize,
) -> Result<Vec<Share<'a, P>>, Stop> {
    let mut shares = vec![Vec::new()];
    let mut len = 0;
    for (one, &bytes) in placed.iter().zip(bytes) {
        let whole = usize::try_from(aligned(bytes)).map_err(|_| EngineError::Abandoned)?;
        let wanted = usize::try_from(bytes).map_err(|_| EngineError::Abandoned)?;
        let (part, after) = rest.split_at_mut_checked(whole).ok_or(EngineError::Abandoned)?;
        let (part, _) = part.split_at_mut_checked(wanted).ok_or(EngineError::Abandoned)?;
        rest = after;
        if len >= share {
            shares.push(Vec::new());
            len = 0;
        }
        len += whole;
        if let Some(last) = shares.last_mut() {
            last.push((one, part));
        }
    }
    Ok(shares)
}
