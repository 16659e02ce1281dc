"""`batch_bench.py FOLDER [--calls 10000] [--device cuda:0]`: JSON lines with the figures of batch.py.

Inside the timers: everything from the list of files and windows to one array on the device, headers known (the first round
is not counted); of rasterio: 16 processes that keep their files open, each reading its windows into shared memory, and one
copy of it to the device. All files are in the page cache.
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

FILES, WINDOWS, SIZE, BANDS, EDGE = 64, 512, 256, 4, 2048
CODECS = ("deflate", "zstd", "lzw")
PROCESSES, ROUNDS = 16, 5


def say(**found) -> None:
    print(json.dumps(found), flush=True)


def made(folder: Path, number: int) -> str:
    """A scene of smooth fields with noise in the low bits, as reflectances have it."""
    import rasterio

    path = folder / f"{number:02}_{CODECS[number % 3]}.tif"
    if path.exists():
        return str(path)
    random = np.random.default_rng(number)
    coarse = random.normal(1800, 600, (BANDS, EDGE // 64 + 1, EDGE // 64 + 1))
    rows = np.linspace(0, EDGE // 64, EDGE, endpoint=False)
    low, part = rows.astype(int), (rows % 1)[:, None]
    smooth = coarse[:, low] * (1 - part) + coarse[:, low + 1] * part
    smooth = smooth[:, :, low] * (1 - part.T) + smooth[:, :, low + 1] * part.T
    pixels = np.clip(smooth + random.normal(0, 12, smooth.shape), 0, 10000).astype(np.uint16)
    profile = dict(driver="GTiff", width=EDGE, height=EDGE, count=BANDS, dtype="uint16", tiled=True, blockxsize=256,
                   blockysize=256, interleave="pixel", compress=CODECS[number % 3], predictor=2)
    with rasterio.open(path, "w", **profile) as target:
        target.write(pixels)
    return str(path)


def drawn(seed: int, count: int = WINDOWS, size: int = SIZE) -> np.ndarray:
    random = np.random.default_rng(seed)
    places = random.integers(0, EDGE - size + 1, (count, 2))
    files = random.integers(0, FILES, (count, 1))
    return np.concatenate([files, places, np.full((count, 2), size)], axis=1)


OPEN: dict = {}


def by_rasterio(job) -> None:
    """A process's share of the windows, into the memory that all share."""
    import rasterio
    from rasterio.windows import Window

    name, paths, windows, first = job
    memory = shared_memory.SharedMemory(name=name)
    result = np.ndarray((WINDOWS, BANDS, SIZE, SIZE), np.uint16, memory.buf)
    for at, (file, x, y, width, height) in enumerate(windows, first):
        if file not in OPEN:
            OPEN[file] = rasterio.open(paths[file])
        OPEN[file].read(out=result[at], window=Window(x, y, width, height))
    del result
    memory.close()


