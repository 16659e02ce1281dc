//! Copies of pixels from the device to the host.

#![expect(unsafe_code, reason = "copies from addresses that pixels keep, and a kernel launched")]

use super::assemble::{self, AssembleArgs, Assembly, Place};
use super::part::{self, Part};
use crate::abi::bytes_of;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::launch::launch;
use crate::memory::{DeviceBuffer, copy_out};
use crate::stream::Stream;
use strile_engine::memory::try_zeroed;
use strile_engine::{EngineError, OutputSpec, SharedPixels, Strides};

/// Device memory through which rows that are not contiguous are gathered, one piece at a time.
const ROOM: u64 = 8 << 20;
/// Room for the table of the gather.
const TABLE: u64 = 256;

/// Returns the bytes of a row of a part, over all bands that are contiguous, and the number of such images: the bands,
/// or 1.
fn row_len(part: &Part, spec: &OutputSpec) -> Option<(usize, u32)> {
    let (bands, _, columns) = part::size(part);
    let by_pixel = spec.strides.band < spec.strides.column;
    let row = (columns as usize).checked_mul(spec.strides.column)?;
    Some(if by_pixel { (row, 1) } else { (row, bands) })
}

/// Returns whether rows of a part are contiguous in the pixels.
fn together(part: &Part, from: &OutputSpec, to: &OutputSpec) -> bool {
    let (_, rows, _) = part::size(part);
    from.strides.column == to.strides.column
        && (rows == 1 || from.strides.row == to.strides.row)
        && (to.strides.band > to.strides.column || from.strides.band == to.strides.band || to.bands == 1)
}

/// Returns the device memory that [`part`] takes.
pub(crate) fn room(pixels: &SharedPixels, part: &Part) -> u64 {
    let Some(to) = part::spec(part, pixels.spec()) else { return u64::MAX };
    if together(part, pixels.spec(), &to) {
        return 0;
    }
    let row = row_len(part, &to).map_or(u64::MAX, |(row, _)| row as u64);
    part::len(part, pixels.spec()).min(ROOM.max(row)).saturating_add(TABLE)
}

/// Copies a part of pixels on the device to the host, contiguous as in `part::spec`; `room` must have as many bytes as
/// `room()` returns.
pub(crate) fn part(
    device: &Device,
    stream: &Stream,
    pixels: &SharedPixels,
    part: &Part,
    room: &DeviceBuffer,
) -> Result<(OutputSpec, Vec<u8>), Stop> {
    let from = pixels.spec();
    let to = part::spec(part, from).ok_or(EngineError::Abandoned)?;
    let address = pixels.address().ok_or(EngineError::Abandoned)?;
    let len = to.len().map_err(|_| EngineError::Abandoned)?;
    let mut bytes = try_zeroed(len, "pixels back to host").map_err(EngineError::from)?;
    let (row, images) = row_len(part, &to).ok_or(EngineError::Abandoned)?;
    let (bands, rows, columns) = part::size(part);
    let direct = together(part, from, &to);
    let each = match direct {
        true => rows as usize,
        false => usize::try_from(room.len().saturating_sub(TABLE)).unwrap_or(0) / row.max(1),
    };
    let image = row.saturating_mul(rows as usize).max(1);
    for (band, image) in (part.bands.0..).zip(bytes.chunks_mut(image)) {
        for (turn, piece) in image.chunks_mut(row.saturating_mul(each).max(1)).enumerate() {
            let first = u32::try_from(turn.saturating_mul(each)).map_err(|_| EngineError::Abandoned)?;
            let begin = Part { bands: (band, band), rows: (part.rows.0.saturating_add(first), 0), ..*part };
            let offset = part::offset(&begin, &from.strides).ok_or(EngineError::Abandoned)?;
            let mut source = address.saturating_add(offset as u64);
            if !direct {
                let n = u32::try_from(piece.len() / row.max(1)).map_err(|_| EngineError::Abandoned)?;
                let size = (if images == 1 { bands } else { 1 }, n, columns);
                gather(device, stream, (source, &from.strides), (room, &to.strides), size, &to)?;
                source = room.part(TABLE, piece.len() as u64)?;
            }
            // SAFETY: the pixels, or the room, keep the source, and the piece is borrowed until the wait is over.
            unsafe { copy_out(stream, piece.as_mut_ptr(), source, piece.len()) }?;
            stream.synchronize()?;
        }
    }
    Ok((to, bytes))
}

/// Queues the gather of a piece into the room, behind its table.
fn gather(
    device: &Device,
    stream: &Stream,
    (source, from): (u64, &Strides),
    (room, to): (&DeviceBuffer, &Strides),
    size: (u32, u32, u32),
    spec: &OutputSpec,
) -> Result<(), Stop> {
    let sample = u32::try_from(spec.data_type.size()).map_err(|_| EngineError::Abandoned)?;
    let from = Place { first: source, strides: *from };
    let to = Place { first: room.address().saturating_add(TABLE), strides: *to };
    let item = assemble::item(Assembly::Copy(sample), from, to, size).ok_or(EngineError::Abandoned)?;
    let table = bytes_of(std::slice::from_ref(&item));
    room.write(stream, 0, table)?;
    let args = AssembleArgs { items: room.part(0, table.len() as u64)?, count: 1, reserved: 0 };
    let function = device.function(assemble::MODULE, assemble::MODULE)?;
    // SAFETY: the piece lies in the pixels, which the caller keeps, and in the room behind the table.
    unsafe { launch(stream, &function, assemble::grid(&[item]), assemble::THREADS, &args) }?;
    Ok(())
}

/// Returns the bytes that the shape of pixels on the device spans.
pub(crate) fn span(stream: &Stream, pixels: &SharedPixels) -> Result<Vec<u8>, Stop> {
    let len = pixels.spec().len().map_err(|_| EngineError::Abandoned)?;
    let address = pixels.address().ok_or(EngineError::Abandoned)?;
    let mut bytes = try_zeroed(len, "pixels back to host").map_err(EngineError::from)?;
    if len > 0 {
        // SAFETY: the pixels keep this many bytes there, and `bytes` lives until the wait is over.
        unsafe { copy_out(stream, bytes.as_mut_ptr(), address, len) }?;
        stream.synchronize()?;
    }
    Ok(bytes)
}
