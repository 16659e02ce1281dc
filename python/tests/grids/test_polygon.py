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
import shapely
import strile
from affine import Affine
from rasterio.warp import transform_geom
from shapely.geometry import shape as Shape

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


class Interface:
    """A geometry that has no more than its interface, and perhaps a reference system."""

    def __init__(self, geometry, crs=None):
        self.__geo_interface__ = geometry
        self.crs = crs


@pytest.mark.parametrize("made", [Shape, Interface], ids=["shapely", "interface"])
@pytest.mark.parametrize("geometry", [STAR, BOTH], ids=["holes", "several"])
def test_pixels_are_those_of_rasterio(path, geometry, made):
    with rasterio.open(path) as file:
        expected, place = rasterio.mask.mask(file, [geometry], crop=True)
    geometry = made(geometry)
    array = strile.open_geotiff(path, polygon=geometry)
    assert np.array_equal(array.values, np.moveaxis(expected, 0, -1))
    assert tuple(array.attrs["transform"])[:6] == tuple(place)[:6] and array.attrs["nodata"] == -7
    raster = strile.read(path, polygon=geometry)
    assert np.array_equal(raster.numpy(), expected)
    lazy = strile.open_geotiff(path, polygon=geometry, chunks=40)
    assert np.array_equal(lazy.values, array.values)
    masked = strile.read(path, polygon=geometry, masked=True).numpy()
    assert np.array_equal(np.isnan(masked), expected == -7)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Shape(STAR).buffer(37.5),
        lambda: Shape(BOTH).simplify(100),
        lambda: Shape(STAR).convex_hull,
        lambda: shapely.union_all([shapely.Point(500_000, 5_538_500).buffer(300), shapely.box(500_100, 5_538_000, 500_900, 5_538_333)]),
        lambda: shapely.force_3d(Shape(BOTH), 7.5),
        lambda: Shape(STAR).reverse(),
    ],
    ids=["buffer", "simplified", "hull", "union", "heights", "reversed"],
)
def test_geometries_that_shapely_makes(path, made):
    geometry = made()
    with rasterio.open(path) as file:
        expected, _ = rasterio.mask.mask(file, [geometry], crop=True)
    for polygon in (geometry, geometry.wkt, shapely.to_geojson(geometry)):
        given = {"polygon_crs": 32633} if polygon is not geometry else {}
        assert np.array_equal(strile.read(path, polygon=polygon, **given).numpy(), expected)
    shapely.prepare(geometry)
    assert np.array_equal(strile.read(path, polygon=geometry).numpy(), expected)


@pytest.mark.parametrize(
    "geometry",
    [shapely.Polygon(), shapely.MultiPolygon(), shapely.Point(500_000, 5_538_500), shapely.LineString([(0, 0), (1, 1)]), shapely.GeometryCollection()],
    ids=["empty", "no polygons", "point", "line", "collection"],
)
def test_geometries_of_shapely_that_are_no_polygons(path, geometry):
    for polygon in (geometry, geometry.wkt):
        with pytest.raises(strile.StrileError, match="polygon"):
            strile.read(path, polygon=polygon)


def test_the_reference_system_of_a_geometry(path):
    """GeoSeries and features of other packages have one."""
    degrees = transform_geom("EPSG:32633", "EPSG:4326", STAR, precision=12)
    expected = strile.read(path, polygon=Shape(STAR)).numpy()
    for polygon, given in (
        (Interface(degrees, "EPSG:4326"), {}),
        (Interface(degrees, rasterio.CRS.from_epsg(4326)), {}),
        (Shape(degrees), {"polygon_crs": 4326}),
    ):
        # Edges are straight in degrees, so a few pixels at the edge may differ.
        assert (strile.read(path, polygon=polygon, **given).numpy() != expected).mean() < 1e-3


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


TRIANGLES = [
    {"type": "Polygon", "coordinates": [[[499_703.3, 5_538_707.1], [500_401.9, 5_538_652.3], [500_003.7, 5_538_001.4], [499_703.3, 5_538_707.1]]]},
    {"type": "Polygon", "coordinates": [[[499_902.2, 5_538_901.3], [500_303.1, 5_538_403.7], [499_601.7, 5_538_302.9], [499_902.2, 5_538_901.3]]]},
]


def masked_by_rasterio(path, geometry, window):
    """The pixels of a window of a file, those outside a polygon nodata."""
    with rasterio.open(path) as file:
        expected, _ = rasterio.mask.mask(file, [geometry])
    column, row, width, height = window
    return expected[:, row : row + height, column : column + width]


