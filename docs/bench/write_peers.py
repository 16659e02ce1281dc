#!/usr/bin/env python3
"""Whole files written: `strile convert` beside GDAL's GTiff and COG drivers, at the same threads.

Needs GNU time and Python 3.12 with rasterio >= 1.5; `cargo xtask bench` makes that environment and the rasters
(`cpu_peers.py DATA --make`).

  write_peers.py DATA --strile target/release/strile [--output docs/bench/log/write]

What is inside the timer, for both: a process of its own from start to end, reading an uncompressed tiled GeoTIFF
out of the page cache, encoding, writing the file (strile also syncs it to the disk before it counts as written; GDAL
does not). Python's start and imports, measured apart, are taken off GDAL's time. Programs alternate; the figure is
the best of `--repeat`. Memory is the high-water mark of the process (of GDAL's less nothing: Python included).

Sets: four rasters of 4096 x 4096 (dem float32, u16, rgb uint8, landcover uint8); then a mosaic (VRT) of many copies
of the elevation raster, larger than either program's buffer. What both wrote is read back and compared with the
source, sample by sample, before it is timed.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time

GDAL = """
import sys
from rasterio.shutil import copy
source, target, driver = sys.argv[1:4]
copy(source, target, driver=driver, **dict(option.split("=") for option in sys.argv[4:]))
"""


def run(command):
    """Wall seconds, CPU seconds, peak MiB; by GNU time, since a child's peak begins with that of its parent."""
    start = time.perf_counter()
    done = subprocess.run(["time", "-f", "%U %S %M", *command], capture_output=True, text=True)
    wall = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    user, system, peak = done.stderr.split("\n")[-2].split()
    return wall, float(user) + float(system), int(peak) / 1024


def options(driver, codec, predictor):
    level = {"DEFLATE": "6", "ZSTD": "9"}[codec]
    if driver == "COG":
        name = {"2": "STANDARD", "3": "FLOATING_POINT"}[predictor]
        own = gdal = [f"COMPRESS={codec}", f"LEVEL={level}", f"PREDICTOR={name}", "OVERVIEW_RESAMPLING=AVERAGE"]
    else:
        own = [f"COMPRESS={codec}", f"LEVEL={level}", f"PREDICTOR={predictor}", "TILED=YES", "BLOCKXSIZE=512", "BLOCKYSIZE=512"]
        key = {"DEFLATE": "ZLEVEL", "ZSTD": "ZSTD_LEVEL"}[codec]
        gdal = [f"COMPRESS={codec}", f"{key}={level}", *own[2:]]
    return own, gdal


def mosaic(path, tile, across, down):
    """A VRT of `across` x `down` copies of a raster."""
    import rasterio

    with rasterio.open(tile) as source:
        width, height = source.width, source.height
        name = {"float32": "Float32", "uint8": "Byte", "uint16": "UInt16"}[source.dtypes[0]]
    cells = "".join(
        f'<SimpleSource><SourceFilename relativeToVRT="1">{os.path.basename(tile)}</SourceFilename><SourceBand>1</SourceBand>'
        f'<SrcRect xOff="0" yOff="0" xSize="{width}" ySize="{height}"/>'
        f'<DstRect xOff="{x * width}" yOff="{y * height}" xSize="{width}" ySize="{height}"/></SimpleSource>'
        for y in range(down)
        for x in range(across)
    )
    with open(path, "w") as file:
        file.write(
            f'<VRTDataset rasterXSize="{width * across}" rasterYSize="{height * down}">'
            f'<VRTRasterBand dataType="{name}" band="1">{cells}</VRTRasterBand></VRTDataset>'
        )
    return width * across * height * down * {"Float32": 4, "Byte": 1, "UInt16": 2}[name]


