"""Chooses the size of parts by chunks, blocks and the memory of workers.

A part follows the chunks, so that its pixels are where it is encoded; small chunks are taken together, as
many as its bytes allow and as leave work for every worker. It ends where blocks of the overviews end, so that
it encodes those too.
"""

from __future__ import annotations

PER_TASK = 4
"""Parts there should be for each task that runs at one time, so that none waits long for the last."""

BLOCKS_HELD = 2
"""Times that a block is held beside the pixels it is made of: put together, and encoded."""


def least_memory(part: int, block: int) -> int:
    """Returns the least memory of a worker for one part, given the bytes of its pixels and of a block. Less than any write
    that was measured: edges, a predictor and the next chunks come on top, up to five parts in all."""
    return part + BLOCKS_HELD * block


def part_size(
    image: tuple[int, int], chunk: tuple[int, int], block: tuple[int, int], most: int, tasks: int
) -> tuple[int, int]:
    """Rows and columns of a part. `most`: its pixels at most, where chunks are smaller; `block` in rows and
    columns, which may be as wide as the image."""
    size = [
        whole if side >= whole else min(_even(side, unit), whole)
        for side, whole, unit in zip(chunk, image, block, strict=True)
    ]
    while True:
        # The shorter side grows: a part has the less margin the nearer it is to a square.
        open_sides = [axis for axis in (0, 1) if size[axis] < image[axis]]
        if not open_sides:
            break
        axis = min(open_sides, key=lambda axis: size[axis])
        grown = [min(side * 2, image[at]) if at == axis else side for at, side in enumerate(size)]
        if grown[0] * grown[1] > most or _parts(image, grown) < PER_TASK * tasks:
            break
        size = grown
    return size[0], size[1]


def _even(side: int, unit: int) -> int:
    """Returns a side as a number of blocks that halves as often as its own size allows."""
    if side <= unit:
        return unit
    wide = unit << ((side // unit).bit_length() - 1)
    return max(round(side / wide), 1) * wide


def _parts(image: tuple[int, int], size: list[int]) -> int:
    return -(-image[0] // size[0]) * -(-image[1] // size[1])
