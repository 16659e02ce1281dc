//! Image header of a codestream, checked against the block before the decoder allocates memory for it.

use super::super::StoredBlock;
use super::super::image_shape::StatedShape;
use jxl_bitstream::Bitstream;
use jxl_image::{BitDepth, ImageHeader};
use jxl_oxide_common::Bundle;
use strile_engine::BlockFault;

/// Maximum size of an ICC profile, encoded or decoded. The profile is unused, but the decoder reads it.
const MOST_ICC: u64 = 8 << 20;
/// Number of codestream bytes that always contain the image header.
const MOST_HEADER: usize = 64 << 10;

/// Sample description in the header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stated {
    pub(super) bits: u32,
    pub(super) is_float: bool,
}

/// Checks that the image matches the block.
pub(super) fn check(codestream: &[&[u8]], block: StoredBlock<'_>) -> Result<Stated, BlockFault> {
    let joined;
    let bytes = match codestream {
        [whole] => whole,
        parts => {
            joined = parts.iter().copied().flatten().copied().take(MOST_HEADER).collect::<Vec<u8>>();
            &*joined
        }
    };
    let mut bits = Bitstream::new(bytes);
    let cut = || BlockFault::truncated(0, 0);
    let failed = |error: jxl_bitstream::Error| match error.unexpected_eof() {
        true => cut(),
        false => BlockFault::corrupt(format!("JPEG XL: {error}")),
    };
    let header = ImageHeader::parse(&mut bits, ()).map_err(failed)?;
    let (metadata, depth) = (&header.metadata, header.metadata.bit_depth);
    let colours = if metadata.grayscale() { 1 } else { 3 };
    let shape = StatedShape {
        width: header.size.width,
        height: header.size.height,
        samples: colours + u32::try_from(metadata.ec_info.len()).unwrap_or(u32::MAX - 3),
        bits: depth.bits_per_sample(),
    };
    if metadata.orientation != 1 {
        return Err(BlockFault::unsupported("JPEG XL image that is stored turned"));
    }
    shape.check(block)?;
    if metadata.ec_info.iter().any(|channel| channel.bit_depth != depth) {
        return Err(BlockFault::unsupported("JPEG XL channels of different depths"));
    }
    if metadata.colour_encoding.want_icc() {
        let before = bits.clone();
        let encoded = bits.read_u64().map_err(failed)?;
        if encoded > MOST_ICC {
            return Err(too_large(encoded));
        }
        bits = before;
        let profile = jxl_color::icc::read_icc(&mut bits)
            .map_err(|error| BlockFault::corrupt(format!("JPEG XL: ICC profile: {error}")))?;
        let decoded = varint(&profile).ok_or_else(cut)?;
        if decoded > MOST_ICC {
            return Err(too_large(decoded));
        }
    }
    Ok(Stated { bits: shape.bits, is_float: matches!(depth, BitDepth::FloatSample { .. }) })
}

fn too_large(found: u64) -> BlockFault {
    BlockFault::unsupported(format!(
        "expected an ICC profile of at most {MOST_ICC} bytes in JPEG XL, got {found}"
    ))
}

/// Reads a number of seven bits per byte, lowest first: the size of the decoded profile.
fn varint(src: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (&byte, place) in src.iter().zip(0..9) {
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
