//! Work that callers queued on their own streams.

use super::Event;
use crate::device::Context;
use crate::driver::DriverError;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

/// Waits until all work queued so far on a stream of this context is done; reports failed work. The stream is 0 or 1
/// for the default one, 2 for that of this thread, else a live handle.
pub fn wait_for_caller(context: &Arc<Context>, stream: u64) -> Result<(), DriverError> {
    let event = Event::new(context)?;
    {
        let _bound = context.bind()?;
        let handle = with_exposed_provenance_mut(usize::try_from(stream).unwrap_or(usize::MAX));
        // SAFETY: the event is alive; the handle is the caller's, who guarantees that it is alive, or a constant of the
        // driver.
        unsafe { context.driver().cuEventRecord(event.handle.0, handle) }?;
    }
    event.synchronize()
}
