use crate::{Bench, Run, UINT8, dem, rgb};
use strile::DataType;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, metadata_tag, nodata_tag};

/// Header and samples of the raw protocol.
fn raw(run: &Run) -> (serde_json::Value, &[u8]) {
    let end = run.stdout.iter().position(|&byte| byte == b'\n').unwrap();
    (serde_json::from_slice(&run.stdout[..end]).unwrap(), &run.stdout[end + 1..])
}

fn band(pixels: &Pixels, band: usize) -> &[u8] {
    let len = pixels.bytes.len() / pixels.bands;
    &pixels.bytes[band * len..(band + 1) * len]
}

#[test]
fn raw_has_a_header_with_georeference_and_band_first_samples() {
    let bench = Bench::new();
    let (pixels, bytes) = dem();
    bench.file("dem.tif", &bytes);
    let run = bench.run("dump dem.tif").clean();
    let (header, samples) = raw(&run);
    assert_eq!(
        header,
        serde_json::json!({"shape": [1, 50, 70], "dtype": "float32", "geo": {
            "epsg": 32632, "nodata": -9999.0, "transform": [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0],
            "area_or_point": "Area", "units": ["m"], "descriptions": ["elevation"],
        }})
    );
    assert_eq!(samples, pixels.little_endian());
}

#[test]
fn window_bands_overview_mask_and_box_choose_what_is_read() {
    let bench = Bench::new();
    let (model, bytes) = dem();
    bench.file("dem.tif", &bytes);
    let run = bench.run("dump dem.tif --window 33,10,20,30").clean();
    let (header, samples) = raw(&run);
    assert_eq!(header["shape"], serde_json::json!([1, 30, 20]));
    assert_eq!(header["geo"]["transform"][2], 500_330.0);
    assert_eq!(samples, model.crop((10, 30), (33, 20)).little_endian());
    let boxed = bench.run("dump dem.tif --bbox 500330,5199600,500530,5199900").clean();
    assert_eq!(raw(&boxed).1, samples, "the same window as a box");
    let run = bench.run("dump dem.tif --level 1").clean();
    let (header, samples) = raw(&run);
    assert_eq!(header["shape"], serde_json::json!([1, 25, 35]));
    assert_eq!(header["geo"]["transform"][0], 20.0);
    assert_eq!(samples, model.halved().little_endian());
    let mask = bench.run("dump dem.tif --mask").clean();
    assert_eq!((raw(&mask).0["dtype"].as_str(), raw(&mask).1.len()), (Some("uint8"), 3500));
    let (colours, bytes) = rgb();
    bench.file("rgb.tif", &bytes);
    let mask = bench.run("dump rgb.tif --mask").clean();
    assert_eq!(raw(&mask).1, [255; 240], "without a mask all pixels are valid");
    let run = bench.run("dump rgb.tif --band 3,1").clean();
    assert_eq!(raw(&run).1, [band(&colours, 2), band(&colours, 0)].concat());
}

#[test]
fn jpeg_2000_is_halved_while_it_is_decoded() {
    let bench = Bench::new();
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let mut pixels = Pixels::zeroed(DataType::U8, 1, 50, 70);
    pixels.bytes.fill(77);
    bench.file("plain.tif", &ImageSpec::new(sample).build(&pixels, ByteOrder::Little, false).bytes);
    assert_eq!(bench.run("convert plain.tif j2k.tif --co COMPRESS=JPEG2000").code, 0);
    let run = bench.run("dump j2k.tif --reduce 2").clean();
    let (header, samples) = raw(&run);
    assert_eq!(header["shape"], serde_json::json!([1, 13, 18]));
    assert_eq!(samples, [77; 13 * 18], "what is even stays as it is");
    assert_eq!(bench.run("convert j2k.tif small.tif --reduce 1 --co COMPRESS=DEFLATE").code, 0);
    assert_eq!(raw(&bench.run("dump small.tif").clean()).0["shape"], serde_json::json!([1, 25, 35]));
    let refused = bench.run("dump plain.tif --reduce 1");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("only those of JPEG 2000 hold lower resolutions"), "{}", refused.stderr);
}

