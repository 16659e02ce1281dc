//! Writes XML as text: elements with attributes, indented as in GDAL.
//!
//! Everything that the reader of `xml` returns is restored. Characters that XML 1.0 cannot hold become spaces, and are
//! counted so that callers can report them.

use super::xml::Element;

/// A text that elements are appended to.
#[derive(Debug, Default)]
pub(super) struct Xml {
    pub text: String,
    open: Vec<String>,
    /// Number of characters replaced by spaces.
    pub replaced: usize,
}

impl Xml {
    /// Writes `<name a="…">` on its own line. Everything until `end` is inside it.
    pub fn start(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name.to_owned());
    }

    /// Closes the last open element.
    pub fn end(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            self.text.push_str(&format!("</{name}>\n"));
        }
    }

    /// Writes `<name a="…">text</name>` on its own line.
    pub fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.tag(name, attributes);
        self.text.push('>');
        self.escape(text, false);
        self.text.push_str(&format!("</{name}>\n"));
    }

    /// Writes `<name a="…" />` on its own line.
    pub fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes);
        self.text.push_str(" />\n");
    }

    /// Writes an element with all its content. The parser limits its depth.
    pub fn element(&mut self, element: &Element) {
        let attributes: Vec<_> = element.attributes.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        if element.children.is_empty() {
            return self.leaf(&element.name, &attributes, &element.text);
        }
        self.start(&element.name, &attributes);
        element.children.iter().for_each(|child| self.element(child));
        self.end();
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            self.text.push_str(&format!(" {name}=\""));
            self.escape(value, true);
            self.text.push('"');
        }
    }

    fn indent(&mut self) {
        self.text.push_str(&"  ".repeat(self.open.len()));
    }

    fn escape(&mut self, text: &str, attribute: bool) {
        for c in text.chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' if attribute => self.text.push_str("&quot;"),
                // Readers normalize line ends and, in attributes, all white space.
                '\r' => self.text.push_str("&#13;"),
                '\n' | '\t' if attribute => self.text.push_str(&format!("&#{};", u32::from(c))),
                '\n' | '\t' => self.text.push(c),
                '\u{fffe}' | '\u{ffff}' | '\0'..' ' => {
                    self.text.push(' ');
                    self.replaced += 1;
                }
                // Another line end of XML 1.1, which some readers convert to `\n`.
                '\u{85}' | '\u{2028}' => self.text.push_str(&format!("&#{};", u32::from(c))),
                c => self.text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::xml::Element;
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = "a<b>&amp; \"q\" 'é'\r\n\tx\u{85}\u{2028}]]>";
        let mut xml = Xml::default();
        xml.start("root", &[("a", text)]);
        xml.leaf("leaf", &[], text);
        xml.empty("none", &[("b", "")]);
        xml.end();
        let root = Element::parse(&xml.text).unwrap();
        assert_eq!(root.attribute("a"), Some(text));
        assert_eq!((root.children[0].text.as_str(), root.children[1].attribute("b")), (text, Some("")));
        assert_eq!(xml.replaced, 0);
    }

    #[test]
    fn what_xml_cannot_hold_is_counted() {
        let mut xml = Xml::default();
        xml.leaf("x", &[], "a\0b\u{1}c");
        assert_eq!((xml.text.as_str(), xml.replaced), ("<x>a b c</x>\n", 2));
    }
}
