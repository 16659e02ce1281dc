//! Values along a line.

use super::numbers::places;
use crate::answer::{Answer, Refusal, json_answer, number};
use crate::opened::{Level, Opened};
use crate::reduced::Made;
use crate::request::Asked;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use strile::{Context, Window};

/// Maximum values per profile.
const MOST: u32 = 2048;
/// Side of the cells of pixels that are read together.
const CELL: u32 = 256;

/// A value of a profile: its index, column and row.
type Spot = (usize, u32, u32);

/// A line in pixels of the full image.
pub(super) struct Line {
    from: (f64, f64),
    to: (f64, f64),
    band: u16,
}

impl Line {
    pub(super) fn of(asked: &Asked, opened: &Opened) -> Result<Self, Refusal> {
        asked.only(&["x0", "y0", "x1", "y1", "band"])?;
        let band = asked.bands("band", opened.bands)?;
        let band = match band.as_slice() {
            [] => 1,
            [band] => *band,
            _ => return Err(Refusal::bad("expected one band as `band`")),
        };
        let (x, y) = (f64::from(opened.width), f64::from(opened.height));
        let end = |across: &str, down: &str| {
            let place = (asked.finite(across)?, asked.finite(down)?);
            let is_inside = (0.0..=x).contains(&place.0) && (0.0..=y).contains(&place.1);
            let outside =
                || Refusal::bad(format!("{}, {} lies outside of {x} × {y} pixels", place.0, place.1));
            is_inside.then_some(place).ok_or_else(outside)
        };
        Ok(Self { from: end("x0", "y0")?, to: end("x1", "y1")?, band })
    }

    fn length(&self) -> f64 {
        (self.to.0 - self.from.0).hypot(self.to.1 - self.from.1)
    }

    /// Returns the first level on which the line is short enough to be read pixel by pixel.
    pub(super) fn level(&self, opened: &Opened) -> usize {
        let fits = |level: &Level| {
            let scale = f64::from(level.width) / f64::from(opened.width);
            self.length() * scale <= f64::from(MOST)
        };
        opened.levels.iter().position(fits).unwrap_or(opened.levels.len().saturating_sub(1))
    }
}

pub(super) fn profile(
    opened: &Opened,
    (number_of_level, level): (usize, Level),
    line: &Line,
    made: Option<&Made>,
    context: &Context,
) -> Result<Answer, Refusal> {
    let scale = (
        f64::from(level.width) / f64::from(opened.width),
        f64::from(level.height) / f64::from(opened.height),
    );
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "2 to 2048")]
    let count = (line.length() * scale.0.max(scale.1)).ceil().clamp(1.0, f64::from(MOST - 1)) as u32 + 1;
    let at = |step: u32| {
        let share = f64::from(step) / f64::from(count - 1);
        let between = |a: f64, b: f64| a + (b - a) * share;
        (between(line.from.0, line.to.0), between(line.from.1, line.to.1))
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a pixel, saturated")]
    let pixel = |place: f64, scale: f64, size: u32| ((place * scale).floor() as u32).min(size - 1);
    let mut cells: BTreeMap<(u32, u32), Vec<Spot>> = BTreeMap::new();
    for step in 0..count {
        let (x, y) = at(step);
        let (column, row) = (pixel(x, scale.0, level.width), pixel(y, scale.1, level.height));
        cells.entry((row / CELL, column / CELL)).or_default().push((step as usize, column, row));
    }
    let draft = made.and_then(Made::draft);
    let mut values = vec![Value::Null; count as usize];
    for members in cells.values() {
        let ends = |of: fn(&Spot) -> u32| {
            let all = || members.iter().map(of);
            (all().min().unwrap_or(0), all().max().unwrap_or(0))
        };
        let ((x0, x1), (y0, y1)) = (ends(|member| member.1), ends(|member| member.2));
        let window = Window::new(x0, y0, x1 - x0 + 1, y1 - y0 + 1);
        let samples = opened.read(&level, window, &[line.band], made, context)?;
        let numbers: Vec<f64> = samples.numbers(0).collect();
        for (step, column, row) in members {
            let place = (row - y0) as usize * window.width as usize + (column - x0) as usize;
            if let (Some(value), Some(found)) = (values.get_mut(*step), numbers.get(place)) {
                *value = number(*found);
            }
        }
    }
    let full = Level { width: opened.width, height: opened.height, ..level };
    let steps = || (0..count).map(at);
    let distances = (0..count).map(|step| number(line.length() * f64::from(step) / f64::from(count - 1)));
    Ok(json_answer(&json!({
        "band": line.band,
        "level": number_of_level,
        "draft": draft,
        "x": steps().map(|(x, _)| number(x)).collect::<Vec<_>>(),
        "y": steps().map(|(_, y)| number(y)).collect::<Vec<_>>(),
        "distance": distances.collect::<Vec<_>>(),
        "values": values,
        "from": places(opened, &full, line.from).0,
        "to": places(opened, &full, line.to).0,
    })))
}
