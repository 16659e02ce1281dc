//! Location of a job's encoded bytes.

use crate::{Arena, DecodeJob, DeviceBytes, EngineError, Span};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A source of bytes that any thread can read at once and cheaply: a local file, memory.
pub trait ReadAt: Send + Sync {
    /// Returns the bytes of `span`: borrowed from the source if possible, else read into `scratch`.
    ///
    /// A source that cannot return all of them fails with `UnexpectedEof`.
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]>;

    /// Fills `into` from `offset` on; fails with `UnexpectedEof` if the source ends first.
    fn read_into(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut scratch = Vec::new();
        let bytes = self.read_at(Span { offset, len: into.len() as u64 }, &mut scratch)?;
        if bytes.len() != into.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        into.copy_from_slice(bytes);
        Ok(())
    }

    /// Returns whether `read_at` borrows bytes from memory, without reading or waiting.
    fn lends(&self) -> bool {
        false
    }

    /// Returns the underlying file, for engines that read files directly; `None` if there is none.
    fn file(&self) -> Option<&File> {
        None
    }
}

/// The encoded bytes of a job. Clones share them.
#[derive(Clone)]
pub enum Encoded {
    /// Already fetched: spans are offsets into this one arena.
    Staged(Arc<Arena>),
    /// Read by the decoding threads: spans are offsets into the source of each task.
    Pulled(Vec<Arc<dyn ReadAt>>),
    /// Already on a device, in memory of the caller: spans are offsets into these bytes.
    Device(DeviceBytes),
}

impl Encoded {
    /// Checks that every source that a job names exists.
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
