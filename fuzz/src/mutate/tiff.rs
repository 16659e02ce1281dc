//! Mutations of the structure of a TIFF: entries, shared and looped directories, tables of blocks, grafts.

use super::map::{Directory, Map};
use super::{EDGES, pick};
use testkit::{Random, mutate_bytes};

/// Tags that the parser and the images look at.
const TAGS: [u16; 44] = [
    254, 255, 256, 257, 258, 259, 262, 266, 273, 274, 277, 278, 279, 284, 292, 293, 297, 317, 320, 322, 323,
    324, 325, 330, 332, 338, 339, 340, 341, 347, 512, 513, 519, 520, 521, 530, 532, 33550, 33922, 34264,
    34735, 34736, 42112, 42113,
];
/// A mutant grows to this at most.
const LONGEST: usize = 1 << 16;

/// A copy of `bytes` with one to four changes of its structure; `other` is another file to take parts of.
pub(crate) fn mutate_tiff(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        let map = Map::of(&bytes);
        if map.directories.is_empty() {
            return mutate_bytes(&bytes, random.next_u64());
        }
        match random.below(16) {
            0..=4 => change_entry(&mut bytes, &map, random),
            5..=7 => change_value(&mut bytes, &map, random),
            8 => copy_entry(&mut bytes, &map, random),
            9 => share_values(&mut bytes, &map, random),
            10 => change_blocks(&mut bytes, &map, random),
            11 => link(&mut bytes, &map, random),
            12 => repeat_directory(&mut bytes, &map, random),
            13 => share_children(&mut bytes, &map, random),
            14 => graft(&mut bytes, other, &map, random),
            _ => change_ends(&mut bytes, &map, random),
        }
    }
    bytes
}

fn any_directory<'a>(map: &'a Map, random: &mut Random) -> &'a Directory {
    &map.directories[random.below(map.directories.len())]
}

fn any_entry(map: &Map, random: &mut Random) -> Option<usize> {
    let entries = &any_directory(map, random).entries;
    (!entries.is_empty()).then(|| pick(entries, random))
}

/// An offset that means something: a directory, a value, the ends of the file, or none of these.
fn any_offset(bytes: &[u8], map: &Map, random: &mut Random) -> u64 {
    let len = bytes.len() as u64;
    match random.below(6) {
        0 => any_directory(map, random).at as u64,
        1 => any_entry(map, random).map_or(0, |entry| map.values(bytes, entry).0.start as u64),
        2 => any_entry(map, random).unwrap_or(0) as u64,
        3 => len - random.below(bytes.len().min(20)) as u64,
        4 => random.below(bytes.len()) as u64,
        _ => pick(&EDGES, random),
    }
}

/// A number near another, or an edge.
fn another(value: u64, random: &mut Random) -> u64 {
    match random.below(6) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        2 => value.wrapping_mul(2),
        3 => value / 2,
        4 => value ^ (1 << random.below(32)),
        _ => pick(&EDGES, random),
    }
}

/// Another tag, type, count or value field of one entry.
fn change_entry(bytes: &mut [u8], map: &Map, random: &mut Random) {
    let Some(entry) = any_entry(map, random) else { return };
    let word = map.word();
    match random.below(5) {
        0 => map.put(bytes, entry, 2, pick(&TAGS, random).into()),
        1 => map.put(bytes, entry + 2, 2, random.below(20) as u64),
        2 => {
            let count = map.number(bytes, entry + 4, word).unwrap_or(0);
            map.put(bytes, entry + 4, word, another(count, random));
        }
        3 => {
            let field = map.number(bytes, entry + 4 + word, word).unwrap_or(0);
            map.put(bytes, entry + 4 + word, word, another(field, random));
        }
        _ => {
            let offset = any_offset(bytes, map, random);
            map.put(bytes, entry + 4 + word, word, offset);
        }
    }
}

