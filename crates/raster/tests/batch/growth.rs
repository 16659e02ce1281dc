//! Many batches in one process: memory, device memory and descriptors stay what they were.

use crate::made::{any_window, bytes_of, device, is_stand_in, spec};
use std::sync::Arc;
use strile::batch::{HeaderLimits, Headers, read_batch_on_device};
use strile::{BatchOptions, Context, Dataset, OpenOptions, Processor, read_batch};
use testkit::{Codec, Random};

/// Bytes of the heap in use and open descriptors of this process. Resident memory is no measure of batches: with 16 threads the
/// free space between live blocks of 16 arenas grows by megabytes for a while.
#[cfg(target_os = "linux")]
fn held() -> (usize, usize) {
    // Blocks that were read again are kept on purpose.
    strile::cache::clear();
    (testkit::allocator::heap().0, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Set for the process of its own: tests beside it take memory too.
const ALONE: &str = "STRILE_TEST_ALONE";

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_batches_leave_nothing_behind() {
    if std::env::var_os(ALONE).is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["growth::ten_thousand_batches_leave_nothing_behind", "--exact", "--nocapture"]);
        assert!(alone.env(ALONE, "1").status().unwrap().success());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let codecs = [Codec::Deflate, Codec::Lzw, Codec::Zstd];
    let paths: Vec<_> = (0..24u64)
        .map(|seed| {
            let path = folder.path().join(format!("{seed}.tif"));
            std::fs::write(&path, bytes_of(&spec(codecs[seed as usize % 3].clone()), seed)).unwrap();
            path
        })
        .collect();
    // Fewer than there are: files are opened, closed, forgotten and read again all the time.
    let limits = HeaderLimits::new().files(12).open(5);
    let headers = Headers::new(limits, OpenOptions::default());
    let context = Context::default();
    let batch = |by: Processor, random: &mut Random| {
        let files: Vec<Arc<Dataset>> =
            (0..2).map(|_| headers.open(&paths[random.below(paths.len())]).unwrap()).collect();
        let windows: Vec<_> = (0..3).map(|_| any_window(random, &files, (8, 8))).collect();
        let masked = random.below(2) == 0;
        let size = (random.below(2) == 0).then_some((5, 5)).filter(|_| by == Processor::Cpu);
        let mut options = BatchOptions::new().decode_on(by).masked(masked);
        options.size = size;
        match by {
            Processor::Cuda(index) => {
                drop(read_batch_on_device(index, &files, &windows, &options, &context).unwrap())
            }
            _ => drop(read_batch(&files, &windows, &options, &context).unwrap()),
        }
    };
    let mut random = Random::new(1);
    // Until every thread of the pool has had blocks of every codec: small batches wake few threads, large ones all.
    let files: Vec<Arc<Dataset>> = paths.iter().map(|path| headers.open(path).unwrap()).collect();
    for _ in 0..50 {
        let windows: Vec<_> = (0..200).map(|_| any_window(&mut random, &files, (64, 64))).collect();
        drop(read_batch(&files, &windows, &BatchOptions::new().decode_on(Processor::Cpu), &context).unwrap());
    }
    drop(files);
    (0..3_000).for_each(|_| batch(Processor::Cpu, &mut random));
    let before = held();
    (0..10_000).for_each(|_| batch(Processor::Cpu, &mut random));
    let after = held();
    assert_eq!(after.1, before.1, "descriptors");
    // 100 bytes per batch: less than the header of a file, or the plan of a batch.
    assert!(after.0 < before.0 + (1 << 20), "{} bytes more", after.0 - before.0);
    let cuda = device();
    let opened = strile_cuda::device::Device::open(0).unwrap();
    // Counted by our pool on any device, and by the stand-in where there is no GPU. Memory of a batch is returned by the
    // next wait, so the same batch is the last one both times.
    let device_bytes = || {
        batch(cuda, &mut Random::new(3));
        let driver = is_stand_in().then(|| strile_emulate::StandIn::load().unwrap().allocated());
        (opened.pool().current(), driver)
    };
    batch(cuda, &mut random);
    let before = device_bytes();
    let many = if is_stand_in() { 30 } else { 10_000 };
    (0..many).for_each(|_| batch(cuda, &mut random));
    assert_eq!(device_bytes(), before, "device memory");
}
