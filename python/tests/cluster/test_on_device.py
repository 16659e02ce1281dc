"""Workers that encode on a GPU, on the stand-in for the CUDA driver: `STRILE_STANDIN` is its folder, which `cargo run -p
strile-emulate --example standin` prints. Real GPUs have tests of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")

PROGRAM = """
import logging, os, sys
import dask.array as da
import distributed
import numpy as np
import strile
from strile.cluster import workers

LAYOUT = {"cog": True, "tile_size": 64, "overview_resampling": "cubic", "compression": "deflate"}

def main(folder):
    pixels = np.random.default_rng(3).integers(0, 4000, (300, 260), dtype=np.uint16)
    strile.to_geotiff(pixels, folder + "/whole.tif", reproducible=True, **LAYOUT)
    whole = open(folder + "/whole.tif", "rb").read()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        assert all(found == ("cuda:0", "cuda:1") for found in client.run(workers.devices).values())
        for buffer in (1 << 17, 1 << 28):
            lazy = da.from_array(pixels, chunks=100)
            strile.to_geotiff(
                lazy, folder + "/parts.tif", cluster=True, gpu=True, streaming_buffer_bytes=buffer, **LAYOUT
            )
            assert open(folder + "/parts.tif", "rb").read() == whole
        # A function of the worker's own environment: `os.environ.get` would take this one along.
        assert set(client.run(lambda: os.environ.get("STRILE_GPU_SHARE")).values()) == {"2"}
    assert sorted(os.listdir(folder)) == ["log", "parts.tif", "program.py", "whole.tif"]

if __name__ == "__main__":
    main(sys.argv[1])
"""


def test_bytes_are_those_of_the_portable_encoder(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        **os.environ, "LD_LIBRARY_PATH": FOLDER or "", "STRILE_STANDIN": "devices=2",
        "STRILE_STANDIN_LOG": str(tmp_path / "log"),
    }  # fmt: skip
    command = [sys.executable, str(program), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "cuLaunchKernel" in (tmp_path / "log").read_text()
