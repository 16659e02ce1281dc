"""`small_bench.py FOLDER [--device cuda:0] [--edge 16384] [--times 300]`: JSON lines with the figures of small.py.

Files are read from the page cache by a handle that is open; every window is another tile, and blocks are not cached. With
`--device cpu` it runs without a GPU. `best` and `median` are microseconds of one call; `cpu` of its processor time, of all threads.
"""
import argparse
import json
import os
import statistics
import time
from pathlib import Path

import numpy as np

CODECS = ("none", "deflate", "zstd", "lzw")
TILES = (256, 512)


def say(figure: str, **found) -> None:
    print(json.dumps({"figure": figure, **found}), flush=True)


def field(edge: int) -> np.ndarray:
    """Smooth fields with noise in the low bits."""
    random = np.random.default_rng(5)
    coarse = np.kron(random.normal(3000, 300, (edge // 64, edge // 64)), np.ones((64, 64)))
    return (coarse + random.normal(0, 12, (edge, edge))).clip(0, 10000).astype(np.uint16)


def timed(call, places: list) -> dict:
    """Calls once per place; the first tenth warms up."""
    for place in places[: len(places) // 10]:
        call(place)
    seconds, before = [], time.process_time()
    for place in places:
        start = time.perf_counter()
        call(place)
        seconds.append(time.perf_counter() - start)
    spent = (time.process_time() - before) / len(places)
    return {
        "best": round(min(seconds) * 1e6, 1), "median": round(statistics.median(seconds) * 1e6, 1), "cpu": round(spent * 1e6, 1),
    }


def places(edge: int, size: int, count: int) -> list[tuple[int, int, int, int]]:
    """Windows of that size on the grid of that size, none twice in a row."""
    across = edge // size
    order = np.random.default_rng(7).permutation(across * across)
    return [(int(at % across) * size, int(at // across) * size, size, size) for at in np.resize(order, count)]


def compared(strile, path: Path, pixels: np.ndarray, device: str) -> None:
    with strile.open(path) as file:
        for column, row, width, height in places(pixels.shape[0], 256, 5):
            found = strile.read(file, window=(column, row, width, height), device=device, cache="off").numpy()
            if not np.array_equal(found[0], pixels[row : row + height, column : column + width]):
                raise SystemExit(f"{path.name}: other pixels than those that were written")


def windows(strile, given, pixels: np.ndarray) -> None:
    # Where the result lives, and which processor decodes: the faster one, or the device.
    ways = dict.fromkeys([("cpu", "auto"), (given.device, "auto"), (given.device, given.device)])
    try:
        import rasterio
    except ImportError:
        rasterio = None
    for tile in TILES:
        for codec in CODECS:
            path = given.folder / f"{codec}_{tile}.tif"
            if not path.exists():
                strile.to_geotiff(pixels, path, compression=codec, tile_size=tile)
            wanted = places(pixels.shape[0], tile, given.times)
            many = places(pixels.shape[0], 8 * tile, max(20, given.times // 10))
            for device, decode_on in ways:
                compared(strile, path, pixels, device)
                with strile.open(path) as file:
                    def read(window):
                        return strile.read(file, window=window, device=device, decode_on=decode_on, cache="off")

                    one, all_ = timed(read, wanted), timed(read, many)
                    ratio = round(all_["median"] / one["median"], 2)
                    say("window", codec=codec, tile=tile, device=device, decode_on=decode_on, one=one, of_64_tiles=all_, ratio=ratio)
            if rasterio is not None:
                from rasterio.windows import Window

                with rasterio.open(path) as file:
                    one = timed(lambda at: file.read(1, window=Window(*at)), wanted)
                    say("window", codec=codec, tile=tile, device="rasterio, 1 thread, its cache on", one=one)


def again(strile, given) -> None:
    """The same windows again and again, at odd places: rasterio takes them from its cache of blocks, strile from its own."""
    edge = given.window_edge
    random = np.random.default_rng(9)
    corners = random.integers(0, edge - 256, (300, 2))
    wanted = [(int(x), int(y), 256, 256) for x, y in corners] * 3
    path = given.folder / "deflate_256.tif"
    with strile.open(path) as file:
        say("repeated", program="strile", **timed(lambda at: strile.read(file, window=at), wanted))
    try:
        import rasterio
        from rasterio.windows import Window
    except ImportError:
        return
    with rasterio.open(path) as file:
        say("repeated", program="rasterio", **timed(lambda at: file.read(1, window=Window(*at)), wanted))


def chunks(strile, given) -> None:
    """A dask array of blocks of 1024² beside one read of all, on the device."""
    try:
        import dask
    except ImportError as problem:
        return print(f"chunks are left out: {problem}")
    gpu = given.device != "cpu"
    if gpu:
        import cupy

        wait = cupy.cuda.Device().synchronize
    else:
        wait = lambda: None
    pixels = field(given.edge)
    for codec in ("deflate", "zstd"):
        path = given.folder / f"chunks_{codec}.tif"
        if not path.exists():
            strile.to_geotiff(pixels, path, compression=codec, tile_size=512)
        lazy = strile.open_geotiff(path, chunks=1024, **({"gpu": True} if gpu else {})).data

        def best(call, count: int = 5) -> float:
            seconds = []
            for _ in range(count):
                start = time.perf_counter()
                found = call()
                wait()
                seconds.append(time.perf_counter() - start)
                del found
            return round(min(seconds) * 1e3, 1)

        eager = best(lambda: strile.open_geotiff(path, **({"gpu": True} if gpu else {})))
        by_threads = {}
        for threads in (1, 8):
            with dask.config.set(scheduler="threads", num_workers=threads):
                by_threads[threads] = best(lambda: lazy.compute())
                # Without the copy of all blocks into one array, which dask does at the end.
                held = lazy.to_delayed().ravel().tolist()
                by_threads[f"{threads}, not joined"] = best(lambda: dask.compute(*held))
        found = lazy.compute()
        found = found.get() if hasattr(found, "get") else np.asarray(found)
        if not np.array_equal(found, pixels):
            raise SystemExit(f"{path.name}: dask has other pixels than those that were written")
        say("chunks", codec=codec, eager_ms=eager, dask_ms=by_threads)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--edge", type=int, default=16384)
    parser.add_argument("--window-edge", type=int, default=8192)
    parser.add_argument("--times", type=int, default=300)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    import strile

    say("machine", cores=len(os.sched_getaffinity(0)), strile=strile.__version__)
    windows(strile, given, field(given.window_edge))
    again(strile, given)
    chunks(strile, given)


if __name__ == "__main__":
    main()
