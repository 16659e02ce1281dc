"""`strile.read(grid=)` judged by GDAL's warper (rasterio's WarpedVRT) on drawn cases (`warp_cases`).

    check_warp.py [--all] [--only NUMBER] [--keep FOLDER]

Each case is a small file, a grid, a method and a tolerance, read by both with the same nodata and fill values. Pixels must be
equal, in the case of integers that are computed within 1, of floats within 10⁻⁵ of the values. Any other difference must have a
reason that can be shown by the exact coordinates of the pixel (PROJ's), else the case fails:

- tie: the place under a pixel lies on the edge between pixels of the raster, within the precision of coordinates;
- approximation: both interpolate coordinates within 1/8 pixel by default, each in its own way, and no value differs by more than
  the raster changes within that distance;
- footprint: the edge of a pixel of the grid lies on an edge between pixels of the raster;
- scale: GDAL 3.10 estimates the size of a pixel of the raster in pixels of the grid, by which kernels are widened and footprints may reach
  beyond the raster, in another way. With the scale of the rule that strile and later versions have (`warp_scale`) it gives the same pixels;
- narrow: bilinear and cubic are widened by GDAL from 1.05 pixels of the raster per pixel of the grid on, by strile from 2 on. GDAL without the
  widening gives the same pixels;
- kernel: values of widened kernels differ by less than 2 % of what the raster varies around the place;
- weights: the weights of lanczos cancel near missing pixels and edges, so that GDAL has no value, or strile has none;
- mode: GDAL 3.10 counts samples, strile adds up the parts of them that the pixel covers; GDAL's sample is the most frequent one;
- sum: GDAL's sums of parts differ by less than 0.1 %;
- seam: the pixel lies over the seam of a raster around the Earth, and GDAL takes the whole row for its footprint;
- exact: strile has the sample at PROJ's place, GDAL another one; of bilinear and lanczos with exact coordinates, which GDAL has other values of
  with the same scale, the value that the definition of the kernel gives at PROJ's place;
- domain: the place does not lead back to the pixel: it is outside the domain of a projection.

Prints how many pixels differ for each reason, then `N passed, N failed`; exit status 1 where any failed. The default is every sixth of
3,000 cases and of 120 whose missing pixels are transparent; `--all` takes them all. `docs/correctness.md` lists the reasons.
"""

import argparse
import collections
import itertools
import os
import sys
import tempfile
import warnings
from pathlib import Path

# PROJ reports points outside of a projection's domain as errors, and rasterio would end the read; asked for when it is loaded.
os.environ["PROJ_DEBUG"] = "0"

import numpy as np  # noqa: E402
import rasterio  # noqa: E402
import strile  # noqa: E402
import warp_cases  # noqa: E402
import warp_scale  # noqa: E402
from rasterio.enums import ColorInterp, Resampling  # noqa: E402
from rasterio.vrt import WarpedVRT  # noqa: E402

COUNT, ALPHA, EVERY = 3000, 120, 6
# Methods that return samples, not numbers computed from them.
PICKING = {"nearest", "mode", "min", "max", "med", "q1", "q3"}
FOOTPRINT = {"average", "mode", "min", "max", "med", "q1", "q3", "rms", "sum"}
RADIUS = {"nearest": 0.5, "bilinear": 1, "cubic": 2, "cubic_spline": 2, "lanczos": 3}
# Coordinates of PROJ, GDAL and strile agree within this, in pixels of the raster: systems are within 1 mm, and pixels metres.
EXACT = 2e-4
# Both may be off by 1/8 pixel, and more between the points that are tested: GDAL tests one in the middle of each half of a row.
APPROXIMATE = 0.6
NAMES = {"med": "median"}
# GDAL follows the edge of a grid only, by default, and misses pixels of rasters with a pole inside.
# Missing pixels are those of each band, as gdalwarp has it.
EXTRAS = {"SAMPLE_GRID": "YES", "UNIFIED_SRC_NODATA": "PARTIAL"}


def write(case, path):
    """The raster of a case, with overviews where one is read."""
    options = {"nodata": case.nodata} if case.nodata is not None else {}
    height, width = case.shape
    pixels = case.pixels
    if case.alpha:
        options["photometric"] = "minisblack"
        opaque = np.where(case.valid, np.iinfo(case.dtype).max, 0).astype(case.dtype)
        pixels = np.concatenate([pixels, opaque[None]])
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(
            path, "w", driver="GTiff", width=width, height=height, count=len(pixels), dtype=case.dtype, crs=case.system,
            transform=rasterio.Affine(*case.transform), tiled=True, blockxsize=16, blockysize=16, **options,
        ) as file:  # fmt: skip
            if case.alpha:
                file.colorinterp = [ColorInterp.gray, *[ColorInterp.undefined] * (case.bands - 1), ColorInterp.alpha]
            file.write(pixels)
            if case.valid is not None and not case.alpha:
                file.write_mask(case.valid)
        if case.level:
            with rasterio.open(path, "r+") as file:
                file.build_overviews([2], Resampling.nearest)


