//! Extracts texts from XML answers.

/// Returns the text of the first element of a name.
pub(crate) fn text(xml: &str, name: &str) -> Option<String> {
    element(xml, name).map(|(inside, _)| unescaped(inside))
}

/// Returns the content of each element of a name.
pub(crate) fn all<'a>(xml: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let mut rest = xml;
    std::iter::from_fn(move || {
        let (inside, after) = element(rest, name)?;
        rest = after;
        Some(inside)
    })
}

/// Returns the content of the first element of a name, and the text after it.
fn element<'a>(xml: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (_, begun) = xml.split_once(&format!("<{name}>"))?;
    begun.split_once(&format!("</{name}>"))
}

fn unescaped(text: &str) -> String {
    let pairs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&#34;", "\"")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)).replace("&amp;", "&")
}

/// Escapes a text for XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_elements() {
        let xml = "<?xml?><A><B>1 &amp;lt; 2</B><B>x&gt;</B><C/></A>";
        assert_eq!(text(xml, "B").unwrap(), "1 &lt; 2");
        assert_eq!(all(xml, "B").collect::<Vec<_>>(), ["1 &amp;lt; 2", "x&gt;"]);
        assert_eq!(text(xml, "C"), None);
        assert_eq!(text("<B>never ends", "B"), None);
        assert_eq!(unescaped(&escaped("a<b>&\"c")), "a<b>&\"c");
    }
}
