//! One object written by several processes: one begins it, each sends parts, one completes it.
//!
//! They identify the upload by its ticket, a text. Sending a part again, or completing again, is harmless: a lost
//! process can be replaced by another one that does the same.

use super::bucket::Bucket;
use super::existing::Existing;
use super::job::{Begun, Job};
use super::{ABORT_PATIENCE, LARGEST_PART, Part, UploadOptions, begin_job, gcs, wait, wrong};
use crate::options::RemoteOptions;
use crate::place::{Place, Service};
use bytes::Bytes;
use std::fmt;
use std::io;
use std::sync::Arc;
use strile_engine::Cancel;
use url::Url;

/// Size of parts, except for objects that are too large for it.
const PART: u64 = 8 << 20;
/// First line of a ticket.
const TICKET: &str = "strile upload 1";

/// An object that is being written by several processes. Dropping it keeps the upload: [`abort`](Self::abort) removes
/// it.
///
/// ```no_run
/// use strile_remote::{Cancel, RemoteOptions, SharedUpload, UploadOptions};
///
/// let (url, remote, go_on) = ("s3://bucket/a.bin", RemoteOptions::new(), Cancel::default());
/// let upload = SharedUpload::begin(url, &remote, &UploadOptions::new(), &go_on)?;
/// let ticket = upload.ticket();
/// // In another process:
/// let etag = SharedUpload::join(url, &remote, &ticket, &go_on)?.put(1, 0, vec![0; 8 << 20], &go_on)?;
/// upload.complete(&[(1, etag)], 8 << 20, b"the end".to_vec())?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SharedUpload {
    job: Arc<Job>,
    begun: Arc<Begun>,
    name: String,
}

impl SharedUpload {
    /// Begins an object at a URL of a bucket, like [`Upload::begin`](super::Upload::begin).
    pub fn begin(
        url: &str,
        remote: &RemoteOptions,
        options: &UploadOptions,
        cancel: &Cancel,
    ) -> io::Result<Self> {
        let (job, name) = begin_job(url, remote, options, cancel)?;
        let job = Arc::new(job);
        let creating = Arc::clone(&job);
        // Must not be interrupted between the store's begin and the receipt of its answer.
        let begun = wait(&Cancel::default(), async move { creating.create().await })?;
        Ok(Self { job, begun: Arc::new(begun), name })
    }

    /// Joins an upload that another process has begun.
    pub fn join(url: &str, remote: &RemoteOptions, ticket: &str, cancel: &Cancel) -> io::Result<Self> {
        let place = Place::parse(url, remote)?;
        let name = place.name();
        let ticket = Ticket::parse(ticket, place.service).ok_or_else(|| {
            wrong("the ticket is none of an upload to this URL; all processes need one version of strile")
        })?;
        let Ticket { mark, content_type, existing, generation, begun } = ticket;
        let remote = remote.clone();
        let bucket = wait(cancel, async move { Bucket::of(place, &remote).await })?;
        if let Begun::Gcs(session) = &begun
            && !bucket.is_own(session)
        {
            return Err(wrong("the ticket leads to another service than the URL"));
        }
        let job = Job { bucket, mark, content_type, existing, generation };
        Ok(Self { job: Arc::new(job), begun: Arc::new(begun), name })
    }

    /// Returns the ticket by which another process joins. It is a secret: it permits writing to the object.
    pub fn ticket(&self) -> String {
        let Job { mark, content_type, existing, generation, .. } = &*self.job;
        let begun = match &*self.begun {
            Begun::S3(id) => format!("s3 {id}"),
            Begun::Azure => "azure".to_owned(),
            Begun::Gcs(session) => format!("gcs {session}"),
        };
        let existing = match existing {
            Existing::Keep => "keep".to_owned(),
            Existing::Replace => "replace".to_owned(),
            Existing::Match(etag) => format!("match {etag}"),
        };
        let generation = generation.map_or_else(String::new, |generation| generation.to_string());
        [TICKET, &begun, mark, &existing, &generation, content_type].join("\n")
    }

    /// Returns the URL without credentials.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether parts must be sent one after the other: in Google Cloud Storage.
    pub fn in_order(&self) -> bool {
        self.job.service() == Service::Gcs
    }

    /// Returns the size of all parts but the last for an object of `total` bytes.
    pub fn part_size(&self, total: u64) -> io::Result<u64> {
        let most = self.job.last_part() as u64;
        let size = total.div_ceil(most).max(PART).next_multiple_of(gcs::STEP as u64);
        match size <= LARGEST_PART {
            true => Ok(size),
            false => {
                let problem = format!("{total} bytes are more than an object of this store can have");
                Err(io::Error::new(io::ErrorKind::FileTooLarge, problem))
            }
        }
    }

