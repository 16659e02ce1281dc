//! Huffman codes of sequential scans: bits without stuffing, tables that look up a code together with its value, and
//! the coefficients of a data unit.

use strile_codestream::jpeg::{Class, HuffmanCode, HuffmanTable, ZIGZAG};

/// Bits per lookup.
const FAST_BITS: u32 = 11;
/// Entry flag: the value follows the code in the stream; its size is in bits 16 to 19.
const VALUE_BEHIND: u32 = 0x80;
/// Advance at the end of a block, in coefficients.
const END_OF_BLOCK: u32 = 64;

/// A code table. Bits 0 to 6 of an entry are the bits to skip, bits 8 to 15 the coefficients to advance by, and the
/// value is above.
pub(super) struct Codes {
    /// Entries by the next bits; 0 for longer codes and for invalid ones.
    fast: Box<[u32; 1 << FAST_BITS]>,
    /// Longer codes: the first bits left-aligned in 16, their number, and the entry.
    slow: Vec<(u32, u32, u32)>,
}

impl Codes {
    pub(super) fn new(table: &HuffmanTable, class: Class) -> Self {
        let mut fast = Box::new([0; 1 << FAST_BITS]);
        let mut slow = Vec::new();
        for code in table.codes() {
            let Some(entry) = entry(code, class) else { continue };
            let Some(spare) = FAST_BITS.checked_sub(code.len) else {
                slow.push((code.bits << (16 - code.len), code.len, entry));
                continue;
            };
            let size = entry >> 16 & 15;
            let first = (code.bits << spare) as usize;
            for (rest, slot) in (0_u32..).zip(fast.iter_mut().skip(first).take(1 << spare)) {
                *slot = match spare.checked_sub(size) {
                    Some(beyond) => with_value(entry, code.len, size, rest >> beyond),
                    None => entry,
                };
            }
        }
        Self { fast, slow }
    }

    #[inline(always)]
    fn entry(&self, bits: u64) -> Option<u32> {
        let index = (bits >> (64 - FAST_BITS)) as usize;
        match self.fast.get(index) {
            Some(&entry) if entry != 0 => Some(entry),
            _ => self.longer(bits),
        }
    }

    #[cold]
    fn longer(&self, bits: u64) -> Option<u32> {
        let next = (bits >> 48) as u32;
        let found = self.slow.iter().find(|&&(first, len, _)| (next ^ first) >> (16 - len) == 0);
        found.map(|&(_, _, entry)| entry)
    }
}

/// Cache of code tables. Tiles of a file share theirs.
#[derive(Default)]
pub(super) struct KnownCodes(Vec<(HuffmanTable, Class, Codes)>);

/// Maximum number of cached tables. A picture has at most eight.
const MOST_KNOWN: usize = 16;

impl KnownCodes {
    /// Builds the tables that are not cached.
    pub(super) fn learn(&mut self, tables: &[(&HuffmanTable, Class)]) {
        if tables.iter().any(|&(table, class)| self.get(table, class).is_none())
            && self.0.len() + tables.len() > MOST_KNOWN
        {
            self.0.clear();
        }
        for &(table, class) in tables {
            if self.get(table, class).is_none() {
                self.0.push((table.clone(), class, Codes::new(table, class)));
            }
        }
    }

    pub(super) fn get(&self, table: &HuffmanTable, class: Class) -> Option<&Codes> {
        let known = self.0.iter().find(|(known, of, _)| (known, *of) == (table, class));
        known.map(|(_, _, codes)| codes)
    }
}

/// Returns the entry of a code without its value; `None` for meaningless symbols.
fn entry(code: HuffmanCode, class: Class) -> Option<u32> {
    let (go_on, size) = code.meaning(class)?;
    let behind = if size == 0 { 0 } else { VALUE_BEHIND };
    Some(code.len | behind | u32::from(go_on) << 8 | u32::from(size) << 16)
}

/// Returns an entry with the value whose bits are known.
fn with_value(entry: u32, len: u32, size: u32, bits: u32) -> u32 {
    if size == 0 {
        return entry;
    }
    let value = extend(u64::from(bits) << (64 - size), size);
    (len + size) | entry & 0xFF00 | u32::from(value.cast_unsigned()) << 16
}

/// Returns the value of `size` bits, 1 to 15, at the top of `bits` (T.81, F.2.2.1).
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "15 bits at most")]
fn extend(bits: u64, size: u32) -> i16 {
    let value = (bits >> (64 - size)) as i32;
    let least = if bits >> 63 == 0 { (1 << size) - 1 } else { 0 };
    (value - least) as i16
}

