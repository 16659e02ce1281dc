//! Formats measurements as text and JSON.

use super::measure::{Bench, Link, Measured, Read};
use super::name;
use crate::aligned;
use serde_json::{Value, json};
use std::time::Duration;

/// Formats one line per file, with stages if a device was used.
pub fn text(measured: &[(String, Measured)], bench: &Bench, link: Option<Link>) -> String {
    let stages = measured.iter().any(|(_, found)| found.device != "cpu");
    let head = ["file", "device", "threads", "decoded", "seconds", "median", "GB/s"];
    let more =
        ["of floor", "open", "plan", "read", "copy", "decode", "place", "host", "on device", "on host"];
    let names = head.iter().chain(stages.then_some(&more).into_iter().flatten());
    let mut rows = vec![names.map(|name| (*name).to_owned()).collect()];
    rows.extend(measured.iter().map(|(file, found)| row(file, found, bench, link, stages)));
    let mut text = aligned(&rows);
    if let Some(Link { rate, measured }) = link {
        let how = if measured { "measured by a pinned copy" } else { "as was said" };
        text.push_str(&format!("\nfloor: the bytes of a read over a bus of {:.1} GB/s, {how}", rate / 1e9));
    }
    text
}

fn row(file: &str, found: &Measured, bench: &Bench, link: Option<Link>, stages: bool) -> Vec<String> {
    let Read { open, whole, report } = found.median();
    let mut row = vec![
        file.to_owned(),
        found.device.clone(),
        bench.context.threads.to_string(),
        strile::bytes::human(found.bytes),
        format!("{:.4}", found.best()),
        format!("{:.4}", whole.as_secs_f64()),
        format!("{:.2}", found.gigabytes_per_second()),
    ];
    if stages {
        let percent = found.percent_of_floor(bench.to, link);
        row.push(percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent:.0} %")));
        let times = report.times;
        let stage = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
        row.extend(
            [open, found.plan, times.read, times.copy, times.decode, times.place, times.host].map(stage),
        );
        let (all, host) = (report.blocks, report.host_blocks);
        row.extend([all.saturating_sub(host), host].map(|blocks| blocks.to_string()));
    }
    row
}

/// Formats one file as JSON.
pub fn json(file: &str, found: &Measured, bench: &Bench, link: Option<Link>) -> Value {
    let Read { open, whole, report } = found.median();
    let times = report.times;
    let floor = found.floor(bench.to, link).zip(link).map(|(seconds, link)| {
        json!({
            "seconds": seconds,
            "percent": found.percent_of_floor(bench.to, Some(link)),
            "link_gigabytes_per_second": link.rate / 1e9,
            "link": if link.measured { "measured" } else { "stated" },
        })
    });
    json!({
        "file": file,
        "device": found.device,
        "to": name(bench.to),
        "threads": bench.context.threads,
        "bytes": found.bytes,
        "seconds": found.best(),
        "median_seconds": whole.as_secs_f64(),
        "gigabytes_per_second": found.gigabytes_per_second(),
        "repeat": bench.repeat,
        "blocks": report.blocks,
        "host_blocks": report.host_blocks,
        "encoded_bytes": report.encoded_bytes,
        "floor": floor,
        "stages": {
            "open": open.as_secs_f64(),
            "plan": found.plan.as_secs_f64(),
            "read": times.read.as_secs_f64(),
            "copy": times.copy.as_secs_f64(),
            "decode": times.decode.as_secs_f64(),
            "place": times.place.as_secs_f64(),
            "host": times.host.as_secs_f64(),
            "whole": whole.as_secs_f64(),
        },
    })
}
