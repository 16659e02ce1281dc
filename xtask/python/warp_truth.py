"""The value of a pixel of a grid by the definition of its method, from PROJ's coordinates and NumPy's arithmetic alone.

`Truth.has` says whether values are the method's at places that lie within a distance of PROJ's: neither strile nor GDAL takes part.
`crates/engine/src/warp.md` has the definitions.

All functions take arrays of pixels: their bands, and their places, which are those of the centre or of the four corners (places, x and y, pixels).
NaN is a pixel without a value.
"""

import itertools
import math

import numpy as np

HAIR = 1e-10
RADIUS = {"bilinear": 1, "cubic": 2, "cubic_spline": 2, "lanczos": 3}
QUARTERS = {"q1": 1, "med": 2, "q3": 3}


def _kernel(method, distance):
    x = np.abs(distance)
    if method == "bilinear":
        return np.maximum(0, 1 - x)
    if method == "cubic":
        return np.select([x <= 1, x <= 2], [1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2], 0)
    if method == "cubic_spline":
        return np.select([x <= 1, x <= 2], [3 * x**3 - 6 * x**2 + 4, (2 - x) ** 3], 0)
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _with_tail(distance):
    """GDAL's B-spline, which does not end at 2 on one side."""
    return _kernel("cubic_spline", distance) - np.where(distance > 2, (distance - 2) ** 3, 0)


def _by_turns(distances, has, step):
    """Weights of GDAL's widened lanczos for several places."""
    if step >= 1:
        return _kernel("lanczos", distances)
    return np.array([_turned(*one, step) for one in zip(distances, has, strict=True)])


def _turned(distance, has, step):
    """GDAL's widened lanczos: each sine follows from the one before it, by a turn. Next to 0 what is left of them is rounding, and it is divided
    by the square of a distance that is rounding, too: the weight of the sample there can be anything."""
    inside = np.flatnonzero(has & (np.abs(distance) <= 3))
    third = math.cos(math.pi / 3 * step)
    whole = (4 * third * third - 3) * third
    turns = complex(third, math.sqrt(1 - third * third)), complex(whole, math.sqrt(1 - whole * whole))
    x = distance[inside[0]]
    cosine, sine = math.cos(math.pi / 3 * x), math.sin(math.pi / 3 * x)
    thirds, wholes = complex(cosine, sine), complex((4 * cosine * cosine - 3) * cosine, (3 - 4 * sine * sine) * sine)
    weights = np.zeros(len(distance))
    for at in inside:
        weights[at] = 1 if x == 0 else 3 * math.pi * math.pi * wholes.imag * thirds.imag / (x * x)
        x, thirds, wholes = x + step, thirds * turns[0], wholes * turns[1]
    return weights


def _clipped(polygon, axis, edge, sign):
    """The part of a polygon on one side of a line."""
    kept = []
    for before, point in zip(polygon[-1:] + polygon[:-1], polygon, strict=True):
        one, other = (sign * (p[axis] - edge) >= 0 for p in (before, point))
        if one != other:
            part = (edge - before[axis]) / (point[axis] - before[axis])
            kept.append(tuple(b + (p - b) * part for b, p in zip(before, point, strict=True)))
        if other:
            kept.append(point)
    return kept


def _area(polygon):
    return 0.5 * abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(polygon[-1:] + polygon[:-1], polygon, strict=True)))


def _within(polygon, column, row):
    """The part of a polygon in a pixel."""
    for axis, low in ((0, column), (1, row)):
        polygon = _clipped(_clipped(polygon, axis, low, 1), axis, low + 1, -1)
    return polygon


def _steps(slack, count):
    """That many places within a distance of 0, which is the first."""
    return [slack * part for part in sorted(np.linspace(-1, 1, count), key=abs)]


def _beside(jump, slack):
    """A place a hair before and behind another one, if that is no further away."""
    return [np.clip(jump + hair, -slack, slack) for hair in (-1e-6, 1e-6)]


def _between(at, low, high, by_low, by_high):
    """A coordinate after both sides of a box were moved."""
    part = np.divide(at - low, high - low, out=np.full_like(at, 0.5), where=high > low)
    return at + by_low + (by_high - by_low) * part


