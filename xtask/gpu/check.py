#!/usr/bin/env python3
"""The GPU check: `check.py [PART…] [--together PART…] [--limit SECONDS] [--beside JOBS]`, from the repository's root, on a machine with a GPU.

Parts: facts, tests, corpus, sanitize, gather, times (kernel_bench on rasters of its own), bench, growth (with tiles and
windows, device memory, first reads), peers (unpacks them), rasters (makes them and builds the peers' programs),
nvcomp (trusted files by nvCOMP), write (device arrays to files, memory), cogs (COGs beside plain files), arrays (host arrays by to_geotiff beside GDAL), written (round trips), python (the package: its tests on
the device, and its calls beside the Rust ones), pictures (JPEG 2000 and JPEG tiles beside the peers), batch (many windows of
many files beside rasterio and single reads), warp (reads onto another grid beside GDAL), small (windows of one tile, chunks of dask), remote
(COGs of a server into a device tensor), tasks (six tasks on remote COGs beside GDAL and async-geotiff), rows (files that are not in the
benchmark, also beside an older strile), before (the benchmark's rasters beside an older strile), large (a warp of 20 GB in 1 GiB), soak (five minutes of everything, compared, without growth), fuzz (damaged streams by both engines);
peers and rasters are done by bench where they were not before.
  smoke = facts tests             kernels = facts tests corpus
  all   = everything              (default: smoke)
`--together PART…` runs parts beside each other, after those before it: tests, corpus, sanitize, written, fuzz and large, which take no
times. soak counts the device's memory, so it runs alone.
`--beside JOBS` works on the fuzzer's goals on so many cores meanwhile (goals.py): not beside parts that take times.
`cargo xtask gpu-bundle` makes carry/, which this reads; results go to $OUT, or out/back. A part that fails is recorded
and the others go on; the exit status is 1 when a part failed and 2 when the bundle is not of these sources. The summary
is printed last.
"""
import argparse
import concurrent.futures
import sys
import time
import tomllib
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import arrays
import batch
import before
import bench
import cogs
import corpus
import facts
import gather
import growth
import large
import nvcomp
import peer_programs
import pictures
import remote
import rows
import sanitize
import small
import soak
import tests
import times
import verified
import warp
import write
from goals import Goals
from session import Session, State
from source_hash import source_hash

import fuzz
import python


def rasters(session: Session) -> dict:
    made = bench.prepare(session)
    built = peer_programs.build_all(session)
    missing = [name for name, program in built.items() if program is None]
    names = [f"{name}_bench not built" for name in missing]
    return {"ok": bool(made) and not missing, "files": len(made), "names": names}


def peers(session: Session) -> dict:
    script = Path(__file__).with_name("unpack_peers.sh")
    ended = session.run(["bash", script, session.carry, session.work / "peers"], 60)
    return {"ok": ended.well, "unpacked": ended.tail(1)}


PARTS = {
    "facts": facts.run, "tests": tests.run, "corpus": corpus.run, "sanitize": sanitize.run, "gather": gather.run,
    "times": times.run, "peers": peers, "rasters": rasters, "bench": bench.run, "growth": growth.run,
    "nvcomp": nvcomp.run, "write": write.run, "cogs": cogs.run, "arrays": arrays.run, "written": write.written, "python": python.run,
    "pictures": pictures.run, "batch": batch.run, "warp": warp.run, "small": small.run, "remote": remote.run,
    "tasks": remote.tasks, "rows": rows.run, "before": before.run, "large": large.run, "soak": soak.run, "fuzz": fuzz.run,
}
WITHOUT_TIMES = {"tests", "corpus", "sanitize", "written", "fuzz", "large"}
GROUPS = {
    "smoke": ["facts", "tests"],
    "kernels": ["facts", "tests", "corpus"],
    "all": ["facts", "tests", "corpus", "sanitize", "gather", "bench", "growth", "nvcomp", "written", "write", "python",
        "pictures", "batch", "warp", "small", "remote", "tasks", "soak", "fuzz"],
}


def bundle_of(session: Session) -> dict:
    try:
        return tomllib.loads((session.carry / "bundle.toml").read_text())
    except (OSError, ValueError) as reason:
        session.say(f"carry/bundle.toml: {reason}")
        return {}


def run_part(session: Session, name: str) -> dict:
    if session.left() < 10:
        return {"ok": False, "why": "no time left"}
    session.say(f"== {name}")
    started = time.monotonic()
    try:
        found = PARTS[name](session)
    except Exception as reason:  # whatever a part stumbles over, the others go on
        session.log(traceback.format_exc())
        found = {"ok": False, "why": f"{type(reason).__name__}: {reason}"}
    return {**found, "took": round(time.monotonic() - started, 1)}


def run_together(session: Session, names: list[str], state: State) -> dict[str, dict]:
    """Parts that take no times, beside each other."""
    if not names:
        return {}
    # Unpacked once, before several parts look for it.
    session.programs()
    corpus.unpack(session)
    ran = {}
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        under_way = {pool.submit(run_part, session, name): name for name in names}
        for ended in concurrent.futures.as_completed(under_way):
            name = under_way[ended]
            ran[name] = ended.result()
            state.keep(name, ran[name])
    return ran


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", metavar="PART", help="parts or groups of them")
    parser.add_argument("--together", nargs="+", default=[], metavar="PART", help=f"of {', '.join(sorted(WITHOUT_TIMES))}")
    parser.add_argument("--limit", type=float, default=540, help="seconds for everything")
    parser.add_argument("--rounds", type=int, default=None, metavar="N", help="at most so many rounds of parts that alternate programs")
    parser.add_argument("--beside", type=int, default=0, metavar="JOBS", help="fuzz on so many cores meanwhile")
    args = parser.parse_args()
    if unknown := [part for part in args.part if part not in PARTS and part not in GROUPS]:
        parser.error(f"no part is called {unknown[0]}")
    if timed := [part for part in args.together if part not in WITHOUT_TIMES]:
        parser.error(f"{timed[0]} runs alone")
    asked = args.part or ([] if args.together else ["smoke"])
    wanted = [name for part in asked for name in GROUPS.get(part, [part])]
    root = Path(__file__).resolve().parents[2]
    session = Session(root, args.limit, args.rounds)
    bundle, here = bundle_of(session), source_hash(root)
    state = State(session, here)
    ran = {}
    beside = Goals(session, args.beside) if args.beside else None
    for name in dict.fromkeys(wanted):
        ran[name] = run_part(session, name)
        state.keep(name, ran[name])
    ran |= run_together(session, list(dict.fromkeys(args.together)), state)
    if beside:
        beside.stop()
    session.say("\n== summary")
    for name, found in ran.items():
        why = f": {found['why']}" if found.get("why") else ""
        session.say(f"{name:9} {'ok' if found['ok'] else 'FAILED':6} {found.get('took', 0):6.1f} s{why}")
        for failed in found.get("names", []):
            session.say(f"          {failed}")
    if bundle.get("hash") != here:
        session.say(f"the bundle is of other sources: {bundle.get('hash')}, here {here}")
        return 2
    session.say(verified.write(session.out, bundle, state.parts))
    return 0 if all(found["ok"] for found in ran.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
