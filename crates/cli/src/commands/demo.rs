//! `strile demo`: a raster is made, written once per codec, read on every device, and compared.

mod quicklook;
mod terrain;

use crate::args::DemoArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::output::{print, table};
use std::path::{Path, PathBuf};
use std::time::Instant;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, Device, Predictor, ReadOptions};
use testkit::{Codec, Grid, ImageSpec, Pixels, geo_tags};

/// Pixels across and down: enough for every thread, few enough to end in seconds.
const SIZE: usize = 2048;
/// Reads of which the best counts.
const REPEAT: usize = 3;

const CODECS: [(&str, Codec, Predictor); 6] = [
    ("none", Codec::None, Predictor::None),
    ("packbits", Codec::PackBits, Predictor::None),
    ("lz4", Codec::Lz4, Predictor::None),
    ("lzw", Codec::Lzw, Predictor::FloatingPoint),
    ("deflate", Codec::Deflate, Predictor::FloatingPoint),
    ("zstd", Codec::Zstd, Predictor::FloatingPoint),
];

/// One codec's file.
struct Made {
    name: &'static str,
    path: PathBuf,
    size: u64,
}

pub fn run(args: &DemoArgs, session: &Session) -> Result<Outcome, Failure> {
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("strile-demo-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    session.note(&format!("making a {SIZE} × {SIZE} elevation model in {}", folder.display()));
    let sample = SampleType { format: SampleFormat::Float, bits: 32 };
    let pixels = terrain::generate(SIZE);
    let mut files = Vec::new();
    for (name, codec, predictor) in CODECS {
        let spec = geo_tags(32632, (500_000.0, 5_200_000.0), 10.0, false).into_iter().fold(
            ImageSpec::new(sample).grid(Grid::Tiles(256, 256)).codec(codec).predictor(predictor),
            ImageSpec::tag,
        );
        let path = folder.join(format!("dem-{name}.tif"));
        let built = spec.build(&pixels, ByteOrder::Little, false);
        std::fs::write(&path, &built.bytes).map_err(Failure::at(&path))?;
        files.push(Made { name, path, size: built.bytes.len() as u64 });
    }
    let context = Context { cancel: session.cancel.clone(), ..Context::default() };
    let mut rows =
        vec![["codec", "device", "file", "decoded", "seconds", "GB/s", "pixels"].map(str::to_owned).to_vec()];
    let mut differing = 0usize;
    for device in strile::devices().into_iter().filter(|device| device.usable) {
        let which = device_of(&device.name);
        for file in &files {
            let (seconds, same) = read(file, which, &pixels, &context)?;
            differing += usize::from(!same);
            rows.push(vec![
                file.name.to_owned(),
                device.name.clone(),
                strile::bytes::human(file.size),
                strile::bytes::human(pixels.bytes.len() as u64),
                format!("{seconds:.4}"),
                format!("{:.2}", rate(pixels.bytes.len(), seconds)),
                if same { "identical" } else { "DIFFERENT" }.to_owned(),
            ]);
        }
    }
    let picture = folder.join("quicklook.png");
    quicklook::write(&pixels, &picture)?;
    print(&format!("{}\n\nquicklook: {}", table(&rows), picture.display()))?;
    Ok(if differing == 0 { Outcome::Clean } else { Outcome::Found })
}

/// Best seconds, and whether every pixel of every read is as made.
fn read(file: &Made, device: Device, pixels: &Pixels, context: &Context) -> Result<(f64, bool), Failure> {
    let options = ReadOptions { device, ..Default::default() };
    let (mut seconds, mut same) = (f64::INFINITY, true);
    for _ in 0..REPEAT {
        let start = Instant::now();
        let raster = Dataset::open(Path::new(&file.path))?.read(&options, context)?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
        same &= raster.pixels == pixels.bytes;
    }
    Ok((seconds, same))
}

fn device_of(name: &str) -> Device {
    match name.strip_prefix("cuda:").and_then(|index| index.parse().ok()) {
        Some(index) => Device::Cuda(index),
        None => Device::Cpu,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate, shown with two digits")]
fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / 1e9 / seconds.max(1e-9)
}
