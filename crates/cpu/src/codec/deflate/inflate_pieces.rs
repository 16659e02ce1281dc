//! Decodes one large Deflate stream on several threads.
//!
//! The stream is divided into pieces of equal length. A thread finds the first block in a piece and decodes from it to
//! the first block of the next piece, without the bytes before it (`piece`). In stream order, each piece then gets
//! its place in the output and the 32 KiB before it, and a thread writes its bytes.
//!
//! A piece that does not begin where the one before it ended was found by chance, or follows blocks that cannot be found:
//! it is decoded again from there. A stream with many of them, an invalid stream and one that does not fill the output
//! are declined.

use super::inflate_tables::Tables;
use super::piece::{Before, Piece, Position, Symbols};
use crate::crew::Hands;
use crate::stop::Stop;
use libdeflater::adler32;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of output per piece, on average. Smaller pieces if there would be few per thread: a thread searches half a block
/// on average before it decodes.
const PIECE: usize = 512 << 10;
const LEAST_PIECE: usize = 64 << 10;
const PIECES_PER_THREAD: usize = 4;
/// Bytes of output that memory is taken for: pieces vary, and blocks of libdeflate have up to 300,000 bytes. A longer
/// piece is divided.
const MOST: usize = 2 * PIECE;
/// Streams of fewer bytes are decoded by one thread: starting helpers takes a while.
const LEAST_LEN: usize = 16 * LEAST_PIECE;
const LEAST_THREADS: usize = 3;
/// A stream is declined if more than one in `MOST_AGAIN` pieces is decoded twice, and two besides.
const MOST_AGAIN: usize = 4;

/// How a stream is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    pieces: usize,
    /// Pieces in memory at the same time.
    at_once: usize,
    /// Bytes of output per piece that memory is taken for.
    most: usize,
}

impl Division {
    /// Returns how to divide a stream of `encoded` bytes that decodes to `decoded` bytes; `None` for one that a single
    /// thread decodes as fast.
    pub(super) fn of(encoded: usize, decoded: usize, threads: usize) -> Option<Self> {
        // In pieces, a thread decodes 0.3 to 0.9 times as fast as libdeflate up to a ratio of 5, and 0.13 times at 40.
        let gains = decoded.saturating_mul(4) <= encoded.saturating_mul(threads * threads);
        // Not even stored blocks are longer than that: something else follows the stream.
        let continues = encoded > decoded.saturating_mul(2);
        if threads < LEAST_THREADS || decoded < LEAST_LEN || !gains || continues {
            return None;
        }
        let small = (threads * PIECES_PER_THREAD).min(decoded / LEAST_PIECE);
        let pieces = small.max(decoded / PIECE);
        Some(Self { pieces, at_once: pieces.min(2 * threads), most: MOST })
    }

    /// Returns the memory it takes.
    pub(super) fn memory(&self) -> u64 {
        (self.at_once * (Symbols::memory(self.most) + size_of::<Tables>() + size_of::<Before>())) as u64
    }

    /// Returns the bits in which the blocks of a piece begin.
    fn bits(&self, number: usize, encoded: usize) -> Range<usize> {
        let begin = |number| encoded * number / self.pieces * 8;
        begin(number)..begin(number + 1)
    }
}

/// Decodes raw Deflate data that fills `dst` exactly; returns the bytes consumed and the Adler-32 of the output, or
/// `None`, also if stopped.
pub(super) fn inflate(
    src: &[u8],
    dst: &mut [u8],
    division: Division,
    hands: Hands<'_>,
) -> Option<(usize, u32)> {
    let stop = hands.stop();
    let shared =
        Shared { src, division, state: Mutex::new(State::new(dst, division)), changed: Condvar::new() };
    let threads = 0..hands.threads();
    hands.share(threads, Tables::boxed, |tables, _| shared.work(tables, stop));
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let State { written, offset, expected, progress, .. } = state;
    let complete =
        progress == Progress::Complete && written.iter().map(|part| part.len).sum::<usize>() == offset;
    complete.then(|| (expected.bit.div_ceil(8), checksum(written)))
}

struct Shared<'a, 'd> {
    src: &'a [u8],
    division: Division,
    state: Mutex<State<'d>>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Decoding,
    /// All pieces have their place; some may still have to be written.
    Complete,
    Declined,
}

