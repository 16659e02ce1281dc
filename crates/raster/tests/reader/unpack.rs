//! Samples that become floats: nodata as NaN, values by scale and offset, and what cannot be asked for.

use crate::sources::{open, open_bucket, read, refusal};
use strile::engine::Output;
use strile::read::{FloatType, Interleave, PieceLimits};
use strile::tiff::gdal::NoData;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, DataType, Dataset, Layer, ReadOptions, Window};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Tag, metadata_tag, nodata_tag};

const INT_16: SampleType = SampleType { format: SampleFormat::Int, bits: 16 };

fn masked() -> ReadOptions {
    ReadOptions::new().masked(true)
}

fn unpack() -> ReadOptions {
    ReadOptions::new().unpack(true)
}

/// Scale and offset of each band, as GDAL writes them.
fn scales(bands: &[(&str, &str)]) -> Tag {
    let items: String = (0..)
        .zip(bands)
        .map(|(at, (scale, offset)): (usize, _)| {
            format!(
                "<Item name=\"OFFSET\" sample=\"{at}\" role=\"offset\">{offset}</Item>\
                 <Item name=\"SCALE\" sample=\"{at}\" role=\"scale\">{scale}</Item>"
            )
        })
        .collect();
    metadata_tag(&format!("<GDALMetadata>{items}</GDALMetadata>"))
}

fn bytes_of(spec: &ImageSpec, pixels: &Pixels) -> Vec<u8> {
    spec.build(pixels, ByteOrder::Little, false).bytes
}

fn made(spec: &ImageSpec, pixels: &Pixels) -> Dataset {
    open(&bytes_of(spec, pixels))
}

fn numbers(samples: &[i16]) -> Pixels {
    let mut pixels = Pixels::zeroed(DataType::I16, 1, 1, samples.len());
    pixels.bytes = samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect();
    pixels
}

