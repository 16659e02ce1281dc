//! LZW by the portable encoder: segments with their own tables (`portable/spec.md`, "LZW").

use crate::codec::Workspace;
use crate::codec::lzw::encode::{self as whole, encode_segments};
use strile_engine::BlockFault;
use strile_engine::portable::LZW_SEGMENT;

/// Returns the maximum bytes `encode` can append.
pub(in crate::codec) fn bound(len: usize) -> u64 {
    whole::bound(len, LZW_SEGMENT)
}

/// Appends the stream of `src`.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    encode_segments(src, dst, LZW_SEGMENT, workspace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::byte_testing::Random;

    /// A table that is full at the end of a segment is followed by one Clear, like every other.
    #[test]
    fn another_decoder_reads_it() {
        let mut random = Random::new(3);
        let mut workspace = Workspace::default();
        for len in [1, 2, 3836, 3837, 16_383, 16_384, 16_385, 32_768, 50_000] {
            let noise: Vec<u8> = (0..len).map(|_| random.below(256).to_le_bytes()[0]).collect();
            for data in [random.image_like(len), noise, vec![9; len]] {
                let mut packed = Vec::new();
                encode(&data, &mut packed, &mut workspace).unwrap();
                assert!(packed.len() as u64 <= bound(len));
                let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
                assert!(decoder.decode(&packed).unwrap() == data, "{len} bytes");
            }
        }
    }

    #[test]
    fn one_segment_is_what_the_other_encoder_writes() {
        let data = Random::new(5).image_like(LZW_SEGMENT);
        let (mut portable, mut fast) = (Vec::new(), Vec::new());
        encode(&data, &mut portable, &mut Workspace::default()).unwrap();
        whole::encode(&data, &mut fast, &mut Workspace::default()).unwrap();
        assert!(portable == fast);
    }
}
