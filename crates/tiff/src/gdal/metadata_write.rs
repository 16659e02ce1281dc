//! Writes metadata as the XML of tag GDAL_METADATA.
//!
//! Items have the order and form of GDAL; values are escaped twice, as GDAL does and its readers expect.

use super::metadata::{BandMetadata, Metadata, MetadataItem};
use super::number::print;
use super::xml_write::Xml;
use crate::geo::{GeoWarningCode as Code, Rpc};
use crate::{FieldValue, Tag, Warning, Warnings};

/// Domains that GDAL derives from the file itself.
const MADE_UP: [&str; 4] = ["IMAGE_STRUCTURE", "COLOR_PROFILE", "DERIVED_SUBDATASETS", "xml:XMP"];

/// Items that GDAL keeps in baseline tags.
const TAG_ITEMS: [(&str, Tag); 7] = [
    ("TIFFTAG_DOCUMENTNAME", Tag::DocumentName),
    ("TIFFTAG_IMAGEDESCRIPTION", Tag::ImageDescription),
    ("TIFFTAG_SOFTWARE", Tag::Software),
    ("TIFFTAG_DATETIME", Tag::DateTime),
    ("TIFFTAG_ARTIST", Tag::Artist),
    ("TIFFTAG_HOSTCOMPUTER", Tag::HostComputer),
    ("TIFFTAG_COPYRIGHT", Tag::Copyright),
];

impl Metadata {
    /// Returns the items to write for a dataset: those of the dataset, then those of each band, as in GDAL. Items that
    /// have their own tags are omitted: AREA_OR_POINT, the structure of the image, and a camera model that fits tag
    /// RPCCoefficient.
    pub fn from_parts(items: &[MetadataItem], bands: &[BandMetadata]) -> Self {
        let whole = Self { items: items.iter().filter(|i| i.sample.is_none()).cloned().collect() };
        let has_rpc = whole.rpc(&mut Warnings::new()).is_some();
        let kept = |item: &MetadataItem| match item.domain.as_str() {
            "" => item.name != "AREA_OR_POINT",
            "RPC" => !has_rpc,
            domain => !MADE_UP.contains(&domain),
        };
        let mut out: Vec<MetadataItem> = whole.items.into_iter().filter(kept).collect();
        for (sample, band) in (0_u32..).zip(bands) {
            band.push_items(sample, &mut out);
        }
        Self { items: out }
    }

    /// Removes the items that are baseline tags (`TIFFTAG_SOFTWARE`, …) and returns those tags.
    pub fn take_tags(&mut self) -> Vec<(Tag, FieldValue)> {
        let mut out = Vec::new();
        self.items.retain(|item| {
            let own = item.sample.is_none() && item.domain.is_empty();
            match TAG_ITEMS.iter().find(|(name, _)| own && *name == item.name) {
                Some((_, tag)) => {
                    out.push((*tag, FieldValue::Text(item.value.replace('\0', " "))));
                    false
                }
                None => true,
            }
        });
        out
    }

    /// Returns the tag's text; `None` if there are no items. Warns about characters that XML cannot hold.
    pub fn to_xml(&self, warnings: &mut Warnings) -> Option<String> {
        if self.items.is_empty() {
            return None;
        }
        let mut xml = Xml::default();
        xml.start("GDALMetadata", &[]);
        for item in &self.items {
            let sample = item.sample.map(|s| s.to_string());
            let mut attributes = vec![("name", item.name.as_str())];
            if let Some(sample) = &sample {
                attributes.push(("sample", sample));
            }
            if !item.domain.is_empty() {
                attributes.push(("domain", &item.domain));
            }
            if let Some(role) = &item.role {
                attributes.push(("role", role));
            }
            xml.leaf("Item", &attributes, &escape(&item.value));
        }
        xml.end();
        tell(&xml, "GDAL_METADATA", warnings);
        Some(xml.text)
    }

