//! Threads of the process and the state that each keeps between blocks.
//!
//! One pool serves every engine and every job, so that sixteen callers do not start sixteen times sixteen threads. It
//! has one thread per available core and never grows: more would not decode faster. A forked child starts its own pool.

use crate::codec::Workspace;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use strile_engine::memory::try_zeroed;
use strile_engine::{PerProcess, thread_builder};

/// Maximum bytes of buffers that a thread keeps between jobs in total; above it, the largest buffers are released
/// first.
const KEPT_BYTES: usize = 32 << 20;

/// The same for threads outside the pool: callers may have any number of them.
pub(crate) const KEPT_BY_CALLERS: usize = 4 << 20;

/// Buffers and decoder state of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    /// State of the decoders.
    pub workspace: Workspace,
    /// Encoded bytes, if the source does not lend them.
    pub encoded: Vec<u8>,
    /// Encoded bytes with their bits reversed.
    pub reversed: Vec<u8>,
    /// A decoded block.
    pub decoded: Vec<u8>,
    /// Row buffers.
    pub rows: RowScratch,
    /// Part of `kept_bytes` of these buffers.
    kept: Kept,
}

/// Bytes that all threads keep in their buffers between jobs.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes that the threads of the process keep in buffers between jobs: at most 32 MiB per thread of the
/// pool, and 4 MiB per thread that waits for small jobs. A thread reaches its share with its largest block.
pub fn kept_bytes() -> usize {
    KEPT.load(Ordering::Relaxed)
}

/// Bytes kept by one thread, counted until it ends.
#[derive(Default)]
struct Kept(usize);

