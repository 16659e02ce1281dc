"""The Python package on the GPU: its tests, and what `open_geotiff(gpu=True)` costs above the Rust call.

The wheel of the bundle is unpacked, python/tests/gpu runs with STRILE_REQUIRE_GPU=1 (what is skipped without a device
fails here), and `python_reader.py` and `bench` read the rasters of make_rasters.py and files with nodata in turn.
"""
import json
import re
import statistics
import sys
import zipfile
from pathlib import Path

from session import Session

COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
ROUNDS = 3
REPEAT = 5


def unpacked(session: Session) -> Path | None:
    """The folder with the package; None where the bundle has no wheel."""
    folder = session.work / "wheel"
    for wheel in (session.carry / "wheel").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder if (folder / "strile").is_dir() else None


def tested(session: Session, env: dict) -> dict:
    command = [sys.executable, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "python/tests/gpu"]
    ended = session.run(command, 240, {**env, "STRILE_REQUIRE_GPU": "1"})
    counts = {word.rstrip("s") if word == "errors" else word: int(number) for number, word in COUNTS.findall(ended.tail(1))}
    if not ended.well:
        session.say(ended.tail(40))
    return {"ok": ended.well and counts.get("passed", 0) > 0, **counts}


def timed(session: Session, env: dict) -> list[dict]:
    """Median over rounds of the best of REPEAT reads: the Rust call, `strile.read`, `open_geotiff`; alternating."""
    program = session.program("bench")
    made = session.work / "nodata"
    session.run([sys.executable, Path(__file__).with_name("make_nodata.py"), made], 60, env)
    files = sorted((session.work / "rasters").glob("*_256.tif")) + sorted(made.glob("*.tif"))
    rows = {str(path): {"rust": [], "read": [], "open_geotiff": []} for path in files}
    script = Path(__file__).with_name("python_reader.py")
    for _ in range(session.rounds(ROUNDS) if program and rows else 0):
        words = ["--decode-on", "cuda:0", "--to", "device", "--repeat", REPEAT, "--json"]
        ended = session.run([program, *words, *rows], 60)
        try:
            results = json.loads(ended.output[ended.output.find("{"):])["results"]
        except (ValueError, KeyError):
            results = []
        for result in results:
            rows[result["file"]]["rust"].append(result["seconds"])
        ended = session.run([sys.executable, script, REPEAT, *rows], 90, env)
        for line in ended.output.splitlines():
            if line.startswith("{"):
                answer = json.loads(line)
                rows[answer["file"]]["read"].append(answer["read"])
                rows[answer["file"]]["open_geotiff"].append(answer["open_geotiff"])
    found = []
    for path, row in rows.items():
        if all(row.values()):
            medians = {name: statistics.median(seconds) for name, seconds in row.items()}
            figures = {f"{name}_ms": round(seconds * 1e3, 3) for name, seconds in medians.items()}
            found.append({"file": Path(path).name, **figures, "above_rust": round(medians["open_geotiff"] / medians["rust"] - 1, 3)})
    return found


def run(session: Session) -> dict:
    folder = unpacked(session)
    if folder is None:
        return {"ok": False, "why": "the bundle has no wheel"}
    tools = [session.work / "peers" / name for name in ("tools", "base")]
    env = {"PYTHONPATH": ":".join(str(path) for path in (folder, *tools)), "PYTHONDONTWRITEBYTECODE": "1"}
    tests = tested(session, env)
    times = timed(session, env)
    for row in times:
        session.say(json.dumps(row))
    (session.out / "python.json").write_text(json.dumps({"tests": tests, "times": times}, indent=1))
    why = None if tests["ok"] else "tests failed"
    return {"ok": tests["ok"] and bool(times), "tests": tests, "times": times, **({"why": why} if why else {})}
