//! Sidecars of GDAL's persistent auxiliary metadata: `.aux.xml`.
//!
//! A sidecar overrides the file, as in GDAL: `apply` does that for georeferencing and `PamBand::over` for a band.
//! Colour tables and attribute tables are kept as their elements; histograms are dropped.

use super::metadata::{BandMetadata, MetadataItem};
use super::nodata::NoData;
use super::xml::{Element, XmlLimits};
use crate::geo::{Crs, Gcp, GeoTransform, GeoWarningCode as Code, Georeference, Rpc};
use crate::{Warning, Warnings};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

const PLACE: &str = ".aux.xml";

/// A sidecar's metadata of one band.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PamBand {
    /// The band, from 1.
    pub band: u32,
    /// Nodata value.
    pub nodata: Option<NoData>,
    /// Names of the values 0, 1, 2, …
    pub categories: Vec<String>,
    /// Scale, offset, unit, description, statistics, items.
    pub metadata: BandMetadata,
}

/// The content of a sidecar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pam {
    /// Reference system.
    pub crs: Option<Crs>,
    /// Transform for pixel corners.
    pub transform: Option<GeoTransform>,
    /// Ground control points.
    pub gcps: Vec<Gcp>,
    /// Reference system of the control points.
    pub gcp_crs: Option<Crs>,
    /// Camera model.
    pub rpc: Option<Rpc>,
    /// Items of the dataset.
    pub items: Vec<MetadataItem>,
    /// Bands with metadata, by number.
    pub bands: Vec<PamBand>,
}

impl Pam {
    /// Parses the text. Unusable parts are dropped with a warning.
    pub fn parse(text: &str, warnings: &mut Warnings) -> Self {
        // Histograms are not used and can be long.
        let root = Element::parse_taking(text, &XmlLimits::default(), &mut |_, element| {
            let is_left_out = matches!(element.name.as_str(), "Histograms" | "HistItem");
            Ok((!is_left_out).then_some(element))
        });
        match root {
            Ok(root) if root.name == "PAMDataset" => Self::from_element(&root, warnings),
            Ok(root) => {
                let shown: String = root.name.chars().take(40).collect();
                warn(warnings, format!("expected root element `PAMDataset`, got `{shown}`; ignored"));
                Self::default()
            }
            Err(message) => {
                warn(warnings, format!("{message}; ignored"));
                Self::default()
            }
        }
    }

    /// Reads child elements; those of a VRT's root are the same except for the name of its bands.
    pub fn from_element(root: &Element, warnings: &mut Warnings) -> Self {
        let mut pam = Self {
            crs: root.child_text("SRS").and_then(|text| crs(text, warnings)),
            transform: root.child_text("GeoTransform").and_then(|text| transform(text, warnings)),
            ..Self::default()
        };
        if let Some(list) = root.child("GCPList") {
            pam.gcp_crs =
                list.attribute("Projection").filter(|t| !t.is_empty()).and_then(|t| crs(t, warnings));
            pam.gcps = list.all("GCP").enumerate().filter_map(|(i, e)| gcp(i, e, warnings)).collect();
        }
        for metadata in root.all("Metadata") {
            if metadata.attribute("domain") == Some("xml:ESRI") {
                pam.esri(metadata, warnings);
            } else {
                pam.items.extend(items(metadata, None, warnings));
            }
        }
        let rpc: Vec<_> = pam.items.iter().filter(|i| i.domain == "RPC").collect();
        if !rpc.is_empty() {
            let pairs = rpc.iter().map(|i| (i.name.as_str(), i.value.as_str()));
            pam.rpc = Rpc::from_items(pairs, warnings);
        }
        for element in root.all("PAMRasterBand").chain(root.all("VRTRasterBand")) {
            match element.attribute("band").and_then(|b| b.trim().parse().ok()).filter(|b| *b > 0) {
                Some(number) => pam.bands.push(band(number, element, warnings)),
                None => warn(warnings, "a `PAMRasterBand` without a band number; ignored".to_owned()),
            }
        }
        pam.bands.sort_by_key(|band| band.band);
        pam
    }

    /// Returns the metadata of a band, from 1. If it occurs several times, the first one counts.
    pub fn band(&self, number: u32) -> Option<&PamBand> {
        let at = self.bands.partition_point(|b| b.band < number);
        self.bands.get(at).filter(|b| b.band == number)
    }

