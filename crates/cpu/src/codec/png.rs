//! PNG datastreams: one image per block, 1 to 16 bits, palettes as indices.

use super::image_shape::{StatedShape, native_from_big_endian_16, with_whole_image, zeroed};
use super::interruptible::Interruptible;
use super::{StoredBlock, Workspace};
use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};
use strile_engine::{BlockFault, BlockLayout};

/// Memory for inflating and chunks besides rows.
const SPARE_BYTES: usize = 1 << 20;

/// Returns the bytes that the decoder needs: a few rows, and memory for inflating and chunks.
pub(super) fn working_len(layout: &BlockLayout) -> u64 {
    row_len(layout).saturating_mul(8).saturating_add(2 * SPARE_BYTES as u64)
}

/// Returns the maximum bytes of a row.
fn row_len(layout: &BlockLayout) -> u64 {
    u64::from(layout.width).saturating_mul(layout.samples.into()).saturating_mul(2)
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let most = usize::try_from(row_len(block.layout).saturating_mul(4)).unwrap_or(usize::MAX);
    let stop = workspace.crew.stop().clone();
    let limits = Limits { bytes: most.saturating_add(SPARE_BYTES) };
    let mut decoder = Decoder::new_with_limits(Interruptible::new(src, &stop), limits);
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
    let whole_len = shape.byte_len(if bits == 16 { 2 } else { 1 })?;
    // Rows come in order unless they are interlaced, which needs a whole image.
    let interlaced = header.interlaced;
    let spare = if interlaced && (bits < 8 || whole_len != dst.len()) { whole_len as u64 } else { 0 };
    let counted = working_len(block.layout);
    let _loan = workspace.lend(counted.saturating_add(spare), counted, "a PNG decoder")?;
    let mut reader = decoder.read_info().map_err(fault)?;
    let line_len = reader.output_line_size(shape.width).ok_or_else(|| shape.fault(block))?;
    if interlaced && bits < 8 {
        let mut packed = zeroed(reader.output_buffer_size().ok_or_else(|| shape.fault(block))?)?;
        reader.next_frame(&mut packed).map_err(fault)?;
        unpack(&packed, line_len, dst, shape);
        return Ok(());
    }
    if interlaced {
        with_whole_image(dst, whole_len, |whole| reader.next_frame(whole).map(drop).map_err(fault))?;
    } else {
        let pixels_len = if bits < 8 { shape.width as usize } else { line_len };
        let mut rows = dst.chunks_exact_mut(pixels_len.max(1));
        // Read to the end, past the rows that the block keeps, so that checksums are verified.
        while let Some(line) = reader.next_row().map_err(fault)? {
            match rows.next() {
                Some(row) if bits < 8 => unpack(line.data(), line_len, row, shape),
                Some(row) => row.copy_from_slice(line.data().get(..row.len()).unwrap_or_default()),
                None => {}
            }
        }
    }
    if bits == 16 {
        native_from_big_endian_16(dst);
    }
    Ok(())
}

/// Expands samples of 1, 2 or 4 bits to bytes. Only grey and palette images have them: one sample per pixel.
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
    use super::super::testing::{check_picture, decode_block, decode_rows, layout};
    use strile_tiff::Compression;

    /// The picture of `rgb8.png`, interlaced, by another writer.
    const INTERLACED: &[u8] = include_bytes!("../../tests/data/rgb8_interlaced.png");

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

    /// A last strip may hold all its rows, interlaced or not; the block keeps the first ones.
    #[test]
    fn keeps_the_first_rows() {
        let layout = layout(Compression::Png, (13, 9), (3, 8));
        let whole = decode_block(include_bytes!("../../tests/data/rgb8.png"), &layout).unwrap();
        let first = decode_rows(include_bytes!("../../tests/data/rgb8.png"), &layout, 4).unwrap();
        assert_eq!(first, whole[..4 * 13 * 3]);
        assert_eq!(decode_rows(INTERLACED, &layout, 4).unwrap(), first);
        assert_eq!(decode_block(INTERLACED, &layout).unwrap(), whole);
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
