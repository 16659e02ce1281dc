//! The kernels of `compact.cu` put every byte of every block in its place and no other, and the table says where.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use strile_cuda::encode::abi::{DONE, EncodeBlock, PENDING, SPARSE, UNFIT};
use strile_cuda::encode::compact::{self, CompactArgs, CompactEntry};
use strile_emulate::{Emulator, Garbage, Poisoned};

/// The memory of `repr(C)` twins.
#[expect(unsafe_code, reason = "the bytes of plain structs without padding")]
fn raw<T: Copy>(items: &[T]) -> Vec<u8> {
    // SAFETY: plain data with no padding (its size is the sum of its fields), read for as long as it lives.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }.to_vec()
}

/// Compacts blocks of these states and sizes into `short` bytes less than they need.
fn compacted(given: &[(u32, u32)], short: u64, seed: u64) {
    let mut garbage = Garbage::new(seed);
    let count = given.len();
    let size = |&(state, size): &(u32, u32)| if state == DONE { size } else { 0 };
    let mut at = 0;
    let mut blocks: Vec<EncodeBlock> = (0..count)
        .map(|i| {
            let room = given[i].1.max(1).next_multiple_of(16) + 16 * (garbage.word() % 3) as u32;
            let dst = at;
            at += u64::from(room);
            EncodeBlock { dst, room, index: i as u32, ..EncodeBlock::default() }
        })
        .collect();
    // In any order, and without those that a host encoded.
    blocks.sort_by_key(|block| (u64::from(block.index) * 7919) % 101);
    blocks.retain(|block| given[block.index as usize].0 != PENDING);
    let slab = Poisoned::new(at as usize, seed);
    let total: u64 = given.iter().map(|block| u64::from(size(block))).sum();
    let room = total.saturating_sub(short);
    let mut out = Poisoned::new(room as usize, seed + 1);
    let mut want = out.to_vec();
    let mut entries = Vec::new();
    let mut offset = 0;
    for &(state, len) in given {
        let size = size(&(state, len));
        entries.push(CompactEntry { offset, size, state });
        offset += u64::from(size);
    }
    for block in blocks.iter().filter(|_| short == 0) {
        let entry = entries[block.index as usize];
        let from = &slab[block.dst as usize..][..entry.size as usize];
        want[entry.offset as usize..][..from.len()].copy_from_slice(from);
    }
    let on_device = |bytes: Vec<u8>| Poisoned::from_bytes(&bytes, seed);
    let block_bytes = on_device(raw(&blocks));
    let states = on_device(raw(&given.iter().map(|block| block.0).collect::<Vec<_>>()));
    let sizes = on_device(raw(&given.iter().map(|block| block.1).collect::<Vec<_>>()));
    let mut table = Poisoned::new(compact::table_len(count as u32) as usize, seed);
    let args = CompactArgs {
        slab: slab.address(),
        blocks: block_bytes.address(),
        states: states.address(),
        sizes: sizes.address(),
        table: table.address(),
        out: out.address(),
        room,
        count: count as u32,
        blocks_count: blocks.len() as u32,
    };
    let kernels = Emulator::module(compact::MODULE).unwrap();
    assert_eq!(kernels.threads(compact::OFFSETS), Some(compact::OFFSETS_THREADS));
    assert_eq!(kernels.threads(compact::BLOCKS), Some(compact::BLOCKS_THREADS));
    kernels.launch(compact::OFFSETS, (1, 1), compact::OFFSETS_THREADS, &args, seed).unwrap();
    // Fewer parts than the largest needs: then they take several pieces each.
    let most = given.iter().map(size).max().unwrap_or(0) / (1 + seed as u32 % 2);
    let grid = compact::grid(blocks.len() as u32, most.into());
    if grid.0 > 0 {
        kernels.launch(compact::BLOCKS, grid, compact::BLOCKS_THREADS, &args, seed).unwrap();
    }
    table.check().unwrap();
    out.check().unwrap();
    assert_eq!(compact::table(&table), Some((total, entries)), "seed {seed}");
    assert!(out.iter().eq(&want), "{given:?}, seed {seed}");
}

#[test]
fn every_byte_and_no_other() {
    compacted(&[], 0, 0);
    for seed in Emulator::seeds() {
        let mut garbage = Garbage::new(seed);
        compacted(&[(DONE, 1)], 0, seed);
        let any = |garbage: &mut Garbage| {
            let state = [DONE, DONE, DONE, SPARSE, UNFIT, PENDING][garbage.word() as usize % 6];
            (state, (garbage.word() % 70) as u32)
        };
        let given: Vec<(u32, u32)> = (0..12).map(|_| any(&mut garbage)).collect();
        compacted(&given, 0, seed);
    }
    compacted(&[(DONE, 100_000), (DONE, 3), (SPARSE, 70_000), (DONE, 40_961), (DONE, 16_383)], 0, 1);
    compacted(&[(DONE, 100_000), (DONE, 0), (DONE, 16_384)], 0, 2);
}

#[test]
fn more_blocks_than_threads() {
    let given: Vec<(u32, u32)> =
        (0..2500).map(|i| (if i % 5 == 0 { SPARSE } else { DONE }, i % 23)).collect();
    compacted(&given, 0, 3);
}

#[test]
fn nothing_is_copied_where_there_is_no_room() {
    compacted(&[(DONE, 30), (DONE, 50)], 1, 4);
}

#[test]
fn sizes_past_32_bits_together() {
    // Nothing is copied, for want of room: the table alone is looked at.
    let count = 1500u32;
    let on_device = |bytes: Vec<u8>| Poisoned::from_bytes(&bytes, 0);
    let states = on_device(raw(&vec![DONE; count as usize]));
    let sizes = on_device(raw(&vec![(1u32 << 30) + 7; count as usize]));
    let mut table = Poisoned::new(compact::table_len(count) as usize, 0);
    let args = CompactArgs {
        states: states.address(),
        sizes: sizes.address(),
        table: table.address(),
        count,
        ..CompactArgs::default()
    };
    let kernels = Emulator::module(compact::MODULE).unwrap();
    kernels.launch(compact::OFFSETS, (1, 1), compact::OFFSETS_THREADS, &args, 0).unwrap();
    table.check().unwrap();
    let (total, entries) = compact::table(&table).unwrap();
    assert_eq!(total, u64::from(count) * ((1 << 30) + 7));
    assert!(entries.iter().zip(0..).all(|(entry, i)| entry.offset == i * ((1 << 30) + 7)));
}

#[test]
fn many_blocks_do_not_ask_for_endless_cuda_blocks() {
    let (count, parts) = compact::grid(10_000, 1 << 30);
    assert!(u64::from(count) * u64::from(parts) < 1 << 17);
    assert_eq!(compact::grid(256, 40 << 10), (256, 3));
    assert_eq!(compact::grid(0, 0), (0, 1));
    assert_eq!(compact::table(&[0; 24]), None);
}
