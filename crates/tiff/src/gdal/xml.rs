//! Parses XML into a small tree, for metadata in tags and sidecars and for VRT files.
//!
//! Only the five entities of XML and character references are expanded, so no text grows when it is read. Length,
//! depth, number of kept elements and attributes per element are limited; a reader of many similar elements takes them
//! as they close.

use crate::InvalidValue;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Longest text that is read. Sidecars with histograms and tables reach some megabytes.
const MAX_LEN: usize = 64 << 20;
const MAX_DEPTH: usize = 64;
const MAX_ELEMENTS: usize = 1 << 20;
/// Maximum number of attributes of an element; each is compared with all before it.
const MAX_ATTRIBUTES: usize = 256;

/// An element: its name, attributes, own text (without that of child elements) and child elements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Names and values, in order.
    pub attributes: Vec<(String, String)>,
    /// Its own text.
    pub text: String,
    /// The child elements, in order.
    pub children: Vec<Element>,
}

/// Limits of a text.
#[derive(Debug, Clone, Copy)]
pub struct XmlLimits {
    /// Maximum size in bytes.
    pub len: usize,
    /// Maximum number of kept elements.
    pub elements: usize,
    /// Whether a document type declaration is allowed. It is ignored.
    pub document_type: bool,
}

impl Default for XmlLimits {
    fn default() -> Self {
        Self { len: MAX_LEN, elements: MAX_ELEMENTS, document_type: true }
    }
}

/// Takes an element that closes, inside the open elements. A returned element stays in the tree.
pub type Take<'a> = dyn FnMut(&[Element], Element) -> Result<Option<Element>, InvalidValue> + 'a;

impl Element {
    /// Parses a text with one root element.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        Self::parse_taking(text, &XmlLimits::default(), &mut |_, element| Ok(Some(element)))
    }

    /// Parses a text with one root element. Passes each element that closes inside another to `take`, with the open
    /// elements around it. A returned element is kept in the tree.
    pub fn parse_taking(text: &str, limits: &XmlLimits, take: &mut Take<'_>) -> Result<Self, InvalidValue> {
        Ok(Self::read(text, limits, take)?)
    }

    fn read(text: &str, limits: &XmlLimits, take: &mut Take<'_>) -> Result<Self, String> {
        if text.len() > limits.len {
            return Err(format!("{} bytes of XML, at most {} are read", text.len(), limits.len));
        }
        // Tags have a closing NUL, sidecars a byte-order mark.
        let text = text.trim_end_matches('\0').trim_start_matches('\u{feff}').trim();
        let mut reader = Reader::from_str(text);
        let mut open: Vec<Element> = Vec::new();
        let mut root: Option<Element> = None;
        let mut elements = 0_usize;
        loop {
            let event = reader.read_event().map_err(|e| format!("malformed XML: {e}"))?;
            if root.is_some() && matches!(event, Event::Start(_) | Event::Empty(_)) {
                return Err("malformed XML: a second root element".to_owned());
            }
            match event {
                Event::Start(start) => {
                    elements += 1;
                    if open.len() >= MAX_DEPTH || elements > limits.elements {
                        return Err(format!(
                            "XML deeper than {MAX_DEPTH} or with over {} elements",
                            limits.elements
                        ));
                    }
                    open.push(Self::start(&start)?);
                }
                Event::Empty(start) => {
                    elements += 1;
                    if elements > limits.elements {
                        return Err(format!("XML with over {} elements", limits.elements));
                    }
                    elements -= close(Self::start(&start)?, &mut open, &mut root, take)?;
                }
                Event::End(_) => {
                    let Some(element) = open.pop() else {
                        return Err("malformed XML: an extra end tag".to_owned());
                    };
                    elements -= close(element, &mut open, &mut root, take)?;
                }
                Event::Text(text) => add(&mut open, &text.xml10_content()),
                Event::CData(text) => add(&mut open, &text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let name = reference.xml10_content();
                    let resolved = match &*name {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "apos" => Some('\''),
                        "quot" => Some('"'),
                        _ => reference.resolve_char_ref().map_err(|e| format!("malformed XML: {e}"))?,
                    };
                    match resolved {
                        Some(c) => add(&mut open, c.encode_utf8(&mut [0; 4])),
                        None => {
                            return Err(format!(
                                "XML with the entity `{}`, which is not read",
                                name.escape_debug()
                            ));
                        }
                    }
                }
                Event::DocType(_) if !limits.document_type => {
                    return Err("XML with a document type declaration, which is not read".to_owned());
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof => break,
            }
        }
        match (root, open.is_empty()) {
            (Some(root), true) => Ok(root),
            _ => Err("malformed XML: it ends inside an element".to_owned()),
        }
    }

    fn start(start: &BytesStart<'_>) -> Result<Self, String> {
        let mut element = Self { name: name_of(start.name().as_ref()), ..Self::default() };
        for attribute in start.attributes() {
            if element.attributes.len() >= MAX_ATTRIBUTES {
                return Err(format!("XML with an element of over {MAX_ATTRIBUTES} attributes"));
            }
            let attribute = attribute.map_err(|e| format!("malformed XML: {e}"))?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|e| format!("malformed XML: {e}"))?;
            element.attributes.push((name_of(attribute.key.as_ref()), value.into_owned()));
        }
        // Most elements have one attribute, but a list starts with room for four.
        element.attributes.shrink_to_fit();
        Ok(element)
    }

    /// Returns the number of elements: itself and all descendants, whose depth is limited when they are read.
    fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Returns the child elements with a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// Returns the first child element with a name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.name == name)
    }

    /// Returns the text of the first child element with a name, without surrounding white space; `None` if it is empty.
    pub fn child_text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|c| c.text.trim()).filter(|t| !t.is_empty())
    }
}

