//! Windows of mosaics in batches and in pieces: each is what a read of that window alone gives.

use crate::Folder;
use crate::engines::{Laid, copied, device, mosaic, open, tiles};
use strile::batch::{BatchWindow, Sampling};
use strile::read::{OnFault, PieceLimits};
use strile::tiff::gdal::NoData;
use strile::vrt::{Missing, VrtOptions};
use strile::{BatchOptions, Context, DataType, Processor, ReadOptions, Vrt, Window, read_batch};
use testkit::Codec;

const FILL: &str = "<NoDataValue>9</NoDataValue>";

fn cpu() -> BatchOptions {
    BatchOptions::new().decode_on(Processor::Cpu)
}

/// Pieces stated the stored type, and had samples of another.
#[test]
fn pieces_of_masked_pixels_have_the_type_of_their_samples() {
    let folder = Folder::new("pieces");
    tiles(&folder, 2, &[Codec::Deflate]);
    let band = |n: &'static str| {
        ("<Scale>2</Scale>", vec![copied("0.tif", n, (3, 2)), copied("1.tif", n, (60, 50))])
    };
    let masked = |n: &'static str| (FILL, band(n).1);
    let context = Context::default();
    for (path, options) in [
        (mosaic(&folder, "m.vrt", &[masked("1"), masked("2")]), ReadOptions::new().masked(true)),
        (mosaic(&folder, "s.vrt", &[band("1"), band("2")]), ReadOptions::new().unpack(true)),
    ] {
        let vrt = open(&path);
        let whole = vrt.read(&options, &context).unwrap();
        assert_eq!(whole.data_type, DataType::F32);
        for piece in [1 << 20, 30_000, 1] {
            let pieces = vrt.pieces(&options, &PieceLimits::new().piece(piece), &context).unwrap();
            assert_eq!(pieces.data_type, DataType::F32);
            let mut bytes: Vec<u8> = Vec::new();
            let give = |raster: strile::Pixels| {
                assert_eq!(raster.data_type, DataType::F32);
                bytes.extend(raster.bytes().unwrap());
                Ok::<(), strile::Error>(())
            };
            vrt.read_pieces(&pieces, &context, give).unwrap();
            assert!(bytes == whole.bytes().unwrap(), "pieces of {piece} bytes");
        }
    }
}

/// No block and no gap was planned, so no engine was found.
#[test]
fn windows_outside_are_filled_when_they_are_resampled() {
    let folder = Folder::new("outside");
    tiles(&folder, 1, &[Codec::Deflate]);
    let path = mosaic(&folder, "m.vrt", &[(FILL, vec![copied("0.tif", "1", (3, 2))])]);
    let context = Context::default();
    let samplings = [Sampling::Nearest, Sampling::Average, Sampling::Bilinear];
    let ways = samplings.into_iter().flat_map(|sampling| [(sampling, Processor::Cpu), (sampling, device())]);
    for (sampling, processor) in ways {
        let options = cpu().size((4, 3)).sampling(sampling).decode_on(processor);
        let window = [BatchWindow::of_pixels(0, 500, 600, (8, 8))];
        let tensor = read_batch(&[open(&path)], &window, &options, &context).unwrap();
        let found = tensor.into_host(&context).unwrap().into_bytes().unwrap();
        assert!(found == 9u16.to_ne_bytes().repeat(12), "{sampling:?}");
        let given = read_batch(&[open(&path)], &window, &options.fill(NoData::Integer(5)), &context).unwrap();
        assert!(
            given.into_host(&context).unwrap().into_bytes().unwrap() == 5u16.to_ne_bytes().repeat(12),
            "{sampling:?}"
        );
    }
}

/// All windows of a batch shared what one window may decode of a file.
#[test]
fn many_windows_of_one_file_are_read() {
    let folder = Folder::new("many");
    tiles(&folder, 1, &[Codec::Deflate]);
    let path = mosaic(&folder, "m.vrt", &[(FILL, vec![copied("0.tif", "1", (0, 0))])]);
    // A pixel allows 64 samples, a source costs 4096: each window has room for a part of its block of 700.
    let vrt = Vrt::open(&path, &VrtOptions::new().max_work(400 * 4200)).unwrap();
    let windows: Vec<_> = (0..400).map(|n| BatchWindow::of_pixels(0, n % 50, n / 50, (1, 1))).collect();
    let context = Context::default();
    let whole = vrt.read(&ReadOptions::new().window(Window::new(0, 0, 50, 8)), &context).unwrap();
    let tensor = read_batch(&[vrt], &windows, &cpu(), &context).unwrap();
    assert!(tensor.into_host(&context).unwrap().into_bytes().unwrap() == whole.bytes().unwrap());
}

