//! Converts tags in the form of `Dataset.tags`: (tag, type, count, value).
//!
//! The value is a number, a tuple of numbers, text (type 2) or bytes (type 7); rationals are two numbers each, in one
//! row or as pairs (over, under), or one number.
//! Bytes are in the order of this machine; the library swaps them if the file has the other order.

use crate::arguments::{elements, float, integer, shown, text};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use strile::tiff::{ByteOrder, FieldType, FieldValue, Tag};
use strile::write::{is_own_tag, rational};

/// Tags that other keys of the raster state.
const STATED: [(Tag, &str); 8] = [
    (Tag::ModelPixelScaleTag, "transform"),
    (Tag::ModelTiepointTag, "transform"),
    (Tag::ModelTransformationTag, "transform"),
    (Tag::GeoKeyDirectoryTag, "crs"),
    (Tag::GeoDoubleParamsTag, "crs"),
    (Tag::GeoAsciiParamsTag, "crs"),
    (Tag::GDAL_METADATA, "gdal_metadata_xml"),
    (Tag::GDAL_NODATA, "nodata"),
];

/// Returns a tag that an array has from its file, and its value; `None` for one that a new file states by itself.
pub(crate) fn stated(given: &Bound<'_, PyAny>) -> Result<Option<(Tag, FieldValue)>, String> {
    let number = elements(given).and_then(|parts| integer(parts.first()?));
    match number.and_then(|tag| u16::try_from(tag).ok()) {
        Some(tag) if is_own_tag(Tag(tag)) => Ok(None),
        _ => field(given).map(Some),
    }
}

/// Returns the tag and its value, or the problem.
pub(crate) fn field(given: &Bound<'_, PyAny>) -> Result<(Tag, FieldValue), String> {
    let wrong = || format!("expected (tag, type, count, value), got {}", shown(given));
    let parts = elements(given).ok_or_else(wrong)?;
    let [tag, kind, count, value] = parts.as_slice() else { return Err(wrong()) };
    let tag = integer(tag).and_then(|tag| u16::try_from(tag).ok()).ok_or_else(wrong)?;
    let kind = integer(kind).and_then(|kind| u16::try_from(kind).ok()).ok_or_else(wrong)?;
    let count = if count.is_none() { None } else { Some(integer(count).ok_or_else(wrong)?) };
    let tag = Tag(tag);
    if let Some((_, key)) = STATED.iter().find(|(stated, _)| *stated == tag) {
        return Err(format!("{tag} is written from `{key}`; it cannot be a further tag"));
    }
    let field_type = FieldType::from_code(kind)
        .ok_or_else(|| format!("{tag} has type {kind}, which TIFF does not have"))?;
    let bytes = bytes_of(field_type, value, count)
        .ok_or_else(|| format!("{tag}: expected {}, got {}", expected(field_type), shown(value)))?;
    let found = i128::from(bytes.len() as u64 / field_type.size());
    if found == 0 {
        return Err(format!("{tag} has no value"));
    }
    // Text may be closed here that was not: then it is longer by the NUL.
    let closed = if field_type == FieldType::Ascii { 1 } else { 0 };
    if count.is_some_and(|count| count != found && count != found - closed) {
        return Err(format!("{tag} has {found} values and says {}", count.unwrap_or(0)));
    }
    let byte_order = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    Ok((tag, FieldValue::Raw { field_type, byte_order, bytes }))
}

fn expected(field_type: FieldType) -> String {
    let name = field_type.name();
    match field_type {
        FieldType::Ascii => "text".into(),
        FieldType::Undefined => "bytes".into(),
        FieldType::Rational | FieldType::SRational => format!("pairs (over, under) of {name}"),
        FieldType::Ifd | FieldType::Ifd8 => "another type (offsets of directories are the writer's)".into(),
        _ => format!("numbers of {name}"),
    }
}

