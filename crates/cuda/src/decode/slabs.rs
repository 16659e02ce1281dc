//! Moves encoded bytes to the device: several threads read pieces of a batch's arena into pinned slabs, and one more
//! thread sends each slab by one copy.
//!
//! Pieces are taken in order; those of a batch wait until its arena is free (`open`). Read failures are recorded: the
//! affected blocks are left to the host, which reports what is wrong with each.

use crate::cufile::{CuFile, CuFileError, DeviceFile};
use crate::decode::batch::{Batch, Read};
use crate::device::Device;
use crate::driver::DriverError;
use crate::memory::{DeviceBuffer, SentSlab, Slab};
use crate::stream::{Event, Stream};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::{Arena, Cancel, Context, ReadAt, Slice, thread_builder};

/// Encoded bytes on the host.
#[derive(Clone)]
pub(crate) enum HostBytes {
    Staged(Arc<Arena>),
    Pulled(Vec<Arc<dyn ReadAt>>),
    /// Files that cuFile reads directly into the arena, without slabs.
    Direct(Arc<Vec<DeviceFile>>),
}

impl HostBytes {
    /// Registers files for cuFile; `None` unless all sources are files.
    pub(crate) fn direct(
        cufile: &'static CuFile,
        sources: &[Arc<dyn ReadAt>],
    ) -> Result<Option<Self>, CuFileError> {
        let mut files = Vec::with_capacity(sources.len());
        for source in sources {
            let Some(Ok(file)) = source.file().map(File::try_clone) else { return Ok(None) };
            files.push(cufile.register(file)?);
        }
        Ok(Some(Self::Direct(Arc::new(files))))
    }

