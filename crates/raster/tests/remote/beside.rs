//! Files beside a remote file: when they are asked for, and what they add. Judged by the same files on disk.

use crate::{UINT16, hasty};
use std::path::PathBuf;
use std::time::Duration;
use strile::batch::{HeaderLimits, Headers};
use strile::file::SidecarSearch;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, Layer, OpenOptions, ReadOptions, Result};
use testkit::{Codec, Fault, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, RangeServer, geo_tags};

const BYTE: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const AUX: &str = "<PAMDataset><PAMRasterBand band=\"1\"><NoDataValue>7</NoDataValue><Description>height</Description>\
                   </PAMRasterBand></PAMDataset>";

/// Files of one folder, on disk and on a server.
struct Both {
    folder: PathBuf,
    server: RangeServer,
}

impl Both {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("strile-beside-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder, server: RangeServer::start() }
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.join(name), bytes.as_ref()).unwrap();
        self.server.put(name, bytes.as_ref().to_vec(), "first");
    }

    fn near(&self) -> Dataset {
        Dataset::open(self.folder.join("a.tif")).unwrap()
    }

    fn far(&self, sidecars: SidecarSearch) -> Result<Dataset> {
        let options = OpenOptions::new().sidecars(sidecars).remote(hasty());
        Dataset::open_with(self.server.url("a.tif"), &options)
    }

    /// What was asked for, without the range of the file itself.
    fn asked(&self) -> Vec<String> {
        let path =
            |head: &String| head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let mut asked: Vec<String> = self.server.counts().log.iter().map(path).collect();
        asked.sort();
        asked
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.folder);
    }
}

fn file(size: usize, order: FileOrder, placed: bool, overview: bool) -> Vec<u8> {
    let mut spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 64)).codec(Codec::None);
    if placed {
        for tag in geo_tags(32632, (500_000.0, 5_000_000.0), 10.0, false) {
            spec = spec.tag(tag);
        }
    }
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, size, size], 7);
    let half = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 64)).codec(Codec::None).subfile_type(1);
    let others = if overview { vec![(half, pixels.halved())] } else { Vec::new() };
    spec.build_with(&pixels, &others, FileFrame { order: ByteOrder::Little, big: false, file_order: order })
        .bytes
}

fn overviews(size: usize) -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, size, size], 8);
    ImageSpec::new(UINT16).build(&pixels, ByteOrder::Big, false).bytes
}

fn mask(size: usize) -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Noise, BYTE, [1, size, size], 9);
    ImageSpec::new(BYTE).subfile_type(4).photometric(4).build(&pixels, ByteOrder::Little, false).bytes
}

#[test]
fn a_cog_is_opened_with_one_request() {
    let both = Both::new("cog");
    // One says so by its ghost area, without overviews and coordinates; one has both.
    for bytes in
        [file(600, FileOrder::CogWithGhost, false, false), file(600, FileOrder::DirectoriesFirst, true, true)]
    {
        both.put("a.tif", bytes);
        both.put("a.tif.aux.xml", AUX);
        assert!(both.far(SidecarSearch::Auto).unwrap().metadata().nodata.is_none());
        assert_eq!(both.asked(), ["a.tif"]);
        let all = both.far(SidecarSearch::Always).unwrap();
        assert_eq!(all.metadata().nodata, both.near().metadata().nodata);
        assert!(both.asked().len() > 3);
    }
}

#[test]
fn only_names_that_can_add_something_are_asked_for_all_at_once() {
    let both = Both::new("names");
    let asked = |size: usize, placed: bool| {
        both.put("a.tif", file(size, FileOrder::DirectoriesFirst, placed, false));
        drop(both.far(SidecarSearch::Auto).unwrap());
        both.asked()
    };
    assert_eq!(asked(64, true), ["a.tif", "a.tif.aux.xml", "a.tif.msk", "a.tif.ovr"]);
    assert_eq!(
        asked(64, false),
        ["a.tfw", "a.tif", "a.tif.aux.xml", "a.tif.msk", "a.tif.ovr", "a.tifw", "a.wld"]
    );
    let pixels = OpenOptions::new().overviews(false).remote(hasty());
    drop(Dataset::open_with(both.server.url("a.tif"), &pixels).unwrap());
    assert!(!both.asked().contains(&"a.tif.ovr".to_owned()));
    both.server.delay(Duration::from_millis(200));
    drop(both.far(SidecarSearch::Auto).unwrap());
    assert!(both.server.counts().at_once >= 4);
    drop(both.far(SidecarSearch::Never).unwrap());
    assert_eq!(both.asked(), ["a.tif"]);
}

