//! Encodes JPEG 2000 codestreams of 8- and 16-bit integers: one tile, one layer, code-blocks of 64 by 64.
//!
//! Lossless uses the 5/3 wavelet, and the reversible colour transform if the first three samples are RGB. Lossy uses
//! the 9/7 wavelet with steps that spread the error evenly, and the irreversible transform; quality is then the peak
//! signal-to-noise ratio in dB relative to the full range of the type, as in other writers. The stream is a bare
//! codestream, as TIFF requires.

use super::super::StoredBlock;
use super::super::image_shape::check_len;
use super::code_block;
use super::packets::{CodedBand, append_packet};
use super::wavelet;
use strile_codestream::jpeg2000::Band;
use strile_engine::{BlockFault, BlockLayout, EncodeLayout, EncodeParams};
use strile_tiff::{DataType, Photometric};

/// Maximum side: above it, a resolution has more than one precinct.
const LONGEST: u32 = 32_768;
/// Maximum number of components in a codestream.
const MOST_SAMPLES: u16 = 16_384;
const CODE_BLOCK: usize = 64;
/// Additional bit planes above a subband's range, for the colour transforms and the wavelets' overshoot.
const GUARD_BITS: u32 = 3;

/// Norms of the 9/7 wavelet's synthesis, low and high, per level from 1.
const NORMS: [(f32, f32); 5] = [
    (1.402_108, 0.721_261),
    (2.030_372, 0.983_471),
    (2.901_163, 1.441_962),
    (4.115_285, 2.073_76),
    (5.824_511, 2.947_325),
];
/// Maximum factor from noise in the three colour components to noise in red, green and blue.
const COLOUR_NORM: f32 = 1.805;

/// Checks the layout.
pub(in super::super) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    let (block, quality) = (&layout.block, layout.params.quality);
    let is_whole = u64::from(block.sample.bits) == 8 * block.data_type.size() as u64;
    if depth(block).is_none() || !is_whole {
        return Err(format!(
            "jpeg2000 stores integers of 8 or 16 bits, not {}; use lerc, deflate or zstd",
            block.sample
        ));
    }
    if block.width > LONGEST || block.height > LONGEST {
        return Err(format!(
            "blocks of {} × {} pixels are too large for jpeg2000: at most {LONGEST} a side; use tiles",
            block.width, block.height
        ));
    }
    if block.samples > MOST_SAMPLES {
        return Err(format!("jpeg2000 stores at most {MOST_SAMPLES} samples, not {}", block.samples));
    }
    if !layout.params.lossless && !(1..=100).contains(&quality) {
        return Err(format!("jpeg2000 has qualities from 1 to 100 dB, not {quality}"));
    }
    Ok(layout)
}

/// Returns the maximum bytes of a block of `rows` rows: every plane of every coefficient with its sign, times two.
pub(in super::super) fn bound(layout: &EncodeLayout, rows: u32) -> u64 {
    let block = &layout.block;
    let Some(stream) = Stream::of(StoredBlock { layout: block, rows }, &layout.params) else {
        return u64::MAX;
    };
    let planes = stream.steps.iter().map(|step| u64::from(step.planes())).max().unwrap_or(0);
    let coefficients = u64::from(block.width) * u64::from(rows) * u64::from(block.samples);
    (coefficients.saturating_mul(planes + 2) / 4).saturating_add(1024 + 512 * u64::from(block.samples))
}

/// Returns the bits of a sample and whether it is signed; `None` if unsupported.
fn depth(layout: &BlockLayout) -> Option<(u32, bool)> {
    match layout.data_type {
        DataType::U8 => Some((8, false)),
        DataType::I8 => Some((8, true)),
        DataType::U16 => Some((16, false)),
        DataType::I16 => Some((16, true)),
        _ => None,
    }
}