fn floats(pixels: &[u8]) -> Vec<f32> {
    pixels.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn nodata_becomes_nan_and_values_what_they_mean() {
    let pixels = numbers(&[-9999, 0, 5, -7, i16::MAX]);
    let spec = ImageSpec::new(INT_16).tag(nodata_tag("-9999")).tag(scales(&[("0.1", "-273.15")]));
    let dataset = made(&spec, &pixels);
    assert_eq!(read(&dataset, &ReadOptions::default()).into_bytes().unwrap(), pixels.bytes, "not asked for");
    let seen = read(&dataset, &masked());
    assert_eq!(seen.data_type, DataType::F32);
    let seen = floats(seen.bytes().unwrap());
    assert!(seen[0].is_nan());
    assert_eq!(seen[1..], [0.0, 5.0, -7.0, 32767.0]);
    let seen = floats(&read(&dataset, &unpack()).into_bytes().unwrap());
    assert!(seen[0].is_nan());
    for (value, stored) in seen[1..].iter().zip([0.0f64, 5.0, -7.0, 32767.0]) {
        assert_eq!(*value, (stored * 0.1 + -273.15) as f32);
    }
}

#[test]
fn a_value_is_looked_for_while_pixels_are_read() {
    let pixels = numbers(&[0, 5, -7, i16::MAX, -9999]);
    let dataset = made(&ImageSpec::new(INT_16).tag(nodata_tag("-9999")), &pixels);
    let whole = Window::new(0, 0, 5, 1);
    let found = |options: &ReadOptions, value: NoData, window: Window| {
        read(&dataset, &options.clone().look_for(value).window(window)).report.found
    };
    assert_eq!(read(&dataset, &ReadOptions::new()).report.found, None, "not asked for");
    let plain = ReadOptions::new();
    assert_eq!(found(&plain, NoData::Integer(-9999), whole), Some(true));
    assert_eq!(found(&plain, NoData::Float(-9999.0), whole), Some(true));
    assert_eq!(found(&plain, NoData::Integer(-9999), Window::new(0, 0, 4, 1)), Some(false));
    assert_eq!(found(&plain, NoData::Integer(9999), whole), Some(false));
    assert_eq!(found(&plain, NoData::Float(5.5), whole), Some(false), "no sample can have it");
    assert_eq!(found(&plain, NoData::Integer(1 << 40), whole), Some(false), "no sample can have it");
    // What is missing is NaN then.
    assert_eq!(found(&masked(), NoData::Integer(-9999), whole), Some(true));
    assert_eq!(found(&masked(), NoData::Integer(-9999), Window::new(0, 0, 4, 1)), Some(false));
    assert_eq!(found(&unpack(), NoData::Integer(-9999), whole), Some(true));
    assert_eq!(
        found(&plain.layer(Layer::Mask), NoData::Integer(-9999), whole),
        None,
        "masks are not searched"
    );
}

#[test]
fn the_type_is_the_one_asked_for() {
    let dataset = made(&ImageSpec::new(INT_16).tag(nodata_tag("-9999")), &numbers(&[-9999, 5]));
    for (float_type, data_type) in [(FloatType::Float32, DataType::F32), (FloatType::Float64, DataType::F64)]
    {
        let options = masked().float_type(float_type);
        assert_eq!(read(&dataset, &options).data_type, data_type);
        let stored = options.masked(false);
        assert_eq!(read(&dataset, &stored).data_type, DataType::I16, "nothing is converted");
    }
}

#[test]
fn the_type_holds_every_stored_value() {
    use SampleFormat::{Float, Int, Uint};
    for (format, bits, wide) in [
        (Uint, 8, false),
        (Int, 8, false),
        (Uint, 12, false),
        (Uint, 16, false),
        (Int, 16, false),
        (Uint, 32, true),
        (Int, 32, true),
        (Uint, 64, true),
        (Int, 64, true),
        (Float, 16, false),
        (Float, 32, false),
        (Float, 64, true),
    ] {
        let sample = SampleType { format, bits };
        let pixels = Pixels::generate(Pattern::Bits, sample, [1, 7, 9], 3);
        let spec = ImageSpec::new(sample);
        let want = if wide { DataType::F64 } else { DataType::F32 };
        let seen = read(&made(&spec.clone().tag(nodata_tag("1")), &pixels), &masked());
        assert_eq!(seen.data_type, want, "{sample}");
        // Nothing to mask or to scale by: nothing changes.
        for options in [masked(), unpack()] {
            assert_eq!(read(&made(&spec, &pixels), &options).into_bytes().unwrap(), pixels.bytes, "{sample}");
        }
    }
}

/// Compressed tiles at the edges, one of them sparse, two bands: whole, in parts, into memory that was there.
#[test]
fn every_way_to_read_gives_the_same_floats() {
    let pixels = Pixels::generate(Pattern::Bits, INT_16, [2, 100, 150], 9);
    let spec = ImageSpec::new(INT_16)
        .grid(Grid::Tiles(64, 64))
        .codec(Codec::Deflate)
        .sparse(&[1])
        .tag(nodata_tag("77"))
        .tag(scales(&[("0.01", "3"), ("0.01", "3")]));
    let bytes = bytes_of(&spec, &pixels);
    let dataset = open(&bytes);
    let plain = read(&dataset, &ReadOptions::default());
    let whole = read(&dataset, &unpack());
    let stored = plain.bytes().unwrap().chunks(2).map(|b| i16::from_ne_bytes([b[0], b[1]]));
    let mut nan = 0;
    for (stored, value) in stored.zip(floats(whole.bytes().unwrap())) {
        match stored {
            77 => {
                assert_eq!(value.to_bits(), 0x7FC0_0000);
                nan += 1;
            }
            _ => assert_eq!(value, (f64::from(stored) * 0.01 + 3.0) as f32),
        }
    }
    assert!(nan >= 64 * 64, "the sparse tile is nodata");
    assert_eq!(whole.fill.0[..4], 0x7FC0_0000u32.to_ne_bytes());
    assert!(
        read(&open_bucket(&bytes).1, &unpack()).into_bytes().unwrap() == whole.bytes().unwrap(),
        "staged"
    );

    let output = Output::new(whole.spec().unwrap()).unwrap();
    dataset.read_into(&output, &unpack(), &Context::default()).unwrap();
    assert_eq!(output.convert(), None, "the caller's output is as it was");
    assert!(output.into_vec().unwrap() == whole.bytes().unwrap());

    let limits = PieceLimits::new().piece(30_000);
    let pieces = dataset.pieces(&unpack(), &limits, &Context::default()).unwrap();
    assert_eq!(pieces.data_type, DataType::F32);
    let mut joined: Vec<u8> = Vec::new();
    let give = |raster: strile::Pixels| {
        joined.extend(raster.bytes().unwrap());
        Ok::<_, strile::Error>(())
    };
    dataset.read_pieces(&pieces, &Context::default(), give).unwrap();
    assert!(joined == whole.bytes().unwrap());

    let window = Some(Window::new(60, 30, 10, 50));
    let options = unpack().window(window).bands([2]).interleave(Interleave::BandLast);
    let part = floats(&read(&dataset, &options).into_bytes().unwrap());
    let all = floats(whole.bytes().unwrap());
    for (row, line) in part.chunks(10).enumerate() {
        let from = (100 + 30 + row) * 150 + 60;
        let same = line.iter().zip(&all[from..]).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "row {row}");
    }
    // The mask is what it was.
    let mask = |options: ReadOptions| read(&dataset, &options.layer(Layer::Mask)).into_bytes().unwrap();
    assert!(mask(unpack()) == mask(ReadOptions::default()));
}

