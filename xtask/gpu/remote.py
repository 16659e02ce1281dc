"""64 COGs behind a range server on loopback -> one tensor on the device, beside other ways to get there.

`remote_bench.py` makes the files, starts `remote_server.py`, and alternates: `strile.read_batch(urls, device="cuda")`; whole files fetched by
32 threads of Python into memory, and `read_batch` of these; kvikio's remote reads of the encoded bytes into device memory, which decode
nothing. Every tensor is compared with the pixels that were written. Figures are in `remote.json`.

The part `tasks` runs docs/bench/peers/remote.py: six tasks on COGs behind a server with a delay and a rate, beside GDAL and async-geotiff. It
needs no GPU, but cores that are idle. Figures are in `tasks.json`.
"""
import json
import sys
from pathlib import Path

import peers
from session import Session

from python import unpacked


def environment_of(session: Session) -> dict | None:
    """Variables with which the wheel and the peers are found; None if there is no wheel."""
    folder = unpacked(session)
    if folder is None:
        return None
    environment = peers.environment(session, "six")
    paths = [str(folder), environment["PYTHONPATH"]]
    return environment | {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}


def tasks(session: Session) -> dict:
    environment = environment_of(session)
    if environment is None:
        return {"ok": False, "why": "the bundle has no wheel"}
    script, output = session.root / "docs/bench/peers/remote.py", session.out / "tasks.json"
    command = [sys.executable, script, session.work / "tasks", "--rounds", 5, "--headers", 4000, "--output", output]
    ended = session.run(command, 300, environment)
    session.say(ended.tail(30))
    if not ended.well:
        return {"ok": False, "why": f"the tasks ended early: {ended.tail(3)}"}
    found = json.loads(output.read_text())
    faster = {}
    for task, programs in found.items():
        rest = [result["seconds"] for name, result in programs.items() if name != "strile"]
        if rest and "strile" in programs:
            faster[task] = round(min(rest) / programs["strile"]["seconds"], 2)
    session.say(json.dumps({"faster than the best peer": faster}))
    missing = sorted({"GDAL", "async-geotiff", "strile"} - set(found.get("open", {})))
    return {"ok": not missing, "faster": faster, **({"why": f"not installed: {', '.join(missing)}"} if missing else {})}


def run(session: Session) -> dict:
    environment = environment_of(session)
    if environment is None:
        return {"ok": False, "why": "the bundle has no wheel"}
    script = Path(__file__).with_name("remote_bench.py")
    ended = session.run([sys.executable, script, session.work / "remote"], 200, environment)
    found: dict = {}
    for line in ended.output.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
        else:
            session.say(line)
    (session.out / "remote.json").write_text(json.dumps(found, indent=1))
    problems = [] if ended.well else [f"the benchmark ended early: {ended.tail(3)}"]
    problems += found.get("wrong", [])
    session.say(json.dumps({name: value for name, value in found.items() if name != "seconds"}))
    return {"ok": not problems, **found, **({"why": "; ".join(problems)} if problems else {})}
