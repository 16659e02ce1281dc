"""`batch_bench.py FOLDER [--device cuda:0] [--calls 10000] …`: JSON lines with the figures of batch.py.

Inside the timers: everything from the list of files and windows to one array on the device, headers known (the first round
is not counted); of rasterio: processes that keep their files open, each reading its windows into shared memory, and one
copy of it to the device; of the loop: one read a window of files that are open, and one stack. All files are in the page
cache. With `--device cpu` and small numbers it runs without a GPU.
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import statistics
import time
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np

CODECS = ("deflate", "zstd", "lzw")
BANDS, ROUNDS = 4, 5


def say(**found) -> None:
    print(json.dumps(found), flush=True)


def made(folder: Path, edge: int, number: int) -> str:
    """A scene of smooth fields with noise in the low bits, as reflectances have it."""
    import rasterio

    codec = CODECS[number % 3]
    path = folder / f"{number:02}_{edge}_{codec}.tif"
    if path.exists():
        return str(path)
    random = np.random.default_rng(number)
    coarse = random.normal(1800, 600, (BANDS, edge // 64 + 1, edge // 64 + 1))
    rows = np.linspace(0, edge // 64, edge, endpoint=False)
    low, part = rows.astype(int), (rows % 1)[:, None]
    smooth = coarse[:, low] * (1 - part) + coarse[:, low + 1] * part
    smooth = smooth[:, :, low] * (1 - part.T) + smooth[:, :, low + 1] * part.T
    pixels = np.clip(smooth + random.normal(0, 12, smooth.shape), 0, 10000).astype(np.uint16)
    profile = dict(driver="GTiff", width=edge, height=edge, count=BANDS, dtype="uint16", tiled=True, blockxsize=256,
                   blockysize=256, interleave="pixel", compress=codec, predictor=2)
    with rasterio.open(path, "w", **profile) as target:
        target.write(pixels)
    return str(path)


def drawn(seed: int, files: int, edge: int, count: int, size: int) -> np.ndarray:
    """Rows of (file, column, row, width, height)."""
    random = np.random.default_rng(seed)
    places = random.integers(0, edge - size + 1, (count, 2))
    which = random.integers(0, files, (count, 1))
    return np.concatenate([which, places, np.full((count, 2), size)], axis=1)


OPEN: dict = {}


def by_rasterio(job) -> None:
    """A process's share of the windows, into the memory that all share."""
    import rasterio
    from rasterio.windows import Window

    name, shape, paths, windows, first = job
    memory = shared_memory.SharedMemory(name=name)
    result = np.ndarray(shape, np.uint16, memory.buf)
    for at, (file, x, y, width, height) in enumerate(windows, first):
        if paths[file] not in OPEN:
            OPEN[paths[file]] = rasterio.open(paths[file])
        OPEN[paths[file]].read(out=result[at], window=Window(x, y, width, height))
    del result
    memory.close()


def not_the_crop(found: np.ndarray, windows: np.ndarray, paths: list[str]) -> list[str]:
    """Windows that are not the crop of the whole, as rasterio reads it."""
    import rasterio

    wrong = []
    for file in sorted(set(windows[:, 0].tolist())):
        with rasterio.open(paths[file]) as source:
            whole = source.read()
        for at in np.flatnonzero(windows[:, 0] == file):
            x, y, width, height = windows[at, 1:].tolist()
            if not np.array_equal(found[at], whole[:, y : y + height, x : x + width]):
                wrong.append(f"window {at} of {Path(paths[file]).name} is not the crop of the whole")
    return wrong


