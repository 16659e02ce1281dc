"""The nodata value of a source: what it is, exactly, and whether any pixel of the source's type can have it.

Values come from text: whole numbers stay whole, of any size, and are compared as such. A value that an
integer type cannot hold because it is not a whole number is refused at open unless it was allowed; one outside
of the range is kept and matches nothing. """

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidIntegerNodataError


@dataclass(frozen=True)
class Nodata:
    """The declared value, and whether pixels of the source can be equal to it."""

    value: int | float
    maskable: bool

    def inverted(self, dtype: np.dtype, bits: int) -> int | float:
        """The value as it is in an image stored white as zero, once the pixels were inverted."""
        if not self.maskable:
            return self.value
        return (1 << bits) - 1 - int(self.value) if dtype.kind == "u" else -self.value


def declared(value: int | float | None, dtype: np.dtype, allow_invalid: bool, name: str) -> Nodata | None:
    """The nodata value of pixels of a type."""
    if value is None:
        return None
    if dtype.kind not in "iu":
        return Nodata(value, True)
    if not math.isfinite(value) or value != int(value):
        if not allow_invalid:
            raise InvalidIntegerNodataError(
                f"{name}: the nodata value {value} is not a whole number and pixels are {dtype}: pass "
                "allow_invalid_nodata=True to read it unmasked"
            )
        return Nodata(value, False)
    return Nodata(value, holds(dtype, value))


def holds(dtype: np.dtype, value: int | float) -> bool:
    """Whether a pixel of a type can have a value; of floats, one within their range."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return math.isfinite(value) and value == int(value) and limits.min <= value <= limits.max
    return not math.isfinite(value) or abs(value) <= np.finfo(dtype).max
