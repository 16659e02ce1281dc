//! Parses the XML of a VRT: size, bands, sources with their rectangles, metadata. Does not touch files.
//!
//! Elements that GDAL would read differently are refused by name: VRTs that are not mosaics, and sources that are
//! neither simple nor complex. Sources are collected as their elements close, so a mosaic of a million sources needs no
//! tree of its XML.

use super::place::{Extent, Rectangles, snap};
use super::warped::{self, Warp};
use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;
use strile_engine::number::{Number, sample_of};
use strile_engine::{BlendScaling, BlendValues};
use strile_tiff::gdal::pam::Pam;
use strile_tiff::gdal::{Element, NoData, XmlLimits};
use strile_tiff::{DataType, Warning, Warnings};

/// The reason why a text is not a mosaic.
#[derive(Debug, PartialEq)]
pub(super) enum Problem {
    Invalid { place: String, problem: String },
    Unsupported(String),
    Limit { what: &'static str, found: u64, limit: u64 },
}

/// A file that sources refer to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SourceFile {
    pub(super) name: String,
    /// Whether the name is relative to the folder of the VRT, else to the current one.
    pub(super) relative: bool,
}

/// One `SimpleSource` or `ComplexSource`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Source {
    /// Index into `Mosaic::files`.
    pub(super) file: u32,
    /// From 1.
    pub(super) band: u16,
    /// Whether it is the mask of the band.
    pub(super) is_mask: bool,
    pub(super) rectangles: Option<Rectangles>,
    /// Processing of its values; `None` for a simple source.
    pub(super) complex: Option<Arc<BlendValues>>,
}

/// One `VRTRasterBand`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Band {
    pub(super) data_type: DataType,
    /// As stated in the file; `None` if it states no type.
    pub(super) stated_type: Option<DataType>,
    /// As stated in the file, whether samples can hold it or not.
    pub(super) stated_nodata: Option<NoData>,
    /// The value of pixels without a source.
    pub(super) fill: [u8; 16],
    /// As shown to users: `None` if the file hides it.
    pub(super) nodata: Option<NoData>,
    /// The band's NBITS.
    pub(super) bits: Option<u32>,
    /// The largest value that NBITS allows.
    pub(super) largest: Option<i32>,
    pub(super) is_alpha: bool,
    pub(super) colour_table: Vec<[u16; 4]>,
    pub(super) sources: Vec<Source>,
}

/// The content of a VRT.
#[derive(Debug)]
pub(super) struct Mosaic {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) bands: Vec<Band>,
    pub(super) mask: Option<Band>,
    pub(super) files: Vec<SourceFile>,
    pub(super) metadata: Pam,
    pub(super) warnings: Warnings,
    pub(super) ignored_resampling: Option<String>,
    /// The warp of the only file, if it is a warped VRT.
    pub(super) warp: Option<Warp>,
}

/// State while the elements close.
#[derive(Default)]
struct Reading {
    /// Sources of bands that are still open, by depth: a mask band may lie inside a band.
    open: HashMap<usize, Vec<Source>>,
    count: u64,
    files: Vec<SourceFile>,
    known: HashMap<SourceFile, u32>,
    data_type: Option<DataType>,
    bands: Vec<Band>,
    mask: Option<Band>,
    warnings: Warnings,
    /// A resampling method of a source that GDAL does not apply.
    ignored_resampling: Option<String>,
}

/// Largest tree of elements other than sources: bands, metadata, colour tables.
const LARGEST_TREE: usize = 1 << 20;

