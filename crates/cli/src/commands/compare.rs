//! `strile compare`: differences as text or JSON.

use crate::args::CompareArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::json::print_json;
use crate::output::print;
use serde_json::{Value, json};
use strile::compare::{CompareOptions, Difference};
use strile::tiff::printable;

pub fn run(args: &CompareArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut context = session.context(&args.engine);
    let open = args.remote.open_all([args.a.as_path(), args.b.as_path()], &session.cancel)?;
    let a = session.open(&args.a, &open, &mut context)?;
    let b = session.open(&args.b, &open, &mut context)?;
    session.warn(&a);
    session.warn(&b);
    let mut options = CompareOptions::new()
        .tolerance(args.tolerance)
        .structure(args.structure)
        .decode_on(args.decode.decode_on);
    options.max_pixels = args.engine.max_pixels;
    let found = a.compare(&b, &options, &context)?;
    if args.json {
        let differences: Vec<Value> = found.iter().map(facts).collect();
        print_json(&json!({
            "a": a.name(),
            "b": b.name(),
            "equal": found.is_empty(),
            "differences": differences,
        }))?;
    } else if found.is_empty() {
        if !session.quiet {
            print("equal")?;
        }
    } else {
        let lines: Vec<String> =
            found.iter().map(|found| printable(&found.to_string()).into_owned()).collect();
        print(&lines.join("\n"))?;
    }
    Ok(if found.is_empty() { Outcome::Clean } else { Outcome::Found })
}

fn facts(difference: &Difference) -> Value {
    let samples = difference.samples.as_ref().map(|samples| {
        json!({
            "count": samples.count,
            "compared": samples.compared,
            "first": {
                "band": samples.band,
                "row": samples.row,
                "column": samples.column,
                "a": samples.a,
                "b": samples.b,
            },
            "largest": samples.largest,
        })
    });
    json!({
        "category": difference.category,
        "place": difference.place,
        "message": difference.message,
        "samples": samples,
    })
}
