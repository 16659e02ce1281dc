//! Mosaics and files that want more than they may have, and files that are replaced while they are open.

use crate::{Folder, UINT8, mosaic, source};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile::batch::{HeaderLimits, Headers, write_header_index};
use strile::engine::Budget;
use strile::tiff::ByteOrder;
use strile::vrt::{Missing, VrtOptions, is_vrt};
use strile::{Context, Dataset, Input, OpenOptions, ReadOptions, Vrt};
use testkit::{ImageSpec, Pattern, Pixels};

/// Runs something that could wait for ever, for at most 20 s.
fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    done.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{what}: does not end"))
}

fn read_with(path: &Path, options: &VrtOptions) -> Result<Vec<u8>, String> {
    let vrt = Vrt::open(path, options).map_err(|e| e.to_string())?;
    let read = vrt.read(&ReadOptions::default(), &Context::default());
    read.map(|raster| raster.into_bytes().unwrap()).map_err(|e| e.to_string())
}

/// `levels` of VRTs, each `wide` times the next upon itself, the last one upon a tile.
fn nest(folder: &Folder, levels: usize, wide: usize) -> PathBuf {
    folder.tile("tile.tif", 1, 1, (0.0, 0.0));
    let mut below = "tile.tif".to_owned();
    for level in (0..levels).rev() {
        let name = format!("level{level}.vrt");
        folder.vrt(&name, &mosaic(&[source(&below, "1", (0, 0)).repeat(wide)]));
        below = name;
    }
    folder.0.join(below)
}

