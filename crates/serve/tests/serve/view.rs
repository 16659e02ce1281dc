//! The viewer's interface.

use crate::client::{Answer, Running, bytes, uint, write};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use strile::DataType;
use strile_serve::ServerOptions;
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Tag, fixtures, geo_tags, nodata_tag};

fn data_type(name: &str) -> DataType {
    DataType::ALL.into_iter().find(|data_type| data_type.name() == name).unwrap()
}

/// The samples of a tile, and its mask.
fn samples(answer: &Answer) -> (Pixels, Option<Vec<u8>>) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let number = |name: &str| answer.header(name).unwrap().parse::<usize>().unwrap();
    let data_type = data_type(answer.header("x-dtype").unwrap());
    let (width, height, bands) = (number("x-width"), number("x-height"), number("x-bands"));
    let len = width * height * bands * data_type.size();
    let pixels = Pixels { bands, height, width, data_type, bytes: answer.body[..len].to_vec() };
    let mask = match answer.header("x-mask").unwrap() {
        "none" => {
            assert_eq!(answer.body.len(), len);
            None
        }
        "bytes" => {
            assert_eq!(answer.body.len(), len + width * height);
            Some(answer.body[len..].to_vec())
        }
        other => panic!("{other}"),
    };
    (pixels, mask)
}

#[test]
fn tiles_of_every_fixture_are_its_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let all = fixtures();
    for fixture in &all {
        std::fs::write(folder.path().join(format!("{}.tif", fixture.name)), fixture.bytes()).unwrap();
    }
    let server = Running::view(&[folder.path().to_owned()], ServerOptions::default());
    let sources = server.json("api/sources");
    let sources = sources.as_array().unwrap();
    assert_eq!(sources.len(), all.len());
    assert!(sources.is_sorted_by_key(|source| source["name"].as_str().unwrap().to_owned()));
    let (mut levels_seen, mut refused) = (0, 0);
    for fixture in &all {
        let name = format!("{}.tif", fixture.name);
        let source = sources.iter().find(|source| source["name"] == name.as_str()).unwrap();
        assert_ne!(source["ok"], json!(false), "{source}");
        let id = &source["id"];
        let info = server.json(&format!("api/{id}/info"));
        let expected = &fixture.expected;
        assert_eq!(info["width"], expected.width, "{name}");
        assert_eq!(
            (&info["height"], &info["count"]),
            (&json!(expected.height), &json!(expected.bands)),
            "{name}"
        );
        let bands: Vec<String> = (1..=expected.bands).map(|band| band.to_string()).collect();
        let tile = |level: usize| server.get(&format!("api/{id}/tile/{level}/0/0?bands={}", bands.join(",")));
        let dataset = strile::Dataset::open(folder.path().join(&name)).unwrap();
        if let Err(error) = dataset.read(&strile::ReadOptions::default(), &strile::Context::default()) {
            // Not every codec is read, and the page says so.
            assert_eq!((tile(0).status, error.kind()), (422, strile::ErrorKind::Damaged), "{name}: {error}");
            refused += 1;
            continue;
        }
        let (found, mask) = samples(&tile(0));
        let check = |expected: &Pixels, found: &Pixels| fixture.tolerance.check(expected, found);
        check(expected, &found).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        if let Some(expected) = &fixture.mask {
            let shown: Vec<u8> =
                expected.bytes.iter().map(|valid| if *valid == 0 { 0 } else { 255 }).collect();
            assert_eq!(mask.as_ref(), Some(&shown), "{name}");
        }
        for (number, expected) in fixture.overviews.iter().enumerate() {
            let (found, _) = samples(&tile(number + 1));
            check(expected, &found).unwrap_or_else(|problem| panic!("{name} level {number}: {problem}"));
            levels_seen += 1;
        }
    }
    assert!(all.len() > 100 + refused && refused < 5 && levels_seen > 5, "{refused} refused");
}

fn figures(server: &Running, path: &str) -> Vec<Value> {
    server.json(path).as_array().unwrap().clone()
}

