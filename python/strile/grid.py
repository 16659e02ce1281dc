"""Converts grids of other packages for `Grid.like`, `Grid.to_geobox` and keywords named `grid` and `like`.

`Grid` is a class of the core. Its parts (reference system, transform, shape) are found in a path, a `Dataset`, a
DataArray, a `GeoBox` of odc-geo, or a dataset of rasterio."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from ._core import Grid
from .errors import StrileError


def like(other: Any) -> Grid:
    """Returns the grid of the pixels of another raster."""
    if isinstance(other, Grid):
        return other
    if isinstance(other, str | os.PathLike):
        from .dataset import open

        return Grid.of_dataset(open(other)._opened())
    core = getattr(other, "_opened", None)
    if core is not None and hasattr(other, "level_shapes"):
        return Grid.of_dataset(core())
    if hasattr(other, "dims") and hasattr(other, "attrs"):
        return _of_array(_raster(other))
    if hasattr(other, "affine") and hasattr(other, "crs") and hasattr(other, "shape"):
        return _made(other, other.affine, other.shape)
    if hasattr(other, "transform") and hasattr(other, "crs") and hasattr(other, "shape"):
        return _made(other, other.transform, other.shape[-2:])
    raise TypeError(
        f"grid is {type(other).__name__}: expected a Grid, a path, a Dataset, a DataArray, a GeoBox of odc-geo, or a dataset of rasterio"
    )


def check_raster(value: Any, name: str) -> None:
    """Raises TypeError for a value that has no grid. `name` is a keyword that takes True, False, or a raster."""
    kinds = isinstance(value, Grid | str | os.PathLike)
    if not (kinds or hasattr(value, "dims") or hasattr(value, "level_shapes") or (hasattr(value, "crs") and hasattr(value, "shape"))):
        raise TypeError(
            f"{name} is {type(value).__name__}: expected True, False, or the raster whose grid is the target (a DataArray, a Dataset, a Grid, a path)"
        )


def raster_of(other: Any) -> Any:
    """Returns the raster that a grid is suggested for: an open file, which may be placed by control points, or the grid of another object."""
    if isinstance(other, str | os.PathLike):
        from .dataset import open

        return open(other)._opened()
    core = getattr(other, "_opened", None)
    return core() if core is not None and hasattr(other, "level_shapes") else like(other)


def to_geobox(grid: Grid) -> Any:
    """Returns the same grid for odc-geo."""
    try:
        from odc.geo.geobox import GeoBox
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] != "odc":
            raise
        raise ModuleNotFoundError("to_geobox needs odc-geo, which is not installed: pip install odc-geo", name="odc.geo") from None
    from affine import Affine

    return GeoBox(grid.shape, Affine(*grid.transform), grid.crs)


def _made(other: Any, transform: Any, shape: Any) -> Grid:
    if other.crs is None:
        raise StrileError(f"a {type(other).__name__} without a reference system has no grid: set its crs")
    return Grid(other.crs, tuple(transform)[:6], tuple(shape))


def _raster(data: Any) -> Any:
    """Returns a DataArray; of a Dataset its only raster."""
    if hasattr(data, "data_vars"):
        return data.strile._raster(None)
    return data


def _of_array(array: Any) -> Grid:
    """Returns the grid of an array by the rules of `to_geotiff`: attributes of strile and rioxarray, else coordinates."""
    from .writing import georef
    from .writing.crs import crs_keys
    from .writing.layout import X_NAMES, Y_NAMES

    placed = georef.placed(array, array.attrs, SimpleNamespace(transform=None, drop_rotation=False))  # type: ignore[arg-type]
    keys = crs_keys(None, array, array.attrs, False)
    if placed.transform is None or "crs" not in keys:
        lacks = "transform or coordinates" if placed.transform is None else "reference system (attrs['crs'] or spatial_ref)"
        raise StrileError(f"the array has no {lacks}, which its grid needs: set it, or pass a strile.Grid")
    sizes = [array.sizes[dim] for names in (Y_NAMES, X_NAMES) for dim in array.dims if dim in names]
    if len(sizes) != 2:
        raise StrileError(f"the array has the dimensions {array.dims}: expected y and x among them")
    return Grid(keys["crs"], placed.transform, (sizes[0], sizes[1]))
