"""Describes the result of a read: dims, shape, type, coordinates, attributes and name, from facts and arguments.

No pixel is read for it, so a lazy array and an eager one have the same description, and everything that
can be refused is refused before work begins. The eager read adds
`nodata_pixels_present`, which depends on pixels. """

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import StrileError
from ..facts import Facts, Level
from . import sidecars, vrt
from .arguments import Arguments
from .request import Request, Window

if TYPE_CHECKING:
    import xarray
    from xarray.indexes import Index, PandasIndex

    Labels = tuple[PandasIndex, xarray.Variable]
    """The index of an axis and its variable, which arrays share and copy."""

_SHORT = 1 << 20
"""Sides that are shorter together have coordinates of at most 8 MiB, which no limit refuses."""


@dataclass(slots=True)
class Description:
    """The result of a call before its pixels."""

    window: Window
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coords: dict[str, Labels]
    attrs: dict[str, Any]
    name: str | None
    request: Request
    holes: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    original_shape: tuple[int, ...]
    """The shape of the whole file at full resolution, with all bands."""
    level: Level | None
    """The level that is read; None for a grid, which has no blocks."""
    bits: int | None = None
    """Stored bits of a sample, where its type has more."""
    tables: sidecars.Tables | None = None
    unmasked: np.dtype | None = None
    """The integer type that a mosaic keeps if no pixel is missing."""

    @property
    def preferred(self) -> tuple[int, int]:
        """Rows and columns of a chunk of some dozens of MiB, of whole blocks if there are any."""
        from ..conventions import preferred_chunks, square_chunk

        if self.level is None:
            side = square_chunk(self.request.dtype.itemsize * len(self.request.bands))
            return side, side
        chosen = preferred_chunks(self.level, self.request.dtype.itemsize)
        return chosen["y"], chosen["x"]


def describe(call: Arguments, dataset: Any, mosaic: vrt.Mosaic | None = None) -> Description:
    """Describes the result of a call on an open source; `mosaic` describes the bands of a VRT."""
    known = _known(call, dataset, mosaic)
    level, request = known.level, known.request
    flat = request.flat
    if level.orientation != 1 and (call.window is not None or call.bbox is not None):
        raise StrileError(
            f"{call.source} has orientation {level.orientation} and a window of it is ambiguous: read it "
            "whole and slice"
        )
    window = _window(call, known)
    row, column, row1, column1 = window
    attrs = {key: deepcopy(value) if isinstance(value, (dict, list)) else value for key, value in known.attrs.items()}
    if not call.parse_coordinates:
        # Coordinates would say where the window begins.
        attrs |= _placed(call, dataset, known.grid, row, column)
    elif "transform" in attrs:
        attrs["transform"] = known.grid.at(row, column)
    if known.problems:
        sidecars.warn(dataset.name, ".aux.xml", known.problems, stacklevel=4)

    holes: list[dict[str, Any]] = []
    sources: list[dict[str, Any]] = []
    if mosaic is not None:
        holes, sources = vrt.needed(dataset, call, request.bands, window)
        if holes:
            attrs["vrt_holes"] = holes
    _fits(request, window, call, dataset)
    if call.reduce > 0:
        _reducible(request, window, dataset)

    coords: dict[str, Labels] = {}
    if call.parse_coordinates:
        height, width = known.size
        coords = {"y": _labels(known.grid, row, row1, height, "y"), "x": _labels(known.grid, column, column1, width, "x")}
    if not flat:
        coords["band"] = labels_of("band", np.arange(len(request.bands), dtype=np.int64))
    shape = (row1 - row, column1 - column)
    return Description(
        window=window,
        dims=("y", "x") if flat else ("y", "x", "band"),
        shape=shape if flat else (*shape, len(request.bands)),
        coords=coords,
        attrs=attrs,
        name=call.default_name if call.default_name is not None else call.source.stem,
        request=request,
        holes=holes,
        sources=sources,
        original_shape=known.original_shape,
        level=level,
        bits=known.bits,
        tables=known.tables,
        unmasked=known.unmasked,
    )


