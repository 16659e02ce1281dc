//! Sequential Huffman-coded pictures of 8 bits, bit-identical to libjpeg and to the kernels of the CUDA engine.
//!
//! Every interval must hold all its data units; bytes after them are ignored, as in libjpeg.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "one call of code compiled for newer machines")
)]

use super::codes::{Bits, Codes, KnownCodes};
use super::inverse::{flat, inverse};
use super::upsample::{Samples, Spare, ToRgb, Way, to_rgb, weave, weave_rgb};
#[cfg(target_arch = "x86_64")]
use super::{inverse::inverse_wide, rgb_wide::to_rgb_wide};
use crate::codec::workspace::out_of_memory;
use crate::pool::sized;
use crate::stop::Stop;
use strile_codestream::jpeg::{Class, Plane, Scan, SequentialJpeg, ZIGZAG, coded_data};
use strile_engine::BlockFault;

/// Inverse transform of a data unit, from coefficients and steps to samples. Coefficients after the given zigzag index
/// are 0.
trait Inverse: Fn(&[i16; 64], &[i32; 64], u32) -> [[u8; 8]; 8] + Copy {}

impl<F: Fn(&[i16; 64], &[i32; 64], u32) -> [[u8; 8]; 8] + Copy> Inverse for F {}

/// Memory and tables that are reused between pictures.
#[derive(Default)]
pub(crate) struct Space {
    /// Samples per component.
    planes: [Vec<u8>; 4],
    /// Coded data of a scan without stuffing.
    data: Vec<u8>,
    spares: [Spare; 4],
    codes: KnownCodes,
}

impl Space {
    /// Returns the buffers that grow with pictures, so that the thread can keep or release them.
    pub(crate) fn buffers(&mut self) -> [&mut Vec<u8>; 5] {
        let [a, b, c, d] = &mut self.planes;
        [a, b, c, d, &mut self.data]
    }
}

/// Decodes as many rows of a picture as fit in `dst`.
pub(super) fn decode(
    src: &[u8],
    picture: &SequentialJpeg,
    dst: &mut [u8],
    space: &mut Space,
    stop: &Stop,
) -> Result<(), BlockFault> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the CPU features were checked above.
        return unsafe { decode_wide(src, picture, dst, space, stop) };
    }
    decode_picture(src, picture, dst, (|unit, steps, _| inverse(unit, steps), to_rgb), space, stop)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn decode_wide(
    src: &[u8],
    picture: &SequentialJpeg,
    dst: &mut [u8],
    space: &mut Space,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let inverse = |unit: &_, steps: &_, last| inverse_wide(unit, steps, last);
    let to_rgb = |y: &_, cb: &_, cr: &_| to_rgb_wide(y, cb, cr);
    decode_picture(src, picture, dst, (inverse, to_rgb), space, stop)
}

#[inline(always)]
fn decode_picture(
    src: &[u8],
    picture: &SequentialJpeg,
    dst: &mut [u8],
    (inverse, to_rgb): (impl Inverse, impl ToRgb),
    space: &mut Space,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let Space { planes, data, spares, codes } = space;
    let planes = picture.planes.iter().zip(planes);
    let planes = planes.map(|(plane, memory)| samples_of(plane, picture.factors, memory));
    let mut planes = planes.collect::<Result<Vec<Samples<'_>>, BlockFault>>()?;
    for scan in &picture.scans {
        // Finding and copying the data of a large block takes a while.
        stop.check()?;
        let len = scan.data.intervals.iter().map(|&len| len as usize).sum();
        let data = sized(data, len).ok_or_else(|| out_of_memory(len, "the data of a JPEG scan"))?;
        let copied = coded_data::copy(src.get(scan.data.range.clone()).unwrap_or_default(), data);
        data.get_mut(copied..).unwrap_or_default().fill(0);
        let tables = scan.tables();
        codes.learn(&tables);
        decode_scan(data, picture, scan, &mut planes, codes, inverse, stop).map_err(|wrong| match wrong {
            Wrong::Code => BlockFault::corrupt("JPEG: not a Huffman code"),
            Wrong::Truncated => BlockFault::truncated(0, dst.len()),
        })?;
    }
    let row_len = picture.width as usize * planes.len();
    let [a, b, c, d] = spares;
    for (y, pixels) in dst.chunks_exact_mut(row_len.max(1)).enumerate() {
        stop.check()?;
        match planes.as_slice() {
            [grey] => {
                let row = grey.upsampled(y, a);
                pixels.iter_mut().zip(row).for_each(|(to, &from)| *to = from);
            }
            [first, second, third] => {
                let rows = [first.upsampled(y, a), second.upsampled(y, b), third.upsampled(y, c)];
                if picture.is_ycbcr { weave_rgb(rows, pixels, to_rgb) } else { weave(rows, pixels) }
            }
            [first, second, third, fourth] => {
                let rows = [
                    first.upsampled(y, a),
                    second.upsampled(y, b),
                    third.upsampled(y, c),
                    fourth.upsampled(y, d),
                ];
                weave(rows, pixels);
            }
            other => return Err(BlockFault::unsupported(format!("JPEG of {} components", other.len()))),
        }
    }
    Ok(())
}

