//! Deflate without matches: one Huffman code per piece of the block.
//!
//! Noise after a predictor (most optical bands) has practically no matches. Searching for them takes nearly all the
//! time of a compressor, and those it finds are short and cost more than the literals they replace. `suits` detects
//! such blocks: few words of equal bytes, and samples that the compressor does not make smaller than the Huffman code
//! alone. It looks at the bytes alone, so the same block is always encoded the same way.

use super::{HEADER, TRAILER};
use libdeflater::{Compressor, adler32};

/// Bytes per Huffman code: a multiple of 8, and at most the capacity of a stored block.
const PIECE: usize = 65_528;
/// Number of symbols: literals and the end of a block.
const SYMBOLS: usize = 257;
const END_OF_BLOCK: usize = 256;
/// Longest code in bits: four codes and seven leftover bits fit 64.
const MOST_BITS: usize = 14;
/// Symbols that encode code lengths (RFC 1951, 3.2.7), and the order in which their own lengths are stored.
const LENGTH_SYMBOLS: usize = 19;
const LENGTH_ORDER: [usize; LENGTH_SYMBOLS] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const MOST_LENGTH_BITS: usize = 7;
/// Distance codes: unused, but two of one bit make a complete code, which every reader accepts.
const DISTANCES: usize = 2;
/// Bytes per sample that is tried.
const SAMPLE: usize = 4096;
/// Block bytes per sample, and the maximum number of samples per block.
const BYTES_A_SAMPLE: usize = 128 << 10;
const MOST_SAMPLES: usize = 8;

/// Returns whether the bytes have nearly no runs, like noise after a predictor. Matches begin to pay at one hundredth.
pub(in crate::codec) fn has_no_runs(src: &[u8]) -> bool {
    let (words, _) = src.as_chunks::<8>();
    let equal = |word: &&[u8; 8]| {
        let word = u64::from_ne_bytes(**word);
        word == (word & 0xFF) * 0x0101_0101_0101_0101
    };
    words.iter().filter(equal).count() <= words.len() / 100
}

/// Returns whether the block is at least as small without matches, judged by samples of it.
pub(super) fn suits(src: &[u8], compressor: &mut Compressor) -> bool {
    if src.len() < SAMPLE || !has_no_runs(src) {
        return false;
    }
    let samples = (src.len() / BYTES_A_SAMPLE).clamp(1, MOST_SAMPLES);
    let step = src.len() / samples;
    let mut buffer = [0; SAMPLE + 64];
    let (mut with_matches, mut without) = (0, 0);
    for number in 0..samples {
        // Samples come from the middle of each part.
        let start = number * step + (step - SAMPLE.min(step)) / 2;
        let sample = src.get(start..).and_then(|rest| rest.get(..SAMPLE)).unwrap_or_default();
        with_matches += compressor.deflate_compress(sample, &mut buffer).unwrap_or(0);
        without += Code::of(sample).bits().div_ceil(8).min(sample.len() as u64 + 5);
    }
    without <= with_matches as u64
}

/// Writes a zlib stream; `None` if `out` is too small for it plus eight bytes.
pub(super) fn encode(src: &[u8], out: &mut [u8]) -> Option<usize> {
    *out.first_chunk_mut::<HEADER>()? = [0x78, 0x9C];
    let mut bits = Bits { out: out.get_mut(HEADER..)?, at: 0, bits: 0, count: 0 };
    let pieces = src.len().div_ceil(PIECE);
    for (number, piece) in src.chunks(PIECE).enumerate() {
        let last = number + 1 == pieces;
        let code = Code::of(piece);
        if code.bits() < (piece.len() as u64 + 4) * 8 {
            code.write(piece, last, &mut bits)?;
        } else {
            bits.stored(piece, last)?;
        }
    }
    let end = HEADER + bits.finish()?;
    *out.get_mut(end..)?.first_chunk_mut::<TRAILER>()? = adler32(src).to_be_bytes();
    Some(end + TRAILER)
}

/// Writes bits from the least significant one up.
struct Bits<'a> {
    out: &'a mut [u8],
    at: usize,
    bits: u64,
    count: u32,
}

