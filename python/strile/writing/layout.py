"""Finds rows, columns and bands among the axes of an array, from dimension names or, without names, from the
order.

It looks at names and shape alone. Pixels are never transposed: the core takes the axes as they lie.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from ..errors import StrileError

Y_NAMES = ("y", "lat", "latitude", "row")
X_NAMES = ("x", "lon", "longitude", "col")
BAND_NAMES = ("band", "bands", "channel")
TIME_NAMES = ("time", "t", "date", "datetime", "times", "day", "month", "year", "hour")

Axes = Literal["yx", "byx", "yxb"]

SURELY_BANDS = 4
"""A last axis of at most this length holds bands, whatever the others are."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of an array, and its size by them."""

    axes: Axes
    height: int
    width: int
    bands: int

    @property
    def y(self) -> int:
        return self.axes.index("y")

    @property
    def x(self) -> int:
        return self.axes.index("x")

    @property
    def band(self) -> int | None:
        return self.axes.index("b") if "b" in self.axes else None


def layout_of(shape: tuple[int, ...], dims: tuple[Hashable, ...] | None) -> Layout:
    """Returns the layout of an array. `dims` are names of the axes; None for an array without names."""
    if len(shape) not in (2, 3):
        raise StrileError(f"cannot write an array of {len(shape)} dimensions {tuple(shape)}: expected 2 or 3")
    if dims is not None and len(dims) != len(shape):
        raise StrileError(f"dims {tuple(dims)} name {len(dims)} axes, and the array has {len(shape)}: {tuple(shape)}")
    axes = _bare(shape) if dims is None else _axes_of(dims)
    size = dict(zip(axes, shape, strict=True))
    height, width, bands = size["y"], size["x"], size.get("b", 1)
    if height == 0 or width == 0:
        raise StrileError(f"an empty raster of {height} rows and {width} columns cannot be written")
    if bands == 0:
        raise StrileError(f"a raster without bands, shape {tuple(shape)}, cannot be written")
    return Layout(axes, height, width, bands)


def _bare(shape: tuple[int, ...]) -> Axes:
    """Returns the axes of an array without names: (y, x, band), if the shape cannot be (band, y, x)."""
    if len(shape) == 2:
        return "yx"
    if shape[2] <= SURELY_BANDS or shape[2] < min(shape[:2]):
        return "yxb"
    raise StrileError(
        f"cannot tell which axis of an array of shape {tuple(shape)} holds the bands: pass dims=('band', 'y', 'x') or "
        "dims=('y', 'x', 'band'), or a DataArray with named dimensions"
    )


def _axes_of(dims: tuple[Hashable, ...]) -> Axes:
    names = [str(name).lower() if isinstance(name, str) else "" for name in dims]
    if len(names) == 2:
        if names[0] in X_NAMES or names[1] in Y_NAMES:
            raise StrileError(f"dimensions {dims}: expected (y, x); transpose the array, `.transpose({names[1]!r}, {names[0]!r})`")
        return "yx"
    first, second, third = names
    for place, name in (("leading", first), ("trailing", third)):
        if name in TIME_NAMES:
            raise StrileError(
                f"dimensions {dims}: the {place} one, {name!r}, is time and not bands; select one time, "
                "or rename it to 'band'"
            )
    if first in BAND_NAMES and second in Y_NAMES and third in X_NAMES:
        return "byx"
    if first in Y_NAMES and second in X_NAMES and third in BAND_NAMES:
        return "yxb"
    raise StrileError(
        f"dimensions {dims}: expected (band, y, x) or (y, x, band), with bands named one of {', '.join(BAND_NAMES)}, "
        f"rows one of {', '.join(Y_NAMES)} and columns one of {', '.join(X_NAMES)}; rename them or pass dims="
    )
