"""Trusted files by nvCOMP through our engine, by each version among the peers: every pixel as on the CPU, and how fast.

Wants what bench wants: the peers unpacked and the rasters made. A version that is not there is left out, aloud.
"""
import json

import bench
import corpus
import peer_programs
import peers
from session import Session

VERSIONS = {"six": "nvCOMP 6.", "five": "nvCOMP 5."}


def rasters(session: Session) -> list[dict]:
    """Those of the benchmark that nvCOMP decodes, made where they were not."""
    try:
        meta = json.loads((session.work / "rasters/meta.json").read_text())
    except (OSError, ValueError):
        meta = bench.prepare(session)
    return [row for row in meta if row["codec"] in ("deflate", "zstd")]


def decode_rates(session: Session, rows: list[dict], how: list[str], env: dict) -> dict:
    """GB/s of decompression, a launch a file, every pixel compared; by file."""
    program = session.program("kernel_bench")
    ended = session.run([program, "--json", "--runs", 3, *how, *[row["path"] for row in rows]], 90, env)
    if not ended.well:
        session.say(f"kernel_bench {how}: {ended.tail(3)}")
    return {line["name"]: line["decode_gb_s"] for line in peer_programs.records(ended) if "decode_gb_s" in line}


def by(session: Session, folder: str, begins: str) -> dict | None:
    """What one version does; None where it is not there."""
    library = session.work / "peers" / folder / "nvidia/libnvcomp/lib64"
    if not library.is_dir():
        session.say(f"left out: no {begins[:-1]} among the peers")
        return None
    env = {**peers.environment(session, folder), "STRILE_REQUIRE_GPU": "1"}
    binary = session.programs() / "tests/strile-cuda-nvcomp"
    binary.chmod(0o755)
    ended = session.run([binary, "pixels_by_nvcomp_itself", "--exact", "--nocapture"], 60, env)
    found = {"test": ended.well and begins in ended.output}
    if not found["test"]:
        session.say(f"{begins[:-1]}: {ended.tail(8)}")
    # The older one is not timed: a few files tell whether it is called rightly.
    meta = rasters(session)[: None if folder == "six" else 4]
    ended = session.run([session.program("device_check"), "--nvcomp", "1", *[row["path"] for row in meta]], 150, env)
    lines = corpus.records(ended.output)
    found["files"] = len(lines)
    found["same"] = sum(bool(line.get("same")) for line in lines)
    found["host_blocks"] = sum(line.get("host_blocks", 0) for line in lines)
    found["ok"] = found["test"] and ended.well and found["same"] == len(meta) > 0
    if folder == "six":
        found["decode_gb_s"] = decode_rates(session, meta, ["--nvcomp"], env)
        found["own_gb_s"] = decode_rates(session, meta, [], env)
    session.say(f"{begins[:-1]}: {json.dumps(found)}")
    return found


def run(session: Session) -> dict:
    found = {folder: by(session, folder, begins) for folder, begins in VERSIONS.items()}
    return {"ok": all(one["ok"] for one in found.values() if one), **found}
