//! Converts the planes of a codestream to samples of a block: colour transforms, level shift, clamping, upsampling of
//! subsampled components, and YCbCr of the container.
//!
//! Results are bit-identical to `spec.md` of the codestream crate.

use super::lanes::{Loops, wide};
use super::planes::{Values, rect};
use crate::crew::Crew;
use strile_codestream::jpeg2000::{Codestream, Colour, Component, Rect, Tile};
use strile_engine::BlockFault;
use strile_tiff::DataType;

/// Maximum bits of samples rounded by adding a large number: all halves between them are representable as floats.
const MOST_BITS_TO_ADD: u8 = 22;
/// 1.5 × 2^23: a float near this value has no fraction bits.
const LARGE: f32 = 12_582_912.0;

/// Pixels of a tile below which helper threads cost more than they save.
const WORTH_SHARING: usize = 1 << 16;

/// Destination of samples.
pub(super) struct Destination<'a> {
    /// Interleaved pixels.
    pub(super) bytes: &'a mut [u8],
    /// Pixels of a row.
    pub(super) width: usize,
    /// Sample type; integers of 1, 2 or 4 bytes.
    pub(super) data_type: DataType,
    /// Whether the three components are YCbCr and become RGB.
    pub(super) ycbcr: bool,
}

/// Writes the samples of all components.
pub(super) fn write(
    codestream: &Codestream,
    planes: &[Values],
    destination: Destination<'_>,
    crew: &Crew,
) -> Result<(), BlockFault> {
    let area = codestream.area;
    let size = match destination.data_type {
        DataType::U8 | DataType::I8 => 1,
        DataType::U16 | DataType::I16 => 2,
        DataType::U32 | DataType::I32 => 4,
        other => return Err(BlockFault::unsupported(format!("JPEG 2000 samples as {other}"))),
    };
    let components = codestream.components.as_slice();
    let row_len = destination.width * components.len() * size;
    let is_whole = |component: &Component| component.dx == 1 && component.dy == 1;
    let finish = |rows: &mut [Vec<i32>], out: &mut [u8]| {
        if let (true, [y, cb, cr], [first, ..]) = (destination.ycbcr, &mut *rows, components) {
            to_rgb(y, cb, cr, first.bits);
        }
        wide(Store { rows, out, size });
    };
    if components.iter().all(is_whole) {
        for tile in &codestream.tiles {
            let Some(tile) = TileSamples::of(codestream, planes, tile) else { continue };
            let rect = tile.rect(0);
            let (x, width) = (rect.x0.saturating_sub(area.x0) as usize, rect.width() as usize);
            let skipped = rect.y0.saturating_sub(area.y0) as usize;
            let rows = destination.bytes.chunks_exact_mut(row_len.max(1)).skip(skipped);
            let rows = rows.take(rect.height() as usize).enumerate();
            let pixel = components.len() * size;
            let alone = Crew::alone();
            let crew = if width * (rect.height() as usize) < WORTH_SHARING { &alone } else { crew };
            crew.share(rows, Vec::new, |samples, (y, out)| {
                samples.resize_with(components.len(), Vec::new);
                tile.row(y, samples);
                finish(samples, out.get_mut(x * pixel..(x + width) * pixel).unwrap_or_default());
            });
        }
        return Ok(());
    }
    let whole = Subsampled::assemble(codestream, planes)?;
    let rows = destination.bytes.chunks_exact_mut(row_len.max(1)).zip(area.y0..area.y1);
    crew.share(rows, Vec::new, |samples, (out, y)| {
        samples.resize_with(components.len(), Vec::new);
        for ((row, component), values) in samples.iter_mut().zip(components).zip(&whole.components) {
            row.clear();
            let line = line_of(values, component, y);
            let last = component.rect.x1.saturating_sub(1);
            row.extend((area.x0..area.x1).map(|x| {
                let at = (x / u32::from(component.dx.max(1)))
                    .clamp(component.rect.x0, last.max(component.rect.x0));
                line.get((at - component.rect.x0) as usize).copied().unwrap_or(0)
            }));
        }
        finish(samples, out);
    });
    Ok(())
}

