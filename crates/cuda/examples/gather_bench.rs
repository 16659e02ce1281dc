//! `gather_bench [BLOCKS BYTES]`: blocks on a device (256 of 40 KiB), brought to the host one by one, and by one gather
//! and one copy.
//!
//! One JSON line with medians in microseconds: `loop_us` a copy and a wait a block, into memory of its own, as a reader
//! without batches does it; `gather_us` table, gather and one copy into pinned memory that is there already;
//! `gather_pinning_us` the same with pinned memory taken anew. What comes back is compared.

#![expect(unsafe_code, reason = "a kernel is launched")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use strile_cuda::decode::gather::{self, GatherArgs, GatherItem};
use strile_cuda::device::Device;
use strile_cuda::launch::launch;
use strile_cuda::memory::{DeviceBuffer, Pinned};
use strile_cuda::stream::Stream;

/// Blocks lie this far apart and in no order, as those of a window do.
const GAP: u64 = 16 << 10;
/// The step from a block to the next: a prime, which the number of blocks is no multiple of.
const STEP: u64 = 97;
const ROUNDS: usize = 40;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match measure() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{{\"error\": {:?}}}", error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Outcome<String> {
    let words: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let (count, len) = match *words {
        [] => (256, 40 << 10),
        [count, len] if count > 0 && len > 0 && count % STEP != 0 => (count, len),
        _ => return Err("gather_bench [BLOCKS BYTES], not a multiple of 97 blocks".into()),
    };
    let device = Device::open(0)?;
    let stream = device.stream()?;
    let apart = len + GAP;
    let total = count * apart;
    let encoded = device.pool().alloc(&stream, total)?;
    let mut state = 1u32;
    let bytes: Vec<u8> = (0..total)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_le_bytes()[3]
        })
        .collect();
    encoded.write(&stream, 0, &bytes)?;
    // No factor in common: every block once.
    let spans: Vec<(u64, u64)> = (0..count).map(|i| (i * STEP % count * apart, len)).collect();

    let room = || Ok::<_, Box<dyn Error>>(Pinned::new(device.context(), usize::try_from(count * len)?)?);
    let one_by_one = || one_by_one(&stream, &encoded, &spans);
    let at_once = |to: Pinned| at_once(&device, &stream, &encoded, &spans, to);
    let landed = at_once(room()?)?;
    if *landed != *one_by_one()?.concat() {
        return Err("the gathered bytes are others".into());
    }
    let mut kept = Some(landed);
    let gathered = median(|| {
        let to = kept.take().map_or_else(room, Ok)?;
        kept = Some(at_once(to)?);
        Ok(())
    })?;
    let pinning = median(|| at_once(room()?).map(drop))?;
    let looped = median(|| one_by_one().map(drop))?;
    Ok(format!(
        "{{\"blocks\": {count}, \"bytes\": {len}, \"loop_us\": {looped:.1}, \"gather_us\": {gathered:.1}, \
         \"gather_pinning_us\": {pinning:.1}}}"
    ))
}

fn one_by_one(stream: &Stream, encoded: &DeviceBuffer, spans: &[(u64, u64)]) -> Outcome<Vec<Vec<u8>>> {
    let mut blocks = Vec::new();
    for &(offset, len) in spans {
        let mut block = vec![0; usize::try_from(len)?];
        encoded.read(stream, offset, &mut block)?;
        blocks.push(block);
    }
    Ok(blocks)
}

fn at_once(
    device: &Device,
    stream: &Stream,
    encoded: &DeviceBuffer,
    spans: &[(u64, u64)],
    to: Pinned,
) -> Outcome<Pinned> {
    let (items, total) = gather::items(spans.iter().copied(), 1).ok_or("too many bytes")?;
    let table: Vec<u8> = items
        .iter()
        .flat_map(|GatherItem { src, dst, len }| [src.to_ne_bytes(), dst.to_ne_bytes(), len.to_ne_bytes()])
        .flatten()
        .collect();
    let at = total.next_multiple_of(256);
    let memory = device.pool().alloc(stream, at + table.len() as u64)?;
    memory.write(stream, at, &table)?;
    let args = GatherArgs {
        src: encoded.address(),
        dst: memory.address(),
        items: memory.part(at, table.len() as u64)?,
        count: u32::try_from(items.len())?,
        reserved: 0,
    };
    let function = device.function(gather::MODULE, gather::MODULE)?;
    // SAFETY: items lie inside both memories, which live until the copy below is waited for.
    unsafe { launch(stream, &function, gather::grid(&items), gather::THREADS, &args) }?;
    Ok(memory.download(stream, 0, to, usize::try_from(total)?)?.wait()?)
}

/// The median of some rounds in microseconds, the first two not counted.
fn median(mut work: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let mut times = times.split_off(2);
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| "no round".into())
}
