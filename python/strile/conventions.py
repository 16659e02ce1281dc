"""Makes the metadata of a dataset of the xarray engine: coordinates, `spatial_ref`, attributes, chunks.

Names and types are those of rioxarray's engine (those of CF where there are any), so its accessor and writer work on these datasets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from . import _core
from .facts import Facts, Level, Transform

SPATIAL_REF = "spatial_ref"
CHUNK_BYTES = 32 << 20

_NOT_ATTRIBUTES = {"_FillValue", "missing_value", "fill_value", "nodata", "nodatavals", "is_tiled", "res"}


@dataclass(frozen=True)
class Georeference:
    """The georeference of a level of a file, or of a grid. `gcps` are control points in place of a transform."""

    transform: Transform
    shape: tuple[int, int]
    wkt: str | None
    gcps: tuple[tuple[float, ...], ...] = ()

    @staticmethod
    def of_level(facts: Facts, level: Level) -> Georeference:
        gcps = facts.gcps if facts.transform is None else ()
        return Georeference(facts.transform_of(level), (level.height, level.width), facts.crs.wkt if facts.crs else None, gcps)

    @staticmethod
    def of_grid(grid: _core.Grid) -> Georeference:
        return Georeference(grid.transform, grid.shape, grid.system()["wkt"])

    def coordinates(self) -> dict[str, np.ndarray]:
        """Returns the pixel centres: `x` and `y`, or `xc` and `yc` (y, x) of an image that is turned. An image that only control points place has
        none."""
        if self.gcps:
            return {}
        height, width = self.shape
        # Half a pixel is added to the origin first, as affine's product has it: coordinates are equal to the last bit to those that
        # rioxarray makes, and align with them.
        centred = _core.moved(self.transform, 0.5, 0.5)
        if self.transform[1] == self.transform[3] == 0.0:
            return {
                "x": map_points(centred, np.arange(width), np.zeros(width))[0], "y": map_points(centred, np.zeros(height), np.arange(height))[1],
            }  # fmt: skip
        x, y = map_points(centred, *np.meshgrid(np.arange(width), np.arange(height)))
        return {"xc": x, "yc": y}

    def spatial_ref(self) -> dict[str, Any]:
        """Returns the attributes of the grid mapping: the reference system in CF's words and as WKT, and the transform."""
        attrs: dict[str, Any] = {"crs_wkt": self.wkt, **deepcopy(dict(_cf(self.wkt))), "spatial_ref": self.wkt} if self.wkt else {}
        attrs["GeoTransform"] = geo_transform(self.transform)
        if self.gcps:
            attrs["gcps"] = json.dumps(_gcps(self.gcps))
        return attrs


def map_points(grid: Transform, first: Any, second: Any, inverse: bool = False) -> Any:
    """Returns x and y of columns and rows in one array, or with `inverse` columns and rows of x and y."""
    both = (np.ascontiguousarray(numbers, np.float64) for numbers in (first, second))
    return np.frombuffer(_core.placed_at(grid, *(numbers.tobytes() for numbers in both), inverse=inverse)).reshape(2, *np.shape(first))


def geo_transform(grid: Transform) -> str:
    """Returns a transform as text, in the order of GDAL."""
    a, b, c, d, e, f = grid
    return " ".join(str(number) for number in (c, a, b, f, d, e))


@lru_cache(maxsize=32)
def _cf(wkt: str) -> Mapping[str, Any]:
    """Returns the reference system in the words of CF, if pyproj is installed; `crs_wkt` says the same. It takes pyproj 0.2 ms, so it is kept."""
    try:
        from pyproj import CRS
        from pyproj.exceptions import CRSError
    except ImportError:
        return {}
    try:
        mapping = CRS.from_wkt(wkt).to_cf()
    except CRSError:
        return {}
    mapping.pop("crs_wkt", None)
    return mapping


def _gcps(gcps: tuple[tuple[float, ...], ...]) -> dict[str, Any]:
    def feature(number: int, point: tuple[float, ...]) -> dict[str, Any]:
        row, column, x, y, z = point
        return {
            "type": "Feature",
            "properties": {"id": str(number), "info": "", "row": row, "col": column},
            "geometry": {"type": "Point", "coordinates": [x, y, z]},
        }

    return {
        "type": "FeatureCollection",
        "features": [feature(number, point) for number, point in enumerate(gcps, 1)],
    }


def attributes(dataset: Any, facts: Facts) -> dict[str, Any]:
    """Returns the metadata items of the file and of its first band, numbers as numbers, and names and units of bands."""
    items = {**_core.words(dataset), **(facts.bands[0].items if facts.bands else {})}
    attrs: dict[str, Any] = {
        name: _numeric(value) for name, value in items.items() if name not in _NOT_ATTRIBUTES
    }
    names = tuple(band.description or None for band in facts.bands)
    units = tuple(band.unit or None for band in facts.bands)
    if any(names):
        attrs["long_name"] = names[0] if len(set(names)) == 1 else names
    if any(units):
        attrs["units"] = units[0] if len(units) == 1 else units
    return attrs


def _numeric(text: str) -> Any:
    if text.startswith("{") and text.endswith("}"):
        try:
            return np.array([float(number) for number in text[1:-1].split(",")])
        except ValueError:
            return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def scaling(facts: Facts) -> dict[str, Any]:
    """Returns `scale_factor` and `add_offset`, or `scales` and `offsets` if bands differ."""
    scales, offsets = facts.scales or (1.0,), facts.offsets or (0.0,)
    scale = {"scale_factor": scales[0]} if len(set(scales)) == 1 else {"scales": scales}
    return scale | ({"add_offset": offsets[0]} if len(set(offsets)) == 1 else {"offsets": offsets})


def square_chunk(pixel_bytes: int) -> int:
    """Returns the side of a chunk of a grid, which has no blocks: a multiple of 256, for some dozens of MiB."""
    return max(256, int((CHUNK_BYTES / pixel_bytes) ** 0.5) // 256 * 256)


def preferred_chunks(level: Level, item_bytes: int) -> dict[str, int]:
    """Returns the size of a chunk of some dozens of MiB, in whole blocks: one task reads many of them. Interleaved bands are read
    together, since each block holds them all."""
    bands = level.bands if level.planar == "contig" else 1
    rows, columns = min(level.block[0], level.height), min(level.block[1], level.width)
    while bands > 1 and bands * rows * columns * item_bytes > 4 * CHUNK_BYTES:
        bands = (bands + 1) // 2
    while 2 * bands * rows * columns * item_bytes <= CHUNK_BYTES:
        if columns < level.width and (columns <= rows or rows >= level.height):
            columns = min(2 * columns, level.width)
        elif rows < level.height:
            rows = min(2 * rows, level.height)
        else:
            break
    return {"y": rows, "x": columns, "band": bands}
