//! LERC 2 blobs without masked pixels, unpacked directly into the block.
//!
//! A blob has a header, the ranges of its samples, and either the uncompressed samples or consecutive micro-blocks,
//! each with one unit per sample of a pixel. All other cases (masks, Huffman codes, differences between samples,
//! constant samples) and anything not clearly valid are left to the library, which decodes it or reports the error.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "one call of code compiled for newer machines")
)]

use super::checksum::fletcher;
use super::numbers::{Sample, Scale, packed_len, unpack};
use crate::stop::{Looks, Stop};
use strile_engine::BlockLayout;
use strile_tiff::{ByteOrder, DataType};

/// Maximum samples of a micro-block.
const MOST: usize = 32 * 32;
/// Maximum entries of a table, including the offset.
const MOST_ENTRIES: usize = 256;

/// Decodes a blob that holds exactly the samples of `dst`. `None` leaves it to the library; `dst` then has unspecified
/// contents.
pub(super) fn decode(blob: &[u8], dst: &mut [u8], layout: &BlockLayout, stop: &Stop) -> Option<()> {
    if layout.byte_order == ByteOrder::Big || cfg!(target_endian = "big") {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the CPU features were checked above.
        return unsafe { decode_wide(blob, dst, layout, stop) };
    }
    decode_typed(blob, dst, layout, stop)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn decode_wide(blob: &[u8], dst: &mut [u8], layout: &BlockLayout, stop: &Stop) -> Option<()> {
    decode_typed(blob, dst, layout, stop)
}

#[inline(always)]
fn decode_typed(blob: &[u8], dst: &mut [u8], layout: &BlockLayout, stop: &Stop) -> Option<()> {
    let header = Header::read(blob)?;
    if header.depth != usize::from(layout.samples) {
        return None;
    }
    let payload = header.payload(blob)?;
    macro_rules! samples {
        ($type:ty) => {{
            let (samples, rest) = dst.as_chunks_mut();
            let right = header.data_type == <$type as Sample>::TYPE && rest.is_empty();
            if right { decode_samples::<$type>(&header, payload, samples, stop) } else { None }
        }};
    }
    match layout.data_type {
        DataType::I8 => samples!(i8),
        DataType::U8 => samples!(u8),
        DataType::I16 => samples!(i16),
        DataType::U16 => samples!(u16),
        DataType::I32 => samples!(i32),
        DataType::U32 => samples!(u32),
        DataType::F32 => samples!(f32),
        DataType::F64 => samples!(f64),
        _ => None,
    }
}

/// Remaining bytes, taken from the front.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    #[inline(always)]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline(always)]
    fn skip(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn real(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes).filter(|v| v.is_finite())
    }

    /// Takes a sample of a type given by LERC's number.
    #[inline(always)]
    fn sample(&mut self, data_type: u32) -> Option<f64> {
        Some(match data_type {
            0 => i8::from_le_bytes(self.take()?).into(),
            1 => u8::from_le_bytes(self.take()?).into(),
            2 => i16::from_le_bytes(self.take()?).into(),
            3 => u16::from_le_bytes(self.take()?).into(),
            4 => i32::from_le_bytes(self.take()?).into(),
            5 => u32::from_le_bytes(self.take()?).into(),
            6 => f32::from_le_bytes(self.take()?).into(),
            7 => f64::from_le_bytes(self.take()?),
            _ => return None,
        })
        .filter(|v| v.is_finite())
    }
}

struct Header {
    version: u32,
    data_type: u32,
    width: usize,
    height: usize,
    depth: usize,
    /// Side length of a micro-block.
    micro: usize,
    /// Bytes of the blob, and of its header.
    len: usize,
    head: usize,
    /// Maximum error of the encoding.
    error: f64,
    /// Largest sample.
    z_max: f64,
}

/// Contents after the header.
struct Payload<'a> {
    /// Largest value per sample of a pixel; empty if `z_max` applies.
    most: Vec<f64>,
    /// Whether the samples are stored uncompressed, without units.
    is_sweep: bool,
    bytes: &'a [u8],
}

