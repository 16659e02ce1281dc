"""Files over an array: read where the array lies, in its reference system, or on its grid; and arrays on another grid.

The words and rules are xarray-spatial's: without more words a window of the file at its own resolution; `auto_reproject` in the reference system of
the array, at about the resolution of the file; `coregister` on the exact grid of the array, missing pixels NaN, scale and offset applied.
The result is what the array is: numpy, CuPy, or dask of either."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Grid, Onto
from .checks import flag_of, is_bool, text_of
from .conventions import geo_transform
from .errors import StrileError
from .facts import Facts, Transform
from .grid import check_raster
from .grid import like as grid_like
from .grid_options import OF_GRIDS, PLACED, is_usual, onto_of, placing_of, refuse_without_grid

if TYPE_CHECKING:
    import xarray as xr

SPARSE = 0.1
"""A file that covers less of the array is reported."""


@dataclass(frozen=True)
class Over:
    """The target of a read of the xarray engine: a grid, or the part of the file within bounds."""

    grid: Grid | None = None
    bounds: tuple[float, float, float, float] | None = None
    like: Any = None
    source_crs: str | None = None
    """The reference system of a file that states none: that of the array."""
    is_reprojected: bool = False
    """The file would be reprojected if it were in another system: words about that have nothing to do."""

    @staticmethod
    def of(dataset: Any, grid: Any, like: Any, coregister: bool, auto_reproject: bool, given: Mapping[str, Any]) -> Over:
        """Makes the target of a read. `given` are keywords of reads onto a grid."""
        if like is None:
            return Over(None if grid is None else grid_like(grid))
        if grid is not None:
            raise StrileError("grid and a raster (like=, coregister= or auto_reproject=) are both given: pass one of them")
        file = File.of(dataset, grid_like(like), given)
        if coregister:
            file.check_covers(dataset.name)
            return Over(file.here, like=like, source_crs=file.source_crs)
        if file.is_aligned:
            return Over(bounds=file.here.bounds, is_reprojected=auto_reproject)
        if not auto_reproject:
            raise file.other_system(dataset.name)
        file.check_covers(dataset.name, sparse=False)
        return Over(file.in_system())

    def onto(self, dataset: Any, *, resampling: Any, **given: Any) -> Onto | None:
        """Returns the request of the core; None for the pixels of the file."""
        if self.grid is None:
            if not self.is_reprojected:
                refuse_without_grid(given | {"resampling": resampling}, "grid=, like= or coregister= (the target grid)", resampling="auto")
            return None
        if self.source_crs is not None:
            given["source_crs"] = self.source_crs
        return onto_of(self.grid, resampling=_method(resampling, dataset), **given)

    def coordinates(self) -> dict[str, Any]:
        """Returns the coordinates of the array, to the last bit."""
        stated = getattr(self.like, "coords", {})
        return {name: stated[name].to_numpy() for name in ("y", "x") if name in stated and stated[name].ndim == 1}

    def cut(self, result: Any, dataset: Any, level: int, reduce: int, transform: Transform) -> Any:
        """Returns the part within the bounds; `transform` is that of the result."""
        if self.bounds is None:
            return result
        place = _core.placement(dataset, level, reduce, oriented=False)
        row, column, row1, column1 = place.window_of(self.bounds, result.sizes["y"], result.sizes["x"])
        cut = result.isel(y=slice(row, row1), x=slice(column, column1))
        cut.spatial_ref.attrs["GeoTransform"] = geo_transform(_core.moved(transform, column, row))
        return cut


def target_of(like: Any, var: Any, coregister: Any, auto_reproject: Any) -> tuple[Any, bool, bool]:
    """Returns the raster that a file is read over (None without one), and whether onto its grid or into its reference system. The raster is `like`,
    or the value of `coregister` or `auto_reproject`, as in xarray-spatial; `var` names the raster of a Dataset."""
    modes = {"coregister": coregister, "auto_reproject": auto_reproject}
    carried = {name: value for name, value in modes.items() if value is not None and not is_bool(value)}
    for name, value in carried.items():
        check_raster(value, name)
    rasters = carried if like is None else {**carried, "like": like}
    if len(rasters) > 1:
        raise StrileError(f"{' and '.join(rasters)} are both rasters, and exactly one is the target grid: pass it once")
    target: Any = next(iter(rasters.values()), None)
    if var is not None:
        if not hasattr(target, "data_vars"):
            raise StrileError("var names the raster of a Dataset: pass a Dataset as the target grid (coregister= or like=), or drop it")
        target = target[text_of(var, "var")]
    flags = {name: name in carried or bool(value) for name, value in modes.items()}
    for name, is_on in flags.items():
        if is_on and target is None:
            raise StrileError(f"{name}=True has no target grid: pass the raster as its value ({name}=raster), or as like= with it")
    if target is not None and coregister is None:
        flags["coregister"] = not flags["auto_reproject"]
    return target, flags["coregister"], flags["auto_reproject"]


def open_over(
    array: xr.DataArray, source: Any, *, coregister: Any = False, auto_reproject: Any = False, resampling: Any = "auto", **options: Any
) -> xr.DataArray:
    """Opens the part of a file that an array covers."""
    from .opening import open_geotiff

    coregister, auto_reproject = flag_of(coregister, "coregister"), flag_of(auto_reproject, "auto_reproject")
    for name in ("window", "bbox", "grid", "like", "crs", "bounds", "resolution", "shape"):
        if options.get(name) is not None:
            raise StrileError(f"{name} follows from the array: drop it, or call strile.open_geotiff")
    if coregister and options.get("allow_rotated"):
        raise StrileError("coregister reads onto the grid of the array, which allow_rotated says nothing of: drop it")
    options = _alike(array) | options
    dataset = _dataset(source, options)
    file = File.of(dataset, grid_like(array), options)
    if coregister:
        file.check_covers(source)
        options["unpack"] = True
        if file.source_crs is not None:
            options["source_crs"] = file.source_crs
        return open_geotiff(source, like=array, resampling=_method(resampling, dataset), **options)
    if file.is_aligned:
        if auto_reproject:
            # They would count if the file were in another system.
            options = {name: value for name, value in options.items() if name not in OF_GRIDS}
        return open_geotiff(source, bbox=file.here.bounds, **options)
    if not auto_reproject:
        raise file.other_system(source)
    file.check_covers(source, sparse=False)
    return open_geotiff(source, grid=file.in_system(), resampling=_method(resampling, dataset), **options)


def reproject(array: xr.DataArray, **given: Any) -> xr.DataArray:
    """Reprojects an array: writes it as an uncompressed file in memory, and reads that onto the grid."""
    import xarray

    from .opening import open_geotiff
    from .write import to_geotiff
    from .writing.array_metadata import KEPT, ORIGINAL
    from .writing.layout import X_NAMES, Y_NAMES

    if all(given[name] is None for name in ("crs", "grid", "like", "resolution", "bounds", "shape")):
        raise StrileError("expected one grid: a crs, grid=, like=, or resolution, bounds and shape")
    is_lazy = hasattr(array.data, "dask")
    if is_lazy or hasattr(array.data, "__cuda_array_interface__"):
        kind = "dask" if is_lazy else "CuPy"
        raise StrileError(
            f"reproject takes arrays in host memory and this one is of {kind}: read its file onto the grid (open_geotiff with grid=), or compute it first"
        )
    # Without the notes of an engine on how a file stores the values: they are reprojected unchanged.
    plain = array.copy(deep=False)
    plain.encoding = {ORIGINAL: array.encoding.get(ORIGINAL)}
    if KEPT in array.encoding:
        plain.encoding[KEPT] = {key: value for key, value in array.encoding[KEPT].items() if key not in ("mask", "tables", "nbits")}
    stated = [array.attrs.get(name) for name in ("nodata", "_FillValue", "nodatavals")]
    # Missing pixels of an array that was masked are NaN, whatever value its file has for them.
    is_nan = array.dtype.kind == "f" and (array.attrs.get("masked_nodata") is True or all(value is None for value in stated))
    file = io.BytesIO()
    to_geotiff(plain, file, nodata=float("nan") if is_nan else None, compression="none", allow_experimental_codecs=True, bigtiff=True)
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
        # Without the coordinates that come with it, such as the reference system of the array.
        own = {bands[0]: array.coords[bands[0]].variable} if bands[0] in array.coords else {}
        found = found.drop_vars(bands[0], errors="ignore").assign_coords(own)
    kept_attrs = ("units", "long_name", "masked_nodata", *(("nodata",) if is_nan else ()))
    attrs = {name: value for name, value in array.attrs.items() if name in kept_attrs}
    found.attrs = {**found.attrs, **attrs}
    found.encoding = {}
    return xarray.DataArray(found, name=array.name)


@dataclass(frozen=True)
class File:
    """A file that is read over an array."""

    here: Grid
    """Of the array."""
    there: Grid
    """Of the file; GDAL's suggestion for one that is placed by control points or RPCs."""
    source_crs: str | None
    """The reference system that the file takes from the array because it states none."""
    is_aligned: bool
    """Whether the file is in the system of the array, so that a window of it suffices."""
    datum_shift: str

    @staticmethod
    def of(dataset: Any, here: Grid, given: Mapping[str, Any]) -> File:
        facts, source_crs = Facts.of(dataset), given.get("source_crs")
        shift = text_of(given.get("datum_shift", OF_GRIDS["datum_shift"]), "datum_shift")
        words = {name: given.get(name, OF_GRIDS[name]) for name in PLACED}
        if facts.transform is None or any(not is_usual(value, OF_GRIDS[name]) for name, value in words.items()):
            there = Grid.chosen([dataset], source_crs=source_crs, datum_shift=shift, **placing_of(**words))
            return File(here, there, None, False, shift)
        crs = facts.crs if source_crs is None else source_crs
        if source_crs is not None or crs is None:
            there = Grid(here.crs if crs is None else crs, facts.transform, (facts.level().height, facts.level().width))
        else:
            there = Grid.of_dataset(dataset)
        return File(here, there, here.crs if crs is None else None, _same_system(here, there), shift)

    def in_system(self) -> Grid:
        """Returns the extent of the array in its system, at about the resolution of the file."""
        try:
            suggested = self._in_system_of(self.here, self.there)
        except StrileError:
            # Of a file that is larger than the area of an operation, the part under the array.
            bounds = self._in_system_of(self.there, self.here).bounds
            part = Grid.from_bounds(bounds, self.there.crs, resolution=self.there.resolution)
            suggested = self._in_system_of(self.here, part)
        return Grid.from_bounds(self.here.bounds, self.here.crs, resolution=suggested.resolution)

    def other_system(self, source: Any) -> StrileError:
        return StrileError(
            f"the array is in {_named(self.here)} and {source} in {_named(self.there)}: pass auto_reproject=True for its pixels in the system of "
            "the array, or coregister=True for pixels on its grid"
        )

    def check_covers(self, source: Any, sparse: bool = True) -> None:
        """Refuses a file that does not lie over the array, and warns about one that covers little of it."""
        # In the system of the array, and in that of the file if the file has no place there: it may be far larger, and the other way round.
        ways = [lambda: (self._in_system_of(self.here, self.there), self.here), lambda: (self.there, self._in_system_of(self.there, self.here))]
        share, problems = 0.0, []
        for way in ways:
            try:
                share = share or _share(*way())
            except StrileError as problem:
                problems.append(problem)
        if len(problems) == len(ways):
            raise problems[0]
        if share <= 0:
            covered, mine = self.there.bounds, self.here.bounds
            raise StrileError(
                f"{source} does not overlap the array: it covers {covered} in {_named(self.there)}, the array {mine} in {_named(self.here)}"
            )
        if sparse and share < SPARSE:
            warnings.warn(
                f"{source} covers only {100 * share:.1f}% of the caller grid, so the result of coregister is mostly NaN: open the small raster "
                "first, or crop the caller to it",
                UserWarning,
                stacklevel=4,
            )

    def _in_system_of(self, one: Grid, other: Grid) -> Grid:
        """Returns the second grid in the system of the first."""
        return other if _same_system(one, other) else Grid.suggest(other, one.crs, datum_shift=self.datum_shift)