#[test]
fn nodata_and_scale_are_applied_where_asked_for() {
    let bench = Bench::new();
    let sample = SampleType { format: SampleFormat::Int, bits: 16 };
    let mut pixels = Pixels::zeroed(DataType::I16, 1, 1, 3);
    pixels.bytes = [-9999i16, 2, -3].iter().flat_map(|value| value.to_ne_bytes()).collect();
    let xml = "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item></GDALMetadata>";
    let spec = ImageSpec::new(sample).tag(nodata_tag("-9999")).tag(metadata_tag(xml));
    bench.file("packed.tif", &spec.build(&pixels, ByteOrder::Little, false).bytes);
    for (options, scale) in [("--masked", 1.0), ("--unscale", 0.5)] {
        let run = bench.run(&format!("dump packed.tif {options}")).clean();
        let (header, samples) = raw(&run);
        assert_eq!(header["dtype"], "float32");
        assert_eq!(header["geo"]["nodata"], serde_json::Value::Null);
        assert_eq!(
            header["geo"].get("scales").is_some(),
            scale == 1.0,
            "values that are scaled need no scale"
        );
        let values: Vec<f32> = samples.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!(values[0].is_nan());
        assert_eq!(values[1..], [2.0 * scale, -3.0 * scale]);
    }
}

/// A memory limit smaller than the image makes pieces of it; the bytes stay the same.
#[test]
fn a_result_larger_than_the_memory_is_written_in_pieces() {
    let bench = Bench::new();
    let (pixels, bytes) = dem();
    bench.file("dem.tif", &bytes);
    let run = bench.run("dump dem.tif --memory 12KiB --threads 1").clean();
    assert_eq!(raw(&run).1, pixels.little_endian());
    // 120,000 bytes, band by band: half of the memory is for rows of a band, the rest for their plan and for scratch.
    let colours = Pixels::generate(Pattern::Noise, UINT8, [3, 200, 200], 5);
    let spec = ImageSpec::new(UINT8).grid(Grid::Strips(1)).codec(Codec::PackBits);
    bench.file("rgb.tif", &spec.build(&colours, ByteOrder::Big, true).bytes);
    let run = bench.run("dump rgb.tif --memory 44000B --threads 1").clean();
    assert_eq!(raw(&run).1, colours.bytes);
}

#[test]
fn npy_by_its_extension() {
    let bench = Bench::new();
    let (pixels, bytes) = dem();
    bench.file("dem.tif", &bytes);
    let run = bench.run("dump dem.tif -o dem.npy").clean();
    assert!(run.stdout.is_empty());
    let file = std::fs::read(bench.path("dem.npy")).unwrap();
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    assert_eq!(start % 64, 0);
    let header = std::str::from_utf8(&file[10..start]).unwrap();
    assert_eq!(header.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 50, 70), }");
    assert_eq!(&file[start..], pixels.little_endian());
    assert_eq!(bench.names(), ["dem.npy", "dem.tif"]);
}

fn png(bytes: &[u8]) -> (png::OutputInfo, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    (info, samples)
}

#[test]
fn png_keeps_stored_values_on_request() {
    let bench = Bench::new();
    let (colours, bytes) = rgb();
    bench.file("rgb.tif", &bytes);
    let run = bench.run("dump rgb.tif --format png --raw-values").clean();
    let (info, samples) = png(&run.stdout);
    assert_eq!((info.width, info.height, info.color_type), (20, 12, png::ColorType::Rgb));
    let interleaved: Vec<u8> =
        (0..240).flat_map(|at| (0..3).map(move |b| (b, at))).map(|(b, at)| band(&colours, b)[at]).collect();
    assert_eq!(samples, interleaved);
    let run = bench.run("dump rgb.tif --format png --raw-values --band 1,2");
    assert!(run.code == 2 && run.stderr.contains("hint: choose bands with `--band`"), "{}", run.stderr);
    bench.file("dem.tif", &dem().1);
    let run = bench.run("dump dem.tif -o dem.png --raw-values");
    assert!(run.code == 2 && run.stderr.contains("these are float32"), "{}", run.stderr);
    let run = bench.run("dump dem.tif -o dem.npy --raw-values");
    assert!(run.code == 2 && run.stderr.contains("is for PNG"), "{}", run.stderr);
}

