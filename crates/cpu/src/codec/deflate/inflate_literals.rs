//! Decodes Deflate data that is nearly all literals (RFC 1951) faster than libdeflate.
//!
//! Photographs after predictor 2 have short codes and hardly any matches, so sequential table lookups take most of the
//! time. Here a table entry holds two literals if both codes fit its 12 bits. On such data this is 1.3 to 1.4 times as
//! fast as libdeflate. Other data would be slower and is declined.
//!
//! The decoder either decodes everything correctly or declines: after `None` the output is unspecified and the caller
//! decodes again with libdeflate, which also reports errors. Nothing here reads or writes out of bounds on any input;
//! work is bounded by the length of the output.

#![expect(
    clippy::indexing_slicing,
    reason = "tables are indexed by masked bits below their length, arrays by lengths that are at most 15"
)]
#![expect(clippy::cast_possible_truncation, reason = "fields of an entry are masked to their width")]

use super::inflate_tables::{
    DISTANCE_BITS, END, EXCEPTIONAL, LITERAL, LITLEN_BITS, ORDER, SUBTABLE, Tables, base, code_bits,
    share_of_matches, share_of_pairs, total_bits,
};
use crate::stop::Stop;

/// Streams with a larger share of matches among their symbols are declined.
const MOST_MATCHES: f32 = 0.04;
/// Streams with a smaller share of pairs among their literals are declined. Bytes that hardly compress have codes of
/// about eight bits, two of which do not fit an entry; making tables larger than libdeflate's then gains nothing.
const LEAST_PAIRS: f32 = 0.4;
/// Output that one iteration of the fast loop may write: four pairs, or a match, rounded up.
const MARGIN: usize = 8 + 258 + 16;

/// Decodes raw Deflate data that fills `dst` exactly; returns the bytes consumed, or `None`.
pub(crate) fn inflate(src: &[u8], dst: &mut [u8], tables: &mut Tables, stop: &Stop) -> Option<usize> {
    let mut stream = Stream { src, at: 0, buffer: 0, bits: 0, out: 0 };
    let mut first = true;
    loop {
        if stop.is_set() {
            return None;
        }
        let last = stream.take(1)? == 1;
        // Stored and fixed blocks are rare and small in such data and are left to libdeflate.
        if stream.take(2)? != 2 {
            return None;
        }
        stream.read_codes(tables, std::mem::take(&mut first))?;
        while !stream.symbol(dst, tables)? {
            stream.fast(dst, tables);
        }
        if last {
            break;
        }
    }
    let unread = (stream.bits / 8) as usize;
    (stream.out == dst.len()).then_some(stream.at - unread)
}

/// Unused bits and the current position.
struct Stream<'a> {
    src: &'a [u8],
    /// Offset of the next byte to load into the buffer.
    at: usize,
    /// Lowest bit first; bits from `bits` on are 0 outside the fast loop.
    buffer: u64,
    bits: u32,
    out: usize,
}

