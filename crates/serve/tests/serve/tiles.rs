//! The tile server: pictures, arrays, documents.

use crate::client::{Answer, Running, bytes, uint, write};
use serde_json::json;
use std::sync::Arc;
use strile::io::MemorySource;
use strile::{Context, Dataset, OpenOptions, ReadOptions};
use strile_serve::ServerOptions;
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pixels, Tag, Value, geo_tags, nodata_tag};

/// A decoded PNG: width, height, channels, pixels.
pub fn png(answer: &Answer) -> (usize, usize, usize, Vec<u8>) {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/png")), "{}", answer.text());
    let mut reader = png::Decoder::new(std::io::Cursor::new(&answer.body)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    pixels.truncate(info.buffer_size());
    (info.width as usize, info.height as usize, info.color_type.samples(), pixels)
}

/// 700 rows and 900 columns of three bands, with overviews.
fn rgb() -> (Pixels, Vec<u8>) {
    let pixels = bytes([3, 700, 900], |band, y, x| (x * (band + 1) / 4 + y / 3) as u8);
    let half = pixels.halved();
    let quarter = half.halved();
    let tags = geo_tags(32633, (500_000.0, 5_500_000.0), 10.0, false);
    let spec = tags
        .into_iter()
        .fold(ImageSpec::new(uint(8)).grid(Grid::Tiles(256, 256)).codec(Codec::Deflate), ImageSpec::tag);
    let reduced = ImageSpec::new(uint(8)).grid(Grid::Tiles(256, 256)).codec(Codec::Deflate).subfile_type(1);
    let frame =
        FileFrame { order: strile::tiff::ByteOrder::Little, big: false, file_order: FileOrder::CogWithGhost };
    let others = [(reduced.clone(), half), (reduced, quarter)];
    let bytes = spec.build_with(&pixels, &others, frame).bytes;
    (pixels, bytes)
}

fn served() -> (tempfile::TempDir, Pixels, Running) {
    let folder = tempfile::tempdir().unwrap();
    let (pixels, file) = rgb();
    std::fs::write(folder.path().join("rgb.tif"), file).unwrap();
    let server = Running::tiles(&[folder.path().to_owned()], ServerOptions::default());
    (folder, pixels, server)
}

#[test]
fn native_tiles_are_the_pixels_of_the_file_and_of_its_overviews() {
    let (_folder, pixels, server) = served();
    let levels = [pixels.halved().halved(), pixels.halved(), pixels];
    for (zoom, level) in levels.iter().enumerate() {
        for row in 0..level.height.div_ceil(256) {
            for column in 0..level.width.div_ceil(256) {
                let answer = server.get(&format!("tiles/Native/{zoom}/{column}/{row}.png?url=rgb.tif"));
                let (width, height, channels, found) = png(&answer);
                assert_eq!((width, height), (256, 256));
                for y in 0..256 {
                    for x in 0..256 {
                        let at = &found[(y * 256 + x) * channels..][..channels];
                        let (from_y, from_x) = (row * 256 + y, column * 256 + x);
                        let inside = from_y < level.height && from_x < level.width;
                        let expected = (0..3).map(|band| match inside {
                            true => level.value(band, from_y, from_x) as u8,
                            false => 0,
                        });
                        // Sides that are not even are not halved exactly: pixels at their end may be their neighbours.
                        let is_edge = from_y + 1 >= level.height || from_x + 1 >= level.width;
                        if inside && !is_edge {
                            assert_eq!(
                                at[..3],
                                expected.collect::<Vec<_>>(),
                                "{zoom}/{column}/{row}: {x},{y}"
                            );
                        }
                        let alpha = if channels == 4 { at[3] } else { 255 };
                        assert_eq!(
                            alpha == 255,
                            inside || is_edge && alpha == 255,
                            "{zoom}/{column}/{row}: {x},{y}"
                        );
                    }
                }
            }
        }
    }
    assert_eq!(server.get("tiles/Native/2/4/0.png?url=rgb.tif").status, 404);
}

#[test]
fn every_format_holds_the_same_pixels() {
    let (_folder, pixels, server) = served();
    let (_, _, channels, lossless) = png(&server.get("tiles/Native/2/1/1.png?url=rgb.tif"));
    assert_eq!(channels, 3);
    let near = |found: &[u8], what: &str| {
        assert_eq!(found.len(), lossless.len(), "{what}");
        let sum: u64 = found.iter().zip(&lossless).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = sum as f64 / found.len() as f64;
        assert!(mean < 6.0, "{what}: {mean}");
    };
    let jpeg = server.get("tiles/Native/2/1/1.jpg?url=rgb.tif");
    assert_eq!(jpeg.header("content-type"), Some("image/jpeg"));
    let mut decoder = zune_jpeg::JpegDecoder::new(std::io::Cursor::new(&jpeg.body));
    near(&decoder.decode().unwrap(), "jpeg");
    let webp = server.get("tiles/Native/2/1/1.webp?url=rgb.tif");
    assert_eq!((webp.header("content-type"), &webp.body[8..12]), (Some("image/webp"), b"WEBP".as_slice()));
    let mut decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(&webp.body)).unwrap();
    let mut found = vec![0; decoder.output_buffer_size().unwrap()];
    decoder.read_image(&mut found).unwrap();
    near(&found, "webp");
    let npy = server.get("tiles/Native/2/1/1.npy?url=rgb.tif&bidx=3,1");
    assert!(npy.body.starts_with(b"\x93NUMPY\x01\x00"));
    let header = usize::from(u16::from_le_bytes([npy.body[8], npy.body[9]])) + 10;
    let told = String::from_utf8_lossy(&npy.body[10..header]).into_owned();
    assert!(header % 64 == 0 && told.contains("'|u1'") && told.contains("(3, 256, 256)"), "{told}");
    let expected = pixels.crop((256, 256), (256, 256));
    let plane = 256 * 256;
    assert_eq!(npy.body[header..][..plane], expected.bytes[2 * plane..]);
    assert_eq!(npy.body[header + plane..][..plane], expected.bytes[..plane]);
    assert!(npy.body[header + 2 * plane..].iter().all(|valid| *valid == 255));
    let tif = server.get("tiles/Native/2/1/1.tif?url=rgb.tif");
    let source = Arc::new(MemorySource::new("tile.tif", tif.body));
    let dataset = Dataset::from_source(source, &OpenOptions::default()).unwrap();
    let read = dataset.read(&ReadOptions::default(), &Context::default()).unwrap();
    assert_eq!(read.bytes().unwrap(), expected.bytes);
    let place = &dataset.metadata().georeference;
    assert_eq!(place.transform.unwrap().coefficients(), [10.0, 0.0, 502_560.0, 0.0, -10.0, 5_497_440.0]);
    assert_eq!(place.crs.as_ref().unwrap().epsg, Some(32633));
}

