"""Where the pixels are: the transform of a raster, from `attrs["transform"]`, else from its coordinates.

xarray keeps attrs when it selects, turns or coarsens: of an array that came from a read, coordinates that lie
elsewhere than the stated transform says are what holds (those of floats: integers count pixels). Where both agree
the stated numbers are kept to the bit.

A transform is Affine's six numbers (a, b, c, d, e, f) for the *corners* of pixels, as the core wants it.
Coordinates are centres; so is the origin of `attrs["transform"]` where the raster is of points. No pixel is
looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constants import CONTRACT, NO_GEOREF
from ..errors import DegeneratePixelSizeError, NonUniformCoordsError, RotatedTransformError, StrileError
from .layout import X_NAMES, Y_NAMES

if TYPE_CHECKING:
    from .arguments import WriteArguments

Transform = tuple[float, float, float, float, float, float]

ASSUME_SQUARE = "assume_square_pixels_for_degenerate_axis"

# How far a step may be from the others: float32 coordinates of a fine grid far from 0 are still even.
UNEVEN = 1e-3
SHEAR = 1e-12
# How far, in pixels, coordinates may be from where the stated transform has them.
ASTRAY = 1e-2


Gcp = tuple[float, float, float, float, float]
"""Row, column, x, y and z of a control point; rows and columns count from the outer corner."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a raster lies."""

    transform: Transform | None
    is_point: bool
    gcps: tuple[Gcp, ...] = ()


def placed(data: Any, attrs: Mapping[Any, Any], arguments: WriteArguments) -> Placed:
    """`data`: a DataArray, or None for an array that has no coordinates."""
    drop_rotation = arguments.drop_rotation
    is_point = str(attrs.get("raster_type", "")).lower() == "point"
    if arguments.transform is not None:
        return Placed(arguments.transform, is_point)
    if attrs.get("rotated_affine") is not None and not drop_rotation:
        raise RotatedTransformError(
            "attrs['rotated_affine'] says that the grid is rotated, and rows and columns would be written as if it were "
            "not: reproject it, pass transform= with the rotated transform, or drop_rotation=True to write the pixels alone"
        )
    stated = _stated(attrs.get("transform"), drop_rotation)
    if stated is not None:
        corner = _to_corner(stated) if is_point else stated
        return Placed(_moved(data, corner) if CONTRACT in attrs else corner, is_point)
    if attrs.get("gcps"):
        return Placed(None, is_point, _gcps(data, attrs["gcps"]))
    if data is None or (attrs.get(NO_GEOREF) is True and _counts_pixels(data)):
        return Placed(None, is_point)
    mapped = _geo_transform(data)
    if mapped is not None:
        return Placed(_moved(data, mapped), is_point)
    return Placed(_from_coords(data, attrs), is_point)


def _counts_pixels(data: Any) -> bool:
    """Whether coordinates are numbers of pixels, or their centres, and no places that a caller has set since."""
    for names in (Y_NAMES, X_NAMES):
        found = _coord(data, names)
        if found is not None and found[1].dtype.kind == "f" and not bool((np.mod(found[1], 1.0) == 0.5).all()):
            return False
    return True


def _geo_transform(data: Any) -> Transform | None:
    """The transform that rioxarray keeps beside the reference system, where its axes are rows and columns."""
    mapping = data.encoding.get("grid_mapping", data.attrs.get("grid_mapping", "spatial_ref"))
    text = data.coords[mapping].attrs.get("GeoTransform") if mapping in data.coords else None
    if not isinstance(text, str):
        return None
    try:
        c, a, b, f, d, e = (float(number) for number in text.split())
    except ValueError:
        return None
    if _coord(data, X_NAMES) is None and (b, d) == (0.0, 0.0) and (a, e, c, f) == (1.0, 1.0, 0.0, 0.0):
        return None
    if b != 0.0 or d != 0.0:
        raise RotatedTransformError(
            f"the coordinate {mapping!r} has a rotated GeoTransform ({text}): reproject the array, or pass transform= "
            "with the transform of its first pixel"
        )
    return (a, 0.0, c, 0.0, e, f) if a and e and math.isfinite(a * e * c * f) else None


