"""Small reads: windows of one tile of an open file, on the device and on the CPU; 64 tiles beside one; chunks of dask.

`small_bench.py` makes the files, compares every kind of read with the pixels that were written once, and prints medians and best
times. A window of one tile is to take at most half a millisecond on the device and the decoding time and 50 µs on the CPU; a window of 64
tiles at most 1.5 times as long as one of one tile; a dask array of CuPy blocks of 1024² over 16384² pixels at most 150 ms with 8 threads.
What is missed is said, and is no failure: other pixels are. Figures are in `small.json`.
"""
import json
import sys
from pathlib import Path

import peers
from session import Session

from python import unpacked


def run(session: Session) -> dict:
    folder = unpacked(session)
    if folder is None:
        return {"ok": False, "why": "the bundle has no wheel"}
    environment = peers.environment(session, "six")
    paths = [str(folder), environment["PYTHONPATH"], str(session.work / "peers/tools")]
    environment |= {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    script = Path(__file__).with_name("small_bench.py")
    ended = session.run([sys.executable, script, session.work / "small"], 240, environment)
    found: dict = {}
    for line in ended.output.splitlines():
        session.say(line)
        if line.startswith("{"):
            row = json.loads(line)
            found.setdefault(row.pop("figure"), []).append(row)
    (session.out / "small.json").write_text(json.dumps(found, indent=1))
    problems = [] if ended.well else [f"the benchmark ended early: {ended.tail(3)}"]
    return {"ok": not problems, "rows": sum(map(len, found.values())), **({"why": "; ".join(problems)} if problems else {})}