/// Parses a text with at most `max_sources` sources. Bands have type `data_type`, or the one that all state.
pub(super) fn parse(text: &str, max_sources: u64, data_type: Option<DataType>) -> Result<Mosaic, Problem> {
    let mut reading = Reading { data_type, ..Reading::default() };
    let mut problem = None;
    let limits = XmlLimits { len: usize::MAX, elements: LARGEST_TREE, document_type: false };
    let root = Element::parse_taking(text, &limits, &mut |open, element| {
        reading.close(open, element, max_sources).map_err(|found| {
            problem = Some(found);
            String::new().into()
        })
    });
    let root = root.map_err(|message| problem.unwrap_or_else(|| invalid("XML", message.to_string())))?;
    is_mosaic(&root)?;
    if warped::is_warped(&root) {
        warped::check(&root)?;
    }
    let size = |name| {
        let text = attribute(&root, name).unwrap_or("");
        let value = text.trim().parse().ok().filter(|v| (1..=i32::MAX.unsigned_abs()).contains(v));
        let wrong = || invalid("VRTDataset", format!("expected a size in `{name}`, got `{}`", shown(text)));
        value.ok_or_else(wrong)
    };
    let (width, height) = (size("rasterXSize")?, size("rasterYSize")?);
    if reading.bands.is_empty() {
        return Err(invalid("VRTDataset", "expected at least one `VRTRasterBand`, got none"));
    }
    let Reading { mut bands, mask, mut files, mut warnings, ignored_resampling, .. } = reading;
    if let Some((index, band)) =
        bands.iter().enumerate().find(|(_, b)| Some(b.data_type) != bands.first().map(|b| b.data_type))
    {
        let first = bands.first().map_or("", |b| b.data_type.name());
        let (number, other) = (index + 1, band.data_type);
        return Err(Problem::Unsupported(format!(
            "expected bands of one type, got {first} in band 1 and {other} in band {number}"
        )));
    }
    if root.children.iter().any(|c| is(c, "OverviewList")) {
        warnings.push(Warning::new(
            "vrt-overviews",
            "OverviewList",
            "virtual overviews are not read; ignored",
        ));
    }
    let mut told = Warnings::new();
    let metadata = Pam::from_element(&root, &mut told);
    warnings.append(told.at("VRT"));
    let mut warp = None;
    if warped::is_warped(&root) {
        if mask.is_some() {
            return Err(Problem::Unsupported("a warped VRT with `MaskBand` is not read".into()));
        }
        let (found, file) = warped::parse(&root, (width, height), metadata.crs.as_ref(), &mut bands)?;
        (warp, files) = (Some(found), vec![file]);
    }
    Ok(Mosaic { width, height, bands, mask, files, metadata, warnings, ignored_resampling, warp })
}

/// Compares names of elements and attributes like GDAL: ignoring case.
pub(super) fn is(element: &Element, name: &str) -> bool {
    element.name.eq_ignore_ascii_case(name)
}

pub(super) fn attribute<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    element.attributes.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
}

pub(super) fn child<'a>(element: &'a Element, name: &str) -> Option<&'a Element> {
    element.children.iter().find(|c| is(c, name))
}

/// Returns the text of a child element, or of the attribute with that name, as GDAL looks up values.
pub(super) fn value<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    child(element, name).map(|c| c.text.as_str()).or_else(|| attribute(element, name)).map(str::trim)
}

pub(super) fn shown(text: &str) -> String {
    text.trim().chars().take(60).collect::<String>().escape_debug().to_string()
}

pub(super) fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Problem {
    Problem::Invalid { place: place.into(), problem: problem.into() }
}

fn is_mosaic(root: &Element) -> Result<(), Problem> {
    if !is(root, "VRTDataset") {
        let problem = format!("expected root element `VRTDataset`, got `{}`", shown(&root.name));
        return Err(invalid("XML", problem));
    }
    if let Some(kind) =
        attribute(root, "subClass").filter(|kind| !kind.is_empty() && !warped::is_warped(root))
    {
        return Err(Problem::Unsupported(format!(
            "a VRT of kind `{}` is not a mosaic of sources",
            shown(kind)
        )));
    }
    Ok(())
}