/// Bits of an interval, from the most significant one of its first byte; zeros past its end.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    /// Offset of the next byte to load.
    at: usize,
    /// The next bits, at the top; bits below `have` are correct or 0.
    word: u64,
    have: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0, word: 0, have: 0 }
    }

    /// Ensures at least 32 bits.
    #[inline(always)]
    fn fill(&mut self) {
        if self.have >= 32 {
            return;
        }
        if let Some(&next) = self.data.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            self.word |= u64::from_be_bytes(next) >> self.have;
            self.at += ((63 - self.have) >> 3) as usize;
            self.have |= 56;
        } else {
            self.fill_bytes();
        }
    }

    #[cold]
    fn fill_bytes(&mut self) {
        while self.have <= 56 {
            let byte = self.data.get(self.at).copied().unwrap_or(0);
            self.word |= u64::from(byte) << (56 - self.have);
            self.at += 1;
            self.have += 8;
        }
    }

    #[inline(always)]
    fn skip(&mut self, count: u32) {
        self.word <<= count;
        self.have -= count;
    }

    /// Returns whether more bits were taken than the data has.
    pub(super) fn overrun(&self) -> bool {
        self.at * 8 - self.have as usize > self.data.len() * 8
    }

    /// Takes a symbol; returns its value and the coefficients to advance by.
    #[inline(always)]
    fn symbol(&mut self, codes: &Codes) -> Option<(i16, u32)> {
        self.fill();
        let entry = codes.entry(self.word)?;
        let value = if entry & VALUE_BEHIND == 0 {
            self.skip(entry & 0x7F);
            ((entry >> 16) as u16).cast_signed()
        } else {
            let size = entry >> 16 & 15;
            self.skip(entry & 0x7F);
            let value = extend(self.word, size);
            self.skip(size);
            value
        };
        Some((value, entry >> 8 & 0xFF))
    }

    /// Reads a data unit. Returns its DC difference and writes the other coefficients to their places in `unit`, row by
    /// row, which must be zero. Also returns the zigzag index of the last nonzero one of these, or 0. `None` if a code
    /// is invalid.
    #[inline(always)]
    pub(super) fn unit(&mut self, dc: &Codes, ac: &Codes, unit: &mut [i16; 64]) -> Option<(i16, u32)> {
        let (difference, _) = self.symbol(dc)?;
        let (mut index, mut last) = (1, 0);
        while index < 64 {
            let (value, go_on) = self.symbol(ac)?;
            if go_on == END_OF_BLOCK {
                break;
            }
            index += go_on;
            if value != 0 {
                last = index - 1;
                // Places are below 64; the mask lets the compiler know.
                let place = usize::from(*ZIGZAG.get(last as usize)?) & 63;
                *unit.get_mut(place)? = value;
            } else if index > 64 {
                return None;
            }
        }
        Some((difference, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_all_lengths_and_values_of_all_sizes() {
        // One code per length from 2 on, for values of 0 to 14 bits.
        let mut counts = [1; 16];
        counts[0] = 0;
        let table = HuffmanTable { counts, symbols: (0..15).collect() };
        let codes = Codes::new(&table, Class::Dc);
        for (size, code) in table.codes().enumerate() {
            let ends = [0_u32, (1 << size) - 1, 1 << size >> 1, (1 << size >> 1) - u32::from(size > 0)];
            for bits in ends {
                let all = u64::from(code.bits) << size | u64::from(bits);
                let data = (all << (64 - code.len as usize - size)).to_be_bytes();
                let mut reader = Bits::new(&data);
                let expected = match size {
                    0 => 0,
                    _ if bits >> (size - 1) == 0 => i32::try_from(bits).unwrap() - (1 << size) + 1,
                    _ => i32::try_from(bits).unwrap(),
                };
                assert_eq!(
                    reader.symbol(&codes).map(|(value, _)| i32::from(value)),
                    Some(expected),
                    "{size} {bits}"
                );
                assert_eq!(reader.at * 8 - reader.have as usize, code.len as usize + size);
            }
        }
        // All ones is not a code.
        assert_eq!(Bits::new(&[0xFF; 8]).symbol(&codes), None);
    }

    #[test]
    fn knows_its_end() {
        let table =
            HuffmanTable { counts: [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], symbols: vec![0, 3] };
        let codes = Codes::new(&table, Class::Dc);
        let mut bits = Bits::new(&[0xFF]);
        assert_eq!(bits.symbol(&codes), Some((7, 1)));
        assert_eq!(bits.symbol(&codes), Some((7, 1)));
        assert!(!bits.overrun());
        bits.symbol(&codes);
        assert!(bits.overrun());
    }
}
