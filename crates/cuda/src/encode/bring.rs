//! Assembles pixels in device memory from rectangles on the host and on the device.
//!
//! Rectangles on the host are copied through pinned memory in pieces, without the bytes between their samples: while
//! one piece is copied and placed, the next is filled. Each piece is one copy, with the table of its launch, and one
//! launch; rectangles that are already on the device are part of the first.

#![expect(unsafe_code, reason = "a kernel is launched")]

use super::assemble::{self, AssembleArgs, AssembleItem, Place};
use super::part::{self, Part};
use crate::abi::bytes_of;
use crate::decode::batch::aligned;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::{Lane, Spare};
use crate::launch::launch;
use crate::memory::{DeviceBuffer, InFlight, Kind, Lease, lasting};
use strile_engine::{Assembly, Context, EngineError, Given, Location, OutputSpec, Patch, SharedPixels};

/// Bytes of a piece; a row may be longer.
const PIECE: u64 = 16 << 20;
/// Pieces in flight.
const IN_FLIGHT: usize = 2;

const PURPOSE: &str = "pixels put together on the device";

/// A rectangle of host memory in a piece.
struct Staged<'a> {
    bytes: &'a [u8],
    spec: &'a OutputSpec,
    part: Part,
    /// Offset in the piece.
    at: u64,
    to: Target,
}

/// Operation, destination and size of a rectangle: bands, rows, columns.
#[derive(Clone, Copy)]
struct Target {
    how: assemble::Assembly,
    place: Place,
    size: (u32, u32, u32),
}

#[derive(Default)]
struct Piece<'a> {
    staged: Vec<Staged<'a>>,
    len: u64,
    /// Rectangles that are already on the device.
    there: Vec<AssembleItem>,
}

impl Piece<'_> {
    fn table_len(&self) -> u64 {
        ((self.staged.len() + self.there.len()) * size_of::<AssembleItem>()) as u64
    }

    fn memory(&self) -> u64 {
        aligned(self.len).saturating_add(aligned(self.table_len()))
    }
}

/// Assembles all of them.
pub(crate) fn assemble(
    device: &Device,
    spare: &Spare,
    wanted: &[Assembly<'_>],
    context: &Context,
) -> Result<Vec<SharedPixels>, Stop> {
    let _bound = device.bind()?;
    let here = Location::Cuda(device.facts().index);
    wanted
        .iter()
        .try_for_each(|wanted| wanted.patches.iter().try_for_each(|patch| fits(wanted, patch, here)))?;
    let mut leases = Vec::with_capacity(wanted.len());
    for Assembly { spec, .. } in wanted {
        let len = spec.len().map_err(|error| mismatch(error.to_string()))? as u64;
        leases.push(device.budget().take(Kind::Output, len, PURPOSE, &context.cancel)?);
    }
    let lane = spare.lane(device)?;
    let result = fill(device, spare, &lane, wanted, &leases, context);
    lane.synchronize()?;
    spare.give_lane(lane);
    let made = result?.into_iter().zip(leases).zip(wanted);
    made.map(|((buffer, lease), wanted)| {
        let memory = lasting(device.facts().index, buffer, lease);
        SharedPixels::on_device(wanted.spec.clone(), memory)
            .map_err(|error| mismatch(error.to_string()).into())
    })
    .collect()
}

fn mismatch(found: String) -> EngineError {
    let expected = "rectangles of pixels in reach, of one type and as many bands".to_owned();
    EngineError::Mismatch { what: "pixels", found, expected }
}

/// Returns the bytes of pixels on the host.
fn on_host<'a>(given: &Given<'a>) -> Option<&'a [u8]> {
    match given {
        Given::Host { bytes, .. } => Some(bytes),
        Given::There(pixels) => (pixels.location() == Location::Host).then(|| pixels.bytes()),
    }
}

fn fits(wanted: &Assembly<'_>, patch: &Patch<'_>, here: Location) -> Result<(), EngineError> {
    let (from, to) = (patch.from.spec(), &wanted.spec);
    let inside = |spec: &OutputSpec, (x, y): (u32, u32)| {
        let fits = |from: u32, n: u32, all: u32| from.checked_add(n).is_some_and(|end| end <= all);
        fits(x, patch.size.0, spec.columns) && fits(y, patch.size.1, spec.rows)
    };
    let same = match wanted.mask {
        true => from.bands == 1 && to.bands == 1 && to.data_type.size() == 1,
        false => (from.data_type, from.bands) == (to.data_type, to.bands),
    };
    let reached = match (on_host(&patch.from), &patch.from) {
        (Some(bytes), _) => from.len().is_ok_and(|len| len <= bytes.len()),
        (None, Given::There(pixels)) => pixels.location() == here,
        (None, Given::Host { .. }) => false,
    };
    if same && reached && inside(from, patch.at) && inside(to, patch.to) {
        return Ok(());
    }
    let Patch { at, to, size, .. } = patch;
    Err(mismatch(format!("{size:?} pixels at {at:?} of {from:?}, to {to:?}")))
}

