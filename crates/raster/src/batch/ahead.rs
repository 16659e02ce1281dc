//! Batches one after the other. A separate thread reads the next ones while one is used.
//!
//! Batches arrive in the order of their requests. A failed batch is an error in its place; the next ones follow. At
//! most `depth` batches are read ahead. Dropping the iterator early stops the current read and waits for the thread. A
//! child of a fork does not have the thread: its first call returns an error, and it may drop its copy.

use super::options::BatchOptions;
use super::read::{read_batch, read_batch_on_device};
use super::window::BatchWindow;
use crate::error::{Error, Result};
use crate::file::input::AsInput;
use crate::pixels::Pixels;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use strile_engine::{Cancel, Context, EngineError, Location, PerProcess, thread_builder};

/// Reads batches in order, the next ones on a separate thread while one is used.
///
/// ```
/// # use strile::{BatchOptions, Context, Dataset, Location};
/// # use strile::batch::{BatchWindow, Batches};
/// # use std::{num::NonZeroUsize, sync::Arc};
/// # fn train(paths: Vec<std::path::PathBuf>) -> strile::Result<()> {
/// let requests = paths.into_iter().map(|path| {
///     let file = Arc::new(Dataset::open(path)?);
///     Ok((vec![file], vec![BatchWindow::of_pixels(0, 0, 0, (256, 256))]))
/// });
/// let (options, context) = (BatchOptions::default(), Context::default());
/// for batch in Batches::new(Location::Host, requests, options, NonZeroUsize::MIN, &context)? {
///     let pixels = batch?;
///     assert_eq!(pixels.windows, Some(1));
/// }
/// # Ok(())
/// # }
/// ```
pub struct Batches {
    /// Per process: a child of a fork has no reading thread, and cannot wait for the thread's locks.
    ahead: PerProcess<Mutex<Ahead>>,
}

/// State of reading ahead.
enum Ahead {
    Reading(Reading),
    /// Forked from the reading process. This was not reported yet.
    Forked,
    /// All batches were returned.
    Ended,
}

/// The reading thread, and the channel of its results.
struct Reading {
    /// `None` once no more batches are wanted.
    batches: Option<mpsc::Receiver<Result<Pixels>>>,
    thread: Option<JoinHandle<()>>,
    cancel: Cancel,
}

impl Batches {
    /// Reads batches of files and their windows into the memory `to`. The iterator runs on the other thread, so it may
    /// open files. Its errors are returned in place of their batch.
    pub fn new<R, F>(
        to: Location,
        requests: R,
        options: BatchOptions,
        depth: NonZeroUsize,
        context: &Context,
    ) -> Result<Self>
    where
        R: IntoIterator<Item = Result<(Vec<F>, Vec<BatchWindow>)>>,
        R::IntoIter: Send + 'static,
        F: AsInput,
    {
        let cancel = context.cancel.part();
        let context = Context { cancel: cancel.clone(), ..context.clone() };
        // One more batch waits to be sent.
        let (sender, batches) = mpsc::sync_channel(depth.get() - 1);
        let mut requests = requests.into_iter();
        let read = move || {
            while !context.cancel.is_cancelled()
                && let Some(request) = requests.next()
            {
                let batch = request.and_then(|(files, windows)| match to {
                    Location::Host => read_batch(&files, &windows, &options, &context),
                    Location::Cuda(device) => {
                        read_batch_on_device(device, &files, &windows, &options, &context)
                    }
                });
                let stopped = matches!(batch, Err(Error::Cancelled)) && context.cancel.is_cancelled();
                if sender.send(batch).is_err() || stopped {
                    return;
                }
            }
            // Stopped between two reads: without a message this would look like the end.
            if context.cancel.is_cancelled() {
                let _nobody_waits = sender.send(Err(Error::Cancelled));
            }
        };
        let thread = thread_builder("strile-batches").and_then(|new| new.spawn(read));
        let thread = thread.map_err(|error| Error::io("the thread that reads batches", error))?;
        let reading = Reading { batches: Some(batches), thread: Some(thread), cancel };
        let ahead = PerProcess::new();
        ahead.get(|| Mutex::new(Ahead::Reading(reading)));
        Ok(Self { ahead })
    }
}

impl Iterator for Batches {
    type Item = Result<Pixels>;

    fn next(&mut self) -> Option<Result<Pixels>> {
        let ahead = self.ahead.get(|| Mutex::new(Ahead::Forked));
        let mut ahead = ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let last = match &mut *ahead {
            Ahead::Reading(reading) => match reading.batches.as_ref()?.recv() {
                Ok(batch) => return Some(batch),
                // The iterator of requests panicked or ended.
                Err(_) => reading.thread.take()?.join().err().map(|_| Error::Engine(EngineError::Abandoned)),
            },
            Ahead::Forked => Some(Error::Request {
                file: "batches".to_owned(),
                problem: "are read ahead by the process that this one was forked from: make new ones in this process"
                    .to_owned(),
            }),
            Ahead::Ended => None,
        };
        *ahead = Ahead::Ended;
        last.map(Err)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.cancel.cancel();
        // Dropped first, so that the thread does not wait for a batch to be taken.
        drop(self.batches.take());
        if let Some(thread) = self.thread.take() {
            // Its result is no longer needed.
            let _ended = thread.join();
        }
    }
}
