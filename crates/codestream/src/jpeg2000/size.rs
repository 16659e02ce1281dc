//! The SIZ segment (ISO 15444-1, A.5.1): the area, its tiles and its components.

use super::fields::Fields;
use super::{Component, Rect};
use strile_engine::BlockFault;

/// Maximum tiles of a codestream.
const MOST_TILES: u64 = 65_535;
/// Maximum components of a codestream.
const MOST_COMPONENTS: u16 = 16_384;
/// Maximum sample depth of part 1.
const MOST_BITS: u8 = 38;

/// The shape of a codestream, known before the rest is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// Its area on the reference grid.
    pub area: Rect,
    /// Components at full resolution, at least 1.
    pub components: Vec<Component>,
    /// The first tile, unclipped: its corner may lie outside of the area.
    pub(super) tile: Rect,
    pub(super) tiles_across: u32,
    pub(super) tiles_down: u32,
}

impl Size {
    /// Reads a SIZ segment without its marker and length.
    pub(super) fn read(body: &[u8]) -> Result<Self, BlockFault> {
        Self::fields(Fields(body)).ok_or_else(|| BlockFault::corrupt("JPEG 2000: SIZ segment cut short"))?
    }

    /// Reads the fields; `None` if the segment ends too early.
    fn fields(mut fields: Fields<'_>) -> Option<Result<Self, BlockFault>> {
        let capabilities = fields.u16()?;
        let (x1, y1, x0, y0) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let area = Rect { x0, y0, x1, y1 };
        let (width, height, left, top) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let count = fields.u16()?;
        let mut components = Vec::new();
        let mut sound = (1..=MOST_COMPONENTS).contains(&count);
        for _ in 0..count.min(MOST_COMPONENTS) {
            let (depth, dx, dy) = (fields.u8()?, fields.u8()?, fields.u8()?);
            let bits = (depth & 0x7F) + 1;
            sound &= dx != 0 && dy != 0 && bits <= MOST_BITS;
            let rect = area.divided(u64::from(dx.max(1)), u64::from(dy.max(1)));
            components.push(Component { bits, signed: depth & 0x80 != 0, dx, dy, rect });
        }
        if capabilities & 0x8000 != 0 {
            return Some(Err(BlockFault::unsupported("JPEG 2000: extensions of part 2")));
        }
        let (right, bottom) = (left.saturating_add(width), top.saturating_add(height));
        sound &= !area.is_empty() && width != 0 && height != 0;
        sound &= left <= x0 && top <= y0 && right > x0 && bottom > y0;
        if !sound {
            return Some(Err(BlockFault::corrupt("JPEG 2000: impossible sizes in the SIZ segment")));
        }
        let tile = Rect { x0: left, y0: top, x1: right, y1: bottom };
        let (tiles_across, tiles_down) = ((x1 - left).div_ceil(width), (y1 - top).div_ceil(height));
        if u64::from(tiles_across) * u64::from(tiles_down) > MOST_TILES {
            return Some(Err(BlockFault::corrupt(format!(
                "JPEG 2000: {tiles_across} x {tiles_down} tiles, {MOST_TILES} at most"
            ))));
        }
        Some(Ok(Self { area, components, tile, tiles_across, tiles_down }))
    }

    /// Returns the total number of tiles.
    pub(super) fn tiles(&self) -> usize {
        self.tiles_across as usize * self.tiles_down as usize
    }

    /// Returns the part of the area that a tile covers.
    pub(super) fn tile(&self, index: usize) -> Rect {
        let across = (self.tiles_across as usize).max(1);
        let edge = |first: u32, size: u32, index: usize| {
            let edge = u64::from(first) + u64::from(size) * index as u64;
            u32::try_from(edge).unwrap_or(u32::MAX)
        };
        let (column, row) = (index % across, index / across);
        let Rect { x0, y0, .. } = self.tile;
        let (width, height) = (self.tile.width(), self.tile.height());
        Rect {
            x0: edge(x0, width, column).max(self.area.x0),
            y0: edge(y0, height, row).max(self.area.y0),
            x1: edge(x0, width, column + 1).min(self.area.x1),
            y1: edge(y0, height, row + 1).min(self.area.y1),
        }
    }

    /// Returns the samples of all components at a lower resolution.
    pub(super) fn samples(&self, reduce: u8) -> u64 {
        let samples = |component: &Component| {
            let rect = component.rect.reduced(reduce);
            u64::from(rect.width()) * u64::from(rect.height())
        };
        self.components.iter().map(samples).fold(0, u64::saturating_add)
    }
}

impl Rect {
    /// Returns the rectangle on a grid that is coarser by whole factors: `x0 / dx` and so on, rounded up.
    pub(super) fn divided(&self, dx: u64, dy: u64) -> Self {
        let part = |value: u32, by: u64| u32::try_from(u64::from(value).div_ceil(by)).unwrap_or(u32::MAX);
        Self { x0: part(self.x0, dx), y0: part(self.y0, dy), x1: part(self.x1, dx), y1: part(self.y1, dy) }
    }

    /// Returns the rectangle at a resolution that is lower by `levels`, 32 at most: every edge divided by two to that
    /// power, rounded up.
    pub fn reduced(&self, levels: u8) -> Self {
        let factor = 1_u64 << levels.min(32);
        self.divided(factor, factor)
    }
}
