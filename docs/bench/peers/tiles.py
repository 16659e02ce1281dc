"""Measures `strile serve` beside titiler and localtileserver: PNG tiles of a local Deflate COG, in the file's own system and in Web Mercator.

    tiles.py DATA --strile PATH [--titiler PYTHON] [--localtileserver PYTHON] [--seconds 20] [--clients 8] [--workers 2] [--size 8192] [--output PATH]

Both serve the same file on loopback, with as many workers (titiler, under uvicorn) or threads (strile) as `--workers`. Clients ask for
random tiles over connections that stay open, the same tiles in the same order of both; the first second is not counted. Of each server: tiles per
second, the 50th and 99th percentile of the time to an answer, processor time per tile, and the resident memory at the end. Some tiles are compared: decoded by
Pillow, strile's native tiles must be the pixels that rasterio reads. DATA is a folder for the file, which rasterio makes. Clients share the cores
with the servers, as a proxy on the same machine would."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import math
import os
import random
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ORIGIN = (500_000.0, 5_500_000.0)
PIXEL = 10.0
APP = """
from fastapi import FastAPI
from titiler.core.factory import TilerFactory
app = FastAPI()
app.include_router(TilerFactory().router)
"""


def make(folder: Path, size: int) -> Path:
    import rasterio
    from rasterio.transform import from_origin

    path = folder / f"tiles_{size}.tif"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(1).integers(0, 24, (size, size), dtype=np.uint8)
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    bands = [(100 + 60 * np.sin(x / (97 + 40 * band)) * np.cos(y / (151 - 30 * band))).astype(np.uint8) + noise for band in range(3)]
    plain = folder / "plain.tif"
    shape = {"width": size, "height": size, "count": 3, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.open(plain, "w", driver="GTiff", transform=from_origin(*ORIGIN, PIXEL, PIXEL), tiled=True, **shape) as out:
        for number, band in enumerate(bands, 1):
            out.write(band, number)
    import rasterio.shutil

    rasterio.shutil.copy(plain, path, driver="COG", COMPRESS="DEFLATE", BLOCKSIZE=512, OVERVIEW_RESAMPLING="AVERAGE")
    plain.unlink()
    return path


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def running(command: list[str], port: int, ready: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{ready}", timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{command[0]} does not answer")
        yield process
    finally:
        process.terminate()
        process.wait(10)


def children(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += children(int(child))
    return found


def resident(pid: int) -> int:
    """Resident memory of a process and its children, in MiB."""
    pages = (int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in children(pid))
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") >> 20


def processor_ms(pid: int) -> float:
    """Processor time of a process and its children so far, which others on the machine change less than the rate."""
    ticks = 0
    for one in children(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def measured(server: subprocess.Popen[bytes], port: int, paths: list[str], asked: argparse.Namespace) -> dict[str, float]:
    before = processor_ms(server.pid)
    figures = asyncio.run(load(port, paths, asked.seconds, asked.clients))
    figures["processor_ms_per_tile"] = round((processor_ms(server.pid) - before) / figures.pop("all"), 2)
    figures["resident_mib"] = resident(server.pid)
    return figures


def native(size: int, count: int) -> list[tuple[int, int, int]]:
    """Zoom, column and row of random tiles: half of full resolution, half of overviews."""
    draw = random.Random(7)
    largest = math.ceil(math.log2(size / 256))
    tiles = []
    for number in range(count):
        zoom = largest if number % 2 else draw.randint(max(largest - 3, 0), largest)
        side = max(size >> (largest - zoom), 256) // 256
        tiles.append((zoom, draw.randrange(side), draw.randrange(side)))
    return tiles


def mercator(size: int, count: int) -> list[tuple[int, int, int]]:
    from rasterio.warp import transform

    draw = random.Random(8)
    east, south = ORIGIN[0] + size * PIXEL, ORIGIN[1] - size * PIXEL
    tiles = []
    for number in range(count):
        zoom = 14 if number % 2 else draw.randint(11, 14)
        x, y = draw.uniform(ORIGIN[0], east), draw.uniform(south, ORIGIN[1])
        (longitude,), (latitude,) = transform("EPSG:32633", "EPSG:4326", [x], [y])
        north = math.radians(latitude)
        row = (1 - math.asinh(math.tan(north)) / math.pi) / 2
        tiles.append((zoom, int((longitude + 180) / 360 * 2**zoom), int(row * 2**zoom)))
    return tiles


def bounds(size: int, tile: tuple[int, int, int]) -> str:
    zoom, column, row = tile
    metres = 256 * PIXEL * 2 ** (math.ceil(math.log2(size / 256)) - zoom)
    west, north = ORIGIN[0] + column * metres, ORIGIN[1] - row * metres
    return f"{west},{north - metres},{west + metres},{north}"


async def client(port: int, paths: list[str], until: float, times: list[tuple[float, float]]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for path in paths:
        now = time.perf_counter()
        if now > until:
            break
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{path}: {head[:200]!r}")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].split(b":")[1]))
        times.append((now, time.perf_counter() - now))
    writer.close()


async def load(port: int, paths: list[str], span: float, clients: int) -> dict[str, float]:
    found: list[tuple[float, float]] = []
    begun = time.perf_counter() + 1
    until = begun + span
    many = paths * 200
    step = len(many) // clients
    await asyncio.gather(*(client(port, many[at * step :], until, found) for at in range(clients)))
    seconds = min(time.perf_counter(), until) - begun
    times = sorted(taken for when, taken in found if when > begun)
    at = lambda share: times[int(share * (len(times) - 1))] * 1000  # noqa: E731
    return {"tiles_per_s": round(len(times) / seconds, 1), "p50_ms": round(at(0.5), 2), "p99_ms": round(at(0.99), 2), "tiles": len(times), "all": len(found)}


def check(path: Path, port: int, tiles: list[tuple[int, int, int]], size: int) -> int:
    """Compares native tiles at full resolution with what rasterio reads."""
    import rasterio
    from PIL import Image

    largest, seen = math.ceil(math.log2(size / 256)), 0
    with rasterio.open(path) as source:
        for zoom, column, row in [tile for tile in tiles if tile[0] == largest][:20]:
            address = f"http://127.0.0.1:{port}/tiles/Native/{zoom}/{column}/{row}.png?url={path.name}"
            found = np.asarray(Image.open(io.BytesIO(urllib.request.urlopen(address).read())))
            expected = source.read(window=((row * 256, row * 256 + 256), (column * 256, column * 256 + 256)))
            if not np.array_equal(found.transpose(2, 0, 1)[:3], expected):
                raise SystemExit(f"tile {zoom}/{column}/{row} is not what rasterio reads")
            seen += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--strile", required=True)
    parser.add_argument("--titiler", help="a Python with titiler.core and uvicorn")
    parser.add_argument("--localtileserver", help="a Python with localtileserver")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    path = make(asked.data, asked.size)
    name = urllib.parse.quote(str(path.resolve()))
    own, web = native(asked.size, 400), mercator(asked.size, 400)
    figures: dict[str, Any] = {"size": asked.size, "clients": asked.clients, "workers": asked.workers, "seconds": asked.seconds}
    port = free_port()
    command = [asked.strile, "serve", str(path.parent), "--port", str(port), "--threads", str(asked.workers)]
    with running(command, port, "/health") as server:
        figures["compared"] = check(path, port, own, asked.size)
        for what, tiles in (("Native", own), ("WebMercatorQuad", web)):
            paths = [f"/tiles/{what}/{z}/{x}/{y}.png?url={path.name}" for z, x, y in tiles]
            figures[f"strile {what}"] = measured(server, port, paths, asked)
    if asked.titiler:
        port = free_port()
        (asked.data / "tile_app.py").write_text(APP)
        workers = ["--workers", str(asked.workers), "--log-level", "error"]
        command = [asked.titiler, "-m", "uvicorn", "tile_app:app", "--port", str(port), *workers]
        with running(command, port, "/openapi.json", cwd=asked.data) as server:
            both = "coord_crs=EPSG:32633&dst_crs=EPSG:32633"
            boxes = [f"/bbox/{bounds(asked.size, tile)}/256x256.png?url={name}&{both}" for tile in own]
            tiles = [f"/tiles/WebMercatorQuad/{z}/{x}/{y}.png?url={name}" for z, x, y in web]
            for what, paths in (("Native", boxes), ("WebMercatorQuad", tiles)):
                figures[f"titiler {what}"] = measured(server, port, paths, asked)
    if asked.localtileserver:
        port = free_port()
        script = f"import time; from localtileserver import TileClient; kept = TileClient({str(path.resolve())!r}, port={port}); time.sleep(3600)"
        tiles = [f"/api/tiles/{z}/{x}/{y}.png?filename={name}" for z, x, y in web]
        # It has one process, and no tiles in the file's own system.
        with running([asked.localtileserver, "-c", script], port, tiles[0]) as server:
            figures["localtileserver WebMercatorQuad"] = measured(server, port, tiles, asked)
    text = json.dumps(figures, indent=2)
    print(text)
    if asked.output:
        asked.output.write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
