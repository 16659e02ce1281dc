//! Changes of values and of the description, and their effect on the raster that is written.

use super::colours;
use super::numbers::{is_complex, is_whole, limits};
use super::options::{ConvertOptions, Expand, Rescale};
use super::shape::{Shape, drop_statistics};
use super::values::{Given, Map, Values};
use crate::file::input::Input;
use crate::write::RasterSpec;
use std::sync::Arc;
use strile_tiff::gdal::{BandMetadata, Element, MetadataItem, NoData};
use strile_tiff::geo::AreaOrPoint;
use strile_tiff::{DataType, ExtraSample, Photometric, Tag};

/// Properties of the input's samples.
pub(super) struct Facts {
    pub(super) data_type: DataType,
    /// Bands that are read, from 1.
    pub(super) bands: Vec<u16>,
    /// Bits of a sample, if fewer than its type has.
    pub(super) bits: Option<u16>,
}

/// Planned changes of values. Ranges that were not given are determined before pixels are written.
#[derive(Debug)]
pub(super) struct Change {
    values: Values,
    /// Bands of the output, from 0, whose range is not known yet: the target range and the exponent.
    pub(super) unknown: Vec<(usize, (f64, f64), Option<f64>)>,
    /// Whether values are mapped, so clamping is expected.
    pub(super) scaled: bool,
    /// Whether anything but the type and size changes.
    changes: bool,
}

/// Returns the type of the output.
pub(super) fn type_of(options: &ConvertOptions, own: DataType) -> DataType {
    options.data_type.unwrap_or(if options.expand.is_some() { DataType::U8 } else { own })
}

