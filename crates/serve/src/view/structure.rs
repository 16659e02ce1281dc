//! The blocks of a stored level and their sizes in bytes.

use crate::answer::{Answer, Refusal, json_answer};
use crate::opened::{Opened, Place};
use crate::request::Asked;
use serde_json::json;
use strile::tiff::BlockKind;
use strile::{Context, Input};

/// Maximum blocks per answer.
const MOST: u64 = 65_536;

pub(super) fn structure(
    opened: &Opened,
    number: usize,
    asked: &Asked,
    context: &Context,
) -> Result<Answer, Refusal> {
    asked.only(&["column0", "row0", "columns", "rows"])?;
    let level = opened.level(number)?;
    let (Input::Tiff(dataset), Place::Stored(stored)) = (&opened.input, level.place) else {
        return Err(Refusal::unable("the file stores no blocks of this level"));
    };
    let image = dataset.pages().first().and_then(|page| page.levels.get(stored)).map(|level| &level.image);
    let image = image.ok_or_else(|| Refusal::unable("the file stores no blocks of this level"))?;
    let grid = image.grid;
    let (column0, row0) = (asked.number("column0")?.unwrap_or(0), asked.number("row0")?.unwrap_or(0));
    let left = |first: u32, all: u32| all.checked_sub(first).filter(|left| *left > 0);
    let rest = left(column0, grid.across).zip(left(row0, grid.down));
    let none =
        || Refusal::bad(format!("expected blocks among {} columns and {} rows", grid.across, grid.down));
    let (across, down) = rest.ok_or_else(none)?;
    let columns = asked.number("columns")?.unwrap_or(across.min(256)).min(across);
    let rows = asked.number("rows")?.unwrap_or(down.min(256)).min(down);
    let count = (u64::from(columns) * u64::from(rows)).saturating_mul(u64::from(grid.planes));
    if count == 0 || count > MOST {
        return Err(Refusal::bad(format!(
            "expected 1 to {MOST} blocks, got {count}; give `columns` and `rows`"
        )));
    }
    let place = strile::read::Place::new().level(stored);
    let sizes =
        dataset.block_sizes(&place, column0..column0 + columns, row0..row0 + rows, &context.cancel)?;
    Ok(json_answer(&json!({
        "level": number,
        "kind": match grid.kind { BlockKind::Strip => "strips", BlockKind::Tile => "tiles" },
        "block_width": grid.block_width,
        "block_height": grid.block_height,
        "blocks_across": grid.across,
        "blocks_down": grid.down,
        "planes": grid.planes,
        "codec": image.compression.name(),
        "column0": column0,
        "row0": row0,
        "columns": columns,
        "rows": rows,
        "bytes": sizes,
    })))
}
