//! Blocks of Azure. Blocks that are never committed are invisible, cannot be removed, and expire after a week; a commit
//! of the same blob discards them.

use super::bucket::{Ask, Bucket, To};
use super::{Existing, Part};
use base64::Engine as _;
use bytes::Bytes;
use http::Method;
use object_store::path::Path;
use std::io;

/// Header that identifies the upload that made a blob.
pub(super) const MARK: &str = "x-ms-meta-strileupload";
/// Maximum blocks per blob.
pub(super) const LAST_PART: usize = 50_000;

/// Returns the name of a block; all names of a blob must have the same length.
fn block(mark: &str, number: usize) -> String {
    base64::engine::general_purpose::STANDARD.encode(format!("{mark}-{number:05}"))
}

/// Sends a block and returns its name.
pub(super) async fn put_part(
    bucket: &Bucket,
    path: &Path,
    mark: &str,
    number: usize,
    bytes: Bytes,
) -> io::Result<String> {
    let name = block(mark, number);
    let ask = Ask::new(Method::PUT, To::Key(path.clone()))
        .query("comp", "block")
        .query("blockid", name.clone())
        .body(bytes);
    bucket.send(&ask).await?.done()?;
    Ok(name)
}

/// Returns the request that makes a blob of the blocks.
pub(super) fn complete(
    path: &Path,
    parts: &[Part],
    mark: &str,
    content_type: &str,
    existing: &Existing,
) -> Ask {
    let mut body = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for part in parts {
        body += &format!("<Uncommitted>{}</Uncommitted>", part.etag);
    }
    body += "</BlockList>";
    let ask = Ask::new(Method::PUT, To::Key(path.clone()))
        .query("comp", "blocklist")
        .header("content-type", "application/xml")
        .header("x-ms-blob-content-type", content_type)
        .header(MARK, mark)
        .body(body);
    existing.asked(ask)
}

/// Returns the request that sends a whole blob.
pub(super) fn put_whole(
    path: &Path,
    bytes: Bytes,
    mark: &str,
    content_type: &str,
    existing: &Existing,
) -> Ask {
    let ask = Ask::new(Method::PUT, To::Key(path.clone()))
        .header("content-type", content_type)
        .header("x-ms-blob-type", "BlockBlob")
        .header(MARK, mark)
        .body(bytes);
    existing.asked(ask)
}
