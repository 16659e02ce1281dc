//! An object in a bucket or behind a URL.

use super::{ReadDone, ReadOp, Source, Version};
use crate::error::{Error, Result};
use crate::redact::redacted;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use strile_engine::{Cancel, ReadAt};
use strile_remote::{Object, RemoteOptions};

/// Reads a remote object by ranges: `http(s)`, `s3`, `gs`, `az` and `abfs(s)` URLs.
///
/// Opening costs one request. Every later request names the version that was opened, so an object that is replaced under a
/// reader is an error.
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

impl RemoteSource {
    /// Opens the object of a URL.
    pub fn open(url: &str, options: &RemoteOptions, cancel: &Cancel) -> Result<Self> {
        match Object::open(url, options, cancel) {
            Ok(object) => Ok(Self(object)),
            Err(_) if cancel.is_cancelled() => Err(Error::Cancelled),
            Err(error) => Err(Error::io(PathBuf::from(redacted(url)), error)),
        }
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
}
