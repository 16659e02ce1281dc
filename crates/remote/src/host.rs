//! What is known of one host: how many requests it takes at once, how long it takes to answer, how fast bytes arrive.
//!
//! The window starts small, doubles while more requests bring more bytes per second, and halves when the host says that it
//! is busy. All objects of a host share it, in all threads of the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::PerProcess;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const FIRST_WINDOW: usize = 16;
const LARGEST_WINDOW: usize = 64;
/// Answers that were under way when a host said that it is busy tell nothing new.
const BUSY_FOR: Duration = Duration::from_millis(250);
/// A wider window must bring this much more to be worth the connections.
const GAIN: f64 = 1.05;
/// Weight of the newest measurement.
const NEWEST: f64 = 0.3;
/// Bodies below this size tell nothing about the rate.
const MEASURED: u64 = 128 << 10;
const SMALLEST_GAP: u64 = 64 << 10;
const LARGEST_GAP: u64 = 1 << 20;

pub(crate) struct Host {
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    window: usize,
    /// Requests over the window that are still under way: their permits are not given back.
    over: usize,
    /// Whether a request had to wait in this round.
    full: bool,
    answers: usize,
    bytes: u64,
    since: Instant,
    /// Bytes per second of the best round.
    best: f64,
    busy: Option<Instant>,
    latency: Option<f64>,
    rate: Option<f64>,
}

/// A request's place in the window.
pub(crate) struct Entered {
    host: Arc<Host>,
    permit: Option<OwnedSemaphorePermit>,
}

/// Returns the host of that name.
pub(crate) fn host_of(name: &str) -> Arc<Host> {
    static HOSTS: PerProcess<Mutex<HashMap<String, Arc<Host>>>> = PerProcess::new();
    let mut hosts = HOSTS.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(hosts.entry(name.to_owned()).or_insert_with(|| Arc::new(Host::new())))
}

impl Host {
    fn new() -> Self {
        let state = State {
            window: FIRST_WINDOW,
            over: 0,
            full: false,
            answers: 0,
            bytes: 0,
            since: Instant::now(),
            best: 0.0,
            busy: None,
            latency: None,
            rate: None,
        };
        Self { permits: Arc::new(Semaphore::new(FIRST_WINDOW)), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place in the window.
    pub(crate) async fn enter(self: &Arc<Self>) -> Entered {
        if self.permits.available_permits() == 0 {
            self.state().full = true;
        }
        // The semaphore is never closed.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        Entered { host: Arc::clone(self), permit }
    }

    /// Counts an answer: the time to its head, the time of its body, and its bytes.
    pub(crate) fn answered(&self, latency: Duration, body: Duration, bytes: u64) {
        let mut state = self.state();
        state.latency = Some(mixed(state.latency, latency.as_secs_f64()));
        if bytes >= MEASURED && !body.is_zero() {
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let rate = bytes as f64 / body.as_secs_f64();
            state.rate = Some(mixed(state.rate, rate));
        }
        state.answers += 1;
        state.bytes = state.bytes.saturating_add(bytes);
        if state.answers >= state.window {
            self.end_round(&mut state);
        }
    }

    fn end_round(&self, state: &mut State) {
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = state.bytes as f64 / state.since.elapsed().as_secs_f64().max(1e-6);
        if state.full && rate > state.best * GAIN {
            let wider = (state.window * 2).min(LARGEST_WINDOW);
            let more = wider - state.window;
            let forgiven = more.min(state.over);
            state.over -= forgiven;
            self.permits.add_permits(more - forgiven);
            state.window = wider;
        }
        if state.full {
            state.best = state.best.max(rate);
        }
        (state.answers, state.bytes, state.since, state.full) = (0, 0, Instant::now(), false);
    }

    /// Takes fewer requests from now on: the host says that it is busy.
    pub(crate) fn slow_down(&self) {
        let mut state = self.state();
        if state.busy.is_some_and(|busy| busy.elapsed() < BUSY_FOR) {
            return;
        }
        let window = (state.window / 2).max(1);
        let fewer = state.window - window;
        state.over += fewer - self.permits.forget_permits(fewer);
        state.window = window;
        state.best = 0.0;
        state.busy = Some(Instant::now());
        (state.answers, state.bytes, state.since, state.full) = (0, 0, Instant::now(), false);
    }

    /// Requests that may be under way at once.
    pub(crate) fn window(&self) -> usize {
        self.state().window
    }

    /// Bytes that arrive in the time of one request: ranges nearer than that are fetched as one.
    pub(crate) fn gap(&self) -> u64 {
        let state = self.state();
        match (state.latency, state.rate) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
            (Some(latency), Some(rate)) => ((latency * rate) as u64).clamp(SMALLEST_GAP, LARGEST_GAP),
            _ => SMALLEST_GAP,
        }
    }
}

fn mixed(before: Option<f64>, now: f64) -> f64 {
    before.map_or(now, |before| before + NEWEST * (now - before))
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut state = self.host.state();
        if state.over > 0
            && let Some(permit) = self.permit.take()
        {
            state.over -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(host: &Arc<Host>) -> Option<Entered> {
        let permit = Arc::clone(&host.permits).try_acquire_owned().ok();
        host.state().full |= permit.is_none();
        permit.map(|permit| Entered { host: Arc::clone(host), permit: Some(permit) })
    }

    #[test]
    fn the_window_grows_while_it_pays_and_halves_when_the_host_is_busy() {
        let host = Arc::new(Host::new());
        let entered: Vec<Entered> = std::iter::from_fn(|| enter(&host)).collect();
        assert_eq!(entered.len(), FIRST_WINDOW);
        for _ in 0..FIRST_WINDOW {
            host.answered(Duration::from_millis(30), Duration::from_millis(10), 1 << 20);
        }
        assert_eq!(host.window(), 2 * FIRST_WINDOW);
        host.slow_down();
        host.slow_down();
        assert_eq!(host.window(), FIRST_WINDOW, "answers of one moment count once");
        host.state().busy = None;
        host.slow_down();
        assert_eq!((host.window(), host.state().over), (8, 8));
        drop(entered);
        let entered: Vec<Entered> = std::iter::from_fn(|| enter(&host)).collect();
        assert_eq!(entered.len(), 8, "places over the window are not given back");
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let host = Arc::new(Host::new());
        for _ in 0..100 {
            host.answered(Duration::from_millis(30), Duration::from_millis(1), 1 << 20);
        }
        assert_eq!(host.window(), FIRST_WINDOW);
    }

    #[test]
    fn the_gap_is_latency_times_rate() {
        let host = Host::new();
        assert_eq!(host.gap(), SMALLEST_GAP);
        host.answered(Duration::from_millis(10), Duration::from_secs(1), 20 << 20);
        assert_eq!(host.gap() >> 10, 204);
        host.answered(Duration::from_secs(10), Duration::from_secs(1), 20 << 20);
        assert_eq!(host.gap(), LARGEST_GAP);
    }
}
