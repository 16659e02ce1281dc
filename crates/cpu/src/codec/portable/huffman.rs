//! Prefix codes from counts: the lengths of `portable/spec.md`, "Code lengths", and the codes that Deflate assigns to
//! them.

use std::iter::repeat_n;

/// Largest limit of code lengths.
const LONGEST: usize = 15;

/// Number of codes per length.
type PerLength = [usize; LONGEST + 1];

/// A code as written, first bit lowest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Code {
    pub bits: u32,
    pub length: u32,
}

/// Returns the code lengths of symbols with these counts: Huffman's, cut to a limit and made complete again. Symbols
/// with count 0 have no code. The limit is at most 15 and large enough for all symbols.
pub(super) fn code_lengths<const N: usize>(counts: &[u32; N], limit: u8) -> [u8; N] {
    let mut leaves: Vec<(u32, usize)> =
        counts.iter().copied().zip(0..).filter(|(count, _)| *count > 0).collect();
    leaves.sort_unstable();
    let mut per_length = per_length(&leaves, limit.into());
    complete(&mut per_length, limit.into());
    let longest_first =
        (1..=limit).rev().flat_map(|l| repeat_n(l, per_length.get(usize::from(l)).copied().unwrap_or(0)));
    let mut lengths = [0; N];
    for (&(_, symbol), length) in leaves.iter().zip(longest_first) {
        if let Some(slot) = lengths.get_mut(symbol) {
            *slot = length;
        }
    }
    lengths
}

/// Returns the number of leaves per depth of their tree, given the leaves in ascending order; deeper leaves count at
/// the limit.
fn per_length(leaves: &[(u32, usize)], limit: usize) -> PerLength {
    let mut per_length = [0; LONGEST + 1];
    let count = leaves.len();
    // Leaves, then inner nodes in creation order; the last is the root.
    let mut above = vec![0; 2 * count];
    let mut inner: Vec<u32> = Vec::with_capacity(count);
    let (mut leaf, mut node) = (0, 0);
    for made in 1..count {
        let mut weight = 0;
        for _ in 0..2 {
            let light = leaves.get(leaf).map(|(count, _)| *count);
            let inner = inner.get(node).copied();
            let place = match (light, inner) {
                (Some(light), inner) if inner.is_none_or(|inner| light <= inner) => {
                    weight += light;
                    leaf += 1;
                    leaf - 1
                }
                (_, inner) => {
                    weight += inner.unwrap_or(0);
                    node += 1;
                    count + node - 1
                }
            };
            if let Some(above) = above.get_mut(place) {
                *above = count + made - 1;
            }
        }
        inner.push(weight);
    }
    let mut depths = vec![0; 2 * count];
    for place in (0..(2 * count).saturating_sub(2)).rev() {
        let parent = above.get(place).and_then(|&above| depths.get(above)).copied().unwrap_or(0);
        if let Some(depth) = depths.get_mut(place) {
            *depth = parent + 1;
        }
    }
    for &depth in depths.iter().take(count) {
        // A leaf that is the root itself still gets one bit.
        if let Some(slot) = per_length.get_mut(depth.clamp(1, limit)) {
            *slot += 1;
        }
    }
    per_length
}

/// Makes lengths that were cut to a limit a valid code again: per surplus leaf, another leaf moves down a level and
/// becomes the sibling of the surplus one.
fn complete(per_length: &mut PerLength, limit: usize) {
    let taken = |(length, count): (usize, &usize)| count << limit.saturating_sub(length);
    let full = 1_usize << limit;
    let sum: usize = per_length.iter().enumerate().skip(1).map(taken).sum();
    for _ in full..sum {
        let Some(length) = (1..limit).rev().find(|&l| per_length.get(l).is_some_and(|count| *count > 0))
        else {
            return;
        };
        for (slot, count) in per_length.iter_mut().zip(0..) {
            *slot -= usize::from(count == length);
            *slot += 2 * usize::from(count == length + 1);
            *slot -= usize::from(count == limit);
        }
    }
}

