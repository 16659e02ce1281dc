"""`open_geotiff` onto a grid: one file or several, eager, lazy and on a GPU.

The result is described by the grid and by what the files say of their values; a `GridRequest` reads any window of it, as `Request`
does of the file's own pixels. Tags and metadata of the files are not carried over: they describe other pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._core import Layout, Meaning, Onto, Place, ReadOptions
from ..errors import StrileError
from ..facts import Facts
from ..onto import PLACED, grid_of, is_usual, onto_of, told
from . import cuda, lazy, opened, vrt
from .arguments import Arguments, check
from .description import Description, labelled
from .request import Window
from .source import Source

if TYPE_CHECKING:
    import xarray as xr

    from .._core import Grid

KEYWORDS = ("grid", "like", "crs", "resolution", "bounds", "shape", "polygon")
"""Any of them makes a read onto a grid."""


@dataclass(frozen=True)
class GridRequest:
    """Windows of a grid, ready to be read from files."""

    sources: tuple[Source, ...]
    versions: tuple[tuple[int, str], ...]
    onto: Onto
    bands: tuple[int, ...]
    flat: bool
    masked: bool
    unpack: bool
    floating: str | None
    dtype: np.dtype
    max_pixels: int | None
    max_cloud_bytes: int | None
    gpu: bool
    missing: str
    # What the bands of mosaics are given in, for each source.
    types: tuple[str | None, ...]

    def identity(self) -> tuple[Any, ...]:
        """What tells this request from others."""
        facts = tuple((key, repr(value)) for key, value in sorted(vars(self).items()))
        grid = self.onto.grid
        places = tuple((str(source.location), source.storage, source.store) for source in self.sources)
        return (places, grid.crs, grid.transform, grid.shape, *facts)

    def datasets(self) -> list[Any]:
        """The open files; an error where one is another than the one that was described."""
        level = 1 if self.onto.level is None else self.onto.level
        return [
            opened.dataset(source, level=level, missing=self.missing if source.is_vrt else "raise", dtype=dtype, version=version)
            for source, dtype, version in zip(self.sources, self.types, self.versions, strict=True)
        ]

    def options(self, window: Window, look_for: int | float | None = None) -> ReadOptions:
        """Those of the core."""
        row, column, row1, column1 = window
        place = Place(window=(column, row, column1 - column, row1 - row), bands=self.bands, onto=self.onto)
        meaning = Meaning(masked=self.masked, unpack=self.unpack, float_type=self.floating, look_for=look_for)
        layout = Layout(interleave="band" if self.flat else "pixel")
        return ReadOptions(place, meaning, layout, cuda.execution(self), device=cuda.place(self.gpu))

    def read(self, window: Window, *, datasets: Sequence[Any] | None = None, progress: Any = None) -> Any:
        """The pixels of a window of the grid, (row0, col0, row1, col1)."""
        return self.searched(window, None, datasets=datasets, progress=progress)[0]

    def searched(
        self, window: Window, value: int | float | None, *, datasets: Sequence[Any] | None = None, progress: Any = None
    ) -> tuple[Any, bool | None]:
        """The same, and whether they hold a value (NaN if missing pixels became NaN); None without one."""
        raster = _core.read_onto(list(datasets or self.datasets()), self.options(window, value), progress=progress)
        array = cuda.array(raster) if self.gpu else raster.numpy()
        array = array[0] if self.flat else array
        return array.astype(self.dtype, copy=False), raster.found


def is_wanted(given: dict[str, Any]) -> bool:
    """Whether keywords ask for a read onto a grid."""
    return any(given[name] is not None for name in KEYWORDS)


def refuse(given: dict[str, Any]) -> None:
    """Refuses keywords of reads onto a grid where none is given."""
    usual = {"target_aligned": False, "resampling": "nearest", "tolerance": None, "datum_shift": "required", "source_crs": None, "top": "last", "polygon_crs": None}
    usual |= {"order": None, "tps": False, "rpc": False, "rpc_height": None, "rpc_dem": None}
    for name, default in usual.items():
        if not is_usual(given[name], default):
            raise StrileError(f"{name} is for reads onto a grid: pass grid=, like= or crs= with it, or drop it")


def open_onto(source: Any, given: dict[str, Any]) -> xr.DataArray:
    """The call of `open_geotiff`; `source` may be a list."""
    from .. import progress as bars

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
    mosaics = [vrt.inspect(call.source, call.band, call.band_nodata) if call.source.is_vrt else None for call in calls]
    datasets = [
        opened.dataset(call.source, level=1, missing=call.missing_sources if mosaic else "raise", dtype=mosaic.dtype if mosaic else None)
        for call, mosaic in zip(calls, mosaics, strict=True)
    ]
    description = _described(calls, datasets, mosaics, given)
    request: Any = description.request
    if call.gpu:
        reason = _core.plan_onto(datasets, request.options((0, 0, 1, 1))).fallback
        cuda.report(reason, str(call.source), call.strict_gpu, stacklevel=4)
    if call.chunks is not None:
        array = lazy.read(description, lazy.sizes(description, call.chunks))
    else:
        array = _eager(description, datasets, bars.resolve(call.progress, str(call.source)))
    if not several and not call.source.is_object:
        array.encoding["source"] = call.source.shown
    array.encoding["original_shape"] = description.original_shape
    return array


def _described(calls: list[Arguments], datasets: list[Any], mosaics: list[vrt.Mosaic | None], given: dict[str, Any]) -> Description:
    call, first = calls[0], Facts.of(datasets[0])
    grid = grid_of(datasets, given)
    onto = onto_of(
        grid,
        level=None if given["overview_level"] is None else call.level,
        **{name: given[name] for name in ("resampling", "tolerance", "datum_shift", "source_crs", "top", "polygon", "polygon_crs", *PLACED)},
    )
    count = first.level().bands
    if call.band is not None and not 0 <= call.band < count:
        raise IndexError(f"band is {call.band} and {call.source} has {count}: expected 0 to {count - 1}")
    bands = tuple(range(1, count + 1)) if call.band is None else (call.band + 1,)
    flat = len(bands) == 1
    scaling = _core.scaling(datasets[0], call.band) if call.unpack else None
    masked = call.masked or call.unpack
    stored = first.dtype
    made = np.dtype(np.float64) if masked and stored.kind in "iu" else np.dtype(np.float32) if stored == np.float16 else stored
    dtype = call.dtype or made
    if made.kind == "f" and dtype.kind in "iu":
        raise StrileError(f"pixels of {call.source} are {made} and dtype is {dtype}: fractions would be lost, cast the result yourself")
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
    attrs |= told(datasets, onto)
    request = GridRequest(
        sources=tuple(one.source if one.chunks is None else one.source.anywhere() for one in calls),
        versions=tuple(tuple(dataset.version) for dataset in datasets),
        onto=onto,
        bands=bands,
        flat=flat,
        masked=masked,
        unpack=scaling is not None,
        floating=made.name if masked or made != stored else None,
        dtype=dtype,
        max_pixels=call.max_pixels,
        max_cloud_bytes=call.max_cloud_bytes,
        gpu=call.gpu,
        missing=call.missing_sources,
        types=tuple(None if mosaic is None else mosaic.dtype for mosaic in mosaics),
    )
    height, width = grid.shape
    samples = height * width * len(bands)
    if call.chunks is None:
        datasets[0].check_size(samples, samples * max(made.itemsize, dtype.itemsize), max_pixels=call.max_pixels)
    datasets[0].check_size(height + width, 8 * (height + width), max_pixels=None)
    coords = _coordinates(grid, given["like"]) if call.parse_coordinates else {}
    if not flat:
        coords["band"] = np.arange(len(bands), dtype=np.int64)
    full = first.level()
    return Description(
        window=(0, 0, height, width),
        dims=("y", "x") if flat else ("y", "x", "band"),
        shape=(height, width) if flat else (height, width, len(bands)),
        coords=coords,
        attrs=attrs,
        name=call.default_name if call.default_name is not None else call.source.stem,
        request=request,  # type: ignore[arg-type]
        holes=[],
        sources=[],
        original_shape=(full.height, full.width) if full.bands == 1 else (full.height, full.width, full.bands),
        level=None,
        bits=None,
        tables=None,
    )


def _coordinates(grid: Grid, like: Any) -> dict[str, Any]:
    """Pixel centres: those of the array that the grid is like, to the last bit, so that the two align. A turned grid has none."""
    a, b, c, d, e, f = grid.transform
    if b or d:
        return {}
    height, width = grid.shape
    coords = {"y": np.arange(height) * e + f + e / 2, "x": np.arange(width) * a + c + a / 2}
    stated = getattr(like, "coords", None)
    if stated is not None and hasattr(like, "attrs"):
        for name, length in (("y", height), ("x", width)):
            if name in stated and stated[name].shape == (length,) and stated[name].dtype.kind == "f":
                coords[name] = stated[name].to_numpy()
    return coords


def _eager(description: Description, datasets: list[Any], progress: Any) -> xr.DataArray:
    request: Any = description.request
    attrs = dict(description.attrs)
    array, present = request.searched(description.window, attrs.get("nodata"), datasets=datasets, progress=progress)
    if present is not None:
        attrs["nodata_pixels_present"] = present
    return labelled(array, description, attrs)
