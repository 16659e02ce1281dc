"""64 COGs behind a range server on loopback -> one tensor on the device, beside other ways to get there.

`remote_bench.py` makes the files, starts `remote_server.py`, and alternates: `strile.read_batch(urls, device="cuda")`; whole files fetched by
32 threads of Python into memory, and `read_batch` of these; kvikio's remote reads of the encoded bytes into device memory, which decode
nothing. Every tensor is compared with the pixels that were written. Figures are in `remote.json`.
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
    paths = [str(folder), environment["PYTHONPATH"]]
    environment |= {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
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
