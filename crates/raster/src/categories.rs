//! Class names and colours of a raster, as in GDAL's sidecar `.aux.xml`.

use crate::file::metadata::Metadata;
use strile_tiff::Warnings;
use strile_tiff::gdal::pam::{Pam, PamBand};
use strile_tiff::gdal::{BandMetadata, Element};

/// GDAL's numbers for the usage of an attribute table's column: name, red, green, blue, alpha.
const NAME: u32 = 2;
const COLOUR: [u32; 4] = [6, 7, 8, 9];

/// Names and colours of the values of a raster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Categories {
    /// Names by value.
    pub names: Vec<String>,
    /// Red, green, blue and alpha by value.
    pub colours: Vec<(i64, i64, i64, i64)>,
    /// The attribute and colour tables of all bands, as the text of a sidecar.
    pub tables: Option<String>,
    /// Warnings about what was ignored.
    pub problems: Vec<String>,
}

impl Categories {
    /// Returns the names and colours of the first band, and the tables of all bands.
    pub fn of(metadata: &Metadata) -> Self {
        let mut problems = Vec::new();
        let first = metadata.bands.first();
        let table = first
            .and_then(|band| band.sidecar.iter().find(|element| element.name == "GDALRasterAttributeTable"));
        let table = table.map(|table| Table::of(table, &mut problems));
        let names = match metadata.categories.is_empty() {
            true => table.as_ref().map(Table::names).unwrap_or_default(),
            false => metadata.categories.clone(),
        };
        let colours = table.map(|table| table.colours(&mut problems)).unwrap_or_default();
        let bands = (1..).zip(&metadata.bands).filter(|(_, band)| !band.sidecar.is_empty());
        let bands = bands.map(|(number, band)| beside(number, band.sidecar.clone())).collect();
        let tables = Pam { bands, ..Pam::default() };
        let tables = (!tables.is_empty()).then(|| tables.to_xml(&mut Warnings::new()));
        Self { names, colours, tables, problems }
    }
}

fn beside(band: u32, sidecar: Vec<Element>) -> PamBand {
    PamBand { band, metadata: BandMetadata { sidecar, ..BandMetadata::default() }, ..PamBand::default() }
}

/// An attribute table: the usage of each column, and its rows.
struct Table<'a> {
    usages: Vec<Option<u32>>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Table<'a> {
    fn of(table: &'a Element, problems: &mut Vec<String>) -> Self {
        let mut usage = |field: &Element| {
            let text = field.child_text("Usage").unwrap_or("0");
            let number = text.trim().parse().ok();
            if number.is_none() {
                let shown: String = text.chars().take(40).collect();
                problems.push(format!(
                    "`Usage` of a column is '{}', expected a number; the column is ignored",
                    shown.escape_debug()
                ));
            }
            number
        };
        let usages: Vec<_> = table.all("FieldDefn").map(&mut usage).collect();
        let rows = table.all("Row").map(|row| row.all("F").map(|cell| cell.text.as_str()).collect());
        let rows = rows.filter(|row: &Vec<_>| row.len() == usages.len()).collect();
        Self { usages, rows }
    }

    fn column(&self, usage: u32) -> Option<usize> {
        self.usages.iter().position(|found| *found == Some(usage))
    }

    fn names(&self) -> Vec<String> {
        let Some(at) = self.column(NAME) else { return Vec::new() };
        self.rows.iter().filter_map(|row| row.get(at)).map(|name| (*name).to_owned()).collect()
    }

    fn colours(&self, problems: &mut Vec<String>) -> Vec<(i64, i64, i64, i64)> {
        let [red, green, blue, alpha] = COLOUR.map(|usage| self.column(usage));
        let (Some(red), Some(green), Some(blue)) = (red, green, blue) else { return Vec::new() };
        let colour = |row: &Vec<&str>| {
            let part = |at: usize| row.get(at).and_then(|text| text.trim().parse::<i64>().ok());
            Some((part(red)?, part(green)?, part(blue)?, alpha.map_or(Some(255), part)?))
        };
        let colours: Option<Vec<_>> = self.rows.iter().map(colour).collect();
        colours.unwrap_or_else(|| {
            problems.push("a colour of the attribute table is not a number; its colours are ignored".into());
            Vec::new()
        })
    }
}

