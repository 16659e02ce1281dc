//! What can be asked for: orientation, white as maximum, masks, pages, overviews and bands that are not there.

use crate::sources::{open, read, refusal};
use strile::read::Interleave;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Dataset, Layer, Processor, ReadOptions, Window};
use testkit::{FileFrame, FileOrder, ImageSpec, Pattern, Pixels, Tag, Value, nodata_tag};

const fn uint(bits: u16) -> SampleType {
    SampleType { format: SampleFormat::Uint, bits }
}

/// One band of bytes, `width` across.
fn bytes(width: usize, samples: &[u8]) -> Pixels {
    let mut pixels = Pixels::zeroed(uint(8).data_type().unwrap(), 1, samples.len() / width, width);
    pixels.bytes.copy_from_slice(samples);
    pixels
}

fn made(spec: &ImageSpec, pixels: &Pixels) -> Dataset {
    open(&spec.build(pixels, ByteOrder::Little, false).bytes)
}

#[test]
fn flat_setters_and_parts_say_the_same() {
    use strile::read::{Execution, Layout, Meaning, Place};
    let window = Window::new(1, 2, 3, 4);
    let flat = ReadOptions::new().level(1).window(window).bands([2]).masked(true).max_pixels(9);
    let flat = flat.interleave(Interleave::BandLast).decode_on(Processor::Cpu);
    let parts = ReadOptions::new()
        .place(Place::new().level(1).window(window).bands([2]))
        .meaning(Meaning::new().masked(true))
        .layout(Layout::new().interleave(Interleave::BandLast))
        .execution(Execution::new().max_pixels(9).decode_on(Processor::Cpu));
    assert_eq!(format!("{flat:?}"), format!("{parts:?}"));
    assert_eq!((flat.place.level, flat.place.window, flat.execution.max_pixels), (1, Some(window), Some(9)));
}

/// The picture 1 2 3 / 4 5 6, stored in each of the ways of TIFF 6.0, section Orientation.
const STORED: [(u16, usize, [u8; 6]); 8] = [
    (1, 3, [1, 2, 3, 4, 5, 6]),
    (2, 3, [3, 2, 1, 6, 5, 4]),
    (3, 3, [6, 5, 4, 3, 2, 1]),
    (4, 3, [4, 5, 6, 1, 2, 3]),
    (5, 2, [1, 4, 2, 5, 3, 6]),
    (6, 2, [3, 6, 2, 5, 1, 4]),
    (7, 2, [6, 3, 5, 2, 4, 1]),
    (8, 2, [4, 1, 5, 2, 6, 3]),
];

fn check_orientations(wanted: std::ops::RangeInclusive<u16>) {
    for (orientation, width, stored) in STORED.into_iter().filter(|(o, ..)| wanted.contains(o)) {
        let spec = ImageSpec::new(uint(8)).tag(Tag::short(274, orientation));
        let dataset = made(&spec, &bytes(width, &stored));
        let image = &dataset.pages()[0].levels[0].image;
        assert_eq!(u16::from(image.orientation), orientation, "is reported");
        assert_eq!(
            read(&dataset, &ReadOptions::default()).into_bytes().unwrap(),
            stored,
            "stored order, {orientation}"
        );
        let options = ReadOptions::new().apply_orientation(true);
        let seen = read(&dataset, &options);
        let shape = (seen.rows, seen.columns);
        assert_eq!((shape, seen.bytes().unwrap()), ((2, 3), &[1, 2, 3, 4, 5, 6][..]), "{orientation}");
    }
}

#[test]
fn orientations_1_to_4_are_applied_where_asked_for() {
    check_orientations(1..=4);
}

#[test]
fn orientations_5_to_8_swap_rows_and_columns() {
    check_orientations(5..=8);
}

