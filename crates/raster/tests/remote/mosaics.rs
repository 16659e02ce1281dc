//! VRTs behind URLs, and VRTs with sources behind URLs: the same pixels as on disk, and which hosts they may reach.

use crate::{UINT16, hasty};
use std::path::PathBuf;
use std::time::Duration;
use strile::tiff::ByteOrder;
use strile::vrt::{Missing, VrtOptions};
use strile::{Context, Input, OpenOptions, ReadOptions, Vrt};
use testkit::{Fault, FileFrame, FileOrder, ImageSpec, Pattern, Pixels, RangeServer};

/// A COG of 32 × 32 pixels.
fn tile(seed: u64) -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, 32, 32], seed);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::CogWithGhost };
    ImageSpec::new(UINT16).build_with(&pixels, &[], frame).bytes
}

/// A row of sources, by name and whether the name is relative.
fn mosaic(names: &[(&str, bool)]) -> String {
    let source = |(at, (name, relative)): (usize, &(&str, bool))| {
        format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"{}\">{name}</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"32\" ySize=\"32\"/>\
             <DstRect xOff=\"{}\" yOff=\"0\" xSize=\"32\" ySize=\"32\"/></SimpleSource>",
            u8::from(*relative),
            at * 32
        )
    };
    let sources: String = names.iter().enumerate().map(source).collect();
    format!(
        "<VRTDataset rasterXSize=\"{}\" rasterYSize=\"32\"><VRTRasterBand dataType=\"UInt16\">{sources}</VRTRasterBand></VRTDataset>",
        names.len() * 32
    )
}

/// Files of one folder, on disk and on a server.
struct Both {
    folder: PathBuf,
    server: RangeServer,
}

impl Both {
    fn new(name: &str, tiles: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("strile-mosaics-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("t")).unwrap();
        let both = Self { folder, server: RangeServer::start() };
        for (name, seed) in tiles.iter().zip(1..) {
            both.put(name, tile(seed));
        }
        both
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.join(name), bytes.as_ref()).unwrap();
        self.server.put(name, bytes.as_ref().to_vec(), "first");
    }

    fn host(&self) -> String {
        self.server.url("").trim_start_matches("http://").trim_end_matches('/').to_owned()
    }

    fn near(&self, name: &str) -> Vec<u8> {
        read(self.folder.join(name), &VrtOptions::default()).unwrap()
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.folder);
    }
}

fn options() -> VrtOptions {
    VrtOptions::new().open(OpenOptions::new().remote(hasty()))
}

fn allowing(hosts: &[&str]) -> VrtOptions {
    options().allowed_hosts(hosts.iter().map(|&host| host.to_owned()).collect())
}

