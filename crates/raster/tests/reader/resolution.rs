//! Lower resolutions that blocks of JPEG 2000 hold themselves.

use crate::sources::{open, read, refusal};
use strile::convert::convert_into;
use strile::io::MemorySink;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::write::BlockChoice;
use strile::{Compression, Context, ConvertOptions, Dataset, Input, ReadOptions, Window, WriteOptions};
use testkit::{ImageSpec, Pattern, Pixels, geo_tags};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };
const TILE: usize = 64;
const TILES: BlockChoice = BlockChoice::Tiles { width: 64, height: 64 };

/// The file as JPEG 2000 without loss, in tiles or strips.
fn converted(dataset: Dataset, blocks: BlockChoice, read: ReadOptions) -> Vec<u8> {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let write = WriteOptions::new()
        .compression(Compression::Jpeg2000)
        .lossless(true)
        .blocks(blocks)
        .overviews(strile::write::Overviews::None);
    let options = ConvertOptions::new().write(write).read(read);
    convert_into(&Input::Tiff(Box::new(dataset)), Box::new(sink), &options, &Context::default()).unwrap();
    handle.take().unwrap().bytes
}

fn plain(pixels: &Pixels) -> Dataset {
    let spec = geo_tags(32633, (500_000.0, 4_600_000.0), 10.0, false)
        .into_iter()
        .fold(ImageSpec::new(UINT16), ImageSpec::tag);
    open(&spec.build(pixels, ByteOrder::Little, false).bytes)
}

/// One step of the 5/3 wavelet along a line of even length, by the equations of ISO 15444-1, annex F: the low half.
fn low(line: &[i64]) -> Vec<i64> {
    let half = line.len() / 2;
    // Beyond the last item lies the mirror of the one before it, before the first odd one itself.
    let even = |i: usize| line[2 * i.min(half - 1)];
    let high = |i: usize| line[2 * i + 1] - (even(i) + even(i + 1)).div_euclid(2);
    (0..half).map(|i| even(i) + (high(i.max(1) - 1) + high(i) + 2).div_euclid(4)).collect()
}

fn transposed(lines: &[Vec<i64>]) -> Vec<Vec<i64>> {
    (0..lines[0].len()).map(|x| lines.iter().map(|line| line[x]).collect()).collect()
}

/// The lowest band of a tile of unsigned 16-bit samples: columns first, then rows, level by level.
fn low_band(mut tile: Vec<Vec<i64>>, levels: u8) -> Vec<Vec<i64>> {
    tile.iter_mut().flatten().for_each(|sample| *sample -= 1 << 15);
    for _ in 0..levels {
        let columns: Vec<Vec<i64>> = transposed(&tile).iter().map(|line| low(line)).collect();
        tile = transposed(&columns).iter().map(|line| low(line)).collect();
    }
    tile.iter_mut().flatten().for_each(|sample| *sample = (*sample + (1 << 15)).clamp(0, 65_535));
    tile
}

#[test]
fn each_tile_is_the_lowest_band_of_its_wavelet() {
    let (width, height) = (3 * TILE, 2 * TILE);
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [1, height, width], 4);
    let bytes = converted(plain(&pixels), TILES, ReadOptions::default());
    let dataset = open(&bytes);
    let samples: Vec<i64> =
        pixels.bytes.as_chunks().0.iter().map(|&pair| u16::from_ne_bytes(pair).into()).collect();
    for reduce in [1, 2] {
        let (side, across) = (TILE >> reduce, width >> reduce);
        let mut expected = vec![0; across * (height >> reduce)];
        for (row, column) in (0..2).flat_map(|row| (0..3).map(move |column| (row, column))) {
            let line = |y: usize| samples[(row * TILE + y) * width + column * TILE..][..TILE].to_vec();
            for (y, line) in low_band((0..TILE).map(line).collect(), reduce).into_iter().enumerate() {
                let start = (row * side + y) * across + column * side;
                expected[start..start + side].copy_from_slice(&line);
            }
        }
        let options = ReadOptions::new().reduce(reduce);
        let raster = read(&dataset, &options);
        assert_eq!((raster.columns as usize, raster.rows as usize), (across, height >> reduce));
        let found: Vec<i64> = raster
            .bytes()
            .unwrap()
            .as_chunks()
            .0
            .iter()
            .map(|&pair| u16::from_ne_bytes(pair).into())
            .collect();
        assert!(found == expected, "less {reduce}");
        // A window of it, over the edges of tiles.
        let window = Window::new(20, 10, 17, 16);
        let part = read(&dataset, &options.clone().window(window));
        let rows = found.chunks(across).skip(10).take(16).flat_map(|row| &row[20..37]);
        let of_part: Vec<i64> =
            part.bytes().unwrap().as_chunks().0.iter().map(|&pair| u16::from_ne_bytes(pair).into()).collect();
        assert!(of_part.iter().eq(rows));
        // Pixels of the result are larger, and its corner is that of the file.
        let scaled = dataset.transform(&options).unwrap().unwrap();
        let full = dataset.transform(&ReadOptions::default()).unwrap().unwrap();
        assert_eq!(scaled, full.scaled((1 << reduce).into(), (1 << reduce).into()));
        let plan = dataset.plan(&options, &Context::default()).unwrap().to_string();
        let said = ["halved by leaving out 1", "2 times by leaving out 2"][usize::from(reduce) - 1];
        assert!(plan.contains(said), "{plan}");
    }
    // A file made of it has these pixels, this place and nothing copied.
    let smaller = ReadOptions::new().reduce(1);
    let made = open(&converted(open(&bytes), TILES, smaller.clone()));
    assert_eq!(
        read(&made, &ReadOptions::default()).bytes().unwrap(),
        read(&dataset, &smaller).bytes().unwrap()
    );
    assert_eq!(made.transform(&ReadOptions::default()).unwrap(), dataset.transform(&smaller).unwrap());
}

