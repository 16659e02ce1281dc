//! What is said about a raster besides its pixels: tags of the full image, and a sidecar for what has no tag.

use super::spec::RasterSpec;
use crate::error::Result;
use strile_tiff::{FieldValue, Tag};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Described {
    /// Tags of the full image.
    pub(crate) fields: Vec<(Tag, FieldValue)>,
    /// The tag that every level has.
    pub(crate) nodata: Option<(Tag, FieldValue)>,
    /// Text of `.aux.xml`.
    pub(crate) aux_xml: Option<String>,
    /// What could not be said, or is said elsewhere.
    pub(crate) warnings: Vec<String>,
}

/// Describes a raster.
pub(crate) fn describe(spec: &RasterSpec) -> Result<Described> {
    Ok(Described { fields: spec.extra_fields.clone(), ..Described::default() })
}
