"""NaN and the nodata value among the pixels that are written, counted piece by piece.

NaN in float data means missing, and is written as the nodata value. A valid pixel that holds that value would read as
missing, too: that is an error, found while the pixels are encoded and raised before the file is committed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..errors import StrileError
from .nodata import Number, fits


@dataclass(slots=True)
class Missing:
    """Counts of one write.

    `by_value`: the array was read unmasked, so pixels that hold the value are missing as well. `masked`: it was read
    masked, so pixels that hold the value are valid. `changed`: it was read unmasked and has been computed with since."""

    value: Number
    by_value: bool = False
    masked: bool = False
    changed: bool = False
    nans: int = 0
    equal: int = 0

    def add(self, piece: Any) -> None:
        """Counts a piece of pixels as they are stored, where they are: in host memory, or on a GPU by the library that
        holds them."""
        if isinstance(piece, np.ndarray):
            self.put(*_core.count_missing(piece, self.value))
            return
        try:
            array = piece if hasattr(piece, "isnan") else _cupy_array(piece)
        except ImportError:
            # Counted on the host: a copy, but nothing else is at hand.
            self.put(*_core.count_missing(np.asarray(piece.numpy()), self.value))
            return
        nans = array.isnan() if hasattr(array, "isnan") else array != array
        self.put(int(nans.sum()), int((array == self.value).sum()))

    def put(self, nans: int, equal: int) -> None:
        self.nans += nans
        self.equal += equal

    def fresh(self) -> Missing:
        """Returns the same counter, set to zero."""
        return Missing(self.value, self.by_value, self.masked, self.changed)

    def check(self, target: Any) -> None:
        """Raises where missing and valid pixels would become one value; warns where they might."""
        if self.nans and self.equal and not self.by_value:
            raise StrileError(
                f"cannot write {target}: {self.nans:,} missing pixels (NaN) would be written as the nodata value "
                f"{self.value}, which {self.equal:,} valid pixels hold: pass another nodata= (nodata=float('nan') keeps "
                "NaN), or replace NaN in the array first if those pixels are missing, too"
            )
        if self.changed and self.nans and self.equal:
            warnings.warn(
                f"{target}: the array was read with masked=False and changed since; {self.nans:,} pixels are NaN and "
                f"{self.equal:,} hold the nodata value {self.value}, and all of them will read as missing: read it with "
                "masked=True, or pass nodata= (nodata=float('nan') keeps NaN apart) if those pixels are valid",
                UserWarning,
                stacklevel=5,
            )
        if self.masked and self.equal and not self.nans:
            warnings.warn(
                f"{target}: {self.equal:,} pixels hold the nodata value {self.value} of the file that the array was read "
                "from, and will read as missing: pass nodata= to choose another value, or this one to say that they are",
                UserWarning,
                stacklevel=5,
            )
        if self.changed and not self.equal and not self.nans:
            warnings.warn(
                f"{target}: the array was read with masked=False and changed since; missing pixels (nodata {self.value}) "
                "were computed with like valid ones: read it with masked=True, or pass nodata= if no pixel was missing",
                UserWarning,
                stacklevel=5,
            )


def _cupy_array(piece: Any) -> Any:
    import cupy

    return piece if isinstance(piece, cupy.ndarray) else cupy.from_dlpack(piece)


def missing_of(stated: Mapping[Any, Any], value: Number | None, dtype: np.dtype[Any], *, floats: bool, chosen: bool, unchanged: bool) -> Missing | None:
    """Returns the counter of a raster of stored type `dtype`; None if valid pixels cannot become missing. `floats`: the array may
    hold NaN; `chosen`: the caller gave `nodata=`; `unchanged`: the array holds the pixels of its file."""
    if value is None or dtype.kind not in "iuf" or not fits(value, dtype):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    state = stated.get("masked_nodata")
    unmasked = state is False and stated.get("nodata") == value
    # An eager read knows whether a pixel was missing.
    changed = unmasked and not chosen and not unchanged and stated.get("nodata_pixels_present") is not False
    if not changed and (unmasked or not floats):
        return None
    number = float(dtype.type(value)) if dtype.kind == "f" else int(value)
    return Missing(number, by_value=unmasked, masked=state is True and not chosen, changed=changed)
