"""Shows what a file holds: facts, statistics and a small picture.

    python quick_look.py

In a notebook, an open file as the last line of a cell shows all of this."""

import tempfile
from pathlib import Path

import numpy as np
import strile

folder = Path(tempfile.mkdtemp())
path = folder / "dem.tif"
rows, columns = np.mgrid[:1000, :2000]
height = (1000 + 400 * np.sin(rows / 90) * np.cos(columns / 120)).astype("float32")
transform = (30.0, 0.0, 350_000.0, 0.0, -30.0, 5_000_000.0)
strile.to_geotiff(height, path, crs=32633, transform=transform, nodata=-9999, cog=True)

with strile.open(path) as src:
    print(f"{src.width} × {src.height}, {src.count} band of {src.dtypes[0]}, {src.compression}, {src.crs}")
    print("blocks", src.block_shapes, "overviews", src.overviews(1), "bounds", tuple(src.bounds))
    statistics = src.statistics(1)
    assert statistics.min == height.min() and statistics.max == height.max()
    print(f"from {statistics.min:.1f} to {statistics.max:.1f}, mean {statistics.mean:.1f}")
    picture = src.quicklook(width=400)

# A PNG of at most 400 pixels at its longer side, from the overview that has enough pixels.
assert picture is not None and picture.startswith(b"\x89PNG")
assert 200 <= int.from_bytes(picture[16:20], "big") <= 400
(folder / "dem.png").write_bytes(picture)
print("picture:", folder / "dem.png")

# Before a read: which blocks, how many bytes, how much memory, and where they would be decoded.
print(strile.plan(path, window=(0, 0, 512, 512)).explain())
