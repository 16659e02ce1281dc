//! Many batches in one process: memory, device memory and descriptors stay what they were.

use crate::made::{any_window, bytes_of, device, spec};
use std::sync::Arc;
use strile::{
    BatchOptions, Context, Dataset, Device, HeaderLimits, Headers, OpenOptions, read_batch,
    read_batch_on_device,
};
use testkit::{Codec, Random};

/// Resident bytes and open descriptors of this process.
#[cfg(target_os = "linux")]
fn held() -> (u64, usize) {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    (resident * 4096, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_batches_leave_nothing_behind() {
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
    let limits = HeaderLimits { files: 12, open: 5, ..HeaderLimits::default() };
    let headers = Headers::new(limits, OpenOptions::default());
    let mut random = Random::new(1);
    let mut batch = |by: Device| {
        let files: Vec<Arc<Dataset>> =
            (0..8).map(|_| headers.open(&paths[random.below(paths.len())]).unwrap()).collect();
        let windows: Vec<_> = (0..8).map(|_| any_window(&mut random, &files, (16, 16))).collect();
        let options = BatchOptions { device: by, masked: random.below(2) == 0, ..Default::default() };
        let context = Context::default();
        match by {
            Device::Cuda(_) => drop(read_batch_on_device(&files, &windows, &options, &context).unwrap()),
            _ => drop(read_batch(&files, &windows, &options, &context).unwrap()),
        }
    };
    (0..200).for_each(|_| batch(Device::Cpu));
    let before = held();
    (0..1000).for_each(|_| batch(Device::Cpu));
    let after = held();
    assert_eq!(after.1, before.1, "descriptors");
    assert!(after.0 < before.0 + (4 << 20), "{} bytes more", after.0 - before.0);
    let cuda = device();
    (0..3).for_each(|_| batch(cuda));
    let before = strile_emulate::StandIn::load().unwrap().allocated();
    (0..20).for_each(|_| batch(cuda));
    // A tensor has 24 KiB; the last one may not be gone yet.
    let after = strile_emulate::StandIn::load().unwrap().allocated();
    assert!(after <= before + (64 << 10), "device memory: {before}, then {after}");
}
