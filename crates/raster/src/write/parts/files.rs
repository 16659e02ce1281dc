//! Encoded parts as one run of bytes to copy from. Each is in memory or in a file that is opened on demand.

use super::laid::Noted;
use crate::error::{Error, Result};
use crate::sink::{BUFFER, Sink};
use crate::source::{ReadExactAt, open_regular};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_engine::Cancel;

/// Number of files that are open at a time. A row of blocks needs as many as there are parts across.
const OPEN: usize = 128;

/// Location of a part's records.
#[derive(Clone)]
pub enum PartBytes {
    /// In memory.
    Memory(Arc<dyn AsRef<[u8]> + Send + Sync>),
    /// In a file, which contains nothing else.
    File(PathBuf),
}

/// Location of records, if it matters.
pub(crate) enum Records {
    Given(PartBytes),
    /// The records are elsewhere: the ranges to copy are noted, under the number of the part.
    Noted(Arc<Noted>, usize),
}

/// The records of a part.
pub(crate) struct PartFile {
    pub(crate) bytes: Records,
    /// Expected size in bytes.
    pub(crate) len: u64,
}

/// Parts one after the other, with gaps that no run of blocks crosses.
pub(crate) struct PartFiles {
    parts: Vec<(u64, PartFile)>,
    /// Most recently used last.
    open: Vec<(usize, File)>,
    end: u64,
    len: u64,
    cancel: Cancel,
}

impl PartFiles {
    pub(crate) fn new(cancel: Cancel) -> Self {
        Self { parts: Vec::new(), open: Vec::new(), end: 0, len: 0, cancel }
    }

    /// Adds a part and returns its start.
    pub(crate) fn add(&mut self, part: PartFile) -> u64 {
        let start = self.end;
        self.end += part.len + 1;
        self.len += part.len;
        self.parts.push((start, part));
        start
    }

    /// Returns the bytes of all parts.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Passes bytes of one part to a sink.
    pub(crate) fn copy(&mut self, run: Range<u64>, sink: &mut dyn Sink) -> Result<()> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "blocks that are in no part");
        let number = self.parts.partition_point(|(start, _)| *start <= run.start).checked_sub(1);
        let part = number.and_then(|number| self.parts.get(number).zip(Some(number)));
        let Some(((start, part), number)) = part else {
            return Err(Error::io(Path::new(sink.name()), wrong()));
        };
        let (from, to) = (run.start - start, run.end - start);
        let told = |error, sink: &dyn Sink| Error::io(Path::new(sink.name()), error);
        let path = match &part.bytes {
            Records::Noted(noted, number) => {
                noted.records(*number, from..to);
                return Ok(());
            }
            Records::Given(PartBytes::Memory(bytes)) => {
                let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
                let bytes = range.and_then(|(from, to)| bytes.as_ref().as_ref().get(from..to));
                let bytes = bytes.ok_or_else(|| told(wrong(), sink))?;
                return sink.append(bytes).map_err(|error| told(error, sink));
            }
            Records::Given(PartBytes::File(path)) => path.clone(),
        };
        let len = part.len;
        let file = self.opened(number, &path, len).map_err(|error| Error::io(&path, error))?;
        let mut at = from + sink.append_within_system(file, from..to).map_err(|error| told(error, sink))?;
        let mut chunk = vec![0; usize::try_from(to - at).unwrap_or(BUFFER).min(BUFFER)];
        while at < to {
            let len = usize::try_from(to - at).unwrap_or(BUFFER).min(BUFFER);
            let bytes = chunk.get_mut(..len).unwrap_or_default();
            file.read_exact_at(bytes, at).map_err(|error| Error::io(&path, error))?;
            sink.append(bytes).map_err(|error| told(error, sink))?;
            at += len as u64;
        }
        match self.cancel.is_cancelled() {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }

    fn opened(&mut self, number: usize, path: &Path, len: u64) -> io::Result<&File> {
        let found = self.open.iter().position(|(open, _)| *open == number);
        let entry = match found {
            Some(at) => self.open.remove(at),
            None => {
                let (file, found) = open_regular(path)?;
                if found.len != len {
                    let problem = format!("expected a part of {len} bytes, got {}", found.len);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
                }
                if self.open.len() >= OPEN {
                    self.open.remove(0);
                }
                (number, file)
            }
        };
        self.open.push(entry);
        self.open.last().map(|(_, file)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
