//! Baseline JPEG of 8-bit samples by Technical Note 2: tables once per file, abbreviated blocks.
//!
//! Encodes one, three or four components unchanged, all with the luma tables; or RGB converted to YCbCr by BT.601 with
//! the subsampling of the layout. Streams are like libtiff's: no JFIF or Adobe segment, since the photometric tag alone
//! defines the components.

use super::bits::BitWriter;
use super::tables::{divisors, jpeg_tables};
use super::transform::Quantiser;
use crate::codec::StoredBlock;
use crate::codec::image_shape::check_len;
use std::sync::Arc;
use strile_engine::{BlockFault, BlockLayout, EncodeLayout, EncodeParams};
use strile_tiff::{DataType, YCbCr};

/// Longest side that a frame header can state.
const LONGEST: u32 = 65_535;

/// Bytes to which a padded sample can grow. A block of 64 samples has an energy of at most 2^20, so at most 16 of its
/// coefficients need a code and bits of 26 together, the others 18: 160 bytes; stuffing adds two fifths.
const MOST_BYTES_A_SAMPLE: u64 = 4;

/// Checks the layout and adds the tables of its quality.
pub(in crate::codec) fn prepare(mut layout: EncodeLayout) -> Result<EncodeLayout, String> {
    let block = &layout.block;
    let quality = layout.params.quality;
    if !(1..=100).contains(&quality) {
        return Err(format!("jpeg has qualities from 1 to 100, not {quality}"));
    }
    if block.data_type != DataType::U8 || block.sample.bits != 8 {
        return Err(format!(
            "jpeg cannot store this type of samples: expected 8-bit unsigned integer, got {}; use jpeg2000 (integers), \
             lerc or a lossless compression",
            block.sample
        ));
    }
    if block.width > LONGEST || block.height > LONGEST {
        return Err(format!(
            "blocks of {} × {} pixels are too large for jpeg: at most {LONGEST} a side; use tiles",
            block.width, block.height
        ));
    }
    Frame::of(block)?;
    let tables = jpeg_tables(quality, block.extras.ycbcr.is_some());
    let mut block = BlockLayout::clone(block);
    block.extras.jpeg_tables = Some(tables.into());
    layout.block = Arc::new(block);
    Ok(layout)
}

/// Returns the maximum bytes of a block of `rows` rows.
pub(in crate::codec) fn bound(layout: &EncodeLayout, rows: u32) -> u64 {
    let block = &layout.block;
    let (h, v) = block.extras.ycbcr.map_or((1, 1), |ycbcr| ycbcr.subsampling);
    let padded = |side: u32, factor: u8| u64::from(side).next_multiple_of(8 * u64::from(factor.max(1)));
    padded(block.width, h)
        .saturating_mul(padded(rows, v))
        .saturating_mul(u64::from(block.samples) * MOST_BYTES_A_SAMPLE)
        .saturating_add(64)
}

/// Appends the stream of a block.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    let frame = Frame::of(layout).map_err(BlockFault::unsupported)?;
    check_len(src, block)?;
    let (Ok(width), Ok(height)) = (u16::try_from(layout.width), u16::try_from(block.rows)) else {
        return Err(BlockFault::unsupported("JPEG blocks of more than 65535 pixels a side"));
    };
    frame.write_headers(dst, width, height);
    let quantisers = divisors(params.quality).map(|divisors| Quantiser::new(&divisors));
    let (h, v) = frame.subsampling;
    let mut rows = Rows::new(&frame, usize::from(width));
    let units = usize::from(width).div_ceil(8 * h);
    let mut previous = [0; 4];
    let mut bits = BitWriter::new(dst);
    let row_len = usize::from(width) * frame.components;
    let last = usize::from(height).saturating_sub(1);
    for top in (0..usize::from(height)).step_by(8 * v) {
        for y in 0..8 * v {
            let at = (top + y).min(last) * row_len;
            rows.fill(y, src.get(at..at + row_len).unwrap_or_default());
        }
        rows.subsample();
        for unit in 0..units {
            for (index, (plane, previous)) in rows.planes.iter().zip(&mut previous).enumerate() {
                let (table, quantiser) = match (&quantisers, frame.is_ycbcr && index > 0) {
                    ([luma, _], false) => (0, luma),
                    ([_, chroma], true) => (1, chroma),
                };
                let (across, down) = if frame.is_ycbcr && index == 0 { (h, v) } else { (1, 1) };
                for y in 0..down {
                    for x in 0..across {
                        let block = plane.block(8 * (unit * across + x), 8 * y);
                        let coefficients = quantiser.transform(block);
                        bits.block(&coefficients, *previous, table);
                        *previous = coefficients[0];
                    }
                }
            }
        }
    }
    bits.finish();
    dst.extend([0xFF, 0xD9]);
    Ok(())
}

