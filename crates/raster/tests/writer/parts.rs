//! A file put together of parts is the one a writer makes, byte for byte, whatever the parts.

use crate::{Cut, cut_out, spec_of, write_to_memory};
use std::path::Path;
use std::sync::Arc;
use strile::engine::OutputSpec;
use strile::io::MemorySink;
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::gdal::NoData;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{
    Beyond, BlockChoice, EncodedPart, Format, Overviews, PartAddress, PartBytes, PartTarget, Parts, Piece,
    PieceBytes,
};
use strile::{Compression, Context, DataType, RasterSpec, Resampling, Window, WriteOptions};
use testkit::{Pattern, Pixels};

/// Pixels of a level, and their mask, as they are put together of what parts hand on.
struct Image {
    spec: OutputSpec,
    pixels: Vec<u8>,
    mask: Option<Vec<u8>>,
}

impl Image {
    fn new(spec: &RasterSpec, (columns, rows): (u32, u32)) -> Self {
        let shape = OutputSpec::band_last(spec.data_type, u32::from(spec.bands), rows, columns).unwrap();
        let mask = spec.mask.then(|| vec![0; (rows * columns) as usize]);
        Self { pixels: vec![0; shape.len().unwrap()], spec: shape, mask }
    }

    fn put(&mut self, from: &Beyond) {
        let size = self.spec.data_type.size();
        for y in 0..from.window.height as usize {
            for x in 0..from.window.width as usize {
                let (row, column) = (from.window.row as usize + y, from.window.column as usize + x);
                for band in 0..self.spec.bands as usize {
                    let at = |spec: &OutputSpec, row: usize, column: usize| {
                        band * spec.strides.band + row * spec.strides.row + column * spec.strides.column
                    };
                    let (to, start) = (at(&self.spec, row, column), at(&from.spec, y, x));
                    self.pixels[to..to + size].copy_from_slice(&from.pixels[start..start + size]);
                }
                if let (Some(mask), Some(given)) = (&mut self.mask, &from.mask) {
                    let at = y * from.window.width as usize + x;
                    mask[row * self.spec.columns as usize + column] = given[at];
                }
            }
        }
    }

    /// A piece of a window: the rest of the image is behind it in memory.
    fn piece(&self, window: Window) -> (Piece<'_>, Option<Vec<u8>>) {
        let strides = self.spec.strides;
        let start = window.row as usize * strides.row + window.column as usize * strides.column;
        let spec = OutputSpec { rows: window.height, columns: window.width, ..self.spec.clone() };
        let mask = self.mask.as_ref().map(|mask| {
            let row = |y: u32| {
                let start = ((window.row + y) * self.spec.columns + window.column) as usize;
                mask[start..start + window.width as usize].to_vec()
            };
            (0..window.height).flat_map(row).collect()
        });
        let pixels = PieceBytes::Host(&self.pixels[start..]);
        (Piece { window, spec, pixels, mask: None }, mask)
    }
}

struct Raster {
    pixels: Pixels,
    mask: Option<Vec<u8>>,
    spec: RasterSpec,
}

impl Raster {
    fn new(sample: (SampleFormat, u16), shape: [usize; 3]) -> Self {
        let sample = SampleType { format: sample.0, bits: sample.1 };
        let pixels = Pixels::generate(Pattern::Dem, sample, shape, 7);
        let spec = spec_of(&pixels);
        Self { pixels, mask: None, spec }
    }

    fn masked(mut self) -> Self {
        let (width, count) = (self.spec.width, self.spec.width * self.spec.height);
        self.mask = Some((0..count).map(|i| u8::from((i / width + i % width) % 37 < 30)).collect());
        self.spec.mask = true;
        self
    }

    fn whole(&self, options: &WriteOptions) -> Vec<u8> {
        let (mask, first) = (self.mask.as_deref(), Interleave::BandFirst);
        let context = Context::default();
        write_to_memory(&self.pixels, mask, self.spec.clone(), options, Cut::Eager, first, &context).unwrap()
    }

