//! Fetches one range of an object into memory of the caller, with as many requests as needed.

use crate::answer::{self, Answer, Held, Pin, no_ranges, too_long};
use crate::failure::{Failure, Then};
use crate::host::{Entered, Host};
use crate::options::RemoteOptions;
use crate::place::Place;
use crate::stats;
use crate::store::Store;
use crate::tries::Tries;
use bytes::Bytes;
use futures_util::future::{Either, TryFutureExt as _, select};
use futures_util::stream::{BoxStream, StreamExt as _};
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_engine::Cancel;
use tokio::time::{sleep, timeout};

/// Interval at which cancellation is checked.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes after which a broken connection counts as one that worked.
const PROGRESS: usize = 64 << 10;

/// An object and how it is requested. A fork may carry it into another process.
pub(crate) struct Link {
    pub(crate) place: Place,
    pub(crate) options: RemoteOptions,
}

/// Connection resources of this process. A forked child has its own.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) store: Arc<Store>,
    pub(crate) host: Arc<Host>,
}

/// Result of the first request for an object.
pub(crate) struct Opened {
    pub(crate) size: u64,
    pub(crate) pin: Pin,
    /// First bytes of the object.
    pub(crate) prefix: Vec<u8>,
}

/// Ends `work` when the caller cancels.
pub(crate) async fn until_cancelled<T>(
    cancel: &Cancel,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let cancelled = async {
        while !cancel.is_cancelled() {
            sleep(LOOK).await;
        }
    };
    match select(pin!(work), pin!(cancelled)).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled")),
    }
}

impl Way {
    /// Returns the time after which a request for this many bytes is repeated, if the caller and the host permit it.
    fn patience(&self, link: &Link, bytes: u64) -> Option<Duration> {
        link.options.hedge.then(|| self.host.patience(bytes)).flatten()
    }

    /// Returns a place in the host's window for a repetition.
    fn hedge(&self) -> Option<Entered> {
        let entered = self.host.hedge()?;
        stats::HEDGES.add(1);
        Some(entered)
    }
}

/// Requests the first bytes of an object.
pub(crate) async fn open(way: &Way, link: &Link, first: u64) -> io::Result<Opened> {
    let mut tries = Tries::new(&link.options, &way.host);
    loop {
        let entered = way.host.enter().await;
        let result = match timeout(tries.left(), open_hedged(way, link, first)).await {
            Ok(result) => result,
            Err(_) => return Err(out_of_time(&tries, 0, usize::try_from(first).unwrap_or(usize::MAX))),
        };
        drop(entered);
        match result {
            Ok(opened) => return Ok(opened),
            Err(failure) => tries.pause(failure, false).await?,
        }
    }
}

/// Sends one request, and another if it is slow; the first good answer counts.
async fn open_hedged(way: &Way, link: &Link, first: u64) -> Result<Opened, Failure> {
    let mut one = pin!(open_once(way, link, first));
    let Some(slow) = way.patience(link, first) else { return one.await };
    if let Either::Left((opened, _)) = select(one.as_mut(), pin!(sleep(slow))).await {
        return opened;
    }
    let Some(_entered) = way.hedge() else { return one.await };
    match select(one, pin!(open_once(way, link, first))).await {
        Either::Left((Err(failure), other)) if failure.then != Then::GiveUp => other.await,
        Either::Right((Err(failure), other)) if failure.then != Then::GiveUp => other.await,
        Either::Left((opened, _)) => opened,
        Either::Right((opened, _)) => opened,
    }
}

async fn open_once(way: &Way, link: &Link, first: u64) -> Result<Opened, Failure> {
    let asked = 0..first;
    let begun = Instant::now();
    let mut answer = asking(link, way.store.get(&link.place, &asked, &Pin::default())).await?;
    way.host.headed(begun.elapsed());
    let (held, pin) = answer::check_first(&answer.parts, &asked)?;
    let most = match &held {
        Held::Range(range, _) => range.end,
        Held::Whole(len) => len.unwrap_or(first),
    };
    let mut prefix = Vec::new();
    if most > 0 {
        while let Some(bytes) = next(link, &mut answer.body).await? {
            prefix.extend_from_slice(&bytes);
            if prefix.len() as u64 > most {
                return Err(match held {
                    Held::Range(range, _) => too_long(&range),
                    Held::Whole(_) => no_ranges(&asked, None),
                });
            }
        }
    }
    let size = match held {
        Held::Range(_, size) => size,
        Held::Whole(len) => len.unwrap_or(prefix.len() as u64),
    };
    if (prefix.len() as u64) < most.min(size) {
        return Err(cut(prefix.len() as u64, most.min(size)));
    }
    way.host.answered(prefix.len() as u64, (0, Duration::ZERO));
    Ok(Opened { size, pin, prefix })
}

/// Fills `into` with the bytes from `offset` on.
pub(crate) async fn fill(
    way: &Way,
    link: &Link,
    (pin, size): (&Pin, u64),
    offset: u64,
    into: &mut [u8],
) -> io::Result<()> {
    let mut tries = Tries::new(&link.options, &way.host);
    let (mut filled, len) = (0, into.len());
    while filled < len {
        let entered = way.host.enter().await;
        let before = filled;
        let asked = offset + filled as u64..offset + len as u64;
        let rest = into.get_mut(filled..).unwrap_or_default();
        let once = fill_once(way, link, (pin, size), asked, rest, &mut filled);
        let result = match timeout(tries.left(), once).await {
            Ok(result) => result,
            Err(_) => return Err(out_of_time(&tries, filled, len)),
        };
        drop(entered);
        if let Err(failure) = result {
            tries.pause(failure, filled - before >= PROGRESS).await?;
        }
    }
    Ok(())
}

