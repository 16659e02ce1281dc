//! Mosaics by the one read path: on a device as on the CPU, with a plan, in batches.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first GPU.

use crate::Folder;
use std::path::PathBuf;
use std::sync::OnceLock;
use strile::batch::{BatchWindow, Sampling, plan_batch, read_batch_on_device};
use strile::engine::Output;
use strile::read::{FloatType, Interleave, OnFault};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::vrt::{Missing, VrtOptions};
use strile::{
    BatchOptions, Context, Dataset, Input, Layer, Location, OpenOptions, Processor, ReadOptions, Vrt, Window,
    read_batch,
};
use strile_emulate::{Call, StandIn};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, nodata_tag};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

/// Puts the stand-in in the place of the driver, once.
pub(crate) fn device() -> Processor {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        if !requires_gpu() {
            StandIn::load().unwrap();
        }
    });
    Processor::Cuda(0)
}

fn requires_gpu() -> bool {
    std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1")
}

/// Tiles of 2 bands × 40 rows × 50 columns: codecs, blocks, planes together and apart, blocks that are not stored.
pub(crate) fn tiles(folder: &Folder, count: u64, codecs: &[Codec]) {
    for seed in 0..count {
        let pixels = Pixels::generate(Pattern::Noise, UINT16, [2, 40, 50], seed);
        let mut spec = ImageSpec::new(UINT16).codec(codecs[seed as usize % codecs.len()].clone());
        spec = spec.grid(if seed % 3 == 0 { Grid::Strips(7) } else { Grid::Tiles(16, 32) });
        spec = spec.planar(seed % 5 == 1).tag(nodata_tag("7"));
        if seed % 3 == 2 {
            spec = spec.sparse(&[1]);
        }
        let bytes = spec.build(&pixels, ByteOrder::Big, false).bytes;
        std::fs::write(folder.0.join(format!("{seed}.tif")), bytes).unwrap();
    }
}

pub(crate) struct Laid<'a> {
    pub(crate) file: &'a str,
    pub(crate) band: &'a str,
    pub(crate) from: [i32; 4],
    pub(crate) to: [i32; 4],
    pub(crate) more: &'a str,
}

/// A source that is copied one to one.
pub(crate) fn copied<'a>(file: &'a str, band: &'a str, (x, y): (i32, i32)) -> Laid<'a> {
    Laid { file, band, from: [0, 0, 50, 40], to: [x, y, 50, 40], more: "" }
}

fn source(Laid { file, band, from, to, more }: &Laid<'_>) -> String {
    let rectangle = |name: &str, [x, y, width, height]: &[i32; 4]| {
        format!("<{name} xOff=\"{x}\" yOff=\"{y}\" xSize=\"{width}\" ySize=\"{height}\"/>")
    };
    let kind = if more.is_empty() { "SimpleSource" } else { "ComplexSource" };
    format!(
        "<{kind}><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>{band}</SourceBand>{}{}{more}\
         </{kind}>",
        rectangle("SrcRect", from),
        rectangle("DstRect", to)
    )
}

