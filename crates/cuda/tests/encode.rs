//! What the CUDA engine encodes is what the CPU engine does with the encoders of `portable/spec.md`, byte for byte: every
//! codec, kinds of samples, blocks at the edge, pixels on the host and on the device. On a device where one is asked for,
//! else on the stand-in driver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

mod on_any;
mod writing;

use on_any::engine;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::CudaEngine;
use strile_engine::{
    Assembly, Context, EncodeLayout, EncodedBlocks, Encoder, Engine, Fill, Given, Location, OutputSpec,
    Patch, SharedPixels, Strides,
};
use strile_tiff::{ByteOrder, Compression as C, DataType, Predictor};
use writing::{CODECS, brought, encode, layout, raster, with};

fn same(ours: &EncodedBlocks, theirs: &EncodedBlocks, what: &dyn std::fmt::Debug) {
    assert_eq!(ours.faults, theirs.faults, "{what:?}");
    for (one, other) in ours.blocks.iter().zip(&theirs.blocks) {
        assert_eq!((one.address, one.layout), (other.address, other.layout), "{what:?}");
        assert!(ours.bytes(one) == theirs.bytes(other), "{:?}: {what:?}", one.address);
    }
    assert_eq!(ours.blocks, theirs.blocks, "{what:?}");
    assert!(ours.slab.bytes() == theirs.slab.bytes(), "{what:?}");
}

fn check(engine: &CudaEngine, layout: &EncodeLayout, pixels: &SharedPixels) {
    assert_eq!(CudaEngine::encodes_on_device(layout), Ok(()), "{layout:?}");
    let context = Context::default();
    let expected = encode(&CpuEngine::new(), layout, pixels, &context).unwrap();
    let there = brought(engine, pixels);
    assert_eq!(there.location(), engine.location());
    for pixels in [pixels, &there] {
        same(&encode(engine, layout, pixels, &context).unwrap(), &expected, layout);
    }
    let encoder = |engine: &dyn Engine| engine.encoder(Encoder::Portable).to_owned();
    assert_eq!(encoder(engine), encoder(&CpuEngine::new()));
}

fn every_kind(compression: C) {
    let engine = engine().unwrap();
    let predicted = !matches!(compression, C::None | C::PackBits);
    let kinds: [(DataType, u16, Predictor, ByteOrder); 6] = [
        (DataType::U8, 1, Predictor::None, ByteOrder::Little),
        (DataType::U8, 3, Predictor::Horizontal, ByteOrder::Little),
        (DataType::I16, 1, Predictor::Horizontal, ByteOrder::Big),
        (DataType::F32, 1, Predictor::FloatingPoint, ByteOrder::Little),
        (DataType::F64, 2, Predictor::None, ByteOrder::Big),
        (DataType::C128, 1, Predictor::None, ByteOrder::Little),
    ];
    for (data_type, samples, predictor, byte_order) in kinds {
        let predictor = if predicted { predictor } else { Predictor::None };
        let layout = with(layout(compression, data_type, samples, (48, 32)), |block| {
            (block.predictor, block.byte_order) = (predictor, byte_order);
        });
        // Blocks inside, on the right, below, and in the corner.
        let pixels = raster(data_type, (samples.into(), 41, 70), byte_order == ByteOrder::Big);
        check(&engine, &layout, &pixels);
    }
    // Strips, the last of them short; and planes.
    let strips = with(layout(compression, DataType::U16, 1, (70, 16)), |block| block.is_strip = true);
    check(&engine, &strips, &raster(DataType::U16, (2, 41, 70), false));
    // A mask.
    let mask = with(layout(compression, DataType::U8, 1, (32, 32)), |block| block.sample.bits = 1);
    let spec = OutputSpec::band_first(DataType::U8, 1, 40, 45).unwrap();
    let bits = (0..40 * 45).map(|i| u8::from(i / 45 > 7 && i % 45 > i / 60)).collect();
    check(&engine, &mask, &SharedPixels::new(spec, Arc::new(bits)).unwrap());
}

#[test]
fn stored_blocks_are_the_cpus() {
    every_kind(C::None);
}

#[test]
fn packbits_is_the_cpus() {
    every_kind(C::PackBits);
}

#[test]
fn lzw_is_the_cpus() {
    every_kind(C::Lzw);
}

#[test]
fn deflate_is_the_cpus() {
    every_kind(C::Deflate);
}

#[test]
fn zstd_is_the_cpus() {
    every_kind(C::Zstd);
}

