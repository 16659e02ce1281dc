"""Files over an array, by the words of xarray-spatial: `coregister`, `auto_reproject`, `like`; and arrays on another grid."""

import warnings

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr
from affine import Affine
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT

WGS = (1 / 30, 0.0, -120.5, 0.0, -1 / 30, 45.5)


def made(path, *, crs="EPSG:4326", transform=WGS, shape=(30, 30), dtype="float32", nodata=None, scale=None):
    values = np.arange(shape[0] * shape[1]).reshape(1, *shape).astype(dtype)
    with rasterio.open(
        path, "w", driver="GTiff", width=shape[1], height=shape[0], count=1, dtype=dtype, crs=crs, transform=Affine(*transform), nodata=nodata
    ) as file:
        file.write(values)
        if scale is not None:
            file.scales = (scale,)
    return str(path)


def template(count=5, crs=4326):
    y, x = np.linspace(45.3, 44.7, count), np.linspace(-120.3, -119.7, count)
    return xr.DataArray(np.zeros((count, count), np.float32), dims=("y", "x"), coords={"y": y, "x": x}, attrs={"crs": crs})


def utm_template():
    y, x = 4_990_000.0 - 500 * np.arange(40), 700_000.0 + 500 * np.arange(50)
    return xr.DataArray(np.zeros((40, 50)), dims=("y", "x"), coords={"y": y, "x": x}, attrs={"crs": 32610})


def aligned(found, array):
    return found.sizes["y"] == array.sizes["y"] and np.array_equal(found.x, array.x) and np.array_equal(found.y, array.y)


def test_coregister_comes_on_the_grid_of_the_array(tmp_path):
    path = made(tmp_path / "a.tif")
    for array in (template(), utm_template()):
        found = array.strile.open_geotiff(path, coregister=True)
        assert aligned(found, array) and found.dtype == np.float32
        assert (found + array).shape == array.shape
        assert found.attrs["resampling"] == "bilinear"


def test_coregister_of_classes_takes_the_nearest_pixel(tmp_path):
    path = made(tmp_path / "a.tif", dtype="uint16")
    with pytest.warns(UserWarning, match="nearest pixel of uint16 samples"):
        found = template().strile.open_geotiff(path, coregister=True)
    assert found.attrs["resampling"] == "nearest" and bool((found % 1 == 0).all())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("cubic", "nearest"):
            found = template().strile.open_geotiff(path, coregister=True, resampling=method)
            assert found.attrs["resampling"] == method
        # Packed numbers are measured.
        packed = made(tmp_path / "b.tif", dtype="uint16", scale=0.1)
        assert template().strile.open_geotiff(packed, coregister=True).attrs["resampling"] == "bilinear"


def test_a_file_without_a_reference_system_has_that_of_the_array(tmp_path):
    known, unknown = made(tmp_path / "a.tif"), made(tmp_path / "b.tif", crs=None)
    found = template().strile.open_geotiff(unknown, coregister=True)
    assert aligned(found, template()) and np.array_equal(found.values, template().strile.open_geotiff(known, coregister=True).values)
    by_engine = xr.open_dataset(unknown, engine="strile", like=template())
    assert np.array_equal(by_engine.band_data.values[0], found.values)


@pytest.mark.parametrize("flipped", ["y", "x"])
def test_coregister_of_a_flipped_array(tmp_path, flipped):
    path = made(tmp_path / "a.tif")
    turned = template(8).isel({flipped: slice(None, None, -1)})
    found = turned.strile.open_geotiff(path, coregister=True)
    assert aligned(found, turned)
    straight = template(8).strile.open_geotiff(path, coregister=True).isel({flipped: slice(None, None, -1)})
    assert np.allclose(found.values, straight.values, atol=1e-3)


