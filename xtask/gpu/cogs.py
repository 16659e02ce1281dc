"""Cloud-optimized files beside plain ones: from an array on the device, from one on the host, and by `convert`.

- Writes: `bench --write` of the benchmark's rasters in 512² tiles, Deflate and ZSTD, to files in a file system in
  memory. A figure is the median, in GB/s of pixels; the aim is that a COG reaches 70 % of the plain file.
- Conversions: `strile convert` of the same files to COGs, decoded and encoded on the device and on the CPU: the best of
  some runs, in GB/s of pixels, and the peak of the process's memory.
- A large conversion: 24 copies of the DEM side by side as one file of 6.4 GB (ZSTD, 512² tiles), to a COG, on the device and on the CPU.
- Floor: what 16 threads put into one file there with `pwrite`, in GB/s.

`carry/strile-before`, a program of an earlier revision, is measured in turn with the bundle's where it is there.
"""
import concurrent.futures
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

import bench
from session import Session

ROUNDS = 3
MEMORY = Path("/dev/shm")
CODECS = ("deflate", "zstd")
AIM = 0.7
WAYS = {
    "device": ["--encode-on", "cuda:0", "--to", "device"],
    "host": ["--encode-on", "cpu", "--decode-on", "cpu"],
}
CONVERSIONS = {
    "device": ["--encode-on", "cuda:0", "--decode-on", "cuda:0"],
    "host": ["--encode-on", "cpu", "--decode-on", "cpu"],
}


def rasters(session: Session) -> list[dict]:
    """Those in 512² tiles, made where they were not."""
    try:
        meta = json.loads((session.work / "rasters/meta.json").read_text())
    except (OSError, ValueError):
        meta = bench.prepare(session)
    return [row for row in meta if row["tile"] == 512 and row["codec"] in CODECS]


def programs(session: Session) -> dict[str, tuple[Path, list]]:
    """`strile`, and the command that measures."""
    new, measures, before = session.program("strile"), session.program("bench"), session.carry / "strile-before"
    found = {"new": (new, [measures])} if new and measures else {}
    return {**found, "before": (before, session.older_bench(before))} if before.is_file() else found


def written(session: Session, program: list, of: str, way: list[str], rows: dict[str, dict]) -> dict[str, dict]:
    """Seconds and the rest that `bench --write` says of each file."""
    words = ["--write", MEMORY, "--of", of, *way, "--repeat", 3, "--json"]
    ended = session.run([*program, *words, *rows], 120)
    try:
        return {result["file"]: result for result in json.loads(ended.output[ended.output.find("{") :])["results"]}
    except (ValueError, KeyError, TypeError):
        session.say(f"bench --write --of {of}: {ended.tail(3)}")
        return {}


