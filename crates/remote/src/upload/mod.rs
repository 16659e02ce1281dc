//! Writes objects in parts, which are sent while later ones are made.
//!
//! The object is invisible until [`Upload::complete`]. The first part is held back until then, so that the head of a
//! file can be written last, except in Google Cloud Storage, which accepts bytes only in order. Every request is
//! retried separately.

mod azure;
mod bucket;
mod existing;
mod gcs;
mod job;
mod s3;
mod shared;
mod unfinished;
pub(crate) mod xml;

use crate::fetch::until_cancelled;
use crate::options::RemoteOptions;
use crate::place::{Place, Service};
use crate::runtime;
use crate::tries::random;
use bucket::Bucket;
use bytes::Bytes;
use existing::Existing;
pub use existing::Found;
use job::{Begun, Job};
pub use shared::SharedUpload;
use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use strile_engine::Cancel;
pub use unfinished::{Unfinished, remove_unfinished, unfinished};

/// Parts that are sent at once.
const IN_FLIGHT: usize = 4;
/// Minimum part size of stores, except for the last part.
const SMALLEST_PART: u64 = 5 << 20;
/// Maximum part size of stores.
const LARGEST_PART: u64 = 4 << 30;
/// Part sizes by the largest part number. All parts together hold 690 GB.
const PART_SIZES: [(usize, usize); 3] = [(2_000, 8 << 20), (5_000, 32 << 20), (usize::MAX, 128 << 20)];
/// Time limit for aborting an upload.
const ABORT_PATIENCE: Duration = Duration::from_secs(10);

/// Options of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadOptions {
    /// Replace an existing object. Otherwise an existing object is an error, also if it was created during the upload.
    pub overwrite: bool,
    /// Replace only the object with this ETag; needs `overwrite`.
    pub if_match: Option<String>,
    /// Size of parts in bytes, from 5 MiB to 4 GiB. Up to seven are held in memory. By default 8 MiB, and more in
    /// objects above 16 GB.
    pub part_size: Option<u64>,
    /// `Content-Type` of the object.
    pub content_type: String,
}

impl Default for UploadOptions {
    fn default() -> Self {
        Self {
            overwrite: false,
            if_match: None,
            part_size: None,
            content_type: "application/octet-stream".into(),
        }
    }
}

impl UploadOptions {
    /// Returns the defaults: an existing object is kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether an existing object is replaced.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets the ETag of the object to replace.
    #[must_use]
    pub fn if_match(mut self, etag: impl Into<String>) -> Self {
        self.if_match = Some(etag.into());
        self
    }

    /// Sets the size of parts in bytes.
    #[must_use]
    pub fn part_size(mut self, part_size: u64) -> Self {
        self.part_size = Some(part_size);
        self
    }

    /// Sets the `Content-Type` of the object.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = content_type.into();
        self
    }

    fn existing(&self) -> io::Result<Existing> {
        match (&self.if_match, self.overwrite) {
            (None, false) => Ok(Existing::Keep),
            (None, true) => Ok(Existing::Replace),
            (Some(etag), true) => Ok(Existing::Match(etag.clone())),
            (Some(_), false) => Err(wrong("`if_match` replaces an object, and needs `overwrite`")),
        }
    }

    fn size(&self) -> io::Result<Option<usize>> {
        match self.part_size {
            None => Ok(None),
            Some(size) if (SMALLEST_PART..=LARGEST_PART).contains(&size) => {
                let size = usize::try_from(size).map_err(|_| wrong("`part_size` is larger than memory"))?;
                Ok(Some(size.next_multiple_of(gcs::STEP)))
            }
            Some(size) => Err(wrong(&format!("`part_size`: expected 5 MiB to 4 GiB, got {size} bytes"))),
        }
    }
}

fn wrong(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// A part that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    number: usize,
    etag: String,
}

