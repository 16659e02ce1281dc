//! Layers of mosaics on a device: every kind of source over many types, equal to the CPU, without a detour over the host.

use crate::Folder;
use crate::engines::{device, open};
use std::path::PathBuf;
use strile::batch::{BatchWindow, read_batch_on_device};
use strile::crs::Crs;
use strile::grid::{Grid as PixelGrid, WarpOptions, read_onto, read_onto_device};
use strile::tiff::geo::GeoTransform;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, Context, Input, Location, OpenOptions, Processor, ReadOptions, Window};
use strile_emulate::StandIn;
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Tag, Value, geo_tags, nodata_tag};

const TYPES: [(&str, SampleFormat, u16, &str); 7] = [
    ("u8", SampleFormat::Uint, 8, "7"),
    ("i16", SampleFormat::Int, 16, "-3"),
    ("u16", SampleFormat::Uint, 16, "300"),
    ("i32", SampleFormat::Int, 32, "12"),
    ("f32", SampleFormat::Float, 32, "nan"),
    ("f64", SampleFormat::Float, 64, "-9999"),
    ("c64", SampleFormat::ComplexFloat, 64, "0"),
];

/// A file of two bands of each type, the second of them alpha, with nodata; and one without alpha.
fn files(folder: &Folder) {
    for (seed, (name, format, bits, nodata)) in (0..).zip(TYPES) {
        let sample = SampleType { format, bits };
        let mut pixels = Pixels::generate(Pattern::Noise, sample, [2, 40, 50], seed);
        for (y, x) in (0..40).flat_map(|y| (0..50).map(move |x| (y, x))).filter(|(y, x)| (x + y) % 7 == 0) {
            // Alpha of 0, and some samples that are 0, too.
            pixels.sample_mut(1, y, x).fill(0);
            if x % 2 == 0 {
                pixels.sample_mut(0, y, x).fill(0);
            }
        }
        let spec = || ImageSpec::new(sample).codec(Codec::Deflate).grid(Grid::Tiles(16, 32));
        let alpha = spec().tag(Tag::new(338, Value::Short(vec![2])));
        let write = |end: &str, spec: ImageSpec| {
            let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
            std::fs::write(folder.0.join(format!("{name}{end}.tif")), bytes).unwrap();
        };
        write("_alpha", alpha);
        write("", spec().tag(nodata_tag(nodata)));
    }
}

/// What complex sources say, one for each.
const RULES: [&str; 12] = [
    "<NODATA>0</NODATA>",
    "<NODATA>nan</NODATA>",
    "<NODATA>0.1</NODATA><ScaleRatio>0.25</ScaleRatio>",
    "<ScaleOffset>-12.75</ScaleOffset><ScaleRatio>1.3</ScaleRatio>",
    "<ScaleOffset>42</ScaleOffset><ScaleRatio>0</ScaleRatio>",
    "<LUT>-5:1,0:3,100:20.5,40000:-9</LUT>",
    "<LUT>nan:5,0:3,100:20.5</LUT><ScaleRatio>2</ScaleRatio>",
    "<UseMaskBand>true</UseMaskBand>",
    "<UseMaskBand>true</UseMaskBand><ScaleOffset>0.5</ScaleOffset>",
    "",
    "<NODATA>3.5</NODATA><UseMaskBand>true</UseMaskBand>",
    "<LUT>0:0,1000:255</LUT><NODATA>12</NODATA>",
];

/// A mosaic of one type: rules in turn, files of all types, one to one and scaled, upon each other.
fn mosaic(folder: &Folder, data_type: &str, more: &str, turn: usize) -> PathBuf {
    let mut sources = String::new();
    for (at, rule) in RULES.iter().enumerate() {
        let (name, ..) = TYPES[(at + turn) % TYPES.len()];
        let end = if at % 3 == 1 { "_alpha" } else { "" };
        let band = ["1", "2", "mask,1"][(at + turn / 2) % 3];
        let (x, y) = (at * 9 % 70, at * 13 % 50);
        let (width, height) = [(50, 40), (75, 61), (20, 17)][(at + turn) % 3];
        let kind = if rule.is_empty() { "SimpleSource" } else { "ComplexSource" };
        sources += &format!(
            "<{kind}><SourceFilename relativeToVRT=\"1\">{name}{end}.tif</SourceFilename><SourceBand>{band}</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"50\" ySize=\"40\"/>\
             <DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"{width}\" ySize=\"{height}\"/>{rule}</{kind}>"
        );
    }
    folder.vrt(
        &format!("{data_type}{turn}.vrt"),
        &format!(
            "<VRTDataset rasterXSize=\"130\" rasterYSize=\"100\">\
             <VRTRasterBand dataType=\"{data_type}\">{more}{sources}</VRTRasterBand></VRTDataset>"
        ),
    )
}

