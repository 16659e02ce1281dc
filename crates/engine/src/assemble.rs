//! Pixels put together out of parts of others, in the memory of an engine: plain data.

use crate::{OutputSpec, SharedPixels};

/// Pixels to copy from.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// In memory of the caller's, on the host: at least the bytes that `spec` spans.
    Host {
        /// Their shape.
        spec: &'a OutputSpec,
        /// Their bytes, native order.
        bytes: &'a [u8],
    },
    /// Where an engine has them.
    There(&'a SharedPixels),
}

impl Given<'_> {
    /// Their shape.
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
    /// The pixels it is in.
    pub from: Given<'a>,
    /// Its first column and row there.
    pub at: (u32, u32),
    /// Its first column and row in what is put together.
    pub to: (u32, u32),
    /// Columns and rows.
    pub size: (u32, u32),
}

/// Pixels to put together: all bands of patches that cover them, or a mask.
#[derive(Debug, Clone)]
pub struct Assembly<'a> {
    /// What comes of it; `uint8` of one band for a mask.
    pub spec: OutputSpec,
    /// Whether samples become 1 where they are not 0: patches of one band of any integers are made into a mask.
    pub mask: bool,
    /// What it is made of. They do not overlap and leave nothing out.
    pub patches: Vec<Patch<'a>>,
}
