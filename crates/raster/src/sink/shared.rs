//! A new object in a bucket that several processes write together; see `write::Parts`.

use super::file::SIDECARS;
use super::remote::{as_image, settle_beside, stale_beside};
use crate::error::{Error, Result};
use crate::source::redacted;
use std::io;
use std::path::PathBuf;
use strile_engine::Cancel;
use strile_remote::{RemoteOptions, SharedUpload, UploadOptions};

/// A file in a bucket that several processes write: one begins it, each sends parts, one completes it. Nothing is visible before.
/// Whoever has begun it calls [`abort`](Self::abort) if it is not completed; an upload that was lost is removed by the next write to the same
/// URL, or by `strile uploads`.
pub struct SharedObject {
    upload: SharedUpload,
    url: String,
    remote: RemoteOptions,
    /// What lies beside the object that will be replaced.
    stale: Vec<&'static str>,
}

impl SharedObject {
    /// Begins an object that will be at `url`; one that is there is replaced only if `upload.overwrite`.
    pub fn begin(url: &str, remote: &RemoteOptions, upload: &UploadOptions, cancel: &Cancel) -> Result<Self> {
        let begin = || {
            let begun = SharedUpload::begin(url, remote, &as_image(upload), cancel)?;
            match stale_beside(url, begun.name(), remote, upload, cancel) {
                Ok(stale) => Ok((begun, stale)),
                Err(error) => {
                    let _nothing_else_to_do = begun.abort();
                    Err(error)
                }
            }
        };
        let (begun, stale) = begin().map_err(|error| told(url, error, cancel))?;
        Ok(Self { upload: begun, url: url.to_owned(), remote: remote.clone(), stale })
    }

    /// Takes part in a write that another process has begun.
    pub fn join(url: &str, remote: &RemoteOptions, ticket: &str, cancel: &Cancel) -> Result<Self> {
        let (beside, ticket) = ticket.split_once('\n').unwrap_or_default();
        let stale = SIDECARS.into_iter().filter(|suffix| beside.split(' ').any(|found| found == *suffix));
        let upload = SharedUpload::join(url, remote, ticket, cancel);
        let upload = upload.map_err(|error| told(url, error, cancel))?;
        Ok(Self { upload, url: url.to_owned(), remote: remote.clone(), stale: stale.collect() })
    }

    /// Returns what another process takes part by. It is a secret.
    pub fn ticket(&self) -> String {
        format!("{}\n{}", self.stale.join(" "), self.upload.ticket())
    }

    /// Returns whether a part can be sent only after the one before it.
    pub fn in_order(&self) -> bool {
        self.upload.in_order()
    }

    /// Returns the size of all parts but the last of a file of `total` bytes.
    pub fn part_size(&self, total: u64) -> Result<u64> {
        self.upload.part_size(total).map_err(|error| self.told(error))
    }

    /// Sends a part, numbered from 1, that begins at `offset`; returns what [`complete`](Self::complete) has to be told.
    pub fn put(&self, number: usize, offset: u64, bytes: Vec<u8>, cancel: &Cancel) -> Result<String> {
        self.upload.put(number, offset, bytes, cancel).map_err(|error| told(&self.url, error, cancel))
    }

    /// Sends the last part, which begins at `offset`, makes the file visible, and puts sidecars beside it.
    pub fn complete(
        &self,
        parts: &[(usize, String)],
        offset: u64,
        last: Vec<u8>,
        sidecars: &[(String, Vec<u8>)],
    ) -> Result<()> {
        let completed = self
            .upload
            .complete(parts, offset, last)
            .and_then(|()| settle_beside(self.upload.name(), &self.url, &self.remote, &self.stale, sidecars));
        completed.map_err(|error| self.told(error))
    }

    /// Gives the file up: nothing is visible, and what was sent is removed as far as the store can.
    pub fn abort(&self) -> Result<()> {
        self.upload.abort().map_err(|error| self.told(error))
    }

    fn told(&self, error: io::Error) -> Error {
        told(&self.url, error, &Cancel::default())
    }
}

fn told(url: &str, error: io::Error, cancel: &Cancel) -> Error {
    match cancel.is_cancelled() {
        true => Error::Cancelled,
        false => Error::io(PathBuf::from(redacted(url)), error),
    }
}