fn mosaics(folder: &Folder) -> Vec<PathBuf> {
    files(folder);
    let nodata = "<NoDataValue>5</NoDataValue>";
    let bits = "<Metadata domain=\"IMAGE_STRUCTURE\"><MDI key=\"NBITS\">4</MDI></Metadata>";
    let types = [
        "Byte", "Int8", "UInt16", "Int16", "UInt32", "Int32", "UInt64", "Int64", "Float32", "Float64",
        "CFloat32",
    ];
    let mut all: Vec<PathBuf> =
        types.iter().enumerate().map(|(turn, data_type)| mosaic(folder, data_type, nodata, turn)).collect();
    all.push(mosaic(folder, "Byte", bits, 20));
    all.push(mosaic(folder, "Float32", "", 21));
    all
}

#[test]
fn every_kind_of_layer_as_on_the_cpu() {
    let folder = Folder::new("blended");
    let context = Context::default();
    for path in mosaics(&folder) {
        let vrt = open(&path);
        for window in [None, Some(Window::new(17, 9, 80, 61))] {
            let mut options = ReadOptions::new().decode_on(Processor::Cpu);
            options.place.window = window;
            let expected = vrt.read(&options, &context).unwrap();
            let options = options.decode_on(device());
            let name = path.display();
            let there = vrt.read_on_device(0, &options, &context).unwrap();
            assert_eq!(there.location(), Location::Cuda(0));
            let there = there.into_host(&context).unwrap();
            assert!(expected.bytes().unwrap() == there.bytes().unwrap(), "{name} {window:?}");
            let plan = vrt.plan_on_device(0, &options, &context).unwrap();
            let mosaics = plan.mosaics.unwrap();
            assert!(mosaics.blended > 5 && mosaics.blended_on_host == 0, "{plan}");
        }
    }
}

/// A power is computed by the host alone: all layers of such a window are blended there, also if the power is in a mosaic inside.
#[test]
fn powers_are_blended_on_the_host() {
    let folder = Folder::new("powers");
    files(&folder);
    let context = Context::default();
    let source = |kind: &str, file: &str, more: &str| {
        format!(
            "<{kind}><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"50\" ySize=\"40\"/>\
             <DstRect xOff=\"0\" yOff=\"0\" xSize=\"60\" ySize=\"50\"/>{more}</{kind}>"
        )
    };
    let vrt = |name: &str, sources: &str| {
        folder.vrt(
            name,
            &format!(
                "<VRTDataset rasterXSize=\"60\" rasterYSize=\"50\">\
                 <VRTRasterBand dataType=\"Float32\">{sources}</VRTRasterBand></VRTDataset>"
            ),
        )
    };
    let power =
        "<Exponent>0.7</Exponent><SrcMin>0</SrcMin><SrcMax>255</SrcMax><DstMin>0</DstMin><DstMax>9</DstMax>";
    let own = vrt("own.vrt", &source("ComplexSource", "u8.tif", power));
    let nested = vrt("nested.vrt", &source("ComplexSource", "own.vrt", "<ScaleOffset>1</ScaleOffset>"));
    for path in [own, nested] {
        let vrt = open(&path);
        let expected = vrt.read(&ReadOptions::new().decode_on(Processor::Cpu), &context).unwrap();
        let options = ReadOptions::new().decode_on(device());
        let there = vrt.read_on_device(0, &options, &context).unwrap().into_host(&context).unwrap();
        assert!(expected.bytes().unwrap() == there.bytes().unwrap(), "{}", path.display());
        let plan = vrt.plan_on_device(0, &options, &context).unwrap();
        assert_eq!(plan.mosaics.unwrap().blended_on_host, 1, "{plan}");
        assert!(plan.notes.iter().any(|note| note.starts_with("blended on the host: ")), "{plan}");
    }
}

