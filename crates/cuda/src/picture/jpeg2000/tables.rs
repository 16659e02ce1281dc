//! The tables of a batch: what its pictures are to the kernels, and where they lie.

use super::super::Placed;
use super::abi::{Block, CAUSAL, Level, Plane, RESET, REVERSIBLE, SEGMENTATION, Segment, Tile};
use super::steps::count;
use super::stream::{Picture, plane_len, segment_len};
use strile_codestream::jpeg2000::{CodeBlock, Codestream, Colour, Style};

/// Memory handed out piece by piece.
pub(super) struct Taken {
    pub(super) next: u64,
}

impl Taken {
    pub(super) fn take(&mut self, len: u64) -> u64 {
        let at = self.next;
        self.next = at.saturating_add(len);
        at
    }
}

/// Code-blocks of one way of coding.
#[derive(Default)]
pub(super) struct Coded {
    pub(super) segments: Vec<Segment>,
    pub(super) blocks: Vec<Block>,
    /// For each code-block what it is sorted by, in the high half, and its index.
    pub(super) order: Vec<u64>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) arithmetic: Coded,
    pub(super) high_throughput: Coded,
    /// Of each wavelet level, the lowest first; where rows go is not known yet.
    pub(super) levels: Vec<Vec<Level>>,
    pub(super) planes: Vec<Plane>,
    pub(super) tiles: Vec<Tile>,
}

impl Tables {
    /// Those of a batch, with planes of coefficients from what is taken.
    pub(super) fn of(pictures: &[Placed<Picture>], planes: &mut Taken) -> Self {
        let mut all = Self::default();
        for picture in pictures {
            all.add(picture, planes);
        }
        all
    }

    fn add(&mut self, placed: &Placed<Picture>, planes: &mut Taken) {
        let codestream = &placed.picture.codestream;
        let first_plane = self.planes.len();
        for plane in &codestream.planes {
            self.plane(codestream, plane, planes);
        }
        let mut words = Taken { next: placed.bytes };
        for block in &codestream.blocks {
            self.block(codestream, block, first_plane, &mut words, placed.status);
        }
        self.tiles(placed, u32::try_from(first_plane).unwrap_or(u32::MAX));
    }

    fn plane(
        &mut self,
        codestream: &Codestream,
        plane: &strile_codestream::jpeg2000::Plane,
        planes: &mut Taken,
    ) {
        let rect = plane.resolutions.last().copied().unwrap_or_default();
        let address = planes.take(plane_len(rect));
        let reversible = plane.reversible;
        if let Some(component) = codestream.components.get(usize::from(plane.component)) {
            self.planes.push(Plane {
                plane: address,
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
                levels.push(Level {
                    plane: address,
                    spare: 0,
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
    }

    fn block(
        &mut self,
        codestream: &Codestream,
        block: &CodeBlock,
        first_plane: usize,
        words: &mut Taken,
        status: u32,
    ) {
        let style = codestream.planes.get(block.plane as usize).map_or(Style::default(), |plane| plane.style);
        let coded = if style.high_throughput { &mut self.high_throughput } else { &mut self.arithmetic };
        let segment = count(&coded.segments);
        let range = block.segments.start as usize..block.segments.end as usize;
        let mut pass = 0;
        for found in codestream.segments.get(range).unwrap_or_default() {
            coded.segments.push(Segment {
                words: words.take(segment_len(found.len)),
                len: found.len,
                passes: u16::from(found.passes),
                raw: u16::from(style.bypass && is_raw(pass)),
            });
            pass += u32::from(found.passes);
        }
        let Some(plane) = self.planes.get(first_plane + block.plane as usize) else { return };
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let row = u64::from(block.y) * u64::from(plane.width);
        coded.order.push(u64::from(!block.len) << 32 | coded.blocks.len() as u64);
        coded.blocks.push(Block {
            state: 0,
            out: plane.plane + 4 * (row + u64::from(block.x)),
            segment,
            status,
            stride: plane.width,
            scale: 0.5 * block.step,
            width: block.width,
            height: block.height,
            // Contexts of high throughput do not ask for the band, but its decoder for the planes that are all 0.
            band: match style.high_throughput {
                true => block.band_planes.saturating_sub(block.planes),
                false => block.band as u8,
            },
            planes: block.planes,
            passes: block.passes,
            flags: flag(style.reset, RESET)
                | flag(style.causal, CAUSAL)
                | flag(style.segmentation, SEGMENTATION)
                | flag(plane.reversible != 0, REVERSIBLE),
        });
    }

    fn tiles(&mut self, placed: &Placed<Picture>, first_plane: u32) {
        let picture = &placed.picture;
        let area = picture.codestream.area;
        for (tile, rect) in picture.codestream.tiles.iter().zip(&picture.tiles) {
            let (left, top) = (rect.x0.saturating_sub(area.x0), rect.y0.saturating_sub(area.y0));
            self.tiles.push(Tile {
                dst: placed.dst,
                planes: first_plane + u32::try_from(tile.planes.start).unwrap_or(0),
                samples: count(&picture.codestream.components),
                x0: rect.x0,
                y0: rect.y0,
                width: rect.width().min(placed.layout.width.saturating_sub(left)),
                // A strip's picture may have more rows than its block.
                height: rect.height().min(placed.rows.saturating_sub(top)),
                left,
                top,
                row_pixels: placed.layout.width,
                status: placed.status,
                colour: match tile.colour {
                    Colour::None => 0,
                    Colour::Reversible => 1,
                    Colour::Irreversible => 2,
                },
                ycbcr: u8::from(picture.ycbcr),
                bytes: u8::try_from(placed.layout.data_type.size()).unwrap_or(0),
                reserved: [0; 5],
            });
        }
    }
}

/// Whether pass `pass` of a code-block with bypass is raw: after the tenth, but for cleanups (ISO 15444-1, table D.9).
fn is_raw(pass: u32) -> bool {
    pass >= 10 && !pass.is_multiple_of(3)
}
