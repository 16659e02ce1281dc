"""Reads onto a grid by every door: the same pixels, the coordinates and metadata of the grid, and what is refused.

`xtask/python/check_warp.py` compares pixels of drawn cases with GDAL's."""

import pickle
import time
import warnings

import numpy as np
import pytest
import rasterio
import rasterio.shutil
import strile
import xarray as xr
from affine import Affine
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT

UTM = (10.0, 0.0, 499500.0, 0.0, -10.0, 5539000.0)


def made(path, *, crs="EPSG:32633", transform=UTM, shape=(120, 150), bands=1, dtype="float32", nodata=-9.0, overviews=(), seed=0):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    values = (100 + 60 * np.sin(x / 9) * np.cos(y / 7) + rng.normal(0, 4, (bands, *shape))).astype(dtype)
    if nodata is not None:
        values[:, 5:25, 10:40] = nodata
    with rasterio.open(
        path, "w", driver="GTiff", width=shape[1], height=shape[0], count=bands, dtype=dtype, crs=crs, transform=Affine(*transform),
        nodata=nodata, tiled=True, blockxsize=64, blockysize=64,
    ) as file:  # fmt: skip
        file.write(values)
    if overviews:
        with rasterio.open(path, "r+") as file:
            file.build_overviews(overviews, Resampling.average)
    return str(path)


def by_gdal(path, grid, method="nearest", level=None):
    options = {} if level is None else {"overview_level": level}
    with rasterio.open(path, **options) as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=Affine(*grid.transform), width=grid.width, height=grid.height, resampling=Resampling[method],
            tolerance=1e-9,
        ) as warped:  # fmt: skip
            return warped.read()


@pytest.fixture
def path(tmp_path):
    return made(tmp_path / "a.tif")


@pytest.fixture
def grid(path):
    return strile.Grid.suggest(path, 3857, resolution=14)


@pytest.mark.parametrize("method", ["nearest", "bilinear", "cubic", "average"])
def test_read_is_gdals(path, grid, method):
    found = strile.read(path, grid=grid, resampling=method, tolerance=0)
    expected = by_gdal(path, grid, method)
    assert found.shape == expected.shape and found.dtype == "float32"
    assert np.allclose(found.numpy(), expected, atol=1e-3)
    assert (expected == -9).any() and (expected != -9).any()
    assert found.transform == grid.transform and found.crs == "EPSG:3857" and found.nodata == -9


@pytest.mark.parametrize("method", ["nearest", "bilinear", "average"])
@pytest.mark.parametrize("of", ["nodata", "mask", "nothing"])
def test_the_mask_on_a_grid_is_gdals(tmp_path, grid, of, method):
    path = made(tmp_path / "m.tif", bands=2, dtype="uint8", nodata=9 if of == "nodata" else None)
    # A few pixels beyond the file on each side.
    across, _, west, _, down, north = grid.transform
    grid = strile.Grid(grid.crs, (across, 0, west - 5 * across, 0, down, north - 5 * down), (grid.height + 10, grid.width + 10))
    if of == "mask":
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "r+") as file:
            valid = np.full(file.shape, 255, np.uint8)
            valid[30:70, 20:90] = 0
            file.write_mask(valid)
    with rasterio.open(path) as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=Affine(*grid.transform), width=grid.width, height=grid.height, resampling=Resampling[method],
            tolerance=1e-9, add_alpha=of != "nodata",
        ) as warped:  # fmt: skip
            # rasterio calls pixels of a WarpedVRT with an added alpha band all valid.
            expected = warped.dataset_mask() if of == "nodata" else warped.read(warped.count)
    with strile.open(path) as file:
        found = file.dataset_mask(grid=grid, resampling=method)
        assert found.dtype == "uint8" and found.shape == grid.shape and (found == 0).any() and (found == 255).any()
        exact = file.dataset_mask(grid=grid, resampling=method, tolerance=0)
        assert np.array_equal(exact > 0, expected > 0)
        # Interpolated places are off by up to 1/8 pixel: beside an edge that makes a difference.
        assert (found != exact).mean() < 0.005
        missing = np.isnan(strile.read(path, grid=grid, resampling=method, masked=True).numpy()).all(axis=0)
        assert np.array_equal(found == 0, missing)
        part = file.dataset_mask(window=(20, 10, 30, 40), grid=grid, resampling=method)
        assert np.array_equal(part, found[10:50, 20:50])
        with pytest.raises(strile.StrileError, match="pass grid="):
            file.dataset_mask(resampling="bilinear")
    rasterio.shutil.copy(path, tmp_path / "m.vrt", driver="VRT")
    with strile.open(tmp_path / "m.vrt") as mosaic:
        assert np.array_equal(mosaic.dataset_mask(grid=grid, resampling=method), found)


