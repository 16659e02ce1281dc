"""The value that means "no data": from the keyword, else from what the array says about itself.

The keyword wins and silences; without it, statements that disagree are an error, never a choice.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import checks
from ..constants import CONTRACT
from ..errors import ConflictingNodataError, StrileError

Number = int | float


def nodata_of(keyword: Any, attrs: Mapping[Any, Any]) -> Number | None:
    """Returns the nodata value to store; None without one."""
    if keyword is not None:
        return number_of(keyword, "nodata")
    stated = attrs.get("nodata")
    value = None if stated is None else number_of(stated, "attrs['nodata']")
    several = _band_values(attrs.get("nodatavals"))
    if len(several) > 1:
        raise ConflictingNodataError(
            f"attrs['nodatavals'] has the values {several}, and a GeoTIFF holds one for all bands: give nodata="
        )
    if value is not None and several and not same(value, several[0]):
        raise ConflictingNodataError(
            f"attrs['nodata'] is {value} and attrs['nodatavals'] has {several[0]}: give nodata= to choose"
        )
    if value is None and several:
        value = several[0]
    if attrs.get("_FillValue") is not None:
        filled = number_of(attrs["_FillValue"], "attrs['_FillValue']")
        if value is not None and not same(value, filled):
            raise ConflictingNodataError(
                f"attrs['nodata'] is {value} and attrs['_FillValue'] is {filled}: give nodata= to choose, or drop one of them"
            )
        value = filled if value is None else value
    return value


def number_of(value: Any, name: str) -> Number:
    """Returns an exact integer if a number is whole, else a float. Text is a StrileError, even if it reads as a number."""
    try:
        return checks.number_of(value, name)
    except TypeError as problem:
        raise problem if checks.is_bool(value) else StrileError(str(problem)) from None


def same(one: Number, other: Number) -> bool:
    return one == other or (_is_nan(one) and _is_nan(other))


def fits(value: Number, dtype: np.dtype[Any]) -> bool:
    """Returns whether pixels of a type can have this value."""
    if dtype.kind == "f":
        return _is_nan(value) or math.isinf(value) or abs(value) <= float(np.finfo(dtype).max)
    if isinstance(value, float) and not value.is_integer():
        return False
    info = np.iinfo(dtype)
    return int(info.min) <= int(value) <= int(info.max)


def check_kept(value: Number, dtype: np.dtype[Any], keyword: str | None, attrs: Mapping[Any, Any], unchanged: bool) -> None:
    """Refuses a value that no pixel can have. Only a whole number that an array was read with is kept: it marks no
    pixel, in the file that was read and in the one that is written. If the array was converted from a type that has the
    value, missing pixels became valid ones: an error if there were any, else a warning."""
    was_read = keyword is None and CONTRACT in attrs
    masked, present = attrs.get("masked_nodata") is True, attrs.get("nodata_pixels_present")
    converted = was_read and (masked or (not unchanged and present is not False))
    if was_read and (isinstance(value, int) or value.is_integer()) and not (converted and present):
        if converted:
            warnings.warn(
                f"the nodata value {value} of the array marks no pixel of {dtype}: pixels that were missing before the array was "
                f"converted become valid; pass nodata= with a value that {dtype} holds, or drop attrs['nodata'] if none was missing",
                UserWarning,
                stacklevel=4,
            )
        return
    if dtype.kind in "fc":
        held = f"{np.finfo(dtype).min:g} to {np.finfo(dtype).max:g}"
    else:
        held = f"whole numbers from {np.iinfo(dtype).min} to {np.iinfo(dtype).max}"
    instead = "choose one of these" if keyword else "give nodata=, or drop attrs['nodata']"
    raise StrileError(
        f"{keyword or 'the nodata value of the array'} is {value}, and pixels of {dtype} hold {held}: {instead}"
    )


def _is_nan(value: Number) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _band_values(stated: Any) -> list[Number]:
    """Returns the distinct numbers of `nodatavals`, a tuple, list or scalar; NaN among them says nothing."""
    if stated is None:
        return []
    entries = stated if isinstance(stated, (tuple, list, np.ndarray)) else [stated]
    distinct: list[Number] = []
    for entry in entries:
        if entry is None:
            continue
        value = number_of(entry, "an entry of attrs['nodatavals']")
        if not _is_nan(value) and value not in distinct:
            distinct.append(value)
    return distinct
