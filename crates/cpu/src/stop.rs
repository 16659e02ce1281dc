//! Cancelling inside a block: decoders of large blocks look now and then whether they are to stop.

use strile_engine::{BlockFault, Cancel};

/// Bytes that are decoded between two looks, at most.
pub(crate) const LOOKS_EVERY: usize = 4 << 20;

/// Decoded bytes of a block above which a decoder that cannot be interrupted is replaced by one that can, if there is one:
/// blocks below this take a fraction of a second.
pub(crate) const LARGE: usize = 256 << 20;

/// Whether the call that decodes was cancelled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Option<Cancel>);

impl Stop {
    /// Stops with a call.
    pub(crate) fn with(cancel: &Cancel) -> Self {
        Self(Some(cancel.clone()))
    }

    /// Whether it is to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Returns a fault if it is to stop. No caller sees it: the whole job ends as cancelled.
    pub(crate) fn check(&self) -> Result<(), BlockFault> {
        if self.is_set() { Err(BlockFault::corrupt("cancelled")) } else { Ok(()) }
    }
}

/// Looks every `LOOKS_EVERY` bytes.
pub(crate) struct Looks<'a> {
    stop: &'a Stop,
    next: usize,
}

impl<'a> Looks<'a> {
    pub(crate) fn new(stop: &'a Stop) -> Self {
        Self { stop, next: LOOKS_EVERY }
    }

    /// Returns a fault if it is to stop after `done` bytes.
    #[inline]
    pub(crate) fn after(&mut self, done: usize) -> Result<(), BlockFault> {
        if done < self.next {
            return Ok(());
        }
        self.next = done.saturating_add(LOOKS_EVERY);
        self.stop.check()
    }
}
