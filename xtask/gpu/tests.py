"""The test binaries of the bundle, with STRILE_REQUIRE_GPU=1: what is skipped without a device fails here."""
import re

from session import Session

RESULT = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed")
FAILED = re.compile(r"^test (\S+) \.\.\. FAILED", re.MULTILINE)


def run(session: Session) -> dict:
    binaries = sorted((session.programs() / "tests").glob("*"))
    found = {"ok": bool(binaries), "passed": 0, "failed": 0, "names": [], "seconds": {}}
    if not binaries:
        found["why"] = "the bundle has no test binary"
    for binary in binaries:
        binary.chmod(0o755)
        ended = session.run([binary, "--color", "never"], 240, {"STRILE_REQUIRE_GPU": "1", "RUST_BACKTRACE": "1"})
        # The last: a test may run others in a process of its own.
        counts = next(iter(reversed(list(RESULT.finditer(ended.output)))), None)
        found["seconds"][binary.name] = round(ended.seconds, 1)
        if counts is None:
            found["ok"] = False
            found["names"].append(f"{binary.name}: no result ({'out of time' if ended.code is None else ended.code})")
            session.say(f"{binary.name}: {ended.tail()}")
            continue
        found["passed"] += int(counts[1])
        found["failed"] += int(counts[2])
        found["names"] += [f"{binary.name}: {name}" for name in FAILED.findall(ended.output)]
        if not ended.well:
            found["ok"] = False
            session.say(f"{binary.name}: {ended.tail(30)}")
    session.say(f"tests: {found['passed']} passed, {found['failed']} failed {found['seconds']}")
    return found
