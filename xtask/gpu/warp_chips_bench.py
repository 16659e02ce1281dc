"""Chips of scenes in three UTM zones onto one grid, files to one device array: `warp_chips_bench.py FOLDER`.

64 scenes of 1024² pixels and 4 bands (uint16, COG, ZSTD, predictor 2, tiles of 256²) lie around one place, in EPSG:32632, 32633
and 32634. `read_batch(grid=)` puts 512 chips of 256² pixels onto a Web Mercator grid. Beside it: a WarpedVRT of rasterio per
chip in 16 processes, and one upload. The result of the GPU is compared with the CPU's, bit for bit, and some chips with GDAL's. A JSON
object is printed last.
"""

import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

os.environ["GDAL_NUM_THREADS"] = "1"

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform

SCENES, CHIPS, SIDE, CHIP, BANDS = 64, 512, 1024, 256, 4
ZONES = (32632, 32633, 32634)
PROCESSES = 16
ROUNDS, PEER_ROUNDS = 9, 3
PIXEL = 15.0
PLACE = (15.0, 50.0)


def made(folder: Path) -> list[Path]:
    """Scenes in three zones, side by side around one place."""
    random = np.random.default_rng(7)
    paths = []
    for number in range(SCENES):
        epsg = ZONES[number % len(ZONES)]
        (east,), (north,) = transform("EPSG:4326", f"EPSG:{epsg}", [PLACE[0]], [PLACE[1]])
        left, top = round(east) + (number % 8 - 4) * 4000, round(north) - (number // 8 - 4) * 4000
        rough = random.integers(200, 4000, (BANDS, SIDE // 8, SIDE // 8), np.uint16)
        values = np.kron(rough, np.ones((1, 8, 8), np.uint16)) + random.integers(0, 30, (BANDS, SIDE, SIDE), np.uint16)
        path = folder / f"scene{number}.tif"
        words = dict(driver="COG", width=SIDE, height=SIDE, count=BANDS, dtype="uint16", crs=f"EPSG:{epsg}", nodata=0)
        place = rasterio.Affine(10, 0, left, 0, -10, top)
        with rasterio.open(path, "w", **words, transform=place, compress="zstd", predictor=2, blocksize=256) as file:
            file.write(values)
        paths.append(path)
    return paths


def places(paths: list[Path]) -> list[tuple[int, float, float]]:
    """For each chip its scene, and the upper left corner in Web Mercator, on whole pixels."""
    random = np.random.default_rng(8)
    found = []
    for at in range(CHIPS):
        number = at % len(paths)
        with rasterio.open(paths[number]) as file:
            x, y = file.transform * (random.uniform(0, SIDE - 300), random.uniform(0, SIDE - 300))
            (east,), (north,) = transform(file.crs, "EPSG:3857", [x], [y])
        found.append((number, round(east / PIXEL) * PIXEL, round(north / PIXEL) * PIXEL))
    return found


def by_gdal(work: tuple[str, float, float]) -> np.ndarray:
    path, left, top = work
    words = dict(crs="EPSG:3857", transform=rasterio.Affine(PIXEL, 0, left, 0, -PIXEL, top), width=CHIP, height=CHIP)
    with rasterio.open(path) as file, WarpedVRT(file, resampling=Resampling.bilinear, **words) as warped:
        return warped.read()


def best(times: list[float]) -> float:
    return round(min(times) * 1e3, 3)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    paths = made(folder)
    chips = places(paths)
    work = [(str(paths[number]), left, top) for number, left, top in chips]
    found: dict = {"chips": CHIPS, "scenes": SCENES, "wrong": []}
    # Processes are started before a GPU is used.
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        pool.map(by_gdal, work[: 4 * PROCESSES], chunksize=4)
        import cupy
        import strile

        def timed(call) -> tuple[float, object]:
            cupy.cuda.Device().synchronize()
            started = time.perf_counter()
            result = call()
            cupy.cuda.Device().synchronize()
            return time.perf_counter() - started, result

        left, top = min(chip[1] for chip in chips), max(chip[2] for chip in chips)
        grid = strile.Grid("EPSG:3857", (PIXEL, 0, left, 0, -PIXEL, top), (CHIP, CHIP))
        windows = [(number, round((x - left) / PIXEL), round((top - y) / PIXEL)) for number, x, y in chips]
        files = [strile.open(str(path)) for path in paths]

        def batch(device: str):
            words = {"device": "cuda", "decode_on": "cuda"} if device == "cuda" else {"decode_on": "cpu"}
            return strile.read_batch(files, windows, size=CHIP, grid=grid, resampling="bilinear", **words)

        for _ in range(2):
            timed(lambda: cupy.asarray(batch("cuda")))
        times = [timed(lambda: cupy.asarray(batch("cuda"))) for _ in range(ROUNDS)]
        device = times[-1][1].get()
        host_seconds, host = timed(lambda: np.asarray(batch("cpu")))
        if not np.array_equal(device, host):
            found["wrong"].append(f"{int((device != host).sum())} samples of the GPU differ from the CPU's")
        peer, uploaded = [], []
        for _ in range(PEER_ROUNDS):
            seconds, result = timed(lambda: np.stack(pool.map(by_gdal, work, chunksize=8)))
            peer.append(seconds)
            uploaded.append(seconds + timed(lambda result=result: cupy.asarray(result))[0])
    apart = np.abs(result.astype(np.int32) - host.astype(np.int32))
    found |= {
        "gpu_ms": best([seconds for seconds, _ in times]),
        "cpu_ms": round(host_seconds * 1e3, 3),
        "gdal_ms": {"host": best(peer), "device": best(uploaded)},
        "against_gdal": {"largest": int(apart.max()), "more_than_1": int((apart > 1).sum())},
    }
    found["times_gdal"] = round(found["gdal_ms"]["device"] / found["gpu_ms"], 1)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
