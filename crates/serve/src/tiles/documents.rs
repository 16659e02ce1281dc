//! Documents about a file: info, TileJSON, WMTS capabilities.

use super::matrix;
use crate::answer::{Refusal, number};
use crate::mercator;
use crate::opened::{Opened, Place};
use crate::request::Asked;
use serde_json::{Value, json};
use std::fmt::Write as _;
use strile::tiff::gdal::BandMetadata;

/// Maximum number of described bands.
const MOST_BANDS: u16 = 1024;
/// Metres per screen pixel, by the WMTS standard.
const SCREEN_PIXEL: f64 = 0.000_28;

/// The tiles that a document describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matrix {
    Native,
    WebMercator,
}

impl Matrix {
    /// Returns the set of a name; without a name web maps, for files that can be put on them.
    pub(super) fn of(name: Option<&str>, opened: &Opened) -> Result<Self, Refusal> {
        match name {
            Some("Native") => Ok(Self::Native),
            Some("WebMercatorQuad") if mercator::is_placed(opened) => Ok(Self::WebMercator),
            Some("WebMercatorQuad") => Err(Refusal::unable(format!(
                "{}: has no reference system or no transform; use the tiles of `Native`",
                opened.name
            ))),
            None if mercator::is_placed(opened) => Ok(Self::WebMercator),
            None => Ok(Self::Native),
            Some(_) => Err(Refusal::bad("expected the tile matrix set WebMercatorQuad or Native")),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::WebMercator => "WebMercatorQuad",
        }
    }
}

/// Returns the content of titiler's `/info`.
pub(super) fn info(opened: &Opened) -> Value {
    let metadata = opened.input.metadata();
    let place = &metadata.georeference;
    let bounds = place.transform.map(|transform| {
        let all = transform.bounds(0.0, 0.0, opened.width.into(), opened.height.into());
        [all.min_x, all.min_y, all.max_x, all.max_y].map(number)
    });
    let unknown = BandMetadata::default();
    let bands = || {
        let band =
            |band: u16| (format!("b{band}"), metadata.bands.get(usize::from(band) - 1).unwrap_or(&unknown));
        (1..=opened.bands.min(MOST_BANDS)).map(band)
    };
    let nodata = opened.nodata(1);
    let kind = match opened.mask_source() {
        Ok(strile::read::MaskSource::Image) => "Mask",
        Ok(strile::read::MaskSource::Alpha(_)) => "Alpha",
        Ok(strile::read::MaskSource::NoData) => "Nodata",
        _ => "None",
    };
    json!({
        "name": opened.name,
        "driver": if opened.input.tiff().is_some() { "GTiff" } else { "VRT" },
        "width": opened.width,
        "height": opened.height,
        "count": opened.bands,
        "dtype": opened.data_type.name(),
        "crs": place.crs.as_ref().map(|crs| match crs.epsg {
            Some(code) => format!("http://www.opengis.net/def/crs/EPSG/0/{code}"),
            None => crs.name.clone(),
        }),
        "bounds": bounds,
        "geographic_bounds": mercator::bounds(opened).map(|bounds| bounds.map(number)),
        "transform": place.transform.map(|transform| transform.coefficients().map(number)),
        "nodata_type": kind,
        "nodata_value": nodata.map(|nodata| number(nodata.as_f64())),
        "band_descriptions": bands().map(|(name, band)| json!([name, band.description.as_deref().unwrap_or("")])).collect::<Vec<_>>(),
        "colorinterp": bands().map(|(_, band)| band.colour.clone()).collect::<Vec<_>>(),
        "scales": bands().map(|(_, band)| number(band.scale.unwrap_or(1.0))).collect::<Vec<_>>(),
        "offsets": bands().map(|(_, band)| number(band.offset.unwrap_or(0.0))).collect::<Vec<_>>(),
        "overviews": opened.levels.iter().skip(1).filter(|level| matches!(level.place, Place::Stored(_)))
            .map(|level| (f64::from(opened.width) / f64::from(level.width)).round()).collect::<Vec<_>>(),
        "codec": opened.codec(),
    })
}

