"""compute-sanitizer over a small selection of the corpus: memcheck, initcheck, synccheck and racecheck.

A few files of every codec with a kernel, tiled and in strips, and some hostile ones, go through device_check, which
also compares the pixels. Races are allowed where races.txt says so and nowhere else.
"""
import json
import re
import shutil
from pathlib import Path

import corpus
from session import Session

TOOLS = ("memcheck", "initcheck", "synccheck", "racecheck")
SUMMARY = re.compile(r"========= (?:ERROR|RACECHECK) SUMMARY: (\d+)")
PER_KIND = 2
HOSTILE = 12
LARGEST = 60_000


def choose(listed: list[dict], folder: Path, target: Path) -> int:
    """Copies small files of each kind into `target`; how many."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    taken: dict[str, int] = {}
    chosen = []
    for entry in sorted(listed, key=lambda e: -e["size"]):
        kind = f"{entry['codec']} {entry.get('tiled')} {entry.get('predictor')}" if not entry["hostile"] else "hostile"
        room = HOSTILE if entry["hostile"] else PER_KIND
        codec = corpus.key(entry["codec"] or "")
        if entry["size"] > LARGEST or (codec not in corpus.WITH_KERNEL and not entry["hostile"]):
            continue
        if taken.get(kind, 0) < room:
            taken[kind] = taken.get(kind, 0) + 1
            chosen.append(entry["name"])
    for number, name in enumerate(chosen):
        shutil.copy(folder / name, target / f"{number:03}_{Path(name).name}")
    return len(chosen)


def allowed_races(root: Path) -> list[re.Pattern]:
    lines = (root / "xtask/gpu/races.txt").read_text().splitlines()
    return [re.compile(line.split("\t")[0]) for line in lines if line and not line.startswith("#")]


def races_not_allowed(output: str, allowed: list[re.Pattern]) -> list[str]:
    """Reported races one of whose accesses matches no pattern, and those whose accesses were not understood."""
    found = []
    for report in re.split(r"(?m)^=========\s*$", output):
        if "Race reported" not in report and "hazard detected" not in report:
            continue
        accesses = [line for line in report.splitlines() if re.search(r"(?i)(read|write)\S* access", line)]
        if not accesses or not all(any(p.search(line) for p in allowed) for line in accesses):
            found.append(" | ".join(line.strip("= ") for line in accesses or report.splitlines()[:3])[:400])
    return found


def run(session: Session) -> dict:
    sanitizer, program = shutil.which("compute-sanitizer"), session.program("device_check")
    folder = corpus.unpack(session)
    if sanitizer is None or program is None or folder is None:
        return {"ok": False, "why": "no compute-sanitizer here, or the bundle has no device_check or no corpus"}
    chosen = session.work / "sanitize"
    listed = json.loads((session.carry / "corpus" / "list.json").read_text())
    found: dict = {"ok": True, "files": choose(listed, folder, chosen), "tools": {}}
    allowed = allowed_races(session.root)
    lines = program.parent.parent / "lines"
    for tool in TOOLS:
        command = [sanitizer, "--tool", tool, "--print-limit", "2000", "--error-exitcode", "77", program, chosen]
        # Races are allowed by line, so there the kernels have line tables; elsewhere they are those that are shipped.
        env = {"STRILE_KERNELS": str(lines)} if tool == "racecheck" else None
        ended = session.run(command, 100, env, keep=2_000_000)
        summary = SUMMARY.search(ended.output)
        records = corpus.records(ended.output)
        entry = {"files": len(records), "seconds": round(ended.seconds, 1)}
        if summary is None or ended.code is None:
            entry["result"] = "out of time" if ended.code is None else f"no summary, exit {ended.code}"
        elif tool == "racecheck":
            wrong = races_not_allowed(ended.output, allowed)
            reported = int(summary[1])
            if reported and "Race reported" not in ended.output:
                wrong.append("a summary with races and none listed")
            entry |= {"reported": reported, "not_allowed": len(wrong)}
            entry["result"] = "clean" if not reported else "clean but for allowed races" if not wrong else "races"
            for line in wrong[:8]:
                session.say(f"race: {line}")
        else:
            entry["result"] = "clean" if int(summary[1]) == 0 else f"{summary[1]} errors"
        if any(not record.get("same") for record in records):
            entry["result"] += ", pixels differ"
        if not entry["result"].startswith("clean") or entry["result"].endswith("differ"):
            found["ok"] = False
            session.say(f"{tool}: {ended.tail(25)}")
        found["tools"][tool] = entry
        session.say(f"{tool}: {entry}")
    return found