/// Returns memory for the samples of a component, in whole data units. Its contents are unspecified: scans write every
/// unit that has samples.
fn samples_of<'a>(
    plane: &Plane,
    factors: (u32, u32),
    memory: &'a mut Vec<u8>,
) -> Result<Samples<'a>, BlockFault> {
    let (width, height) = (plane.width as usize, plane.height as usize);
    let stride = width.next_multiple_of(8);
    let way = Way::new(factors.0 / plane.sampling.0.max(1), factors.1 / plane.sampling.1.max(1), plane.width);
    let len = stride.saturating_mul(height.next_multiple_of(8));
    let samples = sized(memory, len).ok_or_else(|| out_of_memory(len, "the samples of a JPEG component"))?;
    Ok(Samples { samples, stride, width, height, way })
}

/// Error of an interval.
enum Wrong {
    Code,
    Truncated,
}

/// A component of a scan during decoding.
struct Part<'c> {
    plane: usize,
    units: (usize, usize),
    dc: &'c Codes,
    ac: &'c Codes,
    /// Quantisation steps, row by row.
    steps: [i32; 64],
    previous: i16,
}

/// Decodes a scan; `data` is that of all its intervals, and `known` has its tables.
#[inline(always)]
fn decode_scan(
    data: &[u8],
    picture: &SequentialJpeg,
    scan: &Scan,
    planes: &mut [Samples<'_>],
    known: &KnownCodes,
    inverse: impl Inverse,
    stop: &Stop,
) -> Result<(), Wrong> {
    let mut parts = Vec::with_capacity(scan.parts.len());
    for part in &scan.parts {
        let (Some(dc), Some(ac)) = (known.get(&part.dc, Class::Dc), known.get(&part.ac, Class::Ac)) else {
            return Err(Wrong::Code);
        };
        let mut steps = [0; 64];
        let quantisation = picture.planes.get(part.plane).map_or([0; 64], |plane| plane.quantisation);
        for (&step, &place) in quantisation.iter().zip(&ZIGZAG) {
            if let Some(slot) = steps.get_mut(usize::from(place)) {
                *slot = i32::from(step);
            }
        }
        let units = (part.units.0 as usize, part.units.1 as usize);
        parts.push(Part { plane: part.plane, units, dc, ac, steps, previous: 0 });
    }
    let mut rest = data;
    let across = scan.mcus.0 as usize;
    let (mut mcu_x, mut mcu_y) = (0, 0);
    let mut left = scan.mcus.0 * scan.mcus.1;
    for &len in &scan.data.intervals {
        let (interval, after) = rest.split_at_checked(len as usize).ok_or(Wrong::Truncated)?;
        rest = after;
        let mut bits = Bits::new(interval);
        parts.iter_mut().for_each(|part| part.previous = 0);
        let count = scan.restart.min(left);
        left -= count;
        for _ in 0..count {
            for part in &mut parts {
                let Some(samples) = planes.get_mut(part.plane) else { return Err(Wrong::Code) };
                decode_mcu(&mut bits, part, samples, (mcu_x, mcu_y), inverse)?;
            }
            mcu_x += 1;
            if mcu_x == across {
                (mcu_x, mcu_y) = (0, mcu_y + 1);
                // Checked after each row of MCUs: past the data, decoding would continue for as long as the picture
                // states.
                if bits.overrun() || stop.is_set() {
                    return Err(Wrong::Truncated);
                }
            }
        }
        if bits.overrun() {
            return Err(Wrong::Truncated);
        }
    }
    Ok(())
}

/// Decodes the data units of one component in an MCU.
#[inline(always)]
fn decode_mcu(
    bits: &mut Bits<'_>,
    part: &mut Part<'_>,
    samples: &mut Samples<'_>,
    (mcu_x, mcu_y): (usize, usize),
    inverse: impl Inverse,
) -> Result<(), Wrong> {
    let (across, down) = part.units;
    for y in 0..down {
        for x in 0..across {
            let mut unit = [0; 64];
            let Some((difference, last)) = bits.unit(part.dc, part.ac, &mut unit) else {
                return Err(if bits.overrun() { Wrong::Truncated } else { Wrong::Code });
            };
            part.previous = part.previous.wrapping_add(difference);
            let [dc, ..] = &mut unit;
            *dc = part.previous;
            let (left, top) = (8 * (mcu_x * across + x), 8 * (mcu_y * down + y));
            // Units beyond the last sample only pad MCUs.
            if left >= samples.width || top >= samples.height {
                continue;
            }
            let rows = if last == 0 {
                let [step, ..] = part.steps;
                [[flat(part.previous, step); 8]; 8]
            } else {
                inverse(&unit, &part.steps, last)
            };
            let begin = top * samples.stride;
            let lines = samples.samples.get_mut(begin..begin + 8 * samples.stride).unwrap_or_default();
            for (line, row) in lines.chunks_exact_mut(samples.stride).zip(&rows) {
                if let Some(to) = line.get_mut(left..left + 8) {
                    to.copy_from_slice(row);
                }
            }
        }
    }
    Ok(())
}
