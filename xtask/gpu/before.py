"""This revision beside an older one: the benchmark's rasters by both programs in turn, to the device and by the CPU.

`carry/old/strile` is the older program. A figure is the median over rounds of the best of some reads; a row is named where the new
program takes over 5 % longer. Programs only: pixels are compared by other parts.
"""
import json
import statistics
from pathlib import Path

import bench
from session import Session

ROUNDS, REPEAT, SLOWER = 3, 5, 1.05
WAYS = {
    "device": ["--decode-on", "cuda:0", "--to", "device"],
    "cpu": ["--decode-on", "cpu"],
}


def options(session: Session, command: list, words: list) -> list:
    """The options as the program names them: `--decode-on` was `--device` once."""
    if "--decode-on" in session.run([*command, "--help"], 20).output:
        return words
    return ["--device" if word == "--decode-on" else word for word in words]


def measured(session: Session, command: list, words: list, files: list[str]) -> dict[str, float]:
    ended = session.run([*command, *words, "--repeat", REPEAT, "--json", *files], 120)
    try:
        results = json.loads(ended.output[ended.output.find("{"):])["results"]
    except (ValueError, KeyError, TypeError):
        session.say(f"{command[0]}: {ended.tail(3)}")
        return {}
    return {result["file"]: result["seconds"] for result in results if result.get("seconds")}


def run(session: Session) -> dict:
    new, old = session.program("bench"), session.carry / "old" / "strile"
    meta = bench.prepare(session)
    if new is None or not old.is_file() or not meta:
        return {"ok": False, "why": "bench, carry/old/strile or the rasters are missing"}
    old.chmod(0o755)
    files = [row["path"] for row in meta if row["tile"] == 256]
    seconds: dict[tuple, list[float]] = {}
    commands = {"old": session.older_bench(old), "new": [new]}
    for _ in range(session.rounds(ROUNDS)):
        for way, words in WAYS.items():
            for name, command in commands.items():
                for path, best in measured(session, command, options(session, command, words), files).items():
                    seconds.setdefault((path, way, name), []).append(best)
    figures, slower = [], []
    for path in files:
        for way in WAYS:
            before, now = (seconds.get((path, way, name)) for name in ("old", "new"))
            if not before or not now:
                continue
            ratio = statistics.median(now) / statistics.median(before)
            ms = round(statistics.median(now) * 1e3, 2)
            figures.append({"file": Path(path).stem, "way": way, "ms": ms, "of_before": round(ratio, 3)})
            session.say(json.dumps(figures[-1]))
            if ratio > SLOWER:
                slower.append(f"{Path(path).stem}, {way}: {ratio:.2f} of before")
    (session.out / "before.json").write_text(json.dumps(figures, indent=1))
    return {"ok": bool(figures), "figures": figures, "names": slower}
