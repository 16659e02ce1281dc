//! `strile demo`: makes a raster, writes it once per codec, reads it on every device, and compares.

mod quicklook;
mod terrain;

use crate::args::DemoArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::output::{print, table};
use std::path::{Path, PathBuf};
use std::time::Instant;
use strile::io::FileSink;
use strile::read::Interleave;
use strile::tiff::geo::{Crs, GeoTransform};
use strile::write::Piece;
use strile::{Compression, Context, DataType, Dataset, Processor, ReadOptions};
use strile::{RasterSpec, Window, WriteOptions, Writer};
use terrain::Terrain;

/// Pixels across and down: enough for every thread, few enough to finish in seconds.
const SIZE: u32 = 2048;
/// Number of reads, of which the best counts.
const REPEAT: usize = 3;

const CODECS: [Compression; 6] = [
    Compression::None,
    Compression::PackBits,
    Compression::Lz4,
    Compression::Lzw,
    Compression::Deflate,
    Compression::Zstd,
];

/// The file of one codec.
struct Made {
    name: &'static str,
    path: PathBuf,
    size: u64,
    seconds: f64,
}

pub fn run(args: &DemoArgs, session: &Session) -> Result<Outcome, Failure> {
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("strile-demo-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    session.note(&format!("making a {SIZE} × {SIZE} elevation model in {}", folder.display()));
    let pixels = terrain::generate(SIZE);
    let context = Context { cancel: session.cancel.clone(), ..Context::default() };
    let make = |codec: Compression| make(codec, &folder, &pixels, &context);
    let files = CODECS.into_iter().map(make).collect::<Result<Vec<_>, _>>()?;
    let head = ["codec", "device", "file", "pixels", "written", "read", "GB/s", "read back"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut differing = 0usize;
    for device in strile::device::devices().into_iter().filter(|device| device.usable) {
        let which = device_of(&device.name);
        for file in &files {
            let (seconds, same) = read(file, which, &pixels, &context)?;
            differing += usize::from(!same);
            rows.push(vec![
                file.name.to_owned(),
                device.name.clone(),
                strile::bytes::human(file.size),
                strile::bytes::human(pixels.bytes.len() as u64),
                format!("{:.4} s", file.seconds),
                format!("{seconds:.4} s"),
                format!("{:.2}", rate(pixels.bytes.len(), seconds)),
                if same { "identical" } else { "DIFFERENT" }.to_owned(),
            ]);
        }
    }
    let picture = folder.join("quicklook.png");
    quicklook::write(&pixels, SIZE, &picture)?;
    print(&format!("{}\n\nquicklook: {}", table(&rows), picture.display()))?;
    Ok(if differing == 0 { Outcome::Clean } else { Outcome::Found })
}

/// Writes the model with a codec, in one piece.
fn make(codec: Compression, folder: &Path, pixels: &Terrain, context: &Context) -> Result<Made, Failure> {
    let path = folder.join(format!("dem-{}.tif", codec.name()));
    let mut spec = RasterSpec::new(SIZE, SIZE, 1, DataType::F32);
    let geo = &mut spec.metadata.georeference;
    geo.crs = Crs::from_user_input("EPSG:32632").ok();
    geo.transform = Some(GeoTransform { a: 10.0, b: 0.0, c: 500_000.0, d: 0.0, e: -10.0, f: 5_200_000.0 });
    let options = WriteOptions::new().compression(codec);
    let all = Window::new(0, 0, SIZE, SIZE);
    let start = Instant::now();
    let mut writer = Writer::create(Box::new(FileSink::create(&path, true)?), spec, &options, context)?;
    let piece = Piece::contiguous(all, 1, DataType::F32, Interleave::BandFirst, &pixels.bytes);
    writer.write(&piece.map_err(|error| Failure::Request(error.to_string(), None))?)?;
    let size = writer.finish()?.file_len;
    Ok(Made { name: codec.name(), path, size, seconds: start.elapsed().as_secs_f64() })
}

/// Returns the best time in seconds, and whether every read returned the original pixels.
fn read(file: &Made, device: Processor, pixels: &Terrain, context: &Context) -> Result<(f64, bool), Failure> {
    let options = ReadOptions::new().decode_on(device);
    let (mut seconds, mut same) = (f64::INFINITY, true);
    for _ in 0..REPEAT {
        let start = Instant::now();
        let raster = Dataset::open(Path::new(&file.path))?.read(&options, context)?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
        same &= raster.bytes()? == pixels.bytes;
    }
    Ok((seconds, same))
}

fn device_of(name: &str) -> Processor {
    match name.strip_prefix("cuda:").and_then(|index| index.parse().ok()) {
        Some(index) => Processor::Cuda(index),
        None => Processor::Cpu,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate, shown with two digits")]
fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / 1e9 / seconds.max(1e-9)
}
