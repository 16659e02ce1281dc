"""Values, dims, coordinates and names, against rasterio and tifffile, on every route."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import tifffile

LAYOUTS = [
    {},
    {"compress": "deflate", "predictor": 2},
    {"compress": "lzw", "tiled": True, "blockxsize": 16, "blockysize": 16},
    {"compress": "zstd", "interleave": "band", "tiled": True, "blockxsize": 32, "blockysize": 16},
    {"interleave": "pixel"},
    {"ENDIANNESS": "BIG", "BIGTIFF": "YES"},
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "uint64"])
@pytest.mark.parametrize("count", [1, 3])
def test_whole_and_window(read: Any, gtiff: Any, layout: dict[str, Any], dtype: str, count: int) -> None:
    stack = np.random.default_rng(1).integers(0, 120, (count, 40, 50)).astype(dtype)
    path = gtiff(stack, **layout)
    expected = stack[0] if count == 1 else np.moveaxis(stack, 0, -1)
    whole = read(path)
    assert whole.dims == (("y", "x") if count == 1 else ("y", "x", "band"))
    assert whole.dtype == dtype
    np.testing.assert_array_equal(whole.values, expected)
    part = read(path, window=(3, 5, 21, 44))
    np.testing.assert_array_equal(part.values, expected[3:21, 5:44])
    one = read(path, band=count - 1)
    assert one.dims == ("y", "x")
    assert "band" not in one.coords
    np.testing.assert_array_equal(one.values, stack[-1])


def test_band_coordinate_and_range(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(np.stack([pixels, pixels]))
    band = read(path).coords["band"]
    assert band.dtype == np.int64
    assert band.values.tolist() == [0, 1]
    for wrong in (2, -1):
        with pytest.raises(IndexError, match="0 to 1"):
            read(path, band=wrong)


@pytest.mark.parametrize("window", [(0, 0, 41, 50), (-1, 0, 4, 4), (4, 4, 4, 9), (9, 0, 4, 4)])
def test_window_is_never_clamped(read: Any, gtiff: Any, pixels: np.ndarray, window: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="40 rows and 50 columns"):
        read(gtiff(pixels), window=window)


def test_half_floats_are_float32(read: Any, tagged: Any) -> None:
    half = np.linspace(-3, 3, 600, dtype=np.float16).reshape(20, 30)
    result = read(tagged(half))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result.values, half.astype(np.float32))


@pytest.mark.parametrize("bits", [1, 4])
def test_few_bits_are_bytes(read: Any, gtiff: Any, pixels: np.ndarray, bits: int) -> None:
    small = pixels % (1 << bits)
    result = read(gtiff(small, nbits=bits))
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result.values, small)


def test_dtype_casts_but_never_drops_fractions(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, nodata=7)
    assert read(path, dtype="int32").dtype == np.int32
    assert read(path, dtype="int32").attrs["nodata_dtype_cast"] == "int32"
    assert read(path, dtype=np.dtype("f4"), masked=True).dtype == np.float32
    with pytest.raises(ValueError, match="fractions"):
        read(path, dtype="int32", masked=True)
    with pytest.raises(ValueError, match="fractions"):
        read(gtiff(pixels.astype("f4"), name="f.tif"), dtype="int16")


def test_name_is_the_stem(gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, name="some.thing.tif")
    assert strile.open_geotiff(path).name == "some.thing"
    assert strile.open_geotiff(str(path)).name == "some.thing"
    assert strile.open_geotiff(path, default_name="q").name == "q"
    assert strile.open_geotiff(io.BytesIO(path.read_bytes())).name is None


def test_file_like_is_read_and_left_where_it_was(gtiff: Any, pixels: np.ndarray) -> None:
    file = io.BytesIO(gtiff(pixels, nodata=3).read_bytes())
    file.seek(5)
    np.testing.assert_array_equal(strile.open_geotiff(file).values, pixels)
    assert file.tell() == 5


@pytest.mark.parametrize("orientation", range(2, 9))
def test_orientation_is_applied(read: Any, tagged: Any, pixels: np.ndarray, orientation: int) -> None:
    path = tagged(pixels, (274, "H", 1, orientation))
    turned = {
        2: pixels[:, ::-1], 3: pixels[::-1, ::-1], 4: pixels[::-1], 5: pixels.T, 6: pixels.T[:, ::-1],
        7: pixels.T[::-1, ::-1], 8: pixels.T[::-1],
    }  # fmt: skip
    result = read(path)
    np.testing.assert_array_equal(result.values, turned[orientation])
    assert 274 not in [tag[0] for tag in result.attrs.get("extra_tags", [])]
    with pytest.raises(ValueError, match="orientation"):
        read(path, window=(0, 0, 2, 2))


@pytest.mark.parametrize(("dtype", "top"), [("uint8", 255), ("uint16", 65535)])
def test_white_is_zero_is_inverted_and_masked_by_the_stored_value(
    read: Any, tagged: Any, dtype: str, top: int
) -> None:
    stored = np.arange(600, dtype=dtype).reshape(20, 30) % 251
    path = tagged(stored, (42113, "s", 0, "5"), photometric="miniswhite")
    np.testing.assert_array_equal(read(path).values, top - stored)
    masked = read(path, masked=True)
    np.testing.assert_array_equal(np.isnan(masked.values), stored == 5)
    assert masked.attrs["nodata"] == 5
    assert strile.open_geotiff(path).attrs["nodata_pixels_present"] is True


def test_signed_white_is_zero_is_refused(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    with pytest.raises(strile.UnsupportedGeoTIFFFeatureError):
        read(tagged(pixels.astype("i2"), photometric="miniswhite"))


def test_sparse_blocks_are_nodata(read: Any, gtiff: Any) -> None:
    path = gtiff(np.zeros((64, 64), "u1"), sparse_ok=True, tiled=True, blockxsize=16, blockysize=16, nodata=4)
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(read(path).values, file.read(1))


def test_results_can_be_changed(gtiff: Any, pixels: np.ndarray) -> None:
    array = strile.open_geotiff(gtiff(pixels))
    array[0, 0] = 99
    assert strile.open_geotiff(array.encoding.get("source", "") or gtiff(pixels)).values[0, 0] == pixels[0, 0]


def test_a_replaced_file_is_opened_anew(gtiff: Any, pixels: np.ndarray) -> None:
    first = strile.open_geotiff(gtiff(pixels)).values
    second = strile.open_geotiff(gtiff(pixels[:20, :20] + 1)).values
    np.testing.assert_array_equal(first, pixels)
    np.testing.assert_array_equal(second, pixels[:20, :20] + 1)


@pytest.mark.parametrize("damage", [b"", b"II*\0", b"not a tiff at all", None])
def test_damage_is_a_typed_error(
    tmp_path: Path, gtiff: Any, pixels: np.ndarray, damage: bytes | None
) -> None:
    path = tmp_path / "bad.tif"
    path.write_bytes(gtiff(pixels).read_bytes()[:300] if damage is None else damage)
    with pytest.raises(ValueError):  # noqa: PT011
        strile.open_geotiff(path)
    with pytest.raises(ValueError):  # noqa: PT011
        strile.open_geotiff(path, chunks=16).compute()


def test_complex_pixels_are_read(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    waves = (pixels + 1j * pixels).astype("complex64")
    np.testing.assert_array_equal(read(gtiff(waves)).values, waves)


def test_palette_and_pages(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    path = tagged(np.stack([pixels, pixels + 1]), photometric="minisblack")
    np.testing.assert_array_equal(read(path).values, tifffile.imread(path, key=0))
