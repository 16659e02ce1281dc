"""Makes files that are not in the benchmark from its arrays: `make_rows.py RASTERS FOLDER`.

Tiles of ten uint16 bands, a whole image in one strip, ZSTD at level 15, LERC with ZSTD, small tiles of classes, and a few of the
benchmark's own kind in other sizes. Those whose names begin with `other_` are of other types, layouts and block sizes; no kernel
was tuned on them. Written by GDAL, one process per file; meta.json lists them. Nothing is made twice.
"""
import concurrent.futures
import json
import multiprocessing
import sys
from pathlib import Path

import numpy as np

# Arrays that are made of the benchmark's: of which, and how.
MADE = {
    "dem_i16": ("dem_f32", lambda array: np.round(array).astype(np.int16)),
    "dem_f64": ("dem_f32", lambda array: array.astype(np.float64) * 0.3048),
    "ids_u32": ("lc_u8", lambda array: array.astype(np.uint32) * np.uint32(2654435761) + np.uint32(7)),
    "sar_f32": ("s2_u16", lambda array: np.log10(array.astype(np.float32) + 1) * 10 - 40),
}

# Name, array, edge of the part that is taken, bands (shifted copies), creation options.
ROWS = [
    ("ms10_deflate_512", "s2_u16", 4096, 10, dict(compress="deflate", predictor=2, tiled=True, blockxsize=512, blockysize=512)),
    ("strip_deflate", "s2_u16", 5792, 1, dict(compress="deflate", predictor=2, blockysize=5792)),
    ("strip_zstd", "s2_u16", 5792, 1, dict(compress="zstd", predictor=2, blockysize=5792)),
    ("dem_zstd15_512", "dem_f32", 8192, 1, dict(compress="zstd", zstd_level=15, predictor=3, tiled=True, blockxsize=512, blockysize=512)),
    ("dem_lerc_256", "dem_f32", 8192, 1, dict(compress="lerc", max_z_error=0.01, tiled=True)),
    ("dem_lerc_zstd_256", "dem_f32", 8192, 1, dict(compress="lerc_zstd", max_z_error=0.01, tiled=True)),
    ("dem_lerc_zstd_0_256", "dem_f32", 8192, 1, dict(compress="lerc_zstd", max_z_error=0, tiled=True)),
    ("s2_lerc_deflate_256", "s2_u16", 8192, 1, dict(compress="lerc_deflate", max_z_error=0, tiled=True)),
    ("lc_deflate_128", "lc_u8", 16384, 1, dict(compress="deflate", tiled=True, blockxsize=128, blockysize=128)),
    ("lc_zstd_256", "lc_u8", 16384, 1, dict(compress="zstd", tiled=True)),
    ("dem_deflate_1024", "dem_f32", 8192, 1, dict(compress="deflate", predictor=3, tiled=True, blockxsize=1024, blockysize=1024)),
    ("rgb_jpeg_256", "rgb_u8", 8192, 3, dict(compress="jpeg", photometric="ycbcr", tiled=True)),
    ("dem_lzw_256", "dem_f32", 8192, 1, dict(compress="lzw", predictor=3, tiled=True)),
    ("lc_none_256", "lc_u8", 16384, 1, dict(tiled=True)),
    ("rgb_none_256", "rgb_u8", 8192, 3, dict(tiled=True)),
    ("other_i16_deflate_strips", "dem_i16", 8192, 1, dict(compress="deflate", predictor=2, blockysize=64)),
    ("other_f64_zstd_384", "dem_f64", 4096, 1, dict(compress="zstd", predictor=3, tiled=True, blockxsize=384, blockysize=384)),
    ("other_u32_lzw_1024", "ids_u32", 8192, 1, dict(compress="lzw", predictor=2, tiled=True, blockxsize=1024, blockysize=1024)),
    ("other_sar_deflate_320", "sar_f32", 8192, 1, dict(compress="deflate", predictor=3, tiled=True, blockxsize=320, blockysize=320)),
    ("other_sar_zstd_128", "sar_f32", 4096, 1, dict(compress="zstd", predictor=2, tiled=True, blockxsize=128, blockysize=128)),
    ("other_u16_7_planes_zstd", "s2_u16", 4096, 7, dict(compress="zstd", predictor=2, tiled=True, interleave="band")),
    ("other_u16_6_pixels_lzw", "s2_u16", 4096, 6, dict(compress="lzw", predictor=2, tiled=True)),
    ("other_rgb_deflate_strips", "rgb_u8", 8192, 3, dict(compress="deflate", blockysize=16)),
]


def taken(rasters: str, name: str, edge: int, bands: int) -> np.ndarray:
    name, made = MADE.get(name, (name, lambda array: array))
    array = np.load(f"{rasters}/{name}.npy", mmap_mode="r")
    if array.ndim == 3:
        return made(array[:bands, :edge, :edge])
    if bands == 1:
        return made(array[None, :edge, :edge])
    return made(np.stack([array[61 * b : 61 * b + edge, 97 * b : 97 * b + edge] for b in range(bands)]))


def write(job: tuple) -> dict:
    rasters, folder, (name, array, edge, bands, options) = job
    import rasterio
    import tifffile
    from rasterio.transform import from_origin

    pixels = taken(rasters, array, edge, bands)
    path = f"{folder}/{name}.tif"
    words = dict(driver="GTiff", width=edge, height=edge, count=bands, dtype=pixels.dtype.name, interleave="pixel")
    words |= dict(crs="EPSG:32633", transform=from_origin(4e5, 5e6, 10, 10), BIGTIFF="IF_SAFER") | options
    with rasterio.open(path, "w", **words) as target:
        target.write(pixels)
    with tifffile.TiffFile(path) as tiff:
        encoded = int(sum(tiff.pages[0].databytecounts))
    return dict(path=path, decoded=int(pixels.nbytes), encoded=encoded)


def main(rasters: str, folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    listed = Path(folder, "meta.json")
    if listed.exists():
        return
    made: list[dict] = []
    with concurrent.futures.ProcessPoolExecutor(16, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = {row[0]: pool.submit(write, (rasters, folder, row)) for row in ROWS}
        for name, job in jobs.items():
            if reason := job.exception():  # a codec that this GDAL does not have
                print(f"left out: {name}: {reason}")
                Path(folder, f"{name}.tif").unlink(missing_ok=True)
            else:
                made.append(job.result())
    listed.write_text(json.dumps(made, indent=1))
    print(f"rows: {len(made)} files")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
