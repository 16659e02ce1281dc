//! Georeferencing of a request as JSON, with the keys of the raw protocol; boxes in other reference systems; polygons.

use crate::args::{PartArgs, PolygonArgs};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::io::Read as _;
use strile::ReadOptions;
use strile::crs::{Crs, CrsKind, TransformOptions};
use strile::file::Metadata;
use strile::grid::{Polygon, transform_bounds};
use strile::tiff::gdal::{BandMetadata, NoData};
use strile::tiff::geo::{Bounds, GeoTransform};

/// Maximum bytes of a file with a polygon. A longer file is cut and therefore invalid.
const LONGEST_CUTLINE: u64 = 64 << 20;

/// Returns a number as JSON; as a string, if JSON does not support it.
pub fn number(value: f64) -> Value {
    match value {
        v if v.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        v => json!(v),
    }
}

fn nodata(value: NoData) -> Value {
    match value {
        NoData::Integer(v) => match (i64::try_from(v), u64::try_from(v)) {
            (Ok(v), _) => json!(v),
            (_, Ok(v)) => json!(v),
            _ => number(value.as_f64()),
        },
        NoData::Float(v) => number(v),
    }
}

/// Returns `epsg`, `nodata`, `transform` of the request and `area_or_point`, null if missing; then, if known, lists
/// with an entry per band of the request (`scales`, `offsets`, `units`, `descriptions`) and the number `gcps`.
pub fn geo_of(metadata: &Metadata, transform: Option<GeoTransform>, options: &ReadOptions) -> Value {
    let geo = &metadata.georeference;
    let first_page = options.place.page == 0;
    let all = || (1..=metadata.bands.len()).filter_map(|band| u16::try_from(band).ok()).collect();
    let bands: Vec<u16> = options.place.bands.clone().unwrap_or_else(all);
    let bands: Vec<_> = match first_page {
        true => {
            bands.iter().filter_map(|&band| metadata.bands.get(usize::from(band).checked_sub(1)?)).collect()
        }
        false => Vec::new(),
    };
    let crs = geo.crs.as_ref().filter(|_| first_page);
    let mut told = json!({
        "epsg": crs.and_then(|crs| crs.epsg),
        "nodata": metadata.nodata.filter(|_| first_page && !options.meaning.masked && !options.meaning.unpack).map(nodata),
        "transform": transform.map(|t| t.coefficients().map(number)),
        "area_or_point": geo.area_or_point.filter(|_| first_page).map(|kind| kind.as_str()),
    });
    // Keys are omitted if no band has a value.
    let mut tell = |key: &str, known: bool, value: Value| {
        if let Some(told) = told.as_object_mut().filter(|_| known) {
            told.insert(key.into(), value);
        }
    };
    let list = |value: fn(&BandMetadata) -> Value| bands.iter().map(|band| value(band)).collect();
    let any = |has: fn(&BandMetadata) -> bool| bands.iter().any(|band| has(band));
    // Unpacked values no longer have a scale and offset.
    let scales = !options.meaning.unpack;
    tell(
        "scales",
        scales && any(|b| b.scale.is_some_and(|v| v != 1.0)),
        list(|b| number(b.scale.unwrap_or(1.0))),
    );
    tell(
        "offsets",
        scales && any(|b| b.offset.is_some_and(|v| v != 0.0)),
        list(|b| number(b.offset.unwrap_or(0.0))),
    );
    tell("units", any(|b| b.unit.is_some()), list(|b| json!(b.unit)));
    tell("descriptions", any(|b| b.description.is_some()), list(|b| json!(b.description)));
    tell("gcps", first_page && !geo.gcps.is_empty(), geo.gcps.len().into());
    told
}

/// Returns the requested box, in the reference system of a file.
pub fn bbox_in_file(part: &PartArgs, metadata: &Metadata) -> Result<Option<[f64; 4]>, Failure> {
    match (part.bbox, &part.bbox_crs) {
        (Some(bbox), Some(crs)) => box_in_file(crs, bbox.0, metadata).map(Some),
        (bbox, _) => Ok(bbox.map(|bbox| bbox.0)),
    }
}

/// Converts a box (west, south, east, north) to the reference system of a file.
pub fn box_in_file(crs: &Crs, sides: [f64; 4], metadata: &Metadata) -> Result<[f64; 4], Failure> {
    let request = |problem: String| Failure::Request(problem, None);
    let own = metadata.georeference.crs.as_ref();
    let own =
        own.ok_or_else(|| request("the file has no reference system that the box could be put in".into()))?;
    let [min_x, min_y, max_x, max_y] = sides;
    let bounds = Bounds { min_x, min_y, max_x, max_y };
    let bounds = transform_bounds(crs, own, bounds, &TransformOptions::default());
    let Bounds { min_x, min_y, max_x, max_y } = bounds.map_err(|problem| request(problem.to_string()))?;
    let seam = [-180.0, 180.0].into_iter().find(|&seam| min_x < seam - 1e-6 && seam + 1e-6 < max_x);
    let is_geographic = matches!(own.kind, CrsKind::Geographic | CrsKind::Geographic3D);
    // The other half is at the other end of the file.
    if is_geographic && !crs.is_same(own) && seam.is_some() {
        let problem = format!(
            "the box lies over the antimeridian: it goes from {min_x} to {max_x}° east in the file; pass each side as a box of its own, or use `strile warp`"
        );
        return Err(request(problem));
    }
    Ok([min_x, min_y, max_x, max_y])
}

/// Returns the polygon that clips pixels: from text, or from a file.
pub fn cutline(args: &PolygonArgs) -> Result<Option<Polygon>, Failure> {
    let Some(cutline) = args.cutline.as_deref() else { return Ok(None) };
    let start = cutline.trim_start().to_ascii_uppercase();
    let is_text = ["{", "POLYGON", "MULTIPOLYGON"].iter().any(|word| start.starts_with(word));
    let text = match is_text {
        true => cutline.to_owned(),
        false => {
            let fail = |error| Failure::Io(cutline.into(), error);
            let mut text = String::new();
            let file = std::fs::File::open(cutline).map_err(fail)?;
            file.take(LONGEST_CUTLINE).read_to_string(&mut text).map_err(fail)?;
            text
        }
    };
    let refuse = |problem| Failure::Request(format!("-cutline: {problem}"), None);
    let found = Polygon::from_text(&text).map_err(refuse)?;
    Ok(Some(match &args.cutline_srs {
        Some(crs) => found.with_crs(Some(crs.clone())),
        None => found,
    }))
}
