"""Host arrays written by `to_geotiff` beside GDAL, plain and cloud-optimized, on all cores; needs no GPU."""
import json
import sys
from pathlib import Path

import bench
import peers
from session import Session

from python import unpacked


def run(session: Session) -> dict:
    folder = unpacked(session)
    if folder is None or not bench.prepare(session):
        return {"ok": False, "why": "the wheel or the rasters are missing"}
    environment = peers.environment(session, "six")
    paths = [str(folder), environment["PYTHONPATH"], str(session.work / "peers/tools")]
    environment |= {"PYTHONPATH": ":".join(paths), "PYTHONWARNINGS": "ignore"}
    script = Path(__file__).with_name("arrays_bench.py")
    words = [session.work / "rasters", "/dev/shm/strile-arrays", session.rounds(3)]
    ended = session.run([sys.executable, script, *words], 180, environment)
    figures = [json.loads(line) for line in ended.output.splitlines() if line.startswith("{")]
    for figure in figures:
        session.say(json.dumps(figure))
    (session.out / "arrays.json").write_text(json.dumps(figures, indent=1))
    wrong = [f"{f['array']} {f['codec']}: other pixels" for f in figures if not f["same"]]
    problems = wrong if ended.well else [*wrong, f"ended early: {ended.tail(3)}"]
    return {"ok": not problems, "figures": figures, "names": problems}
