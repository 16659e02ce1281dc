//! Matches of a block and the choice among them, shared by Deflate, ZSTD and LZ4 (`portable/spec.md`, "Matches").
//!
//! A match is a function of its position alone, so positions that the choice skips are not searched. Chains are kept
//! for the window only: earlier positions are out of reach. Blocks have at most `u32::MAX` bytes.

use strile_engine::portable::{Effort, GAIN_A_BYTE, GAIN_AHEAD, KEY, KEY_BITS, LEAST, MOST, PART, WINDOW};

const KEYS: usize = 1 << KEY_BITS;

/// Distances at which a block may repeat, in addition to those from chains.
#[derive(Debug, Clone, Copy)]
pub(in crate::codec) struct Shape {
    /// Bytes of a packed row.
    pub row: usize,
    /// Bytes of a pixel, at least 1.
    pub unit: usize,
}

/// Literals and the match after them; `length` is 0 if a part ends with literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::codec) struct Step {
    pub literals: u32,
    pub length: u32,
    pub distance: u32,
}

/// A part of a block and its tokens: the steps cover all its bytes in order.
pub(in crate::codec) struct Part<'a> {
    pub bytes: &'a [u8],
    pub steps: &'a [Step],
    /// Whether this is the last part of its block.
    pub last: bool,
}

/// Tables and steps, reused between blocks.
pub(in crate::codec) struct Matches {
    /// Per key, the last position with that key plus one; 0 is none.
    last: [u32; KEYS],
    /// The distance to before(p), at index p modulo the window; 0 is none.
    before: [u16; WINDOW],
    /// Positions below this are entered into both tables.
    linked: usize,
    steps: Vec<Step>,
}

/// A search in one block, part by part.
pub(in crate::codec) struct Search<'a, 's> {
    tables: &'a mut Matches,
    src: &'s [u8],
    effort: Effort,
    shape: Shape,
    next: usize,
}

/// Best match of a position; a length of 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Match {
    length: usize,
    distance: usize,
}

const NOTHING: Match = Match { length: 0, distance: 0 };

impl Matches {
    pub(in crate::codec) fn boxed() -> Box<Self> {
        Box::new(Self { last: [0; KEYS], before: [0; WINDOW], linked: 0, steps: Vec::new() })
    }

    /// Starts a search in a block.
    pub(in crate::codec) fn search<'a, 's>(
        &'a mut self,
        src: &'s [u8],
        effort: Effort,
        shape: Shape,
    ) -> Search<'a, 's> {
        self.last = [0; KEYS];
        self.linked = 0;
        Search { tables: self, src, effort, shape, next: 0 }
    }

    /// Enters positions up to `p` into the tables.
    #[inline(always)]
    fn link(&mut self, src: &[u8], p: usize) {
        while self.linked <= p {
            let at = self.linked;
            let mut distance = 0;
            if let Some(last) = key(src, at).and_then(|key| self.last.get_mut(key)) {
                let behind = u32::try_from(at + 1).unwrap_or(u32::MAX);
                let back = behind - *last;
                if *last > 0 && back as usize <= WINDOW {
                    distance = u16::try_from(back).unwrap_or(0);
                }
                *last = behind;
            }
            if let Some(before) = self.before.get_mut(at % WINDOW) {
                *before = distance;
            }
            self.linked += 1;
        }
    }

    fn before(&self, p: usize) -> usize {
        self.before.get(p % WINDOW).copied().unwrap_or(0).into()
    }
}

