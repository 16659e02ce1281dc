//! The XML of a VRT, as GDAL writes it.

use super::agree::{BandSaid, Said};
use super::place::{Box4, Grid, Rectangle};
use super::tile::Tile;
use crate::vrt::parse::TYPES;
use std::fmt::Write as _;
use strile_tiff::DataType;
use strile_tiff::gdal::{Element, NoData};
use strile_tiff::geo::{Crs, GeoTransform};

/// A text that grows by lines. Writing to it cannot fail.
pub(super) struct Text(pub(super) String);

impl Text {
    pub(super) fn line(&mut self, depth: usize, line: &str) {
        self.0.extend(std::iter::repeat_n("  ", depth));
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Writes the root, the reference system and the transform.
    pub(super) fn begin(
        &mut self,
        (width, height): (u32, u32),
        crs: Option<&Crs>,
        transform: Option<&GeoTransform>,
    ) {
        self.line(0, &format!("<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\">"));
        let code = || crs.and_then(|crs| crs.epsg).map(|code| format!("EPSG:{code}"));
        if let Some(srs) = crs.and_then(|crs| crs.wkt.clone()).or_else(code) {
            self.leaf(1, "SRS", &srs);
        }
        if let Some(transform) = transform {
            let values: Vec<String> = transform.to_gdal().iter().map(|v| format!("{v:e}")).collect();
            self.leaf(1, "GeoTransform", &values.join(", "));
        }
    }

    /// Writes `<name>text</name>`.
    pub(super) fn leaf(&mut self, depth: usize, name: &str, text: &str) {
        self.line(depth, &format!("<{name}>{}</{name}>", escaped(text)));
    }

    /// Writes items, one element per run of one domain.
    pub(super) fn items(&mut self, depth: usize, items: &[(&str, &str, &str)]) {
        for run in items.chunk_by(|a, b| a.0 == b.0) {
            match run.first().map(|item| item.0).filter(|domain| !domain.is_empty()) {
                Some(domain) => self.line(depth, &format!("<Metadata domain=\"{}\">", escaped(domain))),
                None => self.line(depth, "<Metadata>"),
            }
            for (_, name, value) in run {
                let item = format!("<MDI key=\"{}\">{}</MDI>", escaped(name), escaped(value));
                self.line(depth + 1, &item);
            }
            self.line(depth, "</Metadata>");
        }
    }
}

pub(super) fn text_of(tiles: &[Tile], paths: &[(String, bool)], grid: &Grid, said: &Said) -> String {
    let mut text = Text(String::new());
    text.begin(grid.size, said.crs.as_ref(), Some(&grid.transform));
    let items = said.items.iter().map(|item| (item.domain.as_str(), item.name.as_str(), item.value.as_str()));
    text.items(1, &items.collect::<Vec<_>>());
    for (number, band) in (1..).zip(&said.bands) {
        write_band(&mut text, number, band, (tiles, paths, grid));
    }
    if !said.masks.is_empty() {
        text.line(1, "<MaskBand>");
        text.line(2, "<VRTRasterBand dataType=\"Byte\">");
        for &at in &said.masks {
            let (Some(tile), Some(name), Some(Some(place))) =
                (tiles.get(at), paths.get(at), grid.places.get(at))
            else {
                continue;
            };
            let source =
                SourceText { tile, name, place, band: "mask,1".into(), nodata: None, uses_mask: true };
            source.write(&mut text, 3);
        }
        text.line(2, "</VRTRasterBand>");
        text.line(1, "</MaskBand>");
    }
    text.line(0, "</VRTDataset>");
    text.0
}

fn write_band(
    text: &mut Text,
    number: usize,
    band: &BandSaid,
    (tiles, paths, grid): (&[Tile], &[(String, bool)], &Grid),
) {
    let first = band.sources.first().and_then(|(at, _)| tiles.get(*at));
    let type_name = first.map_or("Byte", |tile| type_name(tile.data_type));
    text.line(1, &format!("<VRTRasterBand dataType=\"{type_name}\" band=\"{number}\">"));
    let metadata = &band.metadata;
    let scaled = metadata.scale.is_some() || metadata.offset.is_some();
    let leaves = [
        ("Description", metadata.description.clone()),
        ("NoDataValue", band.nodata.map(NoData::to_text)),
        ("UnitType", metadata.unit.clone()),
        ("Offset", scaled.then(|| format!("{:?}", metadata.offset.unwrap_or(0.0)))),
        ("Scale", scaled.then(|| format!("{:?}", metadata.scale.unwrap_or(1.0)))),
        ("ColorInterp", metadata.colour.clone()),
    ];
    for (name, value) in leaves {
        if let Some(value) = value {
            text.leaf(2, name, &value);
        }
    }
    if !band.categories.is_empty() {
        text.line(2, "<CategoryNames>");
        band.categories.iter().for_each(|name| text.leaf(3, "Category", name));
        text.line(2, "</CategoryNames>");
    }
    if !band.colour_table.is_empty() {
        text.line(2, "<ColorTable>");
        for [c1, c2, c3, c4] in &band.colour_table {
            text.line(3, &format!("<Entry c1=\"{c1}\" c2=\"{c2}\" c3=\"{c3}\" c4=\"{c4}\" />"));
        }
        text.line(2, "</ColorTable>");
    }
    for element in &metadata.sidecar {
        write_element(text, 2, element);
    }
    let bits = band.bits.map(|bits| bits.to_string());
    let statistics = metadata.statistics_items();
    let own =
        metadata.items.iter().chain(&statistics).map(|(name, value)| ("", name.as_str(), value.as_str()));
    let other = metadata
        .domain_items
        .iter()
        .map(|(domain, name, value)| (domain.as_str(), name.as_str(), value.as_str()));
    let bits = bits.iter().map(|bits| ("IMAGE_STRUCTURE", "NBITS", bits.as_str()));
    text.items(2, &own.chain(other).chain(bits).collect::<Vec<_>>());
    for (at, source_band) in &band.sources {
        let (Some(tile), Some(name), Some(Some(place))) =
            (tiles.get(*at), paths.get(*at), grid.places.get(*at))
        else {
            continue;
        };
        let uses_mask = band.by_mask && tile.is_masked() && tile.nodata.is_none();
        let source =
            SourceText { tile, name, place, band: source_band.to_string(), nodata: tile.nodata, uses_mask };
        source.write(text, 2);
    }
    text.line(1, "</VRTRasterBand>");
}

/// Writes an element unchanged: an attribute table, or a colour table of a sidecar.
fn write_element(text: &mut Text, depth: usize, element: &Element) {
    let attributes = element.attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escaped(value)));
    let (name, attributes, inner) = (&element.name, attributes.collect::<String>(), escaped(&element.text));
    if element.children.is_empty() {
        text.line(depth, &format!("<{name}{attributes}>{inner}</{name}>"));
        return;
    }
    text.line(depth, &format!("<{name}{attributes}>{inner}"));
    for child in &element.children {
        write_element(text, depth + 1, child);
    }
    text.line(depth, &format!("</{name}>"));
}

