//! Decoding of one block, from encoded bytes to pixels in the output.
//!
//! The necessary steps are determined once per block (`Conversion`); then each wanted row passes through them while it
//! is in the L1 cache, directly into the output if the output stores pixels like the block does. Blocks that need no
//! conversion are copied from their source, or decompressed directly into the output.

use crate::cast::Cast;
use crate::codec::{self, StoredBlock, Workspace};
use crate::place::Target;
use crate::pool::{RowScratch, Scratch, sized};
use crate::predict::Undo;
use crate::samples::Unpacker;
use crate::simd::Picker;
use crate::split::WORDS;
use crate::stop::{Looks, Stop};
use crate::ycbcr::ToRgb;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use strile_engine::{BlockFault, BlockLayout, DecodedForm, FaultKind, Placement};
use strile_tiff::Compression;

/// How the rows that a codec produces become samples.
pub(crate) struct Conversion {
    undo: Undo,
    samples: Samples,
}

enum Samples {
    /// Packed samples are identical to samples in memory.
    Same,
    Unpack(Unpacker),
    Chroma(Box<ToRgb>),
}

impl Conversion {
    /// Returns the conversion for a layout; the error says why there is none.
    pub(crate) fn of(layout: &BlockLayout) -> Result<Self, String> {
        let undo = Undo::of(layout)?;
        let samples = match (ToRgb::of(layout)?, Unpacker::of(layout)) {
            (Some(chroma), _) => {
                if undo != Undo::Nothing && chroma.rows_per_unit() * chroma.columns_per_unit() > 1 {
                    return Err("a predictor on subsampled chroma".to_owned());
                }
                Samples::Chroma(Box::new(chroma))
            }
            (None, Some(unpacker)) => Samples::Unpack(unpacker),
            (None, None) => Samples::Same,
        };
        Ok(Self { undo, samples })
    }

    fn is_nothing(&self) -> bool {
        self.undo == Undo::Nothing && matches!(self.samples, Samples::Same)
    }
}

/// Returns the scratch bytes that a block needs on one thread: decoded bytes, its decoder's working memory, and encoded
/// bytes if `reads` says that they are read into memory.
pub(crate) fn scratch_len(layout: &BlockLayout, rows: u32, encoded: u64, reads: bool) -> u64 {
    let bytes = |len: Option<usize>| len.map_or(u64::MAX, |len| len as u64);
    let decoded = bytes(layout.decoded_len(rows));
    let copied = needs_reversal(layout);
    let decoded = if layout.compression == Compression::None { 0 } else { decoded };
    let inputs = u64::from(reads) + u64::from(copied);
    let own = codec::working_len(layout, rows, encoded);
    decoded
        .saturating_add(encoded.saturating_mul(inputs))
        .saturating_add(row_scratch_len(layout))
        .saturating_add(own)
}

/// Returns the bytes that a block takes besides if `threads` threads work on it together, where there is enough memory.
pub(crate) fn helped_len(layout: &BlockLayout, rows: u32, encoded: u64, threads: usize) -> u64 {
    if threads < 2 {
        return 0;
    }
    let placed = layout.samples_len(rows).is_some_and(|len| len >= SHARED);
    let placing = if placed { shared_rows_len(layout, threads) } else { 0 };
    // A block is placed after it was decoded.
    placing.max(codec::helped_len(layout, rows, encoded, threads))
}

/// Returns the bytes of the row buffers of `threads` threads.
fn shared_rows_len(layout: &BlockLayout, threads: usize) -> u64 {
    row_scratch_len(layout).saturating_add(cast_scratch_len(layout)).saturating_mul(threads as u64)
}

/// Returns the bytes of a thread's row buffers, except those of outputs that convert.
fn row_scratch_len(layout: &BlockLayout) -> u64 {
    let bytes = |len: Option<usize>| len.map_or(u64::MAX, |len| len as u64);
    bytes(layout.samples_len(1)).saturating_add(bytes(layout.packed_row_len()).saturating_mul(2))
}

