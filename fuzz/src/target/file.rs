//! Whole files: opened, or opened and read.
//!
//! Mutants of `parser` are damaged in header, directories and values, or anywhere; those of `read` anywhere,
//! in the structure or in the blocks, by turns.

use super::Outcome;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strile::{
    Budget, Context, Dataset, Error, Layer, Limits, MemorySource, OnFault, OpenOptions, ReadOptions,
};
use testkit::{Fixture, Random, Target as Wound, mutate};

/// How far a file is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// Parser, images, metadata.
    Open,
    /// And every level and mask of every page.
    Read,
}

/// See the module.
pub struct FileTarget {
    seeds: Vec<Fixture>,
    through: Through,
}

/// Memory for pixels and scratch.
pub(super) const BUDGET: u64 = 64 << 20;
/// What a decoder may take beside the budget: a context of its own.
const SPARE: usize = 128 << 20;
/// Images read of one file: a mutant may have thousands, all alike.
const MOST_IMAGES: usize = 16;

impl FileTarget {
    pub(crate) fn new(seeds: Vec<Fixture>, through: Through) -> Self {
        Self { seeds, through }
    }

    pub(crate) fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = Random::new(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let seed = random.below(self.seeds.len());
        let wound = match (self.through, random.below(4)) {
            (Through::Open, 0) => Wound::Anywhere,
            (Through::Open, _) => Wound::Structure,
            (Through::Read, 0) => Wound::Anywhere,
            (Through::Read, 1) => Wound::Structure,
            (Through::Read, _) => Wound::Payload,
        };
        (seed, mutate(&self.seeds[seed].built, wound, random.next_u64()))
    }

    pub(crate) fn try_one(&self, bytes: &[u8]) -> Outcome {
        let options = OpenOptions { limits: Limits::default(), sidecars: false };
        let source = MemorySource::new("mutant", bytes.to_vec());
        let dataset = match Dataset::from_source(Arc::new(source), &options) {
            Ok(dataset) => dataset,
            Err(error) => {
                return Outcome {
                    reached: self.through == Through::Open && !is_of_header(&error),
                    refused: Some(kind(&error)),
                    wrong: None,
                };
            }
        };
        match self.through {
            Through::Open => Outcome { reached: true, refused: None, wrong: None },
            Through::Read => read_all(&dataset),
        }
    }

    pub(crate) fn memory_limit(&self) -> usize {
        BUDGET as usize + SPARE
    }

    pub(crate) fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].name.clone()
    }

    pub(crate) fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

/// Reads every level and mask; reached where an engine got at least one image.
fn read_all(dataset: &Dataset) -> Outcome {
    let context =
        Context { budget: Arc::new(Budget::new(BUDGET)), threads: NonZeroUsize::MIN, ..Context::default() };
    let mut outcome = Outcome { reached: false, refused: None, wrong: None };
    let mut images = 0;
    for (page, levels) in dataset.pages().iter().enumerate() {
        for (index, level) in levels.levels.iter().enumerate() {
            for layer in [Layer::Pixels, Layer::Mask] {
                if (layer == Layer::Mask && level.mask.is_none()) || images == MOST_IMAGES {
                    continue;
                }
                images += 1;
                let overview = index.checked_sub(1);
                let on_fault = OnFault::Fill;
                let options = ReadOptions { page, overview, layer, on_fault, ..Default::default() };
                match dataset.read(&options, &context) {
                    Ok(raster) => {
                        outcome.reached = true;
                        if !raster.faults.is_empty() {
                            outcome.refused = Some("faulty blocks");
                        }
                    }
                    Err(error) => outcome.refused = Some(kind(&error)),
                }
            }
        }
    }
    outcome
}

/// Whether the parser got no further than the header.
fn is_of_header(error: &Error) -> bool {
    use strile::tiff::TiffError as T;
    match error {
        Error::File { error: T::Invalid { place, .. } | T::Unsupported { place, .. }, .. } => {
            place == "header"
        }
        _ => false,
    }
}

pub(super) fn kind(error: &Error) -> &'static str {
    use strile::tiff::TiffError;
    match error {
        Error::Io { .. } => "io",
        Error::File { error, .. } => match error {
            TiffError::Invalid { .. } => "invalid",
            TiffError::Unsupported { .. } => "unsupported",
            TiffError::Limit { .. } => "limit",
        },
        Error::Unsupported { .. } => "unsupported",
        Error::Limit { .. } => "limit",
        Error::Request { .. } => "request",
        Error::Device { .. } => "device",
        Error::Memory { .. } | Error::NoMemory { .. } => "memory",
        Error::Blocks { .. } => "blocks",
        Error::Window { .. } => "window",
        Error::Cancelled => "cancelled",
        Error::Engine(_) => "engine",
    }
}
