//! Input for external decoders that read incrementally: reads fail once the call is cancelled.

use crate::stop::Stop;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// Bytes lent at a time: a decoder outputs at most a thousand times as many.
const AT_A_TIME: usize = 16 << 10;

/// An encoded block.
pub(super) struct Interruptible<'a> {
    src: &'a [u8],
    at: usize,
    /// Offset of the next check for cancellation.
    next: usize,
    stop: &'a Stop,
}

impl<'a> Interruptible<'a> {
    pub(super) fn new(src: &'a [u8], stop: &'a Stop) -> Self {
        Self { src, at: 0, next: AT_A_TIME, stop }
    }
}

impl Read for Interruptible<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Interruptible<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.next {
            self.next = self.at.saturating_add(AT_A_TIME);
            if self.stop.is_set() {
                return Err(io::Error::other("cancelled"));
            }
        }
        let end = self.src.len().min(self.next);
        Ok(self.src.get(self.at..end).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }
}

impl Seek for Interruptible<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.src.len() as u64, by),
            SeekFrom::Current(by) => (self.at as u64, by),
        };
        let at = from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        self.at = usize::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.next = self.at.saturating_add(AT_A_TIME);
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_a_cursor() {
        let bytes: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        let stop = Stop::default();
        let (mut own, mut cursor) = (Interruptible::new(&bytes, &stop), io::Cursor::new(&bytes));
        let ways = [SeekFrom::Start(70_000), SeekFrom::Current(-9), SeekFrom::End(-40_000), SeekFrom::End(7)];
        for to in ways {
            assert_eq!(own.seek(to).unwrap(), cursor.seek(to).unwrap());
            let (mut one, mut other) = (Vec::new(), Vec::new());
            own.by_ref().take(30_000).read_to_end(&mut one).unwrap();
            cursor.by_ref().take(30_000).read_to_end(&mut other).unwrap();
            assert!(one == other, "{to:?}");
            assert_eq!(own.stream_position().unwrap(), cursor.stream_position().unwrap());
        }
        assert!(own.seek(SeekFrom::End(-200_001)).is_err());
    }
}
