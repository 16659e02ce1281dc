//! SGI LogL and LogLuv: 16 bits of log luminance, and chroma in 8 + 8 bits (32-bit form) or 14 (24-bit form).
//!
//! Samples are decoded to libtiff's 16-bit form: L as stored (an exponent scale), u' and v' times 2^15. Rows of the 16-
//! and 32-bit forms are run-length coded, byte plane by byte plane; the 24-bit form has three bytes per pixel.

mod chroma;

use super::StoredBlock;
use crate::stop::{Looks, Stop};
use chroma::uv;
use strile_engine::BlockFault;
use strile_tiff::{Compression, DataType};

/// Chroma of the 32-bit form in units of 1 / 410.
const CHROMA_SCALE: f64 = 410.0;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    if layout.data_type != DataType::I16 {
        return Err(BlockFault::unsupported(format!(
            "SGI Log samples as {}, only as int16",
            layout.data_type
        )));
    }
    let width = layout.width as usize;
    match (layout.compression, layout.samples) {
        (Compression::SgiLog, 1) => decode_rows::<2>(src, dst, (width, stop), |pixel, out| {
            let [high, low] = pixel;
            out.copy_from_slice(&u16::from_be_bytes([high, low]).to_ne_bytes());
        }),
        (Compression::SgiLog, 3) => decode_rows::<4>(src, dst, (width, stop), |pixel, out| {
            let [high, low, u, v] = pixel;
            let chroma = |code: u8| fixed((f64::from(code) + 0.5) / CHROMA_SCALE);
            put(out, [u16::from_be_bytes([high, low]), chroma(u), chroma(v)]);
        }),
        (Compression::SgiLog24, 3) => decode_packed(src, dst, stop),
        (_, samples) => {
            Err(BlockFault::wrong_shape(format!("expected 1 sample of LogL or 3 of LogLuv, got {samples}")))
        }
    }
}

/// Decodes rows of `N` byte planes, most significant first; `place` gets each pixel's bytes and its output.
fn decode_rows<const N: usize>(
    src: &[u8],
    dst: &mut [u8],
    (width, stop): (usize, &Stop),
    place: impl Fn([u8; N], &mut [u8]),
) -> Result<(), BlockFault> {
    let samples_len = if N == 2 { 2 } else { 6 };
    let row_len = width * samples_len;
    if row_len == 0 {
        return Ok(());
    }
    let expected = dst.len();
    let mut row = vec![[0_u8; N]; width];
    let mut rest = src;
    let mut looks = Looks::new(stop);
    for (done, out) in dst.chunks_exact_mut(row_len).enumerate() {
        looks.after(done * row_len)?;
        for plane in 0..N {
            let mut pixels = row.iter_mut().filter_map(|pixel| pixel.get_mut(plane));
            read_plane(&mut rest, &mut pixels, width).map_err(|fault| match fault {
                PlaneFault::Truncated => BlockFault::truncated(done * row_len, expected),
                PlaneFault::Outside => {
                    BlockFault::corrupt(format!("row {done} is longer than {width} pixels"))
                }
            })?;
        }
        for (&pixel, out) in row.iter().zip(out.chunks_exact_mut(samples_len)) {
            place(pixel, out);
        }
    }
    Ok(())
}

enum PlaneFault {
    Truncated,
    Outside,
}

/// Reads a plane. A code of 128 or more is a run of the following byte, 2 to 129 long; a smaller one is the number of
/// literal bytes.
fn read_plane<'a>(
    rest: &mut &[u8],
    pixels: &mut impl Iterator<Item = &'a mut u8>,
    width: usize,
) -> Result<(), PlaneFault> {
    let mut left = width;
    while left > 0 {
        let (&code, after) = rest.split_first().ok_or(PlaneFault::Truncated)?;
        let is_run = code >= 128;
        let count = if is_run { usize::from(code) - 126 } else { usize::from(code) };
        let (bytes, after) =
            after.split_at_checked(if is_run { 1 } else { count }).ok_or(PlaneFault::Truncated)?;
        *rest = after;
        left = left.checked_sub(count).ok_or(PlaneFault::Outside)?;
        for (pixel, &byte) in pixels.by_ref().take(count).zip(bytes.iter().cycle()) {
            *pixel = byte;
        }
    }
    Ok(())
}

