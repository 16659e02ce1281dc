//! JPEG 2000 codestreams, alone or in a JP2 file: components as stored, to 16 bits, signed or not.
//!
//! The size of the codestream is checked here before the decoder sees it, and only the codestream is given to
//! it, so that boxes cannot change what samples mean. Chroma that the codestream holds subsampled, and the
//! YCbCr of Aperio's scheme, become RGB; every other component stays as it is.

mod arithmetic;
mod code_block;
pub(super) mod encode;
mod packets;
mod wavelet;

use super::StoredBlock;
use super::image_shape::StatedShape;
use hayro_jpeg2000::{ComponentData, DecodeSettings, DecoderContext, Image};
use strile_engine::BlockFault;
use strile_tiff::{Compression, DataType, SampleFormat};

/// SOC and SIZ: every codestream begins with them.
const SOC_SIZ: [u8; 4] = [0xFF, 0x4F, 0xFF, 0x51];
const JP2_SIGNATURE: &[u8] = b"\x00\x00\x00\x0CjP  ";
/// Most tiles a codestream can have (ISO 15444-1, A.4.2).
const MOST_TILES: u64 = 65_535;
/// Deepest samples that the decoder's floats carry through its wavelets unchanged.
const MOST_BITS: u32 = 16;

pub(super) fn decode(src: &[u8], dst: &mut [u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let layout = block.layout;
    let codestream = codestream(src)?;
    let size =
        Size::read(codestream).ok_or_else(|| BlockFault::corrupt("JPEG 2000: no valid SIZ segment"))?;
    size.shape.check(block)?;
    if size.shape.bits > MOST_BITS {
        return Err(BlockFault::unsupported(format!("JPEG 2000 samples of {} bits", size.shape.bits)));
    }
    if size.signed != (layout.sample.format == SampleFormat::Int) {
        let found = if size.signed { "signed" } else { "unsigned" };
        return Err(BlockFault::wrong_shape(format!(
            "JPEG 2000 samples are {found}, {} expected",
            layout.sample
        )));
    }
    let settings = DecodeSettings { resolve_palette_indices: false, strict: true, target_resolution: None };
    let image = Image::new(codestream, &settings).map_err(fault)?;
    let mut context = DecoderContext::default();
    let decoded = image.decode(&mut context).map_err(fault)?;
    let components = decoded.components();
    let samples = usize::from(layout.samples);
    let pixels = layout.width as usize * block.rows as usize;
    if components.len() != samples || components.iter().any(|c| c.samples().len() < pixels) {
        return Err(BlockFault::short(0, dst.len()));
    }
    if layout.compression == Compression::Jpeg2000YCbCr && !size.subsampled {
        return place_ycbcr(components, dst);
    }
    // The decoder shifts signed components to be unsigned.
    let largest = ((1_u32 << size.shape.bits) - 1) as f32;
    let shift = if size.signed { 1_i32 << (size.shape.bits - 1) } else { 0 };
    for (index, component) in components.iter().enumerate() {
        let values = component.samples().iter().map(|&value| integer(value, largest) - shift);
        match layout.data_type {
            DataType::U8 | DataType::I8 => {
                let out = dst.iter_mut().skip(index).step_by(samples);
                out.zip(values).for_each(|(out, value)| *out = value.to_le_bytes()[0]);
            }
            DataType::U16 | DataType::I16 => {
                let out = dst.as_chunks_mut::<2>().0.iter_mut().skip(index).step_by(samples);
                out.zip(values).for_each(|(out, value)| *out = low_half(value));
            }
            other => return Err(BlockFault::unsupported(format!("JPEG 2000 samples as {other}"))),
        }
    }
    Ok(())
}

fn low_half(value: i32) -> [u8; 2] {
    let [low, high, ..] = value.to_le_bytes();
    u16::from_le_bytes([low, high]).to_ne_bytes()
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to 0 to 65535; NaN becomes 0")]
fn integer(value: f32, largest: f32) -> i32 {
    value.round().clamp(0.0, largest) as i32
}

/// Full-range YCbCr of ITU-R BT.601 with 8 bits, as Aperio writes.
fn place_ycbcr(components: &[ComponentData], dst: &mut [u8]) -> Result<(), BlockFault> {
    let [y, cb, cr] = components else {
        return Err(BlockFault::wrong_shape(format!(
            "{} components found, 3 of YCbCr expected",
            components.len()
        )));
    };
    let chroma = cb.samples().iter().zip(cr.samples());
    for ((out, y), (cb, cr)) in dst.as_chunks_mut::<3>().0.iter_mut().zip(y.samples()).zip(chroma) {
        let (cb, cr) = (cb - 128.0, cr - 128.0);
        let rgb = [y + 1.402 * cr, y - 0.344_136 * cb - 0.714_136 * cr, y + 1.772 * cb];
        *out = rgb.map(|value| integer(value, 255.0).to_le_bytes()[0]);
    }
    Ok(())
}

/// The codestream inside a JP2 file, or the bytes themselves.
fn codestream(src: &[u8]) -> Result<&[u8], BlockFault> {
    if src.starts_with(&SOC_SIZ) {
        return Ok(src);
    }
    if !src.starts_with(JP2_SIGNATURE) {
        return Err(BlockFault::corrupt("neither a JPEG 2000 codestream nor a JP2 file"));
    }
    let mut rest = src;
    while let Some(Jp2Box { name, body, after }) = next_box(rest) {
        if name == b"jp2c" {
            return Ok(body);
        }
        rest = after;
    }
    Err(BlockFault::corrupt("JP2 file without a codestream"))
}

/// A box of a JP2 file and what follows it.
struct Jp2Box<'a> {
    name: &'a [u8; 4],
    body: &'a [u8],
    after: &'a [u8],
}

/// The first box (ISO 15444-1, I.4): a length of 0 goes to the end, one of 1 has 8 bytes more.
fn next_box(bytes: &[u8]) -> Option<Jp2Box<'_>> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_first_chunk::<4>()?;
    let (body_len, rest) = match u32::from_be_bytes(*len) {
        0 => (rest.len(), rest),
        1 => {
            let (long, rest) = rest.split_first_chunk::<8>()?;
            (usize::try_from(u64::from_be_bytes(*long).checked_sub(16)?).ok()?, rest)
        }
        len => (usize::try_from(len.checked_sub(8)?).ok()?, rest),
    };
    let (body, after) = rest.split_at_checked(body_len)?;
    Some(Jp2Box { name, body, after })
}