impl Change {
    /// Decides how values change, and updates the description for the result.
    pub(super) fn plan(
        input: &Input,
        facts: &Facts,
        (spec, options): (&mut RasterSpec, &ConvertOptions),
        shape: Option<&Shape>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Self>, String> {
        let changes = options.changes_values();
        if !changes && shape.is_none() {
            return Ok(None);
        }
        if let Some(shape) = shape {
            check_method(shape, spec, facts.data_type)?;
        }
        let own = |&band: &u16| nodata_of(input, band);
        let mut source_nodata: Vec<Option<NoData>> = facts.bands.iter().map(own).collect();
        let mut unknown = Vec::new();
        let to = type_of(options, facts.data_type);
        let maps = match options.expand {
            Some(expand) => {
                source_nodata.fill(None);
                expand_palette(input, facts, expand, (spec, options), warnings)?
            }
            None => maps_of(facts, to, (spec, options), &mut unknown)?,
        };
        let scaled = options.unscale || !options.rescale.is_empty();
        if changes {
            spec.data_type = to;
            restate_values(spec, options, warnings)?;
        }
        let values = Values::new(Given {
            from: facts.data_type,
            to,
            maps,
            source_nodata,
            nodata: spec.metadata.nodata,
            changes,
            bits: facts.bits.filter(|_| !changes),
        });
        Ok(Some(Self { values, unknown, scaled, changes }))
    }

    /// Returns the values, with the ranges found for the bands of `unknown`.
    pub(super) fn values(self, found: &[(f64, f64)]) -> Result<Values, String> {
        let mut values = self.values;
        for (&(band, to, exponent), &from) in self.unknown.iter().zip(found) {
            let map = Map::of_ranges(from, to, exponent).ok_or_else(|| unusable(from, to))?;
            if let Some(slot) = values.maps.get_mut(band) {
                slot.1 = map;
            }
        }
        Ok(values)
    }

    /// Returns the values as far as they are known.
    pub(super) fn planned(&self) -> &Values {
        &self.values
    }

    /// Returns the bands of the input, from 0, whose range must be determined, in the order of `unknown`.
    pub(super) fn sources(&self) -> Vec<usize> {
        self.unknown.iter().filter_map(|(band, ..)| self.values.maps.get(*band).map(|map| map.0)).collect()
    }

    /// Returns the nodata of the bands of the input.
    pub(super) fn source_nodata(&self) -> &[Option<f64>] {
        &self.values.source_nodata
    }

    /// Describes the change in words; `None` if only the size changes.
    pub(super) fn explain(&self) -> Option<String> {
        if !self.changes {
            return None;
        }
        let (from, to) = (self.values.from, self.values.to);
        let bands = self.values.maps.iter().enumerate().map(|(at, (source, map))| {
            let what = match map {
                Map::Same if self.unknown.iter().any(|(band, ..)| *band == at) => {
                    "its range, which is found first, to another".to_owned()
                }
                Map::Same => "as it is".to_owned(),
                Map::Linear { scale, offset } => format!("× {scale} + {offset}"),
                Map::Power { from, to, exponent } => {
                    format!("{} to {} becomes {} to {} by the power {exponent}", from.0, from.1, to.0, to.1)
                }
                Map::Table(_) => "looked up in the palette".to_owned(),
            };
            (source + 1, what)
        });
        let mut told: Vec<String> = Vec::new();
        let bands: Vec<_> = bands.collect();
        let same = bands.windows(2).all(|pair| matches!(pair, [a, b] if a.1 == b.1));
        match bands.first() {
            Some((_, what)) if same => told.push(what.clone()),
            _ => told.extend(bands.iter().map(|(band, what)| format!("band {band} {what}"))),
        }
        Some(format!("values  {from} to {to}, {}, on the CPU", told.join("; ")))
    }
}

fn unusable(from: (f64, f64), to: (f64, f64)) -> String {
    format!("cannot map the range {} to {} to {} to {}; expected finite numbers", from.0, from.1, to.0, to.1)
}

fn nodata_of(input: &Input, band: u16) -> Option<NoData> {
    match input {
        Input::Tiff(dataset) => dataset.metadata().nodata,
        Input::Vrt(vrt) => vrt.nodata(band),
    }
}

fn check_method(shape: &Shape, spec: &RasterSpec, data_type: DataType) -> Result<(), String> {
    use super::taps::Method;
    let name = shape.method.name();
    if !shape.method.keeps_values()
        && (spec.colour_map.is_some() || spec.photometric == Some(Photometric::Palette))
    {
        return Err(format!(
            "{name} would mix the indices of a palette; resample it by nearest or mode, or expand it first"
        ));
    }
    if shape.method != Method::Nearest && is_complex(data_type) {
        return Err(format!(
            "{name} of {data_type} is not available; complex samples are resampled by nearest"
        ));
    }
    if shape.method == Method::Mode && matches!(data_type, DataType::U64 | DataType::I64) {
        return Err(format!("mode of {data_type} is not available; use nearest"));
    }
    Ok(())
}

/// Returns the mapping of each band of the output.
fn maps_of(
    facts: &Facts,
    to: DataType,
    (spec, options): (&RasterSpec, &ConvertOptions),
    unknown: &mut Vec<(usize, (f64, f64), Option<f64>)>,
) -> Result<Vec<(usize, Map)>, String> {
    if options.unscale && !options.rescale.is_empty() {
        return Err("`unscale` and `rescale` cannot be combined: both change all values".into());
    }
    if (options.unscale || !options.rescale.is_empty()) && is_complex(facts.data_type) {
        return Err(format!("values of {} are not scaled; give them a real type first", facts.data_type));
    }
    let bands = facts.bands.len();
    if let Some(band) = options
        .rescale
        .iter()
        .filter_map(|rescale| rescale.band)
        .find(|&band| band == 0 || usize::from(band) > bands)
    {
        return Err(format!("a range for band {band}, but {bands} are written (from 1)"));
    }
    let mut maps = Vec::with_capacity(bands);
    for at in 0..bands {
        let rescale = rescale_of(&options.rescale, at);
        let map = match (options.unscale, rescale) {
            (true, _) => {
                let band = spec.metadata.bands.get(at);
                let scale = band.and_then(|band| band.scale).unwrap_or(1.0);
                let offset = band.and_then(|band| band.offset).unwrap_or(0.0);
                if (scale, offset) == (1.0, 0.0) { Map::Same } else { Map::Linear { scale, offset } }
            }
            (false, None) => Map::Same,
            (false, Some(rescale)) => {
                if rescale.exponent.is_some_and(|exponent| !(exponent.is_finite() && exponent > 0.0)) {
                    return Err("an exponent that is not above 0".into());
                }
                let to = rescale.to.unwrap_or_else(|| range_of(to));
                match rescale.from {
                    Some(from) => {
                        Map::of_ranges(from, to, rescale.exponent).ok_or_else(|| unusable(from, to))?
                    }
                    None => {
                        unknown.push((at, to, rescale.exponent));
                        Map::Same
                    }
                }
            }
        };
        maps.push((at, map));
    }
    Ok(maps)
}

/// Returns the mapping of an output band, from 0: its own, else the one for all bands.
fn rescale_of(all: &[Rescale], at: usize) -> Option<&Rescale> {
    let own = all.iter().find(|rescale| rescale.band.is_some_and(|band| usize::from(band) == at + 1));
    own.or_else(|| all.iter().find(|rescale| rescale.band.is_none()))
}

/// Returns the default target range of a mapping.
fn range_of(data_type: DataType) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "the end of a range")]
    limits(data_type).map_or((0.0, 1.0), |(low, high)| (low as f64, high as f64))
}

