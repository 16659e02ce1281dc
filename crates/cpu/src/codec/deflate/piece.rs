//! A piece of a Deflate stream, decoded without the bytes before it.
//!
//! Matches may refer to the 32 KiB before the piece. A piece is decoded to 16-bit symbols: a byte, or 256 plus a
//! position in those 32 KiB. The decoder's output begins with such references, so that matches copy them like bytes.
//! Once the bytes are known, `Before::place` replaces the references.

#![expect(clippy::indexing_slicing, reason = "the table has an entry for every symbol")]
#![expect(
    clippy::cast_possible_truncation,
    reason = "symbols below 256 are bytes, and references fit 16 bits"
)]

use super::WINDOW;
use super::find_block::candidates;
use super::inflate::{Kind, MARGIN, Stream};
use super::inflate_tables::Tables;
use crate::stop::Stop;
use std::ops::Range;
use strile_engine::memory::{NoMemory, try_with_capacity};

/// Symbols below are bytes.
const BYTES: usize = 256;
/// Maximum bytes of a stored block.
const MOST_STORED: usize = 0xFFFF;

/// Cost of a try to decode, in symbols.
const TRY: usize = 1 << 10;
/// Bits per symbol of tries that `Piece::find` allows. By chance, one in 2,500 positions is tried.
const CHANCE: usize = 2;

/// A place between two symbols of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The next bit.
    pub(super) bit: usize,
    /// Bit of the block's header, for a place inside a block.
    header: Option<usize>,
}

impl Position {
    /// Returns the beginning of a block.
    pub(super) fn of_block(bit: usize) -> Self {
        Self { bit, header: None }
    }

    /// Returns whether a block begins here.
    pub(super) fn is_block(&self) -> bool {
        self.header.is_none()
    }
}

/// Memory for the symbols of a piece, after references to the bytes before it.
pub(super) struct Symbols {
    values: Vec<u16>,
    /// Maximum length of `values`.
    most: usize,
}

impl Symbols {
    /// Returns the bytes of memory for pieces of `most` bytes.
    pub(super) fn memory(most: usize) -> usize {
        2 * (WINDOW + most + MOST_STORED + MARGIN)
    }

    /// Allocates memory for pieces of at least `most` bytes.
    pub(super) fn for_pieces_of(most: usize) -> Result<Self, NoMemory> {
        let most = Self::memory(most) / 2;
        let mut values = try_with_capacity(most, "pieces of a Deflate stream")?;
        values.extend((BYTES..BYTES + WINDOW).map(|reference| reference as u16));
        Ok(Self { values, most })
    }

    /// Provides room for `more` symbols after the first `out`; returns `None` if they exceed the memory.
    fn provide(&mut self, out: usize, more: usize) -> Option<()> {
        let len = out + more;
        if len > self.values.len() {
            // In steps, so that a short piece touches little memory.
            let grown = (len + WINDOW).min(self.most);
            self.values.resize(grown, 0);
        }
        (len <= self.values.len()).then_some(())
    }

    /// Returns the symbols of a piece of `len` bytes.
    fn of_piece(&self, len: usize) -> &[u16] {
        self.values.get(WINDOW..WINDOW + len).unwrap_or_default()
    }
}

/// A decoded piece.
pub(super) struct Piece {
    pub(super) begin: Position,
    /// Where the next piece begins; inside a block if the memory did not suffice for more.
    pub(super) end: Position,
    /// Whether the stream ends with this piece.
    pub(super) last: bool,
    /// Decoded bytes.
    pub(super) len: usize,
}

impl Piece {
    /// Decodes the blocks that begin in `bits`, from `begin` on, or as many symbols as fit; `None` for invalid data.
    pub(super) fn decode(
        src: &[u8],
        begin: Position,
        bits: &Range<usize>,
        symbols: &mut Symbols,
        tables: &mut Tables,
    ) -> Option<Self> {
        let mut stream = Stream::at_bit(src, begin.header.unwrap_or(begin.bit), WINDOW)?;
        Self::follow(src, &mut stream, begin, bits, symbols, tables)
    }

