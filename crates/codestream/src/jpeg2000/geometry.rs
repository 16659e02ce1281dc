//! The geometry of a tile (ISO 15444-1, annex B): tile-components, resolutions, bands, precincts and code-blocks.
//!
//! Discarded resolutions have their geometry too, because their packets must be parsed.

use super::markers::{Coding, Holding};
use super::progression::Place;
use super::size::Size;
use super::{Band, Rect};
use strile_engine::BlockFault;

/// A band of a resolution.
#[derive(Debug, Clone, Copy)]
pub(super) struct BandPlace {
    pub(super) band: Band,
    /// Its coefficients on its own grid.
    pub(super) rect: Rect,
    /// Position of its first coefficient in the plane.
    pub(super) x: u32,
    pub(super) y: u32,
    /// Magnitude bit planes, and the quantisation step.
    pub(super) planes: u8,
    pub(super) step: f32,
}

/// A resolution of a tile-component.
#[derive(Debug, Clone)]
pub(super) struct Resolution {
    pub(super) rect: Rect,
    /// LL alone, or HL, LH and HH.
    pub(super) bands: Vec<BandPlace>,
    /// Exponents of the width and height of precincts.
    precinct: (u8, u8),
    /// Exponents of the width and height of code-blocks.
    block: (u8, u8),
    /// Precincts across and down.
    pub(super) precincts: (u32, u32),
    /// Whether its code-blocks are needed.
    pub(super) kept: bool,
    lowest: bool,
}

/// The code-blocks of a band in a precinct: a grid whose cells are clipped to `rect`.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockGrid {
    /// Coefficients on the grid of the band.
    rect: Rect,
    exponents: (u8, u8),
    pub(super) wide: u32,
    pub(super) high: u32,
}

/// Returns the bytes of a tile-component's geometry with this many resolutions.
pub(super) fn resolutions_len(resolutions: usize) -> usize {
    resolutions.saturating_mul(size_of::<Resolution>() + 3 * size_of::<BandPlace>())
}

impl Resolution {
    /// Returns the total number of precincts.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.precincts.0) * u64::from(self.precincts.1)
    }

    /// Returns the code-blocks of a band in a precinct.
    pub(super) fn grid(&self, precinct: u32, band: &BandPlace) -> BlockGrid {
        let halved = u8::from(!self.lowest);
        let edges = |low: u32, high: u32, first: u32, exponent: u8, index: u32| {
            let exponent = u32::from(exponent);
            let size = exponent - u32::from(halved);
            let cell = (u64::from(first) >> exponent) + u64::from(index);
            let bound = |cell: u64| u32::try_from(cell << size).unwrap_or(u32::MAX);
            let start = bound(cell).max(low);
            (start, bound(cell + 1).min(high).max(start))
        };
        let across = self.precincts.0.max(1);
        let rect = band.rect;
        let (x0, x1) = edges(rect.x0, rect.x1, self.rect.x0, self.precinct.0, precinct % across);
        let (y0, y1) = edges(rect.y0, rect.y1, self.rect.y0, self.precinct.1, precinct / across);
        let rect = Rect { x0, y0, x1, y1 };
        let (wide, high) = match rect.is_empty() {
            true => (0, 0),
            false => (cells(x0, x1, self.block.0), cells(y0, y1, self.block.1)),
        };
        BlockGrid { rect, exponents: self.block, wide, high }
    }
}

impl BlockGrid {
    /// Returns a code-block on the grid of its band.
    pub(super) fn block(&self, column: u32, row: u32) -> Rect {
        let edges = |low: u32, high: u32, exponent: u8, index: u32| {
            let cell = u64::from(low >> exponent) + u64::from(index);
            let bound = |cell: u64| u32::try_from(cell << exponent).unwrap_or(u32::MAX);
            (bound(cell).max(low), bound(cell + 1).min(high))
        };
        let (x0, x1) = edges(self.rect.x0, self.rect.x1, self.exponents.0, column);
        let (y0, y1) = edges(self.rect.y0, self.rect.y1, self.exponents.1, row);
        Rect { x0, y0, x1, y1 }
    }
}

/// Returns the number of cells of a grid from 0 on that the coefficients touch.
fn cells(low: u32, high: u32, exponent: u8) -> u32 {
    if high <= low {
        return 0;
    }
    ((high - 1) >> exponent) - (low >> exponent) + 1
}

/// A component of a tile.
#[derive(Debug)]
pub(super) struct TileComponent<'a> {
    pub(super) coding: &'a Coding,
    /// Resolutions, the lowest first.
    pub(super) resolutions: Vec<Resolution>,
}

