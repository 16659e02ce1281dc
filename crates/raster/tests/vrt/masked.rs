//! Missing pixels of mosaics as NaN: by the mask band, by alpha, by nodata values that differ, through every door.

use crate::Folder;
use crate::engines::{Laid, copied, device, mosaic, open, tiles};
use std::path::PathBuf;
use strile::batch::{BatchWindow, read_batch_on_device};
use strile::engine::Output;
use strile::read::Interleave;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{
    BatchOptions, Context, Input, Layer, Location, OpenOptions, Processor, ReadOptions, Vrt, Window,
    read_batch,
};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels};

/// What says which pixels of a band are missing.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    Nothing,
    Value(u16),
    Mask,
}

/// A file of one band whose second block is not stored: its samples are 0.
fn with_zeros(folder: &Folder, name: &str, bits: u16) {
    let sample = SampleType { format: SampleFormat::Uint, bits };
    let pixels = Pixels::generate(Pattern::Noise, sample, [1, 40, 50], 70);
    let spec = ImageSpec::new(sample).codec(Codec::Deflate).grid(Grid::Tiles(16, 16)).sparse(&[1, 5]);
    std::fs::write(folder.0.join(name), spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
}

/// Mosaics, with the rule of each band, and whether their masks are blended.
pub(crate) fn mosaics(folder: &Folder) -> Vec<(PathBuf, Vec<Rule>, bool)> {
    use Rule::{Mask, Nothing, Value};
    tiles(folder, 4, &[Codec::Deflate, Codec::Lzw]);
    with_zeros(folder, "mask.tif", 8);
    with_zeros(folder, "alpha.tif", 16);
    let at = [(3, 2), (53, 2), (30, 35)];
    let laid =
        |band| ["0.tif", "1.tif", "2.tif"].into_iter().zip(at).map(move |(file, at)| copied(file, band, at));
    let pixels = |band| laid(band).collect::<Vec<_>>();
    let over = |file| at.into_iter().map(|at| copied(file, "1", at)).collect::<Vec<Laid<'_>>>();
    let alpha = ("<ColorInterp>Alpha</ColorInterp>", over("alpha.tif"));
    let value = |text| (text, pixels("1"));
    let seven = "<NoDataValue>7</NoDataValue>";
    let nine = "<NoDataValue>9</NoDataValue>";
    let masked = |name: &str, kind: &str, more: &str, rules: Vec<Rule>, blended: bool| {
        let path = mosaic(folder, name, &[value(seven), ("", pixels("2"))]);
        let text = std::fs::read_to_string(&path).unwrap();
        let source = |(x, y): (i32, i32)| {
            format!(
                "<{kind}><SourceFilename relativeToVRT=\"1\">mask.tif</SourceFilename><SourceBand>1</SourceBand>\
                 <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"50\" ySize=\"40\"/>\
                 <DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"50\" ySize=\"40\"/>{more}</{kind}>"
            )
        };
        let sources: String = at.into_iter().map(source).collect();
        let band = format!("<MaskBand><VRTRasterBand dataType=\"Byte\">{sources}</VRTRasterBand></MaskBand>");
        std::fs::write(&path, text.replace("</VRTDataset>", &format!("{band}</VRTDataset>"))).unwrap();
        (path, rules, blended)
    };
    vec![
        masked("mask.vrt", "SimpleSource", "", vec![Mask, Mask], false),
        masked("blended.vrt", "ComplexSource", "<ScaleRatio>2</ScaleRatio>", vec![Mask, Mask], true),
        (
            mosaic(folder, "alpha.vrt", &[("", pixels("1")), ("", pixels("2")), alpha]),
            vec![Mask, Mask, Nothing],
            false,
        ),
        (
            mosaic(
                folder,
                "inside.vrt",
                &[("", pixels("1")), ("<ColorInterp>Alpha</ColorInterp>", over("alpha.tif")), value("")],
            ),
            vec![Mask, Nothing, Mask],
            false,
        ),
        (
            mosaic(folder, "values.vrt", &[value(seven), ("", pixels("2")), value(nine)]),
            vec![Value(7), Nothing, Value(9)],
            false,
        ),
        (
            mosaic(
                folder,
                "both.vrt",
                &[value(nine), ("", pixels("2")), ("<ColorInterp>Alpha</ColorInterp>", over("alpha.tif"))],
            ),
            vec![Value(9), Mask, Nothing],
            false,
        ),
        // A value and alpha mask bands in turn.
        (
            mosaic(
                folder,
                "turns.vrt",
                &[
                    ("", pixels("1")),
                    value(seven),
                    ("", pixels("2")),
                    ("<ColorInterp>Alpha</ColorInterp>", over("alpha.tif")),
                    value(nine),
                    ("", pixels("1")),
                ],
            ),
            vec![Mask, Value(7), Mask, Nothing, Value(9), Mask],
            false,
        ),
    ]
}

/// What a masked read is to give: stored pixels, and the mask by itself.
fn expected(vrt: &Vrt, rules: &[Rule], window: Option<Window>) -> Vec<f32> {
    let mut options = ReadOptions::new().decode_on(Processor::Cpu);
    options.place.window = window;
    let stored = vrt.read(&options, &Context::default()).unwrap();
    let mask = vrt.read(&options.layer(Layer::Mask), &Context::default()).unwrap();
    let samples = stored.samples::<u16>().unwrap();
    let plane = samples.len() / rules.len();
    let missing = |rule: Rule, at: usize, sample: u16| match rule {
        Rule::Nothing => false,
        Rule::Value(value) => sample == value,
        Rule::Mask => mask.bytes().unwrap()[at % plane] == 0,
    };
    let value = |(at, &sample): (usize, &u16)| match missing(rules[at / plane], at, sample) {
        true => f32::NAN,
        false => f32::from(sample),
    };
    samples.iter().enumerate().map(value).collect()
}

fn bits(samples: &[f32]) -> Vec<u32> {
    samples.iter().map(|sample| if sample.is_nan() { u32::MAX } else { sample.to_bits() }).collect()
}

fn bits_of(raster: &strile::Pixels) -> Vec<u32> {
    bits(&raster.samples::<f32>().unwrap())
}

#[test]
fn masked_windows_of_mosaics_are_nan_where_pixels_are_missing() {
    let folder = Folder::new("by-rules");
    let context = Context::default();
    for (path, rules, blended) in mosaics(&folder) {
        let (vrt, name) = (open(&path), path.display());
        for window in [None, Some(Window::new(20, 15, 70, 60))] {
            let expected = bits(&expected(&vrt, &rules, window));
            let missing = expected.iter().filter(|sample| **sample == u32::MAX).count();
            assert!(missing > 0 && missing < expected.len(), "{name}: {missing}");
            for engine in [Processor::Cpu, device()] {
                let mut options = ReadOptions::new().masked(true).decode_on(engine);
                options.place.window = window;
                let raster = vrt.read(&options, &context).unwrap();
                assert!(bits_of(&raster) == expected, "{name} by {engine:?}");
                let output = Output::new(raster.spec().unwrap()).unwrap();
                vrt.read_into(&output, &options, &context).unwrap();
                assert!(output.into_vec().unwrap() == raster.bytes().unwrap(), "{name} by {engine:?}");
                let there = vrt.read_on_device(0, &options, &context).unwrap();
                assert_eq!(there.location(), Location::Cuda(0));
                assert!(bits_of(&there.into_host(&context).unwrap()) == expected, "{name} by {engine:?}");
                let last = vrt.read(&options.clone().interleave(Interleave::BandLast), &context).unwrap();
                let (samples, bands) = (last.samples::<f32>().unwrap(), rules.len());
                let plane = samples.len() / bands;
                let turned: Vec<f32> =
                    (0..samples.len()).map(|at| samples[at % plane * bands + at / plane]).collect();
                assert!(bits(&turned) == expected, "{name} by {engine:?}");
                let plan = vrt.plan(&options, &context).unwrap();
                assert_eq!(plan.mosaics.unwrap().blended > 0, blended, "{name}\n{plan}");
            }
        }
    }
}

/// A window that leaves the mosaic, and a smaller one, in one batch.
#[test]
fn masked_windows_of_mosaics_come_in_batches() {
    let folder = Folder::new("by-rules-in-batches");
    let context = Context::default();
    for (path, rules, _) in mosaics(&folder) {
        let (vrt, name) = (open(&path), path.display());
        let inputs = [Input::open(&path, &OpenOptions::default()).unwrap()];
        let windows =
            [BatchWindow::of_pixels(0, -10, -5, (60, 50)), BatchWindow::of_pixels(0, 40, 30, (60, 50))];
        let options = BatchOptions::default().masked(true);
        let inside = bits(&expected(&vrt, &rules, Some(Window::new(40, 30, 60, 50))));
        let corner = bits(&expected(&vrt, &rules, Some(Window::new(0, 0, 50, 45))));
        let check = |tensor: strile::Pixels| {
            let pixels = tensor.into_host(&context).unwrap().into_bytes().unwrap();
            let samples = pixels.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()));
            let samples = bits(&samples.collect::<Vec<_>>());
            let (first, second) = samples.split_at(samples.len() / 2);
            assert!(second == inside, "{name}");
            for (at, sample) in first.iter().enumerate() {
                let (band, row, column) = (at / 3000, at / 60 % 50, at % 60);
                let own = row.checked_sub(5).zip(column.checked_sub(10));
                let own = own.map(|(row, column)| corner[band * 45 * 50 + row * 50 + column]);
                assert_eq!(*sample, own.unwrap_or(u32::MAX), "{name} {band} {row} {column}");
            }
        };
        check(read_batch(&inputs, &windows, &options, &context).unwrap());
        check(read_batch_on_device(0, &inputs, &windows, &options.decode_on(device()), &context).unwrap());
    }
}

