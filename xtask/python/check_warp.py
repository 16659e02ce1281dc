"""`strile.read(grid=)` judged by GDAL's warper (rasterio's WarpedVRT) on drawn cases (`warp_cases`).

    check_warp.py [--all] [--part I/N] [--only NUMBER] [--keep FOLDER]

Each case is a small file, a grid, a method and a tolerance, read by both with the same nodata and fill values. strile's places of all pixels, measured by
warping a raster of columns and rows (`warp_strile`), must be PROJ's within the distances below. Pixels must be equal, in the case of integers that are
computed within 1, of floats within 10⁻⁵ of the values. Every other pixel needs two things.

First, strile's value must be the one that the definition of the method gives at PROJ's place, computed here (`warp_truth`): with exact coordinates
within 0.0002 pixels of that place, with the default tolerance within 0.15 pixels. Second, GDAL's other value must follow from a reason that
is computed, too:

- tie: GDAL's value is also the definition's within 0.0002 pixels, as on an edge between pixels;
- approximation: GDAL's value is the definition's at the place where GDAL has the pixel by default (1/8 pixel), which is measured by warping a raster
  of columns and rows (for sums: within 0.15 pixels of PROJ's place);
- place: the same with exact coordinates: GDAL interpolates a row if its middle lies between its ends, which holds by chance over the antimeridian;
- scale: GDAL 3.10 estimates the size of a pixel of the raster in pixels of the grid, by which kernels are widened and footprints may reach
  beyond the raster, in another way. With the scale of the rule that strile and later versions have (`warp_scale`) it gives the same pixels;
- narrow: bilinear and cubic are widened by GDAL from 1.05 pixels of the raster per pixel of the grid on, by strile from 2 on. GDAL without the
  widening gives the same pixels;
- bands: GDAL has a value in one band if the sample under the place is missing there, but not in all bands. The band in a file of its own gives
  the same pixels;
- tail: GDAL's cubic spline goes on beyond its end on one side;
- half: GDAL's lanczos has no value where fewer than half of the samples count;
- centre: GDAL's widened lanczos computes sines one from another, and the weight of a sample whose centre is the place is made of rounding errors;
- mode: GDAL 3.10 counts samples, strile adds up the parts of them that the pixel covers; GDAL's sample is the most frequent one;
- sum: GDAL measures parts of samples in the grid, strile in the raster, and does so however far the pixel reaches beyond the raster: the sum by parts
  in the grid is GDAL's;
- window: GDAL reads too small a part of the raster for a widened kernel, as under a turned grid. With SOURCE_EXTRA it gives the same pixels;
- seam: the pixel lies over the seam of a raster around the Earth, and GDAL takes the whole row for its footprint;
- domain: the place does not lead back to the pixel: it is outside the domain of a projection.

Two reasons may apply to one pixel ("bands scale"). Prints how many pixels differ for each reason, then `N passed, N failed`; exit status 1 where
any failed. The default is every sixth of 3,000 cases, of 120 whose missing pixels are transparent, and of 84 from or onto a weather satellite's disc; `--all` takes them all, `--part 1/2` every
second one. `docs/correctness.md` lists the reasons. `check_warp_mutants.py` shows that mistakes are found.
"""

import argparse
import collections
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
import warp_gdal  # noqa: E402
import warp_places  # noqa: E402
import warp_scale  # noqa: E402
import warp_strile  # noqa: E402
import warp_truth  # noqa: E402
from warp_gdal import fill_of, write  # noqa: E402
from warp_strile import by_strile  # noqa: E402

EVERY = 6
# Methods that return samples, not numbers computed from them.
PICKING = {"nearest", "mode", "min", "max", "med", "q1", "q3"}
# Coordinates of PROJ, GDAL and strile agree within this, in pixels of the raster: systems are within 1 mm, and pixels metres.
EXACT = 2e-4
# strile's are within 1/8 pixel where they are tested, and a little more between.
INTERPOLATED = 0.15
# GDAL's default places are within 1/8 pixel where they are tested: one in the middle of each half of a row.
APPROXIMATE = 0.6
# How exactly the places that GDAL has are measured.
MEASURED = 1e-6
# Most pixels of a sum that are examined in a case, about.
SUMS = 40


