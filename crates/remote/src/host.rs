//! State of a host: how many requests it takes at once, its latency, and its rate.
//!
//! The window doubles while more requests bring more bytes per second, and halves when the host reports that it is
//! busy. All objects of a host share it, in all threads of the process. A request that takes unusually long may be
//! repeated: at most one in twenty is, and none while the window is full.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::PerProcess;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of hosts that are remembered.
const KEPT: usize = 256;
const FIRST_WINDOW: usize = 64;
const LARGEST_WINDOW: usize = 128;
/// Answers that were in flight when a host reported to be busy are ignored for this time.
const BUSY_FOR: Duration = Duration::from_millis(250);
/// A wider window must increase the rate by this factor to be worth the connections.
const GAIN: f64 = 1.05;
/// Weight of the newest measurement.
const NEWEST: f64 = 0.3;
/// Smaller bodies are not used to measure the rate.
const MEASURED: u64 = 128 << 10;
const SMALLEST_GAP: u64 = 64 << 10;
const LARGEST_GAP: u64 = 1 << 20;
/// Bytes per second of a connection before the first measurement: typical for a bucket and a client in the same region.
const ASSUMED_RATE: f64 = 50e6;
/// Number of latencies that are remembered.
const RECENT: usize = 64;
/// Number of answers needed to know the usual latency.
const USUAL: usize = 20;
/// A request is slow if it takes this many times as long as nearly all others.
const SLOW: f64 = 3.0;
/// A request is not slow before this time.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(100);
/// One request in this many may be sent twice.
const HEDGED: u64 = 20;

pub(crate) struct Host {
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    window: usize,
    /// Requests over the window that are still in flight: their permits are not returned.
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
    /// The last latencies until the head of an answer, in seconds; the next is stored at `headed % RECENT`.
    recent: Vec<f64>,
    headed: usize,
    requests: u64,
    hedges: u64,
}

/// A request's place in the window.
pub(crate) struct Entered {
    host: Arc<Host>,
    permit: Option<OwnedSemaphorePermit>,
}

/// Returns the host of that name.
pub(crate) fn host_of(name: &str) -> Arc<Host> {
    static HOSTS: PerProcess<Mutex<Hosts>> = PerProcess::new();
    HOSTS.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner).get(name)
}

/// Hosts by name.
#[derive(Default)]
struct Hosts(HashMap<String, Arc<Host>>);

