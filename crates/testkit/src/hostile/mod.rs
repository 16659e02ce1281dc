//! Small files that request much: each takes far more time or memory than its size if a reader trusts it.
//!
//! `tiff` builds TIFF files whose directories share, overlap or repeat; `xml` builds texts for `.aux.xml`, the tag
//! GDAL_METADATA and VRT files; `bombs` builds streams that decode to much data; `cases` is the table of the
//! amplification tests. [`tiffs`] and [`sidecars`] list one of each with a name, for table-driven tests: every file is
//! below 128 kB, unless its comment says otherwise, and every reader must open or refuse it in under a second and with
//! less than 64 MiB.

pub mod bombs;
pub mod cases;
mod tiff;
mod xml;

pub use tiff::{
    backward_chain, colour_maps, descriptions, geo_keys, jpeg_tables, many_attributes_tag, many_directories,
    many_samples, one_value_tags, overlapping_directories, overlapping_values, plain, shared_block_table,
    shared_sub_ifds, tie_points, unusable_tags, with_bands, with_tag, wrong_sub_ifds,
};
pub use xml::{
    bad_gcps, bad_numbers, categories, deep, entities, histogram, long_domain, many_attributes, many_bands,
    many_elements, many_items, quadratic_pam, quadratic_pam_domains, vrt_bands, wkt_words,
};

/// Returns every hostile TIFF of this module in a small size, by name.
pub fn tiffs() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("shared-sub-ifds", shared_sub_ifds(1_500)),
        ("shared-block-table", shared_block_table(256, 64 << 10)),
        ("shared-descriptions", descriptions(500, 64 << 10)),
        ("shared-jpeg-tables", jpeg_tables(500, 64 << 10)),
        ("shared-colour-maps", colour_maps(400)),
        ("many-samples", many_samples(800)),
        ("many-directories", many_directories(5_500)),
        ("backward-chain", backward_chain(5_500)),
        ("overlapping-directories", overlapping_directories(100_000)),
        ("overlapping-values", overlapping_values(1_000, 64 << 10)),
        ("many-overlapping-values", overlapping_values(4_000, 80 << 10)),
        ("wrong-sub-ifds", wrong_sub_ifds(25_000)),
        ("unusable-tags", unusable_tags(8_000)),
        ("one-value-tags", one_value_tags(64 << 10)),
        ("geo-keys", geo_keys(4_000, 60_000)),
        ("tie-points", tie_points(2_000)),
        ("metadata-items", with_tag(42112, &many_items(100_000, "GDALMetadata", "Item name"))),
        ("metadata-attributes", many_attributes_tag(12_000)),
        ("nul-description", with_tag(270, &"\0".repeat(100_000))),
        ("nodata-digits", with_tag(42113, &"9".repeat(100_000))),
    ]
}

/// Returns every hostile `.aux.xml` of this module in a small size, by name; each belongs beside [`plain`] or any other
/// TIFF.
pub fn sidecars() -> Vec<(&'static str, String)> {
    vec![
        ("quadratic-items", quadratic_pam(100_000)),
        ("quadratic-domains", quadratic_pam_domains(100_000)),
        ("many-bands", many_bands(2_000)),
        ("many-attributes", many_attributes(13_000)),
        ("many-elements", many_elements(25_000)),
        ("long-domain", long_domain(50_000, 3_000)),
        ("bad-gcps", bad_gcps(10_000)),
        ("bad-numbers", bad_numbers(2_000)),
        ("categories", categories(6_000)),
        ("histogram", histogram(50_000)),
        ("deep", deep(25_000)),
        ("entities", entities(9)),
        ("wkt-words", wkt_words(100_000)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hostile_file_is_small_and_every_name_is_used_once() {
        let tiffs = tiffs().into_iter().map(|(name, bytes)| (name, bytes.len()));
        let texts = sidecars().into_iter().map(|(name, text)| (name, text.len()));
        let all: Vec<_> = tiffs.chain(texts).collect();
        for (name, len) in &all {
            assert!(*len <= 132_000, "{name}: {len} bytes");
        }
        let names: std::collections::BTreeSet<_> = all.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), all.len());
    }
}
