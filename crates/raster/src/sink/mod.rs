//! Where the bytes of a new file go.
//!
//! A sink takes bytes in order; some can also overwrite what they took (`patch`). Nothing is at the target
//! before `commit`; a sink that is aborted or dropped leaves nothing. After the first error every further call
//! but `abort` fails with that error's kind, so that a file with a hole is never committed. What the bytes mean,
//! and in which order they have to come, is the writer's.

mod buffered;
mod file;
mod memory;
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

/// How much is collected before it is written, and the most that is read at once while copying.
pub(crate) const BUFFER: usize = 1 << 20;

/// Takes the bytes of a new file and makes it visible when it is complete.
///
/// [`FileSink`], [`MemorySink`] and [`StreamSink`] are the usual ones; with the feature `remote`, `RemoteSink` writes to a bucket.
pub trait Sink: Send {
    /// For messages: a path, `standard output`.
    fn name(&self) -> &str;

    /// Takes the next bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Takes several pieces of bytes, one behind the other.
    fn append_all(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        parts.iter().try_for_each(|part| self.append(part))
    }

    /// Whether `patch` works.
    fn can_patch(&self) -> bool {
        false
    }

    /// Overwrites bytes already taken.
    fn patch(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "takes bytes in order only"))
    }

    /// Takes a part of a spool, without holding more than a buffer of it.
    fn append_from(&mut self, spool: &Spool, range: Range<u64>) -> io::Result<()> {
        spool.for_each_chunk(range, |bytes| self.append(bytes))
    }

    /// Takes the beginning of a part of a file where the system can copy it without this process reading it, and says
    /// how many bytes that were.
    fn append_within_system(&mut self, _file: &File, _range: Range<u64>) -> io::Result<u64> {
        Ok(0)
    }

    /// Whether `sidecar` works.
    fn takes_sidecars(&self) -> bool {
        false
    }

    /// Takes a small file to stand beside this one, at its name with `suffix` added (`.aux.xml`).
    /// The last one of a suffix counts.
    fn sidecar(&mut self, _suffix: &str, _bytes: Vec<u8>) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "has no place for files beside it"))
    }

    /// The file that will be there, where it is a local one: a spool is best beside it.
    fn beside(&self) -> Option<&Path> {
        None
    }

    /// Makes what was taken the file; after it the file is there, whole and durable.
    fn commit(self: Box<Self>) -> io::Result<()>;

    /// Forgets what was taken; nothing is left.
    fn abort(self: Box<Self>);
}

/// The sink of a path, or of a URL of a bucket as the environment says.
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

/// Remembers the first error of a sink: there is nothing after an error.
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

/// An error of the system with what to do about it; the kind stays.
#[derive(Debug, Error)]
#[error("{error}; {advice}")]
struct Advised {
    #[source]
    error: io::Error,
    advice: String,
}

/// Adds what to do to errors that say there is no room in `folder`; `else_do` names the way out.
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

/// The folder a path lies in.
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
