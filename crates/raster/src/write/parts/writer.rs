//! Encodes one part.

use super::packed::{Layout, Packed};
use super::tiers::{PartAddress, Parts};
use crate::Window;
use crate::device;
use crate::error::{Error, Result};
use crate::write::beyond::Collected;
use crate::write::cells::refused;
use crate::write::flow::Flow;
use crate::write::piece::Piece;
use crate::write::writer::named;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_engine::memory::NoMemory;
use strile_engine::{Budget, Context, Lease, Location, OutputSpec};

/// Destination of a part's records.
#[derive(Debug, Clone)]
pub enum PartTarget {
    /// Memory. They are returned with the result.
    Memory,
    /// A new file. It is complete when the part is finished; before that, and after a failure, it may be incomplete for
    /// a moment: give it a temporary name, and rename it.
    File(PathBuf),
}

/// The result of encoding a part.
pub struct EncodedPart {
    /// The index of the records, for `Assembly::add`.
    pub index: Vec<u8>,
    /// The records, if they are not in a file.
    pub records: Option<Vec<u8>>,
    /// The reduced pixels for the next tier.
    pub beyond: Option<Beyond>,
    /// Number of encoded blocks.
    pub blocks: u64,
}

/// Reduced pixels, for the part of the next tier that contains them, and for its neighbours.
pub struct Beyond {
    /// Position in their level.
    pub window: Window,
    /// Their shape.
    pub spec: OutputSpec,
    /// The samples, in native byte order.
    pub pixels: Vec<u8>,
    /// The mask, if the raster has one: a byte per pixel, 0 for invalid pixels.
    pub mask: Option<Vec<u8>>,
}

/// A part being encoded. After an error it is abandoned.
pub struct PartWriter {
    flow: Option<Flow<Packed>>,
    name: String,
    identity: u64,
}

impl Parts {
    /// Starts to encode a part.
    pub fn encode(&self, at: PartAddress, target: PartTarget, context: &Context) -> Result<PartWriter> {
        let PartAddress { tier, row, column } = at;
        let name = format!("part ({row}, {column}) of tier {tier}");
        self.begin(at, target, context, &name)
            .map(|flow| PartWriter { flow: Some(flow), name: name.clone(), identity: self.identity() })
            .map_err(|error| named(error, &name))
    }

    fn begin(
        &self,
        at: PartAddress,
        target: PartTarget,
        context: &Context,
        name: &str,
    ) -> Result<Flow<Packed>> {
        let device = |problem| Error::Device { file: String::new(), problem };
        let engine = device::choose_for_writing(self.options.encode_on).map_err(device)?;
        let course = self.course(at)?;
        let layout = Layout::new(&self.plan, &course);
        let output = Output::new(target, &context.budget)?;
        let packed = Packed::new(name.to_owned(), layout, self.plan.format, output);
        let made = (Arc::clone(&self.plan), Arc::clone(&self.spec));
        Flow::new(made, course, &self.options, (engine, context), packed)
    }
}

impl PartWriter {
    /// Takes pixels that the part needs. Pieces may have any size and come in any order; they must not overlap.
    pub fn write(&mut self, piece: &Piece<'_>) -> Result<()> {
        self.attempt(|flow| flow.write(piece, None))
    }

    /// Returns where pixels are encoded; `None` after the part was abandoned.
    pub fn location(&self) -> Option<Location> {
        self.flow.as_ref().map(|flow| flow.engine.engine.location())
    }

    /// Completes the part.
    pub fn finish(mut self) -> Result<EncodedPart> {
        let identity = self.identity;
        let (index, beyond, blocks) = self.attempt(|flow| {
            if let Some(window) = flow.missing() {
                return Err(refused(format!("pixels of {window} were never given")));
            }
            flow.drain()?;
            Ok((flow.taker.index(identity)?, flow.take_beyond(), flow.blocks))
        })?;
        let records = self.attempt(|flow| flow.taker.output.finish())?;
        let beyond = beyond.map(|Collected { window, spec, pixels, mask, .. }| Beyond {
            window,
            spec,
            pixels,
            mask: mask.map(|(_, mask)| mask),
        });
        Ok(EncodedPart { index, records, beyond, blocks })
    }

    fn attempt<T>(&mut self, step: impl FnOnce(&mut Flow<Packed>) -> Result<T>) -> Result<T> {
        let Some(flow) = &mut self.flow else {
            return Err(refused(format!("{} was given up after an error", self.name)));
        };
        let result = step(flow).map_err(|error| named(error, &self.name));
        if result.is_err() {
            self.give_up();
        }
        result
    }

    fn give_up(&mut self) {
        if let Some(flow) = self.flow.take() {
            // Pixels that are still being encoded or reduced are not needed.
            flow.context.cancel.cancel();
        }
    }
}

impl Drop for PartWriter {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Collects records. An incomplete file is removed.
pub(crate) struct Output {
    kept: Kept,
    len: u64,
}

enum Kept {
    Memory { bytes: Vec<u8>, budget: Arc<Budget>, leases: Vec<Lease> },
    File { file: BufWriter<File>, path: PathBuf, finished: bool },
}

/// Bytes of memory that are taken from the budget at a time.
const STEP: u64 = 1 << 20;

impl Output {
    fn new(target: PartTarget, budget: &Arc<Budget>) -> Result<Self> {
        let kept = match target {
            PartTarget::Memory => {
                Kept::Memory { bytes: Vec::new(), budget: Arc::clone(budget), leases: Vec::new() }
            }
            PartTarget::File(path) => {
                let file = File::options().write(true).create_new(true).open(&path);
                let file = BufWriter::new(file.map_err(|error| Error::io(&path, error))?);
                Kept::File { file, path, finished: false }
            }
        };
        Ok(Self { kept, len: 0 })
    }

    /// Returns the number of bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn append(&mut self, more: &[u8]) -> Result<()> {
        let told = |path: &Path, error| Error::io(path, error);
        self.len += more.len() as u64;
        match &mut self.kept {
            Kept::File { file, path, .. } => file.write_all(more).map_err(|error| told(path, error)),
            Kept::Memory { bytes, budget, leases } => {
                while leases.len() as u64 * STEP < self.len {
                    leases.push(budget.take(STEP, "encoded blocks of a part")?);
                }
                let none = NoMemory { bytes: self.len, purpose: "encoded blocks of a part" };
                bytes.try_reserve(more.len()).map_err(|_| none)?;
                bytes.extend_from_slice(more);
                Ok(())
            }
        }
    }

    /// Returns the records, if they are in memory, once.
    fn finish(&mut self) -> Result<Option<Vec<u8>>> {
        match &mut self.kept {
            Kept::Memory { bytes, .. } => Ok(Some(std::mem::take(bytes))),
            Kept::File { file, path, finished } => {
                file.flush().map_err(|error| Error::io(path.as_path(), error))?;
                *finished = true;
                Ok(None)
            }
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Kept::File { path, finished: false, .. } = &self.kept {
            // A file that cannot be removed has a temporary name.
            let _left = fs::remove_file(path);
        }
    }
}