fn name_of(name: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(name.as_ref()).into_owned()
}

/// Keeps a closed element or passes it on. Returns the number of elements passed on.
fn close(
    element: Element,
    open: &mut [Element],
    root: &mut Option<Element>,
    take: &mut Take<'_>,
) -> Result<usize, String> {
    if open.is_empty() {
        *root = Some(element);
        return Ok(0);
    }
    let count = element.count();
    match (take(open, element)?, open.last_mut()) {
        (Some(kept), Some(parent)) => {
            parent.children.push(kept);
            Ok(0)
        }
        _ => Ok(count),
    }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_attributes_text_and_references() {
        let root =
            Element::parse("<a x=\"1 &amp; 2\"><b>&lt;t&#233;&gt;<![CDATA[<&]]></b><c/></a>\n\0").unwrap();
        assert_eq!(root.attribute("x"), Some("1 & 2"));
        assert_eq!(root.child_text("b"), Some("<té><&"));
        assert_eq!(root.children.len(), 2);
    }

    #[test]
    fn entities_of_a_document_type_are_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY x \"xxxx\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>";
        assert_eq!(
            Element::parse(bomb).unwrap_err().to_string(),
            "XML with the entity `y`, which is not read"
        );
    }

    #[test]
    fn elements_can_be_taken_as_they_close() {
        let text = format!("<a>{}<c/></a>", "<b><d/></b>".repeat(100));
        let mut taken = 0;
        let limits = XmlLimits { elements: 5, ..Default::default() };
        let root = Element::parse_taking(&text, &limits, &mut |open, element| {
            let is_b = element.name == "b" && open.len() == 1;
            taken += usize::from(is_b);
            Ok((!is_b).then_some(element))
        });
        assert_eq!((taken, root.unwrap().children.len()), (100, 1));
        assert!(Element::parse_taking(&text, &limits, &mut |_, element| Ok(Some(element))).is_err());
    }

    #[test]
    fn a_document_type_can_be_refused() {
        let limits = XmlLimits { document_type: false, ..Default::default() };
        let parse = |text| Element::parse_taking(text, &limits, &mut |_, element| Ok(Some(element)));
        assert!(parse("<!DOCTYPE a><a/>").unwrap_err().to_string().contains("document type"));
        assert!(Element::parse("<!DOCTYPE a><a/>").is_ok());
        assert!(parse("<a x=\"&y;\"/>").is_err());
    }

    /// Attributes were compared pairwise: 100 kB took a second, 16 MiB hours.
    #[test]
    fn elements_with_very_many_attributes_are_errors() {
        let of = |count: usize| (0..count).map(|i| format!(" a{i}=\"\"")).collect::<String>();
        assert!(Element::parse(&format!("<a{}/>", of(256))).is_ok());
        let error = Element::parse(&format!("<a{}/>", of(1 << 20))).unwrap_err();
        assert_eq!(error.to_string(), "XML with an element of over 256 attributes");
    }

    #[test]
    fn broken_and_deep_texts_are_errors() {
        for text in ["", "x", "<a>", "<a></b>", "</a>", "<a/><b/>", "<a x=1/>"] {
            assert!(Element::parse(text).is_err(), "{text}");
        }
        assert!(Element::parse(&"<a>".repeat(100_000)).is_err());
    }
}