def test_attributes_name_the_operation(path, grid):
    attrs = strile.read(path, grid=grid, resampling="cubic_spline").attrs
    assert attrs["resampling"] == "cubicspline"
    assert isinstance(attrs["coordinate_operation"], str) and attrs["coordinate_operation"]
    plan = strile.plan(path, grid=grid).explain()
    assert attrs["coordinate_operation"] in plan and "EPSG:3857" in plan
    lambert = made(path, crs="EPSG:27700", transform=(10, 0, 400000, 0, -10, 300000))
    with_codes = strile.read(lambert, grid=strile.Grid.suggest(lambert, 4326)).attrs["coordinate_operation"]
    assert "EPSG:" in with_codes and "accuracy" in with_codes


def test_results_tell_the_operation_of_each_file_and_window(path):
    lambert = made(path, crs="EPSG:27700", transform=(10, 0, 400000, 0, -10, 300000))
    grid = strile.Grid.suggest(lambert, 4326)
    told = strile.read(lambert, grid=grid)
    assert told.operations == [told.attrs["coordinate_operation"]]
    batch = strile.read_batch(lambert, [(0, 0, 8, 8), (4, 4, 8, 8)], grid=grid)
    assert batch.operations == told.operations * 2
    assert strile.read(lambert).operations == []
    for lazy in (None, 32):
        array = strile.open_geotiff(lambert, grid=grid, chunks=lazy)
        assert array.attrs["coordinate_operation"] == told.operations[0]


def test_all_doors_have_the_same_pixels(path, grid):
    read = strile.read(path, grid=grid, resampling="bilinear").numpy()[0]
    handle = strile.open(path)
    others = [
        strile.read(handle, grid=grid, resampling="bilinear").numpy()[0],
        handle.read(1, grid=grid, resampling=Resampling.bilinear),
        strile.open_geotiff(path, grid=grid, resampling="bilinear").values,
        strile.open_geotiff(path, grid=grid, resampling="bilinear", chunks=50).values,
        strile.open_geotiff(path, grid=grid, resampling="bilinear", chunks="auto").values,
        strile.open_geotiff([path], grid=grid, resampling="bilinear").values,
        xr.open_dataset(path, engine="strile", grid=grid, resampling="bilinear", mask_and_scale=False).band_data.values[0],
        xr.open_dataset(path, engine="strile", grid=grid, resampling="bilinear", mask_and_scale=False, chunks={"y": 64}).band_data.values[0],
        np.concatenate(
            [strile.read(path, grid=grid, resampling="bilinear", window=(0, row, grid.width, min(37, grid.height - row))).numpy()[0]
             for row in range(0, grid.height, 37)]
        ),
    ]  # fmt: skip
    for number, other in enumerate(others):
        assert np.array_equal(read, other), number


def test_an_array_has_the_coordinates_of_the_grid(path, grid):
    array = strile.open_geotiff(path, grid=grid)
    assert array.dims == ("y", "x") and array.shape == grid.shape and array.name == "a"
    a, _, c, _, e, f = grid.transform
    assert np.allclose(array.x, c + a * (np.arange(grid.width) + 0.5), rtol=1e-14) and np.allclose(array.y, f + e * (np.arange(grid.height) + 0.5))
    assert array.attrs["transform"] == grid.transform and array.attrs["crs"] == 3857 and array.attrs["georef_status"] == "full"
    assert array.attrs["nodata"] == -9 and array.attrs["nodata_pixels_present"] is True and array.attrs["masked_nodata"] is False
    assert strile.Grid.like(array) == grid
    lazy = strile.open_geotiff(path, grid=grid, chunks=64)
    assert lazy.chunks[0][0] == 64 and {**lazy.attrs, "nodata_pixels_present": True} == array.attrs
    assert pickle.loads(pickle.dumps(lazy)).equals(array)


