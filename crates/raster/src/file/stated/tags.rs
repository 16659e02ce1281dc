//! Tags of a level that describe the image, not its storage.

use super::misstated;
use crate::error::{Error, InvalidValue, Misstated, Result};
use crate::file::dataset::Dataset;
use crate::file::fields::StoredField;
use crate::file::input::Input;
use crate::write::is_own_tag;
use std::collections::BTreeMap;
use strile_tiff::gdal::{Element, Metadata as Items, MetadataItem, NoData};
use strile_tiff::{FieldType, Photometric, Planar, SampleFormat, Tag, Warnings};

/// Tags with the offsets and lengths of blocks.
pub const BLOCK_TABLES: [Tag; 4] =
    [Tag::StripOffsets, Tag::StripByteCounts, Tag::TileOffsets, Tag::TileByteCounts];

/// Values of the tag ResolutionUnit, from 1.
pub const RESOLUTION_UNITS: [&str; 3] = ["none", "inch", "centimeter"];

/// Colour interpretations that arrays name.
const COLOURS: [(Photometric, &str); 5] = [
    (Photometric::Rgb, "rgb"),
    (Photometric::Separated, "cmyk"),
    (Photometric::CieLab, "cielab"),
    (Photometric::IccLab, "icclab"),
    (Photometric::ItuLab, "itulab"),
];

/// Tags with text, and the names of GDAL's items for them.
pub(crate) const WORDS: [(Tag, &str); 7] = [
    (Tag::DocumentName, "TIFFTAG_DOCUMENTNAME"),
    (Tag::ImageDescription, "TIFFTAG_IMAGEDESCRIPTION"),
    (Tag::Software, "TIFFTAG_SOFTWARE"),
    (Tag::DateTime, "TIFFTAG_DATETIME"),
    (Tag::Artist, "TIFFTAG_ARTIST"),
    (Tag::HostComputer, "TIFFTAG_HOSTCOMPUTER"),
    (Tag::Copyright, "TIFFTAG_COPYRIGHT"),
];
const NUMBERS: [(Tag, &str); 4] = [
    (Tag::MinSampleValue, "TIFFTAG_MINSAMPLEVALUE"),
    (Tag::MaxSampleValue, "TIFFTAG_MAXSAMPLEVALUE"),
    (Tag::XResolution, "TIFFTAG_XRESOLUTION"),
    (Tag::YResolution, "TIFFTAG_YRESOLUTION"),
];

/// Tags that a new file does not take over, although they do not describe the layout.
const KEPT: [Tag; 3] = [Tag::YCbCrCoefficients, Tag::YCbCrPositioning, Tag::ReferenceBlackWhite];
/// Tags that are reported in another way, or describe a printer.
const TOLD: [Tag; 7] = [
    Tag::PhotometricInterpretation,
    // Threshholding, CellWidth, CellLength.
    Tag(263),
    Tag(264),
    Tag(265),
    Tag::XResolution,
    Tag::YResolution,
    Tag::ResolutionUnit,
];

/// Returns the name of a colour interpretation that arrays name. YCbCr is read as RGB, and palettes have a colour
/// table.
pub fn colours_name(photometric: Photometric) -> Option<&'static str> {
    let shown = if photometric == Photometric::YCbCr { Photometric::Rgb } else { photometric };
    COLOURS.iter().find(|(known, _)| *known == shown).map(|(_, name)| *name)
}

/// Returns the colour interpretation with this name.
pub fn colours_named(name: &str) -> Option<Photometric> {
    COLOURS.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(photometric, _)| *photometric)
}

/// The fields of a level, on top of those of the full resolution: an overview without metadata, tags or resolution of
/// its own has those of the full image.
#[derive(Debug, Clone)]
pub struct StatedFields(BTreeMap<u16, StoredField>);

impl StatedFields {
    /// Returns the field of a tag.
    pub fn get(&self, tag: Tag) -> Option<&StoredField> {
        self.0.get(&tag.0)
    }

