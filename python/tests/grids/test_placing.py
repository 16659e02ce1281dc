"""Files placed by control points or rational polynomials, in the words of `strile warp`: pixels are those of GDAL."""

import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import rasterio
import strile
from affine import Affine
from rasterio.control import GroundControlPoint
from rasterio.rpc import RPC
from rasterio.transform import GCPTransformer, RPCTransformer
from rasterio.warp import Resampling, reproject, transform

SCRIPT = str(Path(sysconfig.get_path("scripts")) / "strile")
SIZE = (200, 240)


def values():
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    return (500 + 300 * np.sin(x / 17) * np.cos(y / 13) + 0.5 * x).astype("float32")


@pytest.fixture
def points():
    """Control points that no plane goes through."""
    rng = np.random.default_rng(4)
    place = Affine(30, 4, 600_000, 5, -30, 5_300_000)
    found = []
    for row in np.linspace(0, SIZE[0], 5):
        for column in np.linspace(0, SIZE[1], 5):
            x, y = place * (column, row)
            bend = 2e-3 * (column - 120) ** 2, -1e-3 * (row - 100) ** 2
            found.append(GroundControlPoint(row, column, x + bend[0] + rng.normal(0, 3), y + bend[1] + rng.normal(0, 3)))
    return found


@pytest.fixture
def scan(tmp_path, points):
    path = tmp_path / "scan.tif"
    with rasterio.open(path, "w", driver="GTiff", width=SIZE[1], height=SIZE[0], count=1, dtype="float32", nodata=-1) as file:
        file.write(values(), 1)
        file.gcps = (points, rasterio.CRS.from_epsg(32632))
    return str(path)


GRID = strile.Grid(32632, (35, 0, 599_900, 0, -35, 5_301_300), (230, 260))


def by_gdal(**keywords):
    """Pixels whose places GDAL may move by an eighth of a pixel of the file; rasterio does not ask for exact ones."""
    found = np.full(GRID.shape, -1, "float32")
    reproject(
        values(), found, src_nodata=-1, dst_nodata=-1, dst_transform=Affine(*GRID.transform), dst_crs=GRID.crs,
        resampling=Resampling.bilinear, init_dest_nodata=True, XSCALE=1, YSCALE=1, **keywords,
    )  # fmt: skip
    return found


def at_places_of_gdal(transformer, crs="EPSG:32632"):
    """Pixels at the places that GDAL's transformer gives for their centres, by the four pixels around; NaN near the edge."""
    row, column = np.mgrid[: GRID.shape[0], : GRID.shape[1]]
    x, y = Affine(*GRID.transform) * (column.ravel() + 0.5, row.ravel() + 0.5)
    if crs != GRID.crs:
        x, y = transform(GRID.crs, crs, x, y)
    with transformer:
        rows, columns = transformer.rowcol(x, y, op=lambda value: value)
    y, x = np.asarray(rows, float) - 0.5, np.asarray(columns, float) - 0.5
    y, x = np.where(np.isfinite(y), y, -9), np.where(np.isfinite(x), x, -9)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    inside = (left >= 0) & (top >= 0) & (left < SIZE[1] - 1) & (top < SIZE[0] - 1)
    left, top = np.where(inside, left, 0), np.where(inside, top, 0)
    right, down, pixels = x - left, y - top, values().astype(float)
    upper = pixels[top, left] * (1 - right) + pixels[top, left + 1] * right
    lower = pixels[top + 1, left] * (1 - right) + pixels[top + 1, left + 1] * right
    return np.where(inside, upper * (1 - down) + lower * down, np.nan).reshape(GRID.shape)


def read(path, **words):
    return strile.read(path, grid=GRID, resampling="bilinear", tolerance=0, **words).numpy()[0]


def off(found, expected, least=0.2):
    """The largest difference of pixels that both have, which are many."""
    both = np.isfinite(expected) & (expected != -1)
    assert both.mean() > least and (found[both] == -1).mean() < 2e-3
    return np.abs(found - expected)[both & (found != -1)].max()


def test_control_points_are_where_gdal_has_them(scan, points):
    # Values change by up to 25 from one pixel to the next.
    assert off(read(scan, order=1), by_gdal(gcps=points, src_crs="EPSG:32632", MAX_GCP_ORDER=1)) < 1e-3
    assert off(read(scan, order=2), at_places_of_gdal(GCPTransformer(points))) < 1e-2
    assert off(read(scan, tps=True), at_places_of_gdal(GCPTransformer(points, tps=True))) < 25 / 100
    assert off(read(scan, order=3), by_gdal(gcps=points, src_crs="EPSG:32632", MAX_GCP_ORDER=3)) < 25 / 8
    assert np.array_equal(read(scan), read(scan, order=2))
    assert off(read(scan, order=1), at_places_of_gdal(GCPTransformer(points))) > 1


