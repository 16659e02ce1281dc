//! The URL of background tiles of a web map.

/// URL of tiles of a web map, with `{z}`, `{x}` and `{y}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Basemap(String);

impl Basemap {
    /// Checks a URL. It becomes part of a header, so only characters of URLs are allowed.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let wrong = |problem: &str| format!("cannot use the basemap {text:?}: {problem}");
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
            return Err(wrong("expected an address that begins with https:// or http://"));
        };
        let host = rest.split('/').next().unwrap_or("");
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte)) {
            return Err(wrong("expected a host without a user, a password or a placeholder"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>;,\\".contains(&byte)) {
            return Err(wrong("expected the letters of an address"));
        }
        match ["{z}", "{x}", "{y}"].iter().all(|part| text.contains(part)) {
            true => Ok(Self(text.to_owned())),
            false => Err(wrong("expected {z}, {x} and {y}, as in https://example.org/{z}/{x}/{y}.png")),
        }
    }

    /// Returns scheme and host.
    pub(crate) fn origin(&self) -> &str {
        let host = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0.get(host..).and_then(|rest| rest.find('/')).map_or(self.0.len(), |at| host + at);
        self.0.get(..end).unwrap_or("")
    }

    /// Returns the URL with its placeholders.
    pub(crate) fn template(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_before_they_are_part_of_a_header() {
        let good = Basemap::new("https://tiles.example.org:8080/a/{z}/{x}/{y}.png?key=1").unwrap();
        assert_eq!(good.origin(), "https://tiles.example.org:8080");
        assert_eq!(Basemap::new("http://[::1]/{z}/{x}/{y}").unwrap().origin(), "http://[::1]");
        for (text, problem) in [
            ("tiles/{z}/{x}/{y}.png", "begins with https://"),
            ("javascript://{z}{x}{y}", "begins with https://"),
            ("https://", "begins with https://"),
            ("https:///{z}/{x}/{y}", "begins with https://"),
            ("https://a@b/{z}/{x}/{y}", "without a user"),
            ("https://{z}.example.org/{x}/{y}", "placeholder"),
            ("https://a/{z}/{x}/{y}; script-src *", "letters of an address"),
            ("https://a/{z}/{x}/{y}\r\nx: y", "letters of an address"),
            ("https://a/{z}/{x}.png", "{z}, {x} and {y}"),
        ] {
            let told = Basemap::new(text).unwrap_err();
            assert!(told.contains(problem), "{text}: {told}");
        }
    }
}
