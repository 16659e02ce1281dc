//! Location of the codestream in a JP2 file. Other boxes are ignored: they must not change the meaning of samples.

use std::ops::Range;
use strile_engine::BlockFault;

/// SOC and SIZ, the start of every codestream.
const SOC_SIZ: [u8; 4] = [0xFF, 0x4F, 0xFF, 0x51];
const JP2_SIGNATURE: &[u8] = b"\x00\x00\x00\x0CjP  ";

/// Returns the codestream inside a JP2 file, or the bytes themselves.
///
/// # Errors
///
/// The bytes are neither, or the file has no codestream.
pub fn codestream(src: &[u8]) -> Result<&[u8], BlockFault> {
    Ok(src.get(place(src)?).unwrap_or_default())
}

/// Returns the position of the codestream in the bytes.
pub(super) fn place(src: &[u8]) -> Result<Range<usize>, BlockFault> {
    if src.starts_with(&SOC_SIZ) {
        return Ok(0..src.len());
    }
    if !src.starts_with(JP2_SIGNATURE) {
        return Err(BlockFault::corrupt("neither a JPEG 2000 codestream nor a JP2 file"));
    }
    let mut rest = src;
    while let Some(Jp2Box { name, body, after }) = next_box(rest) {
        if name == b"jp2c" {
            let end = src.len() - after.len();
            return Ok(end - body.len()..end);
        }
        rest = after;
    }
    Err(BlockFault::corrupt("JP2 file without a codestream"))
}

/// A box of a JP2 file and what follows it.
struct Jp2Box<'a> {
    name: &'a [u8; 4],
    body: &'a [u8],
    after: &'a [u8],
}

/// Returns the first box (ISO 15444-1, I.4): a length of 0 extends to the end, a length of 1 is followed by 8 bytes
/// with the actual one.
fn next_box(bytes: &[u8]) -> Option<Jp2Box<'_>> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_first_chunk::<4>()?;
    let (body_len, rest) = match u32::from_be_bytes(*len) {
        0 => (rest.len(), rest),
        1 => {
            let (long, rest) = rest.split_first_chunk::<8>()?;
            (usize::try_from(u64::from_be_bytes(*long).checked_sub(16)?).ok()?, rest)
        }
        len => (usize::try_from(len.checked_sub(8)?).ok()?, rest),
    };
    let (body, after) = rest.split_at_checked(body_len)?;
    Some(Jp2Box { name, body, after })
}