/// Blended pixels are not copied to the device: only encoded bytes and tables are.
#[test]
fn nothing_goes_over_the_host() {
    let device = device();
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return;
    }
    let folder = Folder::new("detour");
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let pixels = Pixels::generate(Pattern::LandCover, sample, [1, 512, 512], 3);
    let spec = ImageSpec::new(sample).codec(Codec::Deflate).grid(Grid::Tiles(256, 256));
    let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
    std::fs::write(folder.0.join("0.tif"), bytes).unwrap();
    let path = folder.vrt(
        "m.vrt",
        "<VRTDataset rasterXSize=\"512\" rasterYSize=\"512\"><VRTRasterBand dataType=\"Float64\"><ComplexSource>\
         <SourceFilename relativeToVRT=\"1\">0.tif</SourceFilename><SourceBand>1</SourceBand>\
         <ScaleOffset>5</ScaleOffset></ComplexSource></VRTRasterBand></VRTDataset>",
    );
    let vrt = open(&path);
    let options = ReadOptions::new().decode_on(device);
    let standin = StandIn::load().unwrap().alone();
    vrt.read_on_device(0, &options, &Context::default()).unwrap();
    standin.calls();
    vrt.read_on_device(0, &options, &Context::default()).unwrap();
    let calls = standin.calls();
    let copied = |way: &str| -> u64 {
        calls.iter().filter(|call| call.name.contains(way)).filter_map(|call| call.size).sum()
    };
    let (up, down) = (copied("MemcpyHtoD"), copied("MemcpyDtoH"));
    // The source has as many bytes of pixels; blended, they are 8 times as many.
    assert!(up > 0 && up < 512 * 512 && down < 10_000, "{up} up, {down} down");
}

/// Where the CPU is estimated to decode faster for a result on a device, what was blended there still is read by the device.
#[test]
fn the_faster_engine_is_not_chosen_for_blended_pixels() {
    device();
    let folder = Folder::new("faster");
    let sample = SampleType { format: SampleFormat::Uint, bits: 16 };
    for seed in 0..2 {
        let pixels = Pixels::generate(Pattern::Noise, sample, [1, 256, 256], seed);
        let mut spec = ImageSpec::new(sample).codec(Codec::Zstd).grid(Grid::Tiles(256, 256));
        for tag in geo_tags(32632, (500_000.0, 5_000_000.0), 10.0, false) {
            spec = spec.tag(tag);
        }
        let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
        std::fs::write(folder.0.join(format!("{seed}.tif")), bytes).unwrap();
    }
    let source = |file: &str, at: u32, more: &str| {
        format!(
            "<ComplexSource><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"200\" ySize=\"200\"/>\
             <DstRect xOff=\"{at}\" yOff=\"{at}\" xSize=\"200\" ySize=\"200\"/>{more}</ComplexSource>"
        )
    };
    // A copy, a layer upon it, and a copy upon both.
    let all = [
        source("0.tif", 0, ""),
        source("1.tif", 30, "<ScaleOffset>5</ScaleOffset>"),
        source("0.tif", 56, ""),
    ];
    let place = "<SRS>EPSG:32632</SRS><GeoTransform>500000, 10, 0, 5000000, 0, -10</GeoTransform>";
    let path = folder.vrt(
        "m.vrt",
        &format!(
            "<VRTDataset rasterXSize=\"256\" rasterYSize=\"256\">{place}<VRTRasterBand dataType=\"UInt16\">{}\
             </VRTRasterBand></VRTDataset>",
            all.concat()
        ),
    );
    let context = Context::default();
    let bytes = |pixels: strile::Pixels| pixels.into_host(&context).unwrap().into_bytes().unwrap();
    let file = Input::open(folder.0.join("1.tif"), &OpenOptions::default()).unwrap();
    let plan = file.plan_on_device(0, &ReadOptions::new(), &context).unwrap();
    assert_eq!(plan.destination, Location::Host, "{plan}");
    let vrt = Input::open(&path, &OpenOptions::default()).unwrap();
    let by_cpu = ReadOptions::new().decode_on(Processor::Cpu);
    let expected = bytes(vrt.read(&by_cpu, &context).unwrap());
    assert!(bytes(vrt.read_on_device(0, &ReadOptions::new(), &context).unwrap()) == expected);
    // In a batch with a file, and on a grid with it below.
    let whole = Window::new(0, 0, 256, 256);
    let windows = [BatchWindow::new(0, whole), BatchWindow::new(1, whole)];
    let (inputs, options) = ([&file, &vrt], BatchOptions::default());
    let batch = read_batch_on_device(0, &inputs, &windows, &options, &context).unwrap();
    assert!(bytes(batch)[expected.len()..] == expected[..]);
    let transform = GeoTransform::from_gdal([500_000.0, 10.0, 0.0, 5_000_000.0, 0.0, -10.0]);
    let grid = PixelGrid::new(Crs::from_epsg(32632).unwrap(), transform, 256, 256).unwrap();
    let onto = ReadOptions::new().onto(grid, WarpOptions::new());
    let there = read_onto_device(0, &inputs, &onto, &context).unwrap();
    assert!(bytes(there) == bytes(read_onto(&inputs, &onto.decode_on(Processor::Cpu), &context).unwrap()));
}
