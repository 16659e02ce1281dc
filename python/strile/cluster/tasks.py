"""Tasks for workers: one encodes a part, one joins parts to a file. Every task is a pure function of its
arguments, so that one which is lost with its worker is run again elsewhere and gives the same bytes.

A part in files is two of them, its records and then its index. Each gets its name when it is complete, in one
step, and the same one each time: a task that runs twice leaves one part. They outlive their worker, so that
what is lost with it are the pixels it was to hand on, and nothing that was encoded.
"""

from __future__ import annotations

import os
import socket
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _core
from ..errors import StrileError
from ..writing.pixels import Steps, device_of, stream_of
from .workers import cores, devices

Address = tuple[int, int, int]
"""Tier, row and column of a part."""

Blocks = tuple[Address, bytes, bytes]
"""A part, its index and its records."""

Counts = tuple[int, int]
"""Missing pixels, and valid ones that hold the nodata value."""

Encoded = tuple[Blocks | None, Any, Counts]
"""The result of a task: blocks, unless they are in files, the pixels it hands on, if there are any, and counts."""

Cut = tuple[slice, ...]


@dataclass(frozen=True)
class Job:
    """A write: what every task of it knows. Pickled once with the graph."""

    token: str
    target: str
    folder: str
    in_files: bool
    raster: dict[str, Any]
    options: dict[str, Any]
    size: tuple[int, int]
    steps: Steps
    gpu: bool
    threads: dict[str, int] = field(default_factory=dict)
    sidecars: tuple[tuple[str, bytes], ...] = ()

    def path(self, at: Address) -> str:
        return os.path.join(self.folder, "part-{}-{}-{}".format(*at))

    def index_path(self, at: Address) -> str:
        return self.path(at) + ".index"

    def counts_path(self, at: Address) -> str:
        return self.path(at) + ".counts"


def encode(job: Job, at: Address, given: list[Any], places: list[tuple[int, int, Cut | None]]) -> Encoded:
    """Encodes a part, given what other tasks gave and where that lies in the level: row, column, and what of
    it is meant."""
    arrays = [pixels_of(value) for value in given]
    device = _device(job, arrays)
    missing = None if job.steps.missing is None else job.steps.missing.fresh()
    steps = replace(job.steps, device=device, missing=missing)
    writer = None
    path = _unique(job.path(at)) if job.in_files else None
    try:
        writer = planned(job, device).encode(*at, path=path, threads=cores(job.threads))
        for array, (row, column, cut) in zip(arrays, places, strict=True):
            piece = array if cut is None else array[cut]
            # Pixels that parts hand on are stored as they are written, all bands of a pixel side by side.
            if at[0] == 0:
                own = None if missing is None else _own(job, at, piece, (row, column))
                piece, axes = steps.apply(piece, own), steps.axes
            else:
                axes = "yxb"
            writer.write(piece, row, column, axes=axes, stream=stream_of(piece))
            del piece, array
        done = writer.finish()
        counts = (0, 0) if missing is None else (missing.nans, missing.equal)
        if path is None:
            return (at, done["index"], done["records"]), _handed_on(done["beyond"], job), counts
        os.replace(path, job.path(at))
        if missing is not None and at[0] == 0:
            path = _unique(job.counts_path(at))
            with open(path, "w") as file:
                file.write(f"{counts[0]} {counts[1]}")
            os.replace(path, job.counts_path(at))
        path = _unique(job.index_path(at))
        with open(path, "wb") as file:
            file.write(done["index"])
        os.replace(path, job.index_path(at))
    except BaseException:
        if writer is not None:
            writer.abort()
        if path is not None and os.path.exists(path):
            os.unlink(path)
        if path is not None and not os.path.isdir(job.folder):
            raise StrileError(
                f"{job.folder} does not exist on {socket.gethostname()}: the write was cancelled, or the folder "
                "of the target is not shared by all workers (pass cluster=False)"
            ) from None
        raise
    return None, _handed_on(done["beyond"], job), counts


