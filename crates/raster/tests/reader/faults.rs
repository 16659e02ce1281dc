//! Damaged files: the error names the lowest faulty block and counts the others; filled blocks are listed.

use crate::sources::{open, open_bucket, read, refusal};
use std::path::PathBuf;
use strile::engine::FaultKind;
use strile::read::OnFault;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, ReadOptions, Window};
use testkit::{
    Built, Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Tag, TiffBuilder, Value, nodata_tag,
};

const INT16: SampleType = SampleType { format: SampleFormat::Int, bits: 16 };
/// Faulty blocks are filled and listed.
fn filling() -> ReadOptions {
    ReadOptions::new().on_fault(OnFault::Fill)
}

fn noise() -> Pixels {
    Pixels::generate(Pattern::Noise, INT16, [1, 40, 48], 5)
}

/// 3 × 3 tiles of 16 × 16.
fn tiled(codec: Codec) -> ImageSpec {
    ImageSpec::new(INT16).grid(Grid::Tiles(16, 16)).codec(codec)
}

fn build(spec: &ImageSpec, change: impl FnOnce(&mut testkit::Directory)) -> Built {
    let mut directory = spec.directory(&noise(), ByteOrder::Little, false);
    change(&mut directory);
    TiffBuilder::new(ByteOrder::Little, false).directory(directory).build()
}

/// A zlib stream of this many zeros.
fn zeros(len: usize) -> Vec<u8> {
    let spec = ImageSpec::new(SampleType { format: SampleFormat::Uint, bits: 8 }).codec(Codec::Deflate);
    let pixels = Pixels::zeroed(spec.sample.data_type().unwrap(), 1, 1, len);
    spec.directory(&pixels, ByteOrder::Little, false).blocks.remove(0).unwrap()
}

/// The samples of a block of the one band, as read.
fn block(pixels: &[u8], column: usize, row: usize) -> Vec<i16> {
    let rows = row * 16..(row * 16 + 16).min(40);
    let at = rows.flat_map(|y| (column * 16..column * 16 + 16).map(move |x| (y * 48 + x) * 2));
    at.map(|at| i16::from_ne_bytes([pixels[at], pixels[at + 1]])).collect()
}

#[test]
fn the_lowest_faulty_block_is_named_and_the_others_are_counted() {
    let damaged = build(&tiled(Codec::Deflate), |directory| {
        directory.blocks[7] = Some(zeros(100));
        directory.blocks[5] = Some(zeros(500));
        directory.blocks[8] = Some(b"nothing".to_vec());
    });
    for dataset in [open(&damaged.bytes), open_bucket(&damaged.bytes).1] {
        let name = dataset.name();
        assert_eq!(
            refusal(&dataset, &ReadOptions::default()),
            format!(
                "{name}: block (column 2, row 1): expected 512 decompressed bytes, got 500 (and 2 other blocks are faulty)"
            )
        );
        let window = Some(Window::new(16, 16, 32, 17));
        let two = refusal(&dataset, &ReadOptions::new().window(window));
        assert!(two.contains(": expected 512 decompressed bytes, got "), "{two}");
        assert!(two.ends_with(" (and 2 other blocks are faulty)"), "{two}");
        let window = Some(Window::new(16, 32, 1, 1));
        let one = refusal(&dataset, &ReadOptions::new().window(window));
        assert_eq!(one, format!("{name}: block (column 1, row 2): expected 512 decompressed bytes, got 100"));
        let window = Some(Window::new(0, 0, 48, 16));
        read(&dataset, &ReadOptions::new().window(window));
    }
}

#[test]
fn a_fault_in_an_overview_and_a_plane_says_so() {
    let pixels = Pixels::generate(Pattern::Noise, INT16, [2, 40, 48], 5);
    let spec = tiled(Codec::Lzw).planar(true);
    let mut builder = TiffBuilder::new(ByteOrder::Big, true);
    builder = builder.directory(spec.directory(&pixels, ByteOrder::Big, true));
    let mut reduced = spec.subfile_type(1).directory(&pixels.halved(), ByteOrder::Big, true);
    // The overview has 2 × 2 tiles a plane: the sixth is the second of the second plane.
    let stream = reduced.blocks[5].as_mut().unwrap();
    stream.truncate(stream.len() / 2);
    let dataset = open(&builder.directory(reduced).build().bytes);
    read(&dataset, &ReadOptions::default());
    let error = refusal(&dataset, &ReadOptions::new().level(1));
    let place = "made.tif: block (column 1, row 0, plane 1) of level 1: compressed data ends early: ";
    assert!(error.starts_with(place) && error.contains(": expected 512 decompressed bytes, got "), "{error}");
}