def _gcps(data: Any, stated: Any) -> tuple[Gcp, ...]:
    """Control points on the grid of the array: its coordinates are numbers of pixels in the file."""
    points = []
    for point in stated:
        try:
            row, column, x, y, z = (float(number) for number in point)
        except (TypeError, ValueError):
            raise StrileError(f"attrs['gcps'] has {point!r}: expected (row, column, x, y, z)") from None
        points.append((_on_axis(data, Y_NAMES, row), _on_axis(data, X_NAMES, column), x, y, z))
    return tuple(points)


def _on_axis(data: Any, names: tuple[str, ...], place: float) -> float:
    found = None if data is None else _coord(data, names)
    if found is None or not len(found[1]):
        return place
    name, values = found[0], found[1].astype(np.float64)
    _check_even(name, values)
    step = _step(values) or 1.0
    return (place - 0.5 - float(values[0])) / step + 0.5


def checked_transform(value: Any) -> Transform | None:
    """The keyword `transform`: that of pixel corners, as rasterio has it; it may be rotated."""
    if value is None:
        return None
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError):
        raise StrileError(f"transform is {value!r}: expected an Affine or six numbers (a, b, c, d, e, f)") from None
    if len(numbers) == 9 and numbers[6:] == [0.0, 0.0, 1.0]:
        numbers = numbers[:6]
    if len(numbers) != 6:
        raise StrileError(f"transform has {len(numbers)} numbers: expected an Affine or six numbers (a, b, c, d, e, f)")
    a, b, c, d, e, f = numbers
    if not all(map(math.isfinite, numbers)) or a * e - b * d == 0.0:
        raise DegeneratePixelSizeError(f"transform {tuple(numbers)} has pixels without an area: expected finite sizes, not 0")
    return a, b, c, d, e, f


def _stated(value: Any, drop_rotation: bool) -> Transform | None:
    if value is None:
        return None
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError):
        raise StrileError(
            f"attrs['transform'] is {value!r}: expected six numbers (a, b, c, d, e, f)"
        ) from None
    # An Affine has nine, the last row being 0, 0, 1.
    if len(numbers) == 9 and numbers[6:] == [0.0, 0.0, 1.0]:
        numbers = numbers[:6]
    if len(numbers) != 6:
        raise StrileError(f"attrs['transform'] has {len(numbers)} numbers: expected six (a, b, c, d, e, f)")
    a, b, c, d, e, f = numbers
    if not all(map(math.isfinite, numbers)) or a == 0.0 or e == 0.0:
        if all(map(math.isfinite, numbers)) and (b != 0.0 or d != 0.0) and a * e - b * d != 0.0:
            raise _rotated(b, d)
        raise DegeneratePixelSizeError(
            f"attrs['transform'] has a pixel of {a} by {e} at ({c}, {f}): expected finite sizes other than 0"
        )
    if abs(b) > SHEAR * abs(a) or abs(d) > SHEAR * abs(e):
        if drop_rotation:
            return None
        raise _rotated(b, d)
    return a, 0.0, c, 0.0, e, f


def _rotated(b: float, d: float) -> RotatedTransformError:
    return RotatedTransformError(
        f"attrs['transform'] is rotated or sheared (b={b}, d={d}): expected rows and columns along the axes; "
        "reproject it, or pass drop_rotation=True to write the pixels without a transform"
    )


def _to_corner(transform: Transform) -> Transform:
    a, b, c, d, e, f = transform
    return a, b, c - a / 2, d, e, f - e / 2


