//! Codestream of a JPEG XL file (ISO/IEC 18181-2): bare, or in boxes with metadata, which is skipped.

use strile_engine::BlockFault;

/// The first box of a file.
const SIGNATURE: [u8; 12] = [0, 0, 0, 12, b'J', b'X', b'L', b' ', 0x0D, 0x0A, 0x87, 0x0A];
/// Bytes of the sequence number before a part of a codestream.
const PART_NUMBER: usize = 4;

/// Returns the parts of the codestream in storage order.
pub(super) fn codestream(src: &[u8]) -> Result<Vec<&[u8]>, BlockFault> {
    if !src.starts_with(&SIGNATURE) {
        return Ok(vec![src]);
    }
    let mut parts = Vec::new();
    let mut rest = src;
    while !rest.is_empty() {
        let (kind, body, after) = take_box(rest).ok_or_else(|| BlockFault::truncated(0, 0))?;
        match kind {
            b"jxlc" => parts.push(body),
            b"jxlp" => parts.push(body.get(PART_NUMBER..).ok_or_else(|| BlockFault::truncated(0, 0))?),
            _ => {}
        }
        rest = after;
    }
    if parts.is_empty() { Err(BlockFault::corrupt("JPEG XL: no codestream in the file")) } else { Ok(parts) }
}

/// Returns the kind and contents of the first box, and the rest. A truncated last box is left to the decoder to report.
fn take_box(src: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let (size, rest) = src.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let (len, rest) = match u32::from_be_bytes(*size) {
        // Extends to the end of the file.
        0 => return Some((kind, rest, &[])),
        1 => {
            let (size, rest) = rest.split_first_chunk::<8>()?;
            (u64::from_be_bytes(*size).checked_sub(16)?, rest)
        }
        size => (u64::from(size).checked_sub(8)?, rest),
    };
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(rest.len());
    let (body, after) = rest.split_at_checked(len)?;
    Some((kind, body, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        [&u32::try_from(body.len() + 8).unwrap().to_be_bytes(), &kind[..], body].concat()
    }

    #[test]
    fn takes_the_codestream_alone() {
        assert_eq!(codestream(&[0xFF, 0x0A, 7]).unwrap(), [[0xFF, 0x0A, 7]]);
        let file = [
            SIGNATURE.to_vec(),
            boxed(b"ftyp", b"jxl \0\0\0\0jxl "),
            boxed(b"jxlp", &[0, 0, 0, 0, 1, 2]),
            boxed(b"brob", b"Exif and compressed bytes"),
            boxed(b"jxlp", &[0x80, 0, 0, 1, 3]),
        ];
        assert_eq!(codestream(&file.concat()).unwrap(), [&[1, 2][..], &[3]]);
        let to_the_end = [&SIGNATURE[..], &[0, 0, 0, 0], b"jxlc", &[5, 6]].concat();
        assert_eq!(codestream(&to_the_end).unwrap(), [[5, 6]]);
        assert!(codestream(&SIGNATURE).is_err());
        assert!(codestream(&[&SIGNATURE[..], &[0, 0, 0, 3], b"jxlc"].concat()).is_err());
        assert!(codestream(&[&SIGNATURE[..], &[0, 0]].concat()).is_err());
    }
}
