//! What the tests of LZW and PackBits share: a batch of streams through a kernel on the emulator, the CPU
//! engine's verdict on the same streams, bytes like those of images, and mutants.

#![allow(dead_code, reason = "each test file takes what it needs")]

use strile_cpu::codec::{self, StoredBlock, Workspace};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{BlockFault, BlockLayout, CodecExtras, EncodeParams, Encoder, Fill};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

/// Twin of `DecodeBlock` in `abi.h`.
#[derive(Clone, Copy)]
#[repr(C)]
struct DecodeBlock {
    src: u64,
    dst: u64,
    scratch: u64,
    src_len: u32,
    dst_len: u32,
    row_len: u32,
    status: u32,
    samples: u32,
    sample: u32,
    missing: u64,
}

/// Twin of `DecodeArgs` in `abi.h`.
#[derive(Clone, Copy)]
#[repr(C)]
struct DecodeArgs {
    encoded: u64,
    decoded: u64,
    scratch: u64,
    blocks: u64,
    statuses: u64,
    counter: u64,
    count: u32,
    reserved: u32,
}

/// A codec and its kernel.
#[derive(Clone, Copy)]
pub struct Codec {
    pub compression: Compression,
    pub module: &'static str,
    pub entry: &'static str,
}

/// A stream and the bytes that must come out.
#[derive(Clone)]
pub struct Stream {
    pub src: Vec<u8>,
    pub len: usize,
}

/// What a kernel made of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    pub status: u32,
    pub bytes: Vec<u8>,
}

/// Bytes after the end of a block that may be read.
const READABLE: usize = 64;
/// Bytes between two decoded blocks, which nobody may write.
const GAP: usize = 16;

impl Codec {
    /// All streams in one launch, in arenas as tight as `abi.h` allows.
    pub fn launch(self, streams: &[Stream], seed: u64) -> Vec<Made> {
        let kernels = Emulator::module(self.module).unwrap();
        let mut chance = Garbage::new(seed ^ 0xB10C);
        let (mut blocks, mut src, mut dst) = (Vec::new(), 0_usize, GAP);
        for (i, stream) in streams.iter().enumerate() {
            src += chance.word() as usize % 33;
            blocks.push(DecodeBlock {
                src: src as u64,
                dst: dst as u64,
                scratch: 0,
                src_len: stream.src.len() as u32,
                dst_len: stream.len as u32,
                row_len: stream.len as u32,
                status: (streams.len() - 1 - i) as u32,
                samples: 1,
                sample: 1,
                missing: 0,
            });
            src += stream.src.len() + READABLE;
            dst += stream.len.next_multiple_of(16) + GAP;
        }
        let mut encoded = Poisoned::new(src, seed);
        for (block, stream) in blocks.iter().zip(streams) {
            encoded[block.src as usize..][..stream.src.len()].copy_from_slice(&stream.src);
        }
        let mut decoded = Poisoned::new(dst, seed ^ 1);
        let before = decoded.to_vec();
        let mut statuses = Poisoned::new(4 * streams.len(), seed ^ 2);
        statuses.fill(0xFF);
        let args = DecodeArgs {
            encoded: encoded.address(),
            decoded: decoded.address(),
            scratch: 0,
            blocks: blocks.as_ptr().addr() as u64,
            statuses: statuses.address(),
            counter: 0,
            count: streams.len() as u32,
            reserved: 0,
        };
        let threads = kernels.threads(self.entry).unwrap();
        assert_eq!(threads, 256, "as codec/*.rs launches it");
        kernels.launch(self.entry, (args.count, 1), threads, &args, seed).unwrap();
        for buffer in [&mut encoded, &mut decoded, &mut statuses] {
            buffer.check().unwrap();
        }
        let mut gap = 0;
        blocks
            .iter()
            .map(|block| {
                let start = block.dst as usize;
                assert_eq!(decoded[gap..start], before[gap..start], "bytes of no block");
                gap = start + (block.dst_len as usize).next_multiple_of(16);
                let status = &statuses[4 * block.status as usize..][..4];
                Made {
                    status: u32::from_le_bytes(status.try_into().unwrap()),
                    bytes: decoded[start..][..block.dst_len as usize].to_vec(),
                }
            })
            .collect()
    }

