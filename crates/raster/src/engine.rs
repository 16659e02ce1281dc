//! Types that engines take and return: memory budgets, outputs in memory, progress, faults of blocks, reports.

pub use strile_cpu::{Strided, count};
pub use strile_engine::{
    Arena, BlockAddress, BlockFault, Budget, BudgetError, Convert, EngineError, FaultKind, Fill,
    LocatedFault, Output, OutputError, OutputSpec, ProcessId, Progress, Report, SampleParts, Slice, Slot,
    Sought, Span, StageTimes, Strides, Trace, share_heap_if_limited,
};