def test_windows_of_a_batch_have_polygons_of_their_own(path):
    windows = [(0, 5, 10, 60, 50), (0, 30, 20, 60, 50), (0, 80, 60, 60, 50)]
    shapes = [Shape(TRIANGLES[0]), Shape(TRIANGLES[1]), None]
    found = strile.read_batch([path], windows, polygons=shapes).numpy()
    for at in range(2):
        assert np.array_equal(found[at], masked_by_rasterio(path, TRIANGLES[at], windows[at][1:])), at
    assert np.array_equal(found[2], strile.read(path, window=windows[2][1:]).numpy())
    # One for all, in another reference system, masked. Edges are straight there, so a few pixels at the edge may differ.
    degrees = transform_geom("EPSG:32633", "EPSG:4326", TRIANGLES[0], precision=-1)
    all_of_one = strile.read_batch([path], windows, polygons=degrees, masked=True).numpy()
    for at, window in enumerate(windows):
        expected = masked_by_rasterio(path, TRIANGLES[0], window[1:])
        assert (np.isnan(all_of_one[at]) != (expected == -7)).mean() < 5e-3, at
    wkt = "POLYGON ((499703.3 5538707.1, 500401.9 5538652.3, 500003.7 5538001.4, 499703.3 5538707.1))"
    same = strile.read_batch([path], windows, polygons=wkt, polygon_crs=32633, dtype="float32").numpy()
    assert np.array_equal(same[0], masked_by_rasterio(path, TRIANGLES[0], windows[0][1:]).astype("float32"))


def test_windows_on_a_grid_are_clipped(path):
    grid = strile.Grid(3857, (15, 0, 1_669_300, 0, -15, 6_446_600), (120, 120))
    windows = [(0, 0, 0, 60, 60), (0, 40, 30, 60, 60)]
    plain = strile.read_batch([path], windows, grid=grid, masked=True).numpy()
    found = strile.read_batch([path], windows, grid=grid, masked=True, polygons=[Shape(TRIANGLES[0]), None], polygon_crs=32633).numpy()
    one = strile.read(path, grid=grid, masked=True, polygon=Shape(TRIANGLES[0]), polygon_crs=32633).numpy()
    assert np.array_equal(found[0], one[:, :60, :60], equal_nan=True)
    assert np.isnan(found[0]).sum() > np.isnan(plain[0]).sum() and np.array_equal(found[1], plain[1], equal_nan=True)


def test_only_blocks_under_the_polygons_are_read(path, tmp_path):
    """Damaged blocks elsewhere do not matter."""
    broken = tmp_path / "broken.tif"
    with rasterio.open(path) as file:
        profile = file.profile | {"compress": "deflate"}
        with rasterio.open(broken, "w", **profile) as made:
            made.write(file.read())
    with strile.open(str(broken)) as file:
        count = file.plan().figures["blocks"]
    corner = "POLYGON ((499510 5538990, 499700 5538990, 499510 5538800, 499510 5538990))"
    assert strile.plan(str(broken), polygon=corner).figures["blocks"] < count
    bytes_of = bytearray(broken.read_bytes())
    bytes_of[-400:] = b"\xff" * 400
    broken.write_bytes(bytes_of)
    with pytest.raises(strile.StrileError):
        strile.read_batch([str(broken)], [(0, 0, 0, 150, 120)])
    whole = strile.read_batch([str(broken)], [(0, 0, 0, 150, 120)], polygons=corner).numpy()[0]
    out = tmp_path / "clipped.tif"
    strile.convert(str(broken), out, polygon=corner)
    with rasterio.open(out) as file:
        assert np.array_equal(file.read(), whole)
    with rasterio.open(path) as file:
        inside = rasterio.features.geometry_mask([TRIANGLE_OF_CORNER], (120, 150), Affine(*UTM), invert=True)
        assert np.array_equal(whole, np.where(inside, file.read(), -7))


TRIANGLE_OF_CORNER = {
    "type": "Polygon", "coordinates": [[[499_510, 5_538_990], [499_700, 5_538_990], [499_510, 5_538_800], [499_510, 5_538_990]]],
}  # fmt: skip