    /// The file of parts of about this size; records in memory, or in files of a folder.
    fn in_parts(&self, options: &WriteOptions, size: (u32, u32), folder: Option<&Path>) -> Vec<u8> {
        let context = Context::default();
        let parts = Parts::new(self.spec.clone(), options, size).unwrap();
        let whole = Window::full(self.spec.width, self.spec.height);
        let mut image = Image::new(&self.spec, (self.spec.width, self.spec.height));
        image.pixels = cut_out(&self.pixels, whole, Interleave::BandLast);
        image.mask = self.mask.clone();
        let mut encoded: Vec<(PartAddress, EncodedPart, PartBytes)> = Vec::new();
        for (number, tier) in parts.tiers().iter().enumerate() {
            let next = (tier.image.0.div_ceil(1 << tier.levels), tier.image.1.div_ceil(1 << tier.levels));
            let mut above = Image::new(&self.spec, next);
            for (row, column) in (0..tier.rows).flat_map(|row| (0..tier.columns).map(move |at| (row, at))) {
                let at = PartAddress { tier: number as u32, row, column };
                let path = folder.map(|folder| folder.join(format!("{number}-{row}-{column}")));
                let target = path.clone().map_or(PartTarget::Memory, PartTarget::File);
                let windows = parts.part(at).unwrap();
                let mut writer = parts.encode(at, target, &context).unwrap();
                for part in halves(windows.need) {
                    let (mut piece, mask) = image.piece(part);
                    piece.mask = mask.as_deref().map(PieceBytes::Host);
                    writer.write(&piece).unwrap();
                }
                let mut part = writer.finish().unwrap();
                assert_eq!(part.blocks, windows.blocks);
                assert_eq!(part.beyond.as_ref().map(|beyond| beyond.window), windows.beyond);
                part.beyond.iter().for_each(|beyond| above.put(beyond));
                let bytes = match path {
                    Some(path) => PartBytes::File(path),
                    None => PartBytes::Memory(Arc::new(part.records.take().unwrap())),
                };
                encoded.push((at, part, bytes));
            }
            image = above;
        }
        let blocks: u64 = encoded.iter().map(|(_, part, _)| part.blocks).sum();
        assert_eq!(blocks, parts.blocks());
        let sink = MemorySink::new();
        let handle = sink.handle();
        // Whoever puts them together plans again, and parts come as they please.
        let parts = Parts::new(self.spec.clone(), options, size).unwrap();
        let mut assembly = parts.assemble(Box::new(sink), &context).unwrap();
        for (at, part, bytes) in encoded.into_iter().rev() {
            assembly.add(&parts, at, &part.index, bytes).unwrap();
        }
        let report = assembly.lay_out().unwrap();
        assert_eq!(report.blocks, blocks);
        assert!(handle.take().is_none(), "nothing is there before the end");
        assembly.commit().unwrap();
        handle.take().unwrap().bytes
    }

    fn agrees(&self, name: &str, options: &WriteOptions) {
        let expected = self.whole(options);
        for size in [(1, 1), (64, 64), (100, 70), (1000, 32), (48, 1000), (1000, 1000)] {
            let found = self.in_parts(options, size, None);
            assert!(found == expected, "{name}: parts of {size:?} give other bytes");
        }
    }
}

/// Two pieces of a window, the right one first.
fn halves(window: Window) -> Vec<Window> {
    let left = window.width / 3;
    let right = Window { column: window.column + left, width: window.width - left, ..window };
    let left = Window { width: left, ..window };
    [right, left].into_iter().filter(|part| part.width > 0).collect()
}

const TILES: BlockChoice = BlockChoice::Tiles { width: 32, height: 16 };

fn cog(options: &WriteOptions) -> WriteOptions {
    options.clone().format(Format::Cog)
}

#[test]
fn plain_files_of_tiles_and_strips() {
    let raster = Raster::new((SampleFormat::Uint, 16), [3, 101, 131]);
    for blocks in [TILES, BlockChoice::Strips { rows: 7 }, BlockChoice::Strips { rows: 0 }] {
        for planar in [Planar::Chunky, Planar::Separate] {
            let options = WriteOptions::new().blocks(blocks).planar(planar);
            raster.agrees(&format!("{blocks:?}, {planar:?}"), &options);
        }
    }
}

#[test]
fn every_resampling_with_masks() {
    let raster = Raster::new((SampleFormat::Uint, 8), [3, 101, 131]).masked();
    for resampling in Resampling::ALL {
        for (blocks, overviews) in [
            (BlockChoice::Tiles { width: 16, height: 16 }, Overviews::Count(5)),
            (BlockChoice::Tiles { width: 32, height: 32 }, Overviews::factors(&[4, 8]).unwrap()),
        ] {
            let resampling = Some(resampling);
            let options = WriteOptions::new().blocks(blocks).overviews(overviews).resampling(resampling);
            raster.agrees(&format!("{resampling:?}, {overviews:?}"), &cog(&options));
        }
    }
}

