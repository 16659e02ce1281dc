//! The result of a part: records of its encoded blocks, and an index in the order of the file.
//!
//! The index begins with the identity of the plan, the bytes of all records and the number of blocks, 8 bytes each.
//! Then, for each block of the part (by level, row, column, plane, the mask last), follow the start of its record, 8
//! bytes, and the bytes of the block, 4; 0 for a sparse one. All numbers are little-endian. A record is the block; in a
//! cloud-optimized file with its leader and its trailer, as in the final file.

use super::writer::Output;
use crate::error::{Error, Result};
use crate::write::cells::refused;
use crate::write::flow::{Course, Taker};
use crate::write::options::Format;
use crate::write::plan::WritePlan;
use crate::write::store::trailer;
use std::ops::Range;
use strile_engine::{BlockAddress, EncodedBlocks};
use strile_tiff::layout::{LEADER, TRAILER};

/// Position of a block that has not arrived.
const MISSING: u64 = u64::MAX;
const HEAD: usize = 24;
const ENTRY: usize = 12;

/// The blocks of a part, in order.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    levels: Vec<Blocks>,
}

#[derive(Debug, Clone)]
struct Blocks {
    level: u32,
    /// Number of the first block.
    first: u64,
    columns: Range<u32>,
    rows: Range<u32>,
    planes: u32,
    /// Number of blocks per place: planes, and the mask's.
    items: u32,
}

impl Blocks {
    fn count(&self) -> u64 {
        self.columns.len() as u64 * self.rows.len() as u64 * u64::from(self.items)
    }
}

impl Layout {
    pub(crate) fn new(plan: &WritePlan, course: &Course) -> Self {
        let mut levels: Vec<Blocks> = Vec::with_capacity(course.extents.len());
        for (number, extent) in (course.first..).zip(&course.extents) {
            let Some(level) = plan.levels.get(number).filter(|level| level.stored) else { continue };
            let planes = u32::from(level.grid.planes);
            levels.push(Blocks {
                level: u32::try_from(number).unwrap_or(u32::MAX),
                first: levels.last().map_or(0, |last| last.first + last.count()),
                columns: extent.own.block_columns(&level.grid),
                rows: extent.own.block_rows(&level.grid),
                planes,
                items: planes + u32::from(level.mask.is_some()),
            });
        }
        Self { levels }
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.levels.last().map_or(0, |last| last.first + last.count())
    }

    fn number(&self, address: BlockAddress, is_mask: bool) -> Option<usize> {
        let level = self.levels.iter().find(|level| level.level == address.level)?;
        let place = |at: u32, all: &Range<u32>| all.contains(&at).then(|| u64::from(at - all.start));
        let (row, column) = (place(address.row, &level.rows)?, place(address.column, &level.columns)?);
        let item = if is_mask { level.planes } else { address.plane };
        let place = row * level.columns.len() as u64 + column;
        let number = level.first + place * u64::from(level.items) + u64::from(item);
        (item < level.items).then_some(number).and_then(|number| usize::try_from(number).ok())
    }

    /// Returns every block, in order.
    fn addresses(&self) -> impl Iterator<Item = (BlockAddress, bool)> + '_ {
        self.levels.iter().flat_map(|blocks| {
            let places = blocks.rows.clone().flat_map(|row| blocks.columns.clone().map(move |at| (row, at)));
            places.flat_map(move |(row, column)| {
                (0..blocks.items).map(move |item| {
                    let is_mask = item == blocks.planes;
                    let plane = if is_mask { 0 } else { item };
                    (BlockAddress { level: blocks.level, row, column, plane }, is_mask)
                })
            })
        })
    }
}

/// A block in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartRecord {
    pub(crate) address: BlockAddress,
    pub(crate) is_mask: bool,
    /// Start of its record.
    pub(crate) offset: u64,
    /// Bytes of the block; 0 for a sparse one.
    pub(crate) size: u32,
}

