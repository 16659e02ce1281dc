//! Whole files written anew, to memory, in one of several ways.
//!
//! What is written without a fault must be read back, with the pixels of the input.

use super::file::Seeds;
use super::{Outcome, Subject, context, kind, sequence};
use std::sync::Arc;
use strile::compare::CompareOptions;
use strile::convert::convert_into;
use strile::io::{MemorySink, MemorySource};
use strile::read::PieceLimits;
use strile::tiff::Planar;
use strile::write::Format;
use strile::{Compression, Context, ConvertOptions, Dataset, Input, OpenOptions, ReadOptions, WriteOptions};
use testkit::{Fixture, Random};

/// See the module.
pub(crate) struct ConvertTarget {
    seeds: Seeds,
}

/// Memory for pixels and scratch.
const BUDGET: u64 = 64 << 20;

/// Codecs that keep every bit of every type.
const LOSSLESS: [Compression; 6] = [
    Compression::Deflate,
    Compression::None,
    Compression::Zstd,
    Compression::Lzw,
    Compression::PackBits,
    Compression::Lz4,
];
/// Codecs that refuse most types, or change values.
const OTHERS: [Compression; 5] = [
    Compression::Jpeg,
    Compression::WebP,
    Compression::Lerc,
    Compression::Jpeg2000,
    Compression::CcittGroup4,
];

/// Bytes of the pixels of a mutant that is written: it takes as long as that takes.
const LARGEST: u64 = 64 << 10;
/// The same for one mutant of 64.
const LARGEST_OF_SOME: u64 = 2 << 20;

/// Edge of the tiles that are written, and bytes of all of them: a pixel of 768 bands makes tiles of 200 MB, which are
/// in memory three times if they are not compressed.
const TILE: u64 = 512;
const LARGEST_WRITTEN: u64 = 32 << 20;

impl ConvertTarget {
    pub(crate) fn new(fixtures: &[Fixture]) -> Self {
        Self { seeds: Seeds::new(fixtures) }
    }
}

impl Subject for ConvertTarget {
    fn name(&self) -> &str {
        "convert"
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let (seed, other) = (self.seeds.draw(16, &mut random), self.seeds.draw(16, &mut random));
        // A changed structure keeps many files from being opened, damaged blocks end the conversion of many.
        (seed, self.seeds.get(seed).mutant(self.seeds.get(other), (4, 3), &mut random))
    }

    fn try_one(&self, _seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let refused = |reached, error| Outcome::refused(reached, kind(&error));
        let input = match opened(bytes) {
            Ok(dataset) => Input::Tiff(Box::new(dataset)),
            Err(error) => return refused(false, error),
        };
        let context = context(BUDGET);
        // The pixels, in whole multiples of `edge`.
        let bytes = |part: &strile::read::Pieces, edge: u64| {
            let [rows, columns] =
                [part.rows, part.columns].map(|count| u64::from(count).next_multiple_of(edge));
            rows.saturating_mul(columns)
                .saturating_mul(part.bands.into())
                .saturating_mul(part.data_type.size() as u64)
        };
        let largest = if number.is_multiple_of(64) { LARGEST_OF_SOME } else { LARGEST };
        match input.pieces(&ReadOptions::default(), &PieceLimits::default(), &context) {
            Ok(part) if bytes(&part, 1) > largest || bytes(&part, TILE) > LARGEST_WRITTEN => {
                return Outcome::refused(true, "large");
            }
            Ok(_) => {}
            Err(error) => return refused(true, error),
        }
        let sink = MemorySink::new();
        let handle = sink.handle();
        let (options, lossless) = options(number);
        let report = match convert_into(&input, Box::new(sink), &options, &context) {
            Ok(report) => report,
            Err(error) => return refused(true, error),
        };
        let written = handle.take().map(|file| file.bytes).unwrap_or_default();
        let wrong = match (opened(&written), input.tiff()) {
            (Err(error), _) => Some(format!("what was written is not read: {error}")),
            (Ok(written), Some(input)) if lossless && report.faults.is_empty() => {
                differences(input, &written, &context)
            }
            _ => None,
        };
        Outcome { wrong, ..Outcome::read() }
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        // What was written is in memory beside the pixels.
        3 * BUDGET as usize + (128 << 20)
    }

    fn seed_name(&self, seed: usize) -> String {
        self.seeds.get(seed).name.clone()
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

fn opened(bytes: &[u8]) -> strile::Result<Dataset> {
    let options = OpenOptions::new().sidecars(false);
    Dataset::from_source(Arc::new(MemorySource::new("mutant", bytes.to_vec())), &options)
}

/// How a mutant is written, and whether that keeps every bit.
fn options(number: u64) -> (ConvertOptions, bool) {
    let mut random = Random::new(number);
    let lossless = random.below(5) > 0;
    let compression = match lossless {
        true => LOSSLESS[random.below(LOSSLESS.len())],
        false => OTHERS[random.below(OTHERS.len())],
    };
    let write = WriteOptions::new()
        .format([Format::GeoTiff, Format::Cog][random.below(2)])
        .compression(compression)
        .planar([Planar::Chunky, Planar::Separate][random.below(2)])
        .sparse(random.below(4) == 0)
        .buffer(1 << 20)
        .reproducible(random.below(3) == 0);
    (ConvertOptions::new().write(write).reencode(random.below(2) == 0), lossless)
}

/// How the first page that was written differs from that of the input.
fn differences(input: &Dataset, written: &Dataset, context: &Context) -> Option<String> {
    let found = input.compare(written, &CompareOptions::default(), context).ok()?;
    let first = found.into_iter().find(|difference| {
        ["size", "bands", "type", "pixels", "mask"].contains(&difference.category)
            && !difference.place.contains("overview")
            && !difference.place.contains("page")
    });
    first.map(|difference| format!("written otherwise than it was read: {difference}"))
}
