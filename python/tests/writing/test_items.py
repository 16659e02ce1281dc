"""Items of GDAL's metadata whose values hold markup, against rasterio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import strile

rasterio = pytest.importorskip("rasterio")
xr = pytest.importorskip("xarray")

VALUES = ["b<c", "a & b", "&lt;", "&amp;lt;", '"quoted"', "<Item name='x'>"]


@pytest.mark.parametrize("value", VALUES)
def test_items_of_attrs_are_what_gdal_reads(tmp_path: Path, value: str) -> None:
    data = xr.DataArray(np.zeros((4, 5), np.uint8), dims=("y", "x"), attrs={"gdal_metadata": {"A": value, ("B", 0): value}})
    path = strile.to_geotiff(data, tmp_path / "a.tif")
    with rasterio.open(path) as file:
        assert (file.tags()["A"], file.tags(1)["B"]) == (value, value)
    items = strile.open_geotiff(path).attrs["gdal_metadata"]
    assert (items["A"], items[("B", 0)]) == (value, value)


@pytest.mark.parametrize("value", VALUES)
def test_items_of_gdal_are_read_as_gdal_reads_them(tmp_path: Path, value: str) -> None:
    path = tmp_path / "a.tif"
    with rasterio.open(path, "w", driver="GTiff", width=5, height=4, count=1, dtype="uint8") as file:
        file.write(np.zeros((1, 4, 5), np.uint8))
        file.update_tags(A=value)
    assert strile.open_geotiff(path).attrs["gdal_metadata"]["A"] == value
