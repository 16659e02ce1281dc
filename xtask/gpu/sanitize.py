"""compute-sanitizer over a small selection of the corpus and of what is written: memcheck, initcheck, synccheck, racecheck.

A few files of every codec with a kernel, tiled and in strips, and some hostile ones, go through device_check, which
also compares the pixels; small rasters of every codec through write_check, which compares the files with the CPU's. Races
are allowed where races.txt says so and nowhere else.
"""
import concurrent.futures
import json
import re
import shutil
from pathlib import Path

import corpus
from session import Ended, Session

TOOLS = ("memcheck", "initcheck", "synccheck", "racecheck")
SUMMARY = re.compile(r"========= (?:ERROR|RACECHECK) SUMMARY: (\d+)")
PER_KIND = 2
HOSTILE = 12
LARGEST = 60_000
# Seconds for a tool over one program. All of them run at once: each uses one core, and the device little.
LIMIT = 240
CLEAN = ("clean", "clean but for allowed races")
# Of `write_check --small`: every codec; predictors 2 and 3, several bands, planes, masks' bits, sparse blocks, overviews.
WRITE_CASES = (
    "uint16_deflate_tiles", "float32_deflate_pixels", "uint8_deflate_cog", "float32_zstd_tiles", "uint8_zstd_strips",
    "uint16_lzw_pixels", "uint8_packbits_strips", "uint16_lz4_tiles", "int32_none_cog",
)
# Tests of steps over pixels on the device (warps, masks, resampling), which reading the corpus does not reach; memcheck alone.
STEPS = ("strile-onto", "strile-cuda-conformance")
RACE_CASES = (
    "uint8_deflate_tiles", "uint8_zstd_tiles", "uint8_lzw_tiles", "uint8_packbits_tiles", "uint8_lz4_tiles",
)


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


def judge(session: Session, tool: str, ended: Ended, allowed: list[re.Pattern], wrong_records: str) -> dict:
    """What a tool said of one program; `wrong_records` is what the program itself found wrong, or nothing."""
    summary = SUMMARY.search(ended.output)
    entry: dict = {"seconds": round(ended.seconds, 1)}
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
    if wrong_records:
        entry["result"] += f", {wrong_records}"
    return entry


def write_command(program: Path, folder: Path, tool: str) -> list:
    # Every CUDA block that racecheck looks at costs it much: one type, and of the ways to cut a block the usual ones.
    cases = RACE_CASES if tool == "racecheck" else WRITE_CASES
    return [program, folder, "--small", *cases]


def run(session: Session) -> dict:
    sanitizer, program = shutil.which("compute-sanitizer"), session.program("device_check")
    writer, folder = session.program("write_check"), corpus.unpack(session)
    if sanitizer is None or program is None or writer is None or folder is None:
        return {"ok": False, "why": "no compute-sanitizer here, or the bundle lacks device_check, write_check or the corpus"}
    chosen = session.work / "sanitize"
    listed = json.loads((session.carry / "corpus" / "list.json").read_text())
    found: dict = {"ok": True, "files": choose(listed, folder, chosen), "tools": {}, "writing": {}}
    allowed = allowed_races(session.root)
    lines = program.parent.parent / "lines"

    def command(tool: str, what: str) -> list:
        head = [sanitizer, "--tool", tool, "--print-limit", "2000", "--error-exitcode", "77"]
        if what == "reading":
            return [*head, program, chosen]
        return [*head, *write_command(writer, session.work / f"sanitize_{tool}", tool)]

    def checked(tool: str, what: str) -> Ended:
        # Races are allowed by line, so there the kernels have line tables; elsewhere they are those that are shipped.
        env = {"STRILE_KERNELS": str(lines)} if tool == "racecheck" else None
        return session.run(command(tool, what), LIMIT, env, keep=2_000_000)

    def stepped(binary: Path) -> Ended:
        binary.chmod(0o755)
        head = [sanitizer, "--tool", "memcheck", "--error-exitcode", "77"]
        return session.run([*head, binary], LIMIT, {"STRILE_REQUIRE_GPU": "1"}, keep=200_000)

    steps = [path for path in (program.parent.parent / "tests" / name for name in STEPS) if path.is_file()]
    with concurrent.futures.ThreadPoolExecutor(2 * len(TOOLS) + len(STEPS)) as pool:
        of_steps = {path.name: pool.submit(stepped, path) for path in steps}
        runs = {(tool, what): pool.submit(checked, tool, what) for tool in TOOLS for what in ("reading", "writing")}
    for (tool, what), run_of in runs.items():
        ended = run_of.result()
        records = corpus.records(ended.output)
        if what == "reading":
            wrong = "pixels differ" if any(not record.get("same") for record in records) else ""
            entry = {"files": len(records)} | judge(session, tool, ended, allowed, wrong)
            found["tools"][tool] = entry
        else:
            cases = [record for record in records if "case" in record]
            failed = [case["case"] for case in cases if not case.get("ok")] if cases else ["no case"]
            wrong = f"wrong: {', '.join(failed)[:200]}" if failed else ""
            entry = {"cases": len(cases)} | judge(session, tool, ended, allowed, wrong)
            found["writing"][tool] = entry
        if entry["result"] not in CLEAN:
            found["ok"] = False
            session.say(f"{tool}, {what}: {ended.tail(25)}")
        session.say(f"{tool}, {what}: {entry}")
    for name, run_of in of_steps.items():
        entry = judge(session, "memcheck", run_of.result(), allowed, "" if run_of.result().well else "tests failed")
        found.setdefault("steps", {})[name] = entry
        found["ok"] &= entry["result"] in CLEAN
        session.say(f"memcheck, {name}: {entry}")
    return found
