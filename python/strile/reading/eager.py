"""Reads the whole result at once, in numpy or CuPy, or makes it lazy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import progress
from . import lazy, vrt
from .arguments import Arguments
from .description import Description, labelled

if TYPE_CHECKING:
    import xarray


def array_of(call: Arguments, description: Description, datasets: Sequence[Any]) -> xarray.DataArray:
    """Returns the array of a described call, lazy if it has chunks."""
    if call.chunks is not None:
        array = lazy.read(description, lazy.sizes(description, call.chunks))
    else:
        array = _read(description, datasets, progress.resolve(call.progress, str(call.source)))
    if len(datasets) == 1 and not call.source.is_object:
        array.encoding["source"] = call.source.shown
    # Kept by xarray as long as the array holds pixels of the file; computed arrays have none.
    array.encoding["original_shape"] = description.original_shape
    return array


def _read(description: Description, datasets: Sequence[Any], progress: Any) -> xarray.DataArray:
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
