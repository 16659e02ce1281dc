//! Large writes by several threads.
//!
//! A file admits one `write` at a time, and one thread fills the page cache at 2 to 3 GB/s, less than a GPU encodes. So
//! the file is extended and filled as mapped memory, one chunk per thread. Touching mapped memory of a full file system
//! kills the process, so each chunk is populated first (`MADV_POPULATE_WRITE`), which returns an error instead; this is
//! where pages are allocated and cleared, and many threads can do it at once. It takes two to three times the processor
//! time of a `write`, so it is used only where measurements showed a gain: on a file system in memory, on a machine
//! with many cores. On ext4 with two cores it was slower by half. Where it cannot be used, nothing is done and the
//! caller writes as usual.
//!
//! `begin_sync` makes the system start writing to disk, so that a final sync has little left to wait for.

#![expect(unsafe_code, reason = "a file as memory")]

use crate::source::ReadExactAt;
use rustix::fs::fstatfs;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use strile_engine::thread_builder;

/// Writes of fewer bytes are not worth the threads.
const WORTH: u64 = 4 << 20;
/// More threads do not fill the page cache faster.
const MOST_THREADS: usize = 8;
/// Machines with fewer cores use them better elsewhere.
const FEWEST_CORES: usize = 8;
/// Bytes that a thread takes at a time: they are still in its cache between being cleared and being written.
const CHUNK: usize = 1 << 20;
/// A multiple of every page size.
const PAGE: u64 = 1 << 16;

/// Writes pieces of bytes in order at `offset`, the end of a file that no one else writes. Returns `false` if that is
/// impossible or not worth it; then nothing was written.
pub(super) fn write(file: &File, parts: &[&[u8]], offset: u64) -> io::Result<bool> {
    let starts = starts_of(parts);
    let len = parts.iter().map(|part| part.len() as u64).sum();
    write_from(file, (offset, len), &|at, into| gather(parts, &starts, at, into))
}

/// Copies a part of a file to `offset`, the end of another one. Returns `false` like `write`.
pub(super) fn copy(from: &File, range: &Range<u64>, to: &File, offset: u64) -> io::Result<bool> {
    let len = range.end.saturating_sub(range.start);
    write_from(to, (offset, len), &|at, into| from.read_exact_at(into, range.start + at))
}

/// Fills a part of the new bytes that begins `at` bytes after their start.
type Fill<'a> = &'a (dyn Fn(u64, &mut [u8]) -> io::Result<()> + Sync);

/// Returns the offset of each piece relative to the first.
fn starts_of(parts: &[&[u8]]) -> Vec<u64> {
    let next = |end: &mut u64, part: &&[u8]| Some(std::mem::replace(end, *end + part.len() as u64));
    parts.iter().scan(0, next).collect()
}