/// Six levels of 12 sources laid three million tiles, in a minute; eight would have taken hours.
#[test]
fn nested_mosaics_share_one_counter_of_work() {
    let folder = Folder::new("deep");
    let path = nest(&folder, 6, 12);
    let start = Instant::now();
    let problem = in_time("a deep mosaic", move || read_with(&path, &VrtOptions::default()).unwrap_err());
    assert!(problem.contains("`vrt_max_work`") && problem.contains("STRILE_VRT_MAX_WORK"), "{problem}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    // What is nested moderately is read, and the limit can be set.
    let folder = Folder::new("shallow");
    let path = nest(&folder, 3, 4);
    assert!(read_with(&path, &VrtOptions::default()).is_ok());
    let tight = VrtOptions::new().max_work(1000);
    assert!(read_with(&path, &tight).unwrap_err().contains("max_work"));
}

/// The same without nesting: one file laid upon itself many times.
#[test]
fn overlapping_sources_are_counted_too() {
    let folder = Folder::new("overlap");
    folder.tile("tile.tif", 1, 1, (0.0, 0.0));
    let path = folder.vrt("m.vrt", &mosaic(&[source("tile.tif", "1", (0, 0)).repeat(100_000)]));
    let problem =
        in_time("overlapping sources", move || read_with(&path, &VrtOptions::default()).unwrap_err());
    assert!(problem.contains("max_work"), "{problem}");
}

/// Every nested VRT kept files of its own open.
#[cfg(target_os = "linux")]
#[test]
fn nested_mosaics_share_one_pool_of_files() {
    let folder = Folder::new("pool");
    let mut outer = String::new();
    for region in 0..5 {
        let tiles = (0..4).map(|tile| {
            let name = format!("{region}-{tile}.tif");
            folder.tile(&name, 1, tile, (0.0, 0.0));
            source(&name, "1", (0, 0))
        });
        folder.vrt(&format!("{region}.vrt"), &mosaic(&[tiles.collect()]));
        outer += &source(&format!("{region}.vrt"), "1", (0, 0));
    }
    let path = folder.vrt("outer.vrt", &mosaic(&[outer]));
    let vrt = Vrt::open(&path, &VrtOptions::new().max_open(4)).unwrap();
    vrt.read(&ReadOptions::default(), &Context::default()).unwrap();
    let root = folder.0.canonicalize().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter(|entry| {
        let path = std::fs::read_link(entry.as_ref().unwrap().path());
        path.is_ok_and(|path| path.starts_with(&root))
    });
    assert!(open.count() <= 4);
}

/// A mosaic that is kept for one part of the chain is not entered from inside itself.
#[test]
fn a_loop_through_two_mosaics_is_refused() {
    let folder = Folder::new("loop");
    folder.tile("a.tif", 1, 1, (0.0, 0.0));
    let two = |a: &str, b: &str| mosaic(&[source(a, "1", (0, 0)) + &source(b, "1", (0, 0))]);
    folder.vrt("x.vrt", &two("a.tif", "y.vrt"));
    folder.vrt("y.vrt", &two("a.tif", "x.vrt"));
    let path = folder.vrt("m.vrt", &two("x.vrt", "y.vrt"));
    let problem = in_time("a loop", move || read_with(&path, &VrtOptions::default()).unwrap_err());
    assert!(problem.contains("is a source of itself"), "{problem}");
}

/// Missing sources of nested mosaics were left out without a word.
#[test]
fn missing_sources_of_nested_mosaics_are_named() {
    let folder = Folder::new("nested-missing");
    folder.vrt("inner.vrt", &mosaic(&[source("gone.tif", "1", (0, 0))]));
    let path = folder.vrt("m.vrt", &mosaic(&[source("inner.vrt", "1", (0, 0))]));
    let vrt = Vrt::open(&path, &VrtOptions::new().missing(Missing::Warn)).unwrap();
    let read = vrt.read(&ReadOptions::default(), &Context::default()).unwrap();
    let holes = &read.holes;
    assert_eq!(holes.len(), 1, "{holes:?}");
    assert!(holes[0].0.contains("gone.tif"));
    assert!(vrt.warnings().iter().any(|warning| warning.to_string().contains("gone.tif")));
}

/// `open` of a named pipe waits for a writer, and cannot be interrupted.
#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let folder = Folder::new("pipe");
    let fifo = folder.0.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let socket = folder.0.join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::fs::create_dir(folder.0.join("folder")).unwrap();
    for (name, kind) in [
        ("pipe", "a named pipe"),
        ("socket", "a socket"),
        ("folder", "a directory"),
        ("/dev/zero", "a device"),
    ] {
        let path = folder.0.join(name);
        let path = if name.starts_with('/') { PathBuf::from(name) } else { path };
        let text = mosaic(&[source(path.to_str().unwrap(), "1", (0, 0))]).replace("relativeToVRT=\"1\"", "");
        let vrt = folder.vrt("m.vrt", &text);
        let problems = in_time(name, move || {
            let options = VrtOptions::new().allow_outside(true);
            let open = OpenOptions::default();
            [
                read_with(&vrt, &options).unwrap_err(),
                Vrt::open(&path, &options).map(drop).unwrap_err().to_string(),
                is_vrt(&path).unwrap_err().to_string(),
                Input::open(&path, &open).map(drop).unwrap_err().to_string(),
                Dataset::open(&path).map(drop).unwrap_err().to_string(),
                Headers::new(HeaderLimits::default(), open.clone())
                    .with_index(&path)
                    .map(drop)
                    .unwrap_err()
                    .to_string(),
                Headers::new(HeaderLimits::default(), open).open(&path).map(drop).unwrap_err().to_string(),
            ]
        });
        for problem in problems {
            assert!(
                problem.contains("expected a regular file") && problem.contains(kind),
                "{name}: {problem}"
            );
        }
    }
}

