//! Tag trees (ISO 15444-1, B.10.2): a grid of numbers, each coded as far as needed, with the minimum of each group of
//! four coded once for all of them.
//!
//! The nodes of all trees of a tile lie in one list.

use super::header_bits::{HeaderBits, Wrong};
use super::memory::Memory;

/// State of a number: it is at least `low`, and equal to it if `known`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Node {
    low: u16,
    known: bool,
}

/// A tree in a list of nodes: its leaves row by row from `first` on, then the next level, and so on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TagTree {
    first: u32,
    wide: u32,
    high: u32,
}

/// A tree of more levels would have more leaves than a precinct can have code-blocks.
const MOST_LEVELS: usize = 16;

impl TagTree {
    /// Returns the number of nodes of a tree.
    pub(super) fn nodes(wide: u32, high: u32) -> u64 {
        let (mut wide, mut high, mut nodes) = (u64::from(wide), u64::from(high), 0);
        loop {
            nodes += wide * high;
            if wide <= 1 && high <= 1 {
                return nodes;
            }
            (wide, high) = (wide.div_ceil(2), high.div_ceil(2));
        }
    }

    /// Appends an undecoded tree to the list.
    pub(super) fn new(
        nodes: &mut Vec<Node>,
        memory: &mut Memory,
        (wide, high): (u32, u32),
    ) -> Result<Self, Wrong> {
        let too_many = |_| Wrong::Unsupported("more code-blocks than 32 bits count");
        let first = u32::try_from(nodes.len()).map_err(too_many)?;
        let more = usize::try_from(Self::nodes(wide, high)).map_err(too_many)?;
        memory.reserve(nodes, more)?;
        nodes.resize(nodes.len() + more, Node::default());
        Ok(Self { first, wide, high })
    }

    /// Returns the number of a leaf if it is below `limit`; reads no more bits than needed.
    pub(super) fn value(
        &self,
        nodes: &mut [Node],
        bits: &mut HeaderBits<'_>,
        (x, y): (u32, u32),
        limit: u16,
    ) -> Result<Option<u16>, Wrong> {
        let mut path = [0_usize; MOST_LEVELS];
        let mut depth = 0;
        let (mut start, mut wide, mut high) = (self.first as usize, self.wide, self.high);
        for (level, place) in path.iter_mut().enumerate() {
            *place = start + (y >> level) as usize * wide as usize + (x >> level) as usize;
            depth = level;
            if wide <= 1 && high <= 1 {
                break;
            }
            start += wide as usize * high as usize;
            (wide, high) = (wide.div_ceil(2), high.div_ceil(2));
        }
        let mut low = 0;
        let mut known = false;
        for &place in path.iter().take(depth + 1).rev() {
            let node = nodes.get_mut(place).ok_or(Wrong::Corrupt("tag tree too deep"))?;
            node.low = node.low.max(low);
            while !node.known && node.low < limit {
                if bits.bit()? {
                    node.known = true;
                } else {
                    node.low += 1;
                }
            }
            low = node.low;
            known = node.known;
        }
        Ok((known && low < limit).then_some(low))
    }
}
