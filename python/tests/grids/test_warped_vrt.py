"""Warped VRTs, written by rasterio's WarpedVRT, beside GDAL's own pixels of them."""

import numpy as np
import pytest
import rasterio
import rasterio.shutil
import strile
import xarray as xr
from affine import Affine
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT

KINDS = {"uint8": (3, None), "int16": (1, -99), "uint16": (1, 0), "float32": (2, np.nan), "float64": (1, -1e30)}


def source(path, dtype, transform=None):
    bands, nodata = KINDS[dtype]
    transform = transform or Affine(30, 0, 500_000, 0, -30, 5_500_000)
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:150, :200]
    values = [120 + 60 * np.sin(x / 37 + band) + 40 * np.cos(y / 23) + rng.integers(0, 20, x.shape) for band in range(bands)]
    values = np.stack(values).astype(dtype)
    if nodata is not None:
        values[:, 40:60, 50:90] = nodata
    with rasterio.open(
        path, "w", driver="GTiff", width=200, height=150, count=bands, dtype=dtype, crs="EPSG:32633", nodata=nodata,
        transform=transform, tiled=True, blockxsize=64, blockysize=64,
    ) as file:  # fmt: skip
        file.write(values)
    return path


def warped(folder, stored="int16", method="nearest", crs="EPSG:32634", tolerance=0, **options):
    target = folder / "warped.vrt"
    with rasterio.open(source(folder / "source.tif", stored)) as file:
        with WarpedVRT(file, crs=crs, resampling=Resampling[method], tolerance=tolerance, **options) as vrt:
            rasterio.shutil.copy(vrt, target, driver="VRT")
    return str(target)


def by_gdal(path, **options):
    with rasterio.open(path) as file:
        return file.read(**options)


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:4326", "EPSG:32634", "EPSG:32633"])
@pytest.mark.parametrize("dtype", KINDS)
def test_nearest_pixels_are_gdals(tmp_path, dtype, crs):
    path = warped(tmp_path, dtype, crs=crs)
    np.testing.assert_array_equal(strile.read(path), by_gdal(path))


