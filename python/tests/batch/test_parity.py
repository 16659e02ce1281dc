"""Batches beside rasterio: codecs and types that a batch may mix, resampling, other sources.

Where definitions agree pixels are equal (a rounding apart where values are averaged); where they do not is said in the test.
GDAL averages without weights where the width, and only it, is halved: no such sizes here.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

from .conftest import by_rasterio, rasterio

LAYOUTS: list[dict[str, Any]] = [
    {"compress": "deflate", "predictor": 2, "tiled": True, "blockxsize": 64, "blockysize": 32},
    {"compress": "zstd", "tiled": True, "blockxsize": 32, "blockysize": 32},
    {"compress": "lzw", "predictor": 2, "blockysize": 7},
    {"compress": "packbits", "interleave": "band"},
    {"compress": "lzma", "tiled": True, "blockxsize": 16, "blockysize": 16},
    {"tiled": True, "blockxsize": 128, "blockysize": 128},
    {"compress": "lerc_zstd", "max_z_error": 0, "tiled": True, "blockxsize": 32, "blockysize": 64},
    {"compress": "deflate", "endianness": "big", "bigtiff": "yes"},
    {"compress": "deflate", "sparse_ok": True, "tiled": True, "blockxsize": 32, "blockysize": 32},
]


@pytest.fixture(scope="module", params=["uint8", "int16", "float32"])
def mixed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files of one type and of sizes, layouts and codecs of their own."""
    folder, random = tmp_path_factory.mktemp("mixed"), np.random.default_rng(7)
    paths = []
    for number, layout in enumerate(LAYOUTS):
        width, height = 90 + 13 * number, 120 - 9 * number
        fields = random.normal(100, 30, (2, height, width)).clip(0, 250)
        path = str(folder / f"{number}.tif")
        profile = {"width": width, "height": height, "count": 2, "dtype": request.param, **layout}
        with rasterio.open(path, "w", driver="GTiff", **profile) as target:
            pixels = fields.astype(request.param)
            if layout.get("sparse_ok"):
                target.write(pixels[:, :32, :32], window=rasterio.windows.Window(0, 0, 32, 32))
            else:
                target.write(pixels)
        paths.append(path)
    return paths


def test_codecs_and_layouts_mix_in_a_batch(mixed: list[str]) -> None:
    random = np.random.default_rng(1)
    count = 60
    places = random.integers(-40, 120, (count, 2))
    windows = np.concatenate([np.arange(count)[:, None] % len(mixed), places, np.full((count, 2), 33)], axis=1)
    found = strile.read_batch(mixed, windows, bands=[2, 1, 2], fill=3, device="cpu").numpy()
    for pixels, (file, *window) in zip(found, windows.tolist(), strict=True):
        np.testing.assert_array_equal(pixels, by_rasterio(mixed[file], *window, fill=3)[[1, 0, 1]])


@pytest.mark.parametrize("area", [(10, 12, 60, 45), (0, 0, 90, 48), (3, 5, 31, 29)], ids=str)
@pytest.mark.parametrize("size", [(40, 30), (20, 15), (64, 64), (37, 41)], ids=str)
@pytest.mark.parametrize("resampling", ["nearest", "bilinear", "average"])
def test_resampled_as_by_rasterio(
    mixed: list[str], resampling: str, size: tuple[int, int], area: tuple[int, int, int, int]
) -> None:
    if resampling == "bilinear":
        # GDAL widens its kernel where windows shrink: that is compared with PyTorch, below.
        size = (size[0] + 70, size[1] + 70)
    files = [0, 2, 4, 6]
    windows = [(file, *area) for file in files]
    found = strile.read_batch(mixed, windows, size=size, resampling=resampling, device="cpu").numpy()
    for pixels, file in zip(found, files, strict=True):
        with rasterio.open(mixed[file]) as source:
            expected = source.read(
                window=rasterio.windows.Window(*area),
                out_shape=(2, size[1], size[0]),
                resampling=getattr(rasterio.enums.Resampling, resampling),
            )
        if resampling == "nearest":
            np.testing.assert_array_equal(pixels, expected)
        else:
            near = 1e-4 if pixels.dtype.kind == "f" else 1
            assert np.abs(pixels.astype(float) - expected.astype(float)).max() <= near