#[test]
fn rescale_ramps_palettes_and_expressions_draw_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([2, 256, 256], |band, y, x| if band == 0 { x as u8 } else { y as u8 });
    write(folder.path(), "two.tif", &ImageSpec::new(uint(8)).tag(nodata_tag("7")), &pixels);
    let colours: Vec<u16> = (0..3 * 256).map(|at| if at < 256 { at * 256 } else { 0 }).collect();
    let palette = ImageSpec::new(uint(8)).photometric(3).tag(Tag::new(320, Value::Short(colours)));
    let first = bytes([1, 256, 256], |_, _, x| x as u8);
    write(folder.path(), "palette.tif", &palette, &first);
    let mut floats = Pixels::zeroed(strile::DataType::F32, 1, 256, 256);
    for (at, sample) in floats.bytes.chunks_mut(4).enumerate() {
        sample.copy_from_slice(&((at % 256) as f32 / 100.0 - 1.0).to_ne_bytes());
    }
    let float = strile::tiff::SampleType { format: strile::tiff::SampleFormat::Float, bits: 32 };
    write(folder.path(), "float.tif", &ImageSpec::new(float), &floats);
    let server = Running::tiles(&[folder.path().to_owned()], ServerOptions::default());
    let tile = |query: &str| png(&server.get(&format!("tiles/0/0/0.png?{query}")));
    let (_, _, channels, found) = tile("url=two.tif&bidx=1&rescale=0,510");
    assert_eq!(channels, 2, "grey and alpha");
    for x in [0, 6, 7, 8, 255] {
        let expected = if x == 7 { 0 } else { 255 };
        assert_eq!(found[2 * x..][..2], [(x as f64 / 2.0).round() as u8, expected], "{x}");
    }
    let (_, _, _, found) = tile("url=two.tif&bidx=1&colormap_name=viridis");
    assert_eq!((&found[..3], &found[255 * 4..][..3]), ([68, 1, 84].as_slice(), [253, 231, 37].as_slice()));
    let (_, _, channels, found) = tile("url=two.tif&expression=(b1-b2)/(b1%2Bb2)&rescale=-1,1");
    let at = |x: usize, y: usize| &found[(y * 256 + x) * channels..][..channels];
    assert_eq!(at(100, 50), [byte((100.0 - 50.0) / 150.0), 255]);
    assert_eq!(at(0, 0)[1], 0, "0/0 is no value");
    let (_, _, _, found) = tile("url=palette.tif");
    assert_eq!(found[200 * 3..][..3], [200, 0, 0]);
    // From the 2nd to the 98th percentile.
    let (_, _, _, found) = tile("url=float.tif");
    assert_eq!((found[0], found[5], found[250], found[255]), (0, 0, 255, 255));
    let middle = i32::from(found[127]);
    assert!((middle - 127).abs() <= 1, "{middle}");
    let (_, _, channels, _) = tile("url=float.tif&nodata=-1");
    assert_eq!(channels, 2);
}

