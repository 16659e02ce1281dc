//! Layouts for an output that converts: the same stored side, plus the numbers of the conversion.

use super::abi::{LAYOUT_NODATA, Number, PlaceLayout};
use super::{put_strides, small, stored};
use strile_engine::{BlockLayout, Convert, Fill, OutputSpec};
use strile_tiff::DataType;

/// Returns how blocks of a layout are placed in an output that converts them, or why there is no kernel for it;
/// otherwise like [`layout`](super::layout).
pub fn converting_layout(
    block: &BlockLayout,
    out: &OutputSpec,
    convert: &Convert,
    tables: &mut Vec<i32>,
) -> Result<PlaceLayout, String> {
    use DataType as D;
    let number = match block.data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => Number::Unsigned,
        D::I8 | D::I16 | D::I32 | D::I64 => Number::Signed,
        D::F16 | D::F32 | D::F64 => Number::Float,
        D::C64 | D::C128 => return Err(format!("{} converted", block.data_type)),
    };
    let fill = convert.sample(block.data_type, &block.extras.fill, out.data_type);
    let fill = fill.ok_or_else(|| format!("{} into an output of {}", block.data_type, out.data_type))?;
    let mut layout = stored(block, tables)?;
    put_strides(&mut layout, out);
    layout.size = small(out.data_type.size());
    layout.number = number as u8;
    layout.fill = fill.0;
    layout.constants = u32::try_from(tables.len()).map_err(|_| "too many tables")?;
    let nodata = convert.nodata.map(|nodata| extended(block.data_type, &nodata));
    if nodata.is_some() {
        layout.flags |= LAYOUT_NODATA;
    }
    for word in [convert.scale.to_bits(), convert.offset.to_bits(), nodata.unwrap_or(0)] {
        let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
        tables.extend([i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h])]);
    }
    Ok(layout)
}

/// Returns a sample as 64 bits: integers extended, floats as `f64`.
fn extended(data_type: DataType, nodata: &Fill) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = nodata.0;
    match data_type {
        DataType::U8 => a.into(),
        DataType::U16 => u16::from_ne_bytes([a, b]).into(),
        DataType::U32 => u32::from_ne_bytes([a, b, c, d]).into(),
        DataType::I8 => i64::from(a.cast_signed()).cast_unsigned(),
        DataType::I16 => i64::from(i16::from_ne_bytes([a, b])).cast_unsigned(),
        DataType::I32 => i64::from(i32::from_ne_bytes([a, b, c, d])).cast_unsigned(),
        DataType::F16 | DataType::F32 => Convert::value_of(data_type, nodata).unwrap_or(f64::NAN).to_bits(),
        DataType::U64 | DataType::I64 | DataType::F64 | DataType::C64 | DataType::C128 => {
            u64::from_ne_bytes([a, b, c, d, e, f, g, h])
        }
    }
}
