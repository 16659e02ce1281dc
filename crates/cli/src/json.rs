//! Prints readable JSON while it is produced: the whole text is never in memory.

use crate::failure::Failure;
use crate::output::Sink;
use serde_core::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};
use strile::tiff::printable;

/// Creates an object from fields of a value, by their names, and from `key => value`.
macro_rules! fields {
    ($from:expr; $($field:ident),* $(, $key:literal => $value:expr)* $(,)?) => {
        serde_json::json!({ $((stringify!($field)): $from.$field,)* $($key: $value),* })
    };
}

pub(crate) use fields;

/// Prints JSON to standard output. Escapes every terminal control character.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut sink = Sink::open(None, false)?;
    let written = write(value, &mut sink).and_then(|()| sink.write_all(b"\n"));
    written.map_err(sink.failed())?;
    sink.finish()
}

fn write(value: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(to, Safe(PrettyFormatter::new()));
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Indented JSON without terminal control characters: escapes more than JSON requires.
struct Safe<'a>(PrettyFormatter<'a>);

impl Formatter for Safe<'_> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        if matches!(printable(text), Cow::Borrowed(_)) {
            return to.write_all(text.as_bytes());
        }
        for c in text.chars() {
            let mut bytes = [0; 4];
            let c_text: &str = c.encode_utf8(&mut bytes);
            match printable(c_text) {
                Cow::Borrowed(_) => to.write_all(c_text.as_bytes())?,
                // All are below 2^16.
                Cow::Owned(_) => write!(to, "\\u{:04x}", u32::from(c))?,
            }
        }
        Ok(())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_array(to)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array_value(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn json_holds_no_character_that_a_terminal_obeys_and_says_the_same() {
        let value = json!({"a\u{9b}": "x\u{1b}[2J\u{7f}\u{202e}é\n", "b": [1, {}, [], {"c": null}]});
        let mut bytes = Vec::new();
        write(&value, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(!text.contains('\u{202e}') && text.contains('é'));
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
        let plain = json!({"b": [1, {}, [], {"c": null}]});
        let mut bytes = Vec::new();
        write(&plain, &mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), format!("{plain:#}"));
    }
}