impl Reading {
    /// Handles an element that closed inside `open`. Returns it if the tree should keep it.
    fn close(
        &mut self,
        open: &[Element],
        element: Element,
        max_sources: u64,
    ) -> Result<Option<Element>, Problem> {
        let (Some(root), Some(parent)) = (open.first(), open.last()) else { return Ok(Some(element)) };
        is_mosaic(root)?;
        // Checked when it closes: checking all elements of the root for each closing one would be quadratic.
        if open.len() == 1 && is(&element, "Group") {
            return Err(Problem::Unsupported("a multidimensional VRT is not a mosaic of sources".into()));
        }
        let in_band = is(parent, "VRTRasterBand");
        if in_band && element.name.to_ascii_lowercase().ends_with("source") {
            self.count += 1;
            if self.count > max_sources {
                return Err(Problem::Limit {
                    what: "number of sources (raise it with `VrtOptions::max_sources`)",
                    found: self.count,
                    limit: max_sources,
                });
            }
            let source = self.source(&element)?;
            self.open.entry(open.len()).or_default().push(source);
            return Ok(None);
        }
        if is(&element, "VRTRasterBand") && (is(parent, "VRTDataset") || is(parent, "MaskBand")) {
            // Its sources closed with it on top of `open`.
            let sources = self.open.remove(&(open.len() + 1)).unwrap_or_default();
            let number = self.bands.len() + 1;
            let data_type = self.data_type.filter(|_| is(parent, "VRTDataset"));
            let band = band(&element, (number, warped::is_warped(root)), sources, data_type)?;
            if is(parent, "VRTDataset") {
                if self.bands.len() >= usize::from(u16::MAX) {
                    return Err(Problem::Limit { what: "number of bands", found: 65_536, limit: 65_535 });
                }
                self.bands.push(band);
                return Ok(Some(numbered(element, number)));
            }
            if open.len() > 2 {
                return Err(Problem::Unsupported(format!(
                    "expected one mask for all bands, but band {number} has its own"
                )));
            }
            self.mask = Some(band);
            return Ok(None);
        }
        if in_band && (is(&element, "Overview") || is(&element, "Histograms")) {
            if is(&element, "Overview") && !self.warnings.iter().any(|w| w.code == "vrt-overviews") {
                let message = "overviews in other files are not read; ignored";
                self.warnings.push(Warning::new("vrt-overviews", "VRTRasterBand", message));
            }
            return Ok(None);
        }
        Ok(Some(element))
    }

    fn source(&mut self, element: &Element) -> Result<Source, Problem> {
        let place = || format!("source {}", self.count);
        let is_complex = is(element, "ComplexSource");
        if !is_complex && !is(element, "SimpleSource") {
            return Err(Problem::Unsupported(format!(
                "a source of kind `{}`; `SimpleSource` and `ComplexSource` are read",
                shown(&element.name)
            )));
        }
        if child(element, "OpenOptions").is_some() {
            return Err(Problem::Unsupported(format!(
                "{} has `OpenOptions`, which are not followed",
                place()
            )));
        }
        let file = child(element, "SourceFilename");
        let Some(file) = file.filter(|file| !file.text.is_empty()) else {
            return Err(match child(element, "VRTDataset") {
                Some(_) => {
                    Problem::Unsupported(format!("expected a file, but {} is a VRT inside the VRT", place()))
                }
                None => invalid(place(), "no `SourceFilename`"),
            });
        };
        let relative =
            attribute(file, "relativeToVRT").is_some_and(|v| v.trim().parse::<i64>().is_ok_and(|v| v != 0));
        let file = SourceFile { name: file.text.clone(), relative };
        let text = value(element, "SourceBand").unwrap_or("1");
        let head = text.get(..4).filter(|head| head.eq_ignore_ascii_case("mask"));
        let number = match head {
            Some(_) => text.get(4..).unwrap_or("").strip_prefix(',').unwrap_or("1"),
            None => text,
        };
        let band = number.trim().parse().ok().filter(|&band| band > 0);
        let wrong = || invalid(place(), format!("expected a band in `SourceBand`, got `{}`", shown(text)));
        let band = band.ok_or_else(wrong)?;
        let rectangles = match (child(element, "SrcRect"), child(element, "DstRect")) {
            (None, None) => None,
            (Some(from), Some(to)) => {
                Some(rectangles(from, to).map_err(|problem| invalid(place(), problem))?)
            }
            _ => return Err(invalid(place(), "expected both or none of `SrcRect` and `DstRect`, got one")),
        };
        let resampling = value(element, "resampling").unwrap_or("nearest");
        let is_nearest = resampling.is_empty()
            || resampling.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("near"));
        if !is_nearest && rectangles.is_some_and(|r| !r.is_copy()) {
            return Err(Problem::Unsupported(format!(
                "{} is resampled by `{}`; only nearest is done",
                place(),
                shown(resampling)
            )));
        }
        let ignored = value(element, "ResampleAlg").filter(|name| {
            let is_nearest = name.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("near"));
            !name.is_empty() && !is_nearest && rectangles.is_some_and(|r| !r.is_copy())
        });
        if let Some(name) = ignored {
            self.ignored_resampling.get_or_insert_with(|| shown(name));
        }
        let complex = if is_complex { complex(element, &place())?.map(Arc::new) } else { None };
        let file = self.file(file)?;
        Ok(Source { file, band, is_mask: head.is_some(), rectangles, complex })
    }

    fn file(&mut self, file: SourceFile) -> Result<u32, Problem> {
        if let Some(&index) = self.known.get(&file) {
            return Ok(index);
        }
        let index = u32::try_from(self.files.len());
        let index = index.map_err(|_| Problem::Limit {
            what: "number of files",
            found: 1 << 32,
            limit: (1 << 32) - 1,
        })?;
        self.known.insert(file.clone(), index);
        self.files.push(file);
        Ok(index)
    }
}

