//! Decodes Deflate data that is nearly all literals faster than libdeflate.
//!
//! Photographs after predictor 2 have short codes and hardly any matches, so sequential table lookups take most of the
//! time. Two literals per lookup make this 1.3 to 1.4 times as fast as libdeflate on such data. Other data would be
//! slower and is declined: the caller decodes again with libdeflate, which also reports errors.

use super::inflate::{Kind, Stream};
use super::inflate_tables::{Tables, share_of_matches, share_of_pairs};
use crate::stop::Stop;

/// Streams with a larger share of matches among their symbols are declined.
const MOST_MATCHES: f32 = 0.04;
/// Streams with a smaller share of pairs among their literals are declined. Bytes that hardly compress have codes of
/// about eight bits, two of which do not fit an entry; making tables larger than libdeflate's then gains nothing.
const LEAST_PAIRS: f32 = 0.4;

/// Decodes raw Deflate data that fills `dst` exactly; returns the bytes consumed, or `None`. The codes of the first block
/// decide whether the stream is declined.
pub(super) fn inflate(src: &[u8], dst: &mut [u8], tables: &mut Tables, stop: &Stop) -> Option<usize> {
    let mut stream = Stream::at_bit(src, 0, 0)?;
    let mut decides = true;
    loop {
        if stop.is_set() {
            return None;
        }
        let header = stream.header(tables, |lengths| !decides || suits(lengths))?;
        match header.kind {
            // Such data hardly ever begins with another kind of block.
            Kind::Stored | Kind::Fixed if decides => return None,
            Kind::Stored => stream.copy_stored(dst)?,
            Kind::Fixed | Kind::Dynamic => {
                while !stream.symbol(dst, tables)? {
                    stream.fast(dst, tables);
                }
            }
        }
        if header.last {
            break;
        }
        decides = false;
    }
    (stream.out == dst.len()).then_some(stream.bit().div_ceil(8))
}

fn suits(lengths: &[u8]) -> bool {
    share_of_matches(lengths) <= MOST_MATCHES && share_of_pairs(lengths) >= LEAST_PAIRS
}

#[cfg(test)]
#[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers made here")]
mod tests {
    use super::*;
    use crate::codec::byte_testing::{Random, deflated};

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
            let packed = deflated(&data, 1 + (round % 12) as i32);
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
        let packed = deflated(&data, 6);
        assert_eq!(inflate(&packed, &mut vec![0; 20_000], &mut tables, &Stop::default()), Some(packed.len()));
        assert_eq!(inflate(&packed, &mut vec![0; 19_999], &mut tables, &Stop::default()), None);
        assert_eq!(inflate(&packed, &mut vec![0; 20_001], &mut tables, &Stop::default()), None);
        assert_eq!(
            inflate(&packed[..packed.len() - 1], &mut vec![0; 20_000], &mut tables, &Stop::default()),
            None
        );
        let runs: Vec<u8> = (0..20_000u32).map(|i| (i / 100) as u8).collect();
        assert_eq!(inflate(&deflated(&runs, 6), &mut vec![0; 20_000], &mut tables, &Stop::default()), None);
    }

    /// Bytes with codes of about seven bits hardly ever share an entry of twelve bits.
    #[test]
    fn declines_bytes_that_hardly_compress() {
        let mut random = Random::new(14);
        let mut tables = Tables::boxed();
        let data: Vec<u8> = (0..20_000).map(|_| random.below(150) as u8).collect();
        let packed = deflated(&data, 6);
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
            let mutant = random.mutant(&deflated(&data, 6));
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