def test_coregister_of_an_irregular_array_is_an_error(tmp_path):
    array = template(8)
    x = array.x.to_numpy().copy()
    x[3] += 0.05
    with pytest.raises(strile.StrileError, match="x"):
        array.assign_coords(x=x).strile.open_geotiff(made(tmp_path / "a.tif"), coregister=True)


def test_coregister_takes_an_overview_that_suffices(tmp_path):
    path = tmp_path / "a.tif"
    values = np.add.outer(np.arange(256.0), np.arange(256.0)).astype("float32")
    array = xr.DataArray(
        values, dims=("y", "x"), coords={"y": 46 - (np.arange(256) + 0.5) / 128, "x": -121 + (np.arange(256) + 0.5) / 128}, attrs={"crs": 4326}
    )
    strile.to_geotiff(array, str(path), cog=True, tile_size=64)
    assert " level  2 of 64" in strile.plan(path, grid=strile.Grid.like(template(8)), resampling="bilinear").explain()
    found = template(8).strile.open_geotiff(path, coregister=True)
    full = template(8).strile.open_geotiff(path, coregister=True, overview_level=0)
    half = template(8).strile.open_geotiff(path, coregister=True, overview_level=1)
    assert np.allclose(found.values, full.values, atol=8) and np.allclose(half.values, full.values, atol=2)
    assert not np.array_equal(found.values, full.values)


def test_coregister_over_the_antimeridian(tmp_path):
    values = np.add.outer(np.arange(256.0), np.arange(256.0)).astype("float32")
    axes = {"y": np.linspace(59.99, 50.01, 256), "x": np.linspace(-179.99, 179.99, 256)}
    path = str(tmp_path / "a.tif")
    strile.to_geotiff(xr.DataArray(values, dims=("y", "x"), coords=axes, attrs={"crs": 4326}), path)
    y, x = np.linspace(6_210_000, 5_990_000, 8), np.linspace(632_000, 762_000, 8)
    utm = xr.DataArray(np.zeros((8, 8)), dims=("y", "x"), coords={"y": y, "x": x}, attrs={"crs": 32660})
    found = utm.strile.open_geotiff(path, coregister=True)
    assert aligned(found, utm) and np.isfinite(found.values).mean() > 0.8


def test_coregister_unpacks_and_is_nan_outside(tmp_path):
    path = made(tmp_path / "a.tif", dtype="int16", nodata=7, scale=0.5)
    y, x = np.linspace(45.7, 44.7, 31), np.linspace(-120.7, -119.7, 31)
    array = xr.DataArray(np.zeros((31, 31)), dims=("y", "x"), coords={"y": y, "x": x}, attrs={"crs": 4326})
    found = array.strile.open_geotiff(path, coregister=True)
    assert found.dtype == np.float64 and bool(np.isnan(found[0]).all()) and bool(np.isfinite(found[-1, -1]))
    assert found.attrs["scale_factor"] == 0.5 and float(found.max()) <= 450


