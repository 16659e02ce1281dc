"""`python_reader.py REPEAT FILE…`: a JSON line a file: best seconds of `strile.read` and of `strile.open_geotiff(gpu=True)`.

Inside the timer: opening the file and everything up to the array on the device. One read of each before, uncounted.
"""
import json
import sys
import time
import warnings

import cupy as cp
import strile

warnings.simplefilter("ignore")


def best(call, repeat: int) -> float:
    seconds = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        array = call()
        cp.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - start)
        del array
    return min(seconds[1:])


for path in sys.argv[2:]:
    repeat = int(sys.argv[1])
    read = best(lambda: cp.from_dlpack(strile.read(path, device="cuda:0")), repeat)
    opened = best(lambda: strile.open_geotiff(path, gpu=True, on_gpu_failure="strict").data, repeat)
    print(json.dumps({"file": path, "read": read, "open_geotiff": opened}), flush=True)
