//! Files put onto a grid and written with a device: the bytes are those of the CPU, whichever of them decodes and encodes.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first GPU.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use strile::convert::{Tiling, TilingScheme};
use strile::crs::{Crs, TransformOptions};
use strile::engine::Budget;
use strile::grid::{Grid, Placement, Placing, Top, WarpOptions, WarpSampling, WarpWriter};
use strile::io::{MemorySink, MemorySource};
use strile::tiff::geo::GeoTransform;
use strile::tiff::{ByteOrder, Planar, SampleFormat, SampleType};
use strile::write::{BlockChoice, Format, Overviews};
use strile::{Compression, Context, Dataset, Location, OpenOptions, Processor, ReadOptions, WriteOptions};
use testkit::{Codec, ImageSpec, Pattern, Pixels, geo_tags, nodata_tag};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };
const CPU: Processor = Processor::Cpu;
const CUDA: Processor = Processor::Cuda(0);

/// Pixels of 10 m in UTM zone 33, whose column begins at `left`.
fn scene(left: f64, seed: u64) -> Dataset {
    let tags = geo_tags(32633, (left, 5_538_630.0), 10.0, false);
    let spec = ImageSpec::new(UINT16).grid(testkit::Grid::Tiles(64, 64)).codec(Codec::Deflate);
    let spec = tags.into_iter().fold(spec, ImageSpec::tag).tag(nodata_tag("7"));
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [2, 180, 200], seed);
    let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
    Dataset::from_source(Arc::new(MemorySource::new("scene", bytes)), &OpenOptions::default()).unwrap()
}

/// Web Mercator over the scenes, and beyond them.
fn mercator() -> Grid {
    let transform = GeoTransform { a: 17.0, b: 0.0, c: 1_669_500.0, d: 0.0, e: -17.0, f: 6_446_600.0 };
    Grid::new(Crs::from_epsg(3857).unwrap(), transform, 290, 200).unwrap()
}

/// The file that is written, and how many pieces it was made of.
fn written(
    files: &[Dataset],
    read: &ReadOptions,
    (write, tiling): (&WriteOptions, Option<Tiling>),
    ([decode_on, encode_on], memory): ([Processor; 2], u64),
) -> (Vec<u8>, usize) {
    let read = read.clone().decode_on(decode_on);
    let write = WriteOptions { encode_on, reproducible: true, ..write.clone() };
    let context = Context { budget: Arc::new(Budget::new(memory)), ..Context::default() };
    let sink = MemorySink::new();
    let handle = sink.handle();
    let warp = WarpWriter::plan(files, Box::new(sink), &read, (&write, tiling), &context).unwrap();
    let told = warp.explain();
    let pieces = told.strip_prefix("pieces   ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    // Pixels come where they are encoded.
    let place = if encode_on == CUDA { Location::Cuda(0) } else { Location::Host };
    assert_eq!(
        told.contains("copied to memory of cuda:0"),
        decode_on == CPU && place != Location::Host,
        "{told}"
    );
    warp.run(&context).unwrap();
    (handle.take().unwrap().bytes, pieces.unwrap_or(1))
}

/// The same bytes from each pair of engines. Returns the number of pieces.
fn all_alike(
    name: &str,
    files: &[Dataset],
    read: &ReadOptions,
    write: (&WriteOptions, Option<Tiling>),
    memory: u64,
) -> usize {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        strile_emulate::StandIn::load().unwrap();
    }
    let (expected, pieces) = written(files, read, write, ([CPU, CPU], memory));
    for engines in [[CUDA, CPU], [CPU, CUDA], [CUDA, CUDA]] {
        let (found, _) = written(files, read, write, (engines, memory));
        assert!(found == expected, "{name}, {engines:?}: {} and {} bytes", found.len(), expected.len());
    }
    pieces
}

#[test]
fn a_device_writes_the_bytes_of_the_cpu() {
    let files = [scene(500_000.0, 3), scene(501_200.0, 4)];
    for (sampling, top, planar) in [
        (WarpSampling::Nearest, Top::Last, Planar::Chunky),
        (WarpSampling::Cubic, Top::First, Planar::Separate),
    ] {
        let warp = WarpOptions::new().resampling(sampling).top(top);
        let read = ReadOptions::new().onto(mercator(), warp);
        let write = WriteOptions {
            compression: Compression::Deflate,
            blocks: BlockChoice::Tiles { width: 64, height: 64 },
            planar,
            ..WriteOptions::default()
        };
        let name = format!("{sampling:?}, {planar:?}");
        assert_eq!(all_alike(&name, &files, &read, (&write, None), 1 << 32), 1);
        // An eighth of memory is a row of tiles, and not two.
        let pieces = all_alike(&name, &files, &read, (&write, None), 8 * 290 * 64 * 4 * 3 / 2);
        assert_eq!(pieces, 4, "{name}");
    }
}

/// Tiles of web maps reach beyond the raster: a mask is written, too, and overviews.
#[test]
fn a_device_writes_tiles_of_web_maps() {
    let files = [scene(500_000.0, 3)];
    let georeference = &files[0].metadata().georeference;
    let placing = Placing::default();
    let placement = Placement::of(georeference, 200, 180, &placing, &Context::default()).unwrap();
    let tiling = Tiling::from(TilingScheme::GoogleMapsCompatible);
    let grid = tiling.grid(&[placement], 256, &TransformOptions::default()).unwrap();
    let read = ReadOptions::new().onto(grid, WarpOptions::new().resampling(WarpSampling::Bilinear));
    let write = WriteOptions {
        format: Format::Cog,
        compression: Compression::Deflate,
        blocks: BlockChoice::Tiles { width: 256, height: 256 },
        overviews: Overviews::Auto,
        ..WriteOptions::default()
    };
    all_alike("tiles", &files, &read, (&write, Some(tiling)), 1 << 32);
}