/// Contents of a stream.
struct Frame {
    components: usize,
    is_ycbcr: bool,
    /// Luma samples across and down per chroma sample.
    subsampling: (usize, usize),
}

impl Frame {
    fn of(layout: &BlockLayout) -> Result<Self, String> {
        let components = usize::from(layout.samples);
        let Some(ycbcr) = layout.extras.ycbcr else {
            return match components {
                1 | 3 | 4 => Ok(Self { components, is_ycbcr: false, subsampling: (1, 1) }),
                _ => Err(format!(
                    "jpeg stores 1, 3 or 4 interleaved samples, not {components}; use interleave band"
                )),
            };
        };
        if components != 3 {
            return Err(format!("photometric ycbcr has 3 samples, not {components}; use rgb or minisblack"));
        }
        let subsampling = match ycbcr.subsampling {
            (1, 1) => (1, 1),
            (2, 1) => (2, 1),
            (2, 2) => (2, 2),
            (h, v) => {
                return Err(format!("chroma subsampling {h}, {v} is not written; use 1,1, 2,1 or 2,2"));
            }
        };
        // JPEG readers convert by BT.601 whatever the tags say.
        let standard = YCbCr { subsampling: ycbcr.subsampling, ..YCbCr::default() };
        if ycbcr != standard {
            return Err("jpeg has the YCbCr of BT.601 alone; leave YCbCrCoefficients and \
                        ReferenceBlackWhite at their defaults"
                .to_owned());
        }
        Ok(Self { components, is_ycbcr: true, subsampling })
    }

    /// Writes SOI, SOF0 and SOS. Components are numbered from 1 in YCbCr, otherwise from 0, as in libjpeg.
    fn write_headers(&self, dst: &mut Vec<u8>, width: u16, height: u16) {
        let count = match self.components {
            1 => 1,
            3 => 3,
            _ => 4_u8,
        };
        let first = u8::from(self.is_ycbcr);
        dst.extend([0xFF, 0xD8, 0xFF, 0xC0, 0, 8 + 3 * count, 8]);
        dst.extend(height.to_be_bytes());
        dst.extend(width.to_be_bytes());
        dst.push(count);
        for index in 0..count {
            let factors = match (self.is_ycbcr && index == 0, self.subsampling) {
                (true, (2, 2)) => 0x22,
                (true, (2, _)) => 0x21,
                _ => 0x11,
            };
            dst.extend([first + index, factors, u8::from(self.is_ycbcr && index > 0)]);
        }
        dst.extend([0xFF, 0xDA, 0, 6 + 2 * count, count]);
        for index in 0..count {
            dst.extend([first + index, if self.is_ycbcr && index > 0 { 0x11 } else { 0 }]);
        }
        dst.extend([0, 63, 0]);
    }
}

/// One component of a row of data units.
struct Plane {
    samples: Vec<u8>,
    stride: usize,
}

impl Plane {
    fn new(stride: usize, rows: usize) -> Self {
        Self { samples: vec![0; stride * rows], stride }
    }

    fn row_mut(&mut self, y: usize) -> &mut [u8] {
        self.samples.get_mut(y * self.stride..(y + 1) * self.stride).unwrap_or_default()
    }

    /// Returns the samples of 8 by 8 pixels, minus 128.
    fn block(&self, x: usize, y: usize) -> [[f32; 8]; 8] {
        let mut block = [[0.0; 8]; 8];
        let rows = self.samples.get(y * self.stride..).unwrap_or_default().chunks_exact(self.stride);
        for (out, row) in block.iter_mut().zip(rows) {
            if let Some(samples) = row.get(x..).and_then(|row| row.first_chunk::<8>()) {
                *out = samples.map(|sample| f32::from(sample) - 128.0);
            }
        }
        block
    }
}

/// Components of a row of data units, padded by repeating the last pixels.
struct Rows {
    planes: Vec<Plane>,
    /// Chroma before subsampling, if subsampled.
    full: Vec<Plane>,
    is_ycbcr: bool,
    subsampling: (usize, usize),
}

