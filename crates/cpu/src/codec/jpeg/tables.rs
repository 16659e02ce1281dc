//! Tables of the JPEG encoder: quantisation by quality, the Huffman codes, and their segments.
//!
//! Both kinds are those of ITU-T T.81, Annex K, scaled as in libjpeg, so that readers that guess the quality from the
//! tables find it. A file has them once, in JPEGTables; its blocks have none.

pub(super) use strile_codestream::jpeg::ZIGZAG;

/// Table K.1, row-major.
const LUMA: [u8; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17,
    22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78,
    87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// Table K.2, row-major.
const CHROMA: [u8; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

/// A Huffman table as in a stream: the number of codes per length, and their symbols.
pub(super) struct Huffman {
    counts: [u8; 16],
    symbols: &'static [u8],
}

/// Table K.3.
const LUMA_DC: Huffman = Huffman {
    counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};

/// Table K.4.
const CHROMA_DC: Huffman = Huffman {
    counts: [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};

/// Table K.5.
const LUMA_AC: Huffman = Huffman {
    counts: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7D],
    symbols: &[
        0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22,
        0x71, 0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0, 0x24, 0x33,
        0x62, 0x72, 0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x34,
        0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55,
        0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76,
        0x77, 0x78, 0x79, 0x7A, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96,
        0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5,
        0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4,
        0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF1,
        0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA,
    ],
};

/// Table K.6.
const CHROMA_AC: Huffman = Huffman {
    counts: [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
    symbols: &[
        0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13,
        0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33, 0x52, 0xF0, 0x15, 0x62,
        0x72, 0xD1, 0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18, 0x19, 0x1A, 0x26, 0x27, 0x28, 0x29,
        0x2A, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54,
        0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75,
        0x76, 0x77, 0x78, 0x79, 0x7A, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94,
        0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3,
        0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2,
        0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA,
        0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA,
    ],
};

/// Code of each symbol: its bits in the low end, and their number; 0 if there is none.
pub(super) type Codes = [(u16, u8); 256];

/// Codes of DC and AC coefficients, for luma, then for chroma.
pub(super) static CODES: [(Codes, Codes); 2] =
    [(codes(&LUMA_DC), codes(&LUMA_AC)), (codes(&CHROMA_DC), codes(&CHROMA_AC))];

/// Assigns consecutive numbers, doubled from length to length (T.81, annex C).
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated when compiling, over the tables above"
)]
const fn codes(table: &Huffman) -> Codes {
    let mut codes = [(0, 0); 256];
    let (mut code, mut symbol, mut length) = (0_u16, 0, 0);
    while length < 16 {
        let mut left = table.counts[length];
        while left > 0 {
            codes[table.symbols[symbol] as usize] = (code, length as u8 + 1);
            code += 1;
            symbol += 1;
            left -= 1;
        }
        code <<= 1;
        length += 1;
    }
    codes
}

/// Returns the divisors of luma and of chroma for a quality from 1 to 100, row-major.
pub(super) fn divisors(quality: u8) -> [[u8; 64]; 2] {
    let quality = u32::from(quality.clamp(1, 100));
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    let scaled =
        |base: u8| u8::try_from(((u32::from(base) * percent + 50) / 100).clamp(1, 255)).unwrap_or(255);
    [LUMA.map(scaled), CHROMA.map(scaled)]
}

/// Returns the contents of JPEGTables: SOI, DQT and DHT of luma and, for YCbCr, of chroma, EOI.
pub(super) fn jpeg_tables(quality: u8, with_chroma: bool) -> Vec<u8> {
    let mut out = vec![0xFF, 0xD8];
    let count = if with_chroma { 2 } else { 1 };
    for (index, divisors) in (0_u8..).zip(divisors(quality).iter().take(count)) {
        out.extend([0xFF, 0xDB, 0, 67, index]);
        out.extend(ZIGZAG.iter().filter_map(|&at| divisors.get(usize::from(at))));
    }
    let tables = [(0x00, LUMA_DC), (0x10, LUMA_AC), (0x01, CHROMA_DC), (0x11, CHROMA_AC)];
    for (class_and_index, table) in tables.iter().take(2 * count) {
        // At most 162 symbols.
        let len = u8::try_from(19 + table.symbols.len()).unwrap_or(u8::MAX);
        out.extend([0xFF, 0xC4, 0, len, *class_and_index]);
        out.extend(table.counts);
        out.extend(table.symbols);
    }
    out.extend([0xFF, 0xD9]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_scales_as_in_libjpeg() {
        let first = |quality| divisors(quality).map(|table| table[0]);
        assert_eq!(first(50), [16, 17]);
        assert_eq!(first(75), [8, 9]);
        assert_eq!(first(100), [1, 1]);
        assert_eq!(first(1), [255, 255]);
    }

    #[test]
    fn codes_are_those_of_annex_k() {
        // Table K.5: end of block 1010, fifteen zeros more 11111111001; table K.6: end of block 00.
        assert_eq!(CODES[0].1[0x00], (0b1010, 4));
        assert_eq!(CODES[0].1[0xF0], (0b111_1111_1001, 11));
        assert_eq!(CODES[1].1[0x00], (0b00, 2));
        assert_eq!(CODES[0].1[0xFA], (0xFFFE, 16));
        assert_eq!(CODES[0].0[11], (0b1_1111_1110, 9));
        let counted = |table: &Huffman| table.counts.iter().map(|&n| usize::from(n)).sum::<usize>();
        for table in [LUMA_DC, LUMA_AC, CHROMA_DC, CHROMA_AC] {
            assert_eq!(counted(&table), table.symbols.len());
        }
    }
}
