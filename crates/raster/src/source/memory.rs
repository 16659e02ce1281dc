//! Bytes already in memory: standard input, a member of an archive, a test.

use super::{ReadDone, ReadOp, Source, Version};
use std::io;
use std::sync::{Arc, mpsc};
use strile_engine::{Cancel, ReadAt, Span};

/// Reads a file that is in memory.
pub struct MemorySource {
    name: String,
    bytes: Arc<Bytes>,
}

struct Bytes(Vec<u8>);

impl MemorySource {
    /// Creates a source of these bytes, called `name` in messages.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes: Arc::new(Bytes(bytes)) }
    }
}

impl Bytes {
    fn get(&self, offset: u64, len: u64) -> io::Result<&[u8]> {
        let range = || {
            let start = usize::try_from(offset).ok()?;
            self.0.get(start..start.checked_add(usize::try_from(len).ok()?)?)
        };
        range().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Source for MemorySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes.0.len() as u64
    }

    fn version(&self) -> Version {
        Version { len: self.len(), mark: String::new() }
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &Cancel) {
        for ReadOp { id, offset, mut into } in ops {
            let result = self.bytes.get(offset, into.len() as u64).map(|bytes| into.copy_from_slice(bytes));
            let _nobody_waits = done.send(ReadDone { id, into, result });
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        Some(Arc::clone(&self.bytes) as Arc<dyn ReadAt>)
    }
}

impl ReadAt for Bytes {
    fn read_at<'a>(&'a self, span: Span, _scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.get(span.offset, span.len)
    }

    fn lends(&self) -> bool {
        true
    }
}
