"""A process that forks while threads read: parent and child both go on, with right pixels."""
from __future__ import annotations

import numpy as np
from bench import Bench

SCRIPT = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import strile, xarray
path, pixels = sys.argv[1], np.load(sys.argv[2])
stop, reads, wrong = threading.Event(), [0], []
def same(found):
    return np.array_equal(np.asarray(found).reshape(pixels.shape), pixels)
def reader():
    while not stop.is_set():
        if not same(strile.read(path)):
            wrong.append("a thread of the parent")
        reads[0] += 1
workers = [threading.Thread(target=reader) for _ in range(2)]
for worker in workers:
    worker.start()
while reads[0] < 4:
    time.sleep(0.01)
codes = []
for turn in range(8):
    child = os.fork()
    if child == 0:
        ok = same(strile.read(path)) and same(strile.open_geotiff(path).values) and same(strile.read_batch([path], windows=[(0, 0, 0, 700, 600)]))
        os._exit(0 if ok else 3)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
before = reads[0]
while reads[0] < before + 4:
    time.sleep(0.01)
stop.set()
for worker in workers:
    worker.join()
print(codes, wrong)
sys.exit(0 if not any(codes) and not wrong else 1)
"""


def fork(bench: Bench) -> None:
    """Eight forks, each child reading through three doors."""
    path, pixels = bench.raster("deflate")
    saved = path.with_suffix(".npy")
    np.save(saved, pixels)
    done = bench.python(SCRIPT, path, saved, limit=60)
    assert done.code == 0, f"{done.code}: {done.out.decode()} {done.err[-400:]}"


CASES = {"fork/reading": fork}
