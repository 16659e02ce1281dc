//! Converts georeferencing to the values of GeoTIFF tags, and collects what they cannot hold.
//!
//! `directory` converts keys to tags; `system` a reference system to keys; `horizontal` its projected, geographic or
//! geocentric part; `vertical` its heights. [`Georeference::from_tags`] reads the tags as the same georeferencing; the
//! rest goes to the sidecar, with a warning.

mod directory;
mod horizontal;
mod system;
#[cfg(test)]
mod tests;
mod vertical;

use super::keys::{GeoKeys, KeyValue, key};
use super::transform::CORNER;
use super::warning::GeoWarningCode as Code;
use super::{AreaOrPoint, Crs, Gcp, GeoTransform, Georeference, Rpc};
use crate::InvalidValue;
use crate::gdal::pam::Pam;
use crate::{FieldValue, Tag, Warning, Warnings};

/// The georeferencing of a file to write.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeoTagsOut {
    /// The tags, by number.
    pub fields: Vec<(Tag, FieldValue)>,
    /// Georeferencing that the tags cannot hold: empty, or to be written as `.aux.xml` beside the file.
    pub sidecar: Pam,
    /// Warnings about what could not be written as keys, and where it is stored instead.
    pub warnings: Warnings,
}

/// Returns the tags of georeferencing. The error says which part no file could hold.
pub fn tags_of(geo: &Georeference) -> Result<GeoTagsOut, InvalidValue> {
    let mut out = GeoTagsOut::default();
    let is_point = geo.area_or_point == Some(AreaOrPoint::Point);
    let (system, is_gcp_system) = match (&geo.transform, geo.gcps.is_empty()) {
        (Some(transform), no_gcps) => {
            out.fields.extend(transform_fields(transform, is_point)?);
            if !no_gcps {
                check_gcps(&geo.gcps)?;
                out.sidecar.gcps.clone_from(&geo.gcps);
                out.sidecar.gcp_crs.clone_from(&geo.gcp_crs);
            }
            (geo.crs.as_ref(), false)
        }
        (None, false) => {
            out.fields.push(gcp_field(&geo.gcps, is_point, &mut out.warnings)?);
            out.sidecar.crs.clone_from(&geo.crs);
            (geo.gcp_crs.as_ref(), true)
        }
        (None, true) => (geo.crs.as_ref(), false),
    };
    if let Some(rpc) = &geo.rpc {
        out.fields.push(rpc_field(rpc)?);
    }
    let mut keys = match system {
        Some(crs) => {
            let written = system::keys_of(crs, &mut out.warnings)?;
            if written.needs_sidecar {
                in_sidecar(&mut out.sidecar, crs, is_gcp_system.then_some(geo.gcps.as_slice()));
            }
            written.keys
        }
        None => GeoKeys { revision: (1, 0), ..Default::default() },
    };
    height_unit(geo, system, &mut keys, &mut out.warnings);
    // GDAL writes the raster type with a system, and alone if it is "point".
    if is_point || !keys.values.is_empty() {
        keys.values.insert(key::RASTER_TYPE, KeyValue::Short(if is_point { 2 } else { 1 }));
        let fields = directory::fields(&keys);
        out.fields.extend(fields.map_err(|id| format!("key {id} has no room in the GeoKey directory"))?);
    }
    out.fields.sort_by_key(|(tag, _)| *tag);
    Ok(out)
}

fn in_sidecar(sidecar: &mut Pam, crs: &Crs, gcps: Option<&[Gcp]>) {
    match gcps {
        Some(gcps) => {
            sidecar.gcps = gcps.to_vec();
            sidecar.gcp_crs = Some(crs.clone());
        }
        None => sidecar.crs = Some(crs.clone()),
    }
}

