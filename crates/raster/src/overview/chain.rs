//! The directories of a file without those of its overviews: the ones to copy, and the pointer that leads to them.
//!
//! A directory that stays but precedes one that is removed is copied to the end of the file with another pointer to the
//! next one; its values stay in place. So one pointer of the old file decides between the old chain and the new one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use strile_tiff::{Directory, FileForm, Origin, Tag, Tiff, Variant};

/// The copies at the end of a file, and the pointers that lead to them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// Copies of directories, to be written at the given place.
    pub(super) copies: Vec<u8>,
    /// Position of the pointer from the first directory to the next one. It is in the copies if the first directory is
    /// copied.
    pub(super) pointer: u64,
    /// Target of that pointer without new directories.
    pub(super) then: u64,
    /// A pointer to change after all others, with its new bytes: that of the header, if the first directory is copied.
    pub(super) last: Option<(u64, Vec<u8>)>,
}

/// Reads directories of one file in stored form.
struct Stored<'a> {
    file: &'a mut File,
    form: FileForm,
}

/// Returns the chain of `tiff` without the directories `gone` (indices into `Tiff::directories`). Copies are placed
/// from byte `at` on.
pub(super) fn without(file: &mut File, tiff: &Tiff, gone: &BTreeSet<usize>, at: u64) -> io::Result<Chain> {
    let form = FileForm { byte_order: tiff.header.byte_order, variant: tiff.header.variant };
    let mut stored = Stored { file, form };
    let in_chain = |(_, directory): &(usize, &Directory)| matches!(directory.origin, Origin::Chain(_));
    let chain: Vec<(usize, &Directory)> = tiff.directories.iter().enumerate().filter(in_chain).collect();
    let first = chain.first().ok_or(io::ErrorKind::InvalidData)?.1;
    let last_gone = chain.iter().rposition(|(index, _)| gone.contains(index)).unwrap_or(0);
    let end = chain.get(last_gone).ok_or(io::ErrorKind::InvalidData)?.1;
    let end = stored_bytes(&mut stored, end.offset, None)?;
    let after = stored.next(&end)?;
    let names_gone = gone.iter().any(|&index| {
        tiff.directories.get(index).is_some_and(|directory| directory.origin == Origin::Sub { parent: 0 })
    });
    let mut moved = Vec::new();
    if names_gone {
        moved.push(stored_bytes(&mut stored, first.offset, Some(Tag::SubIFDs))?);
    }
    for (index, directory) in chain.get(1..=last_gone).unwrap_or_default() {
        if !gone.contains(index) {
            moved.push(stored_bytes(&mut stored, directory.offset, None)?);
        }
    }
    let pointer_len = form.variant.offset_len();
    let mut copies: Vec<u8> = Vec::new();
    let (mut pointer, mut then) = (None, None);
    let count = moved.len();
    for (number, mut bytes) in moved.into_iter().enumerate() {
        let (start, len) = (at + copies.len() as u64, bytes.len() as u64);
        let next = if number + 1 == count { after } else { start + len };
        let next_bytes = form.pointer(next).map_err(|_| io::ErrorKind::FileTooLarge)?;
        bytes.truncate(bytes.len().saturating_sub(next_bytes.len()));
        bytes.extend_from_slice(&next_bytes);
        copies.extend_from_slice(&bytes);
        match (number, names_gone) {
            (0, true) => (pointer, then) = (Some(start + len - pointer_len), Some(next)),
            (0, false) => then = Some(start),
            _ => {}
        }
    }
    let header = match form.variant {
        Variant::Classic => 4,
        Variant::Big => 8,
    };
    let last = match names_gone {
        true => Some((header, form.pointer(at).map_err(|_| io::ErrorKind::FileTooLarge)?)),
        false => None,
    };
    let pointer = match pointer {
        Some(pointer) => pointer,
        None => {
            let len = stored_bytes(&mut stored, first.offset, None)?.len() as u64;
            first.offset + len - pointer_len
        }
    };
    Ok(Chain { copies, pointer, then: then.unwrap_or(after), last })
}

/// Returns the bytes of a directory: number of entries, entries, pointer to the next one; without the entries of one
/// tag.
fn stored_bytes(stored: &mut Stored<'_>, offset: u64, leave_out: Option<Tag>) -> io::Result<Vec<u8>> {
    let order = stored.form.byte_order;
    let (count_len, entry_len) = match stored.form.variant {
        Variant::Classic => (2, 12),
        Variant::Big => (8, 20),
    };
    let pointer_len = usize::try_from(stored.form.variant.offset_len()).unwrap_or(8);
    let mut count_bytes = vec![0; count_len];
    stored.file.seek(SeekFrom::Start(offset))?;
    stored.file.read_exact(&mut count_bytes)?;
    let count = match stored.form.variant {
        Variant::Classic => order.u16(&count_bytes, 0).map(u64::from),
        Variant::Big => order.u64(&count_bytes, 0),
    };
    // The file was parsed before: a number of entries that memory cannot hold means that it has changed.
    let len = count.and_then(|count| usize::try_from(count).ok()?.checked_mul(entry_len));
    let len = len.filter(|&len| len <= LARGEST).ok_or(io::ErrorKind::InvalidData)?;
    let mut rest = vec![0; len + pointer_len];
    stored.file.read_exact(&mut rest)?;
    let (entries, pointer) = rest.split_at(len);
    let is_kept = |entry: &&[u8]| order.u16(entry, 0).map(Tag) != leave_out || leave_out.is_none();
    let kept: Vec<&[u8]> = entries.chunks_exact(entry_len).filter(is_kept).collect();
    let mut bytes = Vec::with_capacity(count_len + rest.len());
    match stored.form.variant {
        Variant::Classic => {
            order.put_u16(u16::try_from(kept.len()).unwrap_or(u16::MAX), &mut bytes);
        }
        Variant::Big => order.put_u64(kept.len() as u64, &mut bytes),
    }
    kept.iter().for_each(|entry| bytes.extend_from_slice(entry));
    bytes.extend_from_slice(pointer);
    Ok(bytes)
}

/// Bytes of the largest directory that is copied. 65,535 entries of BigTIFF take fewer.
const LARGEST: usize = 2 << 20;

impl Stored<'_> {
    /// Returns the pointer to the next directory in these bytes.
    fn next(&self, bytes: &[u8]) -> io::Result<u64> {
        let order = self.form.byte_order;
        let len = usize::try_from(self.form.variant.offset_len()).unwrap_or(8);
        let at = bytes.len().saturating_sub(len);
        let pointer = match self.form.variant {
            Variant::Classic => order.u32(bytes, at).map(u64::from),
            Variant::Big => order.u64(bytes, at),
        };
        pointer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
