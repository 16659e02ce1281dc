//! Every file of the test kit equals its pixels: read in place, and staged from a source that answers in any order.
//!
//! Files are grouped by what they prove; `no_fixture_is_left_out` fails where one is in no group.

use crate::sources::{open, open_bucket, pixels_of, read, refusal};
use std::sync::OnceLock;
use strile::{Dataset, Layer, ReadOptions};
use testkit::{Fixture, Pixels, Tolerance};

fn all() -> &'static [Fixture] {
    static ALL: OnceLock<Vec<Fixture>> = OnceLock::new();
    ALL.get_or_init(testkit::fixtures)
}

/// Everything a file holds, against what it must hold.
fn check(fixture: &Fixture, dataset: &Dataset) -> Result<(), String> {
    let compare = |what: &str, expected: &Pixels, tolerance: Tolerance, options: &ReadOptions| {
        let raster = dataset.read(options, &strile::Context::default());
        let found = raster.map_err(|error| error.to_string()).map(|raster| pixels_of(&raster));
        found.and_then(|found| tolerance.check(expected, &found)).map_err(|why| format!("{what}: {why}"))
    };
    let tolerance = fixture.tolerance;
    compare("pixels", &fixture.expected, tolerance, &ReadOptions::default())?;
    let levels = dataset.pages()[0].levels.len() - 1;
    if levels != fixture.overviews.len() {
        return Err(format!("{levels} overviews, {} expected", fixture.overviews.len()));
    }
    for (k, expected) in fixture.overviews.iter().enumerate() {
        let options = ReadOptions::new().level(k + 1);
        compare(&format!("level {}", k + 1), expected, tolerance, &options)?;
    }
    if let Some(mask) = &fixture.mask {
        let mut expected = mask.clone();
        expected.bytes.iter_mut().for_each(|valid| *valid *= 255);
        let mask = ReadOptions::new().layer(Layer::Mask);
        compare("mask", &expected, Tolerance::Exact, &mask)?;
        if fixture.overviews.len() == 1 {
            let mask = mask.level(1);
            compare("mask of level 1", &expected.halved(), Tolerance::Exact, &mask)?;
        }
    }
    if dataset.pages().len() != 1 + fixture.pages.len() {
        return Err(format!("{} pages, {} expected", dataset.pages().len(), 1 + fixture.pages.len()));
    }
    for (page, expected) in (1..).zip(&fixture.pages) {
        let options = ReadOptions::new().page(page);
        compare(&format!("page {page}"), expected, tolerance, &options)?;
    }
    let nodata = dataset.metadata().nodata.map(strile::tiff::gdal::NoData::as_f64);
    let expected = fixture.nodata.map(|text| text.parse::<f64>().unwrap());
    if nodata.map(f64::to_bits) != expected.map(f64::to_bits) {
        return Err(format!("nodata {nodata:?}, {expected:?} expected"));
    }
    Ok(())
}

/// Files that are refused, and why.
const REFUSED: [(&str, &str); 1] = [("jpeg_12bit_gray_tile_7", "not supported: lossy JPEG of 12 bits")];

/// Files that are read.
pub fn readable() -> impl Iterator<Item = &'static Fixture> {
    all().iter().filter(|fixture| REFUSED.iter().all(|(name, _)| *name != fixture.name))
}

