"""Host arrays to files, `to_geotiff` beside GDAL: `arrays_bench.py RASTERS FOLDER [ROUNDS]`; a JSON line per array and codec.

Arrays are those of make_rasters.py, in xarray's order: RGB is band-first. Files are in tiles of 512² and of the same predictor and level
(GDAL's 6 of Deflate and 9 of ZSTD, which are strile's defaults). FOLDER is in memory. Programs alternate in one process; figures are GB/s of
pixels, the best of the rounds. What strile wrote last is read back by GDAL and compared.
"""
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import rasterio
import strile
import xarray

ARRAYS = {"dem_f32": 3, "lc_u8": 1, "rgb_u8": 2, "s2_u16": 2}
LEVELS = {"deflate": {"zlevel": 6}, "zstd": {"zstd_level": 9}}


def seconds(call) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main(rasters: Path, folder: Path, rounds: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    threads = len(os.sched_getaffinity(0))
    for name, predictor in ARRAYS.items():
        pixels = np.load(rasters / f"{name}.npy")
        pixels = pixels[:, :8192, :8192] if pixels.ndim == 3 else pixels[:8192, :8192]
        pixels = np.ascontiguousarray(pixels)
        dims = ("band", "y", "x") if pixels.ndim == 3 else ("y", "x")
        array = xarray.DataArray(pixels, dims=dims)
        bands = pixels.reshape(-1, *pixels.shape[-2:])
        for codec, level in LEVELS.items():
            ours, cog, theirs = folder / "ours.tif", folder / "cog.tif", folder / "theirs.tif"
            words = {"compression": codec, "predictor": predictor, "tile_size": 512}

            def by_gdal(codec=codec, level=level, bands=bands, predictor=predictor, theirs=theirs):
                options = dict(driver="GTiff", width=bands.shape[2], height=bands.shape[1], count=len(bands), dtype=bands.dtype.name)
                options |= dict(compress=codec, predictor=predictor, tiled=True, blockxsize=512, blockysize=512, **level)
                with rasterio.open(theirs, "w", interleave="pixel", num_threads=threads, **options) as file:
                    file.write(bands)

            best = {"plain": 9e9, "cog": 9e9, "gdal": 9e9}
            for _ in range(rounds):
                best["plain"] = min(best["plain"], seconds(lambda: strile.to_geotiff(array, ours, **words)))
                best["cog"] = min(best["cog"], seconds(lambda: strile.to_geotiff(array, cog, cog=True, **words)))
                best["gdal"] = min(best["gdal"], seconds(by_gdal))
            same = True
            for path in (ours, cog):
                with rasterio.open(path) as file:
                    same &= bool(np.array_equal(file.read(), bands))
            rates = {key: round(pixels.nbytes / value / 1e9, 3) for key, value in best.items()}
            print(json.dumps({"array": name, "codec": codec, "threads": threads, **rates, "same": same}), flush=True)
            for path in (ours, cog, theirs):
                path.unlink(missing_ok=True)


main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3)