/// Returns the geometry of one tile-component with `reduce` resolutions discarded.
pub(super) fn tile_component<'a>(
    size: &Size,
    tile: Rect,
    holding: &Holding<'a>,
    component: u16,
    reduce: u8,
) -> Result<TileComponent<'a>, BlockFault> {
    let coding = holding.coding(component)?;
    let quantisation = holding.quantisation(component)?;
    let Some(stated) = size.components.get(usize::from(component)) else {
        return Err(BlockFault::corrupt("JPEG 2000: no such component"));
    };
    let Some(kept) = coding.levels.checked_sub(reduce) else {
        return Err(BlockFault::unsupported(format!(
            "JPEG 2000: {reduce} wavelet levels to be left out of {}",
            coding.levels
        )));
    };
    let rect = tile.divided(u64::from(stated.dx), u64::from(stated.dy));
    let resolution = |index: u8| -> Result<Resolution, BlockFault> {
        let own = rect.reduced(coding.levels - index);
        let below = rect.reduced(coding.levels - index.saturating_sub(1));
        let kinds: &[Band] = if index == 0 { &[Band::Ll] } else { &[Band::Hl, Band::Lh, Band::Hh] };
        let band = |&band: &Band| -> Result<BandPlace, BlockFault> {
            let (planes, step) = quantisation.band(coding, index, band, stated.bits)?;
            let (across, down) = (matches!(band, Band::Hl | Band::Hh), matches!(band, Band::Lh | Band::Hh));
            let level = coding.levels - index.saturating_sub(1);
            Ok(BandPlace {
                band,
                rect: band_rect(rect, level, across, down),
                x: if across { below.width() } else { 0 },
                y: if down { below.height() } else { 0 },
                planes,
                step,
            })
        };
        let bands = kinds.iter().map(band).collect::<Result<_, _>>()?;
        let precinct = coding.precinct(index);
        let halved = u8::from(index != 0);
        let block = (
            coding.block.0.min(precinct.0.saturating_sub(halved)),
            coding.block.1.min(precinct.1.saturating_sub(halved)),
        );
        let precincts = match own.is_empty() {
            true => (0, 0),
            false => (cells(own.x0, own.x1, precinct.0), cells(own.y0, own.y1, precinct.1)),
        };
        Ok(Resolution {
            rect: own,
            bands,
            precinct,
            block,
            precincts,
            kept: index <= kept,
            lowest: index == 0,
        })
    };
    let resolutions = (0..=coding.levels).map(resolution).collect::<Result<_, _>>()?;
    Ok(TileComponent { coding, resolutions })
}

/// Returns a band on its own grid (equation B-15).
fn band_rect(rect: Rect, level: u8, across: bool, down: bool) -> Rect {
    let edge = |value: u32, high: bool| {
        let offset = if high { (1_u64 << level) >> 1 } else { 0 };
        // If the offset is larger, the quotient lies between -1 and 0 and becomes 0.
        let scaled = u64::from(value).saturating_sub(offset).div_ceil(1 << level);
        u32::try_from(scaled).unwrap_or(u32::MAX)
    };
    Rect {
        x0: edge(rect.x0, across),
        y0: edge(rect.y0, down),
        x1: edge(rect.x1, across),
        y1: edge(rect.y1, down),
    }
}

/// Returns the places at which a walk finds the precincts of a resolution, row by row (B.12.1.3): each at its own
/// corner, except for the first of a row or column, which is at the edge of the tile if its corner lies outside of the
/// resolution.
pub(super) fn places<'a>(
    size: &Size,
    tile: Rect,
    component: u16,
    parts: &'a TileComponent<'_>,
    index: u8,
) -> impl Iterator<Item = Place> + 'a {
    let (dx, dy) = match size.components.get(usize::from(component)) {
        Some(stated) => (stated.dx, stated.dy),
        None => (1, 1),
    };
    let shift = parts.coding.levels.saturating_sub(index);
    let position = move |first: u32, exponent: u8, cell: u32, scale: u8, edge: u32| {
        let corner = ((u64::from(first) >> exponent) + u64::from(cell)) << exponent;
        match corner < u64::from(first) {
            true => edge,
            false => u32::try_from(u128::from(corner) << shift)
                .map_or(u32::MAX, |at| at.saturating_mul(scale.into())),
        }
    };
    let resolution = parts.resolutions.get(usize::from(index));
    resolution.into_iter().flat_map(move |resolution| {
        let Resolution { rect, precinct, precincts, .. } = *resolution;
        (0..precincts.1).flat_map(move |row| {
            let y = position(rect.y0, precinct.1, row, dy, tile.y0);
            (0..precincts.0).map(move |column| {
                let x = position(rect.x0, precinct.0, column, dx, tile.x0);
                Place { component, resolution: index, x, y }
            })
        })
    })
}