def test_coregister_of_a_file_that_covers_little_warns(tmp_path):
    path = made(tmp_path / "a.tif", transform=(0.001, 0, -120.0, 0, -0.001, 45.0))
    with pytest.warns(UserWarning, match=r"covers only [\d.]+% of the caller grid.*mostly NaN"):
        found = template(100).strile.open_geotiff(path, coregister=True)
    assert aligned(found, template(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        template(100).strile.open_geotiff(path, auto_reproject=True)
        template().strile.open_geotiff(made(tmp_path / "b.tif"), coregister=True)


def test_coregister_of_a_file_elsewhere_is_an_error(tmp_path):
    path = made(tmp_path / "a.tif", transform=(0.001, 0, 10.0, 0, -0.001, 45.0))
    with pytest.raises(strile.StrileError, match="does not overlap the array"):
        template().strile.open_geotiff(path, coregister=True)


def test_without_words_it_is_a_window(tmp_path):
    path = made(tmp_path / "a.tif")
    found = template().strile.open_geotiff(path)
    whole = strile.open_geotiff(path)
    bounds = strile.Grid.like(template()).bounds
    assert found.equals(strile.open_geotiff(path, bbox=bounds)) and found.x.isin(whole.x).all() and found.shape != (5, 5)
    with pytest.raises(strile.StrileError, match="auto_reproject=True"):
        utm_template().strile.open_geotiff(path)


def test_auto_reproject_keeps_the_resolution_of_the_file(tmp_path):
    path = made(tmp_path / "a.tif")
    assert template().strile.open_geotiff(path, auto_reproject=True).equals(template().strile.open_geotiff(path))
    found = utm_template().strile.open_geotiff(path, auto_reproject=True)
    assert found.attrs["crs"] == 32610
    resolution = strile.Grid.suggest(path, 32610).resolution[0]
    assert strile.Grid.like(found).resolution == pytest.approx((resolution, resolution))
    assert strile.Grid.like(found).bounds[0] == strile.Grid.like(utm_template()).bounds[0]


def test_the_result_is_lazy_where_the_array_is(tmp_path):
    path = made(tmp_path / "a.tif")
    array = utm_template()
    found = array.chunk({"y": 16, "x": 20}).strile.open_geotiff(path, coregister=True)
    assert found.chunks == ((16, 16, 8), (20, 20, 10))
    light = array.chunk({"y": 16, "x": 20}).strile.open_geotiff(path, auto_reproject=True)
    assert light.data.chunksize[0] <= 16 and light.data.chunksize[1] <= 20
    for chunks in (10, np.int64(10), (10, 10)):
        assert array.strile.open_geotiff(path, coregister=True, chunks=chunks).data.chunksize == (10, 10)
    assert found.compute().equals(array.strile.open_geotiff(path, coregister=True).drop_attrs()) or np.array_equal(
        found.values, array.strile.open_geotiff(path, coregister=True).values, equal_nan=True
    )


def test_of_a_dataset(tmp_path):
    path = made(tmp_path / "a.tif")
    dataset = template().to_dataset(name="elevation")
    found = dataset.strile.open_geotiff(path, coregister=True, variable="elevation")
    assert found.equals(template().strile.open_geotiff(path, coregister=True))
    two = dataset.assign(other=template(9).rename(x="lon", y="lat"))
    assert found.equals(two.strile.open_geotiff(path, coregister=True, var="elevation"))
    by_engine = xr.open_dataset(path, engine="strile", like=two, var="elevation")
    assert np.array_equal(by_engine.band_data.values[0], found.values)
    with pytest.raises(strile.StrileError, match="var names the raster of a Dataset"):
        xr.open_dataset(path, engine="strile", like=template(), var="elevation")


def test_keywords_that_follow_from_the_array(tmp_path):
    path = made(tmp_path / "a.tif")
    with pytest.raises(strile.StrileError, match="follows from the array"):
        template().strile.open_geotiff(path, window=(0, 0, 1, 1))
    with pytest.raises(strile.StrileError, match="allow_rotated"):
        template().strile.open_geotiff(path, coregister=True, allow_rotated=True)
    with pytest.raises(TypeError, match="coregister"):
        template().strile.open_geotiff(path, coregister="yes")


def test_engine_reads_like_an_array(tmp_path):
    path = made(tmp_path / "a.tif")
    array = template()
    like = xr.open_dataset(path, engine="strile", like=array)
    explicit = xr.open_dataset(path, engine="strile", backend_kwargs={"like": array, "coregister": True})
    assert like.equals(explicit) and aligned(like.band_data, array)
    assert np.array_equal(like.band_data.values[0], array.strile.open_geotiff(path, coregister=True).values)
    part = xr.open_dataset(path, engine="strile", like=array, coregister=False)
    assert np.array_equal(part.band_data.values[0], array.strile.open_geotiff(path).values)
    assert np.array_equal(part.x, array.strile.open_geotiff(path).x)
    light = xr.open_dataset(path, engine="strile", like=utm_template(), auto_reproject=True)
    assert np.array_equal(light.band_data.values[0], utm_template().strile.open_geotiff(path, auto_reproject=True).values, equal_nan=True)
    assert "32610" in light.spatial_ref.attrs["crs_wkt"]
    of_dataset = xr.open_dataset(path, engine="strile", like=array.to_dataset(name="elevation"))
    assert aligned(of_dataset.band_data, array)


def test_engine_takes_the_array_as_the_value_of_coregister(tmp_path):
    path = made(tmp_path / "a.tif")
    for array in (template(), utm_template()):
        for word, others in (("coregister", {}), ("auto_reproject", {"auto_reproject": True})):
            found = xr.open_dataset(path, engine="strile", backend_kwargs={word: array})
            assert found.identical(xr.open_dataset(path, engine="strile", like=array, **others))
            expected = array.strile.open_geotiff(path, **{word: True})
            assert np.array_equal(found.band_data.values[0], expected.values, equal_nan=True)
            assert np.array_equal(found.x, expected.x) and np.array_equal(found.y, expected.y)
    # A raster of any kind, a flag that says the same, and both modes: the grid is that of the array.
    array, grid = template(), strile.Grid.like(template())
    expected = xr.open_dataset(path, engine="strile", like=array)
    two = xr.Dataset({"elevation": array, "coarse": (("v", "u"), np.zeros((2, 2)))})
    for words in (
        {"coregister": grid}, {"coregister": two, "var": "elevation"}, {"coregister": array, "auto_reproject": True},
        {"coregister": True, "auto_reproject": array}, {"coregister": array, "auto_reproject": False},
    ):  # fmt: skip
        found = xr.open_dataset(path, engine="strile", backend_kwargs=words)
        assert np.array_equal(found.band_data.values, expected.band_data.values)
    found = xr.open_dataset(path, engine="strile", coregister=made(tmp_path / "b.tif", shape=(10, 12)))
    assert found.band_data.shape == (1, 10, 12)


def test_engine_without_one_target_grid_is_an_error(tmp_path):
    path, array = made(tmp_path / "a.tif"), template()
    for kind, words, given in (
        (strile.StrileError, "coregister=True has no target grid", {"coregister": True}),
        (strile.StrileError, "auto_reproject=True has no target grid", {"auto_reproject": True}),
        (strile.StrileError, "target grid", {"resampling": "bilinear"}),
        (strile.StrileError, "target grid", {"var": "elevation"}),
        (strile.StrileError, "target grid", {"var": "elevation", "coregister": array}),
        (strile.StrileError, "coregister and auto_reproject are both rasters, and exactly one", {"coregister": array, "auto_reproject": array}),
        (strile.StrileError, "coregister and like are both", {"coregister": array, "like": array}),
        (strile.StrileError, "auto_reproject and like are both", {"auto_reproject": array, "like": array}),
        (strile.StrileError, "grid and a raster", {"coregister": array, "grid": strile.Grid.like(array)}),
        (FileNotFoundError, "no_raster.tif", {"coregister": "no_raster.tif"}),
        (TypeError, "coregister is int: expected True, False, or the raster", {"coregister": 1}),
        (TypeError, "auto_reproject is ndarray", {"auto_reproject": np.zeros((3, 3))}),
    ):
        with pytest.raises(kind, match=words):
            xr.open_dataset(path, engine="strile", backend_kwargs=given)
    plain = xr.open_dataset(path, engine="strile")
    for given in ({"coregister": False}, {"auto_reproject": False}, {"coregister": None}):
        assert xr.open_dataset(path, engine="strile", backend_kwargs=given).identical(plain)


def test_engine_puts_many_files_on_one_grid(tmp_path):
    paths = [made(tmp_path / f"{number}.tif") for number in range(2)]
    found = xr.open_mfdataset(paths, engine="strile", combine="nested", concat_dim="tile", like=template())
    assert found.sizes["tile"] == 2 and np.array_equal(found.x, template().x)
    expected = template().strile.open_geotiff(paths[0], coregister=True).values
    assert np.array_equal(found.band_data.values[:, 0], [expected, expected])
    by_value = xr.open_mfdataset(paths, engine="strile", combine="nested", concat_dim="tile", backend_kwargs={"coregister": template()})
    assert by_value.identical(found)


@pytest.mark.parametrize("method", ["nearest", "bilinear", "average"])
def test_arrays_are_reprojected_as_gdal_does(tmp_path, method):
    array = strile.open_geotiff(made(tmp_path / "a.tif", nodata=-1))
    array[3:6, 4:9] = np.nan
    found = array.strile.reproject(32610, resolution=2000, resampling=method, tolerance=0)
    grid = strile.Grid.like(found)
    strile.to_geotiff(array, str(tmp_path / "b.tif"), nodata=float("nan"))
    with rasterio.open(tmp_path / "b.tif") as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=Affine(*grid.transform), width=grid.width, height=grid.height, resampling=Resampling[method],
            tolerance=1e-9, nodata=float("nan"),
        ) as warped:  # fmt: skip
            expected = warped.read(1)
    assert grid.crs == "EPSG:32610" and np.isnan(expected).any() and grid.resolution == (2000, 2000)
    values = np.where(found.values == -1, np.nan, found.values)
    assert np.allclose(values, expected, rtol=1e-5, equal_nan=True)


def test_a_reprojected_array_keeps_its_form(tmp_path):
    array = strile.open_geotiff(made(tmp_path / "a.tif", dtype="int16", nodata=7))
    stacked = xr.concat([array, array + 1], dim="band").assign_coords(band=["red", "nir"])
    found = stacked.strile.reproject(like=utm_template())
    assert found.dims == ("band", "y", "x") and list(found.band.values) == ["red", "nir"] and aligned(found, utm_template())
    assert found.dtype == np.int16 and found.attrs["nodata"] == 7
    lonlat = array.rename({"y": "lat", "x": "lon"})
    assert lonlat.strile.reproject(3857).dims == ("lat", "lon")
    with pytest.raises(strile.StrileError, match="dask"):
        array.chunk(10).strile.reproject(3857)
    with pytest.raises(strile.StrileError, match="expected one grid"):
        array.strile.reproject()
    with pytest.raises(strile.StrileError, match="reference system|crs"):
        xr.DataArray(np.zeros((3, 3)), dims=("y", "x")).strile.reproject(3857)


@pytest.mark.parametrize("form", ["strile", "unpacked", "engine", "rioxarray", "rioxarray unmasked"])
def test_missing_pixels_of_a_reprojected_array_stay_missing(tmp_path, form):
    dtype = "float32" if form == "rioxarray unmasked" else "int16"
    path = made(tmp_path / "a.tif", dtype=dtype, nodata=-9, scale=0.5)
    with rasterio.open(path, "r+") as file:
        values = file.read()
        values[:, 10:15, 8:20] = -9
        file.write(values)
    array = {
        "strile": lambda: strile.open_geotiff(path, masked=True),
        "unpacked": lambda: strile.open_geotiff(path, unpack=True),
        "engine": lambda: xr.open_dataset(path, engine="strile").band_data,
        "rioxarray": lambda: pytest.importorskip("rioxarray").open_rasterio(path, masked=True, mask_and_scale=True),
        "rioxarray unmasked": lambda: pytest.importorskip("rioxarray").open_rasterio(path),
    }[form]()
    found = array.strile.reproject(32610, resolution=2500, tolerance=0)
    grid = strile.Grid.like(found)
    with rasterio.open(path) as file:
        with WarpedVRT(
            file, crs=grid.crs, transform=Affine(*grid.transform), width=grid.width, height=grid.height, tolerance=1e-9
        ) as warped:  # fmt: skip
            stored = warped.read(1).astype("float64")
    scale = 0.5 if form in ("unpacked", "engine", "rioxarray") else 1.0
    expected = np.where(stored == -9, np.nan, stored * scale)
    values = found.values.reshape(expected.shape)
    if form == "rioxarray unmasked":
        values = np.where(values == -9, np.nan, values)
    assert np.isnan(expected).any() and np.array_equal(values, expected, equal_nan=True)
    assert found.dims == array.dims and found.dtype == array.dtype


def test_a_file_placed_by_control_points_over_an_array(tmp_path):
    from rasterio.control import GroundControlPoint

    points = [
        GroundControlPoint(row, column, 700_000 + 500 * column + row * column, 4_990_000 - 500 * row) for row in (0, 20, 40) for column in (0, 25, 50)
    ]
    path = str(tmp_path / "a.tif")
    with rasterio.open(path, "w", driver="GTiff", width=50, height=40, count=1, dtype="float32", gcps=points, crs="EPSG:32610") as file:
        file.write(np.arange(2000, dtype=np.float32).reshape(1, 40, 50))
    array = utm_template()
    for words in ({}, {"order": 1}, {"tps": True}):
        expected = strile.open_geotiff(path, like=array, resampling="bilinear", masked=True, **words)
        found = array.strile.open_geotiff(path, coregister=True, **words)
        assert np.array_equal(found.values, expected.values, equal_nan=True) and np.isfinite(found.values).mean() > 0.9
        by_engine = xr.open_dataset(path, engine="strile", like=array, **words)
        assert np.array_equal(by_engine.band_data.values[0], expected.values, equal_nan=True)
        light = array.strile.open_geotiff(path, auto_reproject=True, **words)
        assert light.attrs["crs"] == 32610 and np.isfinite(light.values).mean() > 0.9
    lonlat = template().assign_coords(x=template().x - 0.3, y=template().y + 0.1)
    assert aligned(lonlat.strile.open_geotiff(path, coregister=True), lonlat)
    with pytest.raises(strile.StrileError, match="auto_reproject=True"):
        array.strile.open_geotiff(path)


def test_words_about_datums_and_systems_reach_the_file(tmp_path):
    chinese = made(tmp_path / "a.tif", crs="EPSG:4490", transform=(0.01, 0, 116.0, 0, -0.01, 40.0))
    axes = {"y": 39.9 - 0.01 * np.arange(5), "x": 116.1 + 0.01 * np.arange(5)}
    array = xr.DataArray(np.zeros((5, 5)), dims=("y", "x"), coords=axes, attrs={"crs": 4326})
    with pytest.raises(strile.StrileError, match="datum_shift"):
        array.strile.open_geotiff(chinese, coregister=True)
    # In the system of the array, neither datum_shift nor resampling has anything to do.
    same = made(tmp_path / "b.tif", transform=(0.01, 0, 116.0, 0, -0.01, 40.0))
    for path in (chinese, same):
        for words in ({"coregister": True}, {"auto_reproject": True}):
            found = array.strile.open_geotiff(path, datum_shift="none", resampling="bilinear", **words)
            assert np.isfinite(found.values).all()
            by_engine = xr.open_dataset(path, engine="strile", like=array, datum_shift="none", resampling="bilinear", **words)
            assert np.array_equal(by_engine.band_data.values[0], found.values)
    # The file is in another system than it says.
    wrong = made(tmp_path / "c.tif", crs="EPSG:32650", transform=(0.01, 0, 116.0, 0, -0.01, 40.0))
    expected = array.strile.open_geotiff(same, coregister=True)
    assert np.array_equal(array.strile.open_geotiff(wrong, coregister=True, source_crs=4326).values, expected.values)
    by_engine = xr.open_dataset(wrong, engine="strile", like=array, source_crs=4326)
    assert np.array_equal(by_engine.band_data.values[0], expected.values)
