#!/usr/bin/env python3
"""Whole reads into memory: strile beside GDAL (GTiff and LIBERTIFF drivers) and tifffile + imagecodecs.

Needs Python 3.12 or newer with rasterio >= 1.5 (its GDAL has LIBERTIFF), numpy, tifffile and imagecodecs;
`cargo xtask bench` makes that environment.

  cpu_peers.py DATA --strile target/release/strile        make the rasters where missing, measure with the `bench` beside
                                                          it (cargo build --release -p strile-check --bin bench), print
  cpu_peers.py DATA --make                                only make the rasters
  cpu_peers.py DATA --output docs/bench/log/cpu               also write cpu.md and cpu.json

What is inside the timer, for every program: opening the file, reading it (page cache, warmed by one read before),
decoding every block, and a *fresh* output array each time, as rasterio's read() gives it: first-touch page faults
count. strile times itself (`bench`, best of its repeats), the peers are timed around the call, in this
process, imports done. One round runs every program `--repeat` times on a file, rounds alternate the programs, the
figure is the best of all: equal chances for each.

What is checked first: GTiff, LIBERTIFF, tifffile and `strile dump` give the same samples; a difference ends the run
with exit status 1. Peak memory is the high-water mark of a strile process of its own, and what it may be is
the output + one largest block a thread + 64 MiB.
"""
import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import time

SETS = ("dem", "u16", "rgb", "landcover")
CODECS = ("deflate", "zstd", "lzw", "none")
LAYOUTS = ("256", "512", "strips")
PEERS = ("GTiff", "LIBERTIFF", "tifffile")
HEADROOM = 64 << 20


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data", help="folder of the rasters; made when missing")
    p.add_argument("--make", action="store_true", help="only make the rasters")
    p.add_argument("--size", type=int, default=4096, help="side of the rasters in pixels (default 4096)")
    p.add_argument("--strile", help="the strile binary, with `bench` beside it; without it only the peers are measured")
    p.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    p.add_argument("--rounds", type=int, default=3, help="rounds over the programs (default 3)")
    p.add_argument("--repeat", type=int, default=2, help="reads of each program in a round (default 2)")
    p.add_argument("--programs", default=",".join(PEERS), help="peers to measure, of " + ",".join(PEERS))
    p.add_argument("--only", default="", help="measure only files whose name contains this")
    p.add_argument("--output", help="write PATH.md and PATH.json")
    return p.parse_args()


def require_peers():
    """The peers, or one sentence on what is missing."""
    try:
        import imagecodecs  # noqa: F401
        import numpy  # noqa: F401
        import rasterio
        import tifffile  # noqa: F401
    except ImportError as e:
        sys.exit(f"error: {e}; `cargo xtask bench` makes an environment with numpy, tifffile, imagecodecs, rasterio")
    with rasterio.Env() as env:
        if "LIBERTIFF" not in env.drivers():
            sys.exit(f"error: GDAL {rasterio.__gdal_version__} has no LIBERTIFF driver; rasterio >= 1.5 is needed, "
                     "whose wheels want Python 3.12")


# --- the rasters -----------------------------------------------------------------------------------------------------

def fractal(n, beta, seed):
    """Noise with spectrum k^-beta, mean 0 and deviation 1: terrain and imagery look like that to a codec."""
    import numpy as np
    noise = np.random.default_rng(seed).standard_normal((n, n), dtype=np.float32)
    spectrum = np.fft.rfft2(noise)
    k = np.hypot(np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n)[None, :]).astype(np.float32)
    k[0, 0] = 1
    spectrum *= k ** (-beta / 2)
    a = np.fft.irfft2(spectrum, s=(n, n)).astype(np.float32)
    return (a - a.mean()) / a.std()


def samples(name, n):
    """(bands, rows, columns) of one set, and the predictor GDAL's users choose for it."""
    import numpy as np
    if name == "dem":  # metres in steps of 1/64, as lidar products have
        return (np.round((fractal(n, 3.6, 1) * 400 + 900) * 64) / 64).astype(np.float32)[None], 3
    if name == "u16":  # reflectance of 12 bits or so, with fine texture
        a = fractal(n, 2.2, 2) * 600 + 1800 + fractal(n, 0.4, 3) * 25
        return np.clip(a, 0, 10000).astype(np.uint16)[None], 2
    if name == "rgb":
        base = fractal(n, 2.6, 5) * 0.8
        bands = [np.clip((base + fractal(n, 1.6, 6 + i) * 0.3) * 45 + 120, 0, 255) for i in range(3)]
        return np.stack(bands).astype(np.uint8), 2
    return np.digitize(fractal(n, 3.0, 4), np.linspace(-2, 2, 11)).astype(np.uint8)[None], 1


