//! What the tests of the encoders of PackBits, LZW and LZ4 share: a batch of blocks through the passes of a codec on the
//! emulator, and the bytes of the CPU engine's portable encoder.

use strile_cpu::codec::{self, StoredBlock, Workspace};
use strile_cuda::encode::abi::{self, EncodeArgs, EncodeBlock};
use strile_cuda::encode::codec::{Codec, Effort};
use strile_emulate::{Emulator, Poisoned};
use strile_engine::{BlockLayout, CodecExtras, EncodeParams, Encoder, Fill};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

/// Bytes in rows.
#[derive(Clone)]
pub struct Rows {
    pub bytes: Vec<u8>,
    pub row_len: usize,
}

/// Bytes of no block between those of two.
const GAP: u64 = 16;

fn layout(compression: Compression, rows: &Rows, unit: u32) -> BlockLayout {
    BlockLayout {
        width: rows.row_len as u32 / unit,
        height: (rows.bytes.len() / rows.row_len) as u32,
        samples: unit as u16,
        sample: SampleType { format: SampleFormat::Uint, bits: 8 },
        mixed_bits: None,
        data_type: DataType::U8,
        byte_order: ByteOrder::Little,
        reverse_bits: false,
        compression,
        predictor: Predictor::None,
        is_strip: false,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    }
}

/// What the CPU engine's portable encoder makes of it; it reads it back as it was.
pub fn on_host(compression: Compression, rows: &Rows, level: i32) -> Vec<u8> {
    on_host_with(compression, rows, 1, level)
}

/// The same for pixels of `unit` bytes, of which rows have whole ones.
pub fn on_host_with(compression: Compression, rows: &Rows, unit: u32, level: i32) -> Vec<u8> {
    let layout = layout(compression, rows, unit);
    let params =
        EncodeParams { encoder: Encoder::Portable, level, quality: 0, lossless: true, max_error: 0.0 };
    let block = StoredBlock { layout: &layout, rows: layout.height };
    let (mut encoded, mut workspace) = (Vec::new(), Workspace::default());
    codec::encode(&rows.bytes, &mut encoded, block, &params, &mut workspace).unwrap();
    let mut back = vec![0; rows.bytes.len()];
    codec::decode(&encoded, &mut back, block, &mut workspace).unwrap();
    assert!(back == rows.bytes, "the CPU engine does not read what it wrote");
    encoded
}

