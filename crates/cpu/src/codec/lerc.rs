//! LERC blobs, versions 1 and 2, bare or compressed with zlib or Zstandard.
//!
//! Either one blob holds all samples of the block (depth = samples), or consecutive blobs hold one sample each, if
//! floats are NaN in only some samples of a pixel. Masked pixels become NaN for floats, as in libtiff, and the image's
//! nodata otherwise. A blob with one sample less than the block stores its 8-bit alpha in the mask: 255 where valid, 0
//! elsewhere.

mod checksum;
pub(super) mod encode;
mod numbers;
mod whole;

use super::image_shape::{StatedShape, most_rows, zeroed};
use super::workspace::out_of_memory;
use super::{StoredBlock, Workspace};
use crate::pool::sized;
use lerc_reader::Decoded;
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::{ByteOrder, DataType, LercWrapper};

/// Bytes of a blob besides its samples: headers, masks and ranges.
const SPARE_BYTES: u64 = 1 << 16;
/// Upper limit of decoder memory per block of version 1.
const BYTES_PER_BLOCK: u64 = 96;
/// Magic bytes of version 1.
const MAGIC_1: &[u8] = b"CntZImage ";

/// Returns the decoder's memory in bytes: a copy of all samples, masks as bits and as bytes, the values of one LERC
/// block in two 64-bit forms, which may be as large as the image, and the blob if it is compressed.
pub(super) fn working_len(layout: &BlockLayout, rows: u32) -> u64 {
    let pixels = u64::from(layout.width).saturating_mul(most_rows(layout, rows).into());
    let samples = pixels.saturating_mul(layout.samples.into()).saturating_mul(layout.data_type.size() as u64);
    let wrapped = match layout.extras.lerc {
        LercWrapper::None => 0,
        LercWrapper::Deflate | LercWrapper::Zstd => unwrapped_len(samples),
    };
    samples.saturating_mul(2).saturating_add(pixels.saturating_mul(20)).saturating_add(wrapped)
}

/// Returns the maximum length of an uncompressed blob. It is never much longer than its samples: encoders fall back to
/// storing them.
fn unwrapped_len(samples: u64) -> u64 {
    samples.saturating_mul(2).saturating_add(SPARE_BYTES)
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    if block.layout.extras.lerc == LercWrapper::None {
        return decode_blob(src, dst, block, workspace);
    }
    let mut memory = std::mem::take(&mut workspace.unwrapped);
    let unwrapped =
        unwrap(src, &mut memory, unwrapped_len(dst.len() as u64), block.layout.extras.lerc, workspace);
    let result = unwrapped.and_then(|blob| decode_blob(blob, dst, block, workspace));
    workspace.unwrapped = memory;
    result
}

/// Decodes an uncompressed blob.
fn decode_blob(
    blob: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    if whole::decode(blob, dst, block.layout, workspace.crew.stop()).is_some() {
        return Ok(());
    }
    workspace.crew.stop().check()?;
    let stated = stated_shape(blob)?;
    let counted = working_len(block.layout, block.rows);
    let need = counted.saturating_add(blocks_of_version_1(blob).saturating_mul(BYTES_PER_BLOCK));
    let _loan = workspace.lend(need, counted, "a LERC decoder")?;
    let samples = u32::from(block.layout.samples);
    let alpha_in_mask =
        stated.samples.checked_add(1) == Some(samples) && block.layout.data_type == DataType::U8;
    let is_float = matches!(block.layout.data_type, DataType::F32 | DataType::F64);
    if stated.samples == 1 && samples > 1 && is_float {
        return decode_bands(blob, dst, block);
    }
    if stated.samples != samples && !alpha_in_mask {
        return Err(stated.fault(block));
    }
    stated.check_size(block)?;
    let decoded =
        lerc_reader::decode_first(blob).map_err(|error| BlockFault::corrupt(format!("LERC: {error}")))?;
    if alpha_in_mask { place_with_alpha(&decoded, dst, stated.samples) } else { place(&decoded, dst, block) }
}

