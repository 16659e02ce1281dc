//! Properties that a raster takes over from the file of its pixels: items of GDAL's metadata, tags, colours.
//!
//! The raster may have other bands than that file, and may state some properties itself. Its own statements take
//! precedence.

use super::spec::RasterSpec;
use strile_tiff::gdal::{BandMetadata, Metadata as Items, MetadataItem};
use strile_tiff::{DataType, ExtraSample, FieldValue, Photometric, Tag, Warnings};

/// Items of the file of the pixels, and which of them apply to the raster.
#[derive(Debug, Clone)]
pub struct StatedItems {
    items: Items,
    /// The tag's text, which is written unchanged if the raster takes all items.
    text: String,
    /// The bands of that file that the raster has, from 0; `None` if unknown.
    pub bands: Option<Vec<u32>>,
    /// Names of items to omit.
    pub dropped: Vec<String>,
    /// Whether stored statistics apply.
    pub statistics: bool,
    /// Whether scales and offsets apply.
    pub scaling: bool,
}

impl StatedItems {
    /// Parses all items in the text of the tag GDAL_METADATA.
    pub fn from_text(text: &str) -> Self {
        let items = Items::parse(text, &mut Warnings::new());
        Self::new(items, text.trim_end_matches('\0').to_owned())
    }

    /// Creates items by name, of a band (from 0) or of the whole raster.
    pub fn from_items(items: impl IntoIterator<Item = (String, Option<u32>, String)>) -> Self {
        let item = |(name, sample, value): (String, Option<u32>, String)| {
            // GDAL identifies these by their role.
            let roles = ["scale", "offset", "description", "unittype"];
            let role = roles.into_iter().find(|role| sample.is_some() && role.to_ascii_uppercase() == name);
            MetadataItem { name, domain: String::new(), sample, role: role.map(str::to_owned), value }
        };
        let items = Items { items: items.into_iter().map(item).collect() };
        let text = items.to_xml(&mut Warnings::new()).unwrap_or_default();
        Self::new(items, text)
    }

    fn new(items: Items, text: String) -> Self {
        Self { items, text, bands: None, dropped: Vec::new(), statistics: true, scaling: true }
    }

    /// Returns whether a band has a scale or an offset.
    pub fn has_scaling(&self) -> bool {
        self.items.items.iter().any(is_scaling)
    }

    fn drops(&self, item: &MetadataItem) -> bool {
        self.dropped.contains(&item.name)
            || (!self.statistics && item.name.starts_with("STATISTICS_"))
            || (!self.scaling && is_scaling(item))
    }

    /// Adds the items to those of a raster, which take precedence. Returns `false` if items of bands are omitted
    /// because it is not known which bands the raster has.
    pub fn apply(mut self, spec: &mut RasterSpec) -> bool {
        if self.text.is_empty() {
            return true;
        }
        let highest = self.items.items.iter().filter_map(|item| item.sample).max();
        let beyond = highest.is_some_and(|band| band >= u32::from(spec.bands));
        let same =
            self.bands.as_ref().is_none_or(|bands| (0..u32::from(spec.bands)).eq(bands.iter().copied()));
        let known = self.bands.is_some() || !beyond;
        let states = spec.metadata.bands.iter().any(|band| *band != BandMetadata::default());
        let all = self.items.items.iter().all(|item| !self.drops(item));
        if same && all && !beyond && !states && spec.metadata.items.is_empty() {
            spec.extra_fields.push((Tag::GDAL_METADATA, FieldValue::Text(self.text)));
            return true;
        }
        let mut items = std::mem::take(&mut self.items);
        items.items.retain(|item| !self.drops(item));
        let count =
            highest.and_then(|last| usize::try_from(last).ok()).map_or(0, |last| last.saturating_add(1));
        let of_file = items.bands(count.min(usize::from(u16::MAX)), &mut Warnings::new());
        spec.metadata.bands.resize(usize::from(spec.bands), BandMetadata::default());
        for (number, band) in spec.metadata.bands.iter_mut().enumerate() {
            let source = match &self.bands {
                None => Some(number).filter(|_| known),
                Some(bands) => bands.get(number).and_then(|band| usize::try_from(*band).ok()),
            };
            if let Some(below) = source.and_then(|source| of_file.get(source)) {
                put_below(band, below);
            }
        }
        let own = &mut spec.metadata.items;
        let is_own =
            |item: &MetadataItem| own.iter().any(|own| own.name == item.name && own.domain == item.domain);
        items.items.retain(|item| item.sample.is_none() && !is_own(item));
        own.splice(0..0, items.items);
        known
    }
}

