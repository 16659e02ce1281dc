//! Results of the blocks of a job, joined into one slab in task order.

use strile_engine::{
    Arena, BlockFault, BudgetError, Context, EncodeJob, EncodedBlock, EncodedBlocks, EngineError,
    LocatedFault, Span,
};

/// Result of a block.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// Bytes: chunk index, and span in the chunk.
    Bytes(usize, Span),
    /// Sparse: no bytes.
    Sparse,
    /// It could not be encoded.
    Fault(BlockFault),
}

/// Bytes in order of arrival, one chunk per batch, and the results of blocks so far.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) outcomes: Vec<Option<Outcome>>,
    pub(crate) chunks: Vec<Arena>,
}

impl Tally {
    pub(crate) fn new(job: &EncodeJob) -> Self {
        Self { outcomes: vec![None; job.tasks.len()], chunks: Vec::new() }
    }

    pub(crate) fn set(&mut self, task: usize, outcome: Outcome) {
        if let Some(slot) = self.outcomes.get_mut(task) {
            *slot = Some(outcome);
        }
    }

    /// Joins everything. The bytes of a single chunk are not copied.
    pub(crate) fn join(self, job: &EncodeJob, context: &Context) -> Result<EncodedBlocks, EngineError> {
        let Self { outcomes, mut chunks } = self;
        let mut filled = chunks.iter().enumerate().filter(|(_, chunk)| !chunk.bytes().is_empty());
        let alone = match (filled.next(), filled.next()) {
            (first, None) => Some(first.map(|(index, _)| index)),
            _ => None,
        };
        let mut bytes = Vec::new();
        if alone.is_none() {
            let need = chunks.iter().map(|chunk| chunk.bytes().len()).sum::<usize>();
            bytes.try_reserve_exact(need).map_err(|_| {
                let (need, limit) = (need as u64, context.budget.limit());
                EngineError::Budget(BudgetError { need, free: 0, limit, purpose: "joining encoded blocks" })
            })?;
        }
        let (mut blocks, mut faults) = (Vec::with_capacity(job.tasks.len()), Vec::new());
        for (task, outcome) in job.tasks.iter().zip(outcomes) {
            let span = match outcome.ok_or(EngineError::Abandoned)? {
                Outcome::Bytes(_, span) if alone.is_some() => Some(span),
                Outcome::Bytes(chunk, span) => {
                    let chunk = chunks.get(chunk).map(Arena::bytes).unwrap_or_default();
                    let moved = Span { offset: bytes.len() as u64, len: span.len };
                    bytes.extend_from_slice(slice(chunk, span).ok_or(EngineError::Abandoned)?);
                    Some(moved)
                }
                Outcome::Sparse => None,
                Outcome::Fault(fault) => {
                    faults.push(LocatedFault { source: task.pixels, address: task.address, fault });
                    None
                }
            };
            blocks.push(EncodedBlock { layout: task.layout, address: task.address, span });
        }
        let slab = match alone {
            Some(Some(index)) => chunks.swap_remove(index),
            Some(None) => Arena::default(),
            None => Arena::from_vec(bytes),
        };
        Ok(EncodedBlocks { slab, blocks, faults })
    }
}

fn slice(bytes: &[u8], span: Span) -> Option<&[u8]> {
    bytes.get(usize::try_from(span.offset).ok()?..usize::try_from(span.end()?).ok()?)
}