fn words(buffer: &Poisoned) -> Vec<u32> {
    buffer.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// All blocks in one launch a pass, in arenas as tight as `encode_abi.h` allows. Every third block of the launch is
/// sparse and in nobody's list: it must be left alone.
pub fn launch(codec: &Codec, blocks: &[Rows], level: i32, seed: u64) -> Vec<Vec<u8>> {
    launch_with(codec, blocks, 1, (codec.effort)(level), seed)
}

/// The same for pixels of `unit` bytes and any effort.
pub fn launch_with(codec: &Codec, blocks: &[Rows], unit: u32, effort: Effort, seed: u64) -> Vec<Vec<u8>> {
    let sparse = Rows { bytes: vec![0; 100], row_len: 10 };
    let mut all: Vec<&Rows> = Vec::new();
    for (i, rows) in blocks.iter().enumerate() {
        if i % 2 == 1 {
            all.push(&sparse);
        }
        all.push(rows);
    }
    let (mut table, mut src, mut dst, mut scratch) = (Vec::new(), 0_u64, GAP, 0_u64);
    for (i, rows) in all.iter().enumerate() {
        let len = rows.bytes.len() as u32;
        let room = (codec.bound)(len, rows.row_len as u32).next_multiple_of(16);
        table.push(EncodeBlock {
            src,
            dst,
            scratch,
            len,
            room: room as u32,
            row_len: rows.row_len as u32,
            unit,
            index: (all.len() - 1 - i) as u32,
            reserved: 0,
        });
        src += u64::from(len).next_multiple_of(16) + abi::SLACK;
        dst += room + GAP;
        scratch += (codec.scratch)(len).next_multiple_of(256);
    }
    let mut packed = Poisoned::new(src as usize, seed);
    let mut slab = Poisoned::new(dst as usize, seed ^ 1);
    let mut work = Poisoned::new(scratch as usize, seed ^ 2);
    let mut states = Poisoned::new(4 * all.len(), seed ^ 3);
    let mut sizes = Poisoned::new(4 * all.len(), seed ^ 4);
    for (block, rows) in table.iter().zip(&all) {
        packed[block.src as usize..][..rows.bytes.len()].copy_from_slice(&rows.bytes);
        let state = if std::ptr::eq(*rows, &raw const sparse) { abi::SPARSE } else { abi::PACKED };
        states[4 * block.index as usize..][..4].copy_from_slice(&state.to_le_bytes());
        if codec.zero_slab {
            slab[block.dst as usize..][..block.room as usize].fill(0);
        }
    }
    let (slab_before, packed_before) = (slab.to_vec(), packed.to_vec());
    let args = EncodeArgs {
        packed: packed.address(),
        slab: slab.address(),
        scratch: work.address(),
        blocks: table.as_ptr().addr() as u64,
        states: states.address(),
        sizes: sizes.address(),
        count: all.len() as u32,
        depth: effort.depth,
        nice: effort.nice,
        lazy: u32::from(effort.lazy),
    };
    let longest = all.iter().map(|rows| rows.bytes.len() as u32).max().unwrap();
    for pass in (codec.passes)(effort) {
        let states = words(&states);
        assert!(states.iter().all(|state| [abi::PACKED, abi::SPARSE].contains(state)), "{}", pass.entry);
        let kernels = Emulator::module(pass.module).unwrap();
        assert_eq!(kernels.threads(pass.entry), Some(pass.threads), "{}", pass.entry);
        let parts = if pass.part == 0 { 1 } else { longest.div_ceil(pass.part) };
        kernels.launch(pass.entry, (args.count, parts), pass.threads, &args, seed).unwrap();
    }
    for buffer in [&mut packed, &mut slab, &mut work, &mut states, &mut sizes] {
        buffer.check().unwrap();
    }
    assert!(packed.iter().eq(&packed_before), "packed bytes were written");
    let (states, sizes) = (words(&states), words(&sizes));
    let (mut made, mut gap) = (Vec::new(), 0);
    for (block, rows) in table.iter().zip(&all) {
        let (start, room) = (block.dst as usize, block.room as usize);
        assert_eq!(slab[gap..start], slab_before[gap..start], "bytes of no block");
        gap = start + room;
        if std::ptr::eq(*rows, &raw const sparse) {
            assert_eq!(states[block.index as usize], abi::SPARSE);
            assert_eq!(slab[start..gap], slab_before[start..gap], "a sparse block was written");
        } else {
            assert_eq!(states[block.index as usize], abi::DONE);
            made.push(slab[start..][..sizes[block.index as usize] as usize].to_vec());
        }
    }
    made
}

/// Under every seed the kernels make the CPU engine's bytes.
pub fn must_agree(
    codec: &Codec,
    compression: Compression,
    blocks: &[Rows],
    level: i32,
    seeds: std::ops::Range<u64>,
) {
    let expected: Vec<Vec<u8>> = blocks.iter().map(|rows| on_host(compression, rows, level)).collect();
    for seed in seeds {
        for (i, (made, expected)) in launch(codec, blocks, level, seed).iter().zip(&expected).enumerate() {
            let (len, row_len) = (blocks[i].bytes.len(), blocks[i].row_len);
            let wrong = made.iter().zip(expected).position(|(a, b)| a != b);
            assert_eq!(wrong, None, "block {i}: {len} bytes in rows of {row_len}, seed {seed}");
            assert_eq!(
                made.len(),
                expected.len(),
                "block {i}: {len} bytes in rows of {row_len}, seed {seed}"
            );
        }
    }
}

/// FNV-1a of all blocks: what the bytes are is fixed by the version of the spec.
pub fn digest(blocks: &[Vec<u8>]) -> u64 {
    blocks
        .iter()
        .flatten()
        .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}
