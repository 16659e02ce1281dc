//! A hillshade of the demo's elevation model: light from the north-west, 45° high.

use super::terrain::Terrain;
use crate::failure::Failure;
use crate::output::Sink;
use std::path::Path;

/// Pixels of the model per pixel of the picture.
const STEP: u32 = 2;
/// Metres across a pixel of the picture. Slopes are computed over two pixels.
const PIXEL: f64 = 20.0;

/// Writes the picture of a model of `size` × `size` pixels.
pub fn write(terrain: &Terrain, size: u32, path: &Path) -> Result<(), Failure> {
    let side = size / STEP;
    let height_at =
        |x: u32, y: u32| terrain.height((x.clamp(1, side) - 1) * STEP, (y.clamp(1, side) - 1) * STEP);
    let mut grey = Vec::new();
    for y in 1..=side {
        for x in 1..=side {
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
    let mut encoder = png::Encoder::new(&mut sink, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&grey));
    written.map_err(std::io::Error::from).map_err(&failed)?;
    sink.finish()
}