/// numpy's percentile: between the two values around the place, by its distance.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * percent / 100.0;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[test]
fn png_is_stretched_between_percentiles_and_nodata_is_transparent() {
    let bench = Bench::new();
    let mut model = Pixels::generate(testkit::Pattern::Dem, crate::FLOAT32, [1, 50, 70], 7);
    for at in [0, 71, 3499] {
        model.bytes[at * 4..at * 4 + 4].copy_from_slice(&(-9999f32).to_ne_bytes());
    }
    model.bytes[40..44].copy_from_slice(&f32::NAN.to_ne_bytes());
    let spec = ImageSpec::new(crate::FLOAT32).tag(nodata_tag("-9999"));
    bench.file("dem.tif", &spec.build(&model, ByteOrder::Little, false).bytes);
    let run = bench.run("dump dem.tif -o dem.png");
    assert_eq!(run.code, 0);
    assert!(run.stderr.starts_with("note: black to white: "), "{}", run.stderr);
    let long = run.stderr.split(|c: char| !c.is_ascii_digit() && c != '.').find(|number| number.len() > 8);
    assert_eq!(long, None, "{}", run.stderr);
    let (info, samples) = png(&std::fs::read(bench.path("dem.png")).unwrap());
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::GrayscaleAlpha, png::BitDepth::Eight));
    let values: Vec<f64> =
        (0..50).flat_map(|y| (0..70).map(move |x| (y, x))).map(|(y, x)| model.value(0, y, x)).collect();
    let mut valid: Vec<f64> = values.iter().copied().filter(|v| v.is_finite() && *v != -9999.0).collect();
    valid.sort_by(f64::total_cmp);
    assert_eq!(valid.len(), 3496);
    let (low, high) = (percentile(&valid, 2.0), percentile(&valid, 98.0));
    for (pixel, value) in samples.chunks(2).zip(values) {
        if !value.is_finite() || value == -9999.0 {
            assert_eq!(pixel, [0, 0]);
            continue;
        }
        let shade = ((value - low) / (high - low) * 255.0 + 0.5).clamp(0.0, 255.0) as i32;
        assert!((i32::from(pixel[0]) - shade).abs() <= 1 && pixel[1] == 255, "{pixel:?} for {value}");
    }
}

/// Four bands: alpha where ExtraSamples says so, else three colours.
#[test]
fn a_fourth_band_is_alpha_only_if_the_file_says_so() {
    let bench = Bench::new();
    let pixels = Pixels::generate(testkit::Pattern::Noise, crate::UINT8, [4, 12, 20], 5);
    for (name, extra) in [("plain.tif", 0), ("alpha.tif", 2)] {
        let mut spec = ImageSpec::new(crate::UINT8).photometric(2);
        spec.extra_samples = Some(vec![extra]);
        bench.file(name, &spec.build(&pixels, ByteOrder::Little, false).bytes);
    }
    let opacity = |line: &str| {
        let run = bench.run(line);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (info, samples) = png(&run.stdout);
        assert_eq!(info.color_type, png::ColorType::Rgba);
        samples.chunks(4).map(|pixel| pixel[3]).collect::<Vec<u8>>()
    };
    assert_eq!(opacity("dump plain.tif --format png"), vec![255; 240]);
    assert_eq!(opacity("dump alpha.tif --format png"), band(&pixels, 3));
    assert_eq!(opacity("dump alpha.tif --format png --raw-values"), band(&pixels, 3));
    let run = bench.run("dump plain.tif --format png");
    assert!(run.stderr.contains("note: drawn: band 1, 2, 3 of 4"), "{}", run.stderr);
    for line in ["dump plain.tif --format png --raw-values", "dump plain.tif --format png --band 1,2,3,4"] {
        let run = bench.run(line);
        assert!(run.code == 2 && run.stderr.contains("`--band`"), "{line}: {}", run.stderr);
    }
}