fn decode_packed(src: &[u8], dst: &mut [u8], stop: &Stop) -> Result<(), BlockFault> {
    let (pixels, expected) = (src.as_chunks::<3>().0, dst.len());
    let outs = dst.chunks_exact_mut(6);
    if pixels.len() < outs.len() {
        return Err(BlockFault::truncated(pixels.len() * 6, expected));
    }
    let mut looks = Looks::new(stop);
    for (done, (&[a, b, c], out)) in pixels.iter().zip(outs).enumerate() {
        looks.after(done * 6)?;
        let pixel = u32::from_be_bytes([0, a, b, c]);
        let (u, v) = uv(pixel & 0x3FFF);
        // Ten bits of log luminance, converted to the scale of sixteen (libtiff's Luv24toLuv48).
        let luminance = u16::try_from((pixel >> 12 & 0xFFD) + 13_314).unwrap_or(u16::MAX);
        put(out, [luminance, fixed(u), fixed(v)]);
    }
    Ok(())
}

fn put(out: &mut [u8], samples: [u16; 3]) {
    for (out, sample) in out.as_chunks_mut().0.iter_mut().zip(samples) {
        *out = sample.to_ne_bytes();
    }
}

/// Returns a number from 0 to 1 times 2^15, truncated.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "u' and v' are between 0 and 0.7"
)]
fn fixed(value: f64) -> u16 {
    (value * 32_768.0) as u16
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode_block, layout, mutants_fill_or_fault, u16s};
    use strile_engine::{BlockLayout, FaultKind};
    use strile_tiff::{Compression, DataType, SampleFormat, SampleType};

    fn log_layout(compression: Compression, samples: u16) -> BlockLayout {
        BlockLayout {
            sample: SampleType { format: SampleFormat::Int, bits: 16 },
            data_type: DataType::I16,
            ..layout(compression, (3, 1), (samples, 16))
        }
    }

    #[test]
    fn reads_planes_of_runs_and_bytes() {
        // High bytes: a run of three 0x40; low bytes: literal 1, 2, 3.
        let src = [129, 0x40, 3, 1, 2, 3];
        assert_eq!(
            u16s(&decode_block(&src, &log_layout(Compression::SgiLog, 1)).unwrap()),
            [0x4001, 0x4002, 0x4003]
        );
        mutants_fill_or_fault(&src, &log_layout(Compression::SgiLog, 1), 2000);
        // u' = 100.5 / 410, v' = 0.5 / 410, times 32768.
        let src = [129, 0x40, 3, 1, 2, 3, 129, 100, 129, 0];
        let expected = [0x4001, 8032, 39, 0x4002, 8032, 39, 0x4003, 8032, 39];
        assert_eq!(u16s(&decode_block(&src, &log_layout(Compression::SgiLog, 3)).unwrap()), expected);
    }

    /// The expected numbers come from GDAL.
    #[test]
    fn reads_24_bits() {
        let pixel = |code: u32| ((512 << 14) | code).to_be_bytes();
        let src: Vec<u8> = [0, 4, 16_383].into_iter().flat_map(|code| pixel(code)[1..].to_vec()).collect();
        let expected = [15_362, 8172, 612, 15_362, 8045, 727, 15_363, 6898, 15_521];
        assert_eq!(u16s(&decode_block(&src, &log_layout(Compression::SgiLog24, 3)).unwrap()), expected);
        let fault = decode_block(&src[..8], &log_layout(Compression::SgiLog24, 3)).unwrap_err();
        assert_eq!((fault.kind, fault.found), (FaultKind::InputTruncated, 12));
    }
}
