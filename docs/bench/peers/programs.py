"""The programs that are compared: how each does a task, in the way its own documentation shows.

A program has a name, says whether it is installed (`found`: its version, or None), and has a method for each task that it can do:

    read(path)                      the whole file as an array (band, row, column)
    windows(path, windows)          one window after the other from a file that is opened once; each (column, row, width, height)
    batch(paths, windows)           a window of each of many files, as one array
    write(pixels, path, codec)      an array (band, row, column) to a file in tiles of 256 × 256
    cog(source, path)               a file to a Cloud-Optimized GeoTIFF, Deflate
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

THREADS = os.cpu_count() or 1


class Program:
    name = ""
    modules: tuple[str, ...] = ()

    def found(self) -> str | None:
        try:
            for module in self.modules:
                importlib.import_module(module)
            return version(self.name)
        except (ImportError, PackageNotFoundError):
            return None


class Strile(Program):
    name, modules = "strile", ("strile",)

    def read(self, path: str) -> Any:
        import strile

        return strile.read(path).numpy()

    def windows(self, path: str, windows: list[tuple[int, ...]]) -> Any:
        import strile

        with strile.open(path) as src:
            return [src.read(window=((row, row + height), (column, column + width))) for column, row, width, height in windows]

    def batch(self, paths: list[str], windows: list[tuple[int, ...]]) -> Any:
        import strile

        return strile.read_batch(paths, [(number, *window) for number, window in enumerate(windows)]).numpy()

    def write(self, pixels: Any, path: str, codec: str) -> None:
        import strile

        strile.to_geotiff(pixels, path, dims=("band", "y", "x"), compression=codec, tile_size=256)

    def cog(self, source: str, path: str) -> None:
        import strile

        strile.convert(source, path, format="cog", creation_options={"COMPRESS": "DEFLATE"}, overwrite=True)


class Rasterio(Program):
    name, modules = "rasterio", ("rasterio",)

    def read(self, path: str) -> Any:
        import rasterio

        with rasterio.open(path, NUM_THREADS=str(THREADS)) as src:
            return src.read()

    def windows(self, path: str, windows: list[tuple[int, ...]]) -> Any:
        import rasterio
        from rasterio.windows import Window

        with rasterio.open(path, NUM_THREADS=str(THREADS)) as src:
            return [src.read(window=Window(*window)) for window in windows]

    def batch(self, paths: list[str], windows: list[tuple[int, ...]]) -> Any:
        """Threads, one file each: GDAL releases Python's lock."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(THREADS) as pool:
            return np.stack(list(pool.map(lambda path, window: self.windows(path, [window])[0], paths, windows)))

    def write(self, pixels: Any, path: str, codec: str) -> None:
        import rasterio

        bands, height, width = pixels.shape
        options: dict[str, Any] = {"tiled": True, "blockxsize": 256, "blockysize": 256, "NUM_THREADS": str(THREADS)}
        if codec != "none":
            options |= {"compress": codec, "predictor": 3 if pixels.dtype.kind == "f" else 2}
        with rasterio.open(path, "w", driver="GTiff", width=width, height=height, count=bands, dtype=pixels.dtype, **options) as out:
            out.write(pixels)

    def cog(self, source: str, path: str) -> None:
        from rasterio.shutil import copy

        copy(source, path, driver="COG", COMPRESS="DEFLATE", PREDICTOR="YES", NUM_THREADS=str(THREADS))


class Rioxarray(Program):
    name, modules = "rioxarray", ("rioxarray",)

    def read(self, path: str) -> Any:
        import rioxarray

        with rioxarray.open_rasterio(path, num_threads=str(THREADS)) as src:
            return src.load().values

    def write(self, pixels: Any, path: str, codec: str) -> None:
        import rioxarray  # noqa: F401
        import xarray as xr

        options: dict[str, Any] = {"tiled": True, "blockxsize": 256, "blockysize": 256, "num_threads": str(THREADS)}
        if codec != "none":
            options |= {"compress": codec, "predictor": 3 if pixels.dtype.kind == "f" else 2}
        xr.DataArray(pixels, dims=("band", "y", "x")).rio.to_raster(path, **options)


class Tifffile(Program):
    name, modules = "tifffile", ("tifffile", "imagecodecs")

    def read(self, path: str) -> Any:
        import tifffile

        pixels = tifffile.imread(path, maxworkers=THREADS)
        return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)

    def write(self, pixels: Any, path: str, codec: str) -> None:
        import tifffile

        image = pixels[0] if len(pixels) == 1 else np.ascontiguousarray(np.moveaxis(pixels, 0, -1))
        options: dict[str, Any] = {"tile": (256, 256), "maxworkers": THREADS}
        if codec != "none":
            options |= {"compression": {"deflate": "zlib"}.get(codec, codec), "predictor": True}
        tifffile.imwrite(path, image, photometric="minisblack" if image.ndim == 2 else "rgb", **options)


class GdalTranslate(Program):
    """The command: its start is inside the timer."""

    name = "gdal_translate"

    def found(self) -> str | None:
        if shutil.which(self.name) is None:
            return None
        told = subprocess.run([self.name, "--version"], capture_output=True, text=True)
        return told.stdout.split(",")[0].removeprefix("GDAL ") if told.returncode == 0 else None

    def cog(self, source: str, path: str) -> None:
        options = [word for option in ("COMPRESS=DEFLATE", "PREDICTOR=YES", f"NUM_THREADS={THREADS}") for word in ("-co", option)]
        subprocess.run([self.name, "-q", "-of", "COG", *options, source, path], check=True)


class RioCogeo(Program):
    name, modules = "rio-cogeo", ("rio_cogeo",)

    def cog(self, source: str, path: str) -> None:
        from rio_cogeo import cog_profiles, cog_translate

        profile = {**cog_profiles.get("deflate"), "NUM_THREADS": str(THREADS)}
        cog_translate(source, path, profile, quiet=True, in_memory=False, use_cog_driver=True)


class XarraySpatial(Program):
    name, modules = "xarray-spatial", ("xrspatial.geotiff",)

    def read(self, path: str) -> Any:
        from xrspatial.geotiff import open_geotiff

        pixels = open_geotiff(path).values
        return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)


PROGRAMS: tuple[Program, ...] = (Strile(), Rasterio(), Rioxarray(), Tifffile(), GdalTranslate(), RioCogeo(), XarraySpatial())
