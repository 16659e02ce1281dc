//! Cancellation inside a block: decoders of large blocks regularly check whether to stop.

use strile_engine::{BlockFault, Cancel};

/// Maximum bytes decoded between two checks.
pub(crate) const LOOKS_EVERY: usize = 4 << 20;

/// Decoded bytes of a block above which a decoder that cannot be interrupted is replaced by one that can, if there is
/// one: smaller blocks take a fraction of a second.
pub(crate) const LARGE: usize = 256 << 20;

/// Tells whether the decoding call was cancelled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Option<Cancel>);

impl Stop {
    /// Returns a signal that is set when a call is cancelled.
    pub(crate) fn with(cancel: &Cancel) -> Self {
        Self(Some(cancel.clone()))
    }

    /// Returns whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Returns a fault if the call was cancelled. The fault is never reported: the whole job ends as cancelled.
    pub(crate) fn check(&self) -> Result<(), BlockFault> {
        if self.is_set() { Err(BlockFault::corrupt("cancelled")) } else { Ok(()) }
    }
}

/// Checks for cancellation every `LOOKS_EVERY` bytes.
pub(crate) struct Looks<'a> {
    stop: &'a Stop,
    next: usize,
}

impl<'a> Looks<'a> {
    pub(crate) fn new(stop: &'a Stop) -> Self {
        Self { stop, next: LOOKS_EVERY }
    }

    /// Returns a fault if the call was cancelled by the time `done` bytes are decoded.
    #[inline]
    pub(crate) fn after(&mut self, done: usize) -> Result<(), BlockFault> {
        if done < self.next {
            return Ok(());
        }
        self.next = done.saturating_add(LOOKS_EVERY);
        self.stop.check()
    }
}
