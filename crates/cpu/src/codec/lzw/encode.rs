//! LZW as TIFF writes it: most significant bit first, codes widened one early, Clear before the table is full.
//!
//! The table is a hash table of the strings since Clear. A string is the code of all its bytes but the last, plus that
//! byte. The table is at most half full, so that searches are short, and small enough for the L1 cache, so that
//! clearing it costs less than the codes it held.

use super::LEAST_WIDTH;
use crate::codec::Workspace;
use crate::codec::workspace::room;
use strile_engine::BlockFault;

/// Codes of `lzw`, as 32-bit numbers.
const CLEAR: u32 = 256;
const END: u32 = 257;
const FIRST: u32 = 258;
/// Code at which libtiff, and all writers following it, clear the table.
const CLEAR_AT: u32 = 4094;
const SLOTS_LOG: u32 = 13;
/// Bits of a code in a slot; the rest is the string.
const CODE_BITS: u32 = 12;

/// Slots of strings; 0 is empty, since no string has the code 0.
pub(in crate::codec) struct Strings {
    slots: [u32; 1 << SLOTS_LOG],
}

impl Strings {
    pub(in crate::codec) fn boxed() -> Box<Self> {
        Box::new(Self { slots: [0; 1 << SLOTS_LOG] })
    }

    /// Returns the code of the string, or the index of its free slot.
    #[inline(always)]
    fn find(&self, string: u32) -> Result<u32, usize> {
        // The top bits of a product depend on all bits of the string.
        let mut at = (string.wrapping_mul(0x9E37_79B1) >> (32 - SLOTS_LOG)) as usize;
        loop {
            let slot = self.slots.get(at).copied().unwrap_or_default();
            if slot >> CODE_BITS == string && slot != 0 {
                return Ok(slot & ((1 << CODE_BITS) - 1));
            }
            if slot == 0 {
                return Err(at);
            }
            at = (at + 1) & ((1 << SLOTS_LOG) - 1);
        }
    }
}

/// Writes codes, most significant bit first.
struct Codes<'a> {
    out: &'a mut [u8],
    written: usize,
    bits: u64,
    count: u32,
    width: u32,
}

impl Codes<'_> {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are those to write")]
    fn put(&mut self, code: u32) {
        self.bits = self.bits << self.width | u64::from(code);
        self.count += self.width;
        if self.count >= 32 {
            self.count -= 32;
            let word = (self.bits >> self.count) as u32;
            // `bound` leaves room for every code.
            if let Some(to) = self.out.get_mut(self.written..).and_then(|rest| rest.first_chunk_mut()) {
                *to = word.to_be_bytes();
            }
            self.written += 4;
        }
    }

    /// Pads the last byte with zeros; returns the total number of bytes.
    fn finish(mut self) -> usize {
        let padded = (self.bits << 32 >> self.count).to_be_bytes();
        let used = self.count.div_ceil(8) as usize;
        for (to, &byte) in self.out.iter_mut().skip(self.written).zip(padded.iter().skip(4).take(used)) {
            *to = byte;
        }
        self.written += used;
        self.written
    }
}

/// Returns the maximum bytes for `len` in segments of `segment`: at most one code of 12 bits per byte, and Clear after
/// 3836 codes and after a segment.
pub(in crate::codec) fn bound(len: usize, segment: usize) -> u64 {
    let (len, segments) = (len as u64, len.div_ceil(segment.max(1)) as u64);
    let clears = (len / u64::from(CLEAR_AT - FIRST)).saturating_add(segments);
    let codes = len.saturating_add(clears).saturating_add(4);
    codes.saturating_add(codes.div_ceil(2)).saturating_add(8)
}

pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    encode_segments(src, dst, src.len().max(1), workspace)
}

/// Encodes segments of `segment` bytes, each with its own table, separated by Clear.
pub(in crate::codec) fn encode_segments(
    src: &[u8],
    dst: &mut Vec<u8>,
    segment: usize,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let strings = workspace.lzw_encoder();
    let start = dst.len();
    let out = room(dst, bound(src.len(), segment))?;
    let mut codes = Codes { out, written: 0, bits: 0, count: 0, width: LEAST_WIDTH };
    codes.put(CLEAR);
    for (i, bytes) in src.chunks(segment).enumerate() {
        if i > 0 {
            codes.put(CLEAR);
        }
        codes.width = LEAST_WIDTH;
        put_segment(bytes, &mut codes, strings);
    }
    codes.put(END);
    let written = codes.finish();
    dst.truncate(start + written);
    Ok(())
}

/// Writes the codes of a segment; afterwards the width is that which the reader expects for the next code.
fn put_segment(src: &[u8], codes: &mut Codes<'_>, strings: &mut Strings) {
    let Some((&first, rest)) = src.split_first() else { return };
    let mut next = FIRST;
    strings.slots.fill(0);
    let mut code = u32::from(first);
    for &byte in rest {
        let string = code << 8 | u32::from(byte);
        let free = match strings.find(string) {
            Ok(longer) => {
                code = longer;
                continue;
            }
            Err(free) => free,
        };
        codes.put(code);
        code = u32::from(byte);
        if let Some(slot) = strings.slots.get_mut(free) {
            *slot = string << CODE_BITS | next;
        }
        next += 1;
        if next == CLEAR_AT {
            codes.put(CLEAR);
            strings.slots.fill(0);
            next = FIRST;
            codes.width = LEAST_WIDTH;
        } else if next >> codes.width != 0 {
            codes.width += 1;
        }
    }
    codes.put(code);
    // The reader also counts the last code.
    if (next + 1) >> codes.width != 0 {
        codes.width += 1;
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers made here")]
mod tests {
    use super::super::super::byte_testing::Random;
    use super::*;

    fn pack(data: &[u8], workspace: &mut Workspace) -> Vec<u8> {
        let mut out = Vec::new();
        encode(data, &mut out, workspace).unwrap();
        assert!(out.len() as u64 <= bound(data.len(), data.len()));
        out
    }

    #[test]
    fn the_example_of_the_specification() {
        // TIFF 6.0, section 13: 7 7 7 8 8 7 7 6 6 is Clear 7 258 8 8 258 6 6 End, nine bits each.
        let codes = [256u32, 7, 258, 8, 8, 258, 6, 6, 257];
        let bits: Vec<u32> = codes.iter().flat_map(|code| (0..9).rev().map(move |i| code >> i & 1)).collect();
        let bytes: Vec<u8> = bits
            .chunks(8)
            .map(|bits| (0..8).fold(0, |byte, i| byte << 1 | bits.get(i).map_or(0, |&bit| bit as u8)))
            .collect();
        assert_eq!(pack(&[7, 7, 7, 8, 8, 7, 7, 6, 6], &mut Workspace::default()), bytes);
    }

    #[test]
    fn another_decoder_reads_it() {
        let mut random = Random::new(11);
        let mut workspace = Workspace::default();
        for round in 0..600 {
            // Lengths around the points where codes become wider and the table is cleared.
            let len =
                [1, 2, 253, 254, 255, 256, 765, 766, 767, 1789, 1790, 3834, 3835, 3836, 3837, 3838, 9000]
                    [round % 17]
                    + random.below(4);
            let data = random.image_like(len);
            let packed = pack(&data, &mut workspace);
            let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
            assert_eq!(decoder.decode(&packed).unwrap(), data, "{len} bytes");
        }
    }
}
