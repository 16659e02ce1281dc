//! Existing objects at a key, and the conditions for replacing them.

use super::bucket::{Ask, Bucket, To};
use super::{azure, gcs, s3};
use crate::place::Service;
use http::Method;
use std::io;

/// Treatment of an existing object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Existing {
    Keep,
    Replace,
    /// Replace only the object with this ETag.
    Match(String),
}

/// An existing object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// ETag, if the store states it.
    pub etag: Option<String>,
    /// Generation, for Google Cloud Storage.
    pub(super) generation: Option<u64>,
    /// Mark of the upload that made it.
    pub(super) mark: Option<String>,
}

impl Existing {
    /// Adds the condition to a request: the store refuses it if the condition does not hold.
    pub(super) fn asked(&self, ask: Ask) -> Ask {
        match self {
            Self::Keep => ask.header("if-none-match", "*"),
            Self::Replace => ask,
            Self::Match(etag) => ask.header("if-match", etag.clone()),
        }
    }

    /// Returns the error of an object that was created or changed while its replacement was written.
    pub(super) fn broken(&self) -> io::Error {
        match self {
            Self::Keep | Self::Replace => {
                let problem =
                    "was created by another program while it was written; set `overwrite` to replace it";
                io::Error::new(io::ErrorKind::AlreadyExists, problem)
            }
            Self::Match(_) => changed(),
        }
    }

    /// Checks the condition against the current object; the store checks it again at the end.
    pub(super) fn check(&self, found: Option<&Found>) -> io::Result<()> {
        match (self, found) {
            (Self::Keep, Some(_)) => {
                let problem = "the object exists; set `overwrite` to replace it";
                Err(io::Error::new(io::ErrorKind::AlreadyExists, problem))
            }
            (Self::Match(etag), Some(found)) if found.etag.as_ref() == Some(etag) => Ok(()),
            (Self::Match(_), _) => Err(changed()),
            (Self::Keep, None) | (Self::Replace, _) => Ok(()),
        }
    }
}

fn changed() -> io::Error {
    let problem = "the object to replace is another by now: its ETag is not the one of `if_match`";
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, problem)
}

impl Bucket {
    /// Returns the object at the key.
    pub(super) async fn find(&self) -> io::Result<Option<Found>> {
        self.answer().await?
    }

    /// Like `find`, but separates a store's refusal (inner error) from a request that got no answer or was not sent.
    pub(super) async fn answer(&self) -> io::Result<io::Result<Option<Found>>> {
        let key = To::Key(self.place.key.clone());
        let (ask, mark) = match self.place.service {
            Service::Gcs => (Ask::new(Method::GET, key).header("range", "bytes=0-0"), gcs::MARK),
            Service::Azure => (Ask::new(Method::HEAD, key), azure::MARK),
            Service::Http | Service::S3 => (Ask::new(Method::HEAD, key), s3::MARK),
        };
        let told = self.send(&ask).await?;
        if told.status.as_u16() == 404 {
            return Ok(Ok(None));
        }
        // An empty object has no first byte.
        let told = match told.status.as_u16() {
            416 => told,
            _ => match told.done() {
                Ok(told) => told,
                Err(refused) => return Ok(Err(refused)),
            },
        };
        let generation = told.text("x-goog-generation").and_then(|text| text.parse().ok());
        Ok(Ok(Some(Found { etag: told.text("etag"), generation, mark: told.text(mark) })))
    }

    /// Removes the object at the key.
    pub(super) async fn remove(&self) -> io::Result<()> {
        let to = match self.place.service {
            Service::Gcs => To::Json(format!(
                "/storage/v1/b/{}/o/{}",
                self.json_bucket(),
                super::bucket::encoded(self.place.key.as_ref())
            )),
            _ => To::Key(self.place.key.clone()),
        };
        let told = self.send(&Ask::new(Method::DELETE, to)).await?;
        if told.status.as_u16() == 404 { Ok(()) } else { told.done().map(|_| ()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_checked_before_any_work() {
        let found = |etag: &str| Found { etag: Some(etag.to_owned()), generation: None, mark: None };
        assert!(Existing::Keep.check(None).is_ok() && Existing::Replace.check(Some(&found("a"))).is_ok());
        let kind =
            |existing: &Existing, found: Option<Found>| existing.check(found.as_ref()).unwrap_err().kind();
        assert_eq!(kind(&Existing::Keep, Some(found("a"))), io::ErrorKind::AlreadyExists);
        let only = Existing::Match("a".to_owned());
        assert!(only.check(Some(&found("a"))).is_ok());
        assert_eq!(kind(&only, Some(found("b"))), io::ErrorKind::StaleNetworkFileHandle);
        assert_eq!(kind(&only, None), io::ErrorKind::StaleNetworkFileHandle);
    }
}