impl Rows {
    fn new(frame: &Frame, width: usize) -> Self {
        let (h, v) = frame.subsampling;
        let (stride, rows) = (width.next_multiple_of(8 * h), 8 * v);
        let is_subsampled = frame.subsampling != (1, 1);
        let planes = (0..frame.components).map(|c| {
            if is_subsampled && c > 0 { Plane::new(stride / h, 8) } else { Plane::new(stride, rows) }
        });
        let full = (0..if is_subsampled { 2 } else { 0 }).map(|_| Plane::new(stride, rows));
        Self {
            planes: planes.collect(),
            full: full.collect(),
            is_ycbcr: frame.is_ycbcr,
            subsampling: frame.subsampling,
        }
    }

    /// Splits the interleaved samples of row `y` into components.
    fn fill(&mut self, y: usize, src: &[u8]) {
        let width = src.len() / self.planes.len().max(1);
        match (self.planes.as_mut_slice(), self.full.as_mut_slice()) {
            ([luma, _, _], [cb, cr]) => to_ycbcr(src, [luma.row_mut(y), cb.row_mut(y), cr.row_mut(y)]),
            ([a, b, c], _) if self.is_ycbcr => to_ycbcr(src, [a.row_mut(y), b.row_mut(y), c.row_mut(y)]),
            ([only], _) => only.row_mut(y).iter_mut().zip(src).for_each(|(out, &sample)| *out = sample),
            ([a, b, c], _) => split(src, [a.row_mut(y), b.row_mut(y), c.row_mut(y)]),
            ([a, b, c, d], _) => split(src, [a.row_mut(y), b.row_mut(y), c.row_mut(y), d.row_mut(y)]),
            _ => {}
        }
        // Subsampled chroma is computed from rows that are already padded.
        let direct = if self.full.is_empty() { self.planes.len() } else { 1 };
        for plane in self.planes.iter_mut().take(direct).chain(&mut self.full) {
            if let Some((kept, padding)) = plane.row_mut(y).split_at_mut_checked(width) {
                padding.fill(kept.last().copied().unwrap_or_default());
            }
        }
    }