def same_pixels_through_all_doors(path, words, flags, tmp_path):
    one = strile.read(path, grid=GRID, resampling="bilinear", tolerance=0, **words).numpy()
    assert np.array_equal(strile.open_geotiff(path, grid=GRID, resampling="bilinear", tolerance=0, **words).values, one[0])
    lazy = strile.open_geotiff(path, grid=GRID, resampling="bilinear", tolerance=0, chunks=100, **words)
    assert np.array_equal(lazy.values, one[0])
    with strile.open(path) as file:
        assert np.array_equal(file.read(1, grid=GRID, resampling="bilinear", tolerance=0, **words), one[0])
    chips = strile.read_batch([path], [(0, 20, 30, 90, 80), (0, 60, 50, 90, 80)], grid=GRID, resampling="bilinear", tolerance=0, **words).numpy()
    assert np.array_equal(chips[0], one[:, 30:110, 20:110]) and np.array_equal(chips[1], one[:, 50:130, 60:150])
    assert "placed" in strile.plan(path, grid=GRID, **words).explain()
    # The grid that is chosen is the one of the command.
    out = str(tmp_path / "out.tif")
    subprocess.run([SCRIPT, "-q", "warp", path, out, "-t_srs", "EPSG:3857", "-r", "bilinear", "-et", "0", *flags], check=True, timeout=120)
    array = strile.open_geotiff(path, crs=3857, resampling="bilinear", tolerance=0, **words)
    with rasterio.open(out) as file:
        assert np.array_equal(file.read(1), array.values) and np.allclose(tuple(file.transform)[:6], array.attrs["transform"][:6])


@pytest.mark.parametrize(("words", "flags"), [({}, []), ({"order": 1}, ["-order", "1"]), ({"tps": True}, ["-tps"])], ids=str)
def test_doors_have_the_words_of_the_command(scan, tmp_path, words, flags):
    same_pixels_through_all_doors(scan, words, flags, tmp_path)


@pytest.fixture
def scene(tmp_path):
    """An image with rational polynomials that are nearly a plane; heights move it to the east."""
    line = [0.0] * 20
    sample = [0.0] * 20
    line[2], line[1], line[3] = -1.0, 0.05, 0.02
    sample[1], sample[2], sample[3], sample[4] = 1.0, 0.04, 0.3, 0.01
    one = [1.0] + [0.0] * 19
    rpcs = RPC(
        height_off=0, height_scale=500, lat_off=47.8, lat_scale=0.03, line_den_coeff=one, line_num_coeff=line, line_off=100, line_scale=100,
        long_off=10.35, long_scale=0.045, samp_den_coeff=one, samp_num_coeff=sample, samp_off=120, samp_scale=120,
    )  # fmt: skip
    path = tmp_path / "scene.tif"
    with rasterio.open(path, "w", driver="GTiff", width=SIZE[1], height=SIZE[0], count=1, dtype="float32", nodata=-1) as file:
        file.write(values(), 1)
        file.rpcs = rpcs
    return str(path), rpcs


def test_rational_polynomials_at_a_height(scene):
    path, rpcs = scene
    for height in (0, 250):
        expected = at_places_of_gdal(RPCTransformer(rpcs, rpc_height=height), "EPSG:4326")
        assert off(read(path, rpc=True, rpc_height=height), expected) < 1e-2
    assert np.array_equal(read(path), read(path, rpc=True))
    assert not np.array_equal(read(path), read(path, rpc=True, rpc_height=250))


def test_rational_polynomials_through_all_doors(scene, tmp_path):
    same_pixels_through_all_doors(scene[0], {"rpc": True, "rpc_height": 120}, ["-rpc", "-to", "RPC_HEIGHT=120"], tmp_path)


