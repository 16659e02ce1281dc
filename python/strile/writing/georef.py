"""Finds the transform of an array, from `attrs["transform"]` to its coordinates.

xarray keeps attrs when it selects, turns or coarsens: of an array that came from a read, coordinates that lie
elsewhere than the stated transform says are what holds. Where both agree the stated numbers are kept to the bit.

A transform is Affine's six numbers (a, b, c, d, e, f) for the *corners* of pixels. Coordinates are centres; so is the origin
of `attrs["transform"]` where the raster is of points. The core computes. No pixel is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..constants import CONTRACT, NO_GEOREF
from ..errors import NonUniformCoordsError, RotatedTransformError, StrileError
from .layout import X_NAMES, Y_NAMES

if TYPE_CHECKING:
    from .arguments import WriteArguments

Transform = tuple[float, float, float, float, float, float]

ASSUME_SQUARE = "assume_square_pixels_for_degenerate_axis"

Gcp = tuple[float, float, float, float, float]
"""Row, column, x, y and z of a control point; rows and columns count from the outer corner."""

Axis = tuple[str, bytes, float | None]
"""Name and coordinates of an axis, and the spacing of the largest in its own type; None for integers."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The placement of a raster."""

    transform: Transform | None
    is_point: bool
    gcps: tuple[Gcp, ...] = ()


def placed(data: Any, attrs: Mapping[Any, Any], arguments: WriteArguments) -> Placed:
    """Finds the placement of an array. `data` is a DataArray, or None for an array without coordinates."""
    drop_rotation = arguments.drop_rotation
    is_point = str(attrs.get("raster_type", "")).lower() == "point"
    if arguments.transform is not None:
        return Placed(arguments.transform, is_point)
    if attrs.get("rotated_affine") is not None and not drop_rotation:
        raise RotatedTransformError(
            "attrs['rotated_affine'] says that the grid is rotated, and rows and columns would be written as if it were "
            "not: reproject it, pass transform= with the rotated transform, or drop_rotation=True to write the pixels alone"
        )
    stated = checked_transform(attrs.get("transform"), "attrs['transform']", aligned=True, dropped=drop_rotation)
    gcps = () if stated is not None or not attrs.get("gcps") else _gcps(attrs["gcps"])
    if data is None and stated is None and not gcps:
        return Placed(None, is_point)
    transform, points = _core.place(
        stated=stated,
        points=is_point,
        follows=CONTRACT in attrs,
        gcps=gcps,
        mapped=_geo_transform(data) if stated is None and not gcps else None,
        unplaced=attrs.get(NO_GEOREF) is True,
        square=attrs.get(ASSUME_SQUARE) is True,
        y=_axis(data, Y_NAMES),
        x=_axis(data, X_NAMES),
    )
    return Placed(transform, is_point, tuple(points))


def checked_transform(value: Any, name: str = "transform", *, aligned: bool = False, dropped: bool = False) -> Transform | None:
    """Returns the six numbers of a transform. One that is not `aligned` with rows and columns is refused, or `dropped`."""
    return None if value is None else _core.checked_transform(value, name, aligned=aligned, dropped=dropped)


def _geo_transform(data: Any) -> Transform | None:
    """Returns the transform that rioxarray keeps beside the reference system, where its axes are rows and columns."""
    mapping = data.encoding.get("grid_mapping", data.attrs.get("grid_mapping", "spatial_ref"))
    text = data.coords[mapping].attrs.get("GeoTransform") if mapping in data.coords else None
    if not isinstance(text, str):
        return None
    try:
        c, a, b, f, d, e = (float(number) for number in text.split())
        transform = checked_transform((a, b, c, d, e, f))
    except ValueError:
        return None
    if _coord(data, X_NAMES) is None and (a, b, c, d, e, f) == (1.0, 0.0, 0.0, 0.0, 1.0, 0.0):
        return None
    if b != 0.0 or d != 0.0:
        raise RotatedTransformError(
            f"the coordinate {mapping!r} has a rotated GeoTransform ({text}): reproject the array, or pass transform= "
            "with the transform of its first pixel"
        )
    return transform


def _gcps(stated: Any) -> tuple[Gcp, ...]:
    points = []
    for point in stated:
        try:
            row, column, x, y, z = (float(number) for number in point)
        except (TypeError, ValueError):
            raise StrileError(f"attrs['gcps'] has {point!r}: expected (row, column, x, y, z)") from None
        points.append((row, column, x, y, z))
    return tuple(points)


def _axis(data: Any, names: tuple[str, ...]) -> Axis | None:
    """Returns the coordinate of an axis, as the core takes it."""
    found = None if data is None else _coord(data, names)
    if found is None:
        return None
    name, values = found
    floats = values.dtype.kind == "f" and len(values) > 0
    spacing = float(np.spacing(np.abs(values).max())) if floats else None
    return name, np.ascontiguousarray(values, np.float64).tobytes(), spacing


def _coord(data: Any, names: tuple[str, ...]) -> tuple[str, np.ndarray[Any, Any]] | None:
    """Returns the coordinate of an axis and its name, where the axis has one of its own."""
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
