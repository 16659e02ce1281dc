"""Writes a raster by a cluster, if there is one that can.

Otherwise the reason is raised if `cluster=True`, else logged. Nothing has been written then.
"""

from __future__ import annotations

import logging
import math
import uuid
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from .. import _core, environment
from ..errors import DeviceError, GeoTIFFFallbackWarning, StrileError
from ..reading.shown import redacted
from ..writing import output, sidecars
from ..writing.arguments import STRIP_ROWS, WriteArguments
from ..writing.raster import RasterToWrite, options_of
from ..writing.stream import chunk_key, starts_of, whole_bands
from . import workers
from .bucket import BegunUpload
from .bucket import computed as bucket_computed
from .folder import PartFolder
from .graph import Graph, Source, build
from .sizes import least_memory, part_size
from .tasks import Job

log = logging.getLogger("strile")

MEMORY_PARTS = 16
"""A part's pixels are at most this part of what a task may have: beside them are chunks, edges and blocks."""


def write(
    raster: RasterToWrite,
    arguments: WriteArguments,
    target: output.Target,
    progress: output.Progress | None,
) -> bool:
    """Writes by the cluster if there is one, and returns whether it did."""
    client = workers.active_client(raster.array) if raster.is_lazy else None
    reason = _refusal(raster, arguments, target, client)
    if reason is None and client is not None:
        if target.local is None:
            reason = _to_bucket(client, raster, arguments, target, progress)
        elif not PartFolder.has_parent(target.local):
            # The local write says so: it can only fail.
            return False
        elif not PartFolder.possible(target.local):
            reason = f"no folder can be made beside {target.local}, which part files need"
        else:
            reason = _to_folder(client, raster, arguments, target, progress)
        if reason is None:
            return True
    if arguments.cluster:
        raise StrileError(f"cluster=True: {reason}")
    if client is not None:
        log.info("not written by the cluster: %s", reason)
    return False


def _to_folder(
    client: Any, raster: RasterToWrite, arguments: WriteArguments, target: output.Target, progress: output.Progress | None
) -> str | None:
    """Writes a local file by way of part files; why not, where it cannot."""
    assert target.local is not None
    with PartFolder(target.local) as folder:
        found = workers.ask(client, folder.path)
        reason = _unfit(found, target.local)
        if reason is None:
            job, parts, array = _planned(client, found, raster, arguments, target, folder.path)
            graph = build(job, parts, _source(array, raster), _optimized(array))
            _log_plan(graph, parts, job, "part files" if job.in_files else "blocks as results")
            _finish(_computed(client, graph, progress), raster, arguments, target)
    return reason


def _to_bucket(
    client: Any, raster: RasterToWrite, arguments: WriteArguments, target: output.Target, progress: output.Progress | None
) -> str | None:
    """Writes an object of a bucket: workers need no shared folder."""
    found = workers.ask(client, None)
    reason = _unfit(found, redacted(target.opened))
    if reason is None:
        job, parts, array = _planned(client, found, raster, arguments, target, None)
        with BegunUpload(target.opened, arguments.storage_options) as begun:
            graph = build(job, parts, _source(array, raster), _optimized(array), begun.upload)
            _log_plan(graph, parts, job, "parts of an upload")
            report = bucket_computed(client, graph, begun.upload, job.token, progress)
        _finish(report, raster, arguments, target)
    return reason


def _refusal(
    raster: RasterToWrite, arguments: WriteArguments, target: output.Target, client: Any
) -> str | None:
    if not raster.is_lazy:
        return "the array is not a dask array"
    if client is None:
        return "no client of dask.distributed is active here"
    if target.local is None and not target.bucket:
        return "the target is neither a path nor a URL of a bucket"
    if output.gathered(raster, arguments, target) is not None:
        return "statistics for color_ramp are gathered in one process: pass color_ramp_range"
    if raster.mask is not None:
        return "the mask of the file is written by one process: read the file with masked=True"
    return None


def _unfit(found: workers.Workers, target: str) -> str | None:
    if not found.found:
        return "the cluster has no workers yet: wait for them with client.wait_for_workers"
    if found.lacking is not None:
        return found.lacking
    if found.unseeing:
        hosts = ", ".join(found.unseeing)
        return f"workers on {hosts} cannot write beside {target}: use a folder that all workers share"
    return None


