//! Values of tags to write, and their bytes in either byte order.

use crate::{ByteOrder, FieldType};

/// The value of a tag.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// BYTE.
    Bytes(Vec<u8>),
    /// ASCII; the closing NUL is added when written.
    Text(String),
    /// SHORT.
    Shorts(Vec<u16>),
    /// LONG.
    Longs(Vec<u32>),
    /// LONG8, only in BigTIFF.
    Long8s(Vec<u64>),
    /// RATIONAL.
    Rationals(Vec<(u32, u32)>),
    /// UNDEFINED.
    Undefined(Vec<u8>),
    /// FLOAT.
    Floats(Vec<f32>),
    /// DOUBLE.
    Doubles(Vec<f64>),
    /// Bytes of any type, copied from another file with its byte order.
    Raw {
        /// The type of the elements.
        field_type: FieldType,
        /// Byte order of the elements.
        byte_order: ByteOrder,
        /// The bytes, a whole number of elements.
        bytes: Vec<u8>,
    },
}

impl FieldValue {
    /// Creates a single SHORT.
    pub fn short(value: u16) -> Self {
        Self::Shorts(vec![value])
    }

    /// Returns unsigned integers of any type; `None` if one does not fit, and for other values.
    pub fn shorts(&self) -> Option<Vec<u16>> {
        match self {
            Self::Shorts(values) => Some(values.clone()),
            Self::Raw { field_type, byte_order, bytes } => {
                let values = field_type.integers(bytes, *byte_order)?;
                values.into_iter().map(|value| u16::try_from(value).ok()).collect()
            }
            _ => None,
        }
    }

    /// Creates a single LONG.
    pub fn long(value: u32) -> Self {
        Self::Longs(vec![value])
    }

    /// Returns the type.
    pub const fn field_type(&self) -> FieldType {
        match self {
            Self::Bytes(_) => FieldType::Byte,
            Self::Text(_) => FieldType::Ascii,
            Self::Shorts(_) => FieldType::Short,
            Self::Longs(_) => FieldType::Long,
            Self::Long8s(_) => FieldType::Long8,
            Self::Rationals(_) => FieldType::Rational,
            Self::Undefined(_) => FieldType::Undefined,
            Self::Floats(_) => FieldType::Float,
            Self::Doubles(_) => FieldType::Double,
            Self::Raw { field_type, .. } => *field_type,
        }
    }

    /// Returns the number of elements.
    pub fn count(&self) -> u64 {
        self.len() / self.field_type().size()
    }

    /// Returns the number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether a value has no bytes")]
    pub fn len(&self) -> u64 {
        let elements = match self {
            Self::Bytes(v) | Self::Undefined(v) => v.len(),
            Self::Text(v) => v.len() + 1,
            Self::Shorts(v) => v.len(),
            Self::Longs(v) => v.len(),
            Self::Long8s(v) => v.len(),
            Self::Rationals(v) => v.len(),
            Self::Floats(v) => v.len(),
            Self::Doubles(v) => v.len(),
            Self::Raw { bytes, .. } => return bytes.len() as u64,
        };
        elements as u64 * self.field_type().size()
    }

    /// Appends the bytes in the given byte order.
    pub fn write(&self, order: ByteOrder, into: &mut Vec<u8>) {
        match self {
            Self::Bytes(v) | Self::Undefined(v) => into.extend_from_slice(v),
            Self::Text(v) => {
                into.extend_from_slice(v.as_bytes());
                into.push(0);
            }
            Self::Shorts(v) => v.iter().for_each(|&v| order.put_u16(v, into)),
            Self::Longs(v) => v.iter().for_each(|&v| order.put_u32(v, into)),
            Self::Long8s(v) => v.iter().for_each(|&v| order.put_u64(v, into)),
            Self::Rationals(v) => v.iter().for_each(|&(over, under)| {
                order.put_u32(over, into);
                order.put_u32(under, into);
            }),
            Self::Floats(v) => v.iter().for_each(|&v| order.put_u32(v.to_bits(), into)),
            Self::Doubles(v) => v.iter().for_each(|&v| order.put_u64(v.to_bits(), into)),
            Self::Raw { field_type, byte_order, bytes } => {
                let unit = usize::try_from(field_type.swap_unit()).unwrap_or(1);
                if *byte_order == order || unit == 1 {
                    into.extend_from_slice(bytes);
                } else {
                    bytes.chunks(unit).for_each(|element| into.extend(element.iter().rev()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_values_are_swapped_by_element() {
        let bytes = vec![1, 0, 0, 0, 2, 0, 0, 0];
        let raw =
            |field_type| FieldValue::Raw { field_type, byte_order: ByteOrder::Little, bytes: bytes.clone() };
        let written = |value: FieldValue| {
            let mut into = Vec::new();
            value.write(ByteOrder::Big, &mut into);
            (into, value.count())
        };
        assert_eq!(written(raw(FieldType::Rational)), (vec![0, 0, 0, 1, 0, 0, 0, 2], 1));
        assert_eq!(written(raw(FieldType::Short)), (vec![0, 1, 0, 0, 0, 2, 0, 0], 4));
        assert_eq!(written(raw(FieldType::Double)), (vec![0, 0, 0, 2, 0, 0, 0, 1], 1));
        assert_eq!(written(FieldValue::Text("ab".into())), (b"ab\0".to_vec(), 3));
    }
}
