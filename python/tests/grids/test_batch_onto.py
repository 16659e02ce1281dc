"""Batches of windows from scenes in several UTM zones, on one grid: each as GDAL's warper makes it."""

import numpy as np
import pytest
import rasterio
import strile
from affine import Affine
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform

ZONES = [32631, 32632, 32633]


def scene(path, epsg, *, dtype="float32", seed=0, nodata=-9.0):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:260, :280]
    values = (100 + 60 * np.sin(x / 9) * np.cos(y / 7) + rng.normal(0, 4, (2, 260, 280))).astype(dtype)
    values[:, 100:130, 120:150] = nodata
    (east,), (north,) = transform("EPSG:4326", f"EPSG:{epsg}", [9.0], [50.0])
    with rasterio.open(
        path, "w", driver="GTiff", width=280, height=260, count=2, dtype=dtype, crs=f"EPSG:{epsg}", nodata=nodata,
        transform=Affine(10, 0, round(east) - 1400, 0, -10, round(north) + 1300), tiled=True, blockxsize=64, blockysize=64,
    ) as file:  # fmt: skip
        file.write(values)
    return str(path)


@pytest.fixture
def files(tmp_path):
    return [scene(tmp_path / f"{epsg}.tif", epsg, seed=epsg) for epsg in ZONES]


@pytest.fixture
def grid():
    (east,), (north,) = transform("EPSG:4326", "EPSG:3857", [9.0], [50.0])
    return strile.Grid(3857, (12, 0, east - 900, 0, -12, north + 900), (120, 120))


def by_gdal(path, grid, corner, size, method):
    a, b, c, d, e, f = grid.transform
    place = Affine(a, b, c + a * corner[0] + b * corner[1], d, e, f + d * corner[0] + e * corner[1])
    with rasterio.open(path) as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=place, width=size[0], height=size[1], resampling=Resampling[method], tolerance=1e-9
        ) as warped:
            return warped.read()


WINDOWS = [(0, 10, 20), (1, 60, 50), (2, -30, -45), (1, -90, 40), (0, 100_000, 5), (2, 31, 7), (2, 70, 75)]


@pytest.mark.parametrize("method", ["nearest", "bilinear", "cubic", "average"])
def test_windows_are_gdals(files, grid, method):
    found = strile.read_batch(files, WINDOWS, size=(48, 40), grid=grid, resampling=method, tolerance=0)
    assert found.shape == (len(WINDOWS), 2, 40, 48) and found.numpy().dtype == np.float32
    for (file, *corner), chip in zip(WINDOWS, found.numpy(), strict=True):
        expected = by_gdal(files[file], grid, corner, (48, 40), method)
        assert np.allclose(chip, expected, atol=1e-3), (file, corner)
    assert (found.numpy() == -9).any() and (found.numpy() != -9).any()


def test_boxes_in_one_system(files, grid):
    west, _, _, north = grid.bounds
    boxes = [(file, west + 300 + 40 * file, north - 1500, west + 1100 + 40 * file, north - 700) for file in (0, 1, 2, 1)]
    found = strile.read_batch(files, bounds=boxes, size=64, crs=3857, resampling="bilinear", tolerance=0, masked=True).numpy()
    assert found.shape == (4, 2, 64, 64)
    for (file, left, bottom, right, top), chip in zip(boxes, found, strict=True):
        own = strile.Grid.from_bounds((left, bottom, right, top), 3857, shape=(64, 64))
        expected = by_gdal(files[file], own, (0, 0), (64, 64), "bilinear")
        expected = np.where(expected == -9, np.nan, expected)
        assert np.allclose(chip, expected, atol=1e-3, equal_nan=True)
    same = strile.read_batch(files, bounds=boxes, size=64, grid=grid, resampling="bilinear", tolerance=0, masked=True).numpy()
    assert np.array_equal(same, found, equal_nan=True)


def test_options(files, grid, tmp_path):
    out = np.full((2, 1, 40, 48), 7, np.float32)
    given = strile.read_batch(files, WINDOWS[:2], size=(48, 40), grid=grid, bands=[2], out=out)
    assert given is out
    assert np.array_equal(out, strile.read_batch(files, WINDOWS[:2], size=(48, 40), grid=grid).numpy()[:, 1:])
    points = [(0, grid.bounds[0] + 900, grid.bounds[3] - 900)]
    around = strile.read_batch(files, points=points, size=(20, 10), grid=grid).numpy()
    assert np.array_equal(around, strile.read_batch(files, [(0, 65, 70)], size=(20, 10), grid=grid).numpy())
    other = scene(tmp_path / "other.tif", 32632, dtype="int16", nodata=-9)
    with pytest.raises(strile.StrileError, match="float type"):
        strile.read_batch([files[0], other], [(0, 0, 0), (1, 0, 0)], size=8, grid=grid)
    both = strile.read_batch([files[0], other], [(0, 0, 0), (1, 0, 0)], size=8, grid=grid, dtype="float32").numpy()
    assert both.dtype == np.float32


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"crs": 3857}, "pass bounds and size"),
        ({"tolerance": 0}, "for reads onto a grid"),
        ({"level": [0, 1], "grid": True}, "one number"),
        ({"grid": True, "crs": 3857}, "got both"),
        ({"grid": True, "resampling": "gauss"}, "gauss"),
        ({"grid": True, "page": 1}, "page"),
        ({"grid": True, "datum_shift": "some"}, "datum_shift"),
    ],
)
def test_refusals(files, grid, keywords, words):
    if keywords.get("grid"):
        keywords = keywords | {"grid": grid}
    with pytest.raises(strile.StrileError, match=words):
        strile.read_batch(files, [(0, 0, 0), (1, 0, 0)], size=8, **keywords)