# In zone 34 a pixel is as large as in zone 33: no kernel is widened, which GDAL does otherwise (docs/correctness.md).
@pytest.mark.parametrize("method", ["bilinear", "cubic", "cubic_spline", "average", "max", "med", "q1", "rms"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_computed_pixels_are_gdals(tmp_path, dtype, method):
    path = warped(tmp_path, dtype, method)
    found, expected = strile.read(path), by_gdal(path)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1 if dtype != "float32" else 1e-3)


def of_zeros(folder, dtype, **options):
    """A VRT of a file that is 0 but for a square, by the nearest pixel."""
    values = np.zeros((1, 60, 80), dtype)
    values[0, 20:40, 30:60] = 50
    place = Affine(30, 0, 500_000, 0, -30, 5_500_000)
    with rasterio.open(
        folder / "zeros.tif", "w", driver="GTiff", width=80, height=60, count=1, dtype=dtype, crs="EPSG:32633", transform=place
    ) as file:  # fmt: skip
        file.write(values)
    target = folder / "zeros.vrt"
    with rasterio.open(folder / "zeros.tif") as file:
        with WarpedVRT(file, crs="EPSG:32634", tolerance=0, **options) as vrt:
            rasterio.shutil.copy(vrt, target, driver="VRT")
    return str(target)


@pytest.mark.parametrize(
    "options",
    [{}, {"nodata": 7}, {"src_nodata": 0}, {"src_nodata": 50}, {"src_nodata": 0, "nodata": 7}, {"INIT_DEST": "50"}],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_values_that_mean_nothing_elsewhere(tmp_path, dtype, options):
    path = of_zeros(tmp_path, dtype, **options)
    np.testing.assert_array_equal(strile.read(path), by_gdal(path))


@pytest.mark.parametrize("working", ["Byte", "Int16", "Float32"])
def test_the_nodata_value_is_avoided_in_the_working_type(tmp_path, working):
    # 50 becomes 49, or the next float, which is 50 again as a byte.
    path = of_zeros(tmp_path, "uint8", nodata=50, resampling=Resampling.bilinear)
    text = open(path).read().replace("<WorkingDataType>Byte<", f"<WorkingDataType>{working}<")
    (tmp_path / "zeros.vrt").write_text(text)
    found, expected = np.asarray(strile.read(path)), by_gdal(path)
    within = np.isin(expected, [49, 50])
    assert within.sum() > 400
    np.testing.assert_array_equal(found[within], expected[within])


def test_a_type_that_does_not_hold_the_source_is_refused(tmp_path):
    # GDAL makes bytes of the samples first, which have no -99 then.
    path = warped(tmp_path, "int16", dtype="uint8", nodata=1)
    with pytest.raises(strile.UnsupportedGeoTIFFFeatureError, match="it has int16 samples, which are computed as uint8"):
        strile.read(path)


def test_a_type_and_a_grid_that_the_vrt_states(tmp_path):
    grid = {"transform": Affine(45, 0, 501_000, 0, -45, 5_499_000), "width": 90, "height": 70}
    # rasterio opens no grid of its own with a tolerance of 0.
    path = warped(tmp_path, "int16", "average", crs="EPSG:32633", tolerance=0.125, dtype="float32", **grid)
    found, expected = strile.read(path), by_gdal(path)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_doors(tmp_path):
    path = warped(tmp_path, tolerance=0.125)
    expected = by_gdal(path)[0]
    array = strile.open_geotiff(path)
    with rasterio.open(path) as file:
        assert array.attrs["crs"] == 32634 and array.attrs["nodata"] == -99
        np.testing.assert_allclose(array.x[0], (file.transform @ Affine.translation(0.5, 0.5)).c)
        valid = file.read_masks(1) != 0
    assert (np.asarray(array) != expected).mean() < 0.02, "places within 1/8 pixel"
    assert np.array_equal(array, np.asarray(strile.read(path))[0])
    lazy = strile.open_geotiff(path, chunks=64, masked=True)
    assert np.array_equal(np.isnan(lazy.compute()), np.asarray(array) == -99)
    assert (np.isnan(lazy.values) == valid).mean() < 0.02
    part = np.asarray(strile.read(path, window=(20, 30, 50, 40)))
    assert np.array_equal(part[0], array[30:70, 20:70])
    with xr.open_dataset(path, engine="strile") as data:
        assert np.array_equal(np.nan_to_num(data["band_data"][0].values, nan=-99), array)
    written = strile.convert(path, tmp_path / "written.tif", format="cog")
    assert np.array_equal(by_gdal(tmp_path / "written.tif")[0], array), written
    again = np.asarray(strile.read(path, grid=strile.Grid.suggest(path, 3857, resolution=200)))
    assert again.shape[0] == 1 and (again != -99).any()


@pytest.mark.parametrize("west, is_read", [(-180, True), (-100, True), (170, False), (-190, False)])
def test_a_grid_around_the_earth(tmp_path, west, is_read):
    # Without a reprojection GDAL has no value beyond the edge; strile would go on at the other one.
    values = np.random.default_rng(3).integers(1, 255, (180, 360), np.uint8)
    with rasterio.open(
        tmp_path / "earth.tif", "w", driver="GTiff", width=360, height=180, count=1, dtype="uint8", crs="EPSG:4326",
        transform=Affine(1, 0, -180, 0, -1, 90),
    ) as file:  # fmt: skip
        file.write(values, 1)
    path = tmp_path / "earth.vrt"
    grid = {"transform": Affine(1, 0, west, 0, -1, 60), "width": 30, "height": 20}
    with rasterio.open(tmp_path / "earth.tif") as file, WarpedVRT(file, crs="EPSG:4326", **grid) as vrt:
        rasterio.shutil.copy(vrt, path, driver="VRT")
    if is_read:
        np.testing.assert_array_equal(strile.read(path), by_gdal(path))
        return
    with pytest.raises(strile.UnsupportedGeoTIFFFeatureError, match="a whole turn apart, without a reprojection"):
        strile.read(path)


def test_a_source_that_is_turned(tmp_path):
    turned = Affine.translation(500_000, 5_500_000) @ Affine.rotation(-25) @ Affine.scale(30, -30)
    target = tmp_path / "turned.vrt"
    with rasterio.open(source(tmp_path / "turned.tif", "int16", turned)) as file:
        with WarpedVRT(file, crs="EPSG:32634", tolerance=0) as vrt:
            rasterio.shutil.copy(vrt, target, driver="VRT")
    np.testing.assert_array_equal(strile.open_geotiff(str(target)), by_gdal(target)[0])


def test_what_the_vrt_does_not_use_is_not_used_silently(tmp_path):
    # A nodata value of the file that WarpedVRT was told to ignore would be taken into account.
    path = warped(tmp_path, add_alpha=True)
    with pytest.raises(strile.VRTUnsupportedError, match="`DstAlphaBand` is not read"):
        strile.read(path)
    text = open(warped(tmp_path)).read().replace("<SrcNoDataReal>-99</SrcNoDataReal>", "")
    (tmp_path / "none.vrt").write_text(text)
    with pytest.raises(strile.StrileError, match="a nodata value that the VRT does not use"):
        strile.read(tmp_path / "none.vrt")
