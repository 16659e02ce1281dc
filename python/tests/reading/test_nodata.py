"""Nodata values, masks, scale and offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rasterio
import strile

ABOUT_NODATA = {"nodata", "masked_nodata", "nodata_pixels_present", "nodata_dtype_cast", "mask_source"}


def stated(text: str) -> tuple[int, str, int, str]:
    return (42113, "s", 0, text)


def test_unmasked_by_default(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    array = read(gtiff(pixels, nodata=7))
    assert array.dtype == np.uint8
    assert array.attrs["nodata"] == 7
    assert array.attrs["masked_nodata"] is False


def test_presence_is_known_to_eager_reads_alone(gtiff: Any, pixels: np.ndarray) -> None:
    pixels[pixels == 9] = 10
    pixels[0, 0] = 7
    for nodata, present in ((7, True), (9, False)):
        path = gtiff(pixels, nodata=nodata, name=f"{nodata}.tif")
        for masked in (False, True):
            assert strile.open_geotiff(path, masked=masked).attrs["nodata_pixels_present"] is present
            assert "nodata_pixels_present" not in strile.open_geotiff(path, masked=masked, chunks=8).attrs
    path = gtiff(pixels, nodata=7)
    assert strile.open_geotiff(path, window=(0, 0, 1, 1)).attrs["nodata_pixels_present"] is True
    assert strile.open_geotiff(path, window=(5, 5, 6, 6)).attrs["nodata_pixels_present"] is bool(pixels[5, 5] == 7)


def test_integers_become_float64(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    array = read(gtiff(pixels, nodata=7), masked=True)
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array.values, np.where(pixels == 7, np.nan, pixels))
    assert array.attrs["masked_nodata"] is True
    assert array.attrs["nodata"] == 7


def test_they_do_so_without_a_hit(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    array = read(gtiff(pixels, nodata=255), masked=True)
    assert array.dtype == np.float64
    assert array.attrs["masked_nodata"] is True


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_keep_their_width(read: Any, tagged: Any, dtype: str) -> None:
    values = np.array([[0.1, np.nan, 2.5], [0.1, 7, -1]], dtype=dtype)
    array = read(tagged(values, stated("0.1")), masked=True)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array.values, np.where(values == values.dtype.type(0.1), np.nan, values))


def test_nan_of_the_file_is_no_nodata(tagged: Any) -> None:
    values = np.array([[np.nan, 2.5]], dtype="float32")
    array = strile.open_geotiff(tagged(values, stated("-9999")), masked=True)
    assert array.attrs["nodata_pixels_present"] is False


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("bands", [1, 3])
def test_complex_pixels_are_masked_as_gdal_masks_them(read: Any, gtiff: Any, pixels: np.ndarray, dtype: str, bands: int) -> None:
    waves = np.stack([pixels + band + 1j * (pixels % 5) for band in range(bands)]).astype(dtype)
    path = gtiff(waves, nodata=9)
    with rasterio.open(path) as file:
        hidden = file.read_masks() == 0
    assert hidden.any() and (waves[hidden].imag != 0).any()
    found = read(path, masked=True)
    assert found.dtype == dtype
    expected = np.where(hidden, np.nan, waves)
    np.testing.assert_array_equal(found.values, expected[0] if bands == 1 else np.moveaxis(expected, 0, -1))
    np.testing.assert_array_equal(strile.read(path, masked=True).numpy(), expected)


def test_half_floats_are_masked_alike_by_eager_and_lazy_reads(tagged: Any) -> None:
    # The half float that is nearest to -9999 is another number.
    values = np.array([[1.5, -9999, 7], [np.nan, 2, -9999]], dtype="float16")
    for text, masked in (("-9999", False), ("7", True)):
        path = tagged(values, stated(text))
        eager, lazy = (strile.open_geotiff(path, masked=True, chunks=chunks) for chunks in (None, 2))
        expected = np.where(values == 7, np.nan, values.astype("float32")) if masked else values.astype("float32")
        np.testing.assert_array_equal(eager.values, expected)
        np.testing.assert_array_equal(lazy.values, expected)
        assert eager.attrs["masked_nodata"] is lazy.attrs["masked_nodata"] is masked


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_white_is_zero_is_inverted_before_it_is_scaled(read: Any, tagged: Any, dtype: str) -> None:
    stored = np.arange(24, dtype=dtype).reshape(4, 6)
    xml = '<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.5</Item></GDALMetadata>'
    path = tagged(stored, stated("5"), (42112, "s", 0, xml), photometric="miniswhite")
    inverted = 255.0 - stored if dtype == "uint8" else -stored
    np.testing.assert_array_equal(read(path, unpack=True).values, np.where(stored == 5, np.nan, inverted * 0.5))
    np.testing.assert_array_equal(read(path).values, 255 - stored if dtype == "uint8" else -stored)


@pytest.mark.parametrize(("dtype", "value"), [("int64", -(2**63) + 7), ("uint64", 2**64 - 9)])
def test_wide_integers_are_exact(read: Any, tagged: Any, dtype: str, value: int) -> None:
    values = np.array([[value, value + 1, value - 1]], dtype=dtype)
    path = tagged(values, stated(str(value)))
    array = read(path)
    assert array.attrs["nodata"] == value
    assert type(array.attrs["nodata"]) is int
    np.testing.assert_array_equal(np.isnan(read(path, masked=True).values), [[True, False, False]])


@pytest.mark.parametrize("text", ["3.5", "nan", "inf"])
def test_values_no_integer_can_have(read: Any, tagged: Any, pixels: np.ndarray, text: str) -> None:
    path = tagged(pixels, stated(text))
    with pytest.raises(strile.InvalidIntegerNodataError):
        read(path)
    array = read(path, allow_invalid_nodata=True, masked=True)
    assert array.dtype == np.uint8
    assert array.attrs["masked_nodata"] is False
    np.testing.assert_array_equal(array.values, pixels)


def test_values_out_of_range_mask_nothing(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    array = read(tagged(pixels, stated("-9999")), masked=True)
    assert array.dtype == np.uint8
    assert array.attrs["nodata"] == -9999
    assert array.attrs["masked_nodata"] is False


@pytest.mark.parametrize("text", [None, "abc"])
def test_no_value_no_attributes(read: Any, tagged: Any, pixels: np.ndarray, text: str | None) -> None:
    array = read(tagged(pixels, *([stated(text)] if text else [])), masked=True)
    assert array.dtype == np.uint8
    assert not ABOUT_NODATA & set(array.attrs)


def test_a_mask_image_masks_where_there_is_no_value(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    valid = pixels > 50
    path = gtiff(pixels, after=lambda file: file.write_mask(valid), env={"GDAL_TIFF_INTERNAL_MASK": "YES"})
    plain = read(path)
    assert plain.dtype == np.uint8
    assert not ABOUT_NODATA & set(plain.attrs)
    array = read(path, masked=True)
    assert array.dtype == np.float64
    assert array.attrs["mask_source"] == "image"
    np.testing.assert_array_equal(array.values, np.where(valid, pixels, np.nan))


def test_alpha_masks_where_there_is_nothing_else(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    alpha = np.where(pixels > 50, 255, 0).astype("u1")
    path = gtiff(np.stack([pixels, pixels, pixels, alpha]), photometric="RGB", alpha="YES")
    array = read(path, masked=True)
    assert array.attrs["mask_source"] == "alpha"
    np.testing.assert_array_equal(array.values[..., 0], np.where(alpha, pixels, np.nan))


def test_unpacked(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    def scaled(file: Any) -> None:
        file.scales, file.offsets = [0.01], [-5]

    path = gtiff(pixels.astype("i2"), nodata=7, after=scaled)
    array = read(path, unpack=True)
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array.values, np.where(pixels == 7, np.nan, pixels * 0.01 + -5))
    assert array.attrs["scale_factor"] == 0.01
    assert array.attrs["add_offset"] == -5.0
    assert array.attrs["mask_and_scale_dtype"] == "int16"
    assert array.attrs["masked_nodata"] is True
    assert "scale_factor" not in read(path).attrs


def test_unpack_without_scale(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    masked = read(gtiff(pixels, nodata=7), unpack=True)
    assert masked.dtype == np.float64
    assert masked.attrs["mask_and_scale_dtype"] == "uint8"
    assert "scale_factor" not in masked.attrs
    plain = read(gtiff(pixels, name="plain.tif"), unpack=True)
    assert plain.dtype == np.uint8
    assert "mask_and_scale_dtype" not in plain.attrs


def test_bands_of_different_scale_are_read_one_by_one(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    def scaled(file: Any) -> None:
        file.scales, file.offsets = [0.5, 2], [0, 3]

    path = gtiff(np.stack([pixels, pixels]), after=scaled)
    with pytest.raises(strile.MixedBandMetadataError):
        read(path, unpack=True)
    np.testing.assert_array_equal(read(path, unpack=True, band=1).values, pixels * 2.0 + 3)


@pytest.mark.parametrize(("scale", "offset"), [("0", "1"), ("nan", "1"), ("abc", "1"), ("1", "inf")])
def test_unusable_scales(read: Any, tagged: Any, pixels: np.ndarray, scale: str, offset: str) -> None:
    xml = (
        f'<GDALMetadata><Item name="SCALE" sample="0" role="scale">{scale}</Item>'
        f'<Item name="OFFSET" sample="0" role="offset">{offset}</Item></GDALMetadata>'
    )
    path = tagged(pixels, (42112, "s", 0, xml))
    with pytest.raises(strile.MalformedScaleOffsetError):
        read(path, unpack=True)
    np.testing.assert_array_equal(read(path).values, pixels)


def test_masks_agree_with_rasterio(read: Any, gtiff: Any) -> None:
    values = np.random.default_rng(3).integers(-5, 5, (3, 30, 40)).astype("int32")
    path = gtiff(values, nodata=-2, compress="deflate", interleave="band")
    with rasterio.open(path) as file:
        expected = np.moveaxis(file.read(masked=True).filled(-99).astype("f8"), 0, -1)
    expected[expected == -99] = np.nan
    np.testing.assert_array_equal(read(path, masked=True).values, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unpacked_floats_keep_their_width(read: Any, gtiff: Any, pixels: np.ndarray, dtype: str) -> None:
    def scale(file: Any) -> None:
        file.scales, file.offsets = (0.1,), (7.5,)

    array = read(gtiff(pixels.astype(dtype), nodata=3, after=scale), unpack=True)
    assert array.dtype == dtype
    assert array.attrs["mask_and_scale_dtype"] == dtype
    expected = np.where(pixels == 3, np.nan, pixels * 0.1 + 7.5)
    np.testing.assert_allclose(array.values, expected, rtol=1e-6)
