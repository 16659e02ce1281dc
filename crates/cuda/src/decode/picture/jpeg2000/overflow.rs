//! Detects codeword segments whose first carry goes beyond the first byte.
//!
//! Encoders never produce them: the code would lie outside of the initial coding interval. A decoder (ISO 15444-1,
//! C.3.5) keeps that carry in its register; the kernels resolve carries before decoding and cannot represent it.

use strile_codestream::jpeg2000::{CodeBlock, Codestream};

/// Returns whether an arithmetic codeword segment of a code-block overflows like this.
pub(super) fn has_overflow(codestream: &Codestream, block: &CodeBlock, stream: &[u8]) -> bool {
    let range = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
    let Some(plane) = codestream.planes.get(block.plane as usize) else { return false };
    if plane.style.high_throughput {
        return false;
    }
    let segments = codestream.segments.get(range(&block.segments)).unwrap_or_default();
    let pieces = codestream.pieces.get(range(&block.pieces)).unwrap_or_default();
    let slice = |offset: u32, len: u32| stream.get(offset as usize..)?.get(..len as usize);
    let mut bytes = pieces.iter().filter_map(|piece| slice(piece.offset, piece.len)).flatten().copied();
    let mut pass = 0;
    segments.iter().any(|segment| {
        let mut own = bytes.by_ref().take(segment.len as usize);
        let found = !plane.style.is_raw(pass) && overflows(&mut own);
        pass += u32::from(segment.passes);
        // Skips to the next segment.
        own.nth(usize::MAX);
        found
    })
}

/// Returns whether ones, 15 bits in every two bytes, are followed by a carry.
fn overflows(bytes: &mut impl Iterator<Item = u8>) -> bool {
    while bytes.next() == Some(0xFF) {
        match bytes.next() {
            Some(0x80..=0x8F) => return true,
            Some(0x7F) => {}
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::overflows;

    #[test]
    fn carries_beyond_the_first_byte() {
        let overflow = [
            &[0xFF, 0x80][..],
            &[0xFF, 0x8F, 0],
            &[0xFF, 0x7F, 0xFF, 0x84],
            &[0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x80],
        ];
        let none = [
            &[][..],
            &[0xFF],
            &[0xFF, 0x90],
            &[0xFF, 0xFF, 0x80],
            &[0xFF, 0x7E, 0xFF, 0x80],
            &[0xFE, 0xFF, 0x80],
            &[0xFF, 0x7F, 0xFE, 0x80],
            &[0xFF, 0x7F, 0xFF, 0x7F],
        ];
        assert!(overflow.iter().all(|bytes| overflows(&mut bytes.iter().copied())));
        assert!(!none.iter().any(|bytes| overflows(&mut bytes.iter().copied())));
    }
}
