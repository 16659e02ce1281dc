//! Sequences section of a ZSTD block (RFC 8878, 3.1.1.3.2): codes, recent distances, three FSE tables, one stream.
//!
//! A part refers to no distances but its own, so that parts can be encoded in parallel. See `portable/spec.md`.

use super::bits::Bits;
use super::matches::Step;
use super::zstd_fse::{
    Cells, Counts, SYMBOLS, Table, cost, describe, highest_bit, normalise, put_low, put_mark,
};
use strile_engine::portable::{LEAST, PART};

// A count of sequences fits two bytes.
const _: () = assert!(PART / LEAST < 0x7F00 && LEAST >= 3);

/// Last distinct distances, most recent first; 0 is none.
#[derive(Default)]
struct Recent([u32; 3]);

impl Recent {
    /// Returns the offset value of a sequence and makes its distance the most recent one.
    fn value_of(&mut self, sequence: Step) -> u32 {
        let [first, second, third] = self.0;
        let distance = sequence.distance;
        let place = if distance == first {
            1
        } else if distance == second {
            self.0 = [second, first, third];
            2
        } else {
            self.0 = [distance, first, second];
            if distance != third {
                return distance + 3;
            }
            3
        };
        // Without literals the most recent distance is skipped; a match never follows one of the same distance.
        if sequence.literals == 0 { place - 1 } else { place }
    }
}

/// Extra bits of the codes from 16, or 32, on: each row has a number of bits and how many codes have it.
const LENGTH_CODES: [(u32, u32); 4] = [(1, 4), (2, 2), (3, 2), (4, 1)];
const MATCH_CODES: [(u32, u32); 5] = [(1, 4), (2, 2), (3, 2), (4, 2), (5, 1)];

/// Returns a code and its number of extra bits, which are the lowest of the value.
fn code_of(value: u32, plain: u32, rows: &[(u32, u32)], powers: u32) -> (u8, u32) {
    let code = |code: u32| u8::try_from(code).unwrap_or(u8::MAX);
    if value < plain {
        return (code(value), 0);
    }
    let (mut base, mut from) = (plain, plain);
    for &(bits, codes) in rows {
        let end = from + (codes << bits);
        if value < end {
            return (code(base + ((value - from) >> bits)), bits);
        }
        (base, from) = (base + codes, end);
    }
    let bits = highest_bit(value);
    (code(bits + powers), bits)
}

/// A number as written: its code, and the lowest bits of the number itself.
#[derive(Clone, Copy)]
struct Field {
    code: u8,
    value: u32,
    extra_bits: u32,
}

/// A sequence as written.
struct Coded {
    literals: Field,
    offset: Field,
    matched: Field,
}

impl Coded {
    fn new(sequence: Step, recent: &mut Recent) -> Self {
        let field = |value, (code, extra_bits)| Field { code, value, extra_bits };
        let (literals, length) = (sequence.literals, sequence.length.saturating_sub(3));
        let offset = recent.value_of(sequence);
        let power = highest_bit(offset);
        Self {
            literals: field(literals, code_of(literals, 16, &LENGTH_CODES, 19)),
            offset: field(offset, (u8::try_from(power).unwrap_or(u8::MAX), power)),
            matched: field(length, code_of(length, 32, &MATCH_CODES, 36)),
        }
    }

    fn put_extra_bits(&self, bits: &mut Bits<'_>) {
        for field in [self.literals, self.matched, self.offset] {
            put_low(bits, field.value, field.extra_bits);
        }
    }
}

/// One of the three kinds of codes: its predefined distribution (RFC 8878, 3.1.1.3.2.2), the log of that, and the
/// maximum log of any table of its kind.
struct Kind {
    cells: &'static [i16],
    log: u32,
    most_log: u32,
}

const LITERALS: Kind = Kind {
    cells: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1,
        -1, -1, -1,
    ],
    log: 6,
    most_log: 9,
};
const OFFSET: Kind = Kind {
    cells: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
    log: 5,
    most_log: 8,
};
const MATCH: Kind = Kind {
    cells: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
    log: 6,
    most_log: 9,
};

