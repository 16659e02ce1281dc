//! Resources of a soak run, and the rule by which they must not grow.

use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;

/// A device whose memory is monitored.
pub struct Gpu {
    device: std::sync::Arc<strile_cuda::device::Device>,
    name: String,
}

impl Gpu {
    /// Opens a device, which must exist.
    pub fn open(index: u32) -> Self {
        let device = strile_cuda::device::Device::open(index)
            .unwrap_or_else(|reason| panic!("cuda:{index}: {reason}"));
        Self { device, name: format!("cuda:{index}") }
    }

    /// Returns the bytes in use in strile's pool, and the bytes of the device in use by any program, as reported by the
    /// driver.
    fn taken(&self) -> (u64, u64) {
        let gpu = strile::device::devices()
            .into_iter()
            .find(|device| device.name == self.name)
            .and_then(|device| device.gpu);
        let driver = gpu.and_then(|gpu| Some(gpu.memory_total - gpu.memory_free?)).unwrap_or(0);
        (self.device.pool().current(), driver)
    }
}

/// The process after a round, while no call is in progress.
pub struct Sample {
    seconds: u64,
    operations: u64,
    /// Bytes allocated by Rust code.
    held: u64,
    /// Part of these in buffers that are kept between blocks: at most 32 MiB per CPU thread, 128 MiB per device.
    kept: u64,
    /// Bytes of the heap in use by Rust code and C libraries, and free bytes in it.
    heap: (u64, u64),
    /// Resident bytes after freed memory was returned to the system.
    memory: u64,
    descriptors: u64,
    threads: u64,
    /// Bytes by strile's count and by the driver's.
    device: Option<(u64, u64)>,
}

const MIB: u64 = 1 << 20;
/// Maximum bytes that a CPU thread keeps in buffers.
const KEPT_PER_THREAD: u64 = 32 * MIB;

impl Sample {
    pub fn take(at: Duration, operations: u64, gpu: Option<&Gpu>) -> Self {
        testkit::allocator::trim();
        let (used, free) = testkit::allocator::heap();
        Self {
            seconds: at.as_secs(),
            operations,
            held: testkit::allocator::taken() as u64,
            kept: (strile_cpu::kept_bytes() + strile_cuda::decode::picture::kept_bytes()) as u64,
            heap: (used as u64, free as u64),
            memory: status("RssAnon") << 10,
            descriptors: std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64),
            threads: status("Threads"),
            device: gpu.map(Gpu::taken),
        }
    }

    pub fn json(&self) -> Value {
        let (pool, driver) = self.device.unzip();
        json!({
            "seconds": self.seconds, "operations": self.operations, "held": self.held, "kept": self.kept,
            "heap": self.heap.0, "free": self.heap.1, "memory": self.memory,
            "descriptors": self.descriptors, "threads": self.threads, "device": pool, "driver": driver,
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:5} s  {:8} operations  {:6} KiB held, {:6} of them kept, {:4} MiB in the heap, {:4} free there, {:6} MiB resident  {:3} descriptors  {:3} threads",
            self.seconds,
            self.operations,
            self.held >> 10,
            self.kept >> 10,
            self.heap.0 / MIB,
            self.heap.1 / MIB,
            self.memory / MIB,
            self.descriptors,
            self.threads
        )?;
        match self.device {
            Some((pool, driver)) => {
                write!(f, "  device {} MiB, by the driver {} MiB", pool / MIB, driver / MIB)
            }
            None => Ok(()),
        }
    }
}

/// Returns the rule in words.
pub fn rule() -> &'static str {
    "samples are taken while no call is under way, after freed memory was returned to the system; buffers that are \
     kept from block to block (at most 32 MiB per CPU thread and 128 MiB per device) are left out; the first half is warm-up; of the rest the last third is compared with the first third: \
     the median of what Rust code holds may be 1 % + 1 MiB larger, that of the heap in use (Rust code and C libraries) \
     1 % + 4 MiB, that of resident memory 5 % + 16 MiB besides what is free in the heap, that of the driver's count of device \
     memory 16 MiB, and the most descriptors, threads and device memory by our count may not be more"
}

type Figure = fn(&Sample) -> u64;
type Summary = fn(&[Sample], Figure) -> u64;

/// Returns one line per figure: first and last third, and whether it satisfies the rule.
pub fn verdict(samples: &[Sample]) -> Vec<Value> {
    let steady = samples.get(samples.len() / 2..).unwrap_or_default();
    let third = (steady.len() / 3).max(1);
    let (first, last) = (steady.get(..third), steady.get(steady.len().saturating_sub(third)..));
    let (Some(first), Some(last)) = (first.filter(|_| steady.len() >= 3), last) else {
        return vec![
            json!({ "figure": "samples", "ok": false, "why": "fewer than three samples after warm-up" }),
        ];
    };
    // Free memory between allocations cannot be returned to the system: not a leak.
    let free: Figure = |s| s.heap.1;
    let scattered = median(last, free).saturating_sub(median(first, free));
    let line = |name: &str, of: Summary, figure: Figure, slack: &dyn Fn(u64) -> u64| {
        let (before, after) = (of(first, figure), of(last, figure));
        json!({ "figure": name, "first": before, "last": after, "most": before + slack(before), "ok": after <= before + slack(before) })
    };
    let mut lines = vec![
        line("held", median, |s| s.held.saturating_sub(s.kept), &|before| before / 100 + MIB),
        line("heap", median, |s| s.heap.0.saturating_sub(s.kept), &|before| before / 100 + 4 * MIB),
        line("memory", median, |s| s.memory.saturating_sub(s.kept), &|before| {
            before / 20 + 16 * MIB + scattered
        }),
        line("descriptors", most, |s| s.descriptors, &|_| 0),
        line("threads", most, |s| s.threads, &|_| 0),
    ];
    let threads = most(samples, |s| s.threads);
    let devices = u64::from(samples.iter().any(|sample| sample.device.is_some()));
    let limit = threads * KEPT_PER_THREAD + devices * strile_cuda::decode::picture::KEPT as u64;
    let kept = most(samples, |s| s.kept);
    lines.push(json!({ "figure": "kept", "last": kept, "most": limit, "ok": kept <= limit }));
    if samples.iter().any(|sample| sample.device.is_some()) {
        lines.push(line("device", most, |s| s.device.unwrap_or_default().0, &|_| 0));
        lines.push(line("driver", median, |s| s.device.unwrap_or_default().1, &|_| 16 * MIB));
    }
    lines
}

fn median(samples: &[Sample], figure: Figure) -> u64 {
    let mut figures: Vec<u64> = samples.iter().map(figure).collect();
    figures.sort_unstable();
    figures.get(figures.len() / 2).copied().unwrap_or(0)
}

fn most(samples: &[Sample], figure: Figure) -> u64 {
    samples.iter().map(figure).max().unwrap_or(0)
}

/// Returns a number of `/proc/self/status`.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Describes the machine in words.
pub fn machine(gpu: Option<&Gpu>) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let found =
        gpu.and_then(|gpu| strile::device::devices().into_iter().find(|device| device.name == gpu.name));
    let device = found.map_or_else(String::new, |device| format!(", {}", device.description));
    format!("{cores} cores{device}")
}

/// Returns the date, as 2026-11-16.
pub fn date() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Days since 0000-03-01, by Howard Hinnant's algorithm.
    let days = now.as_secs() / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!("{:04}-{month:02}-{date:02}", year + era * 400 + u64::from(month <= 2))
}