def reasons_of(truth, pixels, places, theirs_places, ours, theirs):
    """Why GDAL has other values: reasons, and the pixels that they hold for. Values are NaN where there is none."""
    case, (bands, rows, columns) = truth.case, pixels
    # At PROJ's places: the same method with what GDAL does in another way.
    for name, holds, values in truth.gdals(bands, places):
        yield name, holds & truth.is_one(theirs, [values])
    # With the default tolerance GDAL may have PROJ's place, and strile another one.
    yield ("approximation" if case.tolerance else "tie"), truth.has(bands, places, theirs, (EXACT, EXACT))
    with np.errstate(invalid="ignore"):
        is_near = np.abs(places - theirs_places).max((0, 1)) < APPROXIMATE if case.tolerance else np.zeros(len(bands), bool)
    slack = np.full((2, len(bands)), MEASURED)
    if truth.under.turn and case.tolerance:
        # Within half a pixel of the edge of a raster around the Earth places are not measured.
        sides = np.reshape(truth.under.shape[::-1], (1, 2, 1))
        slack[((theirs_places <= 0.5) | (theirs_places >= sides - 0.5)).any(0)] = INTERPOLATED
    is_there = truth.has(bands, theirs_places, theirs, slack)
    for _, holds, values in truth.gdals(bands, theirs_places):
        is_there |= holds & truth.is_one(theirs, [values])
    yield "approximation", is_there & is_near
    yield "place", is_there
    if len(places) > 1 and truth.under.turn:
        # GDAL does not move corners by a turn.
        yield "place", truth.is_one(theirs, [truth.at(bands, theirs_places, turns=False)])
    if len(places) > 1 and truth.under.turn:
        turn, xs = truth.under.turn, places[:, 0]
        yield "seam", (np.ptp(xs, axis=0) > turn / 2) | ~((xs > 2) & (xs < turn - 2)).all(0)
    if case.method == "mode":
        # GDAL takes the sample -1 for none, and writes 0 where another band has a value.
        is_none = np.isnan(theirs) | ((theirs == 0) & (case.bands > 1))
        yield "mode", is_none & (ours == -1)
        for where in (places, theirs_places):
            yield "mode", truth.is_most_frequent(bands, where, theirs)
            yield "mode", is_none & truth.is_most_frequent(bands, where, np.full(len(bands), -1.0))
    if case.method == "sum":
        in_grid = [truth.sum_in_grid(band, places[..., at], rows[at], columns[at]) for at, band in enumerate(bands)]
        yield "sum", truth.is_one(theirs, [np.array(in_grid)])
        # GDAL has other places than those that are measured: those of pixels of the raster in the grid.
        if case.tolerance:
            yield "approximation", truth.has(bands, places, theirs, slack_of(case, truth.under, places[0, 1]))


def missing_of(case, pixels):
    fill = fill_of(case)
    return np.isnan(pixels) if np.isnan(fill) else pixels == np.array(fill).astype(pixels.dtype)


def differences(case, ours, theirs):
    """Which pixels differ by more than rounding."""
    missing = [missing_of(case, pixels) for pixels in (ours, theirs)]
    difference = np.abs(ours.astype(float) - theirs.astype(float))
    if case.dtype.startswith("float"):
        allowed = 1e-5 * np.maximum(1, np.abs(theirs)) if case.method != "nearest" else 0
    else:
        allowed = 0 if case.method in PICKING else 1
    return (missing[0] != missing[1]) | (~missing[0] & ~missing[1] & (difference > allowed))


def slack_of(case, under, row):
    """How far strile's places may be from PROJ's, in pixels across and down."""
    if not case.tolerance:
        return np.array([EXACT, EXACT])
    # The tolerance is a distance on the ground, in the middle of a cell: degrees of longitude are shorter towards the poles.
    latitude = (rasterio.Affine(*case.transform) @ (0 * row, row * case.shape[0] / under.shape[0]))[1]
    north_up = case.transform[1] == case.transform[3] == 0
    latitude = np.minimum(np.abs(latitude) + 4 * abs(case.transform[4]), 90)
    shrink = np.abs(np.cos(np.radians(latitude))) if case.system == "EPSG:4326" and north_up else 1
    return np.array(np.broadcast_arrays(INTERPOLATED / np.maximum(shrink, 0.01), INTERPOLATED))