/// Appends the codestream of a block.
pub(in super::super) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
) -> Result<(), BlockFault> {
    check_len(src, block)?;
    let unsupported = || BlockFault::unsupported(format!("JPEG 2000 of {}", block.layout.sample));
    let stream = Stream::of(block, params).ok_or_else(unsupported)?;
    let mut planes = planes(src, block.layout);
    if !stream.signed {
        let half = 1 << (stream.bits - 1);
        planes.iter_mut().flatten().for_each(|value| *value -= half);
    }
    let components: Vec<Vec<Vec<CodedBand>>> = if params.lossless {
        if let (true, [red, green, blue, ..]) = (stream.with_colours, planes.as_mut_slice()) {
            reversible_colours(red, green, blue);
        }
        let code = |plane: &mut Vec<i32>| {
            wavelet::reversible(plane, stream.width, stream.levels);
            stream.code(plane, |value, _| *value)
        };
        planes.iter_mut().map(code).collect()
    } else {
        let mut planes: Vec<Vec<f32>> = planes.iter().map(|plane| floats(plane)).collect();
        if let (true, [red, green, blue, ..]) = (stream.with_colours, planes.as_mut_slice()) {
            irreversible_colours(red, green, blue);
        }
        let code = |plane: &mut Vec<f32>| {
            wavelet::irreversible(plane, stream.width, stream.levels);
            stream.code(plane, |value, step| quantised(*value, step.size))
        };
        planes.iter_mut().map(code).collect()
    };
    stream.write_headers(dst, block.layout.samples);
    let start = dst.len();
    // SOT: the only part of the only tile, with its length written later; SOD.
    dst.extend([0xFF, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0x93]);
    for resolution in 0..=stream.levels as usize {
        for bands in components.iter().filter_map(|component| component.get(resolution)) {
            append_packet(dst, bands);
        }
    }
    let len = u32::try_from(dst.len() - start)
        .map_err(|_| BlockFault::unsupported("JPEG 2000 of more than 4 GiB"))?;
    if let Some(field) = dst.get_mut(start + 6..start + 10) {
        field.copy_from_slice(&len.to_be_bytes());
    }
    dst.extend([0xFF, 0xD9]);
    Ok(())
}

/// Splits the interleaved samples into planes.
fn planes(src: &[u8], layout: &BlockLayout) -> Vec<Vec<i32>> {
    let samples = usize::from(layout.samples);
    let plane = |c: usize| -> Vec<i32> {
        let bytes = || src.iter().skip(c).step_by(samples);
        let pairs = || src.as_chunks::<2>().0.iter().skip(c).step_by(samples);
        match layout.data_type {
            DataType::U8 => bytes().map(|&value| i32::from(value)).collect(),
            DataType::I8 => bytes().map(|&value| i32::from(value.cast_signed())).collect(),
            DataType::U16 => pairs().map(|&value| i32::from(u16::from_ne_bytes(value))).collect(),
            _ => pairs().map(|&value| i32::from(i16::from_ne_bytes(value))).collect(),
        }
    };
    (0..samples).map(plane).collect()
}

fn floats(plane: &[i32]) -> Vec<f32> {
    plane.iter().map(|&value| value as f32).collect()
}

/// Quantises towards 0: the middle bin is twice as wide (E.2).
#[expect(clippy::cast_possible_truncation, reason = "fewer planes than 31; floats saturate")]
fn quantised(value: f32, step: f32) -> i32 {
    (value / step) as i32
}

/// Reversible colour transform (G.2).
fn reversible_colours(red: &mut [i32], green: &mut [i32], blue: &mut [i32]) {
    for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
        let (r, g, b) = (*red, *green, *blue);
        (*red, *green, *blue) = ((r + 2 * g + b) >> 2, b - g, r - g);
    }
}

/// Irreversible colour transform (G.3).
fn irreversible_colours(red: &mut [f32], green: &mut [f32], blue: &mut [f32]) {
    for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
        let (r, g, b) = (*red, *green, *blue);
        *red = 0.299 * r + 0.587 * g + 0.114 * b;
        *green = -0.168_736 * r - 0.331_264 * g + 0.5 * b;
        *blue = 0.5 * r - 0.418_688 * g - 0.081_312 * b;
    }
}

/// Quantisation of a subband (E.1).
struct Step {
    exponent: u32,
    mantissa: u32,
    size: f32,
}

