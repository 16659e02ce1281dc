//! How often a request is sent, and what lies between: of ranges that are read, and of objects that are written.

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

/// Counts what was tried for one purpose.
pub(crate) struct Tries<'a> {
    options: &'a RemoteOptions,
    host: &'a Host,
    since: Instant,
    /// Since bytes arrived.
    failed: u32,
    /// In all.
    tried: u32,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(options: &'a RemoteOptions, host: &'a Host) -> Self {
        Self { options, host, since: Instant::now(), failed: 0, tried: 0 }
    }

    /// The time for all tries together.
    pub(crate) fn total(&self) -> Duration {
        self.options.total_timeout
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> Duration {
        self.total().saturating_sub(self.since.elapsed())
    }

    /// Waits before the next try, or says why there is none. After `progress` failures are counted anew.
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
        // A host that refuses connections is rather down than busy.
        self.failed += if failure.error.kind() == io::ErrorKind::ConnectionRefused { 2 } else { 1 };
        sleep(pause).await;
        stats::RETRIES.add(1);
        Ok(())
    }
}

/// A random number.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// From a half to one, so that clients that failed together do not come back together.
fn jitter() -> f64 {
    0.5 + f64::from(u32::try_from(random() & 0xffff).unwrap_or_default()) / f64::from(0x2_0000u32)
}
