"""Provides `to_geotiff`, which writes an array as GeoTIFF. `strile.writing` does the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from ._core import Raster


def to_geotiff(
    data: xr.DataArray | np.ndarray | Raster,
    path: str | BinaryIO,
    *,
    crs: int | str | None = None,
    nodata: float | int | None = None,
    compression: str = "zstd",
    compression_level: int | None = None,
    tiled: bool = True,
    tile_size: int = 256,
    predictor: bool | int | str = "auto",
    cog: bool = False,
    overview_levels: list[int] | None = None,
    overview_resampling: str = "mean",
    bigtiff: bool | None = None,
    gpu: bool | None = None,
    streaming_buffer_bytes: int = 268435456,
    max_z_error: float = 0.0,
    photometric: str | int = "auto",
    allow_internal_only_jpeg: bool = False,
    allow_experimental_codecs: bool = False,
    allow_unparseable_crs: bool = False,
    drop_rotation: bool = False,
    pack: bool = False,
    color_ramp: str | bool | None = None,
    color_ramp_range: tuple[float, float] | None = None,
    reproducible: bool = False,
    spill: bool = True,
    progress: bool | Callable[[int, int], object] | None = None,
    cluster: bool | None = None,
    dims: Sequence[str] | None = None,
    transform: Sequence[float] | None = None,
    quality: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> str | BinaryIO:
    """Writes an array as GeoTIFF or, with `cog=True`, as Cloud-Optimized GeoTIFF; returns `path`.

    `data` is a DataArray, a `Raster`, an open `Dataset`, or an array of numpy, CuPy, dask, torch, JAX or any library with
    their protocols, of two dimensions or three. Pixels on a GPU are encoded there. A dask array is computed a few chunks
    at a time, each chunk once, within `streaming_buffer_bytes`.

    `path` is a local path, a URL of a bucket (s3, gs, az, abfs), another URL that fsspec knows, or an object with `write`; a
    `.vrt` path makes a mosaic of tiles. The file appears under its name when it is complete. A failure leaves nothing behind.

    dims
        Names of the axes: ("band", "y", "x") or ("y", "x", "band"). DataArrays and `Raster` have names. An array
        without names is (y, x, band) if its last axis is the shortest or has at most 4 entries; for any other shape
        `dims` is required.
    crs, nodata, transform
        The reference system (EPSG code, WKT or PROJ text), the value of missing pixels, and the transform of pixel
        corners (an Affine or its six numbers, which may be rotated). Without them the array's attributes and
        coordinates are used. NaN in float data means missing and is written as the nodata value; if valid pixels hold
        that value, the write fails and reports their number.
    compression, compression_level, predictor, max_z_error
        none, deflate, lzw, packbits, zstd, lz4, lzma, lerc, jpeg, jpeg2000 or j2k, webp; levels 1 to 9
        (deflate), 1 to 22 (zstd), 0 to 9 (lzma). `predictor`: "auto" chooses by the type, False for none,
        True or 2 for differences, 3 for floats. `max_z_error`: the largest error of values in LERC.
    quality
        1 to 100, for jpeg (default 75), webp and jpeg2000 (both lossless by default).
    tiled, tile_size
        Square tiles of a multiple of 16; `tiled=False` for strips of 256 rows.
    cog, overview_levels, overview_resampling
        `cog=True` makes overviews: halved until they fit one tile, or those of a list as [2, 4, 8], by
        mean, nearest, min, max, median, mode, cubic, bilinear, gauss, lanczos or rms of the pixels that are
        not missing.
    bigtiff
        True, False, or None: if the file may exceed 4 GiB.
    gpu
        True: encode on the GPU, with a `GeoTIFFFallbackWarning` without one; False: on the CPU; None:
        where the pixels are.
    photometric
        'auto' keeps the colours of the file that the array was read from, and is 'minisblack' for other arrays,
        whatever the number of bands; 'rgb', 'rgba', 'miniswhite' (stored inverted), or TIFF's number.
    pack
        Reverse `open_geotiff(unpack=True)`: scale, offset and type as they were stored. Arrays of the xarray engine are
        stored by their `encoding`, as `rio.to_raster` does; `array.drop_encoding()` writes the values unchanged.
    color_ramp, color_ramp_range
        A style for QGIS (`.qml`) and statistics beside a file of one band: viridis, plasma, magma, inferno,
        cividis, greys, spectral or terrain, over the range of the values or the one given.
    drop_rotation, allow_unparseable_crs, allow_experimental_codecs, allow_internal_only_jpeg
        Write the pixels of a rotated grid without its transform; write a reference system that cannot be
        parsed. The other two are accepted and have no effect.
    reproducible
        Write the same bytes on every device.
    spill
        False refuses dask chunks that would need a temporary file for encoded blocks.
    progress
        True for a bar, or a callable of (done, total) blocks.
    storage_options
        Options for a bucket: {"region": …, "endpoint": …, "allow_http": True, "aws_access_key_id": …}; by default the
        environment is used. See the guide on remote files.
    cluster
        None: the workers of the active client of dask.distributed write a dask array, if there is
        one and all workers reach the folder of a local `path`; the bytes are the same. To a bucket each worker sends
        the blocks that it has encoded, without a shared folder. False: this process writes. True: the workers write, or an error
        gives the reason.
    """
    from .writing.arguments import check

    arguments = check(locals())
    from .progress import resolve
    from .writing.output import target_of, write_file
    from .writing.raster import describe

    target = target_of(path, arguments.storage_options)
    if target.is_vrt:
        from .writing import vrt

        vrt.check(arguments)
    raster = describe(data, crs, nodata, arguments)
    callback = resolve(progress, "writing")
    if target.is_vrt:
        vrt.write_vrt(raster, arguments, target, callback)
    else:
        write_file(raster, arguments, target, callback)
    return target.given
