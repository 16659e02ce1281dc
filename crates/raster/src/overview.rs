//! Overviews for a file that is there already: appended to it, or beside it in `.ovr`.
//!
//! Appending changes one pointer of the file, last, after all that is new is safe on the disk: until then the file
//! reads as before, whatever stops the process. In a cloud-optimized file the note that says so is taken back
//! first, as GDAL does, because its directories are no longer before its data.

use crate::convert::{ConvertOptions, Cut, Source, at, cut, feed, spec_of, stored_like};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::pieces::PieceLimits;
use crate::sink::{FileSink, Sink};
use crate::write::{Appended, BigTiff, BlockChoice, FullImage, Overviews, WriteOptions, WriteReport, Writer};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use strile_engine::{Context, Resampling};
use strile_tiff::{ByteOrder, Compression, Image, LercWrapper, Variant};

/// Which overviews, and how they are made and stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OverviewOptions {
    /// How many, each half of the one above; `None` until the smallest fits into one block.
    pub count: Option<u32>,
    /// How they are made; `None`: average, nearest for palettes and named categories.
    pub resampling: Option<Resampling>,
    /// How they are compressed; `None` as the image is, or by Deflate where strile does not write that.
    pub compression: Option<Compression>,
    /// Beside the file (`.ovr`) instead of in it.
    pub external: bool,
    /// Replace a `.ovr` that is there.
    pub overwrite: bool,
    /// The most samples of the image, as in `ReadOptions::max_pixels`.
    pub max_pixels: Option<u64>,
}

/// Text of the promise that a cloud-optimized file makes, and of the same taken back; equally long.
const KEPT: &[u8] = b"KNOWN_INCOMPATIBLE_EDITION=NO\n ";
const BROKEN: &[u8] = b"KNOWN_INCOMPATIBLE_EDITION=YES\n";

/// Adds overviews to the first page of the file at `path`.
pub fn add_overviews(path: &Path, options: &OverviewOptions, context: &Context) -> Result<WriteReport> {
    let input = Dataset::open(path)?;
    // What is appended to the file changes it while it is read; its pixels stay where they are.
    input.expect_changes();
    let page = input.pages().first().ok_or_else(|| input.refuse("has no image".into()))?;
    let image = page.full().map(|level| &level.image).ok_or_else(|| input.refuse("has no image".into()))?;
    let internal = page.levels.iter().skip(1).any(|level| level.file == 0);
    if internal {
        let count = page.levels.len() - 1;
        return Err(
            input.refuse(format!("has {count} overviews already; make new ones with `strile convert`"))
        );
    }
    let read = ReadOptions { max_pixels: options.max_pixels, ..ReadOptions::default() };
    input.pieces(&read, &PieceLimits::default(), context)?;
    let spec = spec_of(&input, &read, &ConvertOptions::default(), &mut Vec::new())?;
    let write = as_the_image(image, options, context);
    let cut = cut(&input, &read, &spec)?;
    let begin = |compression: Compression, external: bool| -> Result<Writer> {
        let ycbcr = write.ycbcr.filter(|_| compression == Compression::Jpeg);
        let lerc = if compression == Compression::Lerc { write.lerc } else { LercWrapper::None };
        let write = WriteOptions { compression, ycbcr, lerc, ..write.clone() };
        match external {
            true => {
                let sink = FileSink::create(&beside(path), options.overwrite)?;
                let full = FullImage::Elsewhere(None);
                Writer::create_from(Box::new(sink), spec.clone(), &write, full, context)
            }
            false => {
                let (sink, appended) = AppendSink::open(path, &input)?;
                let full = FullImage::Elsewhere(Some(appended));
                let write = in_the_form_of(&input, &write);
                Writer::create_from(Box::new(sink), spec.clone(), &write, full, context)
            }
        }
    };
    let writer = match (begin(write.compression, options.external), options.compression) {
        (Err(Error::Request { .. }), None) => begin(Compression::Deflate, options.external)?,
        (begun, _) => begun?,
    };
    if writer.levels() < 2 {
        return Err(input.refuse("fits into one block and needs no overviews".into()));
    }
    run(&input, &read, cut, writer, context)
}

fn run(
    input: &Dataset,
    read: &ReadOptions,
    cut: Cut,
    mut writer: Writer,
    context: &Context,
) -> Result<WriteReport> {
    let quiet = Context { progress: None, ..context.clone() };
    let place = writer.location();
    let source = |options: &ReadOptions| Source::read(input, place, options, &quiet);
    for window in cut.windows() {
        feed(&source, read, window, at(&cut.window, &window, (0, 0)), &mut writer)?;
    }
    writer.finish()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".ovr");
    PathBuf::from(name)
}

