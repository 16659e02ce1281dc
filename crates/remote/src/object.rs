//! An open object.

use crate::answer::Pin;
use crate::fetch::{Link, Opened, Way, fill, open, until_cancelled};
use crate::host::host_of;
use crate::options::RemoteOptions;
use crate::place::Place;
use crate::runtime;
use crate::store::store_of;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use strile_engine::{Cancel, ReadDone, ReadOp, Slot};

/// Bytes requested when an object is opened: the whole header of most files.
const FIRST_READ: u64 = 32 << 10;
/// One state of a remote object, read by ranges from any thread.
///
/// Clones share the state. A forked child can continue to use an object of its parent: it opens new connections.
#[derive(Clone)]
pub struct Object(Arc<Inner>);

struct Inner {
    link: Link,
    name: String,
    opened: Opened,
    gap: u64,
    /// Whether size and version were known without a request.
    known: bool,
}

/// An object whose first bytes are being requested.
pub struct Opening {
    name: String,
    opened: mpsc::Receiver<io::Result<(Link, Opened, u64)>>,
}

impl Opening {
    /// Returns the URL without credentials.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the answer, until the caller cancels.
    pub fn wait(self) -> io::Result<Object> {
        let lost = |_| io::Error::other("a remote read was dropped");
        let (link, opened, gap) = self.opened.recv().map_err(lost)??;
        Ok(Object(Arc::new(Inner { link, name: self.name, opened, gap, known: false })))
    }
}

impl Object {
    /// Larger ranges are fetched in pieces, in parallel. Smaller pieces would spend more time on latency than on bytes.
    pub const PIECE: u64 = 2 << 20;

    /// Opens the object of a URL with one request; see [`is_remote`](crate::is_remote) for schemes.
    ///
    /// Waits for the answer, until `cancel` is set.
    pub fn open(url: &str, options: &RemoteOptions, cancel: &Cancel) -> io::Result<Self> {
        Self::begin(url, options, cancel)?.wait()
    }

    /// Returns an object that earlier had this size and [`mark`](Self::mark), without a request. If the object has
    /// changed since, the first range that is read fails.
    pub fn known(url: &str, len: u64, mark: &str, options: &RemoteOptions) -> io::Result<Self> {
        let pin = Pin::of_mark(mark).ok_or_else(|| {
            let problem = "nothing tells this version of the object from others: open it without an index";
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        let place = Place::parse(url, options)?;
        let name = place.name();
        let gap = options.merge_gap.unwrap_or_else(|| host_of(&place.host()).gap());
        let opened = Opened { size: len, pin, prefix: Vec::new() };
        let link = Link { place, options: options.clone() };
        Ok(Self(Arc::new(Inner { link, name, opened, gap, known: true })))
    }

    /// Requests the first bytes of an object without waiting for them, so that many can be opened at once.
    pub fn begin(url: &str, options: &RemoteOptions, cancel: &Cancel) -> io::Result<Opening> {
        let place = Place::parse(url, options)?;
        let name = place.name();
        let way = way_of(&place, options)?;
        let (answer, opened) = mpsc::channel();
        let (options, cancel) = (options.clone(), cancel.clone());
        // Not `block_on`, which panics on a thread of another runtime.
        runtime::handle()?.spawn(async move {
            let link = Link { place, options };
            let opened = until_cancelled(&cancel, open(&way, &link, FIRST_READ)).await;
            let gap = link.options.merge_gap.unwrap_or_else(|| way.host.gap());
            let _nobody_waits = answer.send(opened.map(|opened| (link, opened, gap)));
        });
        Ok(Opening { name, opened })
    }

    /// Returns the URL without credentials.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the size in bytes.
    #[expect(clippy::len_without_is_empty, reason = "an empty object is an error of the caller")]
    pub fn len(&self) -> u64 {
        self.0.opened.size
    }

    /// Returns the ETag, else the modification time; empty if the server states neither.
    pub fn mark(&self) -> &str {
        let pin = &self.0.opened.pin;
        pin.etag.as_deref().or(pin.modified.as_deref()).unwrap_or_default()
    }

    /// Returns how many of its first bytes are in memory: these need no request.
    pub fn at_hand(&self) -> u64 {
        self.0.opened.prefix.len() as u64
    }

    /// Returns a string that identifies this state of this object: its URL, how it is accessed and its strong ETag;
    /// `None` without one. It contains secrets, so use it for hashing, not for messages.
    pub fn state(&self) -> Option<String> {
        let Inner { link: Link { place, options }, opened, .. } = &*self.0;
        let etag = opened.pin.strong()?;
        let RemoteOptions { anonymous, region, endpoint, headers, settings, .. } = options;
        let how = format!("{anonymous} {region:?} {endpoint:?} {headers:?} {settings:?}");
        Some(format!("{} {} {etag} {how}", place.url, opened.size))
    }

    /// Returns the distance up to which ranges are better fetched as one.
    pub fn merge_gap(&self) -> u64 {
        self.0.gap
    }

    /// Starts all reads. Sends exactly one `ReadDone` per read on `done`, at the latest soon after `cancel` is set.
    /// Does not wait for the network.
    pub fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, cancel: &Cancel) {
        let far: Vec<ReadOp> = ops.into_iter().filter_map(|op| self.answer_here(op, done)).collect();
        if far.is_empty() {
            return;
        }
        let link = &self.0.link;
        let ready = runtime::handle().and_then(|handle| Ok((handle, way_of(&link.place, &link.options)?)));
        let (handle, way) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                for ReadOp { id, into, .. } in far {
                    let result = Err(io::Error::new(error.kind(), error.to_string()));
                    let _nobody_waits = done.send(ReadDone { id, into, result });
                }
                return;
            }
        };
        for op in far {
            let offset = op.offset;
            let (slots, whole) = Whole::split(op, done.clone());
            let mut at = offset;
            for (index, mut slot) in slots.into_iter().enumerate() {
                let (object, way, cancel, whole) =
                    (Arc::clone(&self.0), way.clone(), cancel.clone(), Arc::clone(&whole));
                let from = at;
                at = at.saturating_add(slot.len() as u64);
                handle.spawn(async move {
                    let opened = &object.opened;
                    let filled = fill(&way, &object.link, (&opened.pin, opened.size), from, &mut slot);
                    let result = until_cancelled(&cancel, filled).await;
                    whole.finish(index, slot, result.map_err(|error| object.told(error)));
                });
            }
        }
    }

    /// Completes a read that the first bytes satisfy, or that no server could satisfy; returns other reads.
    fn answer_here(&self, mut op: ReadOp, done: &mpsc::Sender<ReadDone>) -> Option<ReadOp> {
        let Opened { prefix, size, .. } = &self.0.opened;
        let end = op.offset.checked_add(op.into.len() as u64);
        let inside = || {
            let start = usize::try_from(op.offset).ok()?;
            prefix.get(start..start.checked_add(op.into.len())?)
        };
        let result = match inside() {
            Some(bytes) => {
                op.into.copy_from_slice(bytes);
                Ok(())
            }
            None if end.is_none_or(|end| end > *size) => Err(io::ErrorKind::UnexpectedEof.into()),
            None => return Some(op),
        };
        let ReadOp { id, into, .. } = op;
        let _nobody_waits = done.send(ReadDone { id, into, result });
        None
    }
}