    /// Reads ArcGIS's form of an affine transform: a polynomial of order 1 for pixel centres, with rows counted
    /// upwards.
    fn esri(&mut self, metadata: &Element, warnings: &mut Warnings) {
        let Some(xform) = metadata.child("GeodataXform") else { return };
        if self.crs.is_none() {
            let text = xform.child("SpatialReference").and_then(|e| e.child_text("WKT"));
            self.crs = text.and_then(|text| crs(text, warnings));
        }
        let coefficients = |name: &str| -> Option<[f64; 3]> {
            let list: Option<Vec<f64>> =
                xform.child(name)?.all("Double").take(4).map(|e| e.text.trim().parse().ok()).collect();
            list?.try_into().ok()
        };
        let (Some([x0, xc, xr]), Some([y0, yc, yr])) = (coefficients("CoeffX"), coefficients("CoeffY"))
        else {
            return;
        };
        let centre = GeoTransform { a: xc, b: -xr, c: x0, d: yc, e: -yr, f: y0 };
        if self.transform.is_none() && centre.is_finite() && centre.inverse().is_some() {
            self.transform = Some(centre.centre_to_corner());
        }
    }
}

impl PamBand {
    /// Returns the file's own metadata, overridden by the sidecar's.
    pub fn over(&self, own: &BandMetadata) -> BandMetadata {
        let pam = &self.metadata;
        let mut items = own.items.clone();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (at, (name, _)) in own.items.iter().enumerate() {
            places.entry(name).or_insert(at);
        }
        for (name, value) in &pam.items {
            match places.entry(name) {
                Entry::Occupied(at) => {
                    if let Some(item) = items.get_mut(*at.get()) {
                        item.1.clone_from(value);
                    }
                }
                Entry::Vacant(free) => {
                    free.insert(items.len());
                    items.push((name.clone(), value.clone()));
                }
            }
        }
        BandMetadata {
            scale: pam.scale.or(own.scale),
            offset: pam.offset.or(own.offset),
            unit: pam.unit.clone().or_else(|| own.unit.clone()),
            description: pam.description.clone().or_else(|| own.description.clone()),
            colour: pam.colour.clone().or_else(|| own.colour.clone()),
            statistics: pam.statistics.clone().or_else(|| own.statistics.clone()),
            items,
            domain_items: over_domains(&own.domain_items, &pam.domain_items),
            sidecar: self.elements(),
        }
    }
}

impl PamBand {
    /// Returns the elements that only a sidecar can hold. Category names of the first band are stored elsewhere.
    fn elements(&self) -> Vec<Element> {
        let mut elements = self.metadata.sidecar.clone();
        if self.band > 1 && !self.categories.is_empty() {
            let name =
                |text: &String| Element { name: "Category".into(), text: text.clone(), ..Element::default() };
            let children = self.categories.iter().map(name).collect();
            elements.push(Element { name: "CategoryNames".into(), children, ..Element::default() });
        }
        elements
    }
}

/// Returns an element without the white space between its children. The parser limits their depth.
fn without_indents(element: &Element) -> Element {
    let Element { name, attributes, text, children } = element;
    let text = if children.is_empty() { text } else { text.trim() };
    // Each element is copied once: copying all of its content at every level would multiply a deep table.
    Element {
        name: name.clone(),
        attributes: attributes.clone(),
        text: text.to_owned(),
        children: children.iter().map(without_indents).collect(),
    }
}

fn over_domains(
    own: &[(String, String, String)],
    pam: &[(String, String, String)],
) -> Vec<(String, String, String)> {
    let names: HashSet<(&str, &str)> =
        pam.iter().map(|(domain, name, _)| (domain.as_str(), name.as_str())).collect();
    let is_kept = |item: &&(String, String, String)| !names.contains(&(item.0.as_str(), item.1.as_str()));
    own.iter().filter(is_kept).chain(pam).cloned().collect()
}

/// Combines the file's georeferencing with that of its sidecars in GDAL's order of precedence: the `.aux.xml`, the
/// file, the world file.
pub fn apply(mut own: Georeference, pam: Option<&Pam>, world_file: Option<GeoTransform>) -> Georeference {
    if let Some(pam) = pam {
        if pam.transform.is_some() {
            own.transform = pam.transform;
            // Control points replaced a transform; the system is now that of the transform.
            own.gcps.clear();
            own.crs = own.crs.or(own.gcp_crs.take());
        }
        if !pam.gcps.is_empty() {
            own.gcps.clone_from(&pam.gcps);
            own.gcp_crs.clone_from(&pam.gcp_crs);
        }
        if pam.crs.is_some() {
            own.crs.clone_from(&pam.crs);
        }
        own.rpc = pam.rpc.clone().or(own.rpc);
    }
    if own.transform.is_none() && own.gcps.is_empty() {
        own.transform = world_file;
    }
    own
}

