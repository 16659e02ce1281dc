//! What stored bits mean: bit and byte order, predictors, chroma units.

use super::jobs::{Float, Uint, decoded, layout};
use strile_engine::Engine;
use strile_tiff::{ByteOrder, Photometric, Predictor, SampleFormat, YCbCr};

pub(super) fn bits_reversed_in_every_byte(engine: &dyn Engine) {
    let mut layout = layout(12, 1, 1, Uint, 1);
    layout.reverse_bits = true;
    if let Some(found) = decoded(engine, &layout, &[0b0000_0101, 0b0000_1000]) {
        assert_eq!(found, [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}

pub(super) fn byte_order_is_of_whole_bytes(engine: &dyn Engine) {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let check = |format, bits, bytes: &[u8], pixels: u32, want: Vec<u8>| {
            let mut layout = layout(pixels, 1, 1, format, bits);
            layout.byte_order = order;
            if let Some(found) = decoded(engine, &layout, bytes) {
                assert_eq!(found, want, "{bits} bits, {order:?}");
            }
        };
        let in_order = |little: &[u8]| match order {
            ByteOrder::Little => little.to_vec(),
            ByteOrder::Big => little.iter().rev().copied().collect(),
        };
        check(Uint, 16, &in_order(&[0x34, 0x12]), 1, 0x1234u16.to_ne_bytes().to_vec());
        check(Uint, 32, &in_order(&[4, 3, 2, 1]), 1, 0x0102_0304u32.to_ne_bytes().to_vec());
        check(Float, 64, &in_order(&1.25f64.to_le_bytes()), 1, 1.25f64.to_ne_bytes().to_vec());
        // Depths between bytes are one stream of bits, whatever the order.
        let twelve = [0xABCu16, 0xDEF].map(u16::to_ne_bytes).concat();
        check(Uint, 12, &[0xAB, 0xCD, 0xEF], 2, twelve);
        // The two halves of a complex number are swapped each for itself.
        let pair = [in_order(&(-2i16).to_le_bytes()), in_order(&300i16.to_le_bytes())].concat();
        check(SampleFormat::ComplexInt, 32, &pair, 1, [-2f32, 300.0].map(f32::to_ne_bytes).concat());
    }
}

pub(super) fn predictor_2_adds_up_each_sample(engine: &dyn Engine) {
    let mut bytes = layout(4, 2, 2, Uint, 8);
    bytes.predictor = Predictor::Horizontal;
    // Two samples a pixel, each with its own sum, which wraps at 256 and begins anew in each row.
    let stored = [250, 1, 10, 1, 0, 1, 255, 1, 5, 0, 5, 0, 5, 0, 5, 0];
    if let Some(found) = decoded(engine, &bytes, &stored) {
        assert_eq!(found, [250, 4, 4, 3, 5, 10, 15, 20, 1, 2, 3, 4, 0, 0, 0, 0]);
    }
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut words = layout(3, 1, 1, Uint, 16);
        (words.predictor, words.byte_order) = (Predictor::Horizontal, order);
        let stored = [0xFFFFu16, 2, 0x1000].map(|v| match order {
            ByteOrder::Little => v.to_le_bytes(),
            ByteOrder::Big => v.to_be_bytes(),
        });
        if let Some(found) = decoded(engine, &words, &stored.concat()) {
            assert_eq!(found, [0xFFFFu16, 1, 0x1001].map(u16::to_ne_bytes).concat(), "{order:?}");
        }
    }
}

pub(super) fn predictor_3_does_not_depend_on_the_byte_order(engine: &dyn Engine) {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut floats = layout(3, 1, 1, Float, 32);
        (floats.predictor, floats.byte_order) = (Predictor::FloatingPoint, order);
        // 1.0, 2.0, 0.5: planes 3f 40 3f | 80 00 00 | 00 00 00 | 00 00 00, then differences.
        let bytes = [0x3f, 0x01, 0xff, 0x41, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00];
        if let Some(found) = decoded(engine, &floats, &bytes) {
            assert_eq!(found, [1f32, 2.0, 0.5].map(f32::to_ne_bytes).concat());
        }
    }
}

pub(super) fn chroma_units_become_rgb(engine: &dyn Engine) {
    let mut units = layout(3, 3, 3, Uint, 8);
    units.extras.photometric = Photometric::YCbCr;
    units.extras.ycbcr = Some(YCbCr::default());
    // 2 × 2 units of 2 × 2 pixels, all without colour; luma says which pixel.
    let unit = |y: [u8; 4]| [&y[..], &[128, 128]].concat();
    let bytes =
        [unit([0, 1, 3, 4]), unit([2, 99, 5, 99]), unit([6, 7, 99, 99]), unit([8, 99, 99, 99])].concat();
    if let Some(planes) = decoded(engine, &units, &bytes) {
        assert_eq!(planes, [0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(3));
    }
}