impl Kept {
    fn set(&mut self, bytes: usize) {
        KEPT.fetch_add(bytes, Ordering::Relaxed);
        KEPT.fetch_sub(self.0, Ordering::Relaxed);
        self.0 = bytes;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Buffers for one row.
#[derive(Default)]
pub(crate) struct RowScratch {
    /// Samples of a row, before they are distributed to bands.
    pub samples: Vec<u8>,
    /// A packed row in native byte order without predictor.
    pub packed: Vec<u8>,
    /// A packed row in an intermediate state.
    pub bytes: Vec<u8>,
    /// Samples of one band; also as floats, if the output converts.
    pub picked: Vec<u8>,
    pub floats: Vec<u8>,
}

/// A buffer that a thread may keep.
pub(crate) trait Buffer {
    /// Returns its size in bytes.
    fn bytes(&self) -> usize;

    /// Releases its memory.
    fn give_back(&mut self);
}

impl<T> Buffer for Vec<T> {
    fn bytes(&self) -> usize {
        self.capacity().saturating_mul(size_of::<T>())
    }

    fn give_back(&mut self) {
        *self = Vec::new();
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Runs `work` with this thread's scratch. A panic inside discards the scratch, so it is never left half changed.
pub(crate) fn with_scratch<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
    with_scratch_keeping(most_kept(), work)
}

/// Returns the maximum bytes that this thread keeps between jobs.
fn most_kept() -> usize {
    match rayon::current_thread_index() {
        Some(_) => KEPT_BYTES,
        None => KEPT_BY_CALLERS,
    }
}

fn with_scratch_keeping<R>(most: usize, work: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.take();
    let result = work(&mut scratch);
    let Scratch { workspace, encoded, reversed, decoded, rows, kept: counted } = &mut scratch;
    let RowScratch { samples, packed, bytes, picked, floats } = rows;
    let own = [encoded, reversed, decoded, samples, packed, bytes, picked, floats];
    let mut buffers = workspace.buffers();
    buffers.extend(own.map(|buffer| buffer as &mut dyn Buffer));
    buffers.sort_by_key(|buffer| buffer.bytes());
    let mut kept = 0;
    for buffer in buffers {
        if kept + buffer.bytes() > most {
            buffer.give_back();
        }
        kept += buffer.bytes();
    }
    counted.set(kept);
    SCRATCH.set(scratch);
    result
}

/// Returns the first `len` bytes of `buffer`, with unspecified contents; replaces it by a larger one if it is shorter.
/// `None` if there is no memory.
pub(crate) fn sized(buffer: &mut Vec<u8>, len: usize) -> Option<&mut [u8]> {
    if buffer.len() < len {
        // Release the old buffer first: both together may be too much. Pages of the new one are touched on first use.
        *buffer = Vec::new();
        *buffer = try_zeroed(len, "a block").ok()?;
    }
    buffer.get_mut(..len)
}

/// Returns the number of threads that jobs run on.
pub(crate) fn threads() -> usize {
    pool().threads.as_ref().map_or(1, ThreadPool::current_num_threads)
}

/// Runs `work` on a thread of the pool, or here if the system provides no threads.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) {
    let pool = pool();
    let work = || {
        pool.busy.fetch_add(1, Ordering::Relaxed);
        let _busy = Helpers { count: 1 };
        work();
    };
    match &pool.threads {
        Some(threads) => threads.spawn_fifo(work),
        None => work(),
    }
}

/// Runs `work` like `spawn`, but before other waiting work: encoding threads check for it between two blocks
/// (`give_way`). Intended for short work that produces more to encode: reducing pixels, or reading them from local
/// files. Otherwise it would wait until all running blocks are encoded, and then the threads would wait for it.
pub(crate) fn spawn_soon(work: impl FnOnce() + Send + 'static) {
    let soon = &pool().soon;
    soon.lock().unwrap_or_else(PoisonError::into_inner).push_back(Box::new(work));
    // For idle threads. A thread that comes too late finds nothing.
    spawn(|| {
        if let Some(work) = next_soon() {
            work();
        }
    });
}

/// Runs one piece of urgent work, if there is any.
pub(crate) fn give_way() {
    if let Some(work) = next_soon() {
        // A panic fails the job of that work, which reports it; the caller's job continues.
        let _panicked = catch_unwind(AssertUnwindSafe(work));
    }
}

fn next_soon() -> Option<Work> {
    pool().soon.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

type Work = Box<dyn FnOnce() + Send>;

/// Threads that count as busy until this is dropped.
pub(crate) struct Helpers {
    count: usize,
}

impl Helpers {
    /// Returns their number.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        pool().busy.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// Reserves threads besides those of the pool, up to `most`: as many as there are idle ones in the pool.
pub(crate) fn helpers(most: usize) -> Helpers {
    let mut count = 0;
    if most > 0 {
        // The closure always returns a value.
        let _ = pool().busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
            count = most.min(threads().saturating_sub(busy));
            Some(busy + count)
        });
    }
    Helpers { count }
}

/// Runs `work` on the calling thread and, at the same time, on up to `threads` - 1 idle threads of the pool. Returns
/// when all are done. Intended for short host work that its callers divide among themselves.
pub fn together(threads: usize, work: impl Fn() + Sync) {
    let helpers = helpers(threads.saturating_sub(1));
    match &pool().threads {
        Some(pool) if helpers.count() > 0 => pool.in_place_scope(|scope| {
            for _ in 0..helpers.count() {
                scope.spawn(|_| work());
            }
            work();
        }),
        _ => work(),
    }
}

struct Pool {
    /// `None` if the system provides no threads.
    threads: Option<ThreadPool>,
    /// Busy threads: of the pool and helpers.
    busy: AtomicUsize,
    /// Urgent work, taken before other waiting work.
    soon: Mutex<VecDeque<Work>>,
}

fn pool() -> &'static Pool {
    static POOL: PerProcess<Pool> = PerProcess::new();
    POOL.get(|| {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        // A panic on a worker drops its job, whose ticket then reports that it was abandoned.
        let builder = ThreadPoolBuilder::new().num_threads(threads).panic_handler(|_| {});
        let threads = builder.spawn_handler(start).build().ok();
        Pool { threads, busy: AtomicUsize::new(0), soon: Mutex::default() }
    })
}

/// Starts a thread of the pool, and returns once it runs: it has then allocated its memory before the next one is
/// started.
fn start(thread: ThreadBuilder) -> io::Result<()> {
    let (begun, begins) = mpsc::sync_channel(1);
    let new = thread_builder(&format!("strile-{}", thread.index()))?;
    new.spawn(move || {
        let _started = begun.send(());
        thread.run();
    })?;
    begins.recv().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_buffers_are_counted_until_their_thread_ends() {
        // A separate thread: tests on other threads change the sum by less than what is kept here.
        let kept = std::thread::spawn(|| {
            with_scratch_keeping(KEPT_BYTES, |scratch| {
                scratch.decoded = vec![1; KEPT_BYTES - 1];
                scratch.encoded = vec![1; KEPT_BYTES];
            });
            SCRATCH.with_borrow(|scratch| {
                assert_eq!((scratch.decoded.len(), scratch.encoded.len()), (KEPT_BYTES - 1, 0));
                assert!(kept_bytes() >= KEPT_BYTES - 1);
                scratch.kept.0
            })
        });
        assert_eq!(kept.join().unwrap(), KEPT_BYTES - 1);
        assert!(kept_bytes() < KEPT_BYTES - 1, "the buffers went with their thread");
    }

    /// An encoding thread takes urgent work, although all threads are busy and more work waits.
    #[test]
    fn what_is_to_be_done_soon_goes_before_what_waits() {
        let all = threads();
        let (begun, begins) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let ends: Vec<mpsc::Sender<()>> = (0..all)
            .map(|_| {
                let (end, ended) = mpsc::channel::<()>();
                let begun = begun.clone();
                spawn(move || {
                    begun.send(()).unwrap();
                    while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {
                        give_way();
                        std::thread::yield_now();
                    }
                });
                end
            })
            .collect();
        (0..all).for_each(|_| begins.recv().unwrap());
        let (waited, later) = (done.clone(), done.clone());
        spawn(move || waited.send("what waits").unwrap());
        spawn_soon(|| panic!("work that is lost by itself"));
        spawn_soon(move || later.send("soon").unwrap());
        assert_eq!(is_done.recv().unwrap(), "soon");
        drop(ends);
        assert_eq!(is_done.recv().unwrap(), "what waits");
    }

    #[test]
    fn threads_of_the_pool_keep_more_than_others() {
        let (sender, most) = std::sync::mpsc::channel();
        spawn(move || sender.send(most_kept()).unwrap());
        assert_eq!((most_kept(), most.recv().unwrap()), (KEPT_BY_CALLERS, KEPT_BYTES));
        let lens = std::thread::spawn(|| {
            with_scratch(|scratch| {
                scratch.decoded = vec![1; KEPT_BY_CALLERS];
                scratch.encoded = vec![1; KEPT_BY_CALLERS + 1];
            });
            SCRATCH.with_borrow(|scratch| (scratch.decoded.len(), scratch.encoded.len()))
        });
        assert_eq!(lens.join().unwrap(), (KEPT_BY_CALLERS, 0));
    }
}
