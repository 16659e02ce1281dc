//! LERC blobs as libtiff writes them: Lerc2 version 4, bare or compressed with zlib or Zstandard.
//!
//! One blob holds all samples of the block (depth = samples). LERC cannot store NaN: a mask omits NaN pixels, and
//! readers make them NaN again. If a pixel is NaN in only some samples, each sample has its own blob with its own mask.
//! Every other value changes by at most the maximum error plus, if that is not 0, the rounding of its type, as in
//! libLerc. With a maximum error of 0 values are unchanged (but -0.0 may become 0.0, which LERC does not distinguish).
//! Infinite values are rejected.

use crate::codec::image_shape::check_len;
use crate::codec::{StoredBlock, Workspace};
use crate::codec::{deflate, zstd};
use lerc_core::{MaskView, RasterView, Sample};
use lerc_writer::{EncodeOptions, EncoderProfile};
use strile_engine::{BlockFault, EncodeLayout, EncodeParams};
use strile_tiff::{ByteOrder, DataType, LercWrapper, Predictor};

/// Checks the layout.
pub(in crate::codec) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    use DataType as T;
    let block = &layout.block;
    let (is_known, size) = match block.data_type {
        T::I8 | T::U8 | T::I16 | T::U16 | T::I32 | T::U32 | T::F32 | T::F64 => {
            (u64::from(block.sample.bits) == 8 * block.data_type.size() as u64, block.data_type.size())
        }
        _ => (false, 0),
    };
    if !is_known {
        return Err(format!(
            "lerc stores integers of 8, 16 or 32 bits and floats of 32 or 64, not {}; use deflate or zstd",
            block.sample
        ));
    }
    // libtiff swaps the bytes of samples before it passes them to LERC, so it reads different numbers back.
    if block.byte_order == ByteOrder::Big && size > 1 {
        return Err("readers disagree on lerc in big-endian files; write little-endian".to_owned());
    }
    let max_error = layout.params.max_error;
    if !max_error.is_finite() || max_error < 0.0 {
        return Err(format!("the maximum error of lerc is a number from 0 on, not {max_error}"));
    }
    match block.extras.lerc {
        LercWrapper::None => Ok(layout),
        LercWrapper::Deflate => deflate::prepare(layout),
        LercWrapper::Zstd => zstd::prepare(layout),
    }
}

/// Returns the maximum bytes of a block of `rows` rows of `len` bytes: uncompressed samples, masks, headers.
pub(in crate::codec) fn bound(layout: &EncodeLayout, rows: u32, len: usize) -> u64 {
    let block = &layout.block;
    let samples = u64::from(block.samples);
    let pixels = u64::from(block.width) * u64::from(rows);
    // Runs in a mask add two bytes per 32767.
    let masks = (pixels / 8 + pixels / (1 << 16) + 128).saturating_mul(samples);
    let blobs = (len as u64).saturating_add(masks).saturating_add(samples.saturating_mul(16));
    let wrapped = |bound: fn(usize) -> u64| usize::try_from(blobs).map_or(u64::MAX, bound);
    match block.extras.lerc {
        LercWrapper::None => blobs,
        LercWrapper::Deflate => wrapped(deflate::bound),
        LercWrapper::Zstd => wrapped(zstd::bound),
    }
}

/// Appends the blob, or the blobs, of a block.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    check_len(src, block)?;
    macro_rules! integers {
        ($type:ty) => {
            blob(&values(src, <$type>::from_ne_bytes), None, block, params)
        };
    }
    macro_rules! floats {
        ($type:ty) => {
            float_blobs(&values(src, <$type>::from_ne_bytes), <$type>::is_nan, block, params)
        };
    }
    let blobs = match block.layout.data_type {
        DataType::I8 => integers!(i8),
        DataType::U8 => integers!(u8),
        DataType::I16 => integers!(i16),
        DataType::U16 => integers!(u16),
        DataType::I32 => integers!(i32),
        DataType::U32 => integers!(u32),
        DataType::F32 => floats!(f32),
        DataType::F64 => floats!(f64),
        other => return Err(BlockFault::unsupported(format!("LERC of {other}"))),
    }
    .map_err(|error| BlockFault::unsupported(format!("LERC: {error}; use deflate or zstd")))?;
    match block.layout.extras.lerc {
        LercWrapper::None => {
            dst.extend_from_slice(&blobs);
            Ok(())
        }
        LercWrapper::Deflate => {
            deflate::encode(&blobs, dst, deflate::effort(params.level, Predictor::None), workspace)
        }
        LercWrapper::Zstd => zstd::encode(&blobs, dst, params, workspace),
    }
}