impl Hosts {
    /// Returns the host of that name. When there are too many, hosts without a request in flight are forgotten.
    fn get(&mut self, name: &str) -> Arc<Host> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        if self.0.len() >= KEPT {
            self.0.retain(|_, host| Arc::strong_count(host) > 1);
        }
        let host = Arc::new(Host::new());
        if self.0.len() < KEPT {
            self.0.insert(name.to_owned(), Arc::clone(&host));
        }
        host
    }
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
            recent: Vec::new(),
            headed: 0,
            requests: 0,
            hedges: 0,
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
        self.state().requests += 1;
        Entered { host: Arc::clone(self), permit }
    }

    /// Returns a place for the repetition of a slow request, if one is free and few requests were repeated.
    pub(crate) fn hedge(self: &Arc<Self>) -> Option<Entered> {
        let mut state = self.state();
        if (state.hedges + 1).saturating_mul(HEDGED) > state.requests {
            return None;
        }
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        state.hedges += 1;
        Some(Entered { host: Arc::clone(self), permit: Some(permit) })
    }

    /// Returns the time after which a request for this many bytes is slow; `None` until the usual latency is known.
    pub(crate) fn patience(&self, bytes: u64) -> Option<Duration> {
        let state = self.state();
        if state.headed < USUAL {
            return None;
        }
        let mut recent = state.recent.clone();
        recent.sort_unstable_by(f64::total_cmp);
        let nearly_all = recent.get(recent.len() * 19 / 20).copied()?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let usual = nearly_all + bytes as f64 / state.rate.unwrap_or(ASSUMED_RATE);
        Some(Duration::try_from_secs_f64(SLOW * usual).ok()?.max(SHORTEST_PATIENCE))
    }

    /// Records the latency of the head of an answer.
    pub(crate) fn headed(&self, latency: Duration) {
        let mut state = self.state();
        let latency = latency.as_secs_f64();
        state.latency = Some(mixed(state.latency, latency));
        let at = state.headed % RECENT;
        match state.recent.get_mut(at) {
            Some(place) => *place = latency,
            None => state.recent.push(latency),
        }
        state.headed += 1;
    }

    /// Records an answer: its bytes, and the number and time of those after the first.
    pub(crate) fn answered(&self, bytes: u64, (later, body): (u64, Duration)) {
        let mut state = self.state();
        if later >= MEASURED && !body.is_zero() {
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let rate = later as f64 / body.as_secs_f64();
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

    /// Reduces the number of requests: the host reports that it is busy.
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

    /// Returns the bytes that arrive in the time of one request: closer ranges are fetched as one.
    pub(crate) fn gap(&self) -> u64 {
        let state = self.state();
        let bytes = state.latency.unwrap_or_default() * state.rate.unwrap_or(ASSUMED_RATE);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
        (bytes as u64).clamp(SMALLEST_GAP, LARGEST_GAP)
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

    impl Host {
        fn window(&self) -> usize {
            self.state().window
        }
    }

    #[test]
    fn the_window_grows_while_it_pays_and_halves_when_the_host_is_busy() {
        let host = Arc::new(Host::new());
        let entered: Vec<Entered> = std::iter::from_fn(|| enter(&host)).collect();
        assert_eq!(entered.len(), FIRST_WINDOW);
        for _ in 0..FIRST_WINDOW {
            host.answered(1 << 20, (1 << 20, Duration::from_millis(10)));
        }
        assert_eq!(host.window(), 2 * FIRST_WINDOW);
        host.slow_down();
        host.slow_down();
        assert_eq!(host.window(), FIRST_WINDOW, "answers of one moment count once");
        host.state().busy = None;
        host.slow_down();
        assert_eq!((host.window(), host.state().over), (32, 32));
        drop(entered);
        let entered: Vec<Entered> = std::iter::from_fn(|| enter(&host)).collect();
        assert_eq!(entered.len(), 32, "places over the window are not given back");
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let host = Arc::new(Host::new());
        for _ in 0..200 {
            host.answered(1 << 20, (1 << 20, Duration::from_millis(1)));
        }
        assert_eq!(host.window(), FIRST_WINDOW);
    }

    #[test]
    fn the_gap_is_latency_times_rate() {
        let host = Host::new();
        assert_eq!(host.gap(), SMALLEST_GAP);
        host.headed(Duration::from_millis(10));
        assert_eq!(host.gap(), 500_000, "before a rate was measured");
        host.answered(20 << 20, (20 << 20, Duration::from_secs(1)));
        assert_eq!(host.gap() >> 10, 204);
        host.headed(Duration::from_secs(10));
        assert_eq!(host.gap(), LARGEST_GAP);
    }

    #[test]
    fn few_requests_are_repeated_and_none_before_the_usual_is_known() {
        let host = Arc::new(Host::new());
        for _ in 0..USUAL {
            assert_eq!(host.patience(0), None);
            host.headed(Duration::from_millis(100));
        }
        let patience = host.patience(50_000_000).unwrap();
        assert!(patience > Duration::from_millis(3200) && patience < Duration::from_millis(3400));
        assert!(host.hedge().is_none(), "no request was sent");
        host.state().requests = 40;
        let hedges = [host.hedge(), host.hedge(), host.hedge()];
        assert_eq!(hedges.iter().flatten().count(), 2);
        host.state().requests = 10_000;
        let entered: Vec<Entered> = std::iter::from_fn(|| enter(&host)).collect();
        assert!(host.hedge().is_none(), "{} are under way", entered.len());
    }

    #[test]
    fn hosts_are_forgotten_when_there_are_many() {
        let mut hosts = Hosts::default();
        let used: Vec<_> = (0..10).map(|at| hosts.get(&format!("used{at}"))).collect();
        for at in 0..3 * KEPT {
            hosts.get(&format!("idle{at}"));
        }
        assert!(hosts.0.len() <= KEPT);
        assert!(
            used.iter().enumerate().all(|(at, host)| Arc::ptr_eq(host, &hosts.get(&format!("used{at}"))))
        );
        let all: Vec<_> = (0..2 * KEPT).map(|at| hosts.get(&format!("busy{at}"))).collect();
        assert_eq!((hosts.0.len(), all.len()), (KEPT, 2 * KEPT));
    }
}
