//! LERC blobs for tests of kernels: those of Esri's library in `data/lerc`, and those of our own encoder.

#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "for tests; small numbers made here"
)]

use crate::decoding::{Form, Random, Stream};
use std::fmt;
use strile_cpu::codec::{self, StoredBlock, Workspace};
use strile_engine::{BlockFault, BlockLayout, EncodeParams, Encoder, Fill};
use strile_tiff::{Compression, DataType, LercWrapper};

/// In the order of `DecodeSample`.
const TYPES: [DataType; 8] = [
    DataType::I8,
    DataType::U8,
    DataType::I16,
    DataType::U16,
    DataType::I32,
    DataType::U32,
    DataType::F32,
    DataType::F64,
];
/// What integers become that a mask leaves out; as `make.py` has it.
const MISSING: u64 = 77;

/// A blob and the block that it shall become.
#[derive(Clone)]
pub struct Blob {
    pub kind: usize,
    pub width: u32,
    pub height: u32,
    pub samples: u32,
    pub version: u32,
    /// Whether kernels must take it.
    pub takes: bool,
    /// Of the pixels that Esri's library gives.
    pub crc: Option<u32>,
    pub src: Vec<u8>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, width, height, samples, version, .. } = self;
        write!(f, "{} of {width} x {height} x {samples}, version {version}", TYPES[*kind])
    }
}

impl Blob {
    fn layout(&self, around: LercWrapper) -> BlockLayout {
        let stored = BlockLayout::stored(TYPES[self.kind], (self.width, self.height), self.samples as u16);
        let mut layout = BlockLayout { compression: Compression::Lerc, is_strip: false, ..stored };
        layout.extras.lerc = around;
        layout.extras.fill = Fill(std::array::from_fn(|i| if i == 0 { MISSING as u8 } else { 0 }));
        layout
    }

    pub fn decoded_len(&self) -> usize {
        (self.width * self.height * self.samples) as usize * TYPES[self.kind].size()
    }

    /// What the CPU engine makes of it.
    pub fn on_host(&self, around: LercWrapper) -> Result<Vec<u8>, BlockFault> {
        let layout = self.layout(around);
        let mut dst = vec![0; self.decoded_len()];
        let block = StoredBlock { layout: &layout, rows: self.height };
        codec::decode(&self.src, &mut dst, block, &mut Workspace::default()).map(|()| dst)
    }

    fn form(&self) -> (u32, Form) {
        let missing = match TYPES[self.kind] {
            DataType::F32 => f32::NAN.to_bits().into(),
            DataType::F64 => f64::NAN.to_bits(),
            _ => MISSING,
        };
        let row_len = self.decoded_len() as u32 / self.height;
        (row_len, Form { samples: self.samples, sample: self.kind as u32, missing })
    }
}

/// What kernels are given.
pub fn streams(blobs: &[Blob]) -> (Vec<Stream>, Vec<(u32, Form)>) {
    let stream = |blob: &Blob| (Stream { src: blob.src.clone(), dst_len: blob.decoded_len() }, blob.form());
    blobs.iter().map(stream).unzip()
}

/// Blobs that `data/lerc/make.py` made: all types, versions 2 to 6, lossless and not, with masks and without.
pub fn blobs_of_esri() -> Vec<Blob> {
    let mut rest: &[u8] = include_bytes!("../data/lerc/blobs.bin");
    let mut blobs = Vec::new();
    while let Some((head, after)) = rest.split_first_chunk::<32>() {
        let [kind, width, height, samples, version, takes, crc, len] =
            std::array::from_fn(|i| u32::from_le_bytes(head[4 * i..4 * i + 4].try_into().unwrap()));
        let (src, after) = after.split_at(len as usize);
        rest = after;
        blobs.push(Blob {
            kind: kind as usize,
            width,
            height,
            samples,
            version,
            takes: takes != 0,
            crc: Some(crc),
            src: src.to_vec(),
        });
    }
    blobs
}

/// Blobs of the CPU engine's encoder, as files have them: rasters of every type, floats with NaN.
pub fn blobs_of_ours() -> Vec<Blob> {
    let mut random = Random::new(25);
    let mut blobs = Vec::new();
    for kind in 0..8 {
        // Streams of codes longer than a window, where samples have 8 bits.
        let first = if kind < 2 { (150, 70, 1) } else { (64, 40, 1) };
        for (i, (width, height, samples)) in [first, (33, 19, 1), (21, 16, 3)].into_iter().enumerate() {
            let max_error = if i == 0 { 0.0 } else { [0.0, 0.25, 2.0][(kind + i) % 3] };
            let holes = kind >= 6 && i != 1;
            let values = (0..width * height * samples).map(|p: u32| {
                let (x, y) = (p / samples % width, p / samples / width);
                let hill = 50.0 + 30.0 * (f64::from(x) / 9.0).sin() + 20.0 * (f64::from(y) / 5.0).cos();
                let hole = holes && (x * 7 + y * 3) % 11 < 3;
                if hole { f64::NAN } else { hill + random.below(20) as f64 }
            });
            let bytes: Vec<u8> = values.flat_map(|value| sample(kind, value)).collect();
            let mut blob =
                Blob { kind, width, height, samples, version: 4, takes: true, crc: None, src: Vec::new() };
            let layout = blob.layout(LercWrapper::None);
            let params =
                EncodeParams { encoder: Encoder::Fast, level: 0, quality: 0, lossless: false, max_error };
            let block = StoredBlock { layout: &layout, rows: height };
            codec::encode(&bytes, &mut blob.src, block, &params, &mut Workspace::default()).unwrap();
            blobs.push(blob);
        }
    }
    blobs
}

fn sample(kind: usize, value: f64) -> Vec<u8> {
    match kind {
        0 => (value as i8).to_le_bytes().to_vec(),
        1 => (value as u8).to_le_bytes().to_vec(),
        2 => (value as i16 * 90).to_le_bytes().to_vec(),
        3 => (value as u16 * 90).to_le_bytes().to_vec(),
        4 => (value as i32 * 9000).to_le_bytes().to_vec(),
        5 => (value as u32 * 9000).to_le_bytes().to_vec(),
        6 => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}

/// With the blob's length and checksum made right, where it is long enough to have them.
pub fn repaired(mut blob: Vec<u8>) -> Vec<u8> {
    let version = blob.get(6).copied().unwrap_or(0);
    let at = if version >= 4 { 34 } else { 30 };
    if version < 3 || blob.len() < 66 {
        return blob;
    }
    let stated = u32::from_le_bytes(blob[at..at + 4].try_into().unwrap()) as usize;
    if stated > blob.len() {
        let len = blob.len() as u32;
        blob[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }
    let end = stated.min(blob.len()).max(14);
    let sum = fletcher(&blob[14..end]);
    blob[10..14].copy_from_slice(&sum.to_le_bytes());
    blob
}

/// As the format describes it: sums of pairs of bytes, folded.
fn fletcher(bytes: &[u8]) -> u32 {
    let (mut first, mut second) = (0xFFFF_u64, 0xFFFF_u64);
    for pair in bytes.chunks(2) {
        first += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
        second += first;
        (first, second) = (first % 65535, second % 65535);
    }
    let fold = |sum: u64| if sum == 0 { 0xFFFF } else { sum as u32 };
    fold(second) << 16 | fold(first)
}
