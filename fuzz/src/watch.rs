//! What a mutant must not do: panic in our code, take too long, take too much memory.
//!
//! Panics are told apart by the file they happen in: the engine turns those of a decoder into a fault, so one in
//! another crate's decoder is counted; one anywhere else is a failure, caught or not. A mutant that does not
//! come back ends the process, naming itself.
//!
//! Memory is all that Rust code has taken: pixels, scratch, directories, metadata, warnings. Memory of C libraries is in
//! the resident size of the process alone, which [`resident`] gives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};
use testkit::allocator;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

/// After this a mutant is taken to hang.
const HUNG: u64 = 60;

/// Panics since the last look: `file:line: message`.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The target that runs now.
static RUNNING: Mutex<String> = Mutex::new(String::new());
/// The mutant that runs now, and one more than the second it began in; 0 where none runs.
static NUMBER: AtomicU64 = AtomicU64::new(0);
static SINCE: AtomicU64 = AtomicU64::new(0);
static CLOCK: Mutex<Option<Instant>> = Mutex::new(None);
static START: Once = Once::new();

/// What one mutant did besides its outcome.
pub(crate) struct Seen<T> {
    /// `None` where it panicked.
    pub(crate) outcome: Option<T>,
    pub(crate) took: Duration,
    pub(crate) peak: usize,
    pub(crate) foreign_panics: Vec<String>,
    /// Why it is a failure.
    pub(crate) failure: Option<String>,
}

/// What a mutant may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

/// Names the target that runs from now on.
pub(crate) fn begin(target: &str) {
    START.call_once(start);
    target.clone_into(&mut lock(&RUNNING));
}

/// Runs one mutant under watch.
pub(crate) fn watched<T>(number: u64, bounds: Bounds, mut mutant: impl FnMut() -> T) -> Seen<T> {
    START.call_once(start);
    let mut seen = once(number, &mut mutant);
    if seen.took > bounds.time {
        // Another process may have had the machine: slow is what is slow twice.
        seen = once(number, &mut mutant);
    }
    let (foreign, own): (Vec<_>, Vec<_>) = lock(&PANICS).drain(..).partition(|place| is_foreign(place));
    seen.foreign_panics = foreign;
    seen.failure = if let Some(place) = own.first() {
        Some(format!("panic at {place}"))
    } else if seen.took > bounds.time {
        Some(format!("took {:.1} s", seen.took.as_secs_f64()))
    } else if seen.peak > bounds.bytes {
        Some(format!("took {} bytes of memory, {} is the limit", seen.peak, bounds.bytes))
    } else {
        None
    };
    seen
}

fn once<T>(number: u64, mutant: &mut impl FnMut() -> T) -> Seen<T> {
    NUMBER.store(number, Relaxed);
    SINCE.store(seconds() + 1, Relaxed);
    let before = allocator::reset_peak();
    let begin = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(mutant)).ok();
    let took = begin.elapsed();
    let peak = allocator::peak().saturating_sub(before);
    SINCE.store(0, Relaxed);
    Seen { outcome, took, peak, foreign_panics: Vec::new(), failure: None }
}

/// The most memory that this process ever had, in bytes, C libraries and the fuzzer's own seeds among it; 0 where the
/// system does not tell.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// Whole seconds since the first mutant, as the watching thread counts them.
fn seconds() -> u64 {
    TICKS.load(Relaxed)
}

static TICKS: AtomicU64 = AtomicU64::new(0);

/// Crates that cargo fetched lie in its registry.
fn is_foreign(place: &str) -> bool {
    place.contains("/registry/src/") || place.contains("/vendor/")
}

fn start() {
    *lock_clock() = Some(Instant::now());
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if SINCE.load(Relaxed) == 0 {
            return told(info);
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = words_of(info.payload()).lines().next().unwrap_or_default();
        lock_panics().push(format!("{place}: {message}"));
    }));
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = lock_clock().map_or(0, |begin| begin.elapsed().as_secs());
            TICKS.store(now, Relaxed);
            let since = SINCE.load(Relaxed);
            if since > 0 && now + 1 > since + HUNG {
                let (target, number) = (lock(&RUNNING).clone(), NUMBER.load(Relaxed));
                eprintln!("{target}: mutant {number} has not come back after {HUNG} s");
                std::process::exit(1);
            }
        }
    });
}

fn lock_panics() -> MutexGuard<'static, Vec<String>> {
    lock(&PANICS)
}

fn lock_clock() -> MutexGuard<'static, Option<Instant>> {
    lock(&CLOCK)
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The message of a panic.
fn words_of(payload: &(dyn std::any::Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}