fn values<const N: usize, T>(src: &[u8], value: fn([u8; N]) -> T) -> Vec<T> {
    src.as_chunks().0.iter().map(|&bytes| value(bytes)).collect()
}

fn options(params: &EncodeParams) -> EncodeOptions {
    EncodeOptions::new().with_max_z_error(params.max_error).with_profile(EncoderProfile::Gdal)
}

/// Encodes all samples as one blob.
fn blob<T: Sample>(
    values: &[T],
    mask: Option<&[u8]>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
) -> lerc_core::Result<Vec<u8>> {
    let (width, rows) = (block.layout.width, block.rows);
    let raster = RasterView::new(width, rows, u32::from(block.layout.samples), values)?;
    let mask = mask.map(|mask| MaskView::new(width, rows, mask)).transpose()?;
    lerc_writer::encode(raster, mask, options(params))
}

/// NaN pixels of a block.
enum Holes {
    None,
    /// Each pixel is NaN in every sample or in none; holds the mask of those that are not.
    Whole(Vec<u8>),
    /// Some pixels are NaN in only some samples.
    Mixed,
}

fn holes<T: Copy>(values: &[T], is_nan: fn(T) -> bool, samples: usize) -> Holes {
    if !values.iter().any(|&value| is_nan(value)) {
        return Holes::None;
    }
    let mut mask = Vec::with_capacity(values.len() / samples);
    for pixel in values.chunks_exact(samples) {
        match pixel.iter().filter(|&&value| is_nan(value)).count() {
            0 => mask.push(1),
            count if count == samples => mask.push(0),
            _ => return Holes::Mixed,
        }
    }
    Holes::Whole(mask)
}

