//! Checked access to integers and floats in byte slices, in either byte order.

/// Byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// `II`, least significant byte first.
    Little,
    /// `MM`, most significant byte first.
    Big,
}

macro_rules! readers {
    ($($name:ident: $ty:ty),+) => {$(
        #[doc = concat!("A `", stringify!($ty), "` at `at`, or `None` past the end.")]
        pub fn $name(self, bytes: &[u8], at: usize) -> Option<$ty> {
            let raw = bytes.get(at..)?.first_chunk()?;
            Some(match self { Self::Little => <$ty>::from_le_bytes(*raw), Self::Big => <$ty>::from_be_bytes(*raw) })
        }
    )+};
}

impl ByteOrder {
    /// Byte order of this machine.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    readers! { u16: u16, u32: u32, u64: u64, i16: i16, i32: i32, i64: i64, f32: f32, f64: f64 }

    /// Appends a number in this byte order.
    pub fn put_u16(self, value: u16, into: &mut Vec<u8>) {
        into.extend_from_slice(&match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        });
    }

    /// Appends a number in this byte order.
    pub fn put_u32(self, value: u32, into: &mut Vec<u8>) {
        into.extend_from_slice(&match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        });
    }

    /// Appends a number in this byte order.
    pub fn put_u64(self, value: u64, into: &mut Vec<u8>) {
        into.extend_from_slice(&match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        });
    }
}
