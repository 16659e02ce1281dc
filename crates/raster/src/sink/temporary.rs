//! A locked, named temporary file beside its target, and its rename to the target.
//!
//! The name is fixed, `.NAME.strile.tmp`: exclusive creation decides between two writers without listing the folder,
//! which may hold a million files. The lock distinguishes a live temporary from a dead one, because the system releases
//! it when the process ends, in whatever way.
//!
//! If the name exists, its lock is tried. If it is locked, another writer is active. If not, the writer is dead, and
//! the file is removed, under its lock and only while the name still refers to the locked file. A writer that has
//! created but not yet locked its file can lose it this way; it detects that after locking and tries again. On file
//! systems without locks, a new temporary is not locked, and an existing one is an error, because it is unknown whether
//! its writer is alive.

use super::folder_of;
use fs4::{FileExt, TryLockError};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use strile_engine::ProcessId;

/// Number of attempts for a name that other writers remove or hold briefly.
const ATTEMPTS: u32 = 5;

/// Longest part of a target's name that is repeated in the temporary's name. Most systems allow 255 bytes in total.
const NAME: usize = 200;

/// A temporary file that is removed when dropped, unless it was installed at its target.
pub(crate) struct Temporary {
    path: PathBuf,
    file: File,
    /// The process that created it: a process forked meanwhile must not remove it.
    process: ProcessId,
    installed: bool,
}

/// The result of requesting a name.
pub(crate) enum Reserved {
    Ours(Temporary),
    /// Held by a live writer.
    Busy,
}

impl Temporary {
    /// Creates the temporary of `target`. `private` keeps others from reading it until it gets the target's mode.
    pub fn of(target: &Path, private: bool) -> io::Result<Self> {
        let path = name_of(target, "tmp");
        for attempt in 1..=ATTEMPTS {
            if let Reserved::Ours(temporary) = Self::reserve(path.clone(), private)? {
                return Ok(temporary);
            }
            // A process that removes a dead temporary also holds it briefly.
            std::thread::sleep(Duration::from_millis(u64::from(attempt)));
        }
        let problem = format!("is being written by another writer, which holds `{}`", path.display());
        Err(io::Error::new(ErrorKind::ResourceBusy, problem))
    }

    /// Creates and locks a file at `path`, after removing a dead one.
    pub fn reserve(path: PathBuf, private: bool) -> io::Result<Reserved> {
        for _ in 0..ATTEMPTS {
            match creating(private).open(&path) {
                Ok(file) => {
                    let locked = !matches!(FileExt::try_lock(&file), Err(TryLockError::WouldBlock));
                    if locked && is_at(&file, &path)? {
                        let process = ProcessId::current();
                        return Ok(Reserved::Ours(Self { path, file, process, installed: false }));
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if !clear(&path)? {
                        return Ok(Reserved::Busy);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Reserved::Busy)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Applies the owner, group and mode of the replaced file. An owner that may not be set is skipped; if the group
    /// may not be set, the new group gets no more permissions than everyone.
    #[cfg(unix)]
    pub fn take_after(&self, old: &fs::Metadata) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let new = self.file.metadata()?;
        let mut mode = old.mode() & 0o7777;
        let same_owner = new.uid() == old.uid() || fchown(&self.file, Some(old.uid()), None).is_ok();
        if !same_owner {
            mode &= 0o3777;
        }
        let same_group = new.gid() == old.gid() || fchown(&self.file, None, Some(old.gid())).is_ok();
        if !same_group {
            mode = (mode & 0o5707) | ((mode & 0o7) << 3);
        }
        if self.file.metadata()?.mode() & 0o7777 != mode {
            self.file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    pub fn take_after(&self, _old: &fs::Metadata) -> io::Result<()> {
        Ok(())
    }

    /// Renames it to `target`, atomically. Without `replace`, fails if the target exists.
    pub fn install(&mut self, target: &Path, replace: bool) -> io::Result<()> {
        if replace { fs::rename(&self.path, target) } else { rename_new(&self.path, target) }?;
        self.installed = true;
        Ok(())
    }

    /// Removes its name; the file itself stays until it is closed. Returns `false` if the system cannot.
    pub fn unlink(&mut self) -> bool {
        self.installed |= fs::remove_file(&self.path).is_ok();
        self.installed
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.installed && self.process == ProcessId::current() {
            // If it cannot be removed, the next writer finds it dead.
            let _left = fs::remove_file(&self.path);
        }
    }
}

/// Removes the dead temporary of `target`, if there is one. A live one stays.
pub(crate) fn clear_temporary(target: &Path) -> io::Result<()> {
    clear(&name_of(target, "tmp")).map(drop)
}

/// Removes the dead spools of `target`, if there are any. Live ones stay.
pub(crate) fn clear_spools(target: &Path) -> io::Result<()> {
    let mut spools = (0..).map(|slot| spool_of(target, slot));
    spools
        .by_ref()
        .take_while(|spool| fs::symlink_metadata(spool).is_ok())
        .try_for_each(|spool| clear(&spool).map(drop))
}

/// Returns the path of a spool of `target` that must have a name.
pub(crate) fn spool_of(target: &Path, slot: u32) -> PathBuf {
    name_of(target, &format!("{slot}.spool"))
}

/// Removes a dead file at `path`. Returns `true` if nothing is left there, `false` if its writer is alive.
fn clear(path: &Path) -> io::Result<bool> {
    let in_the_way = |why: &str, kind| {
        io::Error::new(
            kind,
            format!("`{}` is in the way: {why}; remove it if it is not needed", path.display()),
        )
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => {
            return Err(in_the_way("it is not a file", ErrorKind::AlreadyExists));
        }
        Ok(_) => {}
    }
    let file = match finding().open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(in_the_way(&error.to_string(), error.kind())),
    };
    match FileExt::try_lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => {
            let why = format!("whether its writer lives cannot be told ({error})");
            return Err(in_the_way(&why, ErrorKind::ResourceBusy));
        }
    }
    if is_at(&file, path)? {
        fs::remove_file(path).map_err(|error| in_the_way(&error.to_string(), error.kind()))?;
    }
    Ok(true)
}

fn name_of(target: &Path, kind: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut hidden = OsString::from(".");
    if name.len() <= NAME {
        hidden.push(name);
    } else {
        // FNV-1a: a name always gives the same temporary.
        let mark = name.as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        hidden.push(format!("long-{mark:016x}"));
    }
    hidden.push(format!(".strile.{kind}"));
    folder_of(target).join(hidden)
}

fn creating(private: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _everyone_of_the_folder = private;
    options
}

/// Returns the options to open a temporary's name, which others may have created: they follow no links and do not wait
/// for a pipe.
fn finding() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(target_os = "linux")]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        #[expect(
            clippy::cast_possible_wrap,
            reason = "the flags of `open` are a C int, whose bits these are"
        )]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    }
    options
}

/// Returns whether `path` is a name of this very file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether `path` is a name of this very file. On this system a name cannot pass to another file while it is
/// open.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

/// Renames only if `to` does not exist: in one step on Linux, else with a second name, and on file systems without
/// either by checking first.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            done => return Ok(done?),
        }
    }
    match fs::hard_link(from, to) {
        // If the first name stays, it is a dead temporary for the next writer.
        Ok(()) => {
            let _left = fs::remove_file(from);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}
