"""Fuzzing on the GPU: damaged streams of all codecs with kernels, decoded by the GPU and by the CPU in one process.

Both engines must report the same faults and the same pixels. Several processes share the device. `fuzz.json` has the sums;
`cargo xtask fuzz --add FILE` adds them to those of the repository, and `cargo xtask fuzz --table` writes the table.
"""
import json
import tomllib

from session import Session

SECONDS = 420
MARGIN = 40
# One per codec.
PROCESSES = 7


def run(session: Session) -> dict:
    program = session.program("fuzz")
    if program is None:
        return {"ok": False, "why": "the bundle has no fuzz"}
    seconds = int(min(SECONDS, session.left() - MARGIN))
    if seconds < 30:
        return {"ok": False, "why": f"{session.left():.0f} s were left"}
    sums = session.out / "fuzz.json"
    words = ["devices", "--seconds", seconds, "--jobs", PROCESSES, "--sums", sums, "--keep", session.out / "fuzz-failures"]
    commit = tomllib.loads((session.carry / "bundle.toml").read_text())["revision"][:12]
    ended = session.run([program, *words, "--commit", commit], seconds + MARGIN, {"STRILE_REQUIRE_GPU": "1"})
    session.say(ended.tail(14))
    failed = [line for line in ended.output.splitlines() if line.startswith("failed: ")]
    try:
        found = json.loads(sums.read_text())
    except (OSError, ValueError) as reason:
        return {"ok": False, "why": f"no result ({ended.code}): {reason}"}
    executions = {name: target["executions"] for name, target in found["targets"].items()}
    ok = ended.well and not failed
    return {"ok": ok, "seconds": seconds, "executions": executions, "names": failed[:10], **({} if ok else {"why": f"exit {ended.code}"})}
