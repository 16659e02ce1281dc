//! WebP of 3 or 4 samples of 8 bits, by libwebp.
//!
//! Lossless keeps every sample, including the colours of transparent pixels (libwebp's `exact`; without it they are
//! cleared). Lossy keeps alpha exactly. Effort is libwebp's default, as in libtiff.

use crate::codec::StoredBlock;
use crate::codec::image_shape::check_len;
use strile_engine::{BlockFault, EncodeLayout, EncodeParams};
use strile_tiff::DataType;
use webp::{Encoder, PixelLayout, WebPConfig};

/// Maximum side that the format can state.
const LONGEST: u32 = 16_383;

/// libwebp's default quality, which for lossless is its effort; also libtiff's default.
const EFFORT: f32 = 75.0;

/// Checks the layout.
pub(in crate::codec) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    let (block, quality) = (&layout.block, layout.params.quality);
    if !matches!(block.samples, 3 | 4) || block.data_type != DataType::U8 || block.sample.bits != 8 {
        return Err(format!(
            "webp stores 3 or 4 interleaved samples of 8-bit unsigned integer, not {} of {}; use interleave pixel, or another compression",
            block.samples, block.sample
        ));
    }
    if block.width > LONGEST || block.height > LONGEST {
        return Err(format!(
            "blocks of {} × {} pixels are too large for webp: at most {LONGEST} a side; use tiles",
            block.width, block.height
        ));
    }
    if !layout.params.lossless && !(1..=100).contains(&quality) {
        return Err(format!("webp has qualities from 1 to 100, not {quality}"));
    }
    Ok(layout)
}

/// Returns the maximum bytes of a block of `len` bytes.
pub(in crate::codec) fn bound(len: usize) -> u64 {
    (len as u64).saturating_mul(2).saturating_add(4096)
}

/// Appends the WebP file of a block.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
) -> Result<(), BlockFault> {
    check_len(src, block)?;
    let layout = match block.layout.samples {
        3 => PixelLayout::Rgb,
        4 => PixelLayout::Rgba,
        other => return Err(BlockFault::unsupported(format!("WebP of {other} samples"))),
    };
    if block.layout.width > LONGEST || block.rows > LONGEST {
        return Err(BlockFault::unsupported(format!("WebP of more than {LONGEST} pixels a side")));
    }
    let mut config = WebPConfig::new().map_err(|()| BlockFault::unsupported("libwebp of another version"))?;
    config.lossless = i32::from(params.lossless);
    config.exact = i32::from(params.lossless);
    config.quality = if params.lossless { EFFORT } else { f32::from(params.quality) };
    let file = Encoder::new(src, layout, block.layout.width, block.rows)
        .encode_advanced(&config)
        .map_err(|error| BlockFault::unsupported(format!("WebP: {error:?}; use smaller blocks")))?;
    dst.extend_from_slice(&file);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers made here")]
mod tests {
    use super::*;
    use crate::codec::testing::{decode_rows, encode_rows, layout, params, prepared};
    use strile_tiff::Compression;

    /// Returns slopes; the last of four samples is alpha, 0 in some pixels.
    fn picture(width: u32, rows: u32, samples: u32) -> Vec<u8> {
        let sample = |x: u32, y: u32, c: u32| match c {
            3 if (x + y).is_multiple_of(5) => 0,
            _ => (x * 2 + y + c * 30) as u8,
        };
        (0..rows)
            .flat_map(|y| (0..width).flat_map(move |x| (0..samples).map(move |c| sample(x, y, c))))
            .collect()
    }

    #[test]
    fn lossless_keeps_everything() {
        for (width, rows) in [(1, 1), (3, 2), (16, 16), (33, 17)] {
            for samples in [3, 4] {
                let layout =
                    prepared(layout(Compression::WebP, (width, 20), (samples, 8)), params()).unwrap();
                let src = picture(width, rows, u32::from(samples));
                let file = encode_rows(&src, &layout, rows).unwrap();
                assert!(file.len() as u64 <= bound(src.len()));
                assert_eq!(
                    decode_rows(&file, &layout.block, rows).unwrap(),
                    src,
                    "{width} × {rows} × {samples}"
                );
            }
        }
    }

    #[test]
    fn lossy_is_close_and_keeps_alpha() {
        let lossy = EncodeParams { lossless: false, quality: 95, ..params() };
        for samples in [3, 4] {
            let layout = prepared(layout(Compression::WebP, (48, 40), (samples, 8)), lossy).unwrap();
            let src: Vec<u8> = picture(48, 40, u32::from(samples)).into_iter().collect();
            let file = encode_rows(&src, &layout, 40).unwrap();
            let found = decode_rows(&file, &layout.block, 40).unwrap();
            let pixels = found.chunks(usize::from(samples)).zip(src.chunks(usize::from(samples)));
            for (found, pixel) in pixels {
                assert_eq!(found.get(3), pixel.get(3));
                let visible = pixel.get(3) != Some(&0);
                let worst = found.iter().zip(pixel).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(!visible || worst <= Some(24), "{found:?} {pixel:?}");
            }
        }
    }

    #[test]
    fn says_why_it_refuses() {
        let refusal =
            |size, samples, bits| prepared(layout(Compression::WebP, size, (samples, bits)), params());
        assert!(refusal((16, 16), 1, 8).unwrap_err().contains("not 1 of 8-bit"));
        assert!(refusal((16, 16), 3, 16).unwrap_err().contains("not 3 of 16-bit"));
        assert!(refusal((16_384, 16), 3, 8).unwrap_err().contains("at most 16383"));
    }
}