/// Sets the number of a band. Metadata is looked up by number, and GDAL numbers bands in order.
fn numbered(mut element: Element, number: usize) -> Element {
    element.attributes.retain(|(name, _)| !name.eq_ignore_ascii_case("band"));
    element.attributes.push(("band".into(), number.to_string()));
    element.name = "VRTRasterBand".into();
    element
}

fn band(
    element: &Element,
    (number, is_warped): (usize, bool),
    sources: Vec<Source>,
    given_in: Option<DataType>,
) -> Result<Band, Problem> {
    let kind = attribute(element, "subClass").unwrap_or("VRTSourcedRasterBand");
    if !is_warped && !kind.eq_ignore_ascii_case("VRTSourcedRasterBand") {
        return Err(Problem::Unsupported(format!(
            "band {number} is a `{}`, not a mosaic of sources",
            shown(kind)
        )));
    }
    let stated_type = match attribute(element, "dataType").map(str::trim) {
        None => None,
        Some(name) => {
            let unknown =
                || Problem::Unsupported(format!("band {number} has the data type `{}`", shown(name)));
            Some(type_named(name).ok_or_else(unknown)?)
        }
    };
    let stated = stated_type.unwrap_or(DataType::U8);
    let data_type = given_in.unwrap_or(stated);
    let nodata = match value(element, "NoDataValue").filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(number_of(text).ok_or_else(|| {
            invalid(
                format!("band {number}"),
                format!("expected a number in `NoDataValue`, got `{}`", shown(text)),
            )
        })?),
    };
    let hidden = value(element, "HideNoDataValue").is_some_and(|v| v.parse::<i64>().is_ok_and(|v| v != 0));
    let fill = nodata.map_or([0; 16], |nodata| {
        let number = match nodata {
            NoData::Integer(v) if matches!(data_type, DataType::I64 | DataType::U64) => Number::Integer(v),
            other => Number::Double(other.as_f64()),
        };
        sample_of(number, data_type)
    });
    let structure = element.children.iter().filter(|c| is(c, "Metadata"));
    let structure = structure
        .filter(|c| attribute(c, "domain").is_some_and(|d| d.eq_ignore_ascii_case("IMAGE_STRUCTURE")));
    let mut items = structure.flat_map(|c| c.children.iter());
    let bits = items.find(|item| attribute(item, "key").is_some_and(|key| key.eq_ignore_ascii_case("NBITS")));
    let bits =
        bits.and_then(|item| item.text.trim().parse::<u32>().ok()).filter(|bits| (1..=31).contains(bits));
    Ok(Band {
        data_type,
        stated_type,
        stated_nodata: nodata,
        fill,
        nodata: nodata.filter(|_| !hidden).and_then(|value| value.for_type(data_type)),
        bits: bits.filter(|_| data_type == stated),
        largest: bits.filter(|_| data_type == stated).and_then(|bits| i32::try_from((1u32 << bits) - 1).ok()),
        is_alpha: value(element, "ColorInterp").is_some_and(|colour| colour.eq_ignore_ascii_case("Alpha")),
        colour_table: child(element, "ColorTable").into_iter().flat_map(table_entries).collect(),
        sources,
    })
}

/// GDAL's names of the types that strile supports.
pub(super) const TYPES: [(&str, DataType); 13] = [
    ("Byte", DataType::U8),
    ("UInt8", DataType::U8),
    ("Int8", DataType::I8),
    ("UInt16", DataType::U16),
    ("Int16", DataType::I16),
    ("UInt32", DataType::U32),
    ("Int32", DataType::I32),
    ("UInt64", DataType::U64),
    ("Int64", DataType::I64),
    ("Float32", DataType::F32),
    ("Float64", DataType::F64),
    ("CFloat32", DataType::C64),
    ("CFloat64", DataType::C128),
];

/// Returns the type with one of these names.
pub(super) fn type_named(name: &str) -> Option<DataType> {
    TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, data_type)| *data_type)
}

