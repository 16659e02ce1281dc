//! Well-known text (version 1, and the shape of version 2) as a tree: parse, find, write.
//!
//! Numbers keep their digits. Depth and length are limited, so that no text can exhaust the stack. `crs` interprets the
//! nodes.

use crate::InvalidValue;
use std::fmt;

/// Longest text that is parsed. EPSG's longest definition has 8 kB.
const MAX_LEN: usize = 1 << 20;
/// Deepest nesting that is parsed. Real definitions stay below 10.
const MAX_DEPTH: usize = 32;

/// A value between a node's brackets.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A quoted text, without its quotes.
    Text(String),
    /// A bare word or number, as written.
    Word(String),
    /// A nested node.
    Node(Node),
}

/// A node: `KEYWORD[value, …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The keyword as written.
    pub keyword: String,
    /// The values between the brackets.
    pub values: Vec<Value>,
}

impl Node {
    /// Creates a node with a keyword and a quoted name.
    pub fn named(keyword: &str, name: &str) -> Self {
        Self { keyword: keyword.to_owned(), values: vec![Value::Text(name.to_owned())] }
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, value: f64) -> Self {
        self.values.push(Value::Word(format_number(value)));
        self
    }

    /// Adds a bare word.
    #[must_use]
    pub fn word(mut self, value: &str) -> Self {
        self.values.push(Value::Word(value.to_owned()));
        self
    }

    /// Adds a node.
    #[must_use]
    pub fn with(mut self, node: Self) -> Self {
        self.values.push(Value::Node(node));
        self
    }

    /// Adds `AUTHORITY["EPSG","code"]`.
    #[must_use]
    pub fn epsg(self, code: Option<u32>) -> Self {
        match code {
            Some(code) => {
                let mut authority = Self::named("AUTHORITY", "EPSG");
                authority.values.push(Value::Text(code.to_string()));
                self.with(authority)
            }
            None => self,
        }
    }

    /// Parses a whole text. The error says what is wrong at which byte.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        Ok(Self::read(text)?)
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LEN {
            return Err(format!("{} bytes of WKT, at most {MAX_LEN} are read", text.len()));
        }
        let mut parser = Parser { text, at: 0 };
        let node = match parser.value(0)? {
            Value::Node(node) => node,
            Value::Text(_) | Value::Word(_) => {
                return Err("WKT begins with no keyword and bracket".to_owned());
            }
        };
        parser.space();
        if parser.at == text.len() { Ok(node) } else { Err(parser.wrong("the end")) }
    }

    /// Returns whether the keyword is one of these, in any case.
    pub fn is(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|k| self.keyword.eq_ignore_ascii_case(k))
    }

    /// Returns the first text: the node's name.
    pub fn name(&self) -> Option<&str> {
        self.text(0)
    }

    /// Returns the value at an index, if it is text or a word.
    pub fn text(&self, index: usize) -> Option<&str> {
        match self.values.get(index)? {
            Value::Text(v) | Value::Word(v) => Some(v),
            Value::Node(_) => None,
        }
    }

    /// Returns the value at an index, if it is a finite number.
    pub fn f64(&self, index: usize) -> Option<f64> {
        self.text(index)?.trim().parse().ok().filter(|v: &f64| v.is_finite())
    }

    /// Returns the child nodes.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        self.values.iter().filter_map(|v| match v {
            Value::Node(node) => Some(node),
            Value::Text(_) | Value::Word(_) => None,
        })
    }

    /// Returns the first child node with one of these keywords.
    pub fn child(&self, keywords: &[&str]) -> Option<&Self> {
        self.children().find(|n| n.is(keywords))
    }

    /// Removes every node with one of these keywords, at any depth.
    pub fn remove_all(&mut self, keywords: &[&str]) {
        self.values.retain(|v| !matches!(v, Value::Node(node) if node.is(keywords)));
        for value in &mut self.values {
            if let Value::Node(node) = value {
                node.remove_all(keywords);
            }
        }
    }

    /// Returns the EPSG code of this node itself: `AUTHORITY["EPSG","4326"]` or `ID["EPSG",4326]`.
    pub fn epsg_code(&self) -> Option<u32> {
        let authority = self.child(&["AUTHORITY", "ID"])?;
        if !authority.name()?.eq_ignore_ascii_case("EPSG") {
            return None;
        }
        authority.text(1)?.trim().parse().ok()
    }
}