impl Step {
    /// Returns the step of integers of `range` bits.
    fn reversible(range: u32) -> Self {
        Self { exponent: range, mantissa: 0, size: 1.0 }
    }

    /// Returns the representable step nearest to `size` for a range of `range` bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the fields")]
    fn irreversible(size: f32, range: u32) -> Self {
        let log = size.log2().floor().clamp(-20.0, 30.0) as i32;
        let exponent = (range.cast_signed() - log).clamp(0, 31);
        let base = ((range.cast_signed() - exponent) as f32).exp2();
        let mantissa = ((size / base - 1.0) * 2048.0).clamp(0.0, 2047.0) as u32;
        Self { exponent: exponent.unsigned_abs(), mantissa, size: base * (1.0 + mantissa as f32 / 2048.0) }
    }

    fn planes(&self) -> u32 {
        GUARD_BITS + self.exponent - 1
    }
}

/// Contents of a codestream.
struct Stream {
    width: usize,
    height: usize,
    bits: u32,
    signed: bool,
    lossless: bool,
    with_colours: bool,
    levels: u32,
    /// One step per subband: the lowest, then HL, LH and HH of each level from the last to the first.
    steps: Vec<Step>,
}

impl Stream {
    fn of(block: StoredBlock<'_>, params: &EncodeParams) -> Option<Self> {
        let layout = block.layout;
        let (bits, signed) = depth(layout)?;
        let (width, height) = (usize::try_from(layout.width).ok()?, usize::try_from(block.rows).ok()?);
        let levels = wavelet::levels(width, height);
        let with_colours = layout.extras.photometric == Photometric::Rgb && layout.samples >= 3;
        let peak = ((1_u32 << bits) - 1) as f32;
        // Uniform noise in steps of d has a deviation of d / 3.46; the wider middle bin and rounding increase it.
        let size = 2.0 * peak / 10_f32.powf(f32::from(params.quality) / 20.0);
        let size = if with_colours { size / COLOUR_NORM } else { size };
        let step = |level: u32, high: [bool; 2]| {
            let range = bits + high.iter().map(|&high| u32::from(high)).sum::<u32>();
            if params.lossless {
                return Step::reversible(range);
            }
            let (low_norm, high_norm) = match level {
                0 => (1.0, 1.0),
                level => NORMS.get(level as usize - 1).copied().unwrap_or((1.0, 1.0)),
            };
            let norm: f32 = high.iter().map(|&high| if high { high_norm } else { low_norm }).product();
            Step::irreversible(size / norm, range)
        };
        let mut steps = vec![step(levels, [false, false])];
        for level in (1..=levels).rev() {
            steps.extend([[true, false], [false, true], [true, true]].map(|high| step(level, high)));
        }
        Some(Self { width, height, bits, signed, lossless: params.lossless, with_colours, levels, steps })
    }

