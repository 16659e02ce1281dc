//! Compression 5, LZW (TIFF 6.0, section 13), and its older form with reversed bit order.
//!
//! A code stands for a string, and every string except single bytes already exists in the output: the entry that a code
//! adds is the string of the previous code plus the byte that followed it, which are adjacent there. So an entry is a
//! position and a length, together with the first eight bytes: most strings are written by one store from the table,
//! without reading the output, and longer ones are copied in pieces of sixteen bytes.
//!
//! Two loops share one state. The fast one enters a step only if eight bytes of input and room for a rounded-up string
//! are left, and leaves all special cases (Clear, end, errors) to `step`, which processes exactly one code.
//!
//! Special cases, from libtiff and from real files: no end code at the end of the data; bytes after the end code; a
//! table left full without Clear (no more strings are added); a last strip holding all its rows; one extra byte before
//! the end code, as Photoshop 7 writes. Once the block is full, the rest is only measured: it is a surplus if it
//! continues to a valid end code, otherwise padding.

pub(super) mod encode;

use super::workspace::most_output;
use super::{StoredBlock, Workspace};
use crate::stop::{LOOKS_EVERY, Looks};
use strile_engine::BlockFault;

const CLEAR: usize = 256;
const END: usize = 257;
const FIRST: usize = 258;
const MOST_CODES: usize = 4096;
const LEAST_WIDTH: u32 = 9;
const MOST_WIDTH: u32 = 12;
/// Bytes that Photoshop 7 appends to every strip.
const PHOTOSHOP_SURPLUS: usize = 1;
/// Bytes of a string stored in its entry.
const HEAD: usize = 8;
/// Bytes copied at a time.
const PIECE: usize = 16;

/// A string: its first bytes (the rest 0), and its output position above its length of 16 bits.
#[derive(Clone, Copy, Default)]
struct Entry {
    head: u64,
    place: u64,
}

impl Entry {
    #[inline(always)]
    fn len(self) -> usize {
        (self.place & 0xFFFF) as usize
    }

    #[inline(always)]
    fn start(self) -> usize {
        (self.place >> 16) as usize
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.head & 0xFF
    }

    /// Returns the same string at the position where it was last written.
    #[inline(always)]
    fn at(self, start: usize) -> Self {
        Self { head: self.head, place: (start as u64) << 16 | self.place & 0xFFFF }
    }

    /// Returns the string extended by a byte. Strings have fewer than 4096 bytes, so the length never carries.
    #[inline(always)]
    fn and(self, byte: u64) -> Self {
        let len = self.len();
        let shifted = if len < HEAD { byte << (8 * len) } else { 0 };
        Self { head: self.head | shifted, place: self.place + 1 }
    }
}

/// Strings of all codes; one extra slot receives additions to a full table.
pub(super) struct Table {
    entries: [Entry; MOST_CODES + 1],
}

impl Table {
    pub(super) fn boxed() -> Box<Self> {
        let mut table = Box::new(Self { entries: [Entry::default(); MOST_CODES + 1] });
        for (byte, entry) in (0..CLEAR as u64).zip(&mut table.entries) {
            *entry = Entry { head: byte, place: 1 };
        }
        table
    }
}

/// Position of the decoder.
struct State {
    /// Bits of input taken.
    bit: usize,
    /// Bytes of output, including those past its end.
    filled: usize,
    width: u32,
    /// Next code to add.
    next: usize,
    /// Value of `next` at which codes become wider.
    wider_at: usize,
    /// Previous string, with length 0 after Clear.
    previous: Entry,
}

impl State {
    fn clear(&mut self, old: bool) {
        self.width = LEAST_WIDTH;
        self.next = FIRST;
        self.wider_at = wider_at(LEAST_WIDTH, old);
        self.previous = Entry::default();
    }
}

/// Returns the value of `next` at which codes become wider. TIFF widens codes one code early; the older form does not.
#[inline(always)]
fn wider_at(width: u32, old: bool) -> usize {
    if width >= MOST_WIDTH { usize::MAX } else { (1 << width) - usize::from(!old) }
}

/// Result of one code.
enum Step {
    String,
    End,
    OutOfInput,
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let most = most_output(dst.len(), block).max(dst.len() + PHOTOSHOP_SURPLUS);
    let stop = workspace.crew.stop().clone();
    let mut looks = Looks::new(&stop);
    let table = workspace.lzw();
    // The old form begins with a Clear from the lowest bit; libtiff distinguishes the forms in this way too.
    let old = matches!(src, [0, second, ..] if second & 1 == 1);
    if !old && src.first().is_some_and(|&first| first != 0x80) {
        return Err(BlockFault::corrupt("LZW data does not begin with a Clear code"));
    }
    let mut state = State { bit: 0, filled: 0, width: 0, next: 0, wider_at: 0, previous: Entry::default() };
    state.clear(old);
    while state.filled < dst.len() {
        looks.after(state.filled)?;
        if !old && state.previous.len() > 0 {
            // Decode in portions: a full table that is never cleared would keep the loop running to the end.
            let end = state.filled.saturating_add(LOOKS_EVERY).min(dst.len());
            decode_fast(src, dst.get_mut(..end).unwrap_or_default(), table, &mut state);
        }
        match step(src, dst, table, &mut state, old)? {
            Step::String => {}
            Step::End if state.filled < dst.len() => return Err(BlockFault::short(state.filled, dst.len())),
            Step::OutOfInput if state.filled < dst.len() => {
                return Err(BlockFault::truncated(state.filled, dst.len()));
            }
            Step::End | Step::OutOfInput => break,
        }
    }
    if state.filled > most {
        return Err(BlockFault::surplus(state.filled, dst.len()));
    }
    // An invalid code after a full block is padding, like the end of the data without an end code.
    while let Ok(what) = step(src, dst, table, &mut state, old) {
        match what {
            Step::String => {}
            Step::OutOfInput => break,
            Step::End if state.filled > most => return Err(BlockFault::surplus(state.filled, dst.len())),
            Step::End => break,
        }
    }
    Ok(())
}