def _planned(
    client: Any,
    found: workers.Workers,
    raster: RasterToWrite,
    arguments: WriteArguments,
    target: output.Target,
    folder: str | None,
) -> tuple[Job, Any, Any]:
    """Returns the job of the tasks, the parts, and the array that they encode. `folder`: of part files, if there may be some."""
    gpu = _on_gpu(raster, arguments, found, client)
    array = whole_bands(raster)
    layout = raster.layout
    pixel = max(array.dtype.itemsize, raster.dtype.itemsize) * layout.bands
    limits = [arguments.buffer // 4, *([] if found.memory is None else [found.memory // MEMORY_PARTS])]
    room = min(limits)
    side = arguments.tile_size
    chunk = (max(array.chunks[layout.y]), max(array.chunks[layout.x]))
    block = (side, side) if arguments.tiled else (STRIP_ROWS, layout.width)
    rows, columns = part_size(
        (layout.height, layout.width), chunk, block, max(room // pixel, 1), found.tasks
    )
    if not gpu:
        # Where a chunk is cut into parts it is there as a whole.
        largest = max((rows, columns), chunk, key=math.prod)
        _check_memory(largest, block, pixel, found.room)
    options = options_of(raster, arguments, "cpu") | {
        "buffer": max(arguments.buffer, 1 << 20) if gpu else min(max(room // 4, 1 << 20), 64 << 20),
        # One encoder for all, whatever each worker has: that of a local write by the CPU, or the portable one.
        "reproducible": arguments.reproducible or gpu,
    }
    plan = _core.Parts(raster.spec, _core.WriteOptions(**options), (columns, rows))
    options["bigtiff"] = "yes" if plan.is_big else "no"
    parts = _core.Parts(raster.spec, _core.WriteOptions(**options), (columns, rows))
    pixels = layout.height * layout.width
    styled = output.wants_style(raster, arguments, target)
    aux = output.aux_of(raster, arguments, None, styled)
    job = Job(
        token=uuid.uuid4().hex,
        target=redacted(target.opened) if target.local is None else str(Path(target.local).absolute()),
        folder=folder or "",
        in_files=folder is not None and pixels * layout.bands * raster.dtype.itemsize > arguments.buffer // 4,
        raster=raster.keys,
        options=options,
        size=(columns, rows),
        steps=output.steps_of(raster, "cpu", None),
        gpu=gpu,
        threads=found.threads,
        sidecars=((".aux.xml", aux),) if aux is not None else (),
    )
    return job, parts, array


def _log_plan(graph: Graph, parts: Any, job: Job, how: str) -> None:
    log.info(
        "by a cluster: %d parts of up to %d by %d pixels in %d tiers, %s, encoder %s",
        len(graph.blocks),
        job.size[1],
        job.size[0],
        len(parts.tiers),
        how,
        parts.encoder,
    )


def _finish(
    report: dict[str, Any], raster: RasterToWrite, arguments: WriteArguments, target: output.Target
) -> None:
    for message in report["warnings"]:
        warnings.warn(f"{redacted(str(target.given))}: {message}", UserWarning, stacklevel=7)
    bounds = sidecars.style_bounds(None, arguments.ramp_range) if output.wants_style(raster, arguments, target) else None
    output.put_style(arguments, target, bounds)


def _check_memory(part: tuple[int, int], block: tuple[int, int], pixel: int, room: int | None) -> None:
    """Refuses a part that a worker cannot hold: it would end in `KilledWorker`, after several workers have died of it. Chunks are made by
    workers also where this process writes. `room` is that of the smallest worker."""
    pixels, blocks = math.prod(part) * pixel, math.prod(block) * pixel
    needed = least_memory(pixels, blocks)
    if room is not None and needed > room:
        raise StrileError(
            f"a worker takes at least {needed:,} bytes for {part[0]} by {part[1]} pixels of {pixel} bytes in blocks of "
            f"{block[0]} by {block[1]}, and the smallest has {room:,} before it is killed: make chunks smaller (or tiles, which are "
            "not divided), or give workers a larger memory_limit"
        )


def _computed(client: Any, graph: Graph, progress: output.Progress | None) -> dict[str, Any]:
    """Returns the report of the finishing task. Whatever stops this stops the tasks too."""
    from distributed import as_completed, wait

    total = sum(graph.blocks.values())
    *futures, end = client.get(graph.tasks, [*graph.blocks, graph.end], sync=False)
    parts = {future.key: future for future in futures}
    try:
        done = 0
        coming = as_completed(futures)
        # Nothing holds a finished part: its reduced pixels are freed when the parts above it are made.
        del futures
        for future in coming:
            if future.status == "error":
                future.result()
            done += graph.blocks[future.key]
            del parts[future.key], future
            if progress is not None:
                progress(min(done, total - 1), total)
        wait(end)
        report: dict[str, Any] = end.result()
    except BaseException:
        # Released and not cancelled: a scheduler that is to cancel a task which has dependents that no client
        # holds, as edges are, fails, and drops the client with all that it holds.
        for future in (end, *parts.values()):
            future.release()
        raise
    if progress is not None:
        progress(total, total)
    return report


def _source(array: Any, raster: RasterToWrite) -> Source:
    layout, chunks = raster.layout, array.chunks

    def key(row: int, column: int) -> Hashable:
        return chunk_key(array, raster, (row, column))

    return Source(key, starts_of(chunks[layout.y]), starts_of(chunks[layout.x]), layout.y, layout.x)


def _optimized(array: Any) -> dict[Hashable, Any]:
    from dask.core import flatten

    keys = list(flatten(array.__dask_keys__()))
    return dict(array.__dask_optimize__(array.__dask_graph__(), keys))


def _on_gpu(raster: RasterToWrite, arguments: WriteArguments, found: workers.Workers, client: Any) -> bool:
    """Returns whether workers encode on their devices, where they have one."""
    if not (arguments.gpu or (arguments.gpu is None and raster.device is not None)):
        return False
    workers.share_cards(client, found.shares)
    if raster.device is None and not any(client.run(workers.devices).values()):
        reason = "no worker has a CUDA device that works"
        if environment.strict():
            raise DeviceError(f"gpu=True: {reason}")
        warnings.warn(
            f"to_geotiff(gpu=True) is written by the CPU: {reason}", GeoTIFFFallbackWarning, stacklevel=7
        )
    return True
