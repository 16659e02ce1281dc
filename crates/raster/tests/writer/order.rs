//! Which bytes of a cloud-optimized file go through the spool, and that the file does not show it.

use crate::{Cut, cut_out, spec_of};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use strile::convert::convert_into;
use strile::engine::Budget;
use strile::io::{FileSink, Sink, StreamSink};
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{BlockChoice, Format, Overviews, Piece, WriteReport};
use strile::{Compression, Context, ConvertOptions, Input, OpenOptions, WriteOptions, Writer};
use testkit::{Pattern, Pixels};

const TILES: BlockChoice = BlockChoice::Tiles { width: 32, height: 32 };

/// A pipe: it takes bytes in order and cannot be patched.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn noise(bands: usize) -> Pixels {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    Pixels::generate(Pattern::Noise, sample, [bands, 170, 230], 5)
}

fn write(
    sink: Box<dyn Sink>,
    pixels: &Pixels,
    mask: Option<&[u8]>,
    (options, context): (&WriteOptions, &Context),
    cut: Cut,
) -> WriteReport {
    let mut spec = spec_of(pixels);
    spec.mask = mask.is_some();
    let (windows, bands, data_type) = (cut.windows(spec.width, spec.height), spec.bands, spec.data_type);
    let mut writer = Writer::create(sink, spec, options, context).unwrap();
    for window in windows {
        let bytes = cut_out(pixels, window, Interleave::BandFirst);
        let piece = Piece::contiguous(window, bands, data_type, Interleave::BandFirst, &bytes).unwrap();
        let mask: Option<Vec<u8>> = mask.map(|mask| {
            let row = |y: usize| &mask[(window.row as usize + y) * pixels.width..][..pixels.width];
            let columns = window.column as usize..(window.column + window.width) as usize;
            (0..window.height as usize).flat_map(|y| row(y)[columns.clone()].to_vec()).collect()
        });
        match &mask {
            Some(mask) => writer.write(&piece.with_mask(mask)).unwrap(),
            None => writer.write(&piece).unwrap(),
        }
    }
    writer.finish().unwrap()
}

/// One piece is given twice inside the writer, so that its full image is never spooled, whatever the budget allows to
/// wait in memory; pieces, and files that cannot be patched, are spooled whole. All are the same file.
#[test]
fn an_image_in_one_piece_is_not_spooled() {
    let folder = tempfile::tempdir().unwrap();
    let mask: Vec<u8> = (0..170 * 230).map(|at| u8::from(at % 7 != 0)).collect();
    for (bands, planar, mask) in
        [(1, Planar::Chunky, None), (3, Planar::Chunky, Some(&mask[..])), (3, Planar::Separate, None)]
    {
        let pixels = noise(bands);
        for overviews in [Overviews::Auto, Overviews::None, Overviews::Halvings(0b10)] {
            let format = Format::Cog;
            let options =
                WriteOptions::new().format(format).blocks(TILES).planar(planar).overviews(overviews);
            let name = format!("{bands} bands, {planar:?}, {overviews:?}");
            let file = |context: &Context, cut: Cut| {
                let path = folder.path().join("x.tif");
                let sink = Box::new(FileSink::create(&path, true).unwrap());
                let report = write(sink, &pixels, mask, (&options, context), cut);
                (std::fs::read(&path).unwrap(), report)
            };
            let pipe = Pipe::default();
            let sink = Box::new(StreamSink::new("pipe", pipe.clone()));
            let streamed = write(sink, &pixels, mask, (&options, &Context::default()), Cut::Eager);
            let expected = pipe.0.lock().unwrap().clone();
            assert!(streamed.spooled > expected.len() as u64 / 2, "{name}");
            let tight = Context { budget: Arc::new(Budget::new(2 << 20)), ..Context::default() };
            for context in [Context::default(), tight] {
                let (bytes, report) = file(&context, Cut::Eager);
                assert!(bytes == expected, "{name}: other bytes in one piece");
                assert_eq!((report.blocks, report.levels), (streamed.blocks, streamed.levels), "{name}");
                assert!(report.spooled < report.file_len * 2 / 5, "{name}: {} spooled", report.spooled);
                assert_eq!(report.spooled == 0, overviews == Overviews::None, "{name}");
            }
            let (bytes, report) = file(&Context::default(), Cut::Rows(50));
            assert!(bytes == expected && report.spooled == streamed.spooled, "{name}: in rows");
        }
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["x.tif"]);
}

/// Pixels that are given after the whole image was taken are refused, and nothing is left.
#[test]
fn a_second_piece_after_the_whole_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = noise(1);
    let options = WriteOptions::new().format(Format::Cog).blocks(TILES);
    let sink = Box::new(FileSink::create(&folder.path().join("x.tif"), false).unwrap());
    let mut writer = Writer::create(sink, spec_of(&pixels), &options, &Context::default()).unwrap();
    let window = Cut::Eager.windows(230, 170)[0];
    let bands = spec_of(&pixels).bands;
    let piece =
        Piece::contiguous(window, bands, pixels.data_type, Interleave::BandFirst, &pixels.bytes).unwrap();
    writer.write(&piece).unwrap();
    let error = writer.write(&piece).unwrap_err().to_string();
    assert!(error.contains("given twice"), "{error}");
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Files are read twice where that is cheap or their blocks are copied, and the file is that of one pass.
#[test]
fn files_that_are_decoded_fast_are_read_twice() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = noise(2);
    let reencoded = [(Compression::None, true), (Compression::Zstd, true), (Compression::Lzw, false)];
    let copied = [(Compression::Deflate, true)];
    for (from, twice) in reencoded.into_iter().chain(copied) {
        let path = folder.path().join(format!("{}.tif", from.name()));
        let options = WriteOptions::new().compression(from).blocks(TILES);
        let sink = Box::new(FileSink::create(&path, true).unwrap());
        write(sink, &pixels, None, (&options, &Context::default()), Cut::Eager);
        let input = Input::open(&path, &OpenOptions::default()).unwrap();
        let options = ConvertOptions::new().write(WriteOptions::new().format(Format::Cog).blocks(TILES));
        let target = folder.path().join("cog.tif");
        let sink = Box::new(FileSink::create(&target, true).unwrap());
        let report = convert_into(&input, sink, &options, &Context::default()).unwrap();
        let pipe = Pipe::default();
        let sink = Box::new(StreamSink::new("pipe", pipe.clone()));
        let once = convert_into(&input, sink, &options, &Context::default()).unwrap();
        assert!(std::fs::read(&target).unwrap() == *pipe.0.lock().unwrap(), "{}", from.name());
        // A small image is one piece, which the writer passes twice by itself, whatever its codec.
        assert!(!twice || report.spooled < once.spooled / 2, "{}: {}", from.name(), report.spooled);
        assert_eq!((report.blocks, report.file_len), (once.blocks, once.file_len), "{}", from.name());
    }
}
