"""Draws cases of reads onto grids: a small raster, a grid near it, and how it is read. The same seed draws the same cases.

A raster lies in one of `PLACES`, in its own system, and the grid in one of the systems beside it: pairs of UTM, web maps,
longitude and latitude (over the antimeridian, up to the poles), polar, conic, equal-area and sinusoidal systems, and systems with
other datums. Transforms are north-up, south-up, turned or stretched; grids are finer and coarser than their raster, and hold it,
lie in it, overlap its edge, or miss it.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyproj

MODIS = "+proj=sinu +lon_0=0 +R=6371007.181 +units=m"
# System of the raster, centre in longitude and latitude, size of a pixel in its units, systems of grids.
PLACES = [
    ("EPSG:32633", (14.2, 50.1), 10, ["EPSG:3857", "EPSG:4326", "EPSG:32632", "EPSG:3035", "EPSG:25833"]),
    ("EPSG:32633", (17.6, 77.9), 300, ["EPSG:3413", "EPSG:3857", "EPSG:4326"]),
    ("EPSG:32756", (151.2, -33.8), 20, ["EPSG:3857", "EPSG:4326", "EPSG:32755"]),
    ("EPSG:32760", (179.6, -17.5), 100, ["EPSG:3857", "EPSG:4326", "EPSG:32701"]),
    ("EPSG:32701", (-179.7, -16.8), 100, ["EPSG:4326", "EPSG:32760"]),
    ("EPSG:4326", (11.3, 48.2), 0.001, ["EPSG:3857", "EPSG:32632", "EPSG:3035", "EPSG:6933", MODIS]),
    ("EPSG:4326", (-98.5, 39.2), 0.05, ["EPSG:5070", "EPSG:3857", "EPSG:32614"]),
    ("EPSG:4326", (25.0, 80.0), 0.02, ["EPSG:32635", "EPSG:3413", "EPSG:3995"]),
    ("EPSG:4326", (0.0, 0.0), 5, ["EPSG:3857", "EPSG:6933", "EPSG:3413", "EPSG:3031", MODIS]),
    ("EPSG:3857", (9.9, 53.6), 30, ["EPSG:4326", "EPSG:32632", "EPSG:3035"]),
    ("EPSG:3857", (-120.4, 37.1), 300, ["EPSG:4326", "EPSG:5070", "EPSG:32610"]),
    ("EPSG:3413", (-42.0, 71.5), 1000, ["EPSG:4326", "EPSG:3995", "EPSG:3857"]),
    ("EPSG:3413", (-45.0, 89.4), 2500, ["EPSG:4326", "EPSG:3995"]),
    ("EPSG:3031", (60.0, -75.0), 1000, ["EPSG:4326", "EPSG:3976"]),
    ("EPSG:3035", (10.0, 52.0), 100, ["EPSG:4326", "EPSG:3857", "EPSG:25832"]),
    ("EPSG:5070", (-96.0, 38.0), 240, ["EPSG:4326", "EPSG:3857", "EPSG:32614"]),
    ("EPSG:6933", (30.0, 10.0), 9000, ["EPSG:4326", "EPSG:3857"]),
    (MODIS, (12.0, 44.0), 463.3127165, ["EPSG:4326", "EPSG:32632", "EPSG:3857"]),
    ("EPSG:2263", (-73.97, 40.75), 20, ["EPSG:4269", "EPSG:26918"]),
    ("EPSG:2154", (2.35, 48.85), 25, ["EPSG:4326", "EPSG:3857", "EPSG:32631"]),
]
# As above: the full disc of a weather satellite in pixels of 3 km, in the middle and towards its edge.
GEOSTATIONARY = "+proj=geos +h=35785831 +lon_0=0 +sweep=y +datum=WGS84"
DISC = [
    (GEOSTATIONARY, (10.0, 46.0), 3000, ["EPSG:4326", "EPSG:3857", "EPSG:3035"]),
    (GEOSTATIONARY, (1.0, -2.0), 3000, ["EPSG:4326", "EPSG:6933"]),
    (GEOSTATIONARY, (-38.0, -50.0), 3000, ["EPSG:4326"]),
    ("EPSG:4326", (12.0, 43.0), 0.04, [GEOSTATIONARY]),
]
METHODS = [
    "nearest", "bilinear", "cubic", "cubic_spline", "lanczos", "average", "mode", "min", "max", "med", "q1", "q3", "rms", "sum",
]  # fmt: skip
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"]
LONG_TYPES = ["int64", "uint64", "float32", "int16"]
SHAPES = ["north-up", "north-up", "north-up", "south-up", "turned", "stretched"]
WHERE = ["inside", "inside", "overlapping", "holding", "outside"]
RATIOS = [0.31, 0.77, 1.0, 1.0, 1.63, 2.9, 6.4]


@cache
def transformer(system, target):
    """Exact coordinates of one system in another, x before y."""
    return pyproj.Transformer.from_crs(system, target, always_xy=True)


@dataclass
class Case:
    """A read onto a grid."""

    number: int
    system: str
    transform: tuple[float, ...]
    shape: tuple[int, int]
    target: str
    target_transform: tuple[float, ...]
    target_shape: tuple[int, int]
    method: str
    dtype: str
    bands: int
    nodata: float | None
    missing: str
    level: int
    tolerance: float
    words: tuple[str, ...]
    pixels: np.ndarray = field(repr=False)
    valid: np.ndarray | None = field(repr=False, default=None)
    alpha: bool = False

    @property
    def name(self):
        told = f"{self.system[:12]} {self.shape} to {self.target[:12]} {self.target_shape}, {self.method}, {self.bands} × {self.dtype}"
        return f"case {self.number}: {told}, {self.missing}, level {self.level}, tolerance {self.tolerance}, {' '.join(self.words)}"


def _affine(kind, rng, centre, pixel, shape):
    """The transform of a raster of that shape around a place."""
    across, down = pixel, -pixel
    shear = (0.0, 0.0)
    if kind == "south-up":
        down = pixel
    elif kind == "stretched":
        across, down = pixel * 1.3, -pixel * 0.8
    elif kind == "turned":
        angle = rng.uniform(-0.9, 0.9)
        across, down = pixel * np.cos(angle), -pixel * np.cos(angle)
        shear = (pixel * np.sin(angle), pixel * np.sin(angle))
    height, width = shape
    x = centre[0] - across * width / 2 - shear[0] * height / 2
    y = centre[1] - shear[1] * width / 2 - down * height / 2
    return tuple(float(number) for number in (across, shear[0], x, shear[1], down, y))


def _pixels(rng, dtype, bands, shape):
    """A surface with noise, and some plateaus so that modes and ties occur."""
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    planes = []
    for band in range(bands):
        plane = 60 * np.sin(x / (5 + band)) * np.cos(y / (4 + band)) + rng.normal(0, 12, shape)
        plane[rng.random(shape) < 0.1] = 20
        planes.append(plane)
    values = np.stack(planes)
    if dtype.startswith("uint"):
        values = np.abs(values) + 1
    if dtype in ("uint16", "int16", "int32", "uint32"):
        values *= 100
    return values.astype(dtype) if dtype.startswith("float") else np.rint(values).astype(dtype)


def draw(number, seed, all_places=PLACES, types=TYPES):
    """The case of a number; None where the place has no coordinates in the system of the grid."""
    rng = np.random.default_rng([seed, number])
    system, lonlat, pixel, targets = all_places[number % len(all_places)]
    method = METHODS[(number // len(all_places)) % len(METHODS)]
    target = targets[rng.integers(len(targets))]
    dtype = types[rng.integers(len(types))]
    shape = (int(rng.integers(18, 60)), int(rng.integers(18, 60)))
    kind, target_kind = SHAPES[rng.integers(len(SHAPES))], SHAPES[rng.integers(len(SHAPES))]
    if system == "EPSG:4326" and pixel == 5:
        # The whole Earth.
        shape, kind = (36, 72), "north-up"
    centre = transformer("EPSG:4326", system).transform(*lonlat)
    transform = _affine(kind, rng, centre, pixel, shape)
    where = WHERE[rng.integers(len(WHERE))]
    ratio = RATIOS[rng.integers(len(RATIOS))]
    there = transformer(system, target)
    # A pixel of the raster in units of the grid, in the middle of the raster.
    xs, ys = there.transform([centre[0], centre[0] + pixel, centre[0]], [centre[1], centre[1], centre[1] + pixel])
    if not np.isfinite([*xs, *ys]).all():
        return None
    size = float(np.sqrt(abs((xs[1] - xs[0]) * (ys[2] - ys[0]) - (xs[2] - xs[0]) * (ys[1] - ys[0]))))
    if not np.isfinite(size) or size <= 0:
        return None
    target_pixel = size * ratio
    reach = max(shape) * size
    sides = {"inside": 0.5, "overlapping": 0.7, "holding": 1.5, "outside": 0.6}[where]
    target_shape = tuple(int(min(max(reach * sides / target_pixel * rng.uniform(0.8, 1.2), 3), 90)) for _ in range(2))
    shift = {"inside": 0.1, "overlapping": 0.6, "holding": 0.0, "outside": 3.0}[where] * reach
    turn = rng.uniform(0, 2 * np.pi)
    place = (xs[0] + shift * np.cos(turn), ys[0] + shift * np.sin(turn))
    target_transform = _affine(target_kind, rng, place, target_pixel, target_shape)
    bands = int(rng.choice([1, 1, 2, 3]))
    pixels = _pixels(rng, dtype, bands, shape)
    missing = str(rng.choice(["nothing missing", "nodata", "nodata", "mask", "nan"]))
    if missing == "nan" and not dtype.startswith("float"):
        missing = "nodata"
    nodata, valid = None, None
    holes = rng.random(shape) < 0.12
    holes[: shape[0] // 4, : shape[1] // 3] = True
    if missing == "nodata":
        nodata = float(rng.choice([0, 20, 255] if dtype == "uint8" else [0, 20, 126]))
        pixels[:, holes] = nodata
    elif missing == "nan":
        nodata = float("nan")
        pixels[:, holes] = nodata
    elif missing == "mask":
        valid = ~holes
    level = int(rng.choice([0, 0, 0, 1])) if kind != "turned" else 0
    tolerance = float(rng.choice([0.0, 0.125]))
    return Case(
        number, system, transform, shape, target, target_transform, target_shape, method, dtype, bands, nodata, missing, level,
        tolerance, (kind, f"grid {target_kind}", where, f"ratio {ratio}"), pixels, valid,
    )  # fmt: skip


def cases(count, seed=24):
    """That many cases."""
    number, found = 0, 0
    while found < count:
        case = draw(number, seed)
        number += 1
        if case is not None:
            found += 1
            yield case


def alpha_cases(count, first=10_000, seed=24):
    """That many cases whose missing pixels are transparent: those with a mask of the numbers from `first` on, of the types that GDAL has an opaque
    value for."""
    number, found = first, 0
    while found < count:
        case = draw(number, seed)
        number += 1
        if case is not None and case.missing == "mask" and case.dtype in ("uint8", "uint16"):
            found += 1
            case.missing, case.alpha = "alpha", True
            yield case


def further_cases(count, first=20_000, seed=24):
    """That many cases between a weather satellite's disc and other systems, most of them of 64-bit integers."""
    number, found = first, 0
    while found < count:
        case = draw(number, seed, DISC, LONG_TYPES)
        number += 1
        if case is not None:
            found += 1
            yield case


def all_cases():
    """The cases that reads onto grids are judged by: 3,000, 120 with alpha, and 84 further ones."""
    yield from cases(3000)
    yield from alpha_cases(120)
    yield from further_cases(84)