fn float_blobs<T: Sample>(
    values: &[T],
    is_nan: fn(T) -> bool,
    block: StoredBlock<'_>,
    params: &EncodeParams,
) -> lerc_core::Result<Vec<u8>> {
    let samples = usize::from(block.layout.samples).max(1);
    match holes(values, is_nan, samples) {
        Holes::None => blob(values, None, block, params),
        Holes::Whole(mask) => blob(values, Some(&mask), block, params),
        Holes::Mixed => {
            let mut blobs = Vec::new();
            let (width, rows) = (block.layout.width, block.rows);
            for sample in 0..samples {
                let band: Vec<T> = values.iter().skip(sample).step_by(samples).copied().collect();
                let mask: Vec<u8> = band.iter().map(|&value| u8::from(!is_nan(value))).collect();
                let raster = RasterView::new(width, rows, 1, &band)?;
                let mask = MaskView::new(width, rows, &mask)?;
                blobs.extend(lerc_writer::encode(raster, Some(mask), options(params))?);
            }
            Ok(blobs)
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers made here"
)]
mod tests {
    use super::*;
    use crate::codec::testing::{decode_rows, encode_rows, layout, params, prepared};
    use strile_engine::BlockLayout;
    use strile_tiff::{Compression, SampleFormat, SampleType};

    fn typed(format: SampleFormat, bits: u16, samples: u16) -> BlockLayout {
        let sample = SampleType { format, bits };
        let layout = layout(Compression::Lerc, (37, 21), (samples, 8));
        BlockLayout { sample, data_type: sample.data_type().unwrap(), ..layout }
    }

    /// Returns bytes whose high halves vary little, usable as samples of any type.
    fn bytes(len: usize, size: usize) -> Vec<u8> {
        (0..len).map(|i| if i % size == size - 1 { 0x41 } else { (i * 37 + i * i / 91) as u8 }).collect()
    }

    #[test]
    fn every_type_comes_back_unchanged() {
        use SampleFormat as F;
        let types = [
            (F::Uint, 8),
            (F::Int, 8),
            (F::Uint, 16),
            (F::Int, 16),
            (F::Uint, 32),
            (F::Int, 32),
            (F::Float, 32),
            (F::Float, 64),
        ];
        for (format, bits) in types {
            for samples in [1, 2, 3, 5] {
                for wrapper in [LercWrapper::None, LercWrapper::Deflate, LercWrapper::Zstd] {
                    let mut block = typed(format, bits, samples);
                    block.extras.lerc = wrapper;
                    let layout = prepared(block, params()).unwrap();
                    for rows in [21, 1] {
                        let len = layout.block.samples_len(rows).unwrap();
                        let src = bytes(len, usize::from(bits) / 8);
                        let stored = encode_rows(&src, &layout, rows).unwrap();
                        assert!(stored.len() as u64 <= bound(&layout, rows, len));
                        let found = decode_rows(&stored, &layout.block, rows).unwrap();
                        assert!(found == src, "{format:?} {bits} × {samples} in {wrapper:?}");
                    }
                }
            }
        }
    }

    fn f32s(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect()
    }

    #[test]
    fn nan_stays_nan_in_pixels_and_in_samples() {
        for samples in [1_usize, 3] {
            for mixed in [false, true] {
                let layout = prepared(typed(SampleFormat::Float, 32, samples as u16), params()).unwrap();
                let values: Vec<f32> = (0..37 * 21 * samples)
                    .map(|i| {
                        let hole = if mixed { i } else { i / samples };
                        if hole % 7 == 3 { f32::NAN } else { (i as f32).sqrt() }
                    })
                    .collect();
                let src: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
                let stored = encode_rows(&src, &layout, 21).unwrap();
                assert!(stored.len() as u64 <= bound(&layout, 21, src.len()));
                let found = f32s(&decode_rows(&stored, &layout.block, 21).unwrap());
                for (found, value) in found.iter().zip(&values) {
                    assert!(found == value || found.is_nan() && value.is_nan(), "{found} {value}");
                }
            }
        }
    }

    #[test]
    fn the_error_stays_within_its_limit() {
        for max_error in [0.01, 0.5, 10.0] {
            let layout =
                prepared(typed(SampleFormat::Float, 32, 1), EncodeParams { max_error, ..params() }).unwrap();
            let values: Vec<f32> =
                (0..37 * 21).map(|i| (i as f32 / 30.0).sin() * 500.0 + i as f32 / 7.0).collect();
            let src: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            let stored = encode_rows(&src, &layout, 21).unwrap();
            assert!(stored.len() < src.len());
            for (found, value) in f32s(&decode_rows(&stored, &layout.block, 21).unwrap()).iter().zip(&values)
            {
                assert!(f64::from((found - value).abs()) <= max_error * 1.000_01, "{found} {value}");
            }
        }
    }

    #[test]
    fn says_why_it_refuses() {
        let refusal = |block, params| prepared(block, params).unwrap_err();
        assert!(refusal(typed(SampleFormat::Uint, 64, 1), params()).contains("not 64-bit unsigned"));
        assert!(refusal(typed(SampleFormat::Uint, 12, 1), params()).contains("not 12-bit unsigned"));
        let big = BlockLayout { byte_order: ByteOrder::Big, ..typed(SampleFormat::Uint, 16, 1) };
        assert!(refusal(big, params()).contains("write little-endian"));
        let negative = EncodeParams { max_error: -1.0, ..params() };
        assert!(refusal(typed(SampleFormat::Uint, 16, 1), negative).contains("not -1"));
    }
}