/// Cuts the rectangles on the host into pieces.
fn pieces<'a>(wanted: &'a [Assembly<'a>], buffers: &[DeviceBuffer]) -> Option<Vec<Piece<'a>>> {
    let mut pieces = vec![Piece::default()];
    for (wanted, buffer) in wanted.iter().zip(buffers) {
        for patch in wanted.patches.iter().filter(|patch| patch.size.0 > 0 && patch.size.1 > 0) {
            let from = patch.from.spec();
            let sample = u32::try_from(from.data_type.size()).ok()?;
            let how =
                if wanted.mask { assemble::Assembly::Mask(sample) } else { assemble::Assembly::Copy(sample) };
            let part = |first: u32, n: u32| Part {
                bands: (0, from.bands),
                rows: (patch.at.1 + first, patch.at.1 + first + n),
                columns: (patch.at.0, patch.at.0 + patch.size.0),
            };
            let to = |first: u32, n: u32| {
                let strides = wanted.spec.strides;
                let begin = Part { bands: (0, 0), rows: (patch.to.1 + first, 0), columns: (patch.to.0, 0) };
                let place =
                    Place { first: buffer.address() + part::offset(&begin, &strides)? as u64, strides };
                Some(Target { how, place, size: (from.bands, n, patch.size.0) })
            };
            let (columns, rows) = patch.size;
            let Some(bytes) = on_host(&patch.from) else {
                let Given::There(pixels) = &patch.from else { return None };
                let first = pixels.address()? + part::offset(&part(0, rows), &from.strides)? as u64;
                let place = Place { first, strides: from.strides };
                let Target { how, place: target, size } = to(0, rows)?;
                pieces.first_mut()?.there.push(assemble::item(how, place, target, size)?);
                continue;
            };
            let row = u64::from(columns).checked_mul(u64::from(from.bands) * u64::from(sample))?;
            let mut first = 0;
            while first < rows {
                let last = pieces.last_mut()?;
                let room = PIECE.saturating_sub(last.len) / row.max(1);
                if room == 0 && last.len > 0 {
                    pieces.push(Piece::default());
                    continue;
                }
                let n = u32::try_from(room.max(1)).unwrap_or(u32::MAX).min(rows - first);
                let (part, to) = (part(first, n), to(first, n)?);
                last.staged.push(Staged { bytes, spec: from, part, at: last.len, to });
                last.len += aligned(u64::from(n) * row);
                first += n;
            }
        }
    }
    Some(pieces)
}

fn fill(
    device: &Device,
    spare: &Spare,
    lane: &Lane,
    wanted: &[Assembly<'_>],
    leases: &[Lease],
    context: &Context,
) -> Result<Vec<DeviceBuffer>, Stop> {
    let stream = &lane.copies;
    let alloc = |lease: &Lease| device.pool().alloc_lasting(stream, lease.bytes());
    let buffers = leases.iter().map(alloc).collect::<Result<Vec<_>, _>>()?;
    let pieces = pieces(wanted, &buffers).ok_or_else(|| mismatch("rows of 4 GiB or more".to_owned()))?;
    let each = pieces.iter().map(Piece::memory).max().unwrap_or(0);
    let rooms = IN_FLIGHT.min(pieces.len());
    let all = each.saturating_mul(rooms as u64);
    let _lease = device.budget().take(Kind::Working, all, PURPOSE, &context.cancel)?;
    let memory = device.pool().alloc(stream, all)?;
    let mut sent: std::collections::VecDeque<InFlight> = std::collections::VecDeque::new();
    for (turn, piece) in pieces.iter().enumerate() {
        if context.cancel.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        if sent.len() == rooms
            && let Some(first) = sent.pop_front()
        {
            spare.give_pinned(first.wait()?);
        }
        // One stream: the previous piece in this room has been placed before it is overwritten.
        let at = each * (turn % rooms) as u64;
        let table_at = at + aligned(piece.len);
        let mut items = piece.there.clone();
        let len = usize::try_from(piece.memory()).map_err(|_| EngineError::Abandoned)?;
        let mut up = spare.pinned(device, len)?;
        for Staged { bytes, spec, part, at: offset, to } in &piece.staged {
            let start = usize::try_from(*offset).map_err(|_| EngineError::Abandoned)?;
            let dst = up.get_mut(start..).ok_or(EngineError::Abandoned)?;
            part::copy(bytes, spec, part, dst, context.threads.get()).ok_or(EngineError::Abandoned)?;
            let strides = part::spec(part, spec).ok_or(EngineError::Abandoned)?.strides;
            let from = Place { first: memory.address() + at + offset, strides };
            let item = assemble::item(to.how, from, to.place, to.size);
            items.push(item.ok_or_else(|| mismatch("rows of 4 GiB or more".to_owned()))?);
        }
        if items.is_empty() {
            continue;
        }
        let (table, start) = (bytes_of(&items), usize::try_from(aligned(piece.len)).unwrap_or(usize::MAX));
        let slot = start.checked_add(table.len()).and_then(|end| up.get_mut(start..end));
        slot.ok_or(EngineError::Abandoned)?.copy_from_slice(table);
        sent.push_back(memory.upload(stream, at, up, len)?);
        let count = u32::try_from(items.len()).map_err(|_| EngineError::Abandoned)?;
        let args = AssembleArgs { items: memory.part(table_at, table.len() as u64)?, count, reserved: 0 };
        let function = device.function(assemble::MODULE, assemble::MODULE)?;
        // SAFETY: rectangles were checked against both images; the caller keeps their memory, and that of the piece,
        // until the stream has been waited for.
        unsafe { launch(stream, &function, assemble::grid(&items), assemble::THREADS, &args) }?;
    }
    for piece in sent {
        spare.give_pinned(piece.wait()?);
    }
    Ok(buffers)
}
