"""What rioxarray's users find around the pixels: coordinates, `spatial_ref`, attributes, encoding.

Names, types and places are those of rioxarray's engine (CF conventions where these say something), so that
its accessor, and what is written with it, works on our datasets as on its own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core, placement
from .facts import Facts, Level

SPATIAL_REF = "spatial_ref"
CHUNK_BYTES = 32 << 20

_NOT_ATTRIBUTES = {"_FillValue", "missing_value", "fill_value", "nodata", "nodatavals", "is_tiled", "res"}


def coordinates(facts: Facts, level: Level, *, spatial: bool) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Bands from 1 and pixel centres; an image that only control points place has none of these."""
    coords: dict[str, tuple[tuple[str, ...], Any]] = {"band": (("band",), np.arange(1, level.bands + 1))}
    if spatial and not (facts.gcps and facts.transform is None):
        place = placement.transform(facts, level)
        x, y = placement.centres(place, level.width, level.height)
        if placement.is_rectilinear(place):
            coords |= {"x": (("x",), x), "y": (("y",), y)}
        else:
            coords |= {"xc": (("y", "x"), x), "yc": (("y", "x"), y)}
    return coords


def spatial_ref(facts: Facts, level: Level) -> dict[str, Any]:
    """The attributes of the grid mapping: the reference system as CF and as WKT has it, and where pixels
    lie."""
    attrs: dict[str, Any] = {}
    if facts.crs is not None and facts.crs.wkt:
        attrs |= {"crs_wkt": facts.crs.wkt, **_cf(facts.crs.wkt), "spatial_ref": facts.crs.wkt}
    attrs["GeoTransform"] = placement.geo_transform(placement.transform(facts, level))
    if facts.gcps and facts.transform is None:
        attrs["gcps"] = json.dumps(_gcps(facts))
    return attrs


def grid_coordinates(grid: _core.Grid, bands: int, *, spatial: bool) -> dict[str, tuple[tuple[str, ...], Any]]:
    """The same of a grid."""
    coords: dict[str, tuple[tuple[str, ...], Any]] = {"band": (("band",), np.arange(1, bands + 1))}
    if spatial:
        x, y = placement.centres(grid.transform, grid.width, grid.height)
        if placement.is_rectilinear(grid.transform):
            coords |= {"x": (("x",), x), "y": (("y",), y)}
        else:
            coords |= {"xc": (("y", "x"), x), "yc": (("y", "x"), y)}
    return coords


def grid_spatial_ref(grid: _core.Grid) -> dict[str, Any]:
    """The attributes of the grid mapping of a grid."""
    wkt = grid.system()["wkt"]
    attrs: dict[str, Any] = {"crs_wkt": wkt, **_cf(wkt), "spatial_ref": wkt} if wkt else {}
    return attrs | {"GeoTransform": placement.geo_transform(grid.transform)}


def _cf(wkt: str) -> dict[str, Any]:
    """CF's own words, where pyproj is there to find them; `crs_wkt` says the same without it."""
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


def _gcps(facts: Facts) -> dict[str, Any]:
    def feature(number: int, point: tuple[float, float, float, float, float]) -> dict[str, Any]:
        row, column, x, y, z = point
        return {
            "type": "Feature",
            "properties": {"id": str(number), "info": "", "row": row, "col": column},
            "geometry": {"type": "Point", "coordinates": [x, y, z]},
        }

    return {
        "type": "FeatureCollection",
        "features": [feature(number, point) for number, point in enumerate(facts.gcps, 1)],
    }


def attributes(dataset: Any, facts: Facts) -> dict[str, Any]:
    """What the file and its first band say, numbers as numbers; names and units of bands."""
    said = {**_core.words(dataset), **(facts.bands[0].items if facts.bands else {})}
    attrs: dict[str, Any] = {
        name: _numeric(value) for name, value in said.items() if name not in _NOT_ATTRIBUTES
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
    """`scale_factor` and `add_offset`, or `scales` and `offsets` where bands differ."""
    scales = tuple(1.0 if band.scale is None else float(band.scale) for band in facts.bands) or (1.0,)
    offsets = tuple(0.0 if band.offset is None else float(band.offset) for band in facts.bands) or (0.0,)
    said: dict[str, Any] = {}
    said |= {"scale_factor": scales[0]} if len(set(scales)) == 1 else {"scales": scales}
    said |= {"add_offset": offsets[0]} if len(set(offsets)) == 1 else {"offsets": offsets}
    return said


def preferred_chunks(level: Level, item_bytes: int) -> dict[str, int]:
    """Whole blocks, enough for a chunk of some dozens of MiB: one task reads many of them. Interleaved bands are read
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
