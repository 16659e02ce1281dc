//! Integers and floats out of byte slices, in either order, always checked.

/// The order of a file's bytes.
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
    /// The order of this machine's memory.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    readers! { u16: u16, u32: u32, u64: u64, i16: i16, i32: i32, i64: i64, f32: f32, f64: f64 }
}
