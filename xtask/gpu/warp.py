"""Reads onto another grid on the GPU: the same bits as on the CPU, and how fast beside GDAL's WarpedVRT and an upload.

`warp_bench.py` does it. The part fails where a pixel differs; times are told.
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
    script = Path(__file__).with_name("warp_bench.py")
    ended = session.run([sys.executable, script, session.work / "warp"], 200, environment)
    found: dict = {}
    for line in ended.output.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
    (session.out / "warp.json").write_text(json.dumps(found, indent=1))
    session.say(json.dumps(found))
    problems = [] if ended.well else [f"the benchmark ended early: {ended.tail(3)}"]
    problems += found.get("wrong", [])
    return {"ok": not problems, **found, **({"why": "; ".join(problems)} if problems else {})}
