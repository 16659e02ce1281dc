//! Georeferencing: converts the values of GeoTIFF tags to a transform, a reference system, control points and camera
//! models, and back.
//!
//! Pure functions on tag values. Nothing here makes an image unreadable: unusable parts are dropped with a warning.
//! Sidecar files are in [`crate::gdal`].

mod from_keys;
mod geographic;
mod keys;
mod projection;
mod rpc;
mod transform;
mod vertical;
mod warning;
mod write;

#[cfg(test)]
mod tests;

pub use keys::{GeoKeys, KeyValue, USER_DEFINED, key};
pub use rpc::Rpc;
pub use strile_crs::wkt::{Node as WktNode, Value as WktValue};
pub use strile_crs::{Crs, CrsKind, Unit, VerticalCrs};
pub use transform::{Bounds, Gcp, GeoTransform};
pub use warning::GeoWarningCode;
pub use write::{GeoTagsOut, tags_of};

/// Whether a sample represents the area of its pixel or a point (key 1025).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AreaOrPoint {
    /// The area of the pixel.
    Area,
    /// The point at the pixel's centre.
    Point,
}

impl AreaOrPoint {
    /// Returns GDAL's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Area => "Area",
            Self::Point => "Point",
        }
    }
}

/// The values of the georeferencing tags that the file has.
#[derive(Debug, Clone, Copy, Default)]
pub struct GeoTags<'a> {
    /// GeoKeyDirectory, 34735.
    pub key_directory: Option<&'a [u16]>,
    /// GeoDoubleParams, 34736.
    pub double_params: Option<&'a [f64]>,
    /// GeoAsciiParams, 34737.
    pub ascii_params: Option<&'a [u8]>,
    /// ModelPixelScale, 33550.
    pub pixel_scale: Option<&'a [f64]>,
    /// ModelTiepoint, 33922.
    pub tiepoints: Option<&'a [f64]>,
    /// ModelTransformation, 34264.
    pub transformation: Option<&'a [f64]>,
    /// RPCCoefficient, 50844.
    pub rpc: Option<&'a [f64]>,
}

/// The position of an image.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Georeference {
    /// Transform from pixel corners to the reference system.
    pub transform: Option<GeoTransform>,
    /// The system of the transform. Absent if there are only control points: see `gcp_crs`.
    pub crs: Option<Crs>,
    /// Ground control points, which a file has instead of a transform.
    pub gcps: Vec<Gcp>,
    /// The system of the control points.
    pub gcp_crs: Option<Crs>,
    /// Unit of heights, from the vertical system or from key 4099 alone: GDAL's unit of bands that have none.
    pub height_unit: Option<Unit>,
    /// Camera model.
    pub rpc: Option<Rpc>,
    /// Whether a sample represents an area or a point. The transform is for pixel corners in either case.
    pub area_or_point: Option<AreaOrPoint>,
    /// The keys as read.
    pub keys: GeoKeys,
}

impl Georeference {
    /// Returns the georeferencing of the tags. Adds warnings about what was tolerated to `warnings`.
    pub fn from_tags(tags: &GeoTags<'_>, warnings: &mut crate::Warnings) -> Self {
        let keys = tags.key_directory.and_then(|directory| {
            let doubles = tags.double_params.unwrap_or_default();
            GeoKeys::parse(directory, doubles, tags.ascii_params.unwrap_or_default(), warnings)
        });
        let area_or_point = keys.as_ref().map(|keys| match keys.short(key::RASTER_TYPE) {
            Some(2) => AreaOrPoint::Point,
            _ => AreaOrPoint::Area,
        });
        let transform_tags = transform::TransformTags {
            pixel_scale: tags.pixel_scale,
            tiepoints: tags.tiepoints,
            transformation: tags.transformation,
        };
        let is_point = area_or_point == Some(AreaOrPoint::Point);
        let (transform, gcps) = transform::from_tags(transform_tags, is_point, warnings);
        let system = keys.as_ref().and_then(|keys| keys.crs(warnings));
        let height_unit = height_unit(system.as_ref(), keys.as_ref());
        let (crs, gcp_crs) = if gcps.is_empty() { (system, None) } else { (None, system) };
        Self {
            transform,
            crs,
            gcps,
            gcp_crs,
            height_unit,
            rpc: tags.rpc.and_then(|values| Rpc::from_tag(values, warnings)),
            area_or_point,
            keys: keys.unwrap_or_default(),
        }
    }
}

fn height_unit(crs: Option<&Crs>, keys: Option<&GeoKeys>) -> Option<Unit> {
    match crs.and_then(|crs| crs.vertical.as_ref()) {
        Some(vertical) => vertical.unit.clone(),
        None => {
            let row = strile_crs::registry::length(keys?.code(key::VERTICAL_UNITS)?)?;
            Some(Unit { name: row.1.to_owned(), size: row.2 })
        }
    }
}