    /// Returns the text of a tag.
    pub fn text(&self, tag: Tag) -> Option<String> {
        let bytes = self.get(tag)?.bytes.as_deref()?;
        Some(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
    }

    /// Returns the first number of a tag. A rational with denominator 0 is an error.
    pub fn number(&self, tag: Tag) -> std::result::Result<Option<f64>, InvalidValue> {
        let numbers = self.get(tag).map(StoredField::numbers).transpose()?;
        Ok(numbers.and_then(|numbers| numbers.first().copied()))
    }

    /// Returns fields that neither describe the layout of the file nor are reported in another way, by tag.
    pub fn further(&self) -> impl Iterator<Item = &StoredField> {
        let is_further = |tag: Tag| (!is_own_tag(tag) || KEPT.contains(&tag)) && !TOLD.contains(&tag);
        self.0.values().filter(move |field| is_further(field.tag))
    }

    /// Returns GDAL's metadata as the text of its tag, and its items; `None` if there is none or it is not XML.
    pub fn metadata(&self) -> Option<(String, Vec<MetadataItem>)> {
        let text = self.text(Tag::GDAL_METADATA)?;
        let items = items(&text)?;
        Some((text, items))
    }
}

impl StoredField {
    /// Returns the numbers of the field. A rational with denominator 0 is an error.
    pub fn numbers(&self) -> std::result::Result<Vec<f64>, InvalidValue> {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        if matches!(self.field_type, FieldType::Rational | FieldType::SRational) {
            for pair in bytes.chunks_exact(8) {
                if self.byte_order.u32(pair, 4) == Some(0) {
                    let above = self.byte_order.i32(pair, 0).unwrap_or_default();
                    let problem = format!("a tag has the rational {above}/0, expected another denominator");
                    return Err(problem.into());
                }
            }
        }
        Ok(self.floats().unwrap_or_default())
    }

    /// Returns the numbers of the field; `None` if it has none, or they were not read.
    pub(crate) fn floats(&self) -> Option<Vec<f64>> {
        self.field_type.floats(self.bytes.as_deref()?, self.byte_order)
    }
}

/// Returns the items of GDAL's metadata; `None` if the text is not XML.
fn items(text: &str) -> Option<Vec<MetadataItem>> {
    Element::parse(text).ok()?;
    Some(Items::parse(text, &mut Warnings::new()).items)
}

impl Dataset {
    /// Returns the stated fields of a level of the first page, without the values of block tables.
    pub fn stated_fields(&self, level: usize) -> Result<StatedFields> {
        let mut all = BTreeMap::new();
        for level in [0].into_iter().chain((level > 0).then_some(level)) {
            let fields = self.fields(0, level, |tag| !BLOCK_TABLES.contains(&tag))?;
            all.extend(fields.into_iter().map(|field| (field.tag.0, field)));
        }
        Ok(StatedFields(all))
    }

    /// Returns the scale and offset of a band (from 0), or of all bands if `None`; `None` if none is stated. Malformed
    /// values are an error, unlike in [`Metadata`](crate::file::Metadata), which omits them.
    pub fn stated_scaling(&self, band: Option<u32>) -> Result<Option<(f64, f64)>> {
        let Some(text) = self.stated_fields(0)?.text(Tag::GDAL_METADATA) else { return Ok(None) };
        let malformed = |problem: String| misstated(self.name(), Misstated::Scaling, problem);
        let found =
            items(&text).ok_or_else(|| malformed("the metadata with scale and offset is not XML".into()))?;
        let all = u32::try_from(self.metadata().bands.len()).unwrap_or(u32::MAX);
        let bands = band.map_or(0..all, |band| band..band.saturating_add(1));
        let one = |key: &str, default: f64| -> Result<Option<f64>> {
            let text = |sample: Option<u32>| {
                let item = found.iter().rfind(|item| item.name == key && item.sample == sample);
                item.map(|item| item.value.as_str())
            };
            let (whole, mut values) = (text(None), Vec::new());
            let mut any = whole.is_some();
            for band in bands.clone() {
                let own = text(Some(band));
                any |= own.is_some();
                let value = match own.or(whole) {
                    None => default,
                    Some(text) => {
                        let value = text.trim().parse().ok().filter(|value: &f64| value.is_finite());
                        value.ok_or_else(|| {
                            malformed(format!("{key} is {text:?}, expected a finite number"))
                        })?
                    }
                };
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            if values.len() > 1 && any {
                values.sort_by(f64::total_cmp);
                let shown: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                let problem = format!(
                    "the bands have different values of {key} ({}): pass band to read one of them",
                    shown.join(", ")
                );
                return Err(misstated(self.name(), Misstated::Bands, problem));
            }
            Ok(values.first().copied().filter(|_| any))
        };
        match (one("SCALE", 1.0)?, one("OFFSET", 0.0)?) {
            (None, None) => Ok(None),
            (Some(0.0), _) => Err(malformed("the scale is 0 and every value would be the offset".into())),
            (scale, offset) => Ok(Some((scale.unwrap_or(1.0), offset.unwrap_or(0.0)))),
        }
    }

    /// Fails for a level of the first page with signed samples stored as white-is-zero: their inversion is ambiguous.
    pub fn check_white(&self, level: usize) -> Result<()> {
        let Some(found) = self.pages().first().and_then(|page| page.levels.get(level)) else { return Ok(()) };
        let (sample, photometric) = (&found.image.sample, found.image.colour.photometric);
        if photometric != Photometric::MinIsWhite || sample.format != SampleFormat::Int {
            return Ok(());
        }
        let reason =
            "stored white as zero with signed pixels, which is ambiguous: rewrite it as black is zero";
        Err(Error::Unsupported { file: self.name().to_owned(), reason: reason.to_owned() })
    }

    /// Fails for a level of the first page whose block table has fewer entries than the level has blocks.
    pub fn check_block_tables(&self, level: usize) -> Result<()> {
        let Some(found) = self.pages().first().and_then(|page| page.levels.get(level)) else { return Ok(()) };
        let image = &found.image;
        let blocks = |side: u32, block: u32| u64::from(side.div_ceil(block.max(1)));
        let (apart, planar) = match image.planar {
            Planar::Separate => (u64::from(image.samples), "separate"),
            Planar::Chunky => (1, "contig"),
        };
        let down = blocks(image.height, image.grid.block_height);
        let needed = down.saturating_mul(blocks(image.width, image.grid.block_width)).saturating_mul(apart);
        let fields = self.fields(0, level, |_| false)?;
        match fields.iter().find(|field| BLOCK_TABLES.contains(&field.tag) && field.count < needed) {
            None => Ok(()),
            Some(field) => Err(self.refuse(format!(
                "{needed} entries of a {planar} planar image with {} bands are needed in the table of blocks (tag {}) \
                 and it has {}",
                image.samples, field.tag.0, field.count
            ))),
        }
    }
}

impl Input {
    /// Returns the nodata value as the file states it, in any range; for a mosaic, that of the first band.
    pub fn stated_nodata(&self) -> Option<NoData> {
        let dataset = match self {
            Self::Tiff(dataset) => dataset,
            Self::Vrt(vrt) => return vrt.nodata(1),
        };
        let first = dataset.tiff().and_then(|tiff| tiff.directories.first());
        let Some(text) = first.and_then(|directory| directory.text(Tag::GDAL_NODATA)) else {
            return dataset.metadata().nodata;
        };
        let mut told = Warnings::new();
        NoData::parse(&text, &mut told).filter(|_| told.is_empty())
    }

