//! Stores encoded blocks on disk until all their places in the file are known.
//!
//! A spool only grows, and any part of it can be read back meanwhile. The file has no name if the system supports that
//! (`O_TMPFILE`, or a name that is removed at once), so it does not outlive the process. Elsewhere it is a locked file,
//! `.NAME.strile.N.spool`, that is removed with the spool or by the next one.

use crate::error::{Error, Result};
use crate::sink::{BUFFER, Buffered, Reserved, Temporary, advised, folder_of, spool_of};
use crate::source::ReadExactAt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// No writer has more spools at one place: more mean that something is wrong.
const SLOTS: u32 = 4096;

/// Holds bytes in an unnamed temporary file until the writer knows where they belong.
pub struct Spool {
    folder: PathBuf,
    kept: Kept,
    buffered: Buffered,
}

enum Kept {
    Nameless(File),
    Named(Temporary),
}

impl Spool {
    /// Creates an empty spool in `dir`, else in the folder of the file `beside`, else in the system's temporary folder.
    pub fn create(dir: Option<&Path>, beside: Option<&Path>) -> Result<Self> {
        let folder = match (dir, beside) {
            (Some(dir), _) => dir.to_owned(),
            (None, Some(file)) => folder_of(file).to_owned(),
            (None, None) => std::env::temp_dir(),
        };
        let kept = match nameless(&folder) {
            Some(file) => Ok(Kept::Nameless(file)),
            None => named(&folder, beside).map(|mut temporary| {
                // If the name cannot be removed while the file is open, the lock and the next writer take care of it.
                let _gone = temporary.unlink();
                Kept::Named(temporary)
            }),
        };
        let kept = kept.map_err(|error| {
            Error::io(&folder, advised(error, &folder, "name another folder with `spool_dir`"))
        })?;
        Ok(Self { folder, kept, buffered: Buffered::default() })
    }

    /// Appends bytes and returns their offset. A failed call appends nothing.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.append_all(&[bytes])
    }

    /// Appends several pieces of bytes in order and returns the offset of the first.
    pub fn append_all(&mut self, parts: &[&[u8]]) -> io::Result<u64> {
        let start = self.buffered.len();
        let file = match &self.kept {
            Kept::Nameless(file) => file,
            Kept::Named(temporary) => temporary.file(),
        };
        self.buffered.append_all(file, parts).map_err(|error| self.told(error))?;
        Ok(start)
    }

    /// Returns the number of bytes appended so far.
    pub fn len(&self) -> u64 {
        self.buffered.len()
    }

    /// Returns whether the spool is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the folder of the spool.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads bytes at `offset` until `into` is full.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(into.len() as u64);
        let (stored, rest) = self.split(offset..end)?;
        let (on_disk, in_memory) = into.split_at_mut(into.len() - rest.len());
        self.file().read_exact_at(on_disk, stored.start).map_err(|error| self.told(error))?;
        in_memory.copy_from_slice(rest);
        Ok(())
    }

    /// Passes a range to `take`, in order, in chunks of bounded size.
    pub fn for_each_chunk(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut stored, rest) = self.split(range)?;
        let room = usize::try_from(stored.end - stored.start).unwrap_or(BUFFER).min(BUFFER);
        let mut chunk = vec![0; room];
        while stored.start < stored.end {
            let len = usize::try_from(stored.end - stored.start).unwrap_or(BUFFER).min(BUFFER);
            let chunk = chunk.get_mut(..len).unwrap_or_default();
            self.file().read_exact_at(chunk, stored.start).map_err(|error| self.told(error))?;
            take(chunk)?;
            stored.start += len as u64;
        }
        if rest.is_empty() { Ok(()) } else { take(rest) }
    }

    /// Splits a range into the part in the file, by its place there, and the part still in memory.
    pub(crate) fn split(&self, range: Range<u64>) -> io::Result<(Range<u64>, &[u8])> {
        if range.start > range.end || range.end > self.len() {
            let problem = format!("bytes {} to {} of a spool of {}", range.start, range.end, self.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let written = self.buffered.written();
        let stored = range.start.min(written)..range.end.min(written);
        let in_tail = |at: u64| usize::try_from(at.saturating_sub(written)).unwrap_or(usize::MAX);
        let rest = self.buffered.tail().get(in_tail(range.start)..in_tail(range.end)).unwrap_or_default();
        Ok((stored, rest))
    }

    pub(crate) fn file(&self) -> &File {
        match &self.kept {
            Kept::Nameless(file) => file,
            Kept::Named(temporary) => temporary.file(),
        }
    }

    fn told(&self, error: io::Error) -> io::Error {
        advised(error, &self.folder, "name another folder with `spool_dir`")
    }
}

/// Opens a file without a name. Returns `None` if the system or the file system does not support that; any other
/// problem is reported when a named file is tried.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_folder: &Path) -> Option<File> {
    None
}

