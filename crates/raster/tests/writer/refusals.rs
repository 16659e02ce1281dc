//! What cannot be written is an error with its reason, and leaves nothing.

use crate::{Cut, cut_out, spec_of, write_to_memory};
use strile::io::MemorySink;
use strile::read::Interleave;
use strile::tiff::Predictor;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{BigTiff, BlockChoice, Format, Piece, PredictorChoice};
use strile::{Compression, Context, DataType, RasterSpec, Window, WriteOptions, Writer};
use testkit::{Pattern, Pixels};

fn small() -> Pixels {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    Pixels::generate(Pattern::Noise, sample, [1, 40, 50], 3)
}

fn begin(options: &WriteOptions) -> Writer {
    Writer::create(Box::new(MemorySink::new()), spec_of(&small()), options, &Context::default()).unwrap()
}

fn give(writer: &mut Writer, window: Window) -> Result<(), String> {
    let bytes = cut_out(&small(), window, Interleave::BandFirst);
    let piece = Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &bytes).unwrap();
    writer.write(&piece).map_err(|error| error.to_string())
}

#[test]
fn pixels_given_twice_or_never_or_outside() {
    let options = WriteOptions::new().blocks(BlockChoice::Tiles { width: 16, height: 16 });
    let top = Window::new(0, 0, 50, 20);
    let mut writer = begin(&options);
    give(&mut writer, top).unwrap();
    let error = give(&mut writer, Window::new(3, 19, 1, 1)).unwrap_err();
    assert!(error.ends_with("are given twice"), "{error}");
    assert!(give(&mut writer, top).unwrap_err().ends_with("given up after an error"));

    let mut writer = begin(&options);
    give(&mut writer, top).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.starts_with("memory: pixels of ") && error.ends_with("were never given"), "{error}");

    let window = Window::new(0, 39, 50, 2);
    let piece = Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &[0; 100]).unwrap();
    let error = begin(&options).write(&piece).unwrap_err().to_string();
    assert!(error.ends_with("is not inside the image of 50 × 40 pixels"), "{error}");
}

#[test]
fn a_piece_of_another_shape_or_type() {
    let window = Window::new(0, 0, 50, 1);
    let piece = Piece::contiguous(window, 1, DataType::U16, Interleave::BandFirst, &[0; 100]).unwrap();
    let error = begin(&WriteOptions::default()).write(&piece).unwrap_err().to_string();
    assert!(error.ends_with(": expected 1 × 1 × 50 of uint8, got 1 × 1 × 50 of uint16"), "{error}");
    let piece = Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &[0; 49]).unwrap();
    let error = begin(&WriteOptions::default()).write(&piece).unwrap_err().to_string();
    assert!(error.ends_with(": expected 50 bytes, got 49"), "{error}");
    let piece = Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &[0; 50]).unwrap();
    let error = begin(&WriteOptions::default()).write(&piece.with_mask(&[1; 50])).unwrap_err().to_string();
    assert!(error.contains(": expected 0 bytes, got 50"), "{error}");
}

#[test]
fn options_that_contradict_the_raster() {
    let pixels = small();
    let refuse = |spec: RasterSpec, options: WriteOptions, words: &str| {
        let context = Context::default();
        let result =
            write_to_memory(&pixels, None, spec, &options, Cut::Eager, Interleave::BandFirst, &context);
        let error = result.expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    let spec = || spec_of(&pixels);
    let options = WriteOptions::default;
    let tiles = BlockChoice::Tiles { width: 20, height: 16 };
    refuse(spec(), options().blocks(tiles), "multiples of 16, got ");
    let strips = BlockChoice::Strips { rows: 1 };
    refuse(spec(), options().blocks(strips).format(Format::Cog), "tiles, not strips");
    refuse(spec(), options().bits(12), "12 bits");
    refuse(spec(), options().level(99), "99");
    let fixed = PredictorChoice::Fixed(Predictor::FloatingPoint);
    refuse(spec(), options().predictor(fixed), "predictor");
    refuse(spec(), options().compression(Compression::JpegXl), "no free encoder");
    refuse(spec(), options().ycbcr((2, 2)), "YCbCr is for JPEG");
    refuse(spec(), options().bits(4), "cannot be stored");
    let mut empty = spec();
    empty.width = 0;
    let result = Writer::create(Box::new(MemorySink::new()), empty, &options(), &Context::default());
    assert!(result.err().unwrap().to_string().contains("has no pixels"));
}

/// Pieces from the bottom up cannot stream into a plain file.
#[test]
fn the_wrong_order_without_a_spool() {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let noise = Pixels::generate(Pattern::Bits, sample, [1, 512, 512], 3);
    let options = WriteOptions::new().blocks(BlockChoice::Tiles { width: 64, height: 64 }).buffer(1 << 16);
    let context = Context::default();
    let write = |options: &WriteOptions| {
        let cut = Cut::Backwards(64, 64);
        write_to_memory(&noise, None, spec_of(&noise), options, cut, Interleave::BandFirst, &context)
    };
    let error = write(&options).unwrap_err().to_string();
    assert!(error.contains("set `spooled`"), "{error}");
    write(&options.spooled(true)).unwrap();
}

/// A classic file that would pass 4 GiB is planned as BigTIFF, and refused as classic only when it is too large.
#[test]
fn big_tiff_is_decided_from_the_bound() {
    let spec = RasterSpec::new(100_000, 100_000, 1, DataType::U16);
    let explain = |big_tiff: BigTiff| {
        let options = WriteOptions::new().big_tiff(big_tiff);
        Writer::create(Box::new(MemorySink::new()), spec.clone(), &options, &Context::default())
            .unwrap()
            .explain()
    };
    assert!(explain(BigTiff::IfNeeded).contains("BigTIFF"));
    assert!(explain(BigTiff::No).contains("classic TIFF"));
    let small = RasterSpec::new(30_000, 30_000, 1, DataType::U16);
    let safer = WriteOptions::new().big_tiff(BigTiff::IfSafer);
    let plan = |options: &WriteOptions| {
        let sink = Box::new(MemorySink::new());
        Writer::create(sink, small.clone(), options, &Context::default()).unwrap().explain()
    };
    assert!(plan(&WriteOptions::default()).contains("classic TIFF"));
    assert!(plan(&safer).contains("classic TIFF"), "1.8 GB and a little are below half of 4 GiB");
}

/// One pixel of 65,535 planes in tiles of 512 × 512 is 16 GiB of padding.
#[test]
fn tiles_that_are_almost_all_padding() {
    let spec = RasterSpec::new(1, 1, u16::MAX, DataType::U8);
    let separate = WriteOptions::new().planar(strile::tiff::Planar::Separate);
    let create = |options: &WriteOptions| {
        Writer::create(Box::new(MemorySink::new()), spec.clone(), options, &Context::default())
    };
    let error = create(&separate).err().unwrap().to_string();
    assert!(error.ends_with("for 65535 bytes of pixels; choose smaller ones"), "{error}");
    let small = separate.blocks(BlockChoice::Tiles { width: 16, height: 16 });
    assert!(create(&small).is_ok());
}
