//! Whole reads on a device equal those of the CPU: into host memory and into the device's, pulled and staged, windows,
//! bands, masks, damaged files.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first
//! GPU.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    dead_code,
    reason = "a test fails by panicking; the sources are those of other tests too"
)]

#[path = "reader/sources.rs"]
mod sources;

use sources::{open, open_bucket};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use strile::device::{Decode, DirectIo, Nvcomp};
use strile::engine::{Output, Report};
use strile::read::OnFault;
use strile::read::{Fetch, Interleave, MaskSource};
use strile::tiff::gdal::NoData;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, Error, Layer, Location, Processor};
use strile::{ReadOptions, Window};
use testkit::{Codec, Grid, ImageSpec, JpegOptions, Pattern, Pixels, Tag};

/// Puts the stand-in in the place of the driver, once.
fn device() -> Processor {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
            strile_emulate::StandIn::load().unwrap();
        }
    });
    Processor::Cuda(0)
}

fn by(device: Processor, options: &ReadOptions) -> ReadOptions {
    options.clone().decode_on(device)
}

/// One request by both engines, three ways; the report where it succeeds.
fn compare(dataset: &Dataset, options: &ReadOptions) -> Result<Option<Report>, String> {
    let context = Context::default();
    let cuda = by(device(), options);
    let words = |error: Error| error.to_string();
    let expected = dataset.read(&by(Processor::Cpu, options), &context).map_err(words);
    let host = dataset.read(&cuda, &context).map_err(words);
    let report = host.as_ref().ok().map(|pixels| pixels.report.clone());
    let there = dataset.read_on_device(0, &cuda, &context).and_then(|raster| {
        assert_eq!(raster.location(), Location::Cuda(0));
        raster.into_host(&context)
    });
    let same = |how: &str, found: &Result<strile::Pixels, String>| match (&expected, found) {
        (Ok(expected), Ok(found)) if expected == found => Ok(()),
        (Err(expected), Err(found)) if expected == found => Ok(()),
        (Ok(_), Ok(_)) => Err(format!("{how}: other pixels or faults, {options:?}")),
        (_, Err(found)) => Err(format!("{how}: `{found}`, {options:?}")),
        (Err(expected), Ok(_)) => Err(format!("{how}: pixels where `{expected}` is right, {options:?}")),
    };
    same("host", &host)?;
    same("device", &there.map_err(words))?;
    Ok(report)
}

/// Every page, level and mask.
fn compare_all(dataset: &Dataset) -> Result<(u64, u64), String> {
    let (mut blocks, mut host) = (0, 0);
    for (page, levels) in dataset.pages().iter().map(|page| page.levels.len()).enumerate() {
        for level in 0..levels {
            let options = ReadOptions::new().page(page).level(level);
            if let Some(report) = compare(dataset, &options)? {
                (blocks, host) = (blocks + report.blocks, host + report.host_blocks);
            }
            if dataset.mask_source(&options.place).unwrap() != MaskSource::AllValid {
                compare(dataset, &options.layer(Layer::Mask))?;
            }
        }
    }
    Ok((blocks, host))
}

