//! Connections: their number, timeouts, and shutdown.

use crate::answer::{Answer, Body, Refusal};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use strile::Cancel;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep, timeout};

/// Interval at which a stop is checked for.
const TICK: Duration = Duration::from_millis(50);
/// Time after which an incomplete request is dropped.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Time after which a client that reads no byte of its answer is dropped.
const STALL_TIME: Duration = Duration::from_secs(20);
/// Maximum bytes of a request without a body.
const REQUEST_BYTES: usize = 16 << 10;
/// Maximum headers of a request.
const REQUEST_HEADERS: usize = 64;

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers a request without a body.
    fn answer(self: Arc<Self>, parts: http::request::Parts) -> impl Future<Output = Answer> + Send;
}

/// Serves until a stop is requested.
pub(crate) async fn serve<H: Handler>(listener: TcpListener, handler: Arc<H>, most: usize, stop: &Cancel) {
    let all = Arc::new(Connections { most, number: AtomicU64::new(0), open: Mutex::default() });
    while !stop.is_cancelled() {
        match timeout(TICK, listener.accept()).await {
            Err(_) => {}
            // No file descriptor is available, or the client is already gone.
            Ok(Err(_)) => sleep(TICK).await,
            Ok(Ok((stream, _))) => all.open(stream, &handler),
        }
    }
    all.lock().values().for_each(Connection::end);
}

/// All connections.
struct Connections {
    most: usize,
    number: AtomicU64,
    open: Mutex<BTreeMap<u64, Connection>>,
}

struct Connection {
    busy: Arc<AtomicBool>,
    task: Option<AbortHandle>,
}

impl Connection {
    fn end(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Marks a connection as busy with a request.
pub(crate) struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Removes a connection that has ended.
struct Ended(Arc<Connections>, u64);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection. If there are too many, the oldest idle one is closed; if all are busy, the new one is
    /// closed.
    fn open<H: Handler>(self: &Arc<Self>, stream: TcpStream, handler: &Arc<H>) {
        let _unset = stream.set_nodelay(true);
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let busy = Arc::new(AtomicBool::new(false));
        {
            let mut open = self.lock();
            if open.len() >= self.most {
                let idle = open.iter().find(|(_, connection)| !connection.busy.load(Ordering::Relaxed));
                let Some(idle) = idle.map(|(number, _)| *number) else { return };
                if let Some(connection) = open.remove(&idle) {
                    connection.end();
                }
            }
            open.insert(number, Connection { busy: Arc::clone(&busy), task: None });
        }
        let ended = Ended(Arc::clone(self), number);
        let handler = Arc::clone(handler);
        let task = tokio::spawn(async move {
            let _ended = ended;
            let service = service_fn(move |request| {
                busy.store(true, Ordering::Relaxed);
                one(Arc::clone(&handler), request, Busy(Arc::clone(&busy)))
            });
            let _gone = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(REQUEST_TIME)
                .max_buf_size(REQUEST_BYTES)
                .max_headers(REQUEST_HEADERS)
                .serve_connection(TokioIo::new(Patient { stream, stalled: None }), service)
                .await;
        });
        if let Some(connection) = self.lock().get_mut(&number) {
            connection.task = Some(task.abort_handle());
        }
    }
}

async fn one<H: Handler>(
    handler: Arc<H>,
    request: Request<Incoming>,
    busy: Busy,
) -> Result<Answer, Infallible> {
    let (parts, _) = request.into_parts();
    let is_head = parts.method == Method::HEAD;
    let mut answer = match has_body(&parts.headers) {
        true => Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "expected a request without a body").answer(),
        false => handler.answer(parts).await,
    };
    let len = answer.body().len();
    if is_head {
        let (mut head, body) = answer.into_parts();
        head.headers.insert(http::header::CONTENT_LENGTH, len.into());
        answer = Answer::from_parts(head, body.without_bytes());
    }
    Body::keep(answer.body_mut(), busy);
    Ok(answer)
}

fn has_body(headers: &HeaderMap) -> bool {
    let len = headers.get(http::header::CONTENT_LENGTH);
    headers.contains_key(http::header::TRANSFER_ENCODING) || len.is_some_and(|len| len.as_bytes() != b"0")
}

/// A stream whose writes fail if the client reads nothing for [`STALL_TIME`].
struct Patient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// Fails a write that has been waiting too long.
    fn waited<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let sleep = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_TIME)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.waited(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.waited(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