/// Returns the codes for lengths (RFC 1951, 3.2.2).
pub(super) fn codes<const N: usize>(lengths: &[u8; N]) -> [Code; N] {
    let mut codes = [Code::default(); N];
    let mut next = 0_u32;
    for length in 1..=LONGEST {
        next <<= 1;
        let of_this = codes.iter_mut().zip(lengths).filter(|(_, of)| usize::from(**of) == length);
        for (code, &length) in of_this {
            let length = u32::from(length);
            *code = Code { bits: next.reverse_bits() >> (u32::BITS - length), length };
            next += 1;
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::byte_testing::Random;

    fn kraft(lengths: &[u8], limit: u8) -> usize {
        lengths.iter().filter(|l| **l > 0).map(|l| 1 << (limit - l)).sum()
    }

    /// Returns the bits of the best code without a limit: the sum of the weights of the inner nodes.
    fn best_cost(counts: &[u32]) -> u64 {
        let mut weights: Vec<u64> = counts.iter().filter(|c| **c > 0).map(|c| u64::from(*c)).collect();
        let mut cost = 0;
        while weights.len() > 1 {
            weights.sort_unstable_by(|a, b| b.cmp(a));
            let sum = weights.pop().unwrap() + weights.pop().unwrap();
            weights.push(sum);
            cost += sum;
        }
        cost
    }

    #[test]
    fn codes_are_complete_within_their_limit_and_as_short_as_can_be_without() {
        let mut random = Random::new(5);
        let mut uncut = 0;
        for round in 0..400 {
            let mut counts = [0_u32; 286];
            let steep = random.below(3);
            for count in &mut counts[..2 + random.below(284)] {
                let value = u32::try_from(random.below(1000)).unwrap();
                *count = if steep == 0 { value } else { value.checked_shr(value % 40).unwrap_or(0) };
            }
            counts[256] = 1;
            counts[round % 200] += 1;
            let lengths = code_lengths(&counts, 15);
            for (count, length) in counts.iter().zip(lengths) {
                assert_eq!(*count == 0, length == 0);
            }
            assert_eq!(kraft(&lengths, 15), 1 << 15);
            let cost: u64 = counts.iter().zip(lengths).map(|(c, l)| u64::from(*c) * u64::from(l)).sum();
            if lengths.iter().all(|length| *length < 15) {
                assert_eq!(cost, best_cost(&counts));
                uncut += 1;
            }
            let cut = code_lengths(&counts, 9);
            assert_eq!(kraft(&cut, 9), 1 << 9);
        }
        assert!(uncut > 50, "{uncut}");
    }

    #[test]
    fn a_tree_that_is_too_deep_is_cut() {
        // Fibonacci numbers give the deepest tree: 5 leaves at 15 or below, 1 at 14, 1 at 13, …; three too many. One of
        // 14 moves down, then that of 13, and again one of 14.
        let mut counts = [0_u32; 19];
        let (mut a, mut b) = (1, 1);
        for count in &mut counts {
            *count = a;
            (a, b) = (b, a + b);
        }
        assert_eq!(
            code_lengths(&counts, 15),
            [15, 15, 15, 15, 15, 15, 14, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
        );
        let cut = code_lengths(&counts, 7);
        assert_eq!(kraft(&cut, 7), 1 << 7);
        assert!(cut.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn few_symbols() {
        assert_eq!(code_lengths(&[0, 0, 0], 7), [0, 0, 0]);
        assert_eq!(code_lengths(&[0, 9, 0], 7), [0, 1, 0]);
        assert_eq!(code_lengths(&[1, 9, 0], 7), [1, 1, 0]);
        // Among equal counts the smaller symbol comes first, and the first ones get the longest codes.
        assert_eq!(code_lengths(&[1, 1, 1], 7), [2, 2, 1]);
        assert_eq!(code_lengths(&[1, 1, 2, 2], 7), [2, 2, 2, 2]);
    }

    #[test]
    fn codes_count_upwards_and_are_turned_round() {
        // The example of RFC 1951, 3.2.2.
        let codes = codes(&[3, 3, 3, 3, 3, 2, 4, 4]);
        let written = codes.map(|code| (code.bits, code.length));
        assert_eq!(
            written,
            [(0b010, 3), (0b110, 3), (0b001, 3), (0b101, 3), (0b011, 3), (0b00, 2), (0b0111, 4), (0b1111, 4)]
        );
    }
}