#[test]
fn faulty_blocks_are_filled_and_listed_where_that_is_asked_for() {
    for (nodata, fill) in [(Some("-9999"), -9999), (None, 0)] {
        let mut spec = tiled(Codec::Deflate);
        spec.tags.extend(nodata.map(nodata_tag));
        let damaged = build(&spec, |directory| {
            directory.blocks[1] = Some(b"nothing".to_vec());
            directory.blocks[6] = Some(zeros(100));
        });
        let raster = read(&open(&damaged.bytes), &filling());
        let places: Vec<_> =
            raster.faults.iter().map(|f| (f.fault.address.column, f.fault.address.row)).collect();
        assert_eq!(places, [(1, 0), (0, 2)]);
        assert_eq!(
            raster.faults[1].fault.to_string(),
            "block (column 0, row 2): expected 512 decompressed bytes, got 100"
        );
        let expected = noise();
        for at in 0..9 {
            let (column, row) = (at % 3, at / 3);
            let found = block(raster.bytes().unwrap(), column, row);
            match at {
                1 | 6 => assert!(found.iter().all(|&v| v == fill), "block {at}"),
                _ => assert_eq!(found, block(&expected.bytes, column, row), "block {at}"),
            }
        }
    }
}

#[test]
fn a_wrong_checksum_is_a_fault() {
    let mut sums = (0, 0);
    let damaged = build(&tiled(Codec::Deflate), |directory| {
        let trailer = directory.blocks[4].as_mut().unwrap();
        let at = trailer.len() - 4;
        let right = u32::from_be_bytes(trailer[at..].try_into().unwrap());
        sums = (right, right ^ 1);
        trailer[at..].copy_from_slice(&sums.1.to_be_bytes());
    });
    let dataset = open(&damaged.bytes);
    let faults = read(&dataset, &filling()).faults;
    assert_eq!((faults.len(), faults[0].fault.fault.kind), (1, FaultKind::Checksum));
    let (right, wrong) = sums;
    assert_eq!(
        refusal(&dataset, &ReadOptions::default()),
        format!("made.tif: block (column 1, row 1): expected checksum {wrong:#010x}, got {right:#010x}")
    );
}

#[test]
fn surplus_is_a_fault_but_a_last_strip_may_hold_all_its_rows() {
    let more = build(&tiled(Codec::Deflate), |directory| directory.blocks[0] = Some(zeros(513)));
    assert_eq!(
        refusal(&open(&more.bytes), &ReadOptions::default()),
        "made.tif: block (column 0, row 0): decompresses to more than the expected 512 bytes"
    );
    let mut strips = ImageSpec::new(INT16).grid(Grid::Strips(32)).codec(Codec::Deflate);
    strips.whole_last_strip = true;
    let whole = build(&strips, |_| {});
    assert_eq!(read(&open(&whole.bytes), &ReadOptions::default()).bytes().unwrap(), noise().bytes);
    // One byte more than all its rows is a fault again.
    let more = build(&strips, |directory| directory.blocks[1] = Some(zeros(32 * 48 * 2 + 1)));
    assert!(refusal(&open(&more.bytes), &ReadOptions::default()).contains("block (column 0, row 1): "));
}

#[test]
fn a_truncated_file_faults_in_the_blocks_that_are_gone() {
    for codec in [Codec::None, Codec::Zstd] {
        let frame =
            FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
        let built = tiled(codec).build_with(&noise(), &[], frame);
        // The last block ends early, the one before it is gone but for its first byte.
        let cut = |index: usize, keep: usize| &built.bytes[..built.blocks[index].range.start + keep];
        for dataset in [open(cut(8, 40)), open_bucket(cut(8, 40)).1] {
            let faults = read(&dataset, &filling()).faults;
            assert_eq!(faults.len(), 1);
            assert_eq!((faults[0].fault.address.column, faults[0].fault.address.row), (2, 2));
            assert_eq!(faults[0].fault.fault.kind, FaultKind::InputTruncated, "{}", faults[0].fault);
        }
        for dataset in [open(cut(7, 0)), open_bucket(cut(7, 0)).1] {
            let places: Vec<_> =
                read(&dataset, &filling()).faults.iter().map(|f| f.fault.address.column).collect();
            assert_eq!(places, [1, 2], "the two last of the last row");
        }
    }
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let built = tiled(Codec::None).build_with(&noise(), &[], frame);
    assert_eq!(
        refusal(&open(&built.bytes[..built.blocks[8].range.start + 100]), &ReadOptions::default()),
        "made.tif: block (column 2, row 2): compressed data ends early: expected 512 decompressed bytes, got 100"
    );
    // The eight rows of the last tile that are in the image are 256 bytes; what is below them may be missing.
    let whole = read(&open(&built.bytes[..built.blocks[8].range.start + 256]), &ReadOptions::default());
    assert_eq!(whole.bytes().unwrap(), noise().bytes);
}

