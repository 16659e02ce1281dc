//! Parses the GeoKey directory (tags 34735, 34736, 34737) into typed values.
//!
//! Every readable key is kept, whatever its number. Keys that point outside their parameters are dropped with a
//! warning, and so are keys that all point to the same parameters once they hold many times their size. `crs` and
//! `transform` interpret the keys.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};

pub use strile_crs::key;

/// The code for "user-defined" in every key.
pub const USER_DEFINED: u16 = 32767;

/// The value of one key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyValue {
    /// A SHORT in the directory itself.
    Short(u16),
    /// Several SHORTs, stored after the directory's entries.
    Shorts(Vec<u16>),
    /// Values of GeoDoubleParams.
    Doubles(Vec<f64>),
    /// A part of GeoAsciiParams without its closing `|` or NUL.
    Text(String),
}

/// A GeoKey directory: every readable key and its value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeoKeys {
    /// Key revision, major and minor: 1.0 for GeoTIFF 1.0, 1.1 for OGC GeoTIFF 1.1.
    pub revision: (u16, u16),
    /// The values by key number.
    pub values: BTreeMap<u16, KeyValue>,
}

impl GeoKeys {
    /// Parses the directory; returns `None` if its header is unreadable.
    pub fn parse(directory: &[u16], doubles: &[f64], ascii: &[u8], warnings: &mut Warnings) -> Option<Self> {
        let place = "GeoKeyDirectory";
        let Some((&[version, major, minor, count], entries)) = directory.split_first_chunk::<4>() else {
            let message = format!("expected at least 4 shorts, got {}; keys ignored", directory.len());
            warnings.push(Warning::new(Code::BadKeyDirectory, place, message));
            return None;
        };
        // libgeotiff also accepts 0, written by old software.
        if version > 1 {
            let message = format!("expected version 1, got {version}; keys ignored");
            warnings.push(Warning::new(Code::BadKeyDirectory, place, message));
            return None;
        }
        let (present, _) = entries.as_chunks::<4>();
        let stated = usize::from(count);
        if present.len() < stated {
            let message = format!("{stated} keys stated, room for {}; read those", present.len());
            warnings.push(Warning::new(Code::BadKeyDirectory, place, message));
        }
        let mut values = BTreeMap::new();
        // Keys may share parameters, but thousands that share all of them would multiply the file.
        let mut room = 2 * (directory.len() + doubles.len() + ascii.len());
        for &[id, location, n, value] in present.iter().take(stated) {
            // A zeroed entry is padding that some writers count.
            if id == 0 {
                continue;
            }
            let read = match room.checked_sub(if location == 0 { 0 } else { usize::from(n) }) {
                Some(left) => {
                    room = left;
                    read_value([location, n, value], directory, doubles, ascii)
                }
                None => Err(format!("{n} values, which other keys hold many times already; key ignored")),
            };
            match read {
                Ok(value) => match values.entry(id) {
                    Entry::Vacant(slot) => {
                        slot.insert(value);
                    }
                    Entry::Occupied(first) => {
                        let what = if *first.get() == value { "the same" } else { "another" };
                        let message = format!("again with {what} value; the first was kept");
                        warnings.push(Warning::new(Code::DuplicateKey, format!("key {id}"), message));
                    }
                },
                Err(message) => {
                    warnings.push(Warning::new(Code::BadKey, format!("key {id}"), message));
                }
            }
        }
        Some(Self { revision: (major, minor), values })
    }

    /// Returns the value of a key that is one SHORT.
    pub fn short(&self, id: u16) -> Option<u16> {
        match self.values.get(&id)? {
            KeyValue::Short(v) => Some(*v),
            KeyValue::Shorts(v) => v.first().copied(),
            KeyValue::Doubles(_) | KeyValue::Text(_) => None,
        }
    }

    /// Returns the value of a key that is one number.
    pub fn double(&self, id: u16) -> Option<f64> {
        match self.values.get(&id)? {
            KeyValue::Doubles(v) => v.first().copied().filter(|v| v.is_finite()),
            KeyValue::Short(v) => Some(f64::from(*v)),
            KeyValue::Shorts(_) | KeyValue::Text(_) => None,
        }
    }

    /// Returns the value of a key that is text.
    pub fn text(&self, id: u16) -> Option<&str> {
        match self.values.get(&id)? {
            KeyValue::Text(v) if !v.is_empty() => Some(v),
            _ => None,
        }
    }

    /// Returns a meaningful code: neither absent, 0 (undefined) nor 32767 (user-defined).
    pub fn code(&self, id: u16) -> Option<u16> {
        self.short(id).filter(|&v| v != 0 && v != USER_DEFINED)
    }
}