/// Returns the row of a component that covers a row of pixels.
fn line_of<'a>(values: &'a [i32], component: &Component, y: u32) -> &'a [i32] {
    let rect = component.rect;
    let at = (y / u32::from(component.dy.max(1))).clamp(rect.y0, (rect.y1.max(1) - 1).max(rect.y0));
    let (start, width) = ((at - rect.y0) as usize * rect.width() as usize, rect.width() as usize);
    values.get(start..).and_then(|rest| rest.get(..width)).unwrap_or_default()
}

/// Samples of all components on their own grids.
struct Subsampled {
    components: Vec<Vec<i32>>,
}

impl Subsampled {
    fn assemble(codestream: &Codestream, planes: &[Values]) -> Result<Self, BlockFault> {
        let mut components: Vec<Vec<i32>> = Vec::new();
        for component in &codestream.components {
            let len = component.rect.width() as usize * component.rect.height() as usize;
            let mut values = Vec::new();
            let no_memory = |_| super::super::workspace::out_of_memory(len * 4, "JPEG 2000 components");
            values.try_reserve_exact(len).map_err(no_memory)?;
            values.resize(len, 0);
            components.push(values);
        }
        let mut rows: Vec<Vec<i32>> = vec![Vec::new(); components.len()];
        for tile in &codestream.tiles {
            let Some(tile) = TileSamples::of(codestream, planes, tile) else { continue };
            let height = (0..components.len()).map(|c| tile.rect(c).height()).max().unwrap_or(0);
            for y in 0..height as usize {
                tile.row(y, &mut rows);
                for (c, (row, values)) in rows.iter().zip(&mut components).enumerate() {
                    let (own, all) =
                        (tile.rect(c), codestream.components.get(c).map_or_else(Rect::default, |c| c.rect));
                    let line = own.y0.saturating_sub(all.y0) as usize + y;
                    let start = line * all.width() as usize + own.x0.saturating_sub(all.x0) as usize;
                    if y < own.height() as usize
                        && let Some(to) = values.get_mut(start..).and_then(|rest| rest.get_mut(..row.len()))
                    {
                        to.copy_from_slice(row);
                    }
                }
            }
        }
        Ok(Self { components })
    }
}

/// Planes of a tile.
struct TileSamples<'a> {
    colour: Colour,
    components: &'a [Component],
    planes: &'a [Values],
    rects: Vec<Rect>,
}

impl<'a> TileSamples<'a> {
    fn of(codestream: &'a Codestream, planes: &'a [Values], tile: &Tile) -> Option<Self> {
        let rects: Vec<Rect> = codestream.planes.get(tile.planes.clone())?.iter().map(rect).collect();
        let planes = planes.get(tile.planes.clone())?;
        (rects.len() == codestream.components.len()).then_some(Self {
            colour: tile.colour,
            components: &codestream.components,
            planes,
            rects,
        })
    }

    fn rect(&self, component: usize) -> Rect {
        self.rects.get(component).copied().unwrap_or_default()
    }

    /// Computes the samples of row `y` of every component's plane.
    fn row(&self, y: usize, rows: &mut [Vec<i32>]) {
        wide(MakeRow { tile: self, y, rows });
    }

