//! What kept headers are said to take is what they take, by an allocator that counts: never less, and not much more.
//!
//! A program of its own with one test, so that nothing else allocates meanwhile.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use strile::OpenOptions;
use strile::batch::{HeaderLimits, Headers};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use testkit::allocator::{Counting, taken};
use testkit::{Grid, ImageSpec, Pattern, Pixels, Tag, geo_tags, metadata_tag};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };

fn write(path: &Path, spec: &ImageSpec, [bands, side]: [usize; 2]) {
    let pixels = Pixels::generate(Pattern::Dem, spec.sample, [bands, side, side], 1);
    std::fs::write(path, spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// So many items, as `.aux.xml` has them.
fn items(count: usize) -> String {
    let mut text = String::new();
    for at in 0..count {
        write!(text, "<MDI key=\"name {at}\">a value of this item, number {at}</MDI>").unwrap();
    }
    text
}

/// A file for each thing that a header may hold much of.
fn files(folder: &Path) -> Vec<PathBuf> {
    let names = ["plain", "metadata", "aux", "bands", "overviews", "blocks", "keys", "texts", "wrong"];
    let paths: Vec<_> = names.iter().map(|name| folder.join(format!("{name}.tif"))).collect();
    let plain = ImageSpec::new(UINT8).grid(Grid::Tiles(16, 16));
    for path in &paths {
        write(path, &plain, [1, 64]);
    }
    let xml = format!("<GDALMetadata>{}</GDALMetadata>", items(15_000));
    let xml = xml.replace("MDI key", "Item name").replace("/MDI", "/Item");
    write(&paths[1], &plain.clone().tag(metadata_tag(&xml)), [1, 64]);
    let pam = |inner: &str| format!("<PAMDataset>{inner}</PAMDataset>");
    let aux = format!("<Metadata>{}</Metadata>", items(30_000));
    let names: String = (0..20_000).map(|at| format!("<Category>class {at}</Category>")).collect();
    let band = format!("<PAMRasterBand band=\"1\"><CategoryNames>{names}</CategoryNames></PAMRasterBand>");
    std::fs::write(beside(&paths[2], ".aux.xml"), pam(&(aux + &band))).unwrap();
    let of_band = |at: usize| {
        let text = items(30);
        format!(
            "<PAMRasterBand band=\"{at}\"><Metadata>{text}</Metadata><Metadata domain=\"x\">{text}</Metadata></PAMRasterBand>"
        )
    };
    write(&paths[3], &plain, [200, 64]);
    std::fs::write(beside(&paths[3], ".aux.xml"), pam(&(1..=200).map(of_band).collect::<String>())).unwrap();
    let text = "t".repeat(300_000);
    let long = |tag| Tag::ascii(tag, &text);
    write(&beside(&paths[4], ".ovr"), &plain.clone().tag(long(270)), [1, 32]);
    write(&paths[5], &plain, [1, 1024]);
    let mut keys = plain.clone();
    keys.tags.extend(geo_tags(32633, (10.0, 20.0), 1.0, false));
    write(&paths[6], &keys, [1, 64]);
    write(&paths[7], &plain.clone().tag(long(270)).tag(long(305)), [3, 64]);
    std::fs::write(beside(&paths[8], ".ovr"), "no overview").unwrap();
    paths
}

/// What threads that read may have at hand before or after a look.
const SLACK: usize = 4096;

#[test]
fn headers_take_what_is_said_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    // Many of the plain one, so that what little each takes is seen.
    let copied = |at: usize| {
        let copy = folder.path().join(format!("copy {at}.tif"));
        std::fs::copy(&paths[0], &copy).unwrap();
        copy
    };
    let copies: Vec<_> = (0..200).map(copied).collect();
    let groups: Vec<&[PathBuf]> = paths.chunks(1).chain([copies.as_slice()]).collect();
    // Tables and threads that are made once, by whoever needs them first.
    let first = Headers::new(HeaderLimits::default(), OpenOptions::default());
    paths.iter().for_each(|path| drop(first.open(path).unwrap()));
    drop(first);
    let headers = Headers::new(HeaderLimits::default(), OpenOptions::default());
    let (start, mut before) = (taken(), (taken(), 0));
    for group in groups {
        group.iter().for_each(|path| drop(headers.open(path).unwrap()));
        let now = (taken(), usize::try_from(headers.held().1).unwrap());
        let (took, said) = (now.0.saturating_sub(before.0), now.1 - before.1);
        before = now;
        assert!(took <= said + SLACK, "{}: {took} bytes taken, {said} said", group[0].display());
        assert!(said <= 2 * took + SLACK, "{}: {took} bytes taken, {said} said", group[0].display());
    }
    assert!(headers.held().1 > 8 << 20, "something was held");
    headers.clear();
    drop(headers);
    assert!(taken() <= start + SLACK, "all is given back");
    // What is kept is within the limit, however much a file has.
    let limits = HeaderLimits::new().bytes(1 << 20);
    let (start, headers) = (taken(), Headers::new(limits, OpenOptions::default()));
    for path in paths.iter().chain(&paths) {
        drop(headers.open(path).unwrap());
        assert!(taken() <= start + (1 << 20) + SLACK, "{}", path.display());
    }
}