/// Removes or updates metadata that no longer holds for changed values.
fn restate_values(
    spec: &mut RasterSpec,
    options: &ConvertOptions,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    let to = spec.data_type;
    drop_statistics(spec);
    spec.extra_fields.retain(|(tag, _)| {
        !matches!(
            *tag,
            Tag::MinSampleValue | Tag::MaxSampleValue | Tag::SMinSampleValue | Tag::SMaxSampleValue
        )
    });
    let scaled = options.unscale || !options.rescale.is_empty();
    let fits_table = matches!(to, DataType::U8 | DataType::U16);
    if spec.colour_map.is_some() && (scaled || !fits_table) {
        warnings.push("the colour table is left out: values are no longer its indices".into());
        spec.colour_map = None;
        spec.photometric = spec.photometric.map(|own| match own {
            Photometric::Palette => Photometric::MinIsBlack,
            other => other,
        });
    }
    if let (Some(map), DataType::U8) = (&mut spec.colour_map, to) {
        map.truncate(256);
    }
    if scaled {
        if !spec.metadata.categories.is_empty() {
            warnings.push("names of categories are left out: values are others".into());
            spec.metadata.categories.clear();
        }
        let mut lost = false;
        for band in &mut spec.metadata.bands {
            lost |= !band.sidecar.is_empty();
            band.sidecar.clear();
        }
        if lost {
            warnings
                .push("colour tables and attribute tables of bands are left out: values are others".into());
        }
    }
    let stored = spec.metadata.bands.iter().any(|band| band.scale.is_some() || band.offset.is_some());
    if scaled && stored {
        if options.unscale && is_whole(to) && options.data_type.is_none() {
            warnings
                .push(format!("unscaled values are rounded to {to}; choose a float type to keep fractions"));
        }
        if !options.unscale {
            warnings.push("scale and offset of the bands are left out: values are others".into());
        }
        for band in &mut spec.metadata.bands {
            (band.scale, band.offset) = (None, None);
        }
    }
    if options.nodata.is_none()
        && let Some(nodata) = spec.metadata.nodata
    {
        spec.metadata.nodata = Some(fitted(nodata, to).ok_or_else(|| {
            format!(
                "nodata {} cannot be stored as {to}; set `nodata` to a value that {to} can hold, or to none",
                nodata.to_text()
            )
        })?);
    }
    Ok(())
}

/// Converts nodata to a type; `None` if no sample equals it.
fn fitted(nodata: NoData, data_type: DataType) -> Option<NoData> {
    nodata.to_sample(data_type)?;
    let held = nodata.for_type(data_type)?;
    (held.as_f64().is_finite() || !nodata.as_f64().is_finite()).then_some(held)
}

