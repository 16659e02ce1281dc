//! Cutting of scans into pieces, one per kernel thread, and the bytes of a picture in the upload: for every scan the
//! starts of its intervals and pieces, then its data without markers and stuffing.

use super::abi::{JpegPiece, LEAST_PIECE, MOST_PIECE};
use crate::abi::bytes_of;
use strile_codestream::jpeg::{ScanData, coded_data};

/// Bytes behind the data that kernels may read.
const SLACK: u64 = 64;

/// How scans are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// With measured settings.
    Measured,
    /// Into pieces of about this many bytes, with this many bits before them: for tests with small pictures.
    Into { piece: u32, run_in: u32 },
}

impl Cut {
    /// Returns the maximum bytes of a piece; the more data units an MCU has, the longer, because codes synchronise
    /// later.
    fn piece(self, scan_len: u32, mcu_units: u32) -> u32 {
        match self {
            Self::Measured => match mcu_units {
                1 => 64,
                2..=4 => 96,
                // As many pieces as a kernel's block has threads, unless they would be too short.
                _ => scan_len.div_ceil(128).clamp(96, 128),
            },
            Self::Into { piece, .. } => piece.clamp(2 * LEAST_PIECE, MOST_PIECE),
        }
    }

    /// Returns the bits that are decoded before a piece.
    pub(super) fn run_in(self, mcu_units: u32) -> u32 {
        match self {
            Self::Measured => match mcu_units {
                1 => 256,
                2..=4 => 512,
                _ => 1024,
            },
            Self::Into { run_in, .. } => run_in,
        }
    }
}

/// The bytes of a scan, and the positions of its parts in those of its picture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScanBytes {
    /// Position in the stream.
    from: ScanData,
    /// Position of the intervals: the first byte of each as `u32`, and the length of the data.
    pub(super) intervals: u64,
    /// Position of the `JpegPiece`s, one more than `piece_count`.
    pub(super) pieces: u64,
    /// Position of the data, a multiple of 16.
    pub(super) data: u64,
    /// Bytes of data.
    pub(super) data_len: u32,
    /// Number of pieces.
    pub(super) piece_count: u32,
    /// Position of the next scan, a multiple of 16.
    pub(super) end: u64,
    /// Maximum bytes of a piece.
    piece: u32,
}

impl ScanBytes {
    /// Lays out a scan with `mcu_units` data units per MCU from `begin` on, a multiple of 16.
    pub(super) fn new(from: ScanData, mcu_units: u32, cut: Cut, begin: u64) -> Self {
        let data_len = from.intervals.iter().sum();
        let piece = cut.piece(data_len, mcu_units);
        let piece_count = from.intervals.iter().map(|len| len.div_ceil(piece)).sum();
        let pieces = begin + (from.intervals.len() as u64 + 1).next_multiple_of(2) * 4;
        let data = (pieces + (u64::from(piece_count) + 1) * 8).next_multiple_of(16);
        let end = (data + u64::from(data_len) + SLACK).next_multiple_of(16);
        Self { from, intervals: begin, pieces, data, data_len, piece_count, end, piece }
    }

    /// Writes all bytes of a scan of `stream`.
    pub(super) fn write(&self, stream: &[u8], into: &mut [u8]) {
        let ScanData { range: data, intervals } = &self.from;
        let mut begins = Vec::with_capacity(intervals.len() + 1);
        let mut pieces = Vec::with_capacity(self.piece_count as usize + 1);
        let mut begin = 0;
        for (interval, &len) in (0..).zip(intervals) {
            begins.push(begin);
            pieces.extend(cut_evenly(len, self.piece).map(|at| JpegPiece { begin: begin + at, interval }));
            begin += len;
        }
        begins.push(begin);
        let interval = u32::try_from(intervals.len()).unwrap_or(u32::MAX);
        pieces.push(JpegPiece { begin, interval });
        fill(into, self.intervals, self.pieces, bytes_of(&begins));
        fill(into, self.pieces, self.data, bytes_of(&pieces));
        let (from, to) = (self.data, self.end);
        if let Some(room) = range(into, from, to) {
            let copied = coded_data::copy(stream.get(data.clone()).unwrap_or_default(), room);
            room.get_mut(copied..).unwrap_or_default().fill(0);
        }
    }
}

/// Returns the starts of the pieces of an interval, all of nearly the same length.
fn cut_evenly(len: u32, piece: u32) -> impl Iterator<Item = u32> {
    let count = u64::from(len.div_ceil(piece));
    (0..count).map(move |i| u32::try_from(u64::from(len) * i / count).unwrap_or(0))
}

fn range(bytes: &mut [u8], from: u64, to: u64) -> Option<&mut [u8]> {
    bytes.get_mut(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
}

/// Writes `content` at `from`, and zeros up to `to`.
fn fill(into: &mut [u8], from: u64, to: u64, content: &[u8]) {
    if let Some((begin, rest)) =
        range(into, from, to).and_then(|room| room.split_at_mut_checked(content.len()))
    {
        begin.copy_from_slice(content);
        rest.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_an_interval_are_nearly_equal_and_not_too_short() {
        for len in 1..2000 {
            for piece in [16, 31, 128] {
                let mut begins: Vec<u32> = cut_evenly(len, piece).collect();
                assert_eq!(begins[0], 0);
                begins.push(len);
                let lens: Vec<u32> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
                assert!(lens.iter().all(|&len| len <= piece));
                assert!(lens.len() == 1 || lens.iter().all(|&len| len >= LEAST_PIECE), "{len} by {piece}");
            }
        }
    }
}
