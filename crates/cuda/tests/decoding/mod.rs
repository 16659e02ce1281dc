//! Runs the decode kernels of a codec in the emulator over a batch of streams, as the engine would lay them out, and
//! looks at what lies between the blocks afterwards. Also what the tests of several codecs need: bytes like rasters, and
//! mutants.

#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "for tests, each of which takes what it needs; small numbers made here"
)]

use strile_emulate::{Emulator, Garbage, Poisoned};

#[derive(Clone, Copy)]
#[repr(C)]
struct Block {
    src: u64,
    dst: u64,
    scratch: u64,
    src_len: u32,
    dst_len: u32,
    row_len: u32,
    status: u32,
    form: Form,
}

/// What samples are, for codecs that write samples.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Form {
    pub samples: u32,
    pub sample: u32,
    pub missing: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Args {
    encoded: u64,
    decoded: u64,
    scratch: u64,
    blocks: u64,
    statuses: u64,
    counter: u64,
    count: u32,
    reserved: u32,
}

/// A codec's kernels.
pub struct Decoder {
    pub module: &'static str,
    /// Entry points, each with a CUDA block for each stream.
    pub passes: &'static [&'static str],
    pub scratch: fn(src_len: u32, dst_len: u32) -> u64,
}

/// An encoded stream, and how many bytes shall come out.
pub struct Stream {
    pub src: Vec<u8>,
    pub dst_len: usize,
}

/// Bytes between blocks that nobody may touch.
const GAP: usize = 48;

impl Decoder {
    /// The status of every stream and what was written; panics when anything else was touched.
    #[allow(dead_code, reason = "not every codec has one CUDA block per stream")]
    pub fn decode(&self, streams: &[Stream], seed: u64) -> Vec<(u32, Vec<u8>)> {
        self.decode_by(streams, &[], seed)
    }

    /// The same with so many times the CUDA blocks, pass for pass.
    pub fn decode_by(&self, streams: &[Stream], times: &[u32], seed: u64) -> Vec<(u32, Vec<u8>)> {
        self.decode_forms(streams, &[], times, seed)
    }

    /// The same; `look` is shown the scratch memory of every stream afterwards.
    #[allow(dead_code, reason = "not every codec has scratch memory worth a look")]
    pub fn decode_looking(
        &self,
        streams: &[Stream],
        times: &[u32],
        seed: u64,
        look: impl FnMut(usize, &[u8]),
    ) -> Vec<(u32, Vec<u8>)> {
        self.decode_all(streams, &[], times, seed, look)
    }

    /// The same for streams of samples: how long their rows are, and what they are.
    pub fn decode_forms(
        &self,
        streams: &[Stream],
        forms: &[(u32, Form)],
        times: &[u32],
        seed: u64,
    ) -> Vec<(u32, Vec<u8>)> {
        self.decode_all(streams, forms, times, seed, |_, _| {})
    }