#[test]
fn a_file_without_overviews_has_smaller_levels_made_of_its_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([2, 257, 8192], |band, y, x| ((x / 7 + y * 3 + band * 50) % 251) as u8);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Strips(16)).codec(Codec::Deflate);
    let path = write(folder.path(), "long.tif", &spec, &pixels);
    let server = Running::view(&[path], ServerOptions::default());
    let info = server.json("api/0/info");
    let levels = info["levels"].as_array().unwrap();
    let sizes: Vec<_> =
        levels.iter().map(|level| (level["width"].clone(), level["stored"].clone())).collect();
    let made = |width: u32| (json!(width), json!(false));
    assert_eq!(sizes, [(json!(8192), json!(true)), made(4096), made(2048), made(1024), made(512)]);
    assert_eq!(levels[4]["height"], 17);
    assert_eq!(server.json("api/0/progress")["done"], 0.0);
    for (number, factor) in [(1_usize, 2_usize), (3, 8), (4, 16)] {
        let (found, mask) = samples(&server.get(&format!("api/0/tile/{number}/1/0?bands=2")));
        assert_eq!((found.width, mask), (256, None));
        // Rows of the level reach over rows of the file by a fraction: the first one is whole.
        let down = 257.0 / f64::from(levels[number]["height"].as_u64().unwrap() as u32);
        for x in 0..256 {
            let mut sum = 0.0;
            let mut weight = 0.0;
            for y in 0..(down.ceil() as usize) {
                let share = (down - y as f64).min(1.0);
                for column in 0..factor {
                    sum += share * pixels.value(1, y, (256 + x) * factor + column);
                    weight += share;
                }
            }
            let difference = (sum / weight - found.value(0, 0, x)).abs();
            assert!(difference <= 0.51, "level {number}, column {x}: {difference}");
        }
    }
    assert_eq!(server.json("api/0/progress")["done"], 1.0);
    assert_eq!(server.get("api/0/tile/5/0/0").status, 400);
}