fn is_scaling(item: &MetadataItem) -> bool {
    let means = |text: &str| text.eq_ignore_ascii_case("scale") || text.eq_ignore_ascii_case("offset");
    item.sample.is_some() && (means(&item.name) || item.role.as_deref().is_some_and(means))
}

/// Adds properties of the file's band that the raster's band does not have.
fn put_below(band: &mut BandMetadata, below: &BandMetadata) {
    let own = std::mem::replace(band, below.clone());
    band.description = own.description.or(band.description.take());
    band.unit = own.unit.or(band.unit.take());
    band.scale = own.scale.or(band.scale);
    band.offset = own.offset.or(band.offset);
    band.items.retain(|(name, _)| !own.items.iter().any(|(other, _)| other == name));
    band.items.extend(own.items);
    band.domain_items.extend(own.domain_items);
}

/// Returns whether a raster does not take a tag over from another file: the tag says where pixels and other directories
/// are or how they are stored, or the raster states it in another way (georeferencing, nodata, items).
pub fn is_own_tag(tag: Tag) -> bool {
    let colours = [Tag::PhotometricInterpretation, Tag::ColorMap, Tag::ExtraSamples];
    let others = [
        Tag::Orientation,
        Tag::FreeOffsets,
        Tag::FreeByteCounts,
        Tag::JPEGProc,
        Tag::JPEGInterchangeFormat,
        Tag::JPEGInterchangeFormatLength,
        Tag::JPEGRestartInterval,
        Tag::JPEGLosslessPredictors,
        Tag::JPEGPointTransforms,
        Tag::JPEGQTables,
        Tag::JPEGDCTables,
        Tag::JPEGACTables,
        Tag::YCbCrCoefficients,
        Tag::YCbCrPositioning,
        Tag::ReferenceBlackWhite,
        Tag::ModelPixelScaleTag,
        Tag::ModelTiepointTag,
        Tag::ModelTransformationTag,
        Tag::GeoKeyDirectoryTag,
        Tag::GeoDoubleParamsTag,
        Tag::GeoAsciiParamsTag,
        Tag::ExifIFD,
        Tag::GPSIFD,
        Tag::InteroperabilityIFD,
        Tag::GDAL_METADATA,
        Tag::GDAL_NODATA,
    ];
    (tag.is_of_layout() && !colours.contains(&tag)) || others.contains(&tag)
}

/// The colours of a raster, which determine its photometric interpretation.
#[derive(Debug, Clone, Default)]
pub struct StatedColours {
    /// The interpretation in a tag of the file, which takes precedence.
    pub tag: Option<u16>,
    /// The interpretation that the caller chooses.
    pub chosen: Option<u16>,
    /// The interpretation of the file that the pixels come from, if it has colours.
    pub kept: Option<Photometric>,
    /// Whether the fourth band is alpha.
    pub alpha: bool,
    /// Meanings of the bands of that file beyond its colours, as TIFF's numbers.
    pub extra: Option<Vec<u16>>,
    /// Its colour table: all reds, then greens, then blues.
    pub table: Option<Vec<u16>>,
    /// The bands of that file that the raster has, from 0; `None` if unknown.
    pub bands: Option<Vec<u32>>,
    /// Whether overviews are computed.
    pub overviews: bool,
}

/// The reason why colours cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColoursError {
    /// They contradict the raster.
    Invalid(String),
    /// The writer does not support them.
    Unsupported(String),
}