class Truth:
    """Values of a case. `scales` are how many pixels of the grid a pixel of the raster is wide and high."""

    def __init__(self, case, under, scales, fill):
        self.case, self.under, self.scales, self.fill = case, under, scales, fill
        self.points = ((0.5, 0.5),) if case.method in ("nearest", *RADIUS) else ((0, 0), (1, 0), (1, 1), (0, 1))
        self.values = under.pixels[: case.bands].astype(float)
        self.counts = under.valid[: case.bands] & ~np.isnan(self.values)
        self.values[~self.counts] = 0
        self.picks = case.method in ("nearest", "mode", "min", "max", *QUARTERS)

    def places(self, rows, columns):
        """The places under pixels by PROJ."""
        wholes = [self.under.whole(x, y) for x, y in self.points]
        return np.array([[xs[rows, columns], ys[rows, columns]] for xs, ys, _ in wholes])

    def is_outside(self, rows, columns):
        """Whether pixels are not where their places lead back to: they lie outside the domain of a projection."""
        return ~np.all([self.under.whole(x, y)[2][rows, columns] for x, y in self.points], axis=0)

    def has(self, bands, places, values, slack):
        """Whether pixels may have these values, if their places are off by `slack` pixels at most, across and down."""
        found = np.zeros(len(bands), bool)
        # Most pixels need no other place, or few.
        for steps in (0, 3, 9):
            rest = np.flatnonzero(~found)
            if len(rest):
                near = np.broadcast_to(np.reshape(slack, (2, -1)), (2, len(bands)))[:, rest] * (steps > 0)
                around = self.around(bands[rest], places[..., rest], near, steps) if steps else [self.at(bands[rest], places[..., rest])]
                found[rest] = self.is_one(values[rest], around)
        return found

    def is_one(self, values, found):
        """Whether values are one of those found, or between them where they are computed."""
        low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
        missing, equal = np.zeros(len(values), bool), np.zeros(len(values), bool)
        for one in found:
            missing |= np.isnan(one)
            equal |= self.same(one, values)
            low, high = np.fmin(low, one), np.fmax(high, one)
        allowed = np.maximum(1, np.where(np.isfinite(low), np.maximum(np.abs(low), np.abs(high)), 1))
        if self.case.dtype.startswith("float"):
            allowed = 1e-5 * allowed
        else:
            limits = np.iinfo(self.case.dtype)
            inside = lambda numbers: np.where(np.isfinite(numbers), np.clip(numbers, limits.min, limits.max), numbers)
            low, high = inside(low), inside(high)
            # Within 1, as everywhere; one more where the rounded value means "missing".
            allowed = 1 + 1e-6 * allowed + (np.abs(values - self.fill) <= 1)
        with np.errstate(invalid="ignore"):
            # The extremes may lie between the places that were tried.
            allowed = allowed + np.where(np.isfinite(high - low), 0.15 * (high - low), 0)
        number = equal if self.picks else (low - allowed <= values) & (values <= high + allowed)
        return np.where(np.isnan(values), missing, number)

    def same(self, one, other):
        """Whether samples are equal; GDAL counts those of modes as 32-bit floats."""
        return np.float32(one) == np.float32(other) if self.case.method == "mode" else one == other

    def around(self, bands, places, slack, steps):
        """Values at places and around them."""
        if len(places) == 1:
            sides = [_steps(one, steps) for one in slack]
            if steps > 3:
                # And both sides of the next edge or centre of a sample, where values jump.
                jumps = [np.round(2 * place) / 2 - place for place in places[0]]
                for moves, jump, one in zip(sides, jumps, slack, strict=True):
                    moves += _beside(jump, one)
            for right, down in itertools.product(*sides):
                yield self.at(bands, places + np.array([right, down]))
            return
        places = self.unwrapped(places)
        low, high = np.minimum(places[0], places[2]), np.maximum(places[0], places[2])
        across, down = (_steps(one, 3) for one in slack)
        moves = [(a, a, c, c) for a, c in itertools.product(across, down)]
        if steps > 3:
            # And both sides of the next edge of a sample, where the box gains or loses one.
            sides = [(side, one) for ends, one in zip(zip(low, high, strict=True), slack, strict=True) for side in ends]
            edges = [_beside(np.round(side) - side, one) for side, one in sides]
            moves = list(itertools.product(across, across, down, down))
            if self.case.method == "sum":
                # One at a time: the areas of polygons take long.
                moves += [tuple(edge if at == other else 0 * edge for other in range(4)) for at, both in enumerate(edges) for edge in both]
            else:
                moves = itertools.product(*([*_steps(one, 3), *both] for (_, one), both in zip(sides, edges, strict=True)))
        for a, b, c, d in moves:
            moved = [(_between(x, low[0], high[0], a, b), _between(y, low[1], high[1], c, d)) for x, y in places]
            yield self.at(bands, np.array(moved))

    def unwrapped(self, places):
        """Corners, each within half a turn of the first."""
        if not self.under.turn:
            return places
        turn, places = self.under.turn, places.copy()
        places[1:, 0] = places[0, 0] + (places[1:, 0] - places[0, 0] + turn / 2) % turn - turn / 2
        return places

    def at(self, bands, places, turns=True):
        """Values at places; `turns` is whether corners beyond the seam of a raster around the Earth count as next to it."""
        found = np.full(len(bands), np.nan)
        # Some at a time: kernels may be wide.
        for start in range(0, len(bands), 2000):
            part = slice(start, start + 2000)
            near = places[..., part]
            found[part] = self.kernel(bands[part], near) if len(places) == 1 else self.footprint(bands[part], self.unwrapped(near) if turns else near)
        return found

    def held(self, bands, places):
        """Places in the raster, where a sample that counts holds them, and which those are."""
        (height, width), (x, y) = self.under.shape, places[0]
        if self.under.turn:
            x = np.where((x >= 0) & (x < width), x, x % self.under.turn)
        is_in = (x >= 0) & (x <= width) & (y >= 0) & (y <= height)
        x, y = np.where(is_in, x, 0), np.where(is_in, y, 0)
        rows, columns = np.minimum((y + HAIR).astype(int), height - 1), np.minimum((x + HAIR).astype(int), width - 1)
        return x, y, is_in & self.counts[bands, rows, columns], (bands, rows, columns)

    def kernel(self, bands, places):
        x, y, is_held, here = self.held(bands, places)
        method, (height, width) = self.case.method, self.under.shape
        if method == "nearest" or 1 in (height, width):
            found = self.values[here]
        elif method in ("bilinear", "cubic") and min(self.scales) > 0.5:
            found = self.weighed(bands, x, y, "bilinear", (1, 1), 1e-5)
            if method == "cubic":
                columns, rows = np.floor(x - 0.5).astype(int), np.floor(y - 0.5).astype(int)
                has_all = (columns >= 1) & (columns < width - 2) & (rows >= 1) & (rows < height - 2)
                for right, down in itertools.product(range(-1, 3), repeat=2):
                    near = np.clip(rows + down, 0, height - 1), np.clip(columns + right, 0, width - 1)
                    has_all &= self.counts[bands, *near]
                found = np.where(has_all, self.weighed(bands, x, y, "cubic", (1, 1), -np.inf), found)
        else:
            found = self.weighed(bands, x, y, method, self.scales, 1e-6)
        return np.where(is_held, found, np.nan)

    def taken(self, method, x, y, scales):
        """Columns and rows around places that a kernel takes, which of them there are, and how far they are, in pixels of the kernel."""
        for place, scale, side in zip((x, y), scales, self.under.shape[::-1], strict=True):
            taps = math.ceil(RADIUS[method] / min(scale, 1))
            index = np.floor(place - 0.5).astype(int)[:, None] + np.arange(1 - taps, taps + 1)
            yield np.clip(index, 0, side - 1), (index >= 0) & (index < side), (index + 0.5 - place[:, None]) * min(scale, 1)

    def weighed(self, bands, x, y, method, scales, least, weigh=None):
        """Means of samples by a kernel, or by other weights of distances and scales."""
        weigh = weigh or (lambda distance, has, scale: _kernel(method, distance))
        (columns, across, wide), (rows, down, high) = self.taken(method, x, y, scales)
        wide, high = weigh(wide, across, scales[0]) * across, weigh(high, down, scales[1]) * down
        place = bands[:, None, None], rows[:, :, None], columns[:, None, :]
        weights = self.counts[place] * high[:, :, None] * wide[:, None, :]
        total = weights.sum((1, 2))
        with np.errstate(all="ignore"):
            return np.where(total < least, np.nan, (weights * self.values[place]).sum((1, 2)) / total)

    def gdals(self, bands, places):
        """What GDAL's kernels have in another way: names of the differences, for which pixels they are, and the values that follow."""
        method, all_of = self.case.method, np.ones(len(bands), bool)
        if method not in ("cubic_spline", "lanczos"):
            return
        x, y, is_held, _ = self.held(bands, places)
        if method == "cubic_spline":
            yield "tail", is_held, self.weighed(bands, x, y, method, self.scales, 1e-6, lambda distance, _, __: _with_tail(distance))
            return
        (columns, across, wide), (rows, down, high) = self.taken(method, x, y, self.scales)
        inside = (down & (np.abs(high) <= 3))[:, :, None] & (across & (np.abs(wide) <= 3))[:, None, :]
        counts = (self.counts[bands[:, None, None], rows[:, :, None], columns[:, None, :]] & inside).sum((1, 2))
        yield "half", is_held & (counts < inside.sum((1, 2)) // 2), np.full(len(bands), np.nan)
        # Only where a sample's centre is the place.
        at_centre = is_held & ((np.abs(wide).min(1) < 1e-6) | (np.abs(high).min(1) < 1e-6))
        found = np.full(len(bands), np.nan)
        of = np.flatnonzero(at_centre & all_of)
        if len(of):
            found[of] = self.weighed(bands[of], x[of], y[of], method, self.scales, 1e-6, _by_turns)
        yield "centre", at_centre, found

    def box(self, scale, low, high, side, turn):
        """Columns or rows of boxes, which of them there are, and the parts of them; and which boxes lie in the raster."""
        if turn:
            moved = np.floor((low + HAIR) / turn) * turn
            low, high = low - moved, high - moved
        margin = 2 * max(math.ceil(1 / scale), 1)
        with np.errstate(invalid="ignore"):
            is_in = (high > -HAIR) & (low < side + HAIR) & (low >= -margin) & (high - (2 * side if turn else side) <= margin)
        low, high = np.where(is_in, low, 0), np.where(is_in, high, 0)
        first = np.maximum((low + HAIR).astype(int), 0)
        end = np.minimum(np.ceil(high - HAIR).astype(int), first + side if turn else side)
        end = np.where((first == end) & (end < side), end + 1, end)
        index = first[:, None] + np.arange(max(1, (end - first).max(initial=1)))
        parts = np.ones(index.shape)
        several = end - first > 1
        parts[several, 0] = (1 - (low - first))[several]
        parts[np.flatnonzero(several), (end - first - 1)[several]] = (1 - (end - high))[several]
        return (index % side if turn else np.minimum(index, side - 1)), index < end[:, None], parts, is_in

    def boxes(self, low, high):
        (height, width) = self.under.shape
        columns, across, wide, is_in = self.box(self.scales[0], low[0], high[0], width, self.under.turn)
        rows, down, tall, is_down = self.box(self.scales[1], low[1], high[1], height, 0)
        return (rows[:, :, None], columns[:, None, :]), down[:, :, None] & across[:, None, :], tall[:, :, None] * wide[:, None, :], is_in & is_down

    def footprint(self, bands, places):
        if self.case.method == "sum":
            return np.array([self.sum(band, corners) for band, corners in zip(bands, places.transpose(2, 0, 1), strict=True)])
        place, taken, parts, is_in = self.boxes(np.minimum(places[0], places[2]), np.maximum(places[0], places[2]))
        values = self.values[bands[:, None, None], *place]
        counts = taken & self.counts[bands[:, None, None], *place]
        number, method = counts.sum((1, 2)), self.case.method
        flat = np.where(counts, values, np.inf).reshape(len(bands), -1)
        if method in ("average", "rms"):
            weights = parts * counts
            with np.errstate(all="ignore"):
                found = (weights * (values if method == "average" else values**2)).sum((1, 2)) / weights.sum((1, 2))
            found, number = (found if method == "average" else np.sqrt(found)), np.where(weights.sum((1, 2)) > 0, number, 0)
        elif method == "max":
            found = np.where(counts, values, -np.inf).max((1, 2))
        elif method == "mode":
            found = np.array([self.mode(v[c], p[c]) for v, c, p in zip(values, counts, np.broadcast_to(parts, values.shape), strict=True)])
        else:
            at = np.maximum(-(-number * QUARTERS.get(method, 0) // 4) - 1, 0)
            found = np.sort(flat, axis=1)[np.arange(len(bands)), at]
        return np.where(is_in & (number > 0), found, np.nan)

    def mode(self, values, parts):
        """The sample that covers most; a wide one or a float leads from its second occurrence on."""
        wide = self.case.dtype not in ("uint8", "int8", "uint16", "int16")
        covered, best = {}, np.nan
        for value, part in zip(values.tolist(), parts.astype(np.float32), strict=True):
            is_known = value in covered
            covered[value] = covered[value] + part if is_known else part
            if len(covered) == 1 or best == value or ((is_known or not wide) and covered[value] > covered[best]):
                best = value
        return best

    def is_most_frequent(self, bands, places, values):
        """Whether no sample is more frequent under a pixel."""
        places = self.unwrapped(places)
        place, taken, _, is_in = self.boxes(np.minimum(places[0], places[2]), np.maximum(places[0], places[2]))
        counts = taken & self.counts[bands[:, None, None], *place]
        found = self.values[bands[:, None, None], *place]
        for at in np.flatnonzero(is_in):
            samples = found[at][counts[at]]
            most = np.unique(samples, return_counts=True)[1].max(initial=1)
            is_in[at] = self.same(samples, values[at]).sum() == most
        return is_in

    def samples(self, places):
        """Columns and rows of the samples around the corners of one pixel; none where they lie beside the raster."""
        low, high = places.min(0)[:, None], places.max(0)[:, None]
        (rows, columns), taken, _, is_in = self.boxes(low, high)
        if not (np.isfinite(places).all() and is_in[0]):
            return []
        return [(rows[0, j, 0], columns[0, 0, i]) for j, i in np.argwhere(taken[0])]

    def between(self, places):
        """Columns and rows of all samples around the corners of one pixel, however far those lie beside the raster."""
        if not np.isfinite(places).all():
            return []
        ends = [np.clip([np.floor(of.min()) - 1, np.ceil(of.max()) + 1], 0, side).astype(int) for of, side in zip(places.T, self.under.shape[::-1], strict=True)]
        return itertools.product(range(*ends[1]), range(*ends[0]))

    def sum(self, band, places):
        """The sum of samples by the part of each in a quadrilateral, of one pixel."""
        total, some, turn = 0.0, False, self.under.turn
        corners = places - [np.floor((places[:, 0].min() + HAIR) / turn) * turn, 0] if turn else places
        left = corners[:, 0].min()
        for row, column in self.samples(places):
            if self.counts[band, row, column]:
                # Columns go on behind the last one.
                at = column + self.under.shape[1] * (turn and column + 1 < left)
                area = _area(_within([tuple(corner) for corner in corners], at, row))
                if area > 0:
                    total, some = total + self.values[band, row, column] * area, True
        return total if some else np.nan

    def sum_in_grid(self, band, places, row, column):
        """The sum of samples by the part of each that lies in a pixel of the grid, measured there, as GDAL does it. A sample that has a side
        without a length there (at a pole) does not count."""
        total, some = 0.0, False
        for y, x in self.samples(np.concatenate([places - 1, places + 1])) if self.under.turn else self.between(places):
            if not self.counts[band, y, x]:
                continue
            corners = list(zip(*self.under.back(np.array([x, x + 1, x + 1, x]), np.array([y, y, y + 1, y + 1])), strict=True))
            sides = [math.dist(a, b) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
            if not np.isfinite(corners).all() or min(sides) < 1e-6:
                continue
            area = _area(_within(corners, column, row))
            if area > 1e-9:
                total, some = total + self.values[band, y, x] * area / _area(corners), True
        return total if some else np.nan
