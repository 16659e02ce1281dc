//! Tests with code-blocks of OpenJPH, some with refinement passes of random bytes, against the results of OpenJPEG 2.5;
//! and with damaged ones.

use super::super::super::byte_testing::Random;
use super::bits::Packed;
use super::cleanup::{Magnitudes, PAIR, Quad};
use super::codes::OTHER_ROWS;
use super::{Space, decode, wide};
use strile_codestream::jpeg2000::{Band, CodeBlock, Segment, Style};

/// For each code-block: width, height, bit planes of the band, coded planes, passes, lengths of both segments and
/// whether it is causal, as u32; the bytes; OpenJPEG's half-units as i32.
const BLOCKS: &[u8] = include_bytes!("../../../../tests/data/ht_code_blocks.bin");

struct Case {
    block: CodeBlock,
    segments: Vec<Segment>,
    style: Style,
    bytes: Vec<u8>,
    expected: Vec<i32>,
}

impl Case {
    fn decode(&self) -> Result<Vec<i32>, strile_engine::BlockFault> {
        let mut out = vec![0; usize::from(self.block.width) * usize::from(self.block.height)];
        decode(&mut Space::default(), &self.bytes, &self.segments, &self.block, self.style, &mut out)
            .map(|()| out)
    }
}

fn cases() -> Vec<Case> {
    let mut rest = BLOCKS;
    let mut cases = Vec::new();
    while !rest.is_empty() {
        let mut next = || {
            let (number, after) = rest.split_first_chunk().unwrap();
            rest = after;
            u32::from_le_bytes(*number)
        };
        let [width, height, band_planes, planes, passes, cleanup, refinement, causal] =
            [(); 8].map(|()| next());
        let small = |number: u32| u8::try_from(number).unwrap();
        let (bytes, after) = rest.split_at((cleanup + refinement) as usize);
        let (expected, after) = after.split_at((4 * width * height) as usize);
        rest = after;
        let mut segments = vec![Segment { len: cleanup, passes: 1 }];
        if passes > 1 {
            segments.push(Segment { len: refinement, passes: small(passes - 1) });
        }
        let block = CodeBlock {
            plane: 0,
            x: 0,
            y: 0,
            width: u16::try_from(width).unwrap(),
            height: u16::try_from(height).unwrap(),
            band: Band::Hl,
            band_planes: small(band_planes),
            planes: small(planes),
            passes: small(passes),
            step: 1.0,
            segments: 0..u32::try_from(segments.len()).unwrap(),
            pieces: 0..1,
            len: cleanup + refinement,
        };
        cases.push(Case {
            block,
            segments,
            style: Style { causal: causal != 0, high_throughput: true, ..Style::default() },
            bytes: bytes.to_vec(),
            expected: expected.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect(),
        });
    }
    cases
}

#[test]
fn all_passes_are_as_openjpeg_decodes_them() {
    let cases = cases();
    for (index, case) in cases.iter().enumerate() {
        assert_eq!(case.decode().unwrap(), case.expected, "{index}");
    }
    let of = |passes: u8, causal: bool| {
        cases.iter().filter(|case| case.block.passes == passes && case.style.causal == causal).count()
    };
    assert!(
        [of(1, false), of(2, false), of(2, true), of(3, false), of(3, true)].iter().all(|&count| count > 3)
    );
}

#[test]
fn damaged_code_blocks_never_panic() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let (mut decoded, mut faults) = (0, 0);
    for mut case in cases() {
        for _ in 0..300 {
            let at = random(case.bytes.len());
            case.bytes[at] =
                [0, 0xFF, 0x7F, case.bytes[at] ^ 1 << random(8), case.bytes[at] ^ 0x55][random(5)];
            match case.decode() {
                Ok(_) => decoded += 1,
                Err(fault) => {
                    assert_eq!(fault.kind, strile_engine::FaultKind::Corrupt);
                    faults += 1;
                }
            }
        }
    }
    assert!(decoded > 500 && faults > 500, "{decoded} decoded, {faults} faults");
}

#[test]
fn impossible_code_blocks_are_faults() {
    let mut case = cases().remove(0);
    case.segments[0].len = u32::try_from(case.bytes.len() + 1).unwrap();
    assert!(case.decode().is_err());
    case.segments.clear();
    assert!(case.decode().is_err());
    let mut case = cases().remove(0);
    case.block.planes = 0;
    assert!(case.decode().is_err());
    let mut case = cases().remove(0);
    case.block.band_planes = 31;
    assert!(case.decode().is_err());
}

/// Vectors and the portable loop give the same results, even past the end of the stream.
#[test]
fn wide_rows_equal_portable_rows() {
    let mut random = Random::new(5);
    for round in 0..400 {
        let (width, tall) = (1 + random.below(70), random.below(4) > 0);
        let most = 1 + random.below(25);
        let count = width.div_ceil(2);
        let mut quads = vec![[Quad::default(); 2]; count.div_ceil(2)];
        for quad in quads.as_flattened_mut().iter_mut().take(count) {
            let code = OTHER_ROWS[random.below(OTHER_ROWS.len())] & 0xFFFF;
            *quad = Quad(code | u32::try_from(1 + random.below(most)).unwrap() << 16);
        }
        let bytes: Vec<u8> = (0..random.below(600))
            .map(|_| if random.below(9) == 0 { 0xFF } else { random.next().to_le_bytes()[0] })
            .collect();
        let mut bits = Packed::default();
        bits.forward(&bytes, true);
        let planes = u8::try_from(1 + random.below(6)).unwrap();
        let row = |is_wide: bool| {
            let mut magnitudes = Magnitudes { bits: &bits, at: 3, planes };
            let mut upper = vec![-1; width];
            let mut lower = vec![-1; if tall { width } else { 0 }];
            let mut exponents = vec![[0; PAIR]; quads.len()];
            let rows = (&mut upper[..], &mut lower[..]);
            let done = is_wide
                && wide::row(
                    &mut magnitudes,
                    &quads,
                    u32::try_from(most).unwrap(),
                    rows,
                    &mut exponents,
                    &mut (),
                );
            if !done {
                magnitudes.row(&quads, (&mut upper, &mut lower), &mut exponents);
            }
            (upper, lower, exponents)
        };
        assert_eq!(row(true), row(false), "{round}");
    }
}