/// An object that is being written. [`complete`](Upload::complete) makes it visible; dropping aborts it.
///
/// ```no_run
/// use strile_remote::{Cancel, RemoteOptions, Upload, UploadOptions};
///
/// let options = UploadOptions::new().overwrite(true).content_type("image/tiff");
/// let mut upload =
///     Upload::begin("s3://bucket/dem.tif", &RemoteOptions::new(), &options, &Cancel::default())?;
/// upload.append(b"II*\0")?;
/// upload.complete()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Upload {
    job: Arc<Job>,
    name: String,
    part_size: Option<usize>,
    /// The first part, which is sent last.
    held: Vec<u8>,
    tail: Vec<u8>,
    len: u64,
    begun: Option<Arc<Begun>>,
    /// Number of the next part.
    number: usize,
    parts: Vec<Part>,
    in_flight: usize,
    /// Bytes of sent parts: the start of a session's next chunk.
    sent_bytes: u64,
    sent: (mpsc::Sender<io::Result<Part>>, mpsc::Receiver<io::Result<Part>>),
    /// Stops parts that are being sent.
    cancel: Cancel,
    over: bool,
}

impl Upload {
    /// Begins an object at a URL of a bucket. Checks for an existing one, and removes remains of an earlier upload of
    /// strile to the same URL. Plain HTTP is refused.
    pub fn begin(
        url: &str,
        remote: &RemoteOptions,
        options: &UploadOptions,
        cancel: &Cancel,
    ) -> io::Result<Self> {
        let part_size = options.size()?;
        let (job, name) = begin_job(url, remote, options, cancel)?;
        Ok(Self {
            job: Arc::new(job),
            name,
            part_size,
            held: Vec::new(),
            tail: Vec::new(),
            len: 0,
            begun: None,
            number: 2,
            parts: Vec::new(),
            in_flight: 0,
            sent_bytes: 0,
            sent: mpsc::channel(),
            cancel: cancel.part(),
            over: false,
        })
    }

    /// Returns the URL without credentials.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of bytes appended.
    #[expect(clippy::len_without_is_empty, reason = "an upload is not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether [`patch`](Upload::patch) is supported: not in Google Cloud Storage.
    pub fn can_patch(&self) -> bool {
        self.in_parts()
    }

    fn in_parts(&self) -> bool {
        self.job.service() != Service::Gcs
    }

    /// Returns the size of a part.
    fn size_of(&self, number: usize) -> usize {
        let grown = || PART_SIZES.iter().find(|(last, _)| number <= *last).map_or(8 << 20, |(_, size)| *size);
        self.part_size.unwrap_or_else(grown)
    }

    /// Appends bytes. Waits while the maximum number of parts is being sent.
    pub fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.len = self.len.saturating_add(bytes.len() as u64);
        if self.in_parts() {
            let size = self.size_of(1);
            let (first, rest) = bytes.split_at((size - self.held.len()).min(bytes.len()));
            take(&mut self.held, first, size)?;
            bytes = rest;
        }
        while !bytes.is_empty() {
            let size = self.size_of(self.number);
            if self.tail.len() >= size {
                self.send_tail()?;
                continue;
            }
            let (first, rest) = bytes.split_at((size - self.tail.len()).min(bytes.len()));
            take(&mut self.tail, first, size)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Overwrites bytes of the first part.
    pub fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
        match range.and_then(|range| self.held.get_mut(range)) {
            Some(into) => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            None => {
                let held = self.held.len();
                Err(wrong(&format!(
                    "only the first {held} bytes can be overwritten, not {} at {offset}",
                    bytes.len()
                )))
            }
        }
    }

    /// Makes the object visible. After an error it is invisible, unless the error says otherwise.
    pub fn complete(mut self) -> io::Result<()> {
        let result = self.finish();
        self.over = result.is_ok();
        result
    }

    fn finish(&mut self) -> io::Result<()> {
        let job = Arc::clone(&self.job);
        let held = Bytes::from(std::mem::take(&mut self.held));
        if self.in_parts() && self.begun.is_none() && self.tail.is_empty() {
            return wait(&Cancel::default(), async move { job.put(held).await });
        }
        if !self.in_parts() {
            let begun = self.begun()?;
            self.settle(0)?;
            let (offset, total) = (self.sent_bytes, self.len);
            let last = Bytes::from(std::mem::take(&mut self.tail));
            return wait(&Cancel::default(), async move { job.put_last(&begun, offset, last, total).await });
        }
        if !self.tail.is_empty() {
            self.send_tail()?;
        }
        self.settle(0)?;
        self.send(1, held)?;
        self.settle(0)?;
        let begun = self.begun()?;
        let mut parts = std::mem::take(&mut self.parts);
        parts.sort_by_key(|part| part.number);
        // From here on an interruption would leave it unknown whether the object exists.
        wait(&Cancel::default(), async move { job.complete(&begun, &parts).await })
    }