/// Returns PixelScale and a tie point for a north-up image, as GDAL and old readers prefer; else the matrix.
fn transform_fields(transform: &GeoTransform, is_point: bool) -> Result<Vec<(Tag, FieldValue)>, String> {
    if !transform.is_finite() || transform.inverse().is_none() {
        let values = transform.coefficients();
        return Err(format!("expected a transform of finite numbers with an inverse, got {values:?}"));
    }
    // The tags refer to the centre of the first pixel if samples are points.
    let (at_centre, is_exact) = if is_point { centred(transform) } else { (*transform, true) };
    let GeoTransform { a, b, c, d, e, f } = at_centre;
    if transform.is_axis_aligned() && a > 0.0 && e < 0.0 {
        // The corner is half a pixel from the centre, and needs no rounding.
        let (corner, c, f) = if is_exact { (0.0, c, f) } else { (CORNER, transform.c, transform.f) };
        return Ok(vec![
            (Tag::ModelPixelScaleTag, FieldValue::Doubles(vec![a, -e, 0.0])),
            (Tag::ModelTiepointTag, FieldValue::Doubles(vec![corner, corner, 0.0, c, f, 0.0])),
        ]);
    }
    let matrix = vec![a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    Ok(vec![(Tag::ModelTransformationTag, FieldValue::Doubles(matrix))])
}

/// Returns the transform for pixel centres from which a reader restores the one for corners bit for bit, which adding
/// and subtracting half a pixel does not always do; if there is none, the nearest one and `false`.
fn centred(corner: &GeoTransform) -> (GeoTransform, bool) {
    let near = corner.window(0.5, 0.5);
    let steps = |start: f64| {
        let (up, down) = (start.next_up(), start.next_down());
        [start, up, down, up.next_up(), down.next_down()]
    };
    let back = GeoTransform::centre_to_corner;
    let c = steps(near.c).into_iter().find(|&c| back(GeoTransform { c, ..near }).c == corner.c);
    let f = steps(near.f).into_iter().find(|&f| back(GeoTransform { f, ..near }).f == corner.f);
    let is_exact = c.is_some() && f.is_some();
    (GeoTransform { c: c.unwrap_or(near.c), f: f.unwrap_or(near.f), ..near }, is_exact)
}

fn check_gcps(gcps: &[Gcp]) -> Result<(), String> {
    let bad = gcps.iter().position(|p| ![p.column, p.row, p.x, p.y, p.z].iter().all(|v| v.is_finite()));
    bad.map_or(Ok(()), |i| Err(format!("control point {} is not finite", i + 1)))
}

fn gcp_field(gcps: &[Gcp], is_point: bool, warnings: &mut Warnings) -> Result<(Tag, FieldValue), String> {
    check_gcps(gcps)?;
    let shift = if is_point { 0.5 } else { 0.0 };
    let values = gcps.iter().flat_map(|p| [p.column - shift, p.row - shift, 0.0, p.x, p.y, p.z]);
    let numbered = (1_usize..).zip(gcps).all(|(i, p)| p.id.is_empty() || p.id == i.to_string());
    if !numbered {
        let message = "names of control points have no place in the tag; they are numbered from 1";
        warnings.push(Warning::new(Code::BadTiePoints, "ModelTiepoint", message));
    }
    Ok((Tag::ModelTiepointTag, FieldValue::Doubles(values.collect())))
}

fn rpc_field(rpc: &Rpc) -> Result<(Tag, FieldValue), String> {
    let values = rpc.to_tag();
    if values.iter().any(|v| !v.is_finite()) {
        return Err("a coefficient of the camera model is not finite".to_owned());
    }
    Ok((Tag::RPCCoefficientTag, FieldValue::Doubles(values)))
}

/// Adds key 4099 alone, if heights have a unit but no system.
fn height_unit(geo: &Georeference, crs: Option<&Crs>, keys: &mut GeoKeys, warnings: &mut Warnings) {
    let Some(unit) = &geo.height_unit else { return };
    if crs.is_some_and(|crs| crs.vertical.is_some()) || keys.values.contains_key(&key::VERTICAL_UNITS) {
        return;
    }
    match horizontal::length_code(unit.size) {
        Some(code) => {
            keys.values.insert(key::VERTICAL_UNITS, KeyValue::Short(code));
        }
        None => {
            let message = format!("unit of heights `{}` has no code; not written", unit.name.escape_debug());
            warnings.push(Warning::new(Code::UnsupportedCrs, "key 4099", message));
        }
    }
}
