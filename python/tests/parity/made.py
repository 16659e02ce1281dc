"""The files on which strile is compared with other readers: a named list, made here by rasterio and tifffile.

Pixels come from a formula, so the same file means the same values on every machine and with every version of the
libraries that write it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import tifffile
from affine import Affine
from rasterio.enums import Resampling
from rasterio.transform import from_origin

UTM = {"crs": "EPSG:32633", "transform": from_origin(500000, 4600000, 30, 30)}
DEGREES = {"crs": "EPSG:4326", "transform": Affine(0.1, 0, 10, 0, -0.1, 50)}


def pixels(dtype: Any, bands: int = 1, rows: int = 70, columns: int = 90) -> Any:
    """Values that differ from row to row, column to column and band to band, with both ends of the type in them."""
    dtype = np.dtype(dtype)
    count = bands * rows * columns
    walk = (np.arange(count, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(1 << 32)).astype(
        np.float64
    ) / 2.0**32
    if dtype.kind == "f":
        made = (walk * 4000 - 1000).astype(dtype)
    elif dtype.kind == "c":
        made = (walk * 100 + 1j * walk[::-1]).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        made = (walk * 250).astype(dtype) if dtype.itemsize == 1 else (walk * 30000).astype(dtype)
        made[0], made[-1] = limits.min, limits.max
    return made.reshape(bands, rows, columns)


def gdal(path: Path, array: Any, after: Callable[[Any], None] | None = None, **profile: Any) -> None:
    bands, rows, columns = array.shape
    with rasterio.open(
        path, "w", driver="GTiff", dtype=array.dtype, count=bands, height=rows, width=columns, **profile
    ) as file:
        file.write(array)
        if after is not None:
            after(file)


def holed(array: Any, value: float) -> Any:
    """The array with a rectangle and some pixels of nodata."""
    array = array.copy()
    array[:, 3:9, 5:21] = value
    array[:, 40, ::7] = value
    return array


def _with_words(file: Any) -> None:
    file.scales, file.offsets = (0.1, 0.1), (5.0, 5.0)
    file.descriptions, file.units = ("red", "near infrared"), ("m", "m")
    file.update_tags(source="somewhere", level=3)
    file.update_tags(1, quality="0.5")


def _with_other_scales(file: Any) -> None:
    file.scales, file.offsets = (0.5, 2.0), (0.0, 6.0)


def _with_mask(file: Any) -> None:
    file.write_mask(np.arange(70 * 90).reshape(70, 90) % 5 > 0)


def _overviews(file: Any) -> None:
    file.build_overviews([2, 4], Resampling.nearest)


def _point(file: Any) -> None:
    file.update_tags(AREA_OR_POINT="Point")


def _control_points(path: Path) -> None:
    from rasterio.control import GroundControlPoint

    points = [GroundControlPoint(r, c, 10 + c * 0.1, 50 - r * 0.1, 0) for r in (0, 70) for c in (0, 90)]
    gdal(path, pixels("uint8"), gcps=points, crs="EPSG:4326")


TILES = {"tiled": True, "blockxsize": 32, "blockysize": 16}

MAKERS: dict[str, Callable[[Path], None]] = {
    **{
        f"plain_{dtype}": lambda path, dtype=dtype: gdal(path, pixels(dtype), **UTM)
        for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
    },
    **{
        f"codec_{name}": lambda path, name=name: gdal(path, pixels("int16", 2), **UTM, **TILES, compress=name)
        for name in ("packbits", "lzw", "deflate", "zstd")
    },
    "predictor_2": lambda path: gdal(
        path, pixels("uint16", 3), **UTM, **TILES, compress="deflate", predictor=2
    ),
    "predictor_3": lambda path: gdal(path, pixels("float32", 2), **UTM, compress="zstd", predictor=3),
    "planar": lambda path: gdal(path, pixels("uint16", 3), **UTM, **TILES, interleave="band", compress="lzw"),
    "strips": lambda path: gdal(path, pixels("int32"), **UTM, blockysize=7, compress="deflate"),
    "big_endian": lambda path: gdal(path, pixels("int16"), **UTM, ENDIANNESS="BIG"),
    "bigtiff": lambda path: gdal(path, pixels("uint8", 2), **UTM, BIGTIFF="YES"),
    "nodata_int16": lambda path: gdal(path, holed(pixels("int16"), -9999), **UTM, nodata=-9999),
    "nodata_uint8": lambda path: gdal(path, holed(pixels("uint8"), 255), **UTM, nodata=255),
    "nodata_uint32": lambda path: gdal(path, holed(pixels("uint32"), 7), **UTM, nodata=7),
    "nodata_float32": lambda path: gdal(path, holed(pixels("float32"), -9999), **UTM, nodata=-9999),
    "nodata_float64": lambda path: gdal(path, holed(pixels("float64"), -1e30), **UTM, nodata=-1e30),
    "nodata_nan": lambda path: gdal(path, holed(pixels("float32"), np.nan), **UTM, nodata=np.nan),
    "nodata_not_there": lambda path: gdal(path, pixels("int16") // 2, **UTM, nodata=-32768),
    "scaled": lambda path: gdal(
        path, holed(pixels("int16", 2), -9999), _with_words, **UTM, **TILES, nodata=-9999
    ),
    "scaled_apart": lambda path: gdal(path, pixels("uint16", 2), _with_other_scales, **UTM, nodata=0),
    "masked_image": lambda path: gdal(path, pixels("uint8"), _with_mask, **UTM, compress="deflate"),
    "rgba": lambda path: gdal(path, pixels("uint8", 4), **UTM, photometric="rgb", alpha="unassociated"),
    "rgb": lambda path: gdal(path, pixels("uint8", 3), **DEGREES, photometric="rgb"),
    "complex": lambda path: gdal(path, pixels("complex64"), **UTM),
    "degrees": lambda path: gdal(path, pixels("float32"), **DEGREES),
    "point": lambda path: gdal(path, pixels("float32"), _point, **UTM),
    "no_crs": lambda path: gdal(path, pixels("uint8"), transform=Affine(2, 0, 7, 0, -2, 9)),
    "no_transform": lambda path: gdal(path, pixels("uint8"), crs="EPSG:32633"),
    "no_georeferencing": lambda path: gdal(path, pixels("uint8")),
    "south_up": lambda path: gdal(
        path, pixels("uint8"), crs="EPSG:32633", transform=Affine(30, 0, 5e5, 0, 30, 4e6)
    ),
    "rotated": lambda path: gdal(
        path, pixels("uint8"), crs="EPSG:32633", transform=UTM["transform"] * Affine.rotation(30)
    ),
    "control_points": _control_points,
    "local_crs": lambda path: gdal(
        path,
        pixels("uint8"),
        crs="+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80 +units=m +no_defs",
        transform=UTM["transform"],
    ),
    "overviews": lambda path: gdal(
        path, pixels("uint16", 2, 200, 260), _overviews, **UTM, **TILES, compress="deflate", nodata=0
    ),
    "fractional": lambda path: gdal(
        path, pixels("float32"), crs="EPSG:4326", transform=Affine(1 / 3600, 0, 1 / 3, 0, -1 / 3600, 2 / 3)
    ),
    "one_row": lambda path: gdal(path, pixels("uint8", 1, 1, 90), **UTM),
    "resolution": lambda path: tifffile.imwrite(
        path,
        pixels("uint8")[0],
        resolution=(72, 72),
        resolutionunit=2,
        description="a picture",
        metadata=None,
    ),
}


def make(name: str, folder: Path) -> Path:
    """The file, made unless it is there."""
    path = folder / f"{name}.tif"
    if not path.exists():
        MAKERS[name](path)
    return path
