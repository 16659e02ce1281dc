//! Writes a new file on disk atomically.
//!
//! The bytes go to a temporary file beside the target (see `temporary`). The commit flushes it, syncs it and renames it
//! over the target. At every moment the target is the old file or the complete new one, even if the process or the
//! machine stops. The next write of the same target removes a dead temporary. A target that is a link stays one: the
//! file it points to is replaced, and keeps its mode, owner and group; access lists and other extended attributes are
//! not copied.
//!
//! If two writers have one target, the second is refused while the first lives. Without permission to overwrite, the
//! commit itself refuses a target that appeared meanwhile. Reading the old file while it is replaced is fine: open
//! handles keep it.
//!
//! Sidecars (`.ovr`, `.msk`, `.aux.xml`) of the old file are wrong for the new one. No system renames several files in
//! one step, so an order has to be chosen. If sidecars are removed first, a crash leaves the old file without its mask
//! or its statistics, and without a new file: the old state is lost. If they are removed last, a crash in between
//! leaves the new file with the old sidecars. This is the window here, and it is kept small: new sidecars are written
//! and synced as separate temporaries before the file is renamed; after that come only renames and removals,
//! without waiting, and then one sync of the folder. If the process is killed, the window is these few calls: the old
//! file is held open meanwhile, because otherwise the rename would not return before all of its blocks are freed, which
//! takes long for large files. After a loss of power, a journalling file system keeps the order of these calls, and
//! mostly keeps them together. Callers that cannot accept this write to a new name. Sidecars without a file would be
//! taken for the new file's: they count as something to overwrite.
//!
//! New sidecars are placed beside the name that was given, where readers of that name look, even if it is a link; stale
//! ones are removed there and beside the file itself. World files are left alone: they are read only if a file has no
//! georeferencing.

use super::temporary::{clear_spools, clear_temporary};
use super::{Buffered, Sink, Stopped, Temporary, advised, folder_of};
use crate::error::{Error, Result};
use crate::spool::Spool;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Suffixes of the sidecars that readers look for.
pub(super) const SIDECARS: [&str; 4] = [".aux.xml", ".ovr", ".msk", ".msk.ovr"];

/// Longest chain of links to follow, as on Linux.
const LINKS: u32 = 40;

/// Smaller parts of a spool or of another file are collected with their neighbours, to save a call for each.
const DIRECT: u64 = 256 << 10;

/// Number of bytes after which the system is told to start writing them to disk. Otherwise it starts when the commit
/// syncs the file, which then takes about as long as writing it took.
const SYNC_STEP: u64 = 8 << 20;

/// Writes a new file on disk. The target is the old file or the complete new one at every moment.
///
/// Bytes go to a temporary file beside the target. `commit` syncs it and renames it over the target.
pub struct FileSink {
    name: String,
    given: PathBuf,
    target: PathBuf,
    overwrite: bool,
    /// The file that will be replaced.
    old: Option<File>,
    temporary: Temporary,
    buffered: Buffered,
    /// Bytes that the system has started to write to disk.
    syncing: u64,
    sidecars: Vec<(PathBuf, Vec<u8>)>,
    stopped: Stopped,
}

