"""Files that are not in the benchmark: large blocks, one strip, LERC, small tiles; beside GDAL, and beside an older strile.

`make_rows.py` makes them from the arrays of make_rasters.py. Each is read to the device by `bench`, by the program of the
bundle and by `carry/old/strile` where there is one, rounds alternating, and by GDAL (LIBERTIFF) with an upload; then to host memory
on all cores by both and by GDAL. Both engines are compared on every file first.
"""
import json
import statistics
import sys
from pathlib import Path

import bench
import peers
from session import Session

ROUNDS, REPEAT = 3, 4


def measured(session: Session, program: list, files: list[str], words: list) -> dict[str, float]:
    """Seconds per file, the best of REPEAT reads; empty where the program fails."""
    ended = session.run([*program, *words, "--repeat", REPEAT, "--json", *files], 120)
    try:
        results = json.loads(ended.output[ended.output.find("{"):])["results"]
    except (ValueError, KeyError, TypeError):
        session.say(f"bench: {ended.tail(3)}")
        return {}
    return {result["file"]: result["seconds"] for result in results if result.get("seconds")}


def by_gdal(session: Session, reader: peers.Peer, files: list[str]) -> dict[str, float]:
    found = {}
    for path in files:
        reply = reader.ask(path, 2, None)
        if "seconds" in reply:
            found[path] = reply["seconds"]
    return found


def run(session: Session) -> dict:
    new = session.program("bench")
    if new is None or not bench.prepare(session):
        return {"ok": False, "why": "carry/bin/bench or the rasters are missing"}
    folder = session.work / "rows"
    script = Path(__file__).with_name("make_rows.py")
    made = session.run(
        [sys.executable, script, session.work / "rasters", folder], 150, peers.environment(session, "six")
    )
    session.say(made.tail(4))
    try:
        meta = json.loads((folder / "meta.json").read_text())
    except (OSError, ValueError):
        return {"ok": False, "why": f"make_rows.py: {made.tail(3)}"}
    why = bench.pixels_agree(session, meta)
    programs: dict[str, list] = {"strile": [new]}
    old = session.carry / "old" / "strile"
    if old.is_file():
        programs["old"] = session.older_bench(old)
    files = [m["path"] for m in meta]
    to_device = ["--decode-on", "cuda:0", "--to", "device"]
    seconds: dict = {path: {} for path in files}

    def note(name: str, found: dict[str, float]) -> None:
        for path, time in found.items():
            seconds[path].setdefault(name, []).append(time)

    readers = {"gdal": peers.Peer(session, "gdal"), "gdal-host": peers.Peer(session, "gdal-host")}
    for _ in range(session.rounds(ROUNDS)):
        if session.left() < 60:
            break
        for name, program in programs.items():
            note(f"{name} gpu", measured(session, program, files, to_device))
            note(f"{name} cpu", measured(session, program, files, ["--decode-on", "cpu"]))
        for name, reader in readers.items():
            note(name, by_gdal(session, reader, files))
    for reader in readers.values():
        reader.close()
    figures = []
    for m in meta:
        rates = {
            name: round(m["decoded"] / statistics.median(times) / 1e9, 2) for name, times in seconds[m["path"]].items()
        }
        figures.append({"file": Path(m["path"]).name, "ratio": round(m["decoded"] / m["encoded"], 2), **rates})
        session.say(json.dumps(figures[-1]))
    (session.out / "rows.json").write_text(json.dumps(figures, indent=1))
    names = [why] if why else []
    return {"ok": not names and all("strile gpu" in f for f in figures), "figures": figures, "names": names}
