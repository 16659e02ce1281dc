//! Encoded bytes on their way to the device: pieces of a batch's arena are read into pinned slabs by several threads,
//! and each slab is copied once.
//!
//! Slabs come back by themselves when they are copied, so a thread fills one while others are on their way. Pieces are
//! taken in order; those of a batch wait until the arena of that batch is free (`open`). What cannot be read is noted: its
//! blocks are left to the host, which says what is wrong with each.

use crate::batch::{Batch, Read};
use crate::cufile::{CuFile, CuFileError, DeviceFile};
use crate::device::Device;
use crate::driver::DriverError;
use crate::memory::DeviceBuffer;
use crate::stream::{Event, Stream};
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::{Arena, Cancel, Context, ReadAt, Slice};

/// Where encoded bytes are on the host.
#[derive(Clone)]
pub(crate) enum HostBytes {
    Staged(Arc<Arena>),
    Pulled(Vec<Arc<dyn ReadAt>>),
    /// Files that cuFile reads into the arena itself, past the slabs.
    Direct(Arc<Vec<DeviceFile>>),
}

impl HostBytes {
    /// Files that cuFile can read, where all sources are files.
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
}

/// A slab's worth of a batch's arena.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    batch: usize,
    /// Offset in the arena.
    at: u64,
    len: usize,
    parts: Vec<Part>,
}

/// Bytes of one range in a piece; those between parts are slack, and zeroed.
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

/// What the readers share.
pub(crate) struct Feed {
    bytes: HostBytes,
    pieces: Vec<Piece>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    next: usize,
    /// Batches whose arena may be written: those below; and at which offset each begins.
    open: Vec<u64>,
    /// Pieces of each batch that are not on their way yet.
    left: Vec<usize>,
    /// What of each batch could not be read.
    failed: Vec<Vec<Gap>>,
    error: Option<DriverError>,
    stop: bool,
    /// Recorded before the first and after the last copy of each batch.
    began: Vec<Option<Event>>,
    ended: Vec<Option<Event>>,
    reading: Duration,
}

/// What became of the reads of a batch.
pub(crate) struct Arrived {
    /// What could not be read.
    pub(crate) failed: Vec<Gap>,
    /// Recorded before the first and after the last copy, where there was one.
    pub(crate) copied: Option<(Event, Event)>,
}

impl Feed {
    pub(crate) fn new(bytes: HostBytes, batches: &[Batch], slab: usize) -> Self {
        let all: Vec<Piece> =
            batches.iter().enumerate().flat_map(|(index, batch)| pieces(index, batch, slab)).collect();
        let mut left = vec![0; batches.len()];
        for piece in &all {
            if let Some(left) = left.get_mut(piece.batch) {
                *left += 1;
            }
        }
        let state = State {
            next: 0,
            open: Vec::new(),
            left,
            failed: vec![Vec::new(); batches.len()],
            error: None,
            stop: false,
            began: batches.iter().map(|_| None).collect(),
            ended: batches.iter().map(|_| None).collect(),
            reading: Duration::ZERO,
        };
        Self { bytes, pieces: all, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Whether cuFile reads them.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.bytes, HostBytes::Direct(_))
    }

    /// How many pieces there are.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the next batch be copied, to the arena at this offset.
    pub(crate) fn open(&self, arena: u64) {
        self.lock().open.push(arena);
        self.changed.notify_all();
    }

