//! What is written is read as the same georeference.

use super::*;
use crate::geo::GeoTags;

/// Reads the tags as a file's reader does.
pub(super) fn read(out: &GeoTagsOut) -> (Georeference, Vec<GeoWarning>) {
    let find = |tag: Tag| out.fields.iter().find(|(t, _)| *t == tag).map(|(_, v)| v);
    let doubles = |tag| match find(tag) {
        Some(FieldValue::Doubles(v)) => Some(v.as_slice()),
        _ => None,
    };
    let tags = GeoTags {
        key_directory: match find(Tag::GeoKeyDirectoryTag) {
            Some(FieldValue::Shorts(v)) => Some(v),
            _ => None,
        },
        double_params: doubles(Tag::GeoDoubleParamsTag),
        ascii_params: match find(Tag::GeoAsciiParamsTag) {
            Some(FieldValue::Text(v)) => Some(v.as_bytes()),
            _ => None,
        },
        pixel_scale: doubles(Tag::ModelPixelScaleTag),
        tiepoints: doubles(Tag::ModelTiepointTag),
        transformation: doubles(Tag::ModelTransformationTag),
        rpc: doubles(Tag::RPCCoefficientTag),
    };
    let mut warnings = Vec::new();
    (Georeference::from_tags(&tags, &mut warnings), warnings)
}

#[test]
fn transforms_of_every_kind_come_back() {
    for values in [
        [10.0, 0.0, 100.0, 0.0, -10.0, 200.0],
        [-10.0, 0.0, 100.0, 0.0, -20.0, 200.0],
        [10.0, 0.0, 100.0, 0.0, 10.0, 200.0],
        [1.5, -5.0, 1841000.0, -5.0, -1.5, 1144000.0],
        [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    ] {
        for area_or_point in [AreaOrPoint::Area, AreaOrPoint::Point] {
            let geo = Georeference {
                transform: Some(GeoTransform::from_coefficients(values)),
                crs: Crs::from_epsg(32631),
                area_or_point: Some(area_or_point),
                ..Default::default()
            };
            let out = tags_of(&geo).unwrap();
            let (back, warnings) = read(&out);
            assert_eq!(Georeference { keys: GeoKeys::default(), ..back }, geo);
            assert_eq!((out.warnings, warnings, out.sidecar.is_empty()), (vec![], vec![], true));
        }
    }
}