/// One number among the values of an entry, wherever they are.
fn change_value(bytes: &mut [u8], map: &Map, random: &mut Random) {
    let Some(entry) = any_entry(map, random) else { return };
    let (values, size) = map.values(bytes, entry);
    let count = values.len() / size;
    if count == 0 {
        return;
    }
    let at = values.start + size * random.below(count);
    let old = map.number(bytes, at, size).unwrap_or(0);
    map.put(bytes, at, size, another(old, random));
}

/// Copies an entry over another one, of any directory: tags that are there twice, or in the wrong order.
fn copy_entry(bytes: &mut [u8], map: &Map, random: &mut Random) {
    if let (Some(from), Some(to)) = (any_entry(map, random), any_entry(map, random)) {
        bytes.copy_within(from..from + map.entry_len(), to);
    }
}

/// Makes an entry point to the values of another, or to everything from there on.
fn share_values(bytes: &mut [u8], map: &Map, random: &mut Random) {
    let (Some(from), Some(to)) = (any_entry(map, random), any_entry(map, random)) else { return };
    let (values, size) = map.values(bytes, from);
    let word = map.word();
    let (count, field_type) = match random.below(3) {
        0 => ((values.len() / size) as u64, None),
        1 => ((bytes.len() - values.start) as u64, Some(1)),
        _ => (((bytes.len() - values.start) / 2) as u64, Some(3)),
    };
    if let Some(field_type) = field_type {
        map.put(bytes, to + 2, 2, field_type);
    }
    map.put(bytes, to + 4, word, count);
    map.put(bytes, to + 4 + word, word, values.start as u64);
}

/// Swaps or repeats numbers in a table of blocks.
fn change_blocks(bytes: &mut [u8], map: &Map, random: &mut Random) {
    let directory = any_directory(map, random);
    let is_table = |&&entry: &&usize| {
        matches!(map.number(bytes, entry, 2), Some(273 | 279 | 324 | 325 | 519 | 520 | 521))
    };
    let tables: Vec<usize> = directory.entries.iter().filter(is_table).copied().collect();
    if tables.is_empty() {
        return;
    }
    let (values, size) = map.values(bytes, pick(&tables, random));
    let count = values.len() / size;
    if count == 0 {
        return;
    }
    let place = |random: &mut Random| values.start + size * random.below(count);
    let (a, b) = (place(random), place(random));
    let (first, second) = (map.number(bytes, a, size).unwrap_or(0), map.number(bytes, b, size).unwrap_or(0));
    match random.below(4) {
        0 => {
            map.put(bytes, a, size, second);
            map.put(bytes, b, size, first);
        }
        1 => map.put(bytes, a, size, second),
        2 => map.put(bytes, a, size, another(first, random)),
        // All the same.
        _ => {
            (values.start..values.end - size + 1).step_by(size).for_each(|at| map.put(bytes, at, size, first))
        }
    }
}

/// Makes a chain end, loop or go elsewhere.
fn link(bytes: &mut [u8], map: &Map, random: &mut Random) {
    let to = any_offset(bytes, map, random);
    let at = match random.below(4) {
        0 => map.header_len() - map.word(),
        _ => any_directory(map, random).next,
    };
    map.put(bytes, at, map.word(), to);
}

/// Adds copies of a directory, chained, all sharing its values.
fn repeat_directory(bytes: &mut Vec<u8>, map: &Map, random: &mut Random) {
    let directory = any_directory(map, random).clone();
    let copy = bytes[directory.at..directory.next + map.word()].to_vec();
    let mut last = directory.next;
    let copies = [1, 2, 5, 40][random.below(4)];
    for _ in 0..copies {
        if bytes.len() + copy.len() > LONGEST {
            return;
        }
        if !bytes.len().is_multiple_of(2) {
            bytes.push(0);
        }
        let at = bytes.len();
        bytes.extend(&copy);
        map.put(bytes, last, map.word(), at as u64);
        last = at + copy.len() - map.word();
        map.put(bytes, last, map.word(), 0);
    }
}

