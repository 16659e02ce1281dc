"""Batches on the GPU: 512 windows of 256² × 4 bands out of 64 files, beside rasterio and beside single reads; no growth.

`batch_bench.py` makes the files (deflate, zstd and LZW in turn, uint16, four bands interleaved, tiles of 256²), compares every
window with the crop of the whole, times rounds that alternate (one `read_batch`, a loop over `strile.read` on the GPU, 16
processes of rasterio and one upload), and calls `read_batch` 10,000 times over small windows, looking at host memory,
device memory and descriptors. It must show 10 times rasterio and 5 times the loop, and no growth. Where PyTorch is installed
the example of training runs too; how long the GPU waits there is told, and asked of nobody.
"""
import json
import sys
from pathlib import Path

import peers
from session import Session

from python import unpacked

RASTERIO = 10.0
LOOP = 5.0


def trained(session: Session, environment: dict) -> dict | None:
    """What examples/python/train.py prints last."""
    ended = session.run([sys.executable, session.root / "examples/python/train.py"], 150, environment)
    last = ended.tail(1)
    if not ended.well or not last.startswith("{"):
        session.say(f"the example of training: {last}")
        return None
    return json.loads(last)


def run(session: Session) -> dict:
    folder = unpacked(session)
    if folder is None:
        return {"ok": False, "why": "the bundle has no wheel"}
    environment = peers.environment(session, "six")
    paths = [str(folder), environment["PYTHONPATH"], str(session.work / "peers/tools")]
    environment |= {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    script = Path(__file__).with_name("batch_bench.py")
    ended = session.run([sys.executable, script, session.work / "batch"], 400, environment)
    found: dict = {}
    for line in ended.output.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
        else:
            session.say(line)
    if training := trained(session, environment):
        found["training"] = training
    (session.out / "batch.json").write_text(json.dumps(found, indent=1))
    problems = [] if ended.well else [f"the benchmark ended early: {ended.tail(3)}"]
    for name, least in (("rasterio", RASTERIO), ("loop", LOOP)):
        times = found.get(f"times_{name}")
        if times is None or times < least:
            problems.append(f"{times} times {name}, {least} expected")
    problems += found.get("wrong", [])
    told = ("batch_ms", "times_rasterio", "times_loop", "ahead_1_windows_s", "ahead_2_windows_s", "training")
    session.say(json.dumps({name: found.get(name) for name in told}))
    return {"ok": not problems, **found, **({"why": "; ".join(problems)} if problems else {})}
