"""The attributes that every read of a source carries, apart from nodata and scaling.

A key is there when the file has the feature, on every route and at every level: an overview that has no
metadata, tags or resolution of its own shows those of the full resolution. Tags that say how the file is laid
out never show; the writer makes its own. """

from __future__ import annotations

from typing import Any

from ..constants import (
    GEOREF_STATUS_CRS_ONLY,
    GEOREF_STATUS_FULL,
    GEOREF_STATUS_NONE,
    GEOREF_STATUS_ROTATED_DROPPED,
    GEOREF_STATUS_TRANSFORM_ONLY,
)
from ..errors import StrileError
from ..facts import Level
from .georef import Grid

CONTRACT = "_xrspatial_geotiff_contract"
CONTRACT_VERSION = 5
NO_GEOREF = "_xrspatial_no_georef"

_DESCRIPTION, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 270, 282, 283, 296
_COLORMAP, _EXTRA_SAMPLES, _GDAL_METADATA = 320, 338, 42112
_UNITS = {1: "none", 2: "inch", 3: "centimeter"}

# Layout, codecs, offsets into the file, georeferencing, nodata and metadata: said by other attributes or by
# none.
_MANAGED = frozenset(
    {254, 255, 256, 257, 258, 259, 262, 263, 264, 265, 266, 273, 274, 277, 278, 279, 282, 283, 284, 288, 289}
    | {292, 293, 296, 317, 322, 323, 324, 325, 330, 339, 347, 512, 513, 514, 515, 517, 518, 519, 520, 521, 530}
    | {33550, 33922, 34264, 34735, 34736, 34737, 34665, 34853, 40965, 42112, 42113, 50674}
)

Tags = list[tuple[int, int, int, Any]]


_PHOTOMETRICS = {2: "rgb", 5: "cmyk", 6: "rgb", 8: "cielab", 9: "icclab", 10: "itulab"}


def colours(level: Level) -> dict[str, Any]:
    """`photometric`, where bands are colours. YCbCr is read as RGB; palettes have a `colormap`."""
    name = _PHOTOMETRICS.get(level.photometric)
    return {} if name is None else {"photometric": name}


def georeference(grid: Grid, crs: dict[str, Any], row: int, column: int) -> dict[str, Any]:
    """Status, reference system and transform of a window that begins at a pixel."""
    attrs: dict[str, Any] = {}
    if grid.rotated is not None:
        attrs["georef_status"] = GEOREF_STATUS_ROTATED_DROPPED
        return attrs | {NO_GEOREF: True, "rotated_affine": grid.rotated}
    transform = grid.at(row, column)
    if transform is None:
        attrs["georef_status"] = GEOREF_STATUS_CRS_ONLY if crs else GEOREF_STATUS_NONE
        attrs[NO_GEOREF] = True
    else:
        attrs["georef_status"] = GEOREF_STATUS_FULL if crs else GEOREF_STATUS_TRANSFORM_ONLY
        attrs["transform"] = transform
    if grid.point:
        attrs["raster_type"] = "point"
    if grid.gcps:
        attrs["gcps"] = grid.gcps
    return {**attrs, **crs}


def metadata_text(own: Tags, base: Tags) -> str | None:
    """GDAL's metadata as stored: of the level, else of the full resolution."""
    for tags in (own, base):
        for tag, _, _, value in tags:
            if tag == _GDAL_METADATA:
                text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                return text.rstrip("\0")
    return None


def described(own: Tags, base: Tags, items: dict[Any, str] | None, text: str | None) -> dict[str, Any]:
    """Everything that the tags say about the image and not about its layout."""
    attrs: dict[str, Any] = {}
    stored = {tag: value for tag, _, _, value in base} | {tag: value for tag, _, _, value in own}
    if items:
        attrs["gdal_metadata"] = items
    if text is not None and items is not None:
        attrs["gdal_metadata_xml"] = text
    tags = {entry[0]: entry for entry in (*base, *own) if entry[0] not in _MANAGED}
    if tags:
        attrs["extra_tags"] = [_shown(tags[tag]) for tag in sorted(tags)]
    if _DESCRIPTION in stored:
        attrs["image_description"] = stored[_DESCRIPTION]
    for key, tag in (("extra_samples", _EXTRA_SAMPLES), ("colormap", _COLORMAP)):
        if tag in stored:
            value = stored[tag]
            attrs[key] = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for key, tag in (("x_resolution", _X_RESOLUTION), ("y_resolution", _Y_RESOLUTION)):
        if tag in stored:
            attrs[key] = _ratio(stored[tag])
    if _RESOLUTION_UNIT in stored and stored[_RESOLUTION_UNIT] in _UNITS:
        attrs["resolution_unit"] = _UNITS[stored[_RESOLUTION_UNIT]]
    return attrs


def _shown(entry: tuple[int, int, int, Any]) -> tuple[int, int, int, Any]:
    tag, kind, count, value = entry
    if kind in (5, 10):
        ratios = tuple(_ratio(value[i : i + 2]) for i in range(0, len(value), 2))
        value = ratios[0] if count == 1 else ratios
    return tag, kind, count, value


def _ratio(value: Any) -> float:
    """A rational as the core gives it: two whole numbers."""
    above, below = value
    if below == 0:
        raise StrileError(f"a tag has the rational {above}/0, which is no number")
    return above / below
