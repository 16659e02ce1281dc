"""What GDAL's warper (rasterio's WarpedVRT) makes of a drawn case, and where it has each pixel of the grid in the raster."""

import dataclasses
from pathlib import Path

import numpy as np
import rasterio
from rasterio.enums import ColorInterp, Resampling
from rasterio.vrt import WarpedVRT

# GDAL follows the edge of a grid only, by default, and misses pixels of rasters with a pole inside.
# Missing pixels are those of each band, as gdalwarp has it.
EXTRAS = {"SAMPLE_GRID": "YES", "UNIFIED_SRC_NODATA": "PARTIAL"}
# Pixels around a raster whose places are asked for.
MARGIN = 16


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
    return float({"uint8": 255, "int8": -128, "uint16": 65535, "uint32": 4294967295, "int16": -32768, "uint64": 99999}.get(case.dtype, -99999))


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


def bands_by_gdal(case, path, **extras):
    """Each band read from a file of its own."""
    alone = f"{path}.alone.tif"
    planes = []
    for band in range(case.bands):
        one = dataclasses.replace(case, bands=1, pixels=case.pixels[band : band + 1])
        write(one, alone)
        planes.append(by_gdal(one, alone, **extras))
    Path(alone).unlink()
    return np.concatenate(planes)


class Reads:
    """What GDAL reads of a case: as it is, then with one thing changed after another."""

    def __init__(self, case, path, scales):
        self.case, self.path, self.scales = case, path, scales
        self.names, self.kept = ["", *(["bands"] if case.bands > 1 and case.nodata is not None else [])], {}
        if case.method != "nearest":
            changed = ["scale", *(["narrow"] if case.method in ("bilinear", "cubic") and min(scales) > 0.4 else [])]
            self.names += [f"{name} {one}".strip() for one in changed for name in self.names]
            self.names += [f"{name} window".strip() for name in self.names]

    def of(self, name):
        if name not in self.kept:
            across, down = (1.0, 1.0) if "narrow" in name else self.scales
            extras = {"XSCALE": repr(across), "YSCALE": repr(down)} if "scale" in name or "narrow" in name else {}
            if "window" in name:
                extras["SOURCE_EXTRA"] = str(sum(self.case.shape))
            read = bands_by_gdal if "bands" in name else by_gdal
            self.kept[name] = read(self.case, self.path, **extras)
        return self.kept[name]

    def places(self, right, down, under):
        """Columns and rows of the raster under points of all pixels of the grid, as GDAL has them with the same options: measured by a raster
        whose samples are their own columns and rows. NaN where GDAL has none."""
        key = (right, down)
        if key not in self.kept:
            case, (height, width) = self.case, under.shape
            margin = 0 if under.turn else MARGIN
            rows, columns = np.mgrid[-margin : height + margin, -margin : width + margin] + 0.5
            level = rasterio.Affine(*case.transform) @ rasterio.Affine.scale(case.shape[1] / width, case.shape[0] / height)
            grid = rasterio.Affine(*case.target_transform) @ rasterio.Affine.translation(right - 0.5, down - 0.5)
            ramps = dataclasses.replace(
                case, transform=tuple(level @ rasterio.Affine.translation(-margin, -margin))[:6], shape=rows.shape, method="bilinear",
                dtype="float64", bands=2, nodata=None, missing="nothing missing", level=0, pixels=np.stack([columns, rows]), valid=None,
                alpha=False, target_transform=tuple(grid)[:6],
            )  # fmt: skip
            path = f"{self.path}.ramps.tif"
            write(ramps, path)
            found = by_gdal(ramps, path, XSCALE="1", YSCALE="1")
            Path(path).unlink()
            self.kept[key] = np.where(found == fill_of(ramps), np.nan, found)
        return self.kept[key]