def fill_of(case):
    """The value of pixels without one: that of the raster, else one that its samples do not have."""
    if case.nodata is not None:
        return case.nodata
    return float({"uint8": 255, "int8": -128, "uint16": 65535, "uint32": 4294967295, "int16": -32768}.get(case.dtype, -99999))


def by_gdal(case, path, **extras):
    options = {"overview_level": case.level - 1} if case.level else {}
    bands = list(range(1, case.bands + 1))
    if case.alpha:
        extras["src_alpha"] = case.bands + 1
    height, width = case.target_shape
    with (
        rasterio.open(path, **options) as file,
        WarpedVRT(
            file, crs=case.target, transform=rasterio.Affine(*case.target_transform), width=width, height=height,
            resampling=Resampling[case.method], nodata=fill_of(case), tolerance=case.tolerance or 1e-9,
            **EXTRAS, **extras,
        ) as warped,
    ):  # fmt: skip
        # Where no pixel of the grid has a place in the raster GDAL writes nothing.
        return warped.read(bands, out=np.full((case.bands, height, width), fill_of(case), case.dtype))


def by_strile(case, path):
    grid = strile.Grid(case.target, case.target_transform, case.target_shape)
    bands = list(range(1, case.bands + 1))
    raster = strile.read(
        path, bands=bands, grid=grid, resampling=NAMES.get(case.method, case.method), tolerance=case.tolerance, level=case.level,
        fill=fill_of(case),
    )  # fmt: skip
    return raster.numpy()


class Under:
    """The exact places of the raster under the pixels of the grid, in pixels of the level that is read."""

    def __init__(self, case):
        self.shape = case.shape
        self.case = case
        stored = case.pixels
        valid = np.ones(case.shape, bool) if case.valid is None else case.valid
        valid = np.broadcast_to(valid, stored.shape).copy()
        if case.nodata is not None:
            valid &= ~np.isnan(stored) if np.isnan(case.nodata) else stored != np.array(case.nodata).astype(case.dtype)
        self.pixels, self.valid = stored, valid
        if case.level:
            with rasterio.open(case.path, overview_level=0) as file:
                self.pixels = file.read()
                self.valid = file.read_masks() > 0 if not case.alpha else np.broadcast_to(file.read(case.bands + 1) > 0, self.pixels.shape)
                self.shape = file.shape
        # Columns around the Earth, where the raster has all of them.
        turn = abs(360 / case.transform[0]) * self.shape[1] / case.shape[1] if case.system == "EPSG:4326" else 0
        self.turn = turn if self.shape[1] >= turn - 1e-6 else 0

    def at(self, column, row):
        """Columns and rows of the raster at columns and rows of the grid."""
        case = self.case
        x, y = rasterio.Affine(*case.target_transform) @ (column, row)
        x, y = warp_cases.transformer(case.target, case.system).transform(x, y)
        column, row = ~rasterio.Affine(*case.transform) @ (np.asarray(x), np.asarray(y))
        column, row = column * self.shape[1] / case.shape[1], row * self.shape[0] / case.shape[0]
        return (column % self.turn if self.turn else column), row

    def leads_back(self, column, row):
        """Whether the place of a pixel of the grid has that pixel in turn."""
        case = self.case
        x, y = rasterio.Affine(*case.target_transform) @ (column, row)
        back = warp_cases.transformer(case.system, case.target).transform(*warp_cases.transformer(case.target, case.system).transform(x, y))
        there = ~rasterio.Affine(*case.target_transform) @ back
        return bool(np.isfinite(there).all() and abs(there[0] - column) < 0.01 and abs(there[1] - row) < 0.01)

    def around(self, band, column, row, reach):
        """The samples within a distance, which of them are valid, and whether the edge of the raster is."""
        if not (np.isfinite(column) and np.isfinite(row)):
            return np.empty(0), np.empty(0, bool), True
        height, width = self.shape
        first_column, last_column = int(np.floor(column - reach)), int(np.floor(column + reach))
        first_row, last_row = int(np.floor(row - reach)), int(np.floor(row + reach))
        beyond = first_column < 0 or first_row < 0 or last_column >= width or last_row >= height
        place = (band, slice(max(first_row, 0), max(last_row + 1, 0)), slice(max(first_column, 0), max(last_column + 1, 0)))
        return self.pixels[place].ravel(), self.valid[place].ravel(), beyond


