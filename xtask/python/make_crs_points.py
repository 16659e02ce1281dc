"""Makes crates/crs/tests/data/points.txt: coordinates of about 1,100 EPSG codes as PROJ computes them.

Usage: python make_crs_points.py OUT, or --check TABLE to compare a table with the PROJ that is installed. Needs pyproj with PROJ
9.8 or later: earlier ones compute the Equidistant Cylindrical
and Miller projections of an ellipsoid as those of a sphere. Grids are not used and not fetched.

One line per code: code, window (west south east north), base code or 0, PROJ's operations, coordinates. The first ten points
lie in the window and come from EPSG:4326. The other ten lie in the whole area of use and come from the base, which tests the
projection alone; a code whose base counts in other units or from another meridian has none. Points follow from the window and
the area by the rule of `places`. Coordinates are in mm (geographic: 1e-9 degrees), the first of ten in full, the others as
differences to the one before; `-` is a point without coordinates.
"""

import os
import sys

os.environ["PROJ_NETWORK"] = "OFF"
import warnings

import pyproj
from pyproj import CRS, Transformer
from pyproj.aoi import AreaOfInterest
from pyproj.database import query_crs_info
from pyproj.enums import PJType

warnings.filterwarnings("ignore")
pyproj.network.set_network_enabled(False)

# Systems of world-wide, polar and national rasters, and those that went wrong in some library.
ALWAYS = [
    3857, 3395, 3832, 3410, 3408, 3409, 3973, 3974, 6933, 6931, 6932, 8857, 8858, 8859, 4087, 4088, 3035, 3034, 3575,
    3571, 3031, 3032, 3411, 3412, 3413, 3976, 3995, 3996, 5041, 5042, 32661, 32761, 3978, 3979, 3347, 5936, 2154, 27572,
    27700, 29903, 2157, 28992, 31370, 31300, 3812, 2169, 21781, 2056, 31467, 31468, 31287, 3763, 2180, 5514, 5513, 2065,
    3794, 3844, 3006, 3021, 3067, 3059, 3301, 2193, 27200, 7855, 28355, 3577, 9473, 3111, 3112, 6677, 2451, 5179, 5186,
    4527, 4490, 2326, 3826, 3405, 3168, 3414, 24378, 7755, 32198, 2950, 3400, 3005, 2039, 22770, 20437, 22235, 2052, 29333,
    8441, 31983, 29193, 5880, 22185, 5367, 24879, 3116, 9377, 6372, 2085, 5070, 6350, 3310, 3083, 2163, 9311, 3174, 3338,
    2263, 6539, 2277, 26715, 26711, 26915, 32633, 32760, 32701, 25832, 23030, 4326, 4258, 4269, 4267, 4230, 4277, 4314,
    4283, 7844, 4167, 4612, 6668, 4674, 4617, 6318, 4149, 4171, 4301, 4807, 4275, 3295, 24200,
]
U, V = 0.7548776662466927, 0.5698402909980532


def places(west, south, east, north):
    """Ten points spread over an area."""
    width = east - west if east > west else east - west + 360
    out = []
    for i in range(10):
        lon = west + width * ((0.5 + i * U) % 1.0)
        out.append((lon - 360 if lon > 180 else lon, south + (north - south) * ((0.5 + i * V) % 1.0)))
    return out


def window(area):
    """A small window around the middle of an area, in thousandths of a degree."""
    west, south, east, north = area
    width = east - west if east > west else east - west + 360
    half_width, half_height = min(0.1, width * 0.15), min(0.1, (north - south) * 0.15)
    x = (west + width * 0.45 + 180) % 360 - 180
    x = min(max(x, -180 + half_width), 180 - half_width)
    y = south + (north - south) * 0.55
    box = (x - half_width, y - half_height, x + half_width, y + half_height)
    return tuple(round(v, 3) for v in box)


