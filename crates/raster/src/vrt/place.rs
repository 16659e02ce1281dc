//! Positions of a request's pixels in a source and in the result: GDAL's arithmetic, step by step, because its epsilons
//! decide which pixel is nearest when rectangles are fractional or of different sizes.
//!
//! Both axes use the same computation, once each.

/// `SrcRect` and `DstRect` of a source along one axis; both absent for a source at the origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent {
    pub(super) source: f64,
    pub(super) source_size: f64,
    pub(super) target: f64,
    pub(super) target_size: f64,
}

/// Both axes of a source's rectangles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangles {
    pub(super) across: Extent,
    pub(super) down: Extent,
}

/// A part of a raster along one axis, to be resampled to `count` samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub(super) start: f64,
    pub(super) size: f64,
    pub(super) count: u32,
}

/// The part of a source that is requested along one axis, and the first of the request's samples that it fills.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    pub(super) part: Part,
    /// Whole pixels, if the part begins and ends at pixel edges.
    whole: Option<(u32, u32)>,
    pub(super) out: u32,
}

/// GDAL rounds coordinates this close to an integer.
const CLOSE: f64 = 1e-3;
/// Tolerance for rounding errors.
const NOISE: f64 = 1e-10;
/// GDAL's coordinates are C's `int`.
const LARGEST: f64 = 2_147_483_647.0;

/// Rounds to the nearest integer if it is close.
pub(super) fn snap(value: f64) -> f64 {
    let nearest = (value + 0.5).floor();
    if (value - nearest).abs() < CLOSE { nearest } else { value }
}

impl Extent {
    fn is_whole(&self) -> bool {
        [self.source, self.target].iter().all(|v| (v - v.round()).abs() <= NOISE)
    }

    /// Returns whether its samples are copied one to one.
    pub(super) fn is_copy(&self) -> bool {
        self.is_whole() && self.source_size == self.target_size
    }
}

impl Rectangles {
    /// Returns whether pixels are copied one to one.
    pub(super) fn is_copy(&self) -> bool {
        self.across.is_copy() && self.down.is_copy()
    }

    /// Returns the parts that a request takes from a source of `size` pixels; `None` if it takes nothing. Without
    /// rectangles the source lies at the origin, in its own size.
    pub(super) fn place(
        rectangles: Option<&Self>,
        size: (u32, u32),
        request: (Part, Part),
    ) -> Option<(Placed, Placed)> {
        let rounds = rectangles.is_some_and(|r| !r.across.is_whole() || !r.down.is_whole());
        let axis = |extent: Option<Extent>, size: u32, part: Part| place(extent, size, part, rounds);
        let across = axis(rectangles.map(|r| r.across), size.0, request.0)?;
        let down = axis(rectangles.map(|r| r.down), size.1, request.1)?;
        Some((across, down))
    }
}

/// Computes one axis of GDAL's `VRTSimpleSource::GetSrcDstWindow` for nearest.
fn place(extent: Option<Extent>, size: u32, request: Part, rounds: bool) -> Option<Placed> {
    let limits = extent.is_some();
    let extent = extent.unwrap_or(Extent { source: 0.0, source_size: 1.0, target: 0.0, target_size: 1.0 });
    let Extent { source, source_size, target, target_size } = extent;
    let size_f = f64::from(size);
    let (mut start, mut len, mut modified) = (request.start, request.size, false);
    if limits {
        if start >= target + target_size || start + len <= target {
            return None;
        }
        if start < target {
            len = len + start - target;
            start = target;
            modified = true;
        }
        if start + len > target + target_size {
            len = target + target_size - start;
            modified = true;
        }
    }
    let scale = source_size / target_size;
    let (mut from, mut span) = ((start - target) * scale + source, len * scale);
    if !from.is_finite() || !span.is_finite() || from > LARGEST || span < 0.0 {
        return None;
    }
    if from < 0.0 {
        span += from;
        from = 0.0;
        modified = true;
    }
    let mut whole_from = if rounds { (from + 0.5 + NOISE).trunc() } else { from.trunc() };
    if from - whole_from > 1.0 - CLOSE {
        whole_from += 1.0;
        from = whole_from;
    }
    let mut whole_span = (span + 0.5).floor().min(LARGEST);
    if whole_span == 0.0 {
        whole_span = 1.0;
    }
    if whole_from + whole_span > size_f {
        whole_span = size_f - whole_from;
        modified = true;
    }
    if from + span > size_f {
        span = size_f - from;
        modified = true;
    }
    if whole_from >= size_f || whole_span <= 0.0 {
        return None;
    }
    let (mut out, mut count) = (0.0, f64::from(request.count));
    if modified {
        let to_target = |v: f64| ((v - source) / source_size) * target_size + target;
        let samples = f64::from(request.count) / request.size;
        let first = (to_target(from) - request.start) * samples;
        let end = (to_target(from + span) - request.start) * samples;
        out = if first <= 0.0 { 0.0 } else { (first.min(LARGEST) + CLOSE).trunc() };
        let back = (first - out) / samples / target_size * source_size;
        from -= back;
        span += back;
        if end < first {
            return None;
        }
        let whole_end = (end.min(LARGEST) - CLOSE).ceil();
        count = (whole_end - out).min(f64::from(request.count) - out);
        span += (whole_end - end) / samples / target_size * source_size;
        if count < 1.0 {
            return None;
        }
    }
    let (from, span) = (snap(from), snap(span));
    let whole =
        (from == whole_from && span == whole_span).then(|| Some((index(from)?, index(span)?))).flatten();
    Some(Placed { part: Part { start: from, size: span, count: index(count)? }, whole, out: index(out)? })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn index(value: f64) -> Option<u32> {
    (0.0..=LARGEST).contains(&value).then_some(value as u32)
}

/// The pixels of a source for the samples along one axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Picks {
    /// Adjacent pixels from this one on.
    Run(u32),
    /// One per sample, ascending.
    Each(Vec<u32>),
}