/// Decodes consecutive blobs, each with one sample and its own mask. A blob may reuse the mask of the one before.
fn decode_bands(blobs: &[u8], dst: &mut [u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let layout = block.layout;
    let (size, samples) = (layout.data_type.size(), usize::from(layout.samples));
    let band_layout = BlockLayout { samples: 1, ..layout.clone() };
    let mut band = zeroed(dst.len() / samples)?;
    let mut rest = blobs;
    let mut mask: Option<Vec<u8>> = None;
    for sample in 0..samples {
        let stated = stated_shape(rest)?;
        if stated.samples != 1 {
            return Err(stated.fault(block));
        }
        stated.check_size(block)?;
        let decoded = match &mask {
            Some(mask) => lerc_reader::decode_first_with_mask(rest, mask),
            None => lerc_reader::decode_first(rest),
        }
        .map_err(|error| BlockFault::corrupt(format!("LERC: {error}")))?;
        place(&decoded, &mut band, StoredBlock { layout: &band_layout, rows: block.rows })?;
        let pixels = dst.chunks_exact_mut(size * samples).zip(band.chunks_exact(size));
        for (pixel, value) in pixels {
            if let Some(to) = pixel.get_mut(sample * size..(sample + 1) * size) {
                to.copy_from_slice(value);
            }
        }
        rest = rest.get(decoded.info.blob_size..).unwrap_or_default();
        mask = decoded.mask.or(mask);
    }
    Ok(())
}

/// Decompresses a blob of at most `limit` bytes.
fn unwrap<'m>(
    src: &[u8],
    memory: &'m mut Vec<u8>,
    limit: u64,
    wrapper: LercWrapper,
    workspace: &mut Workspace,
) -> Result<&'m [u8], BlockFault> {
    // Memory pages are only touched up to the length of the blob.
    let len = usize::try_from(limit).unwrap_or(usize::MAX);
    let out = sized(memory, len).ok_or_else(|| out_of_memory(len, "a LERC blob"))?;
    let len = match wrapper {
        LercWrapper::Deflate => workspace
            .deflate()
            .zlib_decompress(src, out)
            .map_err(|error| BlockFault::corrupt(format!("Deflate around LERC: {error}")))?,
        _ => workspace.zstd()?.decompress(out, src).map_err(|code| {
            let name = ::zstd::zstd_safe::get_error_name(code);
            BlockFault::corrupt(format!("Zstandard around LERC: {name}"))
        })?,
    };
    Ok(out.get(..len).unwrap_or_default())
}

/// Returns the number of blocks that a version 1 blob states after its mask; the decoder has an entry per block.
fn blocks_of_version_1(blob: &[u8]) -> u64 {
    let number = |at: usize| {
        let bytes = blob.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    };
    if !blob.starts_with(MAGIC_1) {
        return 0;
    }
    // Rows and columns of blocks, bytes and maximum of the mask follow a header of 34 bytes.
    let mask = usize::try_from(number(42)).unwrap_or(usize::MAX);
    let at = mask.saturating_add(50);
    u64::from(number(at)).saturating_mul(number(at.saturating_add(4)).into())
}

/// Returns the size in the blob's header.
fn stated_shape(blob: &[u8]) -> Result<StatedShape, BlockFault> {
    let short = || BlockFault::truncated(0, 0);
    let number = |at: usize| {
        let bytes = blob.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|&bytes| u32::from_le_bytes(bytes)).ok_or_else(short)
    };
    if blob.starts_with(MAGIC_1) {
        return Ok(StatedShape { height: number(18)?, width: number(22)?, samples: 1, bits: 32 });
    }
    if !blob.starts_with(b"Lerc2 ") {
        return Err(BlockFault::corrupt("not a LERC blob"));
    }
    // Lerc2: version, checksum since version 3, rows, columns, depth since version 4.
    let version = number(6)?;
    let at = if version >= 3 { 14 } else { 10 };
    let samples = if version >= 4 { number(at + 8)? } else { 1 };
    let type_at = if version >= 4 { at + 24 } else { at + 20 };
    let bits = match number(type_at)? {
        0 | 1 => 8,
        2 | 3 => 16,
        4..=6 => 32,
        _ => 64,
    };
    Ok(StatedShape { height: number(at)?, width: number(at + 4)?, samples, bits })
}