impl FileSink {
    /// Creates a sink for a new file at `path`. An existing file is replaced only if `overwrite`.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self> {
        Self::begin(path, overwrite)
            .map_err(|error| Error::io(path, advised(error, folder_of(path), "write to another folder")))
    }

    fn begin(given: &Path, overwrite: bool) -> io::Result<Self> {
        let found = check_target(given)?;
        let target = follow(given)?;
        let fail = |kind, problem: &str| Err(io::Error::new(kind, problem));
        if target.file_name().is_none() {
            return fail(ErrorKind::InvalidInput, "expected a file, got the name of a folder");
        }
        if !folder_of(&target).is_dir() {
            let problem = format!("folder `{}` does not exist; make it first", folder_of(&target).display());
            return fail(ErrorKind::NotFound, &problem);
        }
        let old = match &found {
            Some(_) if !overwrite => {
                return fail(ErrorKind::AlreadyExists, "the file exists; set `overwrite` to replace it");
            }
            // A file without write permission is not replaced either, although its folder would allow it.
            Some(_) => Some(OpenOptions::new().write(true).open(&target)?),
            None if overwrite => None,
            None => {
                let orphan =
                    stale(given, &target).into_iter().find(|path| fs::symlink_metadata(path).is_ok());
                if let Some(orphan) = orphan {
                    let problem = format!(
                        "`{}` is there without its file and would be taken for the new one's; \
                         remove it, or set `overwrite`",
                        orphan.display()
                    );
                    return fail(ErrorKind::AlreadyExists, &problem);
                }
                None
            }
        };
        for sidecar in stale(given, &target) {
            clear_temporary(&sidecar)?;
        }
        let temporary = Temporary::of(&target, found.is_some())?;
        clear_spools(&target)?;
        if let Some(found) = &found {
            temporary.take_after(found)?;
        }
        Ok(Self {
            name: given.display().to_string(),
            given: given.to_owned(),
            target,
            overwrite,
            old,
            temporary,
            buffered: Buffered::default(),
            syncing: 0,
            sidecars: Vec::new(),
            stopped: Stopped::default(),
        })
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        let folder = folder_of(&self.target);
        let result = result.map_err(|error| advised(error, folder, "write to another folder"));
        let written = self.buffered.written();
        if result.is_ok() && written >= self.syncing.saturating_add(SYNC_STEP) {
            begin_sync(self.temporary.file(), &(self.syncing..written));
            self.syncing = written;
        }
        self.stopped.note(result)
    }

    fn copy(&mut self, spool: &Spool, range: Range<u64>) -> io::Result<()> {
        let (stored, _) = spool.split(range.clone())?;
        let taken = self.copy_file(spool.file(), stored)?;
        let to = self.temporary.file();
        spool.for_each_chunk(range.start + taken..range.end, |bytes| self.buffered.append(to, bytes))
    }

    fn copy_file(&mut self, from: &File, mut range: Range<u64>) -> io::Result<u64> {
        let mut taken = 0;
        if range.end - range.start < DIRECT {
            return Ok(taken);
        }
        let to = self.temporary.file();
        self.buffered.flush(to)?;
        if copy_wide(from, &range, to, self.buffered.written())? {
            taken = range.end - range.start;
            self.buffered.advance(taken);
            return Ok(taken);
        }
        while range.start < range.end {
            let count = copy_within_system(from, &range, to, self.buffered.written())?;
            if count == 0 {
                break;
            }
            self.buffered.advance(count);
            range.start += count;
            taken += count;
        }
        Ok(taken)
    }

    fn finish(mut self) -> io::Result<()> {
        self.stopped.check()?;
        self.buffered.flush(self.temporary.file())?;
        let mut prepared = Vec::new();
        for (path, bytes) in self.sidecars {
            let ready = prepare_sidecar(&path, &bytes).map_err(|error| about(&path, error))?;
            prepared.push((path, ready));
        }
        let mut remaining = stale(&self.given, &self.target);
        remaining.retain(|other| prepared.iter().all(|(path, _)| path != other));
        self.temporary.file().sync_all()?;
        self.temporary.install(&self.target, self.overwrite).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let problem =
                    "was created by another program while it was written; set `overwrite` to replace it";
                io::Error::new(error.kind(), problem)
            }
            _ => error,
        })?;

        // From here on the new file exists; the messages of later failures say so.
        let mut folders = BTreeSet::from([folder_of(&self.target).to_owned()]);
        let mut result = Ok(());
        for (path, (temporary, target)) in &mut prepared {
            let installed = temporary.install(target, true);
            result = result.and(installed.map_err(|error| left("could not be put beside it", path, &error)));
            folders.insert(folder_of(target).to_owned());
        }
        for path in remaining {
            match fs::remove_file(&path) {
                Ok(()) => {
                    folders.insert(folder_of(&path).to_owned());
                }
                // A name too long for the system belongs to no file.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => {}
                Err(error) => {
                    let what = "of the file it replaced could not be removed, do so before reading it";
                    result = result.and(Err(left(what, &path, &error)));
                }
            }
        }
        for folder in folders {
            result = result.and(sync_folder(&folder));
        }
        drop(self.old);
        result
    }
}

