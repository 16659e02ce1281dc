//! JPEG 2000 codestreams (ISO 15444-1 and, for high throughput, 15444-15): parses bytes to a list of code-blocks, each
//! with the bytes of its codeword segments and the position of its coefficients.
//!
//! Coefficients of a tile-component lie in one plane, as wide and high as the tile-component at the highest kept
//! resolution: the lowest resolution in the top left corner, and around each resolution the three bands of the next
//! one, HL on the right, LH below, HH diagonally. So an inverse transform works on increasingly large corners.

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

/// A rectangle of a grid; `x1` and `y1` are exclusive.
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
    /// Returns the number of columns.
    pub fn width(&self) -> u32 {
        self.x1.saturating_sub(self.x0)
    }

    /// Returns the number of rows.
    pub fn height(&self) -> u32 {
        self.y1.saturating_sub(self.y0)
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.width() == 0 || self.height() == 0
    }
}

/// A component of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Bits per sample.
    pub bits: u8,
    /// Whether samples are signed.
    pub signed: bool,
    /// Horizontal distance of its samples in pixels of the reference grid.
    pub dx: u8,
    /// Vertical distance.
    pub dy: u8,
    /// Its samples on its own grid, at the kept resolution.
    pub rect: Rect,
}

/// Returns whether three components are YCbCr with subsampled chroma: other colours are never subsampled.
pub fn has_subsampled_chroma(components: &[Component]) -> bool {
    let [y, cb, cr] = components else { return false };
    let steps = |component: &Component| (component.dx, component.dy);
    steps(cb) == steps(cr) && steps(cb) != steps(y) && cb.dx >= y.dx && cb.dy >= y.dy
}

/// Transform of the first three components of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Nothing.
    None,
    /// The reversible component transform.
    Reversible,
    /// The irreversible component transform.
    Irreversible,
}

/// A tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// Transform of its first three components.
    pub colour: Colour,
    /// Its tile-components in `Codestream::planes`, one per component in order.
    pub planes: std::ops::Range<usize>,
}

/// A component of a tile: a plane of coefficients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plane {
    /// Index of the component.
    pub component: u16,
    /// The rectangle of each resolution on its own grid, the lowest first: one more than there are wavelet levels. The
    /// last is that of the samples.
    pub resolutions: Vec<Rect>,
    /// Whether the wavelet is the integer 5/3 one; else the 9/7.
    pub reversible: bool,
    /// Coding style of its code-blocks.
    pub style: Style,
}

/// Coding style of code-blocks (ISO 15444-1, table A.19, and 15444-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Raw bits instead of arithmetic coding in the later passes.
    pub bypass: bool,
    /// Probabilities are reset at every pass.
    pub reset: bool,
    /// Every pass ends its codeword segment.
    pub terminate: bool,
    /// Contexts do not use the stripe below.
    pub causal: bool,
    /// Four symbols end every cleanup pass.
    pub segmentation: bool,
    /// High-throughput coding (bypass, reset and the others are then off).
    pub high_throughput: bool,
}

/// Passes before raw bits begin in styles that have them: those of the first four planes.
const BEFORE_BYPASS: u8 = 10;

impl Style {
    /// Returns whether a pass of a code-block consists of raw bits (ISO 15444-1, table D.9): after the tenth, except
    /// cleanups.
    pub fn is_raw(&self, pass: u32) -> bool {
        self.bypass && pass >= u32::from(BEFORE_BYPASS) && !pass.is_multiple_of(3)
    }
}

/// Subband of a code-block; determines its contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Band {
    /// Low in both directions.
    Ll = 0,
    /// High across, low down.
    Hl = 1,
    /// Low across, high down.
    Lh = 2,
    /// High in both directions.
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
    /// Coded magnitude bit planes: `band_planes` less those that are all 0; at least 1.
    pub planes: u8,
    /// Coding passes: 1 to `3 * planes - 2`, fewer if the stream omits the last ones.
    pub passes: u8,
    /// Quantisation step: the factor of magnitudes. 1 if the plane is reversible.
    pub step: f32,
    /// Its codeword segments in `Codestream::segments`.
    pub segments: std::ops::Range<u32>,
    /// Its bytes, as pieces of the codestream in `Codestream::pieces`: concatenated they are the bytes of its segments.
    pub pieces: std::ops::Range<u32>,
    /// Bytes of all its segments.
    pub len: u32,
}

/// A codeword segment: passes that the decoder decodes in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Number of bytes; may be 0.
    pub len: u32,
    /// Number of passes.
    pub passes: u8,
}

/// A byte range of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub offset: u32,
    /// Number of bytes.
    pub len: u32,
}

/// The contents of a codestream.
#[derive(Debug, Clone, PartialEq)]
pub struct Codestream {
    /// Its area on the reference grid, at the kept resolution.
    pub area: Rect,
    /// Components, at least 1.
    pub components: Vec<Component>,
    /// Tiles, row by row.
    pub tiles: Vec<Tile>,
    /// Planes of all tiles.
    pub planes: Vec<Plane>,
    /// Code-blocks of all planes, grouped by plane.
    pub blocks: Vec<CodeBlock>,
    /// Segments of all code-blocks.
    pub segments: Vec<Segment>,
    /// Pieces of all code-blocks.
    pub pieces: Vec<Piece>,
}
