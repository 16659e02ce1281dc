//! Tiles of 256 × 256 pixels of a level, as samples.

use crate::answer::{Answer, Counted, Refusal, bytes_answer, set};
use crate::opened::{Level, Opened};
use crate::reading::Samples;
use crate::reduced::Kept;
use crate::request::Asked;
use strile::number::is_complex;
use strile::{Context, Window};

/// Side of a tile.
const SIDE: u32 = 256;
/// Most bands of a tile.
const MOST_BANDS: usize = 64;

/// Samples band by band, then one byte per pixel where pixels can be missing.
pub(super) fn tile(
    opened: &Opened,
    level: Level,
    (column, row): (u32, u32),
    asked: &Asked,
    kept: Option<&Kept>,
    context: &Context,
) -> Result<Answer, Refusal> {
    asked.only(&["bands"])?;
    let (left, across) = span(column, level.width)?;
    let (top, down) = span(row, level.height)?;
    let mut bands = asked.bands("bands", opened.bands)?;
    if bands.is_empty() {
        bands = (1..=opened.bands.min(3)).collect();
    }
    if bands.len() > MOST_BANDS {
        return Err(Refusal::bad(format!("expected at most {MOST_BANDS} bands per tile")));
    }
    let window = Window::new(left, top, across, down);
    // Samples as floats, where they are averaged, beside those that are sent.
    let pixel = bands.len() * (opened.data_type.size() + 8) + 1;
    let _counted = Counted::take(context, across as usize * down as usize * pixel)?;
    let samples = opened.read(&level, window, &bands, kept.map(|kept| &kept.input), context)?;
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
    set(&mut answer, "cache-control", "private, max-age=60");
    Ok(answer)
}

/// The pixels of a column or row of tiles.
fn span(number: u32, size: u32) -> Result<(u32, u32), Refusal> {
    let start = u64::from(number) * u64::from(SIDE);
    let inside = u32::try_from(start).ok().filter(|start| *start < size);
    let none = || Refusal::bad(format!("there is no tile {number}: the level has {}", size.div_ceil(SIDE)));
    let start = inside.ok_or_else(none)?;
    Ok((start, SIDE.min(size - start)))
}