fn bytes_of(field_type: FieldType, value: &Bound<'_, PyAny>, count: Option<i128>) -> Option<Vec<u8>> {
    let raw = value.cast::<PyBytes>().ok().map(|bytes| bytes.as_bytes().to_vec());
    match field_type {
        FieldType::Ascii => {
            let mut bytes = raw.or_else(|| text(value).map(String::into_bytes))?;
            if bytes.last() != Some(&0) {
                bytes.push(0);
            }
            // Padded where more was said; a count alone must not make megabytes.
            let said = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
            if said > bytes.len() && said - bytes.len() <= PADDING {
                bytes.resize(said, 0);
            }
            Some(bytes)
        }
        FieldType::Byte | FieldType::SByte | FieldType::Undefined if raw.is_some() => raw,
        FieldType::Ifd | FieldType::Ifd8 => None,
        FieldType::Rational | FieldType::SRational => {
            let parts = elements(value).unwrap_or_else(|| vec![value.clone()]);
            let flat: Option<Vec<i128>> = parts.iter().map(integer).collect();
            let pairs: Vec<(i128, i128)> = match flat {
                Some(flat) if parts.len() > 1 => {
                    let (pairs, rest) = flat.as_chunks::<2>();
                    rest.is_empty().then(|| pairs.iter().map(|&[over, under]| (over, under)).collect())?
                }
                _ => parts.iter().map(pair).collect::<Option<_>>()?,
            };
            let mut bytes = Vec::new();
            for (over, under) in pairs {
                for part in [over, under] {
                    bytes.extend(match field_type {
                        FieldType::Rational => u32::try_from(part).ok()?.to_ne_bytes(),
                        _ => i32::try_from(part).ok()?.to_ne_bytes(),
                    });
                }
            }
            Some(bytes)
        }
        _ => {
            let values = match elements(value) {
                Some(values) => values,
                None => vec![value.clone()],
            };
            let mut bytes = Vec::new();
            for value in &values {
                number(field_type, value, &mut bytes)?;
            }
            Some(bytes)
        }
    }
}

/// NULs that text may have behind it.
const PADDING: usize = 4096;

/// Returns numerator and denominator; of a number, those of the nearest fraction.
fn pair(value: &Bound<'_, PyAny>) -> Option<(i128, i128)> {
    let Some(parts) = elements(value) else {
        let number = float(value)?;
        let (over, under) = rational(number.abs())?;
        return Some((if number < 0.0 { -i128::from(over) } else { over.into() }, under.into()));
    };
    let [over, under] = parts.as_slice() else { return None };
    Some((integer(over)?, integer(under)?))
}

fn number(field_type: FieldType, value: &Bound<'_, PyAny>, into: &mut Vec<u8>) -> Option<()> {
    match field_type {
        FieldType::Float => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the tag holds a float32, the nearest is meant"
            )]
            let value = float(value)? as f32;
            into.extend(value.to_ne_bytes());
        }
        FieldType::Double => into.extend(float(value)?.to_ne_bytes()),
        _ => {
            let value = integer(value)?;
            match field_type {
                FieldType::Byte | FieldType::Undefined => into.push(u8::try_from(value).ok()?),
                FieldType::SByte => into.extend(i8::try_from(value).ok()?.to_ne_bytes()),
                FieldType::Short => into.extend(u16::try_from(value).ok()?.to_ne_bytes()),
                FieldType::SShort => into.extend(i16::try_from(value).ok()?.to_ne_bytes()),
                FieldType::Long => into.extend(u32::try_from(value).ok()?.to_ne_bytes()),
                FieldType::SLong => into.extend(i32::try_from(value).ok()?.to_ne_bytes()),
                FieldType::Long8 => into.extend(u64::try_from(value).ok()?.to_ne_bytes()),
                FieldType::SLong8 => into.extend(i64::try_from(value).ok()?.to_ne_bytes()),
                _ => return None,
            }
        }
    }
    Some(())
}
