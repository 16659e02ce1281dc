//! Headers of numpy's `.npy` files.
//!
//! ```
//! use strile::{DataType, npy};
//!
//! let header = npy::header(DataType::U16, [1, 20, 30]);
//! assert_eq!(header.len() % 64, 0);
//! assert!(header.ends_with(b"\n"));
//! ```

use strile_tiff::DataType;

/// Returns the header of an array of little-endian samples (band, row, column).
///
/// Uses version 1.0: magic, length, a Python dictionary, and spaces so that the samples begin at a multiple of 64.
pub fn header(data_type: DataType, [bands, rows, columns]: [u64; 3]) -> Vec<u8> {
    let code = code(data_type);
    let mut text =
        format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({bands}, {rows}, {columns}), }}");
    // Ten bytes precede the dictionary, and a line feed ends it.
    let whole = (10 + text.len() + 1).next_multiple_of(64);
    text.push_str(&" ".repeat(whole - 10 - text.len() - 1));
    text.push('\n');
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [b"\x93NUMPY\x01\x00".as_slice(), &len.to_le_bytes(), text.as_bytes()].concat()
}

/// Returns numpy's code of the type, little-endian.
fn code(data_type: DataType) -> &'static str {
    match data_type {
        DataType::U8 => "|u1",
        DataType::I8 => "|i1",
        DataType::U16 => "<u2",
        DataType::I16 => "<i2",
        DataType::U32 => "<u4",
        DataType::I32 => "<i4",
        DataType::U64 => "<u8",
        DataType::I64 => "<i8",
        DataType::F16 => "<f2",
        DataType::F32 => "<f4",
        DataType::F64 => "<f8",
        DataType::C64 => "<c8",
        DataType::C128 => "<c16",
    }
}