#[test]
fn odd_sizes_are_rounded_up_and_strips_have_their_rows() {
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [1, 101, 75], 5);
    let (tiles, strips, whole) = (TILES, BlockChoice::Strips { rows: 16 }, BlockChoice::Strips { rows: 101 });
    for (blocks, reduce) in [(tiles, 1), (tiles, 2), (strips, 1), (strips, 2), (whole, 1), (whole, 3)] {
        let dataset = open(&converted(plain(&pixels), blocks, ReadOptions::default()));
        let raster = read(&dataset, &ReadOptions::new().reduce(reduce));
        let part = |size: u32| size.div_ceil(1 << reduce);
        assert_eq!((raster.columns, raster.rows), (part(75), part(101)), "{blocks:?} less {reduce}");
        // Smooth pixels stay about where they were: no block is moved or turned.
        let sample =
            |pixels: &[u8], at: usize| i32::from(u16::from_ne_bytes([pixels[2 * at], pixels[2 * at + 1]]));
        let (rows, columns) = (raster.rows as usize, raster.columns as usize);
        let full = read(&dataset, &ReadOptions::default());
        let spread = |pixels: &[u8]| {
            let all = (0..pixels.len() / 2).map(|at| sample(pixels, at));
            all.clone().max().unwrap() - all.min().unwrap()
        };
        let tolerance = spread(full.bytes().unwrap()) / 8;
        for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
            let of_full = sample(full.bytes().unwrap(), (y << reduce) * 75 + (x << reduce));
            let found = sample(raster.bytes().unwrap(), y * columns + x);
            assert!((found - of_full).abs() <= tolerance, "{blocks:?} less {reduce}, {x}, {y}");
        }
    }
}

#[test]
fn what_has_no_lower_resolution_says_why() {
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [1, 200, 200], 6);
    let of = |reduce| ReadOptions::new().reduce(reduce);
    let other = refusal(&plain(&pixels), &of(1));
    assert!(
        other.contains("its blocks are none, and only those of JPEG 2000 hold lower resolutions"),
        "{other}"
    );
    let dataset = open(&converted(
        plain(&pixels),
        BlockChoice::Tiles { width: 48, height: 48 },
        ReadOptions::default(),
    ));
    let odd = refusal(&dataset, &of(5));
    assert!(odd.contains("blocks of 48 × 48 pixels cannot be made 32 times smaller"), "{odd}");
    let more = refusal(&dataset, &of(33));
    assert!(more.contains("expected at most 32 halvings of JPEG 2000, got 33"), "{more}");
    let dataset = open(&converted(plain(&pixels), BlockChoice::Strips { rows: 200 }, ReadOptions::default()));
    let fewer = refusal(&dataset, &of(12));
    assert!(fewer.contains("12 wavelet levels to be left out of "), "{fewer}");
    let outside = refusal(&dataset, &of(1).window(Window::full(200, 200)));
    assert!(outside.contains("is not inside the image of 100 × 100 pixels"), "{outside}");
}
