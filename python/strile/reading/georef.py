"""Where the pixels of a level lie: transform and coordinates, from the tags as stored.

The transform keeps the numbers of the file, bit for bit: that of pixel corners, or for a file of points that
of the first pixel's centre, for the tags say so and a trip through the other convention could change the last
digit. Axes must be rows and columns; what is rotated is refused, or read as a plain grid of pixels where that
was asked for. """

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import (
    DegeneratePixelSizeError,
    RotatedTransformError,
    StrileError,
    UnsupportedGeoTIFFFeatureError,
)
from ..facts import Crs, Facts, Level, Transform

PIXEL_SCALE, TIEPOINT, TRANSFORMATION = 33550, 33922, 34264
_SHEAR = 1e-12


@dataclass(frozen=True)
class Grid:
    """The placement of a raster of some size. `transform` is None without georeferencing; `rotated` is the
    transform that was dropped because its axes are not rows and columns. `gcps` are control points (row, column, x, y, z)
    in place of a transform."""

    transform: Transform | None
    point: bool
    rotated: Transform | None = None
    gcps: tuple[tuple[float, float, float, float, float], ...] = ()

    def coords(self, first: int, stop: int, axis: str) -> np.ndarray:
        """The labels of pixels `first` to `stop`: of a window, exactly those that the whole raster has
        there."""
        index = np.arange(first, stop, dtype=np.int64)
        if self.transform is None:
            return index
        size, origin = self._axis(axis)
        # In this order the labels are, to the last bit, those that xarray-spatial gives.
        corners = index * size + origin
        return corners if self.point else corners + size / 2

    def at(self, row: int, column: int) -> Transform | None:
        """The transform of a window that begins at a pixel."""
        if self.transform is None:
            return None
        a, b, c, d, e, f = self.transform
        return (a, b, c + column * a if column else c, d, e, f + row * e if row else f)

    def pixels(
        self, bbox: tuple[float, float, float, float], height: int, width: int, crs: Crs | None = None
    ) -> tuple[int, int, int, int]:
        """The smallest window (row0, col0, row1, col1) inside the raster that covers a box."""
        if self.rotated is not None:
            raise StrileError(
                "bbox needs axes that are rows and columns and this file is rotated: pass window"
            )
        if self.gcps:
            raise StrileError("bbox needs a transform and this file is placed by control points: pass window")
        if self.transform is None:
            raise StrileError("bbox needs a georeferenced file and this one is not: pass window")
        west, south, east, north = bbox
        rows = self._span("y", south, north, height)
        columns = self._span("x", west, east, width)
        if rows[0] >= rows[1] or columns[0] >= columns[1]:
            extent = self._extent(height, width)
            raise StrileError(
                f"bbox {bbox} lies outside the file, which covers {extent}{_other_system(bbox, extent, crs)}"
            )
        return rows[0], columns[0], rows[1], columns[1]

    def oriented(self, orientation: int, height: int, width: int) -> Grid:
        """The grid after the pixels were turned as the orientation says; `height` and `width` as stored."""
        if orientation != 1 and self.gcps:
            raise UnsupportedGeoTIFFFeatureError(
                f"orientation {orientation} turns the pixels of a file that is placed by control points: rewrite it with "
                "orientation 1"
            )
        if orientation == 1 or self.transform is None:
            return self
        if orientation > 4:
            raise UnsupportedGeoTIFFFeatureError(
                f"orientation {orientation} swaps the axes of a georeferenced file, which no axis-aligned "
                "transform "
                "can say: rewrite it with orientation 1"
            )
        a, _, c, _, e, f = self.transform
        last = 1 if self.point else 0
        if orientation in (2, 3):
            a, c = -a, c + a * (width - last)
        if orientation in (3, 4):
            e, f = -e, f + e * (height - last)
        return replace(self, transform=(a, 0.0, c, 0.0, e, f))

    def reduced(self, across: float, down: float) -> Grid:
        """The grid of an overview whose pixels are that many pixels wide and high."""
        if across == 1 and down == 1:
            return self
        if self.gcps:
            points = tuple((row / down, column / across, x, y, z) for row, column, x, y, z in self.gcps)
            return replace(self, gcps=points)
        if self.transform is None:
            return self
        a, _, c, _, e, f = self.transform
        if self.point:
            c, f = c + a * (across - 1) / 2, f + e * (down - 1) / 2
        return replace(self, transform=(a * across, 0.0, c, 0.0, e * down, f))

    def _axis(self, axis: str) -> tuple[float, float]:
        assert self.transform is not None
        a, _, c, _, e, f = self.transform
        return (a, c) if axis == "x" else (e, f)

    def _corner(self, axis: str) -> tuple[float, float]:
        size, origin = self._axis(axis)
        return size, origin - size / 2 if self.point else origin

    def _span(self, axis: str, low: float, high: float, count: int) -> tuple[int, int]:
        size, origin = self._corner(axis)
        one, other = sorted(((low - origin) / size, (high - origin) / size))
        return max(0, math.floor(min(one, count))), min(count, math.ceil(max(other, 0)))

    def _extent(self, height: int, width: int) -> tuple[float, float, float, float]:
        (dx, x), (dy, y) = self._corner("x"), self._corner("y")
        xs, ys = sorted((x, x + dx * width)), sorted((y, y + dy * height))
        return xs[0], ys[0], xs[1], ys[1]