def theirs_places(reads, truth, places, rows, columns):
    """GDAL's places of pixels."""
    found = np.array([reads.places(x, y, truth.under)[:, rows, columns] for x, y in truth.points])
    if not truth.under.turn:
        return found
    # A raster around the Earth has no samples beyond it: where both are within half a pixel of its edge, PROJ's place counts.
    sides = np.reshape(truth.under.shape[::-1], (1, 2, 1))
    inside = lambda all_of, hair: (all_of > 0.5 + hair) & (all_of < sides - 0.5 - hair)
    return np.where(inside(places, 0) | inside(found, 1e-9), found, places)


def far_places(case, path, under, scales):
    """The pixel whose place strile has furthest from PROJ's, if that is too far; None where all are near."""
    *exact, leads_back = under.whole(0.5, 0.5)
    off = np.abs(warp_strile.places(case, path, under, scales) - exact)
    if under.turn:
        off[0] = np.minimum(off[0], np.abs(under.turn - off[0]))
    slack = slack_of(case, under, exact[1])
    with np.errstate(invalid="ignore"):
        off = np.where(leads_back & np.isfinite(off).all(0), (off / slack.reshape(2, *slack.shape[1:] or (1, 1))).max(0), 0)
    row, column = np.unravel_index(off.argmax(), off.shape)
    if off[row, column] <= 1:
        return None
    return f"row {row}, column {column}: its place is {off[row, column]:.2f} times further from PROJ's than it may be"


def judged(case, path, ours, reasons):
    """The first difference without a reason; None where there is none."""
    under = warp_places.Under(case)
    scales = warp_scale.scale(case.target_shape, under.in_domain)
    far = far_places(case, path, under, scales)
    if far:
        return far
    reads, truth = warp_gdal.Reads(case, path, scales), warp_truth.Truth(case, under, scales, fill_of(case))
    if ours.shape != reads.of("").shape or ours.dtype != reads.of("").dtype:
        return f"shape and type {ours.shape} {ours.dtype}, GDAL's {reads.of('').shape} {reads.of('').dtype}"
    numbers = lambda pixels: np.where(missing_of(case, pixels), np.nan, pixels.astype(float))
    at = np.nonzero(differences(case, ours, reads.of("")))
    if case.method == "sum":
        # The areas of polygons take long.
        at = tuple(axis[:: max(1, len(axis) // SUMS)] for axis in at)
    if not len(at[0]):
        return None
    values, places = numbers(ours[at]), truth.places(*at[1:])
    is_outside = truth.is_outside(*at[1:])
    is_true = truth.has(at[0], places, values, slack_of(case, under, places[0, 1]))
    found = np.where(is_outside, "domain", "").astype(object)
    for name in reads.names:
        rest = np.flatnonzero((found == "") & is_true)
        if not len(rest):
            break
        pixels = tuple(axis[rest] for axis in at)
        theirs = reads.of(name)[pixels]
        found[rest[~differences(case, ours[pixels], theirs)]] = name
        where = theirs_places(reads, truth, places[..., rest], *pixels[1:])
        for reason, holds in reasons_of(truth, pixels, places[..., rest], where, values[rest], numbers(theirs)):
            free = rest[holds & (found[rest] == "")]
            found[free] = reason
    reasons.update(name for name in found if name)
    unknown = np.flatnonzero(found == "")
    if not len(unknown):
        return None
    first = unknown[:1]
    band, row, column = (int(axis[first][0]) for axis in at)
    told = lambda all_of: ", ".join(f"({x:.6f}, {y:.6f})" for x, y in all_of[..., 0])
    return (
        f"{len(unknown)} of {ours.size} pixels differ, {(~is_true[unknown]).sum()} from the definition; band {band}, row {row}, column {column}: "
        f"expected {numbers(reads.of(''))[band, row, column]}, got {values[first][0]}, by definition "
        f"{truth.at(at[0][first], places[..., first])[0]}; the places {told(places[..., first])} of {under.shape}, "
        f"GDAL's {told(theirs_places(reads, truth, places[..., first], at[1][first], at[2][first]))}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    reasons = collections.Counter()
    passed, failed, pixels = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = str((given.keep or Path(folder)) / "case.tif")
        for at, case in enumerate(warp_cases.all_cases()):
            wanted = case.number == given.only if given.only is not None else given.all or at % EVERY == at // EVERY % EVERY
            part, parts = map(int, given.part.split("/"))
            if not wanted or at % parts != part - 1:
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
