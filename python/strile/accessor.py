"""Provides `.strile` on DataArrays and Datasets: writing, reading, reprojecting, plans and pictures.

Registered when both strile and xarray are imported. The methods call functions of the package
with the array."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from .checks import sides_of
from .errors import StrileError

if TYPE_CHECKING:
    import xarray as xr

    from ._core import Plan


class DataArrayAccessor:
    """`DataArray.strile`."""

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def to_geotiff(self, path: str | BinaryIO, **options: Any) -> Any:
        """Writes the array, with the options of `strile.to_geotiff`."""
        from .write import to_geotiff

        return to_geotiff(self._array, path, **options)

    def plan(self, **request: Any) -> Plan:
        """Plans a read of the file that this array was opened from, with the keywords of `strile.plan`."""
        from .prepared import plan

        return plan(self._source(), **request)

    def open_geotiff(
        self, source: Any, *, coregister: bool = False, auto_reproject: bool = False, resampling: str = "auto", **options: Any
    ) -> xr.DataArray:
        """Reads the part of a file that this array covers. With `coregister` the result is on the grid of this
        array, with `auto_reproject` in its reference system; otherwise a file in another reference system is an error."""
        from . import coregistered

        return coregistered.open_over(
            self._array, source, coregister=coregister, auto_reproject=auto_reproject, resampling=resampling, **options
        )

    def reproject(
        self,
        crs: Any = None,
        *,
        grid: Any = None,
        like: Any = None,
        resolution: float | tuple[float, float] | None = None,
        bounds: tuple | None = None,
        shape: tuple[int, int] | None = None,
        target_aligned: bool = False,
        resampling: str = "nearest",
        tolerance: float | None = None,
        datum_shift: str = "required",
        source_crs: Any = None,
        order: int | None = None,
        tps: bool = False,
        rpc: bool = False,
        rpc_height: float | None = None,
        rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ) -> xr.DataArray:
        """Returns this array in another reference system or on another grid, with the keywords of `open_geotiff`. An array that has control points
        (`attrs["gcps"]`) or RPCs of its file is placed by them. Of arrays in host memory: a dask or CuPy array is refused, since its file can be
        read onto the grid directly."""
        given = dict(locals())
        from . import coregistered

        return coregistered.reproject(given.pop("self")._array, **given)

    def _source(self) -> str:
        source = self._array.encoding.get("source")
        if source is None:
            raise StrileError(
                "this array does not say which file it was opened from (`encoding['source']`): "
                "call strile.plan(path)"
            )
        return str(source)

    def quicklook(self, width: int = 256) -> bytes:
        """Returns a small PNG of the array: the first band in grey, or the first three in colour, stretched from the
        2nd to the 98th percentile, nodata transparent."""
        from . import quicklook

        return quicklook.of_array(self._array, sides_of(width, "width")[0])


class DatasetAccessor:
    """`Dataset.strile`: the same, for the variable that is the raster."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def to_geotiff(self, path: str | BinaryIO, **options: Any) -> Any:
        """Writes the raster of this dataset; every option of `strile.to_geotiff`, and `variable` to name
        it."""
        return self._raster(options.pop("variable", None)).strile.to_geotiff(path, **options)

    def plan(self, **request: Any) -> Plan:
        """Plans a read of the file that this dataset was opened from, with the keywords of
        `strile.plan`."""
        return self._raster(request.pop("variable", None)).strile.plan(**request)

    def open_geotiff(self, source: Any, **options: Any) -> xr.DataArray:
        """Reads the part of a file that the raster covers, as `DataArray.strile.open_geotiff`; `variable` (or `var`, as xarray-spatial
        has it) names the raster."""
        variable = options.pop("var", None)
        return self._raster(options.pop("variable", variable)).strile.open_geotiff(source, **options)

    def reproject(self, crs: Any = None, **options: Any) -> xr.DataArray:
        """Returns the raster in another reference system, as `DataArray.strile.reproject`; `variable` names the raster."""
        return self._raster(options.pop("variable", None)).strile.reproject(crs, **options)

    def quicklook(self, width: int = 256, variable: str | None = None) -> bytes:
        """Returns a small PNG of the raster."""
        return self._raster(variable).strile.quicklook(width)

    def _raster(self, variable: str | None) -> xr.DataArray:
        if variable is not None:
            return self._dataset[variable]
        rasters = [name for name, array in self._dataset.data_vars.items() if array.ndim >= 2]
        if len(rasters) != 1:
            raise StrileError(
                f"the dataset has {len(rasters)} variables of two or more dimensions ({rasters}): "
                "name one by variable=, or stack them as bands"
            )
        array = self._dataset[rasters[0]]
        if "source" not in array.encoding and "source" in self._dataset.encoding:
            array = array.copy(deep=False)
            array.encoding["source"] = self._dataset.encoding["source"]
        return array


def register() -> None:
    """Registers `.strile` with xarray once: xarray warns if a name is taken."""
    import xarray as xr

    if getattr(xr.DataArray, "strile", None) is not DataArrayAccessor:
        xr.register_dataarray_accessor("strile")(DataArrayAccessor)
    if getattr(xr.Dataset, "strile", None) is not DatasetAccessor:
        xr.register_dataset_accessor("strile")(DatasetAccessor)
