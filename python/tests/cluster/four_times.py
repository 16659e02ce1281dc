"""Run by `test_limits.py`, and by hand at full size: a raster of four times the memory of a worker is read,
changed and written as COG by four processes. Prints what it took as JSON.

    python four_times.py FOLDER [BYTES_FOR_A_WORKER]

The limit of a worker is what an idle one takes and BYTES_FOR_A_WORKER (64 MiB) beside it; the raster has four
times those bytes. A worker beyond its limit is killed, and nothing is spilled.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from typing import Any

import dask
import distributed
import numpy as np
import strile

CHUNK = 512
LAYOUT: dict[str, Any] = {"cog": True, "compression": "none", "tile_size": CHUNK}


def changed(block: np.ndarray) -> np.ndarray:
    return block * np.float32(2)


def peak(reset: bool = False) -> int:
    """The most memory this process has had; from now on with `reset`."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def pixels(block_info: Any = None) -> np.ndarray:
    """A chunk of a raster that is never whole."""
    (top, bottom), (left, right) = block_info[None]["array-location"]
    line = (np.arange(left, right) // 64).astype(np.float32)
    return line + (np.arange(top, bottom, dtype=np.float32) // 64)[:, None]


def raster(rows: int, columns: int) -> Any:
    import dask.array as da

    chunks = [(CHUNK,) * (side // CHUNK) for side in (rows, columns)]
    return da.map_blocks(pixels, chunks=tuple(chunks), dtype="f4")


def work(source: str, target: str, buffer: int) -> None:
    array = strile.open_geotiff(source, chunks=CHUNK)
    array = array.copy(data=array.data.map_blocks(changed, dtype="f4"))
    strile.to_geotiff(array, target, **LAYOUT, streaming_buffer_bytes=buffer, cluster=True)


def cluster(limit: int, workers: int = 4) -> Any:
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=limit
    )


def main(folder: str, room: int) -> dict[str, Any]:
    columns = 4096 if room <= 64 << 20 else 32768
    rows = 4 * room // 4 // columns // CHUNK * CHUNK
    small, large, target = (os.path.join(folder, f"{name}.tif") for name in ("small", "large", "target"))
    local = {"compression": "none", "tile_size": CHUNK, "streaming_buffer_bytes": 32 << 20}
    strile.to_geotiff(raster(2048, 2048), small, **local)
    strile.to_geotiff(raster(rows, columns), large, **local)
    killing = {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause")}
    with dask.config.set({**killing, "distributed.worker.memory.terminate": 0.98}):
        with cluster(0, workers=1) as found, distributed.Client(found) as client:
            # What is loaded once, code and thread stacks, is not what the raster takes.
            work(small, target, 8 << 20)
            idle = max(client.run(peak).values())
        limit = idle + room
        with cluster(limit) as found, distributed.Client(found) as client:
            begin = time.monotonic()
            work(large, target, room // 8)
            seconds = time.monotonic() - begin
            most = max(client.run(peak).values())
            alive = len(client.scheduler_info()["workers"])
    with open(target, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with dask.config.set(num_workers=2):
        lazy = strile.open_geotiff(large, chunks=CHUNK)
        lazy = lazy.copy(data=lazy.data.map_blocks(changed, dtype="f4"))
        strile.to_geotiff(lazy, target + "-local.tif", **LAYOUT, cluster=False)
    with open(target + "-local.tif", "rb") as file:
        local_digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "bytes": rows * columns * 4,
        "limit": limit,
        "idle": idle,
        "most": most,
        "workers": alive,
        "seconds": round(seconds, 1),
        "same": digest == local_digest,
        "left": sorted(os.listdir(folder)),
    }


if __name__ == "__main__":
    room = int(sys.argv[2]) if len(sys.argv) > 2 else 64 << 20
    print(json.dumps(main(sys.argv[1], room)))