impl<'s> Search<'_, 's> {
    /// Returns the next part; `None` after the last.
    pub(in crate::codec) fn next_part(&mut self) -> Option<Part<'_>> {
        let start = self.next;
        let end = self.src.len().min(start + PART);
        let bytes = self.src.get(start..end).filter(|bytes| !bytes.is_empty())?;
        self.next = end;
        self.choose(start, end);
        Some(Part { bytes, steps: &self.tables.steps, last: end == self.src.len() })
    }

    /// Chooses the steps of the positions from `start` to `end`.
    fn choose(&mut self, start: usize, end: usize) {
        self.tables.steps.clear();
        let (mut p, mut behind) = (start, start);
        let mut ahead = None;
        while p < end {
            let found = ahead.take().unwrap_or_else(|| self.find(p, end));
            if found.length > 0 && self.effort.lazy && p + 1 < end {
                ahead = Some(self.find(p + 1, end));
            }
            if found.length == 0 || ahead.is_some_and(|ahead| ahead.is_better(found)) {
                p += 1;
                continue;
            }
            self.step(p - behind, found);
            p += found.length;
            behind = p;
            ahead = None;
        }
        if behind < end {
            self.step(end - behind, NOTHING);
        }
    }

    fn step(&mut self, literals: usize, found: Match) {
        let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let (length, distance) = (narrow(found.length), narrow(found.distance));
        self.tables.steps.push(Step { literals: narrow(literals), length, distance });
    }

    /// Returns the match of a position of the part that ends at `end`.
    fn find(&mut self, p: usize, end: usize) -> Match {
        let most = MOST.min(end - p);
        if most < LEAST {
            return NOTHING;
        }
        let probed = word(self.src, p);
        let mut best =
            Best { src: self.src, p, most, nice: self.effort.nice as usize, found: NOTHING, probed };
        if self.effort.depth == 0 {
            if !best.wants(1) {
                best.wants(self.shape.unit);
            }
        } else {
            self.tables.link(self.src, p);
            if !self.chain(&mut best) {
                best.wants(self.shape.row);
            }
        }
        best.found
    }

    /// Tries the candidates of the chain; returns whether the search is over.
    #[inline(always)]
    fn chain(&self, best: &mut Best<'s>) -> bool {
        let mut distance = 0;
        for _ in 0..self.effort.depth {
            let step = self.tables.before(best.p - distance);
            distance += step;
            if step == 0 || distance > WINDOW {
                break;
            }
            if best.tries(distance) {
                return true;
            }
        }
        false
    }
}

impl Match {
    /// Returns whether this match is so much better that it replaces `than`, that of the position before.
    fn is_better(self, than: Match) -> bool {
        let worth = |found: Match| found.length * GAIN_A_BYTE as usize;
        let bits = |found: Match| (usize::BITS - found.distance.leading_zeros()) as usize;
        self.length > 0 && worth(self) + bits(than) > worth(than) + bits(self) + GAIN_AHEAD as usize
    }
}

/// Best match so far of a position that has `most` bytes to match.
struct Best<'s> {
    src: &'s [u8],
    p: usize,
    most: usize,
    nice: usize,
    found: Match,
    /// Last four bytes of a match longer by one byte: any better match contains them.
    probed: Option<u32>,
}

impl Best<'_> {
    /// Tries a distance that may be out of reach; returns whether the search is over.
    fn wants(&mut self, distance: usize) -> bool {
        (1..=WINDOW.min(self.p)).contains(&distance) && self.tries(distance)
    }

    /// Tries a distance; returns whether the search is over.
    #[inline(always)]
    fn tries(&mut self, distance: usize) -> bool {
        let least = self.found.length.max(LEAST - 1) + 1;
        if word(self.src, self.p - distance + least - LEAST) != self.probed {
            return false;
        }
        let agreed = agreed(self.src, self.p, distance, self.most);
        if agreed >= least {
            self.found = Match { length: agreed, distance };
            self.probed = word(self.src, self.p + agreed + 1 - LEAST);
        }
        self.found.length >= self.nice.min(self.most)
    }
}

/// Returns the four bytes from a position on.
#[inline(always)]
fn word(src: &[u8], p: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*src.get(p..)?.first_chunk()?))
}

/// Returns the key of a position, if it has one.
#[inline(always)]
fn key(src: &[u8], p: usize) -> Option<usize> {
    let &[a, b, c, d, e] = src.get(p..)?.first_chunk::<KEY>()?;
    let first = u32::from_le_bytes([a, b, c, d]).wrapping_mul(0x9E37_79B1);
    let product = first.wrapping_add(u32::from(e).wrapping_mul(0x85EB_CA77));
    Some((product >> (u32::BITS - KEY_BITS)) as usize)
}

/// Returns how many of the `most` bytes from `p` on equal those `distance` before them.
#[inline(always)]
fn agreed(src: &[u8], p: usize, distance: usize, most: usize) -> usize {
    let here = src.get(p..p + most).unwrap_or_default();
    let there = src.get(p - distance..p - distance + most).unwrap_or_default();
    let ((here, here_rest), (there, there_rest)) = (here.as_chunks::<8>(), there.as_chunks::<8>());
    for (at, (left, right)) in here.iter().zip(there).enumerate() {
        let differ = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if differ != 0 {
            return at * 8 + (differ.trailing_zeros() / 8) as usize;
        }
    }
    let rest = here_rest.iter().zip(there_rest).take_while(|(left, right)| left == right).count();
    here.len() * 8 + rest
}

#[cfg(test)]
mod tests;