def is_most_frequent(under, band, corners, value):
    """Whether no sample is more frequent in the box between the first corner of a pixel and the last."""
    (left, right), (top, bottom) = (sorted(sides) for sides in zip(corners[0], corners[3], strict=True))
    if not np.isfinite([left, right, top, bottom]).all():
        return False
    height, width = under.shape
    rows = slice(max(int(top + 1e-10), 0), min(max(int(np.ceil(bottom - 1e-10)), int(top) + 1), height))
    columns = slice(max(int(left + 1e-10), 0), min(max(int(np.ceil(right - 1e-10)), int(left) + 1), width))
    samples = under.pixels[band, rows, columns][under.valid[band, rows, columns]]
    _, counts = np.unique(samples, return_counts=True)
    return bool(len(counts)) and int((samples == value).sum()) == counts.max()


def by_definition(case, under, band, place, scales):
    """The value of a kernel at a place, of samples that are `scales` pixels of the grid; None where the sample that holds the place is missing."""
    height, width = under.shape
    valid, (column, row) = under.valid[band], place
    if not (0 <= column < width and 0 <= row < height and valid[int(row), int(column)]):
        return None
    away = np.arange(width) + 0.5 - column
    if under.turn:
        away = (away + under.turn / 2) % under.turn - under.turn / 2
    sides = (np.abs(away) * min(scales[0], 1), np.abs(np.arange(height) + 0.5 - row) * min(scales[1], 1))
    if case.method == "bilinear":
        across, down = (np.maximum(0, 1 - side) for side in sides)
    else:
        across, down = (np.where(side < 3, np.sinc(side) * np.sinc(side / 3), 0) for side in sides)
    weights = np.outer(down, across) * valid
    return float((weights * under.pixels[band].astype(float)).sum() / weights.sum())


def reason_of(case, under, band, row, column, ours, theirs, ours_missing, theirs_missing, scales):
    """Why one pixel differs; None where no reason is known. `scales` are those that GDAL was told."""
    place = under.at(column + 0.5, row + 0.5)
    if not under.leads_back(column + 0.5, row + 0.5):
        return "domain"
    if scales is not None and case.method in ("bilinear", "lanczos") and not case.tolerance:
        value = by_definition(case, under, band, place, scales)
        if ours_missing if value is None else abs(float(ours) - value) <= 1 + 1e-5 * abs(value):
            return "exact"
    slack = APPROXIMATE if case.tolerance else EXACT
    near, valid, beyond = under.around(band, *place, slack)
    several = len(near) > 1 or beyond
    if case.method == "nearest":
        here, here_valid, _ = under.around(band, *place, 0)
        if len(here) == 1 and (ours == here[0] if here_valid[0] else ours_missing):
            return "exact"
        found = [value for value, is_valid in zip(near, valid, strict=True) if is_valid]
        known = theirs_missing or theirs in found
        known &= ours_missing or ours in found
        # A missing pixel is one of those that are near, or beyond the edge.
        known &= beyond or not valid.all() or not (ours_missing or theirs_missing)
        return ("approximation" if case.tolerance else "tie") if several and known else None
    corners = [under.at(column + x, row + y) for x in (0, 1) for y in (0, 1)]
    columns, rows = zip(*corners, strict=True)
    size = max(np.ptp(columns), np.ptp(rows), 1) if np.isfinite([*columns, *rows]).all() else 1
    reach = size / 2 + slack + 0.01 if case.method in FOOTPRINT else RADIUS[case.method] * max(size, 1) + slack
    wide, wide_valid, wide_beyond = under.around(band, *place, reach)
    at_seam = under.turn and (np.ptp(columns) > under.turn / 2 or not 2 < place[0] < under.turn - 2)
    if case.method in FOOTPRINT and at_seam:
        return "seam"
    if case.method == "lanczos" and ours_missing != theirs_missing and (wide_beyond or not wide_valid.all()):
        return "weights"
    if case.method == "mode" and is_most_frequent(under, band, corners, theirs):
        return "mode"
    if case.method == "mode" and theirs_missing and (ours == -1 or is_most_frequent(under, band, corners, -1)):
        # GDAL takes the sample -1 for none.
        return "mode"
    if case.method == "sum" and abs(float(ours) - float(theirs)) <= 1e-3 * abs(float(theirs)) + 1:
        return "sum"
    if ours_missing != theirs_missing:
        near_edge = beyond or (len(valid) and not valid.all())
        if case.tolerance and (near_edge or (case.method in FOOTPRINT and (wide_beyond or not wide_valid.all()))):
            return "approximation, at an edge"
        if not case.tolerance and near_edge and several:
            return "tie, at an edge"
        return None
    if not wide_valid.any():
        return None
    spread = float(np.ptp(wide[wide_valid].astype(float)))
    if case.tolerance:
        steep = {"bilinear": 2, "cubic": 3, "cubic_spline": 2, "lanczos": 4}.get(case.method)
        limit = spread * (1 if steep is None else min(1, steep * APPROXIMATE)) + 1
        if case.method == "sum":
            limit = float(np.abs(wide[wide_valid].astype(float)).max()) * max(1, size * size) + 1
        return "approximation" if abs(float(ours) - float(theirs)) <= limit else None
    if case.method in ("cubic_spline", "lanczos", "cubic", "bilinear") and abs(float(ours) - float(theirs)) <= 0.02 * spread + 1:
        return "kernel"
    if case.method in FOOTPRINT and (case.method not in ("average", "rms", "sum") or not wide_valid.all()):
        edges = np.abs(np.concatenate([np.asarray(columns) % 1, np.asarray(rows) % 1]) - 0.5)
        if (edges > 0.5 - 2e-3).any():
            return "footprint"
    return None


