"""Makes rasters whose Deflate blocks are few and large: `make_large_blocks.py FOLDER [--size 1.0]`.

Ten bands of uint16 in 512² tiles (5 MiB each), and single strips of 64 MiB of uint16, float32 and uint8 classes. Each
is written twice: by GDAL, which compresses with libdeflate where it was built with it, and by tifffile, which compresses
with zlib: Deflate blocks of zlib are about a tenth as long. Pixels are those of make_rasters.py.
"""
import argparse
from pathlib import Path

import numpy as np
import rasterio
import tifffile
from make_rasters import array_module, fractal, pixels


def host(xp, array):
    return array if xp is np else xp.asnumpy(array)


def bands(xp, n: int):
    base = fractal(xp, n, 2.2, 2) * 600 + 1800
    layers = [base * (0.7 + 0.06 * i) + fractal(xp, n, 0.4, 30 + i) * 25 for i in range(10)]
    return xp.stack([xp.clip(layer, 0, 10000).astype(xp.uint16) for layer in layers])


def by_gdal(path: Path, array, tile, predictor: int) -> None:
    shape = dict(tiled=True, blockxsize=tile, blockysize=tile) if tile else dict(blockysize=array.shape[1])
    with rasterio.open(
        path, "w", driver="GTiff", count=array.shape[0], height=array.shape[1], width=array.shape[2],
        dtype=array.dtype.name, interleave="pixel", compress="deflate", zlevel=6, predictor=predictor,
        NUM_THREADS="ALL_CPUS", **shape,
    ) as target:
        target.write(array)


def by_tifffile(path: Path, array, tile, predictor: int) -> None:
    shape = dict(tile=(tile, tile)) if tile else dict(rowsperstrip=array.shape[1])
    image = np.moveaxis(array, 0, -1) if array.shape[0] > 1 else array[0]
    tifffile.imwrite(
        path, image, compression="zlib", compressionargs=dict(level=6), predictor=predictor if predictor > 1 else None,
        photometric="minisblack", planarconfig="contig" if image.ndim == 3 else None, **shape,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=float, default=1.0, help="edge length, as a part of the full one")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    xp = array_module()

    def edge(full: int) -> int:
        return max(512, int(full * args.size))

    wide = edge(8192)
    rasters = {
        "bands10_u16_512": (lambda: bands(xp, edge(4096)), 512, 2),
        "strip_u16": (lambda: pixels(xp, "s2_u16", wide)[None, : wide // 2], None, 2),
        "strip_f32": (lambda: pixels(xp, "dem_f32", wide // 2)[None].astype(xp.float32), None, 3),
        "strip_u8": (lambda: pixels(xp, "lc_u8", wide)[None], None, 1),
    }
    for name, (make, tile, predictor) in rasters.items():
        array = None
        for writer, write in (("gdal", by_gdal), ("zlib", by_tifffile)):
            path = args.folder / f"{name}_{writer}.tif"
            if path.exists():
                continue
            array = host(xp, make()) if array is None else array
            write(path, array, tile, predictor)
            print(f"{path.name}: {array.nbytes / path.stat().st_size:.2f}:1", flush=True)


if __name__ == "__main__":
    main()
