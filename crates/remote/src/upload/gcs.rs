//! Resumable uploads of Google Cloud Storage: one session, chunks in order. An unfinished session is invisible and
//! expires after a week; sessions cannot be listed.
//!
//! Multipart uploads of the XML API do not support preconditions, so they could replace an object silently.

use super::Existing;
use super::bucket::{Ask, Bucket, To};
use bytes::Bytes;
use http::Method;
use object_store::path::Path;
use std::io;
use url::Url;

/// Header that identifies the upload that made an object.
pub(super) const MARK: &str = "x-goog-meta-strileupload";
/// Chunks are multiples of this.
pub(super) const STEP: usize = 256 << 10;

/// Begins a session. `generation` is that of the object to replace, or 0 if there must be none.
pub(super) async fn create(
    bucket: &Bucket,
    path: &Path,
    mark: &str,
    content_type: &str,
    generation: Option<u64>,
) -> io::Result<Url> {
    let metadata = format!("{{\"metadata\":{{\"strileupload\":\"{mark}\"}}}}");
    let mut ask =
        Ask::new(Method::POST, To::Json(format!("/upload/storage/v1/b/{}/o", bucket.json_bucket())))
            .query("uploadType", "resumable")
            .query("name", path.as_ref())
            .header("content-type", "application/json")
            .header("x-upload-content-type", content_type)
            .body(metadata);
    if let Some(generation) = generation {
        ask = ask.query("ifGenerationMatch", generation.to_string());
    }
    let told = bucket.send(&ask).await?;
    if told.status.as_u16() == 412 {
        return Err(Existing::Keep.broken());
    }
    let told = told.done()?;
    let session = told.text("location").and_then(|text| Url::parse(&text).ok());
    let session = session.filter(|url| bucket.is_own(url));
    session.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the store gave no URL of an upload"))
}

/// Sends the bytes from `offset` on; with the total size they are the last ones.
pub(super) async fn put_chunk(
    bucket: &Bucket,
    session: &Url,
    offset: u64,
    bytes: Bytes,
    total: Option<u64>,
) -> io::Result<()> {
    let end = offset + bytes.len() as u64;
    let mut from = offset;
    // Every answer accepts at least one step of the chunk.
    for _ in 0..=bytes.len().div_ceil(STEP) {
        let start = usize::try_from(from - offset).unwrap_or(usize::MAX);
        let rest = bytes.slice(start.min(bytes.len())..);
        let of = total.map_or("*".to_owned(), |total| total.to_string());
        let range = match rest.is_empty() {
            true => format!("bytes */{of}"),
            false => format!("bytes {from}-{}/{of}", end - 1),
        };
        let ask =
            Ask::new(Method::PUT, To::Session(session.clone())).header("content-range", range).body(rest);
        let told = bucket.send(&ask).await?;
        match told.status.as_u16() {
            200 | 201 if total.is_some() => return Ok(()),
            412 => return Err(Existing::Keep.broken()),
            308 => {}
            _ => return Err(told.refused()),
        }
        let stored = told.text("range").and_then(|text| text.rsplit('-').next()?.parse::<u64>().ok());
        let stored = stored.map_or(0, |last| last.saturating_add(1));
        // More than this chunk if it is sent again after later ones.
        if stored >= end && total.is_none() {
            return Ok(());
        }
        if stored <= from && !bytes.is_empty() || stored > end {
            break;
        }
        from = stored;
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "the store does not take the bytes of the upload"))
}

/// Aborts a session.
pub(super) async fn abort(bucket: &Bucket, session: &Url) -> io::Result<()> {
    bucket.send(&Ask::new(Method::DELETE, To::Session(session.clone()))).await.map(|_| ())
}
