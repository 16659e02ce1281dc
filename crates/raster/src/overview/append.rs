//! Appends bytes to an existing file. The file reads as before until one pointer is changed at the end.

use super::chain::{self, Chain};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::sink::Sink;
use crate::write::Appended;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use strile_tiff::FileForm;

/// The promise of a cloud-optimized file, and its revocation, of equal length.
const KEPT: &[u8] = b"KNOWN_INCOMPATIBLE_EDITION=NO\n ";
const BROKEN: &[u8] = b"KNOWN_INCOMPATIBLE_EDITION=YES\n";

/// The end of a file, and the changes before it that are made when everything is written.
pub(super) struct AppendSink {
    name: String,
    path: PathBuf,
    file: File,
    old_len: u64,
    buffer: Vec<u8>,
    patches: Vec<(u64, Vec<u8>)>,
    /// A change that is made after all others.
    last: Option<(u64, Vec<u8>)>,
}

/// Bytes collected before they are written.
const BUFFER: usize = 1 << 20;

impl AppendSink {
    /// Opens the end of the file `input`. The directories `gone` will no longer be in its chain.
    pub(super) fn open(path: &Path, input: &Dataset, gone: &BTreeSet<usize>) -> Result<(Self, Appended)> {
        let failed = |error: io::Error| Error::io(path, error);
        let tiff = input.tiff().ok_or_else(|| input.refuse("has no directory".into()))?;
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        fs4::FileExt::try_lock(&file)
            .map_err(|_| input.refuse("is being written by another process".into()))?;
        let old_len = file.metadata().map_err(failed)?.len();
        if old_len != tiff.file_len {
            return Err(input.refuse("has changed since it was opened; try again".into()));
        }
        // Directories begin at even bytes.
        let at = old_len + old_len % 2;
        let Chain { copies, pointer, then, last } =
            chain::without(&mut file, tiff, gone, at).map_err(failed)?;
        let mut sink = Self {
            name: path.display().to_string(),
            path: path.to_owned(),
            file,
            old_len,
            buffer: Vec::new(),
            patches: Vec::new(),
            last,
        };
        sink.take_promise_back().map_err(failed)?;
        sink.buffer.resize(usize::from(old_len % 2 == 1), 0);
        let appended = Appended { at: at + copies.len() as u64, pointer, then };
        sink.buffer.extend(copies);
        Ok((sink, appended))
    }

    /// Removes directories from the chain. Appends only copies of those that stay.
    pub(super) fn only_remove(path: &Path, input: &Dataset, gone: &BTreeSet<usize>) -> Result<()> {
        let (mut sink, appended) = Self::open(path, input, gone)?;
        let header =
            input.tiff().map(|tiff| tiff.header).ok_or_else(|| input.refuse("has no directory".into()))?;
        let form = FileForm { byte_order: header.byte_order, variant: header.variant };
        let pointer =
            form.pointer(appended.then).map_err(|_| input.refuse("is too long for a classic TIFF".into()))?;
        let failed = |error: io::Error| Error::io(path, error);
        sink.patch(appended.pointer, &pointer).map_err(failed)?;
        Box::new(sink).commit().map_err(failed)
    }

    /// Marks a cloud-optimized file as no longer one.
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
        // One after the other: the promise is revoked before the pointer leads to the new directories.
        let patches = std::mem::take(&mut self.patches).into_iter().chain(self.last.take());
        for (number, (offset, bytes)) in patches.enumerate() {
            let written = self.file.seek(SeekFrom::Start(offset)).and_then(|_| self.file.write_all(&bytes));
            if let Err(error) = written {
                // No pointer leads to the appended bytes yet.
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
        // The file reads the same with the appended bytes; it is only longer.
        let _shorter = self.file.set_len(self.old_len);
    }
}
