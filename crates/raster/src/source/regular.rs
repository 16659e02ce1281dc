//! Opens local files, regular ones only, and identifies their states.
//!
//! A path may name a directory, or a pipe, a device or a socket, whose `open` or `read` can block for ever. The kind of
//! the file is checked before it is opened, so that devices are not touched, and again on the open file, so that it
//! cannot be exchanged in between. Opening never blocks.

use super::Version;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Opens a regular file for reading. Anything else is an error that names its kind.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, Version)> {
    check(&std::fs::metadata(path)?)?;
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // The standard library adds CLOEXEC. Bits of flags are small and positive.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    check(&metadata)?;
    Ok((file, version_of(&metadata)))
}

/// Returns the current state of a file.
pub(crate) fn version_at(path: &Path) -> io::Result<Version> {
    std::fs::metadata(path).map(|metadata| version_of(&metadata))
}

fn check(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let (error, name) = match kind.is_dir() {
        true => (io::ErrorKind::IsADirectory, "a directory"),
        false => (io::ErrorKind::InvalidInput, special(kind)),
    };
    Err(io::Error::new(error, format!("expected a regular file, got {name}")))
}

#[cfg(unix)]
fn special(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        "a named pipe (FIFO); `-` reads standard input"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device; `-` reads standard input"
    } else {
        "something else"
    }
}

#[cfg(not(unix))]
fn special(_kind: std::fs::FileType) -> &'static str {
    "something else"
}

/// Returns the state of a file from its metadata.
fn version_of(metadata: &Metadata) -> Version {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map(|since| since.as_nanos().to_string()).unwrap_or_default();
    Version { len: metadata.len(), mark: format!("{modified}{}", identity(metadata)) }
}

/// Returns the identity of the file and the last change of its inode: a file that was replaced by one of the same size
/// and modification time differs.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    format!("/{}.{}.{changed}@{}", metadata.ino(), metadata.dev(), machine())
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> String {
    String::new()
}

/// Identifies this machine since its last start, and its view of the file systems. Without `/proc`, identifies the
/// process.
#[cfg(unix)]
fn machine() -> &'static str {
    static MACHINE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    if let Some(machine) = MACHINE.get() {
        return machine;
    }
    // Not `get_or_init`: after a fork in the middle of it, the child would wait for a thread that it does not have.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let mounts = std::fs::read_link("/proc/self/ns/mnt").ok();
    let name = match (boot, mounts) {
        (Some(boot), Some(mounts)) => {
            let digits = |text: &str| text.chars().filter(char::is_ascii_hexdigit).collect::<String>();
            format!("{}-{}", digits(&boot), digits(&mounts.to_string_lossy()))
        }
        _ => format!("process-{}", std::process::id()),
    };
    let _another_thread_was_first = MACHINE.set(name);
    MACHINE.get().map_or("", String::as_str)
}

/// Returns whether two marks of files may belong to one state; see `Version::is_same`.
pub(super) fn is_same_mark(a: &str, b: &str) -> bool {
    let parts = |mark: &str| {
        let (modified, identity) = mark.split_once('/')?;
        let (_, machine) = identity.rsplit_once('@')?;
        let is_time = !modified.is_empty() && modified.bytes().all(|byte| byte.is_ascii_digit());
        is_time.then(|| (modified.to_owned(), machine.to_owned()))
    };
    match (parts(a), parts(b)) {
        (Some((a_time, a_machine)), Some((b_time, b_machine))) => a_machine != b_machine && a_time == b_time,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_counts_on_one_machine_only() {
        let version = |mark: &str| Version { len: 3, mark: mark.into() };
        let one = version("17/5.1.18@a");
        assert!(one.is_same(&one));
        assert!(one.is_same(&version("17/6.2.19@b")));
        assert!(!one.is_same(&version("17/6.1.18@a")) && !one.is_same(&version("17/5.1.19@a")));
        assert!(!one.is_same(&version("16/5.1.18@b")) && !one.is_same(&version("17")));
        assert!(!one.is_same(&Version { len: 4, mark: "17/5.1.18@b".into() }));
        // ETags are compared as a whole, whatever their form.
        assert!(
            !version("x/1@a").is_same(&version("x/1@b"))
                && !version("\"1/2@a\"").is_same(&version("\"1/2@b\""))
        );
    }
}
