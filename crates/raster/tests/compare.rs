//! Two files that differ in one thing: the difference is found, named, and is the only one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::sync::Arc;
use strile::compare::{CompareOptions, Difference};
use strile::io::MemorySource;
use strile::tiff::Predictor;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, OpenOptions};
use testkit::{
    Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Tag, Value, geo_tags, metadata_tag,
    nodata_tag,
};

const FLOAT32: SampleType = SampleType { format: SampleFormat::Float, bits: 32 };
const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const LITTLE: FileFrame =
    FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
const BIG: FileFrame = FileFrame { order: ByteOrder::Big, big: true, file_order: FileOrder::BlocksFirst };

fn open(bytes: Vec<u8>) -> Dataset {
    Dataset::from_source(Arc::new(MemorySource::new("made", bytes)), &OpenOptions::default()).unwrap()
}

fn differences(a: Vec<u8>, b: Vec<u8>, options: &CompareOptions) -> Vec<Difference> {
    open(a).compare(&open(b), options, &Context::default()).unwrap()
}

fn categories(found: &[Difference]) -> Vec<&str> {
    found.iter().map(|difference| difference.category).collect()
}

fn pixels() -> Pixels {
    Pixels::generate(Pattern::Dem, FLOAT32, [2, 90, 70], 7)
}

const ITEMS: &str = "<GDALMetadata><Item name=\"TITLE\">Hills</Item>\
    <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">m</Item></GDALMetadata>";

/// A described file; `xml`, `nodata`, `x` and `software` are what the tests change.
struct Made {
    spec: ImageSpec,
    xml: String,
    nodata: &'static str,
    x: f64,
    software: &'static str,
    epsg: u16,
}

impl Made {
    fn new() -> Self {
        let spec = ImageSpec::new(FLOAT32).grid(Grid::Tiles(32, 16)).codec(Codec::Deflate);
        Self { spec, xml: ITEMS.into(), nodata: "-9999", x: 500_000.0, software: "one", epsg: 32632 }
    }

    fn bytes(&self, pixels: &Pixels, frame: FileFrame) -> Vec<u8> {
        let mut spec = self.spec.clone();
        for tag in geo_tags(self.epsg, (self.x, 5_200_000.0), 10.0, false) {
            spec = spec.tag(tag);
        }
        spec = spec
            .tag(nodata_tag(self.nodata))
            .tag(metadata_tag(&self.xml))
            .tag(Tag::ascii(305, self.software));
        spec = spec.tag(Tag::new(282, Value::Rational(vec![(300, 1)])));
        let overview = (ImageSpec::new(FLOAT32).subfile_type(1), pixels.halved());
        let mask_pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 90, 70], 3);
        let mask = (ImageSpec::new(UINT8).subfile_type(4).photometric(4), mask_pixels);
        spec.build_with(pixels, &[overview, mask], frame).bytes
    }
}

fn against_made(change: impl FnOnce(&mut Made)) -> Vec<Difference> {
    let mut other = Made::new();
    change(&mut other);
    let pixels = pixels();
    differences(Made::new().bytes(&pixels, LITTLE), other.bytes(&pixels, BIG), &CompareOptions::default())
}

#[test]
fn how_pixels_are_stored_is_no_difference_unless_asked_for() {
    let change = |made: &mut Made| {
        made.spec = ImageSpec::new(FLOAT32).grid(Grid::Strips(7)).codec(Codec::Lzw).planar(true);
        made.spec = made.spec.clone().predictor(Predictor::Horizontal);
    };
    assert_eq!(against_made(change), []);
    let mut other = Made::new();
    change(&mut other);
    let options = CompareOptions::new().structure(true);
    let (a, b) = (Made::new().bytes(&pixels(), LITTLE), other.bytes(&pixels(), BIG));
    let found = differences(a, b, &options);
    assert_eq!(
        categories(&found),
        ["byte-order", "variant", "compression", "predictor", "interleave", "blocks"]
    );
    assert_eq!(found[5].message, "tiles of 32 × 16 in the first file, strips of 70 × 7 in the second");
}

