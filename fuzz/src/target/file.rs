//! Whole files: opened, or opened and read.
//!
//! Seeds are small fixtures, hostile files and the corpus in `fuzz/corpus`. Three mutants of four of `parser` are changed by
//! structure; those of `read` in the structure or in the blocks, by turns.

use super::{Outcome, Subject, context, kind, sequence};
use crate::mutate::mutate_tiff;
use std::path::Path;
use std::sync::Arc;
use strile::io::MemorySource;
use strile::read::OnFault;
use strile::{Dataset, Error, Layer, OpenOptions, ReadOptions};
use testkit::{Built, Fixture, Random, Target as Wound, allocator, mutate, mutate_bytes};

/// How far a file is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// Parser, images, metadata.
    Open,
    /// And every level and mask of every page.
    Read,
}

/// See the module.
pub(crate) struct FileTarget {
    seeds: Seeds,
    through: Through,
}

/// The seeds of all targets that take whole files.
pub(super) struct Seeds {
    /// Good files first, then hostile ones, then the corpus.
    all: Vec<Seed>,
    good: usize,
    hostile: usize,
}

/// A file to start from.
pub(super) struct Seed {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// Where its parts lie, for files of our builder.
    built: Option<Built>,
}

/// Memory for pixels and scratch: small, because most of the time would go into clearing it.
const BUDGET: u64 = 8 << 20;
/// The same for one mutant of 64.
const LARGE_BUDGET: u64 = 64 << 20;
/// What a decoder may take beside the budget: a context of its own.
const SPARE: usize = 128 << 20;
/// Images read of one file: a mutant may have thousands, all alike.
const MOST_IMAGES: usize = 8;
/// Fixtures up to this size are seeds: what is in a file matters, not how much.
const LONGEST: usize = 3 << 10;
/// The facts of the most samples a pixel can have come to 16 MiB.
const MOST_HELD: usize = 20 << 20;
/// Warnings that an opened file may hold: a few hundred of each kind that repeats.
const MOST_WARNINGS: usize = 5000;

impl Seeds {
    pub(super) fn new(fixtures: &[Fixture]) -> Self {
        let mut all: Vec<Seed> = fixtures
            .iter()
            .filter(|fixture| fixture.bytes().len() <= LONGEST)
            .map(|fixture| Seed {
                name: fixture.name.clone(),
                bytes: fixture.bytes().to_vec(),
                built: Some(fixture.built.clone()),
            })
            .collect();
        let good = all.len();
        let plain = |(name, bytes)| Seed { name, bytes, built: None };
        all.extend(hostile().into_iter().map(plain));
        let hostile = all.len() - good;
        all.extend(corpus().into_iter().map(plain));
        Self { all, good, hostile }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, seed: usize) -> &Seed {
        &self.all[seed]
    }

    /// A file that must be readable as it is.
    pub(super) fn good(&self, random: &mut Random) -> &Seed {
        &self.all[random.below(self.good)]
    }

    /// A number of a seed: one of `often` is not a good file, and seldom a hostile one, which are slow.
    pub(super) fn draw(&self, often: usize, random: &mut Random) -> usize {
        let corpus = self.all.len() - self.good - self.hostile;
        match random.below(often) {
            0 if random.below(16) == 0 => self.good + random.below(self.hostile),
            0 if corpus > 0 => self.good + self.hostile + random.below(corpus),
            _ => random.below(self.good),
        }
    }
}

impl Seed {
    /// A mutant by structure, by blocks or by bytes.
    pub(super) fn mutant(
        &self,
        other: &Self,
        (structure, blocks): (usize, usize),
        random: &mut Random,
    ) -> Vec<u8> {
        let draw = random.below(8);
        if draw < structure {
            return mutate_tiff(&self.bytes, &other.bytes, random);
        }
        match &self.built {
            Some(built) if draw < structure + blocks => mutate(built, Wound::Payload, random.next_u64()),
            Some(built) if random.below(2) == 0 => mutate(built, Wound::Structure, random.next_u64()),
            _ => mutate_bytes(&self.bytes, random.next_u64()),
        }
    }
}