def _other_system(
    bbox: tuple[float, float, float, float], extent: tuple[float, float, float, float], crs: Crs | None
) -> str:
    """A hint, where a box that misses the file seems to be in another reference system."""

    def degrees(box: tuple[float, float, float, float]) -> bool:
        return all(abs(x) <= 360 for x in box[::2]) and all(abs(y) <= 90 for y in box[1::2])

    if crs is None or degrees(bbox) == degrees(extent):
        return ""
    system = f"EPSG:{crs.epsg}" if crs.epsg is not None else crs.name or "another system"
    unit = "degrees" if degrees(bbox) else "the units of a projection"
    return f" in {system}: the box looks like {unit}; transform it to the reference system of the file first"


def stored_grid(facts: Facts, tags: dict[int, Any], allow_rotated: bool, name: str) -> Grid:
    """The grid of the full resolution, before orientation."""
    point = facts.area_or_point == "point"
    transform = _of_tags(tags, name)
    known = facts.transform
    if transform is None and known is not None:
        # Of a VRT, or of a file beside the raster: corners, always.
        transform = known
        if point:
            a, b, c, d, e, f = known
            transform = (a, b, c + (a + b) / 2, d, e, f + (d + e) / 2)
    if transform is None:
        if facts.gcps:
            return Grid(None, point, gcps=tuple(facts.gcps))
        return Grid(None, point)
    a, b, _, d, e, _ = transform
    if _sheared(transform) or _leans(tags):
        if not allow_rotated:
            raise RotatedTransformError(
                f"{name}: the transform {transform} has rotation or shear and rows and columns are needed: "
                "pass "
                "allow_rotated=True to read it as a plain grid of pixels"
            )
        return Grid(None, point, transform)
    for axis, size in (("wide", a), ("high", e)):
        if size == 0 or not math.isfinite(size):
            raise DegeneratePixelSizeError(
                f"{name}: pixels are {size} {axis}, a finite size other than 0 expected"
            )
    return Grid((a, 0.0, transform[2], 0.0, e, transform[5]), point)


def level_grid(base: Grid, full: Level, level: Level, tags: dict[int, Any], name: str) -> Grid:
    """The grid of an overview: what its own tags say, else that of the full resolution."""
    if level is full:
        return base
    own = _of_tags(tags, name)
    if own is not None and base.transform is not None and not _sheared(own):
        return replace(base, transform=(own[0], 0.0, own[2], 0.0, own[4], own[5]))
    return base.reduced(full.width / level.width, full.height / level.height)


def _of_tags(tags: dict[int, Any], name: str) -> Transform | None:
    matrix = tags.get(TRANSFORMATION)
    if matrix is not None and len(matrix) == 16:
        return tuple(float(matrix[i]) for i in (0, 1, 3, 4, 5, 7))  # type: ignore[return-value]
    scale, points = tags.get(PIXEL_SCALE), tags.get(TIEPOINT)
    if scale is None or points is None or len(scale) < 2 or len(points) < 6:
        return None
    dx, dy = float(scale[0]), float(scale[1])
    column, row, _, x, y, _ = (float(number) for number in points[:6])
    a, e = dx, -dy
    c = x - column * a if column else x
    f = y - row * e if row else y
    for i in range(6, len(points) - 5, 6):
        _agrees((a, e, c, f), tuple(float(number) for number in points[i : i + 6]), name)
    return (a, 0.0, c, 0.0, e, f)


def _agrees(grid: tuple[float, float, float, float], point: tuple[float, ...], name: str) -> None:
    a, e, c, f = grid
    column, row, _, x, y, _ = point
    if abs(c + column * a - x) > abs(a) * 1e-3 or abs(f + row * e - y) > abs(e) * 1e-3:
        raise UnsupportedGeoTIFFFeatureError(
            f"{name}: the tiepoint at pixel ({row:g}, {column:g}) is ({x}, {y}) and ({c + column * a}, "
            f"{f + row * e}) by "
            "the pixel size and the first one: no axis-aligned transform says both"
        )


def _sheared(transform: Transform) -> bool:
    a, b, _, d, e, _ = transform
    limit = _SHEAR * max(abs(a), abs(e))
    return abs(b) > limit or abs(d) > limit


def _leans(tags: dict[int, Any]) -> bool:
    """Whether the stored matrix makes x or y depend on z."""
    matrix = tags.get(TRANSFORMATION)
    if matrix is None or len(matrix) != 16:
        return False
    limit = _SHEAR * max(abs(float(matrix[0])), abs(float(matrix[5])))
    return abs(float(matrix[2])) > limit or abs(float(matrix[6])) > limit
