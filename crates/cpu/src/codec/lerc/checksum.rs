//! Checksum of a blob: Fletcher's, over 16-bit words with the high byte first.

/// Words that are added in parallel.
const LANES: usize = 16;
/// Rows of words between reductions of the sums, so that no lane exceeds 32 bits.
const ROWS: usize = 128;

/// Returns the checksum of `bytes`.
#[inline(always)]
pub(super) fn fletcher(bytes: &[u8]) -> u32 {
    let (mut first, mut second) = (0_u64, 0_u64);
    let mut blocks = bytes.chunks_exact(2 * LANES * ROWS);
    for block in &mut blocks {
        add_rows(block, &mut first, &mut second);
    }
    let rest = blocks.remainder();
    let (rows, words) = rest.split_at_checked(rest.len() / (2 * LANES) * (2 * LANES)).unwrap_or_default();
    add_rows(rows, &mut first, &mut second);
    for word in words.chunks(2) {
        // A single last byte is the high byte of a word.
        first += match *word {
            [high, low] => u64::from(u16::from_be_bytes([high, low])),
            [high] => u64::from(high) << 8,
            _ => 0,
        };
        second += first;
    }
    // Sums begin with all ones, which is 0 modulo 65535, and stay above 0.
    let reduced = |sum: u64| match (sum % 0xFFFF) as u32 {
        0 => 0xFFFF,
        rest => rest,
    };
    reduced(second) << 16 | reduced(first)
}

/// Adds at most `ROWS` rows of `LANES` words.
#[inline(always)]
fn add_rows(bytes: &[u8], first: &mut u64, second: &mut u64) {
    let (mut sums, mut sums_of_sums) = ([0_u32; LANES], [0_u32; LANES]);
    let rows = bytes.as_chunks::<{ 2 * LANES }>().0;
    for row in rows {
        let words = row.as_chunks::<2>().0;
        for ((word, sum), of_sums) in words.iter().zip(&mut sums).zip(&mut sums_of_sums) {
            *sum += u32::from(u16::from_be_bytes(*word));
            *of_sums += *sum;
        }
    }
    *second += *first * (LANES * rows.len()) as u64;
    for ((sum, of_sums), lane) in sums.into_iter().zip(sums_of_sums).zip(0_u64..) {
        // A word counts once more for every word after it: those of its lane are covered by the sum of sums; words of
        // other lanes count as often, minus the lanes before their own.
        *second += LANES as u64 * u64::from(of_sums) - lane * u64::from(sum);
        *first += u64::from(sum);
    }
    *first %= 0xFFFF;
    *second %= 0xFFFF;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_that_of_the_library() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for len in (0..200).chain([4095, 4096, 4097, 8191, 19_999, 20_000]) {
            assert_eq!(fletcher(&bytes[..len]), lerc_core::fletcher32(&bytes[..len]), "{len}");
            let ones = vec![0xFF; len];
            assert_eq!(fletcher(&ones), lerc_core::fletcher32(&ones), "{len} bytes of ones");
        }
    }
}
