//! The nodata value (tag GDAL_NODATA, 42113): converts its text to a number and a sample.
//!
//! Integers are kept exactly, whatever their size, so that 64-bit values survive. A text that is not a number gives no
//! value; text after the number is dropped with a warning.

use super::number::print;
use crate::geo::GeoWarningCode as Code;
use crate::half::{from_half, to_half};
use crate::{DataType, FieldValue, Tag, Warning, Warnings};

/// A nodata value as the file states it, not yet bound to a sample type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoData {
    /// An integer that fits 64 bits, signed or unsigned.
    Integer(i128),
    /// Any other number, including infinities and NaN.
    Float(f64),
}

impl NoData {
    /// Parses the tag's text.
    pub fn parse(text: &str, warnings: &mut Warnings) -> Option<Self> {
        let place = "GDAL_NODATA";
        let text = text.split('\0').next().unwrap_or("").trim();
        if text.is_empty() {
            return None;
        }
        // Long texts are not numbers; their beginning is enough to show them.
        let shown: String = text.chars().take(40).collect();
        let (value, rest) = match read(text) {
            Some(found) => found,
            None => {
                let message = format!("expected a number, got `{}`; ignored", shown.escape_debug());
                warnings.push(Warning::new(Code::BadNoData, place, message));
                return None;
            }
        };
        if !rest.is_empty() {
            let message = format!("`{}` has something behind its number; ignored", shown.escape_debug());
            warnings.push(Warning::new(Code::BadNoData, place, message));
        }
        Some(value)
    }

    /// Returns the tag's text, as GDAL prints it: integers exactly, others with enough digits to restore them.
    pub fn to_text(self) -> String {
        match self {
            Self::Integer(v) => v.to_string(),
            Self::Float(v) => print(v),
        }
    }

    /// Returns the tag.
    pub fn to_field(self) -> (Tag, FieldValue) {
        (Tag::GDAL_NODATA, FieldValue::Text(self.to_text()))
    }

