"""A result of `open_geotiff` in words that can be kept as JSON and compared: values as digests, the rest as it is.

Used on both sides: on xarray-spatial's arrays when answers are made, on strile's when they are compared.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

EVERY: dict[str, dict[str, Any]] = {
    "plain": {},
    "masked": {"masked": True},
    "window": {"window": (5, 6, 33, 50)},
    "lazy": {"chunks": 32, "masked": True},
}
"""How every file is opened."""

SOME: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "unpacked": ({"unpack": True}, ("scaled", "scaled_apart", "nodata_int16", "nodata_nan", "plain_uint8")),
    "unpacked_band": ({"unpack": True, "band": 1}, ("scaled", "scaled_apart")),
    "band": ({"band": 1}, ("planar", "predictor_2", "rgba", "scaled")),
    "band_that_is_not": ({"band": 9}, ("planar", "plain_uint8")),
    "rotated": ({"allow_rotated": True}, ("rotated", "plain_uint8")),
    "overview": ({"overview_level": 1}, ("overviews", "plain_uint8")),
    "overview_window": ({"overview_level": 1, "window": (10, 20, 60, 70), "masked": True}, ("overviews",)),
    "bbox": (
        {"bbox": (500100.0, 4598300.0, 501000.0, 4599500.0)},
        ("plain_uint8", "degrees", "rotated", "no_georeferencing", "overviews", "point", "south_up"),
    ),
    "cast": ({"dtype": "float64"}, ("plain_uint8", "plain_int16", "nodata_int16")),
    "cast_down": ({"dtype": "int16"}, ("plain_float32", "nodata_float32")),
    "empty_window": ({"window": (5, 5, 5, 9)}, ("plain_uint8",)),
    "window_outside": ({"window": (0, 0, 71, 9)}, ("plain_uint8",)),
    "level_of_a_wrong_kind": ({"overview_level": True}, ("plain_uint8",)),
    "chunks_of_a_wrong_kind": ({"chunks": 0}, ("plain_uint8",)),
    "gpu_of_a_wrong_kind": ({"gpu": 1}, ("plain_uint8",)),
    "too_many_pixels": ({"max_pixels": 10}, ("plain_uint8", "planar")),
}
"""Further ways, and the files that are opened so."""


OURS = ("photometric", "source_band", "mask_dropped")
"""Attributes that xarray-spatial does not have: without them colours, names of bands and masks were lost on a write."""


def ways(name: str) -> dict[str, dict[str, Any]]:
    """How a file of the list is opened."""
    return EVERY | {way: options for way, (options, files) in SOME.items() if name in files}


def described(array: Any) -> dict[str, Any]:
    return {
        "dims": list(array.dims),
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "name": array.name,
        "values": digest(np.asarray(array.data)),
        "coords": {
            str(name): [str(coord.dtype), list(coord.shape), digest(coord.values), ends(coord.values)]
            for name, coord in array.coords.items()
        },
        "attrs": {
            str(name): plain(name, value) for name, value in sorted(array.attrs.items()) if name not in OURS
        },
    }


def digest(values: Any) -> str:
    """Equal for equal values, whatever the byte order, the strides and the bits of a NaN."""
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    if values.dtype.kind in "fc":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values) + values.dtype.type(0)
    return hashlib.sha256(values.tobytes()).hexdigest()[:24]


def ends(values: Any) -> list[float]:
    flat = values.ravel()
    return [float(flat[0]), float(flat[-1])]


def plain(name: Any, value: Any) -> Any:
    if name == "crs_wkt":
        from pyproj import CRS

        crs = CRS.from_user_input(value)
        return {"name": crs.name, "epsg": crs.to_epsg(), "projected": crs.is_projected}
    if isinstance(value, dict):
        return sorted([repr(key), plain(None, item)] for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [plain(None, item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return "nan"
    if isinstance(value, bytes):
        return value.hex()
    return value
