use crate::{Bench, dem, rgb};
use strile::{Compression, Dataset};

/// Width and compression of every level.
fn levels(bench: &Bench) -> Vec<(u32, Compression)> {
    let dataset = Dataset::open(bench.path("a.tif")).unwrap();
    dataset.pages()[0].levels.iter().map(|level| (level.image.width, level.image.compression)).collect()
}

#[test]
fn overviews_are_appended_and_pixels_stay() {
    let bench = Bench::new();
    bench.file("a.tif", &rgb().1);
    let before = bench.run("dump a.tif").clean().stdout;
    bench.run("-q overview a.tif --count 2 --resampling nearest --compress zstd").clean();
    let zstd = Compression::Zstd;
    assert_eq!(levels(&bench), [(20, Compression::PackBits), (10, zstd), (5, zstd)]);
    assert!(bench.run("dump a.tif").clean().stdout == before);
    let run = bench.run("overview a.tif");
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("error: a.tif: has 2 overviews already"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: `--rebuild` replaces overviews"), "{}", run.stderr);
}

#[test]
fn levels_are_listed_replaced_left_and_removed() {
    let bench = Bench::new();
    bench.file("a.tif", &rgb().1);
    let run = bench.run("overview a.tif");
    assert_eq!((run.code, levels(&bench).len()), (0, 1));
    assert!(run.stderr.contains("nothing to do: the image fits into one block"), "{}", run.stderr);
    let widths = || levels(&bench).into_iter().map(|(width, _)| width).collect::<Vec<_>>();
    bench.run("-q overview a.tif 2 4").clean();
    assert_eq!(widths(), [20, 10, 5]);
    let bytes = std::fs::read(bench.path("a.tif")).unwrap();
    let run = bench.run("overview a.tif --levels 4,2");
    assert!(run.code == 0 && run.stderr.contains("nothing to do"), "{}", run.stderr);
    assert!(std::fs::read(bench.path("a.tif")).unwrap() == bytes);
    let run = bench.run("overview a.tif 4 --rebuild");
    assert!(run.code == 0 && run.stderr.contains("unused"), "{}", run.stderr);
    assert_eq!(widths(), [20, 5]);
    let run = bench.run("overview a.tif -clean");
    assert!(run.code == 0 && run.stderr.contains("1 overviews removed"), "{}", run.stderr);
    assert_eq!(widths(), [20]);
    for line in
        ["overview a.tif 3", "overview a.tif 2 --count 1", "overview a.tif -ro", "overview a.tif --clean 2"]
    {
        assert_eq!(bench.run(line).code, 2, "{line}");
    }
}

#[test]
fn overviews_can_stand_beside_the_file() {
    let bench = Bench::new();
    let bytes = rgb().1;
    bench.file("a.tif", &bytes);
    bench.run("-q overview a.tif --external --count 1").clean();
    assert_eq!(bench.names(), ["a.tif", "a.tif.ovr"]);
    assert!(std::fs::read(bench.path("a.tif")).unwrap() == bytes, "the file itself is not touched");
    assert_eq!(levels(&bench).len(), 2);
}

#[test]
fn wrong_names_and_files_are_told() {
    let bench = Bench::new();
    bench.file("a.tif", &dem().1[..40]);
    for line in
        ["overview a.tif", "overview b.tif", "overview a.tif -r sinc", "overview a.tif --compress zip"]
    {
        let run = bench.run(line);
        assert!(run.code == 2 && run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
    }
}