/// Returns the shortest text that restores the number exactly; very large and small ones with an exponent.
fn format_number(value: f64) -> String {
    if value == 0.0 {
        // Never "-0".
        return "0".to_owned();
    }
    if (1e-6..1e17).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.keyword)?;
        for (i, value) in self.values.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match value {
                Value::Text(v) => write!(f, "\"{}\"", v.replace('"', "\"\""))?,
                Value::Word(v) => f.write_str(v)?,
                Value::Node(node) => node.fmt(f)?,
            }
        }
        f.write_str("]")
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn wrong(&self, expected: &str) -> String {
        match self.rest().chars().next() {
            Some(c) => {
                format!("expected {expected} at byte {} of the WKT, got `{}`", self.at, c.escape_debug())
            }
            None => format!("expected {expected}, but the WKT ends at byte {}", self.at),
        }
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, c: char) -> bool {
        self.space();
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("WKT nested deeper than {MAX_DEPTH}"));
        }
        self.space();
        if self.rest().starts_with('"') {
            return self.quoted().map(Value::Text);
        }
        let rest = self.rest();
        let end = rest.find(|c: char| "[](),\"".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("").to_owned();
        if word.is_empty() {
            return Err(self.wrong("a value"));
        }
        self.at += end;
        let close = if self.take('[') {
            ']'
        } else if self.take('(') {
            ')'
        } else {
            return Ok(Value::Word(word));
        };
        let mut values = Vec::new();
        loop {
            values.push(self.value(depth + 1)?);
            if self.take(close) {
                return Ok(Value::Node(Node { keyword: word, values }));
            }
            if !self.take(',') {
                return Err(self.wrong("a comma or a closing bracket"));
            }
        }
    }

    /// Parses a quoted text. A quote inside is written twice.
    fn quoted(&mut self) -> Result<String, String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(end) = rest.find('"') else {
                return Err("a text in the WKT has no closing quote".to_owned());
            };
            out.push_str(rest.get(..end).unwrap_or(""));
            let doubled = rest.get(end + 1..).is_some_and(|r| r.starts_with('"'));
            self.at += end + 1;
            if !doubled {
                return Ok(out);
            }
            out.push('"');
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_it_read() {
        let text = r#"PROJCS["a ""b""",GEOGCS["x",UNIT["degree",0.0174532925199433]],AXIS["E",EAST],AUTHORITY["EPSG","32631"]]"#;
        let node = Node::parse(text).unwrap();
        assert_eq!(node.to_string(), text);
        assert_eq!(node.name(), Some("a \"b\""));
        assert_eq!(node.epsg_code(), Some(32631));
        let unit = node.child(&["GEOGCS"]).unwrap().child(&["UNIT"]).unwrap();
        assert_eq!(unit.f64(1), Some(0.0174532925199433));
    }

    #[test]
    fn takes_version_2_identifiers_spaces_and_round_brackets() {
        let node = Node::parse(" GEOGCRS ( \"WGS 84\" ,\n ID[\"EPSG\", 4979] ) ").unwrap();
        assert_eq!(node.epsg_code(), Some(4979));
    }

    #[test]
    fn broken_text_is_an_error_with_a_place() {
        assert_eq!(
            Node::parse("A[\"x\"").unwrap_err().to_string(),
            "expected a comma or a closing bracket, but the WKT ends at byte 5"
        );
        assert!(Node::parse("").is_err());
        assert!(Node::parse("A[\"x]").is_err());
        assert!(Node::parse("A[1]]").is_err());
        assert!(Node::parse(&"A[".repeat(10_000)).is_err());
    }

    #[test]
    fn numbers_are_short_and_exact() {
        for (value, text) in [(0.9996, "0.9996"), (500000.0, "500000"), (1e-9, "1e-9"), (0.0, "0")] {
            assert_eq!(format_number(value), text);
        }
        assert_eq!(format_number(0.304800609601219).parse::<f64>(), Ok(0.304800609601219));
    }
}
