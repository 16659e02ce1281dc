//! Counts of requests and answers, for `/metrics` and the page.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use strile::cache;

/// Upper bounds of the latency buckets, in seconds.
const TIMES: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// Counts of one server.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) tiles: AtomicU64,
    pub(crate) bytes_sent: AtomicU64,
    /// Encoded bytes that were decoded.
    pub(crate) bytes_read: Arc<AtomicU64>,
    by_class: [AtomicU64; 6],
    in_flight: AtomicU64,
    times: [AtomicU64; TIMES.len()],
    time: AtomicU64,
}

/// Marks a request in progress.
pub(crate) struct InFlight<'a>(&'a Counts);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counts {
    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    pub(crate) fn note(&self, status: http::StatusCode, bytes: usize, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_sent.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(class) = self.by_class.get(usize::from(status.as_u16() / 100)) {
            class.fetch_add(1, Ordering::Relaxed);
        }
        for (limit, count) in TIMES.iter().zip(&self.times) {
            if took.as_secs_f64() <= *limit {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.time.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the counts in the text format of Prometheus.
    #[expect(clippy::cast_precision_loss, reason = "microseconds as seconds")]
    pub(crate) fn prometheus(&self) -> String {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, lines: &[(String, String)]| {
            let _in_memory = write!(text, "# HELP strile_{name} {help}\n# TYPE strile_{name} {kind}\n");
            for (labels, value) in lines {
                let _in_memory = writeln!(text, "strile_{name}{labels} {value}");
            }
        };
        let one = |value: u64| vec![(String::new(), value.to_string())];
        let classes = (1..).zip(self.by_class.iter().skip(1));
        let classes: Vec<_> = classes
            .map(|(class, count)| (format!("{{status=\"{class}xx\"}}"), get(count).to_string()))
            .collect();
        metric("requests_total", "counter", "Requests answered, by status.", &classes);
        metric("requests_in_flight", "gauge", "Requests being answered.", &one(get(&self.in_flight)));
        metric("tiles_total", "counter", "Tiles sent.", &one(get(&self.tiles)));
        metric("sent_bytes_total", "counter", "Bytes of bodies sent.", &one(get(&self.bytes_sent)));
        metric("read_bytes_total", "counter", "Encoded bytes of files decoded.", &one(get(&self.bytes_read)));
        let cached = cache::stats();
        metric("cache_bytes", "gauge", "Bytes in the block cache.", &one(cached.bytes));
        metric("cache_hits_total", "counter", "Blocks found in the cache.", &one(cached.hits));
        metric("cache_misses_total", "counter", "Blocks not found in the cache.", &one(cached.misses));
        let _in_memory = write!(
            text,
            "# HELP strile_request_seconds Time to answer a request.\n# TYPE strile_request_seconds histogram\n"
        );
        for (limit, count) in TIMES.iter().zip(&self.times) {
            let _in_memory = writeln!(text, "strile_request_seconds_bucket{{le=\"{limit}\"}} {}", get(count));
        }
        let all = get(&self.requests);
        let _in_memory = write!(
            text,
            "strile_request_seconds_bucket{{le=\"+Inf\"}} {all}\nstrile_request_seconds_sum {}\nstrile_request_seconds_count {all}\n",
            get(&self.time) as f64 / 1e6
        );
        text
    }
}
