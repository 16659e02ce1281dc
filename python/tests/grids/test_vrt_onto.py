"""VRTs read onto a grid, beside GDAL's warper of the same VRT."""

import subprocess
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest
import rasterio
import strile
from affine import Affine
from rasterio.enums import ColorInterp, Resampling
from rasterio.vrt import WarpedVRT

SCRIPT = str(Path(sysconfig.get_path("scripts")) / "strile")


def tile(path, column, row, *, bands=1, dtype="float32", nodata=-9.0, alpha=False, seed=0):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:64, :80]
    values = (100 + 60 * np.sin((x + column) / 9) * np.cos((y + row) / 7) + rng.normal(0, 4, (bands, 64, 80))).astype(dtype)
    if nodata is not None:
        values[:, 20:40, 30:50] = nodata
    if alpha:
        values[-1] = 255
        values[-1, 10:30, 10:60] = 0
    transform = Affine(10, 0, 500_000 + 10 * column, 0, -10, 5_539_000 - 10 * row)
    with rasterio.open(
        path, "w", driver="GTiff", width=80, height=64, count=bands, dtype=dtype, crs="EPSG:32633", transform=transform, nodata=nodata,
        tiled=True, blockxsize=32, blockysize=32,
    ) as file:  # fmt: skip
        if alpha:
            file.colorinterp = [ColorInterp.gray, ColorInterp.alpha]
        file.write(values)
    return str(path)


@pytest.fixture
def mosaic(tmp_path):
    places = [(0, 0), (80, 3), (10, 60), (95, 70)]
    files = [tile(tmp_path / f"{at}.tif", *place, seed=at) for at, place in enumerate(places)]
    return strile.vrt(files, tmp_path / "all.vrt")


def by_gdal(path, grid, method):
    with rasterio.open(path) as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=Affine(*grid.transform), width=grid.width, height=grid.height, resampling=Resampling[method],
            tolerance=1e-9,
        ) as warped:  # fmt: skip
            return warped.read()


# Kernels that are widened differ from those of GDAL 3.10: `xtask/python/check_warp.py` says how.
@pytest.mark.parametrize(
    ("method", "resolution"), [("nearest", 14), ("bilinear", 14), ("cubic", 14), ("average", 14), ("nearest", 45), ("average", 45), ("mode", 45)]
)
def test_pixels_are_gdals(mosaic, method, resolution):
    grid = strile.Grid.suggest(mosaic, 3857, resolution=resolution)
    found = strile.read(mosaic, grid=grid, resampling=method, tolerance=0)
    expected = by_gdal(mosaic, grid, method)
    assert found.shape == expected.shape and found.nodata == -9
    assert np.allclose(found.numpy(), expected, atol=1e-3)
    assert (expected == -9).any() and (expected != -9).any()


def test_every_door(mosaic, tmp_path):
    grid = strile.Grid.suggest(mosaic, 3857, resolution=14)
    expected = strile.read(mosaic, grid=grid, resampling="bilinear").numpy()[0]
    others = [
        strile.open_geotiff(mosaic, grid=grid, resampling="bilinear").values,
        strile.open_geotiff(mosaic, grid=grid, resampling="bilinear", chunks=50).values,
        strile.open_geotiff([mosaic], grid=grid, resampling="bilinear").values,
        strile.open(mosaic).read(1, grid=grid, resampling="bilinear"),
    ]
    out = tmp_path / "out.tif"
    west, south, east, north = grid.bounds
    words = [SCRIPT, "-q", "warp", mosaic, out, "-t_srs", "EPSG:3857", "-te", west, south, east, north, "-tr", 14, 14, "-r", "bilinear"]
    subprocess.run([str(word) for word in words], check=True, timeout=120)
    with rasterio.open(out) as file:
        assert file.nodata == -9
        others.append(file.read(1))
    for other in others:
        assert np.array_equal(other, expected)
    array = strile.open_geotiff(mosaic, crs=3857, resolution=14)
    assert array.attrs["crs"] == 3857 and array.attrs["nodata"] == -9
    assert "all.vrt" in strile.plan(mosaic, grid=grid).explain()


def test_alpha_counts(tmp_path):
    files = [tile(tmp_path / f"{at}.tif", 80 * at, 5 * at, bands=2, dtype="uint8", nodata=None, alpha=True) for at in range(2)]
    mosaic = strile.vrt(files, tmp_path / "alpha.vrt")
    grid = strile.Grid.suggest(mosaic, 3857, resolution=14)
    found = strile.read(mosaic, grid=grid, bands=[1], masked=True, tolerance=0).numpy()[0]
    alpha = by_gdal(mosaic, grid, "nearest")
    assert np.array_equal(np.isnan(found), alpha[1] == 0)
    assert np.array_equal(found[alpha[1] > 0], alpha[0][alpha[1] > 0])


def test_missing_sources(mosaic, tmp_path):
    (tmp_path / "3.tif").unlink()
    grid = strile.Grid.suggest(tmp_path / "0.tif", 3857, resolution=14)
    assert np.isfinite(strile.open_geotiff(mosaic, grid=grid).values).all()
    grid = strile.Grid.suggest(mosaic, 3857, resolution=14)
    with pytest.raises(strile.StrileError, match=r"3\.tif"):
        strile.open_geotiff(mosaic, grid=grid)
    with pytest.warns(strile.errors.GeoTIFFFallbackWarning, match=r"3\.tif"):
        array = strile.open_geotiff(mosaic, grid=grid, missing_sources="warn")
    assert (array.values == -9).mean() > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.open_geotiff(tmp_path / "0.tif", grid=grid)
