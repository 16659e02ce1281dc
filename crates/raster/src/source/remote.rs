//! An object in a bucket or behind a URL.

use super::redacted;
use super::{ReadDone, ReadOp, Source, Version};
use crate::error::{Error, Result};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use strile_engine::{Cancel, ReadAt};
use strile_remote::{Object, Opening, RemoteOptions};

/// Reads a remote object by ranges: `http(s)`, `s3`, `gs`, `az` and `abfs(s)` URLs.
///
/// Opening costs one request. Every later request names the version that was opened, so reads fail if the object is
/// replaced meanwhile.
///
/// ```no_run
/// use std::sync::Arc;
/// use strile::io::{RemoteOptions, RemoteSource};
/// use strile::{Cancel, Dataset, OpenOptions};
///
/// let options = RemoteOptions::new().anonymous(true).region("us-west-2");
/// let source = RemoteSource::open("s3://bucket/dem.tif", &options, &Cancel::default())?;
/// let dataset = Dataset::from_source(Arc::new(source), &OpenOptions::default())?;
/// # Ok::<(), strile::Error>(())
/// ```
pub struct RemoteSource(Object);

/// A remote source whose first request is in flight; see [`RemoteSource::begin`].
pub struct RemoteOpening {
    opening: Opening,
    url: String,
    cancel: Cancel,
}

impl RemoteOpening {
    /// Waits for the response.
    pub fn wait(self) -> Result<RemoteSource> {
        let Self { opening, url, cancel } = self;
        opening.wait().map(RemoteSource).map_err(|error| failed(&url, error, &cancel))
    }
}

fn failed(url: &str, error: std::io::Error, cancel: &Cancel) -> Error {
    match cancel.is_cancelled() {
        true => Error::Cancelled,
        false => Error::io(PathBuf::from(redacted(url)), error),
    }
}

impl RemoteSource {
    /// Opens the object of a URL.
    pub fn open(url: &str, options: &RemoteOptions, cancel: &Cancel) -> Result<Self> {
        Self::begin(url, options, cancel)?.wait()
    }

    /// Requests the first bytes of an object without waiting for them, so that many objects open in the time of one.
    pub fn begin(url: &str, options: &RemoteOptions, cancel: &Cancel) -> Result<RemoteOpening> {
        let opening = Object::begin(url, options, cancel).map_err(|error| failed(url, error, cancel))?;
        Ok(RemoteOpening { opening, url: url.to_owned(), cancel: cancel.clone() })
    }

    /// Returns the object of a URL in an earlier version, without a request. Reads fail if it has changed since.
    pub fn known(url: &str, version: &Version, options: &RemoteOptions) -> Result<Self> {
        let object = Object::known(url, version.len, &version.mark, options);
        object.map(Self).map_err(|error| Error::io(PathBuf::from(redacted(url)), error))
    }
}

impl Source for RemoteSource {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn version(&self) -> Version {
        Version { len: self.0.len(), mark: self.0.mark().to_owned() }
    }

    fn state(&self) -> Option<String> {
        self.0.state()
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, cancel: &Cancel) {
        self.0.submit(ops, done, cancel);
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        None
    }

    fn waits(&self) -> bool {
        false
    }

    fn merge_gap(&self) -> u64 {
        self.0.merge_gap()
    }

    fn piece_len(&self) -> Option<u64> {
        Some(Object::PIECE)
    }

    fn at_hand(&self) -> u64 {
        self.0.at_hand()
    }
}