/// Copies a part of the concatenated pieces, which begin at `starts`.
fn gather(parts: &[&[u8]], starts: &[u64], mut at: u64, mut into: &mut [u8]) -> io::Result<()> {
    let first = starts.partition_point(|start| *start <= at).saturating_sub(1);
    for (part, start) in parts.iter().zip(starts).skip(first) {
        let rest = usize::try_from(at - start).ok().and_then(|done| part.get(done..)).unwrap_or_default();
        let (now, later) = into.split_at_mut(rest.len().min(into.len()));
        now.copy_from_slice(rest.get(..now.len()).unwrap_or_default());
        at += now.len() as u64;
        into = later;
        if into.is_empty() {
            return Ok(());
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

fn write_from(file: &File, (offset, len): (u64, u64), fill: Fill<'_>) -> io::Result<bool> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if len < WORTH || cores < FEWEST_CORES || !is_in_memory(file) {
        return Ok(false);
    }
    write_by(file, (offset, len), cores.min(MOST_THREADS), fill)
}

/// Makes the system start writing a part of a file to disk. This guarantees nothing: the following sync reports errors.
pub(super) fn begin_sync(file: &File, range: &Range<u64>) {
    let to_signed = |number: u64| libc::off64_t::try_from(number);
    let (Ok(start), Ok(len)) = (to_signed(range.start), to_signed(range.end.saturating_sub(range.start)))
    else {
        return;
    };
    // SAFETY: the call receives no memory, and the file is open.
    let _begun = unsafe { libc::sync_file_range(file.as_raw_fd(), start, len, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Returns whether a file is on a file system in memory.
fn is_in_memory(file: &File) -> bool {
    // `TMPFS_MAGIC`; its type differs between processors.
    fstatfs(file).is_ok_and(|found| found.f_type == 0x0102_1994)
}

fn write_by(file: &File, (offset, new): (u64, u64), threads: usize, fill: Fill<'_>) -> io::Result<bool> {
    let start = offset - offset % PAGE;
    let Ok(before) = usize::try_from(offset - start) else { return Ok(false) };
    let Some(len) = usize::try_from(new).ok().and_then(|new| before.checked_add(new)) else {
        return Ok(false);
    };
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, at an address of the system's choice.
    let mapped = unsafe { mmap(std::ptr::null_mut(), len, flags, MapFlags::SHARED, file, start) };
    let Ok(mapped) = mapped else { return Ok(false) };
    let filled = file.set_len(offset + new).and_then(|()| {
        // SAFETY: the mapping has `len` bytes, all of them within the file. Those of a chunk are touched only after
        // they are populated; they are the file's own, which only this process writes, here and now.
        let target = unsafe { std::slice::from_raw_parts_mut(mapped.cast::<u8>(), len) };
        fill_by(target, before, threads, fill)
    });
    // SAFETY: the mapping made above; there are no references into it any more.
    unsafe { munmap(mapped, len) }?;
    match filled {
        Ok(()) => Ok(true),
        // The system does not know the advice; the file is unchanged.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            file.set_len(offset)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Fills the mapping after its first `before` bytes, which stay unchanged.
fn fill_by(target: &mut [u8], before: usize, threads: usize, fill: Fill<'_>) -> io::Result<()> {
    // Chunks begin at pages. The first one starts with bytes that must not change.
    let starts = (0u64..).step_by(CHUNK);
    let chunks = Mutex::new(starts.zip(target.chunks_mut(CHUNK)));
    let next = || chunks.lock().ok().and_then(|mut chunks| chunks.next());
    let work = || {
        while let Some((start, chunk)) = next() {
            populate(chunk)?;
            let stay = if start == 0 { before } else { 0 };
            fill((start + stay as u64) - before as u64, chunk.get_mut(stay..).unwrap_or_default())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // If the system has no more threads, the existing ones do the work.
        let start = |_| thread_builder("strile-write").ok()?.spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let own = work();
        let joined = |done: std::thread::ScopedJoinHandle<'_, io::Result<()>>| {
            done.join().unwrap_or_else(|_| Err(io::Error::other("a thread that filled a file panicked")))
        };
        others.into_iter().map(joined).fold(own, io::Result::and)
    })
}

/// Allocates the pages of a part of a mapping, writable. Fails if the file system has no room for them.
fn populate(part: &mut [u8]) -> io::Result<()> {
    loop {
        // SAFETY: a part of a mapping, from a page on; its bytes stay unchanged.
        match unsafe { madvise(part.as_mut_ptr().cast(), part.len(), Advice::LinuxPopulateWrite) } {
            Ok(()) => return Ok(()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // The error for memory whose touch would kill the process.
            Err(Errno::FAULT) => return Err(Errno::NOSPC.into()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, SeekFrom, Write};

    #[test]
    fn what_was_written_before_and_after_stays() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 70_001]).unwrap();
        let bytes: Vec<u8> = (0..5_900_001u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        // Pieces of many sizes, one of them empty.
        let (first, rest) = bytes.split_at(2_345_678);
        let parts: Vec<&[u8]> = std::iter::once(first).chain([&[][..]]).chain(rest.chunks(7_777)).collect();
        let starts = starts_of(&parts);
        let by_parts = |at: u64, into: &mut [u8]| gather(&parts, &starts, at, into);
        let len = bytes.len() as u64;
        if !write_by(&file, (70_001, len), 3, &by_parts).unwrap() {
            println!("skipped: files here are not filled as memory");
            return;
        }
        let read = |mut file: &File| {
            let mut found = Vec::new();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_to_end(&mut found).unwrap();
            found
        };
        assert!(read(&file) == [&[7; 70_001][..], &bytes].concat());
        assert!(!write(&file, &[&bytes[..4_000_000]], 5_970_002).unwrap(), "small writes are not worth it");
        let mut copied = tempfile::tempfile().unwrap();
        copied.write_all(b"head").unwrap();
        let from_file = |at: u64, into: &mut [u8]| file.read_exact_at(into, 70_001 + at);
        assert!(write_by(&copied, (4, len), 4, &from_file).unwrap());
        assert!(read(&copied) == [b"head", &bytes[..]].concat());
    }

    /// Passes the small file system to the run of the test inside of it.
    const SMALL: &str = "STRILE_TEST_SMALL";

    /// Touching memory of a full file system would end the process with SIGBUS. The test runs itself again in a
    /// separate mount namespace, in which it mounts a small file system.
    #[test]
    fn no_room_is_an_error_and_not_the_end() {
        if let Some(folder) = std::env::var_os(SMALL) {
            let file = tempfile::tempfile_in(folder).unwrap();
            let fill = |_: u64, into: &mut [u8]| {
                into.fill(3);
                Ok(())
            };
            let error = write_by(&file, (0, 64 << 20), 4, &fill).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            println!("no room was met");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let unshared = |script: &str| {
            let mut command = std::process::Command::new("unshare");
            command.args(["-rm", "sh", "-c", script]).arg(std::env::current_exe().unwrap());
            command.args([
                "--exact",
                "sink::wide::tests::no_room_is_an_error_and_not_the_end",
                "--nocapture",
            ]);
            command.env(SMALL, folder.path()).output()
        };
        let mount = format!("mount -t tmpfs -o size=8m none \"${SMALL}\"");
        if !unshared(&mount).is_ok_and(|output| output.status.success()) {
            println!("skipped: this user may not mount a file system in a namespace of its own");
            return;
        }
        let output = unshared(&format!("{mount} && exec \"$0\" \"$@\"")).unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && told.contains("no room was met"),
            "{}: {told}{problem}",
            output.status
        );
    }

    #[test]
    fn a_file_that_can_only_be_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("only");
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
        assert!(!write_by(&file, (0, 100), 2, &|_, _| Ok(())).unwrap());
    }
}
