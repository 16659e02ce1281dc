"""Checks the keywords of reads onto a grid, and makes the core's options of them.

`onto_of` makes the `Onto` of a read, which can be pickled. `grid_of` makes the grid of the keywords of `open_geotiff`: a grid, an array like it,
or a reference system with bounds, a resolution or a shape."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._core import Grid, Onto
from .checks import flag_of, index_of, method_of, number_of, text_of, whole
from .errors import StrileError
from .facts import Facts
from .grid import like as grid_like

Window = tuple[int, int, int, int]
"""Column, row, width, height in pixels of the grid."""

MADE_OF = ("crs", "resolution", "bounds", "shape")
"""Keywords that make a grid together with a file."""
OF_GRIDS = {
    "tolerance": None, "datum_shift": "required", "source_crs": None, "nodata": None, "fill": None, "top": "last", "polygon_crs": None,
    "order": None, "tps": False, "rpc": False, "rpc_height": None, "rpc_dem": None,
}  # fmt: skip
"""Keywords that only reads onto a grid take, with their defaults."""
PLACED = ("order", "tps", "rpc", "rpc_height", "rpc_dem")
"""Keywords that choose among the georeferencing of a file."""


def onto_of(
    grid: Any,
    *,
    resampling: Any = "nearest",
    tolerance: Any = None,
    level: Any = None,
    datum_shift: Any = "required",
    source_crs: Any = None,
    nodata: Any = None,
    fill: Any = None,
    dtype: str | None = None,
    top: Any = "last",
    polygon: Any = None,
    polygon_crs: Any = None,
    order: Any = None,
    tps: Any = False,
    rpc: Any = False,
    rpc_height: Any = None,
    rpc_dem: Any = None,
) -> Onto:
    """Returns the options of a read onto a grid, checked as far as possible without a file. rasterio's methods are taken by their names."""
    if tolerance is not None:
        tolerance = float(number_of(tolerance, "tolerance"))
        if not 0 <= tolerance < float("inf"):
            raise StrileError(f"tolerance is {tolerance}: expected a number of pixels of the file, 0 (exact) or more")
    text, text_crs = polygon_of(polygon, polygon_crs)
    return Onto(
        grid_like(grid),
        resampling=method_of(resampling),
        tolerance=tolerance,
        level=None if level is None else index_of(level, "level"),
        datum_shift=text_of(datum_shift, "datum_shift"),
        source_crs=None if source_crs is None else Grid(source_crs, (1, 0, 0, 0, -1, 0), (1, 1)).crs,
        nodata=None if nodata is None else number_of(nodata, "nodata"),
        fill=None if fill is None else number_of(fill, "fill"),
        dtype=dtype,
        top=text_of(top, "top"),
        polygon=text,
        polygon_crs=text_crs,
        **placing_of(order, tps, rpc, rpc_height, rpc_dem),
    )


def placing_of(order: Any, tps: Any, rpc: Any, rpc_height: Any, rpc_dem: Any) -> dict[str, Any]:
    """Returns which georeferencing of files is used, as keywords of the core: the options of `strile warp`."""
    return {
        "order": None if order is None else index_of(order, "order"),
        "tps": flag_of(tps, "tps"),
        "rpc": flag_of(rpc, "rpc"),
        "rpc_height": None if rpc_height is None else float(number_of(rpc_height, "rpc_height")),
        "rpc_dem": dem_of(rpc_dem),
    }


def dem_of(dem: Any) -> tuple[str, str, float | None] | None:
    """Returns the elevation model for RPCs: its path, the interpolation, and the height where it has none."""
    if dem is None:
        return None
    given: dict[str, Any] = dict(dem) if isinstance(dem, Mapping) else {"path": dem}
    path, missing = given.pop("path", None), given.pop("missing_value", None)
    method = text_of(given.pop("interpolation", "bilinear"), "rpc_dem['interpolation']")
    if given:
        raise StrileError(f"rpc_dem has {', '.join(map(repr, given))}: expected 'path', 'interpolation' and 'missing_value'")
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"rpc_dem is {type(path).__name__}: expected the path of an elevation model, or a dict with its 'path'")
    return os.fspath(path), method, None if missing is None else float(number_of(missing, "rpc_dem['missing_value']"))


def polygon_of(polygon: Any, crs: Any) -> tuple[str | None, str | None]:
    """Returns a polygon as text, and its reference system (None: that of the text, empty: that of the result)."""
    if polygon is None:
        if crs is not None:
            raise StrileError("polygon_crs is the reference system of a polygon: pass polygon with it, or drop it")
        return None, None
    own = crs
    if isinstance(polygon, os.PathLike) or (isinstance(polygon, str) and polygon.lower().endswith((".geojson", ".json"))):
        text = Path(polygon).read_text(encoding="utf-8")
    elif isinstance(polygon, str):
        text = polygon
    elif isinstance(polygon, dict):
        text = json.dumps(polygon)
    elif hasattr(polygon, "__geo_interface__"):
        text = json.dumps(polygon.__geo_interface__)
        own = crs if crs is not None else getattr(polygon, "crs", None)
        own = "" if own is None else own
    else:
        raise TypeError(
            f"polygon is {type(polygon).__name__}: expected WKT, GeoJSON (a text, a dict or a path), or a geometry with __geo_interface__"
        )
    return text, own if own is None or own == "" else Grid(own, (1, 0, 0, 0, -1, 0), (1, 1)).crs