    /// Ends all reading.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits until all copies of a batch are queued; `None` where reading was ended or a copy failed.
    pub(crate) fn arrived(&self, batch: usize) -> Result<Option<Arrived>, DriverError> {
        let mut state = self.lock();
        loop {
            if let Some(error) = state.error.take() {
                state.stop = true;
                return Err(error);
            }
            if state.stop {
                return Ok(None);
            }
            if state.left.get(batch).is_none_or(|&left| left == 0) {
                let failed = state.failed.get_mut(batch).map(std::mem::take).unwrap_or_default();
                let began = state.began.get_mut(batch).and_then(Option::take);
                let ended = state.ended.get_mut(batch).and_then(Option::take);
                return Ok(Some(Arrived { failed, copied: began.zip(ended) }));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Time spent reading, of all threads together.
    pub(crate) fn reading(&self) -> Duration {
        self.lock().reading
    }

    /// The next piece whose arena is free, and the offset of that.
    fn take(&self, cancel: &Cancel) -> Option<(&Piece, u64)> {
        let mut state = self.lock();
        loop {
            if cancel.is_cancelled() && !state.stop {
                state.stop = true;
                self.changed.notify_all();
            }
            let piece = self.pieces.get(state.next).filter(|_| !state.stop)?;
            if let Some(&arena) = state.open.get(piece.batch) {
                state.next += 1;
                return Some((piece, arena));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads and copies pieces until none is left: what each reader thread does.
    pub(crate) fn work(
        &self,
        reader: usize,
        device: &Device,
        memory: &DeviceBuffer,
        copies: &Stream,
        context: &Context,
    ) {
        if let Err(error) = self.read_all(reader, device, memory, copies, context) {
            self.lock().error.get_or_insert(error);
            self.changed.notify_all();
        }
    }

    fn read_all(
        &self,
        reader: usize,
        device: &Device,
        memory: &DeviceBuffer,
        copies: &Stream,
        context: &Context,
    ) -> Result<(), DriverError> {
        let _bound = device.bind()?;
        let cancel = &context.cancel;
        while let Some((piece, arena)) = self.take(cancel) {
            if let HostBytes::Direct(files) = &self.bytes {
                let start = Instant::now();
                let failed = direct(files, piece, memory, arena);
                self.done(piece, start.elapsed(), failed, copies)?;
                continue;
            }
            let Some(mut slab) = device.ring().take(cancel)? else {
                self.stop();
                return Ok(());
            };
            let start = Instant::now();
            let (used, failed) = self.fill(piece, &mut slab);
            let reading = start.elapsed();
            if let Some(trace) = &context.trace {
                let start = trace.at(start);
                let (track, end) = (format!("reader {reader}"), start + reading);
                trace.add(Slice { track, name: "read", batch: piece.batch, start, end });
            }
            if used > 0 {
                self.note_beginning(piece.batch, copies)?;
                slab.send(copies, 0..used, memory, arena + piece.at)?;
            }
            self.done(piece, reading, failed, copies)?;
        }
        Ok(())
    }

    /// A piece is on its way, but for what could not be read.
    fn done(
        &self,
        piece: &Piece,
        reading: Duration,
        failed: Vec<Gap>,
        copies: &Stream,
    ) -> Result<(), DriverError> {
        let mut state = self.lock();
        state.reading += reading;
        if let Some(of_batch) = state.failed.get_mut(piece.batch) {
            of_batch.extend(failed);
        }
        let left = state.left.get(piece.batch).map_or(0, |left| left.saturating_sub(1));
        // By whoever sends the last one: copies of later batches are queued behind it.
        if left == 0
            && state.began.get(piece.batch).is_some_and(Option::is_some)
            && let Some(ended) = state.ended.get_mut(piece.batch)
        {
            *ended = Some(copies.record_timed()?);
        }
        if let Some(of_batch) = state.left.get_mut(piece.batch) {
            *of_batch = left;
        }
        drop(state);
        if left == 0 {
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Before the first copy of a batch.
    fn note_beginning(&self, batch: usize, copies: &Stream) -> Result<(), DriverError> {
        let mut state = self.lock();
        if let Some(began @ None) = state.began.get_mut(batch) {
            *began = Some(copies.record_timed()?);
        }
        Ok(())
    }

    /// Fills a slab with a piece; how many bytes are to be copied, and which ranges failed.
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
            if self.bytes.read(part.source, part.offset, into).is_err() {
                into.fill(0);
                failed.push(gap);
            }
            end = part.at + part.len;
        }
        if end == 0 {
            return (0, failed);
        }
        if let Some(slack) = slab.get_mut(end..piece.len) {
            slack.fill(0);
        }
        (piece.len, failed)
    }
}

/// Reads a piece into the arena at `arena` by cuFile; what could not be read. The slack was zeroed before.
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
    use crate::batch::Size;

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
        let (used, failed) = feed.fill(&feed.pieces[0], &mut slab);
        assert_eq!((used, failed), (512, vec![Gap { source: 0, start: 95, end: 105 }]));
        assert_eq!(slab[..20], (10..30).collect::<Vec<u8>>());
        assert!(slab[20..512].iter().all(|&byte| byte == 0) && slab[512] == 0xAA);
    }
}