impl Inner {
    /// Returns the error of a read, with a note if the object was opened without a request.
    fn told(&self, error: io::Error) -> io::Error {
        match self.known && error.kind() == io::ErrorKind::StaleNetworkFileHandle {
            true => {
                let problem = "the object has changed since its header was indexed: make the index again";
                io::Error::new(error.kind(), problem)
            }
            false => error,
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("name", &self.name()).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Returns the connection resources of this process for a place.
fn way_of(place: &Place, options: &RemoteOptions) -> io::Result<Way> {
    Ok(Way { store: store_of(place, options)?, host: host_of(&place.host()) })
}

/// A read whose pieces arrive separately.
struct Whole {
    id: usize,
    done: mpsc::Sender<ReadDone>,
    pieces: Mutex<Pieces>,
}

struct Pieces {
    slots: Vec<Option<Slot>>,
    left: usize,
    /// Error of the failed piece with the lowest number.
    failed: Option<(usize, io::Error)>,
}

impl Whole {
    /// Cuts a read into as few pieces as possible, of about the same size.
    fn split(op: ReadOp, done: mpsc::Sender<ReadDone>) -> (Vec<Slot>, Arc<Self>) {
        let ReadOp { id, into, .. } = op;
        let piece = usize::try_from(Object::PIECE).unwrap_or(usize::MAX);
        let count = into.len().div_ceil(piece).max(1);
        let each = into.len().div_ceil(count);
        let (mut slots, mut rest) = (Vec::with_capacity(count), into);
        while rest.len() > each {
            let (first, later) = rest.cut(each);
            slots.push(first);
            rest = later;
        }
        slots.push(rest);
        let pieces = Pieces { left: slots.len(), slots: slots.iter().map(|_| None).collect(), failed: None };
        (slots, Arc::new(Self { id, done, pieces: Mutex::new(pieces) }))
    }

    fn finish(&self, index: usize, slot: Slot, result: io::Result<()>) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = pieces.slots.get_mut(index) {
            *place = Some(slot);
        }
        if let Err(error) = result
            && pieces.failed.as_ref().is_none_or(|(at, _)| index < *at)
        {
            pieces.failed = Some((index, error));
        }
        pieces.left -= 1;
        if pieces.left > 0 {
            return;
        }
        let (slots, failed) = (std::mem::take(&mut pieces.slots), pieces.failed.take());
        drop(pieces);
        let joined = slots.into_iter().flatten().reduce(|joined, next| match joined.join_next(next) {
            Ok(joined) => joined,
            // Pieces of one slot, in order, always join.
            Err((joined, _)) => joined,
        });
        let Some(into) = joined else { return };
        let result = failed.map_or(Ok(()), |(_, error)| Err(error));
        let _nobody_waits = self.done.send(ReadDone { id: self.id, into, result });
    }
}