    /// Returns the tag, if there are items.
    pub fn to_field(&self, warnings: &mut Warnings) -> Option<(Tag, FieldValue)> {
        Some((Tag::GDAL_METADATA, FieldValue::Text(self.to_xml(warnings)?)))
    }
}

/// Warns about the number of lost characters.
pub(super) fn tell(xml: &Xml, place: &str, warnings: &mut Warnings) {
    if xml.replaced > 0 {
        let message = format!("{} characters that XML cannot hold became spaces", xml.replaced);
        warnings.push(Warning::new(Code::BadMetadata, place, message));
    }
}

impl BandMetadata {
    /// Returns statistics as GDAL's items, unless the items already have them.
    pub fn statistics_items(&self) -> Vec<(String, String)> {
        let Some(statistics) = &self.statistics else { return Vec::new() };
        let values = [
            ("MAXIMUM", statistics.maximum),
            ("MEAN", statistics.mean),
            ("MINIMUM", statistics.minimum),
            ("STDDEV", statistics.standard_deviation),
            ("VALID_PERCENT", statistics.valid_percent),
        ];
        let named =
            values.into_iter().filter_map(|(name, v)| Some((format!("STATISTICS_{name}"), print(v?))));
        named.filter(|(name, _)| !self.items.iter().any(|(n, _)| n == name)).collect()
    }

    fn push_items(&self, sample: u32, out: &mut Vec<MetadataItem>) {
        let mut push = |name: &str, domain: &str, role: Option<&str>, value: String| {
            out.push(MetadataItem {
                name: name.to_owned(),
                domain: domain.to_owned(),
                sample: Some(sample),
                role: role.map(str::to_owned),
                value,
            });
        };
        for (name, value) in self.items.iter().chain(&self.statistics_items()) {
            push(name, "", None, value.clone());
        }
        for (domain, name, value) in &self.domain_items {
            if !MADE_UP.contains(&domain.as_str()) {
                push(name, domain, None, value.clone());
            }
        }
        // GDAL writes both if either is present.
        if self.scale.is_some() || self.offset.is_some() {
            push("OFFSET", "", Some("offset"), print(self.offset.unwrap_or(0.0)));
            push("SCALE", "", Some("scale"), print(self.scale.unwrap_or(1.0)));
        }
        for (name, role, value) in [
            ("UNITTYPE", "unittype", &self.unit),
            ("DESCRIPTION", "description", &self.description),
            ("COLORINTERP", "colorinterp", &self.colour),
        ] {
            if let Some(value) = value {
                push(name, "", Some(role), value.clone());
            }
        }
    }
}