/// Turns an entry of every directory into SubIFDs over one shared range.
fn share_children(bytes: &mut [u8], map: &Map, random: &mut Random) {
    let start = any_offset(bytes, map, random).min(bytes.len() as u64 - 1);
    let field_type = [1, 3, 4, 13, 16][random.below(5)];
    let all = bytes.len() as u64 - start;
    let count = [all, all / 2, all / 4, 3][random.below(4)].max(1);
    let word = map.word();
    for directory in &map.directories {
        // In its sorted place, where there is one.
        let place = directory.entries.iter().copied().filter(|&e| map.number(bytes, e, 2) >= Some(330)).min();
        let Some(entry) = place.or(directory.entries.last().copied()) else { continue };
        map.put(bytes, entry, 2, 330);
        map.put(bytes, entry + 2, 2, field_type);
        map.put(bytes, entry + 4, word, count);
        map.put(bytes, entry + 4 + word, word, start);
    }
}

/// Puts an entry of another file, with its values, in place of one of this.
fn graft(bytes: &mut Vec<u8>, other: &[u8], map: &Map, random: &mut Random) {
    let theirs = Map::of(other);
    if theirs.directories.is_empty() {
        return;
    }
    let (Some(from), Some(to)) = (any_entry(&theirs, random), any_entry(map, random)) else { return };
    let (values, size) = theirs.values(other, from);
    let values = values.start..values.end.min(values.start + LONGEST.saturating_sub(bytes.len()));
    let word = map.word();
    let read = |at, len| theirs.number(other, at, len).unwrap_or(0);
    map.put(bytes, to, 2, read(from, 2));
    map.put(bytes, to + 2, 2, read(from + 2, 2));
    map.put(bytes, to + 4, word, read(from + 4, theirs.word()));
    let count = values.len() / size;
    let mut at = to + 4 + word;
    if values.len() > word {
        if !bytes.len().is_multiple_of(2) {
            bytes.push(0);
        }
        let end = bytes.len();
        map.put(bytes, at, word, end as u64);
        at = end;
        bytes.resize(at + count * size, 0);
    }
    // Number by number: the byte orders may differ.
    for i in 0..count {
        map.put(bytes, at + i * size, size, read(values.start + i * size, size));
    }
}

/// Cuts or lengthens the file, or makes it the other kind of TIFF.
fn change_ends(bytes: &mut Vec<u8>, map: &Map, random: &mut Random) {
    match random.below(4) {
        0 => bytes.truncate(random.below(bytes.len()).max(8)),
        1 => bytes.extend((0..1 + random.below(64)).map(|i| i as u8)),
        2 => map.put(bytes, 2, 2, if map.big { 42 } else { 43 }),
        _ => bytes[..2].copy_from_slice(if map.big_endian { b"II" } else { b"MM" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of change happens, none panics, and the same sequence gives the same mutant.
    #[test]
    fn mutants_are_many_and_repeatable() {
        let fixtures = testkit::fixtures();
        let small: Vec<&[u8]> =
            fixtures.iter().map(testkit::Fixture::bytes).filter(|b| b.len() < 4000).collect();
        let mut distinct = std::collections::HashSet::new();
        for seed in 0..4000 {
            let make = |random: &mut Random| {
                let (a, b) = (small[random.below(small.len())], small[random.below(small.len())]);
                mutate_tiff(a, b, random)
            };
            let mutant = make(&mut Random::new(seed));
            assert_eq!(mutant, make(&mut Random::new(seed)));
            assert!(mutant.len() <= LONGEST + 4000);
            // Mutants of mutants must be possible too.
            mutate_tiff(&mutant, &mutant, &mut Random::new(seed));
            distinct.insert(mutant);
        }
        assert!(distinct.len() > 3500, "{} distinct mutants", distinct.len());
    }
}
