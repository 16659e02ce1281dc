//! Warped VRTs: the pixels of a read of their source onto their grid, through every door, and what is refused.

use crate::engines::device;
use crate::{Folder, UINT8, problem, read};
use std::path::PathBuf;
use strile::crs::Crs;
use strile::grid::{Grid, WarpOptions, WarpSampling};
use strile::tiff::ByteOrder;
use strile::tiff::gdal::NoData;
use strile::tiff::geo::GeoTransform;
use strile::{
    BatchOptions, Context, Dataset, Input, Layer, OpenOptions, Processor, ReadOptions, Window,
    batch::BatchWindow, read_batch,
};
use testkit::{ImageSpec, Pattern, Pixels, geo_tags};

/// The grid of the VRTs: zone 33, around the tile, which lies in zone 32.
const TO: [f64; 6] = [20_000.0, 9.0, 0.0, 5_040_000.0, 0.0, -9.0];
const SIZE: (u32, u32) = (70, 60);
const SOURCE: &str = "500000, 10, 0, 5000000, 0, -10";

/// Words of a VRT, and others in their place.
type Change<'a> = &'a [(&'a str, &'a str)];

/// A warped VRT of a tile with two bands. `change` replaces words of it.
fn text(change: Change<'_>) -> String {
    let [west, north] = corner();
    let to = format!("{west}, {}, 0, {north}, 0, {}", TO[1], TO[5]);
    let band = "<VRTRasterBand dataType=\"Byte\" subClass=\"VRTWarpedRasterBand\"><NoDataValue>7</NoDataValue></VRTRasterBand>";
    let mapping = |from: u32, to: u32| {
        format!(
            "<BandMapping src=\"{from}\" dst=\"{to}\"><SrcNoDataReal>3</SrcNoDataReal><DstNoDataReal>7</DstNoDataReal>\
             </BandMapping>"
        )
    };
    let mut text = format!(
        "<VRTDataset rasterXSize=\"{}\" rasterYSize=\"{}\" subClass=\"VRTWarpedDataset\"><SRS>EPSG:32633</SRS>\
         <GeoTransform>{to}</GeoTransform>{band}{band}<GDALWarpOptions><ResampleAlg>Bilinear</ResampleAlg>\
         <WorkingDataType>Byte</WorkingDataType><Option name=\"INIT_DEST\">NO_DATA</Option>\
         <SourceDataset relativeToVRT=\"1\">a.tif</SourceDataset><Transformer><ApproxTransformer><MaxError>0.125</MaxError>\
         <BaseTransformer><GenImgProjTransformer><SrcGeoTransform>{SOURCE}</SrcGeoTransform><DstGeoTransform>{to}</DstGeoTransform>\
         <ReprojectTransformer><ReprojectionTransformer><SourceSRS>EPSG:32632</SourceSRS><TargetSRS>EPSG:32633</TargetSRS>\
         </ReprojectionTransformer></ReprojectTransformer></GenImgProjTransformer></BaseTransformer></ApproxTransformer>\
         </Transformer><BandList>{}{}</BandList></GDALWarpOptions></VRTDataset>",
        SIZE.0,
        SIZE.1,
        mapping(2, 1),
        mapping(1, 2)
    );
    for (from, to) in change {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

/// The corner of the grid: a little outside of the tile.
fn corner() -> [f64; 2] {
    let crs = |text: &str| Crs::from_user_input(text).unwrap();
    let way =
        strile::crs::Transformer::new(&crs("EPSG:32632"), &crs("EPSG:32633"), &Default::default()).unwrap();
    let (x, y) = way.transform(500_000.0, 5_000_000.0).unwrap();
    [(x - 100.0).round(), (y + 100.0).round()]
}

fn grid() -> Grid {
    let [west, north] = corner();
    let transform = GeoTransform::from_gdal([west, TO[1], 0.0, north, 0.0, TO[5]]);
    Grid::new(Crs::from_epsg(32633).unwrap(), transform, SIZE.0, SIZE.1).unwrap()
}

fn warp() -> WarpOptions {
    WarpOptions::new()
        .resampling(WarpSampling::Bilinear)
        .level(0)
        .nodata(NoData::Integer(3))
        .fill(NoData::Integer(7))
}

fn folder(name: &str) -> (Folder, PathBuf) {
    let folder = Folder::new(name);
    folder.tile("a.tif", 2, 5, (0.0, 0.0));
    let path = folder.vrt("w.vrt", &text(&[]));
    (folder, path)
}

#[test]
fn pixels_are_those_of_a_read_onto_the_grid() {
    let (folder, path) = folder("warped");
    let context = Context::default();
    let file = Dataset::open(folder.0.join("a.tif")).unwrap();
    let onto = ReadOptions::new().onto(grid(), warp()).bands([2, 1]);
    let expected = file.read(&onto, &context).unwrap();
    let bytes = expected.bytes().unwrap();
    assert!(bytes.contains(&7) && bytes.iter().filter(|&&v| v != 7).count() > 500, "some of both");
    let whole = read(&path, &ReadOptions::default()).unwrap();
    assert!(whole == bytes);
    // A window, one band, in the other order.
    let window = Window::new(13, 9, 31, 20);
    let part = read(&path, &ReadOptions::new().window(window).bands([2, 1])).unwrap();
    let cropped = |band: usize| {
        let at = move |row: usize, column: usize| (band * SIZE.1 as usize + row) * SIZE.0 as usize + column;
        (9..29).flat_map(move |row| (13..44).map(move |column| at(row, column)))
    };
    let crop: Vec<u8> = cropped(1).chain(cropped(0)).map(|at| whole[at]).collect();
    assert!(part == crop);
    // The mask by the nodata value of the VRT.
    let mask = read(&path, &ReadOptions::new().layer(Layer::Mask)).unwrap();
    let is_valid = |at: usize| whole[at] != 7 || whole[at + mask.len()] != 7;
    assert!(mask.iter().enumerate().all(|(at, &valid)| (valid == 255) == is_valid(at)));
    // In a batch.
    let input = Input::open(&path, &OpenOptions::default()).unwrap();
    let windows = [BatchWindow::new(0, window), BatchWindow::new(0, Window::new(0, 0, 31, 20))];
    let batch = read_batch(&[&input], &windows, &BatchOptions::default(), &context).unwrap();
    let first = read(&path, &ReadOptions::new().window(window)).unwrap();
    assert!(batch.bytes().unwrap()[..first.len()] == first);
}

#[test]
fn a_device_has_the_pixels_of_the_cpu() {
    let (_folder, path) = folder("warped-device");
    let Ok(Input::Vrt(vrt)) = Input::open(&path, &OpenOptions::default()) else { panic!() };
    let context = Context::default();
    let part = ReadOptions::new().window(Window::new(5, 6, 24, 13));
    for options in [part.clone(), part.masked(true)] {
        let here = vrt.read(&options.clone().decode_on(Processor::Cpu), &context).unwrap();
        let there = vrt.read_on_device(0, &options.decode_on(device()), &context).unwrap();
        assert!(here.bytes().unwrap() == there.into_host(&context).unwrap().bytes().unwrap());
    }
}

#[test]
fn a_plan_names_the_warped_source_and_mosaics_take_it() {
    let (folder, path) = folder("warped-nested");
    let input = Input::open(&path, &OpenOptions::default()).unwrap();
    let plan = input.plan(&ReadOptions::default(), &Context::default()).unwrap().to_string();
    assert!(plan.contains("a.tif (warped)"), "{plan}");
    let source = "<SimpleSource><SourceFilename relativeToVRT=\"1\">w.vrt</SourceFilename><SourceBand>2</SourceBand>\
                  <SrcRect xOff=\"4\" yOff=\"5\" xSize=\"40\" ySize=\"30\"/>\
                  <DstRect xOff=\"1\" yOff=\"2\" xSize=\"40\" ySize=\"30\"/></SimpleSource>";
    let outer = folder.vrt("m.vrt", &crate::mosaic(&[source.to_owned()]));
    let (laid, whole) =
        (read(&outer, &ReadOptions::default()).unwrap(), read(&path, &ReadOptions::default()).unwrap());
    let warped = |row: usize, column: usize| whole[(SIZE.1 as usize + row) * SIZE.0 as usize + column];
    for row in 0..30 {
        for column in 0..40 {
            assert_eq!(laid[(row + 2) * 50 + column + 1], warped(row + 5, column + 4), "{row} {column}");
        }
    }
}

#[test]
fn what_would_be_read_in_another_way_is_refused_by_name() {
    let (folder, _) = folder("warped-refused");
    folder.vrt("m.vrt", &crate::mosaic(&[crate::source("a.tif", "1", (0, 0))]));
    let alpha = ("</BandList>", "</BandList><DstAlphaBand>2</DstAlphaBand>");
    let option =
        ("<Option name=\"INIT_DEST\">", "<Option name=\"XSCALE\">2</Option><Option name=\"INIT_DEST\">");
    let type_of = |name: &str| format!("<WorkingDataType>{name}");
    let (narrow, unknown) = (type_of("Int8"), type_of("Complex"));
    let init = |value: &str| format!("INIT_DEST\">{value}<");
    let (outside, several) = (init("-9999"), init("1,2"));
    let cases: [(Change<'_>, &str); 20] = [
        (&[("<WorkingDataType>Byte", &narrow)], "it has uint8 samples, which are computed as int8"),
        (&[("<WorkingDataType>Byte", &unknown)], "the type `Complex`"),
        (&[("INIT_DEST\">NO_DATA<", &outside)], "outside of its source that are -9999, as uint8"),
        (&[("INIT_DEST\">NO_DATA<", &several)], "`INIT_DEST` that differs between bands"),
        (&[("<SrcNoDataReal>3<", "<SrcNoDataReal>3.5<")], "a fraction in `SrcNoDataReal` of uint8"),
        (&[("<GDALWarpOptions>", "<VerticalShiftGrids/><GDALWarpOptions>")], "`VerticalShiftGrids`"),
        (
            &[
                ("src=\"1\" dst=\"2\"", "src=\"1\" dst=\"1\""),
                (
                    "</VRTRasterBand><GDALWarpOptions>",
                    "<SimpleSource><SourceFilename relativeToVRT=\"1\">a.tif</SourceFilename></SimpleSource>\
                     </VRTRasterBand><GDALWarpOptions>",
                ),
            ],
            "band 2, which no band of the source is warped to",
        ),
        (&[alpha], "a warped VRT with `DstAlphaBand` is not read"),
        (&[option], "the option `XSCALE`"),
        (&[("</BandList>", "</BandList><Cutline>POLYGON EMPTY</Cutline>")], "`Cutline`"),
        (&[("<SrcGeoTransform>", "<SrcRPCTransformer/><SrcGeoTransform>")], "`SrcRPCTransformer`"),
        (&[(SOURCE, "500000, 10, 0, 5000001, 0, -10")], "its transform is not the one that the VRT states"),
        (&[("<BandMapping src=\"2\"", "<BandMapping src=\"9\"")], "band 9 of source `a.tif`, which has 2"),
        (
            &[("src=\"1\" dst=\"2\"", "src=\"1\" dst=\"1\"")],
            "band 2, which no band of the source is warped to",
        ),
        (&[("<ResampleAlg>Bilinear", "<ResampleAlg>Magic")], "got `Magic`"),
        (&[("<MaxError>0.125", "<MaxError>-1")], "expected a number of pixels, got `-1`"),
        (&[("<TargetSRS>EPSG:32633", "<TargetSRS>nowhere")], "TargetSRS"),
        (&[(">a.tif<", ">m.vrt<")], "a VRT as the source of a warped VRT is not read"),
        // Itself: an error, not a loop without end.
        (&[(">a.tif<", ">w.vrt<")], "w.vrt"),
        (
            &[
                ("rasterXSize=\"70\"", "rasterXSize=\"2147483647\""),
                ("rasterYSize=\"60\"", "rasterYSize=\"2147483647\""),
            ],
            "decodes to 8.0 EiB",
        ),
    ];
    for (change, expected) in cases {
        let found = problem(&folder.vrt("w.vrt", &text(change)));
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// A warped VRT in the system of its source, with pixels where the source has them, and two columns more. All samples of the source
/// are 0 but for column 4, which has 50.
fn plain(folder: &Folder, change: Change<'_>) -> PathBuf {
    let mut pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 20, 30], 1);
    pixels.bytes.fill(0);
    for y in 0..20 {
        pixels.sample_mut(0, y, 4).fill(50);
    }
    let mut spec = ImageSpec::new(UINT8);
    for tag in geo_tags(32632, (500_000.0, 5_000_000.0), 10.0, false) {
        spec = spec.tag(tag);
    }
    std::fs::write(folder.0.join("p.tif"), spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
    let place = "500000, 10, 0, 5000000, 0, -10";
    let mut text = format!(
        "<VRTDataset rasterXSize=\"32\" rasterYSize=\"20\" subClass=\"VRTWarpedDataset\"><SRS>EPSG:32632</SRS>\
         <GeoTransform>{place}</GeoTransform><VRTRasterBand dataType=\"Byte\" subClass=\"VRTWarpedRasterBand\"/>\
         <GDALWarpOptions><ResampleAlg>NearestNeighbour</ResampleAlg><WorkingDataType>Byte</WorkingDataType>\
         <SourceDataset relativeToVRT=\"1\">p.tif</SourceDataset><Transformer><GenImgProjTransformer>\
         <SrcGeoTransform>{place}</SrcGeoTransform><DstGeoTransform>{place}</DstGeoTransform></GenImgProjTransformer>\
         </Transformer><BandList><BandMapping src=\"1\" dst=\"1\"/></BandList></GDALWarpOptions></VRTDataset>"
    );
    for (from, to) in change {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    folder.vrt("p.vrt", &text)
}

/// What pixels of the source become is one thing, what those beside it are another. GDAL 3.12 has the same values.
#[test]
fn only_the_nodata_value_of_the_target_is_avoided() {
    let folder = Folder::new("warped-avoid");
    let mapping = "<BandMapping src=\"1\" dst=\"1\"/>";
    let with = |nodata: &str| format!("<BandMapping src=\"1\" dst=\"1\">{nodata}</BandMapping>");
    let options = |options: &str| format!("<GDALWarpOptions>{options}");
    let init = |value: &str| options(&format!("<Option name=\"INIT_DEST\">{value}</Option>"));
    let (of_target, of_source) =
        (with("<DstNoDataReal>50</DstNoDataReal>"), with("<SrcNoDataReal>50</SrcNoDataReal>"));
    let twice = options("<Option name=\"INIT_DEST\">9</Option><Option name=\"INIT_DEST\">8</Option>");
    let wide = [("<WorkingDataType>Byte", "<WorkingDataType>Int16"), (mapping, &of_target)];
    // What the pixels of 0, of 50, and those beside the source become.
    let cases: [(Change<'_>, [u8; 3]); 8] = [
        (&[], [0, 50, 0]),
        (&[("<GDALWarpOptions>", &init("0"))], [0, 50, 0]),
        (&[("<GDALWarpOptions>", &init("50"))], [0, 50, 50]),
        (&[("<GDALWarpOptions>", &twice)], [0, 50, 8]),
        (&[(mapping, &of_target)], [0, 49, 0]),
        (&[(mapping, &of_target), ("<GDALWarpOptions>", &init("NO_DATA"))], [0, 49, 50]),
        (&[(mapping, &of_source)], [0, 0, 0]),
        // Avoided where it is computed, then converted.
        (&wide, [0, 49, 0]),
    ];
    for (change, expected) in cases {
        let pixels = read(&plain(&folder, change), &ReadOptions::default()).unwrap();
        let row = &pixels[5 * 32..6 * 32];
        assert_eq!([row[3], row[4], row[31]], expected, "{change:?}");
    }
}