fn fixtures_of(wanted: impl Fn(&str) -> bool) {
    let mut wrong = Vec::new();
    let fixtures: Vec<_> = testkit::fixtures().into_iter().filter(|f| wanted(&f.name)).collect();
    assert!(!fixtures.is_empty());
    for fixture in fixtures {
        if let Err(why) = compare_all(&open(fixture.bytes())) {
            wrong.push(format!("{}: {why}", fixture.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! fixtures {
    ($($name:ident: $($word:literal)|+;)+) => {$(
        #[test]
        fn $name() {
            fixtures_of(|name| [$($word),+].iter().any(|word| name.starts_with(word)));
        }
    )+};
}

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

fn file(codec: Codec) -> (Pixels, Vec<u8>) {
    let pixels = Pixels::generate(Pattern::LandCover, UINT16, [3, 200, 150], 3);
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 48)).codec(codec).sparse(&[2]);
    let bytes = spec.build(&pixels, ByteOrder::Big, false).bytes;
    (pixels, bytes)
}

/// Raster compares what was found too.
#[test]
fn a_value_is_found_as_on_the_cpu() {
    for codec in [Codec::None, Codec::Deflate, Codec::Lzw, Codec::Zstd, Codec::Lzma] {
        let (pixels, bytes) = file(codec.clone());
        let dataset = open(&bytes);
        let last = pixels.bytes.last_chunk::<2>().map(|bytes| u16::from_ne_bytes(*bytes)).unwrap();
        for value in [u32::from(last), 0, 65_521] {
            for interleave in [Interleave::BandFirst, Interleave::BandLast] {
                let options =
                    ReadOptions::new().interleave(interleave).look_for(NoData::Integer(value.into()));
                compare(&dataset, &options).unwrap();
                compare(&dataset, &options.clone().bands([3, 1]).window(Window::new(30, 20, 90, 70)))
                    .unwrap();
                compare(&dataset, &options.masked(true)).unwrap();
            }
        }
        let options = ReadOptions::new().look_for(NoData::Integer(last.into()));
        let found = dataset.read(&by(device(), &options), &Context::default()).unwrap();
        assert_eq!(found.report.found, Some(true), "{codec:?}");
    }
}

fixtures! {
    stored_files: "none";
    packbits_files: "packbits";
    lzw_files: "lzw";
    deflate_files: "deflate";
    zstd_files: "zstd";
    lz4_files: "lz4";
    lerc_files: "lerc";
    files_without_a_kernel: "png" | "lzma";
}

#[test]
fn blocks_with_kernels_are_decoded_there() {
    for codec in [Codec::None, Codec::PackBits, Codec::Lzw, Codec::Deflate, Codec::Zstd, Codec::Lz4] {
        let name = format!("{codec:?}");
        let (_, bytes) = file(codec);
        let (blocks, host) = compare_all(&open(&bytes)).unwrap();
        assert_eq!((blocks, host), (15, 0), "{name}");
    }
    let (_, bytes) = file(Codec::Lzma);
    // The sparse block of such a file is filled on the host too.
    assert_eq!(compare_all(&open(&bytes)).unwrap(), (15, 15));
}

#[test]
fn windows_and_bands_from_staged_and_pulled_bytes() {
    for codec in [Codec::Deflate, Codec::Lzma, Codec::None] {
        let (_, bytes) = file(codec);
        for (x, y, width, height) in [(0, 0, 1, 1), (63, 47, 2, 2), (10, 100, 140, 100), (149, 0, 1, 200)] {
            for interleave in [Interleave::BandFirst, Interleave::BandLast] {
                let window = Some(Window::new(x, y, width, height));
                let options = ReadOptions::new().window(window).bands([3, 1, 1]).interleave(interleave);
                compare(&open(&bytes), &options).unwrap();
                compare(&open_bucket(&bytes).1, &options).unwrap();
            }
        }
    }
}

/// 16 MiB of stored tiles into host memory where 12 MiB may be taken on the device: smaller batches do it. Its own
/// result does not fit there, which is said before anything is taken.
#[test]
fn a_read_larger_than_the_devices_memory_goes_in_batches() {
    let pixels = Pixels::generate(Pattern::LandCover, UINT16, [1, 4096, 2048], 4);
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(512, 512));
    let dataset = open(&spec.build(&pixels, ByteOrder::Little, false).bytes);
    let context = Context::default();
    let options = by(device(), &ReadOptions::default()).device_memory(12 << 20);
    let found = dataset.read(&options, &context).unwrap();
    let report = &found.report;
    let expected = dataset.read(&by(Processor::Cpu, &options), &context).unwrap();
    assert!(found == expected);
    assert_eq!((report.host_blocks, report.faults.len()), (0, 0));
    let refused = dataset.read_on_device(0, &options, &context).err().unwrap().to_string();
    assert!(refused.contains("16777216") || refused.contains("16.0 MiB"), "{refused}");
    // For other tests of the process.
    let all = options.device_memory(1 << 40).window(Window::new(0, 0, 1, 1));
    dataset.read(&all, &context).unwrap();
}

#[test]
fn damaged_blocks_are_the_same_faults() {
    for codec in [Codec::Deflate, Codec::Lzw, Codec::Zstd] {
        let (_, mut bytes) = file(codec);
        let at = bytes.len() / 2;
        bytes[at..at + 40].fill(0xA5);
        let dataset = open(&bytes);
        for on_fault in [OnFault::Fail, OnFault::Fill] {
            compare(&dataset, &ReadOptions::new().on_fault(on_fault)).unwrap();
        }
    }
}

#[test]
fn floats_are_the_same_wherever_they_are_made() {
    let xml = "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.1</Item></GDALMetadata>";
    let pixels = Pixels::generate(Pattern::LandCover, UINT16, [1, 200, 150], 3);
    let nodata = u16::from_ne_bytes(pixels.sample(0, 0, 0).try_into().unwrap());
    let tags = [testkit::nodata_tag(&nodata.to_string()), testkit::metadata_tag(xml), Tag::short(274, 6)];
    for codec in [Codec::None, Codec::Deflate, Codec::Lzma] {
        let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 48)).codec(codec).sparse(&[2]);
        let spec = tags.iter().fold(spec, |spec, tag| spec.tag(tag.clone()));
        let mut bytes = spec.build(&pixels, ByteOrder::Big, false).bytes;
        let (unpack, on_fault) = (true, OnFault::Fill);
        let window = Some(Window::new(10, 40, 130, 150));
        for damaged in [false, true] {
            if damaged {
                let at = bytes.len() / 2;
                bytes[at..at + 40].fill(0xA5);
            }
            for apply_orientation in [false, true] {
                let options =
                    ReadOptions::new().unpack(unpack).on_fault(on_fault).apply_orientation(apply_orientation);
                compare(&open(&bytes), &options).unwrap();
                compare(&open_bucket(&bytes).1, &options.window(window)).unwrap();
            }
        }
        let dataset = open(&bytes);
        let options = ReadOptions::new().unpack(unpack).on_fault(on_fault);
        let expected = dataset.read(&by(Processor::Cpu, &options), &Context::default()).unwrap();
        let there = dataset.read_on_device(0, &by(device(), &options), &Context::default()).unwrap();
        assert_eq!(there.output().unwrap().convert(), None);
        dataset.read_into(there.output().unwrap(), &options, &Context::default()).unwrap();
        assert!(
            there.into_host(&Context::default()).unwrap().into_bytes().unwrap() == expected.bytes().unwrap()
        );
    }
}