def path_of(folder, size, name, codec, layout):
    return os.path.join(folder, f"{name}_{codec}_{layout}_{size}.tif")


def make(folder, size):
    """Write what is missing, with GDAL; strips have GDAL's own height (8 KiB, or one row)."""
    import rasterio
    from rasterio.transform import from_origin
    os.makedirs(folder, exist_ok=True)
    for name in SETS:
        todo = [(c, y) for c in CODECS for y in LAYOUTS if not os.path.exists(path_of(folder, size, name, c, y))]
        if not todo:
            continue
        pixels, predictor = samples(name, size)
        for codec, layout in todo:
            path = path_of(folder, size, name, codec, layout)
            options = dict(driver="GTiff", width=size, height=size, count=pixels.shape[0], dtype=pixels.dtype,
                           interleave="pixel", crs="EPSG:32633", transform=from_origin(4e5, 5e6, 10, 10),
                           NUM_THREADS="ALL_CPUS")
            if layout != "strips":
                options.update(tiled=True, blockxsize=int(layout), blockysize=int(layout))
            if codec != "none":
                options.update(compress=codec, predictor=predictor)
            if codec == "deflate":
                options.update(zlevel=6)
            with rasterio.open(path + ".part", "w", **options) as out:
                out.write(pixels)
            os.rename(path + ".part", path)
            print(f"made {path}: {pixels.nbytes / os.path.getsize(path):.2f}:1", file=sys.stderr, flush=True)


# --- the programs ----------------------------------------------------------------------------------------------------

def read_peer(program, path, threads):
    if program == "tifffile":
        import tifffile
        return tifffile.imread(path, maxworkers=threads)
    import rasterio
    with rasterio.open(path, driver=program, NUM_THREADS=str(threads)) as source:
        return source.read()


def time_peer(program, path, threads, repeat):
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        pixels = read_peer(program, path, threads)
        best = min(best, time.perf_counter() - start)
        del pixels
    return best


# A process inherits its parent's memory mark across exec, so the measured one is started by a small one of its own.
MEASURE = """
import os, resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
sys.stderr.write("\\npeak %d\\n" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
sys.exit(code if code >= 0 else 1)
"""


def run_strile(strile, path, threads, repeat):
    """One process of the `bench` beside `strile`: its best seconds, and its peak memory in bytes."""
    binary = os.path.join(os.path.dirname(strile), "bench")
    command = [binary, path, "--decode-on", "cpu", "--threads", str(threads), "--repeat", str(repeat), "--json"]
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {shlex.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)["results"][0]
    return float(result["seconds"]), int(done.stderr.rsplit("peak ", 1)[1])


def check_samples(path, programs, strile, threads):
    """Every program gives the same samples as GTiff, or the run ends: a fast wrong answer is not measured."""
    import numpy as np
    want = read_peer("GTiff", path, 1)
    for program in programs:
        got = read_peer(program, path, threads)
        if program == "tifffile":
            got = np.moveaxis(got, -1, 0) if got.ndim == 3 else got[None]
        if got.dtype != want.dtype or not np.array_equal(got, want):
            sys.exit(f"error: {program} and GTiff read {path} differently")
    if strile:
        raw = subprocess.run([strile, "dump", "--format", "raw", path], capture_output=True)
        if raw.returncode != 0:
            sys.exit(f"error: strile dump {path}: {raw.stderr.decode(errors='replace').strip()}")
        head, _, body = raw.stdout.partition(b"\n")
        head = json.loads(head)
        if head["shape"] != list(want.shape) or head["dtype"] != want.dtype.name or body != want.tobytes():
            sys.exit(f"error: strile and GTiff read {path} differently")
    return want.nbytes


def largest_block(path):
    """Decoded bytes of the largest block."""
    import numpy as np
    import rasterio
    with rasterio.open(path, driver="GTiff") as source:
        rows, columns = source.block_shapes[0]
        return rows * columns * sum(np.dtype(t).itemsize for t in source.dtypes)


def measure(options, threads_list, programs):
    rows = []
    for name in SETS:
        for codec in CODECS:
            for layout in LAYOUTS:
                path = path_of(options.data, options.size, name, codec, layout)
                if options.only not in os.path.basename(path):
                    continue
                nbytes = check_samples(path, programs, options.strile, max(threads_list))
                for threads in threads_list:
                    row = dict(set=name, codec=codec, layout=layout, threads=threads, bytes=nbytes,
                               file_bytes=os.path.getsize(path), seconds={})
                    best = row["seconds"]
                    for _ in range(options.rounds):
                        for program in programs:
                            seconds = time_peer(program, path, threads, options.repeat)
                            best[program] = min(best.get(program, seconds), seconds)
                        if options.strile:
                            seconds, peak = run_strile(options.strile, path, threads, options.repeat)
                            best["strile"] = min(best.get("strile", seconds), seconds)
                            row["peak_bytes"] = max(row.get("peak_bytes", 0), peak)
                            row["peak_allowed"] = nbytes + threads * largest_block(path) + HEADROOM
                    rows.append(row)
                    print(words(row), file=sys.stderr, flush=True)
    return rows


