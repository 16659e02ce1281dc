"""Measures strile beside every peer that is installed in this Python: whole reads, windows, batches, writes, COGs.

    run.py DATA [--size 2048] [--rounds 5] [--output PATH]

`cargo xtask bench --peers` runs it. DATA is a folder for the rasters, which are made when they are missing, by GDAL if rasterio is
installed. Files are in the page cache. Every result is compared with the pixels before anything is timed; a program with other pixels
ends the run. In a round the programs take turns, and the figure is the best of all rounds. All programs may use all cores. `--output`
writes PATH.json and PATH.svg."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from plot import svg
from programs import PROGRAMS, THREADS, Program, Rasterio, Strile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cpu_peers import samples  # noqa: E402

# Set, and codec of its file.
FILES = (("dem", "deflate"), ("u16", "zstd"), ("rgb", "lzw"), ("landcover", "deflate"), ("u16", "none"))
WRITTEN = (("dem", "none"), ("dem", "deflate"), ("dem", "zstd"), ("u16", "deflate"), ("rgb", "deflate"))
COGS = ("dem", "rgb")
WRITTEN_FILE = "written.tif"
WINDOWS, SIDE = 200, 256

Call = Callable[[Program], Any]
Check = Callable[[Any], bool]


def tasks(folder: Path, size: int) -> Iterator[tuple[str, str, Call, Check]]:
    """What is done, by which method of a program, how it is called, and whether the result is right."""
    pixels = {name: samples(name, size)[0] for name in ("dem", "u16", "rgb", "landcover")}
    maker: Any = Rasterio() if Rasterio().found() else Strile()
    path = {}
    for name, codec in FILES:
        path[name, codec] = str(folder / f"{name}_{codec}_{size}_{maker.name}.tif")
        if not os.path.exists(path[name, codec]):
            maker.write(pixels[name], path[name, codec] + ".part.tif", codec)
            os.rename(path[name, codec] + ".part.tif", path[name, codec])
    for name, codec in FILES:
        file, expected = path[name, codec], pixels[name]
        yield f"read {name} {codec}", "read", lambda p: p.read(file), lambda got: np.array_equal(got, expected)

    random = np.random.default_rng(1)
    places = [(int(x), int(y), SIDE, SIDE) for x, y in random.integers(0, size - SIDE, (WINDOWS, 2))]

    def crops(name: str) -> list[Any]:
        return [pixels[name][:, y : y + h, x : x + w] for x, y, w, h in places]

    for name, codec in (("dem", "deflate"), ("u16", "zstd")):
        file, expected = path[name, codec], crops(name)
        same = lambda got: all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True))
        yield f"{WINDOWS} windows of {name} {codec}", "windows", lambda p: p.windows(file, places), same
    many = [path["u16", "zstd"]] * WINDOWS
    stacked = np.stack(crops("u16"))
    yield f"batch of {WINDOWS} windows, u16 zstd", "batch", lambda p: p.batch(many, places), lambda got: np.array_equal(got, stacked)

    target = str(folder / WRITTEN_FILE)
    back = Strile().read
    for name, codec in WRITTEN:
        expected = pixels[name]
        call = lambda p: p.write(expected, target, codec)
        yield f"write {name} {codec}", "write", call, lambda _: np.array_equal(back(target), expected)
    for name in COGS:
        source, expected = path[name, dict(FILES)[name]], pixels[name]
        call = lambda p: p.cog(source, target)
        yield f"COG of {name}", "cog", call, lambda _: np.array_equal(back(target), expected)


def seconds(call: Call, program: Program) -> float:
    start = time.perf_counter()
    call(program)
    return time.perf_counter() - start


def measure(
    what: str, call: Call, is_right: Check, programs: list[Program], rounds: int, written: Path
) -> tuple[dict[str, float], dict[str, int]]:
    """The best time of each program, and the size of what it wrote, if it did."""
    sizes = {}
    for program in programs:
        written.unlink(missing_ok=True)
        if not is_right(call(program)):
            sys.exit(f"error: {what}: {program.name} has other pixels")
        if written.exists():
            sizes[program.name] = written.stat().st_size
    times: dict[str, list[float]] = {program.name: [] for program in programs}
    for _ in range(rounds):
        for program in programs:
            times[program.name].append(seconds(call, program))
    return {name: min(found) for name, found in times.items()}, sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--size", type=int, default=2048, help="side of the rasters in pixels (default 2048)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds over the programs (default 5)")
    parser.add_argument("--only", default="", help="measure only tasks whose name contains this")
    parser.add_argument("--output", help="write PATH.json and PATH.svg")
    options = parser.parse_args()
    if options.size <= SIDE or options.rounds < 1:
        parser.error(f"expected a size above {SIDE} and at least 1 round")
    options.data.mkdir(parents=True, exist_ok=True)
    found = {program.name: program.found() for program in PROGRAMS}
    if found["strile"] is None:
        sys.exit("error: strile is not installed in this Python; `cargo xtask bench --peers` builds and installs it")
    print(f"{platform.machine()}, {THREADS} cores, Python {platform.python_version()}, rasters of {options.size}²")
    print("installed:", ", ".join(f"{name} {version}" for name, version in found.items() if version))
    print("not installed:", ", ".join(name for name, version in found.items() if not version) or "none", "\n")
    print("| task | strile ms | peer: ms, ratio |\n|---|---|---|")
    rows, results = [], {}
    for what, method, call, is_right in tasks(options.data, options.size):
        if options.only not in what:
            continue
        programs = [program for program in PROGRAMS if found[program.name] and hasattr(program, method)]
        times, sizes = measure(what, call, is_right, programs, options.rounds, options.data / WRITTEN_FILE)
        ratios = {name: took / times["strile"] for name, took in times.items() if name != "strile"}
        shown = []
        for name, ratio in ratios.items():
            size = f", {sizes[name] / sizes['strile']:.2f} × the bytes" if name in sizes else ""
            shown.append(f"{name}: {times[name] * 1e3:.1f}, " + (f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**") + size)
        print(f"| {what} | {times['strile'] * 1e3:.1f} | {'; '.join(shown)} |", flush=True)
        rows.append((what, ratios))
        results[what] = {"seconds": times, "bytes": sizes}
    lost = [f"{what} ({name})" for what, ratios in rows for name, ratio in ratios.items() if ratio < 1]
    print(f"\n{sum(len(ratios) for _, ratios in rows)} comparisons; strile is slower in {len(lost)}: {', '.join(lost) or 'none'}")
    if options.output:
        facts = {"machine": platform.machine(), "cores": THREADS, "size": options.size, "rounds": options.rounds, "programs": found}
        Path(options.output + ".json").write_text(json.dumps({**facts, "tasks": results}, indent=1) + "\n")
        title = f"strile {found['strile']}, {THREADS} cores, rasters of {options.size}²"
        Path(options.output + ".svg").write_text(svg(rows, title))


if __name__ == "__main__":
    main()