/// Returns the parameters of a request after `?`, without those that tiles do not have.
fn forwarded(asked: &Asked, opened: &Opened) -> String {
    let has_url = asked.parameters.iter().any(|(name, _)| name == "url");
    let own = [("url".to_owned(), opened.name.clone())];
    let all = own.iter().filter(|_| !has_url).chain(&asked.parameters);
    let kept = all.filter(|(name, _)| !matches!(name.as_str(), "tile_format" | "tilesize"));
    kept.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect::<Vec<_>>().join("&")
}

/// Percent-encodes all but plain characters.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-_.~/,".contains(&byte) {
            true => out.push(char::from(byte)),
            false => {
                let _in_memory = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Returns the extension of the described tiles.
fn extension(asked: &Asked) -> Result<&str, Refusal> {
    let extension = asked.get("tile_format")?.unwrap_or("png");
    super::encode::Format::parse(extension)?;
    Ok(extension)
}

/// Returns TileJSON 2.2.
pub(super) fn tile_json(
    opened: &Opened,
    matrix: Matrix,
    asked: &Asked,
    base: &str,
) -> Result<Value, Refusal> {
    let tiles = format!(
        "{base}/tiles/{}/{{z}}/{{x}}/{{y}}.{}?{}",
        matrix.name(),
        extension(asked)?,
        forwarded(asked, opened)
    );
    let (smallest, largest, bounds) = match matrix {
        Matrix::Native => (0, matrix::largest_zoom(opened, 256), None),
        Matrix::WebMercator => {
            let (smallest, largest) = mercator::zooms(opened, 256)
                .ok_or_else(|| Refusal::unable("the file lies outside of web maps"))?;
            (smallest, largest, mercator::bounds(opened))
        }
    };
    let mut told = json!({
        "tilejson": "2.2.0",
        "name": opened.name,
        "version": "1.0.0",
        "scheme": "xyz",
        "tiles": [tiles],
        "minzoom": smallest,
        "maxzoom": largest,
    });
    if let (Some(map), Some([west, south, east, north])) = (told.as_object_mut(), bounds) {
        map.insert("bounds".into(), json!([west, south, east, north]));
        let middle = if west <= east { (west + east) / 2.0 } else { west };
        map.insert("center".into(), json!([middle, (south + north) / 2.0, smallest]));
    }
    Ok(told)
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// One tile matrix: its zoom, units per pixel, corner, and columns and rows of tiles.
struct Zoom {
    zoom: u32,
    pixel: f64,
    corner: (f64, f64),
    count: (u64, u64),
}

/// Returns WMTS 1.0.0 capabilities with one layer.
pub(super) fn wmts(opened: &Opened, matrix: Matrix, asked: &Asked, base: &str) -> Result<String, Refusal> {
    let extension = extension(asked)?;
    let kind = super::encode::Format::parse(extension)?.content_type();
    let address = format!(
        "{base}/tiles/{}/{{TileMatrix}}/{{TileCol}}/{{TileRow}}.{extension}?{}",
        matrix.name(),
        forwarded(asked, opened)
    );
    let (crs, metres, zooms) = match matrix {
        Matrix::WebMercator => {
            let (_, largest) = mercator::zooms(opened, 256)
                .ok_or_else(|| Refusal::unable("the file lies outside of web maps"))?;
            let half = mercator::PIXEL_AT_0 * 128.0;
            let zoom = |zoom: u32| {
                let tiles = 1_u64 << zoom;
                #[expect(clippy::cast_precision_loss, reason = "a power of two")]
                let pixel = mercator::PIXEL_AT_0 / tiles as f64;
                Zoom { zoom, pixel, corner: (-half, half), count: (tiles, tiles) }
            };
            (3857, 1.0, (0..=largest).map(zoom).collect::<Vec<_>>())
        }
        Matrix::Native => native(opened)?,
    };
    let name = escaped(&opened.name);
    let mut text = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<Capabilities xmlns="http://www.opengis.net/wmts/1.0" xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.0.0">
  <ows:ServiceIdentification>
    <ows:Title>strile</ows:Title>
    <ows:ServiceType>OGC WMTS</ows:ServiceType>
    <ows:ServiceTypeVersion>1.0.0</ows:ServiceTypeVersion>
  </ows:ServiceIdentification>
  <Contents>
    <Layer>
      <ows:Title>{name}</ows:Title>
"#
    );
    if let Some([west, south, east, north]) = mercator::bounds(opened) {
        let _in_memory = write!(
            text,
            "      <ows:WGS84BoundingBox>\n        <ows:LowerCorner>{west} {south}</ows:LowerCorner>\n        \
             <ows:UpperCorner>{east} {north}</ows:UpperCorner>\n      </ows:WGS84BoundingBox>\n"
        );
    }
    let (set, address) = (matrix.name(), escaped(&address));
    let _in_memory = write!(
        text,
        r#"      <ows:Identifier>{name}</ows:Identifier>
      <Style isDefault="true">
        <ows:Identifier>default</ows:Identifier>
      </Style>
      <Format>{kind}</Format>
      <TileMatrixSetLink>
        <TileMatrixSet>{set}</TileMatrixSet>
      </TileMatrixSetLink>
      <ResourceURL format="{kind}" resourceType="tile" template="{address}"/>
    </Layer>
    <TileMatrixSet>
      <ows:Identifier>{set}</ows:Identifier>
      <ows:SupportedCRS>urn:ogc:def:crs:EPSG::{crs}</ows:SupportedCRS>
"#
    );
    for Zoom { zoom, pixel, corner: (x, y), count: (columns, rows) } in zooms {
        let scale = pixel * metres / SCREEN_PIXEL;
        let _in_memory = write!(
            text,
            r#"      <TileMatrix>
        <ows:Identifier>{zoom}</ows:Identifier>
        <ScaleDenominator>{scale}</ScaleDenominator>
        <TopLeftCorner>{x} {y}</TopLeftCorner>
        <TileWidth>256</TileWidth>
        <TileHeight>256</TileHeight>
        <MatrixWidth>{columns}</MatrixWidth>
        <MatrixHeight>{rows}</MatrixHeight>
      </TileMatrix>
"#
        );
    }
    text.push_str("    </TileMatrixSet>\n  </Contents>\n</Capabilities>\n");
    Ok(text)
}

/// Returns the description of the file's own tiles: the code of its system, metres per unit, and the zooms.
fn native(opened: &Opened) -> Result<(u32, f64, Vec<Zoom>), Refusal> {
    let place = &opened.input.metadata().georeference;
    let (Some(crs), Some(transform)) = (place.crs.as_ref(), place.transform) else {
        return Err(Refusal::unable("WMTS needs a reference system and a transform; use TileJSON"));
    };
    let is_square = (transform.a + transform.e).abs() <= transform.a.abs() * 1e-9;
    if transform.b != 0.0 || transform.d != 0.0 || transform.a <= 0.0 || !is_square {
        return Err(Refusal::unable(
            "WMTS needs square pixels with north up; use TileJSON, or WebMercatorQuad",
        ));
    }
    let unknown = || Refusal::unable("WMTS needs a reference system with an EPSG code; use TileJSON");
    let code = crs.epsg.or(crs.horizontal_epsg).ok_or_else(unknown)?;
    let is_geographic =
        matches!(crs.kind, strile::crs::CrsKind::Geographic | strile::crs::CrsKind::Geographic3D);
    let metres = match (is_geographic, &crs.unit) {
        // On the equator, by the standard.
        (true, _) => 6_378_137.0 * std::f64::consts::PI / 180.0,
        (false, Some(unit)) => unit.size,
        (false, None) => 1.0,
    };
    // The standard uses the axis order of the system: latitude first.
    let corner = if is_geographic { (transform.f, transform.c) } else { (transform.c, transform.f) };
    let zoom = |zoom: u32| Zoom {
        zoom,
        pixel: transform.a * matrix::scale_at(opened, 256, zoom),
        corner,
        count: matrix::count_at(opened, 256, zoom),
    };
    Ok((code, metres, (0..=matrix::largest_zoom(opened, 256)).map(zoom).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_files_cannot_leave_their_place() {
        assert_eq!(escaped("a<b>&\"'\u{7}é"), "a&lt;b&gt;&amp;&quot;&apos; é");
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd/%C3%A9");
    }
}
