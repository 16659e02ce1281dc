"""How reads grow: with their tiles, with a window's share, in device memory; and what a first read costs.

- `bench --growth` on GROWN: windows of 1, 4, 16, … tiles and of 1, 10 and 100 % of the image. The window of 1 %
  is held against the time that as many tiles take on the curve (between its points, by logarithms).
- `device_bench memory`: what our pool counted at its peak, and what the driver says was taken.
- `device_bench first` in FRESH processes, of a small file and of one of 256 MiB: from the start of the process to its
  line, driver start included; the median. `device_bench start` takes it apart.
"""
import json
import math
import statistics
import subprocess
import time
from pathlib import Path

import bench
import peer_programs
import table
from session import Session

GROWN = ("s2_u16_deflate_256", "dem_f32_lzw_256")  # the first has 4096 tiles
MEASURED_MEMORY = ("dem_f32_deflate_256", "s2_u16_zstd_256", "lc_u8_deflate_512", "rgb_u8_none_256")
LARGE = "dem_f32_deflate_256"
FRESH = 5
MIB = 1 << 20


def at(points: list[dict], blocks: float) -> float | None:
    """Seconds of so many blocks on a curve, between its points straight by logarithms."""
    points = sorted(points, key=lambda point: point["blocks"])
    for low, high in zip(points, points[1:]):
        if low["blocks"] <= blocks <= high["blocks"] and high["blocks"] > low["blocks"]:
            share = math.log(blocks / low["blocks"]) / math.log(high["blocks"] / low["blocks"])
            return math.exp(math.log(low["seconds"]) * (1 - share) + math.log(high["seconds"]) * share)
    return None


def seconds_of(points: list[dict], blocks: int) -> float | None:
    return next((point["seconds"] for point in points if point["blocks"] == blocks), None)


def by(over, under) -> float | None:
    return round(over / under, 3) if over and under else None


def curves(session: Session, measures: Path, folder: Path, found: dict) -> None:
    files = [folder / f"{name}.tif" for name in GROWN]
    svg = session.out / "growth.svg"
    words = ["--decode-on", "cuda:0", "--to", "device", "--repeat", 7, "--growth", "--svg", svg, "--json"]
    ended = session.run([measures, *words, *files], 60)
    try:
        grown = json.loads(ended.output[ended.output.find("{") :])["growth"]
    except (ValueError, KeyError):
        found["names"].append(f"bench --growth: {ended.tail(2)}")
        return
    (session.out / "growth.json").write_text(json.dumps(grown, indent=1))
    for curve in grown:
        steps = ", ".join(f"{p['blocks']}: {p['seconds'] * 1e3:.3f}" for p in curve["blocks"] + curve["windows"])
        session.say(f"{Path(curve['file']).stem}, ms by tiles: {steps}")
    points = grown[0]["blocks"]
    one = next(window for window in grown[0]["windows"] if window["percent"] == 1)
    found["figures"] |= {
        "t1_ms": round(points[0]["seconds"] * 1e3, 3),
        "t64_by_t1": by(seconds_of(points, 64), seconds_of(points, 1)),
        "t4096_by_t1024": by(seconds_of(points, 4096), seconds_of(points, 1024)),
        "one_percent_by_its_tiles": by(one["seconds"], at(points, one["blocks"])),
    }


def memory(session: Session, program: Path, folder: Path, found: dict) -> None:
    records = []
    for name in MEASURED_MEMORY:
        # A process each: the pool keeps what it had for the next read.
        ended = session.run([program, "memory", folder / f"{name}.tif"], 20)
        records += peer_programs.records(ended)
        if not ended.well:
            found["names"].append(f"device_bench memory: {ended.tail(2)}")
    for record in records:
        keys = ("output", "encoded", "counted_peak", "driver_peak", "kept")
        sizes = {key: round(record[key] / MIB, 1) for key in keys}
        session.say(f"{Path(record['file']).stem}, MiB: {sizes}, looked {record['looks']} times")
    found["memory"] = records
    if records:
        over = [r["driver_peak"] - r["output"] - min(r["encoded"], 512 * MIB) for r in records]
        apart = [abs(r["driver_peak"] - r["counted_peak"]) for r in records]
        found["figures"] |= {
            "over_output_mib": round(max(over) / MIB, 1), "driver_and_pool_apart_mib": round(max(apart) / MIB, 1),
        }


def fresh(session: Session, program: Path, what: str, file: Path) -> tuple[float, dict] | None:
    """Milliseconds from starting a process to its line, and the line."""
    started = time.perf_counter()
    try:
        process = subprocess.Popen(
            [str(program), what, str(file)], cwd=session.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )
        line = process.stdout.readline()
        took = (time.perf_counter() - started) * 1e3
        process.wait(timeout=20)
        record = json.loads(line)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    session.log(f"{what} {file.name} {took:.1f} ms {line.strip()}")
    return took, record


def first_reads(session: Session, strile: Path, program: Path, folder: Path, found: dict) -> None:
    demo = session.work / "demo"
    session.run([strile, "-q", "demo", "--dir", demo], 60)
    small = demo / "dem-deflate.tif"
    for name, file in (("small", small), ("large", folder / f"{LARGE}.tif")):
        firsts = [answer for _ in range(FRESH) if (answer := fresh(session, program, "first", file))]
        starts = [answer[1] for _ in range(3) if (answer := fresh(session, program, "start", file))]
        if not firsts:
            found["names"].append(f"device_bench first {file.name}: no answer")
            continue
        # The line comes after a second read, which is not part of the first.
        took = [took - record["second_ms"] for took, record in firsts]
        found["figures"][f"first_{name}_ms"] = round(statistics.median(took), 1)
        keys = [key for key in (starts[0] if starts else {}) if key.endswith("_ms")]
        parts = {key: round(statistics.median(start[key] for start in starts), 2) for key in keys}
        found.setdefault("start", {})[name] = parts
        session.say(f"first read, {name}: {[round(t) for t in took]} ms; taken apart: {parts}")
    firsts = [found["figures"].get(f"first_{name}_ms") for name in ("small", "large")]
    found["figures"]["first_ms"] = max((first for first in firsts if first), default=None)


def run(session: Session) -> dict:
    measures, strile, program = (session.program(name) for name in ("bench", "strile", "device_bench"))
    folder = session.work / "rasters"
    if not (folder / "meta.json").exists():
        bench.prepare(session)
    if None in (measures, strile, program) or not (folder / "meta.json").exists():
        return {"ok": False, "why": "bench, strile, device_bench or the rasters are missing"}
    found: dict = {"ok": True, "names": [], "figures": {}}
    curves(session, measures, folder, found)
    memory(session, program, folder, found)
    first_reads(session, strile, program, folder, found)
    found["missed"] = table.missed_growth(found["figures"])
    found["ok"] = not found["names"]
    session.say(table.growth_markdown(found["figures"]))
    for line in found["missed"]:
        session.say(f"missed: {line}")
    return found
