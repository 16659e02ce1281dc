//! Positions of picture streams on the host, and merged reads of adjacent streams.

use super::bytes::{Buffers, Bytes};
use super::supply::Wanted;
use std::sync::Arc;
use strile_engine::{Arena, ReadAt, Span};

/// Location of picture streams on the host.
pub(crate) enum Streams {
    Staged(Arc<Arena>),
    /// In sources; read into memory of these buffers.
    Pulled(Vec<Arc<dyn ReadAt>>, Arc<Buffers>),
}

/// Streams this close together in a file are read at once.
const MERGE_GAP: u64 = 16 << 10;

impl Streams {
    /// Returns the streams of consecutive pictures of a job; `None` for those that cannot be read.
    pub(crate) fn read(&self, wanted: &[Wanted]) -> Vec<Option<Bytes>> {
        let (sources, buffers) = match self {
            Self::Staged(arena) => return wanted.iter().map(|one| staged(arena, one.span)).collect(),
            Self::Pulled(sources, buffers) => (sources, buffers),
        };
        let read = |source: &Arc<dyn ReadAt>, span: Span| {
            let mut lent = buffers.lend(usize::try_from(span.len).ok()?)?;
            source.read_into(span.offset, &mut lent.bytes).ok()?;
            Some(Arc::new(lent))
        };
        let mut streams = Vec::with_capacity(wanted.len());
        for (span, together) in together(wanted) {
            let source = together.first().and_then(|first| sources.get(first.source as usize));
            let all = source.and_then(|source| read(source, span));
            match all {
                Some(bytes) => streams.extend(together.iter().map(|one| {
                    let start = usize::try_from(one.span.offset - span.offset).ok()?;
                    Bytes::of(&bytes, start..start.checked_add(usize::try_from(one.span.len).ok()?)?)
                })),
                // If the merged range cannot be read, single streams may be readable.
                None => streams.extend(together.iter().map(|one| {
                    let bytes = read(source?, one.span)?;
                    let len = bytes.bytes.len();
                    Bytes::of(&bytes, 0..len)
                })),
            }
        }
        streams
    }
}

/// Returns the ranges in which the streams of one run are read, and the streams of each.
pub(crate) fn together(wanted: &[Wanted]) -> impl Iterator<Item = (Span, &[Wanted])> {
    wanted.chunk_by(follows).filter_map(|together| {
        let (first, last) = (together.first()?.span, together.last()?.span);
        let len = last.offset.saturating_add(last.len) - first.offset;
        Some((Span { offset: first.offset, len }, together))
    })
}

/// Returns whether a stream lies a little behind another.
fn follows(before: &Wanted, after: &Wanted) -> bool {
    let end = before.span.offset.saturating_add(before.span.len);
    before.source == after.source && (end..=end.saturating_add(MERGE_GAP)).contains(&after.span.offset)
}

fn staged(arena: &Arc<Arena>, span: Span) -> Option<Bytes> {
    let start = usize::try_from(span.offset).ok()?;
    Bytes::part(arena, start..start.checked_add(usize::try_from(span.len).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Mutex;
    use strile_engine::BlockLayout;
    use strile_tiff::DataType;

    /// Counts reads, and ends after 100,000 bytes.
    #[derive(Default)]
    struct Counted(Mutex<Vec<Span>>);

    impl ReadAt for Counted {
        fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
            self.0.lock().unwrap().push(span);
            if span.end().unwrap() > 100_000 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            scratch.clear();
            scratch.extend((span.offset..span.end().unwrap()).map(|at| (at % 251) as u8));
            Ok(scratch)
        }
    }

    fn wanted(source: u32, offset: u64, len: u64) -> Wanted {
        let layout = Arc::new(BlockLayout::stored(DataType::U8, (1, 1), 1));
        Wanted { task: 0, source, span: Span { offset, len }, layout, rows: 1 }
    }

    #[test]
    fn what_lies_together_is_read_at_once_and_a_gap_leaves_the_rest() {
        let source = Arc::new(Counted::default());
        let streams = Streams::Pulled(vec![Arc::clone(&source) as Arc<dyn ReadAt>], Arc::default());
        let some = [
            wanted(0, 10, 90),
            wanted(0, 100, 1000),
            wanted(0, 1100 + MERGE_GAP, 5),
            wanted(0, 50_000, 7),
            wanted(0, 99_900, 100),
            wanted(0, 100_000, 1),
            wanted(9, 0, 1),
        ];
        let found = streams.read(&some);
        let lens: Vec<_> = found.iter().map(|stream| stream.as_ref().map(|bytes| bytes.len())).collect();
        assert_eq!(lens, [Some(90), Some(1000), Some(5), Some(7), Some(100), None, None]);
        for (wanted, stream) in some.iter().zip(&found) {
            let at = wanted.span.offset;
            let expected: Vec<u8> = (at..at + wanted.span.len).map(|at| (at % 251) as u8).collect();
            assert!(stream.as_ref().is_none_or(|bytes| **bytes == *expected), "{at}");
        }
        assert_eq!(source.0.lock().unwrap().len(), 1 + 1 + 3, "together, alone, and both again");
        let arena = Arc::new(Arena::from_vec(vec![3; 100]));
        let found = Streams::Staged(arena).read(&[wanted(0, 90, 10), wanted(0, 91, 10)]);
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    }
}
