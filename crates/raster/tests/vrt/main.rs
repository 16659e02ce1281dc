//! Mosaics of files made by the test kit: pixels, windows, and what a VRT may not reach.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests"
)]

mod batches;
mod blended;
mod engines;
mod hardening;
mod limits;
mod looked_for;
mod masked;
mod onto;
mod warped;

use std::path::{Path, PathBuf};
use strile::read::Interleave;
use strile::tiff::gdal::NoData;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::vrt::{IndexOptions, Missing, VrtOptions, write_index};
use strile::{Context, DataType, Input, OpenOptions, ReadOptions, Vrt, Window};
use testkit::{ImageSpec, Pattern, Pixels, geo_tags};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };

/// A folder of its own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("strile-vrt-{}-{name}", std::process::id()));
        let _not_there = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A tile of `bands` × 20 × 30 with its corner at column `x`, row `y` of a grid of 10 m pixels.
    fn tile(&self, name: &str, bands: usize, seed: u64, (x, y): (f64, f64)) -> Pixels {
        let pixels = Pixels::generate(Pattern::Noise, UINT8, [bands, 20, 30], seed);
        let mut spec = ImageSpec::new(UINT8);
        for tag in geo_tags(32632, (500_000.0 + x * 10.0, 5_000_000.0 - y * 10.0), 10.0, false) {
            spec = spec.tag(tag);
        }
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
        pixels
    }

    fn vrt(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

fn source(file: &str, band: &str, (x, y): (i32, i32)) -> String {
    format!(
        "<SimpleSource><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>{band}</SourceBand>\
         <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"30\" ySize=\"20\"/>\
         <DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"30\" ySize=\"20\"/></SimpleSource>"
    )
}

fn mosaic(bands: &[String]) -> String {
    let bands = bands.iter().map(|b| format!("<VRTRasterBand dataType=\"Byte\">{b}</VRTRasterBand>"));
    format!("<VRTDataset rasterXSize=\"50\" rasterYSize=\"40\">{}</VRTDataset>", bands.collect::<String>())
}

fn read(path: &Path, options: &ReadOptions) -> Result<Vec<u8>, String> {
    let vrt = Vrt::open(path, &VrtOptions::default()).map_err(|e| e.to_string())?;
    vrt.read(options, &Context::default())
        .map(|raster| raster.into_bytes().unwrap())
        .map_err(|e| e.to_string())
}

fn problem(path: &Path) -> String {
    read(path, &ReadOptions::default()).unwrap_err()
}

#[test]
fn later_sources_lie_on_top_and_windows_are_crops() {
    let folder = Folder::new("order");
    let (a, b) = (folder.tile("a.tif", 2, 1, (0.0, 0.0)), folder.tile("b.tif", 2, 2, (0.0, 0.0)));
    let band = |n: &str| {
        format!("<NoDataValue>9</NoDataValue>{}{}", source("a.tif", n, (2, 3)), source("b.tif", n, (15, 10)))
    };
    let path = folder.vrt("m.vrt", &mosaic(&[band("2"), band("1")]));
    let whole = read(&path, &ReadOptions::default()).unwrap();
    let expected = |band: usize, y: usize, x: usize| {
        let stored = 1 - band;
        let of = |tile: &Pixels, left: usize, top: usize| {
            let inside = (left..left + 30).contains(&x) && (top..top + 20).contains(&y);
            inside.then(|| tile.sample(stored, y - top, x - left)[0])
        };
        of(&b, 15, 10).or(of(&a, 2, 3)).unwrap_or(9)
    };
    for band in 0..2 {
        for y in 0..40 {
            for x in 0..50 {
                assert_eq!(
                    whole[(band * 40 + y) * 50 + x],
                    expected(band, y, x),
                    "band {band}, row {y}, column {x}"
                );
            }
        }
    }
    let window = Window::new(10, 7, 25, 20);
    let options = ReadOptions::new().window(window).interleave(Interleave::BandLast);
    let part = read(&path, &options).unwrap();
    for (i, sample) in part.iter().enumerate() {
        let (pixel, band) = (i / 2, i % 2);
        assert_eq!(*sample, expected(band, 7 + pixel / 25, 10 + pixel % 25));
    }
}

#[test]
fn what_leads_out_of_the_folder_is_refused() {
    let folder = Folder::new("escape");
    folder.tile("secret.tif", 1, 1, (0.0, 0.0));
    std::fs::create_dir_all(folder.0.join("in")).unwrap();
    let absolute = folder.0.join("secret.tif");
    let vrt = |name: &str| folder.vrt("in/m.vrt", &mosaic(&[source(name, "1", (0, 0))]));
    for (name, reason) in [
        ("../secret.tif", "`..`"),
        ("../nowhere.tif", "`..`"),
        (absolute.to_str().unwrap(), "absolute"),
        ("/vsizip/a.zip/b.tif", "virtual file systems"),
        ("/vsicurl/ftp://example.com/a.tif", "virtual file systems"),
        ("ftp://example.com/a.tif", "URL"),
        ("NETCDF:a.nc:b", "driver `NETCDF`"),
        ("zip:a.zip", "driver `zip`"),
    ] {
        let problem = problem(&vrt(name));
        assert!(problem.contains(reason), "{name}: {problem}");
    }
    folder.tile("in/own.tif", 1, 1, (0.0, 0.0));
    assert!(read(&vrt("../in/own.tif"), &ReadOptions::default()).is_ok());
    let path = vrt("../secret.tif");
    let options = VrtOptions::new().allow_outside(true);
    let allowed = Vrt::open(&path, &options).unwrap().read(&ReadOptions::default(), &Context::default());
    assert!(allowed.is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused_and_one_inside_followed() {
    let folder = Folder::new("links");
    folder.tile("secret.tif", 1, 1, (0.0, 0.0));
    folder.tile("in/own.tif", 1, 1, (0.0, 0.0));
    std::os::unix::fs::symlink(folder.0.join("secret.tif"), folder.0.join("in/out.tif")).unwrap();
    std::os::unix::fs::symlink(folder.0.join("in/own.tif"), folder.0.join("in/link.tif")).unwrap();
    let out = folder.vrt("in/m.vrt", &mosaic(&[source("out.tif", "1", (0, 0))]));
    assert!(problem(&out).contains("outside the folder"));
    let inside = folder.vrt("in/n.vrt", &mosaic(&[source("link.tif", "1", (0, 0))]));
    assert!(read(&inside, &ReadOptions::default()).is_ok());
}

#[test]
fn entities_are_refused() {
    let folder = Folder::new("entities");
    let text = mosaic(&[source("&x;", "1", (0, 0))]);
    let bomb = folder.vrt("a.vrt", &format!("<!DOCTYPE a [<!ENTITY x \"y\">]>{text}"));
    assert!(problem(&bomb).contains("document type"));
    assert!(problem(&folder.vrt("b.vrt", &text)).contains("entity"));
}

#[test]
fn a_mosaic_in_itself_is_refused() {
    let folder = Folder::new("cycle");
    let path = folder.vrt("a.vrt", &mosaic(&[source("b.vrt", "1", (0, 0))]));
    folder.vrt("b.vrt", &mosaic(&[source("a.vrt", "1", (0, 0))]));
    assert!(problem(&path).contains("source of itself"));
}

#[test]
fn missing_sources_raise_or_warn() {
    let folder = Folder::new("missing");
    let path = folder.vrt("a.vrt", &mosaic(&[source("gone.tif", "1", (0, 0))]));
    assert!(problem(&path).contains("`gone.tif` is missing"));
    let vrt = Vrt::open(&path, &VrtOptions::new().missing(Missing::Warn)).unwrap();
    let raster = vrt.read(&ReadOptions::default(), &Context::default()).unwrap();
    assert!(raster.bytes().unwrap().iter().all(|&v| v == 0));
    assert!(vrt.warnings()[0].message.contains("gone.tif"));
}

#[test]
fn a_damaged_source_is_left_out_as_a_whole() {
    let folder = Folder::new("damaged");
    folder.tile("a.tif", 1, 1, (0.0, 0.0));
    let tile = folder.0.join("b.tif");
    folder.tile("b.tif", 1, 1, (0.0, 0.0));
    let bytes = std::fs::read(&tile).unwrap();
    let path = folder.vrt("m.vrt", &mosaic(&[source("a.tif", "1", (0, 0)) + &source("b.tif", "1", (3, 2))]));
    let whole = read(&path, &ReadOptions::default()).unwrap();
    let alone = folder.vrt("a.vrt", &mosaic(&[source("a.tif", "1", (0, 0))]));
    let alone = read(&alone, &ReadOptions::default()).unwrap();
    assert_ne!(whole, alone);
    for damaged in [&bytes[..bytes.len() / 2], b"no image"] {
        std::fs::write(&tile, damaged).unwrap();
        assert!(problem(&path).contains("b.tif"));
        let options = VrtOptions::new().missing(Missing::Warn);
        let vrt = Vrt::open(&path, &options).unwrap();
        let raster = vrt.read(&ReadOptions::default(), &Context::default()).unwrap();
        let holes = &raster.holes;
        assert_eq!(raster.bytes().unwrap(), alone);
        assert_eq!(holes.len(), 1);
        assert_eq!(holes[0].0, "b.tif");
        assert!(vrt.warnings().iter().any(|warning| warning.message.contains("b.tif")));
    }
}

#[test]
fn bands_are_given_in_another_type() {
    let folder = Folder::new("types");
    folder.tile("a.tif", 1, 7, (0.0, 0.0));
    let text = mosaic(&[source("a.tif", "1", (0, 0))]);
    let path = folder.vrt("m.vrt", &text);
    let narrow = read(&path, &ReadOptions::default()).unwrap();
    let options = VrtOptions::new().data_type(DataType::F64);
    let wide =
        Vrt::open(&path, &options).unwrap().read(&ReadOptions::default(), &Context::default()).unwrap();
    assert_eq!(wide.data_type, DataType::F64);
    let expected: Vec<u8> = narrow.iter().flat_map(|&v| f64::from(v).to_ne_bytes()).collect();
    assert_eq!(wide.bytes().unwrap(), expected);
}

#[test]
fn what_is_no_mosaic_is_named() {
    let folder = Folder::new("kinds");
    let derived = "<VRTDataset rasterXSize=\"5\" rasterYSize=\"4\"><VRTRasterBand subClass=\"VRTDerivedRasterBand\"/></VRTDataset>";
    for (text, name) in [
        ("<VRTDataset subClass=\"VRTWarpedDataset\"><a/></VRTDataset>".to_owned(), "VRTWarpedDataset"),
        (derived.to_owned(), "VRTDerivedRasterBand"),
        (mosaic(&["<KernelFilteredSource/>".into()]), "KernelFilteredSource"),
    ] {
        assert!(problem(&folder.vrt("a.vrt", &text)).contains(name));
    }
}

#[test]
fn an_index_of_tiles_is_read_back() {
    let folder = Folder::new("index");
    let a = folder.tile("a.tif", 1, 1, (0.0, 0.0));
    folder.tile("sub/b.tif", 1, 2, (30.0, 20.0));
    let (path, files) = (folder.0.join("all.vrt"), [folder.0.join("a.tif"), folder.0.join("sub/b.tif")]);
    let options = IndexOptions::new().nodata(NoData::Integer(0));
    write_index(&path, &files, &options).unwrap();
    let input = Input::open(&path, &OpenOptions::default()).unwrap();
    let raster = input.read(&ReadOptions::default(), &Context::default()).unwrap();
    assert_eq!((raster.columns, raster.rows), (60, 40));
    assert_eq!(raster.bytes().unwrap()[5 * 60 + 7], a.sample(0, 5, 7)[0]);
    assert_eq!(raster.bytes().unwrap()[5 * 60 + 37], 0);
    folder.tile("c.tif", 3, 3, (0.0, 0.0));
    let problem = write_index(&path, &[&files[0], &folder.0.join("c.tif")], &options).unwrap_err();
    assert!(problem.to_string().contains("c.tif: expected 1 band as in"), "{problem}");
}