/// Decodes codes while they are strings that fit. Requires a previous string.
#[expect(clippy::cast_possible_truncation, reason = "a code has at most 12 bits")]
fn decode_fast(src: &[u8], dst: &mut [u8], table: &mut Table, state: &mut State) {
    let entries = &mut table.entries;
    let (mut bit, mut filled, mut width) = (state.bit, state.filled, state.width);
    let (mut next, mut wider, mut previous) = (state.next, state.wider_at, state.previous);
    while let Some(bytes) = src.get(bit >> 3..).and_then(|rest| rest.first_chunk::<8>()) {
        let bits = u64::from_be_bytes(*bytes) << (bit & 7);
        // At most 12 bits, so the mask changes nothing but proves that the index is in the table.
        let code = usize::from((bits >> (64 - width)) as u16) & (MOST_CODES - 1);
        let string = match code.cmp(&next) {
            std::cmp::Ordering::Less => match entries.get(code) {
                Some(&entry) => entry,
                None => break,
            },
            std::cmp::Ordering::Equal => previous.and(previous.first()),
            std::cmp::Ordering::Greater => break,
        };
        let len = string.len();
        if len == 0 {
            break;
        }
        let Some(head) = dst.get_mut(filled..).and_then(|rest| rest.first_chunk_mut::<HEAD>()) else { break };
        *head = string.head.to_le_bytes();
        if len > HEAD {
            let end = filled + len;
            if end + PIECE > dst.len() {
                break;
            }
            // The string may end with the byte at `filled`, which was written above; it never extends further.
            let (mut from, mut to) = (string.start() + HEAD, filled + HEAD);
            while to < end {
                dst.copy_within(from..from + PIECE, to);
                from += PIECE;
                to += PIECE;
            }
        }
        bit += width as usize;
        if let Some(entry) = entries.get_mut(next) {
            *entry = previous.and(string.first());
        }
        next = MOST_CODES.min(next + 1);
        if next >= wider {
            width += 1;
            wider = wider_at(width, false);
        }
        previous = string.at(filled);
        filled += len;
    }
    *state = State { bit, filled, width, next, wider_at: wider, previous };
}

/// Decodes one code of any kind. Output past the end of `dst` is counted, not written.
fn step(
    src: &[u8],
    dst: &mut [u8],
    table: &mut Table,
    state: &mut State,
    old: bool,
) -> Result<Step, BlockFault> {
    let Some(code) = code_at(src, state.bit, state.width, old) else { return Ok(Step::OutOfInput) };
    let string = match table.entries.get(code) {
        _ if code == END => return Ok(Step::End),
        _ if code == CLEAR => {
            state.bit += state.width as usize;
            state.clear(old);
            return Ok(Step::String);
        }
        Some(&entry) if code < CLEAR || (code < state.next && state.previous.len() > 0) => entry,
        Some(_) if code == state.next && state.previous.len() > 0 => {
            state.previous.and(state.previous.first())
        }
        _ => {
            let known = if state.previous.len() > 0 { state.next } else { CLEAR };
            return Err(BlockFault::corrupt(format!(
                "LZW code {code} at bit {} where the table has {known} codes",
                state.bit
            )));
        }
    };
    write(dst, string, state.filled);
    state.bit += state.width as usize;
    if state.previous.len() > 0 {
        if let Some(entry) = table.entries.get_mut(state.next) {
            *entry = state.previous.and(string.first());
        }
        state.next = MOST_CODES.min(state.next + 1);
        if state.next >= state.wider_at {
            state.width += 1;
            state.wider_at = wider_at(state.width, old);
        }
    }
    state.previous = string.at(state.filled);
    state.filled += string.len();
    Ok(Step::String)
}

/// Writes a string at `to`, clipped to `dst`.
fn write(dst: &mut [u8], string: Entry, to: usize) {
    let Some(out) = dst.get_mut(to..) else { return };
    for (byte, out) in string.head.to_le_bytes().into_iter().take(string.len()).zip(out) {
        *out = byte;
    }
    for i in HEAD..string.len() {
        let Some(&byte) = dst.get(string.start() + i) else { return };
        let Some(out) = dst.get_mut(to + i) else { return };
        *out = byte;
    }
}

/// Returns the code of `width` bits at `bit`, or `None` if it extends past the data.
fn code_at(src: &[u8], bit: usize, width: u32, old: bool) -> Option<usize> {
    let byte = |i: usize| src.get((bit >> 3) + i).map_or(0, |&b| usize::from(b));
    // Seven bits to skip and twelve to take lie within three bytes.
    if src.len().saturating_mul(8) < bit + width as usize {
        return None;
    }
    let skip = bit & 7;
    let bits = if old {
        (byte(0) | byte(1) << 8 | byte(2) << 16) >> skip
    } else {
        (byte(0) << 16 | byte(1) << 8 | byte(2)) >> (24 - width as usize - skip)
    };
    Some(bits & ((1 << width) - 1))
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests;