# --- the report ------------------------------------------------------------------------------------------------------

def rate(row, program):
    seconds = row["seconds"].get(program)
    return None if seconds is None else row["bytes"] / seconds / 1e9


def words(row):
    rates = "  ".join(f"{p} {rate(row, p):.2f}" for p in row["seconds"])
    return f"{row['set']:9} {row['codec']:7} {row['layout']:6} {row['threads']} threads  {rates} GB/s"


def table(rows, programs, strile):
    shown = list(programs) + (["strile"] if strile else [])
    ratios = [p for p in ("GTiff", "LIBERTIFF") if strile and p in programs]
    head = ["raster", "codec", "blocks", "threads"] + shown + [f"strile / {p}" for p in ratios]
    head += ["peak / allowed MiB"] if strile else []
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * 4 + " ---: |" * (len(head) - 4)]
    for row in rows:
        cells = [row["set"], row["codec"], row["layout"], str(row["threads"])]
        cells += [f"{rate(row, p):.2f}" for p in shown]
        cells += [f"{row['seconds'][p] / row['seconds']['strile']:.2f}" for p in ratios]
        if strile:
            cells.append(f"{row['peak_bytes'] / 2**20:.0f} / {row['peak_allowed'] / 2**20:.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(rows, programs):
    """The smallest and the median ratio for each codec and peer: what a bar is held against."""
    lines = ["| codec | against | threads | smallest | median |", "| --- | --- | --- | ---: | ---: |"]
    for codec in CODECS:
        for peer in (p for p in ("GTiff", "LIBERTIFF") if p in programs):
            for threads in sorted({r["threads"] for r in rows}):
                ratios = sorted(r["seconds"][peer] / r["seconds"]["strile"] for r in rows
                                if r["codec"] == codec and r["threads"] == threads)
                if ratios:
                    lines.append(f"| {codec} | {peer} | {threads} | {ratios[0]:.2f} | {ratios[len(ratios) // 2]:.2f} |")
    return "\n".join(lines)


def machine(strile):
    import imagecodecs
    import numpy
    import rasterio
    import tifffile

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), model)
    except OSError:
        pass
    versions = dict(python=platform.python_version(), numpy=numpy.__version__, rasterio=rasterio.__version__,
                    gdal=rasterio.__gdal_version__, tifffile=tifffile.__version__, imagecodecs=imagecodecs.__version__)
    if strile:
        versions["strile"] = subprocess.run([strile, "--version"], capture_output=True, text=True).stdout.strip()
    return dict(cpu=model, cores=len(os.sched_getaffinity(0)), system=f"{platform.system()} {platform.release()}",
                memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), versions=versions,
                load_before=os.getloadavg()[0])


def main():
    options = arguments()
    require_peers()
    make(options.data, options.size)
    if options.make:
        return
    threads_list = [int(t) for t in options.threads.split(",")]
    programs = [p for p in PEERS if p in options.programs.split(",")]
    facts = dict(machine(options.strile), date=datetime.date.today().isoformat(), size=options.size,
                 rounds=options.rounds, repeat=options.repeat,
                 # folders of one machine say nothing to a reader of the figures
                 command=shlex.join(os.path.basename(a) if os.path.isabs(a) else a for a in sys.argv))
    rows = measure(options, threads_list, programs)
    version_words = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    text = [f"GB/s of decoded samples, {options.size}² pixels, whole file from the page cache into a fresh array, best of "
            f"{options.rounds} × {options.repeat} reads, programs alternating.", "",
            f"{facts['date']}; {facts['cpu']}, {facts['cores']} cores, load {facts['load_before']:.1f} before; {version_words}.",
            f"Command: `{facts['command']}`", ""]
    if options.strile and rows:
        text += [summary(rows, programs), ""]
    text += [table(rows, programs, options.strile)]
    print("\n".join(text))
    if options.output:
        with open(options.output + ".md", "w") as f:
            f.write("# Whole reads on the CPU, beside the peers\n\n" + "\n".join(text) + "\n")
        with open(options.output + ".json", "w") as f:
            json.dump(dict(facts, results=rows), f, indent=1)


if __name__ == "__main__":
    main()
