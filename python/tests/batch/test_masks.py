"""Mask images and alpha: `masked` applies them as `open_geotiff` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
from strile.ml import valid_fractions

from .conftest import rasterio

PIXELS = np.random.default_rng(6).integers(1, 200, (4, 40, 50), dtype=np.uint8)
VALID = np.full((40, 50), 255, np.uint8)
VALID[:12, :20] = 0


@pytest.fixture(params=["inside", "beside", "alpha"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    place = str(tmp_path / "a.tif")
    options: dict[str, Any] = {"count": 3}
    if request.param == "alpha":
        options = {"count": 4, "photometric": "rgb", "alpha": "yes"}
    pixels = PIXELS[: options["count"]].copy()
    if request.param == "alpha":
        pixels[3] = VALID
    options |= {"driver": "GTiff", "width": 50, "height": 40, "dtype": "uint8"}
    inside = rasterio.Env(GDAL_TIFF_INTERNAL_MASK=request.param == "inside")
    with inside, rasterio.open(place, "w", **options) as file:
        file.write(pixels)
        if request.param != "alpha":
            file.write_mask(VALID)
    assert Path(place + ".msk").exists() == (request.param == "beside")
    return place


def test_read_masks_as_open_geotiff_does(path: str) -> None:
    pytest.importorskip("xarray")
    raster = strile.read(path, masked=True)
    assert type(raster) is strile.Raster and raster.dtype == "float32" and raster.device == "cpu"
    whole = strile.open_geotiff(path, masked=True).transpose("band", "y", "x").values
    assert np.isnan(whole[0]).sum() == 240
    np.testing.assert_array_equal(raster.numpy(), whole)
    part = strile.read(path, masked=True, window=(10, 5, 30, 20), bands=[3, 1])
    np.testing.assert_array_equal(part.numpy(), whole[[2, 0], 5:25, 10:40])
    unpacked = strile.read(path, unpack=True)
    np.testing.assert_array_equal(unpacked.numpy(), whole)
    out = np.empty(whole.shape, np.float32)
    assert strile.read(path, masked=True, out=out) is out
    np.testing.assert_array_equal(out, whole)


def test_a_batch_applies_them(path: str, tmp_path: Path) -> None:
    expected = strile.read(path, masked=True, window=(0, 0, 20, 20)).numpy()
    assert np.isnan(expected[:3, :12, :20]).all() and not np.isnan(expected[:, 12:]).any()
    index = str(tmp_path / "a.index")
    strile.write_header_index(index, [path])
    for headers in (None, strile.Headers(index=index)):
        for options in ({"masked": True}, {"unpack": True}):
            batch = strile.read_batch(path, [[0, 0, 20, 20]], headers=headers, device="cpu", **options)
            np.testing.assert_array_equal(batch.numpy()[0], expected)
    with strile.open(path) as handle:
        batch = strile.read_batch([handle], [[0, 0, 20, 20]], bands=[2], masked=True, device="cpu")
    np.testing.assert_array_equal(batch.numpy()[0], expected[1:2])
    np.testing.assert_allclose(valid_fractions([path], [[0, 0, 0, 20, 20]], bands=[1, 2, 3]), [0.4])
    plain = strile.read_batch(path, [[0, 0, 20, 20]], dtype="float32", device="cpu").numpy()
    np.testing.assert_array_equal(plain[0, :3], PIXELS[:3, :20, :20])


def test_alpha_alone_is_not_masked_by_itself(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tif")
    with rasterio.open(path, "w", driver="GTiff", width=50, height=40, dtype="uint8", count=2, alpha="yes") as file:
        file.write(np.stack([PIXELS[0], VALID]))
    assert strile.open(path).colorinterp == ("gray", "alpha")
    np.testing.assert_array_equal(strile.read(path, bands=[2], masked=True).numpy()[0], VALID)
    batch = strile.read_batch(path, [[0, 0, 50, 40]], bands=[2], masked=True, device="cpu")
    np.testing.assert_array_equal(batch.numpy()[0, 0], VALID)


def test_a_nodata_value_goes_before_a_mask(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tif")
    options = {"driver": "GTiff", "width": 50, "height": 40, "dtype": "uint8", "count": 1, "nodata": 7}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **options) as file:
        file.write(PIXELS[:1])
        file.write_mask(VALID)
    expected = np.where(PIXELS[:1] == 7, np.nan, PIXELS[:1])
    np.testing.assert_array_equal(strile.read(path, masked=True).numpy(), expected)
    batch = strile.read_batch(path, [[0, 0, 50, 40]], masked=True, device="cpu")
    np.testing.assert_array_equal(batch.numpy()[0], expected)


def test_an_overview_without_the_mask_of_its_image_is_refused(tmp_path: Path) -> None:
    place = str(tmp_path / "a.tif")
    with rasterio.open(place, "w", driver="GTiff", width=50, height=40, count=3, dtype="uint8") as file:
        file.write(PIXELS[:3])
    with rasterio.open(place, "r+") as file:
        file.build_overviews([2])
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(place, "r+") as file:
        file.write_mask(VALID)
    assert np.isnan(strile.read(place, masked=True).numpy()[:, :12, :20]).all()
    with pytest.raises(strile.StrileError, match="level 1 has no mask, but the full image has one"):
        strile.read(place, level=1, masked=True)
    with strile.open(place) as dataset, pytest.raises(strile.StrileError, match="its level 1 has none"):
        dataset.read(overview_level=0, masked=True)