#[test]
fn lz4_is_the_cpus() {
    every_kind(C::Lz4);
}

/// Several parts a block, every level.
#[test]
fn levels_give_the_cpus_bytes_on_larger_blocks() {
    let engine = engine().unwrap();
    let pixels = raster(DataType::U16, (1, 200, 256), false);
    for compression in [C::Deflate, C::Zstd] {
        for level in [1, 3, 6, 9, 12] {
            let mut layout = with(layout(compression, DataType::U16, 1, (256, 256)), |block| {
                block.predictor = Predictor::Horizontal;
            });
            layout.params.level = level;
            let expected = encode(&CpuEngine::new(), &layout, &pixels, &Context::default()).unwrap();
            let found = encode(&engine, &layout, &pixels, &Context::default()).unwrap();
            same(&found, &expected, &(compression, level));
        }
    }
}

#[test]
fn holes_are_filled_and_sparse_blocks_left_out() {
    let engine = engine().unwrap();
    let spec = OutputSpec::band_first(DataType::F32, 1, 40, 100).unwrap();
    let value = |i: u32| match (i % 100 / 32, i / 100) {
        (1, _) => f32::NAN,
        (_, 0..7) => -9.0,
        (2, _) => f32::from_bits(i),
        _ => f32::NAN,
    };
    let bytes = (0..4000).flat_map(|i| value(i).to_ne_bytes()).collect();
    let pixels = SharedPixels::new(spec, Arc::new(bytes)).unwrap();
    let mut fill = Fill::default();
    fill.0[..4].copy_from_slice(&(-9f32).to_ne_bytes());
    for compression in CODECS {
        let mut layout = layout(compression, DataType::F32, 1, (32, 32));
        (layout.nan_to, layout.sparse) = (Some(fill), Some(fill));
        let found = encode(&engine, &layout, &pixels, &Context::default()).unwrap();
        assert_eq!(found.blocks.iter().filter(|block| block.span.is_none()).count(), 6);
        check(&engine, &layout, &pixels);
    }
}

/// Pixels of the caller's on the device: room between samples, a part of something larger, an odd address.
#[test]
fn parts_of_pixels_on_the_device_are_encoded_where_they_lie() {
    let engine = engine().unwrap();
    let strides = Strides { band: 3, row: 1000, column: 9 };
    let spec = OutputSpec { data_type: DataType::U16, bands: 3, rows: 30, columns: 90, strides };
    let bytes: Vec<u8> = (0..spec.len().unwrap()).map(|i| (i * i / 11) as u8 & 0x0F).collect();
    let memory = engine.upload(&bytes, &Context::default()).unwrap();
    let whole = SharedPixels::new(spec.clone(), Arc::new(bytes)).unwrap();
    let there = SharedPixels::on_device(spec, memory).unwrap();
    let of = |pixels: &SharedPixels| pixels.part((7, 3), (60, 25)).unwrap();
    for (compression, bits) in [(C::PackBits, 16), (C::None, 16), (C::Lzma, 16), (C::None, 12)] {
        let layout = with(layout(compression, DataType::U16, 3, (32, 16)), |block| block.sample.bits = bits);
        let context = Context::default();
        let expected = encode(&CpuEngine::new(), &layout, &of(&whole), &context).unwrap();
        same(&encode(&engine, &layout, &of(&there), &context).unwrap(), &expected, &(compression, bits));
        assert_eq!(CudaEngine::encodes_on_device(&layout).is_ok(), bits == 16 && compression != C::Lzma);
    }
}

#[test]
fn what_has_no_kernel_is_said_in_words() {
    let lzma = layout(C::Lzma, DataType::U16, 1, (16, 16));
    assert_eq!(CudaEngine::encodes_on_device(&lzma), Err("no kernel writes lzma".to_owned().into()));
    let odd = with(layout(C::None, DataType::U16, 1, (16, 16)), |block| block.sample.bits = 12);
    let reason = CudaEngine::encodes_on_device(&odd).unwrap_err().to_string();
    assert!(reason.starts_with("no kernel writes samples of"), "{reason}");
}