    /// Writes SOC, SIZ, COD and QCD (annex A).
    fn write_headers(&self, dst: &mut Vec<u8>, samples: u16) {
        let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX).to_be_bytes();
        dst.extend([0xFF, 0x4F, 0xFF, 0x51]);
        dst.extend((38 + 3 * samples).to_be_bytes());
        dst.extend([0, 0]);
        // The image and its only tile begin at 0.
        for _ in 0..2 {
            dst.extend(side(self.width));
            dst.extend(side(self.height));
            dst.extend([0; 8]);
        }
        dst.extend(samples.to_be_bytes());
        let depth = if self.bits == 8 { 7 } else { 15 } | if self.signed { 0x80 } else { 0 };
        (0..samples).for_each(|_| dst.extend([depth, 1, 1]));
        let levels = u8::try_from(self.levels).unwrap_or(0);
        // Progression: layer, resolution, component; one layer; blocks of 2^(4 + 2) per side; 9/7 is 0, 5/3 is 1.
        dst.extend([0xFF, 0x52, 0, 12, 0, 0, 0, 1, u8::from(self.with_colours), levels, 4, 4, 0]);
        dst.push(u8::from(self.lossless));
        let len_of_steps = if self.lossless { 1 } else { 2 } * (1 + 3 * levels);
        let guard = u8::try_from(GUARD_BITS << 5).unwrap_or(0);
        dst.extend([0xFF, 0x5C, 0, 3 + len_of_steps, guard | if self.lossless { 0 } else { 2 }]);
        for step in &self.steps {
            let [low, high, ..] = (step.exponent << 11 | step.mantissa).to_le_bytes();
            if self.lossless {
                // Five bits of exponent, three unused.
                dst.push(high);
            } else {
                dst.extend([high, low]);
            }
        }
    }

    /// Returns the coded subbands of a transformed plane, resolution by resolution.
    fn code<T>(&self, plane: &[T], value: impl Fn(&T, &Step) -> i32) -> Vec<Vec<CodedBand>> {
        let mut steps = self.steps.iter();
        let mut band = |kind: Band, (x, y): (usize, usize), (width, height): (usize, usize)| {
            let step = steps.next()?;
            let mut blocks = Vec::new();
            for top in (y..y + height).step_by(CODE_BLOCK) {
                for left in (x..x + width).step_by(CODE_BLOCK) {
                    let (right, bottom) =
                        ((left + CODE_BLOCK).min(x + width), (top + CODE_BLOCK).min(y + height));
                    let mut coefficients = Vec::with_capacity(CODE_BLOCK * CODE_BLOCK);
                    for row in plane.chunks_exact(self.width).take(bottom).skip(top) {
                        let row = row.get(left..right).unwrap_or_default();
                        coefficients.extend(row.iter().map(|sample| value(sample, step)));
                    }
                    blocks.push(code_block::encode(&coefficients, right - left, kind));
                }
            }
            Some(CodedBand { across: width.div_ceil(CODE_BLOCK), planes: step.planes(), blocks })
        };
        // Low-band sizes from the full one to the smallest.
        let half = |(width, height): &(usize, usize)| Some((width.div_ceil(2), height.div_ceil(2)));
        let sides: Vec<(usize, usize)> = std::iter::successors(Some((self.width, self.height)), half)
            .take(self.levels as usize + 1)
            .collect();
        let mut resolutions: Vec<Vec<CodedBand>> = Vec::new();
        let lowest = sides.last().copied().unwrap_or_default();
        resolutions.push(band(Band::Ll, (0, 0), lowest).into_iter().collect());
        for pair in sides.windows(2).rev() {
            let &[(width, height), (across, down)] = pair else { continue };
            let bands = [
                band(Band::Hl, (across, 0), (width - across, down)),
                band(Band::Lh, (0, down), (across, height - down)),
                band(Band::Hh, (across, down), (width - across, height - down)),
            ];
            resolutions.push(bands.into_iter().flatten().collect());
        }
        resolutions
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
    use super::super::super::testing::{decode_rows, encode_rows, layout, params, prepared};
    use super::*;
    use strile_tiff::{Compression, SampleFormat, SampleType};

    fn typed(size: (u32, u32), samples: u16, sample: (SampleFormat, u16), colours: bool) -> BlockLayout {
        let sample = SampleType { format: sample.0, bits: sample.1 };
        let mut layout = layout(Compression::Jpeg2000, size, (samples, 8));
        layout.extras.photometric = if colours { Photometric::Rgb } else { Photometric::MinIsBlack };
        BlockLayout { sample, data_type: sample.data_type().unwrap(), ..layout }
    }

    /// Returns slopes, an edge and some noise over the full range of a type.
    fn picture(layout: &BlockLayout, rows: u32) -> Vec<u8> {
        let mut state = 7_u32;
        let mut out = Vec::new();
        for y in 0..rows {
            for x in 0..layout.width {
                for c in 0..u32::from(layout.samples) {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let edge = if x > y + 9 { 90 } else { 0 };
                    let value = (x * 2 + y + c * 37 + edge) << 8 | state >> 22;
                    match layout.data_type.size() {
                        1 => out.push((value >> 8) as u8),
                        _ => out.extend((value as u16).to_ne_bytes()),
                    }
                }
            }
        }
        out
    }

    #[test]
    fn lossless_keeps_everything() {
        use SampleFormat as F;
        for size in [(1, 1), (1, 9), (2, 2), (3, 70), (64, 64), (65, 130), (200, 33)] {
            for sample in [(F::Uint, 8), (F::Int, 8), (F::Uint, 16), (F::Int, 16)] {
                for (samples, colours) in [(1, false), (2, false), (3, true), (4, true), (5, false)] {
                    let block = typed(size, samples, sample, colours);
                    let layout = prepared(block, params()).unwrap();
                    for rows in [size.1, 1] {
                        let src = picture(&layout.block, rows);
                        let stream = encode_rows(&src, &layout, rows).unwrap();
                        assert!(stream.len() as u64 <= bound(&layout, rows), "{size:?} {sample:?}");
                        let found = decode_rows(&stream, &layout.block, rows).unwrap();
                        assert!(found == src, "{size:?} {rows} {sample:?} {samples} {colours}");
                    }
                }
            }
        }
    }

    #[test]
    fn extremes_come_back_and_stay_below_the_bound() {
        for bits in [8, 16] {
            let block = typed((70, 70), 3, (SampleFormat::Uint, bits), true);
            let mut state = 1_u32;
            let noise: Vec<u8> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                [if state >> 31 == 0 { 0 } else { 255 }; 2]
            })
            .flat_map(|pair| pair.into_iter().take(usize::from(bits) / 8))
            .take(70 * 70 * 3 * usize::from(bits) / 8)
            .collect();
            let layout = prepared(block.clone(), params()).unwrap();
            let stream = encode_rows(&noise, &layout, 70).unwrap();
            assert!(decode_rows(&stream, &layout.block, 70).unwrap() == noise);
            assert!(stream.len() as u64 <= bound(&layout, 70));
            for quality in [1, 60, 100] {
                let layout =
                    prepared(block.clone(), EncodeParams { lossless: false, quality, ..params() }).unwrap();
                let stream = encode_rows(&noise, &layout, 70).unwrap();
                assert!(stream.len() as u64 <= bound(&layout, 70), "{quality}");
                decode_rows(&stream, &layout.block, 70).unwrap();
            }
        }
    }

    #[test]
    fn lossy_has_the_quality_asked_for() {
        for (samples, colours, bits) in [(1, false, 8), (3, true, 8), (1, false, 16), (3, true, 16)] {
            let block = typed((150, 100), samples, (SampleFormat::Uint, bits), colours);
            let mut last = usize::MAX;
            for quality in [50, 40, 30] {
                let params = EncodeParams { lossless: false, quality, ..params() };
                let layout = prepared(block.clone(), params).unwrap();
                let src = picture(&layout.block, 100);
                let stream = encode_rows(&src, &layout, 100).unwrap();
                assert!(stream.len() < last);
                last = stream.len();
                let found = decode_rows(&stream, &layout.block, 100).unwrap();
                let value = |bytes: &[u8], at: usize| match bits {
                    8 => f64::from(bytes[at]),
                    _ => f64::from(u16::from_ne_bytes([bytes[2 * at], bytes[2 * at + 1]])),
                };
                let count = 150 * 100 * usize::from(samples);
                let squares: f64 = (0..count).map(|at| (value(&found, at) - value(&src, at)).powi(2)).sum();
                let peak = f64::from((1_u32 << bits) - 1);
                let ratio = 10.0 * (peak * peak * count as f64 / squares).log10();
                assert!(
                    ratio >= f64::from(quality) - 1.0,
                    "{samples} of {bits}: {ratio} dB, {quality} asked"
                );
                assert!(
                    ratio <= f64::from(quality) + 12.0,
                    "{samples} of {bits}: {ratio} dB, {quality} asked"
                );
            }
        }
    }

    #[test]
    fn says_why_it_refuses() {
        let refusal = |block| prepared(block, params()).unwrap_err();
        assert!(refusal(typed((8, 8), 1, (SampleFormat::Float, 32), false)).contains("not 32-bit float"));
        assert!(refusal(typed((8, 8), 1, (SampleFormat::Uint, 12), false)).contains("not 12-bit unsigned"));
        assert!(refusal(typed((40_000, 8), 1, (SampleFormat::Uint, 8), false)).contains("at most 32768"));
    }
}