def compare(case, ours, theirs, reasons, scales=None):
    """The first difference without a reason; None where there is none."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"shape and type {ours.shape} {ours.dtype}, GDAL's {theirs.shape} {theirs.dtype}"
    fill = fill_of(case)
    missing = [np.isnan(a) if np.isnan(fill) else a == np.array(fill).astype(a.dtype) for a in (ours, theirs)]
    difference = np.abs(ours.astype(float) - theirs.astype(float))
    if case.dtype.startswith("float"):
        allowed = 1e-5 * np.maximum(1, np.abs(theirs)) if case.method != "nearest" else 0
    else:
        allowed = 0 if case.method in PICKING else 1
    both = ~missing[0] & ~missing[1]
    differs = (missing[0] != missing[1]) | (both & (difference > allowed))
    if not differs.any():
        return None
    under = Under(case)
    unknown, told = 0, None
    for band, row, column in np.argwhere(differs):
        at = (band, row, column)
        reason = reason_of(case, under, band, row, column, ours[at], theirs[at], missing[0][at], missing[1][at], scales)
        if reason is None:
            unknown += 1
            place = under.at(column + 0.5, row + 0.5)
            told = told or (
                f"band {band}, row {row}, column {column}: expected {theirs[at]}, got {ours[at]}; missing {missing[1][at]}, "
                f"{missing[0][at]}; the place is column {place[0]:.6f}, row {place[1]:.6f} of {under.shape}"
            )
        else:
            reasons[reason] += 1
    return f"{unknown} of {differs.size} pixels differ, {told}" if unknown else None


def judged(case, path, ours, reasons):
    """The first difference without a reason; None where there is none."""
    found = collections.Counter()
    problem = compare(case, ours, by_gdal(case, path), found)
    if problem is None:
        reasons.update(found)
        return None
    if case.method == "nearest":
        return problem
    across, down = warp_scale.scale(case.target_shape, Under(case).at)
    others = {"scale": (across, down)}
    if case.method in ("bilinear", "cubic"):
        others["narrow"] = (1.0, 1.0)
    for name, scales in others.items():
        found = collections.Counter()
        theirs = by_gdal(case, path, XSCALE=repr(scales[0]), YSCALE=repr(scales[1]))
        if (name != "narrow" or min(across, down) > 0.4) and compare(case, ours, theirs, found, scales) is None:
            reasons.update(found)
            reasons[name] += int((~np.isclose(theirs, by_gdal(case, path), rtol=0, atol=0, equal_nan=True)).sum())
            return None
    return problem


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    reasons = collections.Counter()
    passed, failed, pixels = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = str((given.keep or Path(folder)) / "case.tif")
        drawn = itertools.chain(warp_cases.cases(COUNT), warp_cases.alpha_cases(ALPHA))
        for at, case in enumerate(drawn):
            wanted = case.number == given.only if given.only is not None else given.all or at % EVERY == at // EVERY % EVERY
            if not wanted:
                continue
            write(case, path)
            case.path = path
            pixels += case.bands * case.target_shape[0] * case.target_shape[1]
            try:
                problem = judged(case, path, by_strile(case, path), reasons)
            except strile.StrileError as error:
                problem = str(error)
            Path(path).unlink()
            if problem is None:
                passed += 1
            else:
                failed += 1
                print(f"FAIL {case.name}: {problem}")
    for reason, count in sorted(reasons.items()):
        print(f"{count} of {pixels} pixels: {reason}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