pub(super) fn type_name(data_type: DataType) -> &'static str {
    TYPES.iter().find(|(_, t)| *t == data_type).map_or("Byte", |(name, _)| name)
}

/// One source. It is complex if some of its pixels are transparent.
struct SourceText<'a> {
    tile: &'a Tile,
    name: &'a (String, bool),
    place: &'a Rectangle,
    band: String,
    nodata: Option<NoData>,
    uses_mask: bool,
}

impl SourceText<'_> {
    fn write(&self, text: &mut Text, depth: usize) {
        let kind = if self.nodata.is_some() || self.uses_mask { "ComplexSource" } else { "SimpleSource" };
        let ((width, height), (block_width, block_height)) = (self.tile.size, self.tile.block);
        let (name, relative) = self.name;
        text.line(depth, &format!("<{kind}>"));
        let relative = u8::from(*relative);
        let name = format!("<SourceFilename relativeToVRT=\"{relative}\">{}</SourceFilename>", escaped(name));
        text.line(depth + 1, &name);
        text.leaf(depth + 1, "SourceBand", &self.band);
        let type_name = type_name(self.tile.data_type);
        text.line(
            depth + 1,
            &format!(
                "<SourceProperties RasterXSize=\"{width}\" RasterYSize=\"{height}\" DataType=\"{type_name}\" \
                 BlockXSize=\"{block_width}\" BlockYSize=\"{block_height}\" />"
            ),
        );
        let rectangle = |name: &str, [x, y, width, height]: &Box4| {
            format!("<{name} xOff=\"{x}\" yOff=\"{y}\" xSize=\"{width}\" ySize=\"{height}\" />")
        };
        text.line(depth + 1, &rectangle("SrcRect", &self.place.source));
        text.line(depth + 1, &rectangle("DstRect", &self.place.target));
        if let Some(nodata) = self.nodata {
            text.leaf(depth + 1, "NODATA", &nodata.to_text());
        }
        if self.uses_mask {
            text.leaf(depth + 1, "UseMaskBand", "true");
        }
        text.line(depth, &format!("</{kind}>"));
    }
}

/// Escapes text for elements and attributes. Characters that XML cannot hold become spaces.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' | '\n' | '\t' => {
                let _cannot_fail = write!(out, "&#{};", u32::from(c));
            }
            '\u{fffe}' | '\u{ffff}' | '\0'..' ' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
