//! The steps of an upload, for each service.

use super::bucket::{Ask, Bucket};
use super::existing::Existing;
use super::{Part, azure, gcs, s3};
use crate::place::Service;
use bytes::Bytes;
use std::io;
use url::Url;

/// An object to write, and how.
pub(super) struct Job {
    pub(super) bucket: Bucket,
    /// A random name of this upload, stored with the object: shows whether a request whose answer was lost had an
    /// effect.
    pub(super) mark: String,
    pub(super) content_type: String,
    pub(super) existing: Existing,
    /// Generation for Google Cloud Storage's precondition.
    pub(super) generation: Option<u64>,
}

/// A store's identification of an upload.
pub(super) enum Begun {
    S3(String),
    /// Blocks have names, the upload does not.
    Azure,
    Gcs(Url),
}

impl Job {
    pub(super) fn service(&self) -> Service {
        self.bucket.place.service
    }

    /// Returns the largest part number.
    pub(super) fn last_part(&self) -> usize {
        match self.service() {
            Service::Http | Service::S3 => s3::LAST_PART,
            Service::Azure => azure::LAST_PART,
            Service::Gcs => usize::MAX,
        }
    }

    /// Checks for an existing object before any work is done.
    pub(super) async fn look(&mut self) -> io::Result<()> {
        // Without credentials or a connection it is useless to continue.
        let found = match (self.bucket.answer().await?, &self.existing) {
            (Ok(found), _) => found,
            // A caller with write access may lack read access; the store checks at the end.
            (Err(error), Existing::Keep | Existing::Replace)
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                None
            }
            (Err(error), _) => return Err(error),
        };
        self.existing.check(found.as_ref())?;
        self.generation = match (&self.existing, found) {
            (Existing::Keep, _) => Some(0),
            (Existing::Replace, _) => None,
            (Existing::Match(_), found) => found.and_then(|found| found.generation),
        };
        if self.service() == Service::Gcs
            && matches!(self.existing, Existing::Match(_))
            && self.generation.is_none()
        {
            let problem = "the store does not tell the generation of the object, which `if_match` needs";
            return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
        }
        Ok(())
    }

    pub(super) async fn create(&self) -> io::Result<Begun> {
        let (bucket, path) = (&self.bucket, &self.bucket.place.key);
        Ok(match self.service() {
            Service::Http | Service::S3 => {
                Begun::S3(s3::create(bucket, path, &self.mark, &self.content_type).await?)
            }
            Service::Azure => Begun::Azure,
            Service::Gcs => {
                let session = gcs::create(bucket, path, &self.mark, &self.content_type, self.generation);
                Begun::Gcs(session.await?)
            }
        })
    }

    /// Sends a part, or a chunk of a session; returns the store's name for it.
    pub(super) async fn put_part(
        &self,
        begun: &Begun,
        number: usize,
        offset: u64,
        bytes: Bytes,
    ) -> io::Result<String> {
        let (bucket, path) = (&self.bucket, &self.bucket.place.key);
        match begun {
            Begun::S3(id) => s3::put_part(bucket, path, id, number, bytes).await,
            Begun::Azure => azure::put_part(bucket, path, &self.mark, number, bytes).await,
            Begun::Gcs(session) => {
                gcs::put_chunk(bucket, session, offset, bytes, None).await.map(|()| String::new())
            }
        }
    }

    /// Sends the last chunk of a session, which makes the object visible.
    pub(super) async fn put_last(
        &self,
        begun: &Begun,
        offset: u64,
        bytes: Bytes,
        total: u64,
    ) -> io::Result<()> {
        let Begun::Gcs(session) = begun else { return Err(io::Error::other("the upload has parts")) };
        match gcs::put_chunk(&self.bucket, session, offset, bytes, Some(total)).await {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Err(error) if !self.is_there().await => Err(uncertain(&error)),
            _ => Ok(()),
        }
    }

    /// Combines the parts into an object.
    pub(super) async fn complete(&self, begun: &Begun, parts: &[Part]) -> io::Result<()> {
        let path = &self.bucket.place.key;
        match begun {
            // S3 may take minutes to combine the parts.
            Begun::S3(id) => self.settle(s3::complete(path, id, parts, &self.existing).slow()).await,
            Begun::Azure => {
                let ask = azure::complete(path, parts, &self.mark, &self.content_type, &self.existing);
                self.settle(ask.slow()).await
            }
            Begun::Gcs(_) => Err(io::Error::other("the upload has no parts")),
        }
    }

    /// Sends a small object in one request.
    pub(super) async fn put(&self, bytes: Bytes) -> io::Result<()> {
        let path = &self.bucket.place.key;
        let ask = match self.service() {
            Service::Azure => azure::put_whole(path, bytes, &self.mark, &self.content_type, &self.existing),
            _ => s3::put_whole(path, bytes, &self.mark, &self.content_type, &self.existing),
        };
        self.settle(ask).await
    }

    /// Sends the request that makes the object visible, and determines whether it had an effect.
    async fn settle(&self, ask: Ask) -> io::Result<()> {
        let told = match self.bucket.send(&ask).await {
            Ok(told) => told,
            Err(_) if self.is_there().await => return Ok(()),
            Err(error) => return Err(uncertain(&error)),
        };
        // S3 may answer 200 first and report an error then.
        if told.status.is_success() && !told.body.contains("<Error>") {
            return Ok(());
        }
        if told.repeated && self.is_there().await {
            return Ok(());
        }
        let (status, code) = (told.status.as_u16(), told.code());
        Err(match (status, code.as_str()) {
            (412, _) | (409, "BlobAlreadyExists" | "ConditionalRequestConflict") => self.existing.broken(),
            (404, "NoSuchUpload") | (400, "InvalidBlockList") => s3::gone(),
            (501, _) if self.existing != Existing::Replace => {
                let problem = "the store knows no conditions, so it cannot say whether an object exists: set \
                               `overwrite`, without `if_match`";
                io::Error::new(io::ErrorKind::Unsupported, problem)
            }
            _ if told.repeated => uncertain(&told.refused()),
            _ => told.refused(),
        })
    }

    /// Returns whether the current object is that of this upload.
    pub(super) async fn is_there(&self) -> bool {
        let found = self.bucket.find().await;
        found.is_ok_and(|found| found.is_some_and(|found| found.mark.as_ref() == Some(&self.mark)))
    }

    pub(super) async fn abort(&self, begun: &Begun) -> io::Result<()> {
        match begun {
            Begun::S3(id) => s3::abort(&self.bucket, &self.bucket.place.key, id).await,
            // Blocks that are not committed expire.
            Begun::Azure => Ok(()),
            Begun::Gcs(session) => gcs::abort(&self.bucket, session).await,
        }
    }
}

/// Returns the error of a last request that may have had an effect, or may have one later.
fn uncertain(error: &io::Error) -> io::Error {
    let problem = format!(
        "{error}; the store may have written the object, or may still do so: look before you write again"
    );
    io::Error::new(error.kind(), problem)
}