/// A job with blocks of the device, of the host, and one that a kernel cannot take: all come back in order.
#[test]
fn blocks_of_the_host_and_of_the_device_come_in_their_order() {
    let engine = engine().unwrap();
    let layouts = [
        layout(C::PackBits, DataType::U8, 1, (16, 16)),
        layout(C::Lzma, DataType::U8, 1, (16, 16)),
        with(layout(C::PackBits, DataType::U8, 1, (16, 16)), |block| block.sample.bits = 1),
    ];
    let spec = OutputSpec::band_first(DataType::U8, 1, 48, 32).unwrap();
    let bytes = (0..48 * 32).map(|i| u8::from(i % 3 == 0) + u8::from(i == 700)).collect();
    let pixels = SharedPixels::new(spec, Arc::new(bytes)).unwrap();
    let mut job = writing::job(&layouts[0], &pixels);
    job.layouts = layouts.to_vec();
    for (turn, task) in job.tasks.iter_mut().enumerate() {
        task.layout = (turn % 3) as u32;
    }
    let run = |engine: &dyn Engine, pixels: &SharedPixels| {
        let ticket = engine.encode(job.clone(), std::slice::from_ref(pixels), &Context::default());
        ticket.unwrap().wait().unwrap()
    };
    let expected = run(&CpuEngine::new(), &pixels);
    for pixels in [&pixels, &brought(&engine, &pixels)] {
        same(&run(&engine, pixels), &expected, &"mixed");
    }
}

/// Rectangles of the host and of the device, other orders of axes, masks: what the CPU engine puts together.
#[test]
fn pixels_are_put_together_as_on_the_cpu() {
    let engine = engine().unwrap();
    let (by_pixel, by_band) =
        (raster(DataType::U16, (3, 40, 50), true), raster(DataType::U16, (3, 30, 60), false));
    let there = brought(&engine, &by_band);
    let mask = raster(DataType::I16, (1, 40, 50), false);
    let (cpu, context) = (CpuEngine::new(), Context::default());
    for make in [OutputSpec::band_first, OutputSpec::band_last] {
        let spec = make(DataType::U16, 3, 35, 45).unwrap();
        let patches = |second| {
            let host = Given::Host { spec: by_pixel.spec(), bytes: by_pixel.bytes() };
            vec![
                Patch { from: host, at: (4, 3), to: (0, 0), size: (45, 20) },
                Patch { from: Given::There(second), at: (15, 15), to: (0, 20), size: (45, 15) },
            ]
        };
        let wanted = |second| Assembly { spec: spec.clone(), mask: false, patches: patches(second) };
        let of_mask = Assembly {
            spec: OutputSpec::band_first(DataType::U8, 1, 10, 12).unwrap(),
            mask: true,
            patches: vec![Patch { from: Given::There(&mask), at: (9, 8), to: (0, 0), size: (12, 10) }],
        };
        let expected = cpu.assemble(&[wanted(&by_band), of_mask.clone()], &context).unwrap();
        for second in [&by_band, &there] {
            let found = engine.assemble(&[wanted(second), of_mask.clone()], &context).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.location(), engine.location());
                assert!(engine.fetch(found, &context).unwrap().bytes() == expected.bytes());
            }
        }
    }
    // What does not fit is refused by both.
    let spec = OutputSpec::band_first(DataType::U16, 3, 35, 45).unwrap();
    let patch = Patch { from: Given::There(&by_pixel), at: (6, 3), to: (0, 0), size: (45, 20) };
    let wrong = [Assembly { spec, mask: false, patches: vec![patch] }];
    assert!(cpu.assemble(&wrong, &context).is_err() && engine.assemble(&wrong, &context).is_err());
}

/// More than goes through pinned memory at once.
#[test]
fn large_pixels_come_in_pieces() {
    let engine = engine().unwrap();
    let pixels = raster(DataType::F64, (1, 1100, 4100), false);
    let there = brought(&engine, &pixels);
    assert!(engine.fetch(&there, &Context::default()).unwrap().bytes() == pixels.bytes());
}

#[test]
fn parts_are_fetched_with_what_lies_between() {
    let engine = engine().unwrap();
    let pixels = raster(DataType::U16, (2, 20, 30), true);
    let there = brought(&engine, &pixels).part((3, 4), (10, 9)).unwrap();
    let expected = pixels.part((3, 4), (10, 9)).unwrap();
    let found = engine.fetch(&there, &Context::default()).unwrap();
    assert_eq!(found.bytes(), &expected.bytes()[..expected.spec().len().unwrap()]);
    assert_eq!(there.location(), engine.location());
    assert_eq!(expected.location(), Location::Host);
    assert_eq!(engine.fetch(&expected, &Context::default()).unwrap().bytes(), found.bytes());
}
