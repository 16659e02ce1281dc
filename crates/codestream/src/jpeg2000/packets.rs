//! Packets of a tile (ISO 15444-1, B.9 and B.10): parses their headers, and records the bytes of each code-block in
//! each packet.
//!
//! The state of a precinct is created at its first nonempty packet, in memory that is counted.

use super::Style;
use super::geometry::{BandPlace, Resolution};
use super::header_bits::{HeaderBits, Wrong};
use super::memory::Memory;
use super::segments::{Contribution, NONE, Passes};
use super::tag_tree::{Node, TagTree};

const SOP: [u8; 2] = [0xFF, 0x91];
/// Bytes of a SOP marker with its segment.
const SOP_LEN: usize = 6;
const EPH: [u8; 2] = [0xFF, 0x92];
/// Maximum bit planes of code-blocks: in half units, their coefficients fill 32 bits with a sign.
const MOST_PLANES: u8 = 30;

/// A code-block whose precinct was encountered; those of a precinct and band are stored row by row.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockState {
    pub(super) passes: Passes,
    /// Number of bit planes that are all 0.
    pub(super) zero_planes: u8,
    /// Its first and last contribution, or `NONE`.
    pub(super) first: u32,
    pub(super) last: u32,
}

/// The code-blocks of a band in a precinct: a range of the tile's.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrecinctBand {
    pub(super) first: usize,
    wide: u32,
    high: u32,
    inclusion: TagTree,
    zero_planes: TagTree,
}

impl PrecinctBand {
    pub(super) fn blocks(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.wide as usize * self.high as usize
    }

    /// Returns the column and row of each of them.
    pub(super) fn cells(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let wide = self.wide;
        (0..self.high).flat_map(move |row| (0..wide).map(move |column| (column, row)))
    }
}

/// Positions of a tile's packets, and the reading position.
pub(super) struct Source<'a> {
    pub(super) codestream: &'a [u8],
    /// Remaining tile-parts; the first is being read.
    pub(super) parts: &'a [std::ops::Range<usize>],
    /// The next byte in the codestream.
    pub(super) at: usize,
    /// Remaining packed packet headers, if headers do not lie in the packets.
    pub(super) headers: Option<&'a [u8]>,
    pub(super) sop: bool,
    pub(super) eph: bool,
}

impl<'a> Source<'a> {
    /// Returns the bytes from here to the end of the tile-part; advances to the next part at the end of this one.
    fn rest(&mut self) -> &'a [u8] {
        while let [part, after @ ..] = self.parts {
            if self.at < part.end {
                return self.codestream.get(self.at..part.end).unwrap_or_default();
            }
            let Some(next) = after.first() else { break };
            self.parts = after;
            self.at = next.start;
        }
        &[]
    }
}

/// Code-blocks of a tile and the contents of its packets.
#[derive(Debug)]
pub(super) struct TileState {
    pub(super) blocks: Vec<BlockState>,
    pub(super) bands: Vec<PrecinctBand>,
    pub(super) contributions: Vec<Contribution>,
    nodes: Vec<Node>,
    /// Memory account of all of these.
    pub(super) memory: Memory,
    /// Number of visits of code-blocks by packets.
    visits: u64,
}

/// Visits of code-blocks that any stream may take, and those that each of its code-blocks adds: a packet of one byte
/// visits all code-blocks of its precinct, so a short stream of many layers could keep a thread busy for hours.
const VISITS: u64 = 1 << 24;
const VISITS_EACH: u64 = 64;

impl TileState {
    /// Returns an empty state.
    pub(super) fn new(memory: Memory) -> Self {
        Self {
            blocks: Vec::new(),
            bands: Vec::new(),
            contributions: Vec::new(),
            nodes: Vec::new(),
            memory,
            visits: 0,
        }
    }

    /// Reads the next packet, which belongs to a precinct. `first_band` is the precinct's index in `bands`, `NONE`
    /// until it has one.
    pub(super) fn packet(
        &mut self,
        source: &mut Source<'_>,
        resolution: &Resolution,
        precinct: u32,
        style: Style,
        layer: u16,
        first_band: &mut u32,
    ) -> Result<(), Wrong> {
        if source.sop && source.rest().starts_with(&SOP) {
            let rest = source.rest();
            if rest.len() < SOP_LEN {
                return Err(Wrong::Ended);
            }
            source.at += SOP_LEN;
        }
        let first_own = self.contributions.len();
        let moved = source.headers;
        let bytes = match moved {
            Some(headers) => headers,
            None => source.rest(),
        };
        let mut bits = HeaderBits::new(bytes);
        if bits.bit()? {
            if *first_band == NONE {
                *first_band = self.precinct(resolution, precinct)?;
            }
            for (index, band) in (*first_band as usize..).zip(&resolution.bands) {
                self.header(&mut bits, (index, band), style, layer, resolution.kept)?;
            }
        }
        let mut len = bits.end()?;
        let after = bytes.get(len..).unwrap_or_default();
        if source.eph && after.starts_with(&EPH) {
            len += EPH.len();
        }
        match moved {
            Some(headers) => source.headers = headers.get(len..),
            None => source.at += len,
        }
        self.bodies(source, first_own)?;
        if !resolution.kept {
            self.contributions.truncate(first_own);
        }
        Ok(())
    }

