"""Reads under faults: right pixels or an error, through the command line and Python."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import tifffile
from bench import Bench, pixels_of, refused, right, right_or_refused

KINDS = ("deflate", "lzw", "stored", "zstd")

# Every door of Python reads the same file; each prints a line.
DOORS = """
import sys, warnings
import numpy as np
import strile
path, pixels = sys.argv[1], np.load(sys.argv[2])
def doors():
    yield "read", lambda: np.asarray(strile.read(path))
    yield "open", lambda: np.asarray(strile.open(path).read())
    yield "open_geotiff", lambda: strile.open_geotiff(path).values
    yield "lazy", lambda: strile.open_geotiff(path, chunks=256).compute(scheduler="synchronous").values
    yield "read_batch", lambda: np.asarray(strile.read_batch([path], windows=[(0, 0, 0, 700, 600)])).reshape(pixels.shape)
for name, door in doors():
    try:
        found = np.asarray(door()).reshape(pixels.shape)
    except (OSError, MemoryError, RuntimeError, strile.StrileError, ValueError) as error:
        print(f"{name}: {type(error).__name__}: {error}")
        continue
    print(f"{name}: {'right' if np.array_equal(found, pixels) else 'WRONG'}")
"""


def doors(bench: Bench, path: Path, pixels: np.ndarray, faults: str) -> dict[str, str]:
    saved = path.with_suffix(".npy")
    np.save(saved, pixels)
    done = bench.python(DOORS, path, saved, faults=faults, path=str(path))
    assert done.code == 0, f"exit code {done.code}: {done.err[-500:]}"
    told = dict(line.split(": ", 1) for line in done.out.decode().splitlines())
    assert set(told) == {"read", "open", "open_geotiff", "lazy", "read_batch"}, f"{told} {done.err[-300:]}"
    return told


def short_reads(bench: Bench) -> None:
    for kind in KINDS:
        path, pixels = bench.raster(kind)
        for count in (1, 7, 4096) if kind == "stored" else (13, 1000):
            if kind != "stored" or count > 1:
                right(bench.cli("dump", "--format", "raw", path, faults=f"read:*:short:{count}", path=str(path)), pixels)
    small = bench.folder / "small.tif"
    tifffile.imwrite(small, pixels[:40, :50])
    right(bench.cli("dump", "--format", "raw", small, faults="read:*:short:1", path=str(small)), pixels[:40, :50])


def interrupted_reads(bench: Bench) -> None:
    for kind in KINDS:
        path, pixels = bench.raster(kind)
        right(bench.cli("dump", "--format", "raw", path, faults="read:%2:eintr;read:*:short:50000", path=str(path)), pixels)


def failing_reads(bench: Bench) -> None:
    """Every read in turn fails by EIO; it is an error that names the file."""
    for kind in KINDS:
        path, pixels = bench.raster(kind)
        log = bench.folder / "reads.log"
        log.unlink(missing_ok=True)
        right(bench.cli("dump", "--format", "raw", path, path=str(path), STRILE_FAULT_LOG=str(log)), pixels)
        count = sum(line.startswith("read ") for line in log.read_text().splitlines())
        assert count > 1, "no read was seen: the shim is not in use"
        for nth in sorted({1, 2, 3, count // 2, count}):
            done = bench.cli("dump", "--format", "raw", path, faults=f"read:{nth}+:eio", path=str(path))
            refused(done, path.name)


def python_doors(bench: Bench) -> None:
    """The same through every door of Python."""
    path, pixels = bench.raster("deflate")
    for faults in ("read:*:short:1000", "read:%2:eintr;read:*:short:50000"):
        told = doors(bench, path, pixels, faults)
        assert set(told.values()) == {"right"}, f"{faults}: {told}"
    told = doors(bench, path, pixels, "read:4+:eio")
    assert all(words.startswith(("OSError: ", "StrileError: ")) for words in told.values()), told


def truncated(bench: Bench) -> None:
    """The file is cut while it is read: an error, never a signal or other pixels."""
    for kind in KINDS:
        original, pixels = bench.raster(kind)
        path = bench.fresh("truncated") / original.name
        for nth, length in ((2, 0), (3, 100), (4, original.stat().st_size // 2)):
            path.write_bytes(original.read_bytes())
            done = bench.cli("dump", "--format", "raw", path, faults=f"read:{nth}:cut:{length}", path=str(path))
            right_or_refused(done, pixels)
            if length < 200 and kind != "lzw":
                refused(done)


def replaced(bench: Bench) -> None:
    """Another raster of the same layout is written over the file while it is read: all pixels of one of them, or an
    error; never some of each."""
    wrong = []
    for kind in KINDS:
        original, pixels = bench.raster(kind)
        path = bench.fresh("replaced") / original.name
        other = path.with_name("other.tif")
        with tifffile.TiffFile(original) as file:
            page = file.pages[0]
            layout = dict(tile=page.tile) if page.is_tiled else dict(rowsperstrip=page.rowsperstrip)
            layout |= dict(compression=page.compression, predictor=page.predictor, photometric="minisblack")
        others = pixels[::-1].copy()
        tifffile.imwrite(other, others, **layout)
        # The first reads look at what kind of file it is; the last ones fetch pixels.
        for nth in (3, 5, 9, 17, 25):
            path.write_bytes(original.read_bytes())
            os.utime(path, (1_000_000_000, 1_000_000_000))
            done = bench.cli("dump", "--format", "raw", path, faults=f"read:{nth}:swap:{other}", path=str(path))
            if done.code == 0:
                found = pixels_of(done.out).reshape(pixels.shape)
                if not np.array_equal(found, pixels) and not np.array_equal(found, others):
                    wrong.append(f"{kind}, before read {nth}")
            else:
                refused(done)
    assert not wrong, f"pixels of two files: {wrong}"


def renamed_over(bench: Bench) -> None:
    """A file that another one is renamed over while a handle has it open: the handle reads the old one, or an error."""
    original, pixels = bench.raster("deflate")
    path = bench.fresh("renamed") / "a.tif"
    path.write_bytes(original.read_bytes())
    other = path.with_name("b.tif")
    tifffile.imwrite(other, pixels[::-1].copy(), tile=(128, 128), compression="zlib", predictor=2)
    script = """
import os, sys
import numpy as np
import strile
path, other, pixels = sys.argv[1], sys.argv[2], np.load(sys.argv[3])
dataset = strile.open(path)
lazy = strile.open_geotiff(path, chunks=256)
os.rename(other, path)
for name, read in (("handle", lambda: np.asarray(dataset.read())), ("lazy", lambda: lazy.compute(scheduler="synchronous").values)):
    try:
        found = read().reshape(pixels.shape)
        print(name, "right" if np.array_equal(found, pixels) else "WRONG")
    except (OSError, RuntimeError, ValueError) as error:
        print(name, type(error).__name__, error)
"""
    saved = path.with_suffix(".npy")
    np.save(saved, pixels)
    done = bench.python(script, path, other, saved)
    told = done.out.decode().splitlines()
    assert done.code == 0 and len(told) == 2 and not any("WRONG" in line for line in told), f"{told} {done.err[-400:]}"


CASES = {
    "read/short": short_reads,
    "read/interrupted": interrupted_reads,
    "read/error": failing_reads,
    "read/python": python_doors,
    "read/truncated": truncated,
    "read/replaced": replaced,
    "read/renamed-over": renamed_over,
}