def test_what_a_batch_cannot_clip_is_refused(path, tmp_path):
    wkt = "POLYGON ((499700 5538700, 500400 5538650, 500000 5538000, 499700 5538700))"
    with pytest.raises(strile.StrileError, match="give a grid"):
        strile.read_batch([path], bounds=[(0, 499_700, 5_538_000, 500_000, 5_538_300)], size=16, polygons=wkt)
    with pytest.raises(strile.StrileError, match="expected 1 polygon or 3"):
        strile.read_batch([path], [(0, 0, 0, 8, 8)] * 3, polygons=[wkt, wkt])
    other = tmp_path / "other.tif"
    with rasterio.open(path) as file:
        with rasterio.open(other, "w", **(file.profile | {"nodata": 0})) as made:
            made.write(file.read())
    with pytest.raises(strile.StrileError, match="different nodata values"):
        strile.read_batch([path, str(other)], [(0, 0, 0, 8, 8), (1, 0, 0, 8, 8)], polygons=wkt)
    strile.read_batch([path, str(other)], [(0, 0, 0, 8, 8), (1, 0, 0, 8, 8)], polygons=wkt, fill=-1)


@pytest.mark.parametrize("geometry", [STAR, BOTH], ids=["holes", "several"])
@pytest.mark.parametrize("nodata", [-7, None])
def test_converted_files_are_clipped(path, tmp_path, geometry, nodata):
    if nodata is None:
        with rasterio.open(path) as file:
            profile, values = file.profile | {"nodata": None}, file.read()
        with rasterio.open(path, "w", **profile) as file:
            file.write(values)
    with rasterio.open(path) as file:
        expected, _ = rasterio.mask.mask(file, [geometry])
        cropped, place = rasterio.mask.mask(file, [geometry], crop=True)
        inside = rasterio.features.geometry_mask([geometry], file.shape, file.transform, invert=True)
    out = str(tmp_path / "out.tif")
    strile.convert(path, out, polygon=Shape(geometry))
    with rasterio.open(out) as file:
        assert np.array_equal(file.read(), expected) and file.nodata == nodata
        assert np.array_equal(file.dataset_mask() > 0, inside)
    strile.convert(path, out, polygon=Shape(geometry), crop_to_polygon=True, format="cog", overwrite=True)
    with rasterio.open(out) as file:
        assert np.array_equal(file.read(), cropped) and file.transform == place
    with pytest.raises(strile.StrileError, match="cannot be combined"):
        strile.convert(path, out, polygon=Shape(geometry), crop_to_polygon=True, bbox=(0, 0, 1, 1), overwrite=True)
    # Half the size, from pixels within alone.
    strile.convert(path, out, polygon=Shape(geometry), outsize=("50%", "50%"), resampling="average", overwrite=True)
    with rasterio.open(out) as file:
        halves = np.where(inside, expected.astype(float), np.nan).reshape(2, 60, 2, 75, 2)
        with np.errstate(invalid="ignore"):
            mean = np.nansum(halves, axis=(2, 4)) / np.isfinite(halves).sum(axis=(2, 4))
        found = np.where(file.dataset_mask() > 0, file.read().astype(float), np.nan)
        assert np.array_equal(np.isnan(found), np.isnan(mean)) and np.nanmax(np.abs(found - mean)) <= 0.5


def test_dumped_pixels_are_clipped(path, tmp_path):
    with rasterio.open(path) as file:
        expected, _ = rasterio.mask.mask(file, [STAR], crop=True)
        whole, _ = rasterio.mask.mask(file, [STAR])
    wkt = "POLYGON (" + ", ".join("(" + ", ".join(f"{x} {y}" for x, y in ring) + ")" for ring in STAR["coordinates"]) + ")"
    out = tmp_path / "out.npy"
    run = lambda *words: subprocess.run([SCRIPT, "dump", path, "-o", str(out), *words], capture_output=True, text=True, check=False)
    assert run("-cutline", wkt, "-crop_to_cutline").returncode == 0
    assert np.array_equal(np.load(out), expected)
    assert run("-cutline", wkt, "-cutline_srs", "EPSG:32633", "--window", "10,5,60,70", "--masked", "--band", "2").returncode == 0
    part = whole[1:, 5:75, 10:70]
    assert np.array_equal(np.load(out), np.where(part == -7, np.nan, part).astype("float32"), equal_nan=True)
    refused = run("-cutline", wkt, "-crop_to_cutline", "--window", "0,0,5,5")
    assert refused.returncode == 2 and "cannot be combined" in refused.stderr