fn named(folder: &Path, beside: Option<&Path>) -> io::Result<Temporary> {
    let target = folder.join(beside.and_then(Path::file_name).unwrap_or("strile".as_ref()));
    for slot in 0..SLOTS {
        if let Reserved::Ours(temporary) = Temporary::reserve(spool_of(&target, slot), true)? {
            return Ok(temporary);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("{SLOTS} spools are in use")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::tempdir;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Returns a spool that has to keep its name.
    fn with_name(folder: &Path, beside: &Path) -> Spool {
        let kept = Kept::Named(named(folder, Some(beside)).unwrap());
        Spool { folder: folder.to_owned(), kept, buffered: Buffered::default() }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_seen_of_it() {
        let folder = tempdir().unwrap();
        let target = folder.path().join("x.tif");
        let mut first = Spool::create(None, Some(&target)).unwrap();
        let mut second = Spool::create(None, Some(&target)).unwrap();
        first.append(&vec![1; 2 * BUFFER]).unwrap();
        second.append(&vec![2; 2 * BUFFER]).unwrap();
        assert!(names(folder.path()).is_empty());
        // Fallback without unnamed files: a file whose name is removed.
        let mut temporary = named(folder.path(), Some(&target)).unwrap();
        assert!(temporary.unlink());
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn one_with_a_name_goes_with_it_and_dead_ones_are_cleared() {
        let folder = tempdir().unwrap();
        let target = folder.path().join("x.tif");
        fs::write(folder.path().join(".x.tif.strile.0.spool"), "of a killed process").unwrap();
        let mut first = with_name(folder.path(), &target);
        let mut second = with_name(folder.path(), &target);
        assert_eq!(names(folder.path()), [".x.tif.strile.0.spool", ".x.tif.strile.1.spool"]);
        first.append(b"first").unwrap();
        second.append(b"second").unwrap();
        let mut read = [0; 5];
        first.read_at(0, &mut read).unwrap();
        assert_eq!(&read, b"first");
        drop(first);
        assert_eq!(names(folder.path()), [".x.tif.strile.1.spool"]);
        drop(second);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn any_range_is_read_back_while_it_grows() {
        let folder = tempdir().unwrap();
        let mut spool = Spool::create(Some(folder.path()), None).unwrap();
        assert!(spool.is_empty());
        let mut all: Vec<u8> = Vec::new();
        for (seed, len) in [10, BUFFER - 10, 1, 2 * BUFFER, 300_000].into_iter().enumerate() {
            let part: Vec<u8> = (0..len).map(|at| u8::try_from((at * 7 + seed) % 253).unwrap()).collect();
            assert_eq!(spool.append(&part).unwrap(), all.len() as u64);
            all.extend_from_slice(&part);
            for (start, end) in
                [(0, all.len()), (all.len() / 3, all.len()), (all.len() - 1, all.len()), (5, 5)]
            {
                let mut read = vec![0; end - start];
                spool.read_at(start as u64, &mut read).unwrap();
                assert!(read == all[start..end], "{start}..{end} of {}", all.len());
                let mut chunks = Vec::new();
                spool
                    .for_each_chunk(start as u64..end as u64, |chunk| {
                        assert!(chunk.len() <= BUFFER);
                        chunks.extend_from_slice(chunk);
                        Ok(())
                    })
                    .unwrap();
                assert!(chunks == read);
            }
        }
        let end = spool.len();
        assert_eq!(spool.read_at(end, &mut [0]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(spool.read_at(u64::MAX, &mut [0; 2]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        #[expect(clippy::reversed_empty_ranges, reason = "the wrong range is the test")]
        let backwards = spool.for_each_chunk(5..4, |_| Ok(()));
        assert_eq!(backwards.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_missing_folder_is_told_by_its_name() {
        let folder = tempdir().unwrap();
        let missing = folder.path().join("none");
        let Err(Error::Io { path, error }) = Spool::create(Some(&missing), None) else {
            panic!("a spool in a folder that is not there");
        };
        assert_eq!((path, error.kind()), (missing, io::ErrorKind::NotFound));
    }
}