/// Hostile files in sizes that are fast to change: two or three of what repeats there.
fn hostile() -> Vec<(String, Vec<u8>)> {
    use testkit::hostile as h;
    let files = [
        ("many-samples", h::many_samples(1)),
        ("many-directories", h::many_directories(20)),
        ("backward-chain", h::backward_chain(20)),
        ("overlapping-directories", h::overlapping_directories(600)),
        ("overlapping-values", h::overlapping_values(20, 400)),
        ("wrong-sub-ifds", h::wrong_sub_ifds(100)),
        ("unusable-tags", h::unusable_tags(60)),
        ("one-value-tags", h::one_value_tags(600)),
        ("geo-keys", h::geo_keys(60, 200)),
        ("tie-points", h::tie_points(20)),
        ("shared-block-table", h::shared_block_table(8, 300)),
        ("shared-descriptions", h::descriptions(8, 300)),
        ("metadata-items", h::with_tag(42112, &h::many_items(1000, "GDALMetadata", "Item name"))),
    ];
    files.into_iter().map(|(name, bytes)| (format!("hostile-{name}"), bytes)).collect()
}

/// The files of `fuzz/corpus`, by name.
fn corpus() -> Vec<(String, Vec<u8>)> {
    // Another machine has the repository elsewhere.
    let there = [concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"), "fuzz/corpus"];
    let Some(entries) = there.iter().find_map(|folder| std::fs::read_dir(Path::new(folder)).ok()) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tif"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

impl FileTarget {
    pub(crate) fn new(fixtures: &[Fixture], through: Through) -> Self {
        Self { seeds: Seeds::new(fixtures), through }
    }
}

impl Subject for FileTarget {
    fn name(&self) -> &str {
        match self.through {
            Through::Open => "parser",
            Through::Read => "read",
        }
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let (often, shares) = match self.through {
            Through::Open => (4, (6, 0)),
            Through::Read => (16, (3, 4)),
        };
        let (seed, other) = (self.seeds.draw(often, &mut random), self.seeds.draw(often, &mut random));
        (seed, self.seeds.get(seed).mutant(self.seeds.get(other), shares, &mut random))
    }

    fn try_one(&self, _seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let options = OpenOptions::new().sidecars(false);
        let source = MemorySource::new("mutant", bytes.to_vec());
        let before = allocator::taken();
        let dataset = match Dataset::from_source(Arc::new(source), &options) {
            Ok(dataset) => dataset,
            Err(error) => {
                return Outcome::refused(
                    self.through == Through::Open && !is_of_header(&error),
                    kind(&error),
                );
            }
        };
        let held = allocator::taken().saturating_sub(before);
        let mut outcome = match self.through {
            Through::Open => Outcome::read(),
            Through::Read => {
                read_all(&dataset, if number.is_multiple_of(64) { LARGE_BUDGET } else { BUDGET })
            }
        };
        outcome.held = held;
        outcome.wrong = too_much_held(&dataset, held).or(outcome.wrong);
        outcome
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        match self.through {
            Through::Open => 32 << 20,
            Through::Read => LARGE_BUDGET as usize + SPARE,
        }
    }

    fn seed_name(&self, seed: usize) -> String {
        self.seeds.get(seed).name.clone()
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

/// What an opened file holds must stay small: metadata and warnings live as long as it is open.
pub(super) fn too_much_held(dataset: &Dataset, held: usize) -> Option<String> {
    let warnings = dataset.warnings().len();
    if warnings > MOST_WARNINGS {
        return Some(format!("the opened file has {warnings} warnings, {MOST_WARNINGS} is the limit"));
    }
    (held > MOST_HELD).then(|| format!("the opened file holds {held} bytes, {MOST_HELD} is the limit"))
}

/// Reads every level and mask; reached where an engine got at least one image.
fn read_all(dataset: &Dataset, budget: u64) -> Outcome {
    let context = context(budget);
    let mut outcome = Outcome::default();
    let mut images = 0;
    for (page, levels) in dataset.pages().iter().enumerate() {
        for (index, level) in levels.levels.iter().enumerate() {
            for layer in [Layer::Pixels, Layer::Mask] {
                if (layer == Layer::Mask && level.mask.is_none()) || images == MOST_IMAGES {
                    continue;
                }
                images += 1;
                let level = index;
                let on_fault = OnFault::Fill;
                let options = ReadOptions::new().page(page).level(level).layer(layer).on_fault(on_fault);
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
