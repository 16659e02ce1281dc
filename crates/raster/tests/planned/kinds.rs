//! Reads that take another way than blocks to pixels: onto a grid, blended, unpacked, and of pictures.

use super::{
    AMPLE, Counting, ENGINES, TWICE, UINT8, UINT16, built, device, everywhere, held, image, mercator,
    mosaic_of, of_mosaic, placed,
};
use strile::convert::convert_into;
use strile::grid::{WarpOptions, WarpSampling};
use strile::io::MemorySink;
use strile::read::ReadPlan;
use strile::tiff::ByteOrder;
use strile::write::{BlockChoice, Overviews};
use strile::{
    Compression, Context, ConvertOptions, Input, Layer, Processor, ReadOptions, Window, WriteOptions,
};
use testkit::{Codec, Grid, ImageSpec, JpegOptions, Pattern, Pixels, Tag, Value};

fn onto(width: u32, height: u32, sampling: WarpSampling) -> ReadOptions {
    ReadOptions::new().onto(mercator(width, height), WarpOptions::new().resampling(sampling))
}

/// How many parts a read onto a grid is cut into.
fn parts(plan: &ReadPlan) -> usize {
    plan.onto.as_ref().unwrap().parts
}

#[test]
fn onto_a_grid() {
    let bytes = placed(Codec::Deflate, [2, 400, 500]);
    for sampling in [WarpSampling::Nearest, WarpSampling::Cubic] {
        let options = onto(300, 280, sampling);
        let plans = everywhere("grid", &bytes, &options, AMPLE);
        assert!(plans.iter().all(|plan| parts(plan) == 1));
        everywhere("grid, masked", &bytes, &options.clone().masked(true), AMPLE);
        everywhere("grid, its mask", &bytes, &options.clone().layer(Layer::Mask), AMPLE);
        let window = Window::new(40, 50, 90, 70);
        everywhere("grid, a window", &bytes, &options.bands([2]).window(window), AMPLE);
    }
}

/// Squares of the grid that no file lies under are filled.
#[test]
fn a_grid_beyond_the_file() {
    let bytes = placed(Codec::Deflate, [1, 400, 500]);
    everywhere("beyond", &bytes, &onto(2500, 300, WarpSampling::Nearest), AMPLE);
}

/// Part after part: as many windows under the grid at once as memory holds.
#[test]
fn onto_a_grid_in_parts() {
    let bytes = placed(Codec::Deflate, [1, 1600, 1600]);
    let options = onto(1100, 1100, WarpSampling::Bilinear);
    for is_local in [true, false] {
        let file = Counting::new(bytes.clone(), is_local);
        let dataset = file.open();
        device();
        let cpu = options.clone().decode_on(Processor::Cpu);
        let plan = held(
            "grid in parts",
            (&[&file], 8 << 20, TWICE),
            |context| dataset.plan(&cpu, context).unwrap(),
            |context| dataset.read(&cpu, context).unwrap(),
        );
        assert!(parts(&plan) > 1, "{plan}");
        let cuda = options.clone().decode_on(ENGINES[1]).device_memory(10 << 20);
        let plan = held(
            "grid in parts",
            (&[&file], AMPLE, 4),
            |context| dataset.plan(&cuda, context).unwrap(),
            |context| dataset.read(&cuda, context).unwrap(),
        );
        assert!(parts(&plan) > 1, "{plan}");
        let plan = held(
            "grid in parts on the device",
            (&[&file], AMPLE, TWICE),
            |context| dataset.plan_on_device(0, &cuda, context).unwrap(),
            |context| dataset.read_on_device(0, &cuda, context).unwrap(),
        );
        assert!(parts(&plan) > 1, "{plan}");
    }
}

/// Sources that are scaled or transparent are blended before they are placed.
#[test]
fn a_blended_mosaic() {
    let folder = tempfile::tempdir().unwrap();
    let scaled = |at: usize, place: &str| {
        format!(
            "<ComplexSource><SourceFilename relativeToVRT=\"1\">{at}.tif</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"250\" ySize=\"200\"/>{place}"
        )
    };
    let halved = scaled(0, "<DstRect xOff=\"20\" yOff=\"30\" xSize=\"125\" ySize=\"100\"/></ComplexSource>");
    let vrt = mosaic_of(folder.path(), "", &halved);
    of_mosaic("scaled", &vrt, &ReadOptions::new());
    let clear = scaled(
        1,
        "<DstRect xOff=\"300\" yOff=\"90\" xSize=\"250\" ySize=\"200\"/><NODATA>7</NODATA></ComplexSource>",
    );
    let vrt = mosaic_of(folder.path(), "<NoDataValue>7</NoDataValue>", &clear);
    of_mosaic("transparent", &vrt, &ReadOptions::new());
    of_mosaic("transparent, masked", &vrt, &ReadOptions::new().masked(true));
    of_mosaic("transparent, onto a grid", &vrt, &onto(300, 200, WarpSampling::Bilinear));
}

#[test]
fn unpacked() {
    let items = "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item>\
        <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-3</Item>\
        <Item name=\"SCALE\" sample=\"1\" role=\"scale\">0.5</Item>\
        <Item name=\"OFFSET\" sample=\"1\" role=\"offset\">-3</Item></GDALMetadata>\0";
    let spec = image(Codec::Deflate, Grid::Tiles(64, 64)).tag(Tag::new(42112, Value::Ascii(items.into())));
    let bytes = built(&spec, [2, 200, 250]);
    let plans = everywhere("unpacked", &bytes, &ReadOptions::new().unpack(true), AMPLE);
    assert!(plans.iter().all(|plan| plan.output.data_type.size() >= 4));
    everywhere("unpacked, masked", &bytes, &ReadOptions::new().unpack(true).masked(true), AMPLE);
}

#[test]
fn jpeg() {
    for (bands, chroma) in [(1, None), (3, Some((2, 2)))] {
        let codec = Codec::Jpeg(JpegOptions { quality: 90, chroma, shared_tables: true, progressive: false });
        let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(64, 64)).codec(codec);
        let pixels = Pixels::generate(Pattern::Smooth, UINT8, [bands, 400, 500], 3);
        let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
        everywhere("JPEG", &bytes, &ReadOptions::new(), AMPLE);
        everywhere(
            "JPEG, a window",
            &bytes,
            &ReadOptions::new().window(Window::new(70, 30, 100, 120)),
            AMPLE,
        );
    }
}

#[test]
fn jpeg_2000() {
    let bytes = jpeg_2000_file();
    everywhere("JPEG 2000", &bytes, &ReadOptions::new(), AMPLE);
    everywhere("JPEG 2000, a window", &bytes, &ReadOptions::new().window(Window::new(70, 30, 60, 50)), AMPLE);
    for reduce in [1, 2] {
        everywhere("JPEG 2000, reduced", &bytes, &ReadOptions::new().reduce(reduce), AMPLE);
    }
}

/// An image in tiles of JPEG 2000 without loss.
fn jpeg_2000_file() -> Vec<u8> {
    let plain = Counting::new(built(&ImageSpec::new(UINT16), [1, 128, 192]), true).open();
    let sink = MemorySink::new();
    let handle = sink.handle();
    let write = WriteOptions::default()
        .compression(Compression::Jpeg2000)
        .lossless(true)
        .blocks(BlockChoice::Tiles { width: 64, height: 64 })
        .overviews(Overviews::None);
    let options = ConvertOptions::default().write(write);
    convert_into(&Input::Tiff(Box::new(plain)), Box::new(sink), &options, &Context::default()).unwrap();
    handle.take().unwrap().bytes
}