#[test]
fn a_block_outside_the_file_is_that_blocks_fault_alone() {
    let mut directory = tiled(Codec::None).directory(&noise(), ByteOrder::Little, true);
    let offsets: Vec<u64> = (0..9).map(|at| if at == 3 { 1 << 40 } else { 16 + 512 * at }).collect();
    directory.set(Tag::new(324, Value::Long8(offsets)));
    let built = TiffBuilder::new(ByteOrder::Little, true).directory(directory).build();
    let dataset = open(&built.bytes);
    assert_eq!(
        refusal(&dataset, &ReadOptions::default()),
        "made.tif: block (column 0, row 1): cannot be read: 1 bytes at offset 1099511627776: the file ends before \
         their end"
    );
    assert_eq!(read(&dataset, &filling()).faults.len(), 1);
    let staged = read(&open_bucket(&built.bytes).1, &filling());
    assert_eq!(staged.bytes().unwrap(), read(&dataset, &filling()).bytes().unwrap());
    assert_eq!((staged.faults.len(), staged.faults[0].fault.address.row), (1, 1));
}

#[test]
fn a_file_that_is_cut_while_it_is_open_is_an_error() {
    let path: PathBuf = std::env::temp_dir().join(format!("strile-cut-{}.tif", std::process::id()));
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let built = tiled(Codec::None).build_with(&noise(), &[], frame);
    std::fs::write(&path, &built.bytes).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    let last = built.blocks[8].range.clone();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(last.start as u64 + 100).unwrap();
    let error = dataset.read(&ReadOptions::default(), &Context::default());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        error.unwrap_err().to_string(),
        format!(
            "{}: block (column 2, row 2): cannot be read: 512 bytes at offset {}: the file ends before their end",
            path.display(),
            last.start
        )
    );
}

/// On 1bd216b a file that was written over while it was open gave pixels of both, without a word.
#[test]
fn a_file_that_changed_since_it_was_opened_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    let built = build(&tiled(Codec::None), |_| {});
    std::fs::write(&path, &built.bytes).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    dataset.read(&ReadOptions::default(), &Context::default()).unwrap();
    // A name more, or another mode, is no change of the pixels.
    std::fs::hard_link(&path, folder.path().join("b.tif")).unwrap();
    dataset.read(&ReadOptions::default(), &Context::default()).unwrap();
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_modified(modified + std::time::Duration::from_secs(1)).unwrap();
    let told = dataset.read(&ReadOptions::default(), &Context::default()).unwrap_err().to_string();
    assert!(told.contains("has changed since it was opened"), "{told}");
    let again = Dataset::open(&path).unwrap();
    again.read(&ReadOptions::default(), &Context::default()).unwrap();
}

#[test]
fn sparse_blocks_become_nodata_else_zero() {
    for (nodata, fill) in [(Some("-9999"), -9999), (None, 0)] {
        let mut spec = tiled(Codec::Deflate).sparse(&[0, 4]);
        spec.tags.extend(nodata.map(nodata_tag));
        let built = build(&spec, |_| {});
        let raster = read(&open(&built.bytes), &ReadOptions::default());
        assert!(raster.faults.is_empty(), "sparse is not faulty");
        for (column, row) in [(0, 0), (1, 1)] {
            assert!(block(raster.bytes().unwrap(), column, row).iter().all(|&value| value == fill));
        }
        assert_eq!(block(raster.bytes().unwrap(), 2, 2), block(&noise().bytes, 2, 2));
    }
}

#[test]
fn what_cannot_be_decoded_is_said_before_anything_is_read() {
    let xr = build(&tiled(Codec::None).tag(Tag::short(259, 22610)), |_| {});
    let (bucket, dataset) = open_bucket(&xr.bytes);
    bucket.requests();
    assert_eq!(refusal(&dataset, &ReadOptions::default()), "bucket: no decoder for JPEG XR");
    assert!(bucket.requests().is_empty());
}

#[test]
fn a_block_outside_the_file_is_told_the_same_way_when_staged() {
    let mut directory = tiled(Codec::None).directory(&noise(), ByteOrder::Little, true);
    let offsets: Vec<u64> = (0..9).map(|at| if at == 3 { 1 << 40 } else { 16 + 512 * at }).collect();
    directory.set(Tag::new(324, Value::Long8(offsets)));
    let built = TiffBuilder::new(ByteOrder::Little, true).directory(directory).build();
    let fault = |dataset: &Dataset| read(dataset, &filling()).faults[0].fault.to_string();
    assert_eq!(fault(&open_bucket(&built.bytes).1), fault(&open(&built.bytes)));
}
