//! Adjacent blocks of a batch, to be written at once.

use super::options::Format;
use super::store::trailer;
use std::ops::Range;
use strile_engine::{EncodedBlocks, Span};
use strile_tiff::layout::{LEADER, TRAILER};

/// Blocks of one batch, with the surrounding bytes in the file.
pub(crate) struct Run {
    cog: bool,
    parts: Vec<Part>,
    len: u64,
}

/// Some bytes of a run.
enum Part {
    /// In the slab of the batch.
    Slab(Range<usize>),
    /// A leader or a trailer.
    Mark([u8; 4]),
}

impl Run {
    pub(crate) fn new(format: Format) -> Self {
        Self { cog: format == Format::Cog, parts: Vec::new(), len: 0 }
    }

    /// Returns the number of bytes collected.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.len = 0;
    }

    /// Adds a block of the batch and returns the start of its record in the run; `None` for a span outside the batch.
    pub(crate) fn add(&mut self, span: Span, encoded: &EncodedBlocks) -> Option<u64> {
        let start = self.len;
        let range = usize::try_from(span.offset).ok()?..usize::try_from(span.end()?).ok()?;
        let bytes = encoded.slab.bytes().get(range.clone())?;
        if self.cog {
            self.parts.push(Part::Mark(u32::try_from(span.len).ok()?.to_le_bytes()));
            self.parts.push(Part::Slab(range));
            self.parts.push(Part::Mark(trailer(bytes)));
            self.len += LEADER + span.len + TRAILER;
            return Some(start);
        }
        // Neighbours in the slab are neighbours in the file.
        match self.parts.last_mut() {
            Some(Part::Slab(last)) if last.end == range.start => last.end = range.end,
            _ => self.parts.push(Part::Slab(range)),
        }
        self.len += span.len;
        Some(start)
    }

    /// Returns the bytes, in order.
    pub(crate) fn parts<'a>(&'a self, encoded: &'a EncodedBlocks) -> Option<Vec<&'a [u8]>> {
        let slab = encoded.slab.bytes();
        let bytes = |part: &'a Part| match part {
            Part::Slab(range) => slab.get(range.clone()),
            Part::Mark(mark) => Some(&mark[..]),
        };
        self.parts.iter().map(bytes).collect()
    }
}