#[test]
fn odd_shapes_and_separate_planes() {
    for shape in [[1, 1, 300], [1, 300, 1], [2, 17, 257], [2, 129, 33], [1, 1, 1]] {
        let raster = Raster::new((SampleFormat::Float, 32), shape);
        for (planar, resampling) in
            [(Planar::Chunky, Resampling::Lanczos), (Planar::Separate, Resampling::Average)]
        {
            let (blocks, resampling) = (TILES, Some(resampling));
            let options = WriteOptions::new().blocks(blocks).planar(planar).resampling(resampling);
            raster.agrees(&format!("{shape:?}, {planar:?}"), &cog(&options));
        }
    }
}

#[test]
fn overviews_of_strips_and_of_plain_files() {
    let raster = Raster::new((SampleFormat::Int, 16), [1, 150, 201]).masked();
    for blocks in [BlockChoice::Strips { rows: 3 }, TILES] {
        for resampling in [Resampling::Cubic, Resampling::Mode] {
            let (overviews, resampling) = (Overviews::Count(3), Some(resampling));
            let options = WriteOptions::new().blocks(blocks).overviews(overviews).resampling(resampling);
            raster.agrees(&format!("{blocks:?}, {resampling:?}"), &options);
        }
    }
}

#[test]
fn nodata_sparse_blocks_and_alpha() {
    let mut holes = Raster::new((SampleFormat::Float, 32), [1, 150, 201]);
    holes.pixels = holes.pixels.with_nan_holes();
    let (row, sample) = (201 * 4, 4);
    for y in 0..80 {
        let at = y * row;
        let nan = f32::NAN.to_ne_bytes().repeat(120);
        holes.pixels.bytes[at..at + 120 * sample].copy_from_slice(&nan);
    }
    holes.spec.metadata.nodata = Some(NoData::Float(-9999.0));
    let options = WriteOptions::new()
        .blocks(TILES)
        .nan_to_nodata(true)
        .sparse(true)
        .compression(Compression::Zstd)
        .resampling(Resampling::Bilinear);
    holes.agrees("NaN holes", &cog(&options));
    holes.agrees("NaN holes, plain", &options);
    let alpha = Raster::new((SampleFormat::Uint, 8), [4, 101, 131]);
    let options = WriteOptions::new().blocks(TILES).resampling(Resampling::Cubic);
    alpha.agrees("alpha", &cog(&options));
}

#[test]
fn codecs_with_tables_of_their_own_and_the_portable_encoder() {
    let raster = Raster::new((SampleFormat::Uint, 8), [3, 101, 131]);
    for (compression, reproducible) in [
        (Compression::Jpeg, false),
        (Compression::Lerc, false),
        (Compression::None, false),
        (Compression::Deflate, true),
        (Compression::Zstd, true),
    ] {
        let options = WriteOptions::new().blocks(TILES).compression(compression).reproducible(reproducible);
        raster.agrees(&format!("{compression:?}"), &cog(&options));
    }
}

#[test]
fn records_in_files_and_more_of_them_than_are_open() {
    let raster = Raster::new((SampleFormat::Uint, 16), [1, 16 * 13, 16 * 14]);
    let blocks = BlockChoice::Tiles { width: 16, height: 16 };
    for options in [cog(&WriteOptions::new().blocks(blocks)), WriteOptions::new().blocks(blocks)] {
        let folder = tempfile::tempdir().unwrap();
        let found = raster.in_parts(&options, (16, 16), Some(folder.path()));
        assert!(found == raster.whole(&options));
        assert!(folder.path().read_dir().unwrap().count() > 150);
    }
}

