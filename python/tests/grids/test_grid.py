"""`strile.Grid`: its makers against GDAL (by rasterio) and odc-geo, what it says of itself, and what it refuses."""

import math
import pickle

import numpy as np
import pytest
import rasterio
import strile
from affine import Affine
from pyproj import CRS
from rasterio.warp import calculate_default_transform

UTM = (10.0, 0.0, 399960.0, 0.0, -10.0, 5600040.0)


def made(path, crs="EPSG:32633", transform=UTM, shape=(40, 60), **options):
    with rasterio.open(
        path, "w", driver="GTiff", width=shape[1], height=shape[0], count=1, dtype="uint8", crs=crs, transform=Affine(*transform), **options
    ) as file:
        file.write(np.arange(shape[0] * shape[1], dtype=np.uint8).reshape(1, *shape))
    return str(path)


def test_what_it_says_of_itself():
    grid = strile.Grid(32633, UTM, (40, 60))
    assert grid.crs == "EPSG:32633" and grid.transform == UTM
    assert grid.shape == (40, 60) and (grid.height, grid.width) == (40, 60)
    assert grid.bounds == (399960.0, 5599640.0, 400560.0, 5600040.0)
    assert grid.resolution == (10.0, 10.0)
    assert repr(grid) == '<strile.Grid "EPSG:32633", 40 × 60, (10.0, 0.0, 399960.0, 0.0, -10.0, 5600040.0)>'


def test_systems_are_the_same_however_they_are_written():
    texts = [32633, "EPSG:32633", CRS(32633), CRS(32633).to_wkt(), CRS(32633).to_wkt("WKT1_GDAL"), rasterio.CRS.from_epsg(32633)]
    grids = {strile.Grid(crs, Affine(*UTM), (40, 60)) for crs in texts}
    assert len(grids) == 1
    sinusoidal = "+proj=sinu +lon_0=0 +R=6371007.181 +units=m"
    one = strile.Grid(sinusoidal, UTM, (4, 6))
    assert one == strile.Grid(CRS(sinusoidal).to_wkt("WKT1_GDAL"), UTM, (4, 6))
    assert one != strile.Grid("+proj=sinu +lon_0=1 +R=6371007.181 +units=m", UTM, (4, 6))


def test_others_are_not_equal():
    grid = strile.Grid(32633, UTM, (40, 60))
    for other in (
        strile.Grid(32632, UTM, (40, 60)), strile.Grid(32633, UTM, (41, 60)), strile.Grid(32633, (*UTM[:5], 0.0), (40, 60)), None, "grid"
    ):  # fmt: skip
        assert grid != other


def test_a_pickled_grid_is_the_same():
    for crs in (32633, "+proj=sinu +lon_0=0 +R=6371007.181 +units=m"):
        grid = strile.Grid(crs, (8.0, 3.0, 500000.0, 2.0, -9.0, 5538630.0), (40, 60))
        found = pickle.loads(pickle.dumps(grid))
        assert found == grid and hash(found) == hash(grid) and found.transform == grid.transform


def test_bounds_with_a_resolution_or_a_shape():
    bounds = (399995, 5500003, 410001, 5510000)
    grid = strile.Grid.from_bounds(bounds, 32633, resolution=10, target_aligned=True)
    assert grid.bounds == (399990, 5500000, 410010, 5510000) and grid.shape == (1000, 1002)
    grid = strile.Grid.from_bounds(bounds, 32633, resolution=(10, 20))
    assert grid.transform == (10, 0, 399995, 0, -20, 5510000) and grid.shape == (500, 1001)
    grid = strile.Grid.from_bounds(bounds, 32633, shape=(100, 200))
    assert grid.shape == (100, 200) and grid.bounds == pytest.approx(bounds)