    /// Creates the code-blocks of a precinct.
    fn precinct(&mut self, resolution: &Resolution, precinct: u32) -> Result<u32, Wrong> {
        let too_many = Wrong::Unsupported("more code-blocks than 32 bits count");
        let first_band = u32::try_from(self.bands.len()).ok().filter(|&first| first != NONE);
        let Self { blocks, bands, nodes, memory, .. } = self;
        memory.reserve(bands, resolution.bands.len())?;
        for band in &resolution.bands {
            let grid = resolution.grid(precinct, band);
            let (wide, high) = (grid.wide, grid.high);
            let count = usize::try_from(u64::from(wide) * u64::from(high)).map_err(|_| too_many)?;
            memory.reserve(blocks, count)?;
            let inclusion = TagTree::new(nodes, memory, (wide, high))?;
            let zero_planes = TagTree::new(nodes, memory, (wide, high))?;
            let first = blocks.len();
            bands.push(PrecinctBand { first, wide, high, inclusion, zero_planes });
            let fresh = BlockState { passes: Passes::default(), zero_planes: 0, first: NONE, last: NONE };
            blocks.resize(first + count, fresh);
        }
        first_band.ok_or(too_many)
    }

    /// Reads the part of a header about the code-blocks of a band, and records their contributions in the packet, in
    /// order.
    fn header(
        &mut self,
        bits: &mut HeaderBits<'_>,
        (precinct_band, band): (usize, &BandPlace),
        style: Style,
        layer: u16,
        kept: bool,
    ) -> Result<(), Wrong> {
        let Some(&own) = self.bands.get(precinct_band) else { return Ok(()) };
        self.visits = self.visits.saturating_add(own.blocks().len() as u64);
        if self.visits > VISITS.max(VISITS_EACH.saturating_mul(self.blocks.len() as u64)) {
            return Err(Wrong::Unsupported("more layers than its code-blocks account for"));
        }
        let Self { blocks, contributions, nodes, memory, .. } = self;
        let blocks = blocks.get_mut(own.blocks()).unwrap_or_default();
        for (block, place) in blocks.iter_mut().zip(own.cells()) {
            let fresh = !block.passes.begun();
            let included = match fresh {
                true => own.inclusion.value(nodes, bits, place, layer.saturating_add(1))?.is_some(),
                false => bits.bit()?,
            };
            if !included {
                continue;
            }
            if fresh {
                let zero = own.zero_planes.value(nodes, bits, place, band.planes.into())?;
                let zero = zero.and_then(|zero| u8::try_from(zero).ok());
                block.zero_planes = zero.ok_or(Wrong::Corrupt("a code-block without bit planes"))?;
            }
            let BlockState { passes, first, last, .. } = block;
            let placeholders = passes.read(bits, style, |contribution| {
                let many = |_| Wrong::Unsupported("more pieces than 32 bits count");
                let next = u32::try_from(contributions.len()).map_err(many)?;
                memory.reserve(contributions, 1)?;
                contributions.push(contribution);
                if kept {
                    match contributions.get_mut(*last as usize) {
                        Some(last) => last.next = next,
                        None => *first = next,
                    }
                    *last = next;
                }
                Ok(())
            })?;
            block.zero_planes += placeholders;
            let planes = band.planes.saturating_sub(block.zero_planes);
            // A high-throughput cleanup pass may extend into the planes above its own.
            if (if style.high_throughput { band.planes } else { planes }) > MOST_PLANES {
                return Err(Wrong::Unsupported("a code-block of more than 30 bit planes"));
            }
            if i32::from(block.passes.count()) > 3 * i32::from(planes) - 2 {
                return Err(Wrong::Corrupt("more coding passes than bit planes have"));
            }
        }
        Ok(())
    }

    /// Assigns the bytes after the header to the recorded contributions, from `first` on.
    fn bodies(&mut self, source: &mut Source<'_>, first: usize) -> Result<(), Wrong> {
        for contribution in self.contributions.iter_mut().skip(first) {
            if contribution.len as usize > source.rest().len() {
                return Err(Wrong::Ended);
            }
            contribution.offset = u32::try_from(source.at).map_err(|_| Wrong::Ended)?;
            source.at += contribution.len as usize;
        }
        Ok(())
    }
}
