//! Texts of a file reach a terminal without the characters that it obeys.

use crate::{Bench, Run, UINT8};
use strile::tiff::ByteOrder;
use testkit::{ImageSpec, Pattern, Pixels, Tag, geo_tags, hostile, metadata_tag, nodata_tag};

/// Clears a terminal, rings, turns the direction of writing, and begins a line that looks like ours.
const EVIL: &str = "a\x1b[2J\x07\u{9b}31m\u{7f}\u{202e}b\nerror: nothing";

/// The same as XML may hold it.
const EVIL_XML: &str = "a&#x1b;[2J&#x7;&#x9b;31m&#x7f;&#x202e;b&#10;error: nothing";

fn is_safe(run: &Run, line: &str) {
    for text in [String::from_utf8_lossy(&run.stdout).as_ref(), run.stderr.as_str()] {
        let found = text.chars().find(|&c| (c.is_control() && c != '\n') || c == '\u{202e}');
        assert_eq!(found, None, "{line}: {text:?}");
        assert!(!text.lines().any(|line| line == "error: nothing"), "{line}: {text}");
    }
}

#[test]
fn no_text_of_a_file_steers_a_terminal() {
    let bench = Bench::new();
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 20, 20], 7);
    let mut spec = ImageSpec::new(UINT8);
    // A system of the file's own, named by the file.
    let named = format!("{EVIL}|");
    let length = u16::try_from(named.len()).unwrap();
    spec.tags = geo_tags(32767, (10.0, 20.0), 1.0, false);
    spec.tags.retain(|tag| tag.code != 34735 && tag.code != 34737);
    let keys = vec![1, 1, 0, 3, 1024, 0, 1, 32767, 1026, 34737, length, 0, 3073, 34737, length, 0];
    spec = spec.tag(Tag::new(34735, testkit::Value::Short(keys))).tag(Tag::ascii(34737, &named));
    spec = spec.tag(Tag::ascii(270, EVIL)).tag(Tag::ascii(305, EVIL)).tag(nodata_tag(EVIL));
    spec = spec.tag(metadata_tag(&format!(
        "<GDALMetadata><Item name=\"{EVIL_XML}\">{EVIL_XML}</Item>\
         <Item name=\"x\" domain=\"{EVIL_XML}\">{EVIL_XML}</Item>\
         <Item name=\"SCALE\" sample=\"0\" role=\"scale\">{EVIL_XML}</Item>\
         <Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">{EVIL_XML}</Item>\
         <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">{EVIL_XML}</Item></GDALMetadata>"
    )));
    bench.file("evil.tif", &spec.build(&pixels, ByteOrder::Little, false).bytes);
    bench.file("plain.tif", &hostile::plain());
    let beside = format!("<PAMDataset><SRS>{EVIL_XML}</SRS><{}/></PAMDataset>", "x");
    bench.file("plain.tif.aux.xml", beside.as_bytes());
    bench.file("plain.tif.ovr", EVIL.as_bytes());
    bench.file("no.tif", EVIL.as_bytes());
    bench.file(
        "evil.vrt",
        format!(
            "<VRTDataset rasterXSize=\"20\" rasterYSize=\"20\"><SRS>{EVIL_XML}</SRS>\
             <VRTRasterBand dataType=\"Byte\" band=\"1\"><Description>{EVIL_XML}</Description><SimpleSource>\
             <SourceFilename relativeToVRT=\"1\">{EVIL_XML}.tif</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>"
        )
        .as_bytes(),
    );
    bench.file("kind.vrt", format!("<VRTDataset subClass=\"{EVIL_XML}\"/>").as_bytes());
    for line in [
        "info evil.tif",
        "info --json evil.tif",
        "info --explain evil.tif",
        "info plain.tif no.tif evil.vrt kind.vrt",
        "info --json evil.vrt",
        "compare evil.tif plain.tif",
        "compare --json evil.tif plain.tif",
        "cog validate evil.tif",
        "cog validate --json evil.tif no.tif",
        "dump --format csv evil.vrt",
        "dump --explain evil.tif",
        "convert evil.tif out.tif",
        "convert evil.vrt other.tif",
        "convert kind.vrt other.tif",
        "overview plain.tif",
        "index . -o headers.index",
    ] {
        is_safe(&bench.run(line), line);
    }
    // A name on the command line comes from a folder that others may write to.
    let name = "c\x1b[2J.tif";
    bench.file(name, b"no image");
    is_safe(&bench.run(&format!("info {name}")), name);
    // JSON says what the file says.
    let facts = bench.run("info --json evil.tif").json();
    assert_eq!(facts["files"][0]["bands"][0]["description"], EVIL);
}
