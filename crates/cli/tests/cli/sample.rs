use crate::{Bench, dem, rgb};
use strile::{Context, Input, OpenOptions};

/// Values of the model, which has no nodata in it: the mask is not looked at where a file has a nodata value.
#[test]
fn lines_are_kept_and_values_follow() {
    let bench = Bench::new();
    let (model, bytes) = dem();
    bench.file("dem.tif", &bytes);
    bench.file("points.csv", b"id,x,y\n1,500015,5199975\n2,0,0\n3,500699.9,5199500.1\n");
    let value = |x: usize, y: usize| model.value(0, y, x) as f32;
    let run = bench.run("sample dem.tif points.csv");
    let expected = format!(
        "id,x,y,elevation\n1,500015,5199975,{}\n2,0,0,\n3,500699.9,5199500.1,{}\n",
        value(1, 2),
        value(69, 49)
    );
    assert_eq!((run.code, run.text()), (0, expected.as_str()));
    let note = "note: dem.tif: points outside the image: 1; coordinates are those of its reference system, EPSG:32632\n";
    assert_eq!(run.stderr, note);
    bench.run("-q sample dem.tif points.csv -o out.csv --columns x,y").clean();
    assert_eq!(std::fs::read_to_string(bench.path("out.csv")).unwrap(), expected);
    let run = bench.run_with("-q sample dem.tif - --missing-text -1", b"500015,5199975\n0,0\n").clean();
    assert_eq!(run.text(), format!("500015,5199975,{}\n0,0,-1\n", value(1, 2)));
    let run = bench.run("sample dem.tif 500015 5199975 --crs EPSG:32632").clean();
    assert_eq!(run.text(), format!("x,y,elevation\n500015,5199975,{}\n", value(1, 2)));
    let run = bench.run("sample dem.tif 9.00019713 46.95330423 --crs EPSG:4326").clean();
    assert_eq!(run.text(), format!("x,y,elevation\n9.00019713,46.95330423,{}\n", value(1, 2)));
    let run = bench.run("sample dem.tif 9.0 97.0 --crs EPSG:4326");
    assert!(
        run.code == 0 && run.stderr.contains("outside the image: 1; coordinates are those of EPSG:4326"),
        "{}",
        run.stderr
    );
    let run = bench.run("sample dem.tif 500015 5199975 --band 2");
    assert!(run.code == 2 && run.stderr.contains("there is no band 2"), "{}", run.stderr);
    bench.file("rgb.tif", &rgb().1);
    let run = bench.run("sample rgb.tif 1 1");
    assert!(run.code == 2 && run.stderr.contains("no georeferencing"), "{}", run.stderr);
}

/// Ten thousand points: each block's bytes are taken in once.
#[test]
fn each_block_is_decoded_once() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    let input = Input::open(bench.path("dem.tif"), &OpenOptions::default()).unwrap();
    let plan = input.tiff().unwrap().plan(&strile::ReadOptions::default(), &Context::default()).unwrap();
    let all = plan.figures().encoded_bytes;
    let places: Vec<(f64, f64)> = (0..10_000u32)
        .map(|at| {
            let at = f64::from(at.wrapping_mul(2_654_435_761) % 3500);
            (500_005.0 + (at % 70.0).floor() * 10.0, 5_199_995.0 - (at / 70.0).floor() * 10.0)
        })
        .collect();
    let samples = input.sample(&places, &strile::ReadOptions::default(), &Context::default()).unwrap();
    assert!(samples.inside.iter().all(|inside| *inside));
    assert_eq!(samples.encoded_bytes, all);
}
