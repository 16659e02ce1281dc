//! Sources and destinations of bytes: files, memory, streams, remote objects, or your own [`Source`] or [`Sink`].

pub use crate::sink::{FileSink, MemoryFile, MemoryHandle, MemorySink, Sink, StreamSink, other_format};
#[cfg(feature = "remote")]
pub use crate::sink::{RemoteSink, SharedObject};
pub use crate::source::redacted;
pub use crate::source::{FileSource, MemorySource, ReadDone, ReadOp, Source, Version};
#[cfg(feature = "remote")]
pub use crate::source::{RemoteOpening, RemoteSource};
pub use crate::spool::Spool;
pub use strile_engine::ReadAt;
#[cfg(feature = "remote")]
pub use strile_remote::{
    Listing, PrivateHost, RemoteOptions, RemoteStats, Unfinished, UploadOptions, check_host, is_remote, list,
    remove_unfinished, stats as remote_stats, unfinished,
};