pub(crate) fn mosaic(folder: &Folder, name: &str, bands: &[(&str, Vec<Laid<'_>>)]) -> PathBuf {
    let band = |(extra, laid): &(&str, Vec<Laid<'_>>)| {
        let sources: String = laid.iter().map(source).collect();
        format!("<VRTRasterBand dataType=\"UInt16\">{extra}{sources}</VRTRasterBand>")
    };
    let place = "<SRS>EPSG:32632</SRS><GeoTransform>0, 1, 0, 100, 0, -1</GeoTransform>";
    let bands: String = bands.iter().map(band).collect();
    folder.vrt(
        name,
        &format!("<VRTDataset rasterXSize=\"130\" rasterYSize=\"100\">{place}{bands}</VRTDataset>"),
    )
}

/// Mosaics of every kind of source; those that are laid without blending are named `plain…`.
pub(crate) fn mosaics(folder: &Folder) -> Vec<PathBuf> {
    mosaics_of(folder, &[Codec::Deflate, Codec::None, Codec::Lzw, Codec::Zstd])
}

fn mosaics_of(folder: &Folder, codecs: &[Codec]) -> Vec<PathBuf> {
    tiles(folder, 7, codecs);
    let fill = "<NoDataValue>9</NoDataValue>";
    let grid = |band: &'static str| {
        let at = |n: i32| (n % 2 * 50 + 3, n / 2 * 40 + 2);
        vec![
            copied("0.tif", band, at(0)),
            copied("1.tif", band, at(1)),
            copied("2.tif", band, at(2)),
            copied("3.tif", band, at(3)),
        ]
    };
    // Each overlaps the one before, and leaves the image at the right.
    let stair = |band: &'static str| {
        let files = ["4.tif", "1.tif", "5.tif", "6.tif", "0.tif"];
        (0..).zip(files).map(|(n, file)| copied(file, band, (n * 24 - 5, n * 13 - 4))).collect::<Vec<_>>()
    };
    let scaled = Laid { file: "3.tif", band: "1", from: [0, 0, 50, 40], to: [20, 20, 75, 61], more: "" };
    let by_nodata = Laid { more: "<NODATA>7</NODATA>", ..copied("2.tif", "1", (30, 30)) };
    let offset = Laid { more: "<ScaleOffset>5</ScaleOffset>", ..copied("5.tif", "2", (10, 50)) };
    let nested = |file| Laid { file, band: "2", from: [5, 6, 90, 80], to: [12, 9, 90, 80], more: "" };
    vec![
        mosaic(folder, "plain_grid.vrt", &[(fill, grid("1")), (fill, grid("2"))]),
        mosaic(folder, "plain_stair.vrt", &[(fill, stair("2")), ("", stair("1"))]),
        // Bands of other sources, and of other order.
        mosaic(folder, "plain_apart.vrt", &[(fill, stair("2")), ("", grid("1"))]),
        mosaic(folder, "plain_nothing.vrt", &[(fill, vec![]), ("", vec![])]),
        // Nodata of the sources is that of the mosaic, and they lie upon nothing else: they are copied.
        mosaic(
            folder,
            "plain_nodata.vrt",
            &[(
                "<NoDataValue>7</NoDataValue>",
                vec![
                    Laid { more: "<NODATA>7</NODATA>", ..copied("2.tif", "1", (3, 2)) },
                    Laid { more: "<NODATA>7</NODATA>", ..copied("5.tif", "1", (53, 2)) },
                    Laid { more: "<NODATA>7</NODATA>", ..copied("6.tif", "2", (40, 60)) },
                ],
            )],
        ),
        mosaic(
            folder,
            "overlapping_nodata.vrt",
            &[(
                "<NoDataValue>7</NoDataValue>",
                vec![
                    Laid { more: "<NODATA>7</NODATA>", ..copied("2.tif", "1", (3, 2)) },
                    Laid { more: "<NODATA>7</NODATA>", ..copied("5.tif", "1", (40, 20)) },
                ],
            )],
        ),
        mosaic(
            folder,
            "plain_nested.vrt",
            &[
                (fill, vec![copied("0.tif", "1", (0, 0)), nested("plain_stair.vrt")]),
                ("", vec![copied("0.tif", "2", (0, 0)), nested("plain_stair.vrt")]),
            ],
        ),
        mosaic(
            folder,
            "plain_nested_apart.vrt",
            &[(
                fill,
                vec![copied("0.tif", "1", (0, 0)), nested("plain_apart.vrt"), copied("1.tif", "1", (60, 40))],
            )],
        ),
        mosaic(
            folder,
            "scaled.vrt",
            &[(fill, vec![copied("0.tif", "1", (0, 0)), scaled, copied("1.tif", "1", (70, 30))])],
        ),
        mosaic(folder, "nodata.vrt", &[(fill, vec![copied("0.tif", "1", (10, 5)), by_nodata, offset])]),
        mosaic(
            folder,
            "layers_inside.vrt",
            &[(fill, vec![Laid { band: "1", ..nested("scaled.vrt") }, nested("plain_grid.vrt")])],
        ),
    ]
}

pub(crate) fn open(path: &PathBuf) -> Vrt {
    Vrt::open(path, &VrtOptions::default()).unwrap()
}

fn windows() -> [Option<Window>; 3] {
    [None, Some(Window::new(31, 17, 60, 55)), Some(Window::new(129, 99, 1, 1))]
}

