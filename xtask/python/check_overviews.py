"""Compares the overviews of COGs written by strile with GDAL's, level by level, each made of the level above.

usage: check_overviews.py STRILE

Integers must be equal for nearest, average, mode and rms, within 1 for the filters; floats within 1e-6. Sizes are even at
every level: reduce.md of the engine crate says why GDAL differs elsewhere. Exit status 1 and the first difference where not.
"""

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import rasterio
from rasterio.enums import Resampling

METHODS = {
    "nearest": Resampling.nearest,
    "average": Resampling.average,
    "mode": Resampling.mode,
    "rms": Resampling.rms,
    "gauss": Resampling.gauss,
    "bilinear": Resampling.bilinear,
    "cubic": Resampling.cubic,
    "lanczos": Resampling.lanczos,
}
EXACT = ("nearest", "average", "mode", "rms")
TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
# 2048 columns are halved twice before they fit into a block of 512.
SHAPE = (1024, 2048)

def nodata_of(dtype):
    """A value that integers come near to. Of floats GDAL takes those for nodata that are a few units in the last place off."""
    return -9999 if np.dtype(dtype).kind == "f" else 7



def write(path, pixels, nodata):
    """Writes a plain GTiff of one band."""
    height, width = pixels.shape
    profile = dict(driver="GTiff", width=width, height=height, count=1, dtype=pixels.dtype, nodata=nodata)
    with rasterio.open(path, "w", **profile) as dataset:
        dataset.write(pixels, 1)


def halved(folder, pixels, method, nodata):
    """What GDAL makes of one level."""
    path = folder / "level.tif"
    path.unlink(missing_ok=True)
    write(path, pixels, nodata)
    with rasterio.open(path, "r+") as dataset:
        dataset.build_overviews([2], METHODS[method])
    with rasterio.open(path, OVERVIEW_LEVEL=0) as dataset:
        return dataset.read(1)


def image(dtype, holed, rng):
    """Values over the whole range of integers; few enough to repeat in a quarter of the image."""
    if np.dtype(dtype).kind == "f":
        pixels = (rng.standard_normal(SHAPE) * 100).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        pixels = rng.integers(limits.min, limits.max, SHAPE, dtype=dtype, endpoint=True)
    corner = pixels[: SHAPE[0] // 2, : SHAPE[1] // 2]
    corner[:] = rng.integers(20, 24, corner.shape)
    nodata = nodata_of(dtype)
    pixels[pixels == nodata] = nodata + 2
    if holed:
        pixels[rng.random(SHAPE) < 0.2] = nodata
        pixels[100:300, 900:1200] = nodata
    return pixels


def difference(found, expected, nodata):
    """How far each pixel is off, and both as float64."""
    found, expected = found.astype("f8"), expected.astype("f8")
    apart = np.abs(found - expected)
    if nodata is not None:
        # strile never writes nodata for valid pixels; GDAL does where rounding leads there.
        apart[(expected == nodata) & (found == nodata + 1)] = 0
    return apart, found, expected


def allowed(dtype, method, expected):
    """How far each pixel may be off."""
    if np.dtype(dtype).kind == "f":
        # A cascade adds up what levels differ by; near zero the terms count, not the sum.
        return 1e-6 * np.maximum(np.abs(expected), 100)
    return np.full(expected.shape, 0.0 if method in EXACT else 1.0)


def check(strile, folder, dtype, method, holed, rng):
    """Checks one file; returns a sentence where it differs."""
    nodata = nodata_of(dtype) if holed else None
    source, target = folder / "source.tif", folder / "target.tif"
    pixels = image(dtype, holed, rng)
    write(source, pixels, nodata)
    command = [strile, "convert", "--overwrite", "--of", "COG", "--co", f"OVERVIEW_RESAMPLING={method}"]
    subprocess.run([*command, str(source), str(target)], check=True, capture_output=True)
    with rasterio.open(target) as dataset:
        levels = len(dataset.overviews(1))
    if levels < 2:
        return f"{levels} overviews, expected 2 or more"
    above = pixels
    for level in range(levels):
        if above.shape[0] % 2 or above.shape[1] % 2:
            break
        with rasterio.open(target, OVERVIEW_LEVEL=level) as dataset:
            found = dataset.read(1)
        expected = halved(folder, above, method, nodata)
        if found.shape != expected.shape:
            return f"level {level + 1}: {found.shape}, expected {expected.shape}"
        apart, found_f, expected_f = difference(found, expected, nodata)
        bad = np.argwhere(apart > allowed(dtype, method, expected_f))
        if len(bad):
            row, column = bad[0]
            values = f"{found_f[row, column]}, expected {expected_f[row, column]}"
            return f"level {level + 1}, row {row}, column {column}: {values}; {len(bad)} pixels differ"
        # The next level is made of strile's own pixels.
        above = found
    return None


def main():
    """Runs every method over every type, with and without nodata."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore", category=rasterio.errors.NotGeoreferencedWarning)
    rng = np.random.default_rng(3)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for dtype in TYPES:
            for method in METHODS:
                for holed in (False, True):
                    told = check(sys.argv[1], Path(name), dtype, method, holed, rng)
                    passed, failed = passed + (told is None), failed + (told is not None)
                    if told:
                        print(f"FAIL {dtype}, {method}, {'holes' if holed else 'whole'}: {told}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
