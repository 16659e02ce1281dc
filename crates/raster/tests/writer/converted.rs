//! A file out of a file: the same pixels with the same meaning, however blocks are taken over.

use crate::{Cut, spec_of, write_to_memory};
use std::sync::Arc;
use strile::convert::TilingScheme;
use strile::convert::convert_into;
use strile::io::{MemorySink, MemorySource};
use strile::read::Interleave;
use strile::tiff::Photometric;
use strile::tiff::gdal::NoData;
use strile::tiff::geo::{Crs, GeoTransform};
use strile::tiff::{ExtraSample, FieldValue, LercWrapper, SampleFormat, SampleType, Tag};
use strile::write::{BlockChoice, Format, OverviewStorage};
use strile::{
    Compression, Context, ConvertOptions, Dataset, Input, Layer, OpenOptions, RasterSpec, ReadOptions,
    Window, WriteOptions,
};
use testkit::{Pattern, Pixels};

const TILES: BlockChoice = BlockChoice::Tiles { width: 16, height: 16 };

fn noise(bands: usize, height: usize, width: usize) -> Pixels {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    Pixels::generate(Pattern::Noise, sample, [bands, height, width], 3)
}

fn input(pixels: &Pixels, spec: RasterSpec, options: &WriteOptions) -> Input {
    let context = Context::default();
    let bytes = write_to_memory(pixels, None, spec, options, Cut::Eager, Interleave::BandFirst, &context);
    let source = Arc::new(MemorySource::new("input", bytes.unwrap()));
    Input::Tiff(Box::new(Dataset::from_source(source, &OpenOptions::default()).unwrap()))
}

fn converted(input: &Input, options: &ConvertOptions, context: &Context) -> Dataset {
    let sink = MemorySink::new();
    let handle = sink.handle();
    convert_into(input, Box::new(sink), options, context).unwrap();
    let source = Arc::new(MemorySource::new("converted", handle.take().unwrap().bytes));
    Dataset::from_source(source, &OpenOptions::default()).unwrap()
}

fn read(dataset: &Dataset, layer: Layer) -> Vec<u8> {
    let options = ReadOptions::new().layer(layer).interleave(Interleave::BandFirst);
    dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap()
}

/// A sparse block reads as nodata: copied under another nodata it would hold other pixels.
#[test]
fn sparse_blocks_keep_their_pixels_under_another_nodata() {
    let mut pixels = noise(1, 16, 48);
    for (at, sample) in pixels.bytes.iter_mut().enumerate() {
        *sample = if (16..32).contains(&(at % 48)) { 0 } else { *sample | 1 };
    }
    let write = WriteOptions::new().blocks(TILES).sparse(true);
    let input = input(&pixels, spec_of(&pixels), &write);
    let nodata = NoData::Integer(200);
    let plain = write.sparse(false);
    let options = ConvertOptions::new().write(plain).nodata(nodata);
    let dataset = converted(&input, &options, &Context::default());
    assert_eq!(dataset.metadata().nodata, Some(NoData::Integer(200)));
    assert!(read(&dataset, Layer::Pixels) == pixels.bytes);
}

/// Alpha stays with its band where the others get another meaning.
#[test]
fn another_meaning_of_the_colours_leaves_alpha_where_it_is() {
    let pixels = noise(4, 20, 20);
    let rgba = input(&pixels, spec_of(&pixels), &WriteOptions::default());
    let extra = |input: &Input, photometric| {
        let options = ConvertOptions::new().photometric(photometric);
        let dataset = converted(input, &options, &Context::default());
        let image = dataset.pages()[0].full().unwrap().image.clone();
        assert_eq!(image.colour.photometric, photometric);
        image.colour.extra_samples.clone()
    };
    let (none, alpha) = (ExtraSample::Unspecified, ExtraSample::UnassociatedAlpha);
    assert_eq!(extra(&rgba, Photometric::MinIsBlack), [none, none, alpha]);
    let spec = spec_of(&pixels).photometric(Photometric::MinIsBlack);
    let grey = input(&pixels, spec, &WriteOptions::default());
    assert_eq!(extra(&grey, Photometric::Rgb), [none]);
}

