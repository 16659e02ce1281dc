"""A peer that waits for arrays to write: `peer_writer.py PEER THREADS`, requests and answers as JSON lines.

Request: {"npy": PATH, "target": PATH, "codec": …, "predictor": 1, 2 or 3, "tile": N, "repeat": N}. Answer: {"seconds":
[…] of all writes but a first one that is not counted, "bytes": of the file} or {"error": …}. Outside the timer: the
array on its way to the peer's memory. Inside: everything up to the closed file.

PEERs: xarray-spatial (from a CuPy array, its GPU writer), gdal (from a NumPy array, with that many threads).
"""
import json
import os
import sys
import time
import warnings

warnings.simplefilter("ignore")
import numpy as np

np.row_stack = np.vstack  # gone from NumPy 2.5; some versions of numba still call it


def xarray_spatial(_threads: str):
    import cupy as cp
    import xarray
    import xrspatial.geotiff._gpu_decode as decode
    from xrspatial.geotiff import to_geotiff

    print(json.dumps({"note": f"nvCOMP found: {decode._get_nvcomp() is not None}"}), flush=True)

    def load(path: str):
        pixels = cp.asarray(np.load(path))
        dims = ("y", "x") if pixels.ndim == 2 else ("y", "x", "band")
        pixels = pixels if pixels.ndim == 2 else cp.ascontiguousarray(cp.moveaxis(pixels, 0, -1))
        rows, columns = pixels.shape[:2]
        places = {"y": np.arange(rows)[::-1] * 10.0 + 5, "x": np.arange(columns) * 10.0 + 5}
        cp.cuda.Device().synchronize()
        return xarray.DataArray(pixels, dims=dims, coords=places, attrs={"crs": 4326})

    def write(array, request: dict) -> None:
        predictor = request["predictor"] if request["predictor"] > 1 and request["codec"] != "none" else False
        to_geotiff(
            array, request["target"], compression=request["codec"], predictor=predictor, tile_size=request["tile"], gpu=True,
        )
        cp.cuda.Device().synchronize()

    return load, write


def gdal(threads: str):
    import rasterio
    from rasterio.transform import from_origin

    def load(path: str):
        pixels = np.load(path)
        return pixels[None] if pixels.ndim == 2 else pixels

    def write(array, request: dict) -> None:
        bands, rows, columns = array.shape
        options = {"compress": request["codec"]} if request["codec"] != "none" else {}
        if options and request["predictor"] > 1:
            options["predictor"] = request["predictor"]
        if request["codec"] == "deflate":
            options["zlevel"] = 6
        with rasterio.open(
            request["target"], "w", driver="GTiff", width=columns, height=rows, count=bands, dtype=array.dtype.name,
            tiled=True, blockxsize=request["tile"], blockysize=request["tile"], interleave="pixel", BIGTIFF="IF_SAFER",
            NUM_THREADS=threads, crs="EPSG:32633", transform=from_origin(4e5, 5e6, 10, 10), **options,
        ) as target:
            target.write(array)

    return load, write


def main() -> None:
    peer, threads = sys.argv[1], sys.argv[2]
    try:
        load, write = {"xarray-spatial": xarray_spatial, "gdal": gdal}[peer](threads)
    except Exception as reason:
        print(json.dumps({"error": f"{type(reason).__name__}: {reason}"[:300]}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    held: tuple = (None, None)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if held[0] != request["npy"]:
                held = (None, None)  # one array at a time
                held = (request["npy"], load(request["npy"]))
            times = []
            for _ in range(request["repeat"] + 1):
                if os.path.exists(request["target"]):
                    os.remove(request["target"])
                start = time.perf_counter()
                write(held[1], request)
                times.append(time.perf_counter() - start)
            reply = {"seconds": times[1:], "bytes": os.path.getsize(request["target"])}
        except Exception as reason:
            reply = {"error": f"{type(reason).__name__}: {reason}"[:300]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
