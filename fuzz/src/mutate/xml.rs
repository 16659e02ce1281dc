//! Mutations of XML texts: numbers, names, texts, elements repeated, moved, nested and grafted.

use super::pick;
use std::ops::Range;
use testkit::{Random, mutate_bytes};

/// Replacements for a number or a word.
const VALUES: [&str; 28] = [
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-300",
    "1e300",
    "-1e18",
    "nan",
    "inf",
    "-inf",
    "4294967295",
    "4294967296",
    "2147483647",
    "-2147483648",
    "65535",
    "65536",
    "18446744073709551615",
    "99999999999999999999999",
    "",
    "1e",
    "..",
    "mask",
    "true",
    "Float64",
    "CInt16",
    "&#x10FFFF;",
    "&lt;&amp;&gt;",
];
/// A mutant grows to this at most.
const LONGEST: usize = 1 << 16;

/// A copy of `text` with one to three changes; `other` is another text to take elements of.
pub(crate) fn mutate_xml(text: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.below(3) {
        match random.below(12) {
            0..=3 => change_number(&mut text, random),
            4 => change_text(&mut text, random),
            5 => rename(&mut text, random),
            6 => repeat(&mut text, random),
            7 => remove(&mut text, random),
            8 => insert_element(&mut text, None, random),
            9 => insert_element(&mut text, Some(other), random),
            10 => nest(&mut text, random),
            _ => text = mutate_bytes(&text, random.next_u64()),
        }
    }
    text.truncate(LONGEST);
    text
}

/// Another value in the place of a number.
fn change_number(text: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (1..text.len())
        .filter(|&at| text[at].is_ascii_digit() && !text[at - 1].is_ascii_alphanumeric())
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = pick(&starts, random);
    let len = text[start..].iter().take_while(|byte| b"0123456789.e+-".contains(byte)).count();
    text.splice(start..start + len, pick(&VALUES, random).bytes());
}

/// Another value in the place of a text between two tags, or of an attribute.
fn change_text(text: &mut Vec<u8>, random: &mut Random) {
    let (open, close) = if random.below(2) == 0 { (b'>', b'<') } else { (b'"', b'"') };
    let starts: Vec<usize> = (0..text.len()).filter(|&at| text[at] == open).collect();
    if starts.is_empty() {
        return;
    }
    let start = pick(&starts, random) + 1;
    let len = text[start..].iter().position(|&byte| byte == close).unwrap_or(0);
    text.splice(start..start + len, pick(&VALUES, random).bytes());
}

/// Where an element's name is, for every start tag.
fn names(text: &[u8]) -> Vec<Range<usize>> {
    let starts = (1..text.len()).filter(|&at| text[at - 1] == b'<' && text[at].is_ascii_alphabetic());
    let end = |start: usize| text[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    starts.map(|start| start..start + end(start)).collect()
}

/// Any element from its `<` to the end of its end tag.
fn element(text: &[u8], random: &mut Random) -> Option<Range<usize>> {
    let names = names(text);
    if names.is_empty() {
        return None;
    }
    let name = names[random.below(names.len())].clone();
    let start = name.start - 1;
    let close = start + text[start..].iter().position(|&byte| byte == b'>')?;
    if text[close - 1] == b'/' {
        return Some(start..close + 1);
    }
    let end_tag = [b"</", &text[name], b">"].concat();
    let len = text[close..].windows(end_tag.len()).position(|window| window == end_tag)?;
    Some(start..close + len + end_tag.len())
}

/// Gives an element the name of another.
fn rename(text: &mut Vec<u8>, random: &mut Random) {
    let names = names(text);
    if names.is_empty() {
        return;
    }
    let (from, to) = (names[random.below(names.len())].clone(), names[random.below(names.len())].clone());
    let (old, new) = (text[to.clone()].to_vec(), text[from].to_vec());
    // Its end tag first, which is behind it.
    let end_tag = [b"</", &old[..], b">"].concat();
    if let Some(len) = text[to.end..].windows(end_tag.len()).position(|window| window == end_tag) {
        let at = to.end + len + 2;
        text.splice(at..at + old.len(), new.iter().copied());
    }
    text.splice(to, new);
}

/// The same element many times.
fn repeat(text: &mut Vec<u8>, random: &mut Random) {
    let Some(range) = element(text, random) else { return };
    let copy = text[range.clone()].to_vec();
    let room = LONGEST.saturating_sub(text.len()) / copy.len();
    let times = [1, 2, 7, 100][random.below(4)].min(room);
    text.splice(range.end..range.end, copy.repeat(times));
}

fn remove(text: &mut Vec<u8>, random: &mut Random) {
    if let Some(range) = element(text, random) {
        text.drain(range);
    }
}

/// Puts an element of this text, or of another, behind any tag.
fn insert_element(text: &mut Vec<u8>, other: Option<&[u8]>, random: &mut Random) {
    let from = other.unwrap_or(text);
    let Some(range) = element(from, random) else { return };
    let copy = from[range].to_vec();
    let places: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'>').collect();
    if places.is_empty() || text.len() + copy.len() > LONGEST {
        return;
    }
    let at = pick(&places, random) + 1;
    text.splice(at..at, copy);
}

/// Wraps an element into copies of its own tags.
fn nest(text: &mut Vec<u8>, random: &mut Random) {
    let Some(range) = element(text, random) else { return };
    let name: Vec<u8> =
        text[range.start + 1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).copied().collect();
    let depth =
        [1, 3, 40, 300][random.below(4)].min(LONGEST.saturating_sub(text.len()) / (2 * name.len() + 5));
    let open = [b"<", &name[..], b">"].concat().repeat(depth);
    let close = [b"</", &name[..], b">"].concat().repeat(depth);
    text.splice(range.end..range.end, close);
    text.splice(range.start..range.start, open);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_be_mutated() {
        let texts: [&[u8]; 5] =
            [b"", b"<", b"<a>1</a>", b"<a b=\"1\"/>", b"<a><b>1</b><b c=\"2\">3</b><d/></a>"];
        for seed in 0..4000 {
            let mut random = Random::new(seed);
            let (text, other) = (texts[random.below(5)], texts[random.below(5)]);
            let mutant = mutate_xml(text, other, &mut random);
            assert!(mutant.len() <= LONGEST);
            mutate_xml(&mutant, other, &mut random);
        }
    }
}