/// What a part is given beyond itself is a few pixels for each level, whatever its size.
#[test]
fn margins_are_those_of_the_method() {
    let spec = RasterSpec::new(1 << 14, 1 << 14, 1, DataType::U8);
    let at = |row, column| PartAddress { tier: 0, row, column };
    for (resampling, margin) in [(Resampling::Average, 0), (Resampling::Cubic, 45), (Resampling::Lanczos, 75)]
    {
        let options = cog(&WriteOptions::new().resampling(resampling));
        let parts = Parts::new(spec.clone(), &options, (4096, 4096)).unwrap();
        let tier = &parts.tiers()[0];
        assert_eq!((tier.levels, tier.size, tier.columns, tier.rows), (4, (4096, 4096), 4, 4));
        let inner = parts.part(at(1, 1)).unwrap();
        let grown = Window::new(4096 - margin, 4096 - margin, 4096 + 2 * margin, 4096 + 2 * margin);
        assert_eq!((inner.need, inner.beyond.unwrap().width), (grown, 4096 >> 4));
        assert_eq!(parts.part(at(0, 0)).unwrap().need.column, 0);
        assert_eq!(parts.tiers().len(), 2);
    }
}

fn one_part() -> (Parts, EncodedPart) {
    let raster = Raster::new((SampleFormat::Uint, 8), [1, 40, 50]);
    let options = WriteOptions::new().blocks(TILES);
    let parts = Parts::new(raster.spec.clone(), &options, (1000, 32)).unwrap();
    let at = PartAddress { tier: 0, row: 0, column: 0 };
    let window = parts.part(at).unwrap().need;
    let bytes = cut_out(&raster.pixels, window, Interleave::BandFirst);
    let mut writer = parts.encode(at, PartTarget::Memory, &Context::default()).unwrap();
    writer
        .write(&Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &bytes).unwrap())
        .unwrap();
    let part = writer.finish().unwrap();
    (parts, part)
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (parts, part) = one_part();
    let at = |row| PartAddress { tier: 0, row, column: 0 };
    let records = || PartBytes::Memory(Arc::new(part.records.clone().unwrap()));
    let fails = |index: &[u8], places: &[u32], records: PartBytes| {
        let sink = MemorySink::new();
        let handle = sink.handle();
        let mut assembly = parts.assemble(Box::new(sink), &Context::default()).unwrap();
        let added = places.iter().try_for_each(|&row| assembly.add(&parts, at(row), index, records.clone()));
        let error = added.and_then(|()| assembly.lay_out().map(drop)).unwrap_err().to_string();
        assert!(assembly.commit().is_err() && handle.take().is_none());
        error
    };
    assert!(fails(&part.index, &[0], records()).ends_with("2 blocks were never encoded"));
    assert!(fails(&part.index, &[0, 0], records()).ends_with("part (0, 0) of tier 0 is given twice"));
    assert!(fails(&part.index, &[1], records()).contains("expected 2 blocks, got 4 in 48 bytes"));
    assert!(fails(&part.index, &[2], records()).contains("there is no part at row 2"));
    assert!(fails(&part.index[..20], &[0], records()).ends_with("it is too short"));
    let mut other = part.index.clone();
    other[0] ^= 1;
    assert!(fails(&other, &[0], records()).contains("another plan"));
    let mut behind = part.index.clone();
    behind[24] = 0xff;
    behind[25] = 0xff;
    assert!(fails(&behind, &[0], records()).ends_with("a block lies behind its end"));
}

#[test]
fn a_part_in_a_file_that_lost_its_end() {
    let raster = Raster::new((SampleFormat::Uint, 8), [1, 40, 50]);
    let options = WriteOptions::new().blocks(TILES);
    let parts = Parts::new(raster.spec.clone(), &options, (1000, 1000)).unwrap();
    let at = PartAddress { tier: 0, row: 0, column: 0 };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part");
    let begin = || parts.encode(at, PartTarget::File(path.clone()), &Context::default());
    let window = Window::full(50, 40);
    let bytes = cut_out(&raster.pixels, window, Interleave::BandFirst);
    let piece = Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &bytes).unwrap();
    let mut writer = begin().unwrap();
    writer.write(&piece).unwrap();
    assert!(path.exists() && begin().is_err(), "a file that is there is nobody else's");
    drop(writer);
    assert!(!path.exists(), "nothing is left of a part that was given up");
    assert!(begin().unwrap().finish().err().unwrap().to_string().ends_with("were never given"));
    let mut writer = begin().unwrap();
    writer.write(&piece).unwrap();
    let part = writer.finish().unwrap();
    assert!(part.records.is_none() && part.beyond.is_none());
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    let mut assembly = parts.assemble(Box::new(MemorySink::new()), &Context::default()).unwrap();
    assembly.add(&parts, at, &part.index, PartBytes::File(path)).unwrap();
    let error = assembly.lay_out().unwrap_err().to_string();
    assert!(error.contains("expected") && error.contains("part"), "{error}");
}