impl Sink for FileSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        let done = self.buffered.append(self.temporary.file(), bytes);
        self.note(done)
    }

    fn append_all(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.stopped.check()?;
        let done = self.buffered.append_all(self.temporary.file(), parts);
        self.note(done)
    }

    fn can_patch(&self) -> bool {
        true
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        let done = self.buffered.patch(self.temporary.file(), offset, bytes);
        self.note(done)
    }

    fn append_from(&mut self, spool: &Spool, range: Range<u64>) -> io::Result<()> {
        self.stopped.check()?;
        let done = self.copy(spool, range);
        self.note(done)
    }

    fn append_within_system(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        self.stopped.check()?;
        let done = self.copy_file(file, range);
        self.note(done)
    }

    fn takes_sidecars(&self) -> bool {
        true
    }

    fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.stopped.check()?;
        if !suffix.starts_with('.') || suffix.contains(['/', '\\']) {
            let problem = format!("`{suffix}` cannot be added to a file's name, `.aux.xml` can");
            return self.note(Err(io::Error::new(ErrorKind::InvalidInput, problem)));
        }
        let path = with_suffix(&self.given, suffix);
        self.sidecars.retain(|(other, _)| *other != path);
        self.sidecars.push((path, bytes));
        Ok(())
    }

    fn beside(&self) -> Option<&Path> {
        Some(&self.target)
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        let folder = folder_of(&self.target).to_owned();
        self.finish().map_err(|error| advised(error, &folder, "write to another folder"))
    }

    fn abort(self: Box<Self>) {}
}

/// Returns the metadata of a target, if it exists. It must be a file.
fn check_target(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => {
            Err(io::Error::new(ErrorKind::IsADirectory, "expected a file, got a directory"))
        }
        Ok(found) if !found.is_file() => {
            let problem = "is a pipe or a device, which takes a stream; `-` writes to standard output";
            Err(io::Error::new(ErrorKind::InvalidInput, problem))
        }
        Ok(found) => Ok(Some(found)),
    }
}

/// Follows a chain of links to its end, which need not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => path = folder_of(&path).join(fs::read_link(&path)?),
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, format!("is a chain of more than {LINKS} links")))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the possible paths of an earlier file's sidecars.
fn stale(given: &Path, target: &Path) -> Vec<PathBuf> {
    let bases = [Some(given), Some(target).filter(|target| *target != given)];
    let beside = |base| SIDECARS.iter().map(move |suffix| with_suffix(base, suffix));
    bases.into_iter().flatten().flat_map(beside).collect()
}

/// Writes and syncs a sidecar as a temporary. Returns it with its final path.
fn prepare_sidecar(path: &Path, bytes: &[u8]) -> io::Result<(Temporary, PathBuf)> {
    let old = check_target(path)?;
    let target = follow(path)?;
    let temporary = Temporary::of(&target, old.is_some())?;
    if let Some(old) = &old {
        temporary.take_after(old)?;
    }
    let mut buffered = Buffered::default();
    buffered.append(temporary.file(), bytes)?;
    buffered.flush(temporary.file())?;
    temporary.file().sync_all()?;
    Ok((temporary, target))
}

/// Returns an error about another file than the target.
fn about(path: &Path, error: io::Error) -> io::Error {
    let advised = advised(error, folder_of(path), "write to another folder");
    io::Error::new(advised.kind(), format!("`{}`: {advised}", path.display()))
}

/// Returns an error that occurred after the file was put in place.
fn left(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("is written, but `{}` {what}: {error}", path.display()))
}

/// Makes renames and removals in a folder durable.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems cannot sync folders, and offer nothing else.
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            let problem = format!("is written, but its folder could not be synced: {error}");
            Err(io::Error::new(error.kind(), problem))
        }
        _ => Ok(()),
    }
}

/// Does nothing: folders cannot be opened here, and the system orders their changes itself.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Copies with several threads, if that is possible and worth it.
#[cfg(target_os = "linux")]
use super::wide::{begin_sync, copy as copy_wide};

#[cfg(not(target_os = "linux"))]
fn begin_sync(_file: &File, _range: &Range<u64>) {}

#[cfg(not(target_os = "linux"))]
fn copy_wide(_from: &File, _range: &Range<u64>, _to: &File, _at: u64) -> io::Result<bool> {
    Ok(false)
}

/// Copies within the system, without passing the bytes through this process. Returns the number of bytes that the
/// system copied at once; 0 if it cannot, for example between two file systems.
#[cfg(target_os = "linux")]
fn copy_within_system(from: &File, range: &Range<u64>, to: &File, at: u64) -> io::Result<u64> {
    use rustix::io::Errno;
    let (mut start, mut at) = (range.start, at);
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    loop {
        match rustix::fs::copy_file_range(from, Some(&mut start), to, Some(&mut at), len) {
            Ok(count) => return Ok(count as u64),
            Err(Errno::INTR) => {}
            Err(
                Errno::XDEV
                | Errno::NOSYS
                | Errno::INVAL
                | Errno::PERM
                | Errno::OPNOTSUPP
                | Errno::TXTBSY
                | Errno::OVERFLOW,
            ) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn copy_within_system(_from: &File, _range: &Range<u64>, _to: &File, _at: u64) -> io::Result<u64> {
    Ok(0)
}