#[test]
fn the_first_sample_is_named_by_band_row_and_column() {
    let (a, mut b) = (pixels(), pixels());
    for (band, y, x, by) in [(1, 2, 3, 4.0), (0, 80, 5, 0.25), (0, 81, 0, 0.5)] {
        let value = f32::from_ne_bytes(b.sample(band, y, x).try_into().unwrap()) + by;
        b.sample_mut(band, y, x).copy_from_slice(&value.to_ne_bytes());
    }
    let made = Made::new();
    // The overview of the changed pixels is made from them; only the full image is looked at here.
    let found = differences(made.bytes(&a, LITTLE), made.bytes(&b, LITTLE), &CompareOptions::default());
    let samples = found[0].samples.as_ref().unwrap();
    assert_eq!((samples.band, samples.row, samples.column), (1, 80, 5));
    assert_eq!((samples.count, samples.compared, samples.largest), (3, 2 * 90 * 70, 4.0));
    let loose = CompareOptions::new().tolerance(0.3);
    let found = differences(made.bytes(&a, LITTLE), made.bytes(&b, LITTLE), &loose);
    let samples = found[0].samples.as_ref().unwrap();
    assert_eq!((samples.band, samples.row, samples.count), (1, 81, 2));
}

#[test]
fn holes_and_zeros_are_equal_by_value() {
    let with = |value: f32, zero: f32| {
        let mut pixels = Pixels::zeroed(strile::DataType::F32, 1, 20, 20);
        pixels.sample_mut(0, 1, 1).copy_from_slice(&value.to_ne_bytes());
        pixels.sample_mut(0, 2, 2).copy_from_slice(&zero.to_ne_bytes());
        ImageSpec::new(FLOAT32).build(&pixels, ByteOrder::Little, false).bytes
    };
    let options = CompareOptions::default();
    assert_eq!(differences(with(f32::NAN, 0.0), with(-f32::NAN, -0.0), &options), []);
    let found = differences(with(f32::NAN, 0.0), with(1.0, 0.0), &options.tolerance(1e9));
    assert_eq!(found[0].samples.as_ref().unwrap().largest, f64::INFINITY);
}

#[test]
fn each_fact_is_a_category_of_its_own() {
    let text = |found: Vec<Difference>| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    assert_eq!(
        text(against_made(|made| made.nodata = "nan")),
        "nodata: -9999 in the first file, NaN in the second"
    );
    assert_eq!(categories(&against_made(|made| made.x += 0.001)), ["transform"]);
    assert_eq!(categories(&against_made(|made| made.x += 0.000_01)), [""; 0]);
    assert_eq!(
        text(against_made(|made| made.epsg = 32633)),
        "crs: EPSG:32632 in the first file, EPSG:32633 in the second"
    );
    assert_eq!(
        text(against_made(|made| made.xml = ITEMS.replace("Hills", "Dales"))),
        "item: `TITLE`: `Hills` in the first file, `Dales` in the second"
    );
    assert_eq!(
        text(against_made(|made| made.xml = ITEMS.replace(">m<", ">ft<"))),
        "unit: band 1: `m` in the first file, `ft` in the second"
    );
    assert_eq!(
        text(against_made(|made| made.software = "two")),
        "tag: tag Software (305): `one` in the first file, `two` in the second"
    );
}

#[test]
fn shapes_masks_and_overviews() {
    let spec = ImageSpec::new(UINT8);
    let of = |shape: [usize; 3]| Pixels::generate(Pattern::Noise, UINT8, shape, 1);
    let alone = |shape| spec.build(&of(shape), ByteOrder::Little, false).bytes;
    let options = CompareOptions::default();
    assert_eq!(categories(&differences(alone([1, 20, 20]), alone([1, 20, 21]), &options)), ["size"]);
    assert_eq!(
        categories(&differences(alone([1, 20, 20]), alone([2, 20, 20]), &options)),
        ["bands", "extra-samples"]
    );
    let mask = (ImageSpec::new(UINT8).subfile_type(4).photometric(4), of([1, 20, 20]));
    let other_mask = (mask.0.clone(), Pixels::generate(Pattern::Noise, UINT8, [1, 20, 20], 2));
    let half = (spec.clone().subfile_type(1), of([1, 20, 20]).halved());
    let with = |others: &[(ImageSpec, Pixels)]| spec.build_with(&of([1, 20, 20]), others, LITTLE).bytes;
    assert_eq!(categories(&differences(with(&[]), with(&[half]), &options)), ["overviews"]);
    let found = differences(with(&[]), with(std::slice::from_ref(&mask)), &options);
    assert_eq!(categories(&found), ["mask"]);
    let found = differences(with(&[mask]), with(&[other_mask]), &options);
    assert!(found.len() == 1 && found[0].category == "mask" && found[0].samples.is_some(), "{found:?}");
}