/// One request by both engines, in host memory, where the engine has it, and in memory of the caller.
#[test]
fn a_device_gives_what_the_cpu_gives() {
    let folder = Folder::new("engines");
    let context = Context::default();
    for path in mosaics(&folder) {
        let vrt = open(&path);
        for (window, interleave) in windows().into_iter().flat_map(|window| {
            [Interleave::BandFirst, Interleave::BandLast].map(|interleave| (window, interleave))
        }) {
            let mut options = ReadOptions::new().interleave(interleave).decode_on(Processor::Cpu);
            options.place.window = window;
            let on_device = options.clone().decode_on(device());
            let expected = vrt.read(&options, &context).unwrap();
            let name = path.display();
            assert_eq!(expected, vrt.read(&on_device, &context).unwrap(), "{name} {window:?}");
            // Decoded there, and decoded by the CPU and copied there.
            for options in [&on_device, &options] {
                let there = vrt.read_on_device(0, options, &context).unwrap();
                assert_eq!(there.location(), Location::Cuda(0));
                assert_eq!(expected, there.into_host(&context).unwrap(), "{name} {window:?}");
            }
            for options in [&options, &on_device] {
                let output = Output::new(expected.spec().unwrap()).unwrap();
                assert_eq!(vrt.read_into(&output, options, &context).unwrap().faults, []);
                assert!(output.into_vec().unwrap() == expected.bytes().unwrap(), "{name} {window:?}");
            }
        }
    }
}

/// Masks are made where they are wanted.
#[test]
fn masks_come_to_the_device_too() {
    let folder = Folder::new("masks");
    let context = Context::default();
    for path in mosaics(&folder) {
        let vrt = open(&path);
        let options = ReadOptions::new().layer(Layer::Mask).decode_on(Processor::Cpu);
        let expected = vrt.read(&options, &context).unwrap();
        let there = vrt.read_on_device(0, &options.decode_on(device()), &context).unwrap();
        assert_eq!(there.location(), Location::Cuda(0));
        assert_eq!(
            expected.bytes().unwrap(),
            there.into_host(&context).unwrap().into_bytes().unwrap(),
            "{}",
            path.display()
        );
    }
}

/// The plan says what is read, and which sources are blended where.
#[test]
fn a_plan_says_what_is_done() {
    let folder = Folder::new("plan");
    let context = Context::default();
    // A device counts uncompressed blocks once for each part of them that is shown.
    for path in mosaics_of(&folder, &[Codec::Deflate, Codec::Lzw, Codec::Zstd]) {
        let vrt = open(&path);
        for device in [Processor::Cpu, device()] {
            let options = ReadOptions::new().decode_on(device);
            let plan = vrt.plan_on_device(0, &options, &context).unwrap();
            let report = vrt.read_on_device(0, &options, &context).unwrap().report;
            let figures = plan.figures();
            let (name, mosaics) = (path.display(), plan.mosaics.unwrap());
            let is_plain = path.file_name().unwrap().to_str().unwrap().starts_with("plain");
            assert_eq!(mosaics.blended == 0, is_plain, "{name}: {mosaics:?}");
            assert_eq!(figures.encoded_bytes, report.encoded_bytes, "{name} by {device:?}\n{plan}");
            let words = plan.to_string();
            assert!(words.contains("mosaic of 130 × 100 pixels"), "{words}");
            // Where the result is, unless the CPU decodes.
            let place = if device == Processor::Cpu { "blended on the host" } else { "blended on cuda:0" };
            assert_eq!(words.contains(place), !is_plain, "{words}");
            let on_host = if device == Processor::Cpu { mosaics.blended } else { 0 };
            assert_eq!(mosaics.blended_on_host, on_host, "{words}");
            let note = plan.notes.iter().find_map(|note| note.strip_prefix(place)?.strip_prefix(": "));
            assert_eq!(
                note.is_some_and(|note| note.contains(".tif (") || note.contains(".vrt (")),
                !is_plain,
                "{words}"
            );
        }
    }
}

