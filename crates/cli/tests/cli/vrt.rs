use crate::{Bench, UINT8};
use strile::tiff::ByteOrder;
use testkit::{ImageSpec, Pattern, Pixels, geo_tags, metadata_tag, nodata_tag};

/// Two tiles of 20 × 12 pixels side by side, and a mosaic of them.
fn bench() -> (Bench, Pixels) {
    let bench = Bench::new();
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 12, 20], 5);
    std::fs::create_dir(bench.path("tiles")).unwrap();
    for (name, x) in [("tiles/a.tif", 500_000.0), ("tiles/b.tif", 500_200.0)] {
        let tags = geo_tags(32632, (x, 5_200_000.0), 10.0, false);
        let spec = tags.into_iter().fold(ImageSpec::new(UINT8), ImageSpec::tag);
        bench.file(name, &spec.build(&pixels, ByteOrder::Little, false).bytes);
    }
    bench.run("vrt all.vrt tiles/a.tif tiles/b.tif").clean();
    (bench, pixels)
}

#[test]
fn an_index_of_tiles_is_written_once_and_read() {
    let (bench, pixels) = bench();
    let facts = bench.run("info --json all.vrt").clean().json();
    let (file, page) = (&facts["files"][0], &facts["files"][0]["pages"][0]);
    assert_eq!((&file["format"], &page["width"], &page["sources"]), (&"VRT".into(), &40.into(), &2.into()));
    assert_eq!(file["geo"]["bounds"][2], 500_400.0);
    let text = bench.run("info all.vrt").clean();
    assert!(text.text().contains("40 × 12 pixels") && text.text().contains("sources        2"));
    let right = bench.run("dump all.vrt --window 20,0,20,12 --format npy").clean().stdout;
    assert!(right.ends_with(&pixels.little_endian()));
    let again = bench.run("vrt all.vrt tiles/a.tif");
    assert!(again.code == 2 && again.stderr.contains("`--overwrite`"), "{}", again.stderr);
    bench.run("vrt all.vrt tiles/a.tif --overwrite").clean();
    assert_eq!(bench.names(), ["all.vrt", "tiles"]);
}

#[test]
fn a_mosaic_is_explained() {
    let (bench, _) = bench();
    let text = bench.run("dump --explain all.vrt --decode-on cpu").clean();
    assert!(text.text().contains("mosaic   2 rectangles of files, 0 gaps filled"), "{}", text.text());
    let plan = bench.run("dump --explain=json all.vrt --window 5,0,10,12 --decode-on cpu").clean().json();
    assert_eq!((&plan["mosaic"]["tiles"], &plan["mosaic"]["files"]), (&1.into(), &1.into()));
    assert!(bench.run("info --explain all.vrt").clean().text().contains("2 files"));
}

#[test]
fn missing_sources_and_those_outside_are_let_pass_on_request() {
    let (bench, pixels) = bench();
    std::fs::remove_file(bench.path("tiles/b.tif")).unwrap();
    let run = bench.run("convert all.vrt out.tif");
    assert!(run.code == 2 && run.stderr.contains("`--missing warn`"), "{}", run.stderr);
    assert_eq!(bench.names(), ["all.vrt", "tiles"]);
    let run = bench.run("convert all.vrt out.tif --missing warn");
    assert!(run.code == 0 && run.stderr.contains("tiles/b.tif"), "{}", run.stderr);
    bench.run("vrt tiles/here.vrt tiles/a.tif").clean();
    std::fs::create_dir(bench.path("far")).unwrap();
    assert_eq!(bench.run("vrt far/far.vrt tiles/a.tif").code, 0);
    let run = bench.run("dump far/far.vrt");
    assert!(run.code == 2 && run.stderr.contains("`--allow-outside`"), "{}", run.stderr);
    let run = bench.run("dump far/far.vrt --allow-outside --format npy").clean();
    assert!(run.stdout.ends_with(&pixels.little_endian()));
}

/// Two files side by side with a name, scale, offset and unit, of which one may say something else.
fn described(bench: &Bench, items: [&str; 2]) {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 12, 20], 5);
    for ((name, x), items) in [("a.tif", 500_000.0), ("b.tif", 500_200.0)].into_iter().zip(items) {
        let mut spec = ImageSpec::new(UINT8);
        for tag in geo_tags(32632, (x, 5_200_000.0), 10.0, false) {
            spec = spec.tag(tag);
        }
        let spec =
            spec.tag(metadata_tag(&format!("<GDALMetadata>{items}</GDALMetadata>"))).tag(nodata_tag("9"));
        bench.file(name, &spec.build(&pixels, ByteOrder::Little, false).bytes);
    }
}

