//! Checks the promises of a ghost area about every block: their order, the size before and the bytes after each, and
//! masks behind the blocks they mask.
//!
//! As in GDAL's validator, a block that is not stored ends the comparison of order: the next stored block may lie
//! anywhere.

use super::ghost::GhostArea;
use super::levels::{Level, Stored, Walk};
use super::{Finding, FoundBy};
use crate::error::Result;
use crate::read::Fetched;
use std::ops::Range;
use strile_engine::Cancel;

/// Leaders and trailers are four bytes each.
const WORD: u64 = 4;
/// Neighbouring blocks this close together are fetched together.
const GAP: u64 = 64;

const REWRITE: &str =
    "the bytes around blocks were not kept when the file was edited: write the file anew as a COG";

/// The kinds of findings about blocks, in the order they are reported.
const CODES: [&str; 4] = ["block-order", "block-leader", "block-trailer", "mask-offset"];

/// Findings about the blocks of one image, one per kind.
struct Tally<'a> {
    name: &'a str,
    kinds: [Option<(String, String, u64)>; CODES.len()],
}

impl Tally<'_> {
    fn add(&mut self, code: &str, block: (u64, u64), offset: u64, message: impl FnOnce() -> String) {
        let at = CODES.iter().position(|known| *known == code);
        match at.and_then(|at| self.kinds.get_mut(at)) {
            Some(Some((_, _, count))) => *count += 1,
            Some(kind) => {
                let place = format!("block ({}, {}) of the {} at byte {offset}", block.0, block.1, self.name);
                *kind = Some((place, message(), 1));
            }
            None => {}
        }
    }

    fn findings(self) -> impl Iterator<Item = Finding> {
        self.kinds.into_iter().zip(CODES).filter_map(|(kind, code)| {
            let (place, message, count) = kind?;
            Some(Finding { code, place, message, advice: REWRITE, count, found_by: FoundBy::Gdal })
        })
    }
}

/// How the blocks of an image are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Planes {
    /// One plane after the other, or only one.
    Following,
    /// The blocks of all planes at one place, then those of the next place.
    TileByTile,
}

/// Checks all blocks of a level and of its mask.
pub(super) fn check_blocks(
    level: &Level<'_>,
    ghost: &GhostArea,
    planes: Planes,
    walk: &mut Walk<'_>,
) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let size = |stored: &Stored<'_>| (stored.image.grid.block_width, stored.image.grid.block_height);
    let mut behind = level.mask.filter(|_| ghost.mask_interleaved());
    if let Some(mask) = behind
        && size(&mask) != size(&level.pixels)
    {
        let (found, expected) = (size(&mask), size(&level.pixels));
        findings.push(Finding {
            code: "mask-block-size",
            place: format!("mask of the {}, directory at byte {}", level.name, mask.directory_offset()),
            message: format!(
                "expected blocks of {} × {} pixels as the image has, got {} × {}",
                expected.0, expected.1, found.0, found.1
            ),
            advice: "write the file anew with blocks of one size",
            count: 1,
            found_by: FoundBy::Gdal,
        });
        behind = None;
    }
    let image = CheckedImage { name: &level.name, stored: level.pixels, behind, ghost };
    findings.extend(image.check(planes, walk)?);
    if let Some(mask) = level.mask {
        let name = format!("mask of the {}", level.name);
        let image = CheckedImage { name: &name, stored: mask, behind: None, ghost };
        findings.extend(image.check(Planes::Following, walk)?);
    }
    Ok(findings)
}

/// An image, and the mask whose blocks lie behind its own.
struct CheckedImage<'a> {
    name: &'a str,
    stored: Stored<'a>,
    behind: Option<Stored<'a>>,
    ghost: &'a GhostArea,
}