/// Turning and inverting are steps of the engine that decodes: nothing goes over the host on its way to the device.
#[test]
fn the_last_steps_are_done_where_the_pixels_are() {
    let pixels = Pixels::generate(Pattern::LandCover, UINT16, [2, 70, 90], 7);
    for orientation in 1..=8 {
        let spec = ImageSpec::new(UINT16).codec(Codec::Deflate).grid(Grid::Tiles(32, 16)).photometric(0);
        let dataset =
            open(&spec.tag(Tag::short(274, orientation)).build(&pixels, ByteOrder::Little, false).bytes);
        for (inverts, turns) in [(true, true), (true, false), (false, true)] {
            let options =
                ReadOptions::new().apply_orientation(turns).invert_min_is_white(inverts).decode_on(device());
            for interleave in [Interleave::BandFirst, Interleave::BandLast] {
                let options = options.clone().interleave(interleave);
                compare(&dataset, &options).unwrap();
                compare(&dataset, &options.window(Some(Window::new(13, 5, 50, 33)))).unwrap();
            }
        }
    }
    let spec = ImageSpec::new(UINT16).codec(Codec::Deflate).photometric(0).tag(Tag::short(274, 6));
    let dataset = open(&spec.build(&pixels, ByteOrder::Little, false).bytes);
    let options = ReadOptions::new().apply_orientation(true).invert_min_is_white(true).decode_on(device());
    let context = Context::default();
    let plan = dataset.plan_on_device(0, &options, &context).unwrap();
    assert_eq!(plan.after, ["white as maximum on cuda:0", "turned by Orientation 6 on cuda:0"]);
    assert_eq!(plan.destination, Location::Cuda(0));
    assert_eq!(plan.memory.scratch, plan.memory.output, "the image before it is turned");
    let inverted = dataset.plan_on_device(0, &options.clone().apply_orientation(false), &context).unwrap();
    assert_eq!((inverted.after, inverted.memory.scratch), (vec!["white as maximum on cuda:0".to_owned()], 0));
    let host = dataset.plan(&options, &context).unwrap();
    assert_eq!(host.after, ["white as maximum on the host", "turned by Orientation 6 on the host"]);
    let copied = dataset.plan_on_device(0, &by(Processor::Cpu, &options), &context).unwrap();
    assert_eq!(copied.after.last().unwrap(), "copied to memory of cuda:0");
    assert_eq!((copied.after.len(), copied.destination), (3, Location::Host));
    // A mask without a missing pixel is made there, too.
    compare(&dataset, &options.clone().layer(Layer::Mask)).unwrap();
    // The caller's memory.
    let expected = dataset.read(&by(Processor::Cpu, &options), &context).unwrap();
    let there = dataset.read_on_device(0, &options, &context).unwrap();
    dataset.read_into(there.output().unwrap(), &options, &context).unwrap();
    assert_eq!(there.into_host(&context).unwrap(), expected);
}

