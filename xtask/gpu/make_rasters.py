"""Makes the rasters of the benchmark: `make_rasters.py FOLDER [--size 1.0] [--only dem_f32,…] [--layouts lerc_zstd:256,…]`.

Four sets, as in docs/bench/log/gpu.md: a float32 elevation model 8192² (predictor 3), uint16 reflectance 16384²
(predictor 2), uint8 land cover 16384², RGB uint8 8192² (predictor 2); each as deflate, zstd, LZW and uncompressed
in 256² tiles, and deflate and zstd in 512² tiles; written by GDAL, one process a file. Pixels are spectral noise of
a fixed seed, made with CuPy where a device is, else with NumPy (other pixels, same kind).

Beside FILE.tif lies FILE.tif.idx: offset and length of each tile, two little-endian u64, in the order of the file's
table; and meta.json lists everything. Nothing is made twice.
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np

SETS = {"dem_f32": (8192, 3), "s2_u16": (16384, 2), "lc_u8": (16384, 1), "rgb_u8": (8192, 2)}
LAYOUTS = [("deflate", 256), ("zstd", 256), ("lzw", 256), ("none", 256), ("deflate", 512), ("zstd", 512)]


def array_module():
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
        return cupy
    except Exception as reason:  # any reason leads to the same: no device for CuPy
        print(f"no CuPy device, NumPy instead: {type(reason).__name__}", flush=True)
        return np


def fractal(xp, n: int, beta: float, seed: int):
    """Noise whose spectrum falls with frequency to the power beta, mean 0, deviation 1."""
    noise = xp.random.default_rng(seed).standard_normal((n, n), dtype=xp.float32)
    spectrum = xp.fft.rfft2(noise)
    fy = xp.fft.fftfreq(n)[:, None].astype(xp.float32)
    fx = xp.fft.rfftfreq(n)[None, :].astype(xp.float32)
    k = xp.sqrt(fy * fy + fx * fx)
    k[0, 0] = 1
    spectrum *= k ** (-beta / 2)
    field = xp.fft.irfft2(spectrum, s=(n, n)).astype(xp.float32)
    field -= field.mean()
    field /= field.std()
    return field


def pixels(xp, name: str, n: int):
    if name == "dem_f32":  # metres, in 64ths, as a smoothed lidar model
        return xp.round((fractal(xp, n, 3.6, 1) * 400 + 900) * 64) / 64
    if name == "s2_u16":  # reflectance of 12 bits or so, with fine texture
        return xp.clip(fractal(xp, n, 2.2, 2) * 600 + 1800 + fractal(xp, n, 0.4, 3) * 25, 0, 10000).astype(xp.uint16)
    if name == "lc_u8":  # classes
        return xp.digitize(fractal(xp, n, 3.0, 4), xp.asarray(np.linspace(-2, 2, 11))).astype(xp.uint8)
    base = fractal(xp, n, 2.6, 5)
    bands = [xp.clip((base * 0.8 + fractal(xp, n, 1.6, 6 + i) * 0.3) * 45 + 120, 0, 255) for i in range(3)]
    return xp.stack(bands).astype(xp.uint8)


def write(job: tuple) -> dict:
    folder, name, codec, tile, predictor, threads, max_error = job
    import rasterio
    import tifffile
    from rasterio.transform import from_origin

    array = np.load(f"{folder}/{name}.npy", mmap_mode="r")
    bands = 1 if array.ndim == 2 else array.shape[0]
    path = f"{folder}/{name}_{codec}_{tile}.tif"
    options = dict(
        driver="GTiff", width=array.shape[-1], height=array.shape[-2], count=bands, dtype=array.dtype.name,
        tiled=True, blockxsize=tile, blockysize=tile, interleave="pixel", BIGTIFF="IF_SAFER", NUM_THREADS=str(threads),
        crs="EPSG:32633", transform=from_origin(4e5, 5e6, 10, 10),
    )
    if codec != "none":
        options["compress"] = codec
        if codec.startswith("lerc"):
            options["max_z_error"] = max_error
        elif predictor > 1:
            options["predictor"] = predictor
        if codec == "deflate":
            options["zlevel"] = 6
    start = time.perf_counter()
    with rasterio.open(path, "w", **options) as target:
        target.write(array if array.ndim == 3 else array[None])
    seconds = time.perf_counter() - start
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[0]
        offsets, lengths = page.dataoffsets, page.databytecounts
    np.array([offsets, lengths], dtype="<u8").T.copy().tofile(path + ".idx")
    return dict(
        name=name, codec=codec, tile=tile, path=path, decoded=int(array.nbytes), encoded=int(sum(lengths)),
        tile_bytes=tile * tile * bands * array.itemsize, tiles=len(offsets), write_seconds=seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=float, default=1.0, help="edge length, as a part of the full one")
    parser.add_argument("--only", default=",".join(SETS), help="sets, with commas between")
    parser.add_argument("--layouts", default=",".join(f"{codec}:{tile}" for codec, tile in LAYOUTS),
                        help="codecs of GDAL and sides of tiles, with commas between: lerc_zstd:256")
    parser.add_argument("--max-error", type=float, default=0.0, help="of LERC")
    args = parser.parse_args()
    layouts = [(codec, int(tile)) for codec, tile in (layout.split(":") for layout in args.layouts.split(","))]
    args.folder.mkdir(parents=True, exist_ok=True)
    listed = args.folder / "meta.json"
    have = {Path(m["path"]).name: m for m in json.loads(listed.read_text())} if listed.exists() else {}
    started = time.perf_counter()
    xp = None
    jobs = []
    # The largest files first: they take longest.
    for name in sorted(args.only.split(","), key=lambda name: -SETS[name][0]):
        size, predictor = SETS[name]
        missing = [(c, t) for c, t in layouts if f"{name}_{c}_{t}.tif" not in have]
        if missing and not (args.folder / f"{name}.npy").exists():
            xp = xp or array_module()
            array = pixels(xp, name, max(512, int(size * args.size)))
            array = xp.asnumpy(array) if xp is not np else array
            np.save(args.folder / f"{name}.npy", array)
            print(f"{name}: made after {time.perf_counter() - started:.1f} s", flush=True)
        jobs += [(str(args.folder), name, codec, tile, predictor, 2, args.max_error) for codec, tile in missing]
    # Fresh processes: one that holds a CUDA context must not be forked.
    with concurrent.futures.ProcessPoolExecutor(
        max_workers=os.cpu_count(), mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        for made in pool.map(write, jobs):
            have[Path(made["path"]).name] = made
            ratio = made["decoded"] / made["encoded"]
            print(f"{Path(made['path']).name}: ratio {ratio:.2f}, {made['write_seconds']:.1f} s", flush=True)
    listed.write_text(json.dumps(sorted(have.values(), key=lambda m: m["path"]), indent=1))
    print(f"rasters: {len(have)} files, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