    /// Averages 2 by 2 or 2 by 1 pixels, rounding halves up and down in turn, as libjpeg does.
    fn subsample(&mut self) {
        for (plane, full) in self.planes.iter_mut().skip(1).zip(&self.full) {
            let rows = full.samples.chunks_exact(full.stride * self.subsampling.1);
            for (out, rows) in plane.samples.chunks_exact_mut(plane.stride).zip(rows) {
                let (upper, lower) = rows.split_at(full.stride.min(rows.len()));
                let (upper, lower) = (upper.as_chunks::<2>().0, lower.as_chunks::<2>().0);
                if lower.is_empty() {
                    for ((out, &[a, b]), bias) in out.iter_mut().zip(upper).zip([0, 1].into_iter().cycle()) {
                        *out = mean([a, b], bias, 1);
                    }
                } else {
                    let biased = upper.iter().zip(lower).zip([1, 2].into_iter().cycle());
                    for (out, ((&[a, b], &[c, d]), bias)) in out.iter_mut().zip(biased) {
                        *out = mean([a, b, c, d], bias, 2);
                    }
                }
            }
        }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the mean of bytes is a byte")]
fn mean<const N: usize>(samples: [u8; N], bias: u16, shift: u32) -> u8 {
    ((samples.into_iter().map(u16::from).sum::<u16>() + bias) >> shift) as u8
}

fn split<const N: usize>(src: &[u8], out: [&mut [u8]; N]) {
    for (index, out) in out.into_iter().enumerate() {
        for (out, pixel) in out.iter_mut().zip(src.as_chunks::<N>().0) {
            *out = pixel.get(index).copied().unwrap_or_default();
        }
    }
}

/// Converts to YCbCr by BT.601 in units of 2^-16, as libjpeg does.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sums of bytes by shares of 1")]
fn to_ycbcr(src: &[u8], [luma, cb, cr]: [&mut [u8]; 3]) {
    const HALF: i32 = 1 << 15;
    const CENTRE: i32 = (128 << 16) + HALF - 1;
    let out = luma.iter_mut().zip(cb).zip(cr);
    for (((luma, cb), cr), &pixel) in out.zip(src.as_chunks::<3>().0) {
        let [r, g, b] = pixel.map(i32::from);
        *luma = ((19_595 * r + 38_470 * g + 7_471 * b + HALF) >> 16) as u8;
        *cb = ((-11_059 * r - 21_709 * g + 32_768 * b + CENTRE) >> 16) as u8;
        *cr = ((32_768 * r - 27_439 * g - 5_329 * b + CENTRE) >> 16) as u8;
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers made here")]
mod tests {
    use super::*;
    use crate::codec::testing::{decode_rows, encode_rows, layout, params, prepared};
    use strile_engine::EncodeLayout;
    use strile_tiff::Compression;

    /// Returns slopes with a gentle wave in every sample.
    fn picture(width: u32, rows: u32, samples: u32) -> Vec<u8> {
        let sample = |x: u32, y: u32, c: u32| {
            let wave = ((x + 3 * c) as f32 / 9.0).sin() * 20.0 + (y as f32 / 7.0).cos() * 20.0;
            (128.0 + wave + (x as f32 - y as f32) * (c as f32 - 1.0) * 0.5).clamp(0.0, 255.0) as u8
        };
        (0..rows)
            .flat_map(|y| (0..width).flat_map(move |x| (0..samples).map(move |c| sample(x, y, c))))
            .collect()
    }

    fn encoder(size: (u32, u32), samples: u16, subsampling: Option<(u8, u8)>, quality: u8) -> EncodeLayout {
        let mut block = layout(Compression::Jpeg, size, (samples, 8));
        block.extras.ycbcr = subsampling.map(|subsampling| YCbCr { subsampling, ..YCbCr::default() });
        prepared(block, EncodeParams { quality, ..params() }).unwrap()
    }

    fn worst(found: &[u8], expected: &[u8]) -> u8 {
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).map(|(a, b)| a.abs_diff(*b)).max().unwrap()
    }

    #[test]
    fn blocks_of_every_shape_come_back() {
        for (width, rows) in [(1, 1), (7, 3), (8, 8), (16, 16), (17, 33), (40, 24)] {
            for (samples, subsampling, most) in [
                (1, None, 3),
                (3, None, 3),
                (4, None, 3),
                (3, Some((1, 1)), 5),
                (3, Some((2, 1)), 10),
                (3, Some((2, 2)), 14),
            ] {
                let layout = encoder((width, 40), samples, subsampling, 97);
                let src = picture(width, rows, u32::from(samples));
                let stream = encode_rows(&src, &layout, rows).unwrap();
                let found = decode_rows(&stream, &layout.block, rows).unwrap();
                let worst = worst(&found, &src);
                assert!(worst <= most, "{width} × {rows} × {samples} {subsampling:?}: {worst}");
                assert!(stream.len() as u64 <= bound(&layout, rows));
            }
        }
    }

    #[test]
    fn noise_stays_below_the_bound() {
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { 0 } else { 255 }
        })
        .take(64 * 64 * 3)
        .collect();
        for subsampling in [None, Some((2, 2))] {
            let layout = encoder((64, 64), 3, subsampling, 100);
            let len = encode_rows(&noise, &layout, 64).unwrap().len() as u64;
            assert!(len <= bound(&layout, 64), "{len}");
        }
        let layout = encoder((64, 64), 3, None, 100);
        let stream = encode_rows(&noise, &layout, 64).unwrap();
        assert!(worst(&decode_rows(&stream, &layout.block, 64).unwrap(), &noise) <= 3);
    }

    #[test]
    fn blocks_have_no_tables_and_lower_quality_is_smaller() {
        let src = picture(64, 64, 3);
        let lens = [10, 50, 75, 95].map(|quality| {
            let layout = encoder((64, 64), 3, Some((2, 2)), quality);
            let stream = encode_rows(&src, &layout, 64).unwrap();
            assert!(!stream.windows(2).any(|pair| matches!(pair, [0xFF, 0xDB | 0xC4])));
            stream.len()
        });
        assert!(lens.is_sorted(), "{lens:?}");
    }

    #[test]
    fn says_why_it_refuses() {
        let refusal = |samples, bits, quality| {
            let block = layout(Compression::Jpeg, (16, 16), (samples, bits));
            prepared(block, EncodeParams { quality, ..params() }).unwrap_err()
        };
        assert!(refusal(1, 12, 75).contains("expected 8-bit unsigned integer, got 12-bit"));
        assert!(refusal(2, 8, 75).contains("1, 3 or 4 interleaved samples, not 2"));
        assert!(refusal(1, 8, 0).contains("from 1 to 100, not 0"));
        let wide = layout(Compression::Jpeg, (70_000, 16), (1, 8));
        assert!(prepared(wide, params()).unwrap_err().contains("at most 65535 a side"));
        let short = encode_rows(&[0; 5], &encoder((16, 16), 1, None, 75), 16).unwrap_err();
        assert_eq!((short.found, short.expected), (5, 256));
    }
}