fn place(decoded: &Decoded, dst: &mut [u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    use lerc_core::PixelData as P;
    let layout = block.layout;
    macro_rules! copy {
        ($values:expr) => {
            copy($values.iter().map(|value| value.to_ne_bytes()), dst)
        };
    }
    match (&decoded.pixels, layout.data_type) {
        (P::I8(v), DataType::I8) => copy!(v),
        (P::U8(v), DataType::U8) => copy!(v),
        (P::I16(v), DataType::I16) => copy!(v),
        (P::U16(v), DataType::U16) => copy!(v),
        (P::I32(v), DataType::I32) => copy!(v),
        (P::U32(v), DataType::U32) => copy!(v),
        (P::F32(v), DataType::F32) => copy!(v),
        (P::F64(v), DataType::F64) => copy!(v),
        (found, expected) => {
            let found = found.data_type().name();
            return Err(BlockFault::wrong_shape(format!("expected LERC samples of {expected}, got {found}")));
        }
    }?;
    let size = layout.data_type.size();
    // libtiff swaps samples although LERC stores numbers, not bytes: big-endian files hold swapped ones.
    if layout.byte_order == ByteOrder::Big && size > 1 {
        dst.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    let Some(mask) = &decoded.mask else { return Ok(()) };
    let mut missing = layout.extras.fill.0;
    match layout.data_type {
        DataType::F32 => missing.iter_mut().zip(f32::NAN.to_ne_bytes()).for_each(|(to, from)| *to = from),
        DataType::F64 => missing.iter_mut().zip(f64::NAN.to_ne_bytes()).for_each(|(to, from)| *to = from),
        _ => {}
    }
    let missing = missing.get(..size).unwrap_or_default();
    for (pixel, &valid) in dst.chunks_exact_mut(size * usize::from(layout.samples)).zip(mask) {
        if valid == 0 {
            pixel.chunks_exact_mut(size).for_each(|sample| sample.copy_from_slice(missing));
        }
    }
    Ok(())
}

fn copy<const N: usize>(
    values: impl ExactSizeIterator<Item = [u8; N]>,
    dst: &mut [u8],
) -> Result<(), BlockFault> {
    let (out, rest) = dst.as_chunks_mut();
    if values.len() < out.len() || !rest.is_empty() {
        return Err(BlockFault::short(values.len() * N, dst.len()));
    }
    out.iter_mut().zip(values).for_each(|(to, from)| *to = from);
    Ok(())
}

fn place_with_alpha(decoded: &Decoded, dst: &mut [u8], colours: u32) -> Result<(), BlockFault> {
    let lerc_core::PixelData::U8(values) = &decoded.pixels else {
        return Err(BlockFault::wrong_shape(format!(
            "expected LERC samples of uint8, got {}",
            decoded.pixels.data_type().name()
        )));
    };
    let colours = colours as usize;
    let expected = dst.len();
    let mut pixels = values.chunks_exact(colours);
    if pixels.len() < expected / (colours + 1) {
        return Err(BlockFault::short(values.len(), expected));
    }
    let mut mask = decoded.mask.iter().flatten();
    for out in dst.chunks_exact_mut(colours + 1) {
        let valid = mask.next().is_none_or(|&valid| valid != 0);
        if let (Some((alpha, out)), Some(pixel)) = (out.split_last_mut(), pixels.next()) {
            out.copy_from_slice(pixel);
            *alpha = if valid { 255 } else { 0 };
        }
    }
    Ok(())
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
    use super::*;
    use strile_engine::Fill;
    use strile_tiff::{Compression, SampleFormat, SampleType};

    fn typed(format: SampleFormat, bits: u16) -> BlockLayout {
        let sample = SampleType { format, bits };
        let layout = layout(Compression::Lerc, (13, 9), (1, 8));
        BlockLayout { sample, data_type: sample.data_type().unwrap(), ..layout }
    }

    #[test]
    fn reads_one_and_three_samples() {
        check_picture(
            include_bytes!("../../tests/data/u8.lerc"),
            &layout(Compression::Lerc, (13, 9), (1, 8)),
        );
        check_picture(
            include_bytes!("../../tests/data/rgb_u16.lerc"),
            &layout(Compression::Lerc, (13, 9), (3, 16)),
        );
    }

    #[test]
    fn takes_off_the_wrapper() {
        let blob = include_bytes!("../../tests/data/u8.lerc");
        let mut layout = layout(Compression::Lerc, (13, 9), (1, 8));
        layout.extras.lerc = LercWrapper::Zstd;
        check_picture(&zstd::bulk::compress(blob, 3).unwrap(), &layout);
        layout.extras.lerc = LercWrapper::Deflate;
        let mut wrapped = vec![0; 400];
        let len = libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest())
            .zlib_compress(blob, &mut wrapped)
            .unwrap();
        check_picture(&wrapped[..len], &layout);
    }

    /// Pixels that are multiples of 3 in the 8-bit picture are masked out.
    #[test]
    fn masked_pixels_are_nan_or_nodata() {
        let src = include_bytes!("../../tests/data/masked_f32.lerc");
        let decoded = decode_block(src, &typed(SampleFormat::Float, 32)).unwrap();
        for (bytes, value) in decoded.as_chunks().0.iter().zip(picture(1, 8)) {
            let found = f32::from_ne_bytes(*bytes);
            assert!(
                if value % 3 == 0 { found.is_nan() } else { found == value as f32 / 4.0 },
                "{found} {value}"
            );
        }
        let mut layout = typed(SampleFormat::Int, 16);
        let mut fill = [0; 16];
        fill[..2].copy_from_slice(&(-99_i16).to_ne_bytes());
        layout.extras.fill = Fill(fill);
        let decoded =
            u16s(&decode_block(include_bytes!("../../tests/data/masked_i16.lerc"), &layout).unwrap());
        for ((found, mask), value) in decoded.into_iter().zip(picture(1, 8)).zip(picture(1, 12)) {
            assert_eq!(i32::from(found as i16), if mask % 3 == 0 { -99 } else { value as i32 });
        }
    }

    #[test]
    fn refuses_another_type() {
        let src = include_bytes!("../../tests/data/u8.lerc");
        let fault = decode_block(src, &typed(SampleFormat::Int, 8)).unwrap_err();
        assert!(fault.detail.contains("expected LERC samples of int8"), "{fault}");
    }
}
