//! Where an engine finds the encoded bytes of a job.

use crate::{Arena, DecodeJob, DeviceBytes, EngineError, Span};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Bytes that any thread can have at once and cheaply: a local file, memory.
pub trait ReadAt: Send + Sync {
    /// The bytes of `span`: the source's own where it has them, else read into `scratch`.
    ///
    /// A source that cannot give all of them returns `UnexpectedEof`.
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]>;

    /// Fills `into` from `offset` on; `UnexpectedEof` where the source ends first.
    fn read_into(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut scratch = Vec::new();
        let bytes = self.read_at(Span { offset, len: into.len() as u64 }, &mut scratch)?;
        if bytes.len() != into.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        into.copy_from_slice(bytes);
        Ok(())
    }

    /// Returns whether `read_at` lends bytes that lie in memory: nothing is read or waited for.
    fn lends(&self) -> bool {
        false
    }

    /// The file behind it, for engines that read files by themselves; `None` where there is none.
    fn file(&self) -> Option<&File> {
        None
    }
}

/// The encoded bytes of a job. Clones share them.
#[derive(Clone)]
pub enum Encoded {
    /// Fetched before: spans are offsets into this one arena.
    Staged(Arc<Arena>),
    /// Pulled by the threads that decode: spans are offsets into the source a task names.
    Pulled(Vec<Arc<dyn ReadAt>>),
    /// On a device already, of whoever put them there: spans are offsets into these bytes.
    Device(DeviceBytes),
}

impl Encoded {
    /// Checks that every source a job names is there.
    pub fn check(&self, job: &DecodeJob) -> Result<(), EngineError> {
        let Self::Pulled(sources) = self else { return Ok(()) };
        let missing = job.tasks().iter().find(|task| task.source as usize >= sources.len());
        missing.map_or(Ok(()), |task| {
            Err(EngineError::Mismatch {
                what: "sources",
                found: format!("{} sources", sources.len()),
                expected: format!("source {}", task.source),
            })
        })
    }
}