/// Waits until the levels in memory are made.
fn wait_for_levels(server: &Running) -> Value {
    let begun = std::time::Instant::now();
    loop {
        let told = server.json("api/0/progress");
        if told["done"] == 1.0 {
            return told;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{told}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_large_file_without_overviews_shows_a_draft_until_its_levels_are_made() {
    let folder = tempfile::tempdir().unwrap();
    // Each block of 64 × 64 pixels has one value, so that the mean of any block is known.
    let value = |y: usize, x: usize| ((x / 64) + 2 * (y / 64)) as u8;
    let pixels = bytes([1, 4096, 8192], |_, y, x| value(y, x));
    for (name, grid) in [("tiles.tif", Grid::Tiles(64, 64)), ("strips.tif", Grid::Strips(8))] {
        let spec = ImageSpec::new(uint(8)).grid(grid).tag(nodata_tag("0"));
        let path = write(folder.path(), name, &spec, &pixels);
        let server = Running::view(&[path], ServerOptions::default());
        let info = server.json("api/0/info");
        let last = info["levels"].as_array().unwrap().len() - 1;
        assert_eq!((last, &info["levels"][last]["width"]), (4, &json!(512)), "{name}");
        let address = format!("api/0/tile/{last}/1/0?bands=1");
        let first = server.get(&address);
        let (found, mask) = samples(&first);
        let told = server.json("api/0/progress");
        // The pass of this file ends soon: a draft that nobody saw is fine, one that is wrong is not.
        let version: Option<u64> = first.header("x-draft").map(|version| version.parse().unwrap());
        assert!(version.is_none_or(|version| version > 0), "{name}");
        assert!(version.is_none() || first.header("cache-control") == Some("no-store"), "{name}");
        assert!(told["done"] == 1.0 || told["draft"].is_u64(), "{name}: {told}");
        let is_draft = version.is_some();
        // A cell of the first lattice is 512 pixels wide: 8 blocks.
        let most = if is_draft { 8.0 + 2.0 * 8.0 } else { 0.51 };
        for (y, x) in [(10, 10), (100, 200), (255, 255), (3, 250)] {
            let expected = f64::from(value(y * 16 + 8, (256 + x) * 16 + 8));
            let difference = (found.value(0, y, x) - expected).abs();
            assert!(difference <= most, "{name} draft {is_draft}: {y}, {x} differs by {difference}");
            assert_eq!(mask.as_ref().unwrap()[y * 256 + x], 255, "{name}");
        }
        assert!(server.json("api/0/statistics?bands=1")[0]["valid"].as_u64().unwrap() > 100_000, "{name}");
        assert!(wait_for_levels(&server)["draft"].is_null(), "{name}");
        let last = server.get(&address);
        assert_eq!(
            (last.header("x-draft"), last.header("cache-control")),
            (None, Some("private, max-age=60"))
        );
        let (found, _) = samples(&last);
        for (y, x) in [(10, 10), (100, 200), (255, 255), (3, 250)] {
            assert_eq!(
                found.value(0, y, x),
                f64::from(value(y * 16 + 8, (256 + x) * 16 + 8)),
                "{name}: {y}, {x}"
            );
        }
        assert!(server.json("api/0/statistics?bands=1")[0]["draft"].is_null(), "{name}");
    }
}

#[test]
fn values_statistics_and_profiles_are_those_of_the_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([2, 300, 400], |band, y, x| (x / 4 + y / 3 + band) as u8);
    let spec = geo_tags(32633, (500_000.0, 5_500_000.0), 10.0, false)
        .into_iter()
        .fold(ImageSpec::new(uint(8)).grid(Grid::Tiles(64, 64)).tag(nodata_tag("0")), ImageSpec::tag);
    let path = write(folder.path(), "dem.tif", &spec, &pixels);
    let server = Running::view(&[path], ServerOptions::default());
    let value = server.json("api/0/value?x=123.7&y=45");
    assert_eq!(value["values"], json!([123 / 4 + 15, 123 / 4 + 16]));
    assert_eq!((&value["x"], &value["y"]), (&json!(501_235.0), &json!(5_499_545.0)));
    // pyproj: EPSG:32633 to EPSG:4326.
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-7;
    assert!(near(&value["lon"], 15.017_108_034) && near(&value["lat"], 49.648_449_116), "{value}");
    assert_eq!(value["valid"], true);
    assert_eq!(server.json("api/0/value?x=0&y=0")["valid"], json!(true), "the second band is not nodata");
    let statistics = figures(&server, "api/0/statistics?bands=1");
    let mut all: Vec<f64> =
        (0..300).flat_map(|y| (0..400).map(move |x| (x / 4 + y / 3) as f64)).filter(|v| *v != 0.0).collect();
    all.sort_by(f64::total_cmp);
    let band = &statistics[0];
    assert_eq!(
        (&band["min"], &band["max"], &band["valid"]),
        (&json!(1.0), &json!(all[all.len() - 1]), &json!(all.len()))
    );
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((band["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert_eq!(band["percentiles"]["50"].as_f64().unwrap(), all[all.len() / 2]);
    let counts = band["histogram"]["counts"].as_array().unwrap();
    assert_eq!(counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), all.len() as u64);
    let profile = server.json("api/0/profile?x0=10.5&y0=20.5&x1=390.5&y1=20.5&band=2");
    let values = profile["values"].as_array().unwrap();
    assert_eq!(values.len(), 381);
    for (step, value) in values.iter().enumerate() {
        assert_eq!(value.as_f64(), Some(pixels.value(1, 20, 10 + step)), "{step}");
    }
    assert_eq!(profile["distance"][380], 380.0);
}

#[test]
fn the_structure_is_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = Pixels::generate(Pattern::Dem, uint(16), [3, 200, 300], 3);
    for (name, planar) in [("a.tif", false), ("b.tif", true)] {
        let spec = ImageSpec::new(uint(16))
            .grid(Grid::Tiles(64, 64))
            .codec(Codec::Deflate)
            .planar(planar)
            .sparse(&[1]);
        let built = spec.build(&pixels, strile::tiff::ByteOrder::Little, false);
        std::fs::write(folder.path().join(name), &built.bytes).unwrap();
        let mut expected = vec![0_u64; 20];
        for block in &built.blocks {
            expected[block.index % 20] += block.range.len() as u64;
        }
        let server = Running::view(&[folder.path().join(name)], ServerOptions::default());
        let found = server.json("api/0/structure/0");
        assert_eq!(
            (&found["blocks_across"], &found["blocks_down"], &found["codec"]),
            (&json!(5), &json!(4), &json!("deflate"))
        );
        assert_eq!(found["bytes"], json!(expected));
        let part = server.json("api/0/structure/0?column0=1&row0=2&columns=2&rows=2");
        assert_eq!(part["bytes"], json!([expected[11], expected[12], expected[16], expected[17]]));
        for wrong in ["structure/9", "structure/0?column0=5", "structure/0?columns=0", "structure/0?rows=-1"]
        {
            assert_eq!(server.get(&format!("api/0/{wrong}")).status, 400, "{wrong}");
        }
    }
}

#[test]
fn a_damaged_tile_says_which_block_and_codec_and_the_others_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = Pixels::generate(Pattern::Noise, uint(16), [1, 300, 600], 5);
    let spec = ImageSpec::new(uint(16)).grid(Grid::Tiles(256, 256)).codec(Codec::Deflate);
    let mut built = spec.build(&pixels, strile::tiff::ByteOrder::Little, false);
    let block = built.blocks.iter().find(|block| block.index == 4).unwrap().range.clone();
    built.bytes[block].fill(0xff);
    std::fs::write(folder.path().join("bad.tif"), &built.bytes).unwrap();
    std::fs::write(folder.path().join("text.tif"), b"no raster at all").unwrap();
    let server = Running::view(&[folder.path().to_owned()], ServerOptions::default());
    let answer = server.get("api/0/tile/0/1/1");
    assert_eq!(answer.status, 422);
    let told = answer.json();
    assert_eq!(told["block"], json!({"level": 0, "column": 1, "row": 1, "plane": 0}), "{told}");
    assert_eq!(told["codec"], "deflate");
    assert!(!told["error"].as_str().unwrap().contains(folder.path().to_str().unwrap()), "{told}");
    assert_eq!(server.get("api/0/tile/0/0/0").status, 200);
    let sources = server.json("api/sources");
    assert_eq!((&sources[1]["ok"], &sources[0]["ok"]), (&json!(false), &json!(true)));
    assert!(sources[1]["error"].as_str().unwrap().contains("text.tif"));
    assert_eq!(server.get("api/1/info").status, 422);
}

#[test]
fn south_up_rotated_and_mosaics_lie_where_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([1, 40, 60], |_, y, x| (x + y) as u8);
    let place = |matrix: [f64; 6]| {
        let [a, b, c, d, e, f] = matrix;
        let all = vec![a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let keys = geo_tags(32633, (0.0, 0.0), 1.0, false).remove(2);
        ImageSpec::new(uint(8)).tag(Tag::new(34264, testkit::Value::Double(all))).tag(keys)
    };
    write(folder.path(), "a_south_up.tif", &place([2.0, 0.0, 100.0, 0.0, 2.0, 500.0]), &pixels);
    write(folder.path(), "b_rotated.tif", &place([1.0, 2.0, 100.0, 3.0, -1.0, 500.0]), &pixels);
    let vrt = "<VRTDataset rasterXSize=\"60\" rasterYSize=\"40\"><VRTRasterBand dataType=\"Byte\" band=\"1\"><SimpleSource>\
               <SourceFilename relativeToVRT=\"1\">a_south_up.tif</SourceFilename><SourceBand>1</SourceBand>\
               <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"60\" ySize=\"40\"/><DstRect xOff=\"0\" yOff=\"0\" xSize=\"60\" ySize=\"40\"/>\
               </SimpleSource></VRTRasterBand></VRTDataset>";
    std::fs::write(folder.path().join("c_mosaic.vrt"), vrt).unwrap();
    let server = Running::view(&[folder.path().to_owned()], ServerOptions::default());
    let at = |id: usize| server.json(&format!("api/{id}/value?x=10&y=20"));
    assert_eq!((&at(0)["x"], &at(0)["y"]), (&json!(121.0), &json!(541.0)));
    assert_eq!((&at(1)["x"], &at(1)["y"]), (&json!(10.5 + 41.0 + 100.0), &json!(31.5 - 20.5 + 500.0)));
    for id in 0..3 {
        assert_eq!(at(id)["values"], json!([30]));
        let (found, _) = samples(&server.get(&format!("api/{id}/tile/0/0/0?bands=1")));
        assert_eq!(found.bytes, pixels.bytes);
    }
    assert_eq!(server.get("api/2/structure/0").status, 422);
}

#[test]
fn only_the_token_opens_the_page_and_the_page_can_end_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf =
        write(folder.path(), "a.tif", &ImageSpec::new(uint(8)), &bytes([1, 8, 8], |_, _, x| x as u8));
    let mut options = ServerOptions::default();
    options.exit_with_page = true;
    let mut server = Running::view(&[path], options);
    let page = server.get("");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    for file in ["app.js", "app.css", "index.html"] {
        assert_eq!(server.get(file).status, 200, "{file}");
    }
    for (file, policy) in [("", "same-origin"), ("app.css", "cross-origin"), ("api/sources", "same-origin")] {
        assert_eq!(server.get(file).header("cross-origin-resource-policy"), Some(policy), "{file}");
    }
    assert_eq!(server.get("app.mjs").status, 404);
    let token = server.path.trim_matches('/').to_owned();
    let address = server.address;
    let raw = |method: &str, path: &str, host: &str, more: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        Answer::read(stream)
    };
    let half = &token[..31];
    for path in
        ["/", "/api/sources", &format!("/{half}/"), &format!("/{half}0x/api/sources"), "//api/sources"]
    {
        assert_eq!(raw("GET", path, "localhost", "").status, 404, "{path}");
    }
    let own = format!("/{token}/api/sources");
    assert_eq!(
        raw("GET", &format!("/{token}"), "localhost", "").header("location"),
        Some(format!("{token}/").as_str())
    );
    for host in ["evil.org", "evil.org:80", "localhost.evil.org", ""] {
        assert_eq!(raw("GET", &own, host, "").status, 421, "{host}");
    }
    assert_eq!(raw("GET", &own, "127.0.0.1:9", "").status, 200);
    assert_eq!(raw("HEAD", &own, "localhost", "").body.len(), 0);
    assert_eq!(raw("DELETE", &own, "localhost", "").status, 405);
    assert_eq!(raw("POST", &own, "localhost", "").status, 405);
    let close = format!("/{token}/api/close");
    assert_eq!(raw("GET", &close, "localhost", "").status, 405);
    assert_eq!(raw("POST", &close, "localhost", "Content-Length: 5\r\n").status, 413);
    assert!(!server.has_ended(Duration::from_millis(200)));
    assert_eq!(raw("POST", &close, "localhost", "Content-Length: 0\r\n").status, 200);
    assert!(server.has_ended(Duration::from_secs(5)));
}