const SCALED: &str = "<Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.0001</Item>\
     <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-0.1</Item>\
     <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">reflectance</Item>\
     <Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">red edge</Item>\
     <Item name=\"wavelength\" sample=\"0\">705</Item><Item name=\"SENSOR\">MSI</Item>";

/// The COG made from a VRT lost names, scales and offsets, so that reflectances became digital numbers.
#[test]
fn what_files_say_goes_through_a_vrt_into_a_cog() {
    let bench = Bench::new();
    described(&bench, [SCALED, SCALED]);
    let run = bench.run("vrt all.vrt a.tif b.tif");
    assert!(run.code == 0 && run.stderr.is_empty(), "{}", run.stderr);
    bench.run("-q convert all.vrt cog.tif --of COG").clean();
    bench.run("-q convert a.tif a-cog.tif --of COG").clean();
    let facts = |file: &str| {
        let facts = bench.run(&format!("info --json {file}")).clean().json();
        let file = &facts["files"][0];
        (file["bands"].clone(), file["metadata"].clone(), file["pages"][0]["nodata"].clone())
    };
    assert_eq!(facts("cog.tif"), facts("a-cog.tif"));
    for file in ["all.vrt", "cog.tif"] {
        let text = bench.run(&format!("info {file}")).clean();
        let text = text.text();
        for word in ["red edge", "0.0001", "-0.1", "reflectance"] {
            assert!(text.contains(word), "{file} without {word}: {text}");
        }
    }
}

#[test]
fn files_that_disagree_are_an_error_or_a_warning() {
    let bench = Bench::new();
    described(&bench, [SCALED, &SCALED.replace("0.0001", "0.001")]);
    let run = bench.run("vrt all.vrt a.tif b.tif");
    assert!(run.code == 2 && run.stderr.contains("b.tif: expected the scale and offset"), "{}", run.stderr);
    assert_eq!(bench.names(), ["a.tif", "b.tif"]);
    described(&bench, [SCALED, &SCALED.replace("MSI", "OLI")]);
    let run = bench.run("vrt all.vrt a.tif b.tif");
    assert!(
        run.code == 0 && run.stderr.contains("warning: all.vrt: metadata that differs"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("SENSOR"), "{}", run.stderr);
}

/// Options of gdalbuildvrt, as it spells them; one that is not there is named.
#[test]
fn options_of_gdalbuildvrt() {
    let (bench, pixels) = bench();
    bench.file("list.txt", b"tiles/a.tif\n\ntiles/b.tif\n");
    bench.run("vrt listed.vrt -input_file_list list.txt").clean();
    assert_eq!(
        std::fs::read(bench.path("listed.vrt")).unwrap(),
        std::fs::read(bench.path("all.vrt")).unwrap()
    );
    bench.run("vrt two.vrt -separate tiles/a.tif tiles/b.tif").clean();
    let facts = bench.run("info --json two.vrt").clean().json();
    assert_eq!(facts["files"][0]["pages"][0]["bands"], 2);
    let run = bench.run("vrt part.vrt -te 500200 5199880 500400 5200000 -tr 10 10 tiles/a.tif tiles/b.tif");
    assert!(run.code == 0 && run.stderr.contains("outside of the extent: tiles/a.tif"), "{}", run.stderr);
    assert!(bench.run("dump part.vrt --format npy").clean().stdout.ends_with(&pixels.little_endian()));
    let run = bench.run("vrt no.vrt -tap tiles/a.tif");
    assert!(run.code == 2 && run.stderr.contains("--tap"), "{}", run.stderr);
    // XML was written under the name of a TIFF.
    let run = bench.run("vrt no.tif tiles/a.tif");
    assert!(run.code == 2 && run.stderr.contains("ends in `.vrt`"), "{}", run.stderr);
    assert!(!bench.path("no.tif").exists() && !bench.path("no.vrt").exists());
}

/// Paths were stored absolute, and then refused.
#[test]
fn paths_outside_are_relative_and_allowed_by_root() {
    let (bench, pixels) = bench();
    std::fs::create_dir(bench.path("far")).unwrap();
    let run = bench.run("vrt far/far.vrt tiles/a.tif");
    assert!(run.code == 0 && run.stderr.contains("`--allowed-root DIR`"), "{}", run.stderr);
    let text = std::fs::read_to_string(bench.path("far/far.vrt")).unwrap();
    assert!(text.contains("relativeToVRT=\"1\">../tiles/a.tif<"), "{text}");
    std::fs::rename(bench.path("far"), bench.path("moved")).unwrap();
    let run = bench.run("dump moved/far.vrt --allowed-root tiles --format npy").clean();
    assert!(run.stdout.ends_with(&pixels.little_endian()));
    assert_eq!(bench.run("dump moved/far.vrt --allowed-root moved --format npy").code, 2);
}
