//! Directory entries for the builder: valid values of all field types, and raw, possibly inconsistent ones.

use strile_tiff::ByteOrder;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Tag {
    /// Tag number.
    pub code: u16,
    /// Value.
    pub value: Value,
}

impl Tag {
    /// Returns an entry.
    pub fn new(code: u16, value: Value) -> Self {
        Self { code, value }
    }

    /// Returns an entry of one SHORT.
    pub fn short(code: u16, value: u16) -> Self {
        Self::new(code, Value::Short(vec![value]))
    }

    /// Returns an entry of one LONG.
    pub fn long(code: u16, value: u32) -> Self {
        Self::new(code, Value::Long(vec![value]))
    }

    /// Returns an ASCII entry with its closing NUL.
    pub fn ascii(code: u16, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        Self::new(code, Value::Ascii(bytes))
    }
}

/// Values of the field types 1 to 18, values that the builder fills in, and raw bytes for hostile files.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// 1
    Byte(Vec<u8>),
    /// 2, with the NULs in the bytes.
    Ascii(Vec<u8>),
    /// 3
    Short(Vec<u16>),
    /// 4
    Long(Vec<u32>),
    /// 5
    Rational(Vec<(u32, u32)>),
    /// 6
    SByte(Vec<i8>),
    /// 7
    Undefined(Vec<u8>),
    /// 8
    SShort(Vec<i16>),
    /// 9
    SLong(Vec<i32>),
    /// 10
    SRational(Vec<(i32, i32)>),
    /// 11
    Float(Vec<f32>),
    /// 12
    Double(Vec<f64>),
    /// 13
    Ifd(Vec<u32>),
    /// 16
    Long8(Vec<u64>),
    /// 17
    SLong8(Vec<i64>),
    /// 18
    Ifd8(Vec<u64>),
    /// The blocks' offsets, in this field type (3, 4 or 16).
    BlockOffsets(u16),
    /// The blocks' sizes, in this field type (3, 4 or 16).
    BlockCounts(u16),
    /// Offsets of the child directories (SubIFDs), in this field type (4, 13, 16 or 18).
    Children(u16),
    /// Type, count and the value field (4 bytes, 8 in BigTIFF, zero-filled) exactly as given.
    Raw {
        /// Field type, any number.
        field_type: u16,
        /// Count, any number.
        count: u64,
        /// The value field.
        field: Vec<u8>,
    },
    /// Type and count exactly as given; the payload lies elsewhere and the value field is its offset.
    Elsewhere {
        /// Field type, any number.
        field_type: u16,
        /// Count, any number.
        count: u64,
        /// Bytes at the offset.
        payload: Vec<u8>,
    },
}

/// A resolved value: what the builder writes.
pub(crate) struct Resolved {
    pub field_type: u16,
    pub count: u64,
    pub payload: Vec<u8>,
    /// Placement of the payload: by its size if `None`, else forced.
    pub inline: Option<bool>,
}

pub(crate) fn put(out: &mut Vec<u8>, order: ByteOrder, value: u64, width: usize) {
    match order {
        ByteOrder::Little => out.extend(&value.to_le_bytes()[..width]),
        ByteOrder::Big => out.extend(&value.to_be_bytes()[8 - width..]),
    }
}

fn integers(order: ByteOrder, width: usize, values: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        put(&mut out, order, value, width);
    }
    out
}

fn width_of(field_type: u16) -> usize {
    match field_type {
        3 => 2,
        4 | 13 => 4,
        16 | 18 => 8,
        other => panic!("field type {other} holds no offsets"),
    }
}

/// Positions that the builder knows when it resolves a directory's values.
pub(crate) struct Places<'a> {
    pub offsets: &'a [u64],
    pub counts: &'a [u64],
    pub children: &'a [u64],
}

impl Value {
    pub(crate) fn resolve(&self, order: ByteOrder, places: &Places<'_>) -> Resolved {
        let wide = |width: usize, values: &[u64]| integers(order, width, values.iter().copied());
        let (field_type, count, payload) = match self {
            Self::Byte(v) => (1, v.len(), v.clone()),
            Self::Ascii(v) => (2, v.len(), v.clone()),
            Self::Short(v) => (3, v.len(), integers(order, 2, v.iter().map(|&x| x.into()))),
            Self::Long(v) => (4, v.len(), integers(order, 4, v.iter().map(|&x| x.into()))),
            Self::Rational(v) => {
                (5, v.len(), integers(order, 4, v.iter().flat_map(|&(n, d)| [n.into(), d.into()])))
            }
            Self::SByte(v) => (6, v.len(), v.iter().map(|&x| x as u8).collect()),
            Self::Undefined(v) => (7, v.len(), v.clone()),
            Self::SShort(v) => (8, v.len(), integers(order, 2, v.iter().map(|&x| (x as u16).into()))),
            Self::SLong(v) => (9, v.len(), integers(order, 4, v.iter().map(|&x| (x as u32).into()))),
            Self::SRational(v) => (
                10,
                v.len(),
                integers(order, 4, v.iter().flat_map(|&(n, d)| [(n as u32).into(), (d as u32).into()])),
            ),
            Self::Float(v) => (11, v.len(), integers(order, 4, v.iter().map(|x| x.to_bits().into()))),
            Self::Double(v) => (12, v.len(), integers(order, 8, v.iter().map(|x| x.to_bits()))),
            Self::Ifd(v) => (13, v.len(), integers(order, 4, v.iter().map(|&x| x.into()))),
            Self::Long8(v) => (16, v.len(), wide(8, v)),
            Self::SLong8(v) => (17, v.len(), integers(order, 8, v.iter().map(|&x| x as u64))),
            Self::Ifd8(v) => (18, v.len(), wide(8, v)),
            Self::BlockOffsets(ty) => (*ty, places.offsets.len(), wide(width_of(*ty), places.offsets)),
            Self::BlockCounts(ty) => (*ty, places.counts.len(), wide(width_of(*ty), places.counts)),
            Self::Children(ty) => (*ty, places.children.len(), wide(width_of(*ty), places.children)),
            Self::Raw { field_type, count, field } => {
                return Resolved {
                    field_type: *field_type,
                    count: *count,
                    payload: field.clone(),
                    inline: Some(true),
                };
            }
            Self::Elsewhere { field_type, count, payload } => {
                return Resolved {
                    field_type: *field_type,
                    count: *count,
                    payload: payload.clone(),
                    inline: Some(false),
                };
            }
        };
        Resolved { field_type, count: count as u64, payload, inline: None }
    }
}
