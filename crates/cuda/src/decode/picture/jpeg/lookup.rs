//! Huffman tables in the kernels' form: looked up by the next nine bits, and for longer codes by up to seven more in a
//! second table behind the first. `kernels/jpeg/jpeg_abi.h` defines the entries.
//!
//! Codes count up and never get shorter, so codes of more than nine bits come after all others, and second tables stay
//! small: as many entries as there are codes, and less than 128 more per change of length.

use super::abi::{FIRST_BITS, NO_CODE};
use strile_codestream::jpeg::{Class, HuffmanCode, HuffmanTable};

const FIRST_ENTRIES: usize = 1 << FIRST_BITS;
/// Second tables begin at multiples of this many entries.
const UNIT: usize = 8;

/// Adds the entries of a table, a multiple of 8; `None` if there are too many.
pub(super) fn add_entries(table: &HuffmanTable, class: Class, to: &mut Vec<u16>) -> Option<()> {
    let begin = to.len();
    to.resize(begin + FIRST_ENTRIES, NO_CODE);
    for (prefix, more) in second_tables(table) {
        let unit = u16::try_from((to.len() - begin) / UNIT).ok().filter(|&unit| unit < 1 << 8)?;
        *to.get_mut(begin + prefix as usize)? = unit << 8 | u16::try_from(more).ok()? << 5;
        to.resize(to.len() + (1_usize << more).next_multiple_of(UNIT), NO_CODE);
    }
    let entries = to.get_mut(begin..)?;
    for code in table.codes() {
        let Some(entry) = entry(code, class) else { continue };
        let (first, spare) = if let Some(spare) = FIRST_BITS.checked_sub(code.len) {
            ((code.bits << spare) as usize, spare)
        } else {
            let longer = code.len - FIRST_BITS;
            let link = *entries.get((code.bits >> longer) as usize)?;
            let spare = u32::from(link >> 5 & 7) - longer;
            let within = (code.bits & ((1 << longer) - 1)) << spare;
            (usize::from(link >> 8) * UNIT + within as usize, spare)
        };
        entries.get_mut(first..first + (1 << spare))?.fill(entry);
    }
    Some(())
}

/// Returns each distinct first nine bits of longer codes, and the additional bits of the longest of these codes.
fn second_tables(table: &HuffmanTable) -> impl Iterator<Item = (u32, u32)> {
    let mut long = table.codes().filter(|code| code.len > FIRST_BITS).peekable();
    std::iter::from_fn(move || {
        let prefix = |code: &HuffmanCode| code.bits >> (code.len - FIRST_BITS);
        let first = long.next()?;
        let mut last = first;
        // Later codes are not shorter.
        while let Some(code) = long.next_if(|code| prefix(code) == prefix(&first)) {
            last = code;
        }
        Some((prefix(&first), last.len - FIRST_BITS))
    })
}

/// Returns the entry of a code; `None` for symbols without a meaning in a sequential scan.
fn entry(code: HuffmanCode, class: Class) -> Option<u16> {
    let (go_on, size) = code.meaning(class)?;
    let bits = u16::try_from(code.len).ok()? + u16::from(size);
    Some(bits | u16::from(size) << 5 | u16::from(go_on) << 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks up like kernels do.
    fn look_up(entries: &[u16], bits: u16) -> u16 {
        let entry = entries[usize::from(bits >> 7)];
        if entry & 31 != 0 {
            return entry;
        }
        let more = u32::from(entry >> 5 & 7);
        let within = usize::from((bits << 9) >> (16 - more));
        entries[usize::from(entry >> 8) * UNIT + within]
    }

    fn check(table: &HuffmanTable, class: Class) {
        // Behind the entries of another table.
        let mut all = vec![7; 24];
        add_entries(table, class, &mut all).unwrap();
        let entries = &all[24..];
        assert!(all[..24] == [7; 24] && entries.len().is_multiple_of(UNIT));
        let mut known = vec![NO_CODE; 1 << 16];
        for code in table.codes() {
            let first = (code.bits << (16 - code.len)) as usize;
            known[first..first + (1 << (16 - code.len))].fill(entry(code, class).unwrap_or(NO_CODE));
        }
        for (bits, &expected) in (0..=u16::MAX).zip(&known) {
            assert_eq!(look_up(entries, bits), expected, "{bits:#018b}");
        }
    }

    #[test]
    fn every_code_of_any_length_is_found_and_no_other() {
        // Lengths of annex K's luma, two codes of every length, and only long codes.
        let symbols: Vec<u8> = (0..=255).collect();
        for counts in [
            [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7D],
            [0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 30, 40, 50, 50, 30, 30],
        ] {
            let total = counts.iter().map(|&count| usize::from(count)).sum();
            let table = HuffmanTable { counts, symbols: symbols[..total].to_vec() };
            check(&table, Class::Ac);
            check(&table, Class::Dc);
        }
    }
}
