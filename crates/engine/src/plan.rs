//! What an engine will do with a job, asked for before the job is submitted.

use crate::{Encoded, Location, Output};
use strile_tiff::DataType;

/// Where the encoded bytes of a job lie when it is submitted; see [`Encoded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supply {
    /// In one arena of host memory.
    Staged,
    /// In sources that the engine reads.
    Pulled,
    /// On a device, this many bytes.
    Device(u64),
}

impl Encoded {
    /// Returns where these bytes lie.
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
    /// Type of its samples.
    pub data_type: DataType,
    /// Where it lies.
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
    /// Where its encoded bytes will lie.
    pub supply: Supply,
    /// Its outputs, which need not exist yet.
    pub outputs: &'a [OutputKind],
    /// Memory that the caller will take between the plan and the submission, and hold.
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

/// What an engine will do with a job. Blocks that turn out to be damaged can cost more than it says: a device leaves
/// them to the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnginePlan {
    /// Batches that the engine cuts the job into. Batches of JPEG and JPEG 2000 pictures on a device are estimated: they
    /// are cut by what the headers of the pictures say.
    pub batches: usize,
    /// Byte ranges that the engine reads from the sources, after merging; 0 unless `Supply::Pulled`. An engine may read
    /// a range in several pieces.
    pub ranges: usize,
    /// Bytes of these ranges.
    pub range_bytes: u64,
    /// What it takes.
    pub memory: EngineMemory,
    /// Which decoder takes which blocks.
    pub routes: Vec<Route>,
}

/// Memory that a job takes while it runs, in bytes and at most. Decoders of LZMA, zstd, LERC, PNG, WebP, JPEG and JPEG XL
/// can take more per block if the stream asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineMemory {
    /// Host memory, from the budget of the context: scratch of all workers, and pixels and streams on their way to and
    /// from a device.
    pub host: u64,
    /// Scratch of one worker on the host; a part of `host`.
    pub per_worker: u64,
    /// Device memory.
    pub device: u64,
}

/// Blocks of one layout that one decoder takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Index into `DecodeJob::layouts`.
    pub layout: u32,
    /// The decoder.
    pub decoder: Decoder,
    /// Why that decoder, if it was a choice.
    pub reason: Option<String>,
    /// Why not decoders that were asked for.
    pub declined: Vec<String>,
    /// Stored blocks; a block that several tasks in a row show counts once.
    pub blocks: usize,
}

/// A kind of decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoder {
    /// The CPU engine.
    Cpu,
    /// Kernels of the device.
    Kernels,
    /// A library of the device's vendor, by name.
    Library(&'static str),
    /// The host engine, in place of the device.
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
