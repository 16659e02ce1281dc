//! What a mutant must not do: panic in our code, take too long, take too much memory.
//!
//! Panics are told apart by the file they happen in: the engine turns those of a decoder into a fault, so one in
//! another crate's decoder is counted; one anywhere else is a failure, caught or not. A mutant that does not
//! come back ends the process, naming itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};
use testkit::allocator;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

/// No mutant may take longer.
const SLOW: Duration = Duration::from_secs(2);
/// After this it is taken to hang.
const HUNG: Duration = Duration::from_secs(30);

/// Panics since the last look: `file:line: message`.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The mutant that runs now, and since when.
static RUNNING: Mutex<Option<(String, Instant)>> = Mutex::new(None);
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

/// Runs one mutant under watch; `limit` is in bytes.
pub(crate) fn watched<T>(name: impl Fn() -> String, limit: usize, mut mutant: impl FnMut() -> T) -> Seen<T> {
    START.call_once(start);
    let mut seen = once(&name, &mut mutant);
    if seen.took > SLOW {
        // Another process may have had the machine: slow is what is slow twice.
        seen = once(&name, &mut mutant);
    }
    let (foreign, own): (Vec<_>, Vec<_>) = lock(&PANICS).drain(..).partition(|place| is_foreign(place));
    seen.foreign_panics = foreign;
    seen.failure = if let Some(place) = own.first() {
        Some(format!("panic at {place}"))
    } else if seen.took > SLOW {
        Some(format!("took {:.1} s", seen.took.as_secs_f64()))
    } else if seen.peak > limit {
        Some(format!("took {} bytes of memory, {limit} is the limit", seen.peak))
    } else {
        None
    };
    seen
}

fn once<T>(name: &impl Fn() -> String, mutant: &mut impl FnMut() -> T) -> Seen<T> {
    *lock(&RUNNING) = Some((name(), Instant::now()));
    let before = allocator::reset_peak();
    let begin = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(mutant)).ok();
    let took = begin.elapsed();
    let peak = allocator::peak().saturating_sub(before);
    *lock(&RUNNING) = None;
    Seen { outcome, took, peak, foreign_panics: Vec::new(), failure: None }
}

/// Crates that cargo fetched lie in its registry.
fn is_foreign(place: &str) -> bool {
    place.contains("/registry/src/") || place.contains("/vendor/")
}

fn start() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if lock(&RUNNING).is_none() {
            return told(info);
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = info.payload_as_str().unwrap_or_default().lines().next().unwrap_or_default();
        lock(&PANICS).push(format!("{place}: {message}"));
    }));
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Some((name, since)) = lock(&RUNNING).as_ref()
                && since.elapsed() > HUNG
            {
                eprintln!("{name} has not come back after {} s", HUNG.as_secs());
                std::process::exit(1);
            }
        }
    });
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
