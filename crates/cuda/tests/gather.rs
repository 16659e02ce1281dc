//! The kernel `gather` copies every byte of every block and no other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use strile_cuda::decode::gather::{self, GatherArgs, GatherItem};
use strile_emulate::{Emulator, Garbage, Poisoned};

fn gathered(lens: &[u64], align: u64, seed: u64) {
    let mut garbage = Garbage::new(seed);
    let mut at = 0;
    let blocks: Vec<(u64, u64)> = lens
        .iter()
        .map(|&len| {
            at += garbage.word() % 40;
            let src = at;
            at += len;
            (src, len)
        })
        .collect();
    let src = Poisoned::new(at as usize, seed);
    let (items, end) = gather::items(blocks, align).unwrap();
    let mut dst = Poisoned::new(end as usize, seed + 1);
    let mut want = dst.to_vec();
    for item in &items {
        let (from, to, len) = (item.src as usize, item.dst as usize, item.len as usize);
        want[to..to + len].copy_from_slice(&src[from..from + len]);
    }
    let bytes: Vec<u8> =
        items.iter().flat_map(|i| [i.src, i.dst, i.len]).flat_map(u64::to_ne_bytes).collect();
    let table = Poisoned::from_bytes(&bytes, seed);
    let args = GatherArgs {
        src: src.address(),
        dst: dst.address(),
        items: table.address(),
        count: items.len() as u32,
        reserved: 0,
    };
    let grid = gather::grid(&items);
    let kernels = Emulator::module("gather").unwrap();
    assert_eq!(kernels.threads("gather"), Some(gather::THREADS));
    if grid.0 > 0 {
        kernels.launch("gather", grid, gather::THREADS, &args, seed).unwrap();
    }
    dst.check().unwrap();
    assert!(dst.iter().eq(&want), "{lens:?} aligned to {align}, seed {seed}");
}

#[test]
fn every_byte_and_no_other() {
    for seed in Emulator::seeds() {
        for align in [1, 16] {
            gathered(&[], align, seed);
            gathered(&[1], align, seed);
            gathered(&[40], align, seed);
            gathered(&[7, 0, 33, 0, 0, 64, 15, 16, 17], align, seed);
        }
    }
    gathered(&[100_000, 3, 40_960, 16_384, 16_383], 1, 1);
    gathered(&(0..300).map(|i| i % 50).collect::<Vec<_>>(), 1, 2);
}

#[test]
fn offsets_are_sums_of_lengths() {
    let (items, end) = gather::items([(100, 5), (0, 0), (7, 20)], 16).unwrap();
    let want = [(100, 0, 5), (0, 16, 0), (7, 16, 20)];
    assert_eq!(items, want.map(|(src, dst, len)| GatherItem { src, dst, len }));
    assert_eq!(end, 36);
    assert_eq!(gather::items([(0, u64::MAX), (0, 1)], 1), None);
}

#[test]
fn a_long_item_among_many_does_not_ask_for_endless_blocks() {
    let long = GatherItem { src: 0, dst: 0, len: 1 << 30 };
    let mut items = vec![GatherItem::default(); 10_000];
    items.push(long);
    let (count, parts) = gather::grid(&items);
    assert!(u64::from(count) * u64::from(parts) < 1 << 17);
    assert_eq!(gather::grid(&[GatherItem { len: 40 << 10, ..long }; 256]), (256, 3));
    assert_eq!(gather::grid(&[]), (0, 1));
}
