//! Tests with whole codestreams: those of OpenJPEG and OpenJPH, those of our own encoder, and damaged ones.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers made here"
)]

#[path = "../../../../codestream/tests/crafted/mod.rs"]
mod crafted;

use super::super::byte_testing::Random;
use super::super::testing::{
    check_picture, decode_block, decode_rows, encode_rows, kept_memory_does_not_show, layout,
    mutants_fill_or_fault, params, picture, prepared, u16s,
};
use super::*;
use strile_engine::{BlockLayout, FaultKind};
use strile_tiff::{DataType, Photometric, SampleType};

macro_rules! streams {
    ($($folder:literal: $($name:literal $digest:literal),+;)+) => {
        [$($(($name, include_bytes!(concat!($folder, $name, ".j2k")).as_slice(), $digest)),+),+]
    };
}

/// Codestreams and a digest of the samples that OpenJPEG 2.5.4 (`ht_`: OpenJPH 0.32) decodes, pixel by pixel; those of
/// `subsampled` are replicated and converted to RGB with numpy, those of `reduced` lack the highest resolution.
fn streams() -> Vec<(&'static str, &'static [u8], u64)> {
    streams![
        "../../../../codestream/tests/data/jpeg2000/":
        "offset" 0xFCEF_56EE_1CAE_CAD0,
        "rlcp" 0xCB97_F239_AA8B_8443,
        "layers_sop" 0xC782_5523_BA98_1C2A,
        "parts" 0xCB97_F239_AA8B_8443,
        "bypass" 0x23C4_6E58_35DC_AD1B,
        "termall" 0x23C4_6E58_35DC_AD1B,
        "all_styles" 0x23C4_6E58_35DC_AD1B,
        "sparse" 0x7729_0771_6FD3_3E46,
        "wide" 0x3BCC_0F59_A9A1_4A8A,
        "97" 0x5C6B_4C2F_498D_F66E,
        "24bit" 0x17DB_ABAB_6DA4_BC65,
        "ht_gray16" 0xAD80_BB5A_6BAC_5C01,
        "ht_rgb8" 0x3219_B07D_40E1_9094,
        "ht_tiles" 0x61BE_4EAB_82F5_7243;
        "../../../tests/data/jpeg2000/":
        "reset" 0x23C4_6E58_35DC_AD1B,
        "causal" 0x23C4_6E58_35DC_AD1B,
        "segmentation" 0x2B5B_B42E_00FF_F6A2,
        "bypass_termall" 0x23C4_6E58_35DC_AD1B,
        "subsampled" 0x7A57_0C92_ABE9_C668,
        "reduced" 0x1954_9984_054B_1448;
    ]
    .to_vec()
}

/// For some of them the digests without the highest resolutions, one or more, as OpenJPEG 2.5.4 decodes with
/// `cp_reduce`.
const LESS: [(&str, &[u64]); 9] = [
    ("layers_sop", &[0x9EC7_4B19_4D95_B5FC, 0xBF75_B822_E047_315B]),
    ("parts", &[0x1543_564E_BE7B_AB99, 0xB51F_F9D6_9109_223A]),
    ("bypass", &[0x4D10_CB42_74EE_2C05, 0xDD82_9C53_9F9C_1E21]),
    ("sparse", &[0xD394_C960_022C_7DB7, 0x6CFE_3A86_112A_513A, 0x48C9_2A8E_1D3D_04B5]),
    ("97", &[0xB222_EB32_2EC0_542A, 0xDE24_A4CD_8CA2_173A, 0x9A0C_1BC2_BE65_8949]),
    ("24bit", &[0x93D9_C817_0729_2417, 0xC789_4BE7_A5E3_59A8, 0x254D_9773_68E5_A039]),
    ("ht_rgb8", &[0x04A8_B5C1_F047_0E95, 0x929A_1E65_5C88_AB76, 0xDD6D_D2C6_21CE_9FE5]),
    ("ht_tiles", &[0x48B7_671C_0661_B2DD, 0x4DCC_03C1_52F2_483B, 0x3795_51AA_F32C_43F8]),
    ("segmentation", &[0x2696_59B1_142A_42AD, 0x54AF_479E_15F8_8A17]),
];