    /// Sends a part, numbered from 1, that begins at `offset`; returns its name for [`complete`](Self::complete).
    pub fn put(&self, number: usize, offset: u64, bytes: Vec<u8>, cancel: &Cancel) -> io::Result<String> {
        let (job, begun) = (Arc::clone(&self.job), Arc::clone(&self.begun));
        wait(cancel, async move { job.put_part(&begun, number, offset, Bytes::from(bytes)).await })
    }

    /// Sends the last part, which begins at `offset`, and makes the object visible. `parts` are the others: numbers
    /// from 1 on, and the results of [`put`](Self::put).
    pub fn complete(&self, parts: &[(usize, String)], offset: u64, last: Vec<u8>) -> io::Result<()> {
        let mut parts: Vec<Part> =
            parts.iter().map(|(number, etag)| Part { number: *number, etag: etag.clone() }).collect();
        parts.sort_by_key(|part| part.number);
        if parts.iter().zip(1..).any(|(part, expected)| part.number != expected) {
            return Err(wrong("parts of the object are missing"));
        }
        let (job, begun, last) = (Arc::clone(&self.job), Arc::clone(&self.begun), Bytes::from(last));
        // An interruption would leave it unknown whether the object exists.
        wait(&Cancel::default(), async move {
            let ended = async {
                if let Begun::Gcs(_) = *begun {
                    let total = offset.saturating_add(last.len() as u64);
                    return job.put_last(&begun, offset, last, total).await;
                }
                let number = parts.len() + 1;
                let etag = job.put_part(&begun, number, offset, last).await?;
                parts.push(Part { number, etag });
                job.complete(&begun, &parts).await
            };
            match ended.await {
                // Another process may have completed it before it was lost.
                Err(_) if job.is_there().await => Ok(()),
                ended => ended,
            }
        })
    }

    /// Aborts the upload: removes what was sent, as far as the store can. Parts that are sent later are refused.
    pub fn abort(&self) -> io::Result<()> {
        let (job, begun) = (Arc::clone(&self.job), Arc::clone(&self.begun));
        wait(&Cancel::default(), async move {
            let late =
                |_| io::Error::new(io::ErrorKind::TimedOut, "the store did not remove the upload in time");
            tokio::time::timeout(ABORT_PATIENCE, job.abort(&begun)).await.map_err(late)?
        })
    }
}

impl fmt::Debug for SharedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedUpload").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A parsed ticket.
struct Ticket {
    mark: String,
    content_type: String,
    existing: Existing,
    generation: Option<u64>,
    begun: Begun,
}

impl Ticket {
    fn parse(text: &str, service: Service) -> Option<Self> {
        let lines: Vec<&str> = text.split('\n').collect();
        let [head, begun, mark, existing, generation, content_type] = <[&str; 6]>::try_from(lines).ok()?;
        if head != TICKET {
            return None;
        }
        let (kind, id) = begun.split_once(' ').unwrap_or((begun, ""));
        let begun = match (kind, service) {
            ("s3", Service::S3) => Begun::S3(id.to_owned()),
            ("azure", Service::Azure) => Begun::Azure,
            ("gcs", Service::Gcs) => Begun::Gcs(Url::parse(id).ok()?),
            _ => return None,
        };
        let existing = match existing.split_once(' ') {
            None if existing == "keep" => Existing::Keep,
            None if existing == "replace" => Existing::Replace,
            Some(("match", etag)) => Existing::Match(etag.to_owned()),
            _ => return None,
        };
        let generation = match generation {
            "" => None,
            number => Some(number.parse().ok()?),
        };
        Some(Self {
            mark: mark.to_owned(),
            content_type: content_type.to_owned(),
            existing,
            generation,
            begun,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_of_another_service_or_version_is_none() {
        let text = "strile upload 1\ns3 an-id\nmark\nmatch \"e\"\n17\nimage/tiff";
        let ticket = Ticket::parse(text, Service::S3).unwrap();
        assert!(matches!(&ticket.begun, Begun::S3(id) if id == "an-id"));
        assert_eq!((ticket.existing, ticket.generation), (Existing::Match("\"e\"".into()), Some(17)));
        assert!(Ticket::parse(text, Service::Azure).is_none());
        assert!(Ticket::parse(&text.replace("upload 1", "upload 2"), Service::S3).is_none());
        assert!(Ticket::parse(&text.replace("17", "x"), Service::S3).is_none());
        assert!(Ticket::parse("", Service::S3).is_none());
    }
}
