"""Encoded blocks from the device back to the host: 256 blocks of 40 KiB, one by one against all at once.

In a process with CuPy: the loop of `.get()` per block, and a concatenation with one `.get()`. Ours:
carry/bin/gather_bench, which prints one JSON line with `loop_us` (a copy a block) and `gather_us` (one gather, one
copy), medians.
"""
import json
import sys

from session import Session

CUPY = r"""
import json, statistics, time
import cupy as cp, numpy as np
n, size = 256, 40 * 1024
rng = np.random.default_rng(1)
blocks = [cp.asarray(rng.integers(0, 256, size, dtype=np.uint8)) for _ in range(n)]
def loop():
    return [block.get().tobytes() for block in blocks]
def batched():
    host = cp.concatenate(blocks).get().tobytes()
    return [host[i * size:(i + 1) * size] for i in range(n)]
assert loop() == batched()
def median_us(work):
    times = []
    for _ in range(32):
        cp.cuda.Device().synchronize()
        start = time.perf_counter(); work(); times.append(time.perf_counter() - start)
    return statistics.median(times[2:]) * 1e6
big = 1 << 30
a, b = cp.empty(big, cp.uint8), cp.empty(big, cp.uint8)
pinned = np.frombuffer(cp.cuda.alloc_pinned_memory(big >> 2), np.uint8, big >> 2)
part = a[: big >> 2]
def copy_device():
    cp.copyto(b, a); cp.cuda.Device().synchronize()
def copy_up():
    part.set(pinned); cp.cuda.Device().synchronize()
device, up = median_us(copy_device), median_us(copy_up)
print(json.dumps({"loop_us": median_us(loop), "batched_us": median_us(batched),
    "device_copy_gb_s": 2 * big / device / 1e3, "pinned_upload_gb_s": (big >> 2) / up / 1e3}))
"""


def last_json(text: str) -> dict:
    for line in reversed(text.strip().splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                break
    return {}


def run(session: Session) -> dict:
    cupy = session.run([sys.executable, "-c", CUPY], 60)
    found: dict = {"ok": True, "cupy": last_json(cupy.output)}
    if not found["cupy"]:
        session.say(f"CuPy: {cupy.tail(4)}")
    program = session.program("gather_bench")
    if program is None:
        found |= {"ok": False, "why": "the bundle has no gather_bench"}
    else:
        ended = session.run([program], 60)
        found["strile"] = last_json(ended.output)
        ours = found["strile"].get("gather_us")
        if not ended.well or not ours:
            found |= {"ok": False, "why": f"gather_bench: {ended.tail(4)}"}
        else:
            found["times_own_loop"] = round(found["strile"].get("loop_us", 0) / ours, 2)
            if loop := found["cupy"].get("loop_us"):
                found["times_cupy_loop"] = round(loop / ours, 2)
            if found["times_own_loop"] < 3:
                found |= {"ok": False, "why": f"{found['times_own_loop']} times the loop, 3 wanted"}
    session.say(f"gather: {json.dumps(found)}")
    return found
