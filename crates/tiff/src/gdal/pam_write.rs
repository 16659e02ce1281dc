//! Writes a sidecar as text: `.aux.xml`.
//!
//! Reading the text restores the same value. Numbers have all their digits, whereas GDAL rounds those of control
//! points.

use super::metadata::MetadataItem;
use super::metadata_write::tell;
use super::number::print;
use super::pam::{Pam, PamBand};
use super::xml_write::Xml;
use crate::Warnings;
use crate::geo::{Crs, Gcp};

impl Pam {
    /// Returns whether it is empty, so that no sidecar is needed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the text of the sidecar. Warns about characters that XML cannot hold.
    pub fn to_xml(&self, warnings: &mut Warnings) -> String {
        let mut xml = Xml::default();
        xml.start("PAMDataset", &[]);
        if let Some(text) = self.crs.as_ref().and_then(srs) {
            xml.leaf("SRS", &[], &text);
        }
        if let Some(transform) = self.transform {
            let values: Vec<String> = transform.to_gdal().iter().map(|v| format!("{v:>24.16e}")).collect();
            xml.leaf("GeoTransform", &[], &values.join(","));
        }
        if !self.gcps.is_empty() {
            write_gcps(&mut xml, &self.gcps, self.gcp_crs.as_ref());
        }
        write_items(&mut xml, &self.items);
        if let (Some(rpc), false) = (&self.rpc, self.items.iter().any(|i| i.domain == "RPC")) {
            write_items(&mut xml, &rpc.to_items());
        }
        for band in &self.bands {
            write_band(&mut xml, band);
        }
        xml.end();
        tell(&xml, ".aux.xml", warnings);
        xml.text
    }
}

/// Returns the definition, or the code if only that is known.
fn srs(crs: &Crs) -> Option<String> {
    crs.wkt.clone().or_else(|| crs.epsg.map(|code| format!("EPSG:{code}")))
}

fn write_gcps(xml: &mut Xml, gcps: &[Gcp], crs: Option<&Crs>) {
    let projection = crs.and_then(srs);
    let attributes: Vec<_> = projection.iter().map(|text| ("Projection", text.as_str())).collect();
    xml.start("GCPList", &attributes);
    for gcp in gcps {
        let numbers = [gcp.column, gcp.row, gcp.x, gcp.y, gcp.z].map(print);
        let names = ["Pixel", "Line", "X", "Y", "Z"];
        let mut attributes = vec![("Id", gcp.id.as_str())];
        attributes.extend(names.into_iter().zip(numbers.iter().map(String::as_str)));
        xml.empty("GCP", &attributes);
    }
    xml.end();
}

/// Writes one `<Metadata>` per run of items in one domain, to preserve their order.
fn write_items(xml: &mut Xml, items: &[MetadataItem]) {
    let pairs = items.iter().map(|i| (i.domain.as_str(), i.name.as_str(), i.value.as_str()));
    write_pairs(xml, &pairs.collect::<Vec<_>>());
}

fn write_pairs(xml: &mut Xml, items: &[(&str, &str, &str)]) {
    for run in items.chunk_by(|a, b| a.0 == b.0) {
        let domain = run.first().map(|i| i.0).filter(|d| !d.is_empty());
        let attributes: Vec<_> = domain.iter().map(|d| ("domain", *d)).collect();
        xml.start("Metadata", &attributes);
        for (_, name, value) in run {
            xml.leaf("MDI", &[("key", name)], value);
        }
        xml.end();
    }
}

fn write_band(xml: &mut Xml, band: &PamBand) {
    let metadata = &band.metadata;
    xml.start("PAMRasterBand", &[("band", &band.band.to_string())]);
    let text = [
        ("Description", metadata.description.clone()),
        ("NoDataValue", band.nodata.map(super::NoData::to_text)),
        ("UnitType", metadata.unit.clone()),
        ("Offset", metadata.offset.map(print)),
        ("Scale", metadata.scale.map(print)),
        ("ColorInterp", metadata.colour.clone()),
    ];
    for (name, value) in text {
        if let Some(value) = value {
            xml.leaf(name, &[], &value);
        }
    }
    if !band.categories.is_empty() {
        xml.start("CategoryNames", &[]);
        for name in &band.categories {
            xml.leaf("Category", &[], name);
        }
        xml.end();
    }
    metadata.sidecar.iter().for_each(|element| xml.element(element));
    let statistics = metadata.statistics_items();
    let own = metadata.items.iter().chain(&statistics).map(|(n, v)| ("", n.as_str(), v.as_str()));
    let other = metadata.domain_items.iter().map(|(d, n, v)| (d.as_str(), n.as_str(), v.as_str()));
    write_pairs(xml, &own.chain(other).collect::<Vec<_>>());
    xml.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdal::xml::Element;
    use crate::gdal::{BandMetadata, NoData, Statistics};
    use crate::geo::{GeoTransform, Rpc};

    #[test]
    fn every_part_comes_back() {
        let rpc =
            Rpc::from_tag(&(0..92).map(|v| f64::from(v) / 7.0).collect::<Vec<_>>(), &mut Warnings::new());
        let gcp =
            |id: &str, column| Gcp { column, row: 0.1, x: 1.0 / 3.0, y: 1e7, z: -0.5, id: id.to_owned() };
        let item = |domain: &str, name: &str| MetadataItem {
            name: name.to_owned(),
            domain: domain.to_owned(),
            sample: None,
            role: None,
            value: " <v>\n".to_owned(),
        };
        let mut items = vec![item("", "a"), item("", "b"), item("D", "a"), item("", "c")];
        items.extend(rpc.as_ref().unwrap().to_items());
        let statistics = Statistics { minimum: Some(0.1), ..Default::default() };
        let metadata = BandMetadata {
            scale: Some(0.1),
            offset: Some(-3.0),
            unit: Some("m".to_owned()),
            description: Some("height & more".to_owned()),
            colour: Some("Gray".to_owned()),
            statistics: Some(statistics),
            items: vec![
                ("x".to_owned(), "1".to_owned()),
                ("STATISTICS_MINIMUM".to_owned(), "0.10000000000000001".to_owned()),
            ],
            domain_items: vec![("Q".to_owned(), "x".to_owned(), "2".to_owned())],
            sidecar: vec![
                Element::parse("<ColorTable><Entry c1=\"1\" c2=\"&lt;\"/><Entry>a&amp;b</Entry></ColorTable>").unwrap(),
                Element::parse("<GDALRasterAttributeTable tableType=\"thematic\"><Row><F> 1</F></Row></GDALRasterAttributeTable>").unwrap(),
            ],
        };
        let pam = Pam {
            crs: Crs::from_epsg(5514),
            transform: Some(GeoTransform::from_gdal([0.1, 1.0 / 3.0, 0.25, 1e7, -0.25, -1e-9])),
            gcps: vec![gcp("a\"1", 0.5), gcp("", 7.0)],
            gcp_crs: Crs::from_epsg(4326),
            rpc,
            items,
            bands: vec![PamBand {
                band: 3,
                nodata: Some(NoData::Integer(i128::from(u64::MAX))),
                categories: vec!["none".to_owned(), String::new(), "wood".to_owned()],
                metadata,
            }],
        };
        let mut warnings = Warnings::new();
        let text = pam.to_xml(&mut warnings);
        assert_eq!(Pam::parse(&text, &mut warnings), pam, "{text}");
        assert_eq!(warnings, []);
        assert!(Pam::parse(&Pam::default().to_xml(&mut warnings), &mut warnings).is_empty());
    }
}