def _share(file: Grid, array: Grid) -> float:
    """Returns the part of an array that a file in its system covers. Longitudes may be a turn apart."""
    west, south, east, north = array.bounds
    left, bottom, right, top = file.bounds
    turns = (-360.0, 0.0, 360.0) if array.system()["kind"] == "geographic" else (0.0,)
    widths = [min(east, right + turn) - max(west, left + turn) for turn in turns]
    width, height = sum(max(width, 0.0) for width in widths), max(min(north, top) - max(south, bottom), 0.0)
    return width * height / ((east - west) * (north - south))


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
    from .reading.source import SOURCE_KEYWORDS, Source

    return opened.dataset(Source.of(source, **{name: options[name] for name in SOURCE_KEYWORDS if name in options}), level=1)


def _same_system(one: Grid, other: Grid) -> bool:
    return Grid(one.crs, other.transform, other.shape) == other


def _named(grid: Grid) -> str:
    system = grid.system()
    return f"EPSG:{system['epsg']}" if system["epsg"] else repr(system["name"])


def _method(resampling: Any, dataset: Any) -> Any:
    """Returns the resampling method. 'auto' takes the nearest pixel of classes (palettes, integers without scale and offset), and interpolates other values. Integers may be
    heights, too, so that is a warning."""
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
