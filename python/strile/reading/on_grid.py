"""Opens files on a grid for `open_geotiff`: one or several, eager, lazy and on a GPU.

The result follows from the grid, and from type, nodata and scaling of the files. Tags and metadata of the files are not carried over: they
describe other pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import StrileError
from ..facts import Facts
from ..grid_options import PLACED, grid_of, onto_of, operation_attrs
from . import cuda, eager, opened, vrt
from .arguments import Arguments, check
from .description import Description, band_numbers, labels_of, made_type, result_type, whole_shape
from .request import Request

if TYPE_CHECKING:
    import xarray as xr

    from .._core import Grid

KEYWORDS = ("grid", "like", "crs", "resolution", "bounds", "shape", "polygon")
"""Keywords that ask for a read onto a grid."""


def is_wanted(given: dict[str, Any]) -> bool:
    """Returns whether keywords ask for a read onto a grid."""
    return any(given[name] is not None for name in KEYWORDS)


def open_onto(source: Any, given: dict[str, Any]) -> xr.DataArray:
    """Serves a call of `open_geotiff` with a grid. `source` may be a list."""
    several = isinstance(source, list | tuple)
    if several and not source:
        raise StrileError("expected at least one file to read onto the grid, got an empty list")
    calls = [check(one, given) for one in (source if several else [source])]
    call = calls[0]
    for name, value in (("window", call.window), ("bbox", call.bbox), ("reduce", call.reduce or None)):
        if value is not None:
            raise StrileError(f"{name} cannot be combined with a grid: pass bounds= or a grid of the part")
    if call.gpu:
        cuda.require()
    mosaics = [vrt.inspect(call) for call in calls]
    datasets = [
        opened.dataset(call.source, level=1, missing=call.missing_sources if mosaic else "raise", dtype=mosaic.dtype if mosaic else None)
        for call, mosaic in zip(calls, mosaics, strict=True)
    ]
    description = _described(calls, datasets, mosaics, given)
    if call.gpu:
        reason = _core.plan_onto(datasets, description.request.options((0, 0, 1, 1), alone=True)).fallback
        cuda.report(reason, str(call.source), call.strict_gpu, stacklevel=4)
    return eager.array_of(call, description, datasets)


def _described(calls: list[Arguments], datasets: list[Any], mosaics: list[vrt.Mosaic | None], given: dict[str, Any]) -> Description:
    call, first = calls[0], Facts.of(datasets[0])
    grid = grid_of(datasets, given)
    masked, stored = call.masked or call.unpack, first.dtype
    # Integers that become floats keep the fractions that resampling gives them.
    widened = call.dtype if call.dtype is not None and call.dtype.name in ("float32", "float64") and stored.kind in "iu" and not masked else None
    onto = onto_of(
        grid,
        dtype=None if widened is None else widened.name,
        level=None if given["overview_level"] is None else call.level,
        **{name: given[name] for name in ("resampling", "tolerance", "datum_shift", "source_crs", "top", "polygon", "polygon_crs", *PLACED)},
    )
    count = first.level().bands
    bands = band_numbers(call.band, count, False, str(call.source))
    flat = len(bands) == 1
    scaling = _core.scaling(datasets[0], call.band) if call.unpack else None
    made = made_type(stored, masked) if widened is None else widened
    dtype = result_type(call, made)
    attrs: dict[str, Any] = _core.placed_on(grid)
    nodata = onto.missing_value(datasets[0], False)
    if mosaics[0] is not None:
        nodata = mosaics[0].nodata(call.band)[0]
    if nodata is not None:
        attrs |= {"nodata": nodata, "masked_nodata": masked}
    if scaling is not None:
        attrs |= {"scale_factor": scaling[0], "add_offset": scaling[1]}
    if call.unpack:
        attrs["mask_and_scale_dtype"] = stored.name
    if call.band is not None and count > 1:
        attrs["source_band"] = call.band
    attrs |= operation_attrs(datasets, onto, stacklevel=5)
    request = Request.of(
        calls, datasets, types=tuple(None if mosaic is None else mosaic.dtype for mosaic in mosaics), level=1 if onto.level is None else onto.level,
        reduce=0, bands=bands, turn=None, onto=onto, masked=masked, scaling=scaling, made=made, searched_value=nodata, dtype=dtype,
    )  # fmt: skip
    height, width = grid.shape
    if call.chunks is None:
        request.check(datasets[0], (0, 0, height, width))
    datasets[0].check_size(height + width, 8 * (height + width), max_pixels=None)
    labels = _coordinates(grid, given["like"]) if call.parse_coordinates else {}
    if not flat:
        labels["band"] = np.arange(len(bands), dtype=np.int64)
    return Description(
        window=(0, 0, height, width),
        dims=("y", "x") if flat else ("y", "x", "band"),
        shape=(height, width) if flat else (height, width, len(bands)),
        coords={name: labels_of(name, numbers) for name, numbers in labels.items()},
        attrs=attrs,
        name=call.default_name if call.default_name is not None else call.source.stem,
        request=request,
        holes=[],
        sources=[],
        original_shape=whole_shape(first.level()),
        level=None,
    )


def _coordinates(grid: Grid, like: Any) -> dict[str, Any]:
    """Returns pixel centres: those of the array that the grid is like, to the last bit, so that the two align. A turned grid has none."""
    a, b, c, d, e, f = grid.transform
    if b or d:
        return {}
    height, width = grid.shape
    coords = {name: np.frombuffer(_core.labels((0, count), along, False)) for name, count, along in (("y", height, (e, f)), ("x", width, (a, c)))}
    stated = getattr(like, "coords", None)
    if stated is not None and hasattr(like, "attrs"):
        for name, length in (("y", height), ("x", width)):
            if name in stated and stated[name].shape == (length,) and stated[name].dtype.kind == "f":
                coords[name] = stated[name].to_numpy()
    return coords
