"""No memory and no threads: an error, never an abort or a hang."""
from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import tifffile
from bench import Bench, Ended, ended, names, right, right_or_refused, terrain

LARGE = 1 << 20
CODECS = ("none", "zlib", "lzw", "zstd", "packbits")


def large_raster(bench: Bench, codec: str) -> tuple[Path, np.ndarray]:
    """A raster whose blocks and result are large allocations."""
    path = bench.folder / f"large-{codec}.tif"
    pixels = terrain(2048, 2048, seed=5)
    if not path.exists():
        compression = None if codec == "none" else codec
        tifffile.imwrite(path, pixels, tile=(1024, 1024), compression=compression, photometric="minisblack")
    return path, pixels


def complaint(done: Ended, place: str) -> str | None:
    """What is wrong with the end of a program that ran out of something."""
    if done.code < 0:
        return f"{place}: ended by signal {-done.code}: {done.err.strip()[-200:]}"
    if done.code not in (0, 2) or "panicked" in done.err:
        return f"{place}: exit code {done.code}: {done.err.strip()[-300:]}"
    return None


def allocations(bench: Bench) -> None:
    """Each large allocation of a read and of a conversion fails in turn."""
    wrong, refusals = [], 0
    large = {"STRILE_FAULT_LARGE": str(LARGE)}
    folder = bench.fresh("allocations")
    for codec in CODECS:
        path, pixels = large_raster(bench, codec)
        dump = ("dump", "--format", "raw", path)
        convert = ("convert", path, folder / "out.tif", "--of", "COG", "--overwrite")
        for words in (dump, convert) if codec == "zlib" else (dump,):
            log = bench.folder / "allocations.log"
            log.unlink(missing_ok=True)
            bench.cli(*words, STRILE_FAULT_LOG=str(log), **large)
            count = sum(line.startswith("alloc") for line in log.read_text().splitlines())
            assert count > 0, "no large allocation was seen"
            for nth in range(1, min(count, 10) + 1):
                (folder / "out.tif").unlink(missing_ok=True)
                done = bench.cli(*words, faults=f"alloc:{nth}:enomem", **large)
                place = f"{words[0]} of {codec}, allocation {nth} of {count}"
                if why := complaint(done, place):
                    wrong.append(why)
                elif done.code == 0 and words is dump:
                    right(done, pixels)
                elif done.code == 2:
                    refusals += 1
                    if not any(word in done.err for word in ("memory", "alloc")):
                        wrong.append(f"{place}: {done.err.strip()}")
                    if names(folder):
                        wrong.append(f"{place}: left {names(folder)}")
    assert not wrong, "\n    ".join(["", *wrong])
    assert refusals, "no allocation that failed was an error"


ALLOCATIONS = """
import ctypes, sys
import numpy as np
import strile, xarray, dask.array
path, shim, pixels = sys.argv[1], ctypes.CDLL(sys.argv[2]), np.load(sys.argv[3])
array = strile.open_geotiff(path)
doors = {
    "read": lambda: np.asarray(strile.read(path)),
    "open_geotiff": lambda: strile.open_geotiff(path).values,
    "lazy": lambda: strile.open_geotiff(path, chunks=1024).compute(scheduler="synchronous").values,
    "read_batch": lambda: np.asarray(strile.read_batch([path], windows=[(0, 0, 0, 2048, 2048)])),
    "to_geotiff": lambda: strile.to_geotiff(array, path + ".out.tif"),
}
for name, door in doors.items():
    for nth in range(1, 9):
        shim.strile_fault(b"alloc:%d:enomem" % nth)
        try:
            found = door()
            ended = "right" if name == "to_geotiff" or np.array_equal(np.asarray(found).reshape(pixels.shape), pixels) else "WRONG"
        except MemoryError as error:
            ended = "MemoryError"
        except BaseException as error:
            ended = f"{type(error).__name__}: {error}"
        shim.strile_fault(b"")
        print(name, nth, ended, flush=True)
"""


def python_allocations(bench: Bench) -> None:
    """The same in Python, where it is a MemoryError."""
    path, pixels = large_raster(bench, "zlib")
    saved = path.with_suffix(".npy")
    np.save(saved, pixels)
    done = bench.python(ALLOCATIONS, path, bench.shim, saved, STRILE_FAULT_LARGE=str(LARGE), limit=150)
    told = [line.split(" ", 2) for line in done.out.decode().splitlines()]
    wrong = [" ".join(line) for line in told if line[2] not in ("right", "MemoryError")]
    last = told[-1] if told else None
    assert done.code == 0, f"Python ended with {done.code} after {last}: {done.err[-300:]}"
    assert not wrong, f"{wrong}"
    ends = Counter(line[2] for line in told)
    assert ends["MemoryError"] > 0, f"no allocation failed: {ends}"


def address_space(bench: Bench) -> None:
    """Limits of the address space, from little more than the program takes to start up to what it needs."""
    path, pixels = large_raster(bench, "zlib")
    wrong, reads = [], 0
    for mib in (*range(64, 128, 2), *range(128, 544, 16), 1024, 4096):
        limit = ["prlimit", f"--as={mib << 20}"]
        for threads in (2, 8):
            words = ["-q", "dump", "--threads", str(threads), "--format", "raw", path]
            done = ended([*limit, bench.strile, *words], bench.environment(), 60)
            if why := complaint(done, f"{mib} MiB, {threads} threads"):
                wrong.append(why)
            else:
                reads += right_or_refused(done, pixels)
    assert not wrong, "\n    ".join(["", *wrong])
    assert reads, "no limit was large enough"


