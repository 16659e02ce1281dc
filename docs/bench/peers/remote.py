"""Measures strile beside GDAL and async-geotiff on COGs behind a range server on loopback: requests, bytes, connections, seconds.

    remote.py DATA [--delay 0.03] [--rate 60e6] [--rounds 3] [--headers 10000] [--programs strile …] [--output PATH]
    remote.py --one PROGRAM TASK URL FOLDER

`cargo xtask bench --peers --remote` runs it. Six tasks: `open` (the header of one file), `window` (256², at an odd place), `wide`
(2048²), `overview` (the whole 1/8 level), `many` (a 256² window of each of 64 files), `whole` (all of an 8192² file). Each program runs
cold, in a process of its own; programs take turns, and the fastest of all rounds counts. A digest of the pixels is compared; a program
with other pixels ends the run. `--headers N` also opens N objects over a server without delay, warm, and says how many per second; 0
leaves it out. Programs that are not installed are left out. DATA is a folder for the files, which rasterio makes."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

TASKS = ("open", "window", "wide", "overview", "many", "whole")
SMALL = [f"small_{number:02}.tif" for number in range(64)]
TUNED = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": ".tif",
    "GDAL_HTTP_MERGE_CONSECUTIVE_RANGES": "YES",
    "VSI_CACHE": "TRUE",
    "GDAL_INGESTED_BYTES_AT_OPEN": "32768",
    "GDAL_NUM_THREADS": "ALL_CPUS",
    "CPL_VSIL_CURL_CHUNK_SIZE": "131072",
}
# File, column, row, width, height, and the overview (0 for full size).
Window = tuple[str, int, int, int, int, int]


def windows(task: str) -> list[Window]:
    return {
        "open": [("big.tif", 0, 0, 0, 0, 0)],
        "window": [("big.tif", 3333, 4444, 256, 256, 0)],
        "wide": [("big.tif", 1000, 3000, 2048, 2048, 0)],
        "overview": [("big.tif", 0, 0, 1024, 1024, 3)],
        "many": [(name, 300, 400, 256, 256, 0) for name in SMALL],
        "whole": [("big.tif", 0, 0, 8192, 8192, 0)],
    }[task]


def make(folder: Path) -> None:
    """Writes the files that are missing."""
    import rasterio
    from rasterio.transform import from_origin

    random = np.random.default_rng(3)

    def field(size: int) -> Any:
        total = np.zeros((size, size), "f4")
        for cell in (size // 8, size // 32, size // 128):
            coarse = random.normal(0, 300, (size // cell + 1, size // cell + 1))
            total += np.kron(coarse, np.ones((cell, cell)))[:size, :size].astype("f4")
        return (total + 3000 + random.normal(0, 12, (size, size))).clip(0, 10000).astype("u2")

    folder.mkdir(parents=True, exist_ok=True)
    for name, size in [("big.tif", 8192), *((name, 1024) for name in SMALL)]:
        pixels = field(size)
        if (folder / name).exists():
            continue
        profile = {
            "driver": "COG", "width": size, "height": size, "count": 1, "dtype": "uint16", "compress": "deflate",
            "predictor": "YES", "blocksize": 512 if size > 2000 else 256, "crs": "EPSG:32633", "overview_resampling": "average",
            "transform": from_origin(4e5, 5e6, 10, 10), "NUM_THREADS": "ALL_CPUS",
        }  # fmt: skip
        with rasterio.open(str(folder / f"{name}.part"), "w", **profile) as file:
            file.write(pixels[None])
        os.rename(folder / f"{name}.part", folder / name)


def gdal(url: str, wanted: list[Window]) -> list[Any]:
    os.environ.update(TUNED)
    import rasterio
    from rasterio.windows import Window as Part

    def one(window: Window) -> Any:
        name, column, row, width, height, level = window
        with rasterio.open(url + name, **({"overview_level": level - 1} if level else {})) as file:
            return file.read(1, window=Part(column, row, width, height)) if width else np.array([file.width])

    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(one, wanted))


def async_geotiff(url: str, wanted: list[Window]) -> list[Any]:
    from async_geotiff import GeoTIFF
    from async_geotiff import Window as Part
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(url, client_options={"allow_http": True})

    async def one(window: Window) -> Any:
        name, column, row, width, height, level = window
        file = await GeoTIFF.open(name, store=store)
        if not width:
            return np.array([file.width])
        image = file.overviews[level - 1] if level else file
        part = await image.read(window=Part(col_off=column, row_off=row, width=width, height=height))
        return np.asarray(part.data).reshape(height, width)

    async def every() -> list[Any]:
        return list(await asyncio.gather(*(one(window) for window in wanted)))

    return asyncio.run(every())


def strile(url: str, wanted: list[Window]) -> list[Any]:
    os.environ["STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS"] = "1"
    import strile

    if len(wanted) > 1:
        names = [url + window[0] for window in wanted]
        places = [(number, *window[1:5]) for number, window in enumerate(wanted)]
        return list(np.asarray(strile.read_batch(names, places))[:, 0])
    name, column, row, width, height, level = wanted[0]
    with strile.open(url + name) as file:
        if not width:
            return [np.array([file.width])]
        chosen = {"overview_level": level - 1} if level else {}
        return [file.read(1, ((row, row + height), (column, column + width)), **chosen)]


PROGRAMS: dict[str, tuple[str, Callable[[str, list[Window]], list[Any]]]] = {
    "GDAL": ("rasterio", gdal),
    "async-geotiff": ("async_geotiff", async_geotiff),
    "strile": ("strile", strile),
}


def opened(program: str, url: str, count: int, folder: str) -> tuple[float, int]:
    """Opens objects of a server, again and again, and returns seconds and how many; connections and imports are not counted."""
    names = [SMALL[number % len(SMALL)] for number in range(count)]
    if program == "GDAL":
        os.environ.update(TUNED)
        del os.environ["CPL_VSIL_CURL_ALLOWED_EXTENSIONS"]
        import rasterio

        def one(name: str) -> int:
            with rasterio.open(url + name) as file:
                return int(file.width)

        with ThreadPoolExecutor(16) as threads:
            list(threads.map(one, names[:64]))
            # Another URL for each: GDAL remembers what it has read of one.
            distinct = [f"{name}?{number}" for number, name in enumerate(names)]
            begun = time.perf_counter()
            total = sum(threads.map(one, distinct))
            return time.perf_counter() - begun, total // 1024
    if program == "async-geotiff":
        from async_geotiff import GeoTIFF
        from obstore.store import HTTPStore

        store = HTTPStore.from_url(url, client_options={"allow_http": True})

        async def every() -> tuple[float, int]:
            gate = asyncio.Semaphore(64)

            async def one(name: str) -> int:
                async with gate:
                    return int((await GeoTIFF.open(name, store=store)).width)

            await asyncio.gather(*(one(name) for name in names[:64]))
            begun = time.perf_counter()
            total = sum(await asyncio.gather(*(one(name) for name in names)))
            return time.perf_counter() - begun, total // 1024

        return asyncio.run(every())
    os.environ["STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS"] = "1"
    import strile

    index = str(Path(folder) / "headers.index")
    strile.write_header_index(index, [url + name for name in names[:64]])
    begun = time.perf_counter()
    files, _, skipped = strile.write_header_index(index, [url + name for name in names])
    assert not skipped
    return time.perf_counter() - begun, files


def one(program: str, task: str, url: str, folder: str) -> None:
    """Runs one task and prints seconds and a digest of the pixels."""
    if task.startswith("headers"):
        took, count = opened(program, url, int(task.removeprefix("headers")), folder)
        print(json.dumps({"seconds": took, "digest": str(count)}), flush=True)
        os._exit(0)
    begun = time.perf_counter()
    found = PROGRAMS[program][1](url, windows(task))
    took = time.perf_counter() - begun
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in found)).hexdigest()
    print(json.dumps({"seconds": took, "digest": digest[:12]}), flush=True)
    # async-geotiff 0.5.1 crashes when the interpreter ends.
    os._exit(0)


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, delay: float, rate: float) -> None:
        script = str(Path(__file__).with_name("range_server.py"))
        words = [sys.executable, "-B", script, str(folder), "--delay", str(delay), "--rate", str(rate)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().split()[1]}/"

    def counts(self) -> dict[str, int]:
        with urllib.request.urlopen(self.url + "__stats") as answer:
            found: dict[str, int] = json.load(answer)
        return found

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


def measured(served: Served, programs: list[str], task: str, rounds: int, folder: Path) -> dict[str, dict[str, Any]]:
    """The fastest run of each program, and what the server counted of it. Counts include one connection of this program."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for program in programs:
            served.counts()
            words = [sys.executable, "-B", "-W", "ignore", __file__, "--one", program, task, served.url, str(folder)]
            run = subprocess.run(words, capture_output=True, text=True)
            counts = served.counts()
            if run.returncode:
                raise SystemExit(f"{program}, {task}: {(run.stderr.strip() or str(run.returncode)).splitlines()[-1]}")
            result = {**json.loads(run.stdout.strip().splitlines()[-1]), **counts}
            if program not in best or result["seconds"] < best[program]["seconds"]:
                best[program] = result
    digests = {result["digest"] for result in best.values()}
    if len(digests) > 1:
        raise SystemExit(f"{task}: the programs disagree: {({p: r['digest'] for p, r in best.items()})}")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--delay", type=float, default=0.03)
    parser.add_argument("--rate", type=float, default=60e6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--headers", type=int, default=10_000)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    make(given.data)
    programs = [program for program in given.programs if importlib.util.find_spec(PROGRAMS[program][0])]
    print("| task | program | seconds | requests | of them HEAD | MB | connections | at once |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    results: dict[str, dict[str, dict[str, Any]]] = {}
    with Served(given.data, given.delay, given.rate) as served:
        for task in given.tasks:
            results[task] = measured(served, programs, task, given.rounds, given.data)
            for program, r in results[task].items():
                figures = f"{r['requests']} | {r['heads']} | {r['bytes'] / 1e6:.2f} | {r['connections']} | {r['at_once']}"
                print(f"| {task} | {program} | {r['seconds']:.3f} | {figures} |", flush=True)
    if given.headers:
        with Served(given.data, 0, 0) as served:
            task = f"headers{given.headers}"
            results[task] = measured(served, programs, task, given.rounds, given.data)
            for program, r in results[task].items():
                print(f"{given.headers} headers, {program}: {given.headers / r['seconds']:.0f} per second, {r['requests']} requests")
    if given.output:
        given.output.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:6])
    else:
        main()