    fn layout(self, width: usize, height: usize) -> BlockLayout {
        BlockLayout {
            width: width as u32,
            height: height as u32,
            samples: 1,
            sample: SampleType { format: SampleFormat::Uint, bits: 8 },
            mixed_bits: None,
            data_type: DataType::U8,
            byte_order: ByteOrder::Little,
            reverse_bits: false,
            compression: self.compression,
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

    /// What the CPU engine makes of it.
    pub fn on_host(self, stream: &Stream) -> Result<Vec<u8>, BlockFault> {
        let layout = self.layout(stream.len, 1);
        let mut dst = vec![0; stream.len];
        let block = StoredBlock { layout: &layout, rows: 1 };
        codec::decode(&stream.src, &mut dst, block, &mut Workspace::default()).map(|()| dst)
    }

    /// Rows of `row_len` bytes, packed by the CPU engine.
    pub fn encode(self, data: &[u8], row_len: usize) -> Stream {
        let layout = self.layout(row_len, data.len() / row_len);
        let params =
            EncodeParams { encoder: Encoder::Fast, level: 0, quality: 0, lossless: true, max_error: 0.0 };
        let block = StoredBlock { layout: &layout, rows: layout.height };
        let mut src = Vec::new();
        codec::encode(data, &mut src, block, &params, &mut Workspace::default()).unwrap();
        Stream { src, len: data.len() }
    }

    /// Under every seed, all of `streams` must decode to `expected`.
    pub fn must_give(self, streams: &[Stream], expected: &[Vec<u8>]) {
        assert_eq!(streams.len(), expected.len());
        for seed in Emulator::seeds() {
            for (i, (made, expected)) in self.launch(streams, seed).iter().zip(expected).enumerate() {
                assert_eq!(made.status, 0, "stream {i} of {} bytes, seed {seed}", expected.len());
                let wrong = made.bytes.iter().zip(expected).position(|(a, b)| a != b);
                assert_eq!(wrong, None, "stream {i} of {} bytes, seed {seed}", expected.len());
            }
        }
    }

    /// Status 0 only where the CPU engine takes the stream as well, and with its bytes; the number of those.
    pub fn must_agree(self, streams: &[Stream], seed: u64) -> usize {
        let mut good = 0;
        for (i, (made, stream)) in self.launch(streams, seed).iter().zip(streams).enumerate() {
            assert!(made.status <= 7, "stream {i}, seed {seed}: status {}", made.status);
            if made.status == 0 {
                let host = self.on_host(stream);
                assert_eq!(host.as_ref(), Ok(&made.bytes), "stream {i}, seed {seed}: {:02x?}", stream.src);
                good += 1;
            }
        }
        good
    }
}

/// A repeatable source of chance.
pub struct Random(Garbage);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Garbage::new(seed))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.0.word() >> 33) as usize % limit.max(1)
    }

    pub fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    /// `good` with a few bytes changed, and now and then cut, lengthened or turned.
    pub fn mutant(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            bytes[at] = if self.below(2) == 0 { bytes[at] ^ 1 << self.below(8) } else { self.byte() };
        }
        match self.below(8) {
            0 => bytes.truncate(1 + self.below(good.len())),
            1 => bytes.extend_from_within(..self.below(good.len())),
            2 => bytes.rotate_left(self.below(good.len())),
            _ => {}
        }
        bytes
    }
}

/// Bytes as tiles hold them.
pub fn image_like(kind: usize, len: usize) -> Vec<u8> {
    let mut random = Random::new((kind * 0x1_0000 + len) as u64);
    let mut value = 0_u8;
    (0..len)
        .map(|i| match kind % 7 {
            0 => 7,
            1 => random.byte(),
            2 => (i / 7) as u8,
            3 => {
                value = value.wrapping_add(random.below(3) as u8).wrapping_sub(1);
                value
            }
            // Fields of one class, the rows alike.
            4 => ((i % 256 / 23) * (i / 256 / 31 + 1) % 9) as u8,
            // High bytes of samples, then their low ones, as the floating-point predictor leaves them.
            5 if i < len / 2 => (random.below(40) / 39) as u8,
            5 => random.byte(),
            _ => random.below(3) as u8,
        })
        .collect()
}
