//! The layout of an assembled file, as segments: bytes that describe it, and ranges of records, which may be anywhere.

use super::files::Records;
use super::tiers::{PartAddress, Parts};
use crate::error::Result;
use crate::sink::Sink;
use crate::write::report::WriteReport;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strile_engine::Context;

/// A run of bytes of a file that is assembled from parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSegment {
    /// Header, directories and the bytes in between.
    Bytes(Vec<u8>),
    /// Records.
    Records {
        /// Number of the part in the given list.
        part: usize,
        /// The range of its bytes.
        range: Range<u64>,
    },
}

/// The layout of an assembled file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LaidOut {
    /// The report of the future file.
    pub report: WriteReport,
    /// Its bytes, in order.
    pub segments: Vec<FileSegment>,
    /// Small files that belong beside it: suffix and content.
    pub sidecars: Vec<(String, Vec<u8>)>,
}

impl Parts {
    /// Returns the layout of the file, from the indexes of all parts. Reads no records. `name` is used in messages.
    pub fn lay_out(
        &self,
        name: &str,
        parts: &[(PartAddress, Vec<u8>)],
        sidecars: Vec<(String, Vec<u8>)>,
        context: &Context,
    ) -> Result<LaidOut> {
        let noted = Arc::new(Noted::default());
        let sink = Notes { name: name.to_owned(), noted: Arc::clone(&noted) };
        let mut assembly = self.assemble(Box::new(sink), context)?;
        for (number, (at, index)) in parts.iter().enumerate() {
            assembly.take(self, *at, index, Records::Noted(Arc::clone(&noted), number))?;
        }
        for (suffix, bytes) in sidecars {
            assembly.sidecar(&suffix, bytes)?;
        }
        let report = assembly.lay_out()?;
        assembly.commit()?;
        let (segments, sidecars) = std::mem::take(&mut *noted.lock());
        Ok(LaidOut { report, segments, sidecars })
    }
}

/// Segments of a file, and sidecars by their suffixes.
type Contents = (Vec<FileSegment>, Vec<(String, Vec<u8>)>);

/// The contents of a file, recorded while it is laid out.
#[derive(Default)]
pub(crate) struct Noted(Mutex<Contents>);

impl Noted {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn records(&self, part: usize, range: Range<u64>) {
        self.lock().0.push(FileSegment::Records { part, range });
    }
}

/// A sink that records what it receives.
struct Notes {
    name: String,
    noted: Arc<Noted>,
}

impl Sink for Notes {
    fn name(&self) -> &str {
        &self.name
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut noted = self.noted.lock();
        match noted.0.last_mut() {
            Some(FileSegment::Bytes(last)) => last.extend_from_slice(bytes),
            _ => noted.0.push(FileSegment::Bytes(bytes.to_vec())),
        }
        Ok(())
    }

    fn takes_sidecars(&self) -> bool {
        true
    }

    fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> io::Result<()> {
        let mut noted = self.noted.lock();
        noted.1.retain(|(other, _)| other != suffix);
        noted.1.push((suffix.to_owned(), bytes));
        Ok(())
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }

    fn abort(self: Box<Self>) {}
}
