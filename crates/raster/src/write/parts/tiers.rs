//! Divides a raster into parts: tiers, windows and margins. A pure function of the plan and of the requested size.

use super::packed::Layout;
use crate::Window;
use crate::device;
use crate::error::{Error, Result};
use crate::write::cells::refused;
use crate::write::flow::{Course, Extent};
use crate::write::halo::{below, halved};
use crate::write::options::WriteOptions;
use crate::write::plan::{FullImage, LevelPlan, WritePlan, plan_write};
use crate::write::spec::RasterSpec;
use crate::write::writer::described_by;
use std::sync::Arc;
use strile_tiff::{BlockKind, Variant};

/// Parts of one level and of the levels above of which they cover whole blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// The level of their input pixels: 0 for the full image.
    pub level: usize,
    /// Number of levels that they encode, from that one on.
    pub levels: usize,
    /// Columns and rows of that level.
    pub image: (u32, u32),
    /// Columns and rows of its pixels per part. Those at the right and at the bottom may be smaller.
    pub size: (u32, u32),
    /// Number of parts across.
    pub columns: u32,
    /// Number of parts down.
    pub rows: u32,
}

/// The address of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartAddress {
    /// Its tier.
    pub tier: u32,
    /// Its row among the parts of the tier.
    pub row: u32,
    /// Its column.
    pub column: u32,
}

/// The pixels and blocks of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartWindows {
    /// Pixels of the tier's level whose blocks it encodes.
    pub own: Window,
    /// Pixels of that level that it takes as input: those, and the margin for reducing.
    pub need: Window,
    /// Reduced pixels that it returns of the level after those it encodes, if there is one.
    pub beyond: Option<Window>,
    /// Number of blocks that it encodes.
    pub blocks: u64,
}

/// A raster to be written in parts.
pub struct Parts {
    pub(crate) plan: Arc<WritePlan>,
    pub(crate) spec: Arc<RasterSpec>,
    pub(crate) options: WriteOptions,
    tiers: Vec<Tier>,
    identity: u64,
}

impl Parts {
    /// Plans the parts. `size` is the requested columns and rows per part; they are rounded to whole blocks, at least
    /// one.
    pub fn new(spec: RasterSpec, options: &WriteOptions, size: (u32, u32)) -> Result<Self> {
        let device = |problem| Error::Device { file: String::new(), problem };
        let engine = device::choose_for_writing(options.encode_on).map_err(device)?;
        let reason = (engine.engine.as_ref(), engine.reason.as_str());
        let plan = plan_write(&spec, options, FullImage::Encoded, reason).map_err(refused)?;
        // Problems of the description are reported before any pixel is requested.
        described_by(&plan, &spec)?;
        let tiers = tiers(&plan, size);
        let identity = identity(&plan, &tiers);
        let (plan, spec) = (Arc::new(plan), Arc::new(spec));
        Ok(Self { plan, spec, options: options.clone(), tiers, identity })
    }

    /// Returns the tiers, that of the full image first.
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// Describes the plan in words.
    pub fn explain(&self) -> String {
        self.plan.to_string()
    }

    /// Returns the name of the encoder, which all parts use.
    pub fn encoder(&self) -> &str {
        &self.plan.engine.2
    }

    /// Returns whether the file has 64-bit offsets.
    pub fn is_big(&self) -> bool {
        self.plan.form.variant == Variant::Big
    }

    /// Returns the number of blocks of all levels and masks.
    pub fn blocks(&self) -> u64 {
        self.plan.blocks()
    }

    /// Returns a number that identifies plans with the same blocks, however they were made. Parts of other plans are
    /// refused.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the windows of a part.
    pub fn part(&self, at: PartAddress) -> Result<PartWindows> {
        let course = self.course(at)?;
        let blocks = Layout::new(&self.plan, &course).blocks();
        let Extent { own, need } = course.extents.first().copied().ok_or_else(|| unknown(at))?;
        Ok(PartWindows { own, need, beyond: course.beyond, blocks })
    }

    pub(crate) fn course(&self, at: PartAddress) -> Result<Course> {
        let tier = self.tiers.get(at.tier as usize);
        let tier = tier.filter(|tier| at.row < tier.rows && at.column < tier.columns);
        let tier = tier.ok_or_else(|| unknown(at))?;
        Ok(course(&self.plan, tier, (at.column, at.row)))
    }
}

