//! Tables of a picture for kernels, made when it is parsed, with positions relative to the picture's own memory. A
//! batch only adds addresses to them.

use super::abi::{
    Block, CAUSAL, Level, Plane, RESET, REVERSIBLE, SEGMENTATION, Segment, Tile, ht_state_len, state_len,
};
use strile_codestream::jpeg2000::{CodeBlock, Codestream, Colour, Piece, Rect, Style};
use strile_engine::{BlockFault, BlockLayout, FaultKind};

/// Alignment of planes.
const PLANE: u64 = 256;
/// Code-blocks are sorted by length in steps of this many bytes.
const SORT_STEP: u32 = 16;
/// Number of distinct ranks.
pub(super) const RANKS: usize = 2048;

/// Code-blocks of one coding method.
#[derive(Debug, Default)]
pub(super) struct Coded {
    pub(super) segments: Vec<Segment>,
    pub(super) blocks: Vec<Block>,
    /// The rank of each code-block: 0 for the longest.
    pub(super) ranks: Vec<u16>,
}

/// The tables of a parsed picture, with positions relative to its own memory.
#[derive(Debug, Default)]
pub(super) struct Template {
    pub(super) arithmetic: Coded,
    pub(super) high_throughput: Coded,
    /// Planes per wavelet level, lowest level first.
    pub(super) levels: Vec<Vec<Level>>,
    pub(super) planes: Vec<Plane>,
    pub(super) tiles: Vec<Tile>,
    /// Bytes of all planes of coefficients.
    pub(super) planes_len: u64,
    /// Bytes of the states of all code-blocks.
    pub(super) states_len: u64,
    /// The bytes of all segments, one code-block after the other.
    pub(super) pieces: Vec<Piece>,
    /// The lengths of all segments, in the same order.
    pub(super) segment_lens: Vec<u32>,
    /// Bytes of all segments in the upload.
    pub(super) bytes_len: u64,
}

/// Returns the bytes of a codeword segment in the upload: whole words, and one word of slack.
pub(super) fn segment_len(len: u32) -> u64 {
    4 * (u64::from(len).div_ceil(4) + 1)
}

/// Reserves room for items, which may fail.
pub(super) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), BlockFault> {
    list.try_reserve_exact(more).map_err(|_| BlockFault {
        kind: FaultKind::OutOfMemory,
        found: 0,
        expected: more.saturating_mul(size_of::<T>()) as u64,
        detail: "JPEG 2000 tables for the device".into(),
    })
}