fn warn(warnings: &mut Warnings, message: String) {
    warnings.push(Warning::new(Code::BadMetadata, PLACE, message));
}

fn crs(text: &str, warnings: &mut Warnings) -> Option<Crs> {
    if let Some(code) = text.trim().strip_prefix("EPSG:").and_then(|c| c.trim().parse().ok()) {
        let found = Crs::from_epsg(code);
        if found.is_none() {
            warnings.push(Warning::new(Code::UnknownCode, PLACE, format!("code {code} is not known")));
        }
        return found;
    }
    match Crs::from_wkt(text) {
        Ok(crs) => Some(crs),
        Err(message) => {
            warnings.push(Warning::new(Code::BadWkt, PLACE, format!("{message}; ignored")));
            None
        }
    }
}

fn transform(text: &str, warnings: &mut Warnings) -> Option<GeoTransform> {
    let values: Option<Vec<f64>> = text.split(',').take(7).map(|v| v.trim().parse().ok()).collect();
    let transform = values.and_then(|v| <[f64; 6]>::try_from(v).ok()).map(GeoTransform::from_gdal);
    let transform = transform.filter(|t| t.is_finite() && t.inverse().is_some());
    if transform.is_none() {
        let message = "`GeoTransform` is not six numbers with an inverse; ignored";
        warnings.push(Warning::new(Code::BadTransform, PLACE, message));
    }
    transform
}

fn gcp(index: usize, element: &Element, warnings: &mut Warnings) -> Option<Gcp> {
    let number = |name: &str| {
        element.attribute(name).and_then(|v| v.trim().parse().ok()).filter(|v: &f64| v.is_finite())
    };
    let numbers = (|| Some((number("Pixel")?, number("Line")?, number("X")?, number("Y")?)))();
    let Some((column, row, x, y)) = numbers else {
        warn(warnings, format!("control point {} lacks a number; left out", index + 1));
        return None;
    };
    let z = number("Z").or_else(|| number("GCPZ")).unwrap_or(0.0);
    let id = element.attribute("Id").map_or_else(|| (index + 1).to_string(), str::to_owned);
    Some(Gcp { column, row, x, y, z, id })
}

/// Longest name of a domain: every item has a copy of it.
const LONGEST_DOMAIN: usize = 128;

/// Returns the items of a `<Metadata>` element.
fn items(metadata: &Element, sample: Option<u32>, warnings: &mut Warnings) -> Vec<MetadataItem> {
    let domain = metadata.attribute("domain").unwrap_or("");
    if domain.len() > LONGEST_DOMAIN {
        let found = domain.len();
        warn(
            warnings,
            format!("a domain with a name of {found} bytes, at most {LONGEST_DOMAIN} are read; ignored"),
        );
        return Vec::new();
    }
    let mdi = metadata.all("MDI").filter_map(|e| Some((e.attribute("key")?, e)));
    mdi.map(|(name, e)| MetadataItem {
        name: name.to_owned(),
        domain: domain.to_owned(),
        sample,
        role: None,
        value: e.text.clone(),
    })
    .collect()
}

fn band(number: u32, element: &Element, warnings: &mut Warnings) -> PamBand {
    let mut metadata = BandMetadata::default();
    for list in element.all("Metadata") {
        for item in items(list, Some(number), warnings) {
            metadata.add(&item, PLACE, warnings);
        }
    }
    let mut read = |name: &str| {
        let text = element.child_text(name)?;
        let value = text.parse().ok().filter(|v: &f64| v.is_finite());
        if value.is_none() {
            warn(warnings, format!("`{name}` of band {number} is not a number; ignored"));
        }
        value
    };
    metadata.scale = read("Scale");
    metadata.offset = read("Offset");
    metadata.unit = element.child_text("UnitType").map(str::to_owned);
    metadata.description = element.child_text("Description").map(str::to_owned);
    metadata.colour = element.child_text("ColorInterp").map(str::to_owned);
    let nodata = element.child_text("NoDataValue").and_then(|text| NoData::parse(text, warnings));
    let kept = |child: &&Element| matches!(child.name.as_str(), "ColorTable" | "GDALRasterAttributeTable");
    metadata.sidecar = element.children.iter().filter(kept).map(without_indents).collect();
    let names = element.child("CategoryNames").into_iter().flat_map(|e| e.all("Category"));
    PamBand { band: number, nodata, categories: names.map(|e| e.text.clone()).collect(), metadata }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"<PAMDataset>
  <SRS>GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]]</SRS>
  <GeoTransform> 100, 10, 0, 200, 0, -10</GeoTransform>
  <Metadata><MDI key="AREA_OR_POINT">Point</MDI></Metadata>
  <PAMRasterBand band="2">
    <NoDataValue>-9.99900000000000E+03</NoDataValue>
    <Description>height</Description><Scale>2</Scale><UnitType>m</UnitType>
    <CategoryNames><Category>none</Category><Category/></CategoryNames>
    <Metadata><MDI key="STATISTICS_MEAN">4.5</MDI></Metadata>
  </PAMRasterBand>
