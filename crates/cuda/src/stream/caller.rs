//! Work that callers queued on streams of their own.

use super::Event;
use crate::device::Context;
use crate::driver::DriverError;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

/// Waits until all that is queued so far on a stream of this context is done; tells of work that failed. The stream
/// is 0 or 1 for the default one, 2 for that of this thread, else a handle that lives.
pub fn wait_for_caller(context: &Arc<Context>, stream: u64) -> Result<(), DriverError> {
    let event = Event::new(context)?;
    {
        let _bound = context.bind()?;
        let handle = with_exposed_provenance_mut(usize::try_from(stream).unwrap_or(usize::MAX));
        // SAFETY: the event lives; the handle is the caller's, who says that it lives, or one of the driver's own.
        unsafe { context.driver().cuEventRecord(event.handle.0, handle) }?;
    }
    event.synchronize()
}
