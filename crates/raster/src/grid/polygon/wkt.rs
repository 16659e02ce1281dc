//! Reads polygons from WKT: `POLYGON` and `MULTIPOLYGON`. Z and M are ignored.

use super::Ring;
use strile_tiff::InvalidValue;

/// Returns the rings of a text.
pub(super) fn rings(text: &str) -> Result<Vec<Ring>, InvalidValue> {
    // EWKT starts with a reference system.
    if text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("SRID=")) {
        return Err("`SRID=` is not read: give the polygon without it, and its reference system"
            .to_owned()
            .into());
    }
    let (name, rest) = text.split_once('(').unwrap_or((text, ""));
    let mut words = name.split_ascii_whitespace();
    let kind = words.next().unwrap_or_default().to_ascii_uppercase();
    let depth = match kind.as_str() {
        "POLYGON" => 2,
        "MULTIPOLYGON" => 3,
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(format!(
                "expected a polygon: GeoJSON, or WKT that begins with POLYGON or MULTIPOLYGON, got `{}`",
                other.escape_debug()
            )
            .into());
        }
    };
    for word in words {
        match word.to_ascii_uppercase().as_str() {
            "Z" | "M" | "ZM" => {}
            "EMPTY" => return Err("the polygon is empty".to_owned().into()),
            _ => return Err(wrong()),
        }
    }
    let mut rings = Vec::new();
    let (mut open, mut at) = (1, 0);
    let bytes = rest.as_bytes();
    let mut ended = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' if open < depth => open += 1,
            b')' if open > 0 => {
                open -= 1;
                ended = open == 0;
            }
            b',' if open < depth && open > 0 => {}
            b if b.is_ascii_whitespace() => {}
            _ if open == depth => {
                let end =
                    bytes.get(at..).unwrap_or_default().iter().position(|&b| b == b')').ok_or_else(wrong)?;
                rings.push(ring(rest.get(at..at + end).ok_or_else(wrong)?)?);
                at += end;
                continue;
            }
            _ => return Err(wrong()),
        }
        at += 1;
        if ended {
            break;
        }
    }
    let left = rest.get(at..).unwrap_or_default();
    if !ended || !left.trim().is_empty() {
        return Err(wrong());
    }
    Ok(rings)
}

fn ring(text: &str) -> Result<Ring, InvalidValue> {
    let vertex = |text: &str| {
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<f64>);
        let (x, y) = numbers.next()?.ok().zip(numbers.next()?.ok())?;
        let more: Vec<_> = numbers.collect();
        (more.len() <= 2 && more.iter().all(Result::is_ok)).then_some((x, y))
    };
    text.split(',').map(vertex).collect::<Option<Ring>>().ok_or_else(wrong)
}

fn wrong() -> InvalidValue {
    "the WKT of the polygon is not valid: expected rings of `x y, x y, …` in brackets".to_owned().into()
}
