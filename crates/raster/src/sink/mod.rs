//! Destinations of the bytes of a new file.
//!
//! A sink takes bytes in order; some can also overwrite earlier bytes (`patch`). The target does not exist before
//! `commit`; a sink that is aborted or dropped leaves nothing. After the first error every further call except `abort`
//! fails with that error's kind, so a file with a hole is never committed. The writer decides what the bytes mean and
//! in which order they come.

mod buffered;
mod file;
mod memory;
mod name;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "remote")]
mod shared;
mod stream;
mod temporary;
#[cfg(target_os = "linux")]
mod wide;

pub(crate) use buffered::Buffered;
pub use file::FileSink;
pub use memory::{MemoryFile, MemoryHandle, MemorySink};
pub use name::other_format;
#[cfg(feature = "remote")]
pub use remote::RemoteSink;
#[cfg(feature = "remote")]
pub use shared::SharedObject;
pub use stream::StreamSink;
pub(crate) use temporary::{Reserved, Temporary, spool_of};

use crate::error::Result;
use crate::spool::Spool;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use thiserror::Error;

/// Number of bytes collected before a write, and the most that is read at once while copying.
pub(crate) const BUFFER: usize = 1 << 20;

/// Takes the bytes of a new file and makes it visible when it is complete.
///
/// Implemented by [`FileSink`], [`MemorySink`] and [`StreamSink`]; with the feature `remote`, `RemoteSink` writes to a
/// bucket.
pub trait Sink: Send {
    /// Returns the name for messages: a path, `standard output`.
    fn name(&self) -> &str;

    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Appends several pieces of bytes in order.
    fn append_all(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        parts.iter().try_for_each(|part| self.append(part))
    }

    /// Returns whether `patch` is supported.
    fn can_patch(&self) -> bool {
        false
    }

    /// Overwrites bytes that were appended before.
    fn patch(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "takes bytes in order only"))
    }

    /// Appends a part of a spool, without holding more than a buffer of it in memory.
    fn append_from(&mut self, spool: &Spool, range: Range<u64>) -> io::Result<()> {
        spool.for_each_chunk(range, |bytes| self.append(bytes))
    }

    /// Appends the beginning of a part of a file, if the system can copy it without this process reading it. Returns
    /// the number of bytes appended.
    fn append_within_system(&mut self, _file: &File, _range: Range<u64>) -> io::Result<u64> {
        Ok(0)
    }

    /// Returns whether `sidecar` is supported.
    fn takes_sidecars(&self) -> bool {
        false
    }

    /// Adds a small file beside this one, named like it with `suffix` (`.aux.xml`) appended. The last one per suffix
    /// counts.
    fn sidecar(&mut self, _suffix: &str, _bytes: Vec<u8>) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "has no place for files beside it"))
    }

    /// Returns the path of the new file if it is local. A spool is best placed beside it.
    fn beside(&self) -> Option<&Path> {
        None
    }

    /// Makes the file visible. Afterwards it is complete and durable.
    fn commit(self: Box<Self>) -> io::Result<()>;

    /// Discards everything and leaves nothing behind.
    fn abort(self: Box<Self>);
}

/// Returns the sink of a path, or of a URL of a bucket with the settings of the environment.
pub(crate) fn sink_at(path: &Path, overwrite: bool) -> Result<Box<dyn Sink>> {
    let Some(url) = crate::source::url_of(path) else {
        return Ok(Box::new(FileSink::create(path, overwrite)?));
    };
    #[cfg(feature = "remote")]
    {
        let upload = strile_remote::UploadOptions::new().overwrite(overwrite);
        let remote = strile_remote::RemoteOptions::new();
        Ok(Box::new(RemoteSink::create(url, &remote, &upload, &strile_engine::Cancel::default())?))
    }
    #[cfg(not(feature = "remote"))]
    {
        let reason =
            "URLs need the feature `remote` of the crate `strile`, which this program was built without"
                .into();
        Err(crate::error::Error::Unsupported { file: crate::source::redacted(url), reason })
    }
}

/// Remembers the first error of a sink. Nothing is written after an error.
#[derive(Default)]
struct Stopped(Option<(io::ErrorKind, String)>);

impl Stopped {
    fn check(&self) -> io::Result<()> {
        match &self.0 {
            None => Ok(()),
            Some((kind, first)) => {
                Err(io::Error::new(*kind, format!("nothing is written after an error, which was: {first}")))
            }
        }
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let (Err(error), None) = (&result, &self.0) {
            self.0 = Some((error.kind(), error.to_string()));
        }
        result
    }
}

/// A system error with advice on what to do. The kind is kept.
#[derive(Debug, Error)]
#[error("{error}; {advice}")]
struct Advised {
    #[source]
    error: io::Error,
    advice: String,
}

/// Adds advice to errors about missing space in `folder`. `else_do` names the alternative.
pub(crate) fn advised(error: io::Error, folder: &Path, else_do: &str) -> io::Error {
    let folder = folder.display();
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => format!("free space in `{folder}`, or {else_do}"),
        io::ErrorKind::QuotaExceeded => format!("free some of your quota in `{folder}`, or {else_do}"),
        io::ErrorKind::FileTooLarge => {
            format!("`{folder}` or this process (`ulimit -f`) takes no file of this size; {else_do}")
        }
        io::ErrorKind::ReadOnlyFilesystem => format!("`{folder}` takes no files; {else_do}"),
        _ => return error,
    };
    io::Error::new(error.kind(), Advised { error, advice })
}

/// Returns the folder of a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_keeps_the_kind_and_the_cause() {
        let error = advised(io::Error::from_raw_os_error(28), Path::new("/data"), "write elsewhere");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().ends_with("; free space in `/data`, or write elsewhere"), "{error}");
        let cause = error.get_ref().and_then(std::error::Error::source);
        let cause = cause.and_then(|cause| cause.downcast_ref::<io::Error>()).unwrap();
        assert_eq!(cause.raw_os_error(), Some(28));
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let error = advised(io::Error::from_raw_os_error(5), Path::new("/data"), "write elsewhere");
        assert_eq!(error.raw_os_error(), Some(5));
    }
}
