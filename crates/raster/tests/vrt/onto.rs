//! Mosaics that are read onto a grid: the pixels of a file with the same pixels, on a device as on the CPU.

use crate::Folder;
use crate::engines::{copied, device, mosaic, mosaics, tiles};
use std::sync::Arc;
use strile::convert::Conversion;
use strile::crs::Crs;
use strile::grid::{Grid, WarpOptions, WarpSampling, files_onto, plan_onto, read_onto};
use strile::io::{MemorySink, MemorySource};
use strile::tiff::geo::Bounds;
use strile::vrt::{Missing, VrtOptions};
use strile::{
    Context, ConvertOptions, DataType, Dataset, Input, OpenOptions, Processor, ReadOptions, Vrt, Window,
};
use testkit::Codec;

/// Web Mercator over the mosaics, which lie in UTM zone 32 at the equator, and beyond their edges.
fn grid(metres: f64) -> Grid {
    let bounds = Bounds { min_x: 500_000.0, min_y: -30.0, max_x: 500_170.0, max_y: 120.0 };
    let crs = |text: &str| Crs::from_user_input(text).unwrap();
    // The mosaics begin at 0, 100 in zone 32, which is about 4.49 degrees east.
    let corner = strile::crs::Transformer::new(
        &crs("EPSG:32632"),
        &crs("EPSG:3857"),
        &strile::crs::TransformOptions::default(),
    );
    let (x, _) = corner.unwrap().transform(0.0, 50.0).unwrap();
    let bounds = Bounds { min_x: x - 20.0, max_x: x + 150.0, ..bounds };
    Grid::from_bounds(crs("EPSG:3857"), bounds, (metres, metres), false).unwrap()
}

/// The mosaic as one file.
fn as_file(input: &Input, bands: &[u16]) -> Dataset {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let mut options = ConvertOptions::default();
    options.read.place.bands = Some(bands.to_vec());
    let conversion = Conversion::plan(input, Box::new(sink), &options, &Context::default()).unwrap();
    conversion.run(&Context::default()).unwrap();
    let bytes = handle.take().unwrap().bytes;
    Dataset::from_source(Arc::new(MemorySource::new("same.tif", bytes)), &OpenOptions::default()).unwrap()
}

fn compare(name: &str, input: &Input, bands: &[u16], on_device: bool) {
    let Input::Vrt(vrt) = input else { panic!("{name}") };
    let file = as_file(input, bands);
    let context = Context::default();
    for sampling in [WarpSampling::Nearest, WarpSampling::Bilinear, WarpSampling::Average] {
        for metres in [0.8, 2.9] {
            let onto = ReadOptions::new()
                .bands(bands.iter().copied())
                .onto(grid(metres), WarpOptions::new().resampling(sampling));
            for options in [onto.clone(), onto.masked(true)] {
                let options = options.decode_on(Processor::Cpu);
                let found = vrt.read(&options, &context).unwrap();
                let all: Vec<u16> = (1..=bands.len() as u16).collect();
                let wanted = file.read(&options.clone().bands(all), &context).unwrap();
                assert_eq!((found.data_type, found.bands), (wanted.data_type, wanted.bands));
                assert!(
                    found.bytes().unwrap() == wanted.bytes().unwrap(),
                    "{name} {bands:?} {sampling:?} {metres}"
                );
                // Kernels are emulated, which is slow.
                if on_device && sampling == WarpSampling::Bilinear && metres > 1.0 {
                    let options = options.decode_on(device());
                    let there = vrt.read_on_device(0, &options, &context).unwrap();
                    let there = there.into_host(&context).unwrap();
                    assert!(
                        found.bytes().unwrap() == there.bytes().unwrap(),
                        "{name} {bands:?} {sampling:?} {metres}"
                    );
                }
            }
        }
    }
}

#[test]
fn mosaics_onto_a_grid_have_the_pixels_of_one_file() {
    let folder = Folder::new("onto");
    for path in mosaics(&folder) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let input = Input::open(&path, &OpenOptions::default()).unwrap();
        let Input::Vrt(vrt) = &input else { panic!("{name}") };
        for band in 1..=vrt.bands() {
            compare(name, &input, &[band], band == 1);
        }
        if (1..=vrt.bands()).all(|band| vrt.nodata(band) == vrt.nodata(1)) {
            compare(name, &input, &(1..=vrt.bands()).rev().collect::<Vec<_>>(), true);
        }
    }
}