impl Header {
    /// Reads the header of a blob without a mask whose checksum is valid.
    #[inline(always)]
    fn read(blob: &[u8]) -> Option<Self> {
        let mut rest = Rest(blob.strip_prefix(b"Lerc2 ")?);
        let version = rest.number().filter(|version| (3..=6).contains(version))?;
        let checksum = rest.number()?;
        let (height, width) = (rest.number()?, rest.number()?);
        let depth = if version >= 4 { rest.number()? } else { 1 };
        let valid = rest.number()?;
        let micro = rest.number().filter(|micro| (1..=32).contains(micro))?;
        let len = rest.number()? as usize;
        let data_type = rest.number()?;
        if version >= 6 {
            // Following blobs; whether a value marks missing samples of a pixel; three more bytes.
            let (following, [has_nodata, ..]) = (rest.number()?, rest.take::<4>()?);
            if has_nodata != 0 || i32::try_from(following).is_err() {
                return None;
            }
        }
        let (error, z_min, z_max) = (rest.real()?, rest.real()?, rest.real()?);
        if version >= 6 {
            let _ = (rest.real()?, rest.real()?);
        }
        let mask_len = rest.number()?;
        let head = blob.len() - rest.0.len();
        let pixels = width.checked_mul(height)?;
        let right = pixels > 0 && depth > 0 && valid == pixels && mask_len == 0;
        let right = right && i32::try_from(len).is_ok() && error >= 0.0 && z_min < z_max;
        if !right || fletcher(blob.get(14..len)?) != checksum {
            return None;
        }
        let (width, height, depth) = (width as usize, height as usize, depth as usize);
        Some(Self {
            version,
            data_type,
            width,
            height,
            depth,
            micro: micro as usize,
            len,
            head,
            error,
            z_max,
        })
    }

    /// Returns the samples of the blob, unless they are Huffman-coded.
    fn payload<'a>(&self, blob: &'a [u8]) -> Option<Payload<'a>> {
        let mut rest = Rest(blob.get(self.head..self.len)?);
        let mut most = Vec::new();
        if self.version >= 4 {
            // Each sample of a pixel takes at least two bytes of the blob.
            if self.depth > rest.0.len() {
                return None;
            }
            let mut range =
                || (0..self.depth).map(|_| rest.sample(self.data_type)).collect::<Option<Vec<f64>>>();
            let least = range()?;
            most = range()?;
            if least == most || least.iter().zip(&most).any(|(least, most)| least > most) {
                return None;
            }
        }
        let [sweep] = rest.take()?;
        let is_byte = self.data_type < 2;
        let has_codes = is_byte && (self.error - 0.5).abs() < 1e-5;
        let is_exact_float = self.version >= 6 && self.data_type >= 6 && self.error == 0.0;
        let is_sweep = sweep != 0;
        let has_mode = !is_sweep && (has_codes || is_exact_float);
        let mode = if has_mode { rest.take()? } else { [0] };
        (mode == [0]).then_some(Payload { most, is_sweep, bytes: rest.0 })
    }
}

/// Writes all samples, which must use all remaining bytes.
#[inline(always)]
fn decode_samples<T: Sample>(
    header: &Header,
    payload: Payload<'_>,
    out: &mut [T::Bytes],
    stop: &Stop,
) -> Option<()> {
    let row_len = header.width.checked_mul(header.depth)?;
    if row_len.checked_mul(header.height)? != out.len() {
        return None;
    }
    if payload.is_sweep {
        T::copy(payload.bytes, out);
        return (payload.bytes.len() == size_of_val(out)).then_some(());
    }
    let mut looks = Looks::new(stop);
    let mut done = 0;
    let mut rest = Rest(payload.bytes);
    let mut buffers = Buffers {
        numbers: [0; MOST],
        samples: [T::Bytes::default(); MOST],
        table: [T::Bytes::default(); MOST_ENTRIES],
    };
    for rows in out.chunks_mut(row_len.checked_mul(header.micro)?) {
        looks.after(done).ok()?;
        done += size_of_val(rows);
        let height = rows.len() / row_len;
        for x in (0..header.width).step_by(header.micro) {
            let width = header.micro.min(header.width - x);
            for sample in 0..header.depth {
                let most = payload.most.get(sample).copied().unwrap_or(header.z_max);
                let unit = buffers.unit::<T>(header, &mut rest, x, width * height, most)?;
                let first = x * header.depth + sample;
                place(unit, rows, Place { row_len, first, width, depth: header.depth });
            }
        }
    }
    rest.0.is_empty().then_some(())
}

/// Destination of a unit's samples in rows of samples.
struct Place {
    row_len: usize,
    /// Index of the first sample in its row.
    first: usize,
    width: usize,
    /// Distance between samples.
    depth: usize,
}

