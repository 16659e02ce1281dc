"""Tasks for workers if the file is an object of a bucket: layout, parts and completion.

Encoded blocks stay with the workers that made them, as results of tasks. When all their sizes are known, one task says which bytes the
object has; others take theirs from where they are and send them, a part of the upload each; the last one completes it. A task that is
run again sends the same bytes under the same number.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

from .. import _core
from .tasks import Address, Counts, Encoded, Job, Key, check_missing, planned

Stretch = bytes | tuple[int, int, int]
"""Bytes of the object: given, or the number of an encoded part and from where to where in its records."""


@dataclass(frozen=True)
class Upload:
    """An upload that was begun. Not shown: it can have secrets."""

    url: str = field(repr=False)
    remote: _core.RemoteOptions = field(repr=False)
    ticket: str = field(repr=False)
    in_order: bool

    def joined(self) -> Any:
        return _joined(Key(self.ticket, self))


@dataclass(frozen=True)
class Layout:
    """The bytes of the object, cut into parts of the upload."""

    parts: list[list[Stretch]] = field(repr=False)
    size: int
    report: dict[str, Any]
    sidecars: list[tuple[str, bytes]] = field(repr=False)


def records_of(encoded: Encoded) -> bytes:
    """Returns the encoded blocks of a part."""
    blocks = encoded[0]
    assert blocks is not None
    return blocks[2]


def index_of(encoded: Encoded) -> tuple[Address, bytes, Counts]:
    """Returns the index of the blocks of a part."""
    blocks = encoded[0]
    assert blocks is not None
    return blocks[0], blocks[1], encoded[2]


def lay_out(job: Job, upload: Upload, indexes: list[tuple[Address, bytes, Counts]]) -> Layout:
    """Lays out the object, given the indexes of all its blocks."""
    check_missing(job, [counts for _, _, counts in indexes])
    laid = planned(job, "cpu").lay_out(
        job.target, [(*at, index) for at, index, _ in indexes], list(job.sidecars)
    )
    size = upload.joined().part_size(laid["file_len"])
    parts = cut(laid.pop("stretches"), size)
    return Layout(parts, size, laid, laid.pop("sidecars"))


def cut(stretches: list[Stretch], size: int) -> list[list[Stretch]]:
    """Stretches as parts of `size` bytes; the last has what is left."""
    starts = [0, *accumulate(_length(stretch) for stretch in stretches)]
    parts: list[list[Stretch]] = []
    for first in range(0, max(starts[-1], 1), size):
        end = min(first + size, starts[-1])
        part: list[Stretch] = []
        at = bisect_right(starts, first) - 1
        while at < len(stretches) and starts[at] < end:
            low, high = max(first - starts[at], 0), min(end, starts[at + 1]) - starts[at]
            stretch = stretches[at]
            if isinstance(stretch, bytes):
                part.append(stretch[low:high])
            else:
                part.append((stretch[0], stretch[1] + low, stretch[1] + high))
            at += 1
        parts.append(part)
    return parts


def _length(stretch: Stretch) -> int:
    return len(stretch) if isinstance(stretch, bytes) else stretch[2] - stretch[1]


def needs_of(layout: Layout) -> list[list[int]]:
    """Returns the encoded parts that each part of the upload has bytes of."""
    return [sorted({stretch[0] for stretch in part if not isinstance(stretch, bytes)}) for part in layout.parts]


def put(
    upload: Upload, layout: Layout, number: int, needs: list[int], records: list[bytes], before: Any
) -> tuple[int, str]:
    """Sends a part of the upload, numbered from 1. `before`: where parts go in order, the one before it."""
    del before
    content = _content(layout, number, needs, records)
    return number, upload.joined().put(number, (number - 1) * layout.size, content)


def complete(
    upload: Upload, layout: Layout, needs: list[int], records: list[bytes], sent: list[tuple[int, str]]
) -> dict[str, Any]:
    """Sends the last part, and makes the object visible."""
    number = len(layout.parts)
    content = _content(layout, number, needs, records)
    upload.joined().complete(sent, (number - 1) * layout.size, content, layout.sidecars)
    return layout.report


def _content(layout: Layout, number: int, needs: list[int], records: list[bytes]) -> bytes:
    held = dict(zip(needs, (memoryview(record) for record in records), strict=True))
    return b"".join(
        stretch if isinstance(stretch, bytes) else held[stretch[0]][stretch[1] : stretch[2]]
        for stretch in layout.parts[number - 1]
    )


@lru_cache(maxsize=4)
def _joined(key: Key) -> Any:
    upload = key.of
    return _core.SharedObject.join(upload.url, upload.remote, upload.ticket)
