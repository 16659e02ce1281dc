"""Joins files to a mosaic, reads across their edge, and writes it as one COG.

    python mosaic.py"""

import tempfile
from pathlib import Path

import numpy as np
import strile

folder = Path(tempfile.mkdtemp())

# Four tiles of one picture, 2 by 2.
rows, columns = np.mgrid[:800, :1000]
whole = ((rows // 3 + columns // 5) % 251).astype("uint8")
paths = []
for row in (0, 400):
    for column in (0, 500):
        path = folder / f"tile_{row}_{column}.tif"
        transform = (1.0, 0.0, 300_000.0 + column, 0.0, -1.0, 4_000_000.0 - row)
        strile.to_geotiff(whole[row : row + 400, column : column + 500], path, crs=25832, transform=transform)
        paths.append(path)

mosaic = strile.vrt(paths, folder / "mosaic.vrt")
with strile.open(mosaic) as src:
    assert (src.width, src.height) == (1000, 800)
    print(src.bounds, src.crs)

# A window over the corner where all four meet.
middle = strile.read(mosaic, window=(480, 380, 40, 40)).numpy()[0]
assert np.array_equal(middle, whole[380:420, 480:520])

# One file instead of four and a VRT.
strile.convert(mosaic, folder / "mosaic.tif", format="cog")
assert np.array_equal(strile.read(folder / "mosaic.tif").numpy()[0], whole)
assert strile.validate_cog(folder / "mosaic.tif")["valid"]
print("one COG:", folder / "mosaic.tif", (folder / "mosaic.tif").stat().st_size, "bytes")
