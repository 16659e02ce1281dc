"""Makes crates/raster/src/grid/warped.txt: rasters that GDAL warps onto grids.

Usage: python make_warped.py OUT. Needs rasterio. The sample at column x, row y of every raster is
((7 x + 13 y + x y) mod 101) - 20, without the 20 in uint8. Coordinates are exact (no tolerance).
One line per case: type, nodata or `-`, resampling, scale of kernels, system, width, height and transform of the raster, the same
of the grid, and every fifth value of the grid, `-` for none.
"""

import sys

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.io import MemoryFile
from rasterio.transform import Affine
from rasterio.vrt import WarpedVRT

MODIS = "+proj=sinu +lon_0=0 +R=6371007.181 +units=m"
# System, width, height, transform; the same of the grid.
CASES = [
    ("EPSG:32633", 60, 50, (10, 0, 500000, 0, -10, 5538630), "EPSG:3857", 64, 48, (12, 0, 1669780, 0, -12, 6446330)),
    ("EPSG:32633", 60, 50, (10, 0, 500000, 0, -10, 5538630), "EPSG:4326", 40, 40, (0.0001, 0, 15.002, 0, -0.0001, 49.9995)),
    ("EPSG:32633", 60, 50, (8, 3, 500000, 2, -9, 5538630), "EPSG:3857", 50, 40, (10, 2, 1669800, 1, -10, 6446300)),
    ("EPSG:4326", 72, 36, (5, 0, -180, 0, -5, 90), "EPSG:3413", 50, 50, (200000, 0, -5000000, 0, -200000, 5000000)),
    ("EPSG:4326", 72, 36, (5, 0, -180, 0, -5, 90), "EPSG:32760", 40, 40, (60000, 0, -500000, 0, -60000, 9000000)),
    (MODIS, 90, 50, (400000, 0, -18000000, 0, -400000, 10000000), "EPSG:4326", 60, 40, (6, 0, -180, 0, -4.5, 90)),
]
# The same with larger pixels of the grid; the last has the scale.
COARSE = [
    ("EPSG:32633", 90, 80, (10, 0, 500000, 0, -10, 5538630), "EPSG:3857", 30, 28, (46.7, 0, 1669780, 0, -46.7, 6446330), 0.33),
    ("EPSG:32633", 90, 80, (10, 0, 500000, 0, -10, 5538630), "EPSG:4326", 24, 26, (0.00062, 0, 15.0002, 0, -0.0003, 49.9999), 0.25),
    ("EPSG:4326", 180, 90, (2, 0, -180, 0, -2, 90), "EPSG:3857", 22, 22, (1800000, 0, -20000000, 0, -1800000, 20000000), 0.125),
]
FINE = [(*case, 1) for case in CASES]
EVERY = (
    "nearest bilinear cubic cubic_spline lanczos average mode min max med q1 q3 rms sum"
).split()
# Type, nodata of the raster, value of pixels without one.
KINDS = [("float32", None, -99), ("int16", None, -99), ("int16", -20, -20), ("uint8", None, 255)]


def main(out):
    lines = []
    for system, width, height, transform, target, dst_width, dst_height, dst_transform, scale in FINE + COARSE:
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        for dtype, nodata, fill in KINDS:
            values = (7 * x + 13 * y + x * y) % 101 - (0 if dtype == "uint8" else 20)
            profile = {"driver": "GTiff", "width": width, "height": height, "count": 1, "dtype": dtype, "crs": system}
            for kernel in (Resampling[name] for name in EVERY):
                # One case of the raster, and of a short and a long type the others that choose samples.
                if dtype == "uint8" and kernel.name in ("sum", "rms") or dtype == "int16" and nodata is None and kernel.value > 1:
                    continue
                with MemoryFile() as file:
                    with file.open(transform=Affine(*transform), nodata=nodata, **profile) as raster:
                        raster.write(values.astype(dtype), 1)
                    options = {"crs": target, "transform": Affine(*dst_transform), "width": dst_width, "height": dst_height}
                    # No approximation worth the name.
                    options |= {"resampling": kernel, "nodata": fill, "tolerance": 1e-6, "XSCALE": str(scale), "YSCALE": str(scale)}
                    with file.open() as raster, WarpedVRT(raster, **options) as vrt:
                        pixels = vrt.read(1)
                kept = ["-" if v == fill else f"{v:.6g}" for v in pixels.ravel()[::5]]
                place = lambda w, h, t: f"{w} {h} " + " ".join(map(str, t))
                head = [dtype, "-" if nodata is None else str(nodata), kernel.name, str(scale), system, place(width, height, transform)]
                lines.append("\t".join([*head, target, place(dst_width, dst_height, dst_transform), " ".join(kept)]))
    with open(out, "w") as file:
        file.write(f"# Rasters warped by GDAL {rasterio.__gdal_version__}, from xtask/python/make_warped.py, which says how to read this.\n")
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
