//! The kernel `assemble` moves every sample of every rectangle and no other byte.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use strile_cuda::encode::assemble::{self, AssembleArgs, AssembleItem, Assembly, Place};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::Strides;

struct Draw(Garbage);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        (self.0.word() >> 16) as u32 % n.max(1)
    }
}

/// The memory of `repr(C)` twins.
#[expect(unsafe_code, reason = "the bytes of plain structs without padding")]
fn raw<T: Copy>(items: &[T]) -> Vec<u8> {
    // SAFETY: plain data with no padding (its size is the sum of its fields), read for as long as it lives.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }.to_vec()
}

/// Where a rectangle lies in memory of its own: bytes before it, strides, and bytes of the whole.
fn any_place(
    size: usize,
    (bands, rows, columns): (u32, u32, u32),
    draw: &mut Draw,
) -> (usize, Strides, usize) {
    let unit = if draw.below(4) == 0 { 1 } else { size };
    let (b, r, c) = ((0, bands), (1, rows), (2, columns));
    let axes = [[c, r, b], [b, c, r], [c, b, r], [r, c, b]][draw.below(4) as usize];
    let gaps = draw.below(3);
    let mut strides = [0; 3];
    let mut extent = size;
    for (axis, n) in axes {
        let gap = if draw.below(3) < gaps { unit * draw.below(5) as usize } else { 0 };
        strides[axis] = extent + gap;
        extent += strides[axis] * (n as usize - 1);
    }
    let skip = unit * draw.below(9) as usize;
    (skip, Strides { band: strides[0], row: strides[1], column: strides[2] }, skip + extent)
}

#[test]
fn every_sample_and_no_other_byte() {
    let kernels = Emulator::module(assemble::MODULE).unwrap();
    assert_eq!(kernels.threads("assemble"), Some(assemble::THREADS));
    for seed in 0..24 {
        let mut draw = Draw(Garbage::new(seed));
        let mut items = Vec::new();
        let mut memory = Vec::new();
        for _ in 0..30 {
            let size = 1usize << draw.below(5);
            let mask = size <= 8 && draw.below(3) == 0;
            let wide = if draw.below(6) == 0 { 3000 } else { 60 };
            let shape = (1 + draw.below(4), 1 + draw.below(5), 1 + draw.below(wide));
            let (assembly, to_size) = match mask {
                true => (Assembly::Mask(size as u32), 1),
                false => (Assembly::Copy(size as u32), size),
            };
            let (from_skip, from, from_len) = any_place(size, shape, &mut draw);
            let (to_skip, to, to_len) = any_place(to_size, shape, &mut draw);
            let mut source = Poisoned::new(from_len, seed + draw.below(1000) as u64);
            let target = Poisoned::new(to_len, seed);
            let mut want = target.to_vec();
            for band in 0..shape.0 as usize {
                for row in 0..shape.1 as usize {
                    for column in 0..shape.2 as usize {
                        let at = |strides: Strides| {
                            band * strides.band + row * strides.row + column * strides.column
                        };
                        let (src, dst) = (from_skip + at(from), to_skip + at(to));
                        let sample = &mut source[src..src + size];
                        if mask && draw.below(2) == 0 {
                            sample.fill(0);
                            sample[draw.below(size as u32) as usize] = draw.below(2) as u8;
                        }
                        match mask {
                            true => want[dst] = sample.iter().any(|&byte| byte != 0).into(),
                            false => want[dst..dst + size].copy_from_slice(sample),
                        }
                    }
                }
            }
            let from = Place { first: source.address() + from_skip as u64, strides: from };
            let to = Place { first: target.address() + to_skip as u64, strides: to };
            items.push(assemble::item(assembly, from, to, shape).unwrap());
            memory.push((source, target, want, (assembly, from, to, shape)));
        }
        let table = Poisoned::from_bytes(&raw(&items), seed);
        let args = AssembleArgs { items: table.address(), count: items.len() as u32, reserved: 0 };
        let (count, parts) = assemble::grid(&items);
        let parts = parts.min(1 + seed as u32 % 3);
        kernels.launch("assemble", (count, parts), assemble::THREADS, &args, seed).unwrap();
        for (_, mut target, want, what) in memory {
            target.check().unwrap();
            assert!(target.iter().eq(&want), "{what:?}, seed {seed}");
        }
    }
}

#[test]
fn nothing_to_do_and_too_much() {
    let strides = Strides { band: 1, row: 1, column: 1 };
    let place = Place { first: 0, strides };
    let none = assemble::item(Assembly::Copy(4), place, place, (0, 0, 0)).unwrap();
    let kernels = Emulator::module(assemble::MODULE).unwrap();
    let table = Poisoned::from_bytes(&raw(&[none]), 0);
    let args = AssembleArgs { items: table.address(), count: 1, reserved: 0 };
    kernels.launch("assemble", (1, 1), assemble::THREADS, &args, 0).unwrap();
    assert_eq!(assemble::item(Assembly::Copy(16), place, place, (1, 1, 1 << 27)), None);
    assert_eq!(assemble::grid(&[]), (0, 1));
    let wide = Strides { band: 1 << 40, row: 1 << 30, column: 2 };
    let wide = Place { first: 0, strides: wide };
    let large = assemble::item(Assembly::Copy(2), wide, wide, (4, 1 << 20, 1 << 20)).unwrap();
    let items: Vec<AssembleItem> = vec![large; 10_000];
    let (count, parts) = assemble::grid(&items);
    assert!(u64::from(count) * u64::from(parts) < 1 << 17);
}
