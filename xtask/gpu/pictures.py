"""JPEG 2000, HTJ2K and JPEG tiles beside the peers, on the files of make_pictures.py.

Rounds alternate on one machine. Ours: whole reads from the page cache to an array on the device (`bench`), and
the same on the CPU; every file also by both engines, compared by `device_check`, and the lossless ones against the
pixels that were encoded. Peers: nvJPEG2000 with 8 states (1 in the first round too), streams in host memory to a pool
on the device; OpenJPEG and OpenJPH on 16 threads (pixels stay on the host); GDAL with 16 threads and CuPy's upload for
JPEG; nvJPEG, one batch, by the GPU and by the hardware's decoders. Figures are GB/s of pixels, medians over the rounds.
"""
import json
import statistics
import sys
from pathlib import Path

import corpus
import peer_programs
import peers
from session import Session

ROUNDS = 2
REPEAT = 3
STATES = (1, 8)
BACKENDS = {"nvjpeg": 2, "nvjpeg_hardware": 3}


def prepare(session: Session) -> list[dict]:
    scripts, folder = Path(__file__).parent, session.work / "pictures"
    words = [sys.executable, scripts / "make_pictures.py", folder]
    session.say(session.run(words, 150, peers.environment(session, "six")).tail(12))
    try:
        return json.loads((folder / "meta.json").read_text())
    except (OSError, ValueError):
        return []


def strile_round(session: Session, rows: dict[str, dict], device: str, found: dict) -> None:
    to = ["--to", "device"] if device.startswith("cuda") else []
    words = [session.program("bench"), "--decode-on", device, *to, "--repeat", REPEAT, "--json", *rows]
    ended = session.run(words, 180)
    try:
        results = json.loads(ended.output[ended.output.find("{") :])["results"]
    except (ValueError, KeyError, TypeError):
        found["names"].append(f"bench --decode-on {device}: {ended.tail(3)}")
        return
    key = "strile" if to else "strile_cpu"
    for result in results:
        row = rows[result["file"]]
        row[key].append(result["seconds"])
        if to:
            row["stages"] = result.get("stages")
            row["host_blocks"] = result.get("host_blocks")


def vendor_round(session: Session, program: Path | None, rows: dict[str, dict], first: bool, found: dict) -> None:
    if program is None:
        return
    environment = peers.environment(session, "six")
    libraries = session.work / "peers/pictures/nvidia"
    paths = [str(libraries / "nvjpeg2k/lib"), str(libraries / "cu13/lib"), environment["LD_LIBRARY_PATH"]]
    environment["LD_LIBRARY_PATH"] = ":".join(paths)
    for path, row in rows.items():
        shape = [row["tile"], row["tile"], row["bands"]]
        if row["codec"] == "jpeg2000":
            hows = {f"nvjpeg2000_{n}": [*shape, row["sample"], n] for n in (STATES if first else STATES[-1:])}
        elif row.get("whole"):
            hows = {name: [*shape, backend] for name, backend in BACKENDS.items()}
        else:
            continue
        for name, words in hows.items():
            if session.left() < 40 or name in row["gone"]:
                continue
            ended = session.run([program, row["codec"], path, *words], 90, environment)
            answers = peer_programs.records(ended)
            if answers and "seconds" in answers[-1]:
                row.setdefault(name, []).append(answers[-1]["seconds"])
            else:
                row["gone"].append(name)
                row["notes"].append(f"{name}: {answers[-1]['error'] if answers else ended.tail(1)}"[:160])


def cores_round(session: Session, rows: dict[str, dict]) -> None:
    script = Path(__file__).with_name("peer_pictures.py")
    for path, row in rows.items():
        if row["codec"] != "jpeg2000" or session.left() < 40:
            continue
        codec = "ht" if row["name"].startswith("ht") else "jpeg2000"
        words = [sys.executable, script, path, codec, peers.THREADS, 2]
        answers = peer_programs.records(session.run(words, 90, peers.environment(session, "six")))
        if answers:
            row.setdefault("cores", []).append(answers[-1]["seconds"])


def gdal_round(reader: peers.Peer, rows: dict[str, dict]) -> None:
    for path, row in rows.items():
        if row["codec"] == "jpeg":
            reply = reader.ask(path, REPEAT, None)
            if "seconds" in reply:
                row.setdefault("gdal", []).append(reply["seconds"])
            elif reply["error"][:120] not in str(row["notes"]):
                row["notes"].append(f"gdal: {reply['error'][:120]}")


def compare(session: Session, folder: Path, count: int, found: dict) -> None:
    """Both engines on every file; lossless ones against what was encoded."""
    program = session.program("device_check")
    if program is None:
        found["names"].append("the bundle has no device_check: pixels not compared")
        return
    ended = session.run([program, folder], 150)
    lines = corpus.records(ended.output)
    differ = [f"{Path(line['file']).name}: {line.get('cuda')}" for line in lines if not line.get("same")]
    if len(lines) != count or differ or not ended.well:
        found["names"].append(f"{len(lines)} of {count} pictures compared, {len(differ)} differ: {differ[:3]} {ended.tail(1)}")
    found["compared"] = len(lines)


KEYS = ("strile", "strile_cpu", "nvjpeg2000_1", "nvjpeg2000_8", "cores", "gdal", *BACKENDS)


def figure(row: dict) -> dict:
    def rate(key: str) -> float | None:
        times = row.get(key)
        return round(row["decoded"] / statistics.median(times) / 1e9, 4) if times else None

    rates = {key: rate(key) for key in KEYS}
    stages = {key: round(seconds * 1e3, 2) for key, seconds in (row.get("stages") or {}).items() if seconds}
    return {
        "file": row["name"], "tiles": row["tiles"], "ratio": round(row["decoded"] / row["encoded"], 2), **rates,
        "stage_ms": stages, "host_blocks": row.get("host_blocks"), "notes": row["notes"],
    }


def run(session: Session) -> dict:
    meta = prepare(session)
    if not meta or session.program("bench") is None:
        return {"ok": False, "why": "carry/bin/bench or the pictures are missing"}
    found: dict = {"ok": True, "names": []}
    rows = {m["path"]: {**m, "strile": [], "strile_cpu": [], "notes": [], "gone": []} for m in meta}
    compare(session, session.work / "pictures", len(meta), found)
    program = peer_programs.build_pictures(session)
    reader = peers.Peer(session, "gdal")
    rounds = session.rounds(ROUNDS)
    for number in range(rounds):
        strile_round(session, rows, "cuda:0", found)
        vendor_round(session, program, rows, number == 0, found)
        cores_round(session, rows)
        gdal_round(reader, rows)
        if number == 0:
            strile_round(session, rows, "cpu", found)
        session.say(f"round {number + 1} of {rounds}, {session.left():.0f} s left")
    reader.close()
    found["figures"] = [figure(row) for row in rows.values()]
    for row in found["figures"]:
        session.say(json.dumps(row))
    (session.out / "pictures.json").write_text(json.dumps(found["figures"], indent=1))
    found["ok"] = not found["names"] and all(row["strile"] for row in found["figures"])
    return found