@pytest.mark.parametrize("size", [(20, 15), (64, 64), (37, 41)], ids=str)
def test_bilinear_as_by_pytorch(mixed: list[str], size: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    # The whole image: around a window of it pixels beside the window count, as in GDAL.
    windows = [(0, 0, 0, 90, 120)]
    whole = strile.read_batch(mixed, windows, dtype="float64", device="cpu").numpy()
    options = {"size": (size[1], size[0]), "mode": "bilinear", "align_corners": False, "antialias": False}
    expected = torch.nn.functional.interpolate(torch.from_numpy(whole), **options).numpy()
    options = {"size": size, "resampling": "bilinear", "dtype": "float64", "device": "cpu"}
    found = strile.read_batch(mixed, windows, **options).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_nodata_does_not_count_as_in_gdal(scenes: list[str]) -> None:
    area, size = (0, 0, 36, 30), (12, 10)
    with rasterio.open(scenes[0], overview_level=None) as source:
        method = rasterio.enums.Resampling.average
        expected = source.read(window=rasterio.windows.Window(*area), out_shape=(3, 10, 12), resampling=method)
    found = strile.read_batch(scenes, [(0, *area)], size=size, level=0, resampling="average", device="cpu").numpy()[0]
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1
    assert (expected[:, :3, :3] == 7).all()


def test_files_in_memory_and_mosaics(scenes: list[str]) -> None:
    windows = [[0, 10, 20, 30, 30], [1, 60, 20, 30, 30]]
    expected = strile.read_batch(scenes, windows, device="cpu").numpy()
    with open(scenes[0], "rb") as file:
        memory = io.BytesIO(file.read())
    with open(scenes[1], "rb") as file:
        found = strile.read_batch([memory, file], windows, device="cpu").numpy()
        np.testing.assert_array_equal(found, expected)
        alone = strile.read_batch(file, [[60, 20, 30, 30]], device="cpu").numpy()
        np.testing.assert_array_equal(alone, expected[1:])
    with strile.open(scenes[0]) as handle:
        np.testing.assert_array_equal(strile.read_batch(handle, [windows[0]], device="cpu").numpy(), expected[:1])
    from rasterio.shutil import copy

    vrt = Path(scenes[1]).with_name("mosaic.vrt")
    copy(scenes[1], vrt, driver="VRT")
    for file in (vrt, strile.open(vrt)):
        found = strile.read_batch([scenes[0], file], windows, device="cpu").numpy()
        np.testing.assert_array_equal(found, expected)
        sized = {"size": (11, 13), "level": 0, "resampling": "bilinear", "device": "cpu"}
        shrunk = strile.read_batch([scenes[0], file], windows, **sized).numpy()
        np.testing.assert_array_equal(shrunk, strile.read_batch(scenes, windows, **sized).numpy())
    with pytest.raises(TypeError, match="a path, a URL, or a binary file"):
        strile.read_batch([scenes[0], 7], windows, device="cpu")


def test_files_of_different_types_are_refused(scenes: list[str], mixed: list[str]) -> None:
    with pytest.raises(strile.StrileError, match=r"uint16"):
        strile.read_batch([scenes[0], mixed[0]], [[0, 0, 0, 8, 8], [1, 0, 0, 8, 8]], bands=[1, 2], device="cpu")
    one = strile.read_batch(
        [scenes[0], mixed[0]], [[0, 0, 0, 8, 8], [1, 0, 0, 8, 8]], bands=[1, 2], dtype="float32", device="cpu"
    ).numpy()
    np.testing.assert_array_equal(one[1], by_rasterio(mixed[0], 0, 0, 8, 8, fill=0).astype(np.float32))


def test_what_shrinks_comes_from_the_overview_that_rasterio_takes(scenes: list[str]) -> None:
    """The overview is made of every second pixel: averages of it are others than those of the full image."""
    area, size = (0, 0, 36, 30), (12, 10)
    with rasterio.open(scenes[0]) as source:
        method = rasterio.enums.Resampling.average
        expected = source.read(window=rasterio.windows.Window(*area), out_shape=(3, 10, 12), resampling=method)
    batch = strile.read_batch(scenes, [(0, *area)], size=size, resampling="average", device="cpu")
    assert batch.levels == [1] and np.abs(batch.numpy()[0].astype(int) - expected.astype(int)).max() <= 1