/// GDAL lets files of bytes state -9999; such files are converted, too.
#[test]
fn a_nodata_that_no_sample_can_have() {
    let pixels = noise(1, 20, 20);
    let extra_fields = vec![(Tag::GDAL_NODATA, FieldValue::Text("-9999".into()))];
    let input = input(&pixels, spec_of(&pixels).extra_fields(extra_fields), &WriteOptions::default());
    let dataset = converted(&input, &ConvertOptions::default(), &Context::default());
    assert!(read(&dataset, Layer::Pixels) == pixels.bytes);
}

/// Tiles of a matrix set reach beyond the raster on all sides; what is there is masked out.
#[test]
fn a_raster_in_the_tiles_of_a_matrix_set() {
    let pixels = noise(1, 300, 100);
    let mut spec = spec_of(&pixels);
    let half = 20_037_508.342_789_244;
    let pixel = 2.0 * half / 256.0 / 4096.0;
    spec.metadata.georeference.crs = Crs::from_epsg(3857);
    let (c, f) = (5.0 * pixel - half, half - 7.0 * pixel);
    spec.metadata.georeference.transform = Some(GeoTransform { a: pixel, b: 0.0, c, d: 0.0, e: -pixel, f });
    let write = WriteOptions::new().blocks(TILES);
    let input = input(&pixels, spec, &write);
    let write = write.format(Format::Cog);
    let tiling = Some(TilingScheme::GoogleMapsCompatible.into());
    let options = ConvertOptions::new().write(write).tiling(tiling);
    let dataset = converted(&input, &options, &Context::default());
    let window = Some(Window::new(5, 7, 100, 300));
    let read = |layer, window| {
        let options = ReadOptions::new().layer(layer).window(window);
        dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap()
    };
    assert!(read(Layer::Pixels, window) == pixels.bytes);
    assert!(read(Layer::Mask, window).iter().all(|&valid| valid != 0));
    let mask = read(Layer::Mask, None);
    assert_eq!(mask.len(), 112 * 320);
    assert_eq!(mask.iter().filter(|&&valid| valid != 0).count(), 100 * 300);
}

/// JPEG would blur alpha: in a cloud-optimized file it becomes a mask, as with GDAL.
#[test]
fn alpha_of_a_jpeg_cog_becomes_a_mask() {
    let mut pixels = noise(4, 40, 50);
    let alpha: Vec<u8> = (0..40 * 50u32).map(|i| if i % 50 < 30 { 200 } else { 0 }).collect();
    pixels.bytes[3 * 2000..].copy_from_slice(&alpha);
    let rgba = input(&pixels, spec_of(&pixels), &WriteOptions::default());
    let write = WriteOptions::new().format(Format::Cog).compression(Compression::Jpeg);
    let options = ConvertOptions::new().write(write);
    let dataset = converted(&rgba, &options, &Context::default());
    assert_eq!(dataset.pages()[0].full().unwrap().image.samples, 3);
    let valid: Vec<u8> = alpha.iter().map(|&alpha| if alpha > 0 { 255 } else { 0 }).collect();
    assert!(read(&dataset, Layer::Mask) == valid);
}

/// Overviews can be stored otherwise than the image, which stays what it was.
#[test]
fn overviews_of_another_codec() {
    let pixels = noise(3, 100, 100);
    let source = input(&pixels, spec_of(&pixels), &WriteOptions::default());
    let overview_storage =
        OverviewStorage::new().compression((Compression::Jpeg, LercWrapper::None)).quality(60);
    let write = WriteOptions::new()
        .format(Format::Cog)
        .blocks(BlockChoice::Tiles { width: 32, height: 32 })
        .compression(Compression::Zstd)
        .overview_storage(overview_storage);
    let options = ConvertOptions::new().write(write);
    let dataset = converted(&source, &options, &Context::default());
    let codecs: Vec<_> = dataset.pages()[0].levels.iter().map(|level| level.image.compression).collect();
    assert_eq!(codecs, [Compression::Zstd, Compression::Jpeg, Compression::Jpeg]);
    assert!(read(&dataset, Layer::Pixels) == pixels.bytes);
    let small = ReadOptions::new().level(2);
    dataset.read(&small, &Context::default()).unwrap();
}
