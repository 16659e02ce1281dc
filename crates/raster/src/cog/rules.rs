//! The rules about levels: their tiling, and the positions of their directories and first blocks.
//!
//! Where the two validators have different limits, both are applied; their reasons are not judged here. rio-cogeo takes
//! the width of a block for its height when it looks for the first stored block, which matters only for sparse files;
//! the same blocks are examined here.

use super::blocks::{Planes, check_blocks};
use super::ghost::{GhostArea, header_end, read_ghost_area};
use super::levels::{Level, Stored, Walk, levels_of};
use super::{CogChecks, CogReport, Finding, FoundBy, LevelLayout};
use crate::error::Result;
use crate::file::dataset::Dataset;
use std::path::Path;
use strile_engine::Context;

/// Images no larger than this in either direction need neither tiles nor overviews.
const SMALL: u32 = 512;
/// GDAL's validator allows blocks as wide as the image up to this width.
const WIDE: u32 = 1024;
/// rio-cogeo expects the first directory before this byte.
const LATEST_DIRECTORY: u64 = 300;

const REWRITE: &str = "write the file anew as a COG";

/// A level and the positions of its parts.
struct Placed<'a> {
    level: Level<'a>,
    directory: u64,
    /// The first stored block.
    first: Option<u64>,
    /// The block that rio-cogeo takes for the first stored one.
    first_of_rio: Option<u64>,
}

struct Validation<'a> {
    dataset: &'a Dataset,
    levels: Vec<Placed<'a>>,
    report: CogReport,
}

/// Validates a file; see `Dataset::validate_cog`.
pub(super) fn validate(dataset: &Dataset, checks: &CogChecks, context: &Context) -> Result<CogReport> {
    let mut walk = Walk::new(dataset, context);
    let ghost = dataset.file(0).map(read_ghost_area).transpose()?.flatten();
    let levels = place(levels_of(dataset), &mut walk)?;
    let layouts = levels.iter().map(Placed::layout).collect();
    let report = CogReport { ghost, levels: layouts, ..CogReport::default() };
    let mut validation = Validation { dataset, levels, report };
    validation.full_image();
    validation.main_directory();
    validation.overviews();
    validation.first_blocks();
    if checks.every_block {
        validation.every_block(&mut walk)?;
    }
    Ok(validation.report)
}

