"""Reads the metadata of an array into one form: the attributes of `open_geotiff`.

Arrays of `open_geotiff` and `strile.read` have it in `attrs`. Arrays of the xarray engine, and of rioxarray, have it where
CF and rioxarray put it: in `attrs`, in `encoding` and in coordinates. Tags, colours and items of bands, which have no place there,
are in `encoding["strile"]`. Other arrays may set the same attributes. Pixels are not read.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import is_listed, number_of
from ..constants import CONTRACT
from ..errors import StrileError
from .layout import BAND_NAMES

KEPT = "strile"
"""Key of `encoding` under which the engine keeps metadata that attributes have no names for."""

ORIGINAL = "original_shape"
"""Key of `encoding` that an array of `open_geotiff` has as long as it holds pixels of its file: the shape of the file."""

RESERVED = frozenset(
    """_FillValue missing_value fill_value nodata nodatavals scale_factor add_offset scales offsets long_name units
    grid_mapping crs crs_wkt transform spatial_ref res is_tiled AREA_OR_POINT coordinates dtype rotated_affine
    raster_type standard_name axis""".split()
)
"""Attributes of rioxarray and CF that are not metadata items of the file."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the file stores values of a decoded array: engines of xarray note it, and rioxarray's writer applies it."""

    dtype: np.dtype[Any] | None
    scales: tuple[float, ...]
    offsets: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ArrayMetadata:
    """The metadata of an array. `bands` are the bands of its file that it has, from 0; None if they are not known. `unchanged`: the array
    holds pixels of its file; `whole`: all of them. `keywords` are further keywords of the core's `RasterSpec`, which override tags."""

    attrs: Mapping[Any, Any]
    bands: tuple[int, ...] | None = None
    encoding: Encoding | None = None
    unchanged: bool = False
    whole: bool = False
    bits: int | None = None
    """Bits that the file stores a sample in, where its type has more."""
    tables: Any = None
    """Attribute and colour tables that the file has beside it: `reading.sidecars.Tables`."""
    mask: Any = None
    """A `FileMask`, or "image" or "alpha" where pixels that the file masks are NaN."""
    keywords: dict[str, Any] = field(default_factory=dict)


def metadata_of(data: Any, attrs: Mapping[Any, Any], count: int) -> ArrayMetadata:
    """Returns the metadata of `data`: a DataArray, or None for an array without coordinates. `count` is the number of its bands."""
    encoding: Mapping[Any, Any] = {} if data is None else data.encoding
    if data is None or CONTRACT in attrs or not _is_of_an_engine(encoding):
        keywords = _names_and_units(attrs, data, count, None)
        # xarray keeps the attributes of a result and drops its encoding.
        unchanged = data is None or ORIGINAL in encoding
        whole = data is None or encoding.get(ORIGINAL) == data.shape
        scaled = attrs.get("mask_and_scale_dtype") is not None
        mask = encoding.get("mask", attrs.get("mask"))
        bits = encoding.get("nbits", attrs.get("nbits") if data is None else None)
        tables = encoding.get("tables", attrs.get("tables") if data is None else None)
        found = _bands(data, attrs, count)
        return ArrayMetadata(attrs, found, None, unchanged, whole and not scaled, bits, tables, mask, keywords)
    kept = dict(encoding.get(KEPT) or {})
    shown = kept.pop("shown", {})
    alone = kept.pop("band", None)
    bands = _from_one(_bands(data, attrs, count)) if alone is None else (int(alone),)
    stated: dict[Any, Any] = {CONTRACT: None, **kept}
    is_point = str(attrs.get("AREA_OR_POINT", "")).lower() == "point"
    if is_point:
        stated["raster_type"] = "point"
    copied = ("nodata", "nodatavals", "_FillValue", "crs", "crs_wkt", *(() if is_point else ("transform",)))
    stated |= {key: attrs[key] for key in copied if key in attrs}
    if "_FillValue" not in stated and encoding.get("_FillValue") is not None:
        stated["_FillValue"] = encoding["_FillValue"]
    names = {
        key: _selected(attrs.get(key), bands) if _same(shown.get(key), attrs.get(key)) else attrs.get(key)
        for key in ("long_name", "units")
    }
    keywords = _names_and_units(names, data, count, bands)
    own = {key: value for key, value in attrs.items() if key not in RESERVED and not str(key).startswith("TIFFTAG_")}
    added = [(str(key), _text(value), "", None) for key, value in own.items() if not _same(shown.get(key), value)]
    if added:
        keywords["items"] = added
    gone = [str(key) for key in shown if key not in attrs and key not in RESERVED]
    if gone:
        keywords["dropped_items"] = gone
    keywords |= {**_scaling(encoding, count, bands), **_scaling(attrs, count, bands)}
    stored = _encoding(encoding, count, bands)
    height, width = tuple(kept.pop("shape", (None, None)))[-2:]
    whole = (data.sizes.get("y"), data.sizes.get("x")) == (height, width)
    if stated.get("gcps") and not whole:
        del stated["gcps"]
        warnings.warn(
            "control points are not written: the array has other rows and columns than its file, and no coordinates say "
            "which; select pixels when the file is opened",
            UserWarning,
            stacklevel=5,
        )
    mask, bits = stated.pop("mask", None), stated.pop("nbits", None)
    tables = stated.pop("tables", None)
    return ArrayMetadata(stated, bands, stored, True, whole, bits, tables, mask, keywords)