def test_masked_and_unpacked(tmp_path, grid):
    path = made(tmp_path / "b.tif", dtype="int16")
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = (0.5,), (10.0,)
    plain = strile.open_geotiff(path, grid=grid)
    masked = strile.open_geotiff(path, grid=grid, masked=True)
    assert plain.dtype == np.int16 and masked.dtype == np.float64
    assert np.array_equal(np.isnan(masked), plain == -9) and bool((masked == plain).where(plain != -9, True).all())
    unpacked = strile.open_geotiff(path, grid=grid, unpack=True)
    assert np.allclose(unpacked, masked * 0.5 + 10, equal_nan=True) and unpacked.attrs["scale_factor"] == 0.5
    assert np.isnan(strile.read(path, grid=grid, masked=True).numpy()).any()
    array = strile.open(path).read(1, grid=grid, masked=True)
    assert np.array_equal(array.mask, plain == -9)


@pytest.mark.parametrize("chunks", [None, 50])
def test_integers_become_floats_before_they_are_resampled(tmp_path, chunks):
    path = made(tmp_path / "a.tif", dtype="uint8", nodata=9)
    grid = strile.Grid.suggest(path, 3857, resolution=11)
    found = strile.open_geotiff(path, grid=grid, resampling="bilinear", tolerance=0, dtype="float32", chunks=chunks)
    with rasterio.open(path) as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=Affine(*grid.transform), width=grid.width, height=grid.height, resampling=Resampling.bilinear,
            tolerance=1e-9, dtype="float32",
        ) as warped:  # fmt: skip
            expected = warped.read(1)
    values = found.values
    assert values.dtype == np.float32 and (values % 1 != 0).any() and (values == 9).any() and np.abs(values - expected).max() < 1e-3
    nearest = strile.open_geotiff(path, grid=grid, dtype="float64")
    assert np.array_equal(nearest.values, strile.open_geotiff(path, grid=grid).values) and nearest.dtype == np.float64


def test_complex_samples_are_put_there_by_nearest(tmp_path):
    path = made(tmp_path / "a.tif", dtype="complex64", nodata=None)
    grid = strile.Grid.suggest(path, 3857, resolution=14)
    assert np.array_equal(strile.read(path, grid=grid, tolerance=0).numpy(), by_gdal(path, grid))
    for read in (strile.read, strile.plan, strile.open_geotiff):
        with pytest.raises(strile.StrileError, match=r"a\.tif.*`bilinear` of .* samples into .*`nearest`"):
            read(path, grid=grid, resampling="bilinear")


def test_the_grid_by_its_parts(path):
    assert strile.Grid.like(strile.open_geotiff(path, crs=3857)) == strile.Grid.suggest(path, 3857)
    array = strile.open_geotiff(path, crs="EPSG:4326", shape=(40, 60))
    assert array.shape == (40, 60) and array.attrs["crs"] == 4326
    array = strile.open_geotiff(path, resolution=20)
    assert array.shape == (60, 75) and array.attrs["crs"] == 32633
    bounds = (499603.0, 5538402.0, 500001.0, 5538801.0)
    array = strile.open_geotiff(path, bounds=bounds, resolution=10, target_aligned=True)
    assert array.attrs["transform"] == (10, 0, 499600, 0, -10, 5538810)
    array = strile.open_geotiff(path, bounds=bounds, shape=(10, 20))
    assert array.shape == (10, 20) and float(array.x[0]) == pytest.approx(499603 + 398 / 40)


def test_like_an_array_aligns_with_it(path, tmp_path):
    template = strile.open_geotiff(made(tmp_path / "b.tif", crs="EPSG:32632", transform=(23, 0, 929000, 0, -23, 5557000), shape=(30, 41)))
    found = strile.open_geotiff(path, like=template)
    assert np.array_equal(found.x, template.x) and np.array_equal(found.y, template.y)
    assert (found + template).shape == template.shape
    assert strile.open_geotiff(path, like=str(tmp_path / "b.tif")).equals(found)


