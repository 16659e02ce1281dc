//! Decodes the planes of a codestream: decodes code-blocks into their planes and inverts the wavelets.
//!
//! The threads of the block's crew share the code-blocks of all planes. Each is decoded separately and then copied into
//! its plane, which takes a hundredth of the time, so that one lock is enough.

use super::super::workspace::resize;
use super::decode_block::{self, BlockSpace};
use super::inverse_wavelet::inverse;
use super::lanes::{Loops, wide};
use super::line_wavelet::{self, Spare, Steps};
use crate::crew::Crew;
use crate::pool::Buffer;
use crate::stop::Stop;
use std::sync::{Mutex, PoisonError};
use strile_codestream::jpeg2000::{CodeBlock, Codestream, Piece, Plane, Rect};
use strile_engine::BlockFault;

/// Values of a plane, row by row: coefficients first, samples after the wavelet.
pub(super) enum Values {
    /// Values of a reversible plane.
    Integers(Vec<i32>),
    /// Values of an irreversible plane.
    Floats(Vec<f32>),
}

/// Maximum number of planes whose memory is kept.
const KEPT_PLANES: usize = 4;

/// Memory that is reused between pictures, with unspecified contents.
#[derive(Default)]
pub(crate) struct Space {
    integers: Vec<Vec<i32>>,
    floats: Vec<Vec<f32>>,
    spare_integers: Spare<i32>,
    spare_floats: Spare<f32>,
    /// Code-block memory of a thread.
    blocks: Option<Blocks>,
}

impl Space {
    /// Returns the buffers that grow with pictures, so that the thread can keep or release them.
    pub(crate) fn buffers<'a>(&'a mut self, all: &mut Vec<&'a mut dyn Buffer>) {
        all.extend(self.integers.iter_mut().map(|values| values as &mut dyn Buffer));
        all.extend(self.floats.iter_mut().map(|values| values as &mut dyn Buffer));
        self.spare_integers.buffers(all);
        self.spare_floats.buffers(all);
        if let Some(Blocks { block, bytes, .. }) = &mut self.blocks {
            all.push(bytes);
            block.buffers(all);
        }
    }

    /// Keeps the memory of the first planes, which are no longer needed.
    pub(super) fn keep(&mut self, mut planes: Vec<Values>) {
        (self.integers, self.floats) = Default::default();
        planes.truncate(KEPT_PLANES);
        // The last one pushed is taken first.
        for values in planes.into_iter().rev() {
            match values {
                Values::Integers(values) => self.integers.push(values),
                Values::Floats(values) => self.floats.push(values),
            }
        }
    }

    /// Returns memory for a plane; zeros, unless code-blocks cover it completely.
    fn values(&mut self, plane: &Plane, covered: bool, stop: &Stop) -> Result<Values, BlockFault> {
        fn taken<T: Copy + Default>(
            kept: Option<Vec<T>>,
            (len, covered): (usize, bool),
            stop: &Stop,
        ) -> Result<Vec<T>, BlockFault> {
            let mut values = kept.unwrap_or_default();
            if !covered {
                values.clear();
            }
            resize(&mut values, len, "JPEG 2000 coefficients", stop).map(|()| values)
        }
        let wanted = (usize::try_from(area(plane)).unwrap_or(usize::MAX), covered);
        match plane.reversible {
            true => taken(self.integers.pop(), wanted, stop).map(Values::Integers),
            false => taken(self.floats.pop(), wanted, stop).map(Values::Floats),
        }
    }
}

/// Returns which planes their code-blocks cover completely. Code-blocks never overlap: bands and precincts are divided
/// into them.
fn covered(codestream: &Codestream) -> impl Iterator<Item = bool> {
    let mut left: Vec<u64> = codestream.planes.iter().map(area).collect();
    for block in &codestream.blocks {
        if let Some(left) = left.get_mut(block.plane as usize) {
            *left = left.saturating_sub(u64::from(block.width) * u64::from(block.height));
        }
    }
    left.into_iter().map(|left| left == 0)
}

/// Decodes the samples of all planes, before colour transform and level shift.
pub(super) fn decode(
    stream: &[u8],
    codestream: &Codestream,
    kept: &mut Space,
    crew: &Crew,
) -> Result<Vec<Values>, BlockFault> {
    let mut planes = Vec::new();
    for (plane, covered) in codestream.planes.iter().zip(covered(codestream)) {
        planes.push(kept.values(plane, covered, crew.stop())?);
    }
    let own = Mutex::new(&mut kept.blocks);
    let planes = Mutex::new(planes);
    let fault = Mutex::new(None);
    let blocks = codestream.blocks.iter().enumerate();
    let state = || Lent::of(&own);
    crew.share(blocks, state, |space, (index, block)| {
        let decoded = space.blocks.decode(stream, codestream, block);
        let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
        match decoded {
            // Of several faults, report that of the first code-block, whichever thread found it.
            Err(found) if fault.as_ref().is_none_or(|&(other, _)| index < other) => {
                *fault = Some((index, found))
            }
            Err(_) => {}
            Ok(()) => {
                drop(fault);
                let mut planes = planes.lock().unwrap_or_else(PoisonError::into_inner);
                let place = block.plane as usize;
                if let (Some(values), Some(plane)) = (planes.get_mut(place), codestream.planes.get(place)) {
                    wide(Put { values, stride: stride(plane), block, half_units: &space.blocks.out });
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
            Values::Integers(values) => transform(values, plane, &mut kept.spare_integers, crew)?,
            Values::Floats(values) => transform(values, plane, &mut kept.spare_floats, crew)?,
        }
    }
    Ok(planes)
}

/// Inverts the wavelet of a plane: line by line, or in place with helper threads.
fn transform<T: Steps>(
    values: &mut Vec<T>,
    plane: &Plane,
    spare: &mut Spare<T>,
    crew: &Crew,
) -> Result<(), BlockFault> {
    if area(plane) <= line_wavelet::MOST && crew.is_alone() {
        return line_wavelet::inverse(values, spare, &plane.resolutions, crew.stop());
    }
    inverse(values, stride(plane), &plane.resolutions, crew);
    Ok(())
}

/// Returns the rectangle of a plane's samples on their grid.
pub(super) fn rect(plane: &Plane) -> Rect {
    plane.resolutions.last().copied().unwrap_or_default()
}

fn stride(plane: &Plane) -> usize {
    rect(plane).width() as usize
}

/// Returns the number of samples of a plane.
fn area(plane: &Plane) -> u64 {
    let rect = rect(plane);
    u64::from(rect.width()) * u64::from(rect.height())
}

/// Memory of a thread, reused for one code-block after the other.
#[derive(Default)]
pub(super) struct Blocks {
    block: BlockSpace,
    /// Bytes of a code-block that is stored in several pieces.
    bytes: Vec<u8>,
    /// Coefficients in half-units.
    out: Vec<i32>,
}

/// Code-block memory of one thread for a picture; the first thread that is done leaves it to the next picture.
struct Lent<'a, 'b> {
    blocks: Blocks,
    to: &'a Mutex<&'b mut Option<Blocks>>,
}

impl<'a, 'b> Lent<'a, 'b> {
    fn of(to: &'a Mutex<&'b mut Option<Blocks>>) -> Self {
        let kept = to.lock().unwrap_or_else(PoisonError::into_inner).take();
        Self { blocks: kept.unwrap_or_default(), to }
    }
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        **to = Some(std::mem::take(&mut self.blocks));
    }
}

impl Blocks {
    /// Decodes a code-block to half-units in `out`.
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

/// Copies a code-block in half-units into its plane.
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
