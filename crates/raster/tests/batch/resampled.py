"""Writes resampled.txt: windows of a picture as rasterio resamples them.

  python resampled.py > resampled.txt

A line is method, column, row, columns and rows of the window, rows and columns of the result, nodata or -, and the values.
Bilinear is taken of windows made larger only, and without nodata: GDAL widens its kernel where they become smaller, and
gives nodata where the pixel in the middle is."""

from __future__ import annotations

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.io import MemoryFile
from rasterio.windows import Window

HEIGHT, WIDTH = 20, 24
CASES = [
    ("nearest", (1, 3, 20, 11), (7, 9), None),
    ("nearest", (0, 0, 24, 20), (30, 31), 7),
    ("average", (0, 0, 24, 20), (5, 6), None),
    ("average", (0, 0, 24, 20), (6, 7), 7),
    ("average", (2, 1, 10, 9), (7, 8), 7),
    ("bilinear", (0, 0, 24, 20), (33, 25), None),
    ("bilinear", (5, 4, 9, 8), (16, 27), None),
]


def main() -> None:
    row, column = np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), indexing="ij")
    picture = ((row * row * 5 + column * 11 + row * column * 3) % 251).astype("float32")
    print(f"# rasterio {rasterio.__version__}, GDAL {rasterio.__gdal_version__}")
    for method, window, shape, nodata in CASES:
        with MemoryFile() as memory:
            size = {"width": WIDTH, "height": HEIGHT, "count": 1}
            with memory.open(driver="GTiff", dtype="float32", nodata=nodata, **size) as file:
                file.write(picture, 1)
            with memory.open() as file:
                sampling = Resampling[method]
                found = file.read(1, window=Window(*window), out_shape=shape, resampling=sampling)
        values = " ".join(str(value) for value in found.ravel())
        print(method, *window, *shape, "-" if nodata is None else nodata, values)


if __name__ == "__main__":
    main()
