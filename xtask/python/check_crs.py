"""Reference systems written by strile, read by GDAL, measured by PROJ.

Each system of crs_list is given to `strile convert IN OUT -a_srs TEXT`; rasterio reads the file, and five places are
projected by pyproj from EPSG:4326 into the system as given and as read. They may be a millimetre apart.

usage: check_crs.py STRILE
"""

import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import crs_list
import numpy as np
import pyproj
import rasterio
from rasterio.transform import from_origin

MILLIMETRE = 1e-3
# Spheres of the Moon and of Mars are in the list; their coordinates are compared like any others.
os.environ["PROJ_IGNORE_CELESTIAL_BODY"] = "YES"


def without_codes(wkt):
    """The text without any authority code, so that nothing but the definition can be used."""
    wkt = re.sub(r',AUTHORITY\["[^"]*","[^"]*"\]', "", wkt)
    return re.sub(r',ID\["[^"]*",[^\[\]]*\]', "", wkt)


def cases():
    """Name, text, place, whether keys can hold it."""
    for code in crs_list.CODES:
        crs = pyproj.CRS.from_epsg(code)
        area = crs.area_of_use
        east = area.east if area.east > area.west else area.east + 360
        place = ((area.west + east) / 2, (area.south + area.north) / 2)
        yield f"EPSG:{code}", f"EPSG:{code}", place, True
        for version in ("WKT1_GDAL", "WKT2_2019", "WKT1_ESRI"):
            try:
                text = crs.to_wkt(version)
            except pyproj.exceptions.CRSError:
                continue
            # ESRI writes a compound system as two texts in a row, which is no WKT.
            if text and not (version == "WKT1_ESRI" and crs.is_compound):
                yield f"{code} as {version}", without_codes(text), place, True
    for text, place in crs_list.CODE_PAIRS + crs_list.CUSTOM:
        yield text[:60], text, place, True
    for text, place in crs_list.SIDECAR:
        yield text[:60], text, place, False


def farthest(given, read, place):
    """The largest distance in metres between five places in the two systems."""
    longitude, latitude = place
    step = 0.2
    offsets = np.array([(0, 0), (step, step), (-step, step), (step, -step), (-step, -step)])
    x = (offsets[:, 0] + longitude + 180) % 360 - 180
    y = np.clip(offsets[:, 1] + latitude, -89.9, 89.9)
    points = []
    for crs in (given, read):
        transformer = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)
        found = transformer.transform(x, y, np.zeros_like(x)) if crs.is_geocentric else transformer.transform(x, y)
        points.append(np.array(found))
    if not np.isfinite(points).all():
        return float("nan")
    axis = given.axis_info[0]
    size = axis.unit_conversion_factor * (6378137 if given.is_geographic else 1)
    return float(np.abs(points[0] - points[1]).max() * size)


def check(name, text, place, in_keys, path):
    """What is wrong with the file at `path`, which holds the system `text`; None where nothing is."""
    given = pyproj.CRS.from_user_input(text)
    with rasterio.open(path) as dataset:
        if dataset.crs is None:
            return f"{name}: no reference system was read"
        read = pyproj.CRS.from_user_input(dataset.crs.to_wkt(version="WKT2_2019"))
    sidecar = Path(f"{path}.aux.xml").exists()
    if sidecar == in_keys:
        return f"{name}: the definition is {'not ' if in_keys else ''}in the keys"
    apart = farthest(given, read, place)
    if not apart <= MILLIMETRE:
        return f"{name}: {apart * 1e3:.3f} mm apart, read as {read.to_wkt()[:1000]}"
    return None


def main(strile):
    warnings.simplefilter("ignore")
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.tif"
        profile = dict(driver="GTiff", width=4, height=4, count=1, dtype="uint8")
        with rasterio.open(source, "w", transform=from_origin(500000, 5000000, 10, 10), **profile) as dataset:
            dataset.write(np.zeros((1, 4, 4), "uint8"))
        for name, text, place, in_keys in cases():
            count += 1
            path = Path(folder) / f"{count}.tif"
            run = subprocess.run([strile, "convert", source, path, "-a_srs", text], capture_output=True, text=True)
            if run.returncode != 0:
                wrong.append(f"{name}: {run.stderr.strip()}")
                continue
            fault = check(name, text, place, in_keys, path)
            if fault:
                wrong.append(fault)
    for fault in wrong:
        print("FAIL", fault)
    print(f"{count} reference systems, through GDAL {rasterio.__gdal_version__}")
    print(f"{count - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
