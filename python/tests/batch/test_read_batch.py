"""Batches against rasterio: every window is the crop of the whole, however it was asked for."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import strile

from .conftest import by_rasterio, rasterio


def drawn(count: int, size: int = 40, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    rows = np.empty((count, 5), np.int64)
    rows[:, 0] = random.integers(0, 4, count)
    rows[:, 1] = random.integers(-30, 110, count)
    rows[:, 2] = random.integers(-30, 80, count)
    rows[:, 3:] = size
    return rows


def test_every_window_is_the_crop_of_the_whole(scenes: list[str]) -> None:
    windows = drawn(50)
    batch = strile.read_batch(scenes, windows, device="cpu")
    assert batch.shape == (50, 3, 40, 40) and batch.dtype == "uint16" and batch.device == "cpu"
    for found, (file, *window) in zip(batch.numpy(), windows.tolist(), strict=True):
        np.testing.assert_array_equal(found, by_rasterio(scenes[file], *window, fill=7))


def test_overviews_and_bands(scenes: list[str]) -> None:
    windows = drawn(12, 20)
    levels = np.arange(12) % 2
    batch = strile.read_batch(scenes, windows, level=levels, bands=[3, 1], device="cpu").numpy()
    for found, level, (file, *window) in zip(batch, levels, windows.tolist(), strict=True):
        options = {"overview_level": 0} if level else {}
        np.testing.assert_array_equal(found, by_rasterio(scenes[file], *window, fill=7, **options)[[2, 0]])


def test_scaled_and_masked_by_the_numbers_of_each_file(scenes: list[str]) -> None:
    windows = drawn(20)
    batch = strile.read_batch(scenes, windows, unpack=True, device="cpu").numpy()
    assert batch.dtype == np.float32
    for found, (file, *window) in zip(batch, windows.tolist(), strict=True):
        stored = by_rasterio(scenes[file], *window, fill=7).astype(np.float64)
        expected = np.where(stored == 7, np.nan, stored * 0.5 + file).astype(np.float32)
        np.testing.assert_array_equal(found, expected)
    filled = strile.read_batch(scenes, [[0, -100, -100, 8, 8]], masked=True, fill=-1, device="cpu").numpy()
    assert (filled == -1).all()
    cast = strile.read_batch(scenes, windows, dtype="float64", device="cpu").numpy()
    assert cast.dtype == np.float64
    half = strile.read_batch(scenes, windows, dtype="float16", device="cpu").numpy()
    np.testing.assert_array_equal(half, cast.astype(np.float16))


def test_boxes_and_places(scenes: list[str]) -> None:
    with rasterio.open(scenes[1]) as source:
        window = source.window(1100.0, 4500.0, 1300.0, 4700.0).round_lengths().round_offsets()
        expected = source.read(window=window)
    boxed = strile.read_batch(scenes, bounds=[[1, 1100.0, 4500.0, 1300.0, 4700.0]], device="cpu").numpy()
    np.testing.assert_array_equal(boxed[0], expected)
    # Pixel (20, 40) holds the place, and lies in the middle of the window.
    around = strile.read_batch(scenes, points=[[1, 1205.0, 4595.0]], size=(8, 6), device="cpu").numpy()
    np.testing.assert_array_equal(around[0], by_rasterio(scenes[1], 16, 37, 8, 6, fill=7))
    sized = strile.read_batch(scenes, [[1, 16, 37]], size=(8, 6), device="cpu").numpy()
    np.testing.assert_array_equal(sized, around)
    whole = strile.read_batch(scenes[1], [[16, 37, 8, 6]], device="cpu").numpy()
    np.testing.assert_array_equal(whole, around)
    each = strile.read_batch(scenes, [[16, 37, 8, 6]] * 4, device="cpu").numpy()
    np.testing.assert_array_equal(each[1], around[0])


@pytest.mark.parametrize("resampling", ["nearest", "average"])
def test_resampled_as_rasterio_does_inside_the_image(scenes: list[str], resampling: str) -> None:
    method = getattr(rasterio.enums.Resampling, resampling)
    with rasterio.open(scenes[0]) as source:
        # By 1½, which no overview helps with.
        window = rasterio.windows.Window(20, 20, 60, 45)
        expected = source.read(window=window, out_shape=(3, 30, 40), resampling=method).astype(int)
    found = strile.read_batch(scenes, [[0, 20, 20, 60, 45]], size=(40, 30), resampling=resampling, device="cpu")
    assert found.shape == (1, 3, 30, 40)
    assert np.abs(found.numpy()[0].astype(int) - expected).max() <= (1 if resampling == "average" else 0)


def test_bilinear_goes_through_the_pixels_and_nodata_does_not_count(scenes: list[str]) -> None:
    same = strile.read_batch(scenes, [[0, 20, 20, 30, 30]], size=30, resampling="bilinear", device="cpu").numpy()
    np.testing.assert_array_equal(same[0], by_rasterio(scenes[0], 20, 20, 30, 30, fill=7))
    corner = strile.read_batch(scenes, [[0, 0, 0, 20, 20]], size=4, resampling="average", masked=True, device="cpu").numpy()
    assert np.isnan(corner[0, :, :2, :2]).all() and not np.isnan(corner[0, :, 2:, 2:]).any()
    outside = strile.read_batch(scenes, [[0, -20, 0, 40, 40]], size=(4, 4), fill=9, device="cpu").numpy()
    assert (outside[0, :, :, :2] == 9).all() and (outside[0, :, 1:, 2:] != 9).any()


def test_an_array_of_the_callers_is_filled_again_and_again(scenes: list[str]) -> None:
    out = np.zeros((10, 3, 40, 40), np.uint16)
    for seed in range(3):
        windows = drawn(10, seed=seed)
        assert strile.read_batch(scenes, windows, out=out, device="cpu") is out
        np.testing.assert_array_equal(out, strile.read_batch(scenes, windows, device="cpu").numpy())
    half = strile.read_batch(scenes, drawn(10), size=20, out=out[:, :, :20, :20], device="cpu")
    np.testing.assert_array_equal(half, strile.read_batch(scenes, drawn(10), size=20, device="cpu").numpy())
    with pytest.raises(strile.StrileError, match="the batch gives 10 windows × 3 bands × 40 × 40 of uint16"):
        strile.read_batch(scenes, drawn(10), out=np.zeros((10, 3, 40, 41), np.uint16), device="cpu")
    with pytest.raises(strile.StrileError, match="expected 4"):
        strile.read_batch(scenes, drawn(10), out=out[0], device="cpu")
    with pytest.raises(strile.StrileError, match="windows follow each other"):
        strile.read_batch(scenes, drawn(5), out=out[::2], device="cpu")


def test_dlpack_has_four_axes(scenes: list[str]) -> None:
    batch = strile.read_batch(scenes, drawn(5), device="cpu")
    np.testing.assert_array_equal(np.from_dlpack(batch), batch.numpy())
    assert repr(batch) == "<strile.Raster (5, 3, 40, 40) uint16 on cpu>"


def test_refusals_name_the_file_and_the_window(scenes: list[str], tmp_path: object) -> None:
    with pytest.raises(strile.StrileError, match=r"window 1 \(8 × 8 pixels from 0,0\): .*1.tif: there is no level 5"):
        strile.read_batch(scenes, [[0, 0, 0, 8, 8], [1, 0, 0, 8, 8]], level=[0, 5], device="cpu")
    with pytest.raises(FileNotFoundError):
        strile.read_batch(["missing.tif"], [[0, 0, 0, 8, 8]], device="cpu")
    with pytest.raises(strile.StrileError, match="one of windows, bounds and points"):
        strile.read_batch(scenes, device="cpu")
    with pytest.raises(strile.StrileError, match="whole numbers"):
        strile.read_batch(scenes, [[0, 0.5, 0, 8, 8]], device="cpu")
    with pytest.raises(strile.StrileError, match="3 windows of 4 files"):
        strile.read_batch(scenes, [[0, 0, 8, 8]] * 3, device="cpu")
    with pytest.raises(strile.StrileError, match="float16, float32 or float64"):
        strile.read_batch(scenes, [[0, 0, 0, 8, 8]], dtype="int16", device="cpu")


def test_handles_are_files_too(scenes: list[str]) -> None:
    with strile.open(scenes[0]) as first:
        batch = strile.read_batch([first, scenes[1]], [[0, 5, 5, 9, 9], [1, 5, 5, 9, 9]], device="cpu").numpy()
    np.testing.assert_array_equal(batch[0], by_rasterio(scenes[0], 5, 5, 9, 9, fill=7))
    with pytest.raises(strile.ClosedError):
        strile.read_batch([first], [[0, 5, 5, 9, 9]], device="cpu")


def test_headers_are_kept_within_bounds_and_looked_up_again(scenes: list[str], tmp_path) -> None:
    headers = strile.Headers(files=2, open_files=1)
    strile.read_batch(scenes, drawn(20), headers=headers, device="cpu")
    files, memory, opened = headers.held()
    assert files == 2 and 0 < memory < 100_000 and opened <= 1
    copy = tmp_path / "a.tif"
    copy.write_bytes(open(scenes[0], "rb").read())
    before = strile.read_batch(copy, [[20, 20, 9, 9]], headers=headers, device="cpu").numpy()
    copy.write_bytes(open(scenes[1], "rb").read())
    os.utime(copy, ns=(1, 1))
    after = strile.read_batch(copy, [[20, 20, 9, 9]], headers=headers, device="cpu").numpy()
    assert not np.array_equal(before, after)
    headers.clear()
    assert headers.held() == (0, 0, 0)


def test_an_index_of_headers(scenes: list[str], tmp_path) -> None:
    index = tmp_path / "scenes.index"
    files, size, skipped = strile.write_header_index(index, [*scenes, "missing.tif"])
    assert files == 4 and size == index.stat().st_size and len(skipped) == 1
    headers = strile.Headers(index=index)
    windows = drawn(9)
    found = strile.read_batch(scenes, windows, headers=headers, device="cpu").numpy()
    np.testing.assert_array_equal(found, strile.read_batch(scenes, windows, device="cpu").numpy())


def test_a_damaged_file_is_told_or_filled(scenes: list[str], tmp_path) -> None:
    damaged = tmp_path / "damaged.tif"
    damaged.write_bytes(open(scenes[0], "rb").read())
    with rasterio.open(scenes[0]) as source:
        offset = int(source.tags(ns="TIFF", bidx=1).get("BLOCK_OFFSET_1_1", 0)) or None
    data = bytearray(damaged.read_bytes())
    if offset is None:
        import tifffile

        with tifffile.TiffFile(damaged) as tiff:
            offset = tiff.pages[0].dataoffsets[5]
    data[offset + 10 : offset + 40] = b"\xff" * 30
    damaged.write_bytes(data)
    windows = [[0, 0, 0, 20, 20], [1, 40, 40, 20, 20]]
    with pytest.raises(strile.StrileError, match=r"window 1 \(20 × 20 pixels from 40,40\): .*damaged.tif: block"):
        strile.read_batch([scenes[0], damaged], windows, device="cpu")
    batch = strile.read_batch([scenes[0], damaged], windows, on_fault="fill", device="cpu")
    assert batch.faults and batch.faults[0][0].startswith("window 1, ")
    assert (batch.numpy()[1] == 7).any()


def test_the_next_batch_is_read_while_one_is_used(scenes: list[str]) -> None:
    requests = [drawn(6, seed=seed) for seed in range(7)]
    read = lambda windows: strile.read_batch(scenes, windows, device="cpu").numpy()  # noqa: E731
    for depth in (0, 1, 3):
        for found, windows in zip(strile.prefetch(read, requests, depth=depth), requests, strict=True):
            np.testing.assert_array_equal(found, read(windows))
    seen = []

    def failing(number: int) -> int:
        seen.append(number)
        if number == 2:
            raise ValueError("the third")
        return number

    batches = strile.prefetch(failing, range(100), depth=2)
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(batches)
    endless = strile.prefetch(lambda number: number, iter(int, 1), depth=2)
    assert next(endless) == 0
    endless.close()
    assert max(seen) == 2


def test_two_readers_read_at_once_and_in_order() -> None:
    met = threading.Barrier(2, timeout=30)

    def read(number: int) -> int:
        met.wait()  # nobody gets past it alone
        return number

    assert list(strile.prefetch(read, range(10), depth=3, readers=2)) == list(range(10))
    with pytest.raises(strile.StrileError, match="readers is 0: expected a whole number from 1 on"):
        next(strile.prefetch(read, range(2), readers=0))

    # The second fails while the first is about to begin: it comes all the same, and then the error.
    begun = threading.Event()

    def failing(number: int) -> int:
        if number == 1:
            begun.set()
            raise ValueError("the second")
        begun.wait(30)
        return number

    both = strile.prefetch(failing, range(9), depth=4, readers=2)
    assert next(both) == 0
    with pytest.raises(ValueError, match="the second"):
        next(both)

    def requests() -> Iterator[int]:
        yield 1
        raise KeyError("no more")

    numbers = strile.prefetch(lambda number: number, requests(), depth=3)
    assert next(numbers) == 1
    with pytest.raises(KeyError, match="no more"):
        next(numbers)


def test_no_growth(scenes: list[str]) -> None:
    def held() -> tuple[int, int]:
        resident = int(open("/proc/self/statm").read().split()[1]) * 4096
        return resident, len(os.listdir("/proc/self/fd"))

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc here")
    for seed in range(100):
        strile.read_batch(scenes, drawn(4, 8, seed), device="cpu", threads=1)
    before = held()
    for seed in range(1000):
        strile.read_batch(scenes, drawn(4, 8, seed), device="cpu", threads=1, dtype="float32" if seed % 2 else None)
    after = held()
    assert after[1] <= before[1] and after[0] - before[0] < 8 << 20, (before, after)


def test_samplers_pickle(scenes: list[str]) -> None:
    from strile.ml import RandomWindows

    sampler = RandomWindows(scenes, 16, 10, seed=3)
    again = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(again.windows(2), sampler.windows(2))


def test_only_files_that_windows_are_of_are_asked_for(scenes: list[str]) -> None:
    files = ["/nowhere/a.tif", scenes[1], "/nowhere/b.tif", scenes[3]]
    found = strile.read_batch(files, [[3, 0, 0, 20, 20], [1, 5, 5, 20, 20]], device="cpu").numpy()
    wanted = strile.read_batch(scenes, [[3, 0, 0, 20, 20], [1, 5, 5, 20, 20]], device="cpu").numpy()
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(strile.StrileError, match="there is no file 4: 4 are given"):
        strile.read_batch(files, [[4, 0, 0, 20, 20]], device="cpu")


def test_an_array_with_as_many_bands_of_other_windows_is_refused(scenes: list[str]) -> None:
    windows = [[0, 0, 0, 20, 20], [1, 5, 5, 20, 20]]
    for shape in ((3, 2, 20, 20), (6, 1, 20, 20), (1, 6, 20, 20)):
        out = np.full(shape, 9, np.uint16)
        with pytest.raises(strile.StrileError, match=f"output is {shape[0]} windows × {shape[1]} bands"):
            strile.read_batch(scenes, windows, out=out, device="cpu")
        assert (out == 9).all()


def test_a_process_ends_with_batches_under_way(scenes: list[str]) -> None:
    program = (
        "import sys, strile\n"
        "read = lambda row: strile.read_batch(sys.argv[1], [row], device='cpu').numpy()\n"
        "kept = strile.prefetch(read, [[0, 0, 20, 20]] * 1000, depth=2)\n"
        "print(next(kept).shape)\n"
        "import time\n"
        "slow = strile.prefetch(lambda number: time.sleep(1) or number, range(100), depth=60)\n"
        "next(slow)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, scenes[0]], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "(1, 3, 20, 20)\n" and done.stderr == ""


def test_boxes_and_points_outside_their_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    strile.to_geotiff(np.ones((50, 70), "float32"), path, crs=32632, transform=(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0))
    degrees = "lies outside .*a.tif, which covers 500000,5199500,500700,5200000 in EPSG:32632: the coordinates look like degrees; pass"
    with pytest.warns(UserWarning, match=degrees) as found:
        strile.read_batch(path, bounds=[[9, 46.93, 9.01, 46.94]])
    assert [warning.filename for warning in found] == [__file__]
    with pytest.warns(UserWarning, match=degrees):
        strile.read_batch(path, points=[[9, 46.93]], size=8, out=np.empty((1, 1, 8, 8), "float32"))
    inside, far = [500_000, 5_199_900, 500_100, 5_200_000], [600_000, 5_199_900, 600_100, 5_200_000]
    with pytest.warns(UserWarning, match=r"^window 1 .* in EPSG:32632 \(2 of 3 windows lie outside\)$"):
        strile.read_batch(path, bounds=[inside, far, far])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.read_batch(path, bounds=[inside])
        strile.read_batch(path, bounds=[[9, 46.9505, 9.0005, 46.951]], bounds_crs=4326)
        # Windows in pixels may lie anywhere.
        strile.read_batch(path, [[1000, 1000, 8, 8]])
