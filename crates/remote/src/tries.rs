//! Retries and their delays, for ranges that are read and objects that are written.

use crate::failure::{Failure, Then};
use crate::host::Host;
use crate::options::RemoteOptions;
use crate::stats;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::time::{Duration, Instant};
use tokio::time::sleep;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Counts the tries for one purpose.
pub(crate) struct Tries<'a> {
    options: &'a RemoteOptions,
    host: &'a Host,
    since: Instant,
    /// Failures since bytes arrived.
    failed: u32,
    /// Tries in total.
    tried: u32,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(options: &'a RemoteOptions, host: &'a Host) -> Self {
        Self { options, host, since: Instant::now(), failed: 0, tried: 0 }
    }

    /// Returns the time for all tries together.
    pub(crate) fn total(&self) -> Duration {
        self.options.total_timeout
    }

    /// Returns the remaining time.
    pub(crate) fn left(&self) -> Duration {
        self.total().saturating_sub(self.since.elapsed())
    }

    /// Waits before the next try, or returns why there is none. After `progress` the count of failures restarts.
    pub(crate) async fn pause(&mut self, failure: Failure, progress: bool) -> io::Result<()> {
        self.tried = self.tried.saturating_add(1);
        if progress {
            self.failed = 0;
        }
        let after = match failure.then {
            Then::GiveUp => return Err(failure.error),
            Then::Retry(after) => after,
            Then::SlowDown(after) => {
                self.host.slow_down();
                after
            }
        };
        let told = |text: String| io::Error::new(failure.error.kind(), text);
        if self.failed >= self.options.retries {
            let times = if self.tried == 1 { "once" } else { &format!("{} times", self.tried) };
            return Err(told(format!("{} (tried {times})", failure.error)));
        }
        let longest = (FIRST_PAUSE * 2u32.saturating_pow(self.failed.min(16))).min(LONGEST_PAUSE);
        let pause = after.unwrap_or_default().max(longest.mul_f64(jitter()));
        if pause >= self.left() {
            return Err(told(format!("{} (gave up: `total_timeout` is {:?})", failure.error, self.total())));
        }
        // A host that refuses connections is down rather than busy.
        self.failed += if failure.error.kind() == io::ErrorKind::ConnectionRefused { 2 } else { 1 };
        sleep(pause).await;
        stats::RETRIES.add(1);
        Ok(())
    }
}

/// Returns a random number.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns a factor from a half to one, so that clients that failed together do not retry together.
fn jitter() -> f64 {
    0.5 + f64::from(u32::try_from(random() & 0xffff).unwrap_or_default()) / f64::from(0x2_0000u32)
}
