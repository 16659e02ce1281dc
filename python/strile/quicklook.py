"""Small pictures of rasters for notebooks, as PNG.

One band is grey, three or more are colours; values are stretched from the 2nd to the 98th percentile, pixels
without data are transparent. The picture of a file comes from its smallest overview that is large enough, and of
JPEG 2000 from the lowest resolution that is in its blocks; a file without one that is small has no picture rather
than a slow one."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .errors import StrileError

if TYPE_CHECKING:
    from .dataset import Dataset
    from .facts import Level

MOST_PIXELS = 16 << 20
"""Pixels of a level that a picture may read."""


def of_dataset(dataset: Dataset, width: int = 256) -> bytes | None:
    """Returns a PNG of a file, `width` pixels at its longer side at most; None where no level is small enough to
    read."""
    levels = [level for level, (w, h) in enumerate(dataset.level_shapes) if max(w, h) >= width] or [0]
    level = levels[-1]
    columns, rows = dataset.level_shapes[level]
    if np.dtype(dataset.dtypes[0]).kind == "c":
        return None
    bands = _shown(dataset.count)
    halvings = _halvings(dataset.facts.pages[0][level], width)
    if columns * rows >> 2 * halvings > MOST_PIXELS:
        return None
    try:
        pixels = _masked(dataset, bands, level, halvings)
    except StrileError:
        # Streams may have fewer levels than a usual encoder gives them; what else is wrong comes again.
        if halvings == 0:
            raise
        if columns * rows > MOST_PIXELS:
            return None
        pixels = _masked(dataset, bands, level, 0)
    return picture(np.ma.getdata(pixels), ~np.ma.getmaskarray(pixels), width)


def _masked(dataset: Dataset, bands: list[int], level: int, halvings: int) -> Any:
    return dataset.read(bands, overview_level=level - 1 if level else None, reduce=halvings, masked=True)


def _halvings(level: Level, width: int) -> int:
    """Returns how often a level of JPEG 2000 can be halved and is still large enough: 5 wavelet levels are usual."""
    if not level.compression.startswith("jpeg2000") or level.has_mask:
        return 0
    most = min(5, (max(level.width, level.height) // max(width, 1)).bit_length() - 1)
    sides = [(level.height, level.block[0]), (level.width, level.block[1])]

    def meets(times: int) -> bool:
        return all(size <= block or block % (1 << times) == 0 for size, block in sides)

    return next((times for times in range(max(most, 0), 0, -1) if meets(times)), 0)


def of_array(array: Any, width: int = 256) -> bytes:
    """Returns a PNG of a DataArray: (y, x), (band, y, x) or (y, x, band)."""
    from .writing.layout import BAND_NAMES

    dims = [str(dim) for dim in array.dims]
    bands = next((dim for dim in dims if dim in BAND_NAMES), None)
    if array.ndim != (2 if bands is None else 3):
        raise StrileError(f"dims are {tuple(dims)}: expected (y, x), with or without a band dimension")
    if bands is None:
        array = array.expand_dims("band")
        bands = "band"
    array = array.transpose(bands, ...)
    step = max(1, -(-max(array.shape[1:]) // width))
    chosen = array[[band - 1 for band in _shown(array.shape[0])], ::step, ::step].data
    if hasattr(chosen, "compute"):
        chosen = chosen.compute()
    if hasattr(chosen, "get"):
        chosen = chosen.get()
    pixels = np.asarray(chosen)
    nodata = array.attrs.get("nodata", array.attrs.get("_FillValue"))
    valid = np.ones(pixels.shape, bool) if nodata is None else pixels != nodata
    return picture(pixels, valid, width)


def _shown(count: int) -> list[int]:
    return [1, 2, 3] if count >= 3 else [1]


def picture(pixels: Any, valid: Any, width: int = 256) -> bytes:
    """Returns a PNG of (band, y, x) with one or three bands."""
    _, rows, columns = pixels.shape
    step = max(1, -(-max(rows, columns) // width))
    pixels, valid = pixels[:, ::step, ::step], valid[:, ::step, ::step]
    if pixels.dtype.kind in "fc":
        valid = valid & np.isfinite(pixels)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8)
    native = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("="))
    return _core.picture(native.tobytes(), native.dtype.name, np.ascontiguousarray(valid, bool).tobytes(), native.shape[1:])


def html(make: Callable[[], bytes | None], style: str = "") -> str:
    """Returns a picture as an HTML element, or the reason why there is none: the metadata is shown even if pixels cannot be read."""
    try:
        image = make()
    except (ValueError, OSError, MemoryError) as problem:
        return f"<em>no picture: {escape(str(problem))}</em>"
    if image is None:
        return "<em>no picture: no overview is small enough</em>"
    return f"<img alt='quicklook'{style} src='data:image/png;base64,{base64.b64encode(image).decode('ascii')}'>"
