"""Converts a folder of GeoTIFFs to Cloud-Optimized GeoTIFFs in parallel, and checks them.

    python cogs_from_a_folder.py

The same on the command line: strile convert scenes/ -o cogs/ --of COG --jobs 2"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import strile

folder = Path(tempfile.mkdtemp())
scenes = folder / "scenes"
scenes.mkdir()

# Four scenes in strips, without compression, and a file that is damaged.
random = np.random.default_rng(1)
for number in range(4):
    pixels = random.integers(0, 4000, (400, 500, 3), dtype="uint16")
    transform = (20.0, 0.0, 600_000.0 + 10_000 * number, 0.0, -20.0, 5_100_000.0)
    strile.to_geotiff(pixels, scenes / f"{number}.tif", crs=32633, transform=transform, compression="none", tiled=False)
(scenes / "broken.tif").write_bytes(b"II*\0")

# The damaged file is reported, in the result and by a warning, and keeps no other file from being converted.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    results = strile.convert_many([scenes], folder / "cogs", jobs=2, format="cog", creation_options={"COMPRESS": "ZSTD"})
for result in results:
    print(result)
assert len(told) == 1 and "broken.tif failed" in str(told[0].message)
failed = [result for result in results if result["error"] is not None]
assert len(results) == 5 and len(failed) == 1 and "broken.tif" in str(failed[0])
for number in range(4):
    source, cog = scenes / f"{number}.tif", folder / "cogs" / f"{number}.tif"
    assert strile.validate_cog(cog, strict=True)["valid"]
    assert np.array_equal(strile.read(source).numpy(), strile.read(cog).numpy())
print("4 valid COGs with the same pixels in", folder / "cogs")