/// What the SIZ segment says (ISO 15444-1, A.5.1).
struct Size {
    shape: StatedShape,
    signed: bool,
    subsampled: bool,
}

impl Size {
    /// `None` where it is cut short, has no pixels, too many tiles, or components of different depths.
    fn read(codestream: &[u8]) -> Option<Self> {
        let number = |at: usize| codestream.get(at..)?.first_chunk().map(|&bytes| u32::from_be_bytes(bytes));
        let (right, bottom, left, top) = (number(8)?, number(12)?, number(16)?, number(20)?);
        let (tile_width, tile_height) = (number(24)?, number(28)?);
        let count = usize::from(u16::from_be_bytes(*codestream.get(40..)?.first_chunk()?));
        let components = codestream.get(42..42 + 3 * count)?.as_chunks::<3>().0;
        let &[depth, ..] = components.first()?;
        if components.iter().any(|&[other, ..]| other != depth) || tile_width == 0 || tile_height == 0 {
            return None;
        }
        let tiles = u64::from(right.div_ceil(tile_width)) * u64::from(bottom.div_ceil(tile_height));
        let (width, height) = (right.checked_sub(left)?, bottom.checked_sub(top)?);
        let valid = tiles <= MOST_TILES && components.iter().all(|&[_, h, v]| h != 0 && v != 0);
        let shape = StatedShape {
            width,
            height,
            samples: u32::try_from(count).ok()?,
            bits: u32::from(depth & 0x7F) + 1,
        };
        let subsampled = components.iter().any(|&[_, h, v]| (h, v) != (1, 1));
        valid.then_some(Self { shape, signed: depth & 0x80 != 0, subsampled })
    }
}

fn fault(error: hayro_jpeg2000::DecodeError) -> BlockFault {
    BlockFault::corrupt(format!("JPEG 2000: {error}"))
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers made here"
)]
mod tests {
    use super::super::testing::{check_picture, decode_block, layout, picture, u16s};
    use strile_engine::BlockLayout;
    use strile_tiff::{Compression, DataType, SampleFormat, SampleType};

    #[test]
    fn reads_lossless_codestreams_and_files() {
        check_picture(
            include_bytes!("../../tests/data/rgb8.j2k"),
            &layout(Compression::Jpeg2000, (13, 9), (3, 8)),
        );
        check_picture(
            include_bytes!("../../tests/data/gray16.jp2"),
            &layout(Compression::Jpeg2000, (13, 9), (1, 16)),
        );
    }

    #[test]
    fn reads_signed_samples() {
        let layout = BlockLayout {
            sample: SampleType { format: SampleFormat::Int, bits: 16 },
            data_type: DataType::I16,
            ..layout(Compression::Jpeg2000, (13, 9), (1, 16))
        };
        let decoded = decode_block(include_bytes!("../../tests/data/gray_i16.j2k"), &layout).unwrap();
        let found: Vec<i32> = u16s(&decoded).into_iter().map(|v| i32::from(v as i16)).collect();
        let expected: Vec<i32> = picture(1, 16).into_iter().map(|v| v as i32 - 32_768).collect();
        assert_eq!(found, expected);
    }
}