impl Stream<'_> {
    /// Loads bytes into the buffer until it has `n` bits (at most 48), or until the input ends.
    fn refill(&mut self, n: u32) {
        while self.bits < n
            && let Some(&byte) = self.src.get(self.at)
        {
            self.buffer |= u64::from(byte) << self.bits;
            self.at += 1;
            self.bits += 8;
        }
    }

    /// Takes the next `n` bits (at most 16).
    fn take(&mut self, n: u32) -> Option<u32> {
        self.refill(n);
        self.bits = self.bits.checked_sub(n)?;
        let value = (self.buffer & ((1 << n) - 1)) as u32;
        self.buffer >>= n;
        Some(value)
    }

    /// Reads the codes of a dynamic block. If they decide on the stream, data for which this is slower is declined.
    fn read_codes(&mut self, tables: &mut Tables, decides: bool) -> Option<()> {
        let literals = self.take(5)? as usize + 257;
        let distances = self.take(5)? as usize + 1;
        let stored = self.take(4)? as usize + 4;
        let mut pre = [0u8; 19];
        for &symbol in ORDER.iter().take(stored) {
            pre[symbol] = self.take(3)? as u8;
        }
        tables.set_precode(&pre)?;
        let mut lengths = [0u8; 286 + 32 + 138];
        let mut at = 0;
        while at < literals + distances {
            self.refill(7);
            let entry = tables.precode(self.buffer);
            if entry & EXCEPTIONAL != 0 {
                return None;
            }
            self.take(total_bits(entry))?;
            let (value, times) = match base(entry) {
                symbol @ 0..=15 => (symbol as u8, 1),
                16 => (*lengths.get(at.checked_sub(1)?)?, 3 + self.take(2)?),
                17 => (0, 3 + self.take(3)?),
                18 => (0, 11 + self.take(7)?),
                _ => return None,
            };
            lengths.get_mut(at..at + times as usize)?.fill(value);
            at += times as usize;
        }
        if at != literals + distances || literals > 286 {
            return None;
        }
        let (literal_lengths, rest) = lengths.split_at(literals);
        if decides
            && (share_of_matches(literal_lengths) > MOST_MATCHES
                || share_of_pairs(literal_lengths) < LEAST_PAIRS)
        {
            return None;
        }
        tables.set(literal_lengths, rest.get(..distances)?)
    }

    /// Decodes one symbol with all checks; returns `true` after the end of the block.
    fn symbol(&mut self, dst: &mut [u8], tables: &Tables) -> Option<bool> {
        self.refill(48);
        let mut entry = tables.litlen(self.buffer);
        if entry & (LITERAL | EXCEPTIONAL | SUBTABLE) == EXCEPTIONAL | SUBTABLE {
            self.take(total_bits(entry))?;
            entry = tables.second_litlen(entry, self.buffer);
        }
        if entry & LITERAL != 0 {
            self.take(total_bits(entry))?;
            for byte in entry.to_le_bytes().into_iter().skip(1).take(literals_of(entry)) {
                *dst.get_mut(self.out)? = byte;
                self.out += 1;
            }
            return Some(false);
        }
        if entry & EXCEPTIONAL != 0 {
            self.take(code_bits(entry))?;
            return (entry & END != 0).then_some(true);
        }
        self.take(code_bits(entry))?;
        let len = (base(entry) + self.take(total_bits(entry) - code_bits(entry))?) as usize;
        self.refill(48);
        let mut entry = tables.distance(self.buffer);
        if entry & (EXCEPTIONAL | SUBTABLE) == EXCEPTIONAL | SUBTABLE {
            self.take(total_bits(entry))?;
            entry = tables.second_distance(entry, self.buffer);
        }
        if entry & EXCEPTIONAL != 0 {
            return None;
        }
        self.take(code_bits(entry))?;
        let distance = (base(entry) + self.take(total_bits(entry) - code_bits(entry))?) as usize;
        let from = self.out.checked_sub(distance)?;
        for i in 0..len {
            let byte = *dst.get(from + i)?;
            *dst.get_mut(self.out + i)? = byte;
        }
        self.out += len;
        Some(false)
    }

    /// Decodes symbols while input and output are ample, up to one that needs `symbol`.
    fn fast(&mut self, dst: &mut [u8], tables: &Tables) {
        let Self { src, mut at, mut buffer, mut bits, mut out } = *self;
        let mut kept = (at, buffer, bits, out);
        // Each iteration begins with at least 56 bits and takes at most 48: four lookups of 12, or one of 20 for a
        // length and one of 28 for a distance after a second refill.
        while let Some(bytes) = src.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            if out + MARGIN > dst.len() {
                break;
            }
            buffer |= u64::from_le_bytes(*bytes) << bits;
            at += ((63 - bits) >> 3) as usize;
            bits |= 56;
            let mut entry = tables.litlen(buffer);
            let mut turns = 0;
            while entry & LITERAL != 0 && turns < 4 {
                if let Some(pair) = dst.get_mut(out..).and_then(|rest| rest.first_chunk_mut::<2>()) {
                    *pair = ((entry >> 8) as u16).to_le_bytes();
                }
                out += literals_of(entry);
                buffer >>= total_bits(entry) & 63;
                bits -= total_bits(entry);
                turns += 1;
                entry = tables.litlen(buffer);
            }
            kept = (at, buffer, bits, out);
            if turns == 4 {
                continue;
            }
            if entry & EXCEPTIONAL != 0 {
                break;
            }
            let Some(bytes) = src.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
            buffer |= u64::from_le_bytes(*bytes) << bits;
            at += ((63 - bits) >> 3) as usize;
            bits |= 56;
            let distance_entry = tables.distance(buffer >> (total_bits(entry) & 63));
            if distance_entry & EXCEPTIONAL != 0 {
                break;
            }
            let len = value(entry, &mut buffer, &mut bits);
            let distance = value(distance_entry, &mut buffer, &mut bits);
            if distance > out {
                break;
            }
            copy(dst, out, distance, len);
            out += len;
            kept = (at, buffer, bits, out);
        }
        (self.at, self.buffer, self.bits, self.out) = kept;
        // The fast refill leaves bits of the byte at `at` above the valid ones.
        self.buffer &= (1u64 << self.bits) - 1;
    }
}

/// Returns the number of literals in a literal entry.
fn literals_of(entry: u32) -> usize {
    1 + (entry >> 30 & 1) as usize
}

