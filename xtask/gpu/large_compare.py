"""`large_compare.py VRT RESULT`: windows of a warped mosaic beside GDAL's WarpedVRT; exits 1 where more than rounding differs.

Samples are noise of ±16 on slopes, so places that differ by an eighth of a pixel differ by a few units; at the edges of copies of
the mosaic a pixel may differ by the step there.
"""
import json
import sys

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT
from rasterio.windows import Window

with rasterio.open(sys.argv[1]) as source, rasterio.open(sys.argv[2]) as made:
    words = dict(crs=made.crs, transform=made.transform, width=made.width, height=made.height, nodata=-9999)
    found = []
    with WarpedVRT(source, resampling=Resampling.bilinear, **words) as wanted:
        for across, down in ((0.2, 0.3), (0.5, 0.5), (0.71, 0.83)):
            window = Window(int(made.width * across), int(made.height * down), 512, 512)
            ours, theirs = (file.read(1, window=window).astype(int) for file in (made, wanted))
            both = (ours != -9999) & (theirs != -9999)
            apart = np.abs(ours - theirs)[both]
            found.append({
                "both": int(both.sum()), "one_has_a_value": int(((ours != -9999) != (theirs != -9999)).sum()),
                "over_8": int((apart > 8).sum()), "largest": int(apart.max(initial=0)),
            })
print(json.dumps(found))
sys.exit(any(row["over_8"] > 2600 or row["one_has_a_value"] > 260 for row in found) or not any(row["both"] for row in found))
