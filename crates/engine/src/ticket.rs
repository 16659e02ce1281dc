//! Jobs in flight.

use crate::{EngineError, LocatedFault};
use std::sync::mpsc;
use std::time::Duration;

/// Result of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Blocks decoded or filled, counted per task.
    pub blocks: u64,
    /// Encoded bytes decoded; a block of several consecutive tasks counts once.
    pub encoded_bytes: u64,
    /// Faulty blocks in task order; their part of the output holds the fill value.
    pub faults: Vec<LocatedFault>,
    /// Blocks that a device left to the host: no kernel for their layout, or a stream that its kernel did not accept.
    pub host_blocks: u64,
    /// Whether a sample with the value to look for was written; `None` if no output looks for one. See
    /// [`Output::looking_for`].
    ///
    /// [`Output::looking_for`]: crate::Output::looking_for
    pub found: Option<bool>,
    /// Time per stage, on engines with stages.
    pub times: StageTimes,
}

/// Time per stage of a device's work. Stages overlap, so their sum exceeds the total time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Reading encoded bytes: from the job's first read to its last.
    pub read: Duration,
    /// Copying to the device.
    pub copy: Duration,
    /// Decompressing.
    pub decode: Duration,
    /// Undoing predictors and placing pixels.
    pub place: Duration,
    /// Work of the host engine for the device.
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

/// A running job. Dropping it does not stop the job; `Context::cancel` does.
#[must_use = "a job's faults are in its report"]
pub struct Ticket<T = Report> {
    done: mpsc::Receiver<Result<T, EngineError>>,
}

/// The engine's end of a ticket.
pub struct Completion<T = Report> {
    done: mpsc::SyncSender<Result<T, EngineError>>,
}

impl<T> Ticket<T> {
    /// Returns a ticket and the end that completes it.
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
    /// Completes the ticket; does nothing if the ticket was dropped.
    pub fn complete(self, result: Result<T, EngineError>) {
        let _nobody_waits = self.done.send(result);
    }
}
