//! Reads polygons from GeoJSON.

use super::{Polygon, Ring};
use serde_json::Value;
use strile_crs::Crs;
use strile_tiff::InvalidValue;

/// Maximum nesting of features and collections.
const DEEPEST: usize = 8;

/// Returns the polygons of a text.
pub(super) fn polygon(text: &str) -> Result<Polygon, InvalidValue> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("the GeoJSON is not valid: {error}"))?;
    let crs = match value.get("crs") {
        None | Some(Value::Null) => Crs::from_epsg(4326),
        Some(named) => {
            let name = named.get("properties").and_then(|it| it.get("name")).and_then(Value::as_str);
            let name = name.ok_or_else(|| "the `crs` of the GeoJSON has no name".to_owned())?;
            match name {
                "urn:ogc:def:crs:OGC:1.3:CRS84" | "urn:ogc:def:crs:OGC::CRS84" => Crs::from_epsg(4326),
                // Coordinates of GeoJSON have x first, whatever the axes of the system.
                name => Some(
                    Crs::from_user_input(name)
                        .map_err(|problem| format!("the `crs` of the GeoJSON is not known: {problem}"))?,
                ),
            }
        }
    };
    let crs = crs.ok_or_else(|| "EPSG:4326 is not known".to_owned())?;
    let mut rings = Vec::new();
    geometry(&value, 0, &mut rings)?;
    Polygon::new(Some(crs), rings)
}

fn geometry(value: &Value, depth: usize, rings: &mut Vec<Ring>) -> Result<(), InvalidValue> {
    if depth > DEEPEST {
        return Err("collections of the GeoJSON are nested too deeply".to_owned().into());
    }
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let list = |name: &str| {
        let found = value.get(name).and_then(Value::as_array);
        found.ok_or_else(|| format!("expected `{name}` in a {kind} of the GeoJSON"))
    };
    match kind {
        "Polygon" => rings.extend(polygon_rings(list("coordinates")?)?),
        "MultiPolygon" => {
            for one in list("coordinates")? {
                let one = one.as_array().ok_or_else(|| "expected a list of rings".to_owned())?;
                rings.extend(polygon_rings(one)?);
            }
        }
        "Feature" => match value.get("geometry") {
            None | Some(Value::Null) => {}
            Some(own) => geometry(own, depth + 1, rings)?,
        },
        "FeatureCollection" => {
            list("features")?.iter().try_for_each(|one| geometry(one, depth + 1, rings))?
        }
        "GeometryCollection" => {
            list("geometries")?.iter().try_for_each(|one| geometry(one, depth + 1, rings))?;
        }
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(format!("expected polygons in the GeoJSON, got `{}`", other.escape_debug()).into());
        }
    }
    Ok(())
}

fn polygon_rings(list: &[Value]) -> Result<Vec<Ring>, InvalidValue> {
    let vertex = |value: &Value| -> Option<(f64, f64)> {
        let numbers = value.as_array()?;
        Some((numbers.first()?.as_f64()?, numbers.get(1)?.as_f64()?))
    };
    let ring = |value: &Value| -> Option<Ring> { value.as_array()?.iter().map(vertex).collect() };
    let wrong = || "expected rings of [x, y] in the GeoJSON".to_owned().into();
    list.iter().map(|value| ring(value).ok_or_else(wrong)).collect()
}
