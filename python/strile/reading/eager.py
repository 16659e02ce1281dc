"""Reads the whole result at once, in numpy or CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import vrt
from .description import Description, labelled

if TYPE_CHECKING:
    import xarray


def read(description: Description, datasets: Sequence[Any], progress: Any) -> xarray.DataArray:
    request = description.request
    lost: dict[str, str] = {}
    array, present = request.decoded(description.window, datasets, progress=progress, holes=lost, look=True)
    attrs = dict(description.attrs)
    if lost:
        # Damage that only decoding finds is among it.
        attrs["vrt_holes"] = description.holes + vrt.damaged(description.sources, lost, str(request.source))
    dtype = request.dtype
    if present is not None:
        attrs["nodata_pixels_present"] = present
        # Integers of a mosaic stay integers where nothing had to be masked; of a file they never do, so that a lazy read, which cannot
        # know, gives the same type.
        if description.unmasked is not None and not present:
            attrs["masked_nodata"] = False
            dtype = dtype if "nodata_dtype_cast" in attrs else description.unmasked
            if description.unmasked.itemsize == 8:
                # Floats do not hold every one of these integers.
                array = replace(request, masked=False, made=description.unmasked).decoded(description.window, datasets)[0]
    return labelled(array.astype(dtype, copy=False), description, attrs)
