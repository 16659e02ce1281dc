//! The properties of a dataset as JSON with stable keys.

use crate::failure::Failure;
use crate::geo::{geo_of, number};
use crate::json::fields;
use serde_core::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};
use strile::file::{Level, Page};
use strile::tiff::gdal::{BandMetadata, MetadataItem};
use strile::tiff::geo::Crs;
use strile::tiff::{BlockKind, ByteOrder, ExtraSample, Image, Variant};
use strile::tiff::{Planar, Predictor};
use strile::{Dataset, Input, ReadOptions, Vrt};

/// The facts of a file.
pub struct Facts {
    /// All facts in short form: unknown bands are null, because a file of a hundred bytes can have 65,535, and colour
    /// maps are replaced by their lengths, because directories can share one.
    pub short: Value,
    /// The pages of the file.
    pages: Vec<Page>,
}

/// Returns the facts of a file.
pub fn facts(input: &Input) -> Result<Facts, Failure> {
    let nothing = BandMetadata::default();
    let band = |known: &BandMetadata| if *known == nothing { Value::Null } else { band(known) };
    let metadata = input.metadata();
    let geo = &metadata.georeference;
    let tiff = input.tiff().and_then(Dataset::tiff);
    let options = ReadOptions::default();
    let mut place = geo_of(metadata, input.transform(&options)?, &options);
    let (pages, told, size) = match input {
        Input::Tiff(dataset) => {
            let full = dataset.pages().first().and_then(Page::full);
            let size = full.map(|full| (full.image.width, full.image.height));
            (dataset.pages().to_vec(), dataset.pages().iter().map(page).collect::<Vec<_>>(), size)
        }
        Input::Vrt(vrt) => (Vec::new(), vec![mosaic(vrt)], Some((vrt.width(), vrt.height()))),
    };
    if let (Some(place), Some((width, height))) = (place.as_object_mut(), size) {
        place.insert("crs".into(), geo.crs.as_ref().or(geo.gcp_crs.as_ref()).map(crs).into());
        let bounds = geo.transform.map(|transform| {
            let all = transform.bounds(0.0, 0.0, width.into(), height.into());
            [all.min_x, all.min_y, all.max_x, all.max_y].map(number)
        });
        place.insert("bounds".into(), json!(bounds));
        let resolution = geo.transform.map(|transform| <[f64; 2]>::from(transform.resolution()).map(number));
        place.insert("pixel_size".into(), json!(resolution));
        place.insert("gcps".into(), geo.gcps.len().into());
        place.insert("rpc".into(), geo.rpc.is_some().into());
    }
    let short = json!({
        "file": input.name(),
        "size": tiff.map(|tiff| tiff.file_len),
        "format": tiff.map_or("VRT", |tiff| match tiff.header.variant {
            Variant::Classic => "TIFF",
            Variant::Big => "BigTIFF",
        }),
        "byte_order": tiff.map(|tiff| match tiff.header.byte_order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        }),
        "directories": tiff.map(|tiff| tiff.directories.len()),
        "pages": told,
        "geo": place,
        "bands": metadata.bands.iter().map(band).collect::<Vec<_>>(),
        "categories": metadata.categories,
        "metadata": items(&metadata.items),
        "warnings": input.warnings().iter().map(|told| fields!(told; code, place, message)).collect::<Vec<_>>(),
    });
    Ok(Facts { short, pages })
}

/// The facts of files in full, as printed.
pub struct Files<'a>(pub &'a [&'a Facts]);

impl Serialize for Files<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("files", self.0)?;
        map.end()
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(facts) = self.short.as_object() else { return self.short.serialize(serializer) };
        let mut map = serializer.serialize_map(Some(facts.len()))?;
        for (key, value) in facts {
            match (key.as_str(), value.as_array()) {
                ("bands", Some(bands)) => map.serialize_entry(key, &Bands(bands))?,
                ("pages", Some(pages)) if !self.pages.is_empty() => {
                    map.serialize_entry(key, &Levels(pages, &self.pages, |page| page.levels.as_slice()))?;
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

/// Bands, with unknown ones as objects like the others.
struct Bands<'a>(&'a [Value]);

impl Serialize for Bands<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unknown = band(&BandMetadata::default());
        serializer.collect_seq(self.0.iter().map(|band| if band.is_null() { &unknown } else { band }))
    }
}

/// Pages, or the overviews of one: their facts in short form, and the levels themselves.
struct Levels<'a, T>(&'a [Value], &'a [T], fn(&'a T) -> &'a [Level]);

impl<T> Serialize for Levels<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(short, found, levels) = self;
        serializer.collect_seq(short.iter().zip(*found).map(|(short, found)| Full(short, levels(found))))
    }
}