/// Faults of what was blended, and sources that were left out, were told by nobody.
#[test]
fn a_batch_tells_faults_and_holes_of_mosaics() {
    let folder = Folder::new("told");
    tiles(&folder, 3, &[Codec::Deflate]);
    let damaged = folder.0.join("0.tif");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[100..400].fill(0xff);
    std::fs::write(&damaged, &bytes).unwrap();
    let offset = Laid { more: "<ScaleOffset>5</ScaleOffset>", ..copied("0.tif", "1", (0, 0)) };
    let lost = copied("gone.tif", "1", (60, 50));
    let path = mosaic(&folder, "m.vrt", &[(FILL, vec![offset, copied("1.tif", "1", (60, 0)), lost])]);
    let vrt = Vrt::open(&path, &VrtOptions::new().missing(Missing::Warn)).unwrap();
    let context = Context::default();
    let at = [Window::new(60, 0, 50, 40), Window::new(0, 0, 50, 40), Window::new(70, 60, 50, 40)];
    let windows: Vec<_> =
        at.iter().map(|w| BatchWindow::of_pixels(0, w.column.into(), w.row.into(), (50, 40))).collect();
    let alone = ReadOptions::new().window(at[1]).on_fault(OnFault::Fill).decode_on(Processor::Cpu);
    let alone = vrt.read(&alone, &context).unwrap();
    assert!(!alone.faults.is_empty());
    let tensor = read_batch(&[vrt], &windows, &cpu().on_fault(OnFault::Fill), &context).unwrap();
    let told: Vec<_> = tensor.faults.iter().map(|fault| (fault.window, fault.fault.address)).collect();
    let expected: Vec<_> = alone.faults.iter().map(|fault| (1, fault.fault.address)).collect();
    assert_eq!(told, expected);
    assert!(tensor.faults.iter().all(|fault| fault.file.ends_with("0.tif")), "{:?}", tensor.faults);
    let holes: Vec<&str> = tensor.holes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(holes, ["gone.tif"]);
    let samples = alone.bytes().unwrap().len();
    assert!(
        tensor.into_host(&context).unwrap().into_bytes().unwrap()[samples..2 * samples]
            == *alone.bytes().unwrap()
    );
}

/// Tiles of one file had the conversion of the first window.
#[test]
fn each_window_has_the_scale_of_its_own_bands() {
    let folder = Folder::new("scales");
    tiles(&folder, 1, &[Codec::Deflate]);
    let band = |extra| (extra, vec![copied("0.tif", "1", (3, 2))]);
    let path = mosaic(
        &folder,
        "m.vrt",
        &[
            band("<Scale>2</Scale>"),
            band("<Scale>3</Scale><Offset>1</Offset>"),
            band("<NoDataValue>9</NoDataValue>"),
        ],
    );
    let (vrt, context) = (open(&path), Context::default());
    let windows = [1, 2, 3].map(|band| BatchWindow::of_pixels(0, 0, 0, (60, 50)).bands([band]));
    let expected = [1, 2, 3].map(|band| {
        let options = ReadOptions::new().bands([band]).unpack(true).window(Window::new(0, 0, 60, 50));
        vrt.read(&options, &context).unwrap().into_bytes().unwrap()
    });
    let tensor = read_batch(&[vrt], &windows, &cpu().unpack(true), &context).unwrap();
    assert!(tensor.into_host(&context).unwrap().into_bytes().unwrap() == expected.concat());
}

/// Pixels outside had the nodata of the first band in all bands.
#[test]
fn bands_that_differ_outside_want_a_fill() {
    let folder = Folder::new("fills");
    tiles(&folder, 1, &[Codec::Deflate]);
    let band = |extra, band| (extra, vec![copied("0.tif", band, (0, 0))]);
    let path = mosaic(&folder, "m.vrt", &[band(FILL, "1"), band("", "2")]);
    let context = Context::default();
    let read = |window: (i64, i64), options: &BatchOptions| {
        let window = [BatchWindow::of_pixels(0, window.0, window.1, (20, 10))];
        let tensor = read_batch(&[open(&path)], &window, options, &context);
        tensor.and_then(|tensor| tensor.into_host(&context)?.into_bytes()).map_err(|error| error.to_string())
    };
    let nearest = cpu().size((10, 5)).sampling(Sampling::Nearest);
    for outside in [(-4, 0), (0, -2), (111, 3), (3, 91), (500, 500)] {
        let problem = read(outside, &nearest).unwrap_err();
        assert!(problem.contains("bands 1 and 2") && problem.contains("`fill`"), "{problem}");
        assert!(read(outside, &nearest.clone().fill(NoData::Integer(3))).is_ok());
    }
    assert!(read((110, 90), &nearest).is_ok());
    assert!(read((-4, 0), &cpu()).is_ok());
}

/// The nodata was shown as a sample of the result's type.
#[test]
fn a_plan_of_a_gap_tells_the_nodata() {
    let folder = Folder::new("gap");
    tiles(&folder, 1, &[Codec::Deflate]);
    let path = mosaic(&folder, "m.vrt", &[(FILL, vec![copied("0.tif", "1", (0, 0))])]);
    let options = ReadOptions::new().masked(true).window(Window::new(60, 50, 20, 20));
    let plan = open(&path).plan(&options, &Context::default()).unwrap().to_string();
    assert!(plan.contains("nodata 9 to NaN"), "{plan}");
}
