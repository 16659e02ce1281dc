//! Appends to a file by position, and collects small pieces first.
//!
//! Nothing depends on the file's own cursor: a failed write changes nothing here, and other threads may read the file
//! by position meanwhile.

use super::BUFFER;
use std::fs::File;
use std::io;

/// The written length of a file, and the bytes that follow but are not written yet.
#[derive(Default)]
pub(crate) struct Buffered {
    written: u64,
    tail: Vec<u8>,
}

impl Buffered {
    /// Returns the number of bytes appended so far.
    pub fn len(&self) -> u64 {
        self.written + self.tail.len() as u64
    }

    /// Returns the number of bytes in the file, from its beginning.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the bytes that are not in the file yet. They follow the written ones.
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// Counts bytes that other code wrote after the written ones. The tail must be empty.
    pub fn advance(&mut self, count: u64) {
        debug_assert!(self.tail.is_empty());
        self.written += count;
    }

    pub fn append(&mut self, file: &File, bytes: &[u8]) -> io::Result<()> {
        self.append_all(file, &[bytes])
    }

    /// Appends several pieces of bytes in order.
    pub fn append_all(&mut self, file: &File, parts: &[&[u8]]) -> io::Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if self.tail.len() + len > BUFFER {
            self.flush(file)?;
        }
        if len < BUFFER {
            parts.iter().for_each(|part| self.tail.extend_from_slice(part));
        } else if let [part] = parts {
            write(file, part, self.written)?;
            self.written += len as u64;
        } else if wide(file, parts, self.written)? {
            self.written += len as u64;
        } else {
            // Small pieces are collected with their neighbours.
            parts.iter().try_for_each(|part| self.append_all(file, &[part]))?;
        }
        Ok(())
    }

    pub fn flush(&mut self, file: &File) -> io::Result<()> {
        if !self.tail.is_empty() {
            write(file, &self.tail, self.written)?;
            self.written += self.tail.len() as u64;
            self.tail.clear();
        }
        Ok(())
    }

    /// Overwrites bytes already appended.
    pub fn patch(&mut self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.len()) {
            let problem =
                format!("{} bytes at {offset} are not among the {} written ones", bytes.len(), self.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        self.flush(file)?;
        file.write_all_at(bytes, offset)
    }
}

/// Writes at the end of a file, with several threads if that is worth it.
fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    if wide(file, &[bytes], offset)? { Ok(()) } else { file.write_all_at(bytes, offset) }
}

/// Writes with several threads, if that is possible and worth it.
#[cfg(target_os = "linux")]
use super::wide::write as wide;

#[cfg(not(target_os = "linux"))]
fn wide(_file: &File, _parts: &[&[u8]], _offset: u64) -> io::Result<bool> {
    Ok(false)
}

/// Writes by position, under one name on every system.
trait WriteAllAt {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

#[cfg(unix)]
impl WriteAllAt for File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }
}

#[cfg(windows)]
impl WriteAllAt for File {
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = std::os::windows::fs::FileExt::seek_write(self, bytes, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = bytes.get(count..).unwrap_or_default();
            offset += count as u64;
        }
        Ok(())
    }
}