#[test]
fn the_plan_says_what_is_converted() {
    let line = |spec: &ImageSpec, options: &ReadOptions| {
        let plan = made(spec, &numbers(&[1, 2])).plan(options, &Context::default()).unwrap().to_string();
        plan.lines()
            .filter(|line| line.starts_with("convert") || line.starts_with("output"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let spec = ImageSpec::new(INT_16).tag(nodata_tag("-9999")).tag(scales(&[("0.1", "0")]));
    assert_eq!(
        line(&spec, &unpack()),
        ["convert  nodata -9999 to NaN, × 0.1 + 0, to float32", "output   1 band × 1 × 2 float32, 8 B"]
    );
    assert_eq!(line(&spec, &masked())[0], "convert  nodata -9999 to NaN, to float32");
    let spec = ImageSpec::new(INT_16).tag(scales(&[("2", "-1.5")]));
    assert_eq!(line(&spec, &unpack())[0], "convert  × 2 - 1.5, to float32");
    assert_eq!(line(&spec, &masked()), ["output   1 band × 1 × 2 int16, 4 B"]);
}

#[test]
fn what_has_no_one_meaning_is_refused() {
    let pixels = Pixels::generate(Pattern::Bits, INT_16, [2, 3, 4], 1);
    let dataset = made(&ImageSpec::new(INT_16).tag(scales(&[("0.1", "0"), ("0.2", "0")])), &pixels);
    assert_eq!(
        refusal(&dataset, &unpack()),
        "made.tif: bands 1 and 2 differ in scale and offset (0.1 and 0, 0.2 and 0): read them one at a time"
    );
    let second = read(&dataset, &unpack().bands([2]));
    let stored = i16::from_ne_bytes(pixels.sample(1, 0, 0).try_into().unwrap());
    assert_eq!(floats(second.bytes().unwrap())[0], (f64::from(stored) * 0.2 + 0.0) as f32);

    let one = Pixels::generate(Pattern::Bits, INT_16, [1, 3, 4], 1);
    let dataset = made(&ImageSpec::new(INT_16).tag(scales(&[("0", "1")])), &one);
    assert_eq!(
        refusal(&dataset, &unpack()),
        "made.tif: band 1 has scale 0 and offset 1, which give no values: read without"
    );
    let complex = SampleType { format: SampleFormat::ComplexFloat, bits: 64 };
    let dataset = made(
        &ImageSpec::new(complex).tag(nodata_tag("0")),
        &Pixels::generate(Pattern::Bits, complex, [1, 2, 2], 1),
    );
    assert_eq!(
        refusal(&dataset, &unpack()),
        "made.tif: samples of complex64 are neither scaled nor converted, read them as they are"
    );
    assert_eq!(
        refusal(&dataset, &masked().float_type(FloatType::Float32)),
        "made.tif: samples of complex64 are neither scaled nor converted, read them as they are"
    );
}

/// One band of one row.
fn row<const N: usize>(sample: SampleType, samples: &[[u8; N]]) -> Pixels {
    let mut pixels = Pixels::zeroed(sample.data_type().unwrap(), 1, 1, samples.len());
    pixels.bytes = samples.concat();
    pixels
}

#[test]
fn complex_samples_are_masked_by_their_real_part() {
    let complex = SampleType { format: SampleFormat::ComplexFloat, bits: 64 };
    let sample = |real: f32, imaginary: f32| -> [u8; 8] {
        [real.to_ne_bytes(), imaginary.to_ne_bytes()].concat().try_into().unwrap()
    };
    let stored = [sample(-9999.0, 0.0), sample(1.0, -9999.0), sample(-9999.0, 2.0), sample(f32::NAN, 1.0)];
    let dataset = made(&ImageSpec::new(complex).tag(nodata_tag("-9999")), &row(complex, &stored));
    let seen = read(&dataset, &masked());
    assert_eq!(seen.data_type, DataType::C64);
    let parts = floats(seen.bytes().unwrap());
    assert!(parts[0].is_nan() && parts[4].is_nan() && parts[6].is_nan());
    assert_eq!((&parts[1..4], &parts[5], &parts[7]), (&[0.0, 1.0, -9999.0][..], &0.0, &1.0));
    let plan = dataset.plan(&masked(), &Context::default()).unwrap();
    assert_eq!(plan.after, ["nodata as NaN on the host"]);
}

#[test]
fn nodata_of_floats_is_told_from_other_nan() {
    let float = SampleType { format: SampleFormat::Float, bits: 32 };
    for (stored, is_there) in [([1.5, f32::NAN, 2.5], false), ([1.5, f32::NAN, -9999.0], true)] {
        let samples = stored.map(f32::to_ne_bytes);
        let dataset = made(&ImageSpec::new(float).tag(nodata_tag("-9999")), &row(float, &samples));
        let seen = read(&dataset, &masked().look_for(NoData::Integer(-9999)));
        assert_eq!(seen.report.found, Some(is_there));
        let seen = floats(seen.bytes().unwrap());
        let wanted = stored.map(|value| if value == -9999.0 { f32::NAN } else { value });
        assert_eq!(seen.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), wanted.map(f32::to_bits));
        // Whatever is looked for, and found or not.
        for options in
            [masked(), masked().look_for(NoData::Integer(77)), masked().look_for(NoData::Float(1.5))]
        {
            let plain = floats(read(&dataset, &options).bytes().unwrap());
            assert_eq!(format!("{plain:?}"), format!("{seen:?}"));
        }
    }
}

#[test]
fn white_is_inverted_before_it_is_scaled_and_after_nodata_was_found() {
    let uint = SampleType { format: SampleFormat::Uint, bits: 8 };
    let spec = ImageSpec::new(uint).photometric(0).tag(nodata_tag("7")).tag(scales(&[("0.5", "10")]));
    let dataset = made(&spec, &row(uint, &[[7], [0], [255], [248]]));
    for (options, wanted) in
        [(masked(), [f32::NAN, 255.0, 0.0, 7.0]), (unpack(), [f32::NAN, 137.5, 10.0, 13.5])]
    {
        let options = options.invert_min_is_white(true);
        assert_eq!(format!("{:?}", floats(read(&dataset, &options).bytes().unwrap())), format!("{wanted:?}"));
        assert_eq!(dataset.plan(&options, &Context::default()).unwrap().after, [""; 0]);
    }
    let float = SampleType { format: SampleFormat::Float, bits: 32 };
    let spec = ImageSpec::new(float).photometric(0).tag(nodata_tag("7")).tag(scales(&[("0.5", "10")]));
    let dataset = made(&spec, &row(float, &[7.0f32, 0.25, -3.0, 8.0].map(f32::to_ne_bytes)));
    for (options, wanted) in [
        (ReadOptions::new(), [-7.0, -0.25, 3.0, -8.0]),
        (masked(), [f32::NAN, -0.25, 3.0, -8.0]),
        (masked().look_for(NoData::Integer(7)), [f32::NAN, -0.25, 3.0, -8.0]),
        (unpack(), [f32::NAN, 9.875, 11.5, 6.0]),
    ] {
        let seen = read(&dataset, &options.invert_min_is_white(true));
        assert_eq!(
            format!("{:?}", floats(seen.bytes().unwrap())).replace("-NaN", "NaN"),
            format!("{wanted:?}")
        );
    }
}

#[test]
fn scale_and_offset_can_be_given() {
    let dataset = made(&ImageSpec::new(INT_16).tag(scales(&[("0.1", "0")])), &numbers(&[4, -3]));
    let mut options = unpack();
    options.meaning = options.meaning.scaling(0.5, 1.0);
    assert_eq!(floats(read(&dataset, &options).bytes().unwrap()), [3.0, -0.5]);
}
