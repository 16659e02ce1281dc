"""Files over an array: read where the array lies, in its reference system, or on its grid; and arrays on another grid.

The words and rules are xarray-spatial's: without more words a window of the file at its own resolution; `auto_reproject` in the reference system of
the array, at about the resolution of the file; `coregister` on the exact grid of the array, missing pixels NaN, scale and offset applied.
The result is what the array is: numpy, CuPy, or dask of either."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, placement
from ._core import Grid, Onto
from .asked import flag_of, text_of
from .errors import StrileError
from .facts import Facts, Transform
from .grid import like as grid_like
from .onto import is_usual, onto_of, refuse_without_grid

if TYPE_CHECKING:
    import xarray as xr

SPARSE = 0.1
"""A file that covers less of the array is reported."""


@dataclass(frozen=True)
class Over:
    """What the xarray engine reads a file over: a grid, or the part of the file within bounds."""

    grid: Grid | None = None
    bounds: tuple[float, float, float, float] | None = None
    like: Any = None
    source_crs: str | None = None
    """The reference system of a file that states none: that of the array."""

    @staticmethod
    def of(dataset: Any, grid: Any, like: Any, coregister: Any, auto_reproject: Any) -> Over:
        auto_reproject = flag_of(auto_reproject, "auto_reproject")
        if like is None:
            if auto_reproject or (coregister is not None and flag_of(coregister, "coregister")):
                raise StrileError("coregister and auto_reproject are for like=, which says over what: pass it, or drop them")
            return Over(None if grid is None else grid_like(grid))
        if grid is not None:
            raise StrileError("grid and like are both given: pass one of them")
        here = grid_like(like)
        there, source_crs = _of_file(dataset, here)
        if coregister is None:
            coregister = not auto_reproject
        if flag_of(coregister, "coregister"):
            _covers(here, there, dataset.name)
            return Over(here, like=like, source_crs=source_crs)
        if _same_system(here, there):
            return Over(bounds=here.bounds)
        if not auto_reproject:
            raise _other_system(here, there, dataset.name)
        _covers(here, there, dataset.name, sparse=False)
        return Over(_in_system(here, there))

    def onto(self, dataset: Any, *, resampling: Any, **given: Any) -> Onto | None:
        """The request of the core; None for the pixels of the file."""
        if self.grid is None:
            refuse_without_grid(given | {"resampling": resampling}, "grid= or like=", resampling="auto")
            return None
        return onto_of(self.grid, resampling=_method(resampling, dataset), source_crs=self.source_crs, **given)

    def coordinates(self) -> dict[str, Any]:
        """Those of the array, to the last bit."""
        stated = getattr(self.like, "coords", {})
        return {name: ((name,), stated[name].to_numpy()) for name in ("y", "x") if name in stated and stated[name].ndim == 1}

    def cut(self, result: Any, dataset: Any, level: int, reduce: int, transform: Transform) -> Any:
        """The part within the bounds; `transform` is that of the result."""
        if self.bounds is None:
            return result
        place = _core.placement(dataset, level, reduce, oriented=False)
        row, column, row1, column1 = place.window_of(self.bounds, result.sizes["y"], result.sizes["x"])
        cut = result.isel(y=slice(row, row1), x=slice(column, column1))
        cut.spatial_ref.attrs["GeoTransform"] = placement.geo_transform(placement.window(transform, column, row))
        return cut


def raster_of(like: Any, var: Any) -> Any:
    """The raster of a Dataset that `var` names."""
    if var is None:
        return like
    if not hasattr(like, "data_vars"):
        raise StrileError("var names the raster of a Dataset: pass like= with one, or drop it")
    return like[text_of(var, "var")]


def open_over(
    array: xr.DataArray, source: Any, *, coregister: Any = False, auto_reproject: Any = False, resampling: Any = "auto", **options: Any
) -> xr.DataArray:
    """The part of a file that an array covers."""
    from .opening import open_geotiff

    coregister, auto_reproject = flag_of(coregister, "coregister"), flag_of(auto_reproject, "auto_reproject")
    for name in ("window", "bbox", "grid", "like", "crs", "bounds", "resolution", "shape"):
        if options.get(name) is not None:
            raise StrileError(f"{name} follows from the array: drop it, or call strile.open_geotiff")
    if coregister and options.get("allow_rotated"):
        raise StrileError("coregister reads onto the grid of the array, which allow_rotated says nothing of: drop it")
    options = _alike(array) | options
    here = grid_like(array)
    dataset = _dataset(source, options)
    there, source_crs = _of_file(dataset, here)
    same = _same_system(here, there)
    if coregister:
        _covers(here, there, source)
        options["unpack"] = True
        if source_crs is not None:
            options.setdefault("source_crs", source_crs)
        return open_geotiff(source, like=array, resampling=_method(resampling, dataset), **options)
    if auto_reproject and not same:
        _covers(here, there, source, sparse=False)
        return open_geotiff(source, grid=_in_system(here, there), resampling=_method(resampling, dataset), **options)
    if not same:
        raise _other_system(here, there, source)
    return open_geotiff(source, bbox=here.bounds, **options)


def reproject(array: xr.DataArray, **given: Any) -> xr.DataArray:
    """An array on another grid: written as an uncompressed file in memory, and read onto the grid like any other."""
    import xarray

    from .opening import open_geotiff
    from .write import to_geotiff
    from .writing.layout import X_NAMES, Y_NAMES

    if all(given[name] is None for name in ("crs", "grid", "like", "resolution", "bounds", "shape")):
        raise StrileError("expected one grid: a crs, grid=, like=, or resolution, bounds and shape")
    is_lazy = hasattr(array.data, "dask")
    if is_lazy or hasattr(array.data, "__cuda_array_interface__"):
        kind = "dask" if is_lazy else "CuPy"
        raise StrileError(
            f"reproject takes arrays in host memory and this one is of {kind}: read its file onto the grid (open_geotiff with grid=), or compute it first"
        )
    if array.dtype.kind == "f" and array.attrs.get("nodata") is None:
        # NaN is missing, and stays so.
        array = array.assign_attrs(nodata=float("nan"))
    file = io.BytesIO()
    to_geotiff(array, file, compression="none", allow_experimental_codecs=True, bigtiff=True)
    file.seek(0)
    kept: dict[str, Any] = {"overview_level": 0, "default_name": array.name}
    found = open_geotiff(file, **{name: value for name, value in given.items() if value is not None}, **kept)
    names = {"y": next(dim for dim in array.dims if dim in Y_NAMES), "x": next(dim for dim in array.dims if dim in X_NAMES)}
    found = found.rename({old: new for old, new in names.items() if old != new})
    bands: list[Any] = [dim for dim in array.dims if dim not in (*Y_NAMES, *X_NAMES)]
    if bands and "band" not in found.dims:
        found = found.expand_dims(bands[0], axis=-1)
    elif bands and bands[0] != "band":
        found = found.rename({"band": bands[0]})
    if bands:
        found = found.transpose(*array.dims)
        found = found.assign_coords({bands[0]: array.coords[bands[0]]}) if bands[0] in array.coords else found.drop_vars(bands[0], errors="ignore")
    attrs = {name: value for name, value in array.attrs.items() if name in ("units", "long_name", "masked_nodata")}
    found.attrs = {**found.attrs, **attrs}
    found.encoding = {}
    return xarray.DataArray(found, name=array.name)


def _in_system(here: Grid, there: Grid) -> Grid:
    """The extent of an array in its system, at about the resolution of a file."""
    return Grid.from_bounds(here.bounds, here.crs, resolution=Grid.suggest(there, here.crs).resolution)


def _other_system(here: Grid, there: Grid, source: Any) -> StrileError:
    return StrileError(
        f"the array is in {_named(here)} and {source} in {_named(there)}: pass auto_reproject=True for its pixels in the system of the array, or "
        "coregister=True for pixels on its grid"
    )


def _alike(array: xr.DataArray) -> dict[str, Any]:
    """Keywords that make the result what the array is."""
    found: dict[str, Any] = {}
    chunks = getattr(array.data, "chunks", None)
    if chunks:
        sizes = dict(zip(array.dims, chunks, strict=True))
        found["chunks"] = tuple(max(sizes[dim]) for dim in array.dims if dim in ("y", "x"))
        if len(found["chunks"]) != 2:
            found["chunks"] = "auto"
    meta = getattr(array.data, "_meta", array.data)
    if hasattr(meta, "__cuda_array_interface__"):
        found["gpu"] = True
    return found


def _dataset(source: Any, options: dict[str, Any]) -> Any:
    from .reading import opened
    from .reading.source import PLACES, Source

    return opened.dataset(Source.of(source, **{name: options[name] for name in PLACES if name in options}), level=1)


def _of_file(dataset: Any, here: Grid) -> tuple[Grid, str | None]:
    """The grid of a file, and the reference system that it takes from the array because it states none."""
    facts = Facts.of(dataset)
    if facts.crs is not None or facts.transform is None:
        return Grid.of_dataset(dataset), None
    return Grid(here.crs, facts.transform, (facts.level().height, facts.level().width)), here.crs


def _same_system(one: Grid, other: Grid) -> bool:
    return Grid(one.crs, other.transform, other.shape) == other


def _named(grid: Grid) -> str:
    system = grid.system()
    return f"EPSG:{system['epsg']}" if system["epsg"] else repr(system["name"])


def _method(resampling: Any, dataset: Any) -> Any:
    """'auto' takes the nearest pixel of classes (palettes, integers without scale and offset), and interpolates other values. Integers may be
    heights, too: that is told."""
    if not is_usual(resampling, "auto"):
        return resampling
    facts = Facts.of(dataset)
    if "Palette" in [name or "" for name in facts.colours]:
        return "nearest"
    packed = any((band.scale or 1.0, band.offset or 0.0) != (1.0, 0.0) for band in facts.bands)
    if facts.dtype.kind not in "iu" or packed:
        return "bilinear"
    warnings.warn(
        f"resampling='auto' takes the nearest pixel of {facts.dtype.name} samples, which are often classes: pass resampling='bilinear' if they are "
        "measured values, or 'nearest' to confirm it",
        UserWarning,
        stacklevel=4,
    )
    return "nearest"


def _covers(here: Grid, there: Grid, source: Any, sparse: bool = True) -> None:
    """Refuses a file that does not lie over the array, and tells of one that covers little of it."""
    bounds = there.bounds if _same_system(here, there) else Grid.suggest(there, here.crs).bounds
    mine = here.bounds
    width = min(mine[2], bounds[2]) - max(mine[0], bounds[0])
    height = min(mine[3], bounds[3]) - max(mine[1], bounds[1])
    if width <= 0 or height <= 0:
        raise StrileError(f"{source} does not overlap the array: it covers {bounds}, the array {mine} in {_named(here)}")
    share = width * height / ((mine[2] - mine[0]) * (mine[3] - mine[1]))
    if sparse and share < SPARSE:
        warnings.warn(
            f"{source} covers only {100 * share:.1f}% of the caller grid, so the result of coregister is mostly NaN: open the small raster first, "
            "or crop the caller to it",
            UserWarning,
            stacklevel=4,
        )