impl Bits<'_> {
    /// Appends bits; `count` plus the pending bits must fit 64.
    #[inline(always)]
    fn put(&mut self, bits: u64, count: u32) {
        self.bits |= bits << self.count;
        self.count += count;
    }

    /// Writes whole bytes; leaves less than eight bits.
    #[inline(always)]
    fn flush(&mut self) -> Option<()> {
        *self.out.get_mut(self.at..)?.first_chunk_mut()? = self.bits.to_le_bytes();
        let whole = self.count / 8;
        self.at += whole as usize;
        self.bits = self.bits.checked_shr(whole * 8).unwrap_or(0);
        self.count %= 8;
        Some(())
    }

    /// Writes a stored block.
    fn stored(&mut self, piece: &[u8], last: bool) -> Option<()> {
        self.put(u64::from(last), 3);
        self.count = self.count.next_multiple_of(8);
        self.flush()?;
        let len = u16::try_from(piece.len()).ok()?;
        let head = self.out.get_mut(self.at..)?.first_chunk_mut::<4>()?;
        let ([a, b], [c, d]) = (len.to_le_bytes(), (!len).to_le_bytes());
        *head = [a, b, c, d];
        self.at += 4;
        self.out.get_mut(self.at..)?.get_mut(..piece.len())?.copy_from_slice(piece);
        self.at += piece.len();
        Some(())
    }

    /// Pads the last byte with zeros; returns the total number of bytes.
    fn finish(mut self) -> Option<usize> {
        self.count = self.count.next_multiple_of(8);
        self.flush()?;
        Some(self.at)
    }
}

/// Huffman code of a piece, with the header that describes it.
struct Code {
    lengths: [u8; SYMBOLS],
    /// The header's own code, and the symbols it encodes: symbol, extra bits and their number.
    header_lengths: [u8; LENGTH_SYMBOLS],
    header: Vec<(usize, u64, u32)>,
    bits: u64,
}

impl Code {
    /// Returns the best code of at most `MOST_BITS` for the bytes of a piece.
    fn of(piece: &[u8]) -> Self {
        let counts = counts(piece);
        let lengths = code_lengths(&counts, MOST_BITS);
        let mut all = lengths.to_vec();
        all.extend([1; DISTANCES]);
        let header = runs_of_lengths(&all);
        let mut header_counts = [0; LENGTH_SYMBOLS];
        for &(symbol, ..) in &header {
            if let Some(count) = header_counts.get_mut(symbol) {
                *count += 1;
            }
        }
        let header_lengths = code_lengths(&header_counts, MOST_LENGTH_BITS);
        let product = |(&count, &length): (&u32, &u8)| u64::from(count) * u64::from(length);
        let body: u64 = counts.iter().zip(&lengths).map(product).sum();
        let head: u64 = header_counts.iter().zip(&header_lengths).map(product).sum();
        let extra: u64 = header.iter().map(|&(_, _, bits)| u64::from(bits)).sum();
        let fixed = 3 + 5 + 5 + 4 + 3 * stored_length_codes(&header_lengths) as u64;
        Self { lengths, header_lengths, header, bits: fixed + head + extra + body }
    }

    /// Returns the bits of the block.
    fn bits(&self) -> u64 {
        self.bits
    }

    fn write(&self, piece: &[u8], last: bool, out: &mut Bits<'_>) -> Option<()> {
        let stored = stored_length_codes(&self.header_lengths);
        out.put(u64::from(last) | 2 << 1, 3);
        out.put(0, 5);
        out.put(DISTANCES as u64 - 1, 5);
        out.put(stored as u64 - 4, 4);
        out.flush()?;
        for &symbol in LENGTH_ORDER.iter().take(stored) {
            out.put(u64::from(*self.header_lengths.get(symbol)?), 3);
            out.flush()?;
        }
        let words = code_words(&self.header_lengths);
        for &(symbol, extra, extra_bits) in &self.header {
            let (word, length) = *words.get(symbol)?;
            out.put(word.into(), length);
            out.put(extra, extra_bits);
            out.flush()?;
        }
        let words = code_words(&self.lengths);
        let (literals, _) = words.split_first_chunk::<END_OF_BLOCK>()?;
        let (fours, rest) = piece.as_chunks::<4>();
        #[expect(clippy::indexing_slicing, reason = "a byte is below the 256 literals")]
        for four in fours {
            for &byte in four {
                let (word, length) = literals[usize::from(byte)];
                out.put(word.into(), length);
            }
            out.flush()?;
        }
        for &byte in rest {
            let (word, length) = *literals.get(usize::from(byte))?;
            out.put(word.into(), length);
            out.flush()?;
        }
        let (word, length) = *words.get(END_OF_BLOCK)?;
        out.put(word.into(), length);
        out.flush()
    }
}

