"""Kernels alone, device to device: carry/bin/kernel_bench makes its own rasters and compares every result."""
from session import Session


def run(session: Session) -> dict:
    program = session.program("kernel_bench")
    if program is None:
        return {"ok": False, "why": "the bundle has no kernel_bench"}
    ended = session.run([program], 120)
    session.say(ended.tail(60))
    return {"ok": ended.well, "lines": ended.output.strip().splitlines()[-60:]}
