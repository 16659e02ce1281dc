//! Blocks in memory as one contiguous range of bytes for an engine.

use super::store::Block;
use std::io;
use std::sync::Arc;
use strile_engine::{ReadAt, Span};

/// Blocks of one read, one after the other.
#[derive(Default)]
pub(crate) struct Held {
    /// Start of each block.
    starts: Vec<u64>,
    blocks: Vec<Arc<Block>>,
    len: u64,
}

impl Held {
    /// Adds a block and returns its position.
    pub(crate) fn add(&mut self, block: Arc<Block>) -> Span {
        let span = Span { offset: self.len, len: block.bytes().len() as u64 };
        self.starts.push(self.len);
        self.blocks.push(block);
        self.len = self.len.saturating_add(span.len);
        span
    }

    /// Returns the bytes of a block from `offset` on.
    fn from(&self, offset: u64) -> io::Result<&[u8]> {
        let found = || {
            let at = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
            let inside = usize::try_from(offset - self.starts.get(at)?).ok()?;
            self.blocks.get(at)?.bytes().get(inside..).filter(|bytes| !bytes.is_empty())
        };
        found().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl ReadAt for Held {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if let Some(bytes) = self.from(span.offset)?.get(..len) {
            return Ok(bytes);
        }
        if scratch.len() < len {
            scratch.try_reserve_exact(len - scratch.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
            scratch.resize(len, 0);
        }
        let into = scratch.get_mut(..len).ok_or(io::ErrorKind::OutOfMemory)?;
        self.read_into(span.offset, into)?;
        Ok(into)
    }

    fn read_into(&self, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            let bytes = self.from(offset)?;
            let count = bytes.len().min(into.len());
            let (filled, rest) = into.split_at_mut_checked(count).ok_or(io::ErrorKind::UnexpectedEof)?;
            filled.copy_from_slice(bytes.get(..count).ok_or(io::ErrorKind::UnexpectedEof)?);
            offset = offset.saturating_add(count as u64);
            into = rest;
        }
        Ok(())
    }

    fn lends(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lends_blocks_and_reads_across_them() {
        let mut held = Held::default();
        let blocks: [&[u8]; 3] = [&[1, 2, 3], &[4], &[5, 6]];
        let spans = blocks.map(|bytes| held.add(Arc::new(Block::in_test(bytes))));
        assert_eq!((spans[2], held.len), (Span { offset: 4, len: 2 }, 6));
        let mut scratch = Vec::new();
        assert_eq!(held.read_at(Span { offset: 1, len: 2 }, &mut scratch).unwrap(), [2, 3]);
        assert_eq!(held.read_at(Span { offset: 2, len: 3 }, &mut scratch).unwrap(), [3, 4, 5]);
        for span in [Span { offset: 4, len: 3 }, Span { offset: 6, len: 1 }] {
            let error = held.read_at(span, &mut scratch).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
