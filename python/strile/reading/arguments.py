"""Checks the arguments of `open_geotiff` before any source is opened or CuPy imported.

The result is one `Arguments`: old names are replaced by new ones, numpy integers by plain ones, and all types
are checked. The order of the checks is part of the contract: the type of `overview_level` comes first,
and what `stable_only` refuses comes before conflicts between other arguments. Whether a window or band fits
the file is not known here. """

from __future__ import annotations

import math
import operator
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import environment
from ..checks import dtype_of, ends_of, flag_of, truth_of, whole
from ..errors import GeoTIFFFallbackWarning, RemoteStableSourcesOnlyError, StrileError, VRTStableSourcesOnlyError
from ..pixel_window import Window
from .source import SOURCE_KEYWORDS, Source

MOST_HALVINGS = 32
"""The most wavelet levels of a JPEG 2000 stream."""


class _Unset:
    """The default of arguments that are refused, or warned about, when they are given at all."""

    def __repr__(self) -> str:
        return "<not given>"


UNSET: Any = _Unset()


@dataclass(slots=True)
class Arguments:
    """The checked arguments of a call."""

    source: Source
    dtype: np.dtype | None
    window: tuple[int, int, int, int] | None
    bbox: tuple[float, float, float, float] | None
    level: int
    reduce: int
    band: int | None
    default_name: str | None
    chunks: tuple[int | None, int | None] | None
    gpu: bool
    max_pixels: int | None
    max_cloud_bytes: int | None
    strict_gpu: bool
    missing_sources: str
    band_nodata: str | None
    allow_rotated: bool
    allow_unparseable_crs: bool
    allow_invalid_nodata: bool
    masked: bool
    unpack: bool
    parse_coordinates: bool
    progress: Any


def check(source: Any, given: dict[str, Any]) -> Arguments:
    """Checks a call. `given` holds every keyword of `open_geotiff`."""
    level = _level(given["overview_level"])
    reduce = halvings(given["reduce"])
    gpu = flag_of(given["gpu"], "gpu")
    name = _renamed(given, "default_name", "name", None)
    masked = _renamed(given, "masked", "mask_nodata", False)
    unpack = _renamed(given, "unpack", "mask_and_scale", False)
    where = Source.of(source, **{name: given[name] for name in SOURCE_KEYWORDS})
    experimental = truth_of(given["allow_experimental_codecs"], "allow_experimental_codecs")
    if truth_of(given["stable_only"], "stable_only") and not experimental:
        _stable(where)
    chunks = _chunks(given["chunks"])
    strict_gpu = _gpu_policy(given["on_gpu_failure"], gpu, where)
    cloud = _cloud_bytes(given["max_cloud_bytes"], gpu, chunks, where)
    missing = _vrt_only("missing_sources", given["missing_sources"], ("raise", "warn"), where)
    band_nodata = given["band_nodata"]
    if band_nodata is not None:
        band_nodata = _vrt_only("band_nodata", band_nodata, ("first",), where)
    if given["window"] is not None and given["bbox"] is not None:
        raise StrileError("window and bbox are both given: pass one of them")
    masked, unpack = truth_of(masked, "masked"), truth_of(unpack, "unpack")
    coordinates = truth_of(given["parse_coordinates"], "parse_coordinates")
    _unservable(where, gpu, chunks, level, reduce, unpack, coordinates)
    if given["lock"] is not None or given["cache"] is not True:
        warnings.warn(
            "lock and cache have no effect: every read of strile is safe from many threads",
            GeoTIFFFallbackWarning,
            stacklevel=4,
        )
    if given["progress"] is not None and given["progress"] is not False and chunks is not None:
        raise StrileError("a lazy read does not report progress: use dask's own bars, or drop chunks")
    return Arguments(
        source=where,
        dtype=None if given["dtype"] is None else dtype_of(given["dtype"], "dtype"),
        window=corners_of(given["window"]),
        bbox=_bbox(given["bbox"]),
        level=level,
        reduce=reduce,
        band=_band(given["band"], where),
        default_name=name,
        chunks=chunks,
        gpu=gpu,
        max_pixels=pixel_limit(given["max_pixels"]),
        max_cloud_bytes=cloud,
        strict_gpu=strict_gpu,
        missing_sources="raise" if missing is None or environment.strict() else missing,
        band_nodata=band_nodata,
        allow_rotated=truth_of(given["allow_rotated"], "allow_rotated"),
        allow_unparseable_crs=truth_of(given["allow_unparseable_crs"], "allow_unparseable_crs"),
        allow_invalid_nodata=truth_of(given["allow_invalid_nodata"], "allow_invalid_nodata"),
        masked=masked,
        unpack=unpack,
        parse_coordinates=coordinates,
        progress=given["progress"],
    )


