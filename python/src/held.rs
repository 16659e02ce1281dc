//! Guards an object that one thread uses at a time, until it is closed: a file being written, or a part of one.
//!
//! It is dropped without the interpreter's lock, which running work may need to finish. A child of a fork neither
//! uses nor drops it: its threads and the file belong to the parent.

use crate::error::strile_error;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use strile::engine::ProcessId;

/// An object that one thread uses at a time. It is open, or closed with the reason.
pub(crate) struct Held<T: Send> {
    open: Mutex<Result<T, &'static str>>,
    /// Its name in messages.
    what: &'static str,
    process: ProcessId,
}

impl<T: Send> Held<T> {
    pub(crate) fn new(what: &'static str, open: T) -> Self {
        Self { open: Mutex::new(Ok(open)), what, process: ProcessId::current() }
    }

    /// Does a step. An error closes the object.
    pub(crate) fn attempt<R>(&self, py: Python<'_>, step: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<R> {
        let mut held = self.lock(py)?;
        let result = match &mut *held {
            Ok(open) => step(open),
            Err(why) => return Err(self.closed(py, why)),
        };
        if result.is_err() {
            let given_up = std::mem::replace(&mut *held, Err("given up after an error"));
            py.detach(|| drop(given_up));
        }
        result
    }

    /// Closes it for a reason.
    pub(crate) fn take(&self, py: Python<'_>, why: &'static str) -> PyResult<T> {
        let mut held = self.lock(py)?;
        match std::mem::replace(&mut *held, Err(why)) {
            Ok(open) => Ok(open),
            Err(sooner) => {
                *held = Err(sooner);
                Err(self.closed(py, sooner))
            }
        }
    }

    /// Closes and drops it if it is open.
    pub(crate) fn abort(&self, py: Python<'_>) {
        if let Ok(open) = self.take(py, "aborted") {
            py.detach(|| drop(open));
        }
    }

    /// Never waits: the thread that holds it may need the interpreter's lock.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Result<T, &'static str>>> {
        if self.process != ProcessId::current() {
            let sentence = format!("the {} is of the process that this one was forked from", self.what);
            return Err(strile_error(py, "ForkedError", sentence));
        }
        match self.open.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let sentence = format!(
                    "the {} is in use by another thread; pieces are given one after the other",
                    self.what
                );
                Err(strile_error(py, "StrileError", sentence))
            }
        }
    }

    fn closed(&self, py: Python<'_>, why: &str) -> PyErr {
        strile_error(py, "ClosedError", format!("the {} was {why}; begin a new one", self.what))
    }
}

impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        let open = std::mem::replace(open, Err("dropped"));
        if self.process != ProcessId::current() {
            return std::mem::forget(open);
        }
        if open.is_ok() {
            Python::attach(|py| py.detach(|| drop(open)));
        }
    }
}