#[test]
fn pictures_of_one_thread_are_as_those_of_many() {
    let pictures: Vec<_> = streams().into_iter().map(|(_, src, _)| (src, layout_of(src, 0))).collect();
    kept_memory_does_not_show(&pictures);
}

fn with_helpers(helpers: usize) -> Workspace {
    let mut workspace = Workspace::default();
    workspace.crew = Crew::new(helpers);
    workspace
}

/// Returns the layout that fits a codestream.
fn layout_of(stream: &[u8], reduce: u8) -> BlockLayout {
    let size = size(stream).unwrap();
    let (area, first) = (size.area.reduced(reduce), size.components[0]);
    let format = if first.signed { SampleFormat::Int } else { SampleFormat::Uint };
    let sample = SampleType { format, bits: first.bits.into() };
    let mut layout =
        layout(Compression::Jpeg2000, (area.width(), area.height()), (size.components.len() as u16, 8));
    layout.extras.reduce = reduce;
    BlockLayout { sample, data_type: sample.data_type().unwrap(), ..layout }
}

fn values(decoded: &[u8], data_type: DataType) -> Vec<i32> {
    match data_type {
        DataType::U8 => decoded.iter().map(|&value| value.into()).collect(),
        DataType::U16 => u16s(decoded).into_iter().map(i32::from).collect(),
        DataType::I16 => u16s(decoded).into_iter().map(|value| i32::from(value as i16)).collect(),
        _ => decoded.as_chunks().0.iter().map(|&value| i32::from_ne_bytes(value)).collect(),
    }
}

