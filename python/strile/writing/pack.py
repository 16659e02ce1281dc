"""Packs values: the inverse of `unpack`, from physical values to the numbers that were stored.

`open_geotiff(unpack=True)` notes scale, offset and type in attrs: `scale_factor`, `add_offset` and
`mask_and_scale_dtype`. It is one step on the way of a piece; a value that does not come back exactly in range
is an error, found when the piece is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import StrileError
from .array_metadata import Encoding
from .missing import Missing
from .nodata import Number, fits, number_of


@dataclass(frozen=True, slots=True)
class Packing:
    """How values become numbers of `dtype`. `scale` and `offset` are one number, or an array of one for each band that
    lies along the band axis; `why` names the option in messages."""

    scale: Any
    offset: Any
    dtype: np.dtype[Any]
    sentinel: Number | None
    why: str = "pack=True"

    def apply(self, values: Any, xp: Any, missing: Missing | None = None, own: tuple[slice, ...] | None = None) -> Any:
        """Returns a new array of `dtype`. `missing` counts the pixels of `own` that become nodata."""
        if self.dtype.kind in "fc":
            stored = self._numbers(values, xp)
            lost = xp.isnan(values)
            _count(missing, stored.astype(self.dtype), lost, own)
            if self.sentinel is not None:
                stored = xp.where(lost, float(self.sentinel), stored)
            return stored.astype(self.dtype)
        lost = xp.isnan(values) if values.dtype.kind == "f" else None
        if values.dtype.kind == "f" and bool(xp.isinf(values).any()):
            raise StrileError(f"{self.why}: the array has infinite values, which {self.dtype} cannot hold")
        any_lost = lost is not None and bool(lost.any())
        if any_lost and self.sentinel is None:
            raise StrileError(
                f"{self.why}: the array has NaN, which {self.dtype} cannot hold without a nodata value: pass nodata="
            )
        if self._is_plain:
            numbers = values if values.dtype.kind != "f" else xp.rint(values)
        else:
            numbers = xp.rint(self._numbers(values, xp))
        if any_lost:
            numbers = xp.where(lost, numbers.dtype.type(0), numbers)
        info = np.iinfo(self.dtype)
        low, high = numbers.min().item(), numbers.max().item()
        # Compared as Python numbers, which are exact: no double equals the largest int64.
        if low < info.min or high > info.max:
            raise StrileError(
                f"{self.why}: values from {low} to {high} are out of range of {self.dtype} ({info.min} to {info.max})"
            )
        stored = numbers.astype(self.dtype)
        _count(missing, stored, lost, own)
        if any_lost:
            stored = xp.where(lost, self.dtype.type(self.sentinel), stored)
        return stored

    @property
    def _is_plain(self) -> bool:
        return bool(np.all(self.scale == 1.0)) and bool(np.all(self.offset == 0.0))

    def _numbers(self, values: Any, xp: Any) -> Any:
        if self._is_plain:
            return values.astype(np.result_type(values.dtype, np.float64))
        scale, offset = (number if np.ndim(number) == 0 else xp.asarray(number) for number in (self.scale, self.offset))
        return (values.astype(np.result_type(values.dtype, np.float64)) - offset) / scale


def _count(missing: Missing | None, stored: Any, lost: Any, own: tuple[slice, ...] | None) -> None:
    """Counts pixels that are missing, and valid pixels that hold the nodata value."""
    if missing is None:
        return
    holds = stored == stored.dtype.type(missing.value)
    if lost is not None:
        holds &= ~lost
    part = (slice(None),) if own is None else own
    missing.put(0 if lost is None else int(lost[part].sum()), int(holds[part].sum()))


def packing_encoded(encoded: Encoding, sentinel: Number | None, axes: str, current: np.dtype[Any]) -> Packing | None:
    """Returns the packing by the encoding of an array; None if values are stored unchanged."""
    dtype = current if encoded.dtype is None else encoded.dtype
    shape = [-1 if axis == "b" else 1 for axis in axes]
    scale, offset = (
        values[0] if len(set(values)) == 1 else np.array(values).reshape(shape)
        for values in (encoded.scales, encoded.offsets)
    )
    if np.any(scale == 0.0) or not np.all(np.isfinite(scale)) or not np.all(np.isfinite(offset)):
        raise StrileError(f"encoding: scales {encoded.scales} and offsets {encoded.offsets} cannot be reversed")
    if sentinel is not None and dtype.kind in "iu":
        if not fits(sentinel, dtype):
            raise StrileError(f"nodata {sentinel} does not fit {dtype}, the type that the encoding names: pass nodata=")
        sentinel = int(sentinel)
    packing = Packing(scale, offset, dtype, sentinel, f"the encoding ({dtype})")
    return None if dtype == current and packing._is_plain else packing


def packing_of(attrs: Mapping[Any, Any], sentinel: Number | None, current: np.dtype[Any]) -> Packing:
    stated = attrs.get("mask_and_scale_dtype")
    known = ("scale_factor", "add_offset", "mask_and_scale_dtype")
    if (
        stated is None
        and not any(attrs.get(key) is not None for key in known)
        and not attrs.get("masked_nodata")
    ):
        raise StrileError(
            "pack=True: the array does not say how it was unpacked (scale_factor, add_offset, mask_and_scale_dtype); "
            "only what open_geotiff(unpack=True) gave can be packed"
        )
    if stated is None and isinstance(attrs.get("nodata"), np.integer):
        # Without a note of the type, the type of the nodata value is that of the file.
        stated = attrs["nodata"].dtype
    try:
        dtype = np.dtype(current if stated is None else stated)
    except TypeError:
        raise StrileError(f"attrs['mask_and_scale_dtype'] is {stated!r}: expected a numpy type") from None
    if dtype.kind not in "iuf":
        raise StrileError(f"attrs['mask_and_scale_dtype'] is {stated!r}: expected integers or floats")
    scale = _number(attrs.get("scale_factor"), "scale_factor", 1.0)
    offset = _number(attrs.get("add_offset"), "add_offset", 0.0)
    if scale == 0.0 or not np.isfinite(scale) or not np.isfinite(offset):
        raise StrileError(f"pack=True: scale_factor {scale} and add_offset {offset} cannot be reversed")
    if sentinel is not None and not fits(sentinel, dtype):
        raise StrileError(f"nodata {sentinel} is not a value of {dtype}, the type that the array is packed to")
    if sentinel is not None and dtype.kind in "iu":
        sentinel = int(sentinel)
    return Packing(scale, offset, dtype, sentinel)


def packed_words(attrs: Mapping[Any, Any], packing: Packing, bands: int) -> dict[str, Any]:
    """Keywords of the core's `RasterSpec` that tell how a raster of one band is packed, of a file that had several, too."""
    items = attrs.get("gdal_metadata")
    if bands != 1 or not isinstance(items, Mapping) or not any(isinstance(key, tuple) for key in items):
        return {}
    words: dict[str, Any] = {}
    if any(key[1:] != (0,) for key in items if isinstance(key, tuple)):
        words["source_bands"] = ()
    if (packing.scale, packing.offset) != (1.0, 0.0):
        words["scales"], words["offsets"] = [packing.scale], [packing.offset]
    return words


def _number(value: Any, name: str, default: float) -> float:
    return default if value is None else float(number_of(value, f"attrs['{name}']"))
