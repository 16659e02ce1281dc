//! Uploads that were never finished.

use super::bucket::Bucket;
use super::{s3, wait};
use crate::options::RemoteOptions;
use crate::place::{Place, Service};
use object_store::path::Path;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use strile_engine::Cancel;

/// An unfinished upload: it takes space, but there is no object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// The key of the object.
    pub key: String,
    /// The store's ID of the upload.
    pub id: String,
    /// Start time as stated by the store: `2026-01-31T12:00:00.000Z`.
    pub begun: String,
    /// Whether strile began it. Uploads of other programs are removed only on request.
    pub own: bool,
}

impl Unfinished {
    /// Returns the time since its start, if the store states it.
    pub fn age(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(now.saturating_sub(Duration::from_secs(seconds_of(&self.begun)?)))
    }
}

/// Lists the unfinished uploads of all objects whose URLs begin with `prefix`. Only S3 has such a list.
pub fn unfinished(prefix: &str, remote: &RemoteOptions, cancel: &Cancel) -> io::Result<Vec<Unfinished>> {
    let (place, prefix) = Place::parse_prefix(prefix, remote)?;
    check_service(place.service)?;
    let remote = remote.clone();
    wait(cancel, async move {
        let bucket = Bucket::of(place, &remote).await?;
        let mut found = s3::unfinished(&bucket, &prefix).await?;
        for upload in &mut found {
            upload.own = match Path::parse(&upload.key) {
                Ok(path) => s3::is_own(&bucket, &path, &upload.id).await?,
                // Not a key that strile writes.
                Err(_) => false,
            };
        }
        Ok(found)
    })
}

/// Removes an unfinished upload that [`unfinished`] found under the same prefix.
pub fn remove_unfinished(
    prefix: &str,
    upload: &Unfinished,
    remote: &RemoteOptions,
    cancel: &Cancel,
) -> io::Result<()> {
    let (place, _) = Place::parse_prefix(prefix, remote)?;
    check_service(place.service)?;
    let (remote, upload) = (remote.clone(), upload.clone());
    wait(cancel, async move {
        let path = Path::parse(&upload.key).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "the key has empty or relative parts")
        })?;
        s3::abort(&Bucket::of(place, &remote).await?, &path, &upload.id).await
    })
}

fn check_service(service: Service) -> io::Result<()> {
    let problem = match service {
        Service::S3 => return Ok(()),
        Service::Http => "plain HTTP has no uploads",
        Service::Gcs => {
            "Google Cloud Storage has no list of resumable uploads; unfinished ones are invisible and expire after a week"
        }
        Service::Azure => {
            "Azure has no uploads to remove; blocks that were not committed are invisible, expire after a week, and are \
             discarded when the blob is written again"
        }
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, problem))
}

/// Removes remains of earlier uploads of strile to the same key. Skipped if the caller may not list uploads.
pub(super) async fn remove_own(bucket: &Bucket) {
    if bucket.place.service != Service::S3 {
        return;
    }
    let key = &bucket.place.key;
    let Ok(found) = s3::unfinished(bucket, key.as_ref()).await else { return };
    for upload in found.iter().filter(|upload| upload.key == key.as_ref()) {
        if s3::is_own(bucket, key, &upload.id).await.unwrap_or(false) {
            let _left_to_the_command = s3::abort(bucket, key, &upload.id).await;
        }
    }
}

/// Returns the seconds since 1970 of a time in UTC.
fn seconds_of(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some((days.checked_sub(719_468)? * 24 + hour) * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds_of("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds_of("2000-02-29T12:00:01.000Z"), Some(951_825_601));
        assert_eq!(seconds_of("2026-11-17T13:54:27.000Z"), Some(1_794_923_667));
        assert_eq!(seconds_of("yesterday"), None);
        assert_eq!(seconds_of("2026-13-01T00:00:00Z"), None);
    }
}