#[test]
fn a_turned_image_has_the_pixels_of_all_bands_together() {
    let pixels = Pixels::generate(Pattern::Bits, uint(16), [3, 5, 4], 3);
    let dataset = made(&ImageSpec::new(uint(16)).tag(Tag::short(274, 6)), &pixels);
    let options = ReadOptions::new().apply_orientation(true);
    let (first, last) =
        (read(&dataset, &options), read(&dataset, &options.clone().interleave(Interleave::BandLast)));
    assert_eq!((first.rows, first.columns), (4, 5));
    // Rotated by a quarter: the top left pixel is stored at the bottom left, the top right one at the top left.
    for band in 0..3 {
        let plane = &first.bytes().unwrap()[band * 40..][..40];
        assert_eq!((&plane[..2], &plane[8..10]), (pixels.sample(band, 4, 0), pixels.sample(band, 0, 0)));
        assert_eq!(&last.bytes().unwrap()[band * 2..][..2], pixels.sample(band, 4, 0));
    }
}

#[test]
fn white_becomes_the_largest_value_of_the_depth() {
    for bits in [1, 2, 4, 7, 8, 12, 16, 32, 64] {
        let pixels = Pixels::generate(Pattern::Bits, uint(bits), [1, 9, 11], 1);
        let dataset = made(&ImageSpec::new(uint(bits)).photometric(0), &pixels);
        assert_eq!(
            read(&dataset, &ReadOptions::default()).into_bytes().unwrap(),
            pixels.bytes,
            "stored, {bits} bits"
        );
        let inverted = read(&dataset, &ReadOptions::new().invert_min_is_white(true));
        let size = pixels.data_type.size();
        let number = |sample: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(sample);
            if cfg!(target_endian = "big") {
                u64::from_be_bytes(bytes) >> (64 - 8 * size)
            } else {
                u64::from_le_bytes(bytes)
            }
        };
        let most = u64::MAX >> (64 - bits);
        for (stored, found) in pixels.bytes.chunks(size).zip(inverted.bytes().unwrap().chunks(size)) {
            assert_eq!(number(found), most - number(stored), "{bits} bits");
        }
    }
}

#[test]
fn black_as_minimum_is_not_inverted() {
    let pixels = bytes(2, &[0, 1, 2, 255]);
    let dataset = made(&ImageSpec::new(uint(8)), &pixels);
    let options = ReadOptions::new().invert_min_is_white(true);
    assert_eq!(read(&dataset, &options).into_bytes().unwrap(), pixels.bytes);
}

#[test]
fn a_mask_without_an_image_of_its_own_comes_from_alpha_then_nodata() {
    let mask = |spec: &ImageSpec, pixels: &Pixels| {
        read(&made(spec, pixels), &ReadOptions::new().layer(Layer::Mask)).into_bytes().unwrap()
    };
    let mut rgba = ImageSpec::new(uint(8)).photometric(2);
    rgba.extra_samples = Some(vec![2]);
    // One row of two pixels, in bands: red, green, blue, alpha.
    let mut pixels = Pixels::zeroed(uint(8).data_type().unwrap(), 4, 1, 2);
    pixels.bytes.copy_from_slice(&[9, 9, 0, 9, 9, 9, 0, 200]);
    assert_eq!(mask(&rgba, &pixels), [0, 200], "alpha");
    assert_eq!(mask(&rgba.clone().tag(nodata_tag("9")), &pixels), [0, 200], "alpha before nodata");
    let mut two = Pixels::zeroed(uint(8).data_type().unwrap(), 2, 1, 3);
    two.bytes.copy_from_slice(&[7, 7, 1, 7, 1, 1]);
    let nodata = ImageSpec::new(uint(8)).tag(nodata_tag("7"));
    assert_eq!(mask(&nodata, &two), [0, 255, 255], "not valid where all bands are nodata");
    assert_eq!(mask(&ImageSpec::new(uint(8)), &two), [255, 255, 255], "all valid");
}

