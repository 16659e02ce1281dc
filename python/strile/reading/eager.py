"""The whole result at once, in numpy or CuPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import vrt
from .description import Description, labelled

if TYPE_CHECKING:
    import xarray


def read(description: Description, dataset: Any, progress: Any) -> xarray.DataArray:
    request = description.request
    lost: dict[str, str] = {}
    array, present = request.decoded(description.window, dataset, progress=progress, holes=lost, look=True)
    attrs = dict(description.attrs)
    if lost:
        # Damage that only decoding finds is among it.
        attrs["vrt_holes"] = description.holes + vrt.damaged(description.sources, lost, str(request.source))
    promoted = True
    if present is not None:
        attrs["nodata_pixels_present"] = present
        # Integers of a mosaic stay integers where nothing had to be masked; of a file they never do, so that
        # a lazy read,
        # which cannot know, gives the same type.
        if request.source.is_vrt and not present and request.scaling is None and array.dtype.kind in "iu":
            promoted = request.masking is None
            attrs["masked_nodata"] = attrs["masked_nodata"] and promoted
    array = request.finished(array, promoted=promoted, complete=present is False)
    if not promoted and array.dtype != request.dtype and "nodata_dtype_cast" in attrs:
        array = array.astype(request.dtype)
    return labelled(array, description, attrs)
