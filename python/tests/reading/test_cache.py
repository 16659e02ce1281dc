"""The block cache of the process: the same pixels, the same words as in Rust, and files that are replaced."""

import os
import time

import numpy as np
import pytest
import rasterio
import strile

SETTLED = 2.2
"""Seconds after which the times of a file are trusted."""


@pytest.fixture
def tiled(tmp_path):
    """A compressed file that was written a while ago, and its pixels."""
    pixels = (np.arange(3 * 512 * 512, dtype=np.uint32) // 7 % 60_000).astype(np.uint16).reshape(3, 512, 512)
    path = tmp_path / "tiled.tif"
    strile.to_geotiff(pixels, path, compression="deflate", tiled=True, tile_size=128, dims=("band", "y", "x"))
    time.sleep(SETTLED)
    strile.set_cache_limit(256 << 20)
    strile.clear_cache()
    return path, pixels


def test_windows_are_the_same(tiled):
    path, pixels = tiled
    random = np.random.default_rng(1)
    with strile.open(path) as handle, rasterio.open(path) as other:
        for cache in ["auto", "decoded", "encoded", "off"] * 10:
            column, row = (int(random.integers(0, 384)) for _ in range(2))
            window = (column, row, 128, 128)
            found = handle.read([3, 1], window=window, cache=cache)
            expected = other.read([3, 1], window=rasterio.windows.Window(*window))
            np.testing.assert_array_equal(found, expected)
            again = strile.read(path, window=window, cache=cache).numpy()
            np.testing.assert_array_equal(again, pixels[:, row : row + 128, column : column + 128])
            batch = strile.read_batch(path, [window], cache=cache).numpy()
            np.testing.assert_array_equal(batch[0], again)
    held = strile.cache_stats()
    assert held["hits"] > 20 and 0 < held["bytes"] <= held["limit"] == 256 << 20


def test_plans_say_what_is_there(tiled):
    path, _ = tiled
    window = (10, 10, 100, 100)
    assert strile.plan(path, window=window).figures["cached"] == 0
    strile.read(path, window=window, cache="decoded")
    plan = strile.plan(path, window=window)
    assert (plan.figures["cached"], plan.figures["ranges"]) == (1, 0) and plan.figures["cached_bytes"] > 0
    assert "cache    1 block found" in plan.explain()
    assert strile.plan(path, window=window, cache="off").figures["cached"] == 0


def test_limits_and_words(tiled):
    path, _ = tiled
    strile.read(path, window=(0, 0, 10, 10), cache="decoded")
    assert strile.cache_stats()["blocks"] == 1
    strile.clear_cache()
    assert strile.cache_stats()["blocks"] == 0
    strile.set_cache_limit(0)
    strile.read(path, window=(0, 0, 10, 10), cache="decoded")
    held = strile.cache_stats()
    assert (held["limit"], held["bytes"], held["blocks"], held["folder_limit"]) == (0, 0, 0, 0)
    strile.set_cache_limit(256 << 20)
    for call in (strile.read, strile.plan):
        with pytest.raises(strile.StrileError, match="cache: expected auto, off, encoded or decoded, got `on`"):
            call(path, cache="on")
    with pytest.raises(strile.StrileError, match="cache: expected auto"):
        strile.read_batch(path, [[0, 0, 8, 8]], cache="on")
    for wrong in (-1, 1.5, "1 GB", None):
        with pytest.raises((strile.StrileError, TypeError), match="bytes is"):
            strile.set_cache_limit(wrong)


def test_a_file_that_is_replaced(tiled):
    path, pixels = tiled
    with strile.open(path) as handle:
        for _ in range(3):
            np.testing.assert_array_equal(handle.read(1, window=(0, 0, 50, 50), cache="decoded"), pixels[0, :50, :50])
    other = path.with_name("other.tif")
    strile.to_geotiff(pixels[::-1].copy(), other, compression="deflate", tiled=True, tile_size=128, dims=("band", "y", "x"))
    os.replace(other, path)
    for _ in range(2):
        found = strile.read(path, window=(0, 0, 50, 50), bands=[1], cache="decoded").numpy()[0]
        np.testing.assert_array_equal(found, pixels[2, :50, :50])
        time.sleep(SETTLED)
