"""Reads a part of a file: by pixels, by coordinates, masked, and smaller than it is stored.

    python read_window.py"""

import tempfile
from pathlib import Path

import numpy as np
import strile

folder = Path(tempfile.mkdtemp())
dem = folder / "dem.tif"

# A file to read: elevation with a corner of missing pixels.
rows, columns = np.mgrid[:600, :900]
height = (500 + 200 * np.sin(rows / 60) * np.cos(columns / 80)).astype("float32")
height[:50, :80] = -9999
transform = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0)
strile.to_geotiff(height, dem, crs=32632, transform=transform, nodata=-9999, cog=True)

# By pixels: column, row, width, height. Only the tiles that the window touches are read.
raster = strile.read(dem, window=(100, 200, 64, 32))
assert np.array_equal(raster.numpy()[0], height[200:232, 100:164])
print("window:", raster.shape, raster.dtype, raster.crs, raster.transform)

# By coordinates, as an xarray DataArray with nodata as NaN.
part = strile.open_geotiff(dem, bbox=(500_000, 5_199_000, 501_500, 5_200_000), masked=True)
assert part.shape == (100, 150) and int(np.isnan(part).sum()) == 50 * 80
print("box:", part.shape, "mean of valid pixels:", float(part.mean()))

# Smaller than stored: read from the overview that has enough pixels.
small = strile.read(dem, size=(90, 60), resampling="average", masked=True)
assert small.shape == (1, 60, 90)
print("small:", small.shape, "from level", small.levels)

# As a handle, in the way of rasterio.
with strile.open(dem) as src:
    band = src.read(1, window=((10, 60), (100, 200)))
    assert np.array_equal(band, height[10:60, 100:200])
    print("handle:", src.shape, src.bounds, src.overviews(1))
