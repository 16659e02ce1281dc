"""What strile makes of a drawn case, and where it has each pixel of the grid in the raster."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import rasterio
import strile
from warp_gdal import MARGIN, fill_of, write

NAMES = {"med": "median"}
HAIR = 1e-9


def by_strile(case, path):
    grid = strile.Grid(case.target, case.target_transform, case.target_shape)
    bands = list(range(1, case.bands + 1))
    raster = strile.read(
        path, bands=bands, grid=grid, resampling=NAMES.get(case.method, case.method), tolerance=case.tolerance, level=case.level,
        fill=fill_of(case),
    )  # fmt: skip
    return raster.numpy()


def places(case, path, under, scales):
    """Columns and rows of the raster under the centres of all pixels of the grid, as strile has them with the tolerance of the case: measured by a raster
    whose samples are their own columns and rows. NaN where they cannot be measured.

    Its pixels are `wide` times those of the case, so that the method needs no kernel, and the tolerance is that part of the case's: it is the same
    distance on the ground."""
    wide = 2 ** max(0, math.ceil(-math.log2(min(scales))))
    margin = 0 if under.turn else MARGIN
    height, width = (math.ceil(side / wide) + 2 * margin for side in under.shape)
    rows, columns = (np.mgrid[0:height, 0:width] + 0.5 - margin) * wide
    level = rasterio.Affine(*case.transform) @ rasterio.Affine.scale(case.shape[1] / under.shape[1], case.shape[0] / under.shape[0])
    transform = level @ rasterio.Affine.scale(wide) @ rasterio.Affine.translation(-margin, -margin)
    ramps = dataclasses.replace(
        case, transform=tuple(transform)[:6], shape=rows.shape, method="bilinear", dtype="float64", bands=2, nodata=None,
        missing="nothing missing", level=0, pixels=np.stack([columns, rows]), valid=None, alpha=False, tolerance=case.tolerance / wide,
    )  # fmt: skip
    path = f"{path}.strile.tif"
    write(ramps, path)
    found = by_strile(ramps, path)
    Path(path).unlink()
    found = np.where(found == fill_of(ramps), np.nan, found)
    # Beside the centres of the outermost samples nothing is interpolated.
    least, most = (0.5 - margin) * wide + HAIR, np.reshape([width, height], (2, 1, 1)) * wide - (0.5 + margin) * wide - HAIR
    with np.errstate(invalid="ignore"):
        return np.where(((found > least) & (found < most)).all(0), found, np.nan)
