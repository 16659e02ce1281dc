"""What a cluster may take, and what becomes of a write when workers die."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import strile  # noqa: E402

HERE = Path(__file__).parent
PIXELS = np.random.default_rng(5).integers(0, 4000, (1024, 1024), dtype=np.uint16)
MEASURED = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc"
)


def run(script: str, folder: Path, size: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / script), str(folder), size]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


@MEASURED
def test_four_times_the_memory_of_a_worker(tmp_path: Path) -> None:
    told = run("four_times.py", tmp_path, str(32 << 20))
    assert told["bytes"] == 4 * (told["limit"] - told["idle"]) == 128 << 20
    assert told["same"] and told["workers"] == 4, told
    assert told["most"] < told["limit"], told
    assert told["left"] == ["large.tif", "small.tif", "target.tif", "target.tif-local.tif"]
    if importlib.util.find_spec("rio_cogeo"):
        from rio_cogeo.cogeo import cog_validate

        assert cog_validate(tmp_path / "target.tif", strict=True) == (True, [], [])
    if importlib.util.find_spec("rasterio"):
        import rasterio

        with rasterio.open(tmp_path / "target.tif") as file:
            assert file.overviews(1) and file.block_shapes == [(512, 512)]
            assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"


@MEASURED
def test_the_scheduler_knows_parts_and_not_blocks(tmp_path: Path) -> None:
    told = run("scheduler_memory.py", tmp_path, "80")
    assert told["blocks"] > 8_000
    assert told["per_10000"] < 50 << 20, told


def test_a_part_that_no_worker_can_hold_is_refused(tmp_path: Path) -> None:
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=400_000_000
    )
    with cluster, distributed.Client(cluster):
        for shape, chunks, found in (
            ((9216, 9216), 9216, "for 9216 by 9216 pixels of 4 bytes in blocks of 256 by 256"),
            ((256, 256, 400), 256, "for 256 by 256 pixels of 1600 bytes"),
        ):
            lazy = da.zeros(shape, chunks=(chunks, chunks, *shape[2:]), dtype="f4")
            with pytest.raises(strile.StrileError, match=f"{found}.* before it is killed: make chunks smaller"):
                strile.to_geotiff(lazy, tmp_path / "a.tif", cluster=True, dims=("y", "x", "band")[: len(shape)])
        assert list(tmp_path.iterdir()) == []
        strile.to_geotiff(da.zeros((2048, 2048), chunks=1024, dtype="f4"), tmp_path / "a.tif", cluster=True)


@pytest.fixture(scope="module")
def short_lived() -> Any:
    """A cluster of its own: its workers do not all survive, and are replaced."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


@pytest.mark.parametrize("buffer", [1 << 20, 1 << 28], ids=["files", "results"])
def test_a_worker_that_is_killed_is_replaced(short_lived: Any, tmp_path: Path, buffer: int) -> None:
    # Functions of this module go to the workers by value, which do not have it: so they are local.
    def slow(block: np.ndarray) -> np.ndarray:
        time.sleep(0.02)
        return block

    short_lived.wait_for_workers(2, timeout=60)
    strile.to_geotiff(PIXELS, tmp_path / "whole.tif", cog=True, tile_size=64, overview_resampling="cubic")
    killed: list[int] = []
    pids = short_lived.run(os.getpid)

    def tell(done: int, total: int) -> None:
        if done > total // 4 and not killed:
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    strile.to_geotiff(
        da.from_array(PIXELS, chunks=128).map_blocks(slow),
        tmp_path / "parts.tif",
        cog=True,
        tile_size=64,
        overview_resampling="cubic",
        streaming_buffer_bytes=buffer,
        cluster=True,
        progress=tell,
    )
    assert killed
    assert (tmp_path / "parts.tif").read_bytes() == (tmp_path / "whole.tif").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.tif", "whole.tif"]


def test_a_task_that_kills_every_worker_leaves_nothing(short_lived: Any, tmp_path: Path) -> None:
    def dies(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info[0]["chunk-location"] == (3, 3):
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    lazy = da.from_array(PIXELS, chunks=128).map_blocks(dies, dtype="u2")
    with pytest.raises(distributed.KilledWorker):
        strile.to_geotiff(lazy, tmp_path / "a.tif", cog=True, cluster=True, streaming_buffer_bytes=1 << 20)
    assert list(tmp_path.iterdir()) == []