def _level(level: Any) -> int:
    if level is None:
        return 0
    number = whole(level)
    if number is None:
        raise TypeError(f"overview_level is {level!r} ({type(level).__name__}): expected an int or None")
    if number < 0:
        raise StrileError(f"overview_level is {level}: expected 0 (full resolution) or more")
    return number


def halvings(reduce: Any) -> int:
    """Returns `reduce`, checked."""
    number = whole(reduce)
    if number is None:
        raise TypeError(f"reduce is {reduce!r} ({type(reduce).__name__}): expected an int")
    if not 0 <= number <= MOST_HALVINGS:
        raise StrileError(f"reduce is {reduce}: expected 0 (full size) to {MOST_HALVINGS}")
    return number


def _renamed(given: dict[str, Any], new: str, old: str, default: Any) -> Any:
    """Returns the value of an argument that had another name before."""
    if given[old] is UNSET:
        return given[new]
    if given[new] is not default:
        raise TypeError(f"{new} and {old} are both given: {old} is the old name of {new}")
    warnings.warn(f"{old} is the old name of {new}: use {new}", DeprecationWarning, stacklevel=5)
    return given[old]


def _stable(source: Source) -> None:
    advice = "pass stable_only=False, or allow_experimental_codecs=True"
    if source.is_vrt:
        raise VRTStableSourcesOnlyError(
            f"{source} is a VRT and stable_only accepts only local files: {advice}"
        )
    if source.is_remote:
        raise RemoteStableSourcesOnlyError(
            f"{source} is remote and stable_only accepts only local files: {advice}"
        )


def _chunks(chunks: Any) -> tuple[int | None, int | None] | None:
    """Rows and columns; None for those that the file prefers, -1 for all."""
    if chunks is None:
        return None
    problem = StrileError(
        f"chunks is {chunks!r}: expected a positive int, a tuple (rows, columns), a dict with y and x, or 'auto'"
    )
    if isinstance(chunks, str):
        if chunks != "auto":
            raise problem
        return None, None
    if isinstance(chunks, dict):
        unknown = [key for key in chunks if key not in ("y", "x", "band")]
        if unknown:
            raise StrileError(f"chunks is {chunks!r}: expected keys y, x and band, got {unknown[0]!r}")
        _band_chunk(chunks.get("band", -1), problem)
        return _dict_chunk(chunks.get("y"), problem), _dict_chunk(chunks.get("x"), problem)
    pair = chunks if isinstance(chunks, tuple) else (chunks, chunks)
    if len(pair) != 2 or None in map(whole, pair) or min(pair) <= 0:
        raise problem
    return int(pair[0]), int(pair[1])


def _dict_chunk(size: Any, problem: StrileError) -> int | None:
    if size is None or (isinstance(size, str) and size == "auto"):
        return None
    if whole(size) is None or (size <= 0 and size != -1):
        raise problem
    return int(size)


def _band_chunk(size: Any, problem: StrileError) -> None:
    """Bands of a pixel are read together: a chunk has all of them, which -1 says."""
    if size is not None and not (isinstance(size, str) and size == "auto") and whole(size) is None:
        raise problem
    if whole(size) is not None and size != -1:
        raise StrileError(f"chunks has {size} for band: a chunk holds all bands; leave it out, and rechunk afterwards")


def _gpu_policy(policy: Any, gpu: bool, source: Source) -> bool:
    """Returns whether the GPU must do all of the work."""
    if policy is UNSET:
        return gpu and environment.strict()
    if not isinstance(policy, str) or policy not in ("auto", "strict"):
        raise StrileError(f"on_gpu_failure is {policy!r}: expected 'auto' or 'strict'")
    if not gpu:
        raise StrileError(
            "on_gpu_failure says what to do when a GPU cannot: pass gpu=True with it, or drop it"
        )
    if source.is_vrt:
        raise StrileError("on_gpu_failure does not apply to a VRT: drop it")
    return policy == "strict" or environment.strict()


def _cloud_bytes(limit: Any, gpu: bool, chunks: Any, source: Source) -> int | None:
    if limit is UNSET:
        # By default a lazy read is not limited: each chunk is small, or the caller's choice.
        limited = not gpu and chunks is None and (source.is_remote or source.is_vrt)
        return environment.max_cloud_bytes() if limited else None
    for route, taken in (("gpu=True", gpu), ("a VRT", source.is_vrt)):
        if taken:
            raise StrileError(f"max_cloud_bytes limits reads by the CPU from remote stores, not {route}: drop it")
    if limit is None:
        return None
    number = whole(limit)
    if number is None:
        raise TypeError(f"max_cloud_bytes is {limit!r} ({type(limit).__name__}): expected an int or None")
    if number <= 0:
        raise StrileError(f"max_cloud_bytes is {limit}: expected more than 0, or None for no limit")
    return number


