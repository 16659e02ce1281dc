"""`make_nodata.py FOLDER`: int16 files that declare nodata, as elevations have it, for what `open_geotiff(gpu=True)` costs above a read.

One of 8192 × 16384 pixels and one of a single tile; noise with holes, Deflate, tiles of 256², written by GDAL.
"""
import sys
from pathlib import Path

import numpy as np
import rasterio


def make(path: Path, rows: int, columns: int) -> None:
    random = np.random.default_rng(rows)
    slopes = np.add.outer(np.arange(rows) // 3, np.arange(columns) // 5) % 3000
    values = (slopes + random.integers(0, 16, (rows, columns))).astype(np.int16)
    values[rows // 4 : rows // 3, columns // 4 : columns // 3] = -9999
    words = dict(driver="GTiff", width=columns, height=rows, count=1, dtype="int16", nodata=-9999, crs="EPSG:32633")
    words |= dict(transform=rasterio.Affine(10, 0, 399960, 0, -10, 5600040), tiled=True, blockxsize=256, blockysize=256)
    with rasterio.open(path, "w", **words, compress="deflate", predictor=2, num_threads="all_cpus") as file:
        file.write(values, 1)


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
make(folder / "nodata_i16_256.tif", 8192, 16384)
make(folder / "nodata_i16_small_256.tif", 256, 256)