/// The mask by the nodata values of bands: 0 where every band is its own value.
#[test]
fn the_mask_is_where_a_band_differs_from_its_nodata() {
    let folder = Folder::new("by-values");
    let context = Context::default();
    tiles(&folder, 3, &[Codec::Deflate]);
    let own = |file, band| vec![copied(file, band, (3, 2))];
    let value = |text| (text, own("0.tif", "1"));
    let (seven, nine) = ("<NoDataValue>7</NoDataValue>", "<NoDataValue>9</NoDataValue>");
    let none = ("", own("0.tif", "2"));
    let cases = [
        ("one.vrt", vec![value(seven)]),
        ("same.vrt", vec![value(nine), (nine, own("1.tif", "2"))]),
        ("apart.vrt", vec![value(seven), (nine, own("1.tif", "2")), (seven, own("2.tif", "1"))]),
        ("without.vrt", vec![value(seven), none]),
        ("never.vrt", vec![value(seven), ("<NoDataValue>0.5</NoDataValue>", own("1.tif", "1"))]),
    ];
    for (name, bands) in cases {
        let vrt = open(&mosaic(&folder, name, &bands));
        for window in [None, Some(Window::new(0, 30, 60, 40))] {
            let mut options = ReadOptions::new().decode_on(Processor::Cpu);
            options.place.window = window;
            let stored = vrt.read(&options, &context).unwrap();
            let samples = stored.samples::<u16>().unwrap();
            let plane = samples.len() / usize::from(vrt.bands());
            let is_missing = |at: usize| {
                (1..=vrt.bands()).all(|band| {
                    let sample = samples[usize::from(band - 1) * plane + at];
                    vrt.nodata(band).is_some_and(|nodata| nodata.as_f64() == f64::from(sample))
                })
            };
            let expected: Vec<u8> = (0..plane).map(|at| if is_missing(at) { 0 } else { 255 }).collect();
            let is_masked = !matches!(name, "without.vrt" | "never.vrt");
            // Outside of its sources a mosaic has the nodata value.
            assert_eq!(expected.contains(&0), is_masked, "{name}");
            assert!(expected.contains(&255), "{name}");
            for engine in [Processor::Cpu, device()] {
                let mask = options.clone().layer(Layer::Mask).decode_on(engine);
                let found = vrt.read(&mask, &context).unwrap();
                assert!(found.bytes().unwrap() == expected, "{name} {window:?} by {engine:?}");
                let there = vrt.read_on_device(0, &mask, &context).unwrap();
                let plan = vrt.plan_on_device(0, &mask, &context).unwrap();
                let words = plan.to_string();
                if is_masked && engine != Processor::Cpu {
                    assert!(words.contains("the mask where a band differs from nodata on cuda:0"), "{words}");
                }
                assert!(
                    there.into_host(&context).unwrap().bytes().unwrap() == expected,
                    "{name} by {engine:?}"
                );
                let output = Output::new(found.spec().unwrap()).unwrap();
                vrt.read_into(&output, &mask, &context).unwrap();
                assert!(output.into_vec().unwrap() == expected, "{name} {window:?} by {engine:?}");
            }
        }
    }
}
