"""Where the pixels of a level lie: its transform, coordinates, bounds. Affine order (a, b, c, d, e, f), pixel
corners.

An image without georeferencing lies on its own pixel grid, as every reader of rasters has it. Overviews cover
what the full image covers: their pixels are larger by the exact ratio of the sizes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .facts import Facts, Level, Transform

IDENTITY: Transform = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


class BoundingBox(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


def transform(facts: Facts, this: Level) -> Transform:
    """The transform of a level of the first page."""
    a, b, c, d, e, f = facts.transform or IDENTITY
    full = facts.level()
    across, down = full.width / this.width, full.height / this.height
    return (a * across, b * down, c, d * across, e * down, f)


def window(grid: Transform, column: int, row: int) -> Transform:
    """The transform of a part that begins at a pixel."""
    a, b, c, d, e, f = grid
    return (a, b, c + a * column + b * row, d, e, f + d * column + e * row)


def is_rectilinear(grid: Transform) -> bool:
    """Whether rows and columns run along the axes."""
    return grid[1] == 0.0 and grid[3] == 0.0


def centres(grid: Transform, width: int, height: int) -> tuple[Any, Any]:
    """x and y of the pixels' centres: one number a column and a row, or one a pixel where the grid is
    turned."""
    a, b, c, d, e, f = grid
    # Half a pixel is added to the origin first, as affine's product has it: coordinates are equal to the last
    # bit to those that rioxarray makes, and align with them.
    c, f = a * 0.5 + b * 0.5 + c, d * 0.5 + e * 0.5 + f
    columns, rows = np.arange(width), np.arange(height)
    if is_rectilinear(grid):
        return columns * a + c, rows * e + f
    across, down = np.meshgrid(columns, rows)
    return across * a + down * b + c, across * d + down * e + f


def bounds(grid: Transform, width: int, height: int) -> BoundingBox:
    """The corners' extent, in the order of the axes: `top` is where row 0 begins on a grid that is not
    turned."""
    a, b, c, d, e, f = grid
    if is_rectilinear(grid):
        return BoundingBox(c, f + e * height, c + a * width, f)
    corners = [(column, row) for column in (0, width) for row in (0, height)]
    xs = [a * column + b * row + c for column, row in corners]
    ys = [d * column + e * row + f for column, row in corners]
    return BoundingBox(min(xs), min(ys), max(xs), max(ys))


def resolution(grid: Transform) -> tuple[float, float]:
    """Width and height of a pixel."""
    a, b, _, d, e, _ = grid
    if is_rectilinear(grid):
        return abs(a), abs(e)
    return math.hypot(a, d), math.hypot(b, e)


def geo_transform(grid: Transform) -> str:
    """GDAL's order, as text."""
    a, b, c, d, e, f = grid
    return " ".join(str(number) for number in (c, a, b, f, d, e))