def test_several_files_on_one_grid(tmp_path):
    one = made(tmp_path / "a.tif", nodata=0, shape=(60, 80))
    two = made(tmp_path / "b.tif", nodata=0, shape=(60, 80), crs="EPSG:32632", transform=(10, 0, 929900, 0, -10, 5556600), seed=3)
    grid = strile.Grid.from_bounds((499400, 5538000, 500600, 5539100), 32633, resolution=10)
    first, second = (strile.read(path, grid=grid).numpy() for path in (one, two))
    both = strile.read([one, two], grid=grid).numpy()
    assert ((first != 0) & (second != 0)).any()
    assert np.array_equal(both, np.where(second != 0, second, first))
    other = strile.open_geotiff([one, two], grid=grid, top="first")
    assert np.array_equal(other.values, np.where(first != 0, first, second)[0])
    assert np.array_equal(strile.open_geotiff([one, two], grid=grid, top="first", chunks=50).values, other.values)
    assert strile.open_geotiff([one, two], crs=3857).attrs["crs"] == 3857
    assert "a.tif" in strile.plan([one, two], grid=grid).explain()


def test_the_level_follows_from_the_grid(tmp_path):
    path = made(tmp_path / "a.tif", shape=(256, 256), nodata=None, overviews=[2, 4])
    for resolution, level in ((10, 0), (25, 1), (41, 2)):
        grid = strile.Grid.suggest(path, 32633, resolution=resolution)
        found = strile.read(path, grid=grid, tolerance=0).numpy()
        assert np.array_equal(found, by_gdal(path, grid, "nearest", level - 1 if level else None)), resolution
        assert np.array_equal(found, strile.read(path, grid=grid, tolerance=0, level=level).numpy())
        assert f"level  {level} of" in strile.plan(path, grid=grid).explain()
    coarse = strile.open_geotiff(path, grid=grid, tolerance=0, overview_level=0)
    assert not np.array_equal(coarse.values, found[0])


def test_a_turned_grid(path):
    angle = np.radians(30)
    turned = (10 * np.cos(angle), 10 * np.sin(angle), 499700.0, 10 * np.sin(angle), -10 * np.cos(angle), 5538500.0)
    grid = strile.Grid(32633, turned, (40, 50))
    array = strile.open_geotiff(path, grid=grid, tolerance=0)
    assert np.array_equal(array.values, by_gdal(path, grid)[0])
    assert "x" not in array.coords and array.attrs["rotated_affine"] == pytest.approx(turned)


def test_outside_is_missing(path):
    grid = strile.Grid.from_bounds((0, 0, 100, 100), 32633, resolution=10)
    assert (strile.read(path, grid=grid).numpy() == -9).all()
    assert (strile.read(path, grid=grid, fill=7).numpy() == 7).all()
    assert np.isnan(strile.read(path, grid=grid, masked=True).numpy()).all()


