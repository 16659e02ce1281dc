//! The values of one pixel.

use crate::answer::{Answer, Refusal, json_answer, number};
use crate::opened::{Level, Opened};
use crate::reduced::Made;
use serde_json::{Value, json};
use strile::number::{is_complex, is_float, magnitude, reader};
use strile::{Context, DataType, Window};

/// Answers with the values of all bands at a pixel, its position in the file's reference system, and its longitude and
/// latitude.
pub(super) fn value(
    opened: &Opened,
    (number_of_level, level): (usize, Level),
    (x, y): (f64, f64),
    made: Option<&Made>,
    context: &Context,
) -> Result<Answer, Refusal> {
    let inside = |place: f64, size: u32| (0.0..f64::from(size)).contains(&place).then_some(place.floor());
    let found = inside(x, level.width).zip(inside(y, level.height));
    let outside =
        || Refusal::bad(format!("pixel {x}, {y} lies outside of {} × {} pixels", level.width, level.height));
    let (x, y) = found.ok_or_else(outside)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "inside of the level, checked"
    )]
    let window = Window::new(x as u32, y as u32, 1, 1);
    let bands = opened.all_bands();
    let samples = opened.read(&level, window, &bands, made, context)?;
    let size = samples.data_type.size();
    let values: Vec<Value> =
        samples.pixels.chunks_exact(size).map(|sample| exact(sample, samples.data_type)).collect();
    let valid = samples.valid.as_ref().and_then(|valid| valid.first()).is_none_or(|valid| *valid != 0);
    let (native, degrees) = places(opened, &level, (x + 0.5, y + 0.5));
    let ([east, north], [longitude, latitude]) = (native.unwrap_or_default(), degrees.unwrap_or_default());
    let mut told = json!({
        "values": values, "valid": valid, "column": x, "row": y, "level": number_of_level,
        "x": east, "y": north, "lon": longitude, "lat": latitude,
    });
    if is_complex(samples.data_type)
        && let Some(map) = told.as_object_mut()
    {
        let part = |sample: &[u8], at: usize| {
            let half = size / 2;
            number(sample.get(at * half..(at + 1) * half).map_or(0.0, reader(samples.data_type)))
        };
        let parts = samples.pixels.chunks_exact(size).map(|sample| json!([part(sample, 0), part(sample, 1)]));
        map.insert("complex".into(), parts.collect());
    }
    Ok(json_answer(&told))
}

/// Returns a position of a level in the file's reference system, and in degrees.
pub(super) fn places(
    opened: &Opened,
    level: &Level,
    (x, y): (f64, f64),
) -> (Option<[Value; 2]>, Option<[Value; 2]>) {
    let scale = |place: f64, full: u32, size: u32| place * f64::from(full) / f64::from(size);
    let (x, y) = (scale(x, opened.width, level.width), scale(y, opened.height, level.height));
    let Some(transform) = opened.input.metadata().georeference.transform else { return (None, None) };
    let (east, north) = transform.to_world(x, y);
    let degrees = opened.to_degrees().and_then(|degrees| degrees.transform(east, north));
    (
        Some([number(east), number(north)]),
        degrees.map(|(longitude, latitude)| [number(longitude), number(latitude)]),
    )
}

/// Returns a sample as JSON: integers exactly, non-finite floats as text.
pub(super) fn exact(sample: &[u8], data_type: DataType) -> Value {
    let value = magnitude(data_type)(sample);
    match (data_type, sample.first_chunk::<8>()) {
        (DataType::U64, Some(raw)) => json!(u64::from_ne_bytes(*raw)),
        (DataType::I64, Some(raw)) => json!(i64::from_ne_bytes(*raw)),
        _ if value.is_nan() => json!("nan"),
        _ if value == f64::INFINITY => json!("inf"),
        _ if value == f64::NEG_INFINITY => json!("-inf"),
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 32 bits")]
        _ if !is_float(data_type) => json!(value as i64),
        _ => number(value),
    }
}
