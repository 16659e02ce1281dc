"""Run by `test_limits.py`: how much the scheduler's process grows while a raster of many blocks is written.
Prints it as JSON. The scheduler is in the client's process, so what the client takes counts too.

    python scheduler_memory.py FOLDER [BLOCKS_ACROSS]
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import distributed
import numpy as np
import strile
from four_times import peak

TILE = 16


def pixels(block_info: Any = None) -> np.ndarray:
    (top, bottom), (left, right) = block_info[None]["array-location"]
    return np.add.outer(np.arange(top, bottom), np.arange(left, right)).astype(np.uint8)


def write(path: str, across: int) -> int:
    """Blocks that were written."""
    import dask.array as da

    side = across * TILE
    sizes = (256,) * (side // 256) + ((side % 256,) if side % 256 else ())
    lazy = da.map_blocks(pixels, chunks=(sizes, sizes), dtype="u1")
    blocks = [0]
    strile.to_geotiff(
        lazy,
        path,
        cog=True,
        compression="deflate",
        tile_size=TILE,
        cluster=True,
        streaming_buffer_bytes=1 << 19,
        progress=lambda _, total: blocks.__setitem__(0, total),
    )
    return blocks[0]


def main(folder: str, across: int) -> dict[str, Any]:
    path = os.path.join(folder, "target.tif")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster):
        write(path, 24)
        before = peak(reset=True)
        blocks = write(path, across)
        grown = peak() - before
    return {"blocks": blocks, "grown": grown, "per_10000": grown * 10_000 // blocks}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120)))
