//! Types of samples: as stored in the file (`SampleType`) and in memory (`DataType`).
//!
//! Every stored type has exactly one type in memory, `SampleType::data_type`. Engines widen odd depths without changing
//! a value.

use crate::ByteOrder;
use std::fmt;

/// The interpretation of the bits of a stored sample (tag SampleFormat).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleFormat {
    /// Unsigned integer; also "void" in files.
    Uint,
    /// Two's complement integer.
    Int,
    /// IEEE floating point of 16, 24, 32 or 64 bits.
    Float,
    /// A pair of signed integers.
    ComplexInt,
    /// A pair of floats.
    ComplexFloat,
}

/// The type of a stored sample: its format and its depth in bits (of the whole pair if it is complex).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleType {
    /// The interpretation of the bits.
    pub format: SampleFormat,
    /// Depth in bits, 1 to 128.
    pub bits: u16,
}

impl SampleType {
    /// Returns the type in memory, or `None` if strile has no such type.
    pub fn data_type(self) -> Option<DataType> {
        use DataType as D;
        Some(match (self.format, self.bits) {
            (SampleFormat::Uint, 1..=8) => D::U8,
            (SampleFormat::Uint, 9..=16) => D::U16,
            (SampleFormat::Uint, 17..=32) => D::U32,
            (SampleFormat::Uint, 33..=64) => D::U64,
            (SampleFormat::Int, 1..=8) => D::I8,
            (SampleFormat::Int, 9..=16) => D::I16,
            (SampleFormat::Int, 17..=32) => D::I32,
            (SampleFormat::Int, 33..=64) => D::I64,
            (SampleFormat::Float, 16) => D::F16,
            (SampleFormat::Float, 24 | 32) => D::F32,
            (SampleFormat::Float, 64) => D::F64,
            (SampleFormat::ComplexInt, 16 | 32) => D::C64,
            (SampleFormat::ComplexInt, 64) => D::C128,
            (SampleFormat::ComplexFloat, 64) => D::C64,
            (SampleFormat::ComplexFloat, 128) => D::C128,
            _ => return None,
        })
    }

    /// Returns the bytes of a sample in the file, if that is an integer.
    pub fn whole_bytes(self) -> Option<usize> {
        self.bits.is_multiple_of(8).then_some(usize::from(self.bits / 8))
    }

    /// Returns whether samples are 24-bit integers in little-endian order. All other odd depths are packed most
    /// significant bit first in both byte orders. libtiff swaps 24-bit samples of big-endian files before GDAL unpacks
    /// them, and after GDAL packed them, so those of big-endian files are in little-endian order.
    pub fn is_reversed_triple(self, order: ByteOrder) -> bool {
        self.bits == 24
            && matches!(self.format, SampleFormat::Uint | SampleFormat::Int)
            && order == ByteOrder::Big
    }

    /// Returns the width in bytes of the unit whose bytes are swapped between byte orders: half a complex sample.
    pub fn swap_unit(self) -> Option<usize> {
        let whole = self.whole_bytes()?;
        Some(match self.format {
            SampleFormat::ComplexInt | SampleFormat::ComplexFloat => whole / 2,
            _ => whole,
        })
    }
}

impl fmt::Display for SampleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.format {
            SampleFormat::Uint => "unsigned integer",
            SampleFormat::Int => "signed integer",
            SampleFormat::Float => "float",
            SampleFormat::ComplexInt => "complex integer",
            SampleFormat::ComplexFloat => "complex float",
        };
        write!(f, "{}-bit {name}", self.bits)
    }
}

/// The type of a sample in memory, native byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `uint8`
    U8,
    /// `int8`
    I8,
    /// `uint16`
    U16,
    /// `int16`
    I16,
    /// `uint32`
    U32,
    /// `int32`
    I32,
    /// `uint64`
    U64,
    /// `int64`
    I64,
    /// `float16`
    F16,
    /// `float32`
    F32,
    /// `float64`
    F64,
    /// `complex64`, two `float32`
    C64,
    /// `complex128`, two `float64`
    C128,
}

impl DataType {
    /// All types, in the order of the declaration.
    pub const ALL: [DataType; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    /// Returns the bytes of one sample in memory.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// Returns numpy's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::I16 => "int16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::U64 => "uint64",
            Self::I64 => "int64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
