//! Chart of growth curves: blocks to the right, milliseconds up, both on a logarithmic scale.

use super::growth::{Curve, Point};
use super::measure::float;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
/// Margins around the axes: left, top, right, bottom.
const MARGIN: [f64; 4] = [70.0, 30.0, 20.0, 50.0];
/// Colours that are distinguishable with red-green colour blindness.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];

/// Powers of ten that enclose the values of one axis.
#[derive(Clone, Copy)]
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a finite number")]
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let logs: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).map(f64::log10).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            return Self { low: 0, high: 1 };
        }
        let low = low.floor() as i32;
        Self { low, high: (high.ceil() as i32).max(low + 1) }
    }

    /// Returns the position of a value from 0 at the low end to 1 at the high end.
    fn at(self, value: f64) -> f64 {
        let log = value.max(f64::MIN_POSITIVE).log10();
        (log - f64::from(self.low)) / f64::from(self.high - self.low)
    }

    fn powers(self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|power| 10f64.powi(power))
    }
}

struct Chart {
    x: Axis,
    y: Axis,
    text: String,
}

impl Chart {
    fn place(&self, blocks: f64, milliseconds: f64) -> (f64, f64) {
        let [left, top, right, bottom] = MARGIN;
        let x = left + self.x.at(blocks) * (WIDTH - left - right);
        let y = HEIGHT - bottom - self.y.at(milliseconds) * (HEIGHT - top - bottom);
        (x, y)
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.put(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
        ));
    }

    fn words(&mut self, (x, y): (f64, f64), anchor: &str, words: &str) {
        let words = escaped(words);
        self.put(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"));
    }

    fn put(&mut self, element: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{element}");
    }

    fn axes(&mut self) {
        let [low, high] = [self.y.low, self.y.high].map(|power| 10f64.powi(power));
        for blocks in self.x.powers() {
            let (from, to) = (self.place(blocks, low), self.place(blocks, high));
            self.line(from, to, "#ddd");
            self.words((from.0, from.1 + 18.0), "middle", &number(blocks));
        }
        let [left, right] = [self.x.low, self.x.high].map(|power| 10f64.powi(power));
        for milliseconds in self.y.powers() {
            let (from, to) = (self.place(left, milliseconds), self.place(right, milliseconds));
            self.line(from, to, "#ddd");
            self.words((from.0 - 8.0, from.1 + 4.0), "end", &number(milliseconds));
        }
        let (corner, up, along) = (self.place(left, low), self.place(left, high), self.place(right, low));
        self.line(corner, up, "#000");
        self.line(corner, along, "#000");
        self.words((f64::midpoint(corner.0, along.0), corner.1 + 38.0), "middle", "blocks read");
        self.words((up.0 - 50.0, up.1 - 12.0), "start", "milliseconds");
    }

    fn curve(&mut self, index: usize, curve: &Curve) {
        let colour = COLOURS.get(index % COLOURS.len()).copied().unwrap_or("#000");
        let at = |point: &Point| self.place(float(point.blocks as u64), point.seconds * 1e3);
        let points: Vec<(f64, f64)> = curve.blocks.iter().map(at).collect();
        let parts: Vec<(u32, (f64, f64))> = curve.parts.iter().map(|(p, point)| (*p, at(point))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        self.put(&format!(
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        ));
        for (x, y) in points {
            self.put(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"));
        }
        for (percent, (x, y)) in parts {
            let (left, top) = (x - 4.0, y - 4.0);
            self.put(&format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"8\" height=\"8\" fill=\"none\" stroke=\"{colour}\"/>"
            ));
            self.words((x + 7.0, y + 14.0), "start", &format!("{percent} %"));
        }
        let y = MARGIN[1] + 14.0 + 18.0 * float(index as u64);
        self.line((MARGIN[0] + 14.0, y), (MARGIN[0] + 40.0, y), colour);
        let name = Path::new(&curve.file)
            .file_name()
            .map_or_else(|| curve.file.clone().into(), OsStr::to_string_lossy);
        self.words((MARGIN[0] + 46.0, y + 4.0), "start", &format!("{name}, {}", curve.device));
    }
}

/// Draws the chart.
pub fn draw(curves: &[Curve]) -> String {
    let all = || curves.iter().flat_map(|c| c.blocks.iter().chain(c.parts.iter().map(|(_, point)| point)));
    let mut chart = Chart {
        x: Axis::around(all().map(|point| float(point.blocks as u64))),
        y: Axis::around(all().map(|point| point.seconds * 1e3)),
        text: String::new(),
    };
    chart.put(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">"
    ));
    chart.put("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    chart.axes();
    curves.iter().enumerate().for_each(|(index, curve)| chart.curve(index, curve));
    chart.put("</svg>");
    chart.text
}

fn number(value: f64) -> String {
    if value < 1.0 { format!("{value}") } else { format!("{value:.0}") }
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