/// Returns the bytes of a thread's row buffers for outputs that convert.
pub(crate) fn cast_scratch_len(layout: &BlockLayout) -> u64 {
    u64::from(layout.width) * 16
}

/// Returns whether FillOrder 2 must be undone before decoding; not for streams with their own bit order.
fn needs_reversal(layout: &BlockLayout) -> bool {
    layout.reverse_bits && layout.decoded_form() == DecodedForm::Packed
}

/// Decodes `encoded` and writes the wanted parts, at least one. After a fault the caller fills them.
pub(crate) fn decode(
    encoded: &[u8],
    layout: &BlockLayout,
    targets: &mut [Target<'_>],
    scratch: &mut Scratch,
) -> Result<(), BlockFault> {
    let conversion = Conversion::of(layout).map_err(BlockFault::unsupported)?;
    let Scratch { workspace, reversed, decoded, rows, .. } = scratch;
    let stop = workspace.crew.stop().clone();
    let Some(placement) = targets.first().map(|target| *target.placement()) else { return Ok(()) };
    let mut place_all = |decoded: &[u8], targets: &mut [Target<'_>], workspace: &Workspace| {
        targets.iter_mut().try_for_each(|target| {
            match place_by_rows(decoded, layout, &conversion, target, workspace) {
                Some(placed) => placed,
                None => place(decoded, layout, &conversion, target, (rows, &stop)),
            }
        })
    };
    let len = layout.decoded_len(placement.rows).ok_or_else(no_memory)?;
    let encoded = if needs_reversal(layout) {
        let bits = sized(reversed, encoded.len()).ok_or_else(no_memory)?;
        bits.iter_mut().zip(encoded).for_each(|(to, from)| *to = from.reverse_bits());
        &*bits
    } else {
        encoded
    };
    if layout.compression == Compression::None {
        // Stored bytes are used in place; bytes after the block are padding or unused rows.
        let stored = match encoded.get(..len) {
            Some(stored) => stored,
            None => {
                let short = BlockFault::truncated(encoded.len(), len);
                holds_image_rows(&short, layout, &placement).then_some(encoded).ok_or(short)?
            }
        };
        return place_all(stored, targets, workspace);
    }
    let block = StoredBlock { layout, rows: placement.rows };
    if let [target] = targets
        && conversion.is_nothing()
        && target.cast().is_none()
        && placement.width == layout.width
        && placement.height == placement.rows
        && let Some(whole) = target.whole()
        && whole.len() == len
    {
        return guarded(workspace, |workspace| codec::decode(encoded, whole, block, workspace));
    }
    let decoded = sized(decoded, len).ok_or_else(no_memory)?;
    match guarded(workspace, |workspace| codec::decode(encoded, decoded, block, workspace)) {
        Err(fault) if stop.is_set() || !holds_image_rows(&fault, layout, &placement) => return Err(fault),
        Ok(()) | Err(_) => {}
    }
    place_all(decoded, targets, workspace)
}

/// Returns whether a tile that ended early holds all rows inside the image: some writers omit the other rows of the
/// bottom tiles. Only decoders that keep what they decoded before the end support this.
fn holds_image_rows(fault: &BlockFault, layout: &BlockLayout, placement: &Placement) -> bool {
    use Compression as C;
    let kept = match fault.kind {
        FaultKind::InputTruncated => matches!(layout.compression, C::None | C::PackBits | C::Lzw),
        FaultKind::OutputShort => {
            matches!(layout.compression, C::None | C::PackBits | C::Lzw | C::Deflate | C::Zstd)
        }
        _ => false,
    };
    let needed = layout.decoded_len(placement.image_rows).map(|len| len as u64);
    kept && !layout.is_strip
        && placement.image_rows < placement.rows
        && needed.is_some_and(|n| fault.found >= n)
}

/// Runs a decoder. Most are external libraries: a panic in one becomes a fault of the block, and its state is
/// discarded.
fn guarded(
    workspace: &mut Workspace,
    decode: impl FnOnce(&mut Workspace) -> Result<(), BlockFault>,
) -> Result<(), BlockFault> {
    catch_unwind(AssertUnwindSafe(|| decode(workspace))).unwrap_or_else(|_| {
        workspace.discard();
        Err(BlockFault::corrupt("the decoder failed unexpectedly"))
    })
}

fn no_memory() -> BlockFault {
    BlockFault { kind: FaultKind::OutOfMemory, found: 0, expected: 0, detail: "".into() }
}

/// Decoded bytes from which several threads place one block, and that each of them places at a time.
const SHARED: usize = 4 << 20;
const SHARE: usize = 256 << 10;

/// Writes the wanted rows of a large decoded block on several threads; `None` leaves them to one.
fn place_by_rows(
    decoded: &[u8],
    layout: &BlockLayout,
    conversion: &Conversion,
    target: &mut Target<'_>,
    workspace: &Workspace,
) -> Option<Result<(), BlockFault>> {
    let Placement { rows, height, .. } = *target.placement();
    let row_len = layout.samples_len(1).filter(|&len| len > 0)?;
    // A block that ended early has a fault in one of its rows, which must be the first.
    let complete = layout.decoded_len(rows).is_some_and(|len| decoded.len() >= len);
    if workspace.crew.is_alone() || row_len.saturating_mul(height as usize) < SHARED || !complete {
        return None;
    }
    let hands = workspace.crew.enlist();
    let each = row_scratch_len(layout).saturating_add(cast_scratch_len(layout));
    let _loan =
        (hands.threads() > 1).then(|| workspace.spare(each.saturating_mul(hands.threads() as u64)))??;
    let (stop, fault) = (hands.stop(), Mutex::new(None));
    let rows = u32::try_from(SHARE.div_ceil(row_len)).unwrap_or(u32::MAX);
    hands.share(target.by_rows(rows), RowScratch::default, |scratch, mut part| {
        if let Err(found) = place(decoded, layout, conversion, &mut part, (scratch, stop)) {
            *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    });
    let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    Some(fault.map_or_else(|| stop.check(), Err))
}

/// Writes the wanted rows of a decoded block.
fn place(
    decoded: &[u8],
    layout: &BlockLayout,
    conversion: &Conversion,
    target: &mut Target<'_>,
    (scratch, stop): (&mut RowScratch, &Stop),
) -> Result<(), BlockFault> {
    let mut looks = Looks::new(stop);
    let (size, samples) = (layout.data_type.size(), usize::from(layout.samples));
    let placement = *target.placement();
    let cast = target.cast();
    let row_len = match layout.decoded_form() {
        DecodedForm::Samples => layout.samples_len(1),
        DecodedForm::Packed => layout.packed_row_len(),
    };
    let row_len = row_len.ok_or_else(no_memory)?;
    let rows_per_unit = match &conversion.samples {
        Samples::Chroma(chroma) => chroma.rows_per_unit(),
        Samples::Same | Samples::Unpack(_) => 1,
    };
    let pickers: Vec<Picker> =
        target.selection().iter().map(|&sample| Picker::new(size, samples, sample.into())).collect();
    // Bytes of the pixels left of the wanted ones, and of those including the wanted ones: at most the length of a row,
    // which `samples_len` checked to fit.
    let left = placement.block_x as usize * samples * size;
    let upto = left + placement.width as usize * samples * size;
    if conversion.is_nothing()
        && cast.is_none()
        && let Some(lines) = target.lines()
    {
        let skipped = (placement.block_y as usize).saturating_mul(row_len);
        let mut rows = decoded.get(skipped..).unwrap_or_default().chunks_exact(row_len.max(1));
        for (row, line) in lines.enumerate() {
            let start = row.saturating_mul(row_len);
            looks.after(start)?;
            let end = skipped.saturating_add(start).saturating_add(row_len);
            let wanted = rows.next().and_then(|packed| packed.get(left..upto));
            let wanted = wanted.filter(|wanted| wanted.len() == line.len());
            line.copy_from_slice(wanted.ok_or_else(|| BlockFault::short(decoded.len(), end))?);
        }
        return Ok(());
    }
    for row in 0..placement.height {
        looks.after((row as usize).saturating_mul(row_len))?;
        let y = (placement.block_y + row) as usize;
        let start = y / rows_per_unit * row_len;
        let packed = decoded.get(start..).and_then(|rest| rest.get(..row_len));
        let packed = packed.ok_or_else(|| BlockFault::short(decoded.len(), start.saturating_add(row_len)))?;
        let sub_row = y % rows_per_unit;
        if left == 0
            && cast.is_none()
            && let Some(pixels) = target.pixels(row)
        {
            convert(packed, sub_row, pixels, conversion, samples, scratch).ok_or_else(no_memory)?;
            continue;
        }
        let line = if conversion.is_nothing() {
            packed
        } else {
            let mut line = std::mem::take(&mut scratch.samples);
            let converted = sized(&mut line, upto)
                .and_then(|line| convert(packed, sub_row, line, conversion, samples, scratch));
            scratch.samples = line;
            converted.ok_or_else(no_memory)?;
            &scratch.samples
        };
        let wanted = line.get(left..upto).unwrap_or_default();
        if let Some(cast) = &cast {
            let RowScratch { picked, floats, .. } = scratch;
            put_cast(cast, wanted, row, target, &pickers, (picked, floats)).ok_or_else(no_memory)?;
            continue;
        }
        if let Some(pixels) = target.pixels(row) {
            pixels.copy_from_slice(wanted);
            continue;
        }
        if samples == 3 && size == 1 && target.put_three(row, wanted) {
            continue;
        }
        let mut done = 0;
        if size == 2 && samples >= WORDS {
            while target.put_words(done, row, wanted, samples) {
                done += WORDS;
            }
        }
        for (band, picker) in (0..).zip(&pickers).skip(done) {
            target.put(band, row, wanted, picker);
        }
    }
    Ok(())
}

/// Converts the wanted pixels of a row to floats and writes them; `None` if memory runs out.
fn put_cast(
    cast: &Cast,
    wanted: &[u8],
    row: u32,
    target: &mut Target<'_>,
    pickers: &[Picker],
    (picked, floats): (&mut Vec<u8>, &mut Vec<u8>),
) -> Option<()> {
    if let Some(pixels) = target.pixels(row) {
        cast.row(wanted, pixels);
        return Some(());
    }
    let width = target.placement().width as usize;
    let alone = Picker::new(cast.size(), 1, 0);
    for (band, picker) in (0..).zip(pickers) {
        let samples = sized(picked, width.checked_mul(picker.size())?)?;
        picker.pick(wanted, samples);
        let values = sized(floats, width.checked_mul(cast.size())?)?;
        cast.row(samples, values);
        target.put(band, row, values, &alone);
    }
    Some(())
}

/// Converts the first pixels of a packed row, as many as `dst` holds; `None` if memory runs out.
fn convert(
    packed: &[u8],
    sub_row: usize,
    dst: &mut [u8],
    conversion: &Conversion,
    samples: usize,
    scratch: &mut RowScratch,
) -> Option<()> {
    let RowScratch { packed: native, bytes, .. } = scratch;
    let undo = conversion.undo;
    if matches!(conversion.samples, Samples::Same) {
        return undo.row(packed, dst, samples, bytes);
    }
    let native = if matches!(undo, Undo::Nothing | Undo::WhileUnpacking) {
        packed
    } else {
        let native = sized(native, packed.len())?;
        undo.row(packed, native, samples, bytes)?;
        native
    };
    match &conversion.samples {
        Samples::Same => {}
        Samples::Unpack(unpacker) => unpacker.row(native, dst),
        Samples::Chroma(chroma) => chroma.row(native, sub_row, dst),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_that_panics_is_a_fault() {
        let fault = guarded(&mut Workspace::default(), |_| panic!("index out of bounds")).unwrap_err();
        assert_eq!(fault, BlockFault::corrupt("the decoder failed unexpectedly"));
    }
}