/// Takes an entry's code and extra bits from the buffer and returns its value.
fn value(entry: u32, buffer: &mut u64, bits: &mut u32) -> usize {
    let extra = (*buffer & ((1 << (total_bits(entry) & 63)) - 1)) >> (code_bits(entry) & 63);
    *buffer >>= total_bits(entry) & 63;
    *bits -= total_bits(entry);
    base(entry) as usize + extra as usize
}

/// Copies a match; at least `MARGIN` bytes are available from `out` on.
fn copy(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let (mut from, mut to) = (out - distance, out);
    if distance >= 16 {
        while to < out + len {
            dst.copy_within(from..from + 16, to);
            from += 16;
            to += 16;
        }
        return;
    }
    while to < out + len {
        dst[to] = dst[from];
        from += 1;
        to += 1;
    }
}

const _: () = assert!(4 * LITLEN_BITS <= 48 && DISTANCE_BITS < LITLEN_BITS);

#[cfg(test)]
#[allow(clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::*;
    use crate::codec::byte_testing::Random;
    use libdeflater::{CompressionLvl, Compressor};

    fn pack(data: &[u8], level: i32) -> Vec<u8> {
        let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
        let mut out = vec![0; compressor.deflate_compress_bound(data.len())];
        let len = compressor.deflate_compress(data, &mut out).unwrap();
        out.truncate(len);
        out
    }

    /// Returns noise around 0, like photographs after predictor 2: short codes, few matches.
    fn differences(random: &mut Random, len: usize) -> Vec<u8> {
        let part = |random: &mut Random| random.below(40) as u8;
        (0..len).map(|_| part(random).wrapping_sub(part(random))).collect()
    }

    #[test]
    fn decodes_what_it_takes_like_the_compressor_meant_it() {
        let mut random = Random::new(11);
        let mut tables = Tables::boxed();
        let mut taken = 0;
        for round in 0..300 {
            let data = differences(&mut random, 1 + round * 97);
            let packed = pack(&data, 1 + (round % 12) as i32);
            let mut dst = vec![0xA5; data.len()];
            if let Some(consumed) = inflate(&packed, &mut dst, &mut tables, &Stop::default()) {
                assert!(dst == data, "round {round}");
                assert_eq!(consumed, packed.len());
                taken += 1;
            }
        }
        assert!(taken > 200, "{taken} of 300 were taken");
    }

    #[test]
    fn declines_the_wrong_length_and_data_full_of_matches() {
        let mut random = Random::new(12);
        let mut tables = Tables::boxed();
        let data = differences(&mut random, 20_000);
        let packed = pack(&data, 6);
        assert_eq!(inflate(&packed, &mut vec![0; 20_000], &mut tables, &Stop::default()), Some(packed.len()));
        assert_eq!(inflate(&packed, &mut vec![0; 19_999], &mut tables, &Stop::default()), None);
        assert_eq!(inflate(&packed, &mut vec![0; 20_001], &mut tables, &Stop::default()), None);
        assert_eq!(
            inflate(&packed[..packed.len() - 1], &mut vec![0; 20_000], &mut tables, &Stop::default()),
            None
        );
        let runs: Vec<u8> = (0..20_000u32).map(|i| (i / 100) as u8).collect();
        assert_eq!(inflate(&pack(&runs, 6), &mut vec![0; 20_000], &mut tables, &Stop::default()), None);
    }

    /// Bytes with codes of about seven bits hardly ever share an entry of twelve bits.
    #[test]
    fn declines_bytes_that_hardly_compress() {
        let mut random = Random::new(14);
        let mut tables = Tables::boxed();
        let data: Vec<u8> = (0..20_000).map(|_| random.below(150) as u8).collect();
        let packed = pack(&data, 6);
        assert!(packed.len() < 19_000, "a dynamic block, not a stored one");
        assert_eq!(inflate(&packed, &mut vec![0; 20_000], &mut tables, &Stop::default()), None);
    }

    /// Accepted data decodes to the same bytes as in libdeflate, however the data was altered.
    #[test]
    fn mutants_agree_with_libdeflate_or_are_declined() {
        let mut random = Random::new(13);
        let mut tables = Tables::boxed();
        let mut decompressor = libdeflater::Decompressor::new();
        let mut taken = 0;
        for round in 0..6000 {
            let data = differences(&mut random, 50 + round % 3000);
            let mutant = random.mutant(&pack(&data, 6));
            let mut dst = vec![0; data.len()];
            if inflate(&mutant, &mut dst, &mut tables, &Stop::default()).is_some() {
                let mut expected = vec![0; data.len()];
                assert_eq!(decompressor.deflate_decompress(&mutant, &mut expected), Ok(data.len()));
                assert!(dst == expected, "round {round}");
                taken += 1;
            }
        }
        assert!(taken > 100, "{taken} of 6000 were taken");
    }
}