@dataclass(frozen=True)
class Known:
    """The part of a description that does not depend on the window."""

    level: Level
    grid: _core.Placement
    size: tuple[int, int]
    """Rows and columns, after the orientation is applied."""
    request: Request
    unmasked: np.dtype | None
    attrs: dict[str, Any]
    original_shape: tuple[int, ...]
    bits: int | None
    tables: sidecars.Tables | None
    problems: list[str]
    """Problems of a sidecar: every call warns about them."""


MOST_SHARED = 1 << 15
"""The longest axis, in pixels, whose labels are kept: at most 256 KiB."""
MOST_KNOWN = 64
"""Kinds of calls that are kept for an open file."""


def _known(call: Arguments, dataset: Any, mosaic: vrt.Mosaic | None) -> Known:
    """Returns what is known without the window, kept per open local file and kind of call: to find it takes longer than a small read."""
    source = call.source
    if mosaic is not None or source.is_object or source.is_remote:
        return _found(call, dataset, mosaic)
    memo = dataset.memo.setdefault("known", {})
    key = (
        source.location, source.sidecars, call.level, call.reduce, call.band, call.dtype, call.masked, call.unpack, call.gpu,
        call.chunks is None, call.max_pixels, call.max_cloud_bytes, call.allow_rotated, call.allow_unparseable_crs, call.allow_invalid_nodata,
    )  # fmt: skip
    known: Known | None = memo.get(key)
    if known is None:
        known = _found(call, dataset, None)
        # A reference system without WKT is warned about by each call.
        if "crs" not in known.attrs or "crs_wkt" in known.attrs:
            if len(memo) >= MOST_KNOWN:
                memo.clear()
            memo[key] = known
    return known


def _found(call: Arguments, dataset: Any, mosaic: vrt.Mosaic | None) -> Known:
    facts = Facts.of(dataset)
    name = str(call.source)
    level = _level(facts, call.level, name).halved(call.reduce)
    bands = band_numbers(call.band, level.bands, mosaic is not None, name)
    grid = _core.placement(dataset, call.level, call.reduce, allow_rotated=call.allow_rotated)
    stored = np.dtype(level.dtype if mosaic is None else mosaic.dtype or level.dtype)
    _core.check_level(dataset, call.level)
    attrs = _placed(call, dataset, grid, 0, 0) | _core.stated(dataset, call.level)
    if call.band is not None and level.bands > 1:
        attrs["source_band"] = call.band
    request, unmasked, added = _pixels(call, facts, level, dataset, bands, stored, mosaic)
    categories, text, problems = _core.categories(dataset)
    return Known(
        level=level,
        grid=grid,
        size=(level.width, level.height) if level.orientation > 4 else (level.height, level.width),
        request=request,
        unmasked=unmasked,
        attrs=attrs | added | categories,
        original_shape=whole_shape(facts.level()),
        bits=None if mosaic is not None else level.fewer_bits,
        tables=None if text is None else sidecars.Tables(text, dict(categories)),
        problems=problems,
    )


def _placed(call: Arguments, dataset: Any, grid: _core.Placement, row: int, column: int) -> dict[str, Any]:
    """Returns the georeference of a window that begins at a pixel, as attributes."""
    return _core.placed(
        dataset, grid, call.level, row, column, shifted=not call.parse_coordinates, allow_unparseable_crs=call.allow_unparseable_crs
    )


def labelled(array: Any, description: Description, attrs: dict[str, Any]) -> xarray.DataArray:
    """Returns the result as a DataArray. xarray takes the indexes as they are: it would make each of them several times, which takes longer
    than a small read."""
    import xarray

    coords: dict[Hashable, xarray.Variable] = {name: variable.copy(deep=False) for name, (_, variable) in description.coords.items()}
    indexes: dict[Hashable, Index] = {name: index for name, (index, _) in description.coords.items()}
    variable = xarray.Variable(description.dims, array, attrs, fastpath=True)
    return xarray.DataArray(variable, coords, name=description.name, indexes=indexes, fastpath=True)


