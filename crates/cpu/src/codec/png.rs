//! PNG datastreams: one image a block, 1 to 16 bits, palettes as indices.

use super::StoredBlock;
use super::image_shape::{StatedShape, native_from_big_endian_16, with_whole_image};
use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};
use strile_engine::BlockFault;

/// What inflating and chunks may take besides a row.
const SPARE_BYTES: usize = 1 << 20;

pub(super) fn decode(src: &[u8], dst: &mut [u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let row_len =
        (block.layout.width as usize).saturating_mul(usize::from(block.layout.samples)).saturating_mul(2);
    let limits = Limits { bytes: row_len.saturating_mul(4).saturating_add(SPARE_BYTES) };
    let mut decoder = Decoder::new_with_limits(std::io::Cursor::new(src), limits);
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(fault)?;
    let samples = match header.color_type {
        ColorType::Grayscale | ColorType::Indexed => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
    };
    let bits = match header.bit_depth {
        BitDepth::One => 1,
        BitDepth::Two => 2,
        BitDepth::Four => 4,
        BitDepth::Eight => 8,
        BitDepth::Sixteen => 16,
    };
    let shape = StatedShape { width: header.width, height: header.height, samples, bits };
    shape.check(block)?;
    let mut reader = decoder.read_info().map_err(fault)?;
    if bits < 8 {
        let packed_len =
            reader.output_buffer_size().filter(|&len| len <= dst.len().saturating_mul(2).max(SPARE_BYTES));
        let mut packed = vec![0; packed_len.ok_or_else(|| shape.fault(block))?];
        let info = reader.next_frame(&mut packed).map_err(fault)?;
        unpack(&packed, info.line_size, dst, shape);
        return Ok(());
    }
    with_whole_image(dst, shape.byte_len(if bits == 16 { 2 } else { 1 })?, |whole| {
        reader.next_frame(whole).map(drop).map_err(fault)
    })?;
    if bits == 16 {
        native_from_big_endian_16(dst);
    }
    Ok(())
}

/// Spreads samples of 1, 2 or 4 bits over bytes. Only grey and palette images have them: one sample a pixel.
fn unpack(packed: &[u8], line_len: usize, dst: &mut [u8], shape: StatedShape) {
    let per_byte = (8 / shape.bits) as usize;
    let rows = packed.chunks_exact(line_len.max(1)).zip(dst.chunks_exact_mut(shape.width.max(1) as usize));
    for (line, out) in rows {
        for (byte, pixels) in line.iter().zip(out.chunks_mut(per_byte)) {
            for (place, pixel) in (1_u32..).zip(pixels) {
                *pixel = byte >> (8 - place * shape.bits) & ((1 << shape.bits) - 1);
            }
        }
    }
}

fn fault(error: DecodingError) -> BlockFault {
    match error {
        DecodingError::LimitsExceeded => {
            BlockFault::corrupt("PNG: a chunk is larger than the image can need")
        }
        other => BlockFault::corrupt(format!("PNG: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_picture, decode_block, layout};
    use strile_tiff::Compression;

    #[test]
    fn reads_8_and_16_bits() {
        check_picture(
            include_bytes!("../../tests/data/rgb8.png"),
            &layout(Compression::Png, (13, 9), (3, 8)),
        );
        check_picture(
            include_bytes!("../../tests/data/rgba16.png"),
            &layout(Compression::Png, (13, 9), (4, 16)),
        );
    }

    #[test]
    fn spreads_packed_pixels() {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 5, 2);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Two);
        encoder
            .write_header()
            .unwrap()
            .write_image_data(&[0b00_01_10_11, 0b11_00_00_00, 0b10_10_10_10, 0])
            .unwrap();
        let decoded = decode_block(&file, &layout(Compression::Png, (5, 2), (1, 2))).unwrap();
        assert_eq!(decoded, [0, 1, 2, 3, 3, 2, 2, 2, 2, 0]);
    }
}