impl StatedColours {
    /// Sets the colours of a raster. Returns `false` if a colour table is omitted because it does not fit the raster.
    pub fn apply(self, spec: &mut RasterSpec) -> Result<bool, ColoursError> {
        use ColoursError::{Invalid, Unsupported};
        let bands: Vec<u32> = self.bands.unwrap_or_else(|| (0..u32::from(spec.bands)).collect());
        let kept = self.kept.filter(|kept| {
            bands
                .iter()
                .take(usize::from(kept.colour_samples()))
                .copied()
                .eq(0..u32::from(kept.colour_samples()))
        });
        let table = self.table.filter(|_| bands == [0]);
        let entries = table.as_ref().map(|table| palette(table, spec));
        let fits = !matches!(entries, Some(None));
        let entries = entries.flatten();
        if let Some(tag) = self.tag
            && spec.bands == 1
            && (tag == 0) != (self.chosen == Some(0))
        {
            return Err(Invalid(format!(
                "photometric {tag} of a tag would change what white is without changing the pixels: choose it by \
                 `photometric` instead"
            )));
        }
        let code = self.tag.or(self.chosen).or(kept.map(Photometric::code));
        let code = code.unwrap_or(if entries.is_some() {
            Photometric::Palette.code()
        } else {
            Photometric::MinIsBlack.code()
        });
        let photometric = Photometric::from_code(code);
        let (needed, name) = if self.alpha { (4, "rgba") } else { (3, "rgb") };
        let signed = matches!(spec.data_type, DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64);
        match photometric {
            Photometric::Rgb if spec.bands < needed => {
                let bands = spec.bands;
                return Err(Invalid(format!(
                    "photometric '{name}' needs {needed} bands, and the raster has {bands}"
                )));
            }
            Photometric::MinIsWhite if signed => {
                let name = spec.data_type.name();
                return Err(Unsupported(format!(
                    "photometric 'miniswhite' on {name}: what white means for signed numbers is not defined; use \
                     unsigned ones"
                )));
            }
            Photometric::MinIsWhite if self.overviews => {
                let problem = "photometric 'miniswhite' with overviews: they would be made of inverted pixels; write \
                               it without overviews";
                return Err(Unsupported(problem.into()));
            }
            Photometric::Palette if entries.is_none() => {
                return Err(Invalid("photometric 3 is a palette and needs a colour table".into()));
            }
            _ => {}
        }
        spec.photometric = Some(photometric);
        spec.colour_map = entries.filter(|_| photometric == Photometric::Palette);
        let meanings = match (self.alpha, self.extra) {
            (true, _) => Some(vec![2]),
            (false, Some(extra)) => {
                let whole = (0..u32::from(spec.bands)).eq(bands.iter().copied());
                // Counted in the bands of the file, whichever of them the raster has.
                let colours = match self.kept {
                    Some(kept) => usize::from(kept.colour_samples()),
                    None if whole && bands.len() > extra.len() => bands.len() - extra.len(),
                    None => 1,
                };
                let meaning = |band: &u32| {
                    let place = usize::try_from(*band).ok().and_then(|band| band.checked_sub(colours));
                    place.and_then(|place| extra.get(place)).copied().unwrap_or(0)
                };
                Some(bands.iter().skip(usize::from(photometric.colour_samples())).map(meaning).collect())
            }
            (false, None) => None,
        };
        spec.extra_samples = meanings.map(|meanings| meanings.into_iter().map(extra_sample).collect());
        Ok(fits)
    }
}

fn extra_sample(code: u16) -> ExtraSample {
    match code {
        1 => ExtraSample::AssociatedAlpha,
        2 => ExtraSample::UnassociatedAlpha,
        _ => ExtraSample::Unspecified,
    }
}

/// Returns the colours by value; `None` if the raster has no palette of that size. A file with fewer bits has a shorter
/// table.
fn palette(table: &[u16], spec: &RasterSpec) -> Option<Vec<[u16; 3]>> {
    let most = match spec.data_type {
        DataType::U8 => 1 << 8,
        DataType::U16 => 1 << 16,
        _ => return None,
    };
    let size = table.len() / 3;
    if spec.bands != 1 || size * 3 != table.len() || !(2..=most).contains(&size) {
        return None;
    }
    let (reds, rest) = table.split_at_checked(size)?;
    let (greens, blues) = rest.split_at_checked(size)?;
    Some(reds.iter().zip(greens).zip(blues).map(|((&red, &green), &blue)| [red, green, blue]).collect())
}