#[test]
fn masks_and_alpha_of_mosaics_count() {
    let folder = Folder::new("onto-masks");
    tiles(&folder, 3, &[Codec::Deflate]);
    let laid = || vec![copied("0.tif", "1", (3, 2)), copied("1.tif", "1", (53, 42))];
    // Noise of 16 bits is seldom 0: every third row of pixels is made so by a table.
    let alpha = || {
        let mut laid = vec![copied("2.tif", "2", (3, 2)), copied("1.tif", "2", (40, 30))];
        for one in &mut laid {
            one.more = "<LUT>0:0,30000:0,30001:255,65535:255</LUT>";
        }
        laid
    };
    let colour = "<ColorInterp>Alpha</ColorInterp>";
    let path = mosaic(&folder, "alpha.vrt", &[("", laid()), (colour, alpha())]);
    let input = Input::open(&path, &OpenOptions::default()).unwrap();
    compare("alpha", &input, &[1, 2], true);
    let text = std::fs::read_to_string(&path).unwrap();
    let band = text.split("<VRTRasterBand").nth(2).unwrap().split("</VRTDataset>").next().unwrap();
    let mask = format!("<MaskBand><VRTRasterBand{}</MaskBand>", band.replace("UInt16", "Byte"));
    let text = text.replace("</VRTDataset>", &format!("{mask}</VRTDataset>"));
    let start = text.find("<VRTRasterBand dataType=\"UInt16\"><ColorInterp>").unwrap();
    let end = text[start..].find("</VRTRasterBand>").unwrap() + start + "</VRTRasterBand>".len();
    let text = format!("{}{}", &text[..start], &text[end..]).replace(colour, "");
    let path = folder.vrt("mask.vrt", &text);
    let input = Input::open(&path, &OpenOptions::default()).unwrap();
    compare("mask", &input, &[1], true);
    let options = ReadOptions::new().onto(grid(1.0), WarpOptions::new()).masked(true);
    let raster = input.read(&options, &Context::default()).unwrap();
    let missing = raster
        .bytes()
        .unwrap()
        .chunks_exact(4)
        .filter(|v| f32::from_ne_bytes([v[0], v[1], v[2], v[3]]).is_nan());
    assert!(missing.count() > 5000);
}

#[test]
fn missing_sources_are_gone_on_without_if_that_is_asked_for() {
    let folder = Folder::new("onto-missing");
    tiles(&folder, 2, &[Codec::Deflate]);
    let fill = "<NoDataValue>9</NoDataValue>";
    let laid =
        vec![copied("0.tif", "1", (3, 2)), copied("gone.tif", "1", (53, 2)), copied("1.tif", "1", (3, 50))];
    let path = mosaic(&folder, "some.vrt", &[(fill, laid)]);
    let options = ReadOptions::new().onto(grid(1.0), WarpOptions::new());
    let context = Context::default();
    let problem = Vrt::open(&path, &VrtOptions::default()).unwrap().read(&options, &context).unwrap_err();
    assert!(problem.to_string().contains("gone.tif"), "{problem}");
    let warn = VrtOptions::new().missing(Missing::Warn);
    let vrt = Vrt::open(&path, &warn).unwrap();
    let raster = vrt.read(&options, &context).unwrap();
    let holes = &raster.holes;
    assert_eq!(holes.len(), 1);
    // Damage that only decoding finds.
    let file = folder.0.join("1.tif");
    let mut bytes = std::fs::read(&file).unwrap();
    let len = bytes.len();
    bytes[len / 4..len / 4 * 3].fill(0xAA);
    std::fs::write(&file, bytes).unwrap();
    let vrt = Vrt::open(&path, &warn).unwrap();
    let other = vrt.read(&options, &context).unwrap();
    let holes = &other.holes;
    assert_eq!(holes.len(), 2, "{holes:?}");
    assert!(
        other.bytes().unwrap() != raster.bytes().unwrap()
            && other.bytes().unwrap().len() == raster.bytes().unwrap().len()
    );
}

#[test]
fn mosaics_and_files_lie_on_one_grid() {
    let folder = Folder::new("onto-both");
    tiles(&folder, 3, &[Codec::Deflate]);
    let fill = "<NoDataValue>9</NoDataValue>";
    let path = mosaic(&folder, "one.vrt", &[(fill, vec![copied("0.tif", "1", (3, 2))])]);
    let input = Input::open(&path, &OpenOptions::default()).unwrap();
    let other = mosaic(&folder, "two.vrt", &[(fill, vec![copied("1.tif", "2", (30, 20))])]);
    let file = Input::Tiff(Box::new(as_file(&Input::open(&other, &OpenOptions::default()).unwrap(), &[1])));
    let files = [input, file];
    let context = Context::default();
    let options = ReadOptions::new().onto(grid(1.0), WarpOptions::new().data_type(DataType::I32));
    let both = read_onto(&files, &options, &context).unwrap();
    assert_eq!(both.data_type, DataType::I32);
    let single = |input: &Input| input.read(&options, &context).unwrap().into_bytes().unwrap();
    let (under, over) = (single(&files[0]), single(&files[1]));
    let pixels = |bytes: &[u8]| -> Vec<i32> {
        bytes.chunks_exact(4).map(|v| i32::from_ne_bytes([v[0], v[1], v[2], v[3]])).collect()
    };
    let wanted: Vec<i32> =
        pixels(&under).into_iter().zip(pixels(&over)).map(|(a, b)| if b == 9 { a } else { b }).collect();
    assert_eq!(pixels(both.bytes().unwrap()), wanted);
    let plan = plan_onto(strile::Location::Host, &files, &options, &context).unwrap();
    assert_eq!(plan.mosaics.unwrap().windows, 1);
    assert!(plan.to_string().contains("one.vrt"), "{plan}");
    let told = files_onto(&files, &options, &context).unwrap();
    assert_eq!((told[0].level, told[0].level_size), (0, (130, 100)));
    // Parts of the grid have the pixels of the whole.
    let window = Window::new(20, 30, 40, 50);
    let part = read_onto(&files, &options.clone().window(window), &context).unwrap();
    let width = grid(1.0).width();
    for row in 0..50 {
        let at = ((30 + row) * width + 20) as usize;
        assert_eq!(pixels(part.bytes().unwrap())[row as usize * 40..][..40], wanted[at..at + 40]);
    }
}