fn held<T>(list: &Vec<T>) -> u64 {
    (list.capacity() as u64).saturating_mul(size_of::<T>() as u64)
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

fn take(next: &mut u64, len: u64) -> u64 {
    let at = *next;
    *next = at.saturating_add(len);
    at
}

impl Template {
    /// Returns the template of a checked codestream.
    pub(super) fn of(
        codestream: &Codestream,
        tiles: &[Rect],
        ycbcr: bool,
        layout: &BlockLayout,
        rows: u32,
    ) -> Result<Self, BlockFault> {
        let mut made = Self::default();
        made.reserve(codestream)?;
        for plane in &codestream.planes {
            made.plane(codestream, plane)?;
        }
        for block in &codestream.blocks {
            made.block(codestream, block);
        }
        made.tiles(codestream, tiles, ycbcr, layout, rows);
        Ok(made)
    }

    /// Reserves room for everything except levels.
    fn reserve(&mut self, codestream: &Codestream) -> Result<(), BlockFault> {
        let (mut blocks, mut segments) = ([0; 2], [0; 2]);
        for block in &codestream.blocks {
            let ht = usize::from(is_high_throughput(codestream, block));
            if let (Some(blocks), Some(segments)) = (blocks.get_mut(ht), segments.get_mut(ht)) {
                *blocks += 1;
                *segments += block.segments.len();
            }
        }
        for (coded, (blocks, segments)) in [&mut self.arithmetic, &mut self.high_throughput]
            .into_iter()
            .zip(blocks.into_iter().zip(segments))
        {
            reserve(&mut coded.blocks, blocks)?;
            reserve(&mut coded.ranks, blocks)?;
            reserve(&mut coded.segments, segments)?;
        }
        reserve(&mut self.planes, codestream.planes.len())?;
        reserve(&mut self.tiles, codestream.tiles.len())?;
        reserve(&mut self.pieces, codestream.pieces.len())?;
        reserve(&mut self.segment_lens, codestream.segments.len())
    }

    /// Returns the bytes of host memory it holds.
    pub(super) fn held(&self) -> u64 {
        let coded = |coded: &Coded| held(&coded.segments) + held(&coded.blocks) + held(&coded.ranks);
        coded(&self.arithmetic)
            + coded(&self.high_throughput)
            + self.levels.iter().map(held).sum::<u64>()
            + held(&self.planes)
            + held(&self.tiles)
            + held(&self.pieces)
            + held(&self.segment_lens)
    }

    fn plane(
        &mut self,
        codestream: &Codestream,
        plane: &strile_codestream::jpeg2000::Plane,
    ) -> Result<(), BlockFault> {
        let rect = plane.resolutions.last().copied().unwrap_or_default();
        let len = 4 * u64::from(rect.width()) * u64::from(rect.height());
        let at = take(&mut self.planes_len, len.next_multiple_of(PLANE));
        let reversible = plane.reversible;
        if let Some(component) = codestream.components.get(usize::from(plane.component)) {
            self.planes.push(Plane {
                plane: at,
                x0: rect.x0,
                y0: rect.y0,
                width: rect.width(),
                height: rect.height(),
                dx: u32::from(component.dx).max(1),
                dy: u32::from(component.dy).max(1),
                bits: u32::from(component.bits),
                is_signed: u16::from(component.signed),
                reversible: u16::from(reversible),
            });
        }
        for (index, resolution) in plane.resolutions.iter().skip(1).enumerate() {
            if self.levels.len() <= index {
                self.levels.push(Vec::new());
            }
            if let Some(levels) = self.levels.get_mut(index)
                && !resolution.is_empty()
            {
                if levels.len() == levels.capacity() {
                    let more = levels.len().max(codestream.components.len());
                    reserve(levels, more)?;
                }
                levels.push(Level {
                    plane: at,
                    spare: at,
                    stride: rect.width(),
                    width: resolution.width(),
                    height: resolution.height(),
                    odd_x: u8::from(resolution.x0 % 2 == 1),
                    odd_y: u8::from(resolution.y0 % 2 == 1),
                    reversible: u8::from(reversible),
                    reserved: 0,
                });
            }
        }
        Ok(())
    }

    fn block(&mut self, codestream: &Codestream, block: &CodeBlock) {
        let Some(plane) = self.planes.get(block.plane as usize) else { return };
        let style = codestream.planes.get(block.plane as usize).map_or(Style::default(), |plane| plane.style);
        let ht = style.high_throughput;
        let coded = if ht { &mut self.high_throughput } else { &mut self.arithmetic };
        let segment = count(&coded.segments);
        let range = block.segments.start as usize..block.segments.end as usize;
        let mut pass = 0;
        for found in codestream.segments.get(range).unwrap_or_default() {
            coded.segments.push(Segment {
                words: take(&mut self.bytes_len, segment_len(found.len)),
                len: found.len,
                passes: u16::from(found.passes),
                raw: u16::from(style.is_raw(pass)),
            });
            self.segment_lens.push(found.len);
            pass += u32::from(found.passes);
        }
        let range = block.pieces.start as usize..block.pieces.end as usize;
        self.pieces.extend(codestream.pieces.get(range).unwrap_or_default());
        let state = match ht {
            true => ht_state_len(block.width, block.height, block.passes),
            false => state_len(block.width, block.height, block.planes),
        };
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let row = u64::from(block.y) * u64::from(plane.width);
        let longer = (RANKS - 1).saturating_sub((block.len / SORT_STEP) as usize);
        coded.ranks.push(u16::try_from(longer).unwrap_or(0));
        coded.blocks.push(Block {
            state: take(&mut self.states_len, state),
            out: plane.plane + 4 * (row + u64::from(block.x)),
            segment,
            status: 0,
            stride: plane.width,
            scale: 0.5 * block.step,
            width: block.width,
            height: block.height,
            // High throughput has no contexts per band; its decoder needs the number of all-zero planes.
            band: if ht { block.band_planes.saturating_sub(block.planes) } else { block.band as u8 },
            planes: block.planes,
            passes: block.passes,
            flags: flag(style.reset, RESET)
                | flag(style.causal, CAUSAL)
                | flag(style.segmentation, SEGMENTATION)
                | flag(plane.reversible != 0, REVERSIBLE),
        });
    }

    fn tiles(
        &mut self,
        codestream: &Codestream,
        rects: &[Rect],
        ycbcr: bool,
        layout: &BlockLayout,
        rows: u32,
    ) {
        let area = codestream.area;
        for (tile, rect) in codestream.tiles.iter().zip(rects) {
            let (left, top) = (rect.x0.saturating_sub(area.x0), rect.y0.saturating_sub(area.y0));
            self.tiles.push(Tile {
                dst: 0,
                planes: u32::try_from(tile.planes.start).unwrap_or(0),
                samples: count(&codestream.components),
                x0: rect.x0,
                y0: rect.y0,
                width: rect.width().min(layout.width.saturating_sub(left)),
                // A strip's picture may have more rows than its block.
                height: rect.height().min(rows.saturating_sub(top)),
                left,
                top,
                row_pixels: layout.width,
                status: 0,
                colour: match tile.colour {
                    Colour::None => 0,
                    Colour::Reversible => 1,
                    Colour::Irreversible => 2,
                },
                ycbcr: u8::from(ycbcr),
                bytes: u8::try_from(layout.data_type.size()).unwrap_or(0),
                reserved: [0; 5],
            });
        }
    }

    /// Writes the bytes of the picture to the upload: its segments one after the other, in whole words.
    pub(super) fn write(&self, stream: &[u8], into: &mut [u8]) {
        let mut pieces =
            self.pieces.iter().filter_map(|p| stream.get(p.offset as usize..)?.get(..p.len as usize));
        let mut piece: &[u8] = &[];
        let mut rest = into;
        for &len in &self.segment_lens {
            let whole = usize::try_from(segment_len(len)).unwrap_or(usize::MAX);
            let Some((own, after)) = std::mem::take(&mut rest).split_at_mut_checked(whole) else { return };
            rest = after;
            let (mut to, slack) = own.split_at_mut((len as usize).min(whole));
            slack.fill(0);
            while !to.is_empty() {
                if piece.is_empty() {
                    match pieces.next() {
                        Some(next) => piece = next,
                        None => break,
                    }
                }
                let len = to.len().min(piece.len());
                let (from, left) = piece.split_at(len);
                let (filled, empty) = to.split_at_mut(len);
                filled.copy_from_slice(from);
                (piece, to) = (left, empty);
            }
            to.fill(0);
        }
        rest.fill(0);
    }
}

fn is_high_throughput(codestream: &Codestream, block: &CodeBlock) -> bool {
    codestream.planes.get(block.plane as usize).is_some_and(|plane| plane.style.high_throughput)
}
