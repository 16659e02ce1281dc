//! A new object in a bucket that several processes write together; see `write::Parts`.

use super::file::SIDECARS;
use super::remote::{as_image, settle_beside, stale_beside};
use crate::error::{Error, Result};
use crate::source::redacted;
use std::io;
use std::path::PathBuf;
use strile_engine::Cancel;
use strile_remote::{RemoteOptions, SharedUpload, UploadOptions};

/// A file in a bucket that several processes write: one begins it, each sends parts, one completes it. Nothing is
/// visible before that. If the file is not completed, the process that began it calls [`abort`](Self::abort); the next
/// write to the same URL, or `strile uploads`, removes a lost upload.
pub struct SharedObject {
    upload: SharedUpload,
    url: String,
    remote: RemoteOptions,
    /// Suffixes of sidecars of the object that will be replaced.
    stale: Vec<&'static str>,
}

impl SharedObject {
    /// Begins an upload to `url`. An existing object is replaced only if `upload.overwrite`.
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

    /// Joins an upload that another process began.
    pub fn join(url: &str, remote: &RemoteOptions, ticket: &str, cancel: &Cancel) -> Result<Self> {
        let (beside, ticket) = ticket.split_once('\n').unwrap_or_default();
        let stale = SIDECARS.into_iter().filter(|suffix| beside.split(' ').any(|found| found == *suffix));
        let upload = SharedUpload::join(url, remote, ticket, cancel);
        let upload = upload.map_err(|error| told(url, error, cancel))?;
        Ok(Self { upload, url: url.to_owned(), remote: remote.clone(), stale: stale.collect() })
    }

    /// Returns the ticket with which another process joins. It is a secret.
    pub fn ticket(&self) -> String {
        format!("{}\n{}", self.stale.join(" "), self.upload.ticket())
    }

    /// Returns whether each part can only be sent after the previous one.
    pub fn in_order(&self) -> bool {
        self.upload.in_order()
    }

    /// Returns the size of all parts but the last, for a file of `total` bytes.
    pub fn part_size(&self, total: u64) -> Result<u64> {
        self.upload.part_size(total).map_err(|error| self.told(error))
    }

    /// Sends a part, numbered from 1, that begins at `offset`. Returns a text that [`complete`](Self::complete) needs.
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

    /// Abandons the file: nothing becomes visible, and the parts sent are removed as far as the store can.
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
