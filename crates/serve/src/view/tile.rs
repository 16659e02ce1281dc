//! Tiles of 256 × 256 pixels of a level, as samples.

use crate::answer::{Answer, Counted, Refusal, bytes_answer, set};
use crate::opened::{Level, Opened};
use crate::reading::Samples;
use crate::reduced::Made;
use crate::request::Asked;
use strile::number::is_complex;
use strile::{Context, Window};

/// Side of a tile.
const SIDE: u32 = 256;
/// Maximum bands per tile.
const MOST_BANDS: usize = 64;

/// Answers with samples band by band, then one byte per pixel if pixels can be missing.
pub(super) fn tile(
    opened: &Opened,
    level: Level,
    (column, row): (u32, u32),
    asked: &Asked,
    made: Option<&Made>,
    context: &Context,
) -> Result<Answer, Refusal> {
    let (left, across) = span(column, level.width)?;
    let (top, down) = span(row, level.height)?;
    let bands = bands(opened, asked)?;
    let window = Window::new(left, top, across, down);
    let _counted = room(opened, (across, down), bands.len(), context)?;
    // Queried before the pixels: a draft that changes meanwhile is requested again.
    let draft = made.and_then(Made::draft);
    let samples = opened.read(&level, window, &bands, made, context)?;
    answer(samples, draft, context)
}

/// Returns the requested bands.
pub(super) fn bands(opened: &Opened, asked: &Asked) -> Result<Vec<u16>, Refusal> {
    asked.only(&["bands"])?;
    let bands = asked.bands("bands", opened.bands)?;
    match bands.len() {
        0 => Ok((1..=opened.bands.min(3)).collect()),
        count if count <= MOST_BANDS => Ok(bands),
        _ => Err(Refusal::bad(format!("expected at most {MOST_BANDS} bands per tile"))),
    }
}

/// Reserves the memory of a tile: samples as floats for averaging, and the samples that are sent.
pub(super) fn room(
    opened: &Opened,
    (across, down): (u32, u32),
    bands: usize,
    context: &Context,
) -> Result<Counted, Refusal> {
    let pixel = bands * (opened.data_type.size() + 8) + 1;
    Counted::take(context, across as usize * down as usize * pixel)
}

/// Returns samples as an answer; `draft` is the version of the draft they are from.
pub(super) fn answer(samples: Samples, draft: Option<u64>, context: &Context) -> Result<Answer, Refusal> {
    let Samples { data_type, bands, width, height, mut pixels, valid } = samples;
    if cfg!(target_endian = "big") {
        let numbers = if is_complex(data_type) { 2 } else { 1 };
        pixels.chunks_exact_mut(data_type.size() / numbers).for_each(<[u8]>::reverse);
    }
    let mask = if valid.is_some() { "bytes" } else { "none" };
    pixels.extend(valid.into_iter().flatten());
    let mut answer = bytes_answer("application/octet-stream", pixels, context)?;
    set(&mut answer, "x-width", &width.to_string());
    set(&mut answer, "x-height", &height.to_string());
    set(&mut answer, "x-bands", &bands.to_string());
    set(&mut answer, "x-dtype", data_type.name());
    set(&mut answer, "x-mask", mask);
    match draft {
        Some(version) => set(&mut answer, "x-draft", &version.to_string()),
        None => set(&mut answer, "cache-control", "private, max-age=60"),
    }
    Ok(answer)
}

/// Returns the pixels of a column or row of tiles.
fn span(number: u32, size: u32) -> Result<(u32, u32), Refusal> {
    let start = u64::from(number) * u64::from(SIDE);
    let inside = u32::try_from(start).ok().filter(|start| *start < size);
    let none = || Refusal::bad(format!("there is no tile {number}: the level has {}", size.div_ceil(SIDE)));
    let start = inside.ok_or_else(none)?;
    Ok((start, SIDE.min(size - start)))
}
