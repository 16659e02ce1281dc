//! Timed reads.

use crate::Failure;
use std::path::Path;
use std::time::{Duration, Instant};
use strile::engine::Report;
use strile::read::ReadPlan;
use strile::{Context, Dataset, Location, ReadOptions};

/// How files are read.
pub struct Bench {
    pub options: ReadOptions,
    pub to: Location,
    pub repeat: u32,
    pub context: Context,
}

/// Times of one read.
#[derive(Clone, Default)]
pub struct Read {
    /// Opening the file.
    pub open: Duration,
    /// Opening the file and everything up to the last pixel.
    pub whole: Duration,
    pub report: Report,
}

/// One file's reads, the fastest first.
pub struct Measured {
    pub device: String,
    /// Bytes of the pixels.
    pub bytes: u64,
    /// Making the plan, once more and alone.
    pub plan: Duration,
    pub reads: Vec<Read>,
}

/// The bus to the device.
#[derive(Clone, Copy)]
pub struct Link {
    /// Bytes per second.
    pub rate: f64,
    /// Whether the rate was measured now, on this machine.
    pub measured: bool,
}

impl Measured {
    pub fn best(&self) -> f64 {
        self.reads.first().map_or(f64::NAN, |read| read.whole.as_secs_f64())
    }

    pub fn median(&self) -> Read {
        self.reads.get(self.reads.len() / 2).cloned().unwrap_or_default()
    }

    pub fn gigabytes_per_second(&self) -> f64 {
        float(self.bytes) / 1e9 / self.best().max(1e-9)
    }

    /// Returns the seconds that the bytes of a read need on the bus, in the busier direction; `None` if no bytes go
    /// over it.
    pub fn floor(&self, to: Location, link: Option<Link>) -> Option<f64> {
        let link = link.filter(|_| self.device != "cpu")?;
        let up = self.median().report.encoded_bytes;
        let bytes = match to {
            Location::Host => up.max(self.bytes),
            Location::Cuda(_) => up,
        };
        Some(float(bytes) / link.rate)
    }

    /// Returns the speed of the best read in percent of the floor's.
    pub fn percent_of_floor(&self, to: Location, link: Option<Link>) -> Option<f64> {
        self.floor(to, link).map(|floor| floor / self.best().max(1e-9) * 100.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate, shown with a few digits")]
pub fn float(bytes: u64) -> f64 {
    bytes as f64
}

impl Bench {
    /// Opens and reads a file several times.
    pub fn measure(&self, file: &Path) -> Result<Measured, Failure> {
        // The first read starts threads and the device, loads kernels and fills the page cache.
        self.read(file, &self.context)?;
        let dataset = Dataset::open(file)?;
        let start = Instant::now();
        let plan = self.plan(&dataset, &self.options)?;
        let (bytes, planned) = (plan.memory.output, start.elapsed());
        let mut reads = Vec::new();
        for _ in 0..self.repeat {
            reads.push(self.read(file, &self.context)?);
        }
        reads.sort_by_key(|read| read.whole);
        Ok(Measured { device: plan.engine, bytes, plan: planned, reads })
    }

    /// Opens and reads a file.
    pub fn read(&self, file: &Path, context: &Context) -> Result<Read, Failure> {
        let start = Instant::now();
        let dataset = Dataset::open(file)?;
        let open = start.elapsed();
        let (whole, report) = self.pixels(&dataset, &self.options, context)?;
        Ok(Read { open, whole: open + whole, report })
    }

    /// Reads an open file.
    pub fn pixels(
        &self,
        dataset: &Dataset,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<(Duration, Report), Failure> {
        let start = Instant::now();
        let pixels = match self.to {
            Location::Host => dataset.read(options, context)?,
            Location::Cuda(index) => dataset.read_on_device(index, options, context)?,
        };
        Ok((start.elapsed(), pixels.report))
    }

    /// Returns the plan of a read.
    pub fn plan(&self, dataset: &Dataset, options: &ReadOptions) -> Result<ReadPlan, Failure> {
        Ok(match self.to {
            Location::Host => dataset.plan(options, &self.context)?,
            Location::Cuda(index) => dataset.plan_on_device(index, options, &self.context)?,
        })
    }
}
