//! State that decoders keep from block to block, one a thread: tables and contexts that are dear to make.

/// Reusable decoder state of one thread.
#[derive(Default)]
pub struct Workspace {}
