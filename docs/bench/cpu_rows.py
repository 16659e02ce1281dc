#!/usr/bin/env python3
"""Whole reads of the rows of `xtask/gpu/make_rows.py` on the CPU: strile beside GDAL's LIBERTIFF, without Rust.

Needs Python 3.12 or newer with numpy, tifffile, rasterio >= 1.5 and the wheel `strile`.

  cpu_rows.py DATA                                 makes the rasters if missing, measures, prints a table
  cpu_rows.py DATA --only rgb_none,lc_ --rounds 9  measures only files whose name begins so

Both programs read in this process, rounds alternate, and each read returns a fresh array: page faults count. The
file is in the page cache. strile reads an open dataset, whose cache is off; LIBERTIFF opens the file for every read,
which takes a fraction of a millisecond. Samples are compared first; a difference ends the run. Figures are milliseconds, the best
of all rounds: by the clock, and of processor time of all threads (on a busy machine the latter says more).
"""
import argparse
import concurrent.futures
import datetime
import multiprocessing
import os
import platform
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "xtask" / "gpu"))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data", type=Path, help="folder of the rasters; made if missing")
    p.add_argument("--size", type=float, default=0.5, help="edge length, as a part of that of make_rows.py (default 0.5)")
    p.add_argument("--threads", default=f"1,2,{os.cpu_count()}", help="thread counts (default 1, 2 and all cores)")
    p.add_argument("--rounds", type=int, default=5, help="rounds over the programs (default 5)")
    p.add_argument("--only", default="", help="names of files, or how they begin, with commas between")
    return p.parse_args()


def make(folder, size, wanted):
    """Writes the files that are missing, with GDAL; their paths."""
    import make_rasters
    import make_rows
    import numpy as np
    extra = [("lc_deflate_256", "lc_u8", 16384, 1, dict(compress="deflate", tiled=True))]
    rows = []
    for name, array, edge, bands, options in make_rows.ROWS + extra:
        edge = int(edge * size)
        if "tiled" not in options:  # the whole image in one strip
            options = options | dict(blockysize=edge)
        if name.startswith(wanted):
            rows.append((name, array, edge, bands, options))
    folder.mkdir(parents=True, exist_ok=True)
    missing = [row for row in rows if not (folder / f"{row[0]}.tif").exists()]
    for name in {array for _, array, *_ in missing}:
        edges = [edge + (873 if bands == 10 else 0) for _, array, edge, bands, _ in missing if array == name]
        np.save(folder / f"{name}.npy", make_rasters.pixels(np, name, max(edges)))
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = {row[0]: pool.submit(make_rows.write, (str(folder), str(folder), row)) for row in missing}
    for name, job in jobs.items():
        if reason := job.exception():  # a codec that this GDAL does not have
            print(f"left out: {name}: {reason}", file=sys.stderr)
            (folder / f"{name}.tif").unlink(missing_ok=True)
    return [path for row in rows if (path := folder / f"{row[0]}.tif").exists()]


def by_libertiff(path, threads):
    import rasterio

    def read():
        with rasterio.open(path, driver="LIBERTIFF", NUM_THREADS=str(threads)) as source:
            return source.read()
    return read


def by_strile(path, threads):
    from strile._core import Dataset, Execution, ReadOptions

    dataset = Dataset.open(str(path))
    options = ReadOptions(execution=Execution(decode_on="cpu", cache="off", threads=threads))
    return lambda: dataset.read(options).numpy()


def timed(read):
    """Seconds by the clock, and of all processors."""
    clock, spent = time.perf_counter(), time.process_time()
    pixels = read()
    times = time.perf_counter() - clock, time.process_time() - spent
    del pixels
    return times


def main():
    o = arguments()
    import numpy as np
    import rasterio
    import strile
    paths = make(o.data, o.size, tuple(o.only.split(",")))
    print(f"{datetime.date.today()}; {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}; strile {strile.__version__}, GDAL {rasterio.__gdal_version__}; ms, best of {o.rounds}\n")
    print("| file | threads | strile | LIBERTIFF | ratio | strile, CPU time | LIBERTIFF, CPU time | ratio |")
    print("| --- |" + " ---: |" * 7)
    for path in paths:
        if not np.array_equal(by_strile(path, None)(), by_libertiff(path, 1)()):
            sys.exit(f"error: strile and LIBERTIFF read {path} differently")
        for threads in dict.fromkeys(map(int, o.threads.split(","))):
            reads = by_strile(path, threads), by_libertiff(path, threads)
            best = [(9e9, 9e9)] * 2
            for _ in range(o.rounds):
                best = [tuple(map(min, times, timed(read))) for times, read in zip(best, reads)]
            (wall, cpu), (their_wall, their_cpu) = best
            print(f"| {path.stem} | {threads} | {wall * 1e3:.1f} | {their_wall * 1e3:.1f} | {their_wall / wall:.2f} | "
                  f"{cpu * 1e3:.1f} | {their_cpu * 1e3:.1f} | {their_cpu / cpu:.2f} |", flush=True)


if __name__ == "__main__":
    main()