/// Returns the colours of a `ColorTable`, of a VRT or a sidecar.
pub(crate) fn table_entries(table: &Element) -> impl Iterator<Item = [u16; 4]> {
    table.children.iter().filter(|child| is(child, "Entry")).take(65_536).map(colour)
}

fn colour(entry: &Element) -> [u16; 4] {
    let part = |name, default| attribute(entry, name).and_then(|v| v.trim().parse().ok()).unwrap_or(default);
    [part("c1", 0), part("c2", 0), part("c3", 0), part("c4", 255)]
}

/// Parses a number that is the whole text.
pub(super) fn number_of(text: &str) -> Option<NoData> {
    let mut told = Warnings::new();
    NoData::parse(text, &mut told).filter(|_| told.is_empty())
}

fn rectangles(from: &Element, to: &Element) -> Result<Rectangles, String> {
    let number = |element: &Element, name: &str, is_size: bool| {
        let text = attribute(element, name).unwrap_or("");
        let value = text.trim().parse::<f64>().ok();
        let smallest = if is_size { 0.0 } else { f64::from(i32::MIN) };
        let fits = value.filter(|v| *v >= smallest && *v <= f64::from(i32::MAX) && !(is_size && *v == 0.0));
        fits.map(snap).ok_or_else(|| {
            format!(
                "expected a number of pixels in `{name}` of `{}`, got `{}`",
                shown(&element.name),
                shown(text)
            )
        })
    };
    let extent = |at: &str, size: &str| {
        Ok::<_, String>(Extent {
            source: number(from, at, false)?,
            source_size: number(from, size, true)?,
            target: number(to, at, false)?,
            target_size: number(to, size, true)?,
        })
    };
    Ok(Rectangles { across: extent("xOff", "xSize")?, down: extent("yOff", "ySize")? })
}

/// Returns the processing of a complex source; `None` if there is none.
fn complex(element: &Element, place: &str) -> Result<Option<BlendValues>, Problem> {
    let number = |name: &str| {
        let text = value(element, name);
        text.map(|text| {
            let number = number_of(text).map(NoData::as_f64);
            let wrong = || invalid(place, format!("expected a number in `{name}`, got `{}`", shown(text)));
            number.ok_or_else(wrong)
        })
        .transpose()
    };
    let is_true = |name: &str, default: bool| {
        value(element, name)
            .map_or(default, |v| !["no", "false", "off", "0"].contains(&v.to_ascii_lowercase().as_str()))
    };
    if value(element, "ColorTableComponent").is_some_and(|component| component != "0") {
        return Err(Problem::Unsupported(format!("{place} takes a component of a colour table")));
    }
    let scaling = match (number("ScaleOffset")?, number("ScaleRatio")?) {
        (None, None) => match (number("Exponent")?, number("DstMin")?, number("DstMax")?) {
            (Some(exponent), Some(low), Some(high)) => {
                let from = number("SrcMin")?.zip(number("SrcMax")?);
                let from = from.ok_or_else(|| {
                    Problem::Unsupported(format!(
                        "{place} scales by the range of its values, which it does not state"
                    ))
                })?;
                BlendScaling::Power { exponent, from, to: (low, high), clip: is_true("Clip", true) }
            }
            _ => BlendScaling::None,
        },
        (offset, ratio) => {
            BlendScaling::Linear { offset: offset.unwrap_or(0.0), ratio: ratio.unwrap_or(1.0) }
        }
    };
    let table =
        value(element, "LUT").map(|text| lookup_table(text).map_err(|problem| invalid(place, problem)));
    let mut complex = BlendValues {
        nodata: number("NODATA")?,
        uses_mask: is_true("UseMaskBand", false),
        scaling,
        table: table.transpose()?.unwrap_or_default(),
    };
    let table = take(&mut complex.table);
    let does_nothing = complex == BlendValues::default() && table.is_empty();
    Ok((!does_nothing).then_some(BlendValues { table, ..complex }))
}

fn lookup_table(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut table: Vec<(f64, f64)> = Vec::new();
    for pair in text.split(',') {
        let numbers =
            pair.split_once(':').and_then(|(a, b)| Some((number_of(a)?.as_f64(), number_of(b)?.as_f64())));
        let (from, to) =
            numbers.ok_or_else(|| format!("expected two numbers per `LUT` entry, got `{}`", shown(pair)))?;
        if table.last().is_some_and(|&(last, _)| from.is_nan() || from < last) {
            return Err("`LUT` is not in ascending order".into());
        }
        table.push((from, to));
    }
    Ok(table)
}