/// The same beside a file: the file stays readable, and a warning names what is there.
#[cfg(unix)]
#[test]
fn sidecars_that_are_no_files_are_named() {
    let folder = Folder::new("beside");
    folder.tile("a.tif", 1, 1, (0.0, 0.0));
    let beside = ["a.tif.ovr", "a.tif.msk", "a.tif.aux.xml", "a.tfw"];
    for name in beside {
        let made = std::process::Command::new("mkfifo").arg(folder.0.join(name)).status();
        assert!(made.unwrap().success());
    }
    let path = folder.0.join("a.tif");
    let warnings = in_time("pipes beside a file", move || {
        let dataset = Dataset::open(&path).unwrap();
        dataset.read(&ReadOptions::default(), &Context::default()).unwrap();
        dataset.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    for name in beside {
        let named = warnings.iter().any(|told| told.contains(name) && told.contains("a named pipe"));
        assert!(named, "{name}: {warnings:?}");
    }
}

/// The limit was 1 GiB.
#[test]
fn large_vrts_are_refused_before_they_are_read() {
    let folder = Folder::new("large");
    let path = folder.vrt("m.vrt", &mosaic(&[String::new()]));
    let file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(65 << 20).unwrap();
    let problem = read_with(&path, &VrtOptions::default()).unwrap_err();
    assert!(problem.contains("`vrt_max_bytes`") && problem.contains("67108864"), "{problem}");
}

/// Lists of picked pixels, four bytes for each column and row, were not counted.
#[test]
fn lists_of_picked_pixels_are_in_the_budget() {
    let folder = Folder::new("picks");
    folder.tile("a.tif", 1, 1, (0.0, 0.0));
    let text = mosaic(&[source("a.tif", "1", (0, 0))]);
    let text =
        text.replace("rasterXSize=\"50\" rasterYSize=\"40\"", "rasterXSize=\"4000000\" rasterYSize=\"1\"");
    let text = text.replace(
        "yOff=\"0\" xSize=\"30\" ySize=\"20\"/></S",
        "yOff=\"0\" xSize=\"4000000\" ySize=\"1\"/></S",
    );
    let path = folder.vrt("m.vrt", &text);
    let vrt = Vrt::open(&path, &VrtOptions::default()).unwrap();
    let read = |bytes: u64| {
        let context = Context { budget: Arc::new(Budget::new(bytes)), ..Context::default() };
        vrt.read(&ReadOptions::default(), &context).map(|_| context.budget.peak()).map_err(|e| e.to_string())
    };
    // Four million pixels of the result, as many that were resampled, and four bytes for each that is picked.
    let peak = read(64 << 20).unwrap();
    assert!(peak >= 24_000_000, "{peak}");
    assert!(read(14 << 20).unwrap_err().contains("the pixels that are picked"));
}

/// Another tile in the place of one, with the same size and modification time.
fn replace(path: &Path, seed: u64, by_rename: bool) -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 20, 30], seed);
    let modified = std::fs::metadata(path).unwrap().modified().unwrap();
    let len = std::fs::metadata(path).unwrap().len();
    let bytes = ImageSpec::new(UINT8).build(&pixels, ByteOrder::Little, false).bytes;
    let other = path.with_extension("new");
    let target = if by_rename { &other } else { path };
    std::fs::write(target, bytes).unwrap();
    let file = std::fs::OpenOptions::new().append(true).open(target).unwrap();
    file.set_modified(modified).unwrap();
    drop(file);
    if by_rename {
        std::fs::rename(&other, path).unwrap();
    }
    let now = std::fs::metadata(path).unwrap();
    assert_eq!((now.len(), now.modified().unwrap()), (len, modified));
    pixels.little_endian()
}

fn plain(path: &Path, seed: u64) -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 20, 30], seed);
    std::fs::write(path, ImageSpec::new(UINT8).build(&pixels, ByteOrder::Little, false).bytes).unwrap();
    pixels.little_endian()
}

