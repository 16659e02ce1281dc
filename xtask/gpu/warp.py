"""Reads onto another grid on the GPU: the same bits as on the CPU, and how fast beside GDAL's WarpedVRT and an upload.

`warp_bench.py` does it for one large file, `warp_chips_bench.py` for 512 chips of 64 scenes, and `warp_cases_check.py` compares the drawn cases of
`check_warp.py`. The part fails where a pixel differs; times are told.
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
    found, problems = measured(session, "warp_bench.py", 200, environment)
    chips, of_chips = measured(session, "warp_chips_bench.py", 150, environment)
    cases, of_cases = measured(session, "warp_cases_check.py", 200, environment)
    found["chips"], found["cases"] = chips, {name: value for name, value in cases.items() if name != "wrong"}
    problems += of_chips + of_cases
    (session.out / "warp.json").write_text(json.dumps(found, indent=1))
    session.say(json.dumps(found))
    return {"ok": not problems, **found, **({"why": "; ".join(problems)} if problems else {})}


def measured(session: Session, name: str, seconds: int, environment: dict) -> tuple[dict, list[str]]:
    """The last JSON object that a benchmark prints, and what is wrong with it."""
    script = Path(__file__).with_name(name)
    ended = session.run([sys.executable, script, session.work / script.stem], seconds, environment)
    found: dict = {}
    for line in ended.output.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
    problems = [] if ended.well else [f"{name} ended early: {ended.tail(3)}"]
    return found, problems + found.get("wrong", [])