/// Many files are one job: launches do not grow with their number.
#[test]
fn tiles_of_many_files_are_decoded_together() {
    let device = device();
    if requires_gpu() {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return;
    }
    let folder = Folder::new("together");
    let pixels = |seed| Pixels::generate(Pattern::LandCover, UINT16, [1, 40, 50], seed);
    let mut files = Vec::new();
    for seed in 0..100 {
        let spec = ImageSpec::new(UINT16).codec(Codec::Deflate).grid(Grid::Tiles(64, 48));
        files.push(format!("{seed}.tif"));
        std::fs::write(
            folder.0.join(&files[seed as usize]),
            spec.build(&pixels(seed), ByteOrder::Little, false).bytes,
        )
        .unwrap();
    }
    let standin = StandIn::load().unwrap().alone();
    let count = |calls: &[Call], name: &str| calls.iter().filter(|call| call.name == name).count();
    let mut launches = Vec::new();
    for many in [4, 100] {
        // 10 × 10 tiles that overlap by one row and one column.
        let laid = (0..many).zip(&files).map(|(n, file)| copied(file, "1", (n % 10 * 49, n / 10 * 39)));
        let text = laid.map(|laid| source(&laid)).collect::<String>();
        let path = folder.vrt(
            "m.vrt",
            &format!(
                "<VRTDataset rasterXSize=\"500\" rasterYSize=\"400\"><VRTRasterBand dataType=\"UInt16\">{text}\
                 </VRTRasterBand></VRTDataset>"
            ),
        );
        // Fewer open files than sources.
        let vrt = Vrt::open(&path, &VrtOptions::new().max_open(5)).unwrap();
        let options = ReadOptions::new().decode_on(device);
        let plan = vrt.plan_on_device(0, &options, &Context::default()).unwrap();
        let figures = plan.figures();
        assert_eq!((plan.files, figures.blocks), (many as usize, many as usize), "{plan}");
        let read = || {
            standin.calls();
            let report = vrt.read_on_device(0, &options, &Context::default()).unwrap().report;
            assert_eq!((report.encoded_bytes, report.host_blocks), (figures.encoded_bytes, 0));
            standin.calls()
        };
        read();
        launches.push(count(&read(), "cuLaunchKernel"));
    }
    assert_eq!(launches[0], launches[1], "launches do not grow with files");
}