def timed(given, strile, cp, paths: list[str], pool) -> tuple[dict, list[str]]:
    """Rounds that alternate; medians, and what was wrong."""
    on_device = cp.from_dlpack if cp is not None else np.asarray
    wait = cp.cuda.Device().synchronize if cp is not None else (lambda: None)
    shape = (given.windows, BANDS, given.size, given.size)
    memory = shared_memory.SharedMemory(create=True, size=int(np.prod(shape)) * 2)
    shared = np.ndarray(shape, np.uint16, memory.buf)
    share = -(-given.windows // given.processes)
    handles = [strile.open(path) for path in paths]

    def batch(windows):
        return on_device(strile.read_batch(paths, windows, device=given.device))

    def into(windows):
        return strile.read_batch(paths, windows, device=given.device, out=out)

    def loop(windows):
        single = [on_device(handles[f].read(window=(x, y, w, h), device=given.device)) for f, x, y, w, h in windows.tolist()]
        return (cp or np).stack(single)

    def rasterio(windows):
        starts = range(0, given.windows, share)
        list(pool.map(by_rasterio, [(memory.name, shape, paths, windows[at : at + share].tolist(), at) for at in starts]))
        return cp.asarray(shared) if cp is not None else shared.copy()  # noqa: F821 (deleted after the last call)

    calls = {"batch": batch, "into": into, "loop": loop, "rasterio": rasterio}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    wrong: list[str] = []
    out = None
    for number in range(ROUNDS + 1):
        windows = drawn(100 + number, given.files, given.edge, given.windows, given.size)
        out = batch(windows) if out is None else out
        results = {}
        for name, call in calls.items():
            wait()
            start = time.perf_counter()
            result = call(windows)
            wait()
            seconds[name].append(time.perf_counter() - start)
            results[name] = result.get() if cp is not None else np.array(result)
            del result
        if number == 0:
            wrong += not_the_crop(results["batch"], windows, paths)
        for name, pixels in results.items():
            if not np.array_equal(results["batch"], pixels):
                wrong.append(f"round {number}: {name} has other pixels")
    del shared
    memory.close()
    memory.unlink()
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    pixels = int(np.prod(shape)) * 2
    return {
        "windows": given.windows, "files": given.files, "size": given.size, "bands": BANDS, "processes": given.processes,
        **{f"{name}_ms": round(median * 1e3, 3) for name, median in medians.items()},
        "batch_gb_s": round(pixels / medians["batch"] / 1e9, 2),
        "times_rasterio": round(medians["rasterio"] / medians["batch"], 2),
        "times_loop": round(medians["loop"] / medians["batch"], 2),
    }, wrong


def ahead(given, strile, cp, paths: list[str]) -> dict:
    """Windows a second of small batches that are read ahead, by one thread and by two: the best of three rounds each."""
    requests = [drawn(200 + number, given.files, given.edge, 64, given.size) for number in range(24)]
    found = {}
    for _ in range(3):
        for readers in (1, 2):
            start = time.perf_counter()
            read = lambda windows: strile.read_batch(paths, windows, device=given.device)  # noqa: E731
            for batch in strile.prefetch(read, requests, depth=2, readers=readers):
                del batch
            if cp is not None:
                cp.cuda.Device().synchronize()
            rate = round(64 * len(requests) / (time.perf_counter() - start))
            name = f"ahead_{readers}_windows_s"
            found[name] = max(rate, found.get(name, 0))
    return found


def held(cp) -> tuple[int, int, int]:
    """Resident bytes, used device memory, open descriptors."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    device = 0
    if cp is not None:
        free, total = cp.cuda.runtime.memGetInfo()
        device = total - free
    return resident, device, len(os.listdir("/proc/self/fd"))


def growth(given, strile, cp, paths: list[str]) -> tuple[dict, list[str]]:
    """Small batches, kept, dropped and cast in turn; the first twentieth is not counted."""
    size, count, ready = 64, 16, given.calls // 20
    before, seen, kept = None, [], None
    for call in range(given.calls + ready):
        if call == ready:
            before = held(cp)
        windows = drawn(call, given.files, given.edge, count, size)
        result = strile.read_batch(paths, windows, device=given.device, dtype="float32" if call % 3 == 1 else None)
        if call % 3 == 0:
            kept = result
        if call % 1000 == 999:
            seen.append(held(cp)[0])
    del kept, result
    grown = [now - then for now, then in zip(held(cp), before, strict=True)]
    most = (("bytes of host memory", 32 << 20), ("bytes of device memory", 32 << 20), ("descriptors", 2))
    wrong = [f"{n} {what} more after {given.calls} calls" for n, (what, limit) in zip(grown, most, strict=True) if n > limit]
    return {"calls": given.calls, "grown_host": grown[0], "grown_device": grown[1], "grown_descriptors": grown[2],
            "resident_each_1000": seen}, wrong


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--device", default="cuda:0")
    for name, usual in (("calls", 10_000), ("files", 64), ("windows", 512), ("size", 256), ("edge", 2048), ("processes", 16)):
        arguments.add_argument(f"--{name}", type=int, default=usual)
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    # Processes are started before anything here has a device or threads.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(given.processes, mp_context=spawn) as pool:
        paths = list(pool.map(made, [given.folder] * given.files, [given.edge] * given.files, range(given.files)))
        for path in paths:
            Path(path).read_bytes()
        import strile

        cp = None
        if given.device.startswith("cuda"):
            import cupy as cp
        figures, wrong = timed(given, strile, cp, paths, pool)
        say(**figures, **ahead(given, strile, cp, paths))
    grown, more = growth(given, strile, cp, paths)
    say(**grown, wrong=wrong + more)


if __name__ == "__main__":
    main()
