//! The headers of many files in one file, so that opening them costs no read.
//!
//! ```text
//! index    "STRILEIX", version: u32 (1), then records up to the end of the file
//! record   path: text (from the folder of the index, or absolute; of a URL the URL without credentials), checksum: u64 of the bytes after it, bytes: `record`
//! ```
//!
//! Numbers and texts are encoded as in `record`; the checksum is FNV-1a of 64 bits. A damaged record is ignored: its
//! file is opened without it. So is a record larger than the values that opening a file may fetch. An index is not
//! trusted: it is loaded into bounded memory, its content is parsed and checked like bytes of a file, and it is not
//! used if the file is in another state.

use super::record::{Held, Input, Part, Record, put};
#[cfg(feature = "remote")]
use super::remote::record_of;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::open::{Files, OnDisk, OpenOptions};
use crate::read::coalesce;
use crate::sink::{FileSink, Sink, folder_of};
use crate::source::redacted;
use crate::source::{Source, Version, open_regular, read_ranges, url_of};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::{Context, thread_builder};
use strile_tiff::{Parser, Step};

const MAGIC: &[u8; 8] = b"STRILEIX";
const VERSION: u32 = 1;
/// Objects of URLs that are opened concurrently.
const REMOTE_AT_ONCE: usize = 64;

/// Headers of many files, as written by `write_header_index`.
pub(super) struct HeaderIndex {
    folder: PathBuf,
    bytes: Vec<u8>,
    /// Offsets of the records, sorted by the names of their files.
    records: Vec<usize>,
}

impl HeaderIndex {
    /// Reads an index into at most `most` bytes of memory.
    pub(super) fn load(path: &Path, most: u64) -> Result<Self> {
        let fail = |error| Error::io(path, error);
        let wrong = |problem: String| Error::Request { file: path.display().to_string(), problem };
        let room = |need: u64| match need <= most {
            true => Ok(()),
            false => Err(wrong(format!(
                "the index takes {need} bytes of memory, {most} are allowed for headers: allow more \
                 (`HeaderLimits::bytes`, `memory` in Python), or make one of fewer files"
            ))),
        };
        let (file, version) = open_regular(path).map_err(fail)?;
        room(version.len)?;
        let bytes = bytes_of(file, version.len).map_err(fail)?;
        let early = || wrong("ends early: make it again".to_owned());
        let mut input = Input(&bytes);
        if input.take(MAGIC.len()) != Some(MAGIC.as_slice()) {
            return Err(wrong("is not an index of headers".to_owned()));
        }
        match input.number() {
            Some(VERSION) => {}
            Some(other) => {
                let problem = format!("expected an index of version {VERSION}, got {other}: make it again");
                return Err(wrong(problem));
            }
            None => return Err(early()),
        }
        let (first, mut count) = (input.0, 0u64);
        while !input.0.is_empty() {
            Stored::take(&mut input).ok_or_else(early)?;
            count += 1;
        }
        let folder = std::path::absolute(folder_of(path)).map_err(fail)?;
        room((bytes.len() as u64).saturating_add(count.saturating_mul(size_of::<usize>() as u64)))?;
        let mut records = Vec::new();
        let out_of_memory = |_| fail(io::ErrorKind::OutOfMemory.into());
        records.try_reserve_exact(usize::try_from(count).unwrap_or(usize::MAX)).map_err(out_of_memory)?;
        let mut input = Input(first);
        while !input.0.is_empty() {
            records.push(bytes.len() - input.0.len());
            Stored::take(&mut input).ok_or_else(early)?;
        }
        let mut index = Self { folder, bytes, records: Vec::new() };
        records.sort_unstable_by(|&a, &b| index.name(a).cmp(&index.name(b)));
        index.records = records;
        Ok(index)
    }

