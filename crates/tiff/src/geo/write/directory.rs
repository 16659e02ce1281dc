//! Converts GeoKeys to the values of their three tags.
//!
//! Numbers and texts that do not fit into an entry are stored in GeoDoubleParams and GeoAsciiParams, each text followed
//! by a bar. Everything returned by `GeoKeys::parse` can be restored from these values.

use super::super::keys::{GeoKeys, KeyValue};
use crate::{FieldValue, Tag};

/// Returns the values of GeoKeyDirectory, GeoDoubleParams and GeoAsciiParams, the last two if needed. The error is the
/// key without room: positions and counts are SHORTs.
pub(super) fn fields(keys: &GeoKeys) -> Result<Vec<(Tag, FieldValue)>, u16> {
    let count = u16::try_from(keys.values.len()).map_err(|_| 0_u16)?;
    let mut directory = vec![1, keys.revision.0, keys.revision.1, count];
    let mut shorts: Vec<u16> = Vec::new();
    let mut doubles: Vec<f64> = Vec::new();
    let mut ascii = String::new();
    let behind = 4 + 4 * keys.values.len();
    for (&id, value) in &keys.values {
        let short = |n: usize| u16::try_from(n).map_err(|_| id);
        let (location, n, value) = match value {
            KeyValue::Short(value) => (0, 1, *value),
            KeyValue::Shorts(values) => {
                let at = short(behind + shorts.len())?;
                shorts.extend(values);
                (Tag::GeoKeyDirectoryTag.0, short(values.len())?, at)
            }
            KeyValue::Doubles(values) => {
                let at = short(doubles.len())?;
                doubles.extend(values);
                (Tag::GeoDoubleParamsTag.0, short(values.len())?, at)
            }
            KeyValue::Text(text) => {
                let at = short(ascii.len())?;
                // A NUL would end the text for every reader.
                ascii.extend(text.chars().map(|c| if c == '\0' { ' ' } else { c }));
                ascii.push('|');
                (Tag::GeoAsciiParamsTag.0, short(text.len() + 1)?, at)
            }
        };
        directory.extend([id, location, n, value]);
    }
    directory.extend(shorts);
    let mut out = vec![(Tag::GeoKeyDirectoryTag, FieldValue::Shorts(directory))];
    if !doubles.is_empty() {
        out.push((Tag::GeoDoubleParamsTag, FieldValue::Doubles(doubles)));
    }
    if !ascii.is_empty() {
        out.push((Tag::GeoAsciiParamsTag, FieldValue::Text(ascii)));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_kind_of_value_comes_back() {
        let values = BTreeMap::from([
            (1024, KeyValue::Short(1)),
            (1026, KeyValue::Text("a|b é".to_owned())),
            (2049, KeyValue::Text(String::new())),
            (2062, KeyValue::Doubles(vec![1.0, 2.0, 3.0])),
            (3080, KeyValue::Doubles(vec![0.5])),
            (60000, KeyValue::Shorts(vec![7, 8])),
        ]);
        let keys = GeoKeys { revision: (1, 1), values };
        let out = fields(&keys).unwrap();
        let [
            (_, FieldValue::Shorts(directory)),
            (_, FieldValue::Doubles(doubles)),
            (_, FieldValue::Text(ascii)),
        ] = out.as_slice()
        else {
            panic!("{out:?}")
        };
        let mut warnings = crate::Warnings::new();
        let back = GeoKeys::parse(directory, doubles, ascii.as_bytes(), &mut warnings);
        assert_eq!((back, warnings.len()), (Some(keys), 0));
    }

    #[test]
    fn a_text_without_room_is_named() {
        let text = |n| KeyValue::Text("x".repeat(n));
        let values = BTreeMap::from([(1026, text(65_535)), (2049, text(1))]);
        assert_eq!(fields(&GeoKeys { revision: (1, 0), values }), Err(1026));
        let values = BTreeMap::from([(1026, text(65_534)), (2049, text(1)), (3073, text(1))]);
        assert_eq!(fields(&GeoKeys { revision: (1, 0), values }), Err(3073));
    }
}
