//! Formats the facts of a file as text: sections of aligned lines. Missing facts are not mentioned.

use crate::output::table;
use serde_json::Value;
use strile::bytes::human;
use strile::tiff::printable;

/// Longer lists end with the number of omitted elements.
const MOST: usize = 20;

/// Lines of `name  value`.
#[derive(Default)]
struct Lines(Vec<(&'static str, String)>);

impl Lines {
    fn add(&mut self, name: &'static str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.push((name, value));
        }
    }

    fn section(&self, title: &str) -> String {
        let lines = self.0.iter().map(|(name, value)| format!("  {name:<14} {value}"));
        std::iter::once(title.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
    }
}

/// Formats a value as one line of text, whatever the file contains.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => printable(text).into_owned(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn joined(value: &Value) -> String {
    let all = list(value);
    let shown = all.iter().take(MOST).map(text).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn size(image: &Value) -> String {
    format!("{} × {}", text(&image["width"]), text(&image["height"]))
}

fn bytes(value: &Value) -> String {
    value.as_u64().map(human).unwrap_or_default()
}

fn blocks(image: &Value) -> String {
    let blocks = &image["blocks"];
    let of = |key: &str| text(&blocks[key]);
    let kind = of("kind");
    // One block is a strip, several are strips.
    let kind = if blocks["count"].as_u64() == Some(1) { kind.trim_end_matches('s') } else { &kind };
    format!("{} {kind} of {} × {}", of("count"), of("width"), of("height"))
}

/// Formats all sections of one file.
pub fn describe(facts: &Value, plan: Option<&str>) -> String {
    let pages = list(&facts["pages"]);
    let mut file = Lines::default();
    file.add("size", bytes(&facts["size"]));
    let order = facts["byte_order"].as_str().map(|order| format!(", {order}-endian"));
    file.add("format", format!("{}{}", text(&facts["format"]), order.unwrap_or_default()));
    file.add("pages", pages.len().to_string());
    let mut sections = vec![file.section(&text(&facts["file"]))];
    for (number, page) in pages.iter().enumerate().take(MOST) {
        sections.push(image(page, &format!("page {number}")));
    }
    if pages.len() > MOST {
        sections.push(format!("and {} more pages", pages.len() - MOST));
    }
    sections.extend(place(&facts["geo"]));
    sections.extend(bands(list(&facts["bands"])));
    let figures = super::figures::lines(&facts["figures"]);
    if !figures.is_empty() {
        sections.push(format!("figures\n  {}", figures.join("\n  ")));
    }
    sections.extend(metadata(list(&facts["metadata"])));
    sections.extend(warnings(list(&facts["warnings"])));
    if let Some(plan) = plan {
        let lines: Vec<String> = plan.lines().map(|line| format!("  {line}")).collect();
        sections.push(format!("plan of a whole read\n{}", lines.join("\n")));
    }
    sections.join("\n\n")
}

fn image(page: &Value, title: &str) -> String {
    let mut lines = Lines::default();
    lines.add("size", format!("{} pixels", size(page)));
    let stored = match &page["mixed_bits"] {
        Value::Null => text(&page["sample"]),
        bits => format!("{} bits", joined(bits)),
    };
    let dtype = page["dtype"].as_str().unwrap_or("no type");
    let bands = format!("{} × {dtype}", text(&page["bands"]));
    if !page["sources"].is_null() {
        lines.add("bands", bands);
        lines.add("sources", text(&page["sources"]));
        return lines.section("mosaic");
    }
    lines.add("bands", format!("{bands} ({stored})"));
    let predictor = match page["predictor"].as_str() {
        Some("none") | None => String::new(),
        Some(predictor) => format!(", {predictor} predictor"),
    };
    lines.add("compression", format!("{}{predictor}", text(&page["compression"])));
    lines.add("blocks", format!("{}, interleaved by {}", blocks(page), text(&page["interleave"])));
    lines.add("photometric", text(&page["photometric"]));
    lines.add("extra samples", joined(&page["extra_samples"]));
    if page["orientation"].as_u64() != Some(1) {
        lines.add("orientation", format!("{} (not applied)", text(&page["orientation"])));
    }
    if let Some(colours) = page["colour_map"].as_u64() {
        lines.add("colour map", format!("{colours} colours"));
    }
    if page["mask"].is_object() {
        lines.add("mask", mask(page));
    }
    lines.add("decoded", bytes(&page["decoded_bytes"]));
    let mut section = lines.section(title);
    let overviews = list(&page["overviews"]);
    if !overviews.is_empty() {
        let rows: Vec<Vec<String>> = (1usize..)
            .zip(overviews)
            .map(|(at, level)| {
                let name = format!("  level {at}");
                vec![name, size(level), blocks(level), text(&level["compression"]), mask(level)]
            })
            .collect();
        section.push('\n');
        section.push_str(&table(&rows));
    }
    section
}

fn mask(level: &Value) -> String {
    match level.pointer("/mask/sidecar").and_then(Value::as_bool) {
        None => String::new(),
        Some(false) => "mask".into(),
        Some(true) => "mask in a sidecar".into(),
    }
}

fn place(geo: &Value) -> Option<String> {
    let mut lines = Lines::default();
    let crs = &geo["crs"];
    if crs.is_object() {
        let epsg = [&crs["epsg"], &crs["horizontal_epsg"]].into_iter().find_map(Value::as_u64);
        let code = epsg.map(|epsg| format!(" (EPSG:{epsg})")).unwrap_or_default();
        lines.add("system", format!("{}{code}, {}", text(&crs["name"]), text(&crs["kind"])));
        lines.add("unit", text(&crs["unit"]));
        lines.add("heights", crs.pointer("/vertical/name").map(text).unwrap_or_default());
    }
    if let [a, b, c, d, e, f] = list(&geo["transform"]) {
        lines.add("origin", format!("{c}, {f}"));
        lines.add("pixel size", joined(&geo["pixel_size"]));
        if [b, d].iter().any(|v| v.as_f64() != Some(0.0)) || e.as_f64().is_some_and(|e| e > 0.0) {
            lines.add("transform", format!("{a}, {b}, {c}, {d}, {e}, {f}"));
        }
        lines.add("bounds", joined(&geo["bounds"]));
    }
    if geo["gcps"].as_u64().is_some_and(|n| n > 0) {
        lines.add("control points", text(&geo["gcps"]));
    }
    if geo["rpc"].as_bool() == Some(true) {
        lines.add("camera model", "RPC");
    }
    lines.add("sample is", text(&geo["area_or_point"]).to_lowercase());
    lines.add("nodata", text(&geo["nodata"]));
    (!lines.0.is_empty()).then(|| lines.section("georeference"))
}

fn bands(bands: &[Value]) -> Option<String> {
    let line = |band: &Value| {
        let mut parts = vec![text(&band["description"])];
        for key in ["colour", "unit", "scale", "offset"] {
            if !band[key].is_null() {
                parts.push(format!("{key} {}", text(&band[key])));
            }
        }
        let statistics = &band["statistics"];
        if !statistics["minimum"].is_null() || !statistics["maximum"].is_null() {
            parts.push(format!("from {} to {}", text(&statistics["minimum"]), text(&statistics["maximum"])));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(", ")
    };
    let told =
        bands.iter().enumerate().map(|(at, band)| (at + 1, line(band))).filter(|(_, line)| !line.is_empty());
    let told: Vec<String> = told.map(|(number, line)| format!("  {number:<14} {line}")).collect();
    listed("bands", told)
}

fn metadata(items: &[Value]) -> Option<String> {
    let line = |item: &Value| {
        let value = item["value"].as_str().unwrap_or_default();
        let first = value.lines().next().unwrap_or_default();
        let more = if first.len() < value.len() { " …" } else { "" };
        let first = printable(first);
        let domain = match item["domain"].as_str() {
            None | Some("") => String::new(),
            Some(domain) => format!("{}: ", printable(domain)),
        };
        format!("  {domain}{} = {first}{more}", text(&item["name"]))
    };
    listed("metadata", items.iter().map(line).collect())
}

fn warnings(warnings: &[Value]) -> Option<String> {
    let line = |warning: &Value| {
        format!("  {}: {} [{}]", text(&warning["place"]), text(&warning["message"]), text(&warning["code"]))
    };
    listed("warnings", warnings.iter().map(line).collect())
}

fn listed(title: &str, mut lines: Vec<String>) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let left_out = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if left_out > 0 {
        lines.push(format!("  and {left_out} more (`--json` lists all)"));
    }
    Some(format!("{title}\n{}", lines.join("\n")))
}
