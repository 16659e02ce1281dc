use crate::{Bench, FLOAT32, dem, rgb};
use strile::tiff::ByteOrder;
use testkit::{ImageSpec, Pixels};

#[test]
fn equal_files_are_equal_however_they_are_stored() {
    let bench = Bench::new();
    let (pixels, bytes) = dem();
    bench.file("a.tif", &bytes);
    assert_eq!(bench.run("compare a.tif a.tif").clean().text(), "equal\n");
    assert_eq!(bench.run("compare -q a.tif a.tif").clean().text(), "");
    let plain = |big: bool| ImageSpec::new(FLOAT32).build(&pixels, ByteOrder::Little, big).bytes;
    bench.file("plain.tif", &plain(false));
    bench.file("big.tif", &plain(true));
    assert_eq!(bench.run("compare plain.tif big.tif").clean().text(), "equal\n");
    let run = bench.run("compare --structure plain.tif big.tif");
    assert_eq!(
        (run.code, run.text()),
        (1, "variant: classic TIFF in the first file, BigTIFF in the second\n")
    );
}

#[test]
fn the_first_difference_is_named_first() {
    let bench = Bench::new();
    let (mut pixels, bytes) = dem();
    bench.file("a.tif", &bytes);
    bench.file("b.tif", &rgb().1);
    let run = bench.run("compare a.tif b.tif");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let first = "size: 70 × 50 pixels in the first file, 20 × 12 pixels in the second";
    assert_eq!(run.text().lines().next(), Some(first));
    let plain = |pixels: &Pixels| ImageSpec::new(FLOAT32).build(pixels, ByteOrder::Little, false).bytes;
    bench.file("c.tif", &plain(&pixels));
    pixels.sample_mut(0, 9, 4).copy_from_slice(&f32::NAN.to_ne_bytes());
    bench.file("d.tif", &plain(&pixels));
    let json = bench.run("compare --json c.tif d.tif").json();
    assert_eq!((&json["equal"], json["differences"].as_array().unwrap().len()), (&false.into(), 1));
    let samples = &json["differences"][0]["samples"];
    assert_eq!((&samples["count"], &samples["compared"]), (&1.into(), &3500.into()));
    assert_eq!((&samples["first"]["row"], &samples["first"]["column"]), (&9.into(), &4.into()));
    assert_eq!((&samples["first"]["b"], &samples["largest"]), (&"NaN".into(), &serde_json::Value::Null));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let bench = Bench::new();
    bench.file("a.tif", &dem().1);
    let run = bench.run("compare a.tif missing.tif");
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
    let run = bench.run("compare a.tif a.tif --tolerance -1");
    assert_eq!(run.code, 2);
}
