//! Runs work of the library for Python: releases the interpreter's lock, and handles signals and progress.
//!
//! For the main thread another thread does the work, so that Ctrl-C is noticed within `LOOK`. For other threads, and
//! if the work is short or no thread can be started, it is done in place. Either way no work is left
//! when `run` returns. A panic of the library is a bug, and becomes an exception: `InternalError`.

use crate::error::{exception, refused, strile_error};
use pyo3::prelude::*;
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;
use strile::engine::Budget;
use strile::{Cancel, Context};

/// Time between checks for signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// Makes the context of a call with its memory and threads. Calls without a memory limit share the budget of the process.
pub(crate) fn context(memory: Option<u64>, threads: Option<usize>) -> PyResult<Context> {
    // Asked once: the answer takes longer than a small read.
    static THREADS: OnceLock<NonZeroUsize> = OnceLock::new();
    let threads = match threads {
        None => *THREADS.get_or_init(|| Context::default().threads),
        Some(threads) => {
            NonZeroUsize::new(threads).ok_or_else(|| refused("threads is 0, expected at least 1"))?
        }
    };
    Ok(Context {
        cancel: Cancel::default(),
        progress: None,
        budget: Arc::new(memory.map_or_else(Budget::of_process, Budget::new)),
        trace: None,
        threads,
    })
}

/// Blocks done, and the total.
#[derive(Default)]
pub(crate) struct Count {
    done: AtomicU64,
    total: AtomicU64,
}

impl Count {
    /// Sets the total.
    pub(crate) fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Adds to the total.
    pub(crate) fn expect_more(&self, blocks: u64) {
        self.total.fetch_add(blocks, Ordering::Relaxed);
    }

    /// Marks all blocks as done: some may have needed no work.
    pub(crate) fn complete(&self) {
        self.done.store(self.total.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn now(&self) -> (u64, u64) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed).min(total), total)
    }
}

impl strile::engine::Progress for Count {
    fn advance(&self, blocks: u64) {
        self.done.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// A callback for progress, called with the blocks done and the total.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a, 'py> {
    pub(crate) count: &'a Count,
    pub(crate) progress: &'a Bound<'py, PyAny>,
}

/// Does `work`, which `cancel` stops, and waits for it. An exception of the callback, or of a signal handler, cancels
/// the work and is raised when the work has ended.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    watch: Option<Watch<'_, '_>>,
    work: impl FnOnce() -> strile::Result<T> + Send,
) -> PyResult<T> {
    if watch.is_none() && !is_main_thread(py)? {
        return run_at_once(py, work);
    }
    let mut reported = None;
    let mut look = |at_end: bool| {
        py.check_signals()?;
        let Some(Watch { count, progress }) = watch else { return Ok(()) };
        let now = count.now();
        if (now.1 > 0 || at_end) && reported != Some(now) {
            reported = Some(now);
            progress.call1(now)?;
        }
        Ok(())
    };
    let (sender, done) = mpsc::sync_channel(1);
    // Taken by the thread, or by this one where there is none.
    let work = Mutex::new(Some(work));
    let taken = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("strile-call".to_owned());
        let begun = thread.spawn_scoped(scope, || {
            if let Some(work) = taken() {
                // The receiver lives as long as this thread.
                let _waited_for = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        });
        // The system has no thread for it.
        if begun.is_err()
            && let Some(work) = taken()
        {
            let result = run_at_once(py, work)?;
            return look(true).map(|()| result);
        }
        let mut done = done;
        loop {
            let waited;
            (waited, done) = py.detach(move || (done.recv_timeout(LOOK), done));
            // The only error is that it takes longer: the sender outlives the loop.
            if let Ok(result) = waited {
                let result = result.map_err(|panic| panicked(py, panic.as_ref()))?.map_err(exception)?;
                return look(true).map(|()| result);
            }
            if let Err(raised) = look(false) {
                cancel.cancel();
                py.detach(move || drop(done.recv()));
                return Err(raised);
            }
        }
    })
}

/// Does short work on this thread, without checks for signals.
pub(crate) fn run_at_once<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> strile::Result<T> + Send,
) -> PyResult<T> {
    detached(py, work)?.map_err(exception)
}

/// Does work without the interpreter's lock, on this thread.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)).map_err(|panic| words_of(panic.as_ref())))
        .map_err(|words| internal(py, &words))
}

/// Does work that needs the interpreter, on this thread.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(py, panic.as_ref())))
}

fn panicked(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    internal(py, &words_of(panic))
}

fn internal(py: Python<'_>, words: &str) -> PyErr {
    strile_error(
        py,
        "InternalError",
        format!("strile failed inside: {words}; this is a bug, please report it"),
    )
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// Panics, for the test of what a panic becomes: in work that is waited for, done at once, or with the interpreter.
#[pyfunction]
pub(crate) fn _panic(py: Python<'_>, place: &str) -> PyResult<()> {
    #[expect(clippy::panic, reason = "only the test calls it")]
    fn panic() -> strile::Result<()> {
        std::panic::panic_any("a panic on purpose")
    }
    match place {
        "thread" => run(py, &Cancel::default(), None, panic),
        "at once" => run_at_once(py, panic),
        _ => guarded(py, || panic().map_err(exception)),
    }
}

/// Returns whether signals arrive on this thread.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}
