#!/usr/bin/env python3
"""Reads the test kit's fixtures with tifffile and rasterio and compares them with the expected pixels.

  cargo run -p testkit --example write_fixtures -- FOLDER
  python check_fixtures.py FOLDER

A fixture passes when at least one reader gives the expected pixels and none gives others. Where a reader is
known to read another meaning into a file, SKIP says why; a fixture that no reader can read is counted apart,
and must be in UNREAD. Needs numpy, tifffile, imagecodecs and rasterio."""
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")
import logging

logging.disable(logging.CRITICAL)
import rasterio
import tifffile

# (reader, pattern of names, reason)
SKIP = [
    ("rasterio", r"_i(2|3|7|9|12|20|24)_", "odd signed depths are read as unsigned"),
    ("rasterio", r"_ci16_", "pairs of 8 bits are read as one number of 16"),
    ("rasterio", r"_ci64_", "pairs of 32 bits lose precision as complex64"),
    ("rasterio", r"_u24_.*_be", "libtiff swaps the three bytes, GDAL then unpacks them as not swapped"),
    ("tifffile", r"_u24_.*_be", "unpacked values are swapped once more"),
    ("tifffile", r"_u(3[3-9]|4\d|5\d|6[0-3])_", "gives an empty array"),
    ("tifffile", r"lerc_f32_tile_le_masked", "masked pixels become 0, in GDAL and here NaN"),
    ("rasterio", r"ccittrlew", "libtiff's decoder skips bytes that it fetched ahead of the word boundary"),
]
# Patterns of fixtures that neither reader can read.
UNREAD = [
    r"^lz4_",
    r"_[ui](3[3-9]|4\d|5\d|6[0-3])_",
    r"_i(2|3|7|9|12|20|24)_",
    r"_ci16_",
    r"_u24_.*_be",
    r"^ccittrlew",
]


def by_tifffile(path, page=0):
    with tifffile.TiffFile(path) as tif:
        p = tif.pages[page] if isinstance(page, int) else page(tif)
        a = p.asarray()
        if p.samplesperpixel > 1 and p.planarconfig == 1:
            a = a.reshape(p.imagelength, p.imagewidth, p.samplesperpixel).transpose(2, 0, 1)
        return a.reshape(-1, p.imagelength, p.imagewidth)


def by_rasterio(path, **options):
    with rasterio.open(path, **options) as src:
        return src.read()


def difference(found, expected, limits):
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if found.dtype == bool:
        found = found.astype("u1")
    if found.dtype != expected.dtype:
        # The same numbers in another type are the same pixels: half as float, odd depths.
        with np.errstate(all="ignore"):
            back = found.astype(expected.dtype)
            if not np.array_equal(back.astype(found.dtype), found, equal_nan=found.dtype.kind in "fc"):
                return f"dtype {found.dtype}, expected {expected.dtype}"
        found = back
    if limits["max"] == 0:
        same = found == expected
        if expected.dtype.kind in "fc":
            same |= np.isnan(found) & np.isnan(expected)
        if same.all():
            return None
        at = tuple(int(i) for i in np.argwhere(~same)[0])
        return f"{int((~same).sum())} samples differ, first at {at}: {found[at]}, expected {expected[at]}"
    d = np.abs(found.astype("f8") - expected.astype("f8"))
    if d.max() <= limits["max"] and d.mean() <= limits["mean"]:
        return None
    return f"off by at most {d.max():.3f}, mean {d.mean():.3f}; limits {limits['max']}, {limits['mean']}"


def skipped(reader, name):
    return any(r == reader and re.search(p, name) for r, p, _ in SKIP)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: check_fixtures.py FOLDER")
    folder = Path(sys.argv[1])
    verbose = "-v" in sys.argv
    passed = failed = unread = 0
    by = {"tifffile": 0, "rasterio": 0}
    for record in json.loads((folder / "fixtures.json").read_text()):
        name = record["name"]
        path = folder / f"{name}.tif"
        jobs = [("", {"tifffile": lambda: by_tifffile(path), "rasterio": lambda: by_rasterio(path)})]
        for k in range(record["overviews"]):
            jobs.append((f".overview{k}", {"rasterio": lambda k=k: by_rasterio(path, overview_level=k)}))
        for k in range(1, record["pages"] + 1):
            where = f"GTIFF_DIR:{k + 1}:{path}"
            jobs.append((f".page{k}", {"tifffile": lambda k=k: by_tifffile(path, k), "rasterio": lambda: by_rasterio(where)}))
        if record["mask"]:
            def mask():
                with rasterio.open(path) as src:
                    return (src.dataset_mask() // 255)[None]
            jobs.append((".mask", {"rasterio": mask}))
        for suffix, readers in jobs:
            expected = np.load(folder / f"{name}{suffix}.npy")
            good, bad, errors = [], [], []
            for reader, read in readers.items():
                if skipped(reader, name):
                    continue
                try:
                    found = read()
                except Exception as error:  # a reader that cannot read is no judge
                    errors.append(f"{reader}: {type(error).__name__} {str(error)[:110]}")
                    continue
                why = difference(found, expected, record)
                (bad if why else good).append(f"{reader}: {why}" if why else reader)
                by[reader] += not why
            if bad:
                failed += 1
                print(f"FAIL {name}{suffix}: {'; '.join(bad)}" + (f" (but {good[0]} agrees)" if good else ""))
            elif good:
                passed += 1
                if verbose and errors:
                    print(f"one  {name}{suffix}: {'; '.join(errors)}")
            elif any(re.search(p, name) for p in UNREAD):
                unread += 1
            else:
                failed += 1
                print(f"FAIL {name}{suffix}: no reader: {'; '.join(errors)}")
    print(f"agreed: {by}; {unread} that no reader reads")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
