//! What decoding takes is counted before it is taken: peaks of an allocator that counts, held against budgets.
//!
//! Memory of libraries in C is not seen here; `strile-cli` has tests of whole processes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    unsafe_code,
    reason = "a test fails by panicking, and knows its numbers; an allocator is unsafe"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_cpu::CpuEngine;
use strile_engine::*;
use strile_tiff::{ByteOrder, Compression, LercWrapper, Photometric, Predictor, SampleFormat, SampleType};

/// The system's allocator, and how much it has given.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests measure one after the other.
static ALONE: Mutex<()> = Mutex::new(());

const MIB: u64 = 1 << 20;
/// What is not counted: lists of the job, tables that a thread keeps, an error.
const SLACK: u64 = MIB;

fn strip(compression: Compression, (width, height): (u32, u32), samples: u16) -> BlockLayout {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    BlockLayout {
        width,
        height,
        samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().unwrap(),
        byte_order: ByteOrder::NATIVE,
        reverse_bits: false,
        compression,
        predictor: Predictor::None,
        is_strip: true,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    }
}

/// What a read of one block took.
struct Taken {
    result: Result<Report, EngineError>,
    /// As the allocator saw it.
    peak: u64,
    /// As the budget did.
    counted: u64,
}

/// Decodes the first `rows` rows of a block on one thread, with a budget of `limit` bytes.
fn decode(layout: &BlockLayout, rows: u32, src: &[u8], limit: u64) -> Taken {
    let spec = OutputSpec::band_last(layout.data_type, layout.samples.into(), rows, layout.width).unwrap();
    let output = Output::new(spec).unwrap();
    let span = Some(Span { offset: 0, len: src.len() as u64 });
    let placement = Placement {
        rows,
        image_rows: rows,
        block_x: 0,
        block_y: 0,
        width: layout.width,
        height: rows,
        out_x: 0,
        out_y: 0,
        first_band: 0,
    };
    let task = BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span,
        address: BlockAddress::default(),
        placement,
    };
    let selection = (0..layout.samples).collect();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], vec![selection], vec![task]).unwrap();
    let encoded = Encoded::Staged(Arc::new(Arena::from_vec(src.to_vec())));
    let budget = Arc::new(Budget::new(limit));
    let context = Context { budget: Arc::clone(&budget), threads: NonZeroUsize::MIN, ..Context::default() };
    // The threads of the pool are there before.
    CpuEngine::new().threads();
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let ticket = CpuEngine::new().submit(job, encoded, std::slice::from_ref(&output), &context);
    let result = ticket.and_then(Ticket::wait);
    let peak = (PEAK.load(Ordering::Relaxed) - before) as u64;
    Taken { result, peak, counted: budget.peak() }
}

/// With room it decodes, and takes no more than was counted; without it is refused, before it takes it.
fn check(name: &str, layout: &BlockLayout, rows: u32, src: &[u8], (too_little, enough): (u64, u64)) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = decode(layout, rows, src, enough);
    let report = taken.result.unwrap();
    assert_eq!(report.faults, [], "{name}");
    println!("{name}: {} KiB taken, {} KiB counted", taken.peak >> 10, taken.counted >> 10);
    assert!(
        taken.peak <= taken.counted + SLACK,
        "{name}: {} bytes taken, {} counted",
        taken.peak,
        taken.counted
    );
    let refused = decode(layout, rows, src, too_little);
    assert!(matches!(refused.result, Err(EngineError::Budget(_))), "{name}: {:?}", refused.result);
    assert!(refused.peak <= too_little + SLACK, "{name}: {} bytes taken of {too_little}", refused.peak);
    drop(alone);
}

/// The first row of a strip that holds all its rows is decoded within a few megabytes.
fn check_in_pieces(name: &str, layout: &BlockLayout, src: &[u8]) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = decode(layout, 1, src, 8 * MIB);
    assert_eq!(taken.result.unwrap().faults, [], "{name}");
    assert!(taken.peak < 6 * MIB, "{name}: {} bytes", taken.peak);
}

/// Waves with noise: not too easy for any codec.
fn picture(width: u32, height: u32, samples: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let mut pixels = Vec::with_capacity((width * height * samples) as usize);
    for y in 0..height {
        for x in 0..width {
            for c in 0..samples {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                pixels.push((x / 3 + y / 5 + c * 40 + (state >> 29)) as u8);
            }
        }
    }
    pixels
}

/// Bug: a last strip was inflated whole, width times RowsPerStrip, outside of the budget, and kept for ever.
#[test]
fn deflate_lz4_and_png_strips_with_all_their_rows_are_decoded_in_pieces() {
    let (width, height) = (1024, 65_536);
    let zeros = vec![0_u8; width as usize * height as usize];
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut zlib = vec![0; compressor.zlib_compress_bound(zeros.len())];
    let len = compressor.zlib_compress(&zeros, &mut zlib).unwrap();
    zlib.truncate(len);
    let lz4 = lz4_flex::block::compress(&zeros);
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&zeros).unwrap();
    let zstd = zstd::bulk::compress(&zeros, 3).unwrap();
    drop(zeros);
    check_in_pieces("deflate", &strip(Compression::Deflate, (width, height), 1), &zlib);
    check_in_pieces("lz4", &strip(Compression::Lz4, (width, height), 1), &lz4);
    check_in_pieces("png", &strip(Compression::Png, (width, height), 1), &png);
    // The window is one of zstd's own, which the counter does not see; the budget does.
    let zstd = decode(&strip(Compression::Zstd, (width, height), 1), 1, &zstd, 16 * MIB);
    assert_eq!(zstd.result.unwrap().faults, []);
    assert!((MIB..12 * MIB).contains(&zstd.counted), "{}", zstd.counted);
}

