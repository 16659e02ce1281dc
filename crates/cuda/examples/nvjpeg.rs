//! What nvJPEG2000 or nvJPEG makes of tiles on a device, and how fast: `nvjpeg KIND LIBRARY FOLDER`, KIND being `jpeg2000`,
//! `jpeg` or `jpeg-kernels` (without engines of the device). The folder has, for each set of tiles, NAME.bin (streams one
//! after the other), NAME.idx (offset and length of each, little-endian u64), NAME.ref (their samples) and NAME.txt: width,
//! height, samples, bits, `signed` or `unsigned`, `ycbcr` or `stored`, and how often they are repeated.
//!
//! Prints for each set the greatest difference of a sample, pictures that were refused, and GB/s with 1, 4 and 8 states.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use strile_cuda::device::Device;
use strile_cuda::picture::Decoder;
use strile_cuda::picture::nvjpeg::Nvjpeg;
use strile_cuda::picture::nvjpeg2000::Nvjpeg2000;
use strile_engine::BlockLayout;
use strile_tiff::{Compression, DataType, SampleFormat, SampleType, YCbCr};

#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]
#[path = "../tests/nvjpeg/batch.rs"]
mod batch;

type Failure = Box<dyn std::error::Error>;

struct Set {
    streams: Vec<batch::Stored>,
    samples: Vec<u8>,
    wide: bool,
    repeated: usize,
}

fn read(folder: &Path, name: &str, compression: Compression) -> Result<Set, Failure> {
    let file = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}")));
    let text = String::from_utf8(file("txt")?)?;
    let [width, height, samples, bits, sign, colour, repeated] =
        <[&str; 7]>::try_from(text.split_whitespace().collect::<Vec<_>>())
            .map_err(|_| "seven words expected")?;
    let format = if sign == "signed" { SampleFormat::Int } else { SampleFormat::Uint };
    let bits: u16 = bits.parse()?;
    let data_type = match (bits > 8, format) {
        (true, SampleFormat::Int) => DataType::I16,
        (true, _) => DataType::U16,
        _ => DataType::U8,
    };
    let stored = BlockLayout::stored(data_type, (width.parse()?, height.parse()?), samples.parse()?);
    let mut layout = BlockLayout { compression, sample: SampleType { format, bits }, ..stored };
    layout.extras.ycbcr = (colour == "ycbcr").then(YCbCr::default);
    let (layout, bytes) = (Arc::new(layout), file("bin")?);
    let mut streams = Vec::new();
    for words in file("idx")?.as_chunks::<16>().0 {
        let (offset, len) = words.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes);
        let start = usize::try_from(number(offset)?)?;
        let end = start + usize::try_from(number(len)?)?;
        streams.push((bytes.get(start..end).ok_or("outside of the streams")?.to_vec(), Arc::clone(&layout)));
    }
    Ok(Set { streams, samples: file("ref")?, wide: bits > 8, repeated: repeated.parse()? })
}

/// The greatest difference of two samples.
fn difference(found: &[u8], expected: &[u8], wide: bool) -> u16 {
    if wide {
        let pairs = found.as_chunks().0.iter().zip(expected.as_chunks().0);
        pairs.map(|(&a, &b)| u16::from_le_bytes(a).abs_diff(u16::from_le_bytes(b))).max().unwrap_or(0)
    } else {
        found.iter().zip(expected).map(|(&a, &b)| a.abs_diff(b).into()).max().unwrap_or(0)
    }
}

fn measure<D: Decoder>(decoder: &D, device: &Arc<Device>, set: &Set, title: &str) -> Result<(), Failure> {
    let one = set.streams.len();
    let streams: Vec<batch::Stored> = (0..set.repeated).flat_map(|_| set.streams.clone()).collect();
    let len = set.samples.len() / one.max(1);
    let mut best = f64::INFINITY;
    let (mut worst, mut refused) = (0, 0);
    for _ in 0..3 {
        let (found, took) =
            batch::timed(decoder, device, &streams).map_err(|stop| format!("{title}: {stop:?}"))?;
        best = best.min(took.as_secs_f64());
        let parts = set.samples.chunks_exact(len).cycle();
        for (found, expected) in found.iter().zip(parts) {
            match found {
                Some(found) => worst = worst.max(difference(found, expected, set.wide)),
                None => refused += 1,
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    let rate = (len * streams.len()) as f64 / best / 1e9;
    println!(
        "{title}: {} pictures, {refused} refused, greatest difference {worst}, {:.2} ms, {rate:.3} GB/s",
        streams.len(),
        best * 1e3
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, library, folder] =
        <[String; 3]>::try_from(arguments).map_err(|_| "KIND, LIBRARY and FOLDER expected")?;
    let device = Device::open(0)?;
    let (library, folder) = (OsStr::new(&library), Path::new(&folder));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("txt")) {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    for name in names {
        if kind == "jpeg2000" {
            let set = read(folder, &name, Compression::Jpeg2000)?;
            for states in [1, 4, 8] {
                let decoder = Nvjpeg2000::load(&device, library, states)?;
                let title = format!("{name}: {} with {states} states", decoder.name());
                measure(&decoder, &device, &set, &title)?;
                println!("  it has taken {} MB", decoder.taken() / 1_000_000);
            }
        } else {
            let set = read(folder, &name, Compression::Jpeg)?;
            let decoder = Nvjpeg::load(&device, library, kind == "jpeg")?;
            measure(&decoder, &device, &set, &format!("{name}: {}", decoder.name()))?;
            println!("  it has taken {} MB", decoder.taken() / 1_000_000);
        }
    }
    Ok(())
}
