//! The tables of a JPEG stream, as in its segments.

use strile_engine::BlockFault;

/// Row-major index of each coefficient in stream order (T.81, figure A.6).
pub const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// A Huffman table: the number of codes per length from 1 on, and their symbols in the order of codes. The codes are
/// valid: none needs more bits than its length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HuffmanTable {
    /// Number of codes per length.
    pub counts: [u8; 16],
    /// As many symbols as the counts add up to, at most 256.
    pub symbols: Vec<u8>,
}

impl HuffmanTable {
    /// Reads a table from the start of `body`, and returns the rest.
    fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (&counts, rest) = body.split_first_chunk::<16>()?;
        let total: usize = counts.iter().map(|&count| usize::from(count)).sum();
        let (symbols, rest) = rest.split_at_checked(total)?;
        let table = Self { counts, symbols: symbols.to_vec() };
        let fits = table.codes().all(|code| code.bits < 1 << code.len);
        (total <= 256 && fits).then_some((table, rest))
    }

    /// Returns the codes of all symbols, in order (T.81, C.2).
    pub fn codes(&self) -> impl Iterator<Item = HuffmanCode> {
        let (mut counts, mut len, mut left, mut next) = (self.counts.iter(), 0, 0, 0_u32);
        self.symbols.iter().map_while(move |&symbol| {
            while left == 0 {
                left = *counts.next()?;
                len += 1;
                next *= 2;
            }
            left -= 1;
            next += 1;
            Some(HuffmanCode { len, bits: next - 1, symbol })
        })
    }
}

/// A code of a Huffman table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HuffmanCode {
    /// Bits; the last one is the lowest.
    pub bits: u32,
    /// Number of bits, 1 to 16.
    pub len: u32,
    /// Symbol.
    pub symbol: u8,
}

/// Purpose of the codes of a sequential scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Differences of DC coefficients: symbols are sizes.
    Dc,
    /// The other coefficients: symbols are runs and sizes.
    Ac,
}

impl HuffmanCode {
    /// Returns the meaning in a sequential scan (T.81, F.1.2): coefficients to advance by, 64 at the end of a block,
    /// and bits of the value behind it. `None` for symbols without a meaning.
    pub fn meaning(&self, class: Class) -> Option<(u8, u8)> {
        let (run, size) = (self.symbol >> 4, self.symbol & 15);
        let go_on = match (class, run, size) {
            (Class::Dc, 0, _) => 1,
            (Class::Ac, 0, 0) => 64,
            (Class::Ac, 15, 0) => 16,
            (Class::Dc, ..) | (Class::Ac, _, 0) => return None,
            (Class::Ac, run, _) => run + 1,
        };
        Some((go_on, size))
    }
}

/// The current Huffman tables of a stream, by class (0 DC or lossless, 1 AC) and number.
#[derive(Debug, Clone, Default)]
pub struct HuffmanTables([[Option<HuffmanTable>; 4]; 2]);

impl HuffmanTables {
    /// Returns the table of a class and number.
    pub fn get(&self, class: u8, number: u8) -> Option<&HuffmanTable> {
        self.0.get(usize::from(class))?.get(usize::from(number))?.as_ref()
    }
}

/// Reads the tables of a DHT segment.
pub fn huffman_tables(mut body: &[u8], into: &mut HuffmanTables) -> Result<(), BlockFault> {
    while let Some((&place, rest)) = body.split_first() {
        let wrong = || BlockFault::corrupt("JPEG: Huffman table is not valid");
        let (table, rest) = HuffmanTable::read(rest).ok_or_else(wrong)?;
        let class = into.0.get_mut(usize::from(place >> 4));
        *class.and_then(|class| class.get_mut(usize::from(place & 15))).ok_or_else(wrong)? = Some(table);
        body = rest;
    }
    Ok(())
}

/// A quantisation table in the order of [`ZIGZAG`].
pub type Quantisation = [u16; 64];

/// Reads the tables of a DQT segment, by number.
pub fn quantisation_tables(mut body: &[u8], into: &mut [Option<Quantisation>; 4]) -> Result<(), BlockFault> {
    while let Some((&place, rest)) = body.split_first() {
        let wrong = || BlockFault::corrupt("JPEG: quantisation table is not valid");
        let mut table = [0; 64];
        let of_words = match place >> 4 {
            0 => false,
            1 => true,
            _ => return Err(wrong()),
        };
        let (values, rest) = rest.split_at_checked(if of_words { 128 } else { 64 }).ok_or_else(wrong)?;
        if of_words {
            table.iter_mut().zip(values.as_chunks().0).for_each(|(to, &from)| *to = u16::from_be_bytes(from));
        } else {
            table.iter_mut().zip(values).for_each(|(to, &from)| *to = u16::from(from));
        }
        *into.get_mut(usize::from(place & 15)).ok_or_else(wrong)? = Some(table);
        body = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_up_and_grow() {
        let mut body = vec![0x10, 0, 2, 1, 0, 1];
        body.extend([0; 11]);
        body.extend([9, 8, 7, 6]);
        let mut tables = HuffmanTables::default();
        huffman_tables(&body, &mut tables).unwrap();
        let codes: Vec<_> = tables.get(1, 0).unwrap().codes().map(|c| (c.len, c.bits, c.symbol)).collect();
        assert_eq!(codes, [(2, 0b00, 9), (2, 0b01, 8), (3, 0b100, 7), (5, 0b10100, 6)]);
        assert_eq!(tables.get(0, 0), None);
        for len in 1..body.len() {
            assert!(huffman_tables(&body[..len], &mut tables).is_err(), "{len}");
        }
        // Three codes of one bit.
        body[1] = 3;
        assert!(huffman_tables(&body, &mut tables).is_err());
    }

    #[test]
    fn quantisation_of_bytes_and_words() {
        let mut body = vec![0x01];
        body.extend(1..=64);
        body.push(0x12);
        body.extend((1_u16..=64).flat_map(|value| (value * 100).to_be_bytes()));
        let mut tables = [None; 4];
        quantisation_tables(&body, &mut tables).unwrap();
        assert_eq!(tables[1].unwrap()[63], 64);
        assert_eq!(tables[2].unwrap()[1], 200);
        assert!(tables[0].is_none());
        assert!(quantisation_tables(&body[..100], &mut tables).is_err());
    }
}