/// Collects the encoded blocks of a part.
pub(crate) struct Packed {
    name: String,
    layout: Layout,
    cog: bool,
    entries: Vec<(u64, u32)>,
    pub(crate) output: Output,
}

impl Packed {
    pub(crate) fn new(name: String, layout: Layout, format: Format, output: Output) -> Self {
        let count = usize::try_from(layout.blocks()).unwrap_or(usize::MAX);
        Self { name, layout, cog: format == Format::Cog, entries: vec![(MISSING, 0); count], output }
    }

    /// Returns the index, after all blocks have arrived.
    pub(crate) fn index(&self, identity: u64) -> Result<Vec<u8>> {
        let missing = self.entries.iter().filter(|entry| entry.0 == MISSING).count();
        if missing > 0 {
            return Err(refused(format!("{missing} blocks of the part were never encoded")));
        }
        let mut index = Vec::with_capacity(HEAD + self.entries.len() * ENTRY);
        for number in [identity, self.output.len(), self.entries.len() as u64] {
            index.extend(number.to_le_bytes());
        }
        for (offset, size) in &self.entries {
            index.extend(offset.to_le_bytes());
            index.extend(size.to_le_bytes());
        }
        Ok(index)
    }
}

impl Taker for Packed {
    fn name(&self) -> &str {
        &self.name
    }

    fn put_all(&mut self, encoded: EncodedBlocks) -> Result<()> {
        for block in &encoded.blocks {
            let wrong = || refused("a block that is not of the part".into());
            let number = self.layout.number(block.address, block.layout % 2 == 1).ok_or_else(wrong)?;
            let entry = self.entries.get_mut(number).ok_or_else(wrong)?;
            if block.span.is_none() {
                *entry = (0, 0);
                continue;
            }
            let bytes = encoded.bytes(block);
            let size = u32::try_from(bytes.len()).map_err(|_| wrong())?;
            *entry = (self.output.len(), size);
            if self.cog {
                self.output.append(&size.to_le_bytes())?;
            }
            self.output.append(bytes)?;
            if self.cog {
                self.output.append(&trailer(bytes))?;
            }
        }
        Ok(())
    }
}

/// Parses and checks an index: returns the bytes of the records, and the records.
pub(crate) fn read_index<'a>(
    index: &'a [u8],
    identity: u64,
    layout: &'a Layout,
    format: Format,
) -> Result<(u64, impl Iterator<Item = Result<PartRecord>> + 'a)> {
    let wrong = |problem: &str| refused(format!("the index of a part: {problem}"));
    let number =
        |at: usize| index.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (found, len, count) = match (number(0), number(8), number(16)) {
        (Some(found), Some(len), Some(count)) => (found, len, count),
        _ => return Err(wrong("it is too short")),
    };
    if found != identity {
        return Err(wrong(
            "it was made by another plan; the workers need one version of strile and the same options",
        ));
    }
    let entries = index.get(HEAD..).unwrap_or_default();
    let expected = layout.blocks();
    if count != expected || entries.len() as u64 != expected.saturating_mul(ENTRY as u64) {
        return Err(wrong(&format!("expected {expected} blocks, got {count} in {} bytes", entries.len())));
    }
    let around = if format == Format::Cog { LEADER + TRAILER } else { 0 };
    let records = layout.addresses().zip(entries.chunks(ENTRY)).map(move |((address, is_mask), entry)| {
        let (offset, size) = entry.split_at_checked(8).unwrap_or_default();
        let offset = offset.try_into().map(u64::from_le_bytes).unwrap_or(MISSING);
        let size = size.try_into().map(u32::from_le_bytes).unwrap_or(0);
        let end = offset.saturating_add(u64::from(size)).saturating_add(around);
        match size == 0 || end <= len {
            true => Ok(PartRecord { address, is_mask, offset, size }),
            false => Err::<_, Error>(wrong("a block lies behind its end")),
        }
    });
    Ok((len, records))
}