    /// Returns the items of the file in GDAL's default domain: those of its metadata, then the texts of baseline tags,
    /// then whether pixels are areas or points.
    pub fn words(&self) -> Result<Vec<(String, String)>> {
        let items = self.metadata().items.iter().filter(|item| item.domain.is_empty());
        let mut words: Vec<(String, String)> =
            items.map(|item| (item.name.clone(), item.value.clone())).collect();
        if let Self::Tiff(file) = self {
            let fields = file.stated_fields(0)?;
            let texts = WORDS.iter().filter_map(|(tag, name)| Some((*name, fields.text(*tag)?)));
            let numbers = NUMBERS
                .iter()
                .filter_map(|(tag, name)| Some((*name, eight_digits(*fields.get(*tag)?.floats()?.first()?))));
            let mut told: Vec<(&str, String)> = texts.chain(numbers).collect();
            let unit =
                fields.number(Tag::ResolutionUnit).map_err(|problem| file.refuse(problem.to_string()))?;
            if let Some(unit) = unit {
                let known = [(1.0, "1 (unitless)"), (2.0, "2 (pixels/inch)"), (3.0, "3 (pixels/cm)")];
                let name = known.iter().find(|(number, _)| *number == unit);
                let shown = name.map_or(unit.to_string(), |(_, name)| (*name).to_owned());
                told.push(("TIFFTAG_RESOLUTIONUNIT", shown));
            }
            for (name, value) in told {
                if !words.iter().any(|(known, _)| known == name) {
                    words.push((name.to_owned(), value));
                }
            }
        }
        if let Some(kind) = self.metadata().georeference.area_or_point {
            words.retain(|(name, _)| name != "AREA_OR_POINT");
            words.push(("AREA_OR_POINT".to_owned(), kind.as_str().to_owned()));
        }
        Ok(words)
    }
}

/// Formats a number like C's `%.8g`, as GDAL does.
fn eight_digits(number: f64) -> String {
    let scientific = format!("{number:.7e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return number.to_string() };
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..8) => {
            let decimals = usize::try_from(7 - exponent).unwrap_or(0);
            short(&format!("{number:.decimals$}"))
        }
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", short(digits), exponent.unsigned_abs())
        }
        Err(_) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_c_prints() {
        let shown = [72.0, 1.0 / 3.0, 1e9, 123_456_789.0, -0.0001, 0.00001, 1.5e-7].map(eight_digits);
        assert_eq!(shown, ["72", "0.33333333", "1e+09", "1.2345679e+08", "-0.0001", "1e-05", "1.5e-07"]);
    }

    #[test]
    fn colours_have_one_name_each() {
        for (photometric, name) in COLOURS {
            assert_eq!((colours_name(photometric), colours_named(name)), (Some(name), Some(photometric)));
        }
        assert_eq!(colours_name(Photometric::YCbCr), Some("rgb"));
        assert_eq!((colours_name(Photometric::Palette), colours_named("sepia")), (None, None));
    }
}
