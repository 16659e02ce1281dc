//! A hillshade of the demo's elevation model: light from the north-west, 45° high.

use crate::failure::Failure;
use crate::output::Sink;
use std::path::Path;
use testkit::Pixels;

/// Pixels of the model for one of the picture.
const STEP: usize = 2;
/// Metres across a pixel of the picture; slopes are taken over two.
const PIXEL: f64 = 20.0;

pub fn write(pixels: &Pixels, path: &Path) -> Result<(), Failure> {
    let (width, height) = (pixels.width / STEP, pixels.height / STEP);
    let height_at = |x: usize, y: usize| {
        let (x, y) = (x.clamp(1, width) - 1, y.clamp(1, height) - 1);
        pixels.value(0, y * STEP, x * STEP)
    };
    let mut grey = Vec::with_capacity(width * height);
    for y in 1..=height {
        for x in 1..=width {
            let east = (height_at(x + 1, y) - height_at(x - 1, y)) / (2.0 * PIXEL);
            let south = (height_at(x, y + 1) - height_at(x, y - 1)) / (2.0 * PIXEL);
            // Lambert: the normal (−east, −south, 1) against the light (−½, −½, √½).
            let light = (0.5 * (east + south) + std::f64::consts::FRAC_1_SQRT_2)
                / (1.0 + east * east + south * south).sqrt();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
            grey.push((light.clamp(0.0, 1.0) * 255.0).round() as u8);
        }
    }
    let mut sink = Sink::open(Some(path), true)?;
    let failed = sink.failed();
    let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut encoder = png::Encoder::new(&mut sink, side(width), side(height));
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&grey));
    written.map_err(std::io::Error::from).map_err(&failed)?;
    sink.finish()
}
