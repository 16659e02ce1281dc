//! Description of a file, for the page.

use super::{Describe, web};
use crate::answer::{Answer, Refusal, json_answer, number};
use crate::opened::{Opened, Place, full};
use serde_json::{Map, Value, json};
use strile::Input;
use strile::read::MaskSource;
use strile::tiff::gdal::{BandMetadata, NoData};

/// Maximum number of described bands.
const MOST_BANDS: usize = 1024;
const MOST_ITEMS: usize = 1024;
const LONGEST: usize = 64 << 10;

pub(super) fn info(opened: &Opened, describe: Option<&Describe>) -> Result<Answer, Refusal> {
    told(opened, describe).map(|told| json_answer(&told))
}

/// Returns the description of a file as JSON.
pub(super) fn told(opened: &Opened, describe: Option<&Describe>) -> Result<Value, Refusal> {
    let metadata = opened.input.metadata();
    let place = &metadata.georeference;
    let crs = place.crs.as_ref().map(|crs| {
        json!({
            "name": crs.name,
            "code": crs.epsg.map(|code| format!("EPSG:{code}")),
            // Null if the system is not known well enough.
            "geographic": opened.to_degrees().map(|degrees| degrees.from_is_geographic()),
        })
    });
    let transform = place.transform.map(|transform| transform.coefficients().map(number));
    let bounds = place.transform.map(|transform| {
        let all = transform.bounds(0.0, 0.0, opened.width.into(), opened.height.into());
        [all.min_x, all.min_y, all.max_x, all.max_y].map(number)
    });
    let mask = match opened.mask_source()? {
        MaskSource::Image => "mask",
        MaskSource::Alpha(_) => "alpha",
        MaskSource::NoData => "nodata",
        MaskSource::AllValid => "none",
    };
    let (size, photometric) = match &opened.input {
        Input::Tiff(dataset) => (dataset.tiff().map(|tiff| tiff.file_len), full(&opened.input)),
        Input::Vrt(_) => (None, None),
    };
    let items = metadata.items.iter().take(MOST_ITEMS).map(|item| {
        let name = match item.domain.as_str() {
            "" => item.name.clone(),
            domain => format!("{domain}:{}", item.name),
        };
        (name, json!(short(&item.value)))
    });
    Ok(json!({
        "name": opened.name,
        "width": opened.width,
        "height": opened.height,
        "count": opened.bands,
        "bands": bands(opened),
        "dtype": opened.data_type.name(),
        "photometric": photometric.map(|image| image.colour.photometric.name()),
        "palette": opened.palette,
        "categories": metadata.categories,
        "crs": crs,
        "transform": transform,
        "bounds": bounds,
        "levels": levels(opened),
        "mask": mask,
        "metadata": items.collect::<Map<String, Value>>(),
        "text": describe.map(|describe| describe(&opened.input)),
        "codec": opened.codec().unwrap_or_else(|| "mosaic".into()),
        "size_bytes": size,
        "web": web::is_possible(opened),
    }))
}

fn bands(opened: &Opened) -> Value {
    let all = &opened.input.metadata().bands;
    let unknown = BandMetadata::default();
    let band = |band: u16| {
        let known = all.get(usize::from(band) - 1).unwrap_or(&unknown);
        json!({
            "name": format!("Band {band}"),
            "description": known.description.as_deref().map(short),
            "nodata": opened.nodata(band).map(nodata),
            "unit": known.unit.as_deref().map(short),
            "scale": known.scale.map(number),
            "offset": known.offset.map(number),
            "colour": known.colour.as_deref().map(short),
        })
    };
    (1..=opened.bands).take(MOST_BANDS).map(band).collect()
}

/// Returns a nodata value; numbers that JSON cannot represent become strings.
fn nodata(value: NoData) -> Value {
    match value {
        NoData::Integer(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => json!(value),
            (_, Ok(value)) => json!(value),
            _ => Value::Null,
        },
        NoData::Float(value) if value.is_nan() => json!("nan"),
        NoData::Float(f64::INFINITY) => json!("inf"),
        NoData::Float(f64::NEG_INFINITY) => json!("-inf"),
        NoData::Float(value) => json!(value),
    }
}

fn levels(opened: &Opened) -> Value {
    let level = |(at, level): (usize, &crate::opened::Level)| {
        json!({
            "level": at,
            "width": level.width,
            "height": level.height,
            "scale_x": f64::from(opened.width) / f64::from(level.width),
            "scale_y": f64::from(opened.height) / f64::from(level.height),
            "tile_width": level.block.0,
            "tile_height": level.block.1,
            "stored": matches!(level.place, Place::Stored(_)),
        })
    };
    opened.levels.iter().enumerate().map(level).collect()
}

/// Truncates a very long text of a file.
fn short(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at < LONGEST).last().unwrap_or(0);
    if text.len() <= LONGEST { text } else { text.get(..end).unwrap_or("") }
}
