//! Test helpers of the byte codecs: layouts, a reproducible random source, and mutants.

#![allow(clippy::cast_possible_truncation, reason = "chance is cut to the width wanted")]

use super::StoredBlock;
use libdeflater::{CompressionLvl, Compressor};
use strile_engine::{BlockFault, BlockLayout, CodecExtras, Fill};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

/// Returns a layout of strips of `width` by `height` bytes.
pub(super) fn layout(compression: Compression, width: u32, height: u32) -> BlockLayout {
    BlockLayout {
        width,
        height,
        samples: 1,
        sample: SampleType { format: SampleFormat::Uint, bits: 8 },
        mixed_bits: None,
        data_type: DataType::U8,
        byte_order: ByteOrder::Little,
        reverse_bits: false,
        compression,
        predictor: Predictor::None,
        is_strip: true,
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

/// Returns a block with all rows of its layout.
pub(super) fn whole(layout: &BlockLayout) -> StoredBlock<'_> {
    StoredBlock { layout, rows: layout.height }
}

/// A reproducible random source (xorshift64*).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 33) as usize) % limit.max(1)
    }

    /// Returns `good` with a few bytes changed, and sometimes truncated, extended or with a piece moved.
    pub(super) fn mutant(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = if self.below(2) == 0 { *byte ^ (1 << self.below(8)) } else { self.next() as u8 };
            }
        }
        match self.below(8) {
            0 => bytes.truncate(self.below(good.len() + 1)),
            1 => bytes.extend_from_within(..self.below(good.len())),
            2 => bytes.rotate_left(self.below(good.len())),
            _ => {}
        }
        bytes
    }

    /// Returns bytes like those of images: constant, smooth and noisy.
    pub(super) fn image_like(&mut self, len: usize) -> Vec<u8> {
        let kind = self.below(5);
        let mut value = 0_u8;
        (0..len)
            .map(|i| match kind {
                0 => 0,
                1 => self.next() as u8,
                2 => (i / 7) as u8,
                3 => {
                    value = value.wrapping_add((self.below(3)) as u8).wrapping_sub(1);
                    value
                }
                _ => {
                    if self.below(50) == 0 {
                        value = self.next() as u8;
                    }
                    value
                }
            })
            .collect()
    }
}

/// Runs `decode` on an output of `len` bytes, filled first with one pattern, then with another. If it reports success,
/// both outputs must agree: every byte was written.
pub(super) fn fills_or_faults(
    len: usize,
    mut decode: impl FnMut(&mut [u8]) -> Result<(), BlockFault>,
) -> bool {
    let (mut a, mut b) = (vec![0x55; len], vec![0xAA; len]);
    let (first, second) = (decode(&mut a), decode(&mut b));
    assert_eq!(first, second, "a decoder must not depend on what its output held");
    if first.is_ok() {
        assert_eq!(a, b, "a decoder that succeeds fills its output");
    }
    first.is_ok()
}

/// Returns `data` as raw Deflate data of libdeflate.
pub(super) fn deflated(data: &[u8], level: i32) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
    let mut out = vec![0; compressor.deflate_compress_bound(data.len())];
    let len = compressor.deflate_compress(data, &mut out).unwrap();
    out.truncate(len);
    out
}
