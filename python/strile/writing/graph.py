"""The graph of a dask array, computed in groups of chunks with every task run once.

The graph is optimized as a whole and then cut. Results that a later group needs too are kept between the
groups, where their number times the size of a chunk fits the buffer; where it does not (a mean over the whole
raster before its first chunk) they are computed again, because keeping them would hold the raster.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from math import prod
from typing import Any

NEIGHBOURS = 3
"""Rows of chunks that may be kept even where the buffer is smaller."""

log = logging.getLogger("strile")


class Groups:
    """The chunks of an array, by groups of their keys. Groups are computed in order."""

    def __init__(self, array: Any, groups: list[list[Hashable]], buffer: int) -> None:
        from dask.base import get_scheduler
        from dask.optimization import cull
        from dask.threaded import get as threaded

        # Asked for here, on the caller's thread, where its settings and its client are known.
        self.get = get_scheduler(collections=[array]) or threaded
        self.groups = groups
        keys = [key for group in groups for key in group]
        graph = array.__dask_optimize__(array.__dask_graph__(), keys)
        self.graph, self.needs = cull(dict(graph), keys)
        # Neighbours share a row of chunks or two, whatever the buffer: less would compute them again and again.
        self.room = max(buffer // _chunk_bytes(array), NEIGHBOURS * max(map(len, array.chunks)))
        self.kept: dict[Hashable, Any] = {}
        self.last = self._last_use()

    def compute(self, number: int) -> list[Any]:
        """Computes the chunks of a group."""
        wanted = self.groups[number]
        part = self._closure(wanted)
        keep = self._kept_after(number, part)
        asked: list[Any] = [*wanted, *keep]
        results = list(self.get({key: self._node(key) for key in part}, asked))
        self.kept = {key: value for key, value in self.kept.items() if self.last.get(key, -1) > number}
        self.kept.update(zip(keep, results[len(wanted) :], strict=True))
        del results[len(wanted) :]
        return results

    def _closure(self, wanted: list[Hashable]) -> set[Hashable]:
        """Returns all that is needed for some keys, down to what is kept."""
        part: set[Hashable] = set()
        todo = list(wanted)
        while todo:
            key = todo.pop()
            if key in part:
                continue
            part.add(key)
            if key not in self.kept:
                todo.extend(self.needs[key])
        return part

    def _last_use(self) -> dict[Hashable, int]:
        """Returns which group is the last to need a key directly, for keys that more than one group reaches."""
        first: dict[Hashable, int] = {}
        last: dict[Hashable, int] = {}
        for number, wanted in enumerate(self.groups):
            todo = [key for key in wanted if key not in first]
            for key in todo:
                first[key] = number
            while todo:
                key = todo.pop()
                for need in self.needs[key]:
                    # A task runs in the group that first needs it; what it needs is used then and not later.
                    last[need] = number
                    if need not in first:
                        first[need] = number
                        todo.append(need)
        return {key: number for key, number in last.items() if number > first[key]}

    def _kept_after(self, number: int, part: set[Hashable]) -> list[Hashable]:
        """Returns the results of this group that a later one needs."""
        shared = [
            key
            for key in part
            if self.last.get(key, -1) > number and key not in self.kept and not self._is_data(key)
        ]
        if len(shared) + len(self.kept) > self.room:
            log.info(
                "%d results that later chunks need too do not fit the buffer: they are computed again",
                len(shared),
            )
            return []
        return shared

    def _is_data(self, key: Hashable) -> bool:
        """Returns whether it is in the graph as it is, with nothing to run."""
        from dask._task_spec import DataNode

        return isinstance(self.graph[key], DataNode)

    def _node(self, key: Hashable) -> Any:
        from dask._task_spec import DataNode

        return DataNode(key, self.kept[key]) if key in self.kept else self.graph[key]


def _chunk_bytes(array: Any) -> int:
    """Returns the bytes of the largest chunk."""
    return prod(max(sizes) for sizes in array.chunks) * int(array.dtype.itemsize)
