//! Reducing jobs.

use strile_engine::{Context, EngineError, Pixels, ReduceJob, Reduced, Resampling, Support, Ticket};
use strile_tiff::DataType;

/// Whether images of this type can be reduced so.
pub(crate) fn support(_method: Resampling, _data_type: DataType) -> Support {
    Support::Yes
}

/// Starts reducing.
pub(crate) fn submit(
    _job: ReduceJob,
    _pixels: &[Pixels],
    _context: &Context,
) -> Result<Ticket<Vec<Reduced>>, EngineError> {
    Err(EngineError::Abandoned)
}
