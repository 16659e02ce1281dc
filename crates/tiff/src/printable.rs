//! Makes texts of a file safe to show: no control characters, bounded length.

use std::borrow::Cow;

/// Returns the text with all characters escaped that control a terminal: control characters (including line ends), and
/// those that change the writing direction.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, is_obeyed)
}

/// Like [`printable`], but keeps line ends and tabs, for texts of several lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_obeyed(c) && c != '\n' && c != '\t')
}

fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, is_obeyed: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_obeyed(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Longest message that is kept: quoted values can be as long as the file.
const LONGEST: usize = 1000;

/// Returns a text that may quote a file: printable, and cut if it is too long.
pub(crate) fn quoted(text: String) -> String {
    let text = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    };
    match printable(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(printable("a\x1b[31mb\r\n"), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(printable("\u{9b}2J\u{7f}\u{202e}"), "\\u{9b}2J\\u{7f}\\u{202e}");
        assert_eq!(printable_lines("a\tb\n\x07"), "a\tb\n\\u{7}");
        assert!(matches!(printable("Grüße, 東京"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(quoted("é".repeat(2000)), format!("{} …", "é".repeat(1000)));
        assert_eq!(quoted("a\0".into()), "a\\u{0}");
    }
}
