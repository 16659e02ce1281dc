"""Makes the result a dask array: one task per chunk, which reads all blocks that its chunk needs.

The graph holds the request once and windows in its tasks, nothing else, so it pickles small and runs under
threads, processes and distributed alike. Building it reads no pixel. """

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StrileError
from ..extras import require
from . import cuda
from .description import Description, labelled
from .request import Request, Window

if TYPE_CHECKING:
    import xarray

MAX_TASKS = 50_000


def read(description: Description, chunks: tuple[int, int]) -> xarray.DataArray:
    return labelled(array(description, chunks), description, dict(description.attrs))


def sizes(description: Description, chunks: tuple[int | None, int | None]) -> tuple[int, int]:
    """Rows and columns of a chunk: those asked for, else whole blocks of the file, -1 for all of an axis."""
    height, width = description.shape[:2]
    rows, columns = (
        preferred if asked is None else whole if asked == -1 else asked
        for asked, preferred, whole in zip(chunks, description.preferred, (height, width), strict=True)
    )
    return min(rows, height), min(columns, width)


def array(description: Description, chunks: tuple[int, int]) -> Any:
    """Returns the dask array of a described result."""
    require("dask", "chunks", "dask")
    import dask.array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    request = description.request
    height, width = description.shape[:2]
    rows, columns = split(height, chunks[0]), split(width, chunks[1])
    tasks = len(rows) * len(columns)
    if tasks > MAX_TASKS:
        raise StrileError(
            f"chunks {chunks} cut {height} rows and {width} columns into {tasks:,} tasks and at most "
            f"{MAX_TASKS:,} are "
            f"taken: pass chunks={_larger(height, width, chunks)} or more"
        )
    token = tokenize(request.identity(), description.window, chunks)
    name, shared = f"open_geotiff-{token}", f"open_geotiff-request-{token}"
    graph: dict[Any, Any] = {shared: request}
    rest = (0,) * (len(description.shape) - 2)
    top = description.window[0]
    for i, down in enumerate(rows):
        left = description.window[1]
        for j, across in enumerate(columns):
            graph[(name, i, j, *rest)] = (read_chunk, shared, (top, left, top + down, left + across))
            left += across
        top += down
    sizes = (rows, columns, *((count,) for count in description.shape[2:]))
    meta = (
        cuda.meta(len(description.shape), request.dtype)
        if request.gpu
        else np.empty((0,) * len(description.shape), dtype=request.dtype)
    )
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[])
    return dask.array.Array(layers, name, chunks=sizes, dtype=request.dtype, meta=meta)


def read_chunk(request: Request, window: Window) -> Any:
    """Does the work of one task."""
    return request.read(window)


def split(length: int, size: int) -> tuple[int, ...]:
    """Returns the lengths of the parts of an axis, the last of which may be shorter."""
    whole, rest = divmod(length, size)
    return (size,) * whole + ((rest,) if rest else ())


def _larger(height: int, width: int, chunks: tuple[int, int]) -> tuple[int, int]:
    """Returns the smallest doubling of the chunks that makes few enough tasks."""
    rows, columns = chunks
    while math.ceil(height / rows) * math.ceil(width / columns) > MAX_TASKS:
        rows, columns = rows * 2, columns * 2
    return rows, columns