    #[inline(always)]
    fn make_row(&self, y: usize, rows: &mut [Vec<i32>]) {
        let mut done = 0;
        let line = |c: usize| self.rects.get(c).map_or(0..0, |rect| line(*rect, y));
        if let ([Values::Integers(a), Values::Integers(b), Values::Integers(c), ..], Colour::Reversible) =
            (self.planes, self.colour)
        {
            let lines = [&a[..], b, c].map(|values| values.get(line(0)).unwrap_or_default());
            self.reversible_colours(lines, rows);
            done = 3;
        }
        if let ([Values::Floats(a), Values::Floats(b), Values::Floats(c), ..], Colour::Irreversible) =
            (self.planes, self.colour)
        {
            let lines = [&a[..], b, c].map(|values| values.get(line(0)).unwrap_or_default());
            self.irreversible_colours(lines, rows);
            done = 3;
        }
        let rest = self.planes.iter().zip(self.components).enumerate().zip(rows).skip(done);
        for ((c, (values, component)), row) in rest {
            let range = Range::of(component);
            match values {
                Values::Integers(values) => {
                    let values = values.get(line(c)).unwrap_or_default();
                    set(row, [values; 3], |value, _, _| range.integer(value));
                }
                Values::Floats(values) => {
                    let values = values.get(line(c)).unwrap_or_default();
                    range.floats(row, [values; 3], |value, _, _| value);
                }
            }
        }
    }

    #[inline(always)]
    fn reversible_colours(&self, lines: [&[i32]; 3], rows: &mut [Vec<i32>]) {
        let [red, green, blue, ..] = rows else { return };
        let [r, g, b, ..] = self.components else { return };
        let [r, g, b] = [r, g, b].map(Range::of);
        let luma = |a: i32, b: i32, c: i32| a.wrapping_sub(b.wrapping_add(c) >> 2);
        set(red, lines, |y, u, v| r.integer(v.wrapping_add(luma(y, u, v))));
        set(green, lines, |y, u, v| g.integer(luma(y, u, v)));
        set(blue, lines, |y, u, v| b.integer(u.wrapping_add(luma(y, u, v))));
    }

    #[inline(always)]
    fn irreversible_colours(&self, lines: [&[f32]; 3], rows: &mut [Vec<i32>]) {
        let [red, green, blue, ..] = rows else { return };
        let [r, g, b, ..] = self.components else { return };
        let [r, g, b] = [r, g, b].map(Range::of);
        r.floats(red, lines, |a, _, c| a + 1.402 * c);
        g.floats(green, lines, |a, b, c| (a - 0.344_136 * b) - 0.714_136 * c);
        b.floats(blue, lines, |a, b, _| a + 1.772 * b);
    }
}

/// Loop that computes a row of samples.
struct MakeRow<'a> {
    tile: &'a TileSamples<'a>,
    y: usize,
    rows: &'a mut [Vec<i32>],
}

impl Loops for MakeRow<'_> {
    #[inline(always)]
    fn run(self) {
        self.tile.make_row(self.y, self.rows);
    }
}

/// Loop that interleaves rows of components to samples of `size` bytes, native order.
struct Store<'a> {
    rows: &'a [Vec<i32>],
    out: &'a mut [u8],
    size: usize,
}

impl Loops for Store<'_> {
    #[inline(always)]
    fn run(self) {
        store(self.rows, self.out, self.size);
    }
}

/// Returns the range of row `y` in a plane; empty if it has fewer rows.
fn line(rect: Rect, y: usize) -> std::ops::Range<usize> {
    let width = rect.width() as usize;
    if y < rect.height() as usize { y * width..(y + 1) * width } else { 0..0 }
}

/// Value range of a component's samples before the level shift, and the shift.
#[derive(Clone, Copy)]
struct Range {
    bits: u8,
    low: i32,
    high: i32,
    shift: i32,
}

impl Range {
    fn of(component: &Component) -> Self {
        let bits = component.bits.clamp(1, 31);
        let half = 1_i32 << (bits - 1);
        Self { bits, low: -half, high: half - 1, shift: if component.signed { 0 } else { half } }
    }

    /// Clamps an integer without `clamp`, whose check for reversed limits on every call keeps loops scalar.
    #[inline(always)]
    fn integer(self, value: i32) -> i32 {
        value.max(self.low).min(self.high) + self.shift
    }