/// Returns the FNV-1a of the samples as 32-bit numbers.
fn digest(values: &[i32]) -> u64 {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn equals_other_decoders_in_every_style() {
    for (name, stream, expected) in streams() {
        let reduce = u8::from(name == "reduced");
        let layout = layout_of(stream, reduce);
        let mut first = Vec::new();
        for helpers in [0, 3] {
            let mut decoded = vec![0; layout.decoded_len(layout.height).unwrap()];
            let block = StoredBlock { layout: &layout, rows: layout.height };
            decode(stream, &mut decoded, block, &mut with_helpers(helpers)).unwrap();
            assert_eq!(digest(&values(&decoded, layout.data_type)), expected, "{name}");
            first = decoded;
        }
        // A last strip with surplus rows.
        let rows = layout.height.div_ceil(2);
        let row = first.len() / layout.height as usize;
        if reduce == 0 {
            assert_eq!(decode_rows(stream, &layout, rows).unwrap(), first[..row * rows as usize], "{name}");
        }
    }
}

#[test]
fn lower_resolutions_equal_another_decoder() {
    for (name, digests) in LESS {
        let (_, stream, _) = streams().into_iter().find(|(other, ..)| *other == name).unwrap();
        for (reduce, &expected) in (1..).zip(digests) {
            let layout = layout_of(stream, reduce);
            let decoded = decode_block(stream, &layout).unwrap();
            assert_eq!(digest(&values(&decoded, layout.data_type)), expected, "{name} less {reduce}");
        }
    }
    let (_, stream, _) = streams().into_iter().find(|(other, ..)| *other == "bypass").unwrap();
    let fault = decode_block(stream, &layout_of(stream, 3)).unwrap_err().to_string();
    assert!(fault.contains("3 wavelet levels to be left out of 2"), "{fault}");
    let mut other = layout(Compression::Lzw, (8, 8), (1, 8));
    other.extras.reduce = 1;
    assert!(decode_block(&[1, 2], &other).unwrap_err().to_string().contains("anything but JPEG 2000"));
}

/// A stream of 16 KiB whose code-blocks would need hundreds of times as much, and one of the smallest that encoders
/// write.
#[test]
fn code_blocks_take_no_more_memory_than_was_counted() {
    let stream = crafted::tiny_precincts(256);
    let block = layout(Compression::Jpeg2000, (256, 256), (1, 8));
    let fault = decode_block(&stream, &block).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert!(fault.found > fault.expected && fault.expected > 0, "{fault:?}");
    assert!(fault.detail.contains("bytes found") && fault.detail.contains("allowed"), "{fault}");
    let counted = working_len(&block, 256, stream.len() as u64);
    assert_eq!(
        counted,
        fault.expected + 9 * 256 * 256,
        "and coefficients, once more with a quarter for the wavelet"
    );
    let block = layout(Compression::Jpeg2000, (512, 512), (1, 8));
    assert!(decode_block(&crafted::many_code_blocks(512), &block).is_ok());
}

#[test]
fn damaged_streams_fill_or_fault() {
    for (_, stream, _) in streams() {
        mutants_fill_or_fault(stream, &layout_of(stream, 0), 60);
    }
}

/// Threads get different code-blocks each time, but samples and faults stay the same.
#[test]
fn helpers_change_nothing() {
    let mut block = layout(Compression::Jpeg2000, (300, 280), (3, 8));
    block.extras.photometric = Photometric::Rgb;
    let mut random = Random::new(21);
    let src: Vec<u8> = (0..300 * 280 * 3).map(|at| (at / 90 % 200 + random.below(20)) as u8).collect();
    let layout = prepared(block, params()).unwrap();
    let stream = encode_rows(&src, &layout, 280).unwrap();
    let block = StoredBlock { layout: &layout.block, rows: 280 };
    for helpers in [0, 1, 5] {
        let mut decoded = vec![0; src.len()];
        decode(&stream, &mut decoded, block, &mut with_helpers(helpers)).unwrap();
        assert!(decoded == src);
    }
}

#[test]
fn aperio_ycbcr_becomes_rgb() {
    let block = layout(Compression::Jpeg2000, (3, 1), (3, 8));
    let stream =
        encode_rows(&[100, 128, 128, 50, 200, 90, 255, 0, 255], &prepared(block, params()).unwrap(), 1);
    let wanted = layout(Compression::Jpeg2000YCbCr, (3, 1), (3, 8));
    let found = decode_block(&stream.unwrap(), &wanted).unwrap();
    // 50 + 1.402 × -38 is below 0; 50 - 0.344136 × 72 + 0.714136 × 38 = 52.36; 50 + 1.772 × 72 = 177.58.
    assert_eq!(found, [100, 100, 100, 0, 52, 178, 255, 208, 28]);
}

#[test]
fn says_what_it_refuses() {
    let fault = |stream: &[u8], layout: &BlockLayout| decode_block(stream, layout).unwrap_err().to_string();
    let (_, stream, _) = streams().into_iter().find(|(name, ..)| *name == "segmentation").unwrap();
    let signed = layout_of(stream, 0);
    let unsigned =
        BlockLayout { sample: SampleType { format: SampleFormat::Uint, bits: 12 }, ..signed.clone() };
    assert!(fault(stream, &unsigned).contains("are signed"));
    let mut deep = stream.to_vec();
    deep[42] = 0x80 | 29;
    let deeper = BlockLayout { sample: SampleType { format: SampleFormat::Int, bits: 30 }, ..signed.clone() };
    assert!(fault(&deep, &deeper).contains("samples of 30 bits"));
    // The byte before the last one of a code-block: changing it changes the segmentation symbol.
    let end = stream.len() - 4;
    let broken = (0..80).any(|at| {
        let mut stream = stream.to_vec();
        stream[end - at] ^= 0x55;
        decode_block(&stream, &signed).is_err_and(|fault| fault.detail.contains("segmentation symbol"))
    });
    assert!(broken);
}

#[test]
fn reads_lossless_codestreams_and_files() {
    check_picture(
        include_bytes!("../../../tests/data/rgb8.j2k"),
        &layout(Compression::Jpeg2000, (13, 9), (3, 8)),
    );
    check_picture(
        include_bytes!("../../../tests/data/gray16.jp2"),
        &layout(Compression::Jpeg2000, (13, 9), (1, 16)),
    );
}

#[test]
fn reads_signed_samples() {
    let stream = include_bytes!("../../../tests/data/gray_i16.j2k");
    let layout = layout_of(stream, 0);
    let found = values(&decode_block(stream, &layout).unwrap(), DataType::I16);
    let expected: Vec<i32> = picture(1, 16).into_iter().map(|v| v as i32 - 32_768).collect();
    assert_eq!(found, expected);
}