fn byte(value: f64) -> u8 {
    ((value + 1.0) * 127.5 + 0.5) as u8
}

#[test]
fn documents_describe_the_file() {
    let (_folder, pixels, server) = served();
    let info = server.json("info?url=rgb.tif");
    assert_eq!((&info["width"], &info["count"], &info["dtype"]), (&json!(900), &json!(3), &json!("uint8")));
    assert_eq!(info["bounds"], json!([500_000.0, 5_493_000.0, 509_000.0, 5_500_000.0]));
    assert_eq!(info["overviews"], json!([2.0, 4.0]));
    let index = server.json("");
    assert_eq!(index["files"], json!(["rgb.tif"]));
    let native = server.json("Native/tilejson.json?url=rgb.tif");
    assert_eq!((&native["minzoom"], &native["maxzoom"]), (&json!(0), &json!(2)));
    assert_eq!(native["tiles"], json!(["http://localhost/tiles/Native/{z}/{x}/{y}.png?url=rgb.tif"]));
    let wmts = server.get("Native/WMTSCapabilities.xml?url=rgb.tif&bidx=1&colormap_name=viridis").text();
    for part in [
        "urn:ogc:def:crs:EPSG::32633",
        "<TopLeftCorner>500000 5500000</TopLeftCorner>",
        "<MatrixWidth>4</MatrixWidth>",
        "{TileMatrix}/{TileCol}/{TileRow}.png?url=rgb.tif&amp;bidx=1&amp;colormap_name=viridis",
        "<ScaleDenominator>142857.14285714287</ScaleDenominator>",
    ] {
        assert!(wmts.contains(part), "{part}\n{wmts}");
    }
    let statistics = server.json("statistics?url=rgb.tif&bidx=2");
    assert_eq!((&statistics["b2"]["valid_percent"], &statistics["b2"]["min"]), (&json!(100.0), &json!(0.0)));
    // The centre of pixel (450, 350), by pyproj.
    let point = server.json("point/15.062371169381613,49.62099997736265?url=rgb.tif");
    let expected: Vec<f64> = (0..3).map(|band| pixels.value(band, 350, 450)).collect();
    assert_eq!(point["values"], json!(expected));
    assert_eq!(point["band_names"], json!(["b1", "b2", "b3"]));
    assert_eq!(server.get("point/0,0?url=rgb.tif").status, 404);
    let metrics = server.get("metrics").text();
    assert!(
        metrics.contains("strile_requests_total{status=\"2xx\"}")
            && metrics.contains("strile_request_seconds_sum")
    );
}

#[test]
fn clients_may_keep_what_has_not_changed() {
    let (folder, _, server) = served();
    let path = "tiles/Native/2/0/0.png?url=rgb.tif";
    let first = server.get(path);
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(first.header("cache-control"), Some("public, max-age=3600"));
    let again = |tag: &str| {
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {tag}\r\nConnection: close\r\n\r\n"
        );
        server.ask(&request)
    };
    assert_eq!((again(&tag).status, again(&tag).body.len()), (304, 0));
    assert_eq!(again("\"0000000000000000\"").status, 200);
    let zip = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br, gzip\r\nConnection: close\r\n\r\n";
    let zipped = server.ask(zip);
    if let Some(encoding) = zipped.header("content-encoding") {
        assert_eq!((encoding, &zipped.body[..2]), ("gzip", [0x1f, 0x8b].as_slice()));
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(zipped.body.as_slice()), &mut text)
            .unwrap();
        assert!(text.contains("rgb.tif"));
    }
    // Another file of the same name is another file.
    let darker = bytes([3, 700, 900], |_, _, _| 9);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Tiles(256, 256)).codec(Codec::Deflate);
    write(folder.path(), "rgb.tif", &spec, &darker);
    let changed = again(&tag);
    assert_eq!(changed.status, 200);
    assert!(png(&changed).3.iter().all(|value| *value == 9));
}