def test_a_tile_of_a_web_map_is_that_of_odc_geo():
    geobox = pytest.importorskip("odc.geo.gridspec").GridSpec.web_tiles(7)[67, 43]
    grid = strile.Grid.xyz(7, 67, 43)
    assert grid.crs == "EPSG:3857" and grid.shape == tuple(geobox.shape)
    assert grid.bounds == pytest.approx(tuple(geobox.boundingbox))
    assert strile.Grid.xyz(0, 0, 0, size=512).resolution == pytest.approx((78271.51696402048,) * 2)


def test_like_takes_rasters_of_all_packages(tmp_path):
    path = made(tmp_path / "a.tif")
    grid = strile.Grid(32633, UTM, (40, 60))
    rioxarray = pytest.importorskip("rioxarray")
    with rasterio.open(path) as file:
        of_rasterio = strile.Grid.like(file)
    others = [path, tmp_path / "a.tif", strile.open(path), strile.open_geotiff(path), strile.open_geotiff(path, chunks=16), grid]
    others += [rioxarray.open_rasterio(path), rioxarray.open_rasterio(path).isel(band=0, drop=True)]
    assert {strile.Grid.like(other) for other in others} | {of_rasterio} == {grid}
    part = strile.Grid.like(strile.open_geotiff(path)[5:15, 10:40])
    assert part == strile.Grid(32633, (10, 0, 400060, 0, -10, 5599990), (10, 30))


def test_like_a_rotated_file(tmp_path):
    turned = (8.0, 3.0, 500000.0, 2.0, -9.0, 5538630.0)
    grid = strile.Grid.like(made(tmp_path / "a.tif", transform=turned))
    assert grid.transform == turned
    assert grid.resolution == pytest.approx((math.hypot(8, 2), math.hypot(3, 9)))


def test_a_geobox_there_and_back():
    geobox = pytest.importorskip("odc.geo.geobox").GeoBox((40, 60), Affine(*UTM), "EPSG:32633")
    grid = strile.Grid.like(geobox)
    assert grid == strile.Grid(32633, UTM, (40, 60))
    assert grid.to_geobox() == geobox


@pytest.mark.parametrize("target", ["EPSG:3857", "EPSG:4326", "EPSG:3035", "EPSG:32632"])
@pytest.mark.parametrize("shape", [(40, 60), (700, 500)])
def test_suggested_as_gdal_does(tmp_path, target, shape):
    path = made(tmp_path / "a.tif", shape=shape)
    with rasterio.open(path) as file:
        transform, width, height = calculate_default_transform(file.crs, target, file.width, file.height, *file.bounds)
        coarse, _, _ = calculate_default_transform(
            file.crs, target, file.width, file.height, *file.bounds, resolution=transform.a * 3
        )
    grid = strile.Grid.suggest(path, target)
    assert grid.crs == target and grid.shape == (height, width)
    assert grid.transform == pytest.approx(tuple(transform)[:6], rel=1e-9)
    grid = strile.Grid.suggest(path, target, resolution=transform.a * 3)
    assert grid.transform == pytest.approx(tuple(coarse)[:6], rel=1e-9)
    # gdalwarp rounds; rasterio rounds up.
    assert grid.shape == (max(1, math.floor(height / 3 + 0.5)), max(1, math.floor(width / 3 + 0.5)))


