//! Checks of server answers against the request.

use crate::failure::{Failure, Then};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::StatusCode;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, RETRY_AFTER,
};
use http::response::Parts;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// An answer whose body has not been read yet.
pub(crate) struct Answer {
    pub(crate) parts: Parts,
    pub(crate) body: BoxStream<'static, Result<Bytes, Failure>>,
}

/// Identifies a state of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

/// Content of an accepted answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The range, and the size of the object.
    Range(Range<u64>, u64),
    /// The whole object, which is not larger than the requested range; its size if stated.
    Whole(Option<u64>),
}

impl Pin {
    fn of(headers: &HeaderMap) -> Self {
        Self { etag: text(headers, &ETAG), modified: text(headers, &LAST_MODIFIED) }
    }

    /// Returns the state for an ETag or a modification time; `None` if it is empty.
    pub(crate) fn of_mark(mark: &str) -> Option<Self> {
        let mark = Some(mark.to_owned()).filter(|mark| !mark.is_empty())?;
        Some(match mark.ends_with('"') {
            true => Self { etag: Some(mark), modified: None },
            false => Self { etag: None, modified: Some(mark) },
        })
    }

    /// Returns the ETag if a server can compare by it. A weak one does not identify the bytes.
    pub(crate) fn strong(&self) -> Option<&str> {
        self.etag.as_deref().filter(|tag| tag.starts_with('"'))
    }

    /// Returns whether an answer has the same state, as far as it states one.
    fn is(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) => Some(a.trim_start_matches("W/") == b.trim_start_matches("W/")),
            _ => None,
        };
        same(&self.etag, &other.etag).or(same(&self.modified, &other.modified)).unwrap_or(true)
    }
}

/// Checks the answer to the first request for an object.
pub(crate) fn check_first(parts: &Parts, asked: &Range<u64>) -> Result<(Held, Pin), Failure> {
    let stated = text(&parts.headers, &CONTENT_RANGE).unwrap_or_default();
    if parts.status == StatusCode::RANGE_NOT_SATISFIABLE && stated.trim() == "bytes */0" {
        return Ok((Held::Whole(Some(0)), Pin::of(&parts.headers)));
    }
    check_status(parts, asked)?;
    check_encoding(parts)?;
    let held = match parts.status {
        StatusCode::OK => match length(parts) {
            Some(len) if len > asked.end => return Err(no_ranges(asked, Some(len))),
            len => Held::Whole(len),
        },
        _ => {
            let (range, size) = content_range(&stated).ok_or_else(|| other_range(asked, &stated))?;
            let size = size.ok_or_else(|| {
                let problem = "the server does not say how large the object is, and ranges need that";
                Failure::last(io::ErrorKind::Unsupported, problem)
            })?;
            if (range.start, range.end) != (0, asked.end.min(size)) {
                return Err(other_range(&(0..asked.end.min(size)), &stated));
            }
            check_length(parts, &range)?;
            Held::Range(range, size)
        }
    };
    Ok((held, Pin::of(&parts.headers)))
}

/// Checks the answer to a later request.
pub(crate) fn check(parts: &Parts, asked: &Range<u64>, pin: &Pin, size: u64) -> Result<(), Failure> {
    if matches!(parts.status, StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE) {
        return Err(Failure::changed());
    }
    check_status(parts, asked)?;
    if !pin.is(&Pin::of(&parts.headers)) {
        return Err(Failure::changed());
    }
    check_encoding(parts)?;
    if parts.status == StatusCode::OK {
        let whole = (asked.start, asked.end, length(parts)) == (0, size, Some(size));
        return if whole { Ok(()) } else { Err(no_ranges(asked, length(parts))) };
    }
    let stated = text(&parts.headers, &CONTENT_RANGE).unwrap_or_default();
    let (range, total) = content_range(&stated).ok_or_else(|| other_range(asked, &stated))?;
    if range != *asked {
        return Err(other_range(asked, &stated));
    }
    if total.is_some_and(|total| total != size) {
        return Err(Failure::changed());
    }
    check_length(parts, asked)
}