def _moved(data: Any, stated: Transform) -> Transform:
    """The stated transform, along each axis corrected by coordinates that say otherwise."""
    if data is None:
        return stated
    y, x = _coord(data, Y_NAMES), _coord(data, X_NAMES)
    a, _, c, _, e, f = stated
    if x is not None:
        a, c = _along(x, a, c)
    if y is not None:
        e, f = _along(y, e, f)
    return a, 0.0, c, 0.0, e, f


def _along(coord: tuple[str, np.ndarray[Any, Any]], size: float, start: float) -> tuple[float, float]:
    name, values = coord
    # Integers are numbers of pixels, and say nothing of places.
    if values.dtype.kind != "f" or not len(values):
        return size, start
    there = start + size * (np.arange(len(values)) + 0.5)
    rounding = 4 * float(np.spacing(np.abs(values).max()))
    exact = values.astype(np.float64)
    if bool((np.abs(exact - there) <= ASTRAY * abs(size) + rounding).all()):
        return size, start
    _check_even(name, exact)
    step = _step(exact)
    step = size if step is None else step
    return step, float(exact[0]) - step / 2


def _from_coords(data: Any, attrs: Mapping[Any, Any]) -> Transform | None:
    y, x = _coord(data, Y_NAMES), _coord(data, X_NAMES)
    y, x = (None if coord is None else (coord[0], coord[1].astype(np.float64)) for coord in (y, x))
    for coord in (y, x):
        if coord is not None:
            _check_even(*coord)
    if y is None or x is None:
        return None
    ys, xs = y[1], x[1]
    square = attrs.get(ASSUME_SQUARE) is True
    dy, dx = _step(ys), _step(xs)
    if square and dy is None and dx is not None:
        dy = -abs(dx)
    elif square and dx is None and dy is not None:
        dx = abs(dy)
    if dy is None or dx is None:
        raise StrileError(
            f"a raster of {len(ys)} by {len(xs)} pixels does not tell the size of a pixel by its coordinates: set "
            f"attrs['transform'], or attrs['{ASSUME_SQUARE}'] = True for square pixels"
        )
    return dx, 0.0, float(xs[0]) - dx / 2, 0.0, dy, float(ys[0]) - dy / 2


def _coord(data: Any, names: tuple[str, ...]) -> tuple[str, np.ndarray[Any, Any]] | None:
    """The coordinate of an axis and its name, where the axis has one of its own."""
    for dim in data.dims:
        if (
            isinstance(dim, str)
            and dim.lower() in names
            and dim in data.coords
            and data.coords[dim].ndim == 1
        ):
            values = np.asarray(data.coords[dim].values)
            if values.dtype.kind not in "iuf":
                raise NonUniformCoordsError(
                    f"coordinate {dim!r} has values of {values.dtype}: expected numbers"
                )
            return dim, values
    return None


def _check_even(name: str, values: np.ndarray[Any, Any]) -> None:
    if not np.isfinite(values).all():
        raise NonUniformCoordsError(f"coordinate {name!r} has values that are not finite")
    if len(values) < 2:
        return
    steps = np.diff(values)
    mean = (values[-1] - values[0]) / (len(values) - 1)
    if mean == 0.0 or steps[0] == 0.0:
        raise NonUniformCoordsError(
            f"coordinate {name!r} is constant at {values[0]}: expected evenly spaced values"
        )
    worst = int(np.argmax(np.abs(steps - mean)))
    if abs(steps[worst] - mean) > UNEVEN * abs(mean):
        raise NonUniformCoordsError(
            f"coordinate {name!r} is not evenly spaced: step {steps[worst]} after index {worst}, expected {mean}"
        )


def _step(values: np.ndarray[Any, Any]) -> float | None:
    """The size of a pixel along an axis; None where one value does not tell it."""
    if len(values) < 2:
        return None
    first, mean = float(values[1] - values[0]), float(values[-1] - values[0]) / (len(values) - 1)
    # The mean is the better estimate; the first step where both say the same is the number that was meant.
    return first if math.isclose(first, mean, rel_tol=1e-12) else mean