def same(a, b):
    import numpy
    import rasterio

    with rasterio.open(a) as one, rasterio.open(b) as two:
        for _, window in one.block_windows(1):
            if not numpy.array_equal(one.read(window=window), two.read(window=window), equal_nan=one.dtypes[0].startswith("float")):
                return False
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data")
    p.add_argument("--strile", default="target/release/strile")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    p.add_argument("--mosaic", type=int, default=6, help="copies across and down of the large mosaic; 0 for none")
    p.add_argument("--output")
    args = p.parse_args()
    out = os.path.join(args.data, "written")
    os.makedirs(out, exist_ok=True)
    empty = min(run([sys.executable, "-c", "from rasterio.shutil import copy"]) for _ in range(3))
    rows = []
    sets = [(name, os.path.join(args.data, f"{name}_none_512_4096.tif")) for name in ("dem", "u16", "rgb", "landcover")]
    jobs = [(name, path, driver, codec, threads) for name, path in sets for driver in ("GTiff", "COG") for codec in ("DEFLATE", "ZSTD") for threads in args.threads]
    if args.mosaic:
        path = os.path.join(args.data, "mosaic.vrt")
        size = mosaic(path, sets[0][1], args.mosaic, args.mosaic)
        jobs += [(f"dem mosaic, {size / 1e9:.1f} GB", path, "COG", codec, max(args.threads)) for codec in ("DEFLATE", "ZSTD")]
    for name, path, driver, codec, threads in jobs:
        own, gdal = options(driver, codec, "3" if name.startswith("dem") else "2")
        a, b = os.path.join(out, "strile.tif"), os.path.join(out, "gdal.tif")
        ours = [args.strile, "convert", "-q", "--overwrite", "-j", str(threads), path, a, "--of", driver]
        ours += [word for option in own for word in ("--co", option)]
        theirs = [sys.executable, "-c", GDAL, path, b, driver, *gdal, f"NUM_THREADS={threads}"]
        repeat = 1 if path.endswith(".vrt") else args.repeat
        taken = [(run(ours), run(theirs)) for _ in range(repeat)]
        if not (same(path, a) and same(path, b)):
            sys.exit(f"{name}: what was written is not what was read")
        wall = [min(t[i][0] for t in taken) for i in (0, 1)]
        cpu = [min(t[i][1] for t in taken) for i in (0, 1)]
        rows.append(
            {
                "set": name, "driver": driver, "codec": codec, "threads": threads,
                "wall": [wall[0], wall[1] - empty[0]], "cpu": [cpu[0], cpu[1] - empty[1]],
                "memory": [max(t[i][2] for t in taken) for i in (0, 1)],
                "size": [os.path.getsize(a), os.path.getsize(b)],
            }
        )
        r = rows[-1]
        print(f"{name:22} {driver:5} {codec:7} x{threads}: wall {r['wall'][0]:.2f} / {r['wall'][1]:.2f} s, {r['wall'][1] / r['wall'][0]:.2f} x; size {r['size'][0] / r['size'][1]:.4f}; memory {r['memory'][0]:.0f} / {r['memory'][1]:.0f} MiB", flush=True)
        for path in (a, b):
            os.remove(path)
    if args.output:
        with open(args.output + ".json", "w") as file:
            json.dump({"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "rows": rows}, file, indent=1)
        with open(args.output + ".md", "w") as file:
            file.write(table(rows))


def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def table(rows):
    import rasterio

    lines = [
        "# Writing beside GDAL", "",
        f"{datetime.date.today()}; {machine()}, {os.cpu_count()} cores; GDAL {rasterio.__gdal_version__} (rasterio {rasterio.__version__}), python {platform.python_version()}.",
        f"Command: `{' '.join(sys.argv)}`. What is inside the timer is in the script.", "",
        "Ratios are GDAL's time over strile's: above 1 strile is faster. Size is strile's over GDAL's.", "",
        "| set | driver | codec | threads | strile s | GDAL s | ratio | CPU ratio | size | strile MiB | GDAL MiB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        wall, cpu, memory, size = r["wall"], r["cpu"], r["memory"], r["size"]
        lines.append(
            f"| {r['set']} | {r['driver']} | {r['codec'].lower()} | {r['threads']} | {wall[0]:.2f} | {wall[1]:.2f} | {wall[1] / wall[0]:.2f} "
            f"| {cpu[1] / cpu[0]:.2f} | {size[0] / size[1]:.4f} | {memory[0]:.0f} | {memory[1]:.0f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