/// Refuses every status but 200 and 206.
fn check_status(parts: &Parts, asked: &Range<u64>) -> Result<(), Failure> {
    let status = parts.status;
    let mut told = format!("the server answers {status}");
    // S3 states the region if a request went to another one.
    if let Some(region) = parts.headers.get("x-amz-bucket-region").filter(|_| !status.is_success()) {
        told += &format!(" (the bucket is in region {})", String::from_utf8_lossy(region.as_bytes()));
    }
    let after = text(&parts.headers, &RETRY_AFTER).and_then(|seconds| seconds.trim().parse().ok());
    let after = after.map(Duration::from_secs);
    Err(match status.as_u16() {
        200 | 206 => return Ok(()),
        404 | 410 => Failure::last(io::ErrorKind::NotFound, told),
        401 | 403 => Failure::last(io::ErrorKind::PermissionDenied, told),
        416 => Failure::last(
            io::ErrorKind::UnexpectedEof,
            format!("{told} to bytes {}-{}", asked.start, asked.end),
        ),
        429 | 503 => {
            Failure { error: io::Error::new(io::ErrorKind::ResourceBusy, told), then: Then::SlowDown(after) }
        }
        408 | 500..=599 => Failure { error: io::Error::other(told), then: Then::Retry(after) },
        _ => Failure::last(io::ErrorKind::Other, told),
    })
}

fn check_encoding(parts: &Parts) -> Result<(), Failure> {
    match text(&parts.headers, &CONTENT_ENCODING) {
        Some(encoding) if !encoding.eq_ignore_ascii_case("identity") => Err(Failure::last(
            io::ErrorKind::InvalidData,
            format!("the server sends ranges of {encoding} in place of the object's own bytes"),
        )),
        _ => Ok(()),
    }
}

fn check_length(parts: &Parts, range: &Range<u64>) -> Result<(), Failure> {
    let expected = range.end - range.start;
    match length(parts) {
        Some(len) if len != expected => Err(Failure::last(
            io::ErrorKind::InvalidData,
            format!("expected a body of {expected} bytes, the server announces {len}"),
        )),
        _ => Ok(()),
    }
}

/// Returns the failure of a body that is longer than requested.
pub(crate) fn too_long(asked: &Range<u64>) -> Failure {
    let len = asked.end - asked.start;
    Failure::last(io::ErrorKind::InvalidData, format!("the server sent more than the {len} bytes asked for"))
}

/// Returns the failure of a server that sends more than the range.
pub(crate) fn no_ranges(asked: &Range<u64>, len: Option<u64>) -> Failure {
    let sends = len.map_or("all".to_owned(), |len| len.to_string());
    let problem = format!(
        "the server does not serve ranges: asked for {} bytes from {}, it sends {sends}; use a server that does \
         (`Accept-Ranges: bytes`), or read a copy on disk",
        asked.end - asked.start,
        asked.start
    );
    Failure::last(io::ErrorKind::Unsupported, problem)
}

fn other_range(asked: &Range<u64>, stated: &str) -> Failure {
    let (first, last) = (asked.start, asked.end.saturating_sub(1));
    let got = if stated.is_empty() { "no Content-Range".to_owned() } else { format!("{stated:?}") };
    Failure::last(
        io::ErrorKind::InvalidData,
        format!("the server sends another range than asked for: expected bytes {first}-{last}, got {got}"),
    )
}

/// Parses the range of a `Content-Range` and the size that it states.
fn content_range(stated: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, size) = stated.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (start, end) = (first.parse().ok()?, last.parse::<u64>().ok()?.checked_add(1)?);
    let size = match size {
        "*" => None,
        size => Some(size.parse().ok()?),
    };
    (start < end && size.is_none_or(|size| end <= size)).then_some((start..end, size))
}