/// Returns the body of the answer to one request, after checking its head.
fn body_of<'a>(
    way: &'a Way,
    link: &'a Link,
    (pin, size): (&'a Pin, u64),
    asked: Range<u64>,
) -> BoxStream<'a, Result<Bytes, Failure>> {
    let answer = async move {
        let begun = Instant::now();
        let answer = way.store.get(&link.place, &asked, pin).await?;
        answer::check(&answer.parts, &asked, pin, size)?;
        way.host.headed(begun.elapsed());
        Ok(answer.body)
    };
    answer.try_flatten_stream().boxed()
}

/// Next event while a range is fetched.
enum Event {
    /// Bytes of the current request.
    Bytes(Result<Option<Bytes>, Failure>),
    /// The request is slow.
    Slow,
    /// Bytes of its repetition.
    Other(Result<Option<Bytes>, Failure>),
}

/// Sends one request, and if it is slow another one for the rest: bytes of the first are used until the other one
/// delivers. `filled` counts the bytes that have arrived, also on failure.
async fn fill_once(
    way: &Way,
    link: &Link,
    state: (&Pin, u64),
    asked: Range<u64>,
    into: &mut [u8],
    filled: &mut usize,
) -> Result<(), Failure> {
    let len = into.len();
    let mut used = body_of(way, link, state, asked.clone());
    let mut slow = pin!(way.patience(link, len as u64).map(sleep));
    let mut waits = slow.is_some();
    // The repetition, the bytes present when it was sent, and its place in the window.
    let mut other: Option<(BoxStream<'_, _>, usize, Entered)> = None;
    let (mut got, mut skip, mut first) = (0usize, 0usize, None);
    loop {
        let event = match (&mut other, slow.as_mut().as_pin_mut().filter(|_| waits)) {
            (Some((other, ..)), _) => {
                match select(pin!(next(link, &mut used)), pin!(next(link, other))).await {
                    Either::Left((bytes, _)) => Event::Bytes(bytes),
                    Either::Right((bytes, _)) => Event::Other(bytes),
                }
            }
            (None, Some(slow)) => match select(pin!(next(link, &mut used)), slow).await {
                Either::Left((bytes, _)) => Event::Bytes(bytes),
                Either::Right(_) => Event::Slow,
            },
            (None, None) => Event::Bytes(next(link, &mut used).await),
        };
        let bytes = match (event, other.take()) {
            (Event::Slow, _) => {
                waits = false;
                let rest = asked.start + got as u64..asked.end;
                if got < len
                    && let Some(entered) = way.hedge()
                {
                    other = Some((body_of(way, link, state, rest), got, entered));
                }
                continue;
            }
            (Event::Bytes(Ok(bytes)), before) => {
                other = before;
                bytes
            }
            // The repetition takes over: bytes that arrived meanwhile are skipped.
            (Event::Other(Ok(bytes @ Some(_))), Some((later, from, _entered))) => {
                (used, skip) = (later, got - from);
                bytes
            }
            (Event::Bytes(Err(failure)), Some((later, from, _entered))) if failure.then != Then::GiveUp => {
                (used, skip) = (later, got - from);
                continue;
            }
            (Event::Bytes(Err(failure)), _) => return Err(failure),
            (Event::Other(Err(failure)), _) if failure.then == Then::GiveUp => return Err(failure),
            (Event::Other(_), _) => continue,
        };
        let Some(mut bytes) = bytes else { break };
        let again = skip.min(bytes.len());
        skip -= again;
        drop(bytes.split_to(again));
        let Some(to) = into.get_mut(got..).and_then(|rest| rest.get_mut(..bytes.len())) else {
            // The bytes that arrived cannot be trusted.
            return Err(too_long(&asked));
        };
        to.copy_from_slice(&bytes);
        got += bytes.len();
        *filled += bytes.len();
        first.get_or_insert_with(|| (Instant::now(), bytes.len()));
    }
    if got < len {
        return Err(cut(got as u64, len as u64));
    }
    let later = first.map_or((0, Duration::ZERO), |(at, bytes)| ((len - bytes) as u64, at.elapsed()));
    way.host.answered(len as u64, later);
    Ok(())
}

fn out_of_time(tries: &Tries<'_>, got: usize, of: usize) -> io::Error {
    let total = tries.total();
    let text = format!("the server sent {got} of {of} bytes within {total:?} (`total_timeout`)");
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn cut(got: u64, of: u64) -> Failure {
    Failure::brief(io::ErrorKind::UnexpectedEof, format!("the server sent {got} of {of} bytes"))
}

/// Returns the head of an answer, unless it takes too long.
async fn asking(
    link: &Link,
    answer: impl Future<Output = Result<Answer, Failure>>,
) -> Result<Answer, Failure> {
    let patience = link.options.stall_timeout;
    match timeout(patience, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(stalled(patience)),
    }
}

/// Returns the next bytes of a body, unless they take too long.
async fn next(
    link: &Link,
    body: &mut BoxStream<'_, Result<Bytes, Failure>>,
) -> Result<Option<Bytes>, Failure> {
    let patience = link.options.stall_timeout;
    let bytes = match timeout(patience, body.next()).await {
        Ok(bytes) => bytes.transpose()?,
        Err(_) => return Err(stalled(patience)),
    };
    stats::BYTES.add(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
    Ok(bytes)
}

fn stalled(patience: Duration) -> Failure {
    Failure::brief(
        io::ErrorKind::TimedOut,
        format!("the server sent nothing for {patience:?} (`stall_timeout`)"),
    )
}