def _selected(values: Any, bands: tuple[int, ...] | None) -> Any:
    """Selects, of one value for each band of the file, those of the bands that an array has."""
    if bands is None or not isinstance(values, (list, tuple)) or max(bands) >= len(values):
        return values
    return [values[band] for band in bands]


def _is_of_an_engine(encoding: Mapping[Any, Any]) -> bool:
    return KEPT in encoding or "rasterio_dtype" in encoding


def _bands(data: Any, attrs: Mapping[Any, Any], count: int) -> tuple[int, ...] | None:
    """Returns the bands of the file that the attributes or the band coordinate name."""
    chosen = attrs.get("source_bands")
    if chosen is None and attrs.get("source_band") is not None:
        chosen = (attrs["source_band"],)
    if chosen is not None and len(chosen) == count and (data is None or count == 1):
        return tuple(int(band) for band in chosen)
    if data is None:
        return None
    name = next((name for name in data.coords if str(name).lower() in BAND_NAMES), None)
    if name is None:
        return None
    numbers = np.atleast_1d(np.asarray(data.coords[name].values))
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or len(numbers) != count:
        return None
    if len(set(numbers.tolist())) != len(numbers) or numbers.min() < 0:
        return None
    return tuple(int(number) for number in numbers)


def _from_one(bands: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Returns bands that count from 0. The engine counts from 1."""
    return None if bands is None or min(bands) < 1 else tuple(band - 1 for band in bands)


def _names_and_units(stated: Mapping[Any, Any], data: Any, count: int, bands: tuple[int, ...] | None) -> dict[str, Any]:
    """Returns names and units of bands: `long_name` and `units` as rioxarray has them, or a band coordinate of texts."""
    keywords: dict[str, Any] = {}
    for attr, key in (("long_name", "band_descriptions"), ("units", "band_units")):
        values = _each(stated.get(attr), count, attr)
        if values is not None:
            keywords[key] = values
    if "band_descriptions" not in keywords and data is not None and bands is None:
        name = next((name for name in data.coords if str(name).lower() in BAND_NAMES), None)
        if name is not None:
            labels = np.atleast_1d(np.asarray(data.coords[name].values)).tolist()
            if len(labels) == count and all(isinstance(label, str) for label in labels):
                keywords["band_descriptions"] = labels
    return keywords


def _each(value: Any, count: int, name: str) -> list[str | None] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return [value] * count
    if not isinstance(value, (list, tuple, np.ndarray)):
        return None
    listed = [None if entry is None else str(entry) for entry in value]
    if len(listed) != count:
        warnings.warn(
            f"attrs[{name!r}] has {len(listed)} values for {count} bands and is not written: set one for each band",
            UserWarning,
            stacklevel=6,
        )
        return None
    return listed if any(listed) else None


def _scaling(attrs: Mapping[Any, Any], count: int, bands: tuple[int, ...] | None) -> dict[str, Any]:
    """Returns scales and offsets of the file: those that were applied are in the encoding, others are attributes."""
    keywords: dict[str, Any] = {}
    for one, several, key, neutral in (
        ("scale_factor", "scales", "scales", 1.0),
        ("add_offset", "offsets", "offsets", 0.0),
    ):
        values = _numbers(attrs, one, several, count, bands)
        if values is not None and any(value != neutral for value in values):
            keywords[key] = list(values)
    return keywords


def _encoding(encoding: Mapping[Any, Any], count: int, bands: tuple[int, ...] | None) -> Encoding | None:
    scales = _numbers(encoding, "scale_factor", "scales", count, bands)
    offsets = _numbers(encoding, "add_offset", "offsets", count, bands)
    dtype = encoding.get("dtype")
    if dtype is None and scales is None and offsets is None:
        return None
    return Encoding(None if dtype is None else np.dtype(dtype), scales or (1.0,) * count, offsets or (0.0,) * count)


def _numbers(
    stated: Mapping[Any, Any], one: str, several: str, count: int, bands: tuple[int, ...] | None
) -> tuple[float, ...] | None:
    if stated.get(one) is not None:
        return (float(number_of(stated[one], one)),) * count
    values = _selected(stated.get(several), bands)
    if values is None:
        return None
    if not is_listed(values):
        raise TypeError(f"{several} is {values!r}: expected one number for each band")
    if len(values) != count:
        raise StrileError(
            f"{several} has {len(values)} values for {count} bands, and no band coordinate says which are meant: keep "
            "the coordinate, or drop the encoding (`.drop_encoding()`) to write the values as they are"
        )
    return tuple(float(number_of(value, several)) for value in values)


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "{" + ",".join(str(number) for number in value.tolist()) + "}"
    return str(value)


def _same(shown: Any, value: Any) -> bool:
    if isinstance(shown, np.ndarray) or isinstance(value, np.ndarray):
        return np.array_equal(shown, value)
    return shown is not None and type(shown) is type(value) and shown == value
