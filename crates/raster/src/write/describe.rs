//! Describes a raster besides its pixels: tags of the full image, and a sidecar for properties without a tag.

use super::cells::refused;
use super::spec::RasterSpec;
use crate::error::Result;
use strile_tiff::gdal::{BandMetadata, Element, Metadata as Items, MetadataItem, pam::PamBand};
use strile_tiff::geo::tags_of;
use strile_tiff::{FieldType, FieldValue, Tag, Warnings};

/// The description of a new file: tags of the full image and a sidecar.
#[derive(Debug, Default)]
pub(crate) struct Described {
    /// Tags of the full image.
    pub(crate) fields: Vec<(Tag, FieldValue)>,
    /// The nodata tag, which every level has.
    pub(crate) nodata: Option<(Tag, FieldValue)>,
    /// Text of `.aux.xml`.
    pub(crate) aux_xml: Option<String>,
    /// Warnings about properties that could not be stored, or are stored elsewhere.
    pub(crate) warnings: Vec<String>,
}

impl Described {
    /// Converts 64-bit numbers to 32-bit ones, because a classic TIFF does not have the former. Numbers that do not fit
    /// are omitted with a warning.
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

/// Suffix of GDAL's metadata sidecar.
pub(crate) const AUX_XML: &str = ".aux.xml";

/// Merges the writer's sidecar and a given one: the given one's elements follow.
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

/// Describes a raster. `by_tile` marks a cloud-optimized file whose planes alternate tile by tile; GDAL and its
/// validator recognise this only by an item. Fails for properties that no file can hold.
pub(crate) fn describe(spec: &RasterSpec, by_tile: bool) -> Result<Described> {
    let metadata = &spec.metadata;
    let mut warnings = Warnings::new();
    let geo = tags_of(&metadata.georeference).map_err(|problem| refused(problem.into()))?;
    warnings.append(geo.warnings);
    // Tags given by name come first, so that known properties replace them.
    let mut fields = spec.extra_fields.clone();
    let mut items = Items::from_parts(&metadata.items, &metadata.bands);
    fields.extend(items.take_tags());
    let given = fields.iter_mut().find_map(|(tag, value)| match value {
        FieldValue::Text(xml) if *tag == Tag::GDAL_METADATA => Some(xml),
        _ => None,
    });
    match given {
        // Items as text, unchanged except for additions.
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
        // A colour table in the file is equivalent to one beside it.
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
