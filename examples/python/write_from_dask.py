"""Computes with dask and streams the result into a COG: each chunk is computed once and memory stays bounded.

    python write_from_dask.py"""

import tempfile
from pathlib import Path

import numpy as np
import strile

folder = Path(tempfile.mkdtemp())

# Red and near infrared of a scene, as digital numbers.
rows, columns = np.mgrid[:1200, :1500]
red = (800 + 300 * np.sin(rows / 70)).astype("uint16")
infrared = (2500 + 900 * np.cos(columns / 90)).astype("uint16")
transform = (10.0, 0.0, 400_000.0, 0.0, -10.0, 5_600_000.0)
strile.to_geotiff(np.stack([red, infrared], axis=-1), folder / "scene.tif", crs=32632, transform=transform)

# A dask array over whole blocks of the file; nothing is read yet.
scene = strile.open_geotiff(folder / "scene.tif", chunks=512)
bands = scene.astype("float32")
ndvi = (bands[..., 1] - bands[..., 0]) / (bands[..., 1] + bands[..., 0])
ndvi.attrs = {"crs": scene.attrs["crs"], "nodata": -1.0}

written = []
strile.to_geotiff(ndvi, folder / "ndvi.tif", cog=True, progress=lambda done, total: written.append((done, total)))

result = strile.open_geotiff(folder / "ndvi.tif")
expected = (infrared.astype("f4") - red) / (infrared.astype("f4") + red)
assert np.allclose(result, expected, atol=1e-6)
assert strile.validate_cog(folder / "ndvi.tif")["valid"]
assert written[-1][0] == written[-1][1]
with strile.open(folder / "ndvi.tif") as src:
    print(folder / "ndvi.tif", src.shape, src.dtypes, src.crs, "overviews", src.overviews(1))