@pytest.fixture
def dem(tmp_path):
    """Hills with a hole and single pixels without a height, in UTM, that begin within the scene."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:330, :400]
    heights = (300 + 250 * np.sin(x / 21) * np.cos(y / 17) + rng.normal(0, 4, x.shape)).astype("float32")
    heights[120:135, 100:120] = -9999
    heights[rng.random(x.shape) < 1e-3] = -9999
    path = tmp_path / "dem.tif"
    with rasterio.open(
        path, "w", driver="GTiff", width=400, height=330, count=1, dtype="float32", nodata=-9999, crs="EPSG:32632",
        transform=Affine(28, 0, 601_500, 0, -28, 5_301_000), tiled=True, blockxsize=64, blockysize=64,
    ) as file:  # fmt: skip
        file.write(heights, 1)
    return str(path)


@pytest.mark.parametrize("method", ["near", "bilinear", "cubic"])
@pytest.mark.parametrize("missing", [None, 120.0])
def test_heights_of_an_elevation_model(scene, dem, method, missing):
    path, rpcs = scene
    options = {"rpc_dem": dem, "rpc_deminterpolation": method, "rpc_height": 30}
    if missing is not None:
        options["rpc_dem_missing_value"] = missing
    expected = at_places_of_gdal(RPCTransformer(rpcs, **options), "EPSG:4326")
    words = {"rpc": True, "rpc_height": 30, "rpc_dem": {"path": dem, "interpolation": method, "missing_value": missing}}
    found = read(path, **words)
    assert off(found, expected, least=0.1) < 1e-2
    # Pixels without a height have no value; coordinates differ by a millimetre, which counts at the edges of pixels without a height.
    filled = at_places_of_gdal(RPCTransformer(rpcs, **options, rpc_dem_missing_value=120), "EPSG:4326") if missing is None else expected
    holes = np.isfinite(filled) & np.isnan(expected)
    assert holes.sum() > 500 and (found[holes] != -1).mean() < 2e-3 if missing is None else not holes.any()
    # Places are exact whatever the tolerance is: terrain between two of them is not known.
    rough = strile.read(path, grid=GRID, resampling="bilinear", tolerance=5, **words).numpy()[0]
    assert np.array_equal(rough, found) and not np.array_equal(found, read(path, rpc=True, rpc_height=330))


def test_elevation_models_through_all_doors(scene, dem, tmp_path):
    words = {"rpc": True, "rpc_dem": {"path": dem, "interpolation": "cubic", "missing_value": 10}}
    flags = ["-rpc", "-to", f"RPC_DEM={dem}", "-to", "RPC_DEMINTERPOLATION=cubic", "-to", "RPC_DEM_MISSING_VALUE=10"]
    same_pixels_through_all_doors(scene[0], words, flags, tmp_path)
    assert f"{dem} (cubic, 10 m where it has none" in strile.plan(scene[0], grid=GRID, **words).explain()
    assert np.array_equal(read(scene[0], rpc_dem=Path(dem)), read(scene[0], rpc_dem={"path": dem}))


def test_elevation_models_are_refused(scene, scan, dem, tmp_path):
    for words, problem in [
        ({"rpc_dem": {"path": dem, "interpolation": "lanczos"}}, "near, bilinear or cubic"),
        ({"rpc_dem": {"path": dem, "srs": 4979}}, "'srs'"),
        ({"rpc_dem": {"path": dem, "missing_value": float("inf")}}, "metres above the ellipsoid"),
        ({"rpc_dem": scan}, r"scan\.tif: .* no reference system"),
    ]:
        with pytest.raises(strile.StrileError, match=problem):
            strile.read(scene[0], grid=GRID, **words)
    with pytest.raises(strile.StrileError, match="`rpc_dem` is for rasters placed by rational polynomials"):
        strile.read(scan, grid=GRID, rpc_dem=dem)
    with pytest.raises(TypeError, match="path of an elevation model"):
        strile.read(scene[0], grid=GRID, rpc_dem=3)
    with pytest.raises(FileNotFoundError):
        strile.read(scene[0], grid=GRID, rpc_dem=str(tmp_path / "none.tif"))
    # A model that is damaged is an error, not a raster without heights.
    damaged = tmp_path / "damaged.tif"
    damaged.write_bytes(Path(dem).read_bytes()[:200_000])
    with pytest.raises(strile.StrileError, match="damaged.tif"):
        strile.read(scene[0], grid=GRID, rpc_dem=str(damaged))


def test_arrays_are_placed_by_points_and_polynomials(scan, scene, dem):
    by_rpc = [{"rpc": True, "rpc_height": 90}, {"rpc_dem": dem}]
    for path, words in [(scan, {}), (scan, {"order": 1}), (scan, {"tps": True}), *((scene[0], words) for words in by_rpc)]:
        array = strile.open_geotiff(path)
        found = array.strile.reproject(grid=GRID, resampling="bilinear", tolerance=0, **words)
        wanted = strile.open_geotiff(path, grid=GRID, resampling="bilinear", tolerance=0, **words)
        assert found.attrs["crs"] == 32632 and float((wanted != -1).mean()) > 0.1
        assert np.array_equal(found.values, wanted.values, equal_nan=True), words
    with pytest.raises(strile.StrileError, match="no rational polynomials"):
        strile.open_geotiff(scan).strile.reproject(grid=GRID, rpc=True)


def test_refused(scan):
    for words, problem in [
        ({"order": 4}, "expected 1, 2 or 3"),
        ({"order": 1, "tps": True}, "pass one of them"),
        ({"rpc": True}, "rational polynomials"),
        ({"rpc": True, "rpc_height": float("inf")}, "metres above the ellipsoid"),
    ]:
        with pytest.raises(strile.StrileError, match=problem):
            strile.read(scan, grid=GRID, **words)
    with pytest.raises(strile.StrileError, match="order is for reads onto a grid"):
        strile.read(scan, order=1)
    with pytest.raises(strile.StrileError, match="tps is for reads onto a grid"):
        strile.open_geotiff(scan, tps=True)
