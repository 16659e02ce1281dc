//! A checked request: the parts of its path and its parameters, decoded once.

use crate::answer::Refusal;
use http::request::Parts;

/// Maximum length of a path with its parameters.
const LONGEST: usize = 4096;
/// Maximum number of parameters.
const MOST_PARAMETERS: usize = 64;

/// The parts of a path and the parameters after `?`, percent-decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) path: Vec<String>,
    pub(crate) parameters: Vec<(String, String)>,
}

impl Asked {
    /// Decodes the address of a request.
    pub(crate) fn of(parts: &Parts) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or("");
        Self::parse(parts.uri.path(), query)
    }

    fn parse(path: &str, query: &str) -> Result<Self, Refusal> {
        if path.len() + query.len() > LONGEST {
            let problem = format!("expected an address of at most {LONGEST} bytes");
            return Err(Refusal::new(http::StatusCode::URI_TOO_LONG, problem));
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.split('/').map(|part| decoded(part, false)).collect::<Result<Vec<_>, _>>()?;
        let mut parameters = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters.push((decoded(name, true)?, decoded(value, true)?));
        }
        if parameters.len() > MOST_PARAMETERS {
            return Err(Refusal::bad(format!("expected at most {MOST_PARAMETERS} parameters")));
        }
        Ok(Self { path, parameters })
    }

    /// Returns the parts of the path.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// Returns the value of a parameter. A repeated parameter is refused.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut found =
            self.parameters.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Refusal::bad(format!("expected `{name}` once"))),
            (value, None) => Ok(value),
        }
    }

    /// Returns all values of a parameter that may be repeated.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.parameters.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns a parameter as a number; `None` if absent.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let value = self.get(name)?;
        value.map(|text| parsed(name, text)).transpose()
    }

    /// Returns a required parameter as a number.
    pub(crate) fn required<T: std::str::FromStr>(&self, name: &str) -> Result<T, Refusal> {
        self.number(name)?.ok_or_else(|| Refusal::bad(format!("expected the parameter `{name}`")))
    }

    /// Returns a required parameter as a finite number.
    pub(crate) fn finite(&self, name: &str) -> Result<f64, Refusal> {
        let value: f64 = self.required(name)?;
        if value.is_finite() { Ok(value) } else { Err(Refusal::bad(format!("expected a finite `{name}`"))) }
    }

    /// Returns bands, from 1: numbers separated by commas, or the parameter repeated. Empty if absent.
    pub(crate) fn bands(&self, name: &str, all: u16) -> Result<Vec<u16>, Refusal> {
        let words = self.all(name).flat_map(|value| value.split(','));
        let mut bands = Vec::new();
        for word in words {
            let band: u16 = parsed(name, word)?;
            if band == 0 || band > all {
                return Err(Refusal::bad(format!("there is no band {band}: the file has {all} (from 1)")));
            }
            bands.push(band);
            if bands.len() > MOST_BANDS {
                return Err(Refusal::bad(format!("expected at most {MOST_BANDS} bands in `{name}`")));
            }
        }
        Ok(bands)
    }

    /// Refuses unknown parameters: a misspelt one would otherwise be ignored.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Refusal> {
        match self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let shown: String = name.chars().take(40).collect();
                Err(Refusal::bad(format!(
                    "unknown parameter `{}`; known here: {}",
                    shown.escape_debug(),
                    known.join(", ")
                )))
            }
        }
    }
}

/// Maximum bands per request.
const MOST_BANDS: usize = 256;

/// Parses a word as a number.
pub(crate) fn parsed<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, Refusal> {
    text.trim().parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        Refusal::bad(format!("expected a number as `{name}`, got `{}`", shown.escape_debug()))
    })
}

/// Undoes percent-encoding once; `+` is a space in parameters.
fn decoded(text: &str, is_parameter: bool) -> Result<String, Refusal> {
    let wrong = || Refusal::bad("expected percent-encoded UTF-8 without control characters in the address");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let (high, low) = rest.next().zip(rest.next()).ok_or_else(wrong)?;
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (high, low) = digit(high).zip(digit(low)).ok_or_else(wrong)?;
                high * 16 + low
            }
            b'+' if is_parameter => b' ',
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    if text.chars().any(char::is_control) { Err(wrong()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded_once_and_checked() {
        let asked = Asked::parse("/a%20b/..%2fc", "x=1&y=a%2Bb+c&x=2&flag").unwrap();
        assert_eq!(asked.parts(), ["a b", "../c"]);
        assert_eq!(asked.get("y").unwrap(), Some("a+b c"));
        assert_eq!(asked.get("flag").unwrap(), Some(""));
        assert!(asked.get("x").is_err());
        assert!(asked.only(&["x", "y"]).is_err());
        for wrong in ["/%", "/%4", "/%zz", "/%00", "/%ff", "/a%0ab", "/%7f"] {
            assert!(Asked::parse(wrong, "").is_err(), "{wrong}");
        }
        // Double encoding is undone once.
        assert_eq!(Asked::parse("/%252e%252e", "").unwrap().parts(), ["%2e%2e"]);
        assert!(Asked::parse(&format!("/{}", "a".repeat(5000)), "").is_err());
        assert!(Asked::parse("/", &"a=1&".repeat(65)).is_err());
    }

    #[test]
    fn numbers_and_bands_outside_their_range_are_refused() {
        let asked = Asked::parse("/", "a=1e999&b=99999999999999999999&bands=1,2&big=70000&nan=NaN").unwrap();
        assert!(asked.finite("a").is_err() && asked.finite("nan").is_err() && asked.finite("none").is_err());
        assert!(asked.number::<u32>("b").is_err());
        assert_eq!(asked.bands("bands", 2).unwrap(), [1, 2]);
        assert!(asked.bands("bands", 1).is_err() && asked.bands("big", 9).is_err());
        assert!(asked.bands("none", 3).unwrap().is_empty());
    }
}
