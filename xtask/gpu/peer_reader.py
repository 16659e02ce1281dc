"""A peer that waits for files: `peer_reader.py PEER THREADS`, requests and answers as JSON lines.

Request: {"path": …, "repeat": N, "npy": PATH or null}. Answer: {"seconds": best of N, "first": of the first read,
"same": whether the pixels equal the array of PATH, or null} or {"error": …}. Inside the timer: opening the file and
everything up to the array on the device, all work on the device done.

PEERs: xarray-spatial (its GPU reader, no silent way to the CPU), gdal (LIBERTIFF driver, then CuPy's upload), gdal-host (without the upload), and our
own Python package as strile-python, timed as they are.
"""
import json
import sys
import time
import warnings

warnings.simplefilter("ignore")
import numpy as np

np.row_stack = np.vstack  # gone from NumPy 2.5; some versions of numba still call it
import cupy as cp


def xarray_spatial():
    import xrspatial.geotiff._gpu_decode as decode
    from xrspatial.geotiff import open_geotiff

    print(json.dumps({"note": f"nvCOMP found: {decode._get_nvcomp() is not None}"}), flush=True)
    return lambda path: open_geotiff(path, gpu=True, on_gpu_failure="strict").data


def gdal(threads: str, to=cp.asarray):
    import rasterio

    def read(path: str):
        with rasterio.open(path, driver="LIBERTIFF", NUM_THREADS=threads) as dataset:
            return to(dataset.read())

    return read


def strile_python():
    import strile

    return lambda path: cp.from_dlpack(strile.read(path, device="cuda:0"))


READERS = {"xarray-spatial": xarray_spatial, "strile-python": strile_python}


def bands_first(array):
    if array.ndim == 3 and array.shape[0] == 1:
        return array[0]
    return cp.moveaxis(array, -1, 0) if array.ndim == 3 and array.shape[-1] == 3 else array


def answer(read, request: dict) -> dict:
    times = []
    same = None
    for number in range(request["repeat"]):
        start = time.perf_counter()
        array = read(request["path"])
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
        if number == 0 and request.get("npy"):
            expected = cp.asarray(np.load(request["npy"]))
            found = bands_first(array)
            same = found.shape == expected.shape and bool((found == expected).all())
            del expected, found
        del array
    return {"seconds": min(times), "first": times[0], "same": same}


def main() -> None:
    peer, threads = sys.argv[1], sys.argv[2]
    try:
        read = READERS[peer]() if peer in READERS else gdal(threads, np.asarray if peer == "gdal-host" else cp.asarray)
    except Exception as reason:
        print(json.dumps({"error": f"{type(reason).__name__}: {reason}"[:300]}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        try:
            reply = answer(read, json.loads(line))
        except Exception as reason:
            reply = {"error": f"{type(reason).__name__}: {reason}"[:300]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