</PAMDataset>"#;

    #[test]
    fn reads_dataset_and_bands() {
        let mut warnings = Warnings::new();
        let pam = Pam::parse(TEXT, &mut warnings);
        assert_eq!(pam.crs.as_ref().unwrap().epsg, Some(4326));
        assert_eq!(pam.transform.unwrap().coefficients(), [10.0, 0.0, 100.0, 0.0, -10.0, 200.0]);
        assert_eq!((pam.items[0].name.as_str(), pam.items[0].value.as_str()), ("AREA_OR_POINT", "Point"));
        let band = pam.band(2).unwrap();
        assert_eq!(band.nodata, Some(NoData::Integer(-9999)));
        assert_eq!(band.categories, ["none", ""]);
        let merged = band.over(&BandMetadata { scale: Some(1.0), offset: Some(3.0), ..Default::default() });
        assert_eq!((merged.scale, merged.offset, merged.unit.as_deref()), (Some(2.0), Some(3.0), Some("m")));
        assert_eq!(merged.statistics.unwrap().mean, Some(4.5));
        assert!(pam.band(1).is_none() && warnings.is_empty());
    }

    #[test]
    fn an_arcgis_polynomial_is_a_transform() {
        let text = r#"<PAMDataset><Metadata domain="xml:ESRI" format="xml"><GeodataXform>
            <CoeffX><Double>105</Double><Double>10</Double><Double>0</Double></CoeffX>
            <CoeffY><Double>195</Double><Double>0</Double><Double>10</Double></CoeffY>
            </GeodataXform></Metadata></PAMDataset>"#;
        let pam = Pam::parse(text, &mut Warnings::new());
        assert_eq!(pam.transform.unwrap().coefficients(), [10.0, 0.0, 100.0, 0.0, -10.0, 200.0]);
    }

    #[test]
    fn the_sidecar_wins_and_the_world_file_comes_last() {
        let shift = |c| GeoTransform { c, ..GeoTransform::IDENTITY };
        let own = Georeference { transform: Some(shift(1.0)), ..Default::default() };
        let pam = Pam { transform: Some(shift(2.0)), ..Default::default() };
        let of = |geo: Georeference| geo.transform.unwrap().c;
        assert_eq!(of(apply(own.clone(), Some(&pam), Some(shift(3.0)))), 2.0);
        assert_eq!(of(apply(own, Some(&Pam::default()), Some(shift(3.0)))), 1.0);
        assert_eq!(of(apply(Georeference::default(), None, Some(shift(3.0)))), 3.0);
    }

    #[test]
    fn tables_keep_their_rows_and_deep_ones_are_copied_once() {
        let table = "<GDALRasterAttributeTable> <FieldDefn><Name>a</Name></FieldDefn> <Row><F>1</F></Row> </GDALRasterAttributeTable>";
        let of = |inside: &str| {
            let text = format!("<PAMDataset><PAMRasterBand band=\"1\">{inside}</PAMRasterBand></PAMDataset>");
            Pam::parse(&text, &mut Warnings::new()).bands.remove(0).metadata.sidecar.remove(0)
        };
        let names: Vec<String> = of(table).children.into_iter().map(|child| child.name).collect();
        assert_eq!(names, ["FieldDefn", "Row"]);
        let (open, close) = ("<x>".repeat(58), "</x>".repeat(58));
        let leaves = "<F/>".repeat(20_000);
        let deep = of(&format!("<ColorTable>{open}{leaves}{close}</ColorTable>"));
        assert_eq!((deep.name.as_str(), deep.children.len()), ("ColorTable", 1));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let text = r#"<PAMDataset><SRS>nonsense</SRS><GeoTransform>1,2</GeoTransform>
            <GCPList><GCP Pixel="1"/></GCPList><PAMRasterBand band="0"/>
            <PAMRasterBand band="1"><Scale>x</Scale></PAMRasterBand></PAMDataset>"#;
        let mut warnings = Warnings::new();
        let pam = Pam::parse(text, &mut warnings);
        assert_eq!(warnings.len(), 5, "{warnings:?}");
        assert_eq!((pam.crs, pam.transform, pam.gcps.len()), (None, None, 0));
    }
}