    /// Aborts the upload: removes what was sent, as far as the store can.
    pub fn abort(mut self) {
        self.give_up();
    }

    fn give_up(&mut self) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        self.cancel.cancel();
        let _failed_or_stopped = self.settle(0);
        while self.in_flight > 0 && self.sent.1.recv().is_ok() {
            self.in_flight -= 1;
        }
        let Some(begun) = self.begun.take() else { return };
        let job = Arc::clone(&self.job);
        let _nothing_else_to_do = wait(&Cancel::default(), async move {
            let _late = tokio::time::timeout(ABORT_PATIENCE, job.abort(&begun)).await;
            Ok(())
        });
    }

    /// Returns the store's identification of this upload.
    fn begun(&mut self) -> io::Result<Arc<Begun>> {
        if let Some(begun) = &self.begun {
            return Ok(Arc::clone(begun));
        }
        let job = Arc::clone(&self.job);
        // Must not be interrupted between the store's begin and the receipt of its answer.
        let begun = Arc::new(wait(&Cancel::default(), async move { job.create().await })?);
        self.begun = Some(Arc::clone(&begun));
        Ok(begun)
    }

    fn send_tail(&mut self) -> io::Result<()> {
        let last = self.job.last_part();
        if self.number > last {
            let problem = format!("the object has more than {last} parts; set a larger `part_size`");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        let bytes = Bytes::from(std::mem::take(&mut self.tail));
        self.send(self.number, bytes)?;
        self.number += 1;
        Ok(())
    }

    /// Sends a part, once there is room for it.
    fn send(&mut self, number: usize, bytes: Bytes) -> io::Result<()> {
        let begun = self.begun()?;
        self.settle(if self.in_parts() { IN_FLIGHT - 1 } else { 0 })?;
        let (job, cancel, done) = (Arc::clone(&self.job), self.cancel.clone(), self.sent.0.clone());
        let offset = self.sent_bytes;
        self.sent_bytes += bytes.len() as u64;
        self.in_flight += 1;
        runtime::handle()?.spawn(async move {
            let sent = until_cancelled(&cancel, job.put_part(&begun, number, offset, bytes)).await;
            let _nobody_waits = done.send(sent.map(|etag| Part { number, etag }));
        });
        Ok(())
    }

    /// Waits until at most `most` parts are being sent.
    fn settle(&mut self, most: usize) -> io::Result<()> {
        while self.in_flight > most {
            let sent = self.sent.1.recv().map_err(|_| io::Error::other("an upload was dropped"))?;
            self.in_flight -= 1;
            self.parts.push(sent?);
        }
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

/// Checks for an object at a URL of a bucket, removes remains of an earlier upload to it, and returns the job and the
/// URL without credentials.
fn begin_job(
    url: &str,
    remote: &RemoteOptions,
    options: &UploadOptions,
    cancel: &Cancel,
) -> io::Result<(Job, String)> {
    let existing = options.existing()?;
    let place = Place::parse(url, remote)?;
    let name = place.name();
    let mark = format!("{:016x}{:016x}", random(), random());
    let (remote, content_type) = (remote.clone(), options.content_type.clone());
    let job = wait(cancel, async move {
        let bucket = Bucket::of(place, &remote).await?;
        let mut job = Job { bucket, mark, content_type, existing, generation: None };
        job.look().await?;
        unfinished::remove_own(&job.bucket).await;
        Ok(job)
    })?;
    Ok((job, name))
}

/// Returns the objects at URLs of buckets: `None` if there is none, or if the caller may not look.
pub fn find(urls: &[String], remote: &RemoteOptions, cancel: &Cancel) -> io::Result<Vec<Option<Found>>> {
    let places: io::Result<Vec<Place>> = urls.iter().map(|url| Place::parse(url, remote)).collect();
    let (places, remote) = (places?, remote.clone());
    wait(cancel, async move {
        let look = |place| {
            let remote = remote.clone();
            tokio::spawn(async move { Bucket::of(place, &remote).await?.find().await })
        };
        let asked: Vec<_> = places.into_iter().map(look).collect();
        let mut found = Vec::with_capacity(asked.len());
        for answer in asked {
            match answer.await.map_err(|_| io::Error::other("a request was dropped"))? {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found.push(None),
                answer => found.push(answer?),
            }
        }
        Ok(found)
    })
}

/// Removes the object at a URL of a bucket, if there is one.
pub fn remove(url: &str, remote: &RemoteOptions, cancel: &Cancel) -> io::Result<()> {
    let (place, remote) = (Place::parse(url, remote)?, remote.clone());
    wait(cancel, async move { Bucket::of(place, &remote).await?.remove().await })
}

/// Appends to a part that will have `size` bytes.
fn take(part: &mut Vec<u8>, bytes: &[u8], size: usize) -> io::Result<()> {
    if part.capacity() - part.len() < bytes.len() {
        // Small objects do not reserve a whole part.
        let wanted = (part.len() + bytes.len()).next_power_of_two().clamp(64 << 10, size.max(64 << 10));
        let more = wanted.max(part.len() + bytes.len()) - part.len();
        part.try_reserve_exact(more).map_err(|_| {
            io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for a part of {size} bytes"))
        })?;
    }
    part.extend_from_slice(bytes);
    Ok(())
}

/// Runs requests and waits for them, until `cancel` is set.
fn wait<T: Send + 'static>(
    cancel: &Cancel,
    work: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<T> {
    let (answer, done) = mpsc::channel();
    let cancel = cancel.clone();
    // Not `block_on`, which panics on a thread of another runtime.
    runtime::handle()?.spawn(async move {
        let _nobody_waits = answer.send(until_cancelled(&cancel, work).await);
    });
    done.recv().map_err(|_| io::Error::other("a request was dropped"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_contradict_are_refused() {
        let told = |options: UploadOptions| {
            let begun = Upload::begin("s3://bucket/a", &RemoteOptions::new(), &options, &Cancel::default());
            begun.unwrap_err().to_string()
        };
        assert!(told(UploadOptions::new().if_match("x")).contains("needs `overwrite`"));
        assert!(told(UploadOptions::new().part_size(1000)).contains("5 MiB to 4 GiB"));
        assert!(told(UploadOptions::new().part_size(u64::MAX)).contains("5 MiB to 4 GiB"));
        let options = UploadOptions::new().part_size((5 << 20) + 1);
        assert_eq!(options.size().unwrap(), Some((5 << 20) + gcs::STEP));
    }

    #[test]
    fn plain_http_and_missing_credentials_are_told() {
        let told = |url: &str, remote: RemoteOptions| {
            Upload::begin(url, &remote, &UploadOptions::new(), &Cancel::default()).unwrap_err().to_string()
        };
        assert!(told("https://host/a.tif", RemoteOptions::new()).contains("cannot write over plain HTTP"));
        let anonymous = || RemoteOptions::new().anonymous(true);
        assert!(told("s3://bucket/a.tif", anonymous().region("x")).contains("needs credentials"));
        assert!(told("az://box/a.tif", anonymous()).contains("needs credentials"));
        let open = RemoteOptions::new()
            .endpoint("http://example.invalid")
            .region("x")
            .setting("aws_access_key_id", "a")
            .setting("aws_secret_access_key", "concealed");
        let told = told("s3://bucket/a.tif", open);
        assert!(told.contains("not encrypted") && !told.contains("concealed"), "{told}");
    }

    #[test]
    fn parts_grow_slowly() {
        let mut part = Vec::new();
        take(&mut part, &[1; 100], 8 << 20).unwrap();
        assert!(part.capacity() < 1 << 20, "{}", part.capacity());
        for _ in 0..(8 << 20) / 1000 {
            take(&mut part, &[2; 1000], 8 << 20).unwrap();
        }
        assert!(part.capacity() <= 8 << 20, "{}", part.capacity());
        let rest = vec![3; (8 << 20) - part.len()];
        take(&mut part, &rest, 8 << 20).unwrap();
        assert_eq!((part.len(), part.capacity()), (8 << 20, 8 << 20));
    }
}
