//! Uses alpha as a mask when pixels are reduced: the colours of transparent pixels are arbitrary and must not affect
//! their neighbours.
//!
//! As in GDAL, nodata and masks take precedence: alpha marks valid pixels only if there is neither. Then neither its
//! own samples nor those of the colours count where it is 0.

use super::cells::refused;
use super::spec::RasterSpec;
use crate::error::Result;
use strile_engine::{Assembly, Context, Engine, Given, OutputSpec, Patch, SharedPixels};
use strile_tiff::{DataType, ExtraSample};

/// Returns the band that is alpha and marks valid pixels. Floats have none: pixels without a valid sample become NaN,
/// which is not an alpha value.
pub(crate) fn alpha_band(spec: &RasterSpec) -> Option<u32> {
    use DataType as D;
    let whole = !matches!(spec.data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128);
    if spec.mask || spec.metadata.nodata.is_some() || !whole {
        return None;
    }
    let (photometric, extra) = spec.colours();
    let is_alpha =
        |extra: &ExtraSample| matches!(extra, ExtraSample::AssociatedAlpha | ExtraSample::UnassociatedAlpha);
    let at = u32::try_from(extra.iter().position(is_alpha)?).ok()?;
    u32::from(photometric.colour_samples()).checked_add(at)
}

/// Returns masks that are 0 where a band is, else 1, one per given pixels.
pub(crate) fn masks_of_band(
    all: &[&SharedPixels],
    band: u32,
    engine: &dyn Engine,
    context: &Context,
) -> Result<Vec<SharedPixels>> {
    let missing = || refused(format!("there is no band {band} to be alpha"));
    let bands = all.iter().map(|pixels| pixels.band(band)).collect::<Option<Vec<_>>>().ok_or_else(missing)?;
    let mut wanted = Vec::with_capacity(bands.len());
    for alpha in &bands {
        let size = (alpha.spec().columns, alpha.spec().rows);
        let spec = OutputSpec::band_first(DataType::U8, 1, size.1, size.0);
        let spec = spec.map_err(|error| refused(error.to_string()))?;
        let patch = Patch { from: Given::There(alpha), at: (0, 0), to: (0, 0), size };
        wanted.push(Assembly { spec, mask: true, patches: vec![patch] });
    }
    Ok(engine.assemble(&wanted, context)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use strile_cpu::CpuEngine;

    #[test]
    fn alpha_counts_where_nothing_else_does() {
        let spec = RasterSpec::new(1, 1, 4, DataType::U8);
        assert_eq!(alpha_band(&spec), Some(3));
        assert_eq!(alpha_band(&RasterSpec { mask: true, ..spec.clone() }), None);
        assert_eq!(alpha_band(&RasterSpec { bands: 3, ..spec.clone() }), None);
        assert_eq!(alpha_band(&RasterSpec { data_type: DataType::U16, ..spec.clone() }), None);
        let grey = RasterSpec {
            extra_samples: Some(vec![ExtraSample::Unspecified, ExtraSample::AssociatedAlpha]),
            ..RasterSpec::new(1, 1, 3, DataType::U16)
        };
        assert_eq!(alpha_band(&grey), Some(2));
    }

    #[test]
    fn masks_are_made_of_any_order_of_axes() {
        let values: [u16; 4] = [0, 256, 1, 0];
        let last: Vec<u8> = values.iter().flat_map(|v| [7, *v].map(u16::to_ne_bytes).concat()).collect();
        let spec = OutputSpec::band_last(DataType::U16, 2, 2, 2).unwrap();
        let last = SharedPixels::new(spec, Arc::new(last)).unwrap();
        let first: Vec<u8> = [[7; 4], values].concat().into_iter().flat_map(u16::to_ne_bytes).collect();
        let spec = OutputSpec::band_first(DataType::U16, 2, 2, 2).unwrap();
        let pixels = SharedPixels::new(spec, Arc::new(first)).unwrap();
        let masks = |band| masks_of_band(&[&last, &pixels], band, &CpuEngine::new(), &Context::default());
        for mask in masks(1).unwrap() {
            assert_eq!(mask.bytes(), [0, 1, 1, 0]);
        }
        assert!(masks(2).is_err());
    }
}
