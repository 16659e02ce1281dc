//! Plan of a job, computed before the job is submitted.

use crate::{Encoded, Location, Output};
use strile_tiff::DataType;

/// Location of a job's encoded bytes when it is submitted; see [`Encoded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supply {
    /// In one arena of host memory.
    Staged,
    /// In sources that the engine reads.
    Pulled,
    /// On a device; number of bytes.
    Device(u64),
}

impl Encoded {
    /// Returns the location of these bytes.
    pub fn supply(&self) -> Supply {
        match self {
            Self::Staged(_) => Supply::Staged,
            Self::Pulled(_) => Supply::Pulled,
            Self::Device(bytes) => Supply::Device(bytes.len()),
        }
    }
}

/// The properties of an output that a plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputKind {
    /// Sample type.
    pub data_type: DataType,
    /// Location of its memory.
    pub location: Location,
    /// Whether samples are converted while they are placed.
    pub converts: bool,
}

impl From<&Output> for OutputKind {
    fn from(output: &Output) -> Self {
        let (data_type, location) = (output.spec().data_type, output.location());
        Self { data_type, location, converts: output.convert().is_some() }
    }
}

/// How a job will be submitted.
#[derive(Debug, Clone, Copy)]
pub struct Submission<'a> {
    /// Location of its encoded bytes.
    pub supply: Supply,
    /// Its outputs, which need not exist yet.
    pub outputs: &'a [OutputKind],
    /// Memory that the caller will take between planning and submission, and hold.
    pub held: Held,
}

/// Memory that a caller holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Host memory, from the budget of the context.
    pub host: u64,
    /// Memory of the engine's device.
    pub device: u64,
}

/// What an engine will do with a job. Damaged blocks can cost more than planned: a device leaves them to the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnginePlan {
    /// Batches of the job. For JPEG and JPEG 2000 on a device this is an estimate: their batches depend on the headers
    /// of the pictures.
    pub batches: usize,
    /// Byte ranges that the engine reads from the sources, after merging; 0 unless `Supply::Pulled`. A range may be
    /// read in several pieces.
    pub ranges: usize,
    /// Bytes of these ranges.
    pub range_bytes: u64,
    /// Memory needed.
    pub memory: EngineMemory,
    /// Decoders and their blocks.
    pub routes: Vec<Route>,
}

/// Maximum memory of a running job, in bytes. Decoders of LZMA, zstd, LERC, PNG, WebP, JPEG and JPEG XL can take more
/// per block if the stream requires it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineMemory {
    /// Host memory, from the budget of the context: scratch of all workers, and pixels and streams on their way to and
    /// from a device.
    pub host: u64,
    /// Scratch of one worker on the host; included in `host`.
    pub per_worker: u64,
    /// Device memory.
    pub device: u64,
}

/// Blocks of one layout for one decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Index into `DecodeJob::layouts`.
    pub layout: u32,
    /// The decoder.
    pub decoder: Decoder,
    /// Reason for that decoder, if there was a choice.
    pub reason: Option<String>,
    /// Reasons why requested decoders are not used.
    pub declined: Vec<String>,
    /// Stored blocks; a block of several consecutive tasks counts once.
    pub blocks: usize,
}

/// A kind of decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoder {
    /// The CPU engine.
    Cpu,
    /// Kernels on the device.
    Kernels,
    /// A vendor library, by name.
    Library(&'static str),
    /// The host engine, instead of the device.
    Host,
}

/// Counts blocks by layout and decoder.
#[derive(Debug, Default)]
pub struct Routes(Vec<Route>);

impl Routes {
    /// Adds blocks to their route.
    pub fn add(&mut self, route: Route) {
        let same = |known: &&mut Route| {
            (known.layout, known.decoder, &known.reason, &known.declined)
                == (route.layout, route.decoder, &route.reason, &route.declined)
        };
        match self.0.iter_mut().find(same) {
            Some(known) => known.blocks = known.blocks.saturating_add(route.blocks),
            None => self.0.push(route),
        }
    }

    /// Returns the routes in the order of their first block.
    pub fn into_routes(self) -> Vec<Route> {
        self.0
    }
}
