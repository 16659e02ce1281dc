//! Timeline in the JSON format of Perfetto and chrome://tracing: one process per file, one track per thread or stream.

use super::measure::Bench;
use crate::Failure;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile::engine::{Slice, Trace};
use strile::{Context, Dataset};

/// Track of the call itself, which every engine has.
const CALL: &str = "call";

/// Reads every file once more with a trace.
pub fn record(bench: &Bench, files: &[PathBuf]) -> Result<Value, Failure> {
    let mut events = Vec::new();
    for (file, process) in files.iter().zip(1u32..) {
        let trace = Arc::new(Trace::default());
        let context = Context { trace: Some(Arc::clone(&trace)), ..bench.context.clone() };
        let begin = Instant::now();
        let dataset = Dataset::open(file)?;
        let opened = Instant::now();
        bench.pixels(&dataset, &bench.options, &context)?;
        let done = Instant::now();
        let call = |name, start, end| Slice {
            track: CALL.to_owned(),
            name,
            batch: 0,
            start: trace.at(start),
            end: trace.at(end),
        };
        trace.add(call("open", begin, opened));
        trace.add(call("plan and read", opened, done));
        events.extend(process_events(process, &file.display().to_string(), &trace.slices()));
    }
    Ok(json(events))
}

/// Returns all events of a trace as JSON.
pub fn json(events: Vec<Value>) -> Value {
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}

/// Returns the tracks: the call first, then the others by name.
fn tracks(slices: &[Slice]) -> Vec<&str> {
    let mut names: Vec<&str> = slices.iter().map(|slice| slice.track.as_str()).collect();
    names.sort_unstable_by_key(|name| (*name != CALL, *name));
    names.dedup();
    names
}

/// Returns the events of one process of the timeline.
pub fn process_events(process: u32, file: &str, slices: &[Slice]) -> Vec<Value> {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let mut events =
        vec![json!({ "ph": "M", "name": "process_name", "pid": process, "args": { "name": file } })];
    for (track, thread) in tracks(slices).into_iter().zip(1u32..) {
        let named = json!({ "name": track });
        events
            .push(json!({ "ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": named }));
        let order = json!({ "sort_index": thread });
        events.push(
            json!({ "ph": "M", "name": "thread_sort_index", "pid": process, "tid": thread, "args": order }),
        );
        for slice in slices.iter().filter(|slice| slice.track == track) {
            events.push(json!({
                "ph": "X",
                "name": slice.name,
                "cat": "strile",
                "pid": process,
                "tid": thread,
                "ts": micros(slice.start),
                "dur": micros(slice.end.saturating_sub(slice.start)),
                "args": { "batch": slice.batch },
            }));
        }
    }
    events
}