/// Returns the mappings of the bands of an expanded palette, and updates their meaning.
fn expand_palette(
    input: &Input,
    facts: &Facts,
    expand: Expand,
    (spec, options): (&mut RasterSpec, &ConvertOptions),
    warnings: &mut Vec<String>,
) -> Result<Vec<(usize, Map)>, String> {
    if options.unscale || !options.rescale.is_empty() {
        return Err("`expand` cannot be combined with `unscale` or `rescale`".into());
    }
    let &[band] = facts.bands.as_slice() else {
        return Err(format!("`expand` takes one band with a colour table, not {} bands", facts.bands.len()));
    };
    let table = table_of(input, spec, band);
    if table.is_empty() {
        return Err(format!("band {band} has no colour table to expand"));
    }
    if expand == Expand::Gray && table.iter().any(|[red, green, blue, _]| red != green || red != blue) {
        warnings.push("the colour table has colours other than greys; their reds are written".into());
    }
    if expand != Expand::Rgba && table.iter().any(|[.., alpha]| *alpha < 255) {
        warnings
            .push("the colour table has transparent colours, which become opaque; `rgba` keeps them".into());
    }
    let count: usize = match expand {
        Expand::Gray => 1,
        Expand::Rgb => 3,
        Expand::Rgba => 4,
    };
    let channel =
        |at: usize| -> Arc<[u16]> { table.iter().filter_map(|entry| entry.get(at)).copied().collect() };
    let maps = (0..count).map(|at| (0, Map::Table(channel(at)))).collect();
    spec.bands = u16::try_from(count).unwrap_or(u16::MAX);
    spec.colour_map = None;
    spec.photometric = Some(if count == 1 { Photometric::MinIsBlack } else { Photometric::Rgb });
    spec.extra_samples = Some(if count == 4 { vec![ExtraSample::UnassociatedAlpha] } else { Vec::new() });
    spec.metadata.bands = vec![BandMetadata::default(); count];
    spec.metadata.categories.clear();
    if options.nodata.is_none() {
        spec.metadata.nodata = None;
    }
    Ok(maps)
}

/// Returns the colours of a band as red, green, blue and alpha, from 0 to 255.
fn table_of(input: &Input, spec: &RasterSpec, band: u16) -> Vec<[u16; 4]> {
    if let Input::Vrt(vrt) = input {
        return vrt.colour_table(band).to_vec();
    }
    let entry = |element: &Element| {
        let channel = |name: &str| element.attribute(name).and_then(|text| text.trim().parse().ok());
        [
            channel("c1").unwrap_or(0),
            channel("c2").unwrap_or(0),
            channel("c3").unwrap_or(0),
            channel("c4").unwrap_or(255),
        ]
    };
    let beside = spec
        .metadata
        .bands
        .first()
        .and_then(|band| band.sidecar.iter().find(|element| element.name == "ColorTable"));
    if let Some(table) = beside {
        return table.children.iter().filter(|child| child.name == "Entry").map(entry).collect();
    }
    let Some(map) = &spec.colour_map else { return Vec::new() };
    // Some writers store 8 bits although TIFF has 16.
    let wide = map.iter().flatten().any(|&v| v > 255);
    let narrow = |v: u16| if wide { v / 257 } else { v };
    let hidden = nodata_of(input, band).and_then(NoData::as_integer);
    let colour = |(index, &[red, green, blue]): (usize, &[u16; 3])| match hidden == i128::try_from(index).ok()
    {
        true => [0; 4],
        false => [narrow(red), narrow(green), narrow(blue), 255],
    };
    map.iter().enumerate().map(colour).collect()
}

/// Applies changes of the description: metadata, scale, offset, colours.
pub(super) fn restate(spec: &mut RasterSpec, options: &ConvertOptions) -> Result<(), String> {
    for (name, value) in &options.items {
        if name.eq_ignore_ascii_case("AREA_OR_POINT") {
            spec.metadata.georeference.area_or_point = Some(match value.to_ascii_lowercase().as_str() {
                "area" => AreaOrPoint::Area,
                "point" => AreaOrPoint::Point,
                _ => return Err(format!("AREA_OR_POINT={value}: expected Area or Point")),
            });
            continue;
        }
        spec.metadata.items.retain(|item| !(item.domain.is_empty() && item.name == *name));
        spec.metadata.items.push(MetadataItem {
            name: name.clone(),
            domain: String::new(),
            sample: None,
            role: None,
            value: value.clone(),
        });
    }
    if options.scale.is_some() || options.offset.is_some() {
        spec.metadata.bands.resize(usize::from(spec.bands), BandMetadata::default());
        // As in GDAL, giving one replaces both.
        for band in &mut spec.metadata.bands {
            (band.scale, band.offset) = (options.scale.or(Some(1.0)), options.offset.or(Some(0.0)));
        }
    }
    if !options.colours.is_empty() {
        colours::restate(spec, &options.colours)?;
    }
    Ok(())
}
