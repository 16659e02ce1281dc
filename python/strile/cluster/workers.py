"""Finds the client of a cluster, and asks its workers for their resources."""

from __future__ import annotations

import os
import socket
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

GPU_SHARE = "STRILE_GPU_SHARE"
"""Workers that share a card: each takes its part of the card's memory. Read when a device is opened."""

WORKER_BYTES = 112 << 20
"""A worker takes no more for itself: what it has beyond is data, or left over from it, and can go."""

_given: str | None = None
"""The share of the last write on this worker."""


@dataclass(frozen=True, slots=True)
class Workers:
    """The resources that the workers reported."""

    found: tuple[dict[str, Any], ...]

    @property
    def tasks(self) -> int:
        """Tasks that run at one time."""
        return sum(worker["threads"] for worker in self.found)

    @property
    def memory(self) -> int | None:
        """Returns the memory that one task may use of the smallest worker; None without a limit."""
        limits = [worker["memory"] // worker["threads"] for worker in self.found if worker["memory"]]
        return min(limits) if limits else None

    @property
    def room(self) -> int | None:
        """Returns the memory for pixels in the smallest worker, beyond which its nanny kills it; None without a nanny."""
        rooms = [worker["room"] for worker in self.found if worker["room"] is not None]
        return min(rooms) if rooms else None

    @property
    def threads(self) -> dict[str, int]:
        """Tasks that run at one time on each host."""
        count: Counter[str] = Counter()
        for worker in self.found:
            count[worker["host"]] += worker["threads"]
        return dict(count)

    @property
    def lacking(self) -> str | None:
        """Returns why a worker cannot take part at all."""
        return next((worker["lacks"] for worker in self.found if "lacks" in worker), None)

    @property
    def unseeing(self) -> list[str]:
        """Hosts that do not reach the folder."""
        return sorted({worker["host"] for worker in self.found if not worker["sees"]})

    @property
    def shares(self) -> dict[tuple[str, str], int]:
        """Counts the workers on each card."""
        return dict(Counter((worker["host"], worker["card"]) for worker in self.found))


def active_client(array: Any) -> Any:
    """Returns the client by which dask would compute an array here; None where that is another scheduler, or where
    this is a task of a worker, which must not wait for others."""
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client, get_worker

    try:
        get_worker()
    except ValueError:
        pass
    else:
        return None
    client = getattr(get_scheduler(collections=[array]), "__self__", None)
    return client if isinstance(client, Client) and not client.asynchronous else None


def ask(client: Any, folder: str | None) -> Workers:
    """Asks every worker, once. `folder`: one that all have to reach."""

    # Local, so that it goes by value: a worker may have no strile to find it in.
    def ask_worker(dask_worker: Any = None) -> dict[str, Any]:
        try:
            from strile.cluster.workers import resources
        except ImportError as problem:
            return {"lacks": f"on {dask_worker.address} strile cannot be imported ({problem})"}
        return resources(folder, dask_worker)

    answers = client.run(ask_worker)
    return Workers(tuple(answers[name] for name in sorted(answers)))


def share_cards(client: Any, shares: dict[tuple[str, str], int]) -> None:
    """Tells workers how many of them share a card."""
    client.run(take_share, shares)


def resources(folder: str | None, dask_worker: Any) -> dict[str, Any]:
    """Runs on a worker."""
    import dask

    from .. import _core  # noqa: F401  (a worker that has no core cannot take part)

    limit = getattr(getattr(dask_worker, "memory_manager", None), "memory_limit", None)
    kills = dask.config.get("distributed.worker.memory.terminate", False) if dask_worker.nanny else False
    taken = int(dask_worker.monitor.get_process_memory())
    return {
        "host": socket.gethostname(),
        "threads": max(int(getattr(dask_worker.state, "nthreads", 1)), 1),
        "memory": int(limit) if limit else None,
        "room": int(limit * kills) - min(taken, WORKER_BYTES) if limit and kills else None,
        "sees": folder is None or (os.path.isdir(folder) and os.access(folder, os.W_OK)),
        "card": card(),
    }


def take_share(shares: dict[tuple[str, str], int]) -> None:
    """Runs on a worker. What its environment says by itself stays; what an earlier write said does not, for workers come
    and go."""
    global _given
    if os.environ.get(GPU_SHARE) != _given:
        return
    count = shares.get((socket.gethostname(), card()), 1)
    # Alone it says nothing: processes that are started from here would take it for their user's word.
    _given = str(count) if count > 1 else None
    os.environ.pop(GPU_SHARE, None)
    if _given is not None:
        os.environ[GPU_SHARE] = _given


def card() -> str:
    """Returns the card that is device 0 of this process, as far as the environment tells: dask-cuda gives each worker
    its own."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]


def cores(threads: dict[str, int]) -> int:
    """Threads that a task may use here: its part of the cores. A worker that came later takes one."""
    tasks = threads.get(socket.gethostname())
    if tasks is None:
        return 1
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(available // tasks, 1)


@cache
def devices() -> tuple[str, ...]:
    """Runs on a worker: its CUDA devices that work, in the words of the core. Asked once, for asking opens each."""
    from .. import _core

    found = [device for device in _core.devices() if device["usable"]]
    return tuple(str(device["name"]) for device in found if device["name"].startswith("cuda"))