impl CheckedImage<'_> {
    fn check(&self, planes: Planes, walk: &mut Walk<'_>) -> Result<Vec<Finding>> {
        let mut tally = Tally { name: self.name, kinds: Default::default() };
        let count = u64::from(self.stored.image.grid.planes);
        let mut last = 0;
        for plane in 0..count {
            if planes == Planes::TileByTile {
                last = 0;
            }
            // Masks follow the last block of a place. With planes one after the other there is no such place.
            let masked = count == 1 || (planes == Planes::TileByTile && plane + 1 == count);
            self.check_plane(plane, masked, &mut last, &mut tally, walk)?;
        }
        if planes == Planes::TileByTile && count > 1 && self.ghost.row_major() {
            self.check_places(count, &mut tally, walk)?;
        }
        Ok(tally.findings().collect())
    }

    fn check_plane(
        &self,
        plane: u64,
        masked: bool,
        last: &mut u64,
        tally: &mut Tally<'_>,
        walk: &mut Walk<'_>,
    ) -> Result<()> {
        let blocks = self.stored.blocks_of_plane(plane);
        let mask = self.behind.filter(|_| masked);
        let first = blocks.start;
        for chunk in Walk::chunks(blocks) {
            let entries = walk.entries(&self.stored, &chunk)?;
            let masks = match &mask {
                Some(mask) => walk.entries(mask, &(chunk.start - first..chunk.end - first))?,
                None => vec![(0, 0); entries.len()],
            };
            let around = self.bytes_around(&entries, walk.cancel())?;
            for ((index, (offset, size)), (mask_offset, mask_size)) in chunk.zip(entries).zip(masks) {
                let block = self.stored.position(index);
                // Not stored by GDAL's definition: only the size counts.
                let offset = if size == 0 { 0 } else { offset };
                let mask_offset = if mask_size == 0 { 0 } else { mask_offset };
                let place = |at: u64| move || format!("lies before the block before it, at byte {at}");
                if offset > 0 {
                    if self.ghost.row_major() && offset < *last {
                        tally.add("block-order", block, offset, place(*last));
                    }
                    self.check_around(block, (offset, size), &around, tally);
                    let expected = offset.saturating_add(size).saturating_add(self.between());
                    if mask_offset > 0 && mask_offset != expected {
                        tally.add("mask-offset", block, offset, || {
                            format!("expected its mask at byte {expected}, got {mask_offset}")
                        });
                    }
                } else if mask_offset > 0 && self.ghost.row_major() && mask_offset < *last {
                    tally.add("block-order", block, mask_offset, place(*last));
                }
                *last = if offset == 0 { mask_offset } else { offset };
            }
        }
        Ok(())
    }

    /// Checks the blocks of all planes at a place, place by place.
    fn check_places(&self, planes: u64, tally: &mut Tally<'_>, walk: &mut Walk<'_>) -> Result<()> {
        let mut last = 0;
        let first = self.stored.blocks_of_plane(0);
        for chunk in Walk::chunks_of_planes(first, planes) {
            let mut columns = Vec::new();
            for plane in 0..planes {
                let start = self.stored.blocks_of_plane(plane).start;
                let shifted = start.saturating_add(chunk.start)..start.saturating_add(chunk.end);
                columns.push(walk.entries(&self.stored, &shifted)?);
            }
            for (at, index) in chunk.enumerate() {
                for &(offset, size) in columns.iter().filter_map(|entries| entries.get(at)) {
                    if size == 0 || offset == 0 {
                        continue;
                    }
                    if offset < last {
                        let position = self.stored.position(index);
                        tally.add("block-order", position, offset, || {
                            format!("lies before the block before it, at byte {last}")
                        });
                    }
                    last = offset;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of bytes between a block and the mask's block behind it.
    fn between(&self) -> u64 {
        WORD * (u64::from(self.ghost.leaders()) + u64::from(self.ghost.trailers()))
    }

    fn bytes_around(&self, entries: &[(u64, u64)], cancel: &Cancel) -> Result<Fetched> {
        let source = self.stored.file.source.as_ref();
        let mut wanted = Vec::new();
        for &(offset, size) in entries.iter().filter(|(offset, size)| *offset > 0 && *size > 0) {
            wanted.extend(self.leader(offset).filter(|range| range.end <= source.len()));
            wanted.extend(self.trailer(offset, size).filter(|range| range.end <= source.len()));
        }
        Fetched::fetch(source, &wanted, GAP, cancel)
    }

    fn leader(&self, offset: u64) -> Option<Range<u64>> {
        self.ghost.leaders().then(|| offset.saturating_sub(WORD)..offset)
    }

    /// Returns the range of the last four bytes and the bytes after them. A block with fewer than four bytes has no
    /// trailer.
    fn trailer(&self, offset: u64, size: u64) -> Option<Range<u64>> {
        let end = offset.saturating_add(size);
        (self.ghost.trailers() && size >= WORD).then(|| end - WORD..end.saturating_add(WORD))
    }

    fn check_around(
        &self,
        block: (u64, u64),
        (offset, size): (u64, u64),
        around: &Fetched,
        tally: &mut Tally<'_>,
    ) {
        if let Some(range) = self.leader(offset) {
            let leader = around.bytes(&range).and_then(<[u8]>::first_chunk).map(|b| u32::from_le_bytes(*b));
            if leader.map(u64::from) != Some(size) {
                let found = leader.map_or_else(|| "nothing".into(), |leader| format!("size {leader}"));
                tally.add("block-leader", block, offset, || {
                    format!("expected size {size} in the bytes before it, got {found}")
                });
            }
        }
        if let Some(range) = self.trailer(offset, size) {
            let bytes = around.bytes(&range).unwrap_or_default();
            if bytes.len() != 8 || bytes.get(..4) != bytes.get(4..) {
                tally.add("block-trailer", block, offset, || {
                    "the four bytes after it are not its last four again".into()
                });
            }
        }
    }
}