/// Mosaics gave pixels of tiles that had been replaced.
#[cfg(unix)]
#[test]
fn sources_that_were_replaced_are_read_anew() {
    let folder = Folder::new("replaced");
    let (a, b) = (folder.0.join("a.tif"), folder.0.join("b.tif"));
    let first = plain(&a, 1);
    let of_b = plain(&b, 7);
    std::os::unix::fs::symlink("a.tif", folder.0.join("link.tif")).unwrap();
    let tile = |name: &str| {
        let text = mosaic(&[source(name, "1", (0, 0))]);
        text.replace("rasterXSize=\"50\" rasterYSize=\"40\"", "rasterXSize=\"30\" rasterYSize=\"20\"")
    };
    folder.vrt("inner.vrt", &tile("link.tif"));
    let open = |name: &str| Vrt::open(folder.vrt("m.vrt", &tile(name)), &VrtOptions::default()).unwrap();
    let (direct, nested) = (open("link.tif"), open("inner.vrt"));
    let check = |expected: &[u8]| {
        for vrt in [&direct, &nested] {
            let raster = vrt.read(&ReadOptions::default(), &Context::default()).unwrap();
            assert!(raster.bytes().unwrap() == expected);
        }
    };
    check(&first);
    check(&replace(&a, 2, true));
    // Times of files may be as coarse as the clock's tick.
    std::thread::sleep(Duration::from_millis(20));
    check(&replace(&a, 3, false));
    std::fs::remove_file(folder.0.join("link.tif")).unwrap();
    std::os::unix::fs::symlink("b.tif", folder.0.join("link.tif")).unwrap();
    check(&of_b);
    // A mosaic inside, too.
    let third = plain(&folder.0.join("c.tif"), 9);
    folder.vrt("inner.vrt", &tile("c.tif"));
    let raster = nested.read(&ReadOptions::default(), &Context::default()).unwrap();
    assert!(raster.bytes().unwrap() == third);
}

/// Kept headers and those of an index are those of the file that is there.
#[test]
#[cfg(unix)]
fn kept_headers_notice_a_file_that_was_replaced() {
    let folder = Folder::new("headers");
    let path = folder.0.join("a.tif");
    plain(&path, 1);
    let (index, open) = (folder.0.join("headers.index"), OpenOptions::default());
    write_header_index(&index, std::slice::from_ref(&path), &open, &Context::default()).unwrap();
    let kept = Headers::new(HeaderLimits::default(), open.clone());
    let indexed = Headers::new(HeaderLimits::default(), open).with_index(&index).unwrap();
    let read = |headers: &Headers| {
        let dataset = headers.open(&path).unwrap();
        (
            dataset.read(&ReadOptions::default(), &Context::default()).unwrap().into_bytes().unwrap(),
            dataset.version().unwrap(),
        )
    };
    let (_, before) = read(&kept);
    let second = replace(&path, 2, true);
    let (pixels, now) = read(&kept);
    assert!(pixels == second && !now.is_same(&before));
    assert!(read(&indexed).0 == second);
    assert_eq!(Dataset::open(&path).unwrap().version(), Some(now));
}

/// Opening took time with the square of the number of bands.
#[test]
fn many_bands_take_linear_time() {
    let folder = Folder::new("bands");
    folder.tile("a.tif", 1, 1, (0.0, 0.0));
    let band = source("a.tif", "1", (0, 0)).replace("SimpleSource>", "ComplexSource>");
    let band = band.replace("</ComplexSource>", "<UseMaskBand>true</UseMaskBand></ComplexSource>");
    let band = format!("<Description>band</Description>{band}");
    let path = folder.vrt("m.vrt", &mosaic(&vec![band; 65_535]));
    let start = Instant::now();
    let vrt = Vrt::open(&path, &VrtOptions::default()).unwrap();
    assert_eq!((vrt.bands(), vrt.metadata().bands.len()), (65_535, 65_535));
    assert_eq!(vrt.metadata().bands[65_534].description.as_deref(), Some("band"));
    let opened = start.elapsed();
    let window = strile::Window::new(0, 0, 1, 1);
    let options = ReadOptions::new().window(window);
    vrt.read(&options, &Context::default()).unwrap();
    let read = start.elapsed() - opened;
    println!("opened in {opened:?}, read in {read:?}");
    assert!(opened < Duration::from_secs(15) && read < Duration::from_secs(15), "{opened:?}, {read:?}");
}