fn length(parts: &Parts) -> Option<u64> {
    text(&parts.headers, &CONTENT_LENGTH)?.trim().parse().ok()
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(status: u16, headers: &[(&str, &str)]) -> Parts {
        let mut answer = http::Response::builder().status(status);
        for (name, value) in headers {
            answer = answer.header(*name, *value);
        }
        answer.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_first_answer_states_size_and_version() {
        let first = |status, headers: &[(&str, &str)]| check_first(&parts(status, headers), &(0..100));
        let (held, pin) = first(206, &[("content-range", "bytes 0-99/1000"), ("etag", "\"a\"")]).unwrap();
        assert_eq!((held, pin.strong()), (Held::Range(0..100, 1000), Some("\"a\"")));
        let (held, pin) = first(206, &[("content-range", "bytes 0-9/10"), ("etag", "W/\"a\"")]).unwrap();
        assert_eq!((held, pin.strong()), (Held::Range(0..10, 10), None));
        assert_eq!(first(200, &[("content-length", "100")]).unwrap().0, Held::Whole(Some(100)));
        assert_eq!(first(416, &[("content-range", "bytes */0")]).unwrap().0, Held::Whole(Some(0)));
        let told = |status, headers: &[(&str, &str)]| first(status, headers).err().unwrap().error.to_string();
        assert!(told(200, &[("content-length", "101")]).contains("does not serve ranges"));
        assert!(told(206, &[]).contains("no Content-Range"));
        assert!(told(206, &[("content-range", "bytes 0-99/*")]).contains("how large"));
        assert!(told(206, &[("content-range", "bytes 0-98/1000")]).contains("another range"));
        assert!(told(206, &[("content-range", "bytes 0-99/50")]).contains("another range"));
        assert!(
            told(206, &[("content-range", "bytes 0-99/1000"), ("content-length", "5")])
                .contains("body of 100")
        );
        assert!(
            told(206, &[("content-range", "bytes 0-99/1000"), ("content-encoding", "gzip")]).contains("gzip")
        );
        assert!(told(404, &[]).contains("404"));
    }

    #[test]
    fn another_state_is_told() {
        let pin = Pin { etag: Some("\"a\"".into()), modified: None };
        let then = |status, headers: &[(&str, &str)]| {
            check(&parts(status, headers), &(10..20), &pin, 100).map_err(|failure| failure.error.to_string())
        };
        assert!(then(206, &[("content-range", "bytes 10-19/100"), ("etag", "\"a\"")]).is_ok());
        assert!(then(206, &[("content-range", "bytes 10-19/*")]).is_ok());
        for told in [
            then(412, &[]),
            then(416, &[]),
            then(206, &[("content-range", "bytes 10-19/100"), ("etag", "\"b\"")]),
            then(206, &[("content-range", "bytes 10-19/101"), ("etag", "\"a\"")]),
        ] {
            assert!(told.unwrap_err().contains("has changed since it was opened"));
        }
        assert!(then(206, &[("content-range", "bytes 11-20/100")]).unwrap_err().contains("another range"));
        assert!(then(200, &[("content-length", "100")]).unwrap_err().contains("does not serve ranges"));
    }

    #[test]
    fn busy_servers_are_asked_again() {
        let then = |status, headers: &[(&str, &str)]| {
            check_first(&parts(status, headers), &(0..1)).err().unwrap().then
        };
        assert_eq!(then(503, &[("retry-after", "2")]), Then::SlowDown(Some(Duration::from_secs(2))));
        assert_eq!(then(429, &[]), Then::SlowDown(None));
        assert_eq!(then(500, &[]), Then::Retry(None));
        assert_eq!(then(403, &[]), Then::GiveUp);
        let moved = check_first(&parts(301, &[("x-amz-bucket-region", "us-west-2")]), &(0..1));
        assert!(moved.err().unwrap().error.to_string().ends_with("in region us-west-2)"));
    }
}