ADDRESS_SPACE = """
import resource, sys
import numpy as np
import xarray, dask.array
path, more, pixels = sys.argv[1], int(sys.argv[2]), np.load(sys.argv[3])
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + more, resource.RLIM_INFINITY))
import strile
for name, door in {
    "read": lambda: np.asarray(strile.read(path)),
    "open_geotiff": lambda: strile.open_geotiff(path).values,
    "read_batch": lambda: np.asarray(strile.read_batch([path], windows=[(0, 0, 0, 2048, 2048)])),
}.items():
    try:
        ended = "right" if np.array_equal(np.asarray(door()).reshape(pixels.shape), pixels) else "WRONG"
    except MemoryError:
        ended = "MemoryError"
    except BaseException as error:
        ended = f"{type(error).__name__}: {error}"
    print(name, ended, flush=True)
"""


def python_address_space(bench: Bench) -> None:
    """The same in Python, for what strile takes besides the packages that it uses."""
    path, pixels = large_raster(bench, "zlib")
    saved = path.with_suffix(".npy")
    np.save(saved, pixels)
    wrong, ends = [], Counter()
    for mib in range(64, 576, 64):
        done = bench.python(ADDRESS_SPACE, path, mib << 20, saved)
        told = [line.split(" ", 1) for line in done.out.decode().splitlines()]
        if done.code != 0:
            wrong.append(f"{mib} MiB: Python ended with {done.code} after {told}: {done.err[-300:]}")
        wrong += [f"{mib} MiB: {name} {end}" for name, end in told if end not in ("right", "MemoryError")]
        ends.update(end for _, end in told)
    assert not wrong, "\n    ".join(["", *wrong])
    assert ends["right"] and ends["MemoryError"], f"{ends}"


def threads(bench: Bench) -> None:
    """No thread can be started, or not all of them: the work is done by those there are, or it is an error."""
    wrong = []
    path, pixels = bench.raster("deflate")
    folder = bench.fresh("threads")
    for rule in ("thread:*:eagain", "thread:2+:eagain", "thread:3+:eagain", "thread:5:eagain"):
        runs = {
            "dump": ("dump", "--format", "raw", path),
            "convert": ("convert", path, folder / "out.tif", "--of", "COG", "--overwrite"),
            "compare": ("compare", path, path),
        }
        for name, words in runs.items():
            try:
                done = bench.cli(*words, faults=rule, limit=30)
            except AssertionError as why:
                wrong.append(f"{name}, {rule}: {why}")
                continue
            if why := complaint(done, f"{name}, {rule}"):
                wrong.append(why)
            elif name == "dump":
                right_or_refused(done, pixels)
    assert not wrong, "\n    ".join(["", *wrong])


THREADS = """
import ctypes, sys
import numpy as np
import strile, xarray, dask.array
path, shim, pixels = sys.argv[1], ctypes.CDLL(sys.argv[2]), np.load(sys.argv[3])
array = strile.open_geotiff(path, window=(0, 0, 8, 8))
doors = {
    "read": lambda: np.asarray(strile.read(path)),
    "open_geotiff": lambda: strile.open_geotiff(path).values,
    "lazy": lambda: strile.open_geotiff(path, chunks=256).compute(scheduler="synchronous").values,
    "read_batch": lambda: np.asarray(strile.read_batch([path], windows=[(0, 0, 0, 700, 600)])),
    "to_geotiff": lambda: strile.to_geotiff(array, path + ".out.tif"),
}
for name, door in doors.items():
    shim.strile_fault(b"thread:*:eagain")
    try:
        found = door()
        ended = "right" if name == "to_geotiff" or np.array_equal(np.asarray(found).reshape(pixels.shape), pixels) else "WRONG"
    except (OSError, RuntimeError, MemoryError, strile.StrileError) as error:
        ended = f"error {type(error).__name__}"
    except BaseException as error:
        ended = f"{type(error).__name__}: {error}"
    shim.strile_fault(b"")
    print(f"{name}: {ended}", flush=True)
"""


def python_threads(bench: Bench) -> None:
    """The same in Python: pixels or an exception of strile's, never a panic."""
    path, pixels = bench.raster("zstd")
    saved = path.with_suffix(".npy")
    np.save(saved, pixels)
    done = bench.python(THREADS, path, bench.shim, saved, STRILE_FAULT_LARGE=str(1 << 40), limit=60)
    told = dict(line.split(": ", 1) for line in done.out.decode().splitlines())
    assert done.code == 0 and len(told) == 5, f"{done.code}: {told} {done.err[-400:]}"
    wrong = {name: words for name, words in told.items() if words != "right" and not words.startswith("error ")}
    assert not wrong, wrong


CASES = {
    "memory/allocations": allocations,
    "memory/python": python_allocations,
    "memory/address-space": address_space,
    "memory/python-address-space": python_address_space,
    "threads/none": threads,
    "threads/python": python_threads,
}
