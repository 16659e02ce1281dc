//! Encoded blocks until their places in the file are known: in memory as the batches in which they arrived, without a
//! copy, in a spool, or in the parts of a raster.

use super::cells::refused;
use super::parts::PartFiles;
use super::run::Run;
use crate::error::{Error, Result};
use crate::sink::Sink;
use crate::spool::Spool;
use std::io;
use std::ops::Range;
use std::path::Path;
use strile_engine::EncodedBlocks;

/// Where blocks are kept.
pub(super) enum Kept {
    /// In memory.
    Held(Held),
    Spool(Spool),
    /// In the files of a raster's parts.
    Parts(PartFiles),
}

impl Kept {
    /// Returns the number of bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Held(held) => held.len,
            Self::Spool(spool) => spool.len(),
            Self::Parts(parts) => parts.len(),
        }
    }

    /// Passes a range of its bytes to a sink.
    pub(super) fn copy(&mut self, range: Range<u64>, sink: &mut dyn Sink) -> Result<()> {
        let copied = match self {
            Self::Held(held) => held.copy(&range, sink),
            Self::Spool(spool) => sink.append_from(spool, range),
            Self::Parts(parts) => return parts.copy(range, sink),
        };
        copied.map_err(|error| Error::io(Path::new(sink.name()), error))
    }
}

/// Batches of blocks, in order.
#[derive(Default)]
pub(super) struct Held {
    batches: Vec<Batch>,
    /// Bytes of all blocks, including the surrounding bytes in the file.
    len: u64,
    /// Bytes of memory.
    bytes: u64,
}

struct Batch {
    /// Start of its first block.
    start: u64,
    run: Run,
    encoded: EncodedBlocks,
}

impl Held {
    /// Returns the bytes of memory with one more batch.
    pub(super) fn bytes_with(&self, encoded: &EncodedBlocks) -> u64 {
        self.bytes.saturating_add(encoded.slab.bytes().len() as u64)
    }

    /// Takes the blocks of a batch that are in `run`.
    pub(super) fn add(&mut self, run: Run, encoded: EncodedBlocks) {
        self.bytes = self.bytes_with(&encoded);
        let start = self.len;
        self.len += run.len();
        self.batches.push(Batch { start, run, encoded });
    }

    /// Passes each batch to `take`, in order.
    pub(super) fn each(&self, mut take: impl FnMut(&[&[u8]]) -> Result<()>) -> Result<()> {
        self.batches.iter().try_for_each(|batch| {
            let parts = batch.run.parts(&batch.encoded);
            take(&parts.ok_or_else(|| refused("a block that is not in its batch".into()))?)
        })
    }

    /// Passes a range of the bytes to a sink.
    pub(super) fn copy(&self, range: &Range<u64>, sink: &mut dyn Sink) -> io::Result<()> {
        let first = self.batches.partition_point(|batch| batch.start <= range.start).saturating_sub(1);
        let mut found: Vec<&[u8]> = Vec::new();
        for batch in self.batches.iter().skip(first).take_while(|batch| batch.start < range.end) {
            let mut at = batch.start;
            let parts = batch.run.parts(&batch.encoded);
            for part in parts.ok_or_else(|| io::Error::other("an encoded block is not in its batch"))? {
                let inside = |place: u64| {
                    usize::try_from(place.saturating_sub(at)).unwrap_or(usize::MAX).min(part.len())
                };
                found
                    .extend(part.get(inside(range.start)..inside(range.end)).filter(|part| !part.is_empty()));
                at += part.len() as u64;
            }
        }
        sink.append_all(&found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemorySink;
    use crate::write::Format;
    use strile_engine::{Arena, Span};

    /// Batches of blocks with the surrounding bytes of a cloud-optimized file, and all of their bytes.
    fn held() -> (Held, Vec<u8>) {
        let (mut held, mut all) = (Held::default(), Vec::new());
        for (number, lens) in (1_u8..).zip([&[5_usize, 1][..], &[], &[300, 7, 2]]) {
            let bytes = std::iter::successors(Some(number), |byte| Some(byte.wrapping_add(7)));
            let slab: Vec<u8> = bytes.take(lens.iter().sum()).collect();
            let encoded = EncodedBlocks { slab: Arena::from_vec(slab.clone()), ..EncodedBlocks::default() };
            let (mut run, mut at) = (Run::new(Format::Cog), 0);
            for &len in lens {
                run.add(Span { offset: at as u64, len: len as u64 }, &encoded).unwrap();
                let bytes = &slab[at..at + len];
                all.extend(u32::try_from(len).unwrap().to_le_bytes());
                all.extend(bytes);
                all.extend(crate::write::store::trailer(bytes));
                at += len;
            }
            held.add(run, encoded);
        }
        (held, all)
    }

    #[test]
    fn every_range_is_given_to_the_sink() {
        let (held, all) = held();
        let len = all.len();
        let mut kept = Kept::Held(held);
        assert_eq!(kept.len(), len as u64);
        for start in 0..len {
            for end in [start, start + 1, (start + 13).min(len), len] {
                let sink = MemorySink::new();
                let handle = sink.handle();
                let mut sink: Box<dyn Sink> = Box::new(sink);
                kept.copy(start as u64..end as u64, sink.as_mut()).unwrap();
                sink.commit().unwrap();
                let found = handle.take().unwrap().bytes;
                assert_eq!(found, all[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn batches_count_and_come_in_order() {
        let (held, all) = held();
        let more = EncodedBlocks { slab: Arena::from_vec(vec![0; 9]), ..EncodedBlocks::default() };
        assert_eq!(held.bytes_with(&more), 5 + 1 + 300 + 7 + 2 + 9);
        let mut found = Vec::new();
        held.each(|parts| {
            found.extend(parts.concat());
            Ok(())
        })
        .unwrap();
        assert_eq!(found, all);
    }
}
