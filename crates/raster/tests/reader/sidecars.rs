//! Files on disk and what lies beside them: overviews, masks, metadata, world files.

use crate::sources::{pixels_of, read};
use std::path::{Path, PathBuf};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Dataset, Layer, OpenOptions, ReadOptions};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const BIT: SampleType = SampleType { format: SampleFormat::Uint, bits: 1 };

/// A folder of one test, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("strile-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in the system's folder for such files is not a test's failure.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

fn image() -> Pixels {
    Pixels::generate(Pattern::Noise, UINT8, [3, 50, 70], 9)
}

fn tiled(sample: SampleType) -> ImageSpec {
    ImageSpec::new(sample).grid(Grid::Tiles(32, 16)).codec(Codec::Zstd)
}

fn file(spec: &ImageSpec, pixels: &Pixels) -> Vec<u8> {
    spec.build(pixels, ByteOrder::Little, false).bytes
}

fn without_sidecars(path: &Path) -> Dataset {
    Dataset::open_with(path, &OpenOptions::new().sidecars(false)).unwrap()
}

#[test]
fn a_file_on_disk_is_read_as_one_in_memory() {
    let folder = Folder::new("disk");
    let path = folder.put("image.tif", file(&tiled(UINT8), &image()));
    assert_eq!(pixels_of(&read(&Dataset::open(&path).unwrap(), &ReadOptions::default())), image());
}

#[test]
fn overviews_lie_in_a_file_beside() {
    let folder = Folder::new("ovr");
    let path = folder.put("image.tif", file(&tiled(UINT8), &image()));
    folder.put("image.tif.ovr", file(&tiled(UINT8).subfile_type(1), &image().halved()));
    let dataset = Dataset::open(&path).unwrap();
    let overview = ReadOptions::new().level(1);
    assert_eq!(pixels_of(&read(&dataset, &overview)), image().halved());
    assert_eq!(pixels_of(&read(&dataset, &ReadOptions::default())), image());
    assert_eq!(without_sidecars(&path).pages()[0].levels.len(), 1, "not looked for");
}

#[test]
fn overviews_beside_follow_those_of_the_file() {
    let folder = Folder::new("both");
    let (inner, outer) = (image().halved(), image().halved().halved());
    let overview = (tiled(UINT8).subfile_type(1), inner.clone());
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let main = tiled(UINT8).build_with(&image(), &[overview], frame).bytes;
    let path = folder.put("image.tif", main);
    folder.put("image.tif.ovr", file(&tiled(UINT8).subfile_type(1), &outer));
    let dataset = Dataset::open(&path).unwrap();
    let levels: Vec<usize> = dataset.pages()[0].levels.iter().map(|level| level.file).collect();
    assert_eq!(levels, [0, 0, 1]);
    for (level, expected) in [(1, inner), (2, outer)] {
        let options = ReadOptions::new().level(level);
        assert_eq!(pixels_of(&read(&dataset, &options)), expected, "level {level}");
    }
}

#[test]
fn a_mask_lies_in_a_file_beside() {
    let folder = Folder::new("msk");
    let path = folder.put("image.tif", file(&tiled(UINT8), &image()));
    let mut valid = Pixels::zeroed(UINT8.data_type().unwrap(), 1, 50, 70);
    valid.bytes.iter_mut().enumerate().for_each(|(at, bit)| *bit = u8::from(at % 7 == 3));
    folder.put("image.tif.msk", file(&tiled(BIT).subfile_type(4).photometric(4), &valid));
    let mask = ReadOptions::new().layer(Layer::Mask);
    let found = read(&Dataset::open(&path).unwrap(), &mask).into_bytes().unwrap();
    let expected: Vec<u8> = valid.bytes.iter().map(|bit| bit * 255).collect();
    assert_eq!(found, expected);
    assert!(read(&without_sidecars(&path), &mask).into_bytes().unwrap().iter().all(|&pixel| pixel == 255));
}

#[test]
fn metadata_and_a_transform_lie_in_files_beside() {
    let folder = Folder::new("aux");
    let path = folder.put("image.tif", file(&tiled(UINT8), &image()));
    let band = "<PAMRasterBand band=\"1\"><NoDataValue>7</NoDataValue></PAMRasterBand>";
    folder.put("image.tif.aux.xml", format!("<PAMDataset>{band}</PAMDataset>"));
    // Pixels of 10 by 10, the centre of the first one at (1005, 1995).
    folder.put("image.tfw", "10\n0\n0\n-10\n1005\n1995\n");
    let dataset = Dataset::open(&path).unwrap();
    assert_eq!(dataset.metadata().nodata.map(strile::tiff::gdal::NoData::as_f64), Some(7.0));
    let transform = dataset.transform(&ReadOptions::default()).unwrap().unwrap();
    assert_eq!(transform.coefficients(), [10.0, 0.0, 1000.0, 0.0, -10.0, 2000.0]);
    assert!(without_sidecars(&path).transform(&ReadOptions::default()).unwrap().is_none());
}

#[test]
fn a_file_beside_that_is_no_tiff_is_a_warning() {
    let folder = Folder::new("bad");
    let path = folder.put("image.tif", file(&tiled(UINT8), &image()));
    folder.put("image.tif.ovr", "not a TIFF");
    let dataset = Dataset::open(&path).unwrap();
    assert_eq!(pixels_of(&read(&dataset, &ReadOptions::default())), image());
    let warnings: Vec<String> = dataset.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|w| w.contains("image.tif.ovr") && w.contains("ignored: ")), "{warnings:?}");
}

#[test]
fn what_is_no_file_is_told() {
    let folder = Folder::new("none");
    let open = |path: &Path| Dataset::open(path).err().unwrap().to_string();
    let missing = folder.0.join("missing.tif");
    assert!(open(&missing).starts_with(&format!("{}: ", missing.display())));
    assert_eq!(open(&folder.0), format!("{}: expected a regular file, got a directory", folder.0.display()));
    let empty = folder.put("empty.tif", "");
    assert!(open(&empty).contains("the file is empty"));
}
