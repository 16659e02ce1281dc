//! A raster that is given at once is encoded out of the caller's memory: no copy is made of it, its bytes are those of any
//! other way, and whatever ends the call, nobody has that memory afterwards.

use crate::{Cut, cut_out, spec_of, write_to_memory};
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strile::engine::{Budget, OutputSpec, Strides};
use strile::io::{MemorySink, Sink};
use strile::read::Interleave;
use strile::tiff::{Planar, SampleFormat, SampleType};
use strile::write::{BlockChoice, Format, Piece, PieceBytes};
use strile::{Compression, Context, Error, Resampling, Window, WriteOptions, Writer};
use testkit::{Pattern, Pixels};

const TILES: BlockChoice = BlockChoice::Tiles { width: 64, height: 64 };

fn pixels_of(bits: u16, shape: [usize; 3]) -> Pixels {
    Pixels::generate(Pattern::Dem, SampleType { format: SampleFormat::Uint, bits }, shape, 5)
}

/// Rows with something between them, and bands too: as windows of larger arrays have them.
fn with_gaps(pixels: &Pixels, interleave: Interleave) -> (OutputSpec, Vec<u8>) {
    let (size, bands) = (pixels.data_type.size(), pixels.bands);
    let (rows, columns) = (pixels.height, pixels.width);
    let strides = match interleave {
        Interleave::BandFirst => {
            let row = columns * size + 24;
            Strides { band: row * rows + 40, row, column: size }
        }
        Interleave::BandLast => {
            Strides { band: size, row: columns * bands * size + 24, column: bands * size }
        }
    };
    let spec = OutputSpec {
        data_type: pixels.data_type,
        bands: bands as u32,
        rows: rows as u32,
        columns: columns as u32,
        strides,
    };
    let mut bytes = vec![0xA5; spec.len().unwrap()];
    for band in 0..bands {
        for y in 0..rows {
            for x in 0..columns {
                let at = band * strides.band + y * strides.row + x * strides.column;
                bytes[at..at + size].copy_from_slice(pixels.sample(band, y, x));
            }
        }
    }
    (spec, bytes)
}

fn write_piece(pixels: &Pixels, spec: OutputSpec, bytes: &[u8], options: &WriteOptions) -> Vec<u8> {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let mut writer = Writer::create(Box::new(sink), spec_of(pixels), options, &Context::default()).unwrap();
    let window = Window::new(0, 0, spec.columns, spec.rows);
    writer.write(&Piece { window, spec, pixels: PieceBytes::Host(bytes), mask: None }).unwrap();
    writer.finish().unwrap();
    handle.take().unwrap().bytes
}

#[test]
fn windows_of_larger_arrays_have_the_bytes_of_copies() {
    let pixels = pixels_of(16, [3, 330, 270]);
    for (format, planar, compression, resampling) in [
        (Format::Cog, Planar::Chunky, Compression::Deflate, None),
        (Format::Cog, Planar::Separate, Compression::Zstd, Some(Resampling::Cubic)),
        (Format::GeoTiff, Planar::Chunky, Compression::None, None),
        (Format::Cog, Planar::Chunky, Compression::None, Some(Resampling::Gauss)),
        (Format::GeoTiff, Planar::Separate, Compression::None, None),
    ] {
        let options = WriteOptions::new()
            .format(format)
            .planar(planar)
            .compression(compression)
            .resampling(resampling)
            .blocks(TILES);
        let context = Context::default();
        let expected = write_to_memory(
            &pixels,
            None,
            spec_of(&pixels),
            &options,
            Cut::Pieces(50, 64),
            Interleave::BandFirst,
            &context,
        );
        let expected = expected.unwrap();
        for interleave in [Interleave::BandFirst, Interleave::BandLast] {
            let (spec, bytes) = with_gaps(&pixels, interleave);
            let got = write_piece(&pixels, spec, &bytes, &options);
            assert!(got == expected, "{format:?}, {planar:?}, {compression:?}, {interleave:?}");
        }
    }
}