/// Returns the text of `.aux.xml`, or `None` if it would be empty. `items` are those of the first band. `tables` is the
/// text of another sidecar, whose tables are written instead of colours; `bands` maps each band of the raster to a band
/// of that sidecar (from 0).
pub fn aux_xml(
    names: Vec<String>,
    colours: &[(u8, u8, u8, u8)],
    items: Vec<(String, String)>,
    tables: Option<&str>,
    bands: &[u32],
) -> Option<String> {
    let kept = tables.map(|text| Pam::parse(text, &mut Warnings::new())).unwrap_or_default();
    let mut pam = Pam { bands: vec![beside(1, Vec::new())], ..Pam::default() };
    for (number, band) in (1..).zip(bands) {
        let Some(found) = kept.band(band.saturating_add(1)) else { continue };
        let sidecar = found.metadata.sidecar.clone();
        match pam.bands.first_mut().filter(|_| number == 1) {
            Some(first) => first.metadata.sidecar = sidecar,
            None => {
                pam.bands.push(PamBand { categories: found.categories.clone(), ..beside(number, sidecar) })
            }
        }
    }
    let first = pam.bands.first_mut()?;
    if first.metadata.sidecar.is_empty() && !colours.is_empty() {
        first.metadata.sidecar = tables_of(&names, colours);
    }
    (first.categories, first.metadata.items) = (names, items);
    if *first == beside(1, Vec::new()) && pam.bands.len() == 1 {
        return None;
    }
    Some(pam.to_xml(&mut Warnings::new()))
}

/// Returns the colours by value in both forms: as a colour table, which GDAL draws with, and as an attribute table,
/// which QGIS lists.
fn tables_of(names: &[String], colours: &[(u8, u8, u8, u8)]) -> Vec<Element> {
    // Name, type (integer, text) and usage of each column, by GDAL's numbers.
    const COLUMNS: [(&str, &str, &str); 6] = [
        ("Value", "0", "5"),
        ("Class", "2", "2"),
        ("Red", "0", "6"),
        ("Green", "0", "7"),
        ("Blue", "0", "8"),
        ("Alpha", "0", "9"),
    ];
    let leaf = |name: &str, text: String| Element { name: name.into(), text, ..Element::default() };
    let with = |name: &str, attributes: Vec<(&str, String)>, children: Vec<Element>| Element {
        name: name.into(),
        attributes: attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        children,
        ..Element::default()
    };
    let parts =
        |&(red, green, blue, alpha): &(u8, u8, u8, u8)| [red, green, blue, alpha].map(|v| v.to_string());
    let entries = colours.iter().map(|colour| {
        with("Entry", ["c1", "c2", "c3", "c4"].into_iter().zip(parts(colour)).collect(), Vec::new())
    });
    let table = with("ColorTable", Vec::new(), entries.collect());
    let columns = (0..).zip(COLUMNS).map(|(index, (name, kind, usage)): (u32, _)| {
        let children = [("Name", name), ("Type", kind), ("Usage", usage)];
        let children = children.map(|(tag, text)| leaf(tag, text.to_owned())).to_vec();
        with("FieldDefn", vec![("index", index.to_string())], children)
    });
    let rows = colours.iter().enumerate().map(|(value, colour)| {
        let name = names.get(value).cloned().unwrap_or_default();
        let cells = [value.to_string(), name].into_iter().chain(parts(colour));
        with("Row", vec![("index", value.to_string())], cells.map(|cell| leaf("F", cell)).collect())
    });
    let kind = vec![("tableType", "thematic".to_owned())];
    let attributes = with("GDALRasterAttributeTable", kind, columns.chain(rows).collect());
    vec![table, attributes]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_colours_come_back_from_a_sidecar() {
        let names = vec!["none".to_owned(), "water".to_owned()];
        let colours = [(0, 0, 0, 0), (1, 2, 255, 255)];
        let text = aux_xml(names.clone(), &colours, Vec::new(), None, &[]).unwrap();
        let pam = Pam::parse(&text, &mut Warnings::new());
        let first = pam.band(1).unwrap();
        let metadata = Metadata {
            bands: vec![first.metadata.clone()],
            categories: first.categories.clone(),
            ..Metadata::default()
        };
        let found = Categories::of(&metadata);
        assert_eq!((found.names, found.colours), (names, vec![(0, 0, 0, 0), (1, 2, 255, 255)]));
        assert!(found.tables.is_some() && found.problems.is_empty());
        assert_eq!(aux_xml(Vec::new(), &[], Vec::new(), None, &[]), None);
    }
}
