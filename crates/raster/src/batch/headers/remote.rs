//! Opens objects of URLs: many concurrently, or from an index without a request.

use super::{Headers, Record};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::open::{OpenFile, OpenOptions};
use crate::read::together;
use crate::source::{ReadDone, ReadOp, RemoteOpening, RemoteSource, Source, Version, read_ranges, url_of};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use strile_engine::{Cancel, ReadAt};
use strile_remote::{RemoteOptions, name_of};

/// Objects whose first request is in flight or that wait to be parsed, 32 KiB each.
const AHEAD: usize = 256;

/// A file that is being opened.
pub(super) enum Opening {
    /// The request of its first bytes is in flight.
    Asked(RemoteOpening),
    /// The index has its header.
    Known(RemoteSource, Vec<(u64, Vec<u8>)>),
}

impl Opening {
    /// Opens the object of a URL. Sidecars of an indexed object are not looked for.
    pub(super) fn wait(self, url: &str, options: &OpenOptions) -> Result<Arc<Dataset>> {
        let dataset = match self {
            Self::Asked(opening) => Dataset::open_remote(url, Arc::new(opening.wait()?), options)?,
            Self::Known(source, header) => Dataset::from_source_with(Arc::new(source), header, options)?,
        };
        Ok(Arc::new(dataset))
    }
}

impl Headers {
    /// Starts to open the object of a URL.
    pub(super) fn begin(&self, url: &str, options: &OpenOptions) -> Result<Opening> {
        let remote = &options.remote;
        let known = |index: &super::HeaderIndex| {
            let name = PathBuf::from(name_of(url).ok()?);
            let record = index.find(&name, options.limits.total_value_bytes)?;
            Some((record.version(&name)?, record.header(&name)))
        };
        match self.index.as_ref().and_then(known) {
            Some((version, header)) => {
                Ok(Opening::Known(RemoteSource::known(url, &version, remote)?, header))
            }
            None => Ok(Opening::Asked(RemoteSource::begin(url, remote, &options.cancel)?)),
        }
    }
}

pub(super) fn open_all(
    headers: &Headers,
    paths: &[PathBuf],
    remote: &RemoteOptions,
    cancel: &Cancel,
) -> Result<Vec<Arc<Dataset>>> {
    let options = OpenOptions { remote: remote.clone(), cancel: cancel.clone(), ..headers.options.clone() };
    let begin = |path: &PathBuf| -> Result<(PathBuf, Option<Opening>)> {
        let opening = url_of(path).map(|url| headers.begin(url, &options)).transpose()?;
        Ok((path.clone(), opening))
    };
    let finish = |(path, opening): (PathBuf, Option<Opening>)| match (url_of(&path), opening) {
        (Some(url), Some(opening)) => opening.wait(url, &options),
        _ => headers.open(path),
    };
    let mut opened = Vec::with_capacity(paths.len());
    for some in paths.chunks(AHEAD) {
        let begun = some.iter().map(begin).collect::<Result<Vec<_>>>()?;
        // Sidecars are requested after the header.
        let afar = begun.iter().filter(|(_, opening)| opening.is_some()).count() > 1;
        opened.extend(together(begun, afar, cancel, finish)?);
    }
    Ok(opened)
}

/// Returns the name and the record of the object of a URL, as stored in an index.
pub(super) fn record_of(url: &str, options: &OpenOptions) -> Result<(String, Record)> {
    let source = RemoteSource::open(url, &options.remote, &options.cancel)?;
    let (name, version) = (source.name().to_owned(), source.version());
    let fail = |error| Error::io(Path::new(&name), error);
    if version.mark.is_empty() {
        let problem = "the server tells no version of the object, by which an index could know it again";
        return Err(fail(io::Error::new(io::ErrorKind::Unsupported, problem)));
    }
    let remembered: Arc<dyn Source> = Arc::new(Remembered { source, read: Mutex::default() });
    OpenFile::open(Arc::clone(&remembered), options)?;
    let pieces = super::index::header_of(remembered.as_ref(), options).map_err(fail)?;
    let part = super::record::Part {
        name: Path::new(&name).file_name().and_then(|last| last.to_str()).unwrap_or_default().to_owned(),
        version,
        held: super::record::Held::Header(pieces),
    };
    Ok((name, Record { parts: vec![part] }))
}

/// A source that remembers what was read, because a header is parsed twice.
struct Remembered {
    source: RemoteSource,
    /// Bytes that were read, by offset.
    read: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl Remembered {
    fn known(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = |(start, bytes): (&u64, &Vec<u8>)| {
            let at = usize::try_from(offset - start).ok()?;
            into.copy_from_slice(bytes.get(at..at.checked_add(into.len())?)?);
            Some(())
        };
        read.range(..=offset).rev().find_map(found)
    }
}

impl Source for Remembered {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn len(&self) -> u64 {
        self.source.len()
    }

    fn version(&self) -> Version {
        self.source.version()
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, cancel: &Cancel) {
        for ReadOp { id, offset, mut into } in ops {
            let result = match self.known(offset, &mut into) {
                Some(()) => Ok(()),
                None => {
                    let range = offset..offset.saturating_add(into.len() as u64);
                    read_ranges(&self.source, &[range], cancel).map(|mut answers| {
                        let bytes = answers.pop().unwrap_or_default();
                        into.copy_from_slice(&bytes);
                        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(offset, bytes);
                    })
                }
            };
            let _nobody_waits = done.send(ReadDone { id, into, result });
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        None
    }
}