/// Overviews wait in memory, encoded, as far as a quarter of the pixels goes. Those of a file that is not compressed are a third: the
/// rest goes through the spool, and so does what waited.
#[test]
fn overviews_that_are_too_many_to_wait_in_memory_are_spooled() {
    let pixels = pixels_of(8, [1, 2100, 2000]);
    let (blocks, buffer) = (BlockChoice::Tiles { width: 512, height: 512 }, Some(1 << 19));
    let format = Format::Cog;
    let options =
        WriteOptions::new().format(format).compression(Compression::None).blocks(blocks).buffer(buffer);
    let file = |cut: Cut| {
        let (spec, context) = (spec_of(&pixels), Context::default());
        write_to_memory(&pixels, None, spec, &options, cut, Interleave::BandFirst, &context).unwrap()
    };
    assert!(file(Cut::Eager) == file(Cut::Rows(512)));
}

/// A tile of 1 MiB needs scratch of its own size, twice; with a copy of the tiles of a batch it would be more.
#[test]
fn the_raster_is_not_copied() {
    let pixels = pixels_of(8, [1, 4096, 4096]);
    let bytes = cut_out(&pixels, Window::new(0, 0, 4096, 4096), Interleave::BandFirst);
    for compression in [Compression::Deflate, Compression::None] {
        let blocks = BlockChoice::Tiles { width: 1024, height: 1024 };
        let options = WriteOptions::new().compression(compression).level(None).blocks(blocks);
        let budget = Arc::new(Budget::new(256 << 20));
        let threads = NonZeroUsize::new(2).unwrap();
        let context = Context { budget: Arc::clone(&budget), threads, ..Context::default() };
        let sink = Box::new(MemorySink::new());
        let mut writer = Writer::create(sink, spec_of(&pixels), &options, &context).unwrap();
        let window = Window::new(0, 0, 4096, 4096);
        let band_first = Interleave::BandFirst;
        let piece = Piece::contiguous(window, 1, pixels.data_type, band_first, &bytes).unwrap();
        writer.write(&piece).unwrap();
        // Three jobs at a time, each with two workers.
        let scratch = 3 * 2 * (5 << 19);
        assert!(budget.peak() < scratch + (1 << 20), "{compression:?}: {}", budget.peak());
    }
}

/// Takes so many bytes and no more.
struct Full {
    left: usize,
    patches: bool,
}

impl Sink for Full {
    fn name(&self) -> &str {
        "a full sink"
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(())
    }

    fn can_patch(&self) -> bool {
        self.patches
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        panic!("a sink that failed is not committed");
    }

    fn abort(self: Box<Self>) {}
}

/// The call waits for whoever reads the memory: jobs under way are ended, cells that wait for neighbours forgotten.
#[test]
fn a_sink_that_fails_ends_the_call() {
    let pixels = pixels_of(16, [3, 700, 700]);
    let window = Window::new(0, 0, 700, 700);
    let bytes = cut_out(&pixels, window, Interleave::BandLast);
    for (format, resampling) in
        [(Format::GeoTiff, None), (Format::Cog, None), (Format::Cog, Some(Resampling::Lanczos))]
    {
        for left in [100, 30_000, 200_000] {
            for compression in [Compression::Zstd, Compression::None] {
                let buffer = Some(1 << 18);
                let options = WriteOptions::new()
                    .format(format)
                    .resampling(resampling)
                    .compression(compression)
                    .buffer(buffer)
                    .blocks(TILES);
                let sink = Box::new(Full { left, patches: true });
                let mut writer =
                    Writer::create(sink, spec_of(&pixels), &options, &Context::default()).unwrap();
                let piece =
                    Piece::contiguous(window, 3, pixels.data_type, Interleave::BandLast, &bytes).unwrap();
                let error = writer.write(&piece).unwrap_err();
                assert!(
                    matches!(&error, Error::Io { error, .. } if error.kind() == io::ErrorKind::StorageFull),
                    "{format:?}, {left}: {error}"
                );
                assert!(writer.write(&piece).is_err(), "the file was given up");
            }
        }
    }
}

/// Of a cancelled call nothing goes on either.
#[test]
fn a_cancelled_call_returns() {
    let pixels = pixels_of(16, [1, 1500, 1500]);
    let window = Window::new(0, 0, 1500, 1500);
    let bytes = cut_out(&pixels, window, Interleave::BandFirst);
    let options = WriteOptions::new().format(Format::Cog).blocks(TILES);
    let context = Context::default();
    let sink = Box::new(MemorySink::new());
    let mut writer = Writer::create(sink, spec_of(&pixels), &options, &context).unwrap();
    context.cancel.cancel();
    let piece = Piece::contiguous(window, 1, pixels.data_type, Interleave::BandFirst, &bytes).unwrap();
    assert!(matches!(writer.write(&piece), Err(Error::Cancelled)));
}