impl Placed {
    /// Returns the first pixel, if samples are adjacent and copied one to one.
    fn copied_from(&self) -> Option<u32> {
        self.whole.filter(|&(_, span)| span == self.part.count).map(|(from, _)| from)
    }
}

/// Returns the first column and row, if pixels are adjacent along both axes and copied one to one.
pub(super) fn copied_from(across: &Placed, down: &Placed) -> Option<(u32, u32)> {
    across.copied_from().zip(down.copied_from())
}

/// Returns the picks across and down; one to one only if both axes are, as in GDAL's `IRasterIO`.
pub(super) fn picks(across: &Placed, down: &Placed, size: (u32, u32)) -> (Picks, Picks) {
    // If either axis is fractional or scaled, both use the general way, which gives the same pixels for an axis that is
    // neither.
    match copied_from(across, down) {
        Some((x, y)) => (Picks::Run(x), Picks::Run(y)),
        None => (nearest_across(&across.part, size.0), nearest_down(&down.part, size.1)),
    }
}

/// Picks nearest pixels across. Positions are added across and multiplied down, as in GDAL, so that rounding errors
/// have the same sign.
fn nearest_across(part: &Part, size: u32) -> Picks {
    let step = part.size / f64::from(part.count);
    let mut at = 0.5 * step + part.start + NOISE;
    let mut picks = Vec::with_capacity(part.count as usize);
    for _ in 0..part.count {
        picks.push(clamped(at, size));
        at += step;
    }
    Picks::Each(picks)
}

fn nearest_down(part: &Part, size: u32) -> Picks {
    let step = part.size / f64::from(part.count);
    let at = |i: u32| (f64::from(i) + 0.5) * step + part.start + NOISE;
    Picks::Each((0..part.count).map(|i| clamped(at(i), size)).collect())
}

fn clamped(at: f64, size: u32) -> u32 {
    index(at.max(0.0).min(f64::from(size.saturating_sub(1)))).unwrap_or(0)
}

impl Picks {
    /// Returns the pixel of the `i`-th sample.
    pub(super) fn get(&self, i: u32) -> u32 {
        match self {
            Self::Run(from) => from.saturating_add(i),
            Self::Each(picks) => picks.get(i as usize).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(source: f64, source_size: f64, target: f64, target_size: f64) -> Extent {
        Extent { source, source_size, target, target_size }
    }

    fn whole(start: u32, count: u32) -> Part {
        Part { start: start.into(), size: count.into(), count }
    }

    #[test]
    fn a_window_over_the_edge_of_a_tile_is_cut() {
        // A tile of 64 pixels at column 100, of a request for columns 90 to 120.
        let placed = place(Some(extent(0.0, 64.0, 100.0, 64.0)), 64, whole(90, 30), false).unwrap();
        assert_eq!((placed.out, placed.part.count, placed.whole), (10, 20, Some((0, 20))));
        assert!(place(Some(extent(0.0, 64.0, 100.0, 64.0)), 64, whole(70, 30), false).is_none());
    }

    #[test]
    fn a_source_smaller_than_its_rectangle_fills_what_it_has() {
        let placed = place(Some(extent(0.0, 64.0, 0.0, 64.0)), 40, whole(30, 34), false).unwrap();
        assert_eq!((placed.out, placed.part.count, placed.whole), (0, 10, Some((30, 10))));
        assert!(place(None, 40, whole(40, 5), false).is_none());
    }

    #[test]
    fn halving_takes_the_second_of_each_pair() {
        let placed = place(Some(extent(0.0, 8.0, 0.0, 4.0)), 8, whole(0, 4), false).unwrap();
        let (across, _) = picks(&placed, &placed, (8, 8));
        assert_eq!(across, Picks::Each(vec![1, 3, 5, 7]));
    }

    #[test]
    fn no_numbers_make_a_panic() {
        let odd = [0.0, -1.0, 0.3, 1e300, -1e300, f64::NAN, f64::INFINITY, 2147483647.0];
        for a in odd {
            for b in odd {
                for c in odd {
                    for d in odd {
                        for request in [whole(0, 10), Part { start: 0.5, size: 3.7, count: 2 }] {
                            if let Some(placed) = place(Some(extent(a, b, c, d)), 20, request, true) {
                                assert!(placed.out + placed.part.count <= request.count);
                            }
                        }
                    }
                }
            }
        }
    }
}