struct State<'d> {
    progress: Progress,
    /// Number of pieces that threads took.
    taken: usize,
    pieces: Vec<Slot>,
    /// The first piece without a place in the output, where it must begin, and the bytes before it.
    front: usize,
    expected: Position,
    before: Arc<Before>,
    /// Whether a thread must decode the first piece from there.
    again: bool,
    /// Number of pieces that were decoded a second time.
    decoded_again: usize,
    /// Output without a piece, and its offset.
    rest: &'d mut [u8],
    offset: usize,
    placed: VecDeque<Placed<'d>>,
    written: Vec<Written>,
    /// Free memory, and the number of pieces for which more may be allocated.
    spare: Vec<Symbols>,
    unallocated: usize,
}

enum Slot {
    Waiting,
    /// Without a block that could be decoded.
    Nothing,
    Decoded(Piece, Symbols),
}

/// A piece with its place in the output.
struct Placed<'d> {
    symbols: Symbols,
    before: Arc<Before>,
    offset: usize,
    dst: &'d mut [u8],
}

/// Bytes of the output, and their Adler-32.
#[derive(Debug, Clone, Copy)]
struct Written {
    offset: usize,
    len: usize,
    checksum: u32,
}

enum Task<'d> {
    /// Decode a piece from a position, or from its first block; memory is allocated if there is none.
    Decode {
        number: usize,
        begin: Option<Position>,
        symbols: Option<Symbols>,
    },
    Write(Placed<'d>),
}

impl<'d> Shared<'_, 'd> {
    /// Takes part until all pieces are written.
    fn work(&self, tables: &mut Tables, stop: &Stop) {
        let _declines = DeclinesOnPanic(self);
        while let Some(task) = self.next(stop) {
            let done = match task {
                Task::Decode { number, begin, symbols } => self.decode(number, begin, symbols, tables, stop),
                Task::Write(placed) => self.write(placed),
            };
            if done.is_none() {
                self.decline();
            }
        }
    }

    /// Returns the next task, once there is one; `None` at the end.
    fn next(&self, stop: &Stop) -> Option<Task<'d>> {
        let mut state = self.lock();
        loop {
            if stop.is_set() {
                state.progress = Progress::Declined;
                self.changed.notify_all();
            }
            if let Some(task) = state.task() {
                return Some(task);
            }
            if state.progress != Progress::Decoding {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn decode(
        &self,
        number: usize,
        begin: Option<Position>,
        symbols: Option<Symbols>,
        tables: &mut Tables,
        stop: &Stop,
    ) -> Option<()> {
        let mut symbols = match symbols {
            Some(symbols) => symbols,
            None => Symbols::for_pieces_of(self.division.most).ok()?,
        };
        let bits = self.division.bits(number, self.src.len());
        let piece = match begin {
            // Data that is known to begin here is invalid if it cannot be decoded.
            Some(begin) => Some(Piece::decode(self.src, begin, &bits, &mut symbols, tables)?),
            None => Piece::find(self.src, &bits, &mut symbols, tables, stop),
        };
        let mut state = self.lock();
        match piece {
            Some(piece) if number >= state.front => {
                *state.pieces.get_mut(number)? = Slot::Decoded(piece, symbols)
            }
            found => {
                state.spare.push(symbols);
                if found.is_none() {
                    *state.pieces.get_mut(number)? = Slot::Nothing;
                }
            }
        }
        state.place(&self.division, self.src.len())?;
        self.changed.notify_all();
        Some(())
    }

    fn write(&self, placed: Placed<'d>) -> Option<()> {
        let Placed { symbols, before, offset, dst } = placed;
        before.place(&symbols, dst)?;
        let written = Written { offset, len: dst.len(), checksum: adler32(dst) };
        let mut state = self.lock();
        state.written.push(written);
        state.spare.push(symbols);
        self.changed.notify_all();
        Some(())
    }

    fn decline(&self) {
        self.lock().progress = Progress::Declined;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<'d>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the other threads end if one panics.
struct DeclinesOnPanic<'s, 'a, 'd>(&'s Shared<'a, 'd>);

impl Drop for DeclinesOnPanic<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.decline();
        }
    }
}

