//! Texts for `.aux.xml`, the tag GDAL_METADATA and VRT files that are expensive to read.

use std::fmt::Write as _;

fn pam(inside: &str) -> String {
    format!("<PAMDataset>{inside}</PAMDataset>")
}

/// Returns as many items with different keys as `bytes` bytes hold, in `<root>`, each `<item="k0">v</…>`.
pub fn many_items(bytes: usize, root: &str, item: &str) -> String {
    let close = item.split(' ').next().unwrap_or(item);
    let mut text = format!("<{root}>");
    for i in 0.. {
        if text.len() + 40 > bytes {
            break;
        }
        write!(text, "<{item}=\"k{i}\">v</{close}>").expect("texts grow");
    }
    write!(text, "</{root}>").expect("texts grow");
    text
}

/// Returns an `.aux.xml` of about `bytes` bytes: one band with as many items of different keys as fit, each compared
/// with all previous ones if merging is quadratic. 2.6 MB took 16.5 s.
pub fn quadratic_pam(bytes: usize) -> String {
    pam(&format!("<PAMRasterBand band=\"1\">{}</PAMRasterBand>", many_items(bytes, "Metadata", "MDI key")))
}

/// Returns the same with the items in a separate domain.
pub fn quadratic_pam_domains(bytes: usize) -> String {
    quadratic_pam(bytes).replacen("<Metadata>", "<Metadata domain=\"d\">", 1)
}

/// Returns an `.aux.xml` that mentions `count` bands, each once, from the last to the first.
pub fn many_bands(count: usize) -> String {
    let bands: String = (1..=count)
        .rev()
        .map(|i| format!("<PAMRasterBand band=\"{i}\"><Scale>2</Scale></PAMRasterBand>"))
        .collect();
    pam(&bands)
}

/// Returns one element with `count` different attributes, each compared with all previous ones if reading is quadratic.
pub fn many_attributes(count: usize) -> String {
    let attributes: String = (0..count).map(|i| format!(" a{i}=\"\"")).collect();
    pam(&format!("<Metadata{attributes}/>"))
}

/// Returns `count` empty elements of four bytes.
pub fn many_elements(count: usize) -> String {
    pam(&"<a/>".repeat(count))
}

/// Returns `count` items in a domain with a name of `len` bytes, repeated per item if it is copied.
pub fn long_domain(len: usize, count: usize) -> String {
    let items = "<MDI key=\"a\"/>".repeat(count);
    pam(&format!("<Metadata domain=\"{}\">{items}</Metadata>", "d".repeat(len)))
}

/// Returns `count` control points without a number: each causes a warning.
pub fn bad_gcps(count: usize) -> String {
    pam(&format!("<GCPList>{}</GCPList>", "<GCP a=\"\"/>".repeat(count)))
}

/// Returns `count` mentions of one band with invalid numbers: each causes warnings.
pub fn bad_numbers(count: usize) -> String {
    let band = "<PAMRasterBand band=\"1\"><Scale>x</Scale></PAMRasterBand>";
    pam(&band.repeat(count))
}

/// Returns `count` category names.
pub fn categories(count: usize) -> String {
    let names = "<Category/>".repeat(count);
    pam(&format!("<PAMRasterBand band=\"1\"><CategoryNames>{names}</CategoryNames></PAMRasterBand>"))
}

/// Returns a histogram of `buckets` buckets and an attribute table of a quarter as many rows.
pub fn histogram(buckets: usize) -> String {
    let rows = "<Row><F/></Row>".repeat(buckets / 16);
    let counts = "0|".repeat(buckets / 2);
    pam(&format!(
        "<PAMRasterBand band=\"1\"><Histograms><HistItem><HistCounts>{counts}</HistCounts></HistItem></Histograms>\
         <GDALRasterAttributeTable>{rows}</GDALRasterAttributeTable></PAMRasterBand>"
    ))
}

/// Returns `depth` nested elements.
pub fn deep(depth: usize) -> String {
    "<a>".repeat(depth)
}

/// Returns entities that each reference ten of the previous one: the "billion laughs".
pub fn entities(levels: usize) -> String {
    let mut text = "<!DOCTYPE a [<!ENTITY e0 \"lol\">".to_owned();
    for level in 1..=levels {
        let of = format!("&e{};", level - 1).repeat(10);
        write!(text, "<!ENTITY e{level} \"{of}\">").expect("texts grow");
    }
    write!(text, "]><PAMDataset><SRS>&e{levels};</SRS></PAMDataset>").expect("texts grow");
    text
}

/// Returns a WKT of about `bytes` bytes: one node with as many words as fit.
pub fn wkt_words(bytes: usize) -> String {
    pam(&format!("<SRS>A[{}1]</SRS>", "1,".repeat(bytes / 2 - 50)))
}

/// Returns a VRT of `count` bands, at most 65,535, each with its own metadata and without a source.
pub fn vrt_bands(count: usize) -> String {
    let mut text = "<VRTDataset rasterXSize=\"4\" rasterYSize=\"4\">".to_owned();
    for band in 1..=count {
        write!(
            text,
            "<VRTRasterBand dataType=\"Byte\" band=\"{band}\"><Description>b{band}</Description></VRTRasterBand>"
        )
        .expect("texts grow");
    }
    text.push_str("</VRTDataset>");
    text
}
