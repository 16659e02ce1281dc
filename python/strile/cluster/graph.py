"""The graph of a write: the caller's tasks, and on top of them tiers of parts, the tasks that cut edges for
neighbours, and the one that makes the file.

One task a part and a few for its edges, never one a block: what the scheduler knows grows with the parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from . import tasks, uploading
from .tasks import Address, Job
from .uploading import Upload

NEAR = 4
"""A part takes the whole chunk if it needs at least one in this many of its pixels; otherwise an edge is cut off."""


@dataclass(frozen=True, slots=True)
class Source:
    """Pixels of a level in chunks, computed by other tasks."""

    key: Callable[[int, int], Hashable]
    rows: list[int]
    columns: list[int]
    y: int
    x: int

    def touched(self, first: int, end: int, starts: list[int]) -> range:
        return range(bisect_right(starts, first) - 1, bisect_right(starts, end - 1))


@dataclass(slots=True)
class Graph:
    """Tasks by key, and those that a caller waits for."""

    tasks: dict[Hashable, Any]
    blocks: dict[Hashable, int]
    """Keys of parts, or of their records, and how many blocks each has."""
    end: Hashable


def build(
    job: Job, parts: Any, source: Source, below: dict[Hashable, Any], upload: Upload | None = None
) -> Graph:
    """Builds the graph of tasks. `below` are the tasks that compute the pixels of `source`; `upload` is that of an object of a bucket."""
    token, plan = job.token, f"strile-plan-{job.token}"
    graph: dict[Hashable, Any] = {**below, plan: job}
    blocks: dict[Hashable, int] = {}
    last: list[Hashable] = []
    for number, tier in enumerate(parts.tiers):
        last = []
        for row in range(tier["rows"]):
            for column in range(tier["columns"]):
                at = (number, row, column)
                windows = parts.part(*at)
                key = (f"strile-encode-{token}", *at)
                graph[key] = (tasks.encode, plan, at, *_given(graph, at, windows, source, token))
                blocks[key] = int(windows["blocks"])
                last.append(key)
        source = _handed_on(token, number, tier)
    if upload is not None:
        return _held(graph, blocks, upload, plan, token)
    end = f"strile-finish-{token}"
    # The last tier is made of all the others: where it is encoded, their files are there.
    graph[end] = (tasks.finish, plan, last if job.in_files else list(blocks))
    return Graph(graph, blocks, end)


def _held(
    graph: dict[Hashable, Any], blocks: dict[Hashable, int], upload: Upload, plan: str, token: str
) -> Graph:
    """Records stay where they were made; the end is what is known of them. A part is freed of its pixels when those above it are
    made."""
    indexes: list[Hashable] = []
    records: dict[Hashable, int] = {}
    for key, count in blocks.items():
        assert isinstance(key, tuple)
        at = key[1:]
        graph[index := (f"strile-index-{token}", *at)] = (uploading.index_of, key)
        graph[record := (f"strile-records-{token}", *at)] = (uploading.records_of, key)
        indexes.append(index)
        records[record] = count
    end = f"strile-layout-{token}"
    graph[end] = (uploading.lay_out, plan, upload, indexes)
    return Graph(graph, records, end)


def _given(
    graph: dict[Hashable, Any], at: Address, windows: dict[str, Any], source: Source, token: str
) -> tuple[list[Hashable], list[tuple[int, int, Any]]]:
    """Adds the edges that a part is encoded from, and returns keys of its chunks and edges with their places."""
    left, top, width, height = windows["need"]
    keys: list[Hashable] = []
    places: list[tuple[int, int, Any]] = []
    for i in source.touched(top, top + height, source.rows):
        for j in source.touched(left, left + width, source.columns):
            rows, columns = (source.rows[i], source.rows[i + 1]), (source.columns[j], source.columns[j + 1])
            first = (max(rows[0], top), max(columns[0], left))
            end = (min(rows[1], top + height), min(columns[1], left + width))
            whole = (rows[1] - rows[0]) * (columns[1] - columns[0])
            wanted = (end[0] - first[0]) * (end[1] - first[1])
            key: Hashable = source.key(i, j)
            cut: tasks.Cut | None = None
            if wanted < whole:
                axes: list[slice] = [slice(None)] * (max(source.y, source.x) + 1)
                axes[source.y] = slice(first[0] - rows[0], end[0] - rows[0])
                axes[source.x] = slice(first[1] - columns[0], end[1] - columns[0])
                cut = tuple(axes)
            if cut is not None and wanted * NEAR < whole:
                edge = (f"strile-edge-{token}", *at, i, j)
                graph[edge] = (tasks.edge, key, cut)
                key, cut = edge, None
            keys.append(key)
            places.append((first[0], first[1], cut))
    return keys, places


def _handed_on(token: str, number: int, tier: dict[str, Any]) -> Source:
    """Returns the pixels that the parts of a tier hand on, as chunks of the level above those that they encode."""
    halvings = tier["levels"]

    def starts(count: int, size: int, whole: int) -> list[int]:
        return [*((at * size) >> halvings for at in range(count)), -(-whole >> halvings)]

    return Source(
        key=lambda row, column: (f"strile-encode-{token}", number, row, column),
        rows=starts(tier["rows"], tier["size"][1], tier["image"][1]),
        columns=starts(tier["columns"], tier["size"][0], tier["image"][0]),
        y=0,
        x=1,
    )