fn read(path: impl AsRef<std::path::Path>, options: &VrtOptions) -> Result<Vec<u8>, String> {
    let input = Input::open_with(path, options).map_err(|error| error.to_string())?;
    let read = input.read(&ReadOptions::new(), &Context::default());
    read.map(|raster| raster.into_bytes().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn a_remote_vrt_is_read_as_the_one_on_disk() {
    let both = Both::new("same", &["t/a.tif", "t/b.tif"]);
    both.put("m.vrt", mosaic(&[("t/a.tif", true), ("t/b.tif", true)]));
    both.put("outer.vrt", mosaic(&[("m.vrt", true), ("t/b.tif", true)]));
    for name in ["m.vrt", "outer.vrt"] {
        assert_eq!(read(both.server.url(name), &options()).unwrap(), both.near(name));
    }
    both.server.counts();
    read(both.server.url("m.vrt?sig=1"), &options()).unwrap();
    let counts = both.server.counts();
    // The VRT and two small files, which are in their first bytes.
    assert_eq!((counts.requests, counts.heads), (3, 0), "{:#?}", counts.log);
    assert!(counts.log[1..].iter().all(|head| !head.contains("sig=1")), "{:#?}", counts.log);
}

#[test]
fn sources_are_opened_at_once() {
    let names: Vec<String> = (0..12).map(|number| format!("t/{number}.tif")).collect();
    let both = Both::new("at-once", &names.iter().map(String::as_str).collect::<Vec<_>>());
    both.put("m.vrt", mosaic(&names.iter().map(|name| (name.as_str(), true)).collect::<Vec<_>>()));
    let near = both.near("m.vrt");
    both.server.delay(Duration::from_millis(50));
    assert_eq!(read(both.server.url("m.vrt"), &options()).unwrap(), near);
    let counts = both.server.counts();
    assert_eq!(counts.requests, 13);
    assert!(counts.at_once >= 8, "{} at once", counts.at_once);
}

#[test]
fn a_source_that_was_looked_at_is_not_asked_for_again() {
    let both = Both::new("looked-at", &["t/a.tif", "t/b.tif"]);
    let names = [both.server.url("t/a.tif"), both.server.url("t/b.tif")];
    std::fs::write(both.folder.join("m.vrt"), mosaic(&[(&names[0], false), (&names[1], false)])).unwrap();
    let options = allowing(&[&both.host()]);
    let expected = read(both.folder.join("m.vrt"), &options).unwrap();
    both.server.counts();
    let vrt = Vrt::open(both.folder.join("m.vrt"), &options).unwrap();
    for source in vrt.listed_sources() {
        let looked_at = vrt.open_source(&source.path.unwrap(), &strile::Cancel::default()).unwrap();
        assert_eq!(looked_at.pages()[0].levels[0].image.width, 32);
    }
    let read = || vrt.read(&ReadOptions::new(), &Context::default()).unwrap().into_bytes().unwrap();
    assert_eq!((read(), read()), (expected.clone(), expected));
    assert_eq!(both.server.counts().requests, 2);
}

#[test]
fn a_local_vrt_reaches_hosts_that_are_allowed() {
    let both = Both::new("local", &["t/a.tif", "t/b.tif"]);
    both.put("near.vrt", mosaic(&[("t/a.tif", true), ("t/b.tif", true)]));
    let far = both.server.url("t/b.tif");
    for name in [far.clone(), format!("/vsicurl/{far}")] {
        both.put("m.vrt", mosaic(&[("t/a.tif", true), (&name, false)]));
        let path = both.folder.join("m.vrt");
        both.server.counts();
        for options in [options(), allowing(&["example.org"]), options().allow_outside(true)] {
            let error = read(&path, &options).unwrap_err();
            assert!(error.contains("is on another host") && error.contains("`allowed_hosts`"), "{error}");
        }
        assert_eq!(both.server.counts().requests, 0);
        for host in [both.host().as_str(), "127.0.0.1", "*"] {
            assert_eq!(read(&path, &allowing(&[host])).unwrap(), both.near("near.vrt"), "{host}");
        }
    }
}

#[test]
fn private_hosts_are_refused_in_a_vrt_too() {
    let both = Both::new("private", &["t/a.tif"]);
    both.put("m.vrt", mosaic(&[(&both.server.url("t/a.tif"), false)]));
    both.server.counts();
    let mut guarded = allowing(&["*"]);
    guarded.open.remote.deny_private_hosts = true;
    let error = read(both.folder.join("m.vrt"), &guarded).unwrap_err();
    assert!(error.contains("private network"), "{error}");
    assert_eq!(both.server.counts().connections, 0);
}

#[test]
fn a_remote_vrt_reaches_its_own_folder_alone() {
    let both = Both::new("folder", &["t/a.tif", "b.tif"]);
    let other = RangeServer::start();
    other.put("a.tif", tile(1), "first");
    let told = |name: &str, relative: bool, options: &VrtOptions| {
        both.put("t/m.vrt", mosaic(&[(name, relative)]));
        read(both.server.url("t/m.vrt"), options)
    };
    assert!(told("a.tif", true, &options()).is_ok());
    assert!(told(&both.server.url("t/a.tif"), false, &options()).is_ok());
    for name in ["../b.tif", "%2e%2e/b.tif"] {
        assert!(told(name, true, &options()).unwrap_err().contains("`allow_outside`"), "{name}");
    }
    let outside = options().allow_outside(true);
    assert!(told("../b.tif", true, &outside).is_ok());
    let local = both.folder.join("t/a.tif");
    for (name, relative) in [("/etc/hostname", true), (local.to_str().unwrap(), false)] {
        assert!(told(name, relative, &outside).unwrap_err().contains("local path"), "{name}");
    }
    let far = other.url("a.tif");
    assert!(told(&far, false, &outside).unwrap_err().contains("`allowed_hosts`"));
    let host = other.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    assert!(told(&far, false, &allowing(&[&host])).is_ok());
}

/// A VRT inside may not reach what the one around it may not.
#[test]
fn a_vrt_inside_is_held_to_the_rules_of_the_outermost() {
    let both = Both::new("nested", &["t/a.tif", "b.tif"]);
    both.put("t/inner.vrt", mosaic(&[("../b.tif", true)]));
    both.put("t/m.vrt", mosaic(&[("inner.vrt", true)]));
    both.put("m.vrt", mosaic(&[("t/inner.vrt", true)]));
    assert!(read(both.server.url("t/m.vrt"), &options()).unwrap_err().contains("`allow_outside`"));
    assert_eq!(read(both.server.url("m.vrt"), &options()).unwrap(), both.near("m.vrt"));
    both.put("loop.vrt", mosaic(&[("loop.vrt", true)]));
    assert!(read(both.server.url("loop.vrt"), &options()).unwrap_err().contains("is a source of itself"));
}

#[test]
fn a_source_that_is_not_there_is_missing() {
    let both = Both::new("missing", &["t/a.tif"]);
    both.put("m.vrt", mosaic(&[("t/a.tif", true), ("t/none.tif", true)]));
    let error = read(both.server.url("m.vrt"), &options()).unwrap_err();
    assert!(error.contains("source `t/none.tif` is missing"), "{error}");
    let warn = options().missing(Missing::Warn);
    let vrt = Vrt::open(both.server.url("m.vrt"), &warn).unwrap();
    vrt.read(&ReadOptions::new(), &Context::default()).unwrap();
    assert_eq!(vrt.missing_sources()[0].0, "t/none.tif");
}

/// A header of the caller is a secret of the VRT's host, and of hosts that the caller names.
#[test]
fn headers_go_to_the_host_of_the_vrt() {
    let both = Both::new("headers", &["a.tif"]);
    let other = RangeServer::start();
    other.put("b.tif", tile(2), "first");
    both.put("m.vrt", mosaic(&[("a.tif", true), (&other.url("b.tif"), false)]));
    let mut options = allowing(&["*"]);
    options.open.remote = hasty().header("X-Api-Key", "concealed");
    read(both.server.url("m.vrt"), &options).unwrap();
    assert!(both.server.counts().log.iter().all(|head| head.contains("concealed")));
    assert!(!other.counts().log.join("").contains("concealed"));
}

#[test]
fn limits_hold_for_remote_vrts() {
    let both = Both::new("limits", &["a.tif"]);
    both.put("m.vrt", mosaic(&[("a.tif", true)]));
    let error = read(both.server.url("m.vrt"), &options().max_bytes(100)).unwrap_err();
    assert!(error.contains("vrt_max_bytes"), "{error}");
    both.put("empty.vrt", "");
    assert!(Input::open_with(both.server.url("empty.vrt"), &options()).is_err());
    assert!(Vrt::open(both.server.url("empty.vrt"), &options()).is_err());
    let vrt = Vrt::open(both.server.url("m.vrt"), &options()).unwrap();
    vrt.read(&ReadOptions::new(), &Context::default()).unwrap();
    // The whole of the small file is at hand; one that was not would be asked for by its version.
    both.server.fail(|_, _| Some(Fault::Status(500)));
    assert!(vrt.read(&ReadOptions::new(), &Context::default()).is_ok());
}