def labels_of(name: str, numbers: np.ndarray) -> Labels:
    """Returns the labels of an axis. With their name and type known, xarray copies nothing."""
    import pandas  # type: ignore[import-untyped]
    from xarray.indexes import PandasIndex

    index = PandasIndex(pandas.Index(numbers, copy=False, name=name), name, numbers.dtype)
    return index, index.create_variables()[name]


def _labels(grid: Any, first: int, stop: int, length: int, axis: str) -> Labels:
    """Returns the labels of pixels `first` to `stop` of an axis with `length` pixels: exactly those that the whole raster has there."""
    transform = grid.transform
    along = None if transform is None else transform[0:3:2] if axis == "x" else transform[4:]
    if length > MOST_SHARED:
        return labels_of(axis, _numbers(first, stop, along, grid.point))
    return _shared(axis, first, stop, length, along, grid.point)


@lru_cache(maxsize=128)
def _shared(axis: str, first: int, stop: int, length: int, along: tuple[float, float] | None, point: bool) -> Labels:
    """Returns labels of a part of an axis: kept, since the windows of a file often share rows or columns."""
    index = _axis(axis, length, along, point).isel({axis: slice(first, stop)})
    assert index is not None
    return index, index.create_variables()[axis]


@lru_cache(maxsize=32)
def _axis(axis: str, length: int, along: tuple[float, float] | None, point: bool) -> PandasIndex:
    """Returns the index of a whole axis: to slice it takes less time than to make an index."""
    numbers = _numbers(0, length, along, point)
    numbers.flags.writeable = False
    return labels_of(axis, numbers)[0]


def _numbers(first: int, stop: int, along: tuple[float, float] | None, point: bool) -> np.ndarray:
    if along is None:
        return np.arange(first, stop, dtype=np.int64)
    return np.frombuffer(_core.labels((first, stop), along, point))


def whole_shape(full: Level) -> tuple[int, ...]:
    height, width = (full.width, full.height) if full.orientation > 4 else (full.height, full.width)
    return (height, width) if full.bands == 1 else (height, width, full.bands)


def _fits(request: Request, window: Window, call: Arguments, dataset: Any) -> None:
    """Refuses a result that is too large before its coordinates are made: an eager one, or one whose coordinates would not
    fit."""
    if call.chunks is None:
        request.check(dataset, window)
    row, column, row1, column1 = window
    check_coordinates(dataset, row1 - row, column1 - column, call.max_pixels)


def check_coordinates(dataset: Any, height: int, width: int, max_pixels: int | None) -> None:
    """Refuses sides that are too long to have coordinates. A limit on pixels is one of chunks, so only a large one
    counts here."""
    if height + width < _SHORT:
        return
    most = None if max_pixels is None else max(max_pixels, 1_000_000_000)
    dataset.check_size(height + width, 8 * (height + width), max_pixels=most)


def _reducible(request: Request, window: Window, dataset: Any) -> None:
    """Refuses what has no lower resolution, by the plan of a pixel."""
    row, column = window[:2]
    dataset.plan(request.options((row, column, row + 1, column + 1)))


def _level(facts: Facts, number: int, name: str) -> Level:
    levels = facts.pages[0]
    if number >= len(levels):
        beside = "".join(f" ({message})" for code, _, message in facts.warnings if code == sidecars.UNUSABLE_SIDECAR)
        raise StrileError(
            f"{name} has {len(levels)} levels and overview_level is {number}: "
            f"expected 0 to {len(levels) - 1}{beside}"
        )
    return levels[number]