impl<'d> State<'d> {
    fn new(dst: &'d mut [u8], division: Division) -> Self {
        Self {
            progress: Progress::Decoding,
            taken: 0,
            pieces: (0..division.pieces).map(|_| Slot::Waiting).collect(),
            front: 0,
            expected: Position::of_block(0),
            before: Arc::new(Before::nothing()),
            again: false,
            decoded_again: 0,
            rest: dst,
            offset: 0,
            placed: VecDeque::new(),
            written: Vec::new(),
            spare: Vec::new(),
            unallocated: division.at_once,
        }
    }

    /// Returns work that can be done now: first what frees memory, then what other pieces wait for.
    fn task(&mut self) -> Option<Task<'d>> {
        if self.progress == Progress::Declined {
            return None;
        }
        if let Some(placed) = self.placed.pop_front() {
            return Some(Task::Write(placed));
        }
        let begins = self.again || self.taken == 0;
        if self.progress == Progress::Complete || (!begins && self.taken.max(self.front) >= self.pieces.len())
        {
            return None;
        }
        let symbols = self.spare.pop();
        if symbols.is_none() {
            self.unallocated = self.unallocated.checked_sub(1)?;
        }
        if begins {
            self.taken = self.taken.max(self.front + 1);
            self.again = false;
            return Some(Task::Decode { number: self.front, begin: Some(self.expected), symbols });
        }
        let number = self.taken.max(self.front);
        self.taken = number + 1;
        Some(Task::Decode { number, begin: None, symbols })
    }

    /// Gives the decoded pieces at the front their places; `None` if the stream is declined.
    fn place(&mut self, division: &Division, encoded: usize) -> Option<()> {
        while self.progress == Progress::Decoding
            && let Some(slot) = self.pieces.get_mut(self.front)
        {
            let slot = std::mem::replace(slot, Slot::Waiting);
            if self.expected.is_block() && self.expected.bit >= division.bits(self.front, encoded).end {
                // The block before reaches beyond this piece. A thread may still search it.
                if let Slot::Decoded(_, symbols) = slot {
                    self.spare.push(symbols);
                }
                self.front += 1;
                continue;
            }
            match slot {
                Slot::Waiting => break,
                Slot::Decoded(piece, symbols) if piece.begin == self.expected => {
                    let rest = std::mem::take(&mut self.rest);
                    let (dst, rest) = rest.split_at_mut_checked(piece.len)?;
                    let after = Arc::new(self.before.after(&piece, &symbols));
                    let before = std::mem::replace(&mut self.before, after);
                    self.placed.push_back(Placed { symbols, before, offset: self.offset, dst });
                    (self.rest, self.offset) = (rest, self.offset + piece.len);
                    self.expected = piece.end;
                    if piece.last {
                        self.progress = Progress::Complete;
                        return self.rest.is_empty().then_some(());
                    }
                    if !piece.end.is_block() || piece.end.bit < division.bits(self.front, encoded).end {
                        self.again = true;
                        break;
                    }
                    self.front += 1;
                }
                other => {
                    if let Slot::Decoded(_, symbols) = other {
                        self.spare.push(symbols);
                    }
                    self.decoded_again += 1;
                    if self.decoded_again > 2 + self.front / MOST_AGAIN {
                        return None;
                    }
                    self.again = true;
                    break;
                }
            }
        }
        // Every stream ends with a last block.
        (self.front < self.pieces.len()).then_some(())
    }
}

/// Returns the Adler-32 of consecutive parts.
fn checksum(mut parts: Vec<Written>) -> u32 {
    const MODULUS: u64 = 65_521;
    parts.sort_unstable_by_key(|part| part.offset);
    let (mut low, mut high) = (1, 0);
    for Written { len, checksum, .. } in parts {
        let (own_low, own_high) = (u64::from(checksum & 0xFFFF), u64::from(checksum >> 16));
        // A part alone begins with 1; here it begins with `low`, which every byte adds to the upper sum.
        high = (high + own_high + (len as u64 % MODULUS) * (low + MODULUS - 1)) % MODULUS;
        low = (low + own_low + MODULUS - 1) % MODULUS;
    }
    u32::try_from(high << 16 | low).unwrap_or_default()
}

#[cfg(test)]
mod tests;