    fn decode_all(
        &self,
        streams: &[Stream],
        forms: &[(u32, Form)],
        times: &[u32],
        seed: u64,
        mut look: impl FnMut(usize, &[u8]),
    ) -> Vec<(u32, Vec<u8>)> {
        let (mut src, mut dst, mut scratch) = (0, 0, 0);
        let mut blocks = Vec::new();
        for (i, stream) in streams.iter().enumerate() {
            // Every alignment in turn.
            src += 16 + (i * 5 + seed as usize) % 16;
            let (src_len, dst_len) = (stream.src.len() as u32, stream.dst_len as u32);
            let (row_len, form) = forms.get(i).copied().unwrap_or((dst_len, Form::default()));
            blocks.push(Block {
                src: src as u64,
                dst: dst as u64,
                scratch: scratch as u64,
                src_len,
                dst_len,
                row_len,
                status: (streams.len() - 1 - i) as u32,
                form,
            });
            src += stream.src.len() + 64;
            dst += stream.dst_len.next_multiple_of(16) + GAP;
            scratch += ((self.scratch)(src_len, dst_len) as usize).next_multiple_of(256) + 256;
        }
        let mut encoded = Poisoned::new(src, seed);
        let mut decoded = Poisoned::new(dst, seed + 1);
        let mut scratch = Poisoned::new(scratch, seed + 2);
        for (block, stream) in blocks.iter().zip(streams) {
            encoded[block.src as usize..][..stream.src.len()].copy_from_slice(&stream.src);
        }
        let before = (encoded.to_vec(), decoded.to_vec(), scratch.to_vec());
        let mut list = Poisoned::new(blocks.len() * 56, seed);
        for (bytes, b) in list.chunks_exact_mut(56).zip(&blocks) {
            let mut at = 0;
            let mut put = |word: &[u8]| {
                bytes[at..at + word.len()].copy_from_slice(word);
                at += word.len();
            };
            [b.src, b.dst, b.scratch].iter().for_each(|v| put(&v.to_le_bytes()));
            let Form { samples, sample, missing } = b.form;
            let words = [b.src_len, b.dst_len, b.row_len, b.status, samples, sample];
            words.iter().for_each(|v| put(&v.to_le_bytes()));
            put(&missing.to_le_bytes());
        }
        let mut statuses = Poisoned::from_bytes(&vec![0xFF; 4 * blocks.len()], seed);
        let mut counter = Poisoned::from_bytes(&[0; 4], seed);
        let args = Args {
            encoded: encoded.address(),
            decoded: decoded.address(),
            scratch: scratch.address(),
            blocks: list.address(),
            statuses: statuses.address(),
            counter: counter.address(),
            count: blocks.len() as u32,
            reserved: 0,
        };
        let module = Emulator::module(self.module).unwrap();
        for (i, entry) in self.passes.iter().enumerate() {
            let threads = module.threads(entry).unwrap();
            let times = times.get(i).copied().unwrap_or(1);
            module.launch(entry, (args.count * times, 1), threads, &args, seed).unwrap();
        }
        for buffer in [&mut encoded, &mut decoded, &mut scratch, &mut list, &mut statuses, &mut counter] {
            buffer.check().unwrap();
        }
        assert_eq!(before.0, encoded[..], "the input was written");
        let mut results = Vec::new();
        for (i, (b, stream)) in blocks.iter().zip(streams).enumerate() {
            let gap = b.dst as usize + stream.dst_len.next_multiple_of(16)..;
            assert_eq!(decoded[gap.clone()][..GAP], before.1[gap][..GAP], "behind block {i}, seed {seed}");
            let asked = (self.scratch)(b.src_len, b.dst_len) as usize;
            let gap = b.scratch as usize + asked.next_multiple_of(256)..;
            assert_eq!(scratch[gap.clone()][..256], before.2[gap][..256], "behind scratch {i}, seed {seed}");
            look(i, &scratch[b.scratch as usize..][..asked]);
            let status = statuses[4 * b.status as usize..].first_chunk().unwrap();
            let bytes = decoded[b.dst as usize..][..stream.dst_len].to_vec();
            results.push((u32::from_le_bytes(*status), bytes));
        }
        results
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

    /// `good` with a few bytes changed, and now and then cut, lengthened or turned.
    #[allow(dead_code, reason = "not every test damages streams")]
    pub fn mutant(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            bytes[at] =
                if self.below(2) == 0 { bytes[at] ^ (1 << self.below(8)) } else { self.below(256) as u8 };
        }
        match self.below(8) {
            0 => bytes.truncate(1 + self.below(good.len())),
            1 => bytes.extend_from_within(..self.below(good.len())),
            2 => bytes.rotate_left(self.below(good.len())),
            _ => {}
        }
        bytes
    }

    /// Bytes as rasters have them after a predictor or without: `kind` modulo [`KINDS`].
    pub fn raster(&mut self, kind: usize, len: usize) -> Vec<u8> {
        let mut value = 128_u8;
        let mut level = 1000_i32;
        (0..len)
            .map(|i| match kind % KINDS {
                // Empty, noise, steps.
                0 => 7,
                1 => self.below(256) as u8,
                2 => (i / 7) as u8,
                // Small differences.
                3 => (self.below(5) as u8).wrapping_sub(2),
                // A walk.
                4 => {
                    value = value.wrapping_add(self.below(7) as u8).wrapping_sub(3);
                    value
                }
                // Classes in rows of 64 that look like the row above.
                5 => {
                    if i % 64 == 0 || self.below(9) == 0 {
                        value = [3, 3, 5, 11, 200][(i / 640 + self.below(2)) % 5];
                    }
                    value
                }
                // 16-bit elevation, little-endian.
                6 => {
                    if i % 2 == 0 {
                        level += self.below(9) as i32 - 4;
                    }
                    (level >> (8 * (i % 2))) as u8
                }
                // The planes of predictor 3: sign and exponent seldom change, low bytes are noise.
                _ => match i * 4 / len.max(1) {
                    0 => u8::from(self.below(40) == 0),
                    1 => (self.below(3) * self.below(2)) as u8,
                    _ => (self.below(64) * 3) as u8,
                },
            })
            .collect()
    }
}

/// How many kinds [`Random::raster`] has.
pub const KINDS: usize = 8;