fn place<'a>(levels: Vec<Level<'a>>, walk: &mut Walk<'_>) -> Result<Vec<Placed<'a>>> {
    let full = levels.first().map(|level| level.pixels);
    let mut placed = Vec::with_capacity(levels.len());
    for (index, level) in levels.into_iter().enumerate() {
        let stored = level.pixels;
        let first = walk.first_block(&stored, u64::MAX, u64::MAX)?;
        let (columns, rows) = full.map_or((0, 0), |full| searched_by_rio(&full, &stored, index > 0));
        let grid = &stored.image.grid;
        // If all blocks are examined, the answer is already known.
        let all = columns >= u64::from(grid.across) && rows >= u64::from(grid.down);
        let first_of_rio = if all { first } else { walk.first_block(&stored, columns, rows)? };
        placed.push(Placed { directory: stored.directory_offset(), level, first, first_of_rio });
    }
    Ok(placed)
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Returns the columns and rows of blocks in which rio-cogeo looks for the first stored one.
fn searched_by_rio(full: &Stored<'_>, level: &Stored<'_>, is_overview: bool) -> (u64, u64) {
    let (width, height) = match is_overview {
        true => {
            let factor = decimation(full.image.width, level.image.width).max(1);
            (full.image.width / factor, full.image.height / factor)
        }
        false => (full.image.width, full.image.height),
    };
    let grid = &full.image.grid;
    (u64::from(width.div_ceil(grid.block_height)), u64::from(height.div_ceil(grid.block_width)))
}

/// Returns the ratio of two widths, rounded half to even as in Python.
fn decimation(full: u32, overview: u32) -> u32 {
    let (quotient, rest) = (full / overview, u64::from(full % overview));
    let up = match (rest * 2).cmp(&u64::from(overview)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => quotient % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    quotient + u32::from(up)
}

impl Placed<'_> {
    fn layout(&self) -> LevelLayout {
        let image = self.level.pixels.image;
        LevelLayout {
            width: image.width,
            height: image.height,
            block_width: image.grid.block_width,
            block_height: image.grid.block_height,
            directory_offset: self.directory,
            first_block: self.first,
        }
    }

    fn place(&self) -> String {
        format!("{}, directory at byte {}", self.level.name, self.directory)
    }

    fn size(&self) -> (u32, u32) {
        (self.level.pixels.image.width, self.level.pixels.image.height)
    }

    /// Returns the width of blocks if they are as wide as the image.
    fn full_width(&self) -> Option<u32> {
        let image = self.level.pixels.image;
        (image.grid.block_width == image.width).then_some(image.width)
    }

    fn is_large(&self) -> bool {
        self.size().0 > SMALL || self.size().1 > SMALL
    }

    fn not_tiled(&self) -> String {
        let (width, height) = self.size();
        let rows = self.level.pixels.image.grid.block_height;
        format!("expected tiles narrower than the {width} × {height} pixels, got blocks of {width} × {rows}")
    }
}

impl Validation<'_> {
    fn error(&mut self, judges: Option<FoundBy>, code: &'static str, place: String, message: String) {
        let Some(found_by) = judges else { return };
        let advice = match code {
            "external-overviews" => {
                "write the file anew with its overviews inside, and delete the `.ovr` file"
            }
            "not-tiled" | "overview-not-tiled" => {
                "write the file anew with tiles, of 512 × 512 pixels for example"
            }
            "incompatible-edition" => "an edit moved parts of the file: write the file anew as a COG",
            _ => REWRITE,
        };
        self.report.errors.push(Finding { code, place, message, advice, count: 1, found_by });
    }

    fn full_image(&mut self) {
        if self.dataset.has_sidecar("ovr") {
            let place = format!("{}.ovr", self.dataset.name());
            let message = "expected overviews in the file, got them beside it".into();
            self.error(Some(FoundBy::Both), "external-overviews", place, message);
        } else if has_extension(self.dataset.name(), "ovr") {
            let message = "expected a name that ends in `.tif`, got that of overviews of another file".into();
            self.error(Some(FoundBy::RioCogeo), "external-overviews", self.dataset.name().into(), message);
        }
        let Some(full) = self.levels.first().filter(|full| full.is_large()) else { return };
        let (place, message, (width, height)) = (full.place(), full.not_tiled(), full.size());
        if let Some(block_width) = full.full_width() {
            self.error(FoundBy::of(block_width > WIDE, true), "not-tiled", place.clone(), message);
        }
        if self.levels.len() == 1 {
            self.report.warnings.push(Finding {
                code: "no-overviews",
                place,
                message: format!(
                    "{width} × {height} pixels without overviews, expected above {SMALL} pixels in a direction"
                ),
                advice: "write the file anew with overviews",
                count: 1,
                found_by: FoundBy::Both,
            });
        }
    }

    fn main_directory(&mut self) {
        let Some((place, found)) = self.levels.first().map(|full| (full.place(), full.directory)) else {
            return;
        };
        let header = self.dataset.file(0).map_or(8, header_end);
        let ghost = self.report.ghost.as_ref();
        let edited = ghost.is_some_and(GhostArea::edited);
        let expected = ghost.map_or(header, |ghost| ghost.end.next_multiple_of(2));
        // For an offset directly behind either header, GDAL's validator checks nothing else.
        let gdal = found != expected && found != 8 && found != 16;
        if edited {
            let message = "expected KNOWN_INCOMPATIBLE_EDITION=NO in the ghost area, got YES".into();
            let gdal = found != 8 && found != 16;
            self.error(FoundBy::of(gdal, true), "incompatible-edition", place.clone(), message);
        }
        let message = format!("expected the first directory at byte {expected}, got {found}");
        let judges = FoundBy::of(gdal, found > LATEST_DIRECTORY);
        self.error(judges, "main-directory-offset", place, message);
    }

    fn overviews(&mut self) {
        let factors: Vec<u32> = match self.levels.split_first() {
            Some((full, overviews)) => {
                overviews.iter().map(|overview| decimation(full.size().0, overview.size().0)).collect()
            }
            None => return,
        };
        let full_width = self.levels.first().map_or(0, |full| full.size().0);
        let mut found = Vec::new();
        if !factors.is_sorted() {
            let place = self.levels.get(1).map(Placed::place).unwrap_or_default();
            let message = format!("expected overviews from large to small, got reductions by {factors:?}");
            found.push((FoundBy::of(false, true), "overview-order", place, message));
        }
        for (pair, factor) in self.levels.windows(2).zip(factors) {
            let [before, overview] = pair else { continue };
            let ((width, height), (last_width, last_height)) = (overview.size(), before.size());
            if width > last_width || height > last_height {
                let message = format!(
                    "expected at most {last_width} × {last_height} pixels (the {}), got {width} × {height}",
                    before.level.name
                );
                found.push((FoundBy::of(true, false), "overview-size", overview.place(), message));
            }
            if factor <= 1 {
                let message = format!("expected half of {} pixels or fewer, got {width}", full_width);
                found.push((FoundBy::of(false, true), "overview-decimation", overview.place(), message));
            }
            if let Some(block_width) = overview.full_width() {
                let judges = FoundBy::of(block_width > WIDE, overview.is_large());
                found.push((judges, "overview-not-tiled", overview.place(), overview.not_tiled()));
            }
            if overview.directory < before.directory {
                let message = format!(
                    "expected its directory after that of the {} at byte {}, got it before",
                    before.level.name, before.directory
                );
                found.push((Some(FoundBy::Both), "directory-order", overview.place(), message));
            }
        }
        for (judges, code, place, message) in found {
            self.error(judges, code, place, message);
        }
    }

    fn first_blocks(&mut self) {
        let mut found = Vec::new();
        // rio-cogeo compares only levels of which it found a block.
        let seen: Vec<(&Placed<'_>, u64)> =
            self.levels.iter().filter_map(|level| Some((level, level.first_of_rio?))).collect();
        if let Some(last) = self.levels.last() {
            let gdal = last.first.is_some_and(|first| first < last.directory);
            let rio = seen.last().is_some_and(|(_, first)| *first < last.directory);
            let at = last.first.or(seen.last().map(|(_, first)| *first)).unwrap_or(0);
            let message = format!("expected its first block after the directory, got byte {at}");
            found.push((FoundBy::of(gdal, rio), "data-before-directory", last.place(), message));
        }
        let message = |smaller: &Placed<'_>, first: u64, at: u64| {
            let name = &smaller.level.name;
            format!("expected its first block after that of the {name} at byte {at}, got byte {first}")
        };
        for (index, pair) in self.levels.windows(2).enumerate() {
            let [larger, smaller] = pair else { continue };
            let at = smaller.first.unwrap_or(0);
            let gdal = larger.first.is_some_and(|first| first < at);
            // The same two levels in rio-cogeo's list, if it has both.
            let rio = seen.get(index..index + 2).is_some_and(|pair| match pair {
                [(_, first), (_, at)] => first < at,
                _ => false,
            });
            let first = larger.first.unwrap_or(0);
            let judges = FoundBy::of(gdal, rio);
            found.push((judges, "level-order", larger.place(), message(smaller, first, at)));
        }
        for (judges, code, place, message) in found {
            self.error(judges, code, place, message);
        }
    }

    fn every_block(&mut self, walk: &mut Walk<'_>) -> Result<()> {
        let Some(ghost) = &self.report.ghost else { return Ok(()) };
        let directory = self.levels.first().map_or(0, |full| full.directory);
        let promises = ghost.row_major() || ghost.leaders() || ghost.trailers() || ghost.mask_interleaved();
        if !promises || directory == 8 || directory == 16 {
            return Ok(());
        }
        let by_tile = self.dataset.metadata().items.iter().any(|item| {
            (item.domain.as_str(), item.name.as_str(), item.value.as_str())
                == ("IMAGE_STRUCTURE", "INTERLEAVE", "TILE")
        });
        let planes = if by_tile { Planes::TileByTile } else { Planes::Following };
        let mut found = Vec::new();
        for placed in &self.levels {
            found.extend(check_blocks(&placed.level, ghost, planes, walk)?);
        }
        self.report.errors.extend(found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimations_round_half_to_even() {
        let of = |full, overview| decimation(full, overview);
        assert_eq!((of(1000, 500), of(1001, 501), of(3, 2), of(5, 2), of(10, 9)), (2, 2, 2, 2, 1));
    }
}
