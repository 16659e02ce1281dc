"""`strile.plan`: what `read` would do, without doing it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .asked import bands_of, device_of, flag_of, index_of, level_of, text_of, window_of
from .reading import opened
from .reading.arguments import halvings, pixel_limit
from .reading.source import Source

if TYPE_CHECKING:
    from ._core import Plan


def plan(
    source: str | os.PathLike[str] | Any,
    *,
    window: Any = None,
    bands: Sequence[int] | None = None,
    level: int = 0,
    reduce: int = 0,
    page: int = 0,
    device: Any = "cpu",
    decode_on: str = "auto",
    masked: bool = False,
    unpack: bool = False,
    max_pixels: int | None = None,
    cache: str = "auto",
    allow_outside: bool = False,
    allowed_roots: Iterable[str | os.PathLike[str]] = (),
) -> Plan:
    """The plan of a read: engine and reason, blocks, byte ranges, memory; `print(plan.explain())`.

    The keywords are those of `strile.read`."""
    where = Source.of(source, allow_outside=allow_outside, allowed_roots=allowed_roots)
    dataset = opened.dataset(where, level=level_of(level))
    return dataset.plan(
        page=index_of(page, "page"),
        level=level_of(level),
        reduce=halvings(reduce),
        window=window_of(window),
        bands=bands_of(bands),
        device=device_of(device),
        decode_on=text_of(decode_on, "decode_on"),
        masked=flag_of(masked, "masked"),
        unpack=flag_of(unpack, "unpack"),
        max_pixels=pixel_limit(max_pixels),
        cache=text_of(cache, "cache"),
    )
