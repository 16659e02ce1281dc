//! The XML of tag GDAL_METADATA (42112): items of the dataset and of its bands.

use super::xml::Element;
use crate::geo::{GeoWarningCode as Code, Rpc};
use crate::{Warning, Warnings};

/// One `<Item>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataItem {
    /// Its name.
    pub name: String,
    /// Its domain; empty for the default domain.
    pub domain: String,
    /// The band it belongs to, from 0; `None` for the dataset.
    pub sample: Option<u32>,
    /// Its role in GDAL: `scale`, `offset`, `unittype`, `description`, …
    pub role: Option<String>,
    /// Its value.
    pub value: String,
}

/// Statistics of one band's values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// Smallest valid value.
    pub minimum: Option<f64>,
    /// Largest valid value.
    pub maximum: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub standard_deviation: Option<f64>,
    /// Percentage of valid samples.
    pub valid_percent: Option<f64>,
}

/// Metadata of one band.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BandMetadata {
    /// Real value = sample × scale + offset.
    pub scale: Option<f64>,
    /// See `scale`.
    pub offset: Option<f64>,
    /// Unit of the real values.
    pub unit: Option<String>,
    /// Name of the band.
    pub description: Option<String>,
    /// GDAL's colour interpretation of the band.
    pub colour: Option<String>,
    /// Stored statistics.
    pub statistics: Option<Statistics>,
    /// All other items of the band in the default domain.
    pub items: Vec<(String, String)>,
    /// Items of the band in other domains: domain, name, value.
    pub domain_items: Vec<(String, String, String)>,
    /// Elements that only a sidecar can hold: colour table, attribute table and, for bands after the first, the names
    /// of categories.
    pub sidecar: Vec<Element>,
}

/// All items, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// The items.
    pub items: Vec<MetadataItem>,
}

impl Metadata {
    /// Parses the tag's text. Malformed text gives no items and a warning.
    pub fn parse(text: &str, warnings: &mut Warnings) -> Self {
        let place = "GDAL_METADATA";
        let mut items = Vec::new();
        if text.trim_end_matches('\0').trim().is_empty() {
            return Self { items };
        }
        let root = match Element::parse(text) {
            Ok(root) if root.name == "GDALMetadata" => root,
            Ok(root) => {
                let shown: String = root.name.chars().take(40).collect();
                let message = format!("expected root element `GDALMetadata`, got `{shown}`; ignored");
                warnings.push(Warning::new(Code::BadMetadata, place, message));
                return Self { items };
            }
            Err(message) => {
                warnings.push(Warning::new(Code::BadMetadata, place, format!("{message}; ignored")));
                return Self { items };
            }
        };
        for element in root.all("Item") {
            let sample = match element.attribute("sample").map(str::trim) {
                None => None,
                Some(text) => match text.parse() {
                    Ok(sample) => Some(sample),
                    Err(_) => {
                        let message = "the `sample` of an item is not a band number; ignored";
                        warnings.push(Warning::new(Code::BadMetadata, place, message));
                        continue;
                    }
                },
            };
            let Some(name) = element.attribute("name") else {
                let message = "an item without a name; ignored";
                warnings.push(Warning::new(Code::BadMetadata, place, message));
                continue;
            };
            items.push(MetadataItem {
                name: name.to_owned(),
                domain: element.attribute("domain").unwrap_or("").to_owned(),
                sample,
                role: element.attribute("role").map(str::to_owned),
                // GDAL escapes values twice.
                value: unescape(&element.text),
            });
        }
        Self { items }
    }

    /// Returns the metadata of each of `count` bands. Warns about items of other bands.
    pub fn bands(&self, count: usize, warnings: &mut Warnings) -> Vec<BandMetadata> {
        let mut bands = vec![BandMetadata::default(); count];
        for item in &self.items {
            let Some(sample) = item.sample else { continue };
            match usize::try_from(sample).ok().and_then(|i| bands.get_mut(i)) {
                Some(band) => band.add(item, "GDAL_METADATA", warnings),
                None => {
                    let message = format!("item for band {}, of {count}; ignored", u64::from(sample) + 1);
                    warnings.push(Warning::new(Code::BadMetadata, "GDAL_METADATA", message));
                }
            }
        }
        bands
    }

