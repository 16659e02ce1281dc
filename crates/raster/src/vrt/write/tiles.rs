//! Writes the VRT of a raster that is written as tiles.

use super::text::{Text, escaped, type_name};
use crate::error::{Error, Result};
use crate::sink::{FileSink, Sink as _};
use crate::write::AUX_XML;
use crate::{RasterSpec, Window};
use std::path::Path;
use strile_tiff::geo::AreaOrPoint;
use strile_tiff::{FieldValue, Tag};

/// Writes the VRT of a raster whose tiles are files: their paths relative to the VRT, and their windows in the raster.
/// An existing file at `path` is replaced. `aux_xml` is the text of the `.aux.xml` that is written with it.
pub fn write_tiles(
    path: impl AsRef<Path>,
    raster: &RasterSpec,
    tiles: &[(String, Window)],
    aux_xml: Option<Vec<u8>>,
) -> Result<()> {
    let path = path.as_ref();
    let mut sink = Box::new(FileSink::create(path, true)?);
    let beside = aux_xml.map_or(Ok(()), |content| sink.sidecar(AUX_XML, content));
    let stored =
        beside.and_then(|()| sink.append(text_of(raster, tiles).as_bytes())).and_then(|()| sink.commit());
    stored.map_err(|error| Error::io(path, error))
}

fn text_of(raster: &RasterSpec, tiles: &[(String, Window)]) -> String {
    let mut text = Text(String::new());
    let georeference = &raster.metadata.georeference;
    let size = (raster.width, raster.height);
    text.begin(size, georeference.crs.as_ref(), georeference.transform.as_ref());
    if georeference.area_or_point == Some(AreaOrPoint::Point) {
        text.items(1, &[("", "AREA_OR_POINT", "Point")]);
    }
    // A value that no sample has is stored as the text of a tag.
    let stated = raster.extra_fields.iter().find_map(|(tag, value)| match value {
        FieldValue::Text(text) if *tag == Tag::GDAL_NODATA => Some(text.clone()),
        _ => None,
    });
    let nodata = raster.metadata.nodata.map(|value| value.to_text()).or(stated);
    let type_name = type_name(raster.data_type);
    for band in 1..=raster.bands {
        text.line(1, &format!("<VRTRasterBand dataType=\"{type_name}\" band=\"{band}\">"));
        if let Some(nodata) = &nodata {
            text.leaf(2, "NoDataValue", nodata);
        }
        for (name, Window { column, row, width, height }) in tiles {
            let size = format!("xSize=\"{width}\" ySize=\"{height}\"");
            text.line(2, "<SimpleSource>");
            let name = format!("<SourceFilename relativeToVRT=\"1\">{}</SourceFilename>", escaped(name));
            text.line(3, &name);
            text.leaf(3, "SourceBand", &band.to_string());
            text.line(3, &format!("<SrcRect xOff=\"0\" yOff=\"0\" {size} />"));
            text.line(3, &format!("<DstRect xOff=\"{column}\" yOff=\"{row}\" {size} />"));
            text.line(2, "</SimpleSource>");
        }
        text.line(1, "</VRTRasterBand>");
    }
    text.line(0, "</VRTDataset>");
    text.0
}
