//! Work in flight.

use crate::{EngineError, LocatedFault};
use std::sync::mpsc;

/// What became of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Blocks decoded or filled.
    pub blocks: u64,
    /// Encoded bytes taken in.
    pub encoded_bytes: u64,
    /// Faulty blocks in the order of the job's tasks; their part of the output holds the fill value.
    pub faults: Vec<LocatedFault>,
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
