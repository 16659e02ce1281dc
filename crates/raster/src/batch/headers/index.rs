//! The headers of many files in one: what opening them needs, so that opening costs no read.
//!
//! ```text
//! index    "STRILEIX", version: u32 (1), then records up to the end of the file
//! record   path: text (from the folder of the index, or absolute), checksum: u64 of the bytes after it, bytes: `record`
//! ```
//!
//! Numbers and texts are those of `record`; the checksum is FNV-1a of 64 bits. A record that is damaged is as good as none:
//! its file is opened without. An index is not trusted: its size is bounded, what it holds is parsed and checked as bytes of
//! a file are, and not used where the file is in another state.

use super::record::{Held, Input, Part, Record, put};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::open::{Files, OnDisk, OpenOptions};
use crate::plan::coalesce;
use crate::sink::{FileSink, Sink, folder_of};
use crate::source::{Source, Version, open_regular, read_ranges, version_of};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::Context;
use strile_tiff::{Parser, Step};

const MAGIC: &[u8; 8] = b"STRILEIX";
const VERSION: u32 = 1;
/// Bytes of an index that is loaded, and files it has, at most: some ten million headers of the usual size.
const MOST_BYTES: u64 = 16 << 30;
const MOST_FILES: usize = 1 << 24;

/// Headers of many files, as `write_header_index` keeps them.
pub struct HeaderIndex {
    folder: PathBuf,
    bytes: Vec<u8>,
    /// Where in the bytes the checksum of each record begins, and where it ends.
    records: HashMap<PathBuf, Range<usize>>,
}

impl HeaderIndex {
    /// Reads an index.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let fail = |error| Error::io(path, error);
        let bytes = bytes_of(path).map_err(fail)?;
        let folder = std::path::absolute(folder_of(path)).map_err(fail)?;
        let wrong =
            |problem: &str| Error::Request { file: path.display().to_string(), problem: problem.into() };
        let mut input = Input(&bytes);
        if input.take(MAGIC.len()) != Some(MAGIC.as_slice()) {
            return Err(wrong("is no index of headers"));
        }
        match input.number() {
            Some(VERSION) => {}
            Some(other) => {
                return Err(wrong(&format!(
                    "is an index of version {other}, {VERSION} expected: make it again"
                )));
            }
            None => return Err(wrong("ends early: make it again")),
        }
        let mut records = HashMap::new();
        while !input.0.is_empty() {
            let mut next = || {
                let name = input.text()?;
                let start = bytes.len() - input.0.len();
                input.long()?;
                input.bytes()?;
                Some((name, start..bytes.len() - input.0.len()))
            };
            let (name, range) = next().ok_or_else(|| wrong("ends early: make it again"))?;
            records.insert(folder.join(name), range);
            if records.len() > MOST_FILES {
                return Err(wrong(&format!("has more than {MOST_FILES} files")));
            }
        }
        Ok(Self { folder, bytes, records })
    }

    /// How many files it has.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The files it has, sorted.
    pub fn files(&self) -> Vec<&Path> {
        let mut files: Vec<&Path> = self.records.keys().map(PathBuf::as_path).collect();
        files.sort_unstable();
        files
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it has of a file, by its absolute path.
    pub(super) fn find(&self, path: &Path) -> Option<Record> {
        let mut input = Input(self.bytes.get(self.records.get(path)?.clone())?);
        let checksum = input.long()?;
        let bytes = input.bytes()?;
        (fnv(bytes) == checksum).then(|| Record::from_bytes(bytes))?
    }
}

/// All bytes of an index.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, version) = open_regular(path)?;
    let mut bytes = Vec::new();
    let len = usize::try_from(version.len).ok().filter(|_| version.len <= MOST_BYTES);
    let len = len.ok_or_else(|| io::Error::other("is larger than an index can be"))?;
    bytes.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // One that grows meanwhile ends where it ended.
    file.by_ref().take(version.len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What became of the files of an index.
#[derive(Debug, Default)]
pub struct IndexReport {
    /// Files in it.
    pub files: usize,
    /// Bytes of it.
    pub bytes: u64,
    /// Files that are not, and why.
    pub skipped: Vec<(PathBuf, Error)>,
}

/// Writes an index of the headers of files; those that cannot be opened are left out and told.
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
    std::thread::scope(|scope| {
        // Readers wait for the disk more than they work.
        for _ in 0..context.threads.get().min(files.len()).max(1) {
            scope.spawn(|| {
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
            });
        }
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

/// The record of a file as it stands in an index in `folder`.
fn entry(path: &Path, folder: &Path, options: &OpenOptions) -> Result<Vec<u8>> {
    let refuse =
        |problem: &str| Error::Request { file: path.display().to_string(), problem: problem.to_owned() };
    let absolute = std::path::absolute(path).map_err(|error| Error::io(path, error))?;
    let name = absolute.strip_prefix(folder).unwrap_or(&absolute);
    let name = name.to_str().ok_or_else(|| refuse("its name is not UTF-8, which an index needs"))?;
    let recorder = Recorder { options, record: Mutex::default() };
    Dataset::open_among(&absolute, &recorder, options)?;
    let record = recorder.record.into_inner().unwrap_or_else(PoisonError::into_inner);
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

/// Files of the disk; what is taken of them is kept.
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

    fn is_file(&self, path: &Path) -> bool {
        OnDisk.is_file(path)
    }

    fn text(&self, path: &Path) -> Option<String> {
        let version = version_of(&std::fs::metadata(path).ok()?);
        let text = OnDisk.text(path)?;
        self.keep(path, version, Held::Text(text.clone()))?;
        Some(text)
    }

    fn at_hand(&self, _path: &Path) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// A parser that asks for more than it needs is given this much first, and the rest where it asks again.
const FIRST: u64 = 16;
/// Pieces this close together are one.
const GAP: u64 = 32;

/// The bytes of a file that its parser cannot do without. A file that is none has what was read of it until then.
fn header_of(source: &dyn Source, options: &OpenOptions) -> io::Result<Vec<(u64, Vec<u8>)>> {
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
        for (range, bytes) in wanted.iter().zip(read_ranges(source, &wanted)?) {
            parser.feed(range.start, bytes);
        }
        taken.extend(wanted);
    }
    let merged = coalesce(&taken, GAP);
    let pieces = read_ranges(source, &merged)?;
    Ok(merged.into_iter().map(|range| range.start).zip(pieces).collect())
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}