/// Bug: what the decoders of pictures took was not counted: JPEG XL took 1.4 GB with a limit of 256 MiB.
#[test]
fn jpeg_xl_is_counted() {
    use zune_core::{bit_depth::BitDepth, colorspace::ColorSpace, options::EncoderOptions};
    let (width, height) = (1200, 900);
    let options = EncoderOptions::new(width, height, ColorSpace::RGB, BitDepth::Eight).set_num_threads(1);
    let pixels = picture(width as u32, height as u32, 3);
    let mut src = Vec::new();
    zune_jpegxl::JxlSimpleEncoder::new(&pixels, options).encode(&mut src).unwrap();
    let layout = strip(Compression::JpegXl, (width as u32, height as u32), 3);
    check("jpeg xl", &layout, height as u32, &src, (8 * MIB, 512 * MIB));
    check(
        "jpeg xl, last strip",
        &strip(Compression::JpegXl, (width as u32, height as u32), 3),
        10,
        &src,
        (8 * MIB, 512 * MIB),
    );
    for (name, src) in [("modular", MODULAR), ("var-dct", VAR_DCT)] {
        let layout = strip(Compression::JpegXl, (512, 384), 3);
        check(name, &layout, 384, src, (2 * MIB, 512 * MIB));
    }
}

/// 512 x 384 pixels of RGB by libjxl: without loss at effort 7, and with loss at distance 1, with its filters.
const MODULAR: &[u8] = include_bytes!("data/memory_modular.jxl");
const VAR_DCT: &[u8] = include_bytes!("data/memory_var_dct.jxl");

#[test]
fn webp_is_counted() {
    let (width, height) = (1200, 900);
    for (name, samples, colour) in
        [("webp rgb", 3, image_webp::ColorType::Rgb8), ("webp rgba", 4, image_webp::ColorType::Rgba8)]
    {
        let pixels = picture(width, height, samples);
        let mut src = Vec::new();
        image_webp::WebPEncoder::new(&mut src).encode(&pixels, width, height, colour).unwrap();
        let layout = strip(Compression::WebP, (width, height), samples as u16);
        check(name, &layout, height, &src, (4 * MIB, 256 * MIB));
        check(name, &layout, 10, &src, (4 * MIB, 256 * MIB));
        let encoder = |pixels| match samples {
            3 => webp::Encoder::from_rgb(pixels, width, height),
            _ => webp::Encoder::from_rgba(pixels, width, height),
        };
        // libwebp groups codes: hundreds of them.
        let lossless = encoder(&pixels).encode_lossless().to_vec();
        check(name, &layout, height, &lossless, (4 * MIB, 256 * MIB));
        let lossy = encoder(&pixels).encode(80.0).to_vec();
        check(name, &layout, height, &lossy, (4 * MIB, 256 * MIB));
    }
}

#[test]
fn png_lerc_and_jpeg_are_counted() {
    let (width, height) = (1200, 900);
    let pixels = picture(width, height, 3);
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    check("png", &strip(Compression::Png, (width, height), 3), height, &png, (MIB, 64 * MIB));
    let view = lerc_core::RasterView::new(width, height, 3, &pixels[..]).unwrap();
    let lerc = lerc_writer::encode(view, None, lerc_writer::EncodeOptions::new()).unwrap();
    check("lerc", &strip(Compression::Lerc, (width, height), 3), height, &lerc, (4 * MIB, 64 * MIB));
    check("lerc", &strip(Compression::Lerc, (width, height), 3), 7, &lerc, (4 * MIB, 64 * MIB));
    let jpeg = strip(Compression::Jpeg, (512, 384), 3);
    check("progressive jpeg", &jpeg, 384, PROGRESSIVE, (MIB / 2, 64 * MIB));
    check("progressive jpeg", &jpeg, 8, PROGRESSIVE, (MIB / 2, 64 * MIB));
}

/// 512 x 384 pixels of RGB in several scans, by libjpeg-turbo.
const PROGRESSIVE: &[u8] = include_bytes!("data/memory_progressive.jpg");

/// A dictionary of 64 MiB, whatever the block needs, by the strongest preset of xz.
#[test]
fn the_dictionary_of_lzma_is_counted() {
    use liblzma::stream::{Action, Check, Stream};
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pixels = picture(256, 256, 1);
    let mut stream = Stream::new_easy_encoder(9, Check::Crc32).unwrap();
    let mut src = Vec::with_capacity(pixels.len() * 2 + 1000);
    stream.process_vec(&pixels, &mut src, Action::Finish).unwrap();
    let layout = strip(Compression::Lzma, (256, 256), 1);
    let taken = decode(&layout, 256, &src, 128 * MIB);
    assert_eq!(taken.result.unwrap().faults, []);
    assert!(taken.counted > 64 * MIB, "{}", taken.counted);
    let refused = decode(&layout, 256, &src, 48 * MIB);
    let Err(EngineError::Budget(error)) = refused.result else { panic!("{:?}", refused.result) };
    assert_eq!(error.purpose, "an LZMA dictionary");
}

/// A stream whose size is not the block's is refused before the decoder allocates by it, and the fault is the block's.
#[test]
fn a_picture_of_another_size_is_a_fault_of_its_block() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = decode(&strip(Compression::JpegXl, (16, 16), 3), 16, MODULAR, 64 * MIB);
    let faults = taken.result.unwrap().faults;
    assert_eq!(faults[0].fault.kind, FaultKind::WrongShape);
    assert!(taken.peak < 2 * MIB, "{}", taken.peak);
}