#[test]
fn an_output_on_a_device_is_written_by_its_engine() {
    let (pixels, bytes) = file(Codec::Deflate);
    let dataset = open(&bytes);
    let context = Context::default();
    let first = dataset.read_on_device(0, &by(device(), &ReadOptions::default()), &context).unwrap();
    // The sparse block holds zeros, not what was generated.
    let expected = dataset.read(&by(Processor::Cpu, &ReadOptions::default()), &context).unwrap();
    assert_eq!(expected.bytes().unwrap().len(), pixels.bytes.len());
    let output: Output = first.output().unwrap().clone();
    let plan = dataset.read_into(&output, &ReadOptions::default(), &context).unwrap();
    assert_eq!((plan.blocks, plan.host_blocks), (15, 0), "the GPU that holds the result decodes");
    drop(output);
    assert_eq!(first.into_host(&context).unwrap(), expected);
}

/// Who decodes and where the result lives are two questions, and all four answers give the same pixels.
#[test]
fn the_processor_that_decodes_and_the_memory_of_the_result_are_chosen_apart() {
    let (_, bytes) = file(Codec::Deflate);
    let context = Context::default();
    for dataset in [open(&bytes), open_bucket(&bytes).1] {
        let expected = dataset.read(&by(Processor::Cpu, &ReadOptions::default()), &context).unwrap();
        for decode_on in [Processor::Auto, Processor::Cpu, device()] {
            let options = by(decode_on, &ReadOptions::default());
            assert_eq!(dataset.read(&options, &context).unwrap(), expected, "{decode_on:?}");
            let plan = dataset.plan_on_device(0, &options, &context).unwrap();
            let there = dataset.read_on_device(0, &options, &context).unwrap();
            assert_eq!(there.location(), Location::Cuda(0));
            match decode_on {
                Processor::Cpu => assert_eq!(plan.after, ["copied to memory of cuda:0"]),
                _ => assert_eq!((plan.engine.as_str(), plan.after.len()), ("cuda:0", 0)),
            }
            let other = dataset.read_on_device(0, &by(device(), &ReadOptions::default()), &context).unwrap();
            dataset.read_into(other.output().unwrap(), &options, &context).unwrap();
            assert_eq!(
                other.into_host(&context).unwrap().into_bytes().unwrap(),
                expected.bytes().unwrap(),
                "{decode_on:?}"
            );
            assert_eq!(there.into_host(&context).unwrap(), expected, "{decode_on:?}");
        }
        let elsewhere = by(Processor::Cuda(1), &ReadOptions::default());
        let refused = dataset.read_on_device(0, &elsewhere, &context).err().unwrap().to_string();
        assert!(refused.contains("cuda:1 cannot decode into memory of cuda:0"), "{refused}");
    }
}

#[test]
fn the_plan_names_the_device_and_what_the_host_does() {
    let (_, bytes) = file(Codec::Deflate);
    let options = by(device(), &ReadOptions::default());
    let plan = open(&bytes).plan_on_device(0, &options, &Context::default()).unwrap();
    assert_eq!((plan.engine.as_str(), &plan.decode), ("cuda:0", &Decode::Kernels));
    let text = plan.to_string();
    assert!(text.contains("\nengine   cuda:0 (asked for)\ndecode   on cuda:0 by kernels; blocks"), "{text}");
    assert!(text.contains(", in memory of cuda:0\nmemory   up to "), "{text}");
    assert!(text.contains(" on the host, 0 B of it staging; up to "), "{text}");
    let (_, bytes) = file(Codec::Lzma);
    let text = open(&bytes).plan(&options, &Context::default()).unwrap().to_string();
    assert!(text.contains("\ndecode   on the host (no kernel for lzma), then one copy a batch\n"), "{text}");
}

