"""`remote_bench.py FOLDER [--device cuda:0] [--files 64] [--edge 2048] …`: JSON lines with the figures of remote.py.

Inside the timers: everything from the list of URLs to one tensor on the device, of objects that were never asked for before in the
process (each round has names of its own, headers and blocks are not kept). With `--device cpu` it runs without a GPU.
"""
import argparse
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROUNDS, THREADS = 5, 32


def say(**found) -> None:
    print(json.dumps(found), flush=True)


def made(folder: Path, number: int, edge: int) -> np.ndarray:
    """A COG of smooth fields with noise in the low bits; returns its pixels."""
    import strile

    random = np.random.default_rng(number)
    coarse = np.kron(random.normal(3000, 300, (edge // 64, edge // 64)), np.ones((64, 64)))
    pixels = (coarse + random.normal(0, 12, (edge, edge))).clip(0, 10000).astype(np.uint16)
    strile.to_geotiff(pixels, folder / f"{number:02}.tif", cog=True, compression="deflate", tile_size=512)
    for again in range(ROUNDS):
        link = folder / f"{number:02}-{again}.tif"
        link.unlink(missing_ok=True)
        os.link(folder / f"{number:02}.tif", link)
    return pixels


def fetched(port: int, names: list[str], folder: Path) -> list[str]:
    """Whole files by threads, each with a connection of its own, into memory of the system."""

    def share(mine: list[str]) -> list[str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        paths = []
        for name in mine:
            connection.request("GET", f"/{name}")
            answer = connection.getresponse()
            content = bytearray(answer.length or 0)
            view = memoryview(content)
            while view:
                view = view[answer.readinto(view) :]
            path = folder / name
            path.write_bytes(content)
            paths.append(str(path))
        connection.close()
        return paths

    with ThreadPoolExecutor(THREADS) as threads:
        shares = list(threads.map(share, [names[at::THREADS] for at in range(THREADS)]))
    return sorted(path for paths in shares for path in paths)


def by_kvikio(cp, urls: list[str], sizes: list[int]) -> list:
    import kvikio

    files = [kvikio.RemoteFile.open_http(url, nbytes=size) for url, size in zip(urls, sizes, strict=True)]
    buffers = [cp.empty(size, cp.uint8) for size in sizes]
    for wait in [file.pread(buffer) for file, buffer in zip(files, buffers, strict=True)]:
        wait.get()
    return buffers


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--edge", type=int, default=2048)
    parser.add_argument("--processes", type=int, default=8)
    given = parser.parse_args()
    os.environ["STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS"] = "1"
    os.environ.setdefault("KVIKIO_NTHREADS", str(THREADS))
    import strile

    given.folder.mkdir(parents=True, exist_ok=True)
    expected = np.stack([made(given.folder, number, given.edge) for number in range(given.files)])
    sizes = [(given.folder / f"{number:02}.tif").stat().st_size for number in range(given.files)]
    script = Path(__file__).with_name("remote_server.py")
    server = subprocess.Popen(
        [sys.executable, script, given.folder, str(given.processes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else given.folder
    held = memory / f"strile-remote-{os.getpid()}"
    held.mkdir()
    try:
        port = int(server.stdout.readline())
        measure(given, strile, port, expected, sizes, held)
    finally:
        for path in held.iterdir():
            path.unlink()
        held.rmdir()
        server.stdin.close()
        server.wait(30)


def measure(given, strile, port: int, expected: np.ndarray, sizes: list[int], held: Path) -> None:
    cp = None
    if given.device != "cpu":
        import cupy as cp
    wait = cp.cuda.Device().synchronize if cp is not None else (lambda: None)
    at = f"http://127.0.0.1:{port}"
    windows = [(number, 0, 0, given.edge, given.edge) for number in range(given.files)]

    def by_url(names: list[str]):
        return strile.read_batch([f"{at}/{name}" for name in names], windows, device=given.device, headers=strile.Headers())

    def by_fetch(names: list[str]):
        return strile.read_batch(fetched(port, names, held), windows, device=given.device, headers=strile.Headers())

    ways = {"strile": by_url, "fetched": by_fetch}
    try:
        import kvikio  # noqa: F401

        if cp is not None:
            ways["kvikio"] = lambda names: by_kvikio(cp, [f"{at}/{name}" for name in names], sizes)
    except ImportError as problem:
        print(f"kvikio is left out: {problem}")

    def counts() -> dict:
        with urllib.request.urlopen(f"{at}/counts", timeout=60) as answer:
            return json.load(answer)

    seconds: dict[str, list[float]] = {name: [] for name in ways}
    requests: dict[str, int] = {}
    encoded: dict[str, int] = {}
    wrong: list[str] = []
    for turn in range(ROUNDS):
        names = [f"{number:02}-{turn}.tif" for number in range(given.files)]
        for name, way in ways.items():
            strile.clear_cache()
            before = counts()
            began = time.perf_counter()
            result = way(names)
            wait()
            seconds[name].append(time.perf_counter() - began)
            after = counts()
            requests[name] = after["requests"] - before["requests"]
            encoded[name] = after["bytes"] - before["bytes"]
            if name != "kvikio" and turn in (0, ROUNDS - 1):
                found = cp.asnumpy(cp.from_dlpack(result)) if cp is not None else np.asarray(result)
                if not np.array_equal(found[:, 0], expected):
                    wrong.append(f"pixels of {name} are not those that were written")
            del result
    best = {name: min(times[1:]) for name, times in seconds.items()}
    pixels = expected.nbytes
    say(
        files=given.files,
        pixel_bytes=pixels,
        encoded_bytes=encoded,
        requests=requests,
        seconds={name: [round(time, 4) for time in times] for name, times in seconds.items()},
        pixel_gb_s={name: round(pixels / best[name] / 1e9, 2) for name in best if name != "kvikio"},
        encoded_gb_s={name: round(encoded[name] / best[name] / 1e9, 2) for name in best},
        times_fetched=round(best["fetched"] / best["strile"], 2),
        wrong=wrong,
    )


if __name__ == "__main__":
    main()
