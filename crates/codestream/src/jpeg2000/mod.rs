//! JPEG 2000 codestreams (ISO 15444-1 and, for high throughput, 15444-15): from bytes to a list of code-blocks, each
//! with the bytes of its codeword segments and the place of its coefficients.
//!
//! Coefficients of a tile-component lie in one plane, as wide and high as the tile-component at the highest resolution
//! that is kept: the lowest resolution first in the top left corner, and around each resolution the three bands that make
//! the next one of it, HL on the right, LH below, HH on both. So an inverse transform works on ever larger corners.

mod boxes;
mod fields;
mod geometry;
#[cfg(test)]
mod geometry_tests;
mod header_bits;
pub mod high_throughput;
mod markers;
mod memory;
mod packets;
mod parse;
mod progression;
mod segments;
mod size;
mod tag_tree;
mod tile_parts;

pub use boxes::codestream;
pub use parse::{Limits, parse, size};
pub use size::Size;

/// A rectangle of some grid; `x1` and `y1` are outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rect {
    /// First column.
    pub x0: u32,
    /// First row.
    pub y0: u32,
    /// Column after the last.
    pub x1: u32,
    /// Row after the last.
    pub y1: u32,
}

impl Rect {
    /// Columns.
    pub fn width(&self) -> u32 {
        self.x1.saturating_sub(self.x0)
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.y1.saturating_sub(self.y0)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.width() == 0 || self.height() == 0
    }
}

/// A component of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Bits of a sample.
    pub bits: u8,
    /// Whether samples have a sign.
    pub signed: bool,
    /// Pixels of the reference grid between its samples, across.
    pub dx: u8,
    /// The same, down.
    pub dy: u8,
    /// Its samples on its own grid, at the resolution that is kept.
    pub rect: Rect,
}

/// Whether three components are YCbCr with subsampled chroma: nobody subsamples anything else.
pub fn has_subsampled_chroma(components: &[Component]) -> bool {
    let [y, cb, cr] = components else { return false };
    let steps = |component: &Component| (component.dx, component.dy);
    steps(cb) == steps(cr) && steps(cb) != steps(y) && cb.dx >= y.dx && cb.dy >= y.dy
}

/// What the first three components of a tile went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Nothing.
    None,
    /// The reversible component transform.
    Reversible,
    /// The irreversible one.
    Irreversible,
}

/// A tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// What its first three components went through.
    pub colour: Colour,
    /// Its tile-components in `Codestream::planes`, one for each component in order.
    pub planes: std::ops::Range<usize>,
}

/// A component of a tile: a plane of coefficients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plane {
    /// Which component.
    pub component: u16,
    /// The rectangle of each resolution on its own grid, the lowest first: one more than there are wavelet levels. The
    /// last is that of the samples.
    pub resolutions: Vec<Rect>,
    /// Whether the wavelet is the 5/3 of integers; else the 9/7.
    pub reversible: bool,
    /// How its code-blocks are coded.
    pub style: Style,
}

/// How code-blocks are coded (ISO 15444-1, table A.19, and 15444-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Raw bits instead of arithmetic coding in the later passes.
    pub bypass: bool,
    /// Probabilities begin anew at every pass.
    pub reset: bool,
    /// Every pass ends its codeword segment.
    pub terminate: bool,
    /// Contexts do not look into the stripe below.
    pub causal: bool,
    /// Four symbols end every cleanup pass.
    pub segmentation: bool,
    /// High-throughput coding instead of all of this (bypass, reset and the others are off then).
    pub high_throughput: bool,
}

/// Passes before raw bits begin, where a style has them: those of the first four planes.
const BEFORE_BYPASS: u8 = 10;

impl Style {
    /// Whether a pass of a code-block is raw bits (ISO 15444-1, table D.9): after the tenth, but for cleanups.
    pub fn is_raw(&self, pass: u32) -> bool {
        self.bypass && pass >= u32::from(BEFORE_BYPASS) && !pass.is_multiple_of(3)
    }
}

/// Which subband a code-block lies in: contexts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Band {
    /// Low both ways.
    Ll = 0,
    /// High across, low down.
    Hl = 1,
    /// Low across, high down.
    Lh = 2,
    /// High both ways.
    Hh = 3,
}

/// A code-block with at least one coding pass; coefficients of others are 0.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeBlock {
    /// Its plane in `Codestream::planes`.
    pub plane: u32,
    /// Column of its first coefficient in the plane.
    pub x: u32,
    /// Row of its first coefficient in the plane.
    pub y: u32,
    /// Columns, 1 to 1024; at most 4096 coefficients in all.
    pub width: u16,
    /// Rows, 1 to 1024.
    pub height: u16,
    /// Its band.
    pub band: Band,
    /// Magnitude bit planes of the band (`M_b`), at most 31.
    pub band_planes: u8,
    /// Magnitude bit planes that are coded: `band_planes` less those that are all 0; at least 1.
    pub planes: u8,
    /// Coding passes: 1 to `3 * planes - 2`, and fewer where the stream leaves the last out.
    pub passes: u8,
    /// The quantisation step: a coefficient is its magnitude times this. 1 where the plane is reversible.
    pub step: f32,
    /// Its codeword segments in `Codestream::segments`.
    pub segments: std::ops::Range<u32>,
    /// Its bytes, in pieces of the codestream in `Codestream::pieces`: one after the other they are the bytes of its
    /// segments.
    pub pieces: std::ops::Range<u32>,
    /// Bytes of all its segments.
    pub len: u32,
}

/// A codeword segment: passes that one run of the decoder takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Bytes; may be 0.
    pub len: u32,
    /// Passes.
    pub passes: u8,
}

/// Bytes of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub offset: u32,
    /// How many.
    pub len: u32,
}

/// All that a codestream says.
#[derive(Debug, Clone, PartialEq)]
pub struct Codestream {
    /// Its area on the reference grid, at the resolution that is kept.
    pub area: Rect,
    /// Components, at least 1.
    pub components: Vec<Component>,
    /// Tiles, row by row.
    pub tiles: Vec<Tile>,
    /// Planes of all tiles.
    pub planes: Vec<Plane>,
    /// Code-blocks of all planes, those of a plane together.
    pub blocks: Vec<CodeBlock>,
    /// Segments of all code-blocks.
    pub segments: Vec<Segment>,
    /// Pieces of all code-blocks.
    pub pieces: Vec<Piece>,
}
