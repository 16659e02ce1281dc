"""Writing a dask array: groups of chunks are computed one after the other and written, and the raster is
never held.

`plan_stream` decides, from the chunks and the buffer alone; `StreamPlan.pieces` computes by that. Three
shapes of it:

* Rows of chunks that fit the buffer are computed in order and go straight into the file.
* Where a row of chunks does not fit, chunks are computed a few at a time and what is encoded waits in the
  core's spool, a temporary file of the size of the result: once written, once read. `spill=False` refuses
  this.
* A cloud-optimized file is laid out from the spool in any case, so its chunks come a few at a time as well.

While a group is written the next one is computed, where the buffer holds both. Every task of the graph runs
once: what two groups need (a chunk that a filter's overlap or another chunking shares) is kept between them,
as long as the buffer would hold it. The scheduler is the one that is active. Nothing here depends on which it
is.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..errors import StrileError
from .arguments import WriteArguments
from .graph import Groups
from .raster import Piece, RasterToWrite

log = logging.getLogger("strile")

Block = tuple[int, int]
"""Row and column of a chunk among the chunks."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """In which groups the chunks are computed, and how they reach the file."""

    groups: tuple[tuple[Block, ...], ...]
    spooled: bool
    straight: bool
    ahead: bool
    group_bytes: int
    buffer: int

    @property
    def core_buffer(self) -> int:
        """Returns the memory of the core for pixels that wait to be encoded, beside the groups."""
        return min(max(self.buffer // 4, 1 << 20), 64 << 20)

    def __str__(self) -> str:
        chunks = sum(map(len, self.groups))
        way = "straight into the file"
        if self.spooled:
            way = "through the spool: a row of chunks does not fit the buffer"
        elif not self.straight:
            way = "through the spool of a cloud-optimized file"
        ahead = ", the next one while one is written" if self.ahead else ""
        return f"{chunks} chunks in {len(self.groups)} groups of at most {self.group_bytes:,} bytes{ahead}, {way}"

    def pieces(self, raster: RasterToWrite, block_rows: int) -> Iterator[Piece]:
        """Computes the chunks one after the other and yields them as pieces."""
        array = whole_bands(raster)
        layout = raster.layout
        rows, columns = starts_of(array.chunks[layout.y]), starts_of(array.chunks[layout.x])
        for group, computed in zip(self.groups, self._computed(array, raster), strict=True):
            there = dict(zip(group, computed, strict=True))
            computed.clear()
            if self.straight:
                yield from _row_by_row(there, (rows, columns), array.chunks[layout.y], (layout.y, block_rows))
                continue
            for block in group:
                yield Piece(there.pop(block), rows[block[0]], columns[block[1]])

    def _computed(self, array: Any, raster: RasterToWrite) -> Iterator[list[Any]]:
        """Returns the chunks of each group."""
        groups = Groups(
            array, [[chunk_key(array, raster, block) for block in group] for group in self.groups], self.buffer
        )
        if not self.ahead:
            yield from map(groups.compute, range(len(self.groups)))
            return
        thread = ThreadPoolExecutor(1, thread_name_prefix="strile-dask")
        try:
            coming: Future[list[Any]] | None = thread.submit(groups.compute, 0)
            for number in range(len(self.groups)):
                assert coming is not None
                chunks = coming.result()
                last = number + 1 == len(self.groups)
                # The old future holds its chunks: it must be gone while they are written.
                coming = None if last else thread.submit(groups.compute, number + 1)
                yield chunks
                del chunks
        finally:
            thread.shutdown(wait=False, cancel_futures=True)


def plan_stream(raster: RasterToWrite, arguments: WriteArguments) -> StreamPlan:
    array, layout = whole_bands(raster), raster.layout
    heights, widths = array.chunks[layout.y], array.chunks[layout.x]
    pixel = max(array.dtype.itemsize, raster.dtype.itemsize) * layout.bands
    row = max(heights) * layout.width * pixel
    buffer = arguments.buffer
    straight = row <= buffer and not arguments.cog
    if straight:
        per_group = max(buffer // 2 // row, 1)
        rows = [
            tuple(
                (i, j) for i in range(first, min(first + per_group, len(heights))) for j in range(len(widths))
            )
            for first in range(0, len(heights), per_group)
        ]
        groups, group_bytes = rows, row * per_group
    else:
        if not arguments.cog and not arguments.spill:
            raise StrileError(
                f"a row of chunks takes {row:,} bytes and streaming_buffer_bytes is {buffer:,}: make chunks lower, the "
                "buffer larger, or allow spill=True, which keeps encoded blocks in a temporary file"
            )
        chunk = max(heights) * max(widths) * pixel
        per_group = max(buffer // 2 // chunk, 1)
        blocks = [(i, j) for i in range(len(heights)) for j in range(len(widths))]
        groups = [tuple(blocks[at : at + per_group]) for at in range(0, len(blocks), per_group)]
        group_bytes = chunk * min(per_group, len(blocks))
    plan = StreamPlan(
        groups=tuple(groups),
        spooled=not straight and not arguments.cog,
        straight=straight,
        ahead=2 * group_bytes <= buffer and len(groups) > 1,
        group_bytes=group_bytes,
        buffer=buffer,
    )
    log.info("dask array: %s", plan)
    return plan


def whole_bands(raster: RasterToWrite) -> Any:
    """Returns the array with all bands of a pixel in one chunk, lazily."""
    band = raster.layout.band
    if band is None or len(raster.array.chunks[band]) == 1:
        return raster.array
    return raster.array.rechunk({band: -1})


def chunk_key(array: Any, raster: RasterToWrite, block: Block) -> Hashable:
    """Returns the key of a chunk, all bands of it, in the graph of the array."""
    place = {"y": block[0], "x": block[1], "b": 0}
    return (array.name, *(place[axis] for axis in raster.layout.axes))


def starts_of(sizes: tuple[int, ...]) -> list[int]:
    """Returns the starts of chunks of these sizes, and the end of the last one."""
    return [0, *accumulate(sizes)]


def _row_by_row(
    there: dict[Block, Any],
    starts: tuple[list[int], list[int]],
    heights: tuple[int, ...],
    cut: tuple[int, int],
) -> Iterator[Piece]:
    """Chunks side by side, cut at the rows of blocks: the file takes a row of blocks before the next one."""
    rows, columns = starts
    axis, block_rows = cut
    for i in sorted({block[0] for block in there}):
        chunks = [(j, there.pop((i, j))) for j in sorted(j for row, j in list(there) if row == i)]
        if len(chunks) == 1:
            yield Piece(chunks.pop()[1], rows[i], columns[0])
            continue
        top, bottom = rows[i], rows[i] + heights[i]
        cuts = [top, *range((top // block_rows + 1) * block_rows, bottom, block_rows), bottom]
        for start, end in zip(cuts, cuts[1:], strict=False):
            part = (slice(None),) * axis + (slice(start - top, end - top),)
            for j, chunk in chunks:
                yield Piece(chunk[part], start, columns[j])
