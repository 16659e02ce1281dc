//! Planes of a codestream: code-blocks decoded and put in their places, wavelets undone.
//!
//! Code-blocks of all planes are shared by the threads of the block's crew; each is decoded apart and then copied into
//! its plane, which takes a hundredth of the time, so that one lock is enough.

use super::super::workspace::zeros;
use super::decode_block::{self, BlockSpace};
use super::inverse_wavelet::inverse;
use super::lanes::{Loops, wide};
use crate::crew::Crew;
use crate::stop::Stop;
use std::sync::{Mutex, PoisonError};
use strile_codestream::jpeg2000::{CodeBlock, Codestream, Piece, Plane, Rect};
use strile_engine::BlockFault;

/// Values of a plane, row by row: coefficients first, samples after the wavelet.
pub(super) enum Values {
    /// Of a reversible plane.
    Integers(Vec<i32>),
    /// Of an irreversible one.
    Floats(Vec<f32>),
}

/// The samples of all planes, before colours and level shift.
pub(super) fn decode(stream: &[u8], codestream: &Codestream, crew: &Crew) -> Result<Vec<Values>, BlockFault> {
    let mut planes = Vec::new();
    for plane in &codestream.planes {
        planes.push(zero_values(plane, crew.stop())?);
    }
    let planes = Mutex::new(planes);
    let fault = Mutex::new(None);
    let blocks = codestream.blocks.iter().enumerate();
    crew.share(blocks, Space::new, |space, (index, block)| {
        let decoded = space.decode(stream, codestream, block);
        let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
        match decoded {
            // Of several faults, that of the first code-block, whoever found it.
            Err(found) if fault.as_ref().is_none_or(|&(other, _)| index < other) => {
                *fault = Some((index, found))
            }
            Err(_) => {}
            Ok(()) => {
                drop(fault);
                let mut planes = planes.lock().unwrap_or_else(PoisonError::into_inner);
                let place = block.plane as usize;
                if let (Some(values), Some(plane)) = (planes.get_mut(place), codestream.planes.get(place)) {
                    wide(Put { values, stride: stride(plane), block, half_units: &space.out });
                }
            }
        }
    });
    if let Some((_, fault)) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(fault);
    }
    crew.stop().check()?;
    let mut planes = planes.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (values, plane) in planes.iter_mut().zip(&codestream.planes) {
        match values {
            Values::Integers(values) => inverse(values, stride(plane), &plane.resolutions, crew),
            Values::Floats(values) => inverse(values, stride(plane), &plane.resolutions, crew),
        }
    }
    Ok(planes)
}

/// The samples of a plane on their grid.
pub(super) fn rect(plane: &Plane) -> Rect {
    plane.resolutions.last().copied().unwrap_or_default()
}

fn stride(plane: &Plane) -> usize {
    rect(plane).width() as usize
}

fn zero_values(plane: &Plane, stop: &Stop) -> Result<Values, BlockFault> {
    let rect = rect(plane);
    let len = u64::from(rect.width()) * u64::from(rect.height());
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let what = "JPEG 2000 coefficients";
    match plane.reversible {
        true => zeros(len, what, stop).map(Values::Integers),
        false => zeros(len, what, stop).map(Values::Floats),
    }
}

/// What a thread needs for one code-block after the other.
struct Space {
    block: BlockSpace,
    /// The bytes of a code-block, where they are in several pieces.
    bytes: Vec<u8>,
    /// Its coefficients in half-units.
    out: Vec<i32>,
}

impl Space {
    fn new() -> Self {
        Self { block: BlockSpace::new(), bytes: Vec::new(), out: Vec::new() }
    }

    /// Leaves the half-units of a code-block in `out`.
    fn decode(
        &mut self,
        stream: &[u8],
        codestream: &Codestream,
        block: &CodeBlock,
    ) -> Result<(), BlockFault> {
        let unknown = || BlockFault::corrupt("JPEG 2000: a code-block of no plane");
        let style = codestream.planes.get(block.plane as usize).ok_or_else(unknown)?.style;
        let range = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
        let segments = codestream.segments.get(range(&block.segments)).unwrap_or_default();
        let pieces = codestream.pieces.get(range(&block.pieces)).unwrap_or_default();
        let bytes = if let [piece] = pieces {
            bytes_of(stream, piece)
        } else {
            self.bytes.clear();
            pieces.iter().for_each(|piece| self.bytes.extend_from_slice(bytes_of(stream, piece)));
            &self.bytes
        };
        self.out.resize(usize::from(block.width) * usize::from(block.height), 0);
        decode_block::decode(&mut self.block, bytes, segments, block, style, &mut self.out)
    }
}

fn bytes_of<'a>(stream: &'a [u8], piece: &Piece) -> &'a [u8] {
    let start = piece.offset as usize;
    stream.get(start..start.saturating_add(piece.len as usize)).unwrap_or_default()
}

/// A code-block in half-units, to be put into its plane.
struct Put<'a> {
    values: &'a mut Values,
    stride: usize,
    block: &'a CodeBlock,
    half_units: &'a [i32],
}

impl Loops for Put<'_> {
    #[inline(always)]
    fn run(self) {
        let rows = self.half_units.chunks_exact(usize::from(self.block.width).max(1));
        let (x, y, stride) = (self.block.x as usize, self.block.y as usize, self.stride.max(1));
        match self.values {
            Values::Integers(values) => {
                for (row, line) in rows.zip(values.chunks_exact_mut(stride).skip(y)) {
                    for (to, from) in line.get_mut(x..).unwrap_or_default().iter_mut().zip(row) {
                        *to = from / 2;
                    }
                }
            }
            Values::Floats(values) => {
                let half_step = 0.5 * self.block.step;
                for (row, line) in rows.zip(values.chunks_exact_mut(stride).skip(y)) {
                    for (to, from) in line.get_mut(x..).unwrap_or_default().iter_mut().zip(row) {
                        *to = *from as f32 * half_step;
                    }
                }
            }
        }
    }
}
