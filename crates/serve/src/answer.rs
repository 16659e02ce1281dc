//! Answers: bodies with accounted memory, headers, and refusals as JSON.

use crate::net::Busy;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use strile::{Context, Error, ErrorKind};

/// A whole body. Until it is sent, its memory counts in the budget and its connection is busy.
#[derive(Default)]
pub(crate) struct Body {
    bytes: Option<Bytes>,
    _counted: Option<Counted>,
    busy: Option<Busy>,
}

/// Memory of a body in the budget.
pub(crate) struct Counted(#[expect(dead_code, reason = "held until the body is sent")] Box<dyn Send + Sync>);

impl Counted {
    /// Reserves `bytes` until the body is sent.
    pub(crate) fn take(context: &Context, bytes: usize) -> Result<Self, Refusal> {
        let lease = context.take_kept(bytes as u64, "an answer that is being sent").map_err(Error::from)?;
        Ok(Self(Box::new(lease)))
    }
}

impl Body {
    /// Returns a body of text or of bytes of the program, which are not counted.
    pub(crate) fn small(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty()), ..Self::default() }
    }

    /// Returns a body whose memory is counted.
    pub(crate) fn counted(bytes: Vec<u8>, counted: Counted) -> Self {
        Self { _counted: Some(counted), ..Self::small(bytes) }
    }

    /// Keeps the connection busy until the body is sent.
    pub(crate) fn keep(&mut self, busy: Busy) {
        self.busy = Some(busy);
    }

    /// Returns the number of bytes left to send.
    pub(crate) fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, Bytes::len)
    }

    /// Returns the bytes left to send.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// Returns the body without bytes, for HEAD.
    pub(crate) fn without_bytes(mut self) -> Self {
        self.bytes = None;
        self
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.bytes.take().map(|bytes| Ok(http_body::Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.len() as u64)
    }
}

/// An answer.
pub(crate) type Answer = Response<Body>;

/// Reason why a request has no result.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    /// Block that cannot be decoded: level, column, row, plane.
    pub(crate) block: Option<[u32; 4]>,
    /// Codec of the block.
    pub(crate) codec: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), block: None, codec: None }
    }

    /// Returns the refusal of an invalid request.
    pub(crate) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// Returns the refusal for a file that cannot provide the result.
    pub(crate) fn unable(error: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    /// Returns the refusal of an overloaded server.
    pub(crate) fn busy(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// Replaces `path` in the text, so that clients do not learn the location of files.
    pub(crate) fn naming(mut self, path: &str, name: &str) -> Self {
        if !path.is_empty() {
            self.error = self.error.replace(path, name);
        }
        self
    }

    pub(crate) fn answer(&self) -> Answer {
        let mut told = json!({"error": self.error});
        if let Some(map) = told.as_object_mut() {
            if let Some([level, column, row, plane]) = self.block {
                let block = json!({"level": level, "column": column, "row": row, "plane": plane});
                map.insert("block".into(), block);
            }
            if let Some(codec) = &self.codec {
                map.insert("codec".into(), codec.as_str().into());
            }
        }
        let mut answer = json_answer(&told);
        *answer.status_mut() = self.status;
        set(&mut answer, "cache-control", "no-store");
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            set(&mut answer, "retry-after", "1");
        }
        answer
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Io if is_absent(&error) => StatusCode::NOT_FOUND,
            ErrorKind::InvalidRequest => StatusCode::BAD_REQUEST,
            ErrorKind::Memory | ErrorKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let block = match inner(&error) {
            Error::Blocks { first, .. } => {
                let address = first.address;
                Some([address.level, address.column, address.row, address.plane])
            }
            _ => None,
        };
        Self { status, error: error.to_string(), block, codec: None }
    }
}

/// Returns the error of a batch's window, without the window.
fn inner(error: &Error) -> &Error {
    match error {
        Error::Window { error, .. } => inner(error),
        error => error,
    }
}

fn is_absent(error: &Error) -> bool {
    matches!(inner(error), Error::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound)
}

/// Returns an answer of bytes of the program, or of a short text.
pub(crate) fn text_answer(content_type: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Body::small(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// Returns a JSON answer.
pub(crate) fn json_answer(value: &Value) -> Answer {
    text_answer("application/json", value.to_string())
}

/// Returns an answer of bytes whose memory is counted.
pub(crate) fn bytes_answer(
    content_type: &'static str,
    bytes: Vec<u8>,
    context: &Context,
) -> Result<Answer, Refusal> {
    let counted = Counted::take(context, bytes.len())?;
    let mut answer = Response::new(Body::counted(bytes, counted));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(answer)
}

/// Sets a header; skips values that are not allowed in headers.
pub(crate) fn set(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// Returns a number; null if JSON cannot represent it.
pub(crate) fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}
