//! Large writes by several threads.
//!
//! A file lets one `write` in at a time, and one thread fills the page cache at 2 to 3 GB/s, less than a GPU encodes. So
//! room for the bytes is made in the file first (`fallocate`, which says now where there is none left), and the file as
//! memory is filled by several threads behind it. That takes two to three times the processor time of a `write`, so it
//! is done where it was measured to win: in a file system in memory, on a machine with many cores (1.4 times on 16). On
//! ext4 with two it lost by half. Where it cannot be done, nothing is done and the caller writes as ever.

#![expect(unsafe_code, reason = "a file as memory")]

use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Mutex, mpsc};

/// Fewer bytes are not worth the threads.
const WORTH: usize = 4 << 20;
/// More threads do not fill the page cache faster.
const MOST_THREADS: usize = 8;
/// Machines with fewer cores have better uses for them.
const FEWEST_CORES: usize = 8;
/// Bytes for which room is made at once.
const CHUNK: usize = 2 << 20;
/// A multiple of every page's size.
const PAGE: u64 = 1 << 16;

/// Writes `bytes` at `offset`, the end of a file that nobody else writes; `false` where that is not possible or not
/// worth it and nothing was written.
pub(super) fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<bool> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if bytes.len() < WORTH || cores < FEWEST_CORES || !is_in_memory(file) {
        return Ok(false);
    }
    write_by(file, bytes, offset, cores.min(MOST_THREADS))
}

/// Whether a file lies in a file system in memory.
fn is_in_memory(file: &File) -> bool {
    // `TMPFS_MAGIC`; its type differs from processor to processor.
    fstatfs(file).is_ok_and(|found| found.f_type == 0x0102_1994)
}

fn write_by(file: &File, bytes: &[u8], offset: u64, threads: usize) -> io::Result<bool> {
    let start = offset - offset % PAGE;
    let Ok(before) = usize::try_from(offset - start) else { return Ok(false) };
    let Some(len) = before.checked_add(bytes.len()) else { return Ok(false) };
    // The first room tells whether the file system makes any.
    let first = bytes.len().min(CHUNK);
    if !make_room(file, offset, first)? {
        return Ok(false);
    }
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, at an address of the system's choice.
    let mapped = unsafe { mmap(std::ptr::null_mut(), len, flags, MapFlags::SHARED, file, start) };
    let Ok(mapped) = mapped else { return Ok(false) };
    // SAFETY: the mapping has `len` bytes. Those of a chunk are touched only once the file has room for them on its
    // disk; they are the file's own, which this process alone writes, here and now.
    let target = unsafe { std::slice::from_raw_parts_mut(mapped.cast::<u8>(), len) };
    let filled = fill(file, bytes, target.get_mut(before..).unwrap_or_default(), offset, threads);
    // SAFETY: the mapping made above; nobody has a reference into it any more.
    unsafe { munmap(mapped, len) }?;
    filled.map(|()| true)
}

/// Makes room chunk by chunk, in which the file lets one thread at a time, while others fill what is made.
fn fill(file: &File, bytes: &[u8], target: &mut [u8], offset: u64, threads: usize) -> io::Result<()> {
    let (send, receive) = mpsc::channel::<(&[u8], &mut [u8])>();
    let receive = Mutex::new(receive);
    let next = || receive.lock().ok().and_then(|receive| receive.recv().ok());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((from, to)) = next() {
                    to.copy_from_slice(from);
                }
            });
        }
        let chunks = bytes.chunks(CHUNK).zip(target.chunks_mut(CHUNK));
        let filled = (offset..).step_by(CHUNK).zip(chunks).try_for_each(|(at, (from, to))| {
            match make_room(file, at, from.len())? {
                // All threads are there until `send` is dropped.
                true => send.send((from, to)).map_err(|_| io::ErrorKind::BrokenPipe.into()),
                false => Err(io::ErrorKind::Unsupported.into()),
            }
        });
        drop(send);
        filled
    })
}

/// Whether the file now has room on its disk for so many bytes; `false` where its file system makes none beforehand.
fn make_room(file: &File, offset: u64, len: usize) -> io::Result<bool> {
    loop {
        match fallocate(file, FallocateFlags::empty(), offset, len as u64) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(false),
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
        if !write_by(&file, &bytes, 70_001, 3).unwrap() {
            println!("skipped: files here have no room made for them");
            return;
        }
        let mut found = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut found).unwrap();
        assert!(found == [&[7; 70_001][..], &bytes].concat());
        assert!(!write(&file, &bytes[..WORTH - 1], 5_970_002).unwrap(), "small writes are not worth it");
    }

    #[test]
    fn a_file_that_can_only_be_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("only");
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
        assert!(!write_by(&file, &[1; 100], 0, 2).unwrap());
    }
}