/// A level and its overviews, with the colours of their maps.
struct Full<'a>(&'a Value, &'a [Level]);

impl Serialize for Full<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Some(short), Some((level, overviews))) = (self.0.as_object(), self.1.split_first()) else {
            return self.0.serialize(serializer);
        };
        let mut map = serializer.serialize_map(Some(short.len()))?;
        for (key, value) in short {
            match (key.as_str(), value.as_array()) {
                ("colour_map", _) => map.serialize_entry(key, &level.image.colour.colour_map)?,
                ("overviews", Some(short)) => {
                    map.serialize_entry(key, &Levels(short, overviews, std::slice::from_ref))?;
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

fn mosaic(vrt: &Vrt) -> Value {
    json!({
        "width": vrt.width(),
        "height": vrt.height(),
        "bands": vrt.bands(),
        "dtype": vrt.data_type().name(),
        "sources": vrt.sources(),
    })
}

fn page(page: &Page) -> Value {
    let mut facts = page.full().map(level).unwrap_or_default();
    facts.insert("overviews".into(), page.levels.iter().skip(1).map(level).map(Value::from).collect());
    facts.into()
}

fn level(level: &Level) -> Map<String, Value> {
    let mut facts = image(&level.image);
    facts.insert("sidecar".into(), (level.file > 0).into());
    let mask = level.mask.as_ref().map(|(file, mask)| {
        let mut facts = image(mask);
        facts.insert("sidecar".into(), (*file > 0).into());
        facts
    });
    facts.insert("mask".into(), mask.into());
    facts
}

fn image(image: &Image) -> Map<String, Value> {
    let grid = &image.grid;
    let pixel = image.sample.data_type().map(|data_type| data_type.size() as u64 * u64::from(image.samples));
    let decoded = pixel.map(|pixel| pixel.saturating_mul(u64::from(image.width) * u64::from(image.height)));
    let facts = json!({
        "width": image.width,
        "height": image.height,
        "bands": image.samples,
        "dtype": image.sample.data_type().map(|data_type| data_type.name()),
        "sample": image.sample.to_string(),
        "bits": image.sample.bits,
        "mixed_bits": image.mixed_bits,
        "compression": image.compression.name(),
        "predictor": match image.predictor {
            Predictor::None => "none",
            Predictor::Horizontal => "horizontal",
            Predictor::FloatingPoint => "floating-point",
        },
        "blocks": {
            "kind": match grid.kind { BlockKind::Strip => "strips", BlockKind::Tile => "tiles" },
            "width": grid.block_width,
            "height": grid.block_height,
            "across": grid.across,
            "down": grid.down,
            "count": grid.blocks(),
        },
        "interleave": match image.planar { Planar::Chunky => "pixel", Planar::Separate => "band" },
        "photometric": image.colour.photometric.name(),
        "extra_samples": image.colour.extra_samples.iter().map(|extra| match extra {
            ExtraSample::Unspecified => "unspecified",
            ExtraSample::AssociatedAlpha => "associated-alpha",
            ExtraSample::UnassociatedAlpha => "unassociated-alpha",
        }).collect::<Vec<_>>(),
        "orientation": image.orientation,
        "colour_map": image.colour.colour_map.as_ref().map(Vec::len),
        "decoded_bytes": decoded,
    });
    match facts {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn crs(crs: &Crs) -> Value {
    json!({
        "name": crs.name,
        "kind": format!("{:?}", crs.kind).to_lowercase(),
        "epsg": crs.epsg,
        "horizontal_epsg": crs.horizontal_epsg,
        "unit": crs.unit.as_ref().map(|unit| unit.name.clone()),
        "vertical": crs.vertical.as_ref().map(|vertical| fields!(vertical; name, epsg)),
        "wkt": crs.wkt,
    })
}

fn band(band: &BandMetadata) -> Value {
    let statistics = band.statistics.as_ref().map(|statistics| {
        json!({
            "minimum": statistics.minimum.map(number),
            "maximum": statistics.maximum.map(number),
            "mean": statistics.mean.map(number),
            "standard_deviation": statistics.standard_deviation.map(number),
            "valid_percent": statistics.valid_percent.map(number),
        })
    });
    json!({
        "description": band.description,
        "scale": band.scale.map(number),
        "offset": band.offset.map(number),
        "unit": band.unit,
        "colour": band.colour,
        "statistics": statistics,
        "items": band.items.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>(),
    })
}

fn items(items: &[MetadataItem]) -> Value {
    items.iter().map(|item| fields!(item; domain, name, value)).collect()
}
