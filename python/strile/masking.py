"""Pixels that a mask image or an alpha band leaves out, as NaN, in arrays of the xarray engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def float_type(stored: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest float that holds every stored value as far as a float of 32 bits reaches; floats stay."""
    if stored.kind in "fc":
        return stored if stored.itemsize > 2 else np.dtype(np.float32)
    return np.dtype(np.float32 if stored.itemsize <= 2 else np.float64)


def leave_out(pixels: Any, mask: Any, bands: Iterable[int], alpha: int | None) -> None:
    """NaN where a mask is 0, in every band but the alpha itself."""
    invalid = mask == 0
    for number, band in enumerate(bands):
        if band != alpha:
            pixels[number][invalid] = np.nan