def test_what_the_file_does_not_say(tmp_path):
    path = made(tmp_path / "a.tif", nodata=None, dtype="uint8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = made(tmp_path / "b.tif", crs=None, nodata=None, dtype="uint8")
    grid = strile.Grid.suggest(path, 3857)
    with pytest.raises(strile.StrileError, match="reference system"):
        strile.read(bare, grid=grid)
    assert np.array_equal(strile.read(bare, grid=grid, source_crs=32633).numpy(), strile.read(path, grid=grid).numpy())
    value = int(strile.read(path).numpy()[0, 60, 60])
    assert (strile.read(path, grid=grid, nodata=value, fill=0).numpy() == value).sum() == 0


def test_into_the_callers_array(path, grid):
    out = np.zeros((1, *grid.shape), np.float32)
    assert strile.read(path, grid=grid, out=out) is out
    assert np.array_equal(out, strile.read(path, grid=grid).numpy())


def test_written_and_read_back(path, grid, tmp_path):
    strile.to_geotiff(strile.open_geotiff(path, grid=grid), str(tmp_path / "b.tif"))
    strile.to_geotiff(strile.read(path, grid=grid), str(tmp_path / "c.tif"))
    for name in ("b.tif", "c.tif"):
        with rasterio.open(tmp_path / name) as file:
            assert tuple(file.transform)[:6] == grid.transform and file.crs == "EPSG:3857" and file.nodata == -9
            assert np.array_equal(file.read(), strile.read(path, grid=grid).numpy())


def test_refused(path, grid, tmp_path):
    for words, call in (
        ("size", lambda: strile.read(path, grid=grid, size=10)),
        ("reduce", lambda: strile.read(path, grid=grid, reduce=1)),
        ("tolerance", lambda: strile.read(path, tolerance=0.1)),
        ("fill", lambda: strile.plan(path, fill=1)),
        ("top", lambda: strile.read(path, grid=grid, top="middle")),
        ("resampling", lambda: strile.read(path, grid=grid, resampling="gauss")),
        ("tolerance", lambda: strile.read(path, grid=grid, tolerance=-1)),
        ("tolerance", lambda: strile.read(path, grid=grid, tolerance=float("nan"))),
        ("level", lambda: strile.read(path, grid=grid, level=7)),
        ("datum_shift", lambda: strile.read(path, grid=grid, datum_shift="some")),
        ("window", lambda: strile.read(path, grid=grid, window=(0, 0, 100_000, 1))),
        ("expected one grid", lambda: strile.open_geotiff(path, grid=grid, crs=3857)),
        ("bbox", lambda: strile.open_geotiff(path, grid=grid, bbox=(0, 0, 1, 1))),
        ("window", lambda: strile.open_geotiff(path, grid=grid, window=(0, 0, 1, 1))),
        ("resampling", lambda: strile.open_geotiff(path, resampling="cubic")),
        ("resolution", lambda: strile.open_geotiff(path, resolution=10, shape=(3, 3))),
        ("at least one file", lambda: strile.open_geotiff([], grid=grid)),
        ("out_shape", lambda: strile.open(path).read(grid=grid, out_shape=(3, 3))),
        ("target grid", lambda: xr.open_dataset(path, engine="strile", coregister=True)),
        ("resampling", lambda: xr.open_dataset(path, engine="strile", resampling="cubic")),
    ):
        with pytest.raises(strile.StrileError, match=words):
            call()
    with pytest.raises(TypeError, match="grid is int"):
        strile.read(path, grid=7)
    with pytest.raises(strile.StrileError, match="operation"):
        # A datum of North America, which has no operation in Europe.
        strile.read(path, grid=strile.Grid("EPSG:4267", (0.01, 0, 14.9, 0, -0.01, 50.1), (20, 20)))


def template(grid):
    """An array on a grid, of one number in memory."""
    pixels = np.broadcast_to(np.uint8(0), grid.shape)
    return xr.DataArray(pixels, dims=("y", "x"), attrs={"crs": grid.crs, "transform": grid.transform})


# What reads a path onto a grid, with a limit on samples where it takes one.
DOORS = {
    "read": lambda path, grid, **limit: strile.read(path, grid=grid, **limit),
    "Dataset.read": lambda path, grid, **limit: strile.open(path).read(grid=grid, **limit),
    "open_geotiff": lambda path, grid, **limit: strile.open_geotiff(path, grid=grid, **limit).values,
    "open_geotiff lazy": lambda path, grid, **limit: strile.open_geotiff(path, grid=grid, chunks=500, **limit).values,
    "read_batch": lambda path, grid, **limit: strile.read_batch(path, [(0, 0, *grid.shape[::-1])], grid=grid, **limit),
    "engine": lambda path, grid, **limit: xr.open_dataset(path, engine="strile", grid=grid, mask_and_scale=False, **limit).band_data.values,
    "engine coregister": lambda path, grid, **limit: xr.open_dataset(path, engine="strile", coregister=template(grid), **limit).band_data.values,
    "reproject": lambda path, grid: strile.open_geotiff(path).strile.reproject(grid=grid).values,
    "coregister": lambda path, grid, **limit: template(grid).strile.open_geotiff(path, coregister=True, **limit).values,
}


def peak():
    """The most memory that the process has had, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.filterwarnings("ignore:.*covers only")
@pytest.mark.parametrize("shape", [(2**31 - 1, 2**31 - 1), (1, 2**31 - 1), (2**31 - 1, 1)], ids=["square", "row", "column"])
def test_absurd_grids_take_bounded_work(path, door, shape):
    before, begin = peak(), time.monotonic()
    with pytest.raises((strile.StrileError, MemoryError)):
        DOORS[door](path, strile.Grid(32633, UTM, shape))
    assert time.monotonic() - begin < 10 and peak() - before < 256 << 20


@pytest.mark.filterwarnings("ignore:.*covers only")
@pytest.mark.parametrize("door", [door for door in DOORS if door != "reproject"])
def test_grids_have_at_most_max_pixels(path, door):
    with pytest.raises(strile.PixelSafetyLimitError):
        DOORS[door](path, strile.Grid(32633, UTM, (500, 500)), max_pixels=1000)


@pytest.mark.parametrize("door", DOORS)
def test_grids_far_from_the_earth_have_no_pixels(path, door):
    far = strile.Grid("EPSG:3857", (1e20, 0, 1e25, 0, -1e20, 1e25), (10, 10))
    if "coregister" in door:
        with pytest.raises(strile.StrileError, match="does not overlap|outside|cannot"):
            DOORS[door](path, far)
    else:
        assert (np.asarray(DOORS[door](path, far)) == -9).all()


def test_sources_placed_by_control_points_and_polynomials_are_gdals(tmp_path):
    from rasterio.control import GroundControlPoint
    from rasterio.rpc import RPC
    from rasterio.warp import reproject

    points = [
        GroundControlPoint(row, column, 15 + column / 1000 + row * column / 4e5, 50 - row / 1000 + column * column / 1e6)
        for row in (0, 15, 30) for column in (0, 20, 40)
    ]  # fmt: skip
    one, east, north = ([float(at == place) for at in range(20)] for place in range(3))
    rpc = RPC(
        height_off=0, height_scale=500, lat_off=49.985, lat_scale=0.02, line_off=15, line_scale=-20, line_num_coeff=north,
        line_den_coeff=one, long_off=15.02, long_scale=0.03, samp_off=20, samp_scale=30, samp_num_coeff=east, samp_den_coeff=one,
    )  # fmt: skip
    row, column = np.mgrid[:30, :40]
    values = (10 + 3 * column + 2 * row).astype(np.float32)[None]
    grid = strile.Grid(3857, (70.0, 0, 1669800, 0, -70.0, 6446300), (60, 70))
    for name, placed, words in [
        ("gcp.tif", {"gcps": points, "crs": "EPSG:4326"}, {"gcps": points}),
        ("rpc.tif", {"rpcs": rpc}, {"rpcs": rpc}),
    ]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with rasterio.open(tmp_path / name, "w", driver="GTiff", width=40, height=30, count=1, dtype="float32", **placed) as file:
                file.write(values)
        found = strile.read(tmp_path / name, grid=grid, tolerance=0, resampling="bilinear").numpy()
        expected = np.zeros((1, *grid.shape), np.float32)
        reproject(
            values, expected, src_crs="EPSG:4326", dst_crs=grid.crs, dst_transform=rasterio.Affine(*grid.transform),
            resampling=Resampling.bilinear, **words,
        )  # fmt: skip
        both = (found > 0) & (expected > 0)
        assert both.mean() > 0.8 and ((found > 0) != (expected > 0)).sum() < 40, name
        # GDAL interpolates places, here within 0.03 pixels; values change by 3 per column and 2 per row.
        assert np.abs(found - expected)[both].max() < 0.3, name


def test_sources_without_a_place_are_refused_by_name(tmp_path):
    grid = strile.Grid(4326, (0.001, 0, 15, 0, -0.001, 50), (20, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(tmp_path / "plain.tif", "w", driver="GTiff", width=20, height=20, count=1, dtype="uint8", crs="EPSG:4326") as file:
            file.write(np.ones((1, 20, 20), np.uint8))
    with pytest.raises(strile.StrileError, match="transform"):
        strile.read(tmp_path / "plain.tif", grid=grid)


@pytest.mark.parametrize(
    "transform",
    [(10, 0, 499500, 0, -20, 5539000), (10, 0, 499500, 0, 10, 5538000), (-10, 0, 500500, 0, -10, 5539000), (1 / 3, 0, 499500.1, 0, -1 / 7, 5539000.7)],
    ids=["oblong", "south up", "mirrored", "odd"],
)
def test_a_file_stays_on_its_grid_in_its_own_system(tmp_path, transform):
    path = made(tmp_path / "a.tif", transform=transform)
    with rasterio.open(path) as file, WarpedVRT(file, crs=file.crs) as warped:
        expected, pixels = tuple(warped.transform)[:6], warped.read(1)
    for crs in (32633, "+proj=utm +zone=33 +datum=WGS84 +units=m"):
        found = strile.open_geotiff(path, crs=crs)
        assert strile.Grid.like(found).transform == pytest.approx(expected, rel=1e-14) and np.array_equal(found.values, pixels)
    assert strile.Grid.suggest(path, 32633).transform == pytest.approx(expected, rel=1e-14)
    # Edges of the polygon's box on those of pixels.
    left, bottom, right, top = strile.Grid.like(path).bounds
    a, e = abs(transform[0]), abs(transform[4])
    box = f"POLYGON (({left + 5 * a} {top - 5 * e}, {right - 5 * a} {top - 5 * e}, {right - 5 * a} {bottom + 5 * e}, {left + 5 * a} {top - 5 * e}))"
    part = strile.Grid.like(strile.open_geotiff(path, crs=32633, polygon=box))
    assert part.transform[:2] == pytest.approx(expected[:2], rel=1e-14)


LOCAL = 'LOCAL_CS["site",UNIT["metre",1],AXIS["Easting",EAST],AXIS["Northing",NORTH]]'


@pytest.mark.parametrize("crs", ["EPSG:27200", LOCAL])
def test_systems_that_cannot_be_projected_stay_what_they_are(tmp_path, crs):
    path = made(tmp_path / "a.tif", crs=crs, transform=(10, 0, 2_500_000, 0, -10, 6_000_000))
    grid = strile.Grid.from_bounds((2_500_003, 5_999_001, 2_500_997, 5_999_903), strile.Grid.like(path).crs, resolution=7)
    for method in ("nearest", "bilinear"):
        assert np.allclose(strile.read(path, grid=grid, resampling=method, tolerance=0).numpy(), by_gdal(path, grid, method), atol=1e-3)
    assert strile.open_geotiff(path, resolution=20).shape == (60, 75)
    clipped = strile.open_geotiff(path, polygon="POLYGON ((2500100 5999900, 2500500 5999900, 2500300 5999500, 2500100 5999900))")
    assert clipped.shape == (40, 40) and (clipped == -9).any() and (clipped != -9).any()
    with pytest.raises(strile.StrileError, match="New_Zealand_Map_Grid|neither projected nor geographic"):
        strile.open_geotiff(path, crs=4326)


@pytest.mark.parametrize("method", ["nearest", "bilinear"])
def test_a_grid_around_the_pole_has_no_hole_on_the_antimeridian(tmp_path, method):
    # The centres of pixels on a diagonal lie on the antimeridian, but for rounding.
    whole = made(tmp_path / "world.tif", crs="EPSG:4326", transform=(1, 0, -180, 0, -1, 90), shape=(180, 360), nodata=None)
    polar = strile.Grid("EPSG:3413", (25_000, 0, -2_000_000, 0, -25_000, 2_000_000), (160, 160))
    found = strile.read(whole, grid=polar, resampling=method, fill=-1).numpy()
    assert (found > 0).all(), f"{(found <= 0).sum()} pixels are missing"


def test_a_grid_beside_the_file_is_told(path):
    bounds = (0, 0, 10, 10)
    nowhere = strile.Grid.from_bounds(bounds, 3857, shape=(4, 4))
    doors = {
        "eager": lambda: strile.open_geotiff(path, crs=3857, bounds=bounds),
        "lazy": lambda: strile.open_geotiff(path, crs=3857, bounds=bounds, chunks=8),
        "several": lambda: strile.open_geotiff([path, path], grid=nowhere),
        "read": lambda: strile.read(path, grid=nowhere),
        "engine": lambda: xr.open_dataset(path, engine="strile", grid=nowhere),
    }
    for door in doors.values():
        with pytest.warns(UserWarning, match="does not overlap the source, so no pixel has a value") as found:
            door()
        assert [warning.filename for warning in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.open_geotiff(path, crs=3857)
        # The whole Earth, and a line across the file.
        strile.open_geotiff(path, crs=4326, bounds=(-180, -80, 180, 80), shape=(160, 360))
        strile.open_geotiff(path, bounds=(400_000, 5_538_500, 600_000, 5_538_501), shape=(1, 2000))


def test_several_files_need_a_grid(path):
    with pytest.raises(TypeError, match="a list of files, which are read onto one grid: pass crs=, grid= or like="):
        strile.open_geotiff([path, path])