    /// Returns the nearest `f64`.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(v) => nearest(v),
            Self::Float(v) => v,
        }
    }

    /// Returns the exact integer, if it is one.
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::Integer(v) => Some(v),
            Self::Float(v) => whole(v),
        }
    }

    /// Returns the value that samples of this type are compared with and that is reported for them: rounded to the
    /// precision of the type, as in GDAL. `None` if the type cannot hold anything close to it.
    pub fn for_type(self, data_type: DataType) -> Option<Self> {
        let (low, high) = match data_type {
            DataType::F64 | DataType::C128 | DataType::F16 => return Some(self.float(|v| v)),
            DataType::F32 | DataType::C64 => return Some(self.float(|v| f64::from(to_f32(v)))),
            DataType::U8 => (0, i128::from(u8::MAX)),
            DataType::I8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
            DataType::U16 => (0, i128::from(u16::MAX)),
            DataType::I16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
            DataType::U32 => (0, i128::from(u32::MAX)),
            DataType::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
            DataType::U64 => (0, i128::from(u64::MAX)),
            DataType::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        match self.as_integer() {
            Some(v) => (low..=high).contains(&v).then_some(Self::Integer(v)),
            // A fraction within the range of the type equals none of its samples.
            None => (nearest(low)..=nearest(high)).contains(&self.as_f64()).then_some(self),
        }
    }

    /// Returns the value for samples of this type that are stored inverted: 0 is white. A value that they cannot have
    /// is unchanged.
    pub fn inverted(self, data_type: DataType) -> Self {
        let highest: i128 = match data_type {
            DataType::U8 => u8::MAX.into(),
            DataType::U16 => u16::MAX.into(),
            DataType::U32 => u32::MAX.into(),
            DataType::U64 => u64::MAX.into(),
            DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64 => return self,
            _ => return self.float(|value| -value),
        };
        match self.as_integer() {
            Some(value) if (0..=highest).contains(&value) => Self::Integer(highest - value),
            _ => self,
        }
    }

    fn float(self, round: impl Fn(f64) -> f64) -> Self {
        Self::Float(round(self.as_f64()))
    }

    /// Returns the nodata sample, in native byte order in the first `data_type.size()` bytes. `None` if no sample of
    /// the type equals it.
    pub fn to_sample(self, data_type: DataType) -> Option<[u8; 16]> {
        let mut out = [0; 16];
        let mut put = |bytes: &[u8]| {
            if let Some(slot) = out.get_mut(..bytes.len()) {
                slot.copy_from_slice(bytes);
            }
        };
        let integer = || self.as_integer();
        match data_type {
            DataType::U8 => put(&u8::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::I8 => put(&i8::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::U16 => put(&u16::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::I16 => put(&i16::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::U32 => put(&u32::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::I32 => put(&i32::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::U64 => put(&u64::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::I64 => put(&i64::try_from(integer()?).ok()?.to_ne_bytes()),
            DataType::F16 => {
                // GDAL widens half floats and compares them with the unrounded value.
                let half = to_half(self.as_f64());
                let equal = from_half(half) == self.as_f64() || self.as_f64().is_nan();
                put(&equal.then_some(half)?.to_ne_bytes());
            }
            DataType::F32 | DataType::C64 => put(&to_f32(self.as_f64()).to_ne_bytes()),
            DataType::F64 | DataType::C128 => put(&self.as_f64().to_ne_bytes()),
        }
        Some(out)
    }

    /// Adds a warning if samples of this type cannot hold the value.
    pub fn check(self, data_type: DataType, warnings: &mut Warnings) {
        if self.to_sample(data_type).is_none() {
            let message =
                format!("{} cannot be a sample of type {data_type}; no sample is nodata", self.as_f64());
            warnings.push(Warning::new(Code::BadNoData, "GDAL_NODATA", message));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest value is what is asked for")]
fn nearest(v: i128) -> f64 {
    v as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the precision of the samples is the purpose"
)]
fn to_f32(v: f64) -> f32 {
    v as f32
}

/// Returns the float as an integer, if it is one that fits 64 bits.
fn whole(v: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "the value is whole and below 2^65")]
    (v.fract() == 0.0 && v.abs() < 36_893_488_147_419_103_232.0).then_some(v as i128)
}

/// Returns the number at the beginning of a text, and the rest.
fn read(text: &str) -> Option<(NoData, &str)> {
    // Output of printf on several systems for values that are not finite.
    const WORDS: [(&str, f64); 11] = [
        ("-1.#QNAN", f64::NAN),
        ("1.#QNAN", f64::NAN),
        ("-1.#IND", f64::NAN),
        ("-1.#INF", f64::NEG_INFINITY),
        ("1.#INF", f64::INFINITY),
        ("-nan", f64::NAN),
        ("nan", f64::NAN),
        ("-infinity", f64::NEG_INFINITY),
        ("infinity", f64::INFINITY),
        ("-inf", f64::NEG_INFINITY),
        ("inf", f64::INFINITY),
    ];
    for (word, value) in WORDS {
        if text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)) {
            return Some((NoData::Float(value), text.get(word.len()..)?.trim_start()));
        }
    }
    let end = number_end(text.as_bytes());
    let (number, rest) = text.split_at_checked(end)?;
    // Software with a local decimal comma.
    let value = number.replace(',', ".");
    if let Ok(integer) = value.parse::<i128>()
        && (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer)
    {
        return Some((NoData::Integer(integer), rest));
    }
    let float: f64 = value.parse().ok()?;
    // "-0.0" and "255.0" are integers; the sign of zero is irrelevant for a comparison.
    Some((
        whole(float).filter(|v| v.unsigned_abs() < 1 << 53).map_or(NoData::Float(float), NoData::Integer),
        rest,
    ))
}

/// Returns the end of a decimal number with optional sign, fraction and exponent.
fn number_end(text: &[u8]) -> usize {
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let digits = |mut i: usize| {
        while at(i).is_ascii_digit() {
            i += 1;
        }
        i
    };
    let start = usize::from(matches!(at(0), b'+' | b'-'));
    let mut end = digits(start);
    if matches!(at(end), b'.' | b',') && (end > start || at(end + 1).is_ascii_digit()) {
        end = digits(end + 1);
    }
    if end > start && matches!(at(end), b'e' | b'E') {
        let exponent = end + 1 + usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(exponent).is_ascii_digit() {
            end = digits(exponent);
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same_value() {
        for (value, text) in [
            (NoData::Integer(i128::from(u64::MAX)), "18446744073709551615"),
            (NoData::Integer(i128::from(i64::MIN)), "-9223372036854775808"),
            (NoData::Integer(-9999), "-9999"),
            (NoData::Float(f64::from(f32::MIN)), "-3.4028234663852886e+38"),
            (NoData::Float(0.1), "0.10000000000000001"),
            (NoData::Float(f64::NEG_INFINITY), "-inf"),
        ] {
            assert_eq!(value.to_text(), text);
            assert_eq!(NoData::parse(text, &mut Warnings::new()), Some(value));
        }
        assert_eq!(NoData::Float(f64::NAN).to_text(), "nan");
    }

    fn parse(text: &str) -> (Option<NoData>, usize) {
        let mut warnings = Warnings::new();
        let value = NoData::parse(text, &mut warnings);
        (value, warnings.len())
    }

    fn f32_sample(text: &str) -> f32 {
        let sample = parse(text).0.unwrap().to_sample(DataType::F32).unwrap();
        f32::from_ne_bytes(sample[..4].try_into().unwrap())
    }

    #[test]
    fn whole_numbers_are_exact_at_64_bits() {
        for (text, dt) in [
            ("18446744073709551615", DataType::U64),
            ("-9223372036854775808\0", DataType::I64),
            ("9223372036854775807", DataType::I64),
        ] {
            let value = parse(text).0.unwrap();
            assert_eq!(value.as_integer().unwrap().to_string(), text.trim_end_matches('\0'));
            assert!(value.to_sample(dt).is_some());
        }
        let max = parse("18446744073709551615").0.unwrap();
        assert_eq!(max.to_sample(DataType::U64).unwrap()[..8], u64::MAX.to_ne_bytes());
        assert_eq!(max.to_sample(DataType::I64), None);
        assert_eq!(parse("255.0").0, Some(NoData::Integer(255)));
        assert_eq!(parse("1e3").0, Some(NoData::Integer(1000)));
    }

    #[test]
    fn values_out_of_range_have_no_sample() {
        for (text, dt) in
            [("256", DataType::U8), ("-1", DataType::U16), ("128", DataType::I8), ("nan", DataType::U8)]
        {
            let value = parse(text).0.unwrap();
            assert_eq!((value.to_sample(dt), value.for_type(dt)), (None, None), "{text}");
            let mut warnings = Warnings::new();
            value.check(dt, &mut warnings);
            assert_eq!(warnings.len(), 1);
        }
        // GDAL reports 1.5 for bytes, though no byte equals it.
        let fraction = parse("1.5").0.unwrap();
        assert_eq!(fraction.for_type(DataType::U8), Some(NoData::Float(1.5)));
        assert_eq!(fraction.to_sample(DataType::U8), None);
    }

    #[test]
    fn floats_are_rounded_to_the_samples_as_gdal_does() {
        assert_eq!(f32_sample("-3.40282300000000000e+38"), -3.402823e38);
        assert_eq!(f32_sample("-3.4028234663852886e+38"), f32::MIN);
        assert_eq!(f32_sample("-3.4028235e+38"), f32::MIN);
        assert_eq!(f32_sample("-1.7976931348623157e+308"), f32::NEG_INFINITY);
        let value = parse("0.1").0.unwrap();
        assert_eq!(value.for_type(DataType::F32), Some(NoData::Float(0.10000000149011612)));
        assert_eq!(value.for_type(DataType::F64), Some(NoData::Float(0.1)));
    }

    #[test]
    fn words_for_what_is_not_finite() {
        for text in ["nan", "NaN", "-nan", "1.#QNAN", "-1.#IND", "nan "] {
            assert!(f32_sample(text).is_nan(), "{text}");
        }
        assert_eq!(f32_sample("-1.#INF"), f32::NEG_INFINITY);
        assert_eq!(f32_sample("inf"), f32::INFINITY);
        assert_eq!(f32_sample("1e400"), f32::INFINITY);
    }

    #[test]
    fn junk_is_told() {
        assert_eq!(parse("12abc"), (Some(NoData::Integer(12)), 1));
        assert_eq!(parse("1,5"), (Some(NoData::Float(1.5)), 0));
        assert_eq!(parse("abc"), (None, 1));
        assert_eq!(parse("-"), (None, 1));
        assert_eq!(parse("."), (None, 1));
        assert_eq!(parse(" \0"), (None, 0));
        assert_eq!(parse(&"9".repeat(500)), (Some(NoData::Float(f64::INFINITY)), 0));
    }

    #[test]
    fn numbers_between_half_floats_are_no_sample() {
        let sample = |value| NoData::Float(value).to_sample(DataType::F16);
        for value in [-9999.0, -32768.5, 0.1, 1e6, 1e-9] {
            assert_eq!(sample(value), None, "{value}");
        }
        for value in [0.0, -2.5, 65504.0, -32768.0, 5.960464477539063e-08, f64::INFINITY, f64::NAN] {
            assert!(sample(value).is_some(), "{value}");
        }
    }
}