def converted(program: Path, path: str, codec: str, way: list[str]) -> tuple[float, int] | None:
    """Seconds of one conversion, and the peak of its memory in MiB."""
    target = MEMORY / "strile-cog.tif"
    words = ["-q", "convert", path, target, "--of", "COG", "--co", f"COMPRESS={codec}", "--reencode", "--overwrite"]
    started = time.monotonic()
    process = subprocess.Popen([str(word) for word in [program, *words, *way]], stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    target.unlink(missing_ok=True)
    return None if os.waitstatus_to_exitcode(status) else (seconds, used.ru_maxrss >> 10)


def large_file(strile: Path, dem: dict) -> Path | None:
    """One file of 6 × 4 copies of the DEM, in memory; None where `convert` fails."""
    side, across, down = 8192, 6, 4
    sources = "".join(
        f'<SimpleSource><SourceFilename>{dem["path"]}</SourceFilename><SourceBand>1</SourceBand>'
        f'<SrcRect xOff="0" yOff="0" xSize="{side}" ySize="{side}"/>'
        f'<DstRect xOff="{x * side}" yOff="{y * side}" xSize="{side}" ySize="{side}"/></SimpleSource>'
        for y in range(down)
        for x in range(across)
    )
    mosaic, target = MEMORY / "strile-large.vrt", MEMORY / "strile-large.tif"
    mosaic.write_text(
        f'<VRTDataset rasterXSize="{side * across}" rasterYSize="{side * down}"><VRTRasterBand dataType="Float32" band="1">'
        f"{sources}</VRTRasterBand></VRTDataset>"
    )
    words = [strile, "-q", "convert", mosaic, target, "--overwrite", "--allow-outside", "--co", "COMPRESS=ZSTD", "--co", "PREDICTOR=3"]
    words += ["--co", "TILED=YES", "--co", "BLOCKXSIZE=512", "--co", "BLOCKYSIZE=512", "--co", "LEVEL=1"]
    made = subprocess.run([str(word) for word in words], capture_output=True)
    mosaic.unlink()
    return None if made.returncode else target


def large(session: Session, strile: Path, rows: dict[str, dict]) -> list[dict]:
    dem = next((row for path, row in rows.items() if "dem_f32_zstd" in path), None)
    if dem is None or session.left() < 90 or (path := large_file(strile, dem)) is None:
        session.say("the large conversion was left out")
        return []
    figures = []
    for way, words in CONVERSIONS.items():
        found = [converted(strile, str(path), "zstd", words) for _ in range(2)]
        done = [one for one in found if one]
        rate = round(24 * dem["decoded"] / min(seconds for seconds, _ in done) / 1e9, 2) if done else None
        figures.append({"convert": way, "gb": 6.4, "gb_s": rate, "mib": max((mib for _, mib in done), default=None)})
        session.say(json.dumps(figures[-1]))
    path.unlink()
    return figures


def floor(threads: int = 16, size: int = 2 << 30, chunk: int = 4 << 20) -> float:
    path = MEMORY / "strile-floor"
    block = os.urandom(chunk)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        started = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda at: os.pwrite(descriptor, block, at), range(0, size, chunk)))
        return size / (time.monotonic() - started) / 1e9
    finally:
        os.close(descriptor)
        path.unlink()


def run(session: Session) -> dict:
    rounds = session.rounds(ROUNDS)
    ours, meta = programs(session), rasters(session)
    if "new" not in ours or not meta:
        return {"ok": False, "why": "carry/bin/strile, carry/bin/bench or the rasters are missing"}
    rows = {row["path"]: row for row in meta}
    times: dict[tuple, list[float]] = {}
    memory: dict[tuple, int] = {}
    names = []
    for number in range(rounds):
        for name, (program, measures) in ours.items():
            for way, words in WAYS.items():
                for of in ("GTiff", "COG"):
                    for path, result in written(session, measures, of, words, rows).items():
                        times.setdefault((name, way, of, path), []).append(result["median_seconds"])
                        if not result["same"]:
                            names.append(f"{name}, {way}, {of}: {Path(path).stem} reads back otherwise")
            for way, words in CONVERSIONS.items():
                for path, row in rows.items():
                    if session.left() < 30:
                        continue
                    found = converted(program, path, row["codec"], words)
                    if found is None:
                        names.append(f"{name}: convert {Path(path).stem} on the {way} failed")
                        continue
                    times.setdefault((name, way, "convert", path), []).append(found[0])
                    key = (name, way, path)
                    memory[key] = max(memory.get(key, 0), found[1])
        session.say(f"round {number + 1} of {rounds}, {session.left():.0f} s left")
    figures = []
    for path in rows:
        for name in ours:
            for way in WAYS:
                def rate(of: str, name: str = name, way: str = way, path: str = path) -> float | None:
                    seconds = times.get((name, way, of, path))
                    found = min(seconds) if seconds and of == "convert" else statistics.median(seconds or [0])
                    return round(rows[path]["decoded"] / found / 1e9, 3) if found else None

                figure = {
                    "file": Path(path).stem, "program": name, "from": way, "plain": rate("GTiff"), "cog": rate("COG"),
                    "convert": rate("convert"), "convert_mib": memory.get((name, way, path)),
                }
                figures.append(figure)
                session.say(json.dumps(figure))
                if name == "new" and figure["plain"] and figure["cog"] and figure["cog"] < AIM * figure["plain"]:
                    session.say(f"missed: {figure['file']} from {way}: {figure['cog'] / figure['plain']:.0%} of the plain file")
    big = large(session, ours["new"][0], rows)
    found = {"ok": not names, "names": names, "figures": figures, "large": big, "floor_gb_s": round(floor(), 2)}
    session.say(f"16 threads with pwrite: {found['floor_gb_s']} GB/s")
    (session.out / "cogs.json").write_text(json.dumps(found, indent=1))
    return found