def band_numbers(band: int | None, count: int, mosaic: bool, name: str) -> tuple[int, ...]:
    """Returns the numbers, from 1, of the bands that are read."""
    if band is None:
        return tuple(range(1, count + 1))
    if not 0 <= band < count:
        kind = ValueError if mosaic else IndexError
        raise kind(f"band is {band} and {name} has {count}: expected 0 to {count - 1}")
    return (band + 1,)


def made_type(stored: np.dtype, converted: bool) -> np.dtype:
    """Returns the type that stored pixels are read as, `converted` to values that may be missing or scaled. Halves become float32."""
    if converted and stored.kind in "iu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if stored == np.float16 else stored


def result_type(call: Arguments, made: np.dtype) -> np.dtype:
    """Returns the type of a result whose pixels are read as `made`."""
    dtype = call.dtype or made
    if (made.kind == "f" and dtype.kind in "iu") or (made.kind == "c" and dtype.kind not in "c"):
        lost = "fractions" if made.kind == "f" else "imaginary parts"
        raise StrileError(f"pixels of {call.source} are {made} and dtype is {dtype}: {lost} would be lost, cast the result yourself")
    return dtype


def _window(call: Arguments, known: Known) -> Window:
    height, width = known.size
    if call.bbox is not None:
        return known.grid.window_of(call.bbox, height, width)
    if call.window is None:
        return (0, 0, height, width)
    row, column, row1, column1 = call.window
    if not (0 <= row < row1 <= height and 0 <= column < column1 <= width):
        raise StrileError(
            f"window {call.window} lies outside {call.source} ({height} rows and {width} columns) or is empty: expected (row0, col0, "
            "row1, col1) inside it"
        )
    return call.window


def _pixels(
    call: Arguments,
    facts: Facts,
    level: Level,
    dataset: Any,
    bands: tuple[int, ...],
    stored: np.dtype,
    mosaic: vrt.Mosaic | None,
) -> tuple[Request, np.dtype | None, dict[str, Any]]:
    """Returns the request of the pixels, the integer type that a mosaic keeps if no pixel is missing, and the attributes about nodata and
    scaling."""
    name = str(call.source)
    stated = (dataset.facts["stated_nodata"],) if mosaic is None else mosaic.nodata(call.band)
    values = [value for value in stated if value is not None]
    tolerant = call.allow_invalid_nodata or mosaic is not None
    for value in values:
        _core.check_nodata(value, stored.name, name, allow_invalid=tolerant)
    scaling = _core.scaling(dataset, call.band) if call.unpack else None
    masking = dataset.masking(call.level, bands) if call.masked or call.unpack else None
    masked = masking is not None
    made = made_type(stored, scaling is not None or masked)
    dtype = result_type(call, made)

    added: dict[str, Any] = {}
    if scaling is not None:
        added |= {"scale_factor": scaling[0], "add_offset": scaling[1]}
    if scaling is not None or (call.unpack and values):
        added["mask_and_scale_dtype"] = (made if stored == np.float16 else stored).name
    if values:
        added |= {"nodata": values[0], "masked_nodata": masked}
        if call.dtype is not None:
            added["nodata_dtype_cast"] = dtype.name
    elif masked:
        added["mask_source"] = facts.mask_source
    elif facts.mask_source == "image" and mosaic is None and level.orientation == 1:
        added["mask_dropped"] = "image"
    request = Request.of(
        [call], [dataset], types=(None if mosaic is None else stored.name,), level=call.level, reduce=call.reduce, bands=bands,
        turn=None if level.orientation == 1 else (level.orientation, level.height, level.width), onto=None, masked=masked, scaling=scaling, made=made,
        # As it is stored; bands of a mosaic may have values of their own.
        searched_value=None if not values else values[0] if len(stated) == 1 else "nodata", dtype=dtype,
    )  # fmt: skip
    return request, stored if mosaic is not None and masking == "values" and stored.kind in "iu" else None, added
