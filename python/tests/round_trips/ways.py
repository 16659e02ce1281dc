"""The ways through strile of the round-trip matrix: each makes one file of another."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import rasterio.enums
import strile
import xarray as xr
from inputs import Feature
from strile.backend import StrileBackend


def _convert(source: Path, target: Path) -> None:
    strile.convert(source, target)


def _convert_cog(source: Path, target: Path) -> None:
    strile.convert(source, target, format="cog")


def _vrt(source: Path, target: Path) -> None:
    mosaic = strile.vrt([source], target.with_suffix(".vrt"))
    strile.convert(strile.open(mosaic, allow_outside=True), target)


def _eager(source: Path, target: Path) -> None:
    strile.to_geotiff(strile.open_geotiff(source), target)


def _dask(source: Path, target: Path) -> None:
    strile.to_geotiff(strile.open_geotiff(source, chunks=32), target)


def _engine(source: Path, target: Path) -> None:
    xr.open_dataset(source, engine=StrileBackend).strile.to_geotiff(target)


def _dataset(source: Path, target: Path) -> None:
    with strile.open(source) as file:
        strile.to_geotiff(file, target)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "convert": _convert,
    "convert COG": _convert_cog,
    "vrt → convert": _vrt,
    "open_geotiff → to_geotiff": _eager,
    "open_geotiff(chunks=) → to_geotiff": _dask,
    "xarray engine → to_geotiff": _engine,
    "open → to_geotiff": _dataset,
}



def stripped(source: Path, target: Path) -> None:
    """The pixels of a file and nothing else, by rasterio: a way on which every feature is lost. Complex numbers lose their
    imaginary part, missing pixels become valid. It shows that the comparison can fail."""
    with rasterio.open(source) as file:
        array = file.read()
    real = array.real if array.dtype.kind == "c" else array
    bands, rows, columns = array.shape
    profile: dict[str, Any] = {"photometric": "minisblack", "count": bands, "height": rows, "width": columns}
    with rasterio.open(target, "w", driver="GTiff", dtype=real.dtype, **profile) as file:
        file.write(real)
        file.colorinterp = [rasterio.enums.ColorInterp.gray] + [rasterio.enums.ColorInterp.undefined] * (bands - 1)


LOST = "lost"
KEPT = "kept"


@dataclass(frozen=True)
class Cell:
    """What became of a feature: kept, an error, a warning that names the loss; or lost, which no cell may be."""

    state: str
    message: str = ""


def cell(feature: Feature, way: Callable[[Path, Path], None], source: Path, target: Path) -> Cell:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            way(source, target)
        except (strile.StrileError, NotImplementedError) as error:
            assert not target.exists()
            return Cell("error", str(error))
        with rasterio.open(source) as before, rasterio.open(target) as after:
            if feature.view(before) == _seen(feature, after):
                return Cell(KEPT)
    named = [str(one.message) for one in told if any(word in str(one.message) for word in feature.words)]
    return Cell("warning", named[0]) if named else Cell(LOST)


def _seen(feature: Feature, file: Any) -> Any:
    try:
        return feature.view(file)
    except (ValueError, AttributeError):
        # What rasterio raises of a colour table or a reference system that is not there.
        return None


def batch(feature: Feature, source: Path) -> Cell:
    """`read_batch` gives pixels alone: they are those of rasterio, masked and unpacked as asked, or an error."""
    applied = {"nodata int", "nodata NaN", "internal mask", "alpha", "RGBA", "scale and offset"}
    options: dict[str, Any] = {"device": "cpu"}
    if feature.name in applied:
        options |= {"unpack": True} if feature.name.startswith("scale") else {"masked": True}
    with rasterio.open(source) as file:
        expected: Any = file.read(masked=bool(options.get("masked")))
        scales, offsets = file.scales, file.offsets
    try:
        found = strile.read_batch(str(source), [[0, 0, expected.shape[2], expected.shape[1]]], **options).numpy()[0]
    except (strile.StrileError, NotImplementedError) as error:
        return Cell("error", str(error))
    if options.get("unpack"):
        expected = np.stack([band * s + o for band, s, o in zip(expected, scales, offsets, strict=True)])
    elif options.get("masked"):
        expected = np.ma.filled(expected.astype(float), np.nan)
    if feature.name in PIXELS_ONLY:
        return Cell("—") if np.allclose(found, expected, equal_nan=True) else Cell(LOST)
    return Cell(KEPT) if np.allclose(found, expected, equal_nan=True) else Cell(LOST)


PIXELS_ONLY = frozenset(
    {
        "RGB", "palette", "palette + minisblack", "band names", "units", "descriptions", "GCPs", "RPCs", "user-defined CRS",
        "compound CRS", "PixelIsPoint", "south-up", "tags", "categories and attribute table", "statistics",
    }
)  # fmt: skip
"""Features that pixels do not have: a batch has nothing to keep of them."""
