"""Colour tables of grey samples and infinite nodata values stay through `open_geotiff` and `to_geotiff`, judged by
rasterio. Once `open_geotiff` dropped nodata values of infinity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile

ROUTES = [{}, {"chunks": 64}]
PLACE = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 500000, 0, -10, 5000000)}


def written(path: Path, pixels: np.ndarray, **options: Any) -> Path:
    bands, height, width = pixels.shape
    profile = {"driver": "GTiff", "width": width, "height": height, "count": bands, "dtype": pixels.dtype.name}
    with rasterio.open(path, "w", **profile, **PLACE, **options) as file:
        file.write(pixels)
    return path


def noise(bands: int, dtype: str = "uint8") -> np.ndarray:
    return np.random.default_rng(3).integers(0, 200, (bands, 150, 170)).astype(dtype)


@pytest.mark.parametrize("route", ROUTES)
def test_a_colour_table_of_grey_samples_stays(tmp_path: Path, route: dict[str, Any]) -> None:
    path = written(tmp_path / "a.tif", noise(1) % 3, photometric="minisblack")
    table = {value: (value, 255 - value, 7, 255) for value in range(256)}
    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, table)
    strile.to_geotiff(strile.open_geotiff(path, **route), tmp_path / "b.tif")
    with rasterio.open(path) as before, rasterio.open(tmp_path / "b.tif") as after:
        assert after.colormap(1) == before.colormap(1) == table


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("nodata", [np.inf, -np.inf])
def test_nodata_may_be_infinite(tmp_path: Path, nodata: float, dtype: str, route: dict[str, Any]) -> None:
    pixels = noise(1, dtype)
    pixels[0, 5:60, 7:90] = nodata
    path = written(tmp_path / "a.tif", pixels, nodata=nodata)
    array = strile.open_geotiff(path, **route)
    assert array.attrs["nodata"] == nodata
    with strile.open(path) as file:
        assert file.nodata == nodata
    masked = strile.open_geotiff(path, masked=True, **route)
    np.testing.assert_array_equal(np.isnan(masked.values), pixels[0] == nodata)
    for name, given in (("b.tif", array), ("c.tif", masked)):
        strile.to_geotiff(given, tmp_path / name)
        with rasterio.open(tmp_path / name) as after:
            assert after.nodata == nodata
            np.testing.assert_array_equal(after.read(), pixels)
