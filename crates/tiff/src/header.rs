//! The first 8 or 16 bytes: byte order, classic or Big, and the offset of the first directory.

use crate::{ByteOrder, TiffError};

/// Classic TIFF has 32-bit offsets, BigTIFF 64-bit ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Version 42.
    Classic,
    /// Version 43.
    Big,
}

impl Variant {
    /// Returns the bytes of a directory's entry count.
    pub(crate) const fn count_len(self) -> u64 {
        match self {
            Self::Classic => 2,
            Self::Big => 8,
        }
    }

    /// Returns the bytes of a directory entry.
    pub(crate) const fn entry_len(self) -> u64 {
        match self {
            Self::Classic => 12,
            Self::Big => 20,
        }
    }

    /// Returns the bytes of an offset, and of a value that fits into its entry.
    pub const fn offset_len(self) -> u64 {
        match self {
            Self::Classic => 4,
            Self::Big => 8,
        }
    }
}

/// The header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Byte order of the file.
    pub byte_order: ByteOrder,
    /// Classic or Big.
    pub variant: Variant,
    /// Offset of the first directory.
    pub first_directory: u64,
}

impl Header {
    /// Number of bytes that suffices for either variant.
    pub(crate) const LEN: u64 = 16;

    /// Parses the header from the file's first bytes (fewer than `LEN` only if the file is shorter).
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, TiffError> {
        let wrong = |problem: String| TiffError::invalid("header", problem);
        let byte_order = match bytes.get(..2) {
            Some(b"II") => ByteOrder::Little,
            Some(b"MM") => ByteOrder::Big,
            Some(other) => {
                let found = other.escape_ascii();
                return Err(wrong(format!(
                    "not a TIFF file: expected `II` or `MM` at its start, got `{found}`"
                )));
            }
            None => return Err(wrong(format!("expected at least 8 bytes, got {}", bytes.len()))),
        };
        let short = || wrong(format!("ends after {} bytes", bytes.len()));
        match byte_order.u16(bytes, 2).ok_or_else(short)? {
            42 => {
                let first_directory = u64::from(byte_order.u32(bytes, 4).ok_or_else(short)?);
                Ok(Self { byte_order, variant: Variant::Classic, first_directory })
            }
            43 => {
                let offset_size = byte_order.u16(bytes, 4).ok_or_else(short)?;
                if offset_size != 8 {
                    return Err(wrong(format!("expected BigTIFF offsets of 8 bytes, got {offset_size}")));
                }
                let first_directory = byte_order.u64(bytes, 8).ok_or_else(short)?;
                Ok(Self { byte_order, variant: Variant::Big, first_directory })
            }
            version => Err(wrong(format!("not a TIFF file: expected version 42 or 43, got {version}"))),
        }
    }
}
