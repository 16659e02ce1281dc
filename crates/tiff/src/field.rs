//! The types of tag values, and decoding of values from raw bytes.

use crate::ByteOrder;

macro_rules! field_types {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $size:literal, $name:literal;)+) => {
        /// The type of a tag's value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FieldType { $($(#[$doc])* $variant,)+ }

        impl FieldType {
            /// Returns the type with the number in an entry.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
            /// Returns the number in an entry.
            pub const fn code(self) -> u16 {
                match self { $(Self::$variant => $code,)+ }
            }
            /// Returns the bytes of one element.
            pub const fn size(self) -> u64 {
                match self { $(Self::$variant => $size,)+ }
            }
            /// Returns the specification's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

field_types! {
    /// 8-bit unsigned.
    Byte = 1, 1, "BYTE";
    /// 7-bit text, NUL-terminated.
    Ascii = 2, 1, "ASCII";
    /// 16-bit unsigned.
    Short = 3, 2, "SHORT";
    /// 32-bit unsigned.
    Long = 4, 4, "LONG";
    /// Two LONGs.
    Rational = 5, 8, "RATIONAL";
    /// 8-bit signed.
    SByte = 6, 1, "SBYTE";
    /// Bytes without a defined meaning.
    Undefined = 7, 1, "UNDEFINED";
    /// 16-bit signed.
    SShort = 8, 2, "SSHORT";
    /// 32-bit signed.
    SLong = 9, 4, "SLONG";
    /// Two SLONGs.
    SRational = 10, 8, "SRATIONAL";
    /// 32-bit IEEE.
    Float = 11, 4, "FLOAT";
    /// 64-bit IEEE.
    Double = 12, 8, "DOUBLE";
    /// Offset of a directory.
    Ifd = 13, 4, "IFD";
    /// 64-bit unsigned.
    Long8 = 16, 8, "LONG8";
    /// 64-bit signed.
    SLong8 = 17, 8, "SLONG8";
    /// 64-bit offset of a directory.
    Ifd8 = 18, 8, "IFD8";
}

impl FieldType {
    /// Returns the width in bytes of the unit whose bytes are swapped between byte orders: half a rational.
    pub const fn swap_unit(self) -> u64 {
        match self {
            Self::Rational | Self::SRational => 4,
            other => other.size(),
        }
    }

    /// Returns the elements of `raw` as unsigned integers; `None` if one is negative or the type is not integral.
    pub fn integers(self, raw: &[u8], order: ByteOrder) -> Option<Vec<u64>> {
        /// A loop of its own per type, because tables of blocks have millions of elements.
        fn all<const N: usize>(raw: &[u8], one: impl Fn([u8; N]) -> u64) -> Option<Vec<u64>> {
            let (elements, _) = raw.as_chunks::<N>();
            Some(elements.iter().map(|&element| one(element)).collect())
        }
        match (self, order) {
            (Self::Short, ByteOrder::Little) => all(raw, |b| u16::from_le_bytes(b).into()),
            (Self::Short, ByteOrder::Big) => all(raw, |b| u16::from_be_bytes(b).into()),
            (Self::Long | Self::Ifd, ByteOrder::Little) => all(raw, |b| u32::from_le_bytes(b).into()),
            (Self::Long | Self::Ifd, ByteOrder::Big) => all(raw, |b| u32::from_be_bytes(b).into()),
            (Self::Long8 | Self::Ifd8, ByteOrder::Little) => all(raw, u64::from_le_bytes),
            (Self::Long8 | Self::Ifd8, ByteOrder::Big) => all(raw, u64::from_be_bytes),
            _ => self.each_integer(raw, order).collect(),
        }
    }

    /// Returns each element of `raw` as an unsigned integer; `None` for one that is negative or of a type that is not
    /// integral.
    pub fn each_integer(self, raw: &[u8], order: ByteOrder) -> impl Iterator<Item = Option<u64>> {
        let one = move |b: &[u8]| -> Option<u64> {
            match self {
                Self::Byte | Self::Undefined => b.first().map(|&v| u64::from(v)),
                Self::Short => order.u16(b, 0).map(u64::from),
                Self::Long | Self::Ifd => order.u32(b, 0).map(u64::from),
                Self::Long8 | Self::Ifd8 => order.u64(b, 0),
                Self::SByte => u64::try_from(b.first()?.cast_signed()).ok(),
                Self::SShort => u64::try_from(order.i16(b, 0)?).ok(),
                Self::SLong => u64::try_from(order.i32(b, 0)?).ok(),
                Self::SLong8 => u64::try_from(order.i64(b, 0)?).ok(),
                Self::Ascii | Self::Rational | Self::SRational | Self::Float | Self::Double => None,
            }
        };
        raw.chunks_exact(usize::try_from(self.size()).unwrap_or(1)).map(one)
    }

    /// Returns the elements of `raw` as floats; `None` if the type is not numeric.
    pub fn floats(self, raw: &[u8], order: ByteOrder) -> Option<Vec<f64>> {
        let size = usize::try_from(self.size()).ok()?;
        #[expect(clippy::cast_precision_loss, reason = "tags read as floats are coordinates and ratios")]
        let one = |b: &[u8]| -> Option<f64> {
            match self {
                Self::Byte | Self::Undefined => b.first().map(|&v| f64::from(v)),
                Self::SByte => b.first().map(|&v| f64::from(v.cast_signed())),
                Self::Short => order.u16(b, 0).map(f64::from),
                Self::SShort => order.i16(b, 0).map(f64::from),
                Self::Long | Self::Ifd => order.u32(b, 0).map(f64::from),
                Self::SLong => order.i32(b, 0).map(f64::from),
                Self::Long8 | Self::Ifd8 => order.u64(b, 0).map(|v| v as f64),
                Self::SLong8 => order.i64(b, 0).map(|v| v as f64),
                Self::Rational => Some(f64::from(order.u32(b, 0)?) / f64::from(order.u32(b, 4)?)),
                Self::SRational => Some(f64::from(order.i32(b, 0)?) / f64::from(order.i32(b, 4)?)),
                Self::Float => order.f32(b, 0).map(f64::from),
                Self::Double => order.f64(b, 0),
                Self::Ascii => None,
            }
        };
        raw.chunks_exact(size).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_are_not_sizes() {
        assert_eq!(FieldType::SShort.integers(&[0xff, 0xff], ByteOrder::Little), None);
        assert_eq!(FieldType::SShort.integers(&[0x00, 0x07], ByteOrder::Big), Some(vec![7]));
        assert_eq!(FieldType::SByte.integers(&[0x80], ByteOrder::Big), None);
    }

    #[test]
    fn whole_arrays_are_what_their_elements_are() {
        let raw: Vec<u8> = (0..51u8).map(|i| i.wrapping_mul(37) ^ 0x85).collect();
        for field_type in [1, 3, 4, 13, 16, 18].map(|code| FieldType::from_code(code).unwrap()) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let each: Option<Vec<u64>> = field_type.each_integer(&raw, order).collect();
                assert_eq!(field_type.integers(&raw, order), each, "{field_type:?} {order:?}");
            }
        }
    }

    #[test]
    fn rationals_divide() {
        let raw = [0, 0, 0, 3, 0, 0, 0, 2];
        assert_eq!(FieldType::Rational.floats(&raw, ByteOrder::Big), Some(vec![1.5]));
    }
}
