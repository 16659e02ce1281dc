//! Chooses files for `fuzz/corpus`: mutants that end in an error, or with warnings, that no smaller file gave.
//!
//! The corpus keeps what random changes seldom reach, so that later runs start from there.

use crate::mutate::mutate_tiff;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use strile::io::MemorySource;
use strile::{Dataset, OpenOptions};
use testkit::Random;

/// Larger mutants are not kept.
const LONGEST: usize = 1200;
/// Mutants that are kept at most, so that the corpus stays small.
const MOST: usize = 256;

/// Tries `mutants` changes of small fixtures and of what was found on the way; writes one file per behaviour.
pub fn distill(folder: &Path, mutants: u64) -> std::io::Result<usize> {
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let fixtures = testkit::fixtures();
    let mut pool: Vec<Vec<u8>> = Vec::new();
    for fixture in fixtures.iter().filter(|fixture| fixture.bytes().len() <= LONGEST) {
        found.entry(behaviour(fixture.bytes())).or_insert_with(|| fixture.bytes().to_vec());
        pool.push(fixture.bytes().to_vec());
    }
    let of_fixtures: Vec<String> = found.keys().cloned().collect();
    let mut random = Random::new(0x0C02_9A05);
    for _ in 0..mutants {
        let (a, b) = (random.below(pool.len()), random.below(pool.len()));
        let mutant = mutate_tiff(&pool[a], &pool[b], &mut random);
        if mutant.len() > LONGEST {
            continue;
        }
        let key = behaviour(&mutant);
        let is_new = found.get(&key).is_none_or(|known| mutant.len() < known.len());
        if is_new && (found.contains_key(&key) || found.len() < MOST + of_fixtures.len()) {
            found.insert(key, mutant.clone());
            pool.push(mutant);
        }
    }
    std::fs::create_dir_all(folder)?;
    let mut written = 0;
    for (key, bytes) in found.iter().filter(|(key, _)| !of_fixtures.contains(key)) {
        let words: Vec<&str> =
            key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2).collect();
        let name: String = words.join("-").to_lowercase().chars().take(60).collect();
        std::fs::write(folder.join(format!("{written:03}-{name}.tif")), bytes)?;
        written += 1;
    }
    Ok(written)
}

/// What a file does when it is opened: its error or the kinds of its warnings and images, without numbers.
fn behaviour(bytes: &[u8]) -> String {
    let options = OpenOptions::new().sidecars(false);
    let text = match Dataset::from_source(Arc::new(MemorySource::new("f", bytes.to_vec())), &options) {
        Err(error) => error.to_string(),
        Ok(dataset) => {
            let mut codes: Vec<&str> = dataset.warnings().iter().map(|warning| warning.code).collect();
            codes.sort_unstable();
            codes.dedup();
            let levels: usize = dataset.pages().iter().map(|page| page.levels.len()).sum();
            // One, two, many.
            let (levels, pages) = (levels.min(3), dataset.pages().len().min(3));
            format!("{} {} {}", codes.join(" "), "i".repeat(levels), "p".repeat(pages))
        }
    };
    text.chars().filter(|c| !c.is_ascii_digit()).take(100).collect()
}
