//! A batch as the engine makes one: one piece of memory for statuses and samples, one launch, one wait.

use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_cuda::device::Device;
use strile_cuda::picture::{Bytes, Decoder, Placed, Room, Stop};
use strile_engine::BlockLayout;

const PENDING: u32 = u32::MAX;

/// A stream, and the layout of its block.
pub type Stored = (Vec<u8>, Arc<BlockLayout>);

/// What became of the pictures of a batch: the samples, or `None` where they are not right.
pub type Samples = Vec<Option<Vec<u8>>>;

/// What became of a batch.
pub fn decode<D: Decoder>(decoder: &D, device: &Arc<Device>, streams: &[Stored]) -> Result<Samples, Stop> {
    timed(decoder, device, streams).map(|(samples, _)| samples)
}

/// The same, and the time from the launch to the end of the wait.
pub fn timed<D: Decoder>(
    decoder: &D,
    device: &Arc<Device>,
    streams: &[Stored],
) -> Result<(Samples, Duration), Stop> {
    let stream = device.stream()?;
    let aligned = |len: u64| len.div_ceil(256) * 256;
    let len = |layout: &BlockLayout| layout.decoded_len(layout.height).unwrap() as u64;
    let start = aligned(4 * streams.len() as u64);
    let total: u64 = streams.iter().map(|(_, layout)| aligned(len(layout))).sum();
    let memory = device.pool().alloc(&stream, start + total)?;
    memory.fill_u32(&stream, 0, streams.len() as u64, PENDING)?;
    let mut at = start;
    let mut placed = Vec::new();
    for (status, (bytes, layout)) in (0..).zip(streams) {
        let picture = decoder.parse(bytes, layout, layout.height).unwrap();
        let need = decoder.need(&picture);
        assert_eq!((need.bytes, need.tables, need.scratch), (0, 0, 0), "the library takes it from the host");
        placed.push(Placed {
            picture: Arc::new(picture),
            stream: Bytes::from(bytes.clone()),
            layout: Arc::clone(layout),
            rows: layout.height,
            bytes: 0,
            dst: memory.address() + at,
            dst_len: u32::try_from(len(layout)).unwrap(),
            status,
        });
        at += aligned(len(layout));
    }
    let room = Room { statuses: memory.address(), tables: 0, scratch: 0, scratch_len: 0 };
    let mut batch = decoder.lay_out(&placed, &room, &mut [])?;
    stream.synchronize()?;
    let start_of_launch = Instant::now();
    decoder.launch(&mut batch, device, &stream)?;
    stream.synchronize()?;
    let took = start_of_launch.elapsed();
    let wrong = decoder.finish(batch);
    let mut all = vec![0; usize::try_from(start + total).unwrap()];
    memory.read(&stream, 0, &mut all)?;
    let samples = |placed: &Placed<D::Picture>| {
        let index = placed.status as usize;
        let right = all[4 * index..4 * index + 4] == [0; 4] && !wrong.contains(&placed.status);
        let at = usize::try_from(placed.dst - memory.address()).unwrap();
        right.then(|| all[at..at + placed.dst_len as usize].to_vec())
    };
    Ok((placed.iter().map(samples).collect(), took))
}
