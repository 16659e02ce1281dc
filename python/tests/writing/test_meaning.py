"""What an array means is what is written: axes, missing pixels, names, scales, colours.

rasterio and rioxarray are the judges."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")
xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

import strile  # noqa: E402
from rasterio.transform import from_origin  # noqa: E402
from strile.backend import StrileBackend  # noqa: E402

UTM: dict[str, Any] = {"crs": "EPSG:32633", "transform": from_origin(500000, 4600000, 30, 30)}


def gdal(path: Path, pixels: Any, **profile: Any) -> Path:
    bands, rows, columns = pixels.shape
    words = {key: profile.pop(key) for key in ("scales", "offsets", "descriptions", "units") if key in profile}
    size = {"count": bands, "height": rows, "width": columns}
    with rasterio.open(path, "w", driver="GTiff", dtype=pixels.dtype, **size, **UTM, **profile) as file:
        file.write(pixels)
        for key, value in words.items():
            setattr(file, key, value)
    return path


def lazily(array: Any, lazy: bool) -> Any:
    return da.from_array(array, chunks=16) if lazy else array


# 4: axis order.


@pytest.mark.parametrize("lazy", [False, True])
def test_an_array_whose_bands_may_be_first_is_refused(tmp_path: Path, lazy: bool) -> None:
    source = gdal(tmp_path / "a.tif", np.ones((4, 64, 48), np.uint8))
    pixels = lazily(strile.open(source).read(), lazy)
    with pytest.raises(strile.StrileError, match=r"\(4, 64, 48\).*dims=\('band', 'y', 'x'\)"):
        strile.to_geotiff(pixels, tmp_path / "b.tif")
    assert not (tmp_path / "b.tif").exists()
    strile.to_geotiff(pixels, tmp_path / "b.tif", dims=("band", "y", "x"))
    with rasterio.open(tmp_path / "b.tif") as file:
        assert file.count == 4 and file.shape == (64, 48)


@pytest.mark.parametrize(
    ("shape", "bands"), [((64, 48, 3), 3), ((64, 48, 12), 12), ((3, 5, 4), 4), ((64, 48, 1), 1)]
)
def test_an_array_whose_bands_are_last_needs_no_names(tmp_path: Path, shape: tuple[int, ...], bands: int) -> None:
    strile.to_geotiff(np.zeros(shape, np.uint8), tmp_path / "a.tif")
    assert strile.open(tmp_path / "a.tif").count == bands


@pytest.mark.parametrize("shape", [(1, 64, 48), (8, 8, 8), (64, 12, 12), (12, 64, 48)])
def test_any_other_shape_asks_for_names(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(strile.StrileError, match="dims="):
        strile.to_geotiff(np.zeros(shape, np.uint8), tmp_path / "a.tif")


def test_columns_before_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(strile.StrileError, match="transpose"):
        strile.to_geotiff(xr.DataArray(np.zeros((5, 9)), dims=("x", "y")), tmp_path / "a.tif")


def test_a_raster_and_a_handle_know_their_axes_and_their_place(tmp_path: Path) -> None:
    pixels = np.arange(4 * 64 * 48, dtype=np.uint16).reshape(4, 64, 48)
    source = gdal(tmp_path / "a.tif", pixels, nodata=7, descriptions=("a", "b", "c", "d"))
    raster = strile.read(source, window=(10, 20, 30, 40), bands=[3, 1])
    with rasterio.open(source) as file:
        window = rasterio.windows.Window(10, 20, 30, 40)
        assert raster.transform == tuple(file.window_transform(window))[:6]
        assert raster.crs == "EPSG:32633" and raster.nodata == 7
    strile.to_geotiff(raster, tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert file.transform == from_origin(500300, 4599400, 30, 30) and file.crs == UTM["crs"]
        assert file.nodata == 7 and file.descriptions == ("c", "a")
        assert np.array_equal(file.read(), pixels[[2, 0], 20:60, 10:40])
    strile.to_geotiff(strile.open(source), tmp_path / "c.tif")
    assert strile.compare(source, tmp_path / "c.tif") == []


# 5: a nodata value that valid pixels hold.


@pytest.mark.parametrize("way", ["eager", "dask", "cog"])
def test_ndvi_that_is_0_is_not_written_as_missing(tmp_path: Path, way: str) -> None:
    red = (np.arange(64 * 48) % 5).astype(np.uint16).reshape(1, 64, 48)
    near = (np.arange(64 * 48) % 7).astype(np.uint16).reshape(1, 64, 48)
    source = gdal(tmp_path / "a.tif", np.concatenate([red, near]), nodata=0)
    bands = strile.open_geotiff(source, masked=True, chunks=16 if way == "dask" else None)
    with xr.set_options(keep_attrs=True):
        ndvi = (bands[..., 1] - bands[..., 0]) / (bands[..., 1] + bands[..., 0])
    values = np.asarray(ndvi)
    missing, zeros = int(np.isnan(values).sum()), int((values == 0).sum())
    assert missing and zeros
    with pytest.raises(strile.StrileError, match=rf"{missing:,} missing.*{zeros:,} valid pixels hold"):
        strile.to_geotiff(ndvi, tmp_path / "b.tif", cog=way == "cog")
    assert not (tmp_path / "b.tif").exists() and list(tmp_path.iterdir()) == [source]
    strile.to_geotiff(ndvi, tmp_path / "b.tif", nodata=float("nan"), cog=way == "cog")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert np.isnan(file.nodata) and np.array_equal(file.read(1), values, equal_nan=True)


def test_valid_pixels_that_read_as_missing_are_told_without_nan_too(tmp_path: Path) -> None:
    source = gdal(tmp_path / "a.tif", np.ones((1, 20, 20), np.uint16), nodata=0)
    array = strile.open_geotiff(source, masked=True)
    with xr.set_options(keep_attrs=True):
        array = array - 1
    with pytest.warns(UserWarning, match="400 pixels hold the nodata value 0"):
        strile.to_geotiff(array, tmp_path / "b.tif")


def test_an_unmasked_quotient_is_told(tmp_path: Path) -> None:
    """Missing pixels are NaN, as 0 / 0, and valid ones hold the nodata value: both were written as it without a word."""
    pixels = np.stack([np.arange(400) % 5, np.arange(400) % 7]).astype(np.float32).reshape(2, 20, 20)
    source = gdal(tmp_path / "a.tif", pixels, nodata=0)
    bands = strile.open_geotiff(source)
    with xr.set_options(keep_attrs=True), np.errstate(invalid="ignore"):
        ndvi = (bands[..., 1] - bands[..., 0]) / (bands[..., 1] + bands[..., 0])
    with pytest.warns(UserWarning, match="12 pixels are NaN and .* hold the nodata value 0"):
        strile.to_geotiff(ndvi, tmp_path / "b.tif")


def test_packing_finds_it_too(tmp_path: Path) -> None:
    pixels = np.arange(400, dtype=np.int16).reshape(1, 20, 20)
    pixels[0, 0, :5] = -1
    source = gdal(tmp_path / "a.tif", pixels, nodata=-1, scales=(0.5,), offsets=(3.0,))
    array = strile.open_geotiff(source, unpack=True)
    array[5, 5] = 2.5
    with pytest.raises(strile.StrileError, match="5 missing pixels .* which 1 valid pixels hold"):
        strile.to_geotiff(array, tmp_path / "b.tif", pack=True)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_value_that_no_valid_pixel_holds_is_written(tmp_path: Path, lazy: bool) -> None:
    pixels = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
    pixels[3:5] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.to_geotiff(lazily(pixels, lazy), tmp_path / "a.tif", nodata=-9999)
    with rasterio.open(tmp_path / "a.tif") as file:
        assert (file.read(1)[3:5] == -9999).all() and file.nodata == -9999


# 6: NaN is missing.


@pytest.mark.parametrize("chunks", [None, 16])
def test_where_makes_pixels_missing(tmp_path: Path, chunks: int | None) -> None:
    pixels = np.arange(64 * 48, dtype=np.float32).reshape(1, 64, 48)
    pixels[0, :4] = -9999
    source = gdal(tmp_path / "a.tif", pixels, nodata=-9999)
    array = strile.open_geotiff(source, chunks=chunks)
    with xr.set_options(keep_attrs=True):
        masked = array.where(array != array.attrs["nodata"])
    strile.to_geotiff(masked, tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert file.nodata == -9999 and np.array_equal(file.read(), pixels)


# 7: arithmetic with missing pixels.


@pytest.mark.parametrize("chunks", [None, 16])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_arithmetic_with_missing_pixels_is_told(tmp_path: Path, chunks: int | None, dtype: str) -> None:
    pixels = np.arange(64 * 48).astype(dtype).reshape(1, 64, 48)
    pixels[0, :4] = -9999
    source = gdal(tmp_path / "a.tif", pixels, nodata=-9999)
    with xr.set_options(keep_attrs=True):
        twice = strile.open_geotiff(source, chunks=chunks) * 2
    with pytest.warns(UserWarning, match="masked=False and changed since"):
        strile.to_geotiff(twice, tmp_path / "b.tif")


def test_pixels_of_the_file_are_written_without_a_word(tmp_path: Path) -> None:
    pixels = np.arange(64 * 48, dtype=np.float32).reshape(1, 64, 48)
    source = gdal(tmp_path / "a.tif", pixels, nodata=-9999)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.to_geotiff(strile.open_geotiff(source)[5:20, 3:9], tmp_path / "b.tif")
        strile.to_geotiff(strile.open_geotiff(source, chunks=16), tmp_path / "c.tif")


# 8: colours and masks.


def test_colours_of_the_file_are_kept_and_those_of_other_bands_are_not(tmp_path: Path) -> None:
    source = gdal(tmp_path / "a.tif", np.ones((4, 20, 20), np.uint8), photometric="rgb", alpha="yes")
    array = strile.open_geotiff(source)
    strile.to_geotiff(array, tmp_path / "b.tif")
    strile.to_geotiff(array.isel(band=[2, 1, 0]), tmp_path / "c.tif")
    strile.to_geotiff(array, tmp_path / "d.tif", photometric="minisblack")
    colours = []
    for name in "bcd":
        with rasterio.open(tmp_path / f"{name}.tif") as file:
            colours.append([one.name for one in file.colorinterp])
    assert colours[0] == ["red", "green", "blue", "alpha"]
    # Blue, green and red are no red, green and blue.
    assert colours[1] == ["gray", "undefined", "undefined"]
    assert colours[2] == ["gray", "undefined", "undefined", "alpha"]


@pytest.mark.parametrize("chunks", [None, 16])
def test_a_mask_is_kept_with_the_pixels_that_it_is_of(tmp_path: Path, chunks: int | None) -> None:
    mask = np.arange(64 * 48).reshape(64, 48) % 5 > 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        source = gdal(tmp_path / "a.tif", np.ones((1, 64, 48), np.uint8))
        with rasterio.open(source, "r+") as file:
            file.write_mask(mask)
    array = strile.open_geotiff(source, window=(4, 5, 50, 40), chunks=chunks)
    strile.to_geotiff(array, tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert np.array_equal(file.dataset_mask() > 0, mask[4:50, 5:40])
    with pytest.warns(UserWarning, match="the mask of the file"):
        strile.to_geotiff(array[::-1], tmp_path / "c.tif")


@pytest.mark.parametrize("way", ["eager", "dask", "handle", "engine"])
def test_a_palette_of_few_bits_is_kept(tmp_path: Path, way: str) -> None:
    table = {value: (value * 30, 255 - value * 20, value * 7, 255) for value in range(8)}
    pixels = (np.arange(400) % 8).astype(np.uint8).reshape(1, 20, 20)
    source = gdal(tmp_path / "a.tif", pixels, NBITS=4, photometric="palette")
    with rasterio.open(source, "r+") as file:
        file.write_colormap(1, table)
    array: Any = {
        "eager": lambda: strile.open_geotiff(source),
        "dask": lambda: strile.open_geotiff(source, chunks=16),
        "handle": lambda: strile.open(source),
        "engine": lambda: xr.open_dataset(source, engine=StrileBackend).band_data,
    }[way]()
    strile.to_geotiff(array, tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert {value: file.colormap(1)[value] for value in table} == table and np.array_equal(file.read(), pixels)


def test_a_colour_table_that_does_not_suit_is_told(tmp_path: Path) -> None:
    source = gdal(tmp_path / "a.tif", np.ones((1, 20, 20), np.uint8), photometric="palette")
    array = strile.open_geotiff(source)
    with xr.set_options(keep_attrs=True), pytest.warns(UserWarning, match="colour table is not written"):
        strile.to_geotiff(array * 0.5, tmp_path / "b.tif")


# Statements that contradict each other.


def test_a_reprojected_array_does_not_keep_its_old_system(tmp_path: Path) -> None:
    """rioxarray leaves `attrs["crs"]` alone, and it won over what the array says by now."""
    pytest.importorskip("rioxarray")
    source = gdal(tmp_path / "a.tif", np.ones((1, 20, 20), np.float32))
    array = strile.open_geotiff(source).rio.write_crs(32634)
    with pytest.raises(strile.ConflictingCRSError, match=r"attrs\['crs_wkt'\] is 32633 and the coordinate spatial_ref means 32634"):
        strile.to_geotiff(array, tmp_path / "b.tif")
    strile.to_geotiff(array, tmp_path / "b.tif", crs=32634)
    same = strile.open_geotiff(source).rio.write_crs(32633)
    strile.to_geotiff(same, tmp_path / "c.tif")
    with rasterio.open(tmp_path / "b.tif") as file, rasterio.open(tmp_path / "c.tif") as other:
        assert file.crs.to_epsg() == 32634 and other.crs.to_epsg() == 32633


def test_another_nodata_value_is_not_ignored(tmp_path: Path) -> None:
    pytest.importorskip("rioxarray")
    source = gdal(tmp_path / "a.tif", np.ones((1, 20, 20), np.float32), nodata=-9999)
    array = strile.open_geotiff(source).rio.write_nodata(-1)
    with pytest.raises(strile.ConflictingNodataError, match="-9999.* -1"):
        strile.to_geotiff(array, tmp_path / "b.tif")


# 9: names, scales, tags.


@pytest.fixture
def two(tmp_path: Path) -> Path:
    pixels = np.arange(2 * 20 * 20, dtype=np.int16).reshape(2, 20, 20)
    pixels[:, 0, :3] = -1
    words = {"scales": (0.5, 2.0), "offsets": (0.0, 6.0), "descriptions": ("red", "nir"), "units": ("m", "K")}
    return gdal(tmp_path / "two.tif", pixels, nodata=-1, **words)


def told(path: Path) -> list[tuple[Any, ...]]:
    with rasterio.open(path) as file:
        return list(zip(file.descriptions, file.scales, file.offsets, file.units, strict=True))


RED, NIR = ("red", 0.5, 0.0, "m"), ("nir", 2.0, 6.0, "K")


@pytest.mark.parametrize("chunks", [None, 16])
def test_selected_bands_keep_their_names_and_scales(tmp_path: Path, two: Path, chunks: int | None) -> None:
    array = strile.open_geotiff(two, chunks=chunks)
    chosen = {
        "isel": (array.isel(band=1), [NIR]),
        "list": (array.isel(band=[1, 0]), [NIR, RED]),
        "sel": (array.sel(band=1), [NIR]),
        "slice": (array.isel(band=slice(0, 1)), [RED]),
        "band": (strile.open_geotiff(two, band=1, chunks=chunks), [NIR]),
        "window": (array[5:9, 5:9], [RED, NIR]),
    }
    for name, (part, expected) in chosen.items():
        strile.to_geotiff(part, tmp_path / "b.tif")
        assert told(tmp_path / "b.tif") == expected, name


@pytest.mark.parametrize("options", [{}, {"mask_and_scale": False}, {"mask_and_scale": False, "masked": True}])
def test_the_engine_writes_what_rioxarray_writes(tmp_path: Path, two: Path, options: dict[str, bool]) -> None:
    pytest.importorskip("rioxarray")
    array = xr.open_dataset(two, engine=StrileBackend, **options).band_data
    array.strile.to_geotiff(tmp_path / "ours.tif")
    with rasterio.open(two) as before, rasterio.open(tmp_path / "ours.tif") as ours:
        assert ours.nodata == before.nodata and ours.dtypes == before.dtypes
        assert np.array_equal(ours.read(), before.read())
        assert ours.transform == before.transform and ours.crs == before.crs
    assert told(tmp_path / "ours.tif") == told(two)
    # rioxarray reads and writes bands that are scaled alike; one of them is.
    one = xr.open_dataset(two, engine=StrileBackend, **options).band_data.isel(band=[1])
    one.strile.to_geotiff(tmp_path / "one.tif")
    assert told(tmp_path / "one.tif") == [NIR]
    with rasterio.open(tmp_path / "one.tif") as ours, rasterio.open(two) as before:
        assert np.array_equal(ours.read(1), before.read(2)) and ours.nodata == -1


@pytest.mark.parametrize("reader", ["strile", "rasterio"])
@pytest.mark.parametrize("masked", [False, True])
def test_arrays_of_either_engine_are_written_as_by_rio_to_raster(tmp_path: Path, reader: str, masked: bool) -> None:
    pytest.importorskip("rioxarray")
    pixels = np.arange(400, dtype=np.int16).reshape(1, 20, 20)
    pixels[0, 0, :5] = -1
    source = gdal(tmp_path / "a.tif", pixels, nodata=-1, scales=(0.5,), offsets=(3.0,), descriptions=("heat",))
    engine: Any = StrileBackend if reader == "strile" else "rasterio"
    array = xr.open_dataset(source, engine=engine, mask_and_scale=masked).band_data
    array.rio.to_raster(tmp_path / "theirs.tif")
    array.strile.to_geotiff(tmp_path / "ours.tif")
    with rasterio.open(tmp_path / "theirs.tif") as theirs, rasterio.open(tmp_path / "ours.tif") as ours:
        for what in ("nodata", "dtypes", "scales", "offsets", "descriptions", "crs", "transform"):
            assert getattr(ours, what) == getattr(theirs, what), what
        assert np.array_equal(ours.read(), theirs.read())


def test_scales_of_values_that_changed_are_told(tmp_path: Path, two: Path) -> None:
    """Reflectances made by hand were written with the scale of the digital numbers, and read as a ten-thousandth."""
    with xr.set_options(keep_attrs=True):
        array = strile.open_geotiff(two, masked=True) * 0.5
    with pytest.warns(UserWarning, match="scale and offset of its file are written as they were"):
        strile.to_geotiff(array, tmp_path / "b.tif")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.to_geotiff(strile.open_geotiff(two)[3:9], tmp_path / "c.tif")


def test_a_band_that_is_a_variable_is_written_as_it_was(tmp_path: Path, two: Path) -> None:
    dataset = xr.open_dataset(two, engine=StrileBackend, band_as_variable=True)
    dataset.band_2.strile.to_geotiff(tmp_path / "b.tif")
    assert told(tmp_path / "b.tif") == [NIR]
    with rasterio.open(tmp_path / "b.tif") as ours, rasterio.open(two) as before:
        assert np.array_equal(ours.read(1), before.read(2)) and ours.nodata == -1


def test_what_was_computed_is_written_as_it_is(tmp_path: Path, two: Path) -> None:
    array = xr.open_dataset(two, engine=StrileBackend).band_data + 0.25
    array.strile.to_geotiff(tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert np.array_equal(file.read(), array.values, equal_nan=True) and file.scales == (1.0, 1.0)


def test_names_and_tags_that_a_caller_sets_need_no_flag(tmp_path: Path) -> None:
    array = xr.DataArray(
        np.zeros((2, 20, 20), np.uint8),
        dims=("band", "y", "x"),
        attrs={"long_name": ["red", "nir"], "units": "m", "gdal_metadata": {"SENSOR": "left & right", ("GAIN", 1): "2"}},
    )
    array.attrs["extra_tags"] = [(305, 2, 7, "strile")]
    strile.to_geotiff(array, tmp_path / "a.tif")
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.descriptions == ("red", "nir") and file.units == ("m", "m")
        assert file.tags()["SENSOR"] == "left & right" and file.tags(2)["GAIN"] == "2"
        assert file.tags()["TIFFTAG_SOFTWARE"] == "strile"
    named = array.drop_attrs().assign_coords(band=["red", "nir"])
    strile.to_geotiff(named, tmp_path / "b.tif")
    assert strile.open(tmp_path / "b.tif").descriptions == ("red", "nir")


def test_statistics_of_other_pixels_are_not_written(tmp_path: Path) -> None:
    source = gdal(tmp_path / "a.tif", np.ones((1, 20, 20), np.uint8))
    with rasterio.open(source, "r+") as file:
        file.update_tags(1, STATISTICS_MAXIMUM="1")
    array = strile.open_geotiff(source)
    for part, kept in ((array, True), (array[:5], False), (array + 1, False)):
        strile.to_geotiff(part, tmp_path / "b.tif")
        with rasterio.open(tmp_path / "b.tif") as file:
            assert ("STATISTICS_MAXIMUM" in file.tags(1)) == kept


# Friction.


def test_complex_numbers_are_written(tmp_path: Path) -> None:
    for dtype in ("complex64", "complex128"):
        pixels = (np.arange(400).reshape(20, 20) * (1 + 2j)).astype(dtype)
        strile.to_geotiff(pixels, tmp_path / "a.tif", cog=True)
        with rasterio.open(tmp_path / "a.tif") as file:
            assert file.dtypes == (dtype,) and np.array_equal(file.read(1), pixels)


def test_a_transform_is_given(tmp_path: Path) -> None:
    from affine import Affine

    for transform in (Affine(30, 0, 5e5, 0, -30, 4e6), Affine(30, 0, 5e5, 0, -30, 4e6) @ Affine.rotation(20)):
        strile.to_geotiff(np.zeros((20, 20), np.uint8), tmp_path / "a.tif", crs=32633, transform=transform)
        with rasterio.open(tmp_path / "a.tif") as file:
            assert file.transform.almost_equals(transform)


@pytest.mark.parametrize("chunks", [None, 16])
def test_control_points_are_read_and_written(tmp_path: Path, chunks: int | None) -> None:
    from rasterio.control import GroundControlPoint

    points = [GroundControlPoint(r, c, 10 + c * 0.1, 50 - r * 0.1, 0.0) for r in (0, 40) for c in (0, 60)]
    profile = {"driver": "GTiff", "dtype": "uint8", "count": 1, "height": 40, "width": 60}
    with rasterio.open(tmp_path / "a.tif", "w", **profile, gcps=points, crs="EPSG:4326") as file:
        file.write(np.arange(2400, dtype=np.uint32).astype(np.uint8).reshape(1, 40, 60))
    array = strile.open_geotiff(tmp_path / "a.tif", chunks=chunks)
    assert array.attrs["gcps"][0] == (0.0, 0.0, 10.0, 50.0, 0.0) and array.attrs["crs"] == 4326
    assert "transform" not in array.attrs and array.y.dtype == np.int64
    strile.to_geotiff(array[10:, 20:], tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        found, crs = file.gcps
        assert crs.to_epsg() == 4326
        assert [(p.row, p.col, p.x, p.y) for p in found] == [(p.row - 10, p.col - 20, p.x, p.y) for p in points]


def test_the_predictor_suits_the_type(tmp_path: Path) -> None:
    for dtype, predictor in (("float32", 3), ("int16", 2)):
        pixels = np.arange(64 * 64).astype(dtype).reshape(64, 64)
        strile.to_geotiff(pixels, tmp_path / "a.tif")
        assert strile.open(tmp_path / "a.tif").facts.level().predictor == predictor
        strile.to_geotiff(pixels, tmp_path / "a.tif", predictor=False)
        assert strile.open(tmp_path / "a.tif").facts.level().predictor == 1


@pytest.mark.parametrize("chunks", [None, 16])
def test_nodata_that_a_converted_array_cannot_hold_is_told(tmp_path: Path, chunks: int | None) -> None:
    heights = np.arange(48 * 64, dtype="float32").reshape(48, 64) % 200
    place: dict[str, Any] = {"crs": 32632, "transform": (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0)}
    full, holed, out = tmp_path / "full.tif", tmp_path / "holed.tif", tmp_path / "out.tif"
    strile.to_geotiff(heights, full, nodata=-9999, **place)
    with pytest.warns(UserWarning, match="nodata value -9999 of the array marks no pixel of uint8: pixels that were missing") as found:
        strile.to_geotiff(strile.open_geotiff(full, masked=True, chunks=chunks).astype("uint8"), out)
    assert [warning.filename for warning in found] == [__file__]
    # What was written has no missing pixel, and is written again without a word.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.to_geotiff(strile.open_geotiff(out, masked=True), tmp_path / "again.tif")
        strile.to_geotiff(strile.open_geotiff(full, masked=True).astype("uint8"), tmp_path / "given.tif", nodata=255)
    heights[3, 5] = -9999
    strile.to_geotiff(heights, holed, nodata=-9999, **place)
    if chunks is None:
        for masked in (True, False):
            array = strile.open_geotiff(holed, masked=masked).fillna(0).astype("uint8")
            with pytest.raises(strile.StrileError, match="the nodata value of the array is -9999, and pixels of uint8 hold"):
                strile.to_geotiff(array, tmp_path / "holed8.tif")