    /// Returns the items of the dataset in a domain.
    pub fn domain<'a>(&'a self, domain: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let own = self.items.iter().filter(move |i| i.sample.is_none() && i.domain == domain);
        own.map(|i| (i.name.as_str(), i.value.as_str()))
    }

    /// Returns the camera model in the domain `RPC`, if there is one.
    pub fn rpc(&self, warnings: &mut Warnings) -> Option<Rpc> {
        self.domain("RPC").next()?;
        Rpc::from_items(self.domain("RPC"), warnings)
    }
}

impl BandMetadata {
    pub(super) fn add(&mut self, item: &MetadataItem, place: &str, warnings: &mut Warnings) {
        let number = |warnings: &mut Warnings| {
            let value = item.value.trim().parse().ok().filter(|v: &f64| v.is_finite());
            if value.is_none() {
                let message = format!("`{}` is not a number; ignored", item.name.escape_debug());
                warnings.push(Warning::new(Code::BadMetadata, place, message));
            }
            value
        };
        match item.role.as_deref() {
            Some("scale") => self.scale = number(warnings),
            Some("offset") => self.offset = number(warnings),
            Some("unittype") => self.unit = Some(item.value.clone()).filter(|v| !v.is_empty()),
            Some("description") => self.description = Some(item.value.clone()).filter(|v| !v.is_empty()),
            Some("colorinterp") => self.colour = Some(item.value.clone()),
            _ if item.domain.is_empty() => {
                if let Some(field) = item.name.strip_prefix("STATISTICS_") {
                    let statistics = self.statistics.get_or_insert_default();
                    // Statistics of a band without valid samples are written as NaN.
                    let value = item.value.trim().parse().ok();
                    match field {
                        "MINIMUM" => statistics.minimum = value,
                        "MAXIMUM" => statistics.maximum = value,
                        "MEAN" => statistics.mean = value,
                        "STDDEV" => statistics.standard_deviation = value,
                        "VALID_PERCENT" => statistics.valid_percent = value,
                        _ => {}
                    }
                }
                self.items.push((item.name.clone(), item.value.clone()));
            }
            _ => self.domain_items.push((item.domain.clone(), item.name.clone(), item.value.clone())),
        }
    }
}

/// Replaces the five entities of XML; anything else is unchanged.
fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    const WORDS: [(&str, char); 5] =
        [("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\''), ("&amp;", '&')];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        match WORDS.iter().find(|(word, _)| tail.starts_with(word)) {
            Some((word, c)) => {
                out.push(*c);
                rest = tail.get(word.len()..).unwrap_or("");
            }
            None => {
                out.push('&');
                rest = tail.get(1..).unwrap_or("");
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"<GDALMetadata>
  <Item name="custom">a&amp;lt;b&amp;gt;&amp;amp;c</Item>
  <Item name="x" domain="MYDOMAIN">1</Item>
  <Item name="STATISTICS_MAXIMUM" sample="0">99</Item>
  <Item name="OFFSET" sample="0" role="offset">-273.14999999999998</Item>
  <Item name="SCALE" sample="0" role="scale">0.01</Item>
  <Item name="UNITTYPE" sample="0" role="unittype">degC</Item>
  <Item name="DESCRIPTION" sample="1" role="description">rain é</Item>
</GDALMetadata>
"#;

    #[test]
    fn items_of_dataset_and_bands() {
        let mut warnings = Warnings::new();
        let metadata = Metadata::parse(&format!("{TEXT}\0"), &mut warnings);
        assert_eq!(metadata.domain("").collect::<Vec<_>>(), [("custom", "a<b>&c")]);
        assert_eq!(metadata.domain("MYDOMAIN").collect::<Vec<_>>(), [("x", "1")]);
        let bands = metadata.bands(2, &mut warnings);
        assert_eq!((bands[0].scale, bands[0].offset), (Some(0.01), Some(-273.15)));
        assert_eq!(
            (bands[0].unit.as_deref(), bands[1].description.as_deref()),
            (Some("degC"), Some("rain é"))
        );
        assert_eq!(bands[0].statistics.as_ref().unwrap().maximum, Some(99.0));
        assert!(warnings.is_empty());
        metadata.bands(1, &mut warnings);
        assert_eq!(warnings[0].message, "item for band 2, of 1; ignored");
    }

    #[test]
    fn malformed_text_is_a_warning() {
        for text in ["<GDALMetadata><Item>", "<x/>", "<GDALMetadata><Item/></GDALMetadata>"] {
            let mut warnings = Warnings::new();
            assert!(Metadata::parse(text, &mut warnings).items.is_empty());
            assert_eq!(warnings.len(), 1, "{text}");
        }
    }
}