WRONG = [
    (lambda: strile.Grid(32633, UTM, (0, 60)), strile.StrileError, "shape is"),
    (lambda: strile.Grid(32633, UTM, (40,)), strile.StrileError, "shape is"),
    (lambda: strile.Grid(32633, UTM, 40), TypeError, "shape is"),
    (lambda: strile.Grid(32633, UTM, (1.5, 2)), TypeError, "shape is"),
    (lambda: strile.Grid(32633, UTM, (1 << 40, 60)), strile.StrileError, "shape is"),
    (lambda: strile.Grid(32633, UTM[:5], (40, 60)), strile.StrileError, "six numbers"),
    (lambda: strile.Grid(32633, "transform", (40, 60)), TypeError, "six numbers"),
    (lambda: strile.Grid(32633, (math.nan, *UTM[1:]), (40, 60)), strile.StrileError, "finite"),
    (lambda: strile.Grid(32633, (math.inf, *UTM[1:]), (40, 60)), strile.StrileError, "finite"),
    (lambda: strile.Grid(32633, (0.0, *UTM[1:]), (40, 60)), strile.StrileError, "inverse"),
    (lambda: strile.Grid(32633, (1e308, 0, 0, 0, -1e308, 0), (1 << 31, 1 << 31)), strile.StrileError, "."),
    (lambda: strile.Grid(32633, (1e-12, 0, 4e5, 0, -1e-12, 5e6), (40, 60)), strile.StrileError, "too small"),
    (lambda: strile.Grid(1, UTM, (40, 60)), strile.InvalidCRSCodeError, "1"),
    (lambda: strile.Grid("nonsense", UTM, (40, 60)), strile.UnparseableCRSError, "nonsense"),
    (lambda: strile.Grid(None, UTM, (40, 60)), TypeError, "EPSG"),
    (lambda: strile.Grid.from_bounds((0, 0, 10, 10), 32633), strile.StrileError, "resolution or shape"),
    (lambda: strile.Grid.from_bounds((0, 0, 10, 10), 32633, resolution=1, shape=(2, 2)), strile.StrileError, "resolution or shape"),
    (lambda: strile.Grid.from_bounds((0, 0, 10, 10), 32633, shape=(2, 2), target_aligned=True), strile.StrileError, "target_aligned"),
    (lambda: strile.Grid.from_bounds((0, 0, 10, 10), 32633, resolution=-1), strile.StrileError, "resolution is -1"),
    (lambda: strile.Grid.from_bounds((0, 0, 10, 10), 32633, resolution=1e-300), strile.StrileError, "."),
    (lambda: strile.Grid.from_bounds((10, 0, 0, 10), 32633, resolution=1), strile.StrileError, "bounds"),
    (lambda: strile.Grid.from_bounds((0, 0, math.inf, 10), 32633, resolution=1), strile.StrileError, "bounds"),
    (lambda: strile.Grid.xyz(2, 4, 0), strile.StrileError, "2/4/0"),
    (lambda: strile.Grid.xyz(-1, 0, 0), strile.StrileError, "-1"),
    (lambda: strile.Grid.xyz(2, 0, 2**40), strile.StrileError, "1099511627776"),
    (lambda: strile.Grid.xyz(2, 0.5, 0), TypeError, "0.5"),
    (lambda: strile.Grid.like(7), TypeError, "GeoBox"),
    (lambda: strile.Grid.like("missing.tif"), FileNotFoundError, "missing.tif"),
    (lambda: strile.Grid.suggest("missing.tif", 3857, datum_shift="any"), strile.StrileError, "datum_shift"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_refused(case):
    make, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        make()


def test_files_without_a_place_have_no_grid(tmp_path):
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        path = made(tmp_path / "a.tif", crs=None, transform=(1, 0, 0, 0, 1, 0))
    with pytest.raises(strile.StrileError, match="no reference system"):
        strile.Grid.like(path)
    with pytest.raises(strile.StrileError, match="has no"):
        strile.Grid.like(strile.open_geotiff(path))


def test_suggested_for_a_file_placed_by_control_points(tmp_path):
    from rasterio.control import GroundControlPoint

    points = [GroundControlPoint(row, column, 15 + column / 500, 50 - row / 700, 0) for row in (0, 40) for column in (0, 60)]
    with rasterio.open(tmp_path / "a.tif", "w", driver="GTiff", width=60, height=40, count=1, dtype="uint8", gcps=points, crs="EPSG:4326") as file:
        file.write(np.ones((1, 40, 60), np.uint8))
    transform, width, height = calculate_default_transform("EPSG:4326", "EPSG:32633", 60, 40, gcps=points)
    found = strile.Grid.suggest(tmp_path / "a.tif", 32633)
    assert found.shape == (height, width) and found.transform == pytest.approx(tuple(transform)[:6], rel=1e-9)
    assert strile.Grid.suggest(strile.open(tmp_path / "a.tif"), 32633) == found
