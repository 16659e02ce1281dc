"""Reads that are clipped by a polygon, beside rasterio's mask: pixels whose centre lies within."""

import json
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import rasterio
import rasterio.features
import rasterio.mask
import strile
from affine import Affine
from rasterio.warp import transform_geom

SCRIPT = str(Path(sysconfig.get_path("scripts")) / "strile")
UTM = (10.0, 0.0, 499500.0, 0.0, -10.0, 5539000.0)
STAR = {"type": "Polygon", "coordinates": [[
    [499_612.5, 5_538_903.1], [500_431.7, 5_538_811.9], [500_322.2, 5_538_187.3], [500_001.0, 5_538_602.8], [499_655.1, 5_538_048.8],
    [499_612.5, 5_538_903.1],
], [[499_800, 5_538_800], [499_900, 5_538_800], [499_900, 5_538_700], [499_800, 5_538_700], [499_800, 5_538_800]]]}  # fmt: skip
BOTH = {"type": "MultiPolygon", "coordinates": [
    STAR["coordinates"], [[[500_700, 5_538_500], [501_200, 5_538_900], [501_100, 5_537_000], [500_700, 5_538_500]]],
]}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    values = np.random.default_rng(3).integers(1, 5000, (2, 120, 150)).astype("int16")
    with rasterio.open(
        tmp_path / "a.tif", "w", driver="GTiff", width=150, height=120, count=2, dtype="int16", crs="EPSG:32633", transform=Affine(*UTM),
        nodata=-7, tiled=True, blockxsize=32, blockysize=32,
    ) as file:  # fmt: skip
        file.write(values)
    return str(tmp_path / "a.tif")


class Shape:
    """A geometry as shapely has it."""

    def __init__(self, geometry):
        self.__geo_interface__ = geometry


@pytest.mark.parametrize("geometry", [STAR, BOTH], ids=["holes", "several"])
def test_pixels_are_those_of_rasterio(path, geometry):
    with rasterio.open(path) as file:
        expected, place = rasterio.mask.mask(file, [geometry], crop=True)
    array = strile.open_geotiff(path, polygon=Shape(geometry))
    assert np.array_equal(array.values, np.moveaxis(expected, 0, -1))
    assert tuple(array.attrs["transform"])[:6] == tuple(place)[:6] and array.attrs["nodata"] == -7
    raster = strile.read(path, polygon=Shape(geometry))
    assert np.array_equal(raster.numpy(), expected)
    lazy = strile.open_geotiff(path, polygon=Shape(geometry), chunks=40)
    assert np.array_equal(lazy.values, array.values)
    masked = strile.read(path, polygon=Shape(geometry), masked=True).numpy()
    assert np.array_equal(np.isnan(masked), expected == -7)


def test_any_grid_and_any_system(path):
    grid = strile.Grid.suggest(path, 3857, resolution=13)
    degrees = transform_geom("EPSG:32633", "EPSG:4326", BOTH)
    whole = strile.read(path, grid=grid).numpy()
    inside = rasterio.features.geometry_mask(
        [transform_geom("EPSG:32633", "EPSG:3857", BOTH)], grid.shape, Affine(*grid.transform), invert=True
    )
    expected = np.where(inside, whole, -7)
    # GeoJSON is in WGS 84; edges are straight there, so a few pixels at the edge may differ.
    for polygon, keywords in [
        (degrees, {}),
        (json.dumps(degrees), {}),
        (json.dumps({"type": "Feature", "properties": {}, "geometry": degrees}), {}),
        (Shape(BOTH), {"polygon_crs": 32633}),
    ]:
        found = strile.read(path, grid=grid, polygon=polygon, **keywords).numpy()
        assert (found != expected).mean() < 1e-3
    assert 0.1 < inside.mean() < 0.9


def blocks_of(path, **keywords):
    return strile.plan(path, **keywords).figures["blocks"]


def test_only_blocks_under_it_are_read(path):
    small = {"type": "Polygon", "coordinates": [[[499_600, 5_538_950], [499_700, 5_538_950], [499_700, 5_538_900], [499_600, 5_538_950]]]}
    blocks = blocks_of(path, polygon=Shape(small))
    assert blocks == 1
    grid = strile.Grid.like(path)
    assert blocks_of(path, grid=grid, polygon=Shape(small)) == 1
    assert blocks_of(path, grid=grid) == 20


def test_command(path, tmp_path):
    cut = tmp_path / "cut.geojson"
    cut.write_text(json.dumps(transform_geom("EPSG:32633", "EPSG:4326", STAR, precision=12)))
    with rasterio.open(path) as file:
        expected, place = rasterio.mask.mask(file, [STAR])
        cropped, part = rasterio.mask.mask(file, [STAR], crop=True)
    wkt = "POLYGON (" + ", ".join("(" + ", ".join(f"{x} {y}" for x, y in ring) + ")" for ring in STAR["coordinates"]) + ")"
    for polygon, more, pixels, transform, most in [
        (str(cut), [], expected, place, 1e-3),
        (wkt, [], expected, place, 0),
        (wkt, ["-crop_to_cutline", "-cutline_srs", "EPSG:32633"], cropped, part, 0),
    ]:
        out = tmp_path / "out.tif"
        subprocess.run([SCRIPT, "-q", "warp", path, str(out), "-cutline", polygon, "--overwrite", *more], check=True, timeout=120)
        with rasterio.open(out) as file:
            assert file.nodata == -7 and file.transform.almost_equals(transform)
            assert (file.read() != pixels).mean() <= most


@pytest.mark.parametrize(
    ("polygon", "words"),
    [
        ("POINT (1 2)", "expected a polygon"),
        ("POLYGON ((0 0, 1 1))", "three vertices"),
        ({"type": "Point", "coordinates": [1, 2]}, "Point"),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0))", "outside the raster"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [500, 0], [0, 1e300], [0, 0]]]}, "polygon"),
    ],
)
def test_refusals(path, polygon, words):
    with pytest.raises(strile.StrileError, match=words):
        strile.read(path, polygon=polygon)


def test_arguments(path):
    with pytest.raises(TypeError, match="expected WKT"):
        strile.read(path, polygon=3)
    with pytest.raises(strile.StrileError, match="polygon_crs"):
        strile.read(path, polygon_crs=4326)
    with pytest.raises(strile.StrileError, match="window"):
        strile.read(path, polygon=Shape(STAR), window=(0, 0, 3, 3))
    with pytest.raises(FileNotFoundError):
        strile.read(path, polygon="nothing.geojson")