fn unknown(at: PartAddress) -> Error {
    let PartAddress { tier, row, column } = at;
    refused(format!("there is no part at row {row} and column {column} of tier {tier}"))
}

fn tiers(plan: &WritePlan, wanted: (u32, u32)) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = Vec::new();
    let mut levels = &plan.levels[..];
    while let Some(level) = levels.first() {
        let tier = tier(plan.levels.len() - levels.len(), levels, level, wanted);
        levels = levels.get(tier.levels..).unwrap_or_default();
        tiers.push(tier);
    }
    tiers
}

fn tier(number: usize, left: &[LevelPlan], level: &LevelPlan, wanted: (u32, u32)) -> Tier {
    let (cell, image) = (level.cell(), (level.width, level.height));
    let wanted = (wanted.0.max(cell.0), wanted.1.max(cell.1));
    let spans = (image.0 <= wanted.0, image.1 <= wanted.1);
    // After this many halvings, blocks still begin where a part does: always at the edges of the image.
    let unit = |halvings: usize, cell: u32| {
        u32::try_from(halvings).ok().and_then(|by| u64::from(cell).checked_shl(by)).unwrap_or(u64::MAX)
    };
    let fits = |halvings: &usize| {
        (spans.0 || unit(*halvings, cell.0) <= u64::from(wanted.0))
            && (spans.1 || unit(*halvings, cell.1) <= u64::from(wanted.1))
    };
    let halvings = match (spans, level.grid.kind) {
        ((true, true), _) => left.len() - 1,
        // Overviews of strips are tiles, which begin elsewhere.
        (_, BlockKind::Strip) => 0,
        (_, BlockKind::Tile) => (0..left.len()).rev().find(fits).unwrap_or(0),
    };
    let side = |spans: bool, image: u32, cell: u32, wanted: u32| match spans {
        true => image,
        false => {
            let unit = u32::try_from(unit(halvings, cell)).unwrap_or(wanted).max(1);
            wanted / unit * unit
        }
    };
    let size = (side(spans.0, image.0, cell.0, wanted.0), side(spans.1, image.1, cell.1, wanted.1));
    let (columns, rows) = (image.0.div_ceil(size.0), image.1.div_ceil(size.1));
    Tier { level: number, levels: halvings + 1, image, size, columns, rows }
}

fn course(plan: &WritePlan, tier: &Tier, (column, row): (u32, u32)) -> Course {
    let (x, y) = (column * tier.size.0, row * tier.size.1);
    let (width, height) = (tier.size.0.min(tier.image.0 - x), tier.size.1.min(tier.image.1 - y));
    let mut own = vec![Window::new(x, y, width, height)];
    for _ in 1..tier.levels {
        own.extend(own.last().map(halved));
    }
    let end = tier.level + tier.levels;
    let beyond = own.last().filter(|_| end < plan.levels.len()).map(halved);
    let halo = plan.resampling.halo();
    let mut above = beyond;
    let mut extents: Vec<Extent> = Vec::with_capacity(own.len());
    let levels = plan.levels.get(tier.level..end).unwrap_or_default();
    for (own, level) in own.into_iter().zip(levels).rev() {
        let need = above.map_or(own, |above| below(&above, halo, (level.width, level.height)));
        extents.push(Extent { need, own });
        above = Some(need);
    }
    extents.reverse();
    Course { first: tier.level, extents, beyond, lent: false }
}

/// Returns the identity of a plan: two plans with the same blocks have the same identity; see `Parts::identity`.
fn identity(plan: &WritePlan, tiers: &[Tier]) -> u64 {
    let WritePlan { form, format, planar, levels, resampling, full: _, nodata, bound: _, engine: _ } = plan;
    let mut text = format!("{} {form:?} {format:?} {planar:?}", env!("CARGO_PKG_VERSION"));
    text.push_str(&format!("{resampling:?} {nodata:?} {tiers:?}"));
    for level in levels {
        let LevelPlan { width, height, grid, stored, block_rows, image, mask, by_host: _ } = level;
        text.push_str(&format!("{width} {height} {grid:?} {stored} {block_rows} {image:?} {mask:?}"));
    }
    // FNV-1a: the same on every machine.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
