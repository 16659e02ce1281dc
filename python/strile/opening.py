"""Provides `open_geotiff`: opens a GeoTIFF, COG or VRT as an xarray DataArray, in numpy, CuPy, or dask of either."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from .grid_options import refuse_without_grid
from .reading import cuda, eager, on_grid, opened, sidecars, vrt
from .reading.arguments import UNSET, Arguments, check
from .reading.description import describe
from .reading.mask import FileMask, ends_of
from .reading.request import warn_of_holes

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr


def open_geotiff(
    source: str | os.PathLike[str] | BinaryIO | Sequence[str | os.PathLike[str]],
    *,
    dtype: str | np.dtype | None = None,
    window: Any = None,
    bbox: tuple | None = None,
    overview_level: int | None = None,
    band: int | None = None,
    default_name: str | None = None,
    name: str | None = UNSET,
    chunks: int | tuple | dict | str | None = None,
    gpu: bool = False,
    max_pixels: int | None = None,
    max_cloud_bytes: int | None = UNSET,
    on_gpu_failure: str = UNSET,
    missing_sources: str = UNSET,
    allow_outside: bool = False,
    allowed_roots: Sequence[str | os.PathLike[str]] = (),
    allow_rotated: bool = False,
    allow_unparseable_crs: bool = False,
    allow_invalid_nodata: bool = False,
    stable_only: bool = False,
    allow_experimental_codecs: bool = False,
    allow_internal_only_jpeg: bool = False,
    band_nodata: str | None = None,
    masked: bool = False,
    mask_nodata: bool = UNSET,
    unpack: bool = False,
    mask_and_scale: bool = UNSET,
    parse_coordinates: bool = True,
    lock: object | None = None,
    cache: bool = True,
    progress: bool | Callable[[int, int], object] | None = None,
    reduce: int = 0,
    storage_options: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    store: Any = None,
    sidecars: str = "auto",
    allowed_hosts: Sequence[str] = (),
    grid: Any = None,
    like: Any = None,
    crs: Any = None,
    resolution: float | tuple[float, float] | None = None,
    bounds: tuple | None = None,
    shape: tuple[int, int] | None = None,
    target_aligned: bool = False,
    resampling: str = "nearest",
    tolerance: float | None = None,
    datum_shift: str = "required",
    source_crs: Any = None,
    top: str = "last",
    polygon: Any = None,
    polygon_crs: Any = None,
    order: int | None = None,
    tps: bool = False,
    rpc: bool = False,
    rpc_height: float | None = None,
    rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> xr.DataArray:
    """Opens a GeoTIFF, COG or VRT as a DataArray with dims `(y, x)`, or `(y, x, band)` for several bands.

    Parameters
    ----------
    source
        A path, a URL (`https://`, `s3://`, `gs://`, `az://`, or one that fsspec opens: `memory://`, `ftp://`, …), or an open binary
        file (eager CPU reads). A name that ends in `.vrt` is read as a mosaic.
    dtype
        The type of the result. Floats are never cast to integers.
    window
        `(row0, col0, row1, col1)` in pixels, half open; also a `strile.Window`, rasterio's `Window`, or a pair of slices
        (rows, columns).
        A window outside the raster is an error.
    bbox
        `(xmin, ymin, xmax, ymax)` in the file's reference system, clamped to the file and rounded outwards.
    overview_level
        0 or None: full resolution. Then the internal overviews, then those of a `.ovr` beside the file.
    band
        One band, from 0: the result is 2-D.
    default_name
        The name of the array; else that of the file without its suffix. `name` is the old name of this
        argument.
    chunks
        Rows and columns of a dask chunk: one number for both, a pair, or a dict such as {"y": 2048, "x": 2048}. "auto" and
        {} take whole blocks of the file, some dozens of MiB per chunk. At most 50,000 chunks.
    gpu
        CuPy arrays on the current device, or dask of them.
    max_pixels
        The limit on samples (width × height × bands) read at once: of the whole result, or of one chunk. None refuses only
        implausible results: those over 1 GB that are more than 1024 times larger than their file.
    max_cloud_bytes
        The limit on bytes fetched from a remote store for the result (256 MiB), or for one chunk (no limit); None:
        any number.
    on_gpu_failure
        'auto': if a file cannot be decoded on the GPU, one warning gives the reason and the CPU decodes
        it; 'strict': that is an error. A failure during decoding is always an error.
    missing_sources
        VRT: 'raise', or 'warn' to leave holes where sources are missing or damaged (NaN, or 0 in integers),
        which `attrs["vrt_holes"]` lists.
    allow_outside
        VRT: allow sources outside of the VRT's folder. For VRTs that you trust.
    allowed_roots
        VRT: further folders of sources, besides those of `STRILE_VRT_ALLOWED_ROOTS`.
    allow_rotated
        Read a rotated file as a plain grid of pixels, its transform in `attrs["rotated_affine"]`.
    allow_unparseable_crs
        Keep the text of a reference system that cannot be parsed.
    allow_invalid_nodata
        Read integers with a nodata value that is not a whole number, unmasked.
    stable_only
        Accept only local files: no VRT and no remote file, unless `allow_experimental_codecs` is True.
    allow_experimental_codecs, allow_internal_only_jpeg
        Accepted; every codec is read without them.
    band_nodata
        VRT: 'first' accepts bands with different nodata values, each masked by its own.
    masked
        Nodata as NaN, integers as float64. Without a nodata value the mask image or alpha band decides, and
        `attrs["mask_source"]` says which. `mask_nodata` is the old name of this argument.
    unpack
        Apply GDAL's scale and offset and mask: integers become float64, floats keep their width.
        `mask_and_scale` is the old name of this argument.
    parse_coordinates
        False: no `x` and `y` coordinates.
    lock, cache
        Accepted, with a warning: reads are safe from many threads.
    progress
        True for a bar, or a callable of (done, total) blocks; eager reads.
    reduce
        Decode JPEG 2000 at 1/2ⁿ of its size, without overviews. Coordinates and
        windows are those of the smaller image.
    storage_options
        Options for a URL: credentials, `region`, `endpoint_url`, `requester_pays`, `headers`, `connect_timeout`, `retries` and
        others, by their names in fsspec, obstore and object_store. Unknown names are an error that lists the known
        ones. By default each cloud's usual credentials are used.
    anonymous
        Send no credentials: for public buckets.
    store
        The store of the path `source`: a filesystem of fsspec, or a store of obstore.
    sidecars
        Whether `.ovr`, `.msk`, `.aux.xml` and world files of a remote file are requested: 'auto' unless it is a COG, 'always',
        or 'never'.
    allowed_hosts
        VRT: further hosts and buckets of sources, such as 'example.org' or 's3://bucket', besides the folder of a remote VRT.
    grid, like
        Read onto another grid: a `strile.Grid`, or an object with a grid (a DataArray, a path, a `GeoBox` of odc-geo, a dataset of rasterio). The
        result has its reference system, transform and shape; of a DataArray also its coordinates, so that the two align. `source` may then
        be a list of files in any reference systems.
    crs, resolution, bounds, shape, target_aligned
        Make the grid from a reference system (default: that of the file), the size of a pixel, bounds (xmin, ymin, xmax, ymax) in that
        system, or the shape (height, width). The rest is GDAL's suggestion for the file. `target_aligned` moves the bounds to
        multiples of the resolution.
    resampling
        The resampling method: 'nearest', 'bilinear', 'cubic', 'cubicspline', 'lanczos', 'average', 'mode', 'min', 'max',
        'med', 'q1', 'q3', 'rms' or 'sum'. The coarsest overview that suffices is read, unless `overview_level` is given.
    tolerance
        The largest error of interpolated coordinates, in pixels of the file: 1/8 by default; 0 computes every pixel exactly.
    datum_shift
        'none' accepts reference systems without a known operation between their datums; 'required' refuses them.
    source_crs
        The reference system of the file, in place of the one it states.
    order, tps, rpc, rpc_height, rpc_dem
        Place the file by its ground control points, with a polynomial of `order` 1 to 3 or a thin-plate spline (`tps=True`), or by its
        rational polynomials (`rpc=True`) at a height above the ellipsoid in metres, 0 by default, or at the heights of an elevation model:
        `rpc_dem` is its path, or a dict of `path`, `interpolation` ('near', 'bilinear' or 'cubic') and `missing_value` (the height where it has none;
        without it such places have no pixel). Without these keywords a transform is used, else control points, else RPCs. They are the options of
        `strile warp`.
    top
        The file on top where several overlap: the 'first' or the 'last'.
    polygon
        Clip by a polygon: pixels whose centre lies outside are missing, and only blocks under it are read. WKT, GeoJSON (a text, a dict,
        or the path of a file), or a geometry with `__geo_interface__`, such as shapely's. Without a grid the result is the part of the
        file that the box around the polygon touches.
    polygon_crs
        The reference system of the polygon. Without it GeoJSON is in WGS 84, and others are in the reference system of the result.

    Returns
    -------
    xarray.DataArray
        Pixel-centre coordinates, or pixel numbers without georeferencing; metadata of the file in `attrs`.
    """
    given = dict(locals())
    if on_grid.is_wanted(given):
        return on_grid.open_onto(source, given)
    if isinstance(source, list | tuple):
        raise TypeError("source is a list of files, which are read onto one grid: pass crs=, grid= or like= with it, or one file")
    refuse_without_grid(given, "grid=, like= or crs=", target_aligned=False, resampling="nearest")
    return _opened(check(source, given))


def _opened(call: Arguments) -> xr.DataArray:
    if call.gpu:
        cuda.require()
    mosaic = vrt.inspect(call)
    dtype = None if mosaic is None else mosaic.dtype
    dataset = opened.dataset(call.source, level=call.level, missing=call.missing_sources, dtype=dtype)
    description = describe(call, dataset, mosaic)
    sidecars.warn_of(dataset.facts["warnings"], str(call.source), stacklevel=3)
    if call.chunks is not None:
        # Tasks warn in other processes; an eager read warns when it reads.
        warn_of_holes(call.source, ((hole["source"], hole["error"]) for hole in description.holes), stacklevel=3)
    if call.gpu:
        cuda.report(description.request.fallback(dataset, description.window), str(call.source), call.strict_gpu, stacklevel=4)
    array = eager.array_of(call, description, [dataset])
    if description.tables is not None:
        array.encoding["tables"] = description.tables
    if description.bits is not None:
        array.encoding["nbits"] = description.bits
    if "mask_dropped" in array.attrs and call.level == 0 and call.reduce == 0:
        array.encoding["mask"] = FileMask(
            description.request.source, description.request.versions[0], description.window, ends_of(array)
        )
    return array

