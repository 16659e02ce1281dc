"""Reads onto another grid, file to device array, beside GDAL's WarpedVRT and an upload: `warp_bench.py FOLDER`.

A float32 DEM of 8192² (COG, ZSTD, predictor 3, tiles of 512²) in EPSG:32633 is read onto the grid that is suggested for
EPSG:3857. Programs alternate in one process; the file is in the page cache. Every result of the GPU is compared with the
CPU's, bit for bit, and with GDAL's (largest difference where both have a value). A JSON object is printed last.
"""

import json
import os
import sys
import time
from pathlib import Path

THREADS = 16
os.environ["GDAL_NUM_THREADS"] = str(THREADS)

import cupy
import numpy as np
import rasterio
import strile
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT

SIDE = 8192
METHODS = ("nearest", "bilinear", "cubic", "average")
ROUNDS, PEER_ROUNDS = 9, 2


def made(folder: Path) -> Path:
    """A DEM: smooth noise of several scales, values within ±400, and a hole of nodata."""
    path = folder / "dem.tif"
    random = np.random.default_rng(24)
    values = np.zeros((SIDE, SIDE), np.float32)
    for scale in (2, 8, 64, 512):
        side = SIDE // scale
        rough = random.standard_normal((side, side), np.float32)
        values += np.kron(rough, np.ones((scale, scale), np.float32)) * np.float32(scale**0.5 * 3)
    values += random.standard_normal((SIDE, SIDE), np.float32) * np.float32(0.3)
    values[1000:1200, 2000:2300] = -9999
    transform = rasterio.Affine(10, 0, 399960, 0, -10, 5600040)
    words = dict(driver="COG", width=SIDE, height=SIDE, count=1, dtype="float32", crs="EPSG:32633", transform=transform)
    with rasterio.open(path, "w", **words, nodata=-9999, compress="zstd", predictor=3, blocksize=512) as file:
        file.write(values, 1)
    return path


def best(times: list[float]) -> float:
    return round(min(times) * 1e3, 3)


def timed(call) -> tuple[float, object]:
    cupy.cuda.Device().synchronize()
    started = time.perf_counter()
    result = call()
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - started, result


def by_gdal(path: Path, grid: strile.Grid, method: str) -> np.ndarray:
    height, width = grid.shape
    words = dict(crs=grid.crs, transform=rasterio.Affine(*grid.transform), width=width, height=height)
    with rasterio.open(path) as file:
        with WarpedVRT(file, resampling=Resampling[method], num_threads=THREADS, warp_mem_limit=1024, **words) as warped:
            return warped.read()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = made(folder)
    grid = strile.Grid.suggest(str(path), "EPSG:3857")
    found: dict = {"shape": list(grid.shape), "wrong": []}

    def on_device(method):
        return cupy.asarray(strile.read(str(path), grid=grid, resampling=method, device="cuda", decode_on="cuda"))

    def plain():
        return cupy.asarray(strile.read(str(path), device="cuda", decode_on="cuda"))

    def on_host(method):
        return np.asarray(strile.read(str(path), grid=grid, resampling=method, decode_on="cpu"))

    for _ in range(2):
        timed(plain)
    times: dict = {"read": []} | {method: [] for method in METHODS}
    for _ in range(ROUNDS):
        times["read"].append(timed(plain)[0])
        for method in METHODS:
            times[method].append(timed(lambda method=method: on_device(method))[0])
    found["gpu_ms"] = {name: best(of) for name, of in times.items()}
    print(json.dumps(found), flush=True)
    gdal, cpu, apart = {}, {}, {}
    for method in METHODS:
        host = on_host(method)
        device = on_device(method).get()
        if not np.array_equal(host.view(np.uint32), device.view(np.uint32)):
            found["wrong"].append(f"{method}: {int((host.view(np.uint32) != device.view(np.uint32)).sum())} pixels differ")
        cpu[method] = best([timed(lambda method=method: on_host(method))[0] for _ in range(PEER_ROUNDS)])
        peer, uploaded = [], []
        for _ in range(PEER_ROUNDS):
            seconds, result = timed(lambda method=method: by_gdal(path, grid, method))
            peer.append(seconds)
            uploaded.append(seconds + timed(lambda result=result: cupy.asarray(result))[0])
        gdal[method] = {"host": best(peer), "device": best(uploaded)}
        both = (host.reshape(result.shape) != -9999) & (result != -9999)
        apart[method] = {
            "largest": float(np.abs(host.reshape(result.shape)[both] - result[both]).max()),
            "one_has_a_value": int(((host.reshape(result.shape) != -9999) != (result != -9999)).sum()),
        }
        found |= {"gdal_ms": gdal, "cpu_ms": cpu, "against_gdal": apart}
        print(json.dumps(found), flush=True)
    found["times_gdal"] = {method: round(gdal[method]["device"] / found["gpu_ms"][method], 1) for method in METHODS}
    found["cpu_times_gdal"] = {method: round(gdal[method]["host"] / cpu[method], 2) for method in METHODS}
    print(json.dumps(found), flush=True)


main(Path(sys.argv[1]))
