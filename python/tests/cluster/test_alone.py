"""The cluster's parts that need none: sizes of parts, and what is told where there is no client."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import strile  # noqa: E402
from strile.cluster import tasks  # noqa: E402
from strile.cluster.sizes import part_size  # noqa: E402
from strile.cluster.tasks import Job  # noqa: E402
from strile.cluster.workers import Workers, cores  # noqa: E402
from strile.writing.pixels import Steps  # noqa: E402


@pytest.mark.parametrize(
    "image, chunk, block, most, tasks, expected",
    [
        # Small chunks are taken together, up to the bytes of a part.
        ((100_000, 100_000), (256, 256), (256, 256), 1 << 24, 4, (4096, 4096)),
        # As many parts as keep every worker busy.
        ((4096, 4096), (256, 256), (256, 256), 1 << 24, 4, (1024, 1024)),
        # A chunk that is larger than a part should be stays one: its pixels are in memory already.
        ((100_000, 100_000), (8192, 8192), (256, 256), 1 << 20, 4, (8192, 8192)),
        # Chunks that are no number of blocks are rounded to one that halves.
        ((100_000, 100_000), (1000, 1000), (256, 256), 1, 4, (1024, 1024)),
        # Rows of pixels stay rows.
        ((100_000, 5000), (300, 5000), (256, 256), 1, 4, (256, 5000)),
        ((10_000, 5000), (100, 5000), (256, 5000), 1 << 22, 4, (512, 5000)),
        ((10, 10), (10, 10), (256, 256), 1 << 22, 4, (10, 10)),
    ],
)
def test_sizes_of_parts(
    image: tuple[int, int],
    chunk: tuple[int, int],
    block: tuple[int, int],
    most: int,
    tasks: int,
    expected: tuple[int, int],
) -> None:
    assert part_size(image, chunk, block, most, tasks) == expected


def worker(host: str, **changed: object) -> dict[str, object]:
    return {"host": host, "threads": 2, "memory": 8 << 30, "room": 7 << 30, "sees": True, "card": "0", **changed}


def test_what_workers_share() -> None:
    small = worker("a", card="1", memory=1 << 30, room=900 << 20)
    found = Workers((worker("a"), small, worker("b", sees=False), worker("b")))
    assert (found.tasks, found.memory, found.threads) == (8, 1 << 29, {"a": 4, "b": 4})
    assert found.unseeing == ["b"]
    assert found.shares == {("a", "0"): 1, ("a", "1"): 1, ("b", "0"): 2}
    assert found.room == 900 << 20
    unlimited = Workers((worker("a", memory=None, room=None),))
    assert unlimited.memory is None and unlimited.room is None
    assert cores({}) == 1


def test_without_a_client(tmp_path: Path) -> None:
    lazy = da.from_array(np.ones((20, 20)), chunks=10)
    with pytest.raises(strile.StrileError, match="cluster=True: no client of dask.distributed is active"):
        strile.to_geotiff(lazy, tmp_path / "a.tif", cluster=True)
    strile.to_geotiff(lazy, tmp_path / "a.tif")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]


def test_a_worker_is_told_its_share_anew_by_each_write(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from strile.cluster import workers

    # Set first, so that it is gone again after the test.
    monkeypatch.setenv(workers.GPU_SHARE, "")
    monkeypatch.delenv(workers.GPU_SHARE)
    monkeypatch.setattr(workers, "_given", None)
    card = (socket.gethostname(), workers.card())
    # Alone on its card a worker says nothing: what it starts would take that for the user's word.
    for count, told in ((3, "3"), (1, None), (2, "2")):
        workers.take_share({card: count})
        assert os.environ.get(workers.GPU_SHARE) == told
    # What somebody else has said stays.
    monkeypatch.setenv(workers.GPU_SHARE, "7")
    workers.take_share({card: 2})
    assert os.environ[workers.GPU_SHARE] == "7"


class OnDevice:
    """Pixels of a device, as far as anyone looks before the core does."""

    def __init__(self, device: int, pixels: np.ndarray) -> None:
        self.device, self.pixels, self.dtype = device, pixels, pixels.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    def get(self) -> np.ndarray:
        return self.pixels


def test_chunks_of_several_devices_come_to_one() -> None:
    steps = Steps(np.dtype("u2"), "yx", device="cuda:1")
    there, elsewhere, host = OnDevice(1, np.ones((2, 3), "u2")), OnDevice(0, np.ones((2, 3), "u2")), np.zeros((2, 3), "u2")
    assert steps.apply(there) is there and steps.apply(host) is host
    assert steps.apply(elsewhere) is elsewhere.pixels
    assert Steps(np.dtype("u2"), "yx", device="cpu").apply(there) is there.pixels


def test_the_engine_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job("t", "a.tif", "f", True, {}, {}, (1, 1), Steps(np.dtype("u2"), "yx"), gpu=True)
    chunks = [np.zeros(3), OnDevice(3, np.zeros(3)), OnDevice(1, np.zeros(3))]
    assert tasks._device(job, chunks) == "cuda:3"
    # A worker may have CuPy and no device, in a cluster where others have one.
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(tasks, "devices", lambda: ())
    assert tasks._device(job, chunks[:1]) == "cpu"
    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(tasks, "devices", lambda: ("cuda:0", "cuda:1"))
    assert tasks._device(job, chunks[:1]) == "cuda:0"
    assert tasks._device(replace(job, gpu=False), chunks) == "cpu"
