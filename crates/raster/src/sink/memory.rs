//! Writes a new file in memory.

use super::{Sink, Stopped};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A file collected in memory, with its sidecars.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFile {
    /// The file.
    pub bytes: Vec<u8>,
    /// Sidecars: suffix (`.aux.xml`) and content.
    pub sidecars: Vec<(String, Vec<u8>)>,
}

/// Collects a file in memory. Its handle returns the file after the commit.
#[derive(Default)]
pub struct MemorySink {
    file: MemoryFile,
    stopped: Stopped,
    committed: MemoryHandle,
}

/// Handle that returns the file of a memory sink.
#[derive(Debug, Clone, Default)]
pub struct MemoryHandle(Arc<Mutex<Option<MemoryFile>>>);

impl MemoryHandle {
    /// Takes the file after the commit. Returns `None` before it, and after the first call.
    pub fn take(&self) -> Option<MemoryFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl MemorySink {
    /// Creates an empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the handle that has the file after the commit.
    pub fn handle(&self) -> MemoryHandle {
        self.committed.clone()
    }
}

impl Sink for MemorySink {
    fn name(&self) -> &str {
        "memory"
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        let room = self.file.bytes.try_reserve(bytes.len());
        self.stopped.note(room.map_err(|_| {
            let problem = format!("no memory for {} bytes more", bytes.len());
            io::Error::new(io::ErrorKind::OutOfMemory, problem)
        }))?;
        self.file.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn can_patch(&self) -> bool {
        true
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        let len = self.file.bytes.len();
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
        match range.and_then(|range| self.file.bytes.get_mut(range)) {
            Some(into) => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            None => {
                let problem =
                    format!("{} bytes at {offset} are not among the {len} written ones", bytes.len());
                self.stopped.note(Err(io::Error::new(io::ErrorKind::InvalidInput, problem)))
            }
        }
    }

    fn takes_sidecars(&self) -> bool {
        true
    }

    fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.stopped.check()?;
        self.file.sidecars.retain(|(other, _)| other != suffix);
        self.file.sidecars.push((suffix.to_owned(), bytes));
        Ok(())
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        self.stopped.check()?;
        *self.committed.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.file);
        Ok(())
    }

    fn abort(self: Box<Self>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_after_the_commit_only() {
        let mut sink = Box::new(MemorySink::new());
        let handle = sink.handle();
        sink.append(b"....data").unwrap();
        sink.patch(0, b"head").unwrap();
        sink.sidecar(".aux.xml", b"old".to_vec()).unwrap();
        sink.sidecar(".aux.xml", b"new".to_vec()).unwrap();
        assert_eq!(handle.take(), None);
        sink.commit().unwrap();
        let file = handle.take().unwrap();
        assert_eq!(file.bytes, b"headdata");
        assert_eq!(file.sidecars, [(".aux.xml".to_owned(), b"new".to_vec())]);
    }

    #[test]
    fn aborted_is_never_there() {
        let mut sink = Box::new(MemorySink::new());
        let handle = sink.handle();
        sink.append(b"data").unwrap();
        sink.abort();
        assert_eq!(handle.take(), None);
    }

    #[test]
    fn a_patch_past_the_end_stops_the_sink() {
        let mut sink = Box::new(MemorySink::new());
        let handle = sink.handle();
        sink.append(b"data").unwrap();
        assert_eq!(sink.patch(2, b"xyz").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(sink.patch(u64::MAX, b"xyz").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(sink.append(b"more").is_err());
        assert!(sink.commit().is_err());
        assert_eq!(handle.take(), None);
    }
}
