//! What is said about a raster besides its pixels: tags of the full image, and a sidecar for what has no tag.

use super::cells::refused;
use super::spec::RasterSpec;
use crate::error::Result;
use strile_tiff::gdal::{BandMetadata, Element, Metadata as Items, MetadataItem, pam::PamBand};
use strile_tiff::geo::tags_of;
use strile_tiff::{FieldType, FieldValue, Tag, Warnings};

/// What a new file says besides its pixels: tags of the full image and a sidecar.
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

impl Described {
    /// Makes 32-bit numbers of 64-bit ones, which a classic TIFF does not have; what does not fit is left out and told.
    pub(crate) fn narrow(&mut self) {
        let warnings = &mut self.warnings;
        self.fields.retain_mut(|(tag, value)| {
            let FieldValue::Raw { field_type, byte_order, bytes } = value else { return true };
            if !matches!(field_type, FieldType::Long8 | FieldType::SLong8) {
                return true;
            }
            let numbers = field_type.integers(bytes, *byte_order).unwrap_or_default();
            let narrow: Option<Vec<u32>> = numbers.iter().map(|&number| u32::try_from(number).ok()).collect();
            match narrow.filter(|narrow| !narrow.is_empty()) {
                Some(narrow) => *value = FieldValue::Longs(narrow),
                None => {
                    warnings.push(format!("{tag} has 64-bit numbers and is left out of a classic TIFF"));
                    return false;
                }
            }
            true
        });
    }
}

/// What is added to a file's name for what GDAL says of it.
pub(crate) const AUX_XML: &str = ".aux.xml";

/// What an own sidecar and a given one say, in one: the given one's elements follow.
pub(crate) fn merged(own: &str, given: &[u8]) -> std::result::Result<String, String> {
    const END: &str = "</PAMDataset>";
    let wrong = || format!("`{AUX_XML}`: expected text with the root element `PAMDataset`");
    let given = std::str::from_utf8(given).map_err(|_| wrong())?;
    let (_, inner) =
        given.split_once("<PAMDataset").and_then(|(_, rest)| rest.split_once('>')).ok_or_else(wrong)?;
    let (inner, _) = inner.rsplit_once(END).ok_or_else(wrong)?;
    let (head, tail) = own.rsplit_once(END).ok_or_else(wrong)?;
    Ok(format!("{head}{}\n{END}{tail}", inner.trim_matches('\n')))
}

/// Describes a raster. `by_tile`: it is a cloud-optimized file whose planes take turns, tile by tile, which GDAL and
/// its validator know from an item alone. The error says what no file could hold.
pub(crate) fn describe(spec: &RasterSpec, by_tile: bool) -> Result<Described> {
    let metadata = &spec.metadata;
    let mut warnings = Warnings::new();
    let geo = tags_of(&metadata.georeference).map_err(|problem| refused(problem.into()))?;
    warnings.append(geo.warnings);
    // Tags given by name come first, so that what is known otherwise replaces them.
    let mut fields = spec.extra_fields.clone();
    let mut items = Items::from_parts(&metadata.items, &metadata.bands);
    fields.extend(items.take_tags());
    let given = fields.iter_mut().find_map(|(tag, value)| match value {
        FieldValue::Text(xml) if *tag == Tag::GDAL_METADATA => Some(xml),
        _ => None,
    });
    match given {
        // Items as text, which stays as it is but for what has to be added.
        Some(xml) if by_tile => *xml = with_interleave(xml).map_err(refused)?,
        None if by_tile => items.items.push(MetadataItem {
            name: "INTERLEAVE".into(),
            domain: "IMAGE_STRUCTURE".into(),
            sample: None,
            role: None,
            value: "TILE".into(),
        }),
        _ => {}
    }
    fields.extend(items.to_field(&mut warnings));
    fields.extend(geo.fields);
    let mut sidecar = geo.sidecar;
    for (number, band) in (1..).zip(&metadata.bands) {
        // A colour table of the file says the same as one beside it.
        let kept =
            |element: &&Element| element.name != "ColorTable" || number > 1 || spec.colour_map.is_none();
        let elements: Vec<Element> = band.sidecar.iter().filter(kept).cloned().collect();
        let categories = if number == 1 { metadata.categories.clone() } else { Vec::new() };
        if !(elements.is_empty() && categories.is_empty()) {
            let metadata = BandMetadata { sidecar: elements, ..BandMetadata::default() };
            sidecar.bands.push(PamBand { band: number, categories, metadata, nodata: None });
        }
    }
    if metadata.bands.is_empty() && !metadata.categories.is_empty() {
        let categories = metadata.categories.clone();
        sidecar.bands.push(PamBand { band: 1, categories, ..PamBand::default() });
    }
    let aux_xml = (!sidecar.is_empty()).then(|| sidecar.to_xml(&mut warnings));
    Ok(Described {
        fields,
        nodata: metadata.nodata.map(|value| value.to_field()),
        aux_xml,
        warnings: warnings.iter().map(ToString::to_string).collect(),
    })
}

fn with_interleave(xml: &str) -> std::result::Result<String, String> {
    const END: &str = "</GDALMetadata>";
    let item = "  <Item name=\"INTERLEAVE\" domain=\"IMAGE_STRUCTURE\">TILE</Item>";
    match xml.rsplit_once(END) {
        Some((head, tail)) => Ok(format!("{}\n{item}\n{END}{tail}", head.trim_end())),
        None => Err(format!("GDAL_METADATA has no `{END}`, before which {item} has to go")),
    }
}