fn check_all(wanted: impl Fn(&str) -> bool) {
    let group: Vec<&Fixture> = readable().filter(|fixture| wanted(&fixture.name)).collect();
    assert!(!group.is_empty(), "no fixture of that name");
    let mut wrong = Vec::new();
    for fixture in group {
        let here = check(fixture, &open(fixture.bytes()));
        let staged = check(fixture, &open_bucket(fixture.bytes()).1);
        wrong.extend(here.err().map(|why| format!("{}: {why}", fixture.name)));
        wrong.extend(staged.err().map(|why| format!("{}, staged: {why}", fixture.name)));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// One test for each group: files whose name has one of these words at these places.
macro_rules! groups {
    ($($name:ident: $wanted:expr;)+) => {
        $(#[test]
        fn $name() {
            check_all($wanted);
        })+

        #[test]
        fn no_fixture_is_left_out() {
            let groups: &[fn(&str) -> bool] = &[$($wanted),+];
            let lost: Vec<&str> =
                all().iter().map(|f| f.name.as_str()).filter(|name| !groups.iter().any(|g| g(name))).collect();
            assert_eq!(lost, [""; 0]);
        }
    };
}

fn codec(name: &str) -> &str {
    name.split('_').next().unwrap_or_default()
}

groups! {
    stored: |name| codec(name) == "none";
    packbits: |name| codec(name) == "packbits";
    lzw_in_both_bit_orders: |name| ["lzw", "oldlzw"].contains(&codec(name));
    deflate_under_both_numbers: |name| ["deflate", "deflate32946"].contains(&codec(name));
    zstd_of_one_or_several_frames: |name| ["zstd", "zstdframes"].contains(&codec(name));
    lz4: |name| codec(name) == "lz4";
    lzma: |name| codec(name) == "lzma";
    lerc_with_and_without_holes: |name| codec(name) == "lerc";
    lerc_in_deflate_and_zstd: |name| ["lercdeflate", "lerczstd"].contains(&codec(name));
    jpeg_with_its_own_tables: |name| codec(name) == "jpeg" && !name.ends_with("_tables");
    jpeg_with_shared_tables: |name| codec(name) == "jpeg" && name.ends_with("_tables");
    lossless_jpeg: |name| codec(name) == "ljpeg";
    jpeg_2000: |name| ["j2k", "jp2"].contains(&codec(name));
    jpeg_xl: |name| codec(name).starts_with("jxl");
    webp: |name| codec(name) == "webp";
    png: |name| codec(name) == "png";
    fax: |name| codec(name).starts_with("ccitt");
    next_and_thunderscan: |name| ["next", "thunderscan"].contains(&codec(name));
    whole_depths_unsigned: |name| depth(name).is_some_and(|d| ["u8", "u16", "u32", "u64"].contains(&d));
    whole_depths_signed: |name| depth(name).is_some_and(|d| ["i8", "i16", "i32", "i64"].contains(&d));
    depths_of_few_bits: |name| depth(name).is_some_and(|d| odd_depth(d).is_some_and(|bits| bits < 8));
    depths_between_bytes: |name| depth(name).is_some_and(|d| odd_depth(d).is_some_and(|bits| bits > 8));
    floats: |name| depth(name).is_some_and(|d| ["f24", "f32", "f64"].contains(&d));
    half_floats: |name| depth(name) == Some("f16");
    complex_numbers: |name| depth(name).is_some_and(|d| d.starts_with('c'));
    sparse_blocks: |name| codec(name) == "sparse";
    strips_of_any_height: |name| ["strips", "one", "rows", "last"].contains(&codec(name));
    tiles_of_any_shape: |name| codec(name) == "tile";
    extra_offsets: |name| codec(name) == "extra";
    colours: |name| ["landcover", "rgba", "min", "orientation"].contains(&codec(name));
    many_bands: |name| codec(name) == "seven";
    masks: |name| codec(name) == "mask";
    overviews_in_the_chain: |name| codec(name) == "overviews";
    overviews_in_sub_directories: |name| codec(name) == "subifds";
    pages: |name| codec(name) == "pages";
    georeferenced: |name| codec(name) == "geo";
    odd_tags: |name| ["duplicate", "short", "long8", "every", "bytes"].contains(&codec(name));
}

/// The sample type of a fixture about depths: `u12` of `depth_lzw_u12_strip_be`.
fn depth(name: &str) -> Option<&str> {
    let mut words = name.strip_prefix("depth_")?.split('_').skip(1);
    words.find(|word| !["p2", "p3"].contains(word))
}

/// Bits of an integer of no whole size.
fn odd_depth(depth: &str) -> Option<u32> {
    let bits = depth.strip_prefix(['u', 'i'])?.parse().ok()?;
    (![8, 16, 32, 64].contains(&bits)).then_some(bits)
}

#[test]
fn codecs_come_in_both_byte_orders_sizes_of_file_and_arrangements() {
    for words in [["_le", "_strip"], ["_le_big", "_tile"], ["_be", "_planar"], ["_be_big", "_u8"]] {
        for codec in ["deflate_", "lzw_", "zstd_"] {
            let has = |f: &Fixture| {
                f.name.starts_with(codec) && f.name.ends_with(words[0]) && f.name.contains(words[1])
            };
            assert!(all().iter().any(has), "{codec} {words:?}");
        }
    }
}

#[test]
fn what_is_refused_is_refused_with_its_reason() {
    for (name, reason) in REFUSED {
        let fixture = all().iter().find(|fixture| fixture.name == name).unwrap();
        let refused = refusal(&open(fixture.bytes()), &ReadOptions::default());
        assert!(refused.contains(reason), "{name}: {refused}");
    }
}

#[test]
fn a_read_tells_its_type_and_shape() {
    let fixture = all().iter().find(|f| f.name == "seven_bands_planar").unwrap();
    let raster = read(&open(fixture.bytes()), &ReadOptions::default());
    assert_eq!((raster.bands, raster.rows, raster.columns), (7, 93, 67));
    assert_eq!(raster.data_type.to_string(), "uint16");
    assert!(raster.faults.is_empty());
}