#[test]
fn palettes_are_drawn_in_their_colours() {
    let bench = Bench::new();
    let mut pixels = Pixels::generate(testkit::Pattern::Noise, crate::UINT8, [1, 12, 20], 5);
    pixels.bytes.iter_mut().for_each(|value| *value %= 4);
    let map: Vec<u16> = (0..768u16).map(|at| (at * 7 % 256) * 257).collect();
    let spec = ImageSpec::new(crate::UINT8)
        .photometric(3)
        .tag(testkit::Tag::new(320, testkit::Value::Short(map.clone())))
        .tag(nodata_tag("3"));
    bench.file("a.tif", &spec.build(&pixels, ByteOrder::Little, false).bytes);
    let run = bench.run("dump a.tif --format png").clean();
    let (info, samples) = png(&run.stdout);
    assert_eq!(info.color_type, png::ColorType::Rgba);
    for (pixel, &value) in samples.chunks(4).zip(&pixels.bytes) {
        let colour = [0, 256, 512].map(|start| (map[start + usize::from(value)] / 257) as u8);
        assert_eq!(pixel[..3], colour);
        assert_eq!(pixel[3], if value == 3 { 0 } else { 255 });
    }
}

#[test]
fn csv_has_a_line_for_each_pixel_with_its_centre() {
    let bench = Bench::new();
    let (model, bytes) = dem();
    bench.file("dem.tif", &bytes);
    let run = bench.run("dump dem.tif --format csv --window 1,2,2,2 -o -").clean();
    let value = |x: usize, y: usize| model.value(0, y, x) as f32;
    let expected = format!(
        "column,row,x,y,band_1\n1,2,500015,5199975,{}\n2,2,500025,5199975,{}\n\
         1,3,500015,5199965,{}\n2,3,500025,5199965,{}\n",
        value(1, 2),
        value(2, 2),
        value(1, 3),
        value(2, 3)
    );
    assert_eq!(run.text(), expected);
    bench.file("rgb.tif", &rgb().1);
    let run = bench.run("dump rgb.tif --format csv --band 2 --window 0,0,1,1").clean();
    assert!(run.text().starts_with("column,row,x,y,band_2\n0,0,,,"), "{}", run.text());
}

#[test]
fn standard_input_is_read_and_a_plan_is_explained() {
    let bench = Bench::new();
    let (colours, bytes) = rgb();
    let run = bench.run_with("dump -", &bytes).clean();
    assert_eq!(raw(&run).1, colours.bytes);
    bench.file("rgb.tif", &bytes);
    let plan = bench.run("dump rgb.tif --explain=json --window 0,0,20,5").clean().json();
    assert_eq!((&plan["blocks"], &plan["engine"]), (&1.into(), &"cpu".into()));
    assert!(
        bench.run("dump rgb.tif --explain").clean().text().contains("blocks   3 strips of 20 × 5, packbits")
    );
}

#[test]
fn faults_fail_or_are_filled_and_listed() {
    let bench = Bench::new();
    let pixels = rgb().0;
    bench.file("bad.tif", &crate::damaged());
    let run = bench.run("dump bad.tif -o out.raw");
    assert_eq!(run.code, 2);
    let sentence = run.stderr.lines().next().unwrap();
    assert!(sentence.starts_with("error: bad.tif: block (column 0, row 1): "), "{sentence}");
    assert!(run.stderr.ends_with("\n\nhint: `--on-fault fill` fills faulty blocks and lists them\n"));
    assert_eq!(bench.names(), ["bad.tif"], "nothing is left of a failed dump");
    let run = bench.run("dump bad.tif --on-fault fill");
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("fault: bad.tif: block (column 0, row 1): "), "{}", run.stderr);
    let (_, samples) = raw(&run);
    for band in 0..3 {
        let (got, made) = (&samples[band * 240..], crate::dump::band(&pixels, band));
        assert_eq!((&got[..100], &got[200..240]), (&made[..100], &made[200..]));
        assert_eq!(got[100..200], [0; 100]);
    }
}