    /// Returns its size in memory, in bytes.
    pub(super) fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.records.capacity() * size_of::<usize>()) as u64
    }

    /// Returns the record of a file, by its absolute path, in at most `most` bytes.
    pub(super) fn find(&self, path: &Path, most: u64) -> Option<Record> {
        // Relative to the folder of the index, if the file is in it; or unchanged, if the index was moved.
        let names = [path.strip_prefix(&self.folder).ok(), Some(path)];
        let named = |name| self.records.binary_search_by(|&at| self.name(at).cmp(&Some(name))).ok();
        let at = names.into_iter().flatten().find_map(named)?;
        let Stored { checksum, record, .. } = self.stored(*self.records.get(at)?)?;
        let whole = record.len() as u64 <= most && fnv(record) == checksum;
        whole.then(|| Record::from_bytes(record))?
    }

    fn stored(&self, at: usize) -> Option<Stored<'_>> {
        Stored::take(&mut Input(self.bytes.get(at..)?))
    }

    /// Returns the name of a record as a path. Paths are compared by their parts: separators may be those of another
    /// system.
    fn name(&self, at: usize) -> Option<&Path> {
        self.stored(at).map(|stored| Path::new(stored.name))
    }
}

/// A record as stored in an index.
struct Stored<'a> {
    name: &'a str,
    checksum: u64,
    record: &'a [u8],
}

impl<'a> Stored<'a> {
    fn take(input: &mut Input<'a>) -> Option<Self> {
        Some(Self { name: input.text()?, checksum: input.long()?, record: input.bytes()? })
    }
}

/// Reads all bytes of an index.
fn bytes_of(file: File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let room = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // If the file grows meanwhile, only its previous length is read.
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The result of writing an index.
#[derive(Debug, Default)]
pub struct IndexReport {
    /// Number of files in the index.
    pub files: usize,
    /// Size of the index in bytes.
    pub bytes: u64,
    /// Files that were skipped, and the reasons.
    pub skipped: Vec<(PathBuf, Error)>,
}

/// Writes an index of the headers of files and of objects of URLs. Those that cannot be opened are skipped and
/// reported. Names of URLs are stored without credentials.
pub fn write_header_index(
    target: impl AsRef<Path>,
    files: &[PathBuf],
    options: &OpenOptions,
    context: &Context,
) -> Result<IndexReport> {
    let target = target.as_ref();
    let fail = |error| Error::io(target, error);
    let folder = std::path::absolute(folder_of(target)).map_err(fail)?;
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let read = || {
        while let Some((at, path)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
        {
            if context.cancel.is_cancelled() {
                return;
            }
            let record = entry(path, &folder, options);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((at, path, record));
            if let Some(progress) = &context.progress {
                progress.advance(1);
            }
        }
    };
    std::thread::scope(|scope| {
        // Readers mostly wait for the disk. If the system has no more threads, the existing ones do the work.
        let at_once = match files.iter().any(|file| url_of(file).is_some()) {
            true => REMOTE_AT_ONCE.max(context.threads.get()),
            false => context.threads.get(),
        };
        for _ in 1..at_once.min(files.len()) {
            if thread_builder("strile-headers").and_then(|new| new.spawn_scoped(scope, read)).is_err() {
                break;
            }
        }
        read();
    });
    if context.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|(at, ..)| *at);
    let mut report = IndexReport::default();
    let mut sink = FileSink::create(target, true)?;
    let mut append = |bytes: &[u8]| -> io::Result<()> {
        report.bytes += bytes.len() as u64;
        sink.append(bytes)
    };
    append(MAGIC).and_then(|()| append(&VERSION.to_le_bytes())).map_err(fail)?;
    for (_, path, entry) in found {
        match entry {
            Ok(entry) => {
                append(&entry).map_err(fail)?;
                report.files += 1;
            }
            Err(error) => report.skipped.push((path.clone(), error)),
        }
    }
    Box::new(sink).commit().map_err(fail)?;
    Ok(report)
}

/// Returns the record of a file as stored in an index in `folder`.
fn entry(path: &Path, folder: &Path, options: &OpenOptions) -> Result<Vec<u8>> {
    let shown = || redacted(&path.display().to_string());
    let refuse = |problem: &str| Error::Request { file: shown(), problem: problem.to_owned() };
    let (name, record) = match url_of(path) {
        Some(url) => record_of(url, options)?,
        None => {
            let absolute = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
            let name = absolute.strip_prefix(folder).unwrap_or(&absolute);
            let name = name.to_str().ok_or_else(|| refuse("its name is not UTF-8, which an index needs"))?;
            let recorder = Recorder { options, record: Mutex::default() };
            Dataset::open_among(&absolute, &recorder, options)?;
            (name.to_owned(), recorder.record.into_inner().unwrap_or_else(PoisonError::into_inner))
        }
    };
    let bytes = record.to_bytes();
    let stored = bytes.and_then(|bytes| {
        let mut out = Vec::new();
        put(&mut out, name.as_bytes())?;
        out.extend(fnv(&bytes).to_le_bytes());
        put(&mut out, &bytes)?;
        Some(out)
    });
    stored.ok_or_else(|| refuse("has a header of more than 4 GiB"))
}

/// Fails: remote objects need the feature `remote`.
#[cfg(not(feature = "remote"))]
fn record_of(url: &str, options: &OpenOptions) -> Result<(String, Record)> {
    crate::source::open_url(url, options).map(|source| (source.name().to_owned(), Record::default()))
}

/// Files of the disk. Records everything that is read of them.
struct Recorder<'a> {
    options: &'a OpenOptions,
    record: Mutex<Record>,
}

