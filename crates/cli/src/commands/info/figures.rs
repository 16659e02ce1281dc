//! Statistics, histograms and checksums of bands, as JSON and as text.

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::geo::{cutline, number};
use crate::input::Session;
use crate::progress::Bar;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use strile::measure::{BandFigures, MeasureOptions};
use strile::{Context, Input};

/// Returns the requested measurements, one object per band; `None` if none were requested.
pub fn measured(
    input: &Input,
    args: &InfoArgs,
    session: &Session,
    context: &Context,
) -> Result<Option<Value>, Failure> {
    let polygon = cutline(&args.polygon)?;
    if !(args.stats || args.hist || args.checksum) {
        if polygon.is_some() {
            let hint =
                "-cutline counts pixels of statistics and histograms: add --stats or --hist, or leave it out";
            return Err(Failure::Request(hint.to_owned(), None));
        }
        return Ok(None);
    }
    let mut options =
        MeasureOptions::new().statistics(args.stats).histogram(args.hist).checksum(args.checksum);
    options.polygon = polygon.map(Arc::new);
    let bar = Bar::new(input.measured_blocks(&options, context)?, session.quiet);
    let context = Context { progress: bar.map(|bar| bar as _), ..context.clone() };
    let figures = input.measure(&options, &context)?;
    Ok(Some(figures.iter().map(band).collect()))
}

fn band(band: &BandFigures) -> Value {
    let mut told = Map::new();
    told.insert("band".into(), band.band.into());
    if let Some(statistics) = band.statistics {
        let values = statistics.values;
        told.insert(
            "statistics".into(),
            json!({
                "minimum": values.map(|v| number(v.minimum)),
                "maximum": values.map(|v| number(v.maximum)),
                "mean": values.map(|v| number(v.mean)),
                "standard_deviation": values.map(|v| number(v.deviation)),
                "valid": statistics.valid,
                "missing": statistics.missing,
            }),
        );
    }
    if let Some(histogram) = &band.histogram {
        told.insert(
            "histogram".into(),
            json!({"minimum": histogram.minimum, "maximum": histogram.maximum, "counts": histogram.counts}),
        );
    }
    if let Some(checksum) = band.checksum {
        told.insert("checksum".into(), checksum.into());
    }
    told.into()
}

/// Formats measurements as lines of text.
pub fn lines(figures: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for band in figures.as_array().into_iter().flatten() {
        let title = format!("band {}", band["band"]);
        let mut told = Vec::new();
        if let Some(s) = band.get("statistics") {
            told.push(match s["valid"].as_u64() {
                Some(0) => format!("no valid sample, {} missing", s["missing"]),
                _ => format!(
                    "minimum {}, maximum {}, mean {}, standard deviation {}, {} valid, {} missing",
                    s["minimum"], s["maximum"], s["mean"], s["standard_deviation"], s["valid"], s["missing"]
                ),
            });
        }
        if let Some(checksum) = band.get("checksum") {
            told.push(format!("checksum {checksum}"));
        }
        if let Some(h) = band.get("histogram") {
            let counts: Vec<String> =
                h["counts"].as_array().into_iter().flatten().map(Value::to_string).collect();
            told.push(format!(
                "{} buckets from {} to {}: {}",
                counts.len(),
                h["minimum"],
                h["maximum"],
                counts.join(" ")
            ));
        }
        lines.extend(told.into_iter().map(|line| format!("{title}: {line}")));
    }
    lines
}