#[inline(always)]
fn place<B: Copy>(unit: &[B], rows: &mut [B], place: Place) {
    let rows = rows.chunks_exact_mut(place.row_len).zip(unit.chunks_exact(place.width));
    for (row, samples) in rows {
        let Some(row) = row.get_mut(place.first..) else { return };
        if place.depth > 1 {
            row.iter_mut().step_by(place.depth).zip(samples).for_each(|(to, &from)| *to = from);
        } else if let (Some(to), Some(from), 8) =
            (row.first_chunk_mut::<8>(), samples.first_chunk::<8>(), place.width)
        {
            // Micro-blocks are eight pixels wide, except at the edge and if an encoder chose larger ones.
            *to = *from;
        } else if let Some(to) = row.get_mut(..samples.len()) {
            to.copy_from_slice(samples);
        }
    }
}

/// Buffers for one unit.
struct Buffers<B> {
    numbers: [u32; MOST],
    samples: [B; MOST],
    table: [B; MOST_ENTRIES],
}

impl<B: Copy> Buffers<B> {
    /// Returns the `count` samples of the next unit, of a micro-block that begins in `column`.
    #[inline(always)]
    fn unit<T: Sample<Bytes = B>>(
        &mut self,
        header: &Header,
        rest: &mut Rest<'_>,
        column: usize,
        count: usize,
        most: f64,
    ) -> Option<&[B]> {
        let [head] = rest.take()?;
        // Since version 5 a bit says that differences from the previous sample are stored.
        let checked = if header.version >= 5 { 14 } else { 15 };
        let differs = header.version >= 5 && head & 4 != 0;
        if differs || (usize::from(head >> 2) ^ column >> 3) & checked != 0 {
            return None;
        }
        let samples = self.samples.get_mut(..count)?;
        match head & 3 {
            0 => {
                let stored = rest.skip(count * size_of::<B>())?;
                T::copy(stored, samples);
            }
            2 => samples.fill(T::of_real(0.0).bytes()),
            kind => {
                let offset = rest.sample(narrowed(header.data_type, head >> 6)?)?;
                if kind == 3 {
                    samples.fill(T::of_real(offset).bytes());
                    return Some(samples);
                }
                let scale = Scale { offset, step: 2.0 * header.error, most };
                let [how] = rest.take()?;
                let stated = match how >> 6 {
                    0 => rest.number()? as usize,
                    1 => u16::from_le_bytes(rest.take()?).into(),
                    2 => u8::from_le_bytes(rest.take()?).into(),
                    _ => return None,
                };
                let (bits, has_table) = (u32::from(how & 31), how & 32 != 0);
                let numbers = self.numbers.get_mut(..count)?;
                if stated != count {
                    return None;
                }
                if !has_table {
                    if bits == 0 {
                        samples.fill(T::of_real(offset).bytes());
                        return Some(samples);
                    }
                    unpack(rest.0, bits, numbers);
                    rest.skip(packed_len(bits, count))?;
                    scale.samples::<T>(bits, numbers, samples);
                    return Some(samples);
                }
                // Entries of the table including the offset, which comes first and is not stored.
                let entries = usize::from(u8::from_le_bytes(rest.take()?));
                let stored = entries.checked_sub(1)?;
                let [first, others @ ..] = &mut self.table;
                *first = T::of_real(offset).bytes();
                let entry_numbers = numbers_of_table(rest, bits, stored)?;
                scale.samples::<T>(bits, entry_numbers.get(..stored)?, others);
                let index_bits = usize::BITS - stored.leading_zeros();
                unpack(rest.0, index_bits, numbers);
                rest.skip(packed_len(index_bits, count))?;
                for (to, &number) in samples.iter_mut().zip(&*numbers) {
                    *to = *self.table.get(number as usize).filter(|_| (number as usize) < entries)?;
                }
            }
        }
        Some(samples)
    }
}

/// Returns the numbers of the entries of a table.
#[inline(always)]
fn numbers_of_table(rest: &mut Rest<'_>, bits: u32, count: usize) -> Option<[u32; MOST_ENTRIES]> {
    let mut numbers = [0; MOST_ENTRIES];
    unpack(rest.0, bits, numbers.get_mut(..count)?);
    rest.skip(packed_len(bits, count))?;
    Some(numbers)
}

/// Returns the type of a stored offset by two bits of the header of its unit.
#[inline(always)]
fn narrowed(data_type: u32, by: u8) -> Option<u32> {
    let by = u32::from(by);
    match data_type {
        2 | 4 => data_type.checked_sub(by),
        3 | 5 => data_type.checked_sub(2 * by),
        6 => Some(match by {
            0 => 6,
            1 => 2,
            _ => 1,
        }),
        7 if by > 0 => 8_u32.checked_sub(2 * by),
        _ => Some(data_type),
    }
}

#[cfg(test)]
mod tests;