def written(points, size):
    out, last = [], None
    for x, y in points:
        if not (abs(x) < 1e15 and abs(y) < 1e15):
            out.append("-")
            continue
        now = (round(x * size), round(y * size))
        before = last or (0, 0)
        out.append(f"{now[0] - before[0]},{now[1] - before[1]}")
        last = now
    return " ".join(out)


def line(code, area, box=None):
    crs = CRS.from_epsg(code)
    box = box or window(area)
    aoi = AreaOfInterest(*box)
    transformer = Transformer.from_crs("EPSG:4326", crs, always_xy=True, area_of_interest=aoi)
    near, used = [], []
    for x, y in places(*box):
        near.append(transformer.transform(x, y))
        try:
            name = transformer.get_last_used_operation().description
        except Exception:
            name = transformer.description
        name = name.replace(" (with axis order normalized for visualization)", "")
        if name not in used:
            used.append(name)
    used = " | ".join(used)
    size = 1e9 if crs.is_geographic else 1000
    base = crs.geodetic_crs
    plain = base.prime_meridian.longitude == 0 and abs(base.axis_info[0].unit_conversion_factor - 0.017453292519943295) < 1e-12
    base = (base.to_epsg() or 0) if plain and not crs.is_geographic else 0
    far = []
    if base:
        project = Transformer.from_crs(crs.geodetic_crs, crs, always_xy=True)
        far = [project.transform(x, y) for x, y in places(*area)]
    place = " ".join(f"{v:g}" for v in (*box, *area))
    return f"{code}\t{place}\t{base}\t{used}\t{written(near, size)}\t{written(far, size)}"


def systems():
    """The codes of the table with their areas of use."""
    infos = query_crs_info("EPSG", [PJType.PROJECTED_CRS, PJType.GEOGRAPHIC_2D_CRS], allow_deprecated=False)
    infos = sorted((i for i in infos if i.area_of_use), key=lambda i: int(i.code))
    for at, info in enumerate(infos):
        if at % 6 == 0 or int(info.code) in ALWAYS:
            a = info.area_of_use
            yield int(info.code), (a.west, a.south, a.east, a.north)


def make(out):
    lines, left_out = [], 0
    for code, area in systems():
        try:
            lines.append(line(code, area))
        except Exception as problem:
            left_out += 1
            print(code, problem, file=sys.stderr)
    with open(out, "w") as file:
        file.write(f"# Coordinates by PROJ {pyproj.proj_version_str}, from xtask/python/make_crs_points.py, which says how to read this.\n")
        file.write("\n".join(lines) + "\n")
    print(f"{len(lines)} codes, {left_out} without coordinates")


def check(table):
    """Computes the table again with the PROJ that is installed; another edition of the registry may choose other operations."""
    same, other_operation, different = 0, 0, []
    for text in open(table).read().splitlines():
        if text.startswith("#"):
            continue
        code, place, _, operation, _, _ = before = text.split("\t")
        now = line(int(code), [float(v) for v in place.split()[4:]], [float(v) for v in place.split()[:4]]).split("\t")
        if before[4:] == now[4:]:
            same += 1
        elif before[3] != now[3]:
            other_operation += 1
        elif any(far(a, b) for a, b in zip(before[4:], now[4:])):
            different.append(code)
        else:
            same += 1
    print(f"PROJ {pyproj.proj_version_str}: {same} codes as in the table, {other_operation} by another operation, different: {different}")
    return bool(different)


def far(a, b):
    """Whether two lists of coordinates differ by more than rounding."""
    a, b = a.split(), b.split()
    if len(a) != len(b):
        return True
    return any((x == "-") != (y == "-") or x != "-" and apart(x, y) for x, y in zip(a, b))


def apart(x, y):
    return any(abs(int(p) - int(q)) > 10 for p, q in zip(x.split(","), y.split(",")))


if __name__ == "__main__":
    sys.exit(check(sys.argv[2]) if sys.argv[1] == "--check" else make(sys.argv[1]))