    fn read(&self, source: u32, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Staged(arena) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = arena.bytes().get(start..).and_then(|rest| rest.get(..into.len()));
                into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::Pulled(sources) => {
                let source = sources.get(source as usize).ok_or(io::ErrorKind::NotFound)?;
                source.read_into(offset, into)
            }
            Self::Direct(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Fills the arena of a small batch with this many helper threads. Returns the ranges that failed.
    pub(crate) fn fill_all(
        &self,
        batch: &Batch,
        arena: &mut [u8],
        helpers: usize,
        cancel: &Cancel,
    ) -> Vec<Gap> {
        const SHARED: usize = 512 << 10;
        let slab = if helpers == 0 { arena.len().max(1) } else { SHARED };
        let pieces = pieces(0, batch, slab);
        let left = Mutex::new(pieces.iter().zip(arena.chunks_mut(slab)));
        let failed = Mutex::new(Vec::new());
        let take_part = || {
            while !cancel.is_cancelled() {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((piece, part)) = next else { break };
                let (_, gaps) = self.fill(piece, part);
                failed.lock().unwrap_or_else(PoisonError::into_inner).extend(gaps);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                // If a thread cannot be started, there is one helper less.
                let started =
                    thread_builder("strile-cuda-read").and_then(|new| new.spawn_scoped(scope, take_part));
                if started.is_err() {
                    break;
                }
            }
            take_part();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a slab with a piece. Returns how many bytes to copy, and the ranges that failed.
    fn fill(&self, piece: &Piece, slab: &mut [u8]) -> (usize, Vec<Gap>) {
        let mut failed = Vec::new();
        let mut end = 0;
        for part in &piece.parts {
            let stop = part.offset.saturating_add(part.len as u64);
            let gap = Gap { source: part.source, start: part.offset, end: stop };
            if let Some(slack) = slab.get_mut(end..part.at) {
                slack.fill(0);
            }
            let Some(into) = slab.get_mut(part.at..part.at + part.len) else {
                failed.push(gap);
                continue;
            };
            if self.read(part.source, part.offset, into).is_err() {
                into.fill(0);
                failed.push(gap);
            }
            end = part.at + part.len;
        }
        if let Some(slack) = slab.get_mut(end..piece.len) {
            slack.fill(0);
        }
        (piece.len, failed)
    }
}

/// A part of a batch's arena that fits a slab.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    batch: usize,
    /// Offset in the arena.
    at: u64,
    len: usize,
    parts: Vec<Part>,
}

/// Bytes of one range in a piece. Bytes between parts are slack and zeroed.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    source: u32,
    offset: u64,
    /// Offset in the piece.
    at: usize,
    len: usize,
}

/// Cuts a batch's arena into pieces of at most `slab` bytes.
fn pieces(index: usize, batch: &Batch, slab: usize) -> Vec<Piece> {
    let slab = slab as u64;
    let count = batch.size.encoded.div_ceil(slab);
    let small = |len: u64| usize::try_from(len).unwrap_or(usize::MAX);
    let mut made: Vec<Piece> = (0..count)
        .map(|i| Piece {
            batch: index,
            at: i * slab,
            len: small(slab.min(batch.size.encoded - i * slab)),
            parts: Vec::new(),
        })
        .collect();
    for &Read { source, offset, len, at } in &batch.reads {
        let mut done = 0;
        while done < len {
            let start = at + done;
            let Some(piece) = made.get_mut(small(start / slab)) else { break };
            let take = (len - done).min(slab - start % slab);
            let (inside, take_len) = (small(start % slab), small(take));
            piece.parts.push(Part { source, offset: offset + done, at: inside, len: take_len });
            done += take;
        }
    }
    made
}

/// Bytes of a source that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) source: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// State shared by readers, sender and coordinator.
pub(crate) struct Feed {
    bytes: HostBytes,
    pieces: Vec<Piece>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    next: usize,
    /// Arena offsets of the batches whose arena may be written, by batch number.
    open: Vec<u64>,
    /// Result per batch, once all its copies are queued.
    arrived: Vec<Option<Arrived>>,
    error: Option<DriverError>,
    stop: bool,
    reading: Duration,
}

/// Result of the reads of a batch.
#[derive(Default)]
pub(crate) struct Arrived {
    /// Ranges that could not be read.
    pub(crate) failed: Vec<Gap>,
    /// Events before the first and after the last copy, if there was one.
    pub(crate) copied: Option<(Event, Event)>,
}

/// A piece that was read, in a slab unless cuFile read it.
pub(crate) struct Filled<'a> {
    piece: &'a Piece,
    arena: u64,
    /// The slab and the length of its valid bytes.
    slab: Option<(Slab, usize)>,
    failed: Vec<Gap>,
}

/// A batch whose copies are not all queued.
#[derive(Default)]
struct Coming {
    left: usize,
    failed: Vec<Gap>,
    began: Option<Event>,
}

/// Ends all reading when dropped, either always or only if its thread panics: otherwise others would wait for that
/// thread.
pub(crate) struct Ends<'a> {
    pub(crate) feed: &'a Feed,
    pub(crate) always: bool,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            self.feed.stop();
        }
    }
}

/// Pieces of the first and last batch are smaller by this factor.
const ENDS: usize = 4;

/// Fewest bytes that are worth a piece.
pub(crate) const LEAST_PIECE: usize = 256 << 10;

/// How long the sender waits for the next slab before it checks which copies are done.
const LOOKS_EVERY: Duration = Duration::from_micros(20);