/// Returns the fraction nearest to a number among those with a denominator of at most 10,000; `None` for negative numbers and for
/// those that RATIONAL cannot hold.
pub fn rational(number: f64) -> Option<(u32, u32)> {
    const MOST: u128 = 10_000;
    // A multiple of 2⁻⁶⁴ suffices: fractions with such denominators are further apart.
    const UNIT: f64 = 18_446_744_073_709_551_616.0;
    if !(0.0..=f64::from(u32::MAX)).contains(&number) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2⁹⁶, from 0 on")]
    let whole = (number * UNIT) as u128;
    let (mut over, mut under) = (whole, 1_u128 << 64);
    // The convergents of the continued fraction, the last two.
    let (mut last, mut this) = ((0_u128, 1_u128), (1_u128, 0_u128));
    let best = loop {
        let Some(digit) = over.checked_div(under) else { break this };
        let next = (last.0 + digit * this.0, last.1 + digit * this.1);
        if next.1 > MOST {
            // Between the last two lie the fractions with as many of a digit as fit.
            let count = (MOST - last.1) / this.1.max(1);
            let between = (last.0 + count * this.0, last.1 + count * this.1);
            let away = |(over, under): (u128, u128)| (over << 64).abs_diff(whole * under);
            break if away(between) * this.1 < away(this) * between.1 { between } else { this };
        }
        (over, under) = (under, over - digit * under);
        (last, this) = (this, next);
    };
    Some((u32::try_from(best.0).ok()?, u32::try_from(best.1).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's `Fraction(number).limit_denominator(10_000)`.
    #[test]
    fn fractions_are_the_nearest() {
        let known = [
            (0.0, (0, 1)),
            (72.0, (72, 1)),
            (300.5, (601, 2)),
            (std::f64::consts::PI, (355, 113)),
            (0.1, (1, 10)),
            (1.0 / 3.0, (1, 3)),
            (118.110_236_220_472_44, (15000, 127)),
            (0.000_01, (0, 1)),
            (0.000_09, (1, 10_000)),
            (4_294_967_295.0, (u32::MAX, 1)),
        ];
        for (number, fraction) in known {
            assert_eq!(rational(number), Some(fraction), "{number}");
        }
        assert_eq!((rational(-1.0), rational(f64::NAN), rational(1e10)), (None, None, None));
    }

    fn spec(bands: u16) -> RasterSpec {
        RasterSpec::new(4, 4, bands, DataType::U8)
    }

    fn named(bands: u32) -> StatedItems {
        StatedItems::from_items((0..bands).map(|band| ("DESCRIPTION".into(), Some(band), format!("b{band}"))))
    }

    #[test]
    fn items_follow_the_bands_that_a_raster_has() {
        let mut whole = spec(3);
        assert!(named(3).apply(&mut whole));
        assert!(
            matches!(&whole.extra_fields[..], [(Tag::GDAL_METADATA, FieldValue::Text(text))] if text.contains("b2"))
        );
        let mut part = spec(2);
        assert!(StatedItems { bands: Some(vec![2, 0]), ..named(3) }.apply(&mut part));
        let names: Vec<_> = part.metadata.bands.iter().map(|band| band.description.as_deref()).collect();
        assert_eq!(names, [Some("b2"), Some("b0")]);
        let mut unknown = spec(2);
        assert!(
            !named(3).apply(&mut unknown)
                && unknown.metadata.bands.iter().all(|band| band.description.is_none())
        );
    }

    #[test]
    fn scales_that_were_applied_are_left_out() {
        let items = [("SCALE".to_owned(), Some(0), "0.1".to_owned()), ("A".to_owned(), None, "1".to_owned())];
        let stated = StatedItems::from_items(items);
        assert!(stated.has_scaling());
        let mut spec = spec(1);
        StatedItems { scaling: false, ..stated }.apply(&mut spec);
        assert_eq!((spec.metadata.bands[0].scale, spec.metadata.items.len()), (None, 1));
        assert!(spec.extra_fields.is_empty());
    }

    #[test]
    fn colours_follow_the_bands_that_a_raster_has() {
        let stated = |bands: Vec<u32>| StatedColours {
            kept: Some(Photometric::Rgb),
            extra: Some(vec![2]),
            bands: Some(bands),
            ..StatedColours::default()
        };
        let mut all = spec(4);
        assert_eq!(stated(vec![0, 1, 2, 3]).apply(&mut all), Ok(true));
        assert_eq!(all.photometric, Some(Photometric::Rgb));
        assert_eq!(all.extra_samples, Some(vec![ExtraSample::UnassociatedAlpha]));
        let mut some = spec(2);
        assert_eq!(stated(vec![1, 3]).apply(&mut some), Ok(true));
        assert_eq!(some.photometric, Some(Photometric::MinIsBlack));
        let mut turned = spec(3);
        assert_eq!(stated(vec![2, 1, 0]).apply(&mut turned), Ok(true));
        assert_eq!(turned.extra_samples, Some(vec![ExtraSample::Unspecified; 2]));
        let mut table = spec(1);
        let stated = StatedColours { table: Some(vec![1, 2, 3, 4, 5, 6]), ..StatedColours::default() };
        assert_eq!(stated.clone().apply(&mut table), Ok(true));
        assert_eq!(table.colour_map, Some(vec![[1, 3, 5], [2, 4, 6]]));
        let mut floats = RasterSpec::new(4, 4, 1, DataType::F32);
        assert_eq!((stated.apply(&mut floats), floats.colour_map), (Ok(false), None));
    }
}