/// Applies the inner of the two escapes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Rpc {
    /// Returns the items of GDAL's metadata domain `RPC`, for formats without a tag.
    pub fn to_items(&self) -> Vec<MetadataItem> {
        let list = |values: &[f64; 20]| values.iter().map(|v| print(*v)).collect::<Vec<_>>().join(" ");
        let mut pairs = Vec::new();
        for (name, value) in [("ERR_BIAS", self.err_bias), ("ERR_RAND", self.err_rand)] {
            if let Some(value) = value {
                pairs.push((name.to_owned(), print(value)));
            }
        }
        for (name, (offset, scale)) in [
            ("LINE", self.line),
            ("SAMP", self.sample),
            ("LAT", self.latitude),
            ("LONG", self.longitude),
            ("HEIGHT", self.height),
        ] {
            pairs.push((format!("{name}_OFF"), print(offset)));
            pairs.push((format!("{name}_SCALE"), print(scale)));
        }
        for (name, values) in [
            ("LINE_NUM_COEFF", &self.line_numerator),
            ("LINE_DEN_COEFF", &self.line_denominator),
            ("SAMP_NUM_COEFF", &self.sample_numerator),
            ("SAMP_DEN_COEFF", &self.sample_denominator),
        ] {
            pairs.push((name.to_owned(), list(values)));
        }
        let item =
            |(name, value)| MetadataItem { name, domain: "RPC".to_owned(), sample: None, role: None, value };
        pairs.into_iter().map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdal::Statistics;

    fn item(name: &str, domain: &str, value: &str) -> MetadataItem {
        MetadataItem {
            name: name.to_owned(),
            domain: domain.to_owned(),
            sample: None,
            role: None,
            value: value.to_owned(),
        }
    }

    /// GDAL 3.12's output for the same dataset.
    #[test]
    fn the_text_is_that_of_gdal() {
        let expected = r#"<GDALMetadata>
  <Item name="A">x&amp;lt;y&amp;amp;&amp;quot;'&amp;gt;
	tab é</Item>
  <Item name="B"></Item>
  <Item name="C" domain="DOM">1</Item>
  <Item name="K" sample="0">v</Item>
  <Item name="STATISTICS_MEAN" sample="0">4</Item>
  <Item name="OFFSET" sample="0" role="offset">0</Item>
  <Item name="SCALE" sample="0" role="scale">0.10000000000000001</Item>
  <Item name="DESCRIPTION" sample="0" role="description">de&amp;lt;sc</Item>
  <Item name="COLORINTERP" sample="0" role="colorinterp">Red</Item>
  <Item name="K" sample="1" domain="Q">v</Item>
  <Item name="OFFSET" sample="1" role="offset">3.25</Item>
  <Item name="SCALE" sample="1" role="scale">1</Item>
  <Item name="UNITTYPE" sample="1" role="unittype">m</Item>
  <Item name="COLORINTERP" sample="1" role="colorinterp">Undefined</Item>
</GDALMetadata>
"#;
        let mut warnings = Warnings::new();
        let read = Metadata::parse(expected, &mut warnings);
        assert_eq!(read.to_xml(&mut warnings).as_deref(), Some(expected));
        let bands = read.bands(2, &mut warnings);
        let mut whole = read.items.clone();
        whole.push(item("AREA_OR_POINT", "", "Area"));
        whole.push(item("INTERLEAVE", "IMAGE_STRUCTURE", "PIXEL"));
        let written = Metadata::from_parts(&whole, &bands);
        assert_eq!(written, read);
        assert!(warnings.is_empty());
    }

    #[test]
    fn statistics_alone_are_written_once() {
        let statistics = Statistics { mean: Some(0.5), minimum: Some(f64::NAN), ..Default::default() };
        let mut band = BandMetadata { statistics: Some(statistics), ..Default::default() };
        let items = |band: &BandMetadata| -> Vec<(String, String)> {
            Metadata::from_parts(&[], std::slice::from_ref(band))
                .items
                .into_iter()
                .map(|i| (i.name, i.value))
                .collect()
        };
        let expected = [("STATISTICS_MEAN", "0.5"), ("STATISTICS_MINIMUM", "nan")];
        let expected = expected.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(items(&band), expected);
        band.items = expected.to_vec();
        assert_eq!(items(&band), expected);
    }

    #[test]
    fn tags_and_camera_models_leave_the_items() {
        let rpc =
            Rpc::from_tag(&(0..92).map(|v| f64::from(v) / 7.0).collect::<Vec<_>>(), &mut Warnings::new());
        let rpc = rpc.unwrap();
        let mut items = rpc.to_items();
        assert_eq!(Metadata { items: items.clone() }.rpc(&mut Warnings::new()), Some(rpc));
        items.push(item("TIFFTAG_SOFTWARE", "", "s"));
        items.push(item("x", "", "1"));
        let mut metadata = Metadata::from_parts(&items, &[]);
        assert_eq!(metadata.take_tags(), [(Tag::Software, FieldValue::Text("s".to_owned()))]);
        assert_eq!(metadata.items, [item("x", "", "1")]);
        // A model with missing items is unchanged.
        items.remove(0);
        items.remove(2);
        assert!(Metadata::from_parts(&items, &[]).items.iter().any(|i| i.domain == "RPC"));
        assert_eq!(Metadata::default().to_xml(&mut Warnings::new()), None);
    }
}