/// Table modes.
const PREDEFINED: u8 = 0;
const ONE_CODE: u8 = 1;
const DESCRIBED: u8 = 2;

/// Writes the codes of one kind.
struct Coder {
    mode: u8,
    description: Vec<u8>,
    /// `None` if there is only one code.
    table: Option<Table>,
    state: u32,
}

impl Coder {
    /// Returns the best coder for codes, of which there is at least one.
    fn new(codes: impl Iterator<Item = u8>, kind: &Kind) -> Self {
        let mut counts: Counts = [0; SYMBOLS];
        let (mut total, mut largest) = (0, 0);
        for code in codes {
            if let Some(count) = counts.get_mut(usize::from(code)) {
                *count += 1;
            }
            total += 1;
            largest = code.max(largest);
        }
        if counts.get(usize::from(largest)) == Some(&total) {
            return Self { mode: ONE_CODE, description: vec![largest], table: None, state: 0 };
        }
        let log = highest_bit(total - 1).saturating_sub(2).max(5).max(highest_bit(largest.into()) + 2);
        let log = log.min(kind.most_log);
        let cells = normalise(&counts, log);
        let mut description = Vec::new();
        describe(&cells, log, &mut description);
        let described = cost(&counts, &cells, log) + 8 * 256 * description.len() as u64;
        let mut known: Cells = [0; SYMBOLS];
        for (cell, &count) in known.iter_mut().zip(kind.cells) {
            *cell = count;
        }
        let (mode, description, table) = if cost(&counts, &known, kind.log) <= described {
            (PREDEFINED, Vec::new(), Table::new(&known, kind.log))
        } else {
            (DESCRIBED, description, Table::new(&cells, log))
        };
        Self { mode, description, table: Some(table), state: 0 }
    }

    fn first(&mut self, field: Field) {
        self.state = self.table.as_ref().map_or(0, |table| table.first(field.code));
    }

    fn next(&mut self, field: Field, bits: &mut Bits<'_>) {
        if let Some(table) = &self.table {
            table.next(&mut self.state, field.code, bits);
        }
    }

    fn last(&self, bits: &mut Bits<'_>) {
        if let Some(table) = &self.table {
            table.last(self.state, bits);
        }
    }
}

/// Appends the sequences section.
pub(super) fn append(sequences: &[Step], dst: &mut Vec<u8>) {
    let [low, high, ..] = sequences.len().to_le_bytes();
    if sequences.len() < 128 {
        dst.push(low);
    } else {
        dst.extend_from_slice(&[128 + high, low]);
    }
    let mut recent = Recent::default();
    let coded: Vec<Coded> = sequences.iter().map(|&s| Coded::new(s, &mut recent)).collect();
    let Some((last, others)) = coded.split_last() else { return };
    let mut literals = Coder::new(coded.iter().map(|s| s.literals.code), &LITERALS);
    let mut offset = Coder::new(coded.iter().map(|s| s.offset.code), &OFFSET);
    let mut matched = Coder::new(coded.iter().map(|s| s.matched.code), &MATCH);
    dst.push(literals.mode << 6 | offset.mode << 4 | matched.mode << 2);
    for coder in [&literals, &offset, &matched] {
        dst.extend_from_slice(&coder.description);
    }
    let mut bits = Bits::new(dst);
    literals.first(last.literals);
    offset.first(last.offset);
    matched.first(last.matched);
    last.put_extra_bits(&mut bits);
    for sequence in others.iter().rev() {
        offset.next(sequence.offset, &mut bits);
        matched.next(sequence.matched, &mut bits);
        literals.next(sequence.literals, &mut bits);
        sequence.put_extra_bits(&mut bits);
    }
    matched.last(&mut bits);
    offset.last(&mut bits);
    literals.last(&mut bits);
    put_mark(bits);
}
