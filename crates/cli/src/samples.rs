//! Samples of a raster as text.

use half::f16;
use std::fmt::Write as _;
use strile::DataType;

macro_rules! read {
    ($bytes:expr, $ty:ty) => {
        $bytes.first_chunk().map(|raw| <$ty>::from_ne_bytes(*raw)).unwrap_or_default()
    };
}

/// Appends a sample as text that reads back as the same value.
pub fn write_text(text: &mut String, bytes: &[u8], data_type: DataType) {
    let (first, second) = bytes.split_at_checked(data_type.size() / 2).unwrap_or_default();
    // Writing to a string cannot fail.
    let _always_ok = match data_type {
        DataType::U8 => write!(text, "{}", read!(bytes, u8)),
        DataType::I8 => write!(text, "{}", read!(bytes, i8)),
        DataType::U16 => write!(text, "{}", read!(bytes, u16)),
        DataType::I16 => write!(text, "{}", read!(bytes, i16)),
        DataType::U32 => write!(text, "{}", read!(bytes, u32)),
        DataType::I32 => write!(text, "{}", read!(bytes, i32)),
        DataType::U64 => write!(text, "{}", read!(bytes, u64)),
        DataType::I64 => write!(text, "{}", read!(bytes, i64)),
        DataType::F16 => write!(text, "{}", read!(bytes, f16)),
        DataType::F32 => write!(text, "{}", read!(bytes, f32)),
        DataType::F64 => write!(text, "{}", read!(bytes, f64)),
        DataType::C64 => write!(text, "{}{:+}j", read!(first, f32), read!(second, f32)),
        DataType::C128 => write!(text, "{}{:+}j", read!(first, f64), read!(second, f64)),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_the_value() {
        let text = |bytes: &[u8], data_type| {
            let mut text = String::new();
            write_text(&mut text, bytes, data_type);
            text
        };
        assert_eq!(text(&(-7i16).to_ne_bytes(), DataType::I16), "-7");
        assert_eq!(text(&0.1f32.to_ne_bytes(), DataType::F32), "0.1");
        assert_eq!(text(&f64::NAN.to_ne_bytes(), DataType::F64), "NaN");
        assert_eq!(text(&[1.5f32.to_ne_bytes(), (-2f32).to_ne_bytes()].concat(), DataType::C64), "1.5-2j");
        assert_eq!(text(&u64::MAX.to_ne_bytes(), DataType::U64), "18446744073709551615");
    }
}
