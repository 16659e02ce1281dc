//! Which engine a read gets and what is said about it, on machines with and without a GPU.
//!
//! What a GPU decodes is tested in `on_device.rs`; here nothing needs one, and what speaks of its absence is left out
//! where there is one.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::sync::Arc;
use strile::device::Decode;
use strile::io::MemorySource;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, Location, OpenOptions, Processor, ReadOptions};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

/// 8 × 8 tiles of 32 × 32.
fn dataset(codec: Codec) -> (Pixels, Dataset) {
    let pixels = Pixels::generate(Pattern::LandCover, UINT16, [1, 250, 250], 7);
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(32, 32)).codec(codec);
    let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
    let source = Arc::new(MemorySource::new("made.tif", bytes));
    (pixels, Dataset::from_source(source, &OpenOptions::default()).unwrap())
}

fn deflate() -> Codec {
    Codec::Deflate
}

/// Why there is no GPU here; `None` where there is one.
fn no_gpu() -> Option<String> {
    let gpus: Vec<_> = strile::device::devices().into_iter().filter(|device| device.name != "cpu").collect();
    assert!(!gpus.is_empty(), "the absence of a GPU is told too");
    if gpus.iter().any(|device| device.usable) {
        eprintln!("skipped: this machine has a GPU");
        return None;
    }
    Some(gpus[0].description.clone())
}

#[test]
fn small_reads_are_the_processors_and_say_why() {
    let context = Context::default();
    let (_, deflate) = dataset(deflate());
    let options = ReadOptions::default();
    let plan = deflate.plan(&options, &context).unwrap();
    let judged = plan.judged.clone().unwrap();
    assert_eq!((plan.engine.as_str(), &plan.decode), ("cpu", &Decode::Cpu));
    assert!(judged.estimate.cpu < judged.estimate.cuda, "{judged:?}");
    assert_eq!(plan.engine_reason, judged.estimate.to_string());
    let words = plan.to_string();
    assert!(words.contains("engine   cpu (estimated cpu 0."), "{words}");
    assert!(words.contains(&format!("\ncosts    constants: {}\n", judged.constants)), "{words}");
    let asked = ReadOptions::new().decode_on(Processor::Cpu);
    let plan = deflate.plan(&asked, &context).unwrap();
    assert_eq!((plan.engine_reason.as_str(), plan.judged), ("asked for", None));
    let (_, lzma) = dataset(Codec::Lzma);
    let plan = lzma.plan(&options, &context).unwrap();
    assert!(plan.engine_reason.contains("lzma") && plan.decode == Decode::Cpu, "{}", plan.engine_reason);
}

#[test]
fn without_a_gpu_one_sentence_says_why_and_auto_reads() {
    let Some(why) = no_gpu() else { return };
    assert!(!why.is_empty() && !why.ends_with('.') && why.lines().count() == 1, "{why}");
    let (pixels, dataset) = dataset(deflate());
    let context = Context::default();
    let plan = dataset.plan(&ReadOptions::default(), &context).unwrap();
    assert_eq!((plan.destination, plan.memory.device), (Location::Host, 0));
    let raster = dataset.read(&ReadOptions::default(), &context).unwrap();
    let report = &raster.report;
    assert_eq!((report.blocks, report.host_blocks), (64, 0));
    assert_eq!(raster.bytes().unwrap(), pixels.bytes);
}

#[test]
fn a_gpu_that_was_asked_for_is_not_replaced() {
    let Some(why) = no_gpu() else { return };
    let (_, dataset) = dataset(deflate());
    let options = ReadOptions::new().decode_on(Processor::Cuda(0));
    let expected = format!("made.tif: device `cuda:0` cannot be used: {why}");
    let context = Context::default();
    for decode_on in [Processor::Auto, Processor::Cpu, Processor::Cuda(0)] {
        let options = ReadOptions::new().decode_on(decode_on);
        let refused = dataset.read_on_device(0, &options, &context).err().unwrap();
        assert_eq!(refused.to_string(), expected, "{decode_on:?}");
    }
    assert_eq!(dataset.read(&options, &context).unwrap_err().to_string(), expected);
    assert_eq!(dataset.plan(&options, &context).unwrap_err().to_string(), expected);
}

#[test]
fn what_is_done_to_a_whole_result_is_in_the_plan_and_in_the_pixels() {
    let pixels = Pixels::generate(Pattern::LandCover, UINT16, [2, 30, 40], 7);
    let spec = ImageSpec::new(UINT16).photometric(0).tag(testkit::Tag::short(274, 6));
    let source = Arc::new(MemorySource::new("made.tif", spec.build(&pixels, ByteOrder::Little, false).bytes));
    let dataset = Dataset::from_source(source, &OpenOptions::default()).unwrap();
    let context = Context::default();
    for interleave in [strile::read::Interleave::BandFirst, strile::read::Interleave::BandLast] {
        let (apply_orientation, invert_min_is_white) = (true, true);
        let options = ReadOptions::new()
            .apply_orientation(apply_orientation)
            .invert_min_is_white(invert_min_is_white)
            .interleave(interleave);
        let plan = dataset.plan(&options, &context).unwrap();
        assert_eq!(plan.after, ["white as maximum on the host", "turned by Orientation 6 on the host"]);
        let words = "\nafter    white as maximum on the host, then turned by Orientation 6 on the host\n";
        assert!(plan.to_string().contains(words), "{plan}");
        assert_eq!(plan.shape, [1, 2, 40, 30]);
        assert_eq!((plan.memory.output, plan.memory.scratch), (4800, 4800), "the image before it is turned");
        let expected = dataset.read(&options, &context).unwrap();
        let output = strile::engine::Output::new(expected.spec().unwrap()).unwrap();
        let report = dataset.read_into(&output, &options, &context).unwrap();
        assert_eq!(report.blocks, plan.figures().blocks as u64);
        assert_eq!(output.into_vec().unwrap(), expected.bytes().unwrap());
    }
}
