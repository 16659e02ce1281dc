"""Reads windows of many files into one array, and the next batch while this one is used.

    python many_windows.py

Needs numpy alone. With device="cuda" the array is on the GPU; docs/python/training.md has datasets for PyTorch."""

import tempfile
from pathlib import Path

import numpy as np
import strile
from strile.ml import RandomWindows

folder = Path(tempfile.mkdtemp())
random = np.random.default_rng(7)
files, scenes = [], []
for number in range(3):
    pixels = random.integers(0, 10_000, (2, 512, 512), dtype="uint16")
    files.append(str(folder / f"{number}.tif"))
    scenes.append(pixels)
    strile.to_geotiff(pixels, files[-1], dims=("band", "y", "x"))

# Each window: file, column, row, width, height. A block that several windows show is decoded once.
windows = [[0, 10, 20, 64, 64], [2, 300, 200, 64, 64], [1, 448, 448, 64, 64]]
batch = strile.read_batch(files, windows).numpy()
assert batch.shape == (3, 2, 64, 64) and batch.dtype == np.uint16
for pixels, (file, column, row, width, height) in zip(batch, windows):
    assert np.array_equal(pixels, scenes[file][:, row : row + height, column : column + width])

# Windows of one batch after the other, up to two batches read ahead, into floats between 0 and 1.
drawn = RandomWindows(files, size=64, count=96, seed=1).windows()
requests = [drawn[start : start + 32] for start in range(0, len(drawn), 32)]
headers = strile.Headers()


def read(request: np.ndarray) -> strile.Raster:
    return strile.read_batch(files, request, dtype="float32", headers=headers)


sums = np.zeros(2)
for raster in strile.prefetch(read, requests, depth=2):
    sums += (raster.numpy() / 10_000).mean(axis=(0, 2, 3))
means = sums / len(requests)
assert np.all(np.abs(means - 0.5) < 0.01)
print("mean of", len(drawn), "windows per band:", means)