/// Options that store overviews as the image is stored; those of an image in strips are tiled.
fn as_the_image(image: &Image, options: &OverviewOptions, context: &Context) -> WriteOptions {
    let room = context.budget.limit() / 8;
    let like = stored_like(image, options.compression.unwrap_or(image.compression));
    WriteOptions {
        blocks: match like.blocks {
            BlockChoice::Strips { .. } => BlockChoice::Auto,
            tiles => tiles,
        },
        overviews: options.count.map_or(Overviews::UntilOneBlock, Overviews::Count),
        resampling: options.resampling,
        buffer: Some(room.min(64 << 20)),
        ..like
    }
}

fn in_the_form_of(input: &Dataset, write: &WriteOptions) -> WriteOptions {
    let header = input.tiff().map(|tiff| tiff.header);
    WriteOptions {
        byte_order: header.map_or(ByteOrder::Little, |header| header.byte_order),
        big_tiff: match header.map(|header| header.variant) {
            Some(Variant::Big) => BigTiff::Yes,
            _ => BigTiff::No,
        },
        ..write.clone()
    }
}

/// The end of a file that is there, with what is to be changed in it at the very end.
struct AppendSink {
    name: String,
    path: PathBuf,
    file: File,
    old_len: u64,
    buffer: Vec<u8>,
    patches: Vec<(u64, Vec<u8>)>,
}

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 20;

impl AppendSink {
    fn open(path: &Path, input: &Dataset) -> Result<(Self, Appended)> {
        let told = |error: io::Error| Error::io(path, error);
        let tiff = input.tiff().ok_or_else(|| input.refuse("has no directory".into()))?;
        let directory = tiff.directories.first().ok_or_else(|| input.refuse("has no directory".into()))?;
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(told)?;
        file.try_lock().map_err(|_| input.refuse("is being written by another process".into()))?;
        let old_len = file.metadata().map_err(told)?.len();
        let (pointer, then) = next_pointer(&mut file, tiff.header, directory.offset).map_err(told)?;
        let mut sink = Self {
            name: path.display().to_string(),
            path: path.to_owned(),
            file,
            old_len,
            buffer: Vec::new(),
            patches: Vec::new(),
        };
        sink.take_promise_back().map_err(told)?;
        sink.buffer.resize(usize::from(old_len % 2 == 1), 0);
        Ok((sink, Appended { at: old_len + old_len % 2, pointer, then }))
    }

    /// Notes that a cloud-optimized file will be none.
    fn take_promise_back(&mut self) -> io::Result<()> {
        let mut start = vec![0; 512.min(usize::try_from(self.old_len).unwrap_or(512))];
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_exact(&mut start)?;
        if let Some(at) = start.windows(KEPT.len()).position(|window| window == KEPT) {
            self.patches.push((at as u64, BROKEN.to_vec()));
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

impl Sink for AppendSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn can_patch(&self) -> bool {
        true
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.patches.push((offset, bytes.to_vec()));
        Ok(())
    }

    fn beside(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn commit(mut self: Box<Self>) -> io::Result<()> {
        let appended = self.flush().and_then(|()| self.file.sync_all());
        if let Err(error) = appended {
            self.abort();
            return Err(error);
        }
        // One after the other: what was promised is taken back before the pointer leads to what is new.
        for (number, (offset, bytes)) in std::mem::take(&mut self.patches).into_iter().enumerate() {
            let written = self.file.seek(SeekFrom::Start(offset)).and_then(|_| self.file.write_all(&bytes));
            if let Err(error) = written {
                // Nothing leads to what was appended yet.
                if number == 0 {
                    self.abort();
                }
                return Err(error);
            }
            self.file.sync_all().map_err(|error| {
                let problem = format!("is written, but its last change could not be synced: {error}");
                io::Error::new(error.kind(), problem)
            })?;
        }
        Ok(())
    }

    fn abort(self: Box<Self>) {
        // The file reads the same with what was appended; it is only longer.
        let _shorter = self.file.set_len(self.old_len);
    }
}

/// Where the pointer to the directory after the one at `offset` is, and where it leads.
fn next_pointer(file: &mut File, header: strile_tiff::Header, offset: u64) -> io::Result<(u64, u64)> {
    let order = header.byte_order;
    let (count_len, entry_len, pointer_len) = match header.variant {
        Variant::Classic => (2, 12, 4),
        Variant::Big => (8, 20, 8),
    };
    let mut bytes = [0; 8];
    let mut read = |at: u64, len: usize| -> io::Result<u64> {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes.get_mut(..len).unwrap_or_default())?;
        let value = match len {
            2 => order.u16(&bytes, 0).map(u64::from),
            4 => order.u32(&bytes, 0).map(u64::from),
            _ => order.u64(&bytes, 0),
        };
        value.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    let count = read(offset, count_len)?;
    let end = count.checked_mul(entry_len).and_then(|len| len.checked_add(offset + count_len as u64));
    let pointer = end.ok_or(io::ErrorKind::InvalidData)?;
    Ok((pointer, read(pointer, pointer_len)?))
}