#[test]
fn what_lies_beside_counts_as_on_disk() {
    for (name, search) in [("auto", SidecarSearch::Auto), ("always", SidecarSearch::Always)] {
        let both = Both::new(name);
        both.put("a.tif", file(600, FileOrder::DirectoriesFirst, false, false));
        both.put("a.tif.ovr", overviews(300));
        both.put("a.tif.msk", mask(600));
        both.put("a.tif.aux.xml", AUX);
        both.put("a.tfw", "10\n0\n0\n-10\n500005\n4999995\n");
        let (near, far) = (both.near(), both.far(search).unwrap());
        assert_eq!(far.metadata().nodata, near.metadata().nodata);
        assert_eq!(far.metadata().bands, near.metadata().bands);
        assert_eq!(far.metadata().georeference.transform, near.metadata().georeference.transform);
        assert!(near.metadata().georeference.transform.is_some() && near.metadata().nodata.is_some());
        assert_eq!((far.pages()[0].levels.len(), far.warnings()), (2, near.warnings()));
        for options in
            [ReadOptions::new(), ReadOptions::new().level(1), ReadOptions::new().layer(Layer::Mask)]
        {
            let read = |dataset: &Dataset| {
                dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap()
            };
            assert_eq!(read(&far), read(&near));
        }
    }
}

#[test]
fn a_file_that_may_not_be_read_is_not_there() {
    let both = Both::new("status");
    both.put("a.tif", file(64, FileOrder::DirectoriesFirst, true, false));
    for status in [403, 401, 404] {
        both.server.fail(move |_, head| (!head.contains("/a.tif ")).then_some(Fault::Status(status)));
        assert!(both.far(SidecarSearch::Auto).unwrap().warnings().is_empty(), "{status}");
    }
    // A server that fails may have something to say.
    both.server.fail(|_, head| head.contains(".msk").then_some(Fault::Status(500)));
    let error = both.far(SidecarSearch::Auto).err().unwrap().to_string();
    assert!(
        error.contains("a.tif.msk") && error.contains("500") && error.contains("`sidecars = never`"),
        "{error}"
    );
}

#[test]
fn what_is_beside_and_damaged_is_a_warning() {
    let both = Both::new("damaged");
    both.put("a.tif", file(600, FileOrder::DirectoriesFirst, true, false));
    both.put("a.tif.ovr", "<html>not found</html>");
    let far = both.far(SidecarSearch::Auto).unwrap();
    assert_eq!(far.pages()[0].levels.len(), 1);
    assert!(far.warnings().iter().any(|warning| warning.code == "unusable-sidecar"), "{:?}", far.warnings());
}

/// A token for a whole folder is one for what lies beside a file, too.
#[test]
fn a_query_is_kept() {
    let both = Both::new("query");
    both.put("a.tif", file(64, FileOrder::DirectoriesFirst, true, false));
    let url = both.server.url("a.tif?sig=concealed");
    drop(Dataset::open_with(url, &OpenOptions::new().remote(hasty())).unwrap());
    let asked = both.asked();
    assert!(asked.contains(&"a.tif.msk?sig=concealed".to_owned()), "{asked:?}");
}

/// Files of a batch are opened by the same rule as one file; those of an index cost no request.
#[test]
fn files_of_a_batch_have_what_lies_beside_them() {
    let both = Both::new("batch");
    both.put("a.tif", file(256, FileOrder::DirectoriesFirst, true, false));
    both.put("a.tif.aux.xml", AUX);
    let headers = Headers::new(HeaderLimits::default(), OpenOptions::new());
    let urls = [PathBuf::from(both.server.url("a.tif"))];
    let opened = headers.open_all(&urls, &hasty(), &Context::default().cancel).unwrap();
    assert_eq!(opened[0].metadata().nodata, both.near().metadata().nodata);
    assert!(opened[0].metadata().nodata.is_some());
    assert!(both.asked().contains(&"a.tif.aux.xml".to_owned()));
}