def _own(job: Job, at: Address, piece: Any, start: tuple[int, int]) -> tuple[slice, ...]:
    """Returns the part of a piece that its task counts: edges for overviews are counted by the neighbour that owns them."""
    left, top, width, height = planned(job, "cpu").part(*at)["own"]
    cuts = [slice(None)] * len(job.steps.axes)
    for axis, first, begin, length in (("y", start[0], top, height), ("x", start[1], left, width)):
        number = job.steps.axes.index(axis)
        low = max(begin - first, 0)
        cuts[number] = slice(low, max(min(begin + length - first, piece.shape[number]), low))
    return tuple(cuts)


def pixels_of(given: Any) -> Any:
    """Returns the pixels of the result of a task: a chunk is an array, a part has them beside its blocks."""
    return given[1] if isinstance(given, tuple) else given


def edge(given: Any, cut: Cut) -> Any:
    """Returns a few rows or columns for a neighbour. A copy: a view would keep all of the chunk, and send it."""
    return pixels_of(given)[cut].copy()


def finish(job: Job, encoded: list[Encoded]) -> dict[str, Any]:
    """Makes the file, and puts it to its place unless the caller has given up meanwhile. Parts in files are
    found there: of these `encoded` says only that they are."""
    parts = planned(job, "cpu")
    check_missing(job, _counted(job, parts, encoded) if job.steps.missing is not None else ())
    assembly = parts.assemble(job.target)
    try:
        for at, index, records in _stored(job, parts, encoded):
            assembly.add(*at, index, records)
        for suffix, content in job.sidecars:
            assembly.sidecar(suffix, content)
        report = assembly.lay_out()
        if not os.path.isdir(job.folder):
            raise StrileError(f"{job.target}: the write was cancelled")
        assembly.commit()
    except BaseException:
        assembly.abort()
        raise
    return dict(report)


def check_missing(job: Job, counted: Iterable[Counts]) -> None:
    """Checks the sum of the counts of all parts by `Missing.check`."""
    if job.steps.missing is None:
        return
    total = job.steps.missing.fresh()
    for counts in counted:
        total.put(*counts)
    total.check(job.target)


def _counted(job: Job, parts: Any, encoded: list[Encoded]) -> Iterator[Counts]:
    """Returns the counts of the parts of the full image, or of all parts."""
    if not job.in_files:
        yield from (counts for _, _, counts in encoded)
        return
    tier = parts.tiers[0]
    for row in range(tier["rows"]):
        for column in range(tier["columns"]):
            with open(job.counts_path((0, row, column))) as file:
                nans, equal = file.read().split()
            yield int(nans), int(equal)


def _stored(job: Job, parts: Any, encoded: list[Encoded]) -> Iterator[tuple[Address, bytes, bytes | str]]:
    """Returns every part: its index, and its records or the file that has them."""
    if not job.in_files:
        yield from (blocks for blocks, _, _ in encoded if blocks is not None)
        return
    for number, tier in enumerate(parts.tiers):
        for row in range(tier["rows"]):
            for column in range(tier["columns"]):
                at = (number, row, column)
                with open(job.index_path(at), "rb") as file:
                    yield at, file.read(), job.path(at)


def _unique(path: str) -> str:
    return f"{path}.{uuid.uuid4().hex}"


def _handed_on(beyond: Any, job: Job) -> Any:
    if beyond is None:
        return None
    samples, shape, _ = beyond
    return np.frombuffer(samples, dtype=job.raster["dtype"]).reshape(shape)


@dataclass(frozen=True)
class Key:
    """A value with its key in a cache, which is unique."""

    token: Any
    of: Any = field(compare=False)


def planned(job: Job, device: str) -> Any:
    return _planned(Key((job.token, device), job))


@lru_cache(maxsize=4)
def _planned(key: Key) -> Any:
    job, (_, device) = key.of, key.token
    options = _core.WriteOptions(**{**job.options, "encode_on": device})
    return _core.Parts(_core.RasterSpec(**job.raster), options, job.size)


def _device(job: Job, arrays: list[Any]) -> str:
    """Returns the engine of this worker: of the device that holds the pixels, or its current one; the CPU where it
    has none that works, with the same encoder."""
    if not job.gpu:
        return "cpu"
    for array in arrays:
        number = device_of(array)
        if number is not None:
            return f"cuda:{number}"
    found = devices()
    if found and "cupy" in sys.modules:
        from ..reading import cuda

        return cuda.current()
    return found[0] if found else "cpu"
