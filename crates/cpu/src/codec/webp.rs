//! WebP images, lossy or lossless, as RGB or RGBA.
//!
//! An image without alpha in a block of four samples is opaque (writers omit an alpha of 255); an image with alpha in a
//! block of three samples loses it, as in libtiff.

mod codes;
pub(super) mod encode;

use super::image_shape::{StatedShape, most_rows, with_whole_image, zeroed};
use super::interruptible::Interruptible;
use super::{StoredBlock, Workspace};
use image_webp::WebPDecoder;
use strile_engine::{BlockFault, BlockLayout};

/// Decoder memory per pixel in bytes, rounded up: alpha with lossy colours takes seven and a half.
const BYTES_PER_PIXEL: u64 = 8;

/// Returns the decoder's memory for the pixels of a block, plus copies of the stream.
pub(super) fn working_len(layout: &BlockLayout, rows: u32, encoded: u64) -> u64 {
    let rows = most_rows(layout, rows);
    macroblocks(layout.width, rows).saturating_mul(BYTES_PER_PIXEL).saturating_add(encoded.saturating_mul(2))
}

/// Returns the pixels of whole macroblocks.
fn macroblocks(width: u32, height: u32) -> u64 {
    u64::from(width).next_multiple_of(16).saturating_mul(u64::from(height).next_multiple_of(16))
}

/// Returns the decoder's memory for this stream: for its pixels (planes of luma and chroma, with alpha as a separate
/// picture; or colours with an alpha, and the pictures of transforms and codes at a sixteenth of the size), a whole
/// image if the block keeps less, and the codes of lossless parts.
fn memory(src: &[u8], shape: StatedShape, own_image: bool) -> Result<u64, BlockFault> {
    let pixels = macroblocks(shape.width, shape.height).saturating_mul(BYTES_PER_PIXEL);
    let image = if own_image { shape.byte_len(1)? as u64 } else { 0 };
    let parts = pixels.saturating_add(image).saturating_add(2 * src.len() as u64);
    Ok(parts.saturating_add(codes::memory(src, (shape.width, shape.height))))
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let wanted = usize::from(block.layout.samples);
    if !matches!(wanted, 3 | 4) || block.layout.sample.bits != 8 {
        return Err(BlockFault::wrong_shape(format!(
            "WebP stores 3 or 4 samples of 8 bits, the layout has {wanted} of {} bits",
            block.layout.sample.bits
        )));
    }
    let stop = workspace.crew.stop().clone();
    let mut decoder = WebPDecoder::new(Interruptible::new(src, &stop)).map_err(fault)?;
    let (width, height) = decoder.dimensions();
    let samples = if decoder.has_alpha() { 4 } else { 3 };
    let shape = StatedShape { width, height, samples, bits: 8 };
    shape.check_size(block)?;
    if decoder.is_animated() {
        return Err(BlockFault::unsupported("animated WebP"));
    }
    // A file in the extended format states the size twice, and the decoder allocates by the inner one.
    if let Some(inner) = lossy_frame_size(src)
        && inner != (width, height)
    {
        let (width, height) = inner;
        return Err(StatedShape { width, height, samples, bits: 8 }.fault(block));
    }
    let image_len = shape.byte_len(1)?;
    let own_image = samples as usize != wanted || image_len != dst.len();
    let counted = working_len(block.layout, block.rows, src.len() as u64);
    let _loan = workspace.lend(memory(src, shape, own_image)?, counted, "a WebP decoder")?;
    match (samples, wanted) {
        (3, 3) | (4, 4) => with_whole_image(dst, image_len, |whole| decoder.read_image(whole).map_err(fault)),
        (4, _) => {
            let mut whole = zeroed(image_len)?;
            decoder.read_image(&mut whole).map_err(fault)?;
            for (out, &[r, g, b, _]) in dst.as_chunks_mut().0.iter_mut().zip(whole.as_chunks().0) {
                *out = [r, g, b];
            }
            Ok(())
        }
        _ => {
            let mut whole = zeroed(image_len)?;
            decoder.read_image(&mut whole).map_err(fault)?;
            for (out, &[r, g, b]) in dst.as_chunks_mut().0.iter_mut().zip(whole.as_chunks().0) {
                *out = [r, g, b, 255];
            }
            Ok(())
        }
    }
}

/// Returns width and height in the key-frame header (RFC 6386, 9.1) of the first `VP8 ` chunk.
fn lossy_frame_size(src: &[u8]) -> Option<(u32, u32)> {
    let mut rest = src.get(12..)?;
    loop {
        let (name, after) = rest.split_first_chunk::<4>()?;
        let (len, body) = after.split_first_chunk::<4>()?;
        if name == b"VP8 " {
            let (&[w0, w1, h0, h1], _) = body.get(6..)?.split_first_chunk::<4>()?;
            let [width, height] =
                [[w0, w1], [h0, h1]].map(|side| u32::from(u16::from_le_bytes(side)) & 0x3FFF);
            return Some((width, height));
        }
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        rest = body.get(len.checked_add(len % 2)?..)?;
    }
}

fn fault(error: image_webp::DecodingError) -> BlockFault {
    BlockFault::corrupt(format!("WebP: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_picture, decode_block, layout, picture_bytes};
    use strile_tiff::Compression;

    const RGB: &[u8] = include_bytes!("../../tests/data/rgb8.webp");
    const RGBA: &[u8] = include_bytes!("../../tests/data/rgba8.webp");

    #[test]
    fn reads_lossless_rgb() {
        check_picture(RGB, &layout(Compression::WebP, (13, 9), (3, 8)));
    }

    #[test]
    fn alpha_is_made_or_dropped() {
        let rgb = picture_bytes(3, 8);
        let opaque = decode_block(RGB, &layout(Compression::WebP, (13, 9), (4, 8))).unwrap();
        assert!(
            opaque
                .as_chunks()
                .0
                .iter()
                .zip(rgb.as_chunks().0)
                .all(|(&[r, g, b, a], &rgb)| [r, g, b] == rgb && a == 255)
        );
        // The file's alpha is the first band with its lowest bit set.
        let rgba = decode_block(RGBA, &layout(Compression::WebP, (13, 9), (4, 8))).unwrap();
        assert!(
            rgba.as_chunks()
                .0
                .iter()
                .zip(rgb.as_chunks().0)
                .all(|(&[r, g, b, a], &rgb)| [r, g, b] == rgb && a == r | 1)
        );
        assert_eq!(decode_block(RGBA, &layout(Compression::WebP, (13, 9), (3, 8))).unwrap(), rgb);
    }
}