impl Feed {
    pub(crate) fn new(bytes: HostBytes, batches: &[Batch], slab: usize) -> Self {
        let last = batches.len().saturating_sub(1);
        // Small pieces at both ends: the first copy starts sooner, and no thread works long after the others.
        let end = (slab / ENDS).max(LEAST_PIECE).min(slab);
        let len = |index: usize| if index == 0 || index == last { end } else { slab };
        let cut = |(index, batch)| pieces(index, batch, len(index));
        let all: Vec<Piece> = batches.iter().enumerate().flat_map(cut).collect();
        let mut arrived: Vec<_> = batches.iter().map(|_| Some(Arrived::default())).collect();
        for piece in &all {
            if let Some(arrived) = arrived.get_mut(piece.batch) {
                *arrived = None;
            }
        }
        let state =
            State { next: 0, open: Vec::new(), arrived, error: None, stop: false, reading: Duration::ZERO };
        Self { bytes, pieces: all, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Returns whether cuFile reads the pieces.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.bytes, HostBytes::Direct(_))
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the next batch be copied to the arena at this offset.
    pub(crate) fn open(&self, arena: u64) {
        self.lock().open.push(arena);
        self.changed.notify_all();
    }

    /// Ends all reading.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Ends all reading because of an error.
    fn fail(&self, error: DriverError) {
        self.lock().error.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Returns whether all copies of a batch are queued.
    pub(crate) fn has_arrived(&self, batch: usize) -> bool {
        matches!(self.lock().arrived.get(batch), Some(Some(_)))
    }

    /// Waits until all copies of a batch are queued; `None` if reading was ended.
    pub(crate) fn arrived(&self, batch: usize) -> Result<Option<Arrived>, DriverError> {
        let mut state = self.lock();
        loop {
            if let Some(error) = state.error.take() {
                state.stop = true;
                return Err(error);
            }
            if let Some(arrived) = state.arrived.get_mut(batch).and_then(Option::take) {
                return Ok(Some(arrived));
            }
            if state.stop {
                return Ok(None);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the time spent reading, summed over all threads.
    pub(crate) fn reading(&self) -> Duration {
        self.lock().reading
    }

    /// Waits for the next piece whose arena is free. Returns it with the arena's offset, or `None` at the end.
    fn take(&self, cancel: &Cancel) -> Option<(&Piece, u64)> {
        let mut state = self.lock();
        loop {
            if cancel.is_cancelled() && !state.stop {
                state.stop = true;
                self.changed.notify_all();
            }
            let ended = state.stop || state.error.is_some();
            let piece = self.pieces.get(state.next).filter(|_| !ended)?;
            if let Some(&arena) = state.open.get(piece.batch) {
                state.next += 1;
                return Some((piece, arena));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads pieces until none is left. Runs on each reader thread.
    pub(crate) fn read<'a>(
        &'a self,
        reader: usize,
        device: &Device,
        memory: &DeviceBuffer,
        context: &Context,
        filled: &Sender<Filled<'a>>,
    ) {
        let _ends = Ends { feed: self, always: false };
        while let Some((piece, arena)) = self.take(&context.cancel) {
            let mut slab = match &self.bytes {
                HostBytes::Direct(_) => None,
                HostBytes::Staged(_) | HostBytes::Pulled(_) => match device.ring().take(&context.cancel) {
                    Ok(Some(slab)) => Some(slab),
                    Ok(None) => return self.stop(),
                    Err(error) => return self.fail(error),
                },
            };
            let start = Instant::now();
            let (used, failed) = match (&self.bytes, &mut slab) {
                (HostBytes::Direct(files), _) => (0, direct(files, piece, memory, arena)),
                (bytes, Some(slab)) => bytes.fill(piece, slab),
                (_, None) => (0, Vec::new()),
            };
            let reading = start.elapsed();
            if let Some(trace) = &context.trace {
                let start = trace.at(start);
                let (track, end) = (format!("reader {reader}"), start + reading);
                trace.add(Slice { track, name: "read", batch: piece.batch, start, end });
            }
            self.lock().reading += reading;
            // If the sender is gone, something failed, and the sender has reported it.
            if filled.send(Filled { piece, arena, slab: slab.map(|slab| (slab, used)), failed }).is_err() {
                return;
            }
        }
    }

    /// Sends filled pieces until all readers are gone. Runs on one thread.
    pub(crate) fn send(&self, filled: &Receiver<Filled<'_>>, memory: &DeviceBuffer, copies: &Stream) {
        let _ends = Ends { feed: self, always: false };
        if let Err(error) = self.send_all(filled, memory, copies) {
            self.fail(error);
        }
    }

    fn send_all(
        &self,
        filled: &Receiver<Filled<'_>>,
        memory: &DeviceBuffer,
        copies: &Stream,
    ) -> Result<(), DriverError> {
        let _bound = copies.context().bind()?;
        let mut coming: Vec<Coming> = self.lock().arrived.iter().map(|_| Coming::default()).collect();
        for piece in &self.pieces {
            if let Some(batch) = coming.get_mut(piece.batch) {
                batch.left += 1;
            }
        }
        // Copies end in the order in which they were sent.
        let mut sent: VecDeque<SentSlab> = VecDeque::new();
        loop {
            while let Some(first) = sent.front()
                && first.is_done()?
            {
                sent.pop_front();
            }
            let next = match sent.is_empty() {
                true => filled.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => filled.recv_timeout(LOOKS_EVERY),
            };
            let Filled { piece, arena, slab, failed } = match next {
                Ok(filled) => filled,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let Some(batch) = coming.get_mut(piece.batch) else { continue };
            if let Some((slab, used)) = slab.filter(|(_, used)| *used > 0) {
                if batch.began.is_none() {
                    batch.began = Some(copies.record_timed()?);
                }
                sent.push_back(slab.send(copies, 0..used, memory, arena + piece.at)?);
            }
            batch.failed.extend(failed);
            batch.left = batch.left.saturating_sub(1);
            if batch.left == 0 {
                let Coming { failed, began, .. } = std::mem::take(batch);
                let copied = began.map(|began| Ok((began, copies.record_timed()?))).transpose()?;
                if let Some(arrived) = self.lock().arrived.get_mut(piece.batch) {
                    *arrived = Some(Arrived { failed, copied });
                }
                self.changed.notify_all();
            }
        }
    }
}

/// Reads a piece into the arena at `arena` by cuFile and returns the ranges that failed. The slack was zeroed before.
fn direct(files: &[DeviceFile], piece: &Piece, memory: &DeviceBuffer, arena: u64) -> Vec<Gap> {
    let read = |part: &&Part| {
        let Some(file) = files.get(part.source as usize) else { return false };
        let to = arena + piece.at + part.at as u64;
        file.read(part.offset, memory, to, part.len).is_ok_and(|read| read == part.len)
    };
    let gap = |part: &Part| Gap {
        source: part.source,
        start: part.offset,
        end: part.offset.saturating_add(part.len as u64),
    };
    piece.parts.iter().filter(|part| !read(part)).map(gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::batch::Size;

    #[test]
    fn pieces_cover_every_byte_of_every_range_once() {
        let reads = vec![
            Read { source: 0, offset: 1000, len: 250, at: 0 },
            Read { source: 2, offset: 7, len: 30, at: 512 },
            Read { source: 0, offset: 5000, len: 10, at: 768 },
        ];
        let batch = Batch { reads, size: Size { encoded: 1024, ..Size::default() }, ..Batch::default() };
        let made = pieces(3, &batch, 100);
        assert_eq!(made.len(), 11);
        assert_eq!(made.last().map(|piece| (piece.at, piece.len, piece.batch)), Some((1000, 24, 3)));
        let parts = |index: usize| -> Vec<(u32, u64, usize, usize)> {
            made[index].parts.iter().map(|part| (part.source, part.offset, part.at, part.len)).collect()
        };
        assert_eq!(parts(0), [(0, 1000, 0, 100)]);
        assert_eq!(parts(2), [(0, 1200, 0, 50)]);
        assert_eq!(parts(5), [(2, 7, 12, 30)]);
        assert_eq!(parts(7), [(0, 5000, 68, 10)]);
        let all: usize = made.iter().flat_map(|piece| &piece.parts).map(|part| part.len).sum();
        assert_eq!(all, 290);
    }

    #[test]
    fn a_range_that_cannot_be_read_is_noted_and_the_slack_is_zero() {
        let arena = Arc::new(Arena::from_vec((0..100).collect()));
        let reads = vec![
            Read { source: 0, offset: 10, len: 20, at: 0 },
            Read { source: 0, offset: 95, len: 10, at: 256 },
        ];
        let batch = Batch { reads, size: Size { encoded: 512, ..Size::default() }, ..Batch::default() };
        let feed = Feed::new(HostBytes::Staged(arena), &[batch], 1024);
        let mut slab = vec![0xAA; 600];
        let (used, failed) = feed.bytes.fill(&feed.pieces[0], &mut slab);
        assert_eq!((used, failed), (512, vec![Gap { source: 0, start: 95, end: 105 }]));
        assert_eq!(slab[..20], (10..30).collect::<Vec<u8>>());
        assert!(slab[20..512].iter().all(|&byte| byte == 0) && slab[512] == 0xAA);
    }
}
