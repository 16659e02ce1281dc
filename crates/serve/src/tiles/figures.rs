//! Values at a point, and statistics of bands, in titiler's format.

use crate::answer::{Answer, Counted, Refusal, json_answer, number};
use crate::figures::Figures;
use crate::opened::{Level, Opened};
use crate::reduced::Made;
use crate::request::{Asked, parsed};
use serde_json::{Map, Value, json};
use strile::{Context, ReadOptions};

/// Bands used if none is named.
const FIRST: u16 = 16;

/// Parses longitude and latitude, `9.5,46.2`.
pub(super) fn place(text: &str) -> Result<(f64, f64), Refusal> {
    let wrong = || Refusal::bad("expected /point/LONGITUDE,LATITUDE in degrees");
    let (longitude, latitude) = text.split_once(',').ok_or_else(wrong)?;
    let (longitude, latitude): (f64, f64) = (parsed("longitude", longitude)?, parsed("latitude", latitude)?);
    let is_place = (-360.0..=360.0).contains(&longitude) && (-90.0..=90.0).contains(&latitude);
    is_place.then_some((longitude, latitude)).ok_or_else(wrong)
}

/// Answers with values at a point in degrees.
pub(super) fn point(
    opened: &Opened,
    (longitude, latitude): (f64, f64),
    asked: &Asked,
    context: &Context,
) -> Result<Answer, Refusal> {
    let none = || {
        Refusal::unable(
            "longitude and latitude cannot be found in this file: its reference system is not known",
        )
    };
    let to_degrees = opened.to_degrees().ok_or_else(none)?;
    let outside = || Refusal::not_found(format!("{longitude}, {latitude} lies outside the image"));
    let (x, y) = to_degrees.inverse().transform(longitude, latitude).ok_or_else(outside)?;
    let mut bands = asked.bands("bidx", opened.bands)?;
    if bands.is_empty() {
        bands = opened.all_bands();
    }
    let options = ReadOptions::new().bands(bands.iter().copied());
    let samples = opened.input.sample(&[(x, y)], &options, context).map_err(|error| opened.blame(error))?;
    if samples.inside.first() != Some(&true) {
        return Err(outside());
    }
    let read = strile::number::magnitude(samples.data_type);
    let all = samples.values.chunks_exact(samples.data_type.size()).zip(&samples.valid);
    let values: Vec<Value> =
        all.map(|(sample, valid)| if *valid { number(read(sample)) } else { Value::Null }).collect();
    let names: Vec<String> = bands.iter().map(|band| format!("b{band}")).collect();
    Ok(json_answer(&json!({"coordinates": [longitude, latitude], "values": values, "band_names": names})))
}

/// Answers with statistics of bands, by their names.
pub(super) fn statistics(
    opened: &Opened,
    level: Level,
    asked: &Asked,
    made: Option<&Made>,
    context: &Context,
) -> Result<Answer, Refusal> {
    let mut bands = asked.bands("bidx", opened.bands)?;
    if bands.is_empty() {
        bands = (1..=opened.bands.min(FIRST)).collect();
    }
    let mut told = Map::new();
    // Samples of one band, and their numbers.
    let _counted = Counted::take(context, level.width as usize * level.height as usize * 24)?;
    for band in bands {
        let samples = opened.read(&level, level.window(), &[band], made, context)?;
        told.insert(format!("b{band}"), figures(&Figures::of(samples.numbers(0), samples.plane())));
    }
    Ok(json_answer(&Value::Object(told)))
}

#[expect(clippy::cast_precision_loss, reason = "counts of at most a few million")]
fn figures(figures: &Figures) -> Value {
    let (low, high) = (figures.sorted.first().copied(), figures.sorted.last().copied());
    let counts = figures.histogram();
    let edges: Option<Vec<Value>> = low.zip(high).map(|(low, high)| {
        let edge = |at: usize| number(low + (high - low) * at as f64 / counts.len() as f64);
        (0..=counts.len()).map(edge).collect()
    });
    let (valid, all) = (figures.sorted.len(), figures.sorted.len() + figures.missing);
    json!({
        "min": low.map(number),
        "max": high.map(number),
        "mean": number(figures.mean),
        "std": number(figures.deviation),
        "count": valid,
        "median": figures.percentile(50.0).map(number),
        "percentile_2": figures.percentile(2.0).map(number),
        "percentile_98": figures.percentile(98.0).map(number),
        "histogram": [counts, edges],
        "valid_pixels": valid,
        "masked_pixels": figures.missing,
        "valid_percent": number(100.0 * valid as f64 / all.max(1) as f64),
    })
}

/// Returns the range for stretching a band.
pub(super) fn range(
    opened: &Opened,
    level: Level,
    band: u16,
    made: Option<&Made>,
    context: &Context,
) -> Result<(f64, f64), Refusal> {
    let _counted = Counted::take(context, level.width as usize * level.height as usize * 24)?;
    let samples = opened.read(&level, level.window(), &[band], made, context)?;
    let figures = Figures::of(samples.numbers(0), samples.plane());
    let range = figures.percentile(2.0).zip(figures.percentile(98.0));
    Ok(range.unwrap_or((0.0, 255.0)))
}