/// Masks of 2 and 4 bits were once returned as they are stored, so that a valid pixel was 1, 2 or 3.
#[test]
fn a_mask_of_few_bits_is_0_and_255() {
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::BlocksFirst };
    let picture = Pixels::generate(Pattern::Noise, uint(8), [1, 1, 4], 1);
    for bits in [1, 2, 4, 8] {
        let mut stored = Pixels::zeroed(uint(bits).data_type().unwrap(), 1, 1, 4);
        let most = ((1u16 << bits) - 1) as u8;
        stored.bytes.copy_from_slice(&[0, 1, most, 1]);
        let mask = (ImageSpec::new(uint(bits)).subfile_type(4).photometric(4), stored);
        let file = open(&ImageSpec::new(uint(8)).build_with(&picture, &[mask], frame).bytes);
        let read = read(&file, &ReadOptions::new().layer(Layer::Mask)).into_bytes().unwrap();
        let expected = if bits < 8 { [0, 255, 255, 255] } else { [0, 1, 255, 1] };
        assert_eq!(read, expected, "{bits} bits");
    }
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let pixels = Pixels::generate(Pattern::Noise, uint(8), [3, 20, 30], 1);
    let reduced = (ImageSpec::new(uint(8)).subfile_type(1), pixels.halved());
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::BlocksFirst };
    let dataset = open(&ImageSpec::new(uint(8)).build_with(&pixels, &[reduced], frame).bytes);
    let refused = |options: ReadOptions| refusal(&dataset, &options);
    assert_eq!(refused(ReadOptions::new().page(1)), "made.tif: there is no page 1, the file has 1 (from 0)");
    assert_eq!(
        refused(ReadOptions::new().level(2)),
        "made.tif: there is no level 2, page 0 has 2 (0 is full resolution)"
    );
    assert!(refused(ReadOptions::new().level(usize::MAX)).contains("there is no level"));
    for band in [0, 4] {
        assert_eq!(
            refused(ReadOptions::new().bands([1, band])),
            format!("made.tif: there is no band {band}: the image has 3 bands, counted from 1")
        );
    }
    assert_eq!(refused(ReadOptions::new().bands([])), "made.tif: no band is asked for");
    for window in [
        Window::new(0, 0, 31, 20),
        Window::new(30, 0, 1, 1),
        Window::new(0, 0, 0, 5),
        Window::new(u32::MAX, 0, 2, 1),
    ] {
        assert_eq!(
            refused(ReadOptions::new().window(window)),
            format!(
                "made.tif: window {window} is not inside the image of 30 × 20 pixels (a window is \
                 column,row,width,height)"
            )
        );
    }
    let device = refused(ReadOptions::new().decode_on(Processor::Cuda(3)));
    assert!(device.starts_with("made.tif: device `cuda:3` cannot be used: "), "{device}");
}

#[test]
fn a_window_of_an_overview_is_in_the_pixels_of_the_overview() {
    let pixels = Pixels::generate(Pattern::Noise, uint(8), [1, 20, 30], 1);
    let reduced = (ImageSpec::new(uint(8)).subfile_type(1), pixels.halved());
    let frame = FileFrame { order: ByteOrder::Big, big: true, file_order: FileOrder::DirectoriesFirst };
    let dataset = open(&ImageSpec::new(uint(8)).build_with(&pixels, &[reduced], frame).bytes);
    let window = Some(Window::new(14, 9, 1, 1));
    let options = ReadOptions::new().level(1).window(window);
    assert_eq!(read(&dataset, &options).into_bytes().unwrap(), pixels.sample(0, 18, 28));
}

#[test]
fn a_palette_is_told_and_indices_are_read() {
    let map: Vec<u16> = (0..768).map(|at| at * 50).collect();
    let spec = ImageSpec::new(uint(8)).photometric(3).tag(Tag::new(320, Value::Short(map)));
    let dataset = made(&spec, &bytes(2, &[0, 255]));
    let colours = dataset.pages()[0].levels[0].image.colour.colour_map.clone().unwrap();
    assert_eq!(
        (colours.len(), colours[1], colours[255]),
        (256, [50, 257 * 50, 513 * 50], [255 * 50, 511 * 50, 767 * 50])
    );
    assert_eq!(read(&dataset, &ReadOptions::default()).into_bytes().unwrap(), [0, 255]);
}
