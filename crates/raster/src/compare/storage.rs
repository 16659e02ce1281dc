//! Compares how pixels are stored, if requested.

use super::{Differences, name_of};
use crate::file::dataset::Dataset;
use crate::file::pages::Level;
use crate::options::Place;
use strile_tiff::{BlockKind, ByteOrder, Planar, Predictor, Tiff, Variant};

pub(super) fn compare(a: &Dataset, b: &Dataset, found: &mut Differences) {
    let header = |dataset: &Dataset| dataset.tiff().map(|tiff: &Tiff| tiff.header);
    if let (Some(a), Some(b)) = (header(a), header(b)) {
        found.unequal(("byte-order", ""), (a.byte_order, b.byte_order), |order| match order {
            ByteOrder::Little => "little-endian".into(),
            ByteOrder::Big => "big-endian".into(),
        });
        found.unequal(("variant", ""), (a.variant, b.variant), |variant| match variant {
            Variant::Classic => "classic TIFF".into(),
            Variant::Big => "BigTIFF".into(),
        });
    }
    for (page, (a, b)) in a.pages().iter().zip(b.pages()).enumerate() {
        for (level, (a, b)) in a.levels.iter().zip(&b.levels).enumerate() {
            of_level(&name_of(&Place::new().page(page).level(level)), a, b, found);
        }
    }
}

fn of_level(place: &str, a: &Level, b: &Level, found: &mut Differences) {
    let (a, b) = (&a.image, &b.image);
    found.unequal(("compression", place), (a.compression, b.compression), |c| c.name().to_owned());
    found.unequal(("predictor", place), (a.predictor, b.predictor), |predictor| match predictor {
        Predictor::None => "no predictor".into(),
        Predictor::Horizontal => "horizontal predictor".into(),
        Predictor::FloatingPoint => "floating point predictor".into(),
    });
    found.unequal(("interleave", place), (a.planar, b.planar), |planar| match planar {
        Planar::Chunky => "interleaved by pixel".into(),
        Planar::Separate => "interleaved by band".into(),
    });
    let blocks = |image: &strile_tiff::Image| {
        (image.grid.kind == BlockKind::Tile, image.grid.block_width, image.grid.block_height)
    };
    found.unequal(("blocks", place), (blocks(a), blocks(b)), |(tiled, width, height)| {
        format!("{} of {width} × {height}", if *tiled { "tiles" } else { "strips" })
    });
    found.unequal(("bits", place), (a.sample, b.sample), ToString::to_string);
    let photometric = |image: &strile_tiff::Image| image.colour.photometric;
    found.unequal(("photometric", place), (photometric(a), photometric(b)), |p| p.name());
}