/// Counts each byte, and the end of the block once.
#[expect(clippy::indexing_slicing, reason = "a byte is below the 256 counters of a table")]
fn counts(piece: &[u8]) -> [u32; SYMBOLS] {
    // Four tables, so that runs of equal bytes do not depend on each other.
    let mut tables = [[0u32; 256]; 4];
    let (fours, rest) = piece.as_chunks::<4>();
    for four in fours {
        for (table, &byte) in tables.iter_mut().zip(four) {
            table[usize::from(byte)] += 1;
        }
    }
    let [first, ..] = &mut tables;
    rest.iter().for_each(|&byte| first[usize::from(byte)] += 1);
    let mut counts = [1; SYMBOLS];
    for (byte, count) in counts.iter_mut().take(END_OF_BLOCK).enumerate() {
        *count = tables.iter().map(|table| table[byte]).sum();
    }
    counts
}

/// Returns the lengths of a Huffman code of at most `limit` bits; at least two symbols get one.
#[expect(clippy::indexing_slicing, reason = "nodes are below 2 n - 1, symbols below N, depths at most limit")]
fn code_lengths<const N: usize>(counts: &[u32; N], limit: usize) -> [u8; N] {
    let mut lengths = [0; N];
    let mut leaves: Vec<(u32, usize)> =
        counts.iter().copied().zip(0..).filter(|&(count, _)| count > 0).collect();
    leaves.sort_unstable();
    let n = leaves.len();
    if n < 2 {
        let used = leaves.first().map_or(0, |&(_, symbol)| symbol);
        lengths[used] = 1;
        lengths[usize::from(used == 0)] = 1;
        return lengths;
    }
    // Leaves are sorted and inner nodes are created in order: the two lightest are always at the front of one of the
    // two.
    let mut weights: Vec<u64> = leaves.iter().map(|&(count, _)| count.into()).collect();
    weights.resize(2 * n - 1, 0);
    let mut parents = vec![0; 2 * n - 1];
    let (mut leaf, mut inner) = (0, n);
    for node in n..2 * n - 1 {
        for _ in 0..2 {
            let lightest = if leaf < n && (inner >= node || weights[leaf] <= weights[inner]) {
                leaf += 1;
                leaf - 1
            } else {
                inner += 1;
                inner - 1
            };
            weights[node] += weights[lightest];
            parents[lightest] = node;
        }
    }
    let mut depths = vec![0usize; 2 * n - 1];
    for node in (0..2 * n - 2).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    // Cut codes that are too long to the limit, then lengthen others until the code is valid again.
    let mut numbers = vec![0u32; limit + 1];
    depths.iter().take(n).for_each(|&depth| numbers[depth.min(limit)] += 1);
    let mut used: u32 = numbers.iter().enumerate().skip(1).map(|(bits, &k)| k << (limit - bits)).sum();
    while used > 1 << limit {
        numbers[limit] -= 1;
        if let Some(bits) = (1..limit).rev().find(|&bits| numbers[bits] > 0) {
            numbers[bits] -= 1;
            numbers[bits + 1] += 2;
        }
        used -= 1;
    }
    let shortest_first = numbers.iter().zip(0_u8..).flat_map(|(&k, bits)| (0..k).map(move |_| bits));
    for (&(_, symbol), bits) in leaves.iter().rev().zip(shortest_first) {
        lengths[symbol] = bits;
    }
    lengths
}

/// Returns the words of a canonical code, bit-reversed as in Deflate, with their lengths.
#[expect(clippy::indexing_slicing, reason = "lengths are at most 15")]
fn code_words<const N: usize>(lengths: &[u8; N]) -> [(u16, u32); N] {
    let mut numbers = [0u16; 17];
    lengths.iter().filter(|&&length| length > 0).for_each(|&length| numbers[usize::from(length)] += 1);
    let mut next = [0u16; 17];
    for bits in 1..=15 {
        next[bits + 1] = (next[bits] + numbers[bits]) << 1;
    }
    lengths.map(|length| {
        if length == 0 {
            return (0, 0);
        }
        let word = next[usize::from(length)];
        next[usize::from(length)] += 1;
        (word.reverse_bits() >> (16 - u32::from(length)), u32::from(length))
    })
}