    /// Decodes from `begin`, with the stream at the header of its block.
    fn follow<'a>(
        src: &'a [u8],
        stream: &mut Stream<'a>,
        begin: Position,
        bits: &Range<usize>,
        symbols: &mut Symbols,
        tables: &mut Tables,
    ) -> Option<Self> {
        let mut inside = begin.header.map(|_| begin.bit);
        let ended = |end, last, out| Some(Self { begin, end, last, len: out - WINDOW });
        loop {
            let start = stream.bit();
            if symbols.provide(stream.out, MOST_STORED + MARGIN).is_none() {
                return ended(Position::of_block(start), false, stream.out);
            }
            let header = stream.header(tables, |_| true)?;
            if let Some(bit) = inside.take() {
                *stream = Stream::at_bit(src, bit, stream.out)?;
            }
            match header.kind {
                Kind::Stored => stream.copy_stored(&mut symbols.values)?,
                Kind::Fixed | Kind::Dynamic => {
                    while !stream.symbol(&mut symbols.values, tables)? {
                        stream.fast(&mut symbols.values, tables);
                        // `symbol` and `fast` together need at most twice the margin.
                        if symbols.provide(stream.out, 2 * MARGIN).is_none() {
                            let end = Position { bit: stream.bit(), header: Some(start) };
                            return ended(end, false, stream.out);
                        }
                    }
                }
            }
            if header.last || stream.bit() >= bits.end {
                return ended(Position::of_block(stream.bit()), header.last, stream.out);
            }
        }
    }

    /// Finds the first block that begins in `bits` and decodes from it on. Gives up on data that resembles blocks in too
    /// many places.
    pub(super) fn find(
        src: &[u8],
        bits: &Range<usize>,
        symbols: &mut Symbols,
        tables: &mut Tables,
        stop: &Stop,
    ) -> Option<Self> {
        let mut left = symbols.most + bits.len() / CHANCE;
        for bit in candidates(src, bits.start, bits.end) {
            let (begin, mut stream) = (Position::of_block(bit), Stream::at_bit(src, bit, WINDOW)?);
            if let Some(piece) = Self::follow(src, &mut stream, begin, bits, symbols, tables) {
                return Some(piece);
            }
            left = left.checked_sub(TRY + stream.out - WINDOW)?;
            if stop.is_set() {
                break;
            }
        }
        None
    }
}

/// The bytes before a piece, and the byte of each symbol.
pub(super) struct Before {
    /// Bytes below 256 stand for themselves; references follow.
    bytes: Box<[u8; BYTES + WINDOW]>,
    /// Number of known bytes before the piece, at most those that a match reaches.
    known: usize,
}

impl Before {
    /// Returns the beginning of a stream.
    pub(super) fn nothing() -> Self {
        let mut bytes = Box::new([0; BYTES + WINDOW]);
        (0..=u8::MAX).zip(bytes.iter_mut()).for_each(|(byte, to)| *to = byte);
        Self { bytes, known: 0 }
    }

    /// Returns the bytes before the next piece; the symbols are those of `piece`.
    pub(super) fn after(&self, piece: &Piece, symbols: &Symbols) -> Self {
        let mut bytes = self.bytes.clone();
        let len = piece.len.min(WINDOW);
        bytes.copy_within(BYTES + len.., BYTES);
        let symbols = symbols.of_piece(piece.len);
        self.resolve(&symbols[symbols.len() - len..], &mut bytes[BYTES + WINDOW - len..]);
        Self { bytes, known: (self.known + piece.len).min(WINDOW) }
    }

    /// Writes the bytes of a piece of `dst.len()` bytes; `None` if it refers to bytes before the stream.
    pub(super) fn place(&self, symbols: &Symbols, dst: &mut [u8]) -> Option<()> {
        let symbols = symbols.of_piece(dst.len());
        let unknown = BYTES as u16..(BYTES + WINDOW - self.known) as u16;
        if self.known < WINDOW && symbols.iter().any(|symbol| unknown.contains(symbol)) {
            return None;
        }
        self.resolve(symbols, dst);
        Some(())
    }

    fn resolve(&self, symbols: &[u16], dst: &mut [u8]) {
        const GROUP: usize = 32;
        for (to, from) in dst.chunks_mut(GROUP).zip(symbols.chunks(GROUP)) {
            if from.iter().fold(0, |all, symbol| all | symbol) < BYTES as u16 {
                to.iter_mut().zip(from).for_each(|(to, &symbol)| *to = symbol as u8);
            } else {
                to.iter_mut().zip(from).for_each(|(to, &symbol)| *to = self.bytes[usize::from(symbol)]);
            }
        }
    }
}