def own_grid(dataset: Any, polygon: Any, crs: Any, datum_shift: Any) -> Grid:
    """Returns the grid of the pixels of a file that the box around a polygon touches."""
    text, own = polygon_of(polygon, crs)
    return Grid.of_dataset(dataset).cropped(text or "", own, text_of(datum_shift, "datum_shift"))


def is_usual(value: Any, usual: Any) -> bool:
    """Returns whether an argument of any type is its default."""
    return value is usual or (isinstance(value, str) and isinstance(usual, str) and value == usual)


def refuse_without_grid(given: Mapping[str, Any], grids: str = "grid=", **more: Any) -> None:
    """Refuses keywords of reads onto a grid where none is given. `grids` are the keywords that make one, `more` are further keywords of the
    door with their defaults."""
    for name, default in (OF_GRIDS | more).items():
        if not is_usual(given.get(name, default), default):
            raise StrileError(f"{name} is for reads onto a grid: pass {grids} with it, or drop it")


def refuse_with_grid(given: dict[str, Any]) -> None:
    """Refuses keywords that have no meaning in a read onto a grid."""
    for name, value in given.items():
        if value is not None and value is not False and whole(value) != 0:
            raise StrileError(f"{name} cannot be combined with grid: the grid says where and how large the result is")


def refuse_with_polygon(given: dict[str, Any]) -> None:
    """Refuses keywords that have no meaning in a read of the pixels under a polygon."""
    for name, value in given.items():
        if value is not None:
            raise StrileError(f"{name} cannot be combined with polygon: pass a grid of the part with it, or drop it")


def grid_of(datasets: Sequence[Any], given: dict[str, Any]) -> Grid:
    """Returns the grid of `grid`, `like`, or `crs`, `resolution`, `bounds` and `shape` for open files."""
    aligned = flag_of(given["target_aligned"], "target_aligned")
    made = [name for name in MADE_OF if given[name] is not None]
    polygon = given.get("polygon")
    named = [name for name in ("grid", "like") if given[name] is not None]
    if polygon is not None and not named and not made:
        return own_grid(datasets[0], polygon, given["polygon_crs"], given["datum_shift"])
    if len(named) + bool(made) != 1:
        raise StrileError(f"expected one grid: grid=, like=, or {', '.join(MADE_OF)} together; got {', '.join([*named, *made])}")
    if named:
        if aligned:
            raise StrileError("target_aligned is for bounds with a resolution: drop it")
        return grid_like(given[named[0]])
    placed = placing_of(*(given.get(name, OF_GRIDS[name]) for name in PLACED))
    given = {name: given.get(name) for name in (*MADE_OF, "target_aligned", "datum_shift", "source_crs")}
    return Grid.chosen(list(datasets), **given, **placed)


def part(grid: Grid, window: Window | None) -> Grid:
    """Returns the grid of a window of a grid."""
    if window is None:
        return grid
    column, row, width, height = window
    return Grid(grid.crs, _core.moved(grid.transform, column, row), (height, width))


def operation_attrs(datasets: Sequence[Any], onto: Onto, stacklevel: int | None = None) -> dict[str, Any]:
    """Returns attributes: the operation between the datums, as in the plan (one text per file if they differ), and the method. With a
    `stacklevel`, warns about a grid that no file lies under."""
    found = _core.files_onto(datasets, onto)
    if stacklevel is not None and all(file["is_outside"] for file in found):
        warnings.warn(
            f"{found[0]['name']}: the target grid does not overlap the source, so no pixel has a value: check the bounds of the grid and "
            "their reference system",
            UserWarning,
            stacklevel=stacklevel,
        )
    operations = tuple(dict.fromkeys(file["operation"] for file in found))
    return {"coordinate_operation": operations[0] if len(operations) == 1 else operations, "resampling": onto.resampling}


@dataclass(frozen=True, slots=True)
class GridOrigin:
    """The origin of a `Raster` that was read onto a grid. Called, it returns the attributes."""

    datasets: Sequence[Any]
    onto: Onto
    window: Window | None
    bands: list[int] | None
    masked: bool
    unpack: bool

    def __call__(self) -> dict[str, Any]:
        attrs: dict[str, Any] = _core.placed_on(part(self.onto.grid, self.window))
        nodata = self.onto.missing_value(self.datasets[0], self.masked or self.unpack)
        if nodata is not None:
            attrs |= {"nodata": nodata, "masked_nodata": self.masked or self.unpack}
        if self.unpack:
            attrs["mask_and_scale_dtype"] = Facts.of(self.datasets[0]).dtype.name
        if self.bands is not None:
            attrs["source_bands"] = tuple(band - 1 for band in self.bands)
        return attrs | operation_attrs(self.datasets, self.onto)
