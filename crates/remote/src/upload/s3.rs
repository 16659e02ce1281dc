//! Multipart uploads of S3.
//!
//! A store's list of unfinished uploads does not say which program began them. So each upload of strile has a part that
//! is never used: number 1, with a fixed content. Its ETag is the MD5 sum of that content, except in buckets that are
//! encrypted with the caller's keys, where uploads of strile are therefore not recognized.

use super::bucket::{Ask, Bucket, To};
use super::{Existing, Part, Unfinished, xml};
use bytes::Bytes;
use http::Method;
use object_store::path::Path;
use std::io;

/// Number of the part that marks an upload; the object's parts follow.
const MARKER_PART: usize = 1;
/// Maximum parts of an object besides the marker.
pub(super) const LAST_PART: usize = 10_000 - MARKER_PART;
const MARKER: &[u8] = b"strile upload marker 1\n";
const MARKER_ETAG: &str = "b352156004050d8b8c61b02a9a7d8544";
/// Header that identifies the upload that made an object.
pub(super) const MARK: &str = "x-amz-meta-strileupload";
/// Maximum pages of a list.
const PAGES: usize = 1000;

fn key(key: &Path) -> To {
    To::Key(key.clone())
}

/// Begins and marks an upload; returns its ID.
pub(super) async fn create(
    bucket: &Bucket,
    path: &Path,
    mark: &str,
    content_type: &str,
) -> io::Result<String> {
    let ask = Ask::new(Method::POST, key(path))
        .query("uploads", "")
        .header("content-type", content_type)
        .header(MARK, mark);
    let told = bucket.send(&ask).await?.done()?;
    let id = xml::text(&told.body, "UploadId").filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the store began no upload"))?;
    match put(bucket, path, &id, MARKER_PART, Bytes::from_static(MARKER)).await {
        Ok(_) => Ok(id),
        Err(error) => {
            let _nothing_else_to_do = abort(bucket, path, &id).await;
            Err(error)
        }
    }
}

/// Sends a part of the object, numbered from 1; returns its ETag.
pub(super) async fn put_part(
    bucket: &Bucket,
    path: &Path,
    id: &str,
    number: usize,
    bytes: Bytes,
) -> io::Result<String> {
    put(bucket, path, id, number + MARKER_PART, bytes).await
}

async fn put(bucket: &Bucket, path: &Path, id: &str, number: usize, bytes: Bytes) -> io::Result<String> {
    let ask = Ask::new(Method::PUT, key(path))
        .query("partNumber", number.to_string())
        .query("uploadId", id)
        .body(bytes);
    let told = bucket.send(&ask).await?;
    if told.code() == "NoSuchUpload" {
        return Err(gone());
    }
    let told = told.done()?;
    told.text("etag")
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the store gave a part no ETag"))
}

pub(super) fn gone() -> io::Error {
    let problem = "the upload was removed meanwhile, by another writer of the same object or by a clean-up: write it again";
    io::Error::new(io::ErrorKind::ConnectionAborted, problem)
}

/// Returns the request that combines the parts into an object.
pub(super) fn complete(path: &Path, id: &str, parts: &[Part], existing: &Existing) -> Ask {
    let mut body =
        String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for part in parts {
        let (number, etag) = (part.number + MARKER_PART, xml::escaped(&part.etag));
        body += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
    }
    body += "</CompleteMultipartUpload>";
    let ask =
        Ask::new(Method::POST, key(path)).query("uploadId", id).header("content-type", "application/xml");
    existing.asked(ask.body(body))
}

/// Returns the request that sends a whole object.
pub(super) fn put_whole(
    path: &Path,
    bytes: Bytes,
    mark: &str,
    content_type: &str,
    existing: &Existing,
) -> Ask {
    let ask =
        Ask::new(Method::PUT, key(path)).header("content-type", content_type).header(MARK, mark).body(bytes);
    existing.asked(ask)
}

/// Removes an upload and its parts.
pub(super) async fn abort(bucket: &Bucket, path: &Path, id: &str) -> io::Result<()> {
    // By S3's documentation, parts that arrive meanwhile may survive, so it is repeated.
    for _ in 0..3 {
        let told = bucket.send(&Ask::new(Method::DELETE, key(path)).query("uploadId", id)).await?;
        if told.status.as_u16() != 404 {
            told.done()?;
        }
        let ask = Ask::new(Method::GET, key(path)).query("uploadId", id).query("max-parts", "1");
        if bucket.send(&ask).await?.status.as_u16() == 404 {
            return Ok(());
        }
    }
    Err(io::Error::other("the store keeps parts of the upload"))
}

/// Returns the unfinished uploads of all keys that begin with `prefix`, including those of other programs.
pub(super) async fn unfinished(bucket: &Bucket, prefix: &str) -> io::Result<Vec<Unfinished>> {
    let mut found = Vec::new();
    let mut next: Option<(String, String)> = None;
    for _ in 0..PAGES {
        let mut ask = Ask::new(Method::GET, To::Key(Path::ROOT)).query("uploads", "").query("prefix", prefix);
        if let Some((key, id)) = next.take() {
            ask = ask.query("key-marker", key).query("upload-id-marker", id);
        }
        let told = bucket.send(&ask).await?.done()?;
        for upload in xml::all(&told.body, "Upload") {
            let text = |name| xml::text(upload, name);
            let (Some(key), Some(id)) = (text("Key"), text("UploadId")) else { continue };
            if key.starts_with(prefix) {
                found.push(Unfinished { key, id, begun: text("Initiated").unwrap_or_default(), own: false });
            }
        }
        let more = xml::text(&told.body, "IsTruncated").is_some_and(|text| text == "true");
        let markers = xml::text(&told.body, "NextKeyMarker").zip(xml::text(&told.body, "NextUploadIdMarker"));
        match markers.filter(|_| more) {
            Some(markers) => next = Some(markers),
            None => return Ok(found),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "the store's list of uploads does not end"))
}

/// Returns whether strile began an upload.
pub(super) async fn is_own(bucket: &Bucket, path: &Path, id: &str) -> io::Result<bool> {
    let ask = Ask::new(Method::GET, key(path)).query("uploadId", id).query("max-parts", "1");
    let told = bucket.send(&ask).await?;
    if told.status.as_u16() == 404 {
        return Ok(false);
    }
    let told = told.done()?;
    Ok(xml::all(&told.body, "Part").any(|part| {
        let text = |name| xml::text(part, name).unwrap_or_default();
        text("PartNumber") == MARKER_PART.to_string()
            && text("Size") == MARKER.len().to_string()
            && text("ETag").trim_matches('"') == MARKER_ETAG
    }))
}