/// Returns the number of stored lengths of the header's code: all but trailing zeros, at least four.
fn stored_length_codes(lengths: &[u8; LENGTH_SYMBOLS]) -> usize {
    let used = LENGTH_ORDER.iter().rposition(|&symbol| lengths.get(symbol).is_some_and(|&length| length > 0));
    used.map_or(4, |last| (last + 1).max(4))
}

/// Returns code lengths as header symbols: a length, a repetition of the one before (16), or zeros (17, 18).
fn runs_of_lengths(lengths: &[u8]) -> Vec<(usize, u64, u32)> {
    let mut symbols = Vec::new();
    for run in lengths.chunk_by(|a, b| a == b) {
        let length = run.first().map_or(0, |&length| usize::from(length));
        let mut left = run.len();
        if length > 0 {
            symbols.push((length, 0, 0));
            left -= 1;
        }
        while left >= 3 {
            let (symbol, least, most, bits) = match (length, left) {
                (0, 11..) => (18, 11, 138, 7),
                (0, _) => (17, 3, 10, 3),
                _ => (16, 3, 6, 2),
            };
            let taken = left.min(most);
            symbols.push((symbol, (taken - least) as u64, bits));
            left -= taken;
        }
        symbols.extend((0..left).map(|_| (length, 0, 0)));
    }
    symbols
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers made here")]
mod tests {
    use super::super::super::byte_testing::Random;
    use super::*;
    use libdeflater::{CompressionLvl, Decompressor};

    fn check(data: &[u8]) -> usize {
        let mut out = vec![0; super::super::bound(data.len()) as usize + 8];
        let len = encode(data, &mut out).unwrap();
        assert!(len as u64 <= super::super::bound(data.len()), "{len} of {}", data.len());
        let mut back = vec![0; data.len()];
        assert_eq!(Decompressor::new().zlib_decompress(&out[..len], &mut back), Ok(data.len()));
        assert!(back == data);
        len
    }

    #[test]
    fn another_decoder_reads_it() {
        let mut random = Random::new(21);
        for len in [1, 2, 3, 4, 5, 100, 4095, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 77] {
            let noise: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            check(&noise);
            let few: Vec<u8> = noise.iter().map(|byte| byte % 7).collect();
            check(&few);
            check(&vec![9; len]);
            // Doubling counts give the longest codes.
            let skewed: Vec<u8> = (0..len).map(|_| random.next().trailing_zeros() as u8).collect();
            check(&skewed);
            check(&random.image_like(len));
        }
        let fibonacci: Vec<u8> = {
            let (mut a, mut b, mut out) = (1usize, 1usize, vec![]);
            for symbol in 0..22u8 {
                out.extend(std::iter::repeat_n(symbol, a));
                (a, b) = (b, a + b);
            }
            out.truncate(PIECE);
            out
        };
        check(&fibonacci);
    }

    #[test]
    fn codes_are_complete_and_within_their_limit() {
        let mut random = Random::new(22);
        for round in 0..300 {
            let mut counts = [0u32; SYMBOLS];
            for count in counts.iter_mut().take(1 + round % SYMBOLS) {
                *count = 1 << random.below(20) >> random.below(20);
            }
            counts[END_OF_BLOCK] = 1;
            let lengths = code_lengths(&counts, MOST_BITS);
            let used: u32 = lengths.iter().filter(|&&l| l > 0).map(|&l| 1 << (MOST_BITS as u8 - l)).sum();
            assert_eq!(used, 1 << MOST_BITS, "round {round}");
        }
    }

    #[test]
    fn noise_suits_and_pictures_of_few_classes_do_not() {
        let mut random = Random::new(23);
        let mut compressor = Compressor::new(CompressionLvl::default());
        // Differences of a noisy band: small numbers of both signs.
        let noise: Vec<u8> = (0..200_000)
            .map(|_| (random.below(40) + random.below(40)) as u8)
            .map(|v| v.wrapping_sub(39))
            .collect();
        assert!(suits(&noise, &mut compressor));
        let mut out = vec![0; 300_000];
        let searched = compressor.zlib_compress(&noise, &mut out).unwrap();
        assert!(check(&noise) <= searched);
        let repeated: Vec<u8> = noise.iter().copied().take(900).cycle().take(200_000).collect();
        assert!(!suits(&repeated, &mut compressor), "rows that repeat");
        let classes: Vec<u8> = (0..200_000).map(|i| (i / 300 % 5) as u8).collect();
        assert!(!suits(&classes, &mut compressor));
    }
}