/// One scan is one CUDA block's work: a strip of megabytes is decoded by the host, and the plan says so.
#[test]
fn the_plan_says_which_jpeg_blocks_are_too_long_for_kernels() {
    let bytes = SampleType { format: SampleFormat::Uint, bits: 8 };
    let pixels = Pixels::generate(Pattern::Bits, bytes, [1, 1500, 1600], 3);
    let jpeg = JpegOptions { quality: 100, chroma: None, shared_tables: true, progressive: false };
    let spec = ImageSpec::new(bytes).grid(Grid::Strips(1490)).codec(Codec::Jpeg(jpeg));
    let dataset = open(&spec.build(&pixels, ByteOrder::Little, false).bytes);
    let cuda = by(device(), &ReadOptions::default());
    let plan = dataset.plan(&cuda, &Context::default()).unwrap();
    let note = "1 block decoded on the host: longer than 2 MiB, each would hold the device for long";
    assert_eq!((&plan.decode, plan.notes.as_slice()), (&Decode::Kernels, &[note.to_owned()][..]));
    let report = compare(&dataset, &ReadOptions::default()).unwrap().unwrap();
    assert_eq!((report.blocks, report.host_blocks), (2, 1));
}

/// nvCOMP that decodes nothing.
extern "C" fn refuses(
    _codec: c_int,
    _src: *const c_void,
    _src_len: usize,
    _dst: *mut c_void,
    _room: usize,
    _written: *mut usize,
) -> c_int {
    12
}

#[test]
fn the_plan_says_what_optional_libraries_do() {
    let device = device();
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        return eprintln!("skipped: a device is required, and this is about the stand-ins");
    }
    strile_emulate::load_nvcomp(6000, refuses).unwrap();
    let (_, bytes) = file(Codec::Deflate);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.tif");
    std::fs::write(&path, &bytes).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    let context = Context::default();
    let plan = |nvcomp: Nvcomp, direct_io: DirectIo| {
        let options = by(device, &ReadOptions::default()).nvcomp(nvcomp).direct_io(direct_io);
        dataset.plan_on_device(0, &options, &context).unwrap()
    };
    let text = plan(Nvcomp::TrustedAlways, DirectIo::Off).to_string();
    let by_nvcomp =
        "\ndecode   on cuda:0 by nvCOMP 6.0.0, asked for; the file is trusted; blocks it does not take are";
    assert!(text.contains(by_nvcomp), "{text}");
    let text = plan(Nvcomp::Trusted, DirectIo::Off).to_string();
    assert!(text.contains("\nnote     not by nvCOMP 6.0.0: "), "{text}");
    assert!(text.contains("\ndecode   on cuda:0 by kernels; "), "{text}");
    let direct = plan(Nvcomp::Off, DirectIo::On);
    assert_eq!(direct.fetch, Fetch::Direct);
    assert!(direct.to_string().contains("\nfetch    read by cuFile into the memory of cuda:0\n"), "{direct}");
    if !std::path::Path::new("/proc/driver/nvidia-fs").exists() {
        let automatic = plan(Nvcomp::Off, DirectIo::Auto);
        assert_eq!(automatic.fetch, Fetch::Pulled);
        assert_eq!(automatic.notes, ["not read by cuFile: the kernel module `nvidia-fs` is not loaded"]);
    }
    // What nvCOMP does not decode, the host does; and a file that cuFile does not take is an error that says why.
    let options = by(device, &ReadOptions::default()).nvcomp(Nvcomp::TrustedAlways);
    let raster = dataset.read(&options, &context).unwrap();
    let report = &raster.report;
    assert_eq!(report.host_blocks, direct.figures().blocks as u64);
    assert_eq!(raster, dataset.read(&by(Processor::Cpu, &ReadOptions::default()), &context).unwrap());
    let standin = strile_emulate::StandIn::load().unwrap();
    standin.set("fail=cuFileHandleRegister:1:5027");
    let options = by(device, &ReadOptions::default()).direct_io(DirectIo::On);
    let error = dataset.read(&options, &context).unwrap_err().to_string();
    assert!(
        error.contains("5027 (the file could not be registered): the kernel module `nvidia-fs` is not"),
        "{error}"
    );
}
