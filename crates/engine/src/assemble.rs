//! Description of pixels that an engine assembles in its memory from parts of other pixels.

use crate::{OutputSpec, SharedPixels};

/// Source pixels of a copy.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// In host memory of the caller: at least the bytes that `spec` spans.
    Host {
        /// Shape.
        spec: &'a OutputSpec,
        /// Bytes in native byte order.
        bytes: &'a [u8],
    },
    /// In memory of the engine.
    There(&'a SharedPixels),
}

impl Given<'_> {
    /// Returns the shape.
    pub fn spec(&self) -> &OutputSpec {
        match self {
            Self::Host { spec, .. } => spec,
            Self::There(pixels) => pixels.spec(),
        }
    }
}

/// A rectangle to copy.
#[derive(Debug, Clone, Copy)]
pub struct Patch<'a> {
    /// Source pixels.
    pub from: Given<'a>,
    /// First column and row in the source.
    pub at: (u32, u32),
    /// First column and row in the result.
    pub to: (u32, u32),
    /// Columns and rows.
    pub size: (u32, u32),
}

/// Pixels to assemble: all bands of the patches that cover them, or a mask.
#[derive(Debug, Clone)]
pub struct Assembly<'a> {
    /// Shape of the result; one band of `uint8` for a mask.
    pub spec: OutputSpec,
    /// Whether nonzero samples become 1: patches of one band of any integer type are made into a mask.
    pub mask: bool,
    /// Patches that cover the result without overlaps or gaps.
    pub patches: Vec<Patch<'a>>,
}