    /// Sets a row to rounded floats that `make` computes from three lines.
    #[inline(always)]
    fn floats(self, row: &mut Vec<i32>, lines: [&[f32]; 3], make: impl Fn(f32, f32, f32) -> f32) {
        let (low, high) = (self.low as f32, self.high as f32);
        if self.bits <= MOST_BITS_TO_ADD {
            let bias = LARGE.to_bits().cast_signed() - self.shift;
            let whole = |value: f32| (clamped(value, low, high) + LARGE).to_bits().cast_signed() - bias;
            set(row, lines, |a, b, c| whole(make(a, b, c)));
        } else {
            let whole = |value: f32| rounded(clamped(value, low, high)).min(self.high) + self.shift;
            set(row, lines, |a, b, c| whole(make(a, b, c)));
        }
    }
}

/// Sets a row to samples that are computed from three lines. One indexed loop computes one row: with more rows, or with
/// iterators, the compiler may not see that they are disjoint and the loop stays scalar.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "all slices are cut to the same length")]
fn set<T: Copy>(row: &mut Vec<i32>, [a, b, c]: [&[T]; 3], make: impl Fn(T, T, T) -> i32) {
    let count = a.len().min(b.len()).min(c.len());
    row.resize(count, 0);
    let (row, a, b, c) = (&mut row[..count], &a[..count], &b[..count], &c[..count]);
    for at in 0..count {
        row[at] = make(a[at], b[at], c[at]);
    }
}

/// Clamps a float; NaN becomes `low`.
#[inline(always)]
fn clamped(value: f32, low: f32, high: f32) -> f32 {
    let value = if value > low { value } else { low };
    if value < high { value } else { high }
}

#[expect(clippy::cast_possible_truncation, reason = "clamped before")]
fn rounded(value: f32) -> i32 {
    value.round_ties_even() as i32
}

/// Converts full-range YCbCr of ITU-R BT.601 to RGB, in place.
fn to_rgb(y: &mut [i32], cb: &mut [i32], cr: &mut [i32], bits: u8) {
    let half = 1_i32 << (bits.clamp(1, 31) - 1);
    let largest = half - 1 + half;
    let whole = |value: f32| {
        let value = clamped(value, 0.0, largest as f32);
        if bits <= MOST_BITS_TO_ADD {
            (value + LARGE).to_bits().cast_signed() - LARGE.to_bits().cast_signed()
        } else {
            rounded(value).min(largest)
        }
    };
    for ((y, cb), cr) in y.iter_mut().zip(cb).zip(cr) {
        let (luma, blue, red) = (*y as f32, (*cb - half) as f32, (*cr - half) as f32);
        *y = whole(luma + 1.402 * red);
        *cb = whole((luma - 0.344_136 * blue) - 0.714_136 * red);
        *cr = whole(luma + 1.772 * blue);
    }
}

/// Interleaves rows of components to samples of `size` bytes, native order.
#[inline(always)]
fn store(rows: &[Vec<i32>], out: &mut [u8], size: usize) {
    match size {
        1 => interleave(rows, out.as_chunks_mut::<1>().0, |value| [value.to_le_bytes()[0]]),
        2 => interleave(rows, out.as_chunks_mut::<2>().0, |value| {
            let [low, high, ..] = value.to_le_bytes();
            u16::from_le_bytes([low, high]).to_ne_bytes()
        }),
        _ => interleave(rows, out.as_chunks_mut::<4>().0, i32::to_ne_bytes),
    }
}

#[inline(always)]
fn interleave<const N: usize>(rows: &[Vec<i32>], out: &mut [[u8; N]], bytes: impl Fn(i32) -> [u8; N]) {
    match rows {
        [only] => {
            for (to, &from) in out.iter_mut().zip(only) {
                *to = bytes(from);
            }
        }
        [a, b, c] => {
            for (((to, &a), &b), &c) in out.as_chunks_mut::<3>().0.iter_mut().zip(a).zip(b).zip(c) {
                *to = [bytes(a), bytes(b), bytes(c)];
            }
        }
        _ => {
            for (index, row) in rows.iter().enumerate() {
                let to = out.iter_mut().skip(index).step_by(rows.len());
                to.zip(row).for_each(|(to, &from)| *to = bytes(from));
            }
        }
    }
}
