"""Whether `check_warp` finds mistakes: what strile read is broken on purpose, and the checker must say so.

    check_warp_mutants.py

Each mutant of `MUTANTS` breaks the pixels of drawn cases that it applies to. The checker must accept the case as it is and refuse it broken. A mutant that
leaves the pixels as they are, or within rounding of them, says nothing and does not count; each must be found in at least `LEAST` cases, and be missed in
none. Prints `N passed, N failed`: one for each mutant, and one for the cases as they are.
"""

import collections
import dataclasses
import sys
import tempfile
import warnings
from pathlib import Path

import check_warp
import numpy as np
import rasterio
import warp_cases
import warp_places
import warp_scale
import warp_truth
from warp_gdal import fill_of, write
from warp_strile import by_strile

SEED = 24
CASES = list(warp_cases.cases(900, SEED))
# Cases that each mutant is tried on, and in how many it must be found.
TRIED, LEAST = 3, 3


def shifted(case, path, ours, pixels=0.3):
    """Places that are off by a part of a pixel of the raster, along its rows."""
    under = warp_places.Under(case)
    height, width = case.target_shape
    ends = [np.array(under.at(width / 2 + right, height / 2)) for right in (0, 1)]
    by = pixels / max(np.linalg.norm(ends[1] - ends[0]), 1e-9)
    moved = rasterio.Affine(*case.target_transform) @ rasterio.Affine.translation(by, 0)
    return by_strile(dataclasses.replace(case, target_transform=tuple(moved)[:6]), path)


def swapped_weights(case, path, ours):
    """Bilinear with the weights of the two samples in each direction swapped."""
    under = warp_places.Under(case)
    scales = warp_scale.scale(case.target_shape, under.in_domain)
    truth = warp_truth.Truth(case, under, scales, fill_of(case))
    at = tuple(axis.ravel() for axis in np.indices(ours.shape))
    x, y, is_held, _ = truth.held(at[0], truth.places(*at[1:]))
    found = truth.weighed(at[0], x, y, "bilinear", (1, 1), 1e-5, lambda distance, _, __: np.abs(distance))
    broken = np.where(is_held & np.isfinite(found), found, fill_of(case)).reshape(ours.shape)
    return (broken if case.dtype.startswith("float") else np.rint(broken)).astype(ours.dtype)


def with_missing(case, path, ours):
    """Samples without a value are taken like others."""
    plain = dataclasses.replace(case, nodata=None, valid=None, alpha=False, missing="nothing missing")
    write(plain, f"{path}.plain.tif")
    broken = by_strile(plain, f"{path}.plain.tif")
    Path(f"{path}.plain.tif").unlink()
    return np.where(broken == fill_of(plain), np.array(fill_of(case)).astype(broken.dtype), broken)


def of_method(method):
    def broken(case, path, ours):
        return by_strile(dataclasses.replace(case, method=method), path)

    broken.__doc__ = f"The pixels of the method {method}."
    return broken


def of_another_level(case, path, ours):
    """The pixels of the full image, where an overview was asked for."""
    return by_strile(dataclasses.replace(case, level=0), path)


def rolled(case, path, ours):
    """Pixels one column to the right."""
    return np.roll(ours, 1, axis=2)


def one_pixel(case, path, ours):
    """One pixel with a value is its neighbour's."""
    broken = ours.copy()
    there = np.argwhere((broken[:, :, :-1] != broken[:, :, 1:]) & ~check_warp.missing_of(case, broken)[:, :, :-1])
    if len(there):
        band, row, column = there[len(there) // 2]
        broken[band, row, column] = broken[band, row, column + 1]
    return broken


def nothing(case, path, ours):
    """No pixel has a value."""
    return np.full_like(ours, fill_of(case))


def swapped_bands(case, path, ours):
    """The bands in another order."""
    return ours[::-1].copy()


def rough_places(case, path, ours):
    """Places that are interpolated too far: off by more than they may be."""
    rough, under = dataclasses.replace(case, tolerance=16.0), warp_places.Under(case)
    scales = warp_scale.scale(case.target_shape, under.in_domain)
    return by_strile(rough, path) if check_warp.far_places(rough, path, under, scales) else ours


KERNELS = ("bilinear", "cubic", "cubic_spline", "lanczos")
# The mutant, and the cases that it is for.
MUTANTS = [
    (shifted, lambda case: case.method in (*KERNELS, "average", "rms") and case.tolerance == 0),
    (swapped_weights, lambda case: case.method == "bilinear" and case.words[-1] in ("ratio 0.77", "ratio 0.31")),
    (with_missing, lambda case: case.missing in ("nodata", "mask", "alpha")),
    (of_method("nearest"), lambda case: case.method in (*KERNELS, "average", "med")),
    (of_method("bilinear"), lambda case: case.method in ("cubic", "cubic_spline", "lanczos")),
    (of_method("min"), lambda case: case.method in ("med", "q1", "mode") and case.words[-1] in ("ratio 2.9", "ratio 6.4")),
    (of_method("average"), lambda case: case.method == "sum"),
    (of_another_level, lambda case: case.level == 1),
    (rolled, lambda case: True),
    (one_pixel, lambda case: case.method != "sum"),
    (nothing, lambda case: case.words[2] == "inside"),
    (swapped_bands, lambda case: case.bands > 1),
    (rough_places, lambda case: case.tolerance > 0 and case.words[2] != "outside"),
]


def is_changed(case, ours, broken):
    """Whether pixels are off by more than rounding."""
    return check_warp.differences(case, broken, ours).any()


def tried(mutant, applies, path, accepted):
    """In which cases a mutant was found, and in which it was missed."""
    found, missed = [], []
    for case in CASES:
        # Small grids, and few shapes of sums: this is to take seconds.
        if not applies(case) or case.target_shape[0] * case.target_shape[1] > 1200 or (case.method == "sum" and case.bands > 1):
            continue
        write(case, path)
        case.path = path
        ours = by_strile(case, path)
        broken = mutant(case, path, ours)
        if not is_changed(case, ours, broken):
            continue
        accepted[case.number] = check_warp.judged(case, path, ours, collections.Counter())
        problem = check_warp.judged(case, path, broken, collections.Counter())
        (missed if problem is None else found).append(case.number)
        if len(found) + len(missed) == TRIED:
            break
    return found, missed


def main():
    warnings.simplefilter("ignore")
    passed, failed, accepted = 0, 0, {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "case.tif")
        for mutant, applies in MUTANTS:
            found, missed = tried(mutant, applies, path, accepted)
            is_well = not missed and len(found) >= LEAST
            passed, failed = passed + is_well, failed + (not is_well)
            if not is_well:
                print(f"FAIL {mutant.__doc__} Found in cases {found}, missed in {missed}")
    refused = {number: problem for number, problem in accepted.items() if problem is not None}
    for number, problem in refused.items():
        print(f"FAIL case {number} is as it should be: {problem}")
    passed, failed = passed + (not refused), failed + bool(refused)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