impl Recorder<'_> {
    fn keep(&self, path: &Path, version: Version, held: Held) -> Option<()> {
        let name = path.file_name()?.to_str()?.to_owned();
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.parts.push(Part { name, version, held });
        Some(())
    }
}

impl Files for Recorder<'_> {
    fn source(&self, path: &Path) -> Result<Arc<dyn Source>> {
        let source = OnDisk.source(path)?;
        let pieces = header_of(source.as_ref(), self.options);
        let pieces = pieces.map_err(|error| Error::io(path, error))?;
        let unnamed = || io::Error::other("its name is not UTF-8, which an index needs");
        let kept = self.keep(path, source.version(), Held::Header(pieces));
        kept.ok_or_else(|| Error::io(path, unnamed()))?;
        Ok(source)
    }

    fn exists(&self, path: &Path) -> bool {
        OnDisk.exists(path)
    }

    fn text(&self, path: &Path) -> Result<Option<(String, Version)>> {
        let Some((text, version)) = OnDisk.text(path)? else { return Ok(None) };
        match self.keep(path, version.clone(), Held::Text(text.clone())) {
            Some(()) => Ok(Some((text, version))),
            None => Err(Error::io(path, io::Error::other("its name is not UTF-8, which an index needs"))),
        }
    }

    fn at_hand(&self, _path: &Path) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// Number of bytes passed to the parser first, if it requests more than it needs. The rest follows when it asks again.
const FIRST: u64 = 16;
/// Pieces this close together are merged.
const GAP: u64 = 32;

/// Returns the bytes of a file that its parser needs. For a file that is not a TIFF, returns the bytes read until that
/// was detected.
pub(super) fn header_of(source: &dyn Source, options: &OpenOptions) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let mut parser = Parser::new(source.len(), options.limits.clone());
    let (mut asked, mut taken) = (HashSet::new(), Vec::new());
    while let Ok(Step::Need(ranges)) = parser.next() {
        let wanted: Vec<Range<u64>> = ranges
            .into_iter()
            .map(|range| match asked.insert(range.clone()) {
                true => range.start..range.end.min(range.start.saturating_add(FIRST)),
                false => range,
            })
            .collect();
        for (range, bytes) in wanted.iter().zip(read_ranges(source, &wanted, &options.cancel)?) {
            parser.feed(range.start, bytes);
        }
        taken.extend(wanted);
    }
    let merged = coalesce(&taken, GAP);
    let pieces = read_ranges(source, &merged, &options.cancel)?;
    Ok(merged.into_iter().map(|range| range.start).zip(pieces).collect())
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}
