"""How many pixels of a grid a pixel of a raster is wide and high, by the rule that GDAL's warper states, from exact coordinates.

Squares of one pixel, up to 10 × 10 of them, are placed in the raster. One that stays nearly a rectangle has the lengths of its sides, another
the root of its area for both. The scale is the mean of their inverses, without those below a tenth of the largest."""

import numpy as np


def _starts(side):
    count = min(side, 10)
    return [0.0 if count == 1 else i * side / (count - 1) - (1.0 if i > 0 and i == count - 1 else 0.0) for i in range(count)]


def _of_square(a, b, c, d):
    upper, lower, left, right = b - a, d - c, c - a, d - b
    squares = [float(v @ v) for v in (upper, lower, left, right)]
    level = all(abs(v[1]) < 0.35 * v[0] for v in (upper, lower))
    alike = all(abs(one - other) < 0.1 * one for one, other in (squares[:2], squares[2:]))
    if level and alike:
        return (squares[0] * squares[1]) ** -0.25, (squares[2] * squares[3]) ** -0.25
    ring = [a, b, d, c]
    area = abs(0.5 * sum(ring[i][0] * (ring[(i + 1) % 4][1] - ring[i - 1][1]) for i in range(4)))
    return area**-0.5, area**-0.5


def scale(shape, place):
    """Across and down; `place` has the column and row of the raster at a column and row of the grid."""
    found = []
    for row in _starts(shape[0]):
        for column in _starts(shape[1]):
            corners = [np.array(place(column + x, row + y)) for y in (0, 1) for x in (0, 1)]
            if np.isfinite(corners).all():
                with np.errstate(all="ignore"):
                    found.append(_of_square(*corners))
    found = [pair for pair in found if np.isfinite(pair).all()]
    if not found:
        return 1.0, 1.0
    most = np.max(found, axis=0)
    kept = [pair for pair in found if (np.array(pair) > 0.1 * most).all()]
    across, down = np.mean(kept, axis=0)
    return _whole(float(across)), _whole(float(down))


def _whole(scale):
    """A scale whose inverse is nearly whole is taken as that."""
    if scale >= 1:
        return scale
    whole = np.floor(1 / scale + 0.5)
    return float(1 / whole) if abs(1 / scale - whole) < 0.05 else scale
