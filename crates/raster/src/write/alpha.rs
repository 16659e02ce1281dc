//! Alpha as a mask of what is reduced: colours of transparent pixels are nobody's, and must not run into their
//! neighbours.
//!
//! As in GDAL, nodata and masks come first: alpha says which pixels count only where there is neither. Then neither
//! its own samples nor those of the colours count where it is 0.

use super::spec::RasterSpec;
use std::sync::Arc;
use strile_engine::{OutputSpec, Pixels};
use strile_tiff::{DataType, ExtraSample};

/// The band that is alpha and says which pixels count. Floats have none: where nothing counts they become NaN, which
/// is no alpha.
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

/// A mask that is 0 where a band is, else 1; `None` for a band that is not there.
pub(crate) fn mask_of_band(pixels: &Pixels, band: u32) -> Option<Pixels> {
    let OutputSpec { data_type, rows, columns, strides, .. } = *pixels.spec();
    let spec = OutputSpec::band_first(DataType::U8, 1, rows, columns).ok()?;
    let mut mask = Vec::with_capacity(spec.len().ok()?);
    for row in 0..rows {
        let samples = pixels.row(band, row, (0, columns))?.chunks(strides.column);
        let stored = |sample: &[u8]| sample.iter().take(data_type.size()).any(|&byte| byte != 0);
        mask.extend(samples.map(|sample| u8::from(stored(sample))));
    }
    Pixels::new(spec, Arc::new(mask)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mask = mask_of_band(&Pixels::new(spec, Arc::new(last)).unwrap(), 1).unwrap();
        assert_eq!(mask.bytes(), [0, 1, 1, 0]);
        let first: Vec<u8> = [[7; 4], values].concat().into_iter().flat_map(u16::to_ne_bytes).collect();
        let spec = OutputSpec::band_first(DataType::U16, 2, 2, 2).unwrap();
        let pixels = Pixels::new(spec, Arc::new(first)).unwrap();
        assert_eq!(mask_of_band(&pixels, 1).unwrap().bytes(), [0, 1, 1, 0]);
        assert!(mask_of_band(&pixels, 2).is_none());
    }
}
