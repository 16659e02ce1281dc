//! Work in flight.

use crate::{EngineError, LocatedFault};
use std::sync::mpsc;
use std::time::Duration;

/// What became of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Blocks decoded or filled, for each task that places one.
    pub blocks: u64,
    /// Encoded bytes taken in: of a block that several tasks in a row place, once.
    pub encoded_bytes: u64,
    /// Faulty blocks in the order of the job's tasks; their part of the output holds the fill value.
    pub faults: Vec<LocatedFault>,
    /// Blocks that a device left to the host: no kernel for their layout, or a stream its kernel did not take.
    pub host_blocks: u64,
    /// Whether a sample was written that its output looks for; `None` if no output looks for one. See [`Output::looking_for`].
    ///
    /// [`Output::looking_for`]: crate::Output::looking_for
    pub found: Option<bool>,
    /// Where the time went, on engines with stages.
    pub times: StageTimes,
}

/// Time spent in each stage of a device's work. Stages overlap, so their sum is more than the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Reading encoded bytes, as seen by the job: from the first read to the last.
    pub read: Duration,
    /// Copying to the device.
    pub copy: Duration,
    /// Decompressing.
    pub decode: Duration,
    /// Undoing predictors and putting pixels in their place.
    pub place: Duration,
    /// Work of the host engine on behalf of the device.
    pub host: Duration,
}

impl StageTimes {
    /// Adds the times of another part of the work.
    pub fn add(&mut self, part: &Self) {
        self.read += part.read;
        self.copy += part.copy;
        self.decode += part.decode;
        self.place += part.place;
        self.host += part.host;
    }
}

/// A job under way. Dropping it does not stop the job; `Context::cancel` does.
#[must_use = "a job's faults are in its report"]
pub struct Ticket<T = Report> {
    done: mpsc::Receiver<Result<T, EngineError>>,
}

/// The engine's end of a ticket.
pub struct Completion<T = Report> {
    done: mpsc::SyncSender<Result<T, EngineError>>,
}

impl<T> Ticket<T> {
    /// A ticket and the end that completes it.
    pub fn new() -> (Completion<T>, Self) {
        let (sender, receiver) = mpsc::sync_channel(1);
        (Completion { done: sender }, Self { done: receiver })
    }

    /// Waits until the job is done.
    pub fn wait(self) -> Result<T, EngineError> {
        self.done.recv().unwrap_or(Err(EngineError::Abandoned))
    }
}

impl<T> Completion<T> {
    /// Completes the ticket; nothing happens where nobody waits any more.
    pub fn complete(self, result: Result<T, EngineError>) {
        let _nobody_waits = self.done.send(result);
    }
}
