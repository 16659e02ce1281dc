"""Measures what `simulate.py` cannot take from docs/bench: what a task costs the scheduler, and what putting the file
together costs. Prints JSON; kept in `measured.json`.

    python docs/scale/measure.py > docs/scale/measured.json

Seconds are of the processor, not of the clock, so that a machine with other work on it tells the same.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from typing import Any

import distributed
import numpy as np
import strile
from strile import _core

TILE = 256
PART = 2048


def memory() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


def pixels(block_info: Any = None) -> np.ndarray:
    (top, bottom), (left, right) = block_info[None]["array-location"]
    return np.add.outer(np.arange(top, bottom), np.arange(left, right)).astype(np.uint8)


def scheduler() -> dict[str, float]:
    """A write of many small parts: what the process of scheduler and client takes, for each task of the graph."""
    import dask.array as da

    def write(folder: str, across: int) -> tuple[float, int, int]:
        lazy = da.map_blocks(pixels, chunks=((64,) * across,) * 2, dtype="u1")
        before, room = time.process_time(), memory()
        # Parts of one chunk: 64 by 64 pixels, 16 blocks.
        strile.to_geotiff(
            lazy, os.path.join(folder, "a.tif"), cog=True, tile_size=16, compression="none", cluster=True,
            streaming_buffer_bytes=1,
        )  # fmt: skip
        # Made and encoded; tiers above have 1/64, 1/4096 … of the parts.
        return time.process_time() - before, memory() - room, across * across * 2

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster), tempfile.TemporaryDirectory() as folder:
        write(folder, 8)
        small, large = write(folder, 16), write(folder, 48)
    tasks = large[2] - small[2]
    return {
        "seconds_of_scheduler_and_client_for_a_task": round((large[0] - small[0]) / tasks, 6),
        "bytes_of_scheduler_and_client_for_a_task": round(max(large[1], 0) / large[2]),
        "tasks": large[2],
    }


def finisher() -> dict[str, float]:
    """Parts of uncompressed tiles in files, in the page cache, put together to a file beside them."""
    side = 8 * PART
    raster = {"width": side, "height": side, "bands": 1, "dtype": "uint8"}
    options = {"format": "cog", "compression": "none", "tile": (TILE, TILE), "overviews": "none", "encode_on": "cpu"}
    parts = _core.Parts(raster, options, (PART, PART))
    chunk = np.add.outer(np.arange(PART), np.arange(PART)).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        done = []
        for row in range(8):
            for column in range(8):
                path = os.path.join(folder, f"{row}-{column}")
                writer = parts.encode(0, row, column, path=path)
                writer.write(chunk, row * PART, column * PART, axes="yx")
                done.append((0, row, column, writer.finish()["index"], path))
        assembly = parts.assemble(os.path.join(folder, "a.tif"))
        for part in done:
            assembly.add(*part)
        begin, clock = time.process_time(), time.monotonic()
        report = assembly.lay_out()
        seconds, wall = time.process_time() - begin, time.monotonic() - clock
        assembly.abort()
    return {
        "finisher_gb_per_second_of_processor": round(report["file_len"] / seconds / 1e9, 2),
        "finisher_gb_per_second_by_the_clock": round(report["file_len"] / wall / 1e9, 2),
        "bytes_of_index_for_a_block": 36,
    }


if __name__ == "__main__":
    figures = {**scheduler(), **finisher()}
    figures["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps(figures, indent=2))