def _vrt_only(name: str, value: Any, choices: tuple[str, ...], source: Source) -> str | None:
    if value is UNSET:
        return None
    if not source.is_vrt:
        raise StrileError(f"{name} applies only to a VRT, and {source} is not one: drop it")
    if not isinstance(value, str) or value not in choices:
        expected = " or ".join(repr(choice) for choice in choices)
        raise StrileError(f"{name} is {value!r}: expected {expected}")
    return value


def _unservable(
    source: Source, gpu: bool, chunks: Any, level: int, reduce: int, unpack: bool, parse_coordinates: bool
) -> None:
    """Arguments that this route cannot honour: refused, never ignored."""
    if source.is_object and (gpu or chunks is not None):
        raise StrileError(
            "a file-like source is read eagerly on the CPU: pass a path, or drop "
            f"{'gpu' if gpu else 'chunks'}"
        )
    if not parse_coordinates and gpu:
        raise StrileError(
            "parse_coordinates=False is not supported with gpu=True: drop the coordinates afterwards"
        )
    if source.is_vrt:
        if level > 0:
            raise StrileError(f"overview_level is {level} and a VRT has no levels here: open its sources")
        if reduce > 0:
            raise StrileError(f"reduce is {reduce} and is not supported for a VRT: open its sources")
        if unpack:
            raise StrileError("unpack is not supported for a VRT: open its sources, or scale the result")
        if not parse_coordinates:
            raise StrileError(
                "parse_coordinates=False is not supported for a VRT: drop the coordinates afterwards"
            )


def corners_of(window: Any) -> tuple[int, int, int, int] | None:
    """Returns (row0, col0, row1, col1) of four numbers, of a `Window` or rasterio's, or of a pair of slices or ranges (rows, columns)."""
    if window is None:
        return None
    expected = "expected (row0, col0, row1, col1) in pixels, a Window, or a pair of slices (rows, columns)"
    if isinstance(window, Window):
        column, row, width, height = window
        window = (row, column, row + height, column + width)
    elif hasattr(window, "col_off"):
        row, column = window.row_off, window.col_off
        window = (row, column, row + window.height, column + window.width)
    try:
        parts = tuple(window)
        if len(parts) == 2 and not isinstance(window, str | bytes):
            (row, end_row), (column, end_column) = (ends_of(part, window) for part in parts)
            parts = (row, column, end_row, end_column)
        numbers = tuple(operator.index(_whole(number)) for number in parts)
    except TypeError as problem:
        raise TypeError(f"window is {window!r}: {expected}") from problem
    if len(numbers) != 4:
        raise StrileError(f"window is {window!r}: {expected}")
    return numbers


def _whole(number: Any) -> Any:
    return int(number) if isinstance(number, (float, np.floating)) and float(number).is_integer() else number


def _bbox(bbox: Any) -> tuple[float, float, float, float] | None:
    if bbox is None:
        return None
    expected = "expected four finite numbers (xmin, ymin, xmax, ymax)"
    if isinstance(bbox, (str, bytes)) or not hasattr(bbox, "__len__") or len(bbox) != 4:
        raise StrileError(f"bbox is {bbox!r}: {expected}")
    try:
        west, south, east, north = (float(number) for number in bbox)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"bbox is {bbox!r}: {expected}") from problem
    if not all(math.isfinite(number) for number in (west, south, east, north)):
        raise StrileError(f"bbox is {bbox!r}: {expected}")
    if west >= east or south >= north:
        raise StrileError(f"bbox is {bbox!r}: expected xmin below xmax and ymin below ymax")
    return west, south, east, north


def _band(band: Any, source: Source) -> int | None:
    if band is None:
        return None
    if isinstance(band, (bool, np.bool_)):
        raise StrileError(f"band is {band!r}: expected a band number from 0, or None")
    number = whole(band)
    if number is None:
        kind = ValueError if source.is_vrt else TypeError
        raise kind(f"band is {band!r} ({type(band).__name__}): expected a band number from 0, or None")
    return number


def pixel_limit(limit: Any) -> int | None:
    """Returns `max_pixels`, checked; None leaves the limit to the core."""
    if limit is None:
        return None
    number = whole(_whole(limit))
    if number is None:
        raise TypeError(f"max_pixels is {limit!r}: expected a whole number or None")
    return min(max(number, 0), (1 << 63) - 1)
