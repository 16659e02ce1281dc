//! Where bytes come from and go to: files, memory, streams, or a [`Source`] or [`Sink`] of your own.

pub use crate::redact::redacted;
pub use crate::sink::{FileSink, MemoryFile, MemoryHandle, MemorySink, Sink, StreamSink};
pub use crate::source::{FileSource, MemorySource, ReadDone, ReadOp, Source, Version};
pub use crate::spool::Spool;
pub use strile_engine::ReadAt;
