//! The things that are fuzzed.

mod codec;
mod convert;
mod coordinates;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod device;
mod file;
mod geo;
mod index;
mod sidecar;
mod text;
mod vrt;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use strile::engine::Budget;
use strile::{Context, Error, ErrorKind};
use testkit::Random;

/// What became of one mutant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// It got past headers to what the target is about.
    pub reached: bool,
    /// The kind of error or fault it ended in.
    pub refused: Option<&'static str>,
    /// Why the result is wrong, for a mutant that was read.
    pub wrong: Option<String>,
    /// Bytes that an opened file holds: directories, metadata, warnings.
    pub held: usize,
}

impl Outcome {
    fn read() -> Self {
        Self { reached: true, ..Self::default() }
    }

    fn refused(reached: bool, kind: &'static str) -> Self {
        Self { reached, refused: Some(kind), ..Self::default() }
    }
}

/// One thing to fuzz.
pub(crate) trait Subject {
    fn name(&self) -> &str;

    /// A mutant by its number: the seed it came from and its bytes.
    fn mutant(&self, number: u64) -> (usize, Vec<u8>);

    fn try_one(&self, seed: usize, number: u64, bytes: &[u8]) -> Outcome;

    /// Bytes that a mutant of a seed may take.
    fn memory_limit(&self, seed: usize) -> usize;

    fn seed_name(&self, seed: usize) -> String;

    fn seeds(&self) -> usize;

    /// Does what the first mutant would take long for.
    fn prepare(&self) {}

    /// Streams in one mutant.
    fn executions(&self) -> u64 {
        1
    }

    /// No mutant may take longer.
    fn slow(&self) -> Duration {
        Duration::from_secs(2)
    }
}

/// One thing to fuzz, with its seeds.
pub struct Target {
    subject: Box<dyn Subject>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Codec,
    Device,
}

/// All targets. Those that need files have them in folders that go with this.
pub struct Targets {
    made: Vec<Target>,
}

/// Every target: files and texts first, then the codecs, then the kernels against the CPU.
pub fn all() -> Targets {
    let fixtures = testkit::fixtures();
    let codecs = codec::CodecTarget::all(&fixtures);
    let mut made = Vec::new();
    let mut add = |subject: Box<dyn Subject>, kind| made.push(Target { subject, kind });
    add(Box::new(file::FileTarget::new(&fixtures, file::Through::Open)), Kind::File);
    add(Box::new(file::FileTarget::new(&fixtures, file::Through::Read)), Kind::File);
    add(Box::new(convert::ConvertTarget::new(&fixtures)), Kind::File);
    add(Box::new(sidecar::SidecarTarget::new(&fixtures)), Kind::File);
    add(Box::new(index::IndexTarget::new()), Kind::File);
    add(Box::new(vrt::VrtTarget::new(vrt::Level::Outer)), Kind::File);
    add(Box::new(vrt::VrtTarget::new(vrt::Level::Nested)), Kind::File);
    for subject in text::TextTarget::all() {
        add(Box::new(subject), Kind::File);
    }
    add(Box::new(geo::KeyTarget::new()), Kind::File);
    add(Box::new(geo::WktTarget::new()), Kind::File);
    add(Box::new(coordinates::CoordinateTarget::new()), Kind::File);
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    let devices = device::DeviceTarget::all(&codecs);
    for subject in codecs {
        add(Box::new(subject), Kind::Codec);
    }
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    for subject in devices {
        add(Box::new(subject), Kind::Device);
    }
    Targets { made }
}

impl Targets {
    /// The targets, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Target> {
        self.made.iter()
    }

    /// The target of that name.
    pub fn named(&self, name: &str) -> Option<&Target> {
        self.iter().find(|target| target.name() == name)
    }
}

impl Target {
    /// `parser`, `read`, a codec's name, `device-` and a codec's name, and so on.
    pub fn name(&self) -> &str {
        self.subject.name()
    }

    /// Whether this is one of the CPU's decoders.
    pub fn is_codec(&self) -> bool {
        self.kind == Kind::Codec
    }

    /// Whether this compares kernels with the CPU; such targets need a process without others.
    pub fn is_device(&self) -> bool {
        self.kind == Kind::Device
    }

    /// How many executions a release should have.
    pub fn goal(&self) -> u64 {
        match self.name() {
            "parser" => 100_000_000,
            "lzw" | "deflate" | "packbits" | "jpeg" | "jpeg2000" => 10_000_000,
            _ => 1_000_000,
        }
    }

    pub(crate) fn subject(&self) -> &dyn Subject {
        self.subject.as_ref()
    }

    pub(crate) fn seed_by_name(&self, name: &str) -> Option<usize> {
        (0..self.subject.seeds()).find(|&seed| self.subject.seed_name(seed) == name)
    }
}

/// The random sequence of a mutant. Its start is drawn: the numbers of [`Random`] follow each other at equal steps, so that
/// the sequences of neighbours would overlap if they began a few steps apart.
fn sequence(number: u64) -> Random {
    Random::new(Random::new(number).next_u64())
}

thread_local! {
    static USUAL: Context = Context::default();
}

/// One thread and so many bytes. The default context is made once: it asks the system for its limits, which takes longer
/// than a mutant.
fn context(budget: u64) -> Context {
    let usual = USUAL.with(Clone::clone);
    Context { budget: Arc::new(Budget::new(budget)), threads: NonZeroUsize::MIN, ..usual }
}

/// A folder of this process for targets that need files, in memory where the system has such a place.
fn folder(name: &str) -> std::path::PathBuf {
    let shared = std::path::Path::new("/dev/shm");
    let root = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let folder = root.join(format!("strile-fuzz-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn kind(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Io => "io",
        ErrorKind::InvalidFile => "invalid",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::InvalidRequest => "request",
        ErrorKind::Limit => "limit",
        ErrorKind::Memory => "memory",
        ErrorKind::Device => "device",
        ErrorKind::Damaged => "blocks",
        ErrorKind::Cancelled => "cancelled",
        _ => "engine",
    }
}