/// A TIFF with the pixels of a mosaic: the same windows of both must be the same.
fn flat(folder: &Folder, name: &str, raster: &strile::Pixels, nodata: &str) -> Dataset {
    let shape = [raster.bands as usize, raster.rows as usize, raster.columns as usize];
    let mut pixels = Pixels::generate(Pattern::Noise, UINT16, shape, 1);
    let mut samples = raster.bytes().unwrap().chunks_exact(2);
    for band in 0..shape[0] {
        for y in 0..shape[1] {
            for x in 0..shape[2] {
                let value = u16::from_ne_bytes(samples.next().unwrap().try_into().unwrap());
                pixels.sample_mut(band, y, x).copy_from_slice(&value.to_le_bytes());
            }
        }
    }
    let path = folder.0.join(name);
    let spec = ImageSpec::new(UINT16).tag(nodata_tag(nodata));
    std::fs::write(&path, spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    assert_eq!(
        dataset.read(&ReadOptions::default(), &Context::default()).unwrap().into_bytes().unwrap(),
        raster.bytes().unwrap()
    );
    dataset
}

#[test]
fn windows_of_a_batch_are_those_of_a_file_with_the_same_pixels() {
    let folder = Folder::new("batch");
    let context = Context::default();
    let place = |n: i64| BatchWindow::of_pixels(n as usize % 2, n * 17 - 30, n * 13 - 25, (40, 30));
    let windows: Vec<BatchWindow> = (0..8).map(place).collect();
    for path in mosaics(&folder) {
        let name = path.display();
        let vrt = open(&path);
        let bands = vrt.bands();
        // One nodata value for all bands, as a TIFF has it.
        let of_band = |band: u16| ReadOptions::new().bands([band]).decode_on(Processor::Cpu);
        for band in 1..=bands {
            let raster = vrt.read(&of_band(band), &context).unwrap();
            let nodata = vrt.nodata(band).map_or("0".to_owned(), |nodata| nodata.to_text());
            let nodata = nodata.as_str();
            let flat = flat(&folder, "flat.tif", &raster, nodata);
            let flat = Input::Tiff(Box::new(flat));
            let vrt = Input::open(&path, &OpenOptions::default()).unwrap();
            let of = |band: u16| -> Vec<BatchWindow> {
                windows.iter().map(|window| window.clone().bands([band])).collect()
            };
            for device in [Processor::Cpu, device()] {
                let plain = BatchOptions::new().decode_on(device);
                let masked = plain.clone().masked(nodata != "0").float_type(FloatType::Float32);
                let average = masked.clone().size((17, 9)).sampling(Sampling::Average);
                let bilinear = masked.clone().size((61, 47)).sampling(Sampling::Bilinear);
                // Pixels of bands without nodata count where they are 0: a TIFF with nodata 0 cannot say that.
                let resampled = nodata != "0";
                for options in
                    [plain, masked].into_iter().chain([average, bilinear].into_iter().filter(|_| resampled))
                {
                    let expected = read_batch(&[&flat, &flat], &of(1), &options, &context).unwrap();
                    let shape = expected.shape();
                    let expected = expected.into_host(&context).unwrap().into_bytes().unwrap();
                    // A mosaic and a file in one batch.
                    let mut mixed = of(band);
                    mixed
                        .iter_mut()
                        .filter(|window| window.file == 1)
                        .for_each(|window| window.bands = Some(vec![1]));
                    let found = read_batch_on_device(0, &[&vrt, &flat], &mixed, &options, &context).unwrap();
                    assert_eq!(found.shape(), shape);
                    assert!(
                        found.into_host(&context).unwrap().into_bytes().unwrap() == expected,
                        "{name} band {band} {options:?}"
                    );
                    let found = read_batch(&[&vrt, &vrt], &of(band), &options, &context).unwrap();
                    assert!(
                        found.into_host(&context).unwrap().into_bytes().unwrap() == expected,
                        "{name} band {band} {options:?}"
                    );
                    let plan =
                        plan_batch(Location::Host, &[&vrt, &flat], &mixed, &options, &context).unwrap();
                    assert_eq!(plan.mosaics.unwrap().windows, 4);
                    assert!(plan.to_string().contains("mosaics  4 windows: "), "{plan}");
                }
            }
        }
    }
}

/// Nodata of the mosaic becomes NaN, whatever the nodata of its files.
#[test]
fn a_mosaic_is_masked_by_its_own_nodata() {
    let folder = Folder::new("masked");
    let context = Context::default();
    for path in mosaics(&folder) {
        let vrt = open(&path);
        let one = ReadOptions::new().bands([1]).decode_on(Processor::Cpu);
        let nodata = vrt.nodata(1).unwrap().to_text();
        let flat = flat(&folder, "flat.tif", &vrt.read(&one, &context).unwrap(), &nodata);
        let masked = one.masked(true);
        let expected = flat.read(&masked, &context).unwrap();
        assert_eq!(expected.data_type, strile::DataType::F32);
        for device in [Processor::Cpu, device()] {
            let found = vrt.read(&masked.clone().decode_on(device), &context).unwrap();
            assert!(found.bytes().unwrap() == expected.bytes().unwrap(), "{} by {device:?}", path.display());
        }
    }
}

/// One of many files of a job is damaged: the error names it, and without it the others are laid.
#[test]
fn a_damaged_file_among_many_is_named() {
    let folder = Folder::new("damage");
    let paths = mosaics(&folder);
    let path = &paths[0];
    let whole = open(path).read(&ReadOptions::default(), &Context::default()).unwrap();
    let damaged = folder.0.join("0.tif");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[100..900].fill(0xff);
    std::fs::write(&damaged, &bytes).unwrap();
    let context = Context::default();
    for device in [Processor::Cpu, device()] {
        let options = ReadOptions::new().decode_on(device);
        let vrt = open(path);
        let problem = vrt.read(&options, &context).unwrap_err().to_string();
        assert!(problem.contains("0.tif"), "{problem}");
        let window = [BatchWindow::of_pixels(0, 0, 0, (130, 100))];
        let batch = BatchOptions::new().decode_on(device);
        let problem = read_batch(&[&vrt], &window, &batch, &context).map(drop).unwrap_err().to_string();
        assert!(problem.starts_with("window 0 ") && problem.contains("0.tif"), "{problem}");
        // Filled where that is asked for.
        let filled = options.clone().on_fault(OnFault::Fill);
        let raster = vrt.read(&filled, &context).unwrap();
        assert!(!raster.faults.is_empty() && raster.bytes().unwrap() != whole.bytes().unwrap());
        // Left out as a whole where that is.
        let vrt = Vrt::open(path, &VrtOptions::new().missing(Missing::Warn)).unwrap();
        let raster = vrt.read(&options, &context).unwrap();
        let holes = &raster.holes;
        assert_eq!(holes.len(), 1);
        assert_eq!(holes[0].0, "0.tif");
        let tensor = read_batch(&[&vrt], &window, &batch, &context).unwrap();
        assert!(tensor.into_host(&context).unwrap().into_bytes().unwrap() == raster.bytes().unwrap());
        let there = vrt.read_on_device(0, &options, &context).unwrap();
        assert_eq!(there.holes.len(), 1);
        assert!(there.into_host(&context).unwrap().into_bytes().unwrap() == raster.bytes().unwrap());
    }
}
