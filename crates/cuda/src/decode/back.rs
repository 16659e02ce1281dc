//! Encoded blocks on the device that the host needs: one gather and one copy for any number of blocks.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::abi::bytes_of;
use crate::decode::batch::{Batch, Read};
use crate::decode::gather::{self, GatherArgs, GatherItem};
use crate::decode::plan::Arenas;
use crate::decode::run::{Run, Stop};
use crate::device::Device;
use crate::lane::Spare;
use crate::launch::launch;
use crate::memory::{DeviceBuffer, InFlight, Kind};
use crate::stream::Stream;
use std::sync::Arc;
use strile_engine::{Arena, Context, DeviceBytes, EngineError, Span};

const PURPOSE: &str = "encoded blocks back to host";

/// Copies the bytes of `spans` to one arena and returns their place there. A span that leaves the bytes gets a span
/// past the arena's end.
pub(crate) fn back_to_host(
    device: &Device,
    spare: &Arc<Spare>,
    stream: &Stream,
    bytes: &DeviceBytes,
    spans: &[Span],
    context: &Context,
) -> Result<(Arena, Vec<Span>), Stop> {
    let (mut items, mut moved, mut total) = (Vec::new(), Vec::new(), 0u64);
    for span in spans {
        let inside = span.end().is_some_and(|end| end <= bytes.len());
        moved.push(Span { offset: if inside { total } else { u64::MAX / 2 }, len: span.len });
        if inside && span.len > 0 {
            items.push(GatherItem { src: span.offset, dst: total, len: span.len });
            total = total.saturating_add(span.len);
        }
    }
    if total == 0 {
        return Ok((Arena::from_vec(Vec::new()), moved));
    }
    let table = bytes_of(&items);
    let _host = context.budget.take(total, PURPOSE).map_err(EngineError::from)?;
    let need = crate::decode::batch::aligned(total) + table.len() as u64;
    let _device = device.budget().try_take(Kind::Working, need, PURPOSE).map_err(EngineError::from)?;
    let memory = device.pool().alloc(stream, need)?;
    let at = crate::decode::batch::aligned(total);
    memory.write(stream, at, table)?;
    let args = GatherArgs {
        src: bytes.address(),
        dst: memory.address(),
        items: memory.part(at, table.len() as u64)?,
        count: u32::try_from(items.len()).map_err(|_| EngineError::Abandoned)?,
        reserved: 0,
    };
    let function = device.function(gather::MODULE, gather::MODULE)?;
    // SAFETY: items lie inside both memories, which live until the copy below has been waited for.
    unsafe { launch(stream, &function, gather::grid(&items), gather::THREADS, &args) }?;
    let len = usize::try_from(total).map_err(|_| EngineError::Abandoned)?;
    let landed = memory.download(stream, 0, spare.pinned(device, len)?, len)?.wait()?;
    Ok((spare.arena(landed, len), moved))
}

/// Fills a batch's arena of encoded bytes from bytes that are already on the device: kernels need them aligned, with
/// slack behind each range. The gather table is stored where the batch's tables will be.
pub(crate) fn gather_into(
    run: &Run,
    bytes: &DeviceBytes,
    batch: &Batch,
    arenas: &Arenas,
    stream: &Stream,
    memory: &DeviceBuffer,
) -> Result<InFlight, Stop> {
    let item = |read: &Read| GatherItem { src: read.offset, dst: read.at, len: read.len };
    let items: Vec<GatherItem> = batch.reads.iter().map(item).collect();
    // Makes the bytes that kernels may read past a block deterministic.
    memory.fill(stream, arenas.encoded, batch.size.encoded, 0)?;
    let table = bytes_of(&items);
    let mut rows = run.spare.pinned(&run.device, table.len())?;
    rows.get_mut(..table.len()).ok_or(EngineError::Abandoned)?.copy_from_slice(table);
    let rows = memory.upload(stream, arenas.tables, rows, table.len())?;
    let args = GatherArgs {
        src: bytes.address(),
        dst: memory.part(arenas.encoded, batch.size.encoded)?,
        items: memory.part(arenas.tables, table.len() as u64)?,
        count: u32::try_from(items.len()).map_err(|_| EngineError::Abandoned)?,
        reserved: 0,
    };
    let function = run.device.function(gather::MODULE, gather::MODULE)?;
    // SAFETY: the plan sent spans outside the bytes to the host, and `batch` placed the others inside the arena.
    unsafe { launch(stream, &function, gather::grid(&items), gather::THREADS, &args) }?;
    Ok(rows)
}
