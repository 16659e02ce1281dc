"""Batches of windows from scenes in several UTM zones, on one grid: each as GDAL's warper makes it."""

import numpy as np
import pytest
import rasterio
import strile
from affine import Affine
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform, transform_bounds

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


# The last leaves its file.
BOXES = [(0, 8.994, 49.994, 9.003, 50.001), (1, 8.999, 50.0, 9.0041, 50.0052), (2, 8.9962, 49.9951, 9.0, 50.0), (1, 9.014, 49.997, 9.0235, 50.003)]


@pytest.mark.parametrize("method", ["nearest", "bilinear", "average"])
@pytest.mark.parametrize("system", [4326, "EPSG:4326", rasterio.CRS.from_epsg(4326)], ids=["code", "text", "rasterio"])
def test_boxes_of_longitudes_over_three_zones_on_one_grid(files, grid, method, system):
    words = {"resampling": method, "tolerance": 0, "masked": True}
    found = strile.read_batch(files, bounds=BOXES, bounds_crs=system, size=(110, 130), grid=grid, **words).numpy()
    assert found.shape == (4, 2, 130, 110) and np.isfinite(found).any()
    for (file, *box), chip in zip(BOXES, found, strict=True):
        own = strile.Grid.from_bounds(transform_bounds("EPSG:4326", grid.crs, *box, densify_pts=21), grid.crs, shape=(130, 110))
        expected = by_gdal(files[file], own, (0, 0), (110, 130), method)
        expected = np.where(expected == -9, np.nan, expected)
        # A centre may lie on the edge of a pixel.
        same = np.isclose(chip, expected, atol=1e-3, equal_nan=True)
        assert same.mean() > (0.999 if method == "nearest" else 0.9999), (file, box)
    by_crs = strile.read_batch(files, bounds=BOXES, bounds_crs=system, size=(110, 130), crs=3857, **words).numpy()
    assert np.allclose(by_crs, found, atol=1e-3, equal_nan=True)


def test_pixels_of_a_grid_under_boxes_of_longitudes(files, grid):
    (_, *box) = BOXES[0]
    west, south, east, north = transform_bounds("EPSG:4326", grid.crs, *box, densify_pts=21)
    a, _, c, _, e, f = grid.transform
    left, top = int(np.floor((west - c) / a)), int(np.floor((north - f) / e))
    wide, high = int(np.ceil((east - c) / a)) - left, int(np.ceil((south - f) / e)) - top
    found = strile.read_batch(files[0], bounds=[box], bounds_crs=4326, grid=grid).numpy()
    assert np.array_equal(found, strile.read_batch(files[0], [(left, top, wide, high)], grid=grid).numpy())
    (x,), (y,) = transform("EPSG:4326", grid.crs, [9.001], [50.001])
    around = strile.read_batch(files, points=[(2, 9.001, 50.001)], bounds_crs=4326, size=(20, 10), grid=grid).numpy()
    corner = int((x - c) / a) - 10, int((y - f) / e) - 5
    assert np.array_equal(around, strile.read_batch(files, [(2, *corner)], size=(20, 10), grid=grid).numpy())


def test_boxes_of_longitudes_in_the_pixels_of_each_file(files):
    found = strile.read_batch(files, bounds=BOXES, bounds_crs=4326, size=(16, 24), level=0).numpy()
    chosen = strile.read_batch(files, bounds=BOXES, bounds_crs=4326, size=(16, 24)).numpy()
    own = [(file, *transform_bounds("EPSG:4326", f"EPSG:{ZONES[file]}", *box, densify_pts=21)) for file, *box in BOXES]
    expected = strile.read_batch(files, bounds=own, size=(16, 24)).numpy()
    assert np.array_equal(found, expected) and np.array_equal(chosen, expected)
    for (file, west, south, east, north), chip in zip(own[:3], found[:3], strict=True):
        with rasterio.open(files[file]) as opened:
            whole = opened.read(window=opened.window(west, south, east, north), out_shape=(2, 24, 16))
        assert np.array_equal(chip, whole)
    with rasterio.open(files[1]) as opened:
        (x,), (y,) = transform("EPSG:4326", opened.crs, [8.999], [50.0005])
        row, column = opened.index(x, y)
        expected = opened.read(window=((row - 4, row + 4), (column - 4, column + 4)))
    assert np.array_equal(strile.read_batch(files, points=[(1, 8.999, 50.0005)], bounds_crs=4326, size=8).numpy()[0], expected)


def test_a_box_over_the_antimeridian(tmp_path):
    values = np.arange(2 * 20 * 360, dtype=np.float32).reshape(2, 20, 360)
    path = str(tmp_path / "world.tif")
    with rasterio.open(
        path, "w", driver="GTiff", width=360, height=20, count=2, dtype="float32", crs="EPSG:4326", transform=Affine(1, 0, -180, 0, -1, 60)
    ) as file:
        file.write(values)
    (west, east), (south, north) = transform("EPSG:4326", "EPSG:32660", [178.2, -178.2], [50.5, 53.5])
    grid = strile.Grid(4326, (1, 0, 170, 0, -1, 60), (20, 20))
    found = strile.read_batch(path, bounds=[(west, south, east, north)], bounds_crs=32660, grid=grid).numpy()[0]
    bounds = transform_bounds("EPSG:32660", "EPSG:4326", west, south, east, north, densify_pts=21)
    # rasterio says so by a west beyond the east.
    assert bounds[0] > bounds[2] and found.shape[2] == int(np.ceil(bounds[2]) + 360 - np.floor(bounds[0])) < 6
    first = int(np.floor(bounds[0])) + 180
    rows = slice(int(np.floor(60 - bounds[3])), int(np.ceil(60 - bounds[1])))
    with pytest.raises(strile.StrileError, match="window 0.*over the antimeridian.*onto a grid"):
        strile.read_batch(path, bounds=[(west, south, east, north)], bounds_crs=32660, size=8)
    assert np.array_equal(found, np.concatenate([values[:, rows, first:], values[:, rows, : found.shape[2] - (360 - first)]], axis=2))


def test_boxes_that_have_no_place_there(files, grid):
    for box, words in (((8, 49, 9, 95), "domain"), ((9, 50, 9, 51), "not empty"), ((9, 50, 8, 51), "not empty"), ((0, -90, 90, 90), "domain")):
        with pytest.raises(strile.StrileError, match=f"window 1.*{words}"):
            strile.read_batch(files[0], bounds=[BOXES[0][1:], box], bounds_crs=4326, size=8, grid=grid)
    with pytest.raises((strile.StrileError, TypeError), match="neither|system|CRS|crs"):
        strile.read_batch(files[0], bounds=[(8, 49, 9, 50)], bounds_crs="no system", size=8, grid=grid)
    with pytest.raises(strile.StrileError, match="datum_shift"):
        # A datum of North America, which has no operation in Europe.
        strile.read_batch(files[0], bounds=[(8.9, 49.9, 9.1, 50.1)], bounds_crs=4267, size=8, grid=grid)
    there = strile.read_batch(files[0], bounds=[(8.9, 49.9, 9.1, 50.1)], bounds_crs=4267, size=8, grid=grid, datum_shift="none")
    assert there.shape == (1, 2, 8, 8)


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
        ({"grid": True, "crs": 3857}, "got both.*bounds_crs"),
        ({"grid": True, "bounds_crs": 4326}, "windows are pixels"),
        ({"bounds_crs": 4326}, "windows are pixels"),
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