def held(cp) -> tuple[int, int, int]:
    """Resident bytes, used device memory, open descriptors."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    device = 0
    if cp is not None:
        free, total = cp.cuda.runtime.memGetInfo()
        device = total - free
    return resident, device, len(os.listdir("/proc/self/fd"))


def growth(strile, cp, paths: list[str], device: str, calls: int) -> dict:
    size, count = 64, 16
    out = strile.read_batch(paths, drawn(0, count, size), device=device)
    before, seen = None, []
    for call in range(calls + 500):
        if call == 500:
            before = held(cp)
        windows = drawn(call, count, size)
        if call % 3 == 0:
            out = strile.read_batch(paths, windows, device=device)
        else:
            strile.read_batch(paths, windows, device=device, dtype="float32" if call % 3 == 1 else None)
        if call % 1000 == 999:
            seen.append(held(cp))
    del out
    after = held(cp)
    grown = [now - then for now, then in zip(after, before, strict=True)]
    wrong = []
    if grown[0] > 32 << 20:
        wrong.append(f"{grown[0]} bytes of host memory more after {calls} calls")
    if grown[1] > 32 << 20:
        wrong.append(f"{grown[1]} bytes of device memory more after {calls} calls")
    if grown[2] > 2:
        wrong.append(f"{grown[2]} descriptors more after {calls} calls")
    return {"calls": calls, "grown_host": grown[0], "grown_device": grown[1], "grown_descriptors": grown[2],
            "resident_each_1000": [row[0] for row in seen], "wrong_growth": wrong}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--calls", type=int, default=10_000)
    arguments.add_argument("--device", default="cuda:0")
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    # Processes are started before anything here has a device or threads.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
        paths = list(pool.map(made, [given.folder] * FILES, range(FILES)))
        for path in paths:
            Path(path).read_bytes()
        import strile

        cp = None
        if given.device.startswith("cuda"):
            import cupy as cp
        on_device = cp.from_dlpack if cp is not None else np.asarray
        wait = cp.cuda.Device().synchronize if cp is not None else (lambda: None)

        wrong = []
        windows = drawn(1)
        found = on_device(strile.read_batch(paths, windows, device=given.device))
        found = found.get() if cp is not None else found
        wholes = {file: np.asarray(strile.read(paths[file], device="cpu").numpy()) for file in set(windows[:, 0].tolist())}
        for at, (file, x, y, width, height) in enumerate(windows.tolist()):
            if not np.array_equal(found[at], wholes[file][:, y : y + height, x : x + width]):
                wrong.append(f"window {at} of {paths[file]} is not the crop of the whole")
        del wholes

        memory = shared_memory.SharedMemory(create=True, size=found.nbytes)
        shared = np.ndarray(found.shape, np.uint16, memory.buf)
        share = WINDOWS // PROCESSES

        def ours(windows):
            return on_device(strile.read_batch(paths, windows, device=given.device))

        def into(windows, out):
            return strile.read_batch(paths, windows, device=given.device, out=out)

        def loop(windows):
            handles = [strile.open(path) for path in paths]
            single = (on_device(handles[f].read(window=(x, y, w, h), device=given.device)) for f, x, y, w, h in windows.tolist())
            return (cp or np).stack(list(single))

        def rasterio(windows):
            jobs = [(memory.name, paths, windows[at : at + share].tolist(), at) for at in range(0, WINDOWS, share)]
            list(pool.map(by_rasterio, jobs))
            return cp.asarray(shared) if cp is not None else shared.copy()

        seconds: dict[str, list[float]] = {"batch": [], "into": [], "loop": [], "rasterio": []}
        out = ours(windows)
        for number in range(ROUNDS + 1):
            windows = drawn(100 + number)
            results = {}
            for name, call in (("batch", ours), ("into", lambda w: into(w, out)), ("loop", loop), ("rasterio", rasterio)):
                start = time.perf_counter()
                result = call(windows)
                wait()
                seconds[name].append(time.perf_counter() - start)
                results[name] = np.asarray(result.get() if hasattr(result, "get") else result)
            for name in ("into", "loop", "rasterio"):
                if not np.array_equal(results["batch"], results[name]):
                    wrong.append(f"round {number}: {name} has other pixels")
        medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
        pixels = WINDOWS * BANDS * SIZE * SIZE * 2
        say(windows=WINDOWS, files=FILES, **{f"{name}_ms": round(t * 1e3, 3) for name, t in medians.items()},
            batch_gb_s=round(pixels / medians["batch"] / 1e9, 2),
            times_rasterio=round(medians["rasterio"] / medians["batch"], 2),
            times_loop=round(medians["loop"] / medians["batch"], 2))
        del shared, results, result, out
        memory.close()
        memory.unlink()
    grown = growth(strile, cp, paths, given.device, given.calls)
    wrong += grown.pop("wrong_growth")
    say(**grown, wrong=wrong)


if __name__ == "__main__":
    main()
