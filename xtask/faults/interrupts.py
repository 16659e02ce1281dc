"""Ctrl-C in every long call: it ends within the bound, by code 130 or KeyboardInterrupt, and leaves nothing."""
from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import tifffile
from bench import Bench, interrupted, names, slow_file

# From the signal to the end of the process, on a busy machine and a build without optimisation. A call looks for the
# signal at least once per block, and a block takes 0.1 s here.
BOUND = 3.0


def command_line(bench: Bench) -> None:
    folder = bench.fresh("interrupts")
    slow = slow_file(folder / "slow.tif")
    os.link(slow, folder / "again.tif")
    many = folder / "many"
    many.mkdir()
    tifffile.imwrite(many / "0.tif", np.zeros((64, 64), "u1"), tile=(16, 16))
    for number in range(1, 20_000):
        os.link(many / "0.tif", many / f"{number}.tif")
    before = names(folder)
    commands = {
        "dump": ("dump", slow, "-o", folder / "out.npy"),
        "convert": ("convert", slow, folder / "out.tif", "--co", "COMPRESS=LZW"),
        "overview": ("overview", folder / "again.tif"),
        "compare": ("compare", slow, folder / "again.tif"),
        "index": ("index", many, "-o", folder / "out.index"),
    }
    wrong, took = [], {}
    for name, words in commands.items():
        try:
            done, seconds = interrupted([bench.strile, "-q", *words], bench.environment(), folder, 0.4)
        except AssertionError as why:
            wrong.append(f"{name}: {why}")
            continue
        took[name] = round(seconds, 2)
        if done.code != 130 or "cancelled" not in done.err:
            wrong.append(f"{name}: expected exit code 130, got {done.code}: {done.err.strip()[-200:]}")
        if seconds > BOUND:
            wrong.append(f"{name}: took {seconds:.2f} s")
        if names(folder) != before:
            wrong.append(f"{name}: left {sorted(set(names(folder)) - set(before))}")
            for stray in set(names(folder)) - set(before):
                (folder / stray).unlink()
    print(f"  seconds from the signal to the end: {took}")
    assert not wrong, "\n    ".join(["", *wrong])


SCRIPT = """
import signal, sys, time
import numpy as np
import strile, xarray, dask.array
signal.signal(signal.SIGINT, signal.default_int_handler)
path, out, door = sys.argv[1:4]
array = np.random.default_rng(1).integers(0, 60000, (5000, 5000), dtype="u2")
lazy = xarray.DataArray(dask.array.from_array(array, chunks=(1000, 1000)), dims=("y", "x"))
doors = {
    "read": lambda: strile.read(path),
    "open": lambda: strile.open(path).read(),
    "open_geotiff": lambda: strile.open_geotiff(path),
    "engine": lambda: xarray.open_dataset(path, engine="strile", max_pixels=10**9).load(),
    "lazy": lambda: strile.open_geotiff(path, chunks=2048).compute(),
    "read_batch": lambda: strile.read_batch([path], windows=[(0, i * 1024, j * 1024, 1024, 1024) for i in range(20) for j in range(20)]),
    "to_geotiff": lambda: strile.to_geotiff(xarray.DataArray(array, dims=("y", "x")), out, compression="lzma"),
    "to_geotiff_dask": lambda: strile.to_geotiff(lazy, out, compression="lzma"),
}
open(out + ".begun", "w").close()
try:
    doors[door]()
    print("ended", file=sys.stderr)
except KeyboardInterrupt:
    print("interrupted", file=sys.stderr)
    sys.exit(130)
"""
DOORS = ("read", "open", "open_geotiff", "engine", "lazy", "read_batch", "to_geotiff", "to_geotiff_dask")


def python(bench: Bench) -> None:
    folder = bench.fresh("interrupts-python")
    slow = slow_file(folder / "slow.tif")
    wrong, took = [], {}
    for door in DOORS:
        out = folder / f"{door}.tif"
        begun = Path(f"{out}.begun")

        def ready(begun: Path = begun) -> bool:
            return begun.exists() and time.time() - begun.stat().st_mtime > 0.4

        command = [sys.executable, "-B", "-c", SCRIPT, slow, out, door]
        try:
            done, seconds = interrupted(command, bench.environment(), folder, ready)
        except AssertionError as why:
            wrong.append(f"{door}: {why}")
            continue
        finally:
            begun.unlink(missing_ok=True)
        took[door] = round(seconds, 2)
        if done.code != 130 or "interrupted" not in done.err:
            wrong.append(f"{door}: expected KeyboardInterrupt, got {done.code}: {done.err.strip()[-300:]}")
        if seconds > BOUND:
            wrong.append(f"{door}: took {seconds:.2f} s")
        for stray in set(names(folder)) - {"slow.tif"}:
            wrong.append(f"{door}: left {stray}")
            (folder / stray).unlink()
    print(f"  seconds from the signal to the end: {took}")
    assert not wrong, "\n    ".join(["", *wrong])


CASES = {"interrupt/command-line": command_line, "interrupt/python": python}
