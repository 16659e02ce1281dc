//! Picture codecs: they take samples, not packed bytes.

use super::JpegOptions;
use crate::pack::BlockPixels;
use strile_tiff::{ByteOrder, DataType};

/// Encodes LERC of a block, with NaN as the blob's mask and all samples of a pixel in one blob.
///
/// libtiff swaps samples between file order and native order outside the codec, so a big-endian file's blob (which
/// states little-endian values) holds swapped ones; GDAL and tifffile read it like this.
pub(super) fn lerc(block: &BlockPixels, order: ByteOrder, max_error: f64) -> Vec<u8> {
    use lerc_writer::{EncodeOptions, MaskView, RasterView};
    let (width, rows, depth) = (block.width as u32, block.rows as u32, block.samples as u32);
    let options = EncodeOptions::new().with_max_z_error(max_error);
    macro_rules! encode {
        ($ty:ty, $is_hole:expr) => {{
            let values: Vec<$ty> = block
                .bytes
                .chunks(size_of::<$ty>())
                .map(|c| <$ty>::from_ne_bytes(c.try_into().expect("a whole sample")))
                .map(|v| match order {
                    ByteOrder::Little => v,
                    ByteOrder::Big => {
                        let mut raw = v.to_ne_bytes();
                        raw.reverse();
                        <$ty>::from_ne_bytes(raw)
                    }
                })
                .collect();
            let is_hole: fn(&$ty) -> bool = $is_hole;
            let mask: Vec<u8> =
                values.chunks(block.samples).map(|pixel| u8::from(!pixel.iter().any(is_hole))).collect();
            let filled: Vec<$ty> =
                values.iter().map(|v| if is_hole(v) { Default::default() } else { *v }).collect();
            let view = RasterView::new(width, rows, depth, &filled).expect("sizes agree");
            let mask_view = MaskView::new(width, rows, &mask).expect("sizes agree");
            let mask = mask.contains(&0).then_some(mask_view);
            lerc_writer::encode(view, mask, options).expect("a type LERC knows")
        }};
    }
    match block.sample.data_type().expect("a stored type that memory knows") {
        DataType::U8 => encode!(u8, |_| false),
        DataType::I8 => encode!(i8, |_| false),
        DataType::U16 => encode!(u16, |_| false),
        DataType::I16 => encode!(i16, |_| false),
        DataType::U32 => encode!(u32, |_| false),
        DataType::I32 => encode!(i32, |_| false),
        DataType::F32 => encode!(f32, |v| v.is_nan()),
        DataType::F64 => encode!(f64, |v| v.is_nan()),
        other => panic!("LERC has no {other}"),
    }
}

/// Encodes a complete JPEG of one or three 8-bit samples, with tables.
pub(super) fn jpeg(block: &BlockPixels, options: &JpegOptions) -> Vec<u8> {
    use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, options.quality);
    let (h, v) = options.chroma.unwrap_or((1, 1));
    encoder.set_sampling_factor(SamplingFactor::from_factors(h, v).expect("a subsampling JPEG has"));
    encoder.set_progressive(options.progressive);
    encoder.set_optimized_huffman_tables(false);
    let colour = match (block.samples, options.chroma) {
        (1, _) => ColorType::Luma,
        (3, Some(_)) => ColorType::Rgb,
        // Stored without conversion: the stream then holds RGB, matching PhotometricInterpretation 2.
        (3, None) => ColorType::Ycbcr,
        (4, _) => ColorType::Cmyk,
        (other, _) => panic!("JPEG has no {other} samples"),
    };
    encoder.encode(&block.bytes, block.width as u16, block.rows as u16, colour).expect("memory");
    without_app_segments(&out)
}

/// Returns the segments of a JPEG before its first scan: marker and the bytes of the whole segment.
fn segments(stream: &[u8]) -> (Vec<(u8, &[u8])>, &[u8]) {
    let mut out = Vec::new();
    let mut at = 2;
    loop {
        let marker = stream[at + 1];
        let len = usize::from(u16::from_be_bytes([stream[at + 2], stream[at + 3]]));
        if marker == 0xDA {
            return (out, &stream[at..]);
        }
        out.push((marker, &stream[at..at + 2 + len]));
        at += 2 + len;
    }
}

/// Removes JFIF and Adobe segments, which would define colours instead of the TIFF tags.
fn without_app_segments(stream: &[u8]) -> Vec<u8> {
    let (head, scan) = segments(stream);
    let mut out = vec![0xFF, 0xD8];
    for (_, segment) in head.iter().filter(|(marker, _)| !(0xE0..=0xEF).contains(marker)) {
        out.extend(*segment);
    }
    out.extend(scan);
    out
}

/// Splits a JPEG into its tables, as in tag JPEGTables, and the stream without them.
pub(super) fn split_jpeg(stream: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (head, scan) = segments(stream);
    let (mut tables, mut rest) = (vec![0xFF, 0xD8], vec![0xFF, 0xD8]);
    for (marker, segment) in head {
        // DQT and DHT.
        if matches!(marker, 0xDB | 0xC4) { tables.extend(segment) } else { rest.extend(segment) }
    }
    tables.extend([0xFF, 0xD9]);
    rest.extend(scan);
    (tables, rest)
}

pub(super) fn webp(block: &BlockPixels) -> Vec<u8> {
    let colour = match block.samples {
        3 => image_webp::ColorType::Rgb8,
        4 => image_webp::ColorType::Rgba8,
        other => panic!("WebP has no {other} samples"),
    };
    let mut out = Vec::new();
    image_webp::WebPEncoder::new(&mut out)
        .encode(&block.bytes, block.width as u32, block.rows as u32, colour)
        .expect("memory");
    out
}

pub(super) fn png(block: &BlockPixels) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, block.width as u32, block.rows as u32);
    encoder.set_color(match block.samples {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    let is_wide = block.sample.bits == 16;
    encoder.set_depth(if is_wide { png::BitDepth::Sixteen } else { png::BitDepth::Eight });
    let data: Vec<u8> = if is_wide {
        // PNG is big-endian.
        let swap = |c: &[u8]| u16::from_ne_bytes([c[0], c[1]]).to_be_bytes();
        block.bytes.chunks(2).flat_map(swap).collect()
    } else {
        block.bytes.clone()
    };
    encoder.write_header().expect("memory").write_image_data(&data).expect("memory");
    out
}

pub(super) fn jpegxl(block: &BlockPixels) -> Vec<u8> {
    use zune_core::{bit_depth::BitDepth, colorspace::ColorSpace, options::EncoderOptions};
    let colour = match block.samples {
        1 => ColorSpace::Luma,
        2 => ColorSpace::LumaA,
        3 => ColorSpace::RGB,
        _ => ColorSpace::RGBA,
    };
    let depth = if block.sample.bits == 16 { BitDepth::Sixteen } else { BitDepth::Eight };
    let options = EncoderOptions::new(block.width, block.rows, colour, depth).set_num_threads(1);
    let mut out = Vec::new();
    zune_jpegxl::JxlSimpleEncoder::new(&block.bytes, options).encode(&mut out).expect("memory");
    out
}