fn read_value(
    [location, n, value]: [u16; 3],
    directory: &[u16],
    doubles: &[f64],
    ascii: &[u8],
) -> Result<KeyValue, String> {
    let range = usize::from(value)..usize::from(value) + usize::from(n);
    let outside = |tag: &str, len: usize| {
        format!("values {} to {} of {tag}, which has {len}; key ignored", range.start, range.end)
    };
    match location {
        0 => Ok(KeyValue::Short(value)),
        34735 => match directory.get(range.clone()) {
            Some(v) => Ok(KeyValue::Shorts(v.to_vec())),
            None => Err(outside("GeoKeyDirectory", directory.len())),
        },
        34736 => match doubles.get(range.clone()) {
            Some(v) => Ok(KeyValue::Doubles(v.to_vec())),
            None => Err(outside("GeoDoubleParams", doubles.len())),
        },
        34737 => {
            // Writers count the closing NUL or bar differently. A missing one at the very end is common.
            let end = range.end.min(ascii.len());
            let text = match ascii.get(range.start..end) {
                Some(v) if end + 1 >= range.end => v,
                _ => return Err(outside("GeoAsciiParams", ascii.len())),
            };
            let text = text.split(|&b| b == 0).next().unwrap_or(text);
            let text = text.strip_suffix(b"|").unwrap_or(text);
            Ok(KeyValue::Text(latin1_or_utf8(text)))
        }
        other => Err(format!("stored in tag {other}, which holds no keys; key ignored")),
    }
}

/// Decodes text. The specification requires ASCII, but files contain UTF-8 and Latin-1 too.
fn latin1_or_utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(directory: &[u16], doubles: &[f64], ascii: &[u8]) -> (Option<GeoKeys>, Vec<&'static str>) {
        let mut warnings = Warnings::new();
        let keys = GeoKeys::parse(directory, doubles, ascii, &mut warnings);
        (keys, warnings.iter().map(|w| w.code).collect())
    }

    #[test]
    fn reads_the_three_kinds_of_value() {
        let dir = [1, 1, 0, 3, 3072, 0, 1, 32631, 3092, 34736, 1, 1, 1026, 34737, 4, 3];
        let (keys, warnings) = parse(&dir, &[7.0, 0.9996], b"xx|UTM|\0");
        let keys = keys.unwrap();
        assert_eq!(keys.short(key::PROJECTED_CRS), Some(32631));
        assert_eq!(keys.double(key::SCALE_AT_NAT_ORIGIN), Some(0.9996));
        assert_eq!(keys.text(key::CITATION), Some("UTM"));
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_count_that_lies_reads_what_is_there() {
        let (keys, warnings) = parse(&[1, 1, 0, 65535, 3072, 0, 1, 32631, 1024], &[], b"");
        assert_eq!(keys.unwrap().values.len(), 1);
        assert_eq!(warnings, ["geo-key-directory"]);
    }

    #[test]
    fn values_outside_their_tag_are_left_out() {
        let dir = [1, 1, 0, 3, 3092, 34736, 1, 5, 1026, 34737, 9, 1, 3073, 700, 1, 0];
        let (keys, warnings) = parse(&dir, &[1.0], b"abc");
        assert!(keys.unwrap().values.is_empty());
        assert_eq!(warnings, ["geo-key", "geo-key", "geo-key"]);
    }

    #[test]
    fn the_first_of_two_equal_keys_counts() {
        let (keys, warnings) = parse(&[1, 1, 0, 2, 3072, 0, 1, 32631, 3072, 0, 1, 32632], &[], b"");
        assert_eq!(keys.unwrap().short(3072), Some(32631));
        assert_eq!(warnings, ["geo-key-duplicate"]);
    }

    /// 4,000 keys of one text of 60,000 bytes took 240 MB.
    #[test]
    fn keys_that_share_a_text_do_not_multiply_it() {
        let mut dir = vec![1, 1, 0, 4_000];
        (0..4_000).for_each(|i| dir.extend([5_000 + i, 34737, 60_000, 0]));
        let (keys, warnings) = parse(&dir, &[], &[b'k'; 60_000]);
        let kept = keys.unwrap().values.len();
        assert!((1..=3).contains(&kept), "{kept}");
        assert_eq!(warnings.len(), crate::Warnings::PER_CODE + 1);
    }

    #[test]
    fn unknown_versions_and_short_headers_give_no_keys() {
        assert_eq!(parse(&[9, 1, 0, 1, 3072, 0, 1, 32631], &[], b""), (None, vec!["geo-key-directory"]));
        assert_eq!(parse(&[1, 1, 0], &[], b""), (None, vec!["geo-key-directory"]));
    }
}
