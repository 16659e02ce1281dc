//! Statistics of bands, from a small level.

use crate::answer::{Answer, Counted, Refusal, json_answer, number};
use crate::figures::{Figures, PERCENTILES};
use crate::opened::{Level, Opened};
use crate::reduced::Made;
use crate::request::Asked;
use serde_json::{Map, Value, json};
use strile::Context;

/// Maximum side of the level used.
pub(super) const SIDE: u32 = 1024;
/// Bands used if none is named.
const FIRST: u16 = 16;

pub(super) fn statistics(
    opened: &Opened,
    (number_of_level, level): (usize, Level),
    asked: &Asked,
    made: Option<&Made>,
    context: &Context,
) -> Result<Answer, Refusal> {
    asked.only(&["bands"])?;
    let mut bands = asked.bands("bands", opened.bands)?;
    if bands.is_empty() {
        bands = (1..=opened.bands.min(FIRST)).collect();
    }
    let mut told = Vec::with_capacity(bands.len());
    let draft = made.and_then(Made::draft);
    // Samples of one band, and their numbers.
    let _counted = Counted::take(context, level.width as usize * level.height as usize * 24)?;
    for band in bands {
        let samples = opened.read(&level, level.window(), &[band], made, context)?;
        let mut one = figures(band, &Figures::of(samples.numbers(0), samples.plane()));
        if let Some(map) = one.as_object_mut() {
            map.insert("level".into(), number_of_level.into());
            map.insert("draft".into(), draft.into());
        }
        told.push(one);
    }
    Ok(json_answer(&Value::Array(told)))
}

/// Returns the statistics of a band as JSON.
pub(crate) fn figures(band: u16, figures: &Figures) -> Value {
    let percentiles: Map<String, Value> = PERCENTILES
        .iter()
        .map(|percent| {
            (percent.to_string(), figures.percentile(f64::from(*percent)).map_or(Value::Null, number))
        })
        .collect();
    json!({
        "band": band,
        "valid": figures.sorted.len(),
        "missing": figures.missing,
        "min": figures.sorted.first().copied().map(number),
        "max": figures.sorted.last().copied().map(number),
        "mean": number(figures.mean),
        "std": number(figures.deviation),
        "percentiles": percentiles,
        "histogram": {
            "from": figures.sorted.first().copied().map(number),
            "to": figures.sorted.last().copied().map(number),
            "counts": figures.histogram(),
        },
    })
}
